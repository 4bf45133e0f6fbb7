// Registers of which only the first bytes are in memory. Included by loop.cc, so compiled for each instruction set.
//
// All of it has to be inlined: GCC leaves out the `vzeroupper` behind calls, and the SSE code that runs next (Python's,
// NumPy's) then takes 130 ns more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/registers.h"

#define MINUEND_INLINE __attribute__((always_inline)) inline

namespace minuend {
namespace MINUEND_ISA {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)

constexpr bool kCallsForParts = false;
#define MINUEND_PART MINUEND_INLINE

// The first `bytes` bytes of a register, the rest 0; nothing behind them is read.
template <class V>
MINUEND_INLINE V load_part(const char* p, size_t bytes) {
  if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_loadu_epi8(~uint64_t(0) >> (64 - bytes), p);
  else if constexpr (sizeof(V) == 32) return (V)_mm256_maskz_loadu_epi8(uint32_t(~uint32_t(0) >> (32 - bytes)), p);
  else return (V)_mm_maskz_loadu_epi8(uint16_t(0xffffu >> (16 - bytes)), p);
}

// Writes the first `bytes` bytes of a register.
template <class V>
MINUEND_INLINE void store_part(char* p, V v, size_t bytes) {
  if constexpr (sizeof(V) == 64) _mm512_mask_storeu_epi8(p, ~uint64_t(0) >> (64 - bytes), (__m512i)v);
  else if constexpr (sizeof(V) == 32) _mm256_mask_storeu_epi8(p, uint32_t(~uint32_t(0) >> (32 - bytes)), (__m256i)v);
  else _mm_mask_storeu_epi8(p, uint16_t(0xffffu >> (16 - bytes)), (__m128i)v);
}

#else

// Without masks a part is so many instructions that one copy for each operation is enough: copies in every loop were a
// third of all code.
constexpr bool kCallsForParts = true;
#define MINUEND_PART __attribute__((noinline))

using Word16 = Vec<uint64_t, 2>;

// A word of which `bytes`, 1 to 8, are in memory: two halves of it that overlap.
MINUEND_INLINE uint64_t load_word(const char* p, size_t bytes) {
  auto both = [&](auto half) {
    using Half = decltype(half);
    const size_t second = bytes - sizeof(Half);
    return uint64_t(get<Half>(p)) | uint64_t(get<Half>(p + second)) << (8 * second);
  };
  if (bytes == 8) return get<uint64_t>(p);
  if (bytes >= 4) return both(uint32_t{});
  if (bytes >= 2) return both(uint16_t{});
  return get<uint8_t>(p);
}

MINUEND_INLINE void store_word(char* p, uint64_t word, size_t bytes) {
  auto both = [&](auto half) {
    using Half = decltype(half);
    const size_t second = bytes - sizeof(Half);
    put(p, Half(word));
    put(p + second, Half(word >> (8 * second)));
  };
  if (bytes == 8) put(p, word);
  else if (bytes >= 4) both(uint32_t{});
  else if (bytes >= 2) both(uint16_t{});
  else put(p, uint8_t(word));
}

// The same of 16 bytes, 1 to 16 of which are in memory: two words that overlap. What is shifted by 64 bits is shifted
// twice, for at once it would not be defined.
MINUEND_INLINE Word16 load_16(const char* p, size_t bytes) {
  if (bytes == 16) return get<Word16>(p);
  if (bytes < 8) return Word16{load_word(p, bytes), 0};
  return Word16{get<uint64_t>(p), get<uint64_t>(p + bytes - 8) >> (8 * (15 - bytes)) >> 8};
}

MINUEND_INLINE void store_16(char* p, Word16 words, size_t bytes) {
  if (bytes == 16) return put(p, words);
  if (bytes < 8) return store_word(p, words[0], bytes);
  const uint64_t last = words[0] >> (8 * (bytes - 8)) | words[1] << (8 * (15 - bytes)) << 8;
  put<uint64_t>(p, words[0]);
  put<uint64_t>(p + bytes - 8, last);
}

// The first `bytes` bytes of a register, the rest 0; nothing behind them is read.
template <class V>
MINUEND_INLINE V load_part(const char* p, size_t bytes) {
  if constexpr (sizeof(V) == 8) return as<V>(load_word(p, bytes));
  else if constexpr (sizeof(V) == 16) return (V)load_16(p, bytes);
  else {
    const size_t before = bytes > 16 ? 16 : 0;  // whole bytes before the part
    const Word16 part = load_16(p + before, bytes - before), none{};
    return (V)(before ? shuffled<0, 1, 2, 3>(get<Word16>(p), part) : shuffled<0, 1, 2, 3>(part, none));
  }
}

// Writes the first `bytes` bytes of a register.
template <class V>
MINUEND_INLINE void store_part(char* p, V v, size_t bytes) {
  if constexpr (sizeof(V) == 8) store_word(p, as<uint64_t>(v), bytes);
  else if constexpr (sizeof(V) == 16) store_16(p, (Word16)v, bytes);
  else {
    const auto words = (Vec<uint64_t, 4>)v;
    Word16 part = shuffled<0, 1>(words, words);
    const size_t before = bytes > 16 ? 16 : 0;
    if (before) {
      put(p, part);
      part = shuffled<2, 3>(words, words);
    }
    store_16(p + before, part, bytes - before);
  }
}

#endif

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
