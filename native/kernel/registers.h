// Registers as GCC's and Clang's vector extension has them: the same text for every instruction set, whose registers
// have `kBytes`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace minuend {
namespace MINUEND_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t kBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kBytes = 32;
#else
constexpr size_t kBytes = 16;
#endif

template <class T, size_t n>
struct VecOf {
  typedef T type __attribute__((vector_size(sizeof(T) * n)));
};
template <class T, size_t n>
using Vec = typename VecOf<T, n>::type;

template <class To, class From>
inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <class T>
inline T get(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

template <class T>
inline void put(char* p, T value) {
  std::memcpy(p, &value, sizeof(value));
}

// The lanes i of two registers, one behind the other. GCC 11 has only shuffles that keep the size.
template <int... i, class V>
__attribute__((always_inline)) inline auto shuffled(V a, V b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, i...);
#else
  using T = std::remove_reference_t<decltype(a[0])>;
  constexpr int n = sizeof(V) / sizeof(T);
  if constexpr (sizeof...(i) == n) return __builtin_shuffle(a, b, Vec<std::make_signed_t<T>, n>{i...});
  else return Vec<T, sizeof...(i)>{(i < n ? a[i % n] : b[i % n])...};
#endif
}

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
