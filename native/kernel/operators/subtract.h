// Subtraction: all that is particular to it. Included by loop.cc, so compiled for each instruction set.
//
// A functor like this one is all that the traits, the loop and the plan know of an operator. What each member has to be
// stands above it; another operator is a second such header, its name in `Operator` and its case in with_operator().
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernel/kernel.h"
#include "kernel/registers.h"

namespace minuend {
namespace MINUEND_ISA {
namespace {

// Bytes of the largest integers whose saturated difference is one instruction.
#if defined(__aarch64__)
constexpr size_t kSubtractSaturates = 8;
#elif defined(__SSE2__)
constexpr size_t kSubtractSaturates = 2;
#else
constexpr size_t kSubtractSaturates = 0;
#endif

#if defined(__AVX512BW__)
#define MINUEND_SUBS(kind) _mm512_subs_##kind
#elif defined(__AVX2__)
#define MINUEND_SUBS(kind) _mm256_subs_##kind
#elif defined(__SSE2__)
#define MINUEND_SUBS(kind) _mm_subs_##kind
#endif

struct Subtract {
  // How an operand that the result modulo 2^n was written over is computed back: a = b - (0 - d), and b = a - d.
  // Written over both operands it is 0, which always fits.
  static constexpr Inverse inverse = {
      {2, {{Operator::subtract, Term::zero, Term::result}, {Operator::subtract, Term::other, Term::result}}},
      {1, {{Operator::subtract, Term::other, Term::result}}},
      true};

  // The result: of unsigned lanes modulo 2^n, which is that of signed ones as well; of floats rounded once.
  template <class V>
  static V of(V a, V b) {
    return a - b;
  }

  // Whether the exact result of two T lies outside R, in the sign bit of each lane; d is the result modulo 2^n. R is T
  // or the signed type of its width.
  //
  //   signed      the operands' signs differ and the result's is not A's
  //   unsigned    the borrow; in a signed type it fits where the wrapped result's sign is that of the exact one
  template <class T, class R, class V>
  static V overflow(V a, V b, V d) {
    if constexpr (std::is_signed_v<T>) {
      return (a ^ b) & (a ^ d);
    } else {
      const V borrow = (~a & (b | d)) | (b & d);
      if constexpr (std::is_signed_v<R>) return borrow ^ d;
      else return borrow;
    }
  }

  // The value of T that is nearest to the exact result: in one instruction where the machine has it.
  template <class T, class V>
  static V saturated(V a, V b) {
    if constexpr (sizeof(T) <= kSubtractSaturates) {
      return saturated_at_once(T{}, a, b);
    } else if constexpr (std::is_signed_v<T>) {
      using S = Vec<T, sizeof(V) / sizeof(T)>;
      using U = std::make_unsigned_t<T>;
      const V d = of(a, b);
      const V over = (V)((S)overflow<T, T>(a, b, d) < 0);
      constexpr U highest = U(~U(0)) >> 1;
      const V limit = (V)((S)a < 0) ^ (V{} + highest);  // below zero: the lowest value, else the highest
      return (d & ~over) | (limit & over);
    } else {
      return of(a > b ? a : b, b);
    }
  }

 private:
#if defined(__aarch64__)
  template <class T, class V>
  static V saturated_at_once(T, V a, V b) {
    if constexpr (std::is_same_v<T, int8_t>) return (V)vqsubq_s8((int8x16_t)a, (int8x16_t)b);
    else if constexpr (std::is_same_v<T, uint8_t>) return (V)vqsubq_u8((uint8x16_t)a, (uint8x16_t)b);
    else if constexpr (std::is_same_v<T, int16_t>) return (V)vqsubq_s16((int16x8_t)a, (int16x8_t)b);
    else if constexpr (std::is_same_v<T, uint16_t>) return (V)vqsubq_u16((uint16x8_t)a, (uint16x8_t)b);
    else if constexpr (std::is_same_v<T, int32_t>) return (V)vqsubq_s32((int32x4_t)a, (int32x4_t)b);
    else if constexpr (std::is_same_v<T, uint32_t>) return (V)vqsubq_u32((uint32x4_t)a, (uint32x4_t)b);
    else if constexpr (std::is_same_v<T, int64_t>) return (V)vqsubq_s64((int64x2_t)a, (int64x2_t)b);
    else return (V)vqsubq_u64((uint64x2_t)a, (uint64x2_t)b);
  }
#elif defined(MINUEND_SUBS)
  template <class T, class V>
  static V saturated_at_once(T, V a, V b) {
    using Register = Vec<long long, sizeof(V) / 8>;
    const auto x = (Register)a, y = (Register)b;
    if constexpr (std::is_same_v<T, int8_t>) return (V)MINUEND_SUBS(epi8)(x, y);
    else if constexpr (std::is_same_v<T, uint8_t>) return (V)MINUEND_SUBS(epu8)(x, y);
    else if constexpr (std::is_same_v<T, int16_t>) return (V)MINUEND_SUBS(epi16)(x, y);
    else return (V)MINUEND_SUBS(epu16)(x, y);
  }
#endif
};

#undef MINUEND_SUBS

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
