// Gathers strided elements, and copies them. Included by loop.cc, so compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/registers.h"

namespace minuend {
namespace MINUEND_ISA {
namespace {

// The lanes 0, 2, 4... of two registers. Pack instructions, which work within 16 bytes, cost less than half of the
// general shuffle of small lanes.
template <class T, class V, size_t... i>
inline V evens_of(V low, V high, std::index_sequence<i...>) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) <= 2 && sizeof(V) == 64) {
    const __m512i in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512i mask = sizeof(T) == 1 ? _mm512_set1_epi16(0xff) : _mm512_set1_epi32(0xffff);
    const __m512i x = _mm512_and_si512((__m512i)low, mask), y = _mm512_and_si512((__m512i)high, mask);
    const __m512i packed = sizeof(T) == 1 ? _mm512_packus_epi16(x, y) : _mm512_packus_epi32(x, y);
    return (V)_mm512_permutexvar_epi64(in_order, packed);
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(T) <= 2 && sizeof(V) == 32) {
    const __m256i mask = sizeof(T) == 1 ? _mm256_set1_epi16(0xff) : _mm256_set1_epi32(0xffff);
    const __m256i x = _mm256_and_si256((__m256i)low, mask), y = _mm256_and_si256((__m256i)high, mask);
    const __m256i packed = sizeof(T) == 1 ? _mm256_packus_epi16(x, y) : _mm256_packus_epi32(x, y);
    return (V)_mm256_permute4x64_epi64(packed, 0xd8);
  }
#endif
  return shuffled<int(2 * i)...>(low, high);
}

// Bytes of the registers in which small elements are moved anywhere by few instructions; 0 where there are none.
template <class T>
constexpr size_t kTwoSources =
#if defined(__AVX512VBMI__)
    64;
#elif defined(__AVX512BW__)
    sizeof(T) >= 2 ? 64 : 16;
#elif defined(__SSSE3__)
    16;
#else
    sizeof(T) >= 4 ? 16 : 0;
#endif

// Bytes of the registers by which elements of small strides are gathered; 0 where small elements cannot be blended. In
// registers of 64 bytes it takes as long: L2 gives no more.
constexpr size_t kGathered = kBytes >= 32 ? 32 : 0;

// Puts in place what register k has of every step-th element. The step is odd, so that each of as many elements as a
// register has lies in a lane of its own.
template <size_t step, size_t k, class V, size_t... i>
inline V add_lanes(V found, V next, std::index_sequence<i...>) {
  constexpr size_t n = sizeof...(i);
  return shuffled<int((k * n + i) % step == 0 ? n + i : i)...>(found, next);
}
template <size_t step, class V, size_t... i>
inline V in_order(V v, std::index_sequence<i...>) {
  return shuffled<int(i * step % sizeof...(i))...>(v, v);
}
template <class T, size_t step, class V, size_t... k>
inline V every_odd(const char* p, std::index_sequence<k...>) {
  constexpr auto lanes = std::make_index_sequence<sizeof(V) / sizeof(T)>{};
  V found = get<V>(p);
  ((found = add_lanes<step, k + 1>(found, get<V>(p + (k + 1) * sizeof(V)), lanes)), ...);
  return in_order<step>(found, lanes);
}

// A register of every step-th element, from as many registers. Of an even step: of pairs of elements every second part
// of the step, and of those the first.
template <class T, size_t step, size_t width>
inline Vec<T, width / sizeof(T)> every_nth(const char* p) {
  using V = Vec<T, width / sizeof(T)>;
  if constexpr (step == 1) {
    return get<V>(p);
  } else if constexpr (step % 2 == 1) {
    return every_odd<T, step, V>(p, std::make_index_sequence<step - 1>{});
  } else {
    using Pair = std::conditional_t<sizeof(T) == 1, uint16_t, std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t>>;
    constexpr auto lanes = std::make_index_sequence<width / sizeof(T)>{};
    if constexpr (step == 2) return evens_of<T>(get<V>(p), get<V>(p + width), lanes);
    else return evens_of<T>((V)every_nth<Pair, step / 2, width>(p),
                            (V)every_nth<Pair, step / 2, width>(p + step / 2 * width), lanes);
  }
}

template <class V, size_t... i>
inline V reversed(V v, std::index_sequence<i...>) {
  return shuffled<int(sizeof...(i) - 1 - i)...>(v, v);
}

// Calls at(i) for pieces of n elements, n <= count, that begin at i; the last may overlap the one before.
template <class F>
inline void in_pieces(size_t count, size_t n, F at) {
  size_t i = 0;
  for (; i + n <= count; i += n) at(i);
  if (i < count) at(count - n);
}

// Every step-th element, forwards or backwards, a register of `width` bytes at a time; the last one may overlap the one
// before. What lies between elements is read as well, so the last element, or the first one backwards, is done singly.
// Returns whether there is at least one register.
template <class T, size_t step, size_t width>
bool gather_by(const char* from, char* __restrict to, size_t n, bool backwards) {
  constexpr size_t lanes = width / sizeof(T);
  constexpr auto all = std::make_index_sequence<lanes>{};
  if (n <= lanes) return false;
  const ptrdiff_t stride = backwards ? -ptrdiff_t(step * sizeof(T)) : ptrdiff_t(step * sizeof(T));
  const size_t single = backwards ? 0 : n - 1;
  put(to + single * sizeof(T), get<T>(from + ptrdiff_t(single) * stride));
  in_pieces(n - 1, lanes, [&](size_t at) {
    const size_t i = at + backwards;
    const auto found = every_nth<T, step, width>(from + ptrdiff_t(backwards ? i + lanes - 1 : i) * stride);
    put(to + i * sizeof(T), backwards ? reversed(found, all) : found);
  });
  return true;
}

// Contiguous elements in reverse order, a register of `kWidth` bytes at a time; the last one may overlap the one
// before. Returns whether there is at least one register.
template <class T, size_t kWidth>
bool reverse_by(const char* __restrict from, char* __restrict to, size_t n) {
  constexpr size_t lanes = kWidth / sizeof(T);
  using V = Vec<T, lanes>;
  if (n < lanes) return false;
  in_pieces(n, lanes, [&](size_t i) {
    const char* last = from - ptrdiff_t((i + lanes - 1) * sizeof(T));
    put(to + i * sizeof(T), reversed(get<V>(last), std::make_index_sequence<lanes>{}));
  });
  return true;
}

// From one stride to another; four at a time, whose addresses do not depend on one another.
template <class T>
inline void copy_steps(const char* __restrict from, ptrdiff_t stride, char* __restrict to, ptrdiff_t step, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4, from += 4 * stride, to += 4 * step) {
    const T a = get<T>(from), b = get<T>(from + stride), c = get<T>(from + 2 * stride), d = get<T>(from + 3 * stride);
    put<T>(to, a);
    put<T>(to + step, b);
    put<T>(to + 2 * step, c);
    put<T>(to + 3 * step, d);
  }
  for (; i < n; ++i, from += stride, to += step) put<T>(to, get<T>(from));
}

template <class T>
void gather_backwards(const char* __restrict from, char* __restrict to, size_t n) {
  if (reverse_by<T, kBytes>(from, to, n) || reverse_by<T, 16>(from, to, n) || reverse_by<T, 8>(from, to, n)) return;
  copy_steps<T>(from, -ptrdiff_t(sizeof(T)), to, sizeof(T), n);
}

// Makes n elements contiguous that are `stride` bytes apart.
template <class T>
using Gather = void (*)(const char* from, ptrdiff_t stride, char* to, size_t n);

// Without prefetch: loads of single elements overlap by themselves.
template <class T>
void gather_singly(const char* from, ptrdiff_t stride, char* to, size_t n) {
  copy_steps<T>(from, stride, to, sizeof(T), n);
}
template <class T, size_t step>
void gather_step(const char* from, ptrdiff_t stride, char* to, size_t n) {
  constexpr size_t width = step == 2 ? kBytes : kGathered;
  const bool backwards = stride < 0;
  if constexpr (step == 1) {
    if (backwards) return gather_backwards<T>(from, to, n);
    std::memcpy(to, from, n * sizeof(T));
  } else {
    if (kGathered > 0 || !backwards) {
      if (gather_by<T, step, width>(from, to, n, backwards)) return;
      if (width == 64 && gather_by<T, step, 32>(from, to, n, backwards)) return;
      if (width > 16 && gather_by<T, step, 16>(from, to, n, backwards)) return;
    }
    gather_singly<T>(from, stride, to, n);
  }
}

// kNear is the largest distance of elements that are gathered by registers. Single loads of elements that are farther
// apart take no longer. Measured on Zen 4, where both wait for L2 then:
//
//   bytes of an element    step    ns for an element from L2: by registers, by single loads
//   1                      5       0.05, 0.20
//   1                      16      0.17, 0.27
//   2                      5       0.11, 0.21
//   2                      8       0.17, 0.28
//   4                      3       0.13, 0.17
//   4                      4       0.17, 0.17
template <class T>
constexpr size_t kLargestStep = kGathered == 0 ? 2 : kNear / sizeof(T);

template <class T, size_t... before>
Gather<T> find_gather(size_t step, std::index_sequence<before...>) {
  static constexpr Gather<T> by_registers[] = {gather_step<T, before + 1>...};
  return by_registers[step - 1];
}
template <class T>
Gather<T> find_gather(ptrdiff_t stride) {
  const auto distance = size_t(stride < 0 ? -stride : stride), step = distance / sizeof(T);
  if (distance % sizeof(T) != 0 || step == 0 || step > kLargestStep<T>) return gather_singly<T>;
  return find_gather<T>(step, std::make_index_sequence<kLargestStep<T>>{});
}

template <class T>
void gather_row(const char* from, ptrdiff_t stride, char* to, size_t n) {
  find_gather<T>(stride)(from, stride, to, n);
}

// Short rows of contiguous bytes: each is two words that overlap.
template <class Word>
void copy_short_rows(const StridedRows& s, size_t bytes) {
  constexpr ptrdiff_t kRowsAhead = 16;
  const size_t second = bytes - sizeof(Word);
  const char* from = s.from;
  char* to = s.to;
  for (size_t r = 0; r < s.rows; ++r, from += s.from_row_stride, to += s.to_row_stride) {
    __builtin_prefetch(from + kRowsAhead * s.from_row_stride);
    const auto head = get<Word>(from), tail = get<Word>(from + second);
    put(to, head);
    put(to + second, tail);
  }
}

bool copy_short_rows(const StridedRows& s, size_t bytes) {
  constexpr size_t kWidest = kBytes < 32 ? 16 : 32;
  if (bytes > 2 * kWidest) return false;
  if (bytes >= kWidest) copy_short_rows<Vec<uint8_t, kWidest>>(s, bytes);
  else if (bytes >= 16) copy_short_rows<Vec<uint8_t, 16>>(s, bytes);
  else if (bytes >= 8) copy_short_rows<uint64_t>(s, bytes);
  else if (bytes >= 4) copy_short_rows<uint32_t>(s, bytes);
  else if (bytes >= 2) copy_short_rows<uint16_t>(s, bytes);
  else copy_short_rows<uint8_t>(s, bytes);
  return true;
}

// A few elements from each of many rows, a row at a time: up to 1.1 times the time of a column at a time from the caches,
// 0.7 to 0.9 of it from memory, and half of it where rows share so few sets of L1 that each column would read their lines
// again.
template <class T, size_t n>
void gather_few(const StridedRows& s) {
  const char* from = s.from;
  char* to = s.to;
#pragma GCC unroll 4
  for (size_t r = 0; r < s.rows; ++r, from += s.from_row_stride, to += s.to_row_stride) {
    T row[n];
    for (size_t i = 0; i < n; ++i) row[i] = get<T>(from + ptrdiff_t(i) * s.stride);
    for (size_t i = 0; i < n; ++i) put<T>(to + i * sizeof(T), row[i]);
  }
}

// A few elements from each of many rows: a column at a time, over as many rows as L1 holds, because a cache line has
// elements of several columns.
template <class T>
void gather_columns(const StridedRows& s) {
  constexpr size_t kRowsInL1 = 16 << 10;  // bytes
  const size_t distance = size_t(s.stride < 0 ? -s.stride : s.stride);
  constexpr ptrdiff_t kSharesSets = 2048;  // bytes from row to row, or a multiple
  constexpr ptrdiff_t kFarRows = 48;       // bytes from row to row
  constexpr ptrdiff_t kApartRows = 128;    // bytes from row to row: no line is read twice
  const ptrdiff_t row = s.from_row_stride < 0 ? -s.from_row_stride : s.from_row_stride;
  if (distance < kCacheLine ? row % kSharesSets == 0 || row >= kApartRows : row >= kFarRows) {
    if (s.n == 2) return gather_few<T, 2>(s);
    if (s.n == 3) return gather_few<T, 3>(s);
    if (s.n == 4) return gather_few<T, 4>(s);
  }
  const size_t shared = kRowsInL1 / (s.n * distance + kCacheLine);  // rows, of which columns share lines
  size_t step = distance < kCacheLine ? shared : s.rows;
  constexpr size_t kWay = 4096;  // bytes of L1 that a line of each set takes
  const size_t spread = size_t(row) & (~size_t(row) + 1);  // the largest power of two that divides the distance
  if (distance < kCacheLine && spread >= kWay / kWaysOfL1) {
    const size_t held = kWaysOfL1 * (spread < kWay ? kWay / spread : 1);  // rows
    if (held < step) step = held;
  }
  for (size_t r = 0; r < s.rows; r += step) {
    const size_t rows = s.rows - r < step ? s.rows - r : step;
    const char* from = s.from + ptrdiff_t(r) * s.from_row_stride;
    char* to = s.to + ptrdiff_t(r) * s.to_row_stride;
    for (size_t i = 0; i < s.n; ++i) {
      copy_steps<T>(from + ptrdiff_t(i) * s.stride, s.from_row_stride, to + i * sizeof(T), s.to_row_stride, rows);
    }
  }
}

// One row repeated: each copy doubles what is there.
template <class T>
void gather_repeated(const StridedRows& s) {
  const size_t row = s.n * sizeof(T), bytes = s.rows * row;
  gather_row<T>(s.from, s.stride, s.to, s.n);
  for (size_t done = row; done < bytes; done *= 2)
    std::memcpy(s.to + done, s.to, done * 2 < bytes ? done : bytes - done);
}

template <class T>
void gather_as(const StridedRows& s) {
  constexpr size_t kFew = 16;  // elements
  const bool consecutive = s.stride == ptrdiff_t(sizeof(T));
  const bool joins = s.to_row_stride == ptrdiff_t(s.n * sizeof(T));
  if (joins && s.from_row_stride == 0) return gather_repeated<T>(s);
  if (joins && s.from_row_stride == s.stride * ptrdiff_t(s.n))
    return gather_row<T>(s.from, s.stride, s.to, s.rows * s.n);
  if (consecutive && copy_short_rows(s, s.n * sizeof(T))) return;
  const bool reversed = s.stride == -ptrdiff_t(sizeof(T)) && s.n * sizeof(T) >= 8;
  if (s.rows > s.n && !consecutive && !reversed && s.n <= kFew) return gather_columns<T>(s);
  for (size_t r = 0; r < s.rows; ++r) {
    const auto row = ptrdiff_t(r);
    gather_row<T>(s.from + row * s.from_row_stride, s.stride, s.to + row * s.to_row_stride, s.n);
  }
}

template <class T>
void copy_as(const char* __restrict from, ptrdiff_t from_stride, char* __restrict to, ptrdiff_t to_stride, size_t n) {
  constexpr auto item = ptrdiff_t(sizeof(T));
  if (from_stride == item) copy_steps<T>(from, item, to, to_stride, n);
  else copy_steps<T>(from, from_stride, to, to_stride, n);
}

// Lane i of the result is lane (first + i) / copies.
template <size_t copies, size_t first, class V, size_t... i>
inline V spread(V v, std::index_sequence<i...>) {
  return shuffled<int((first + i) / copies)...>(v, v);
}
template <class T, size_t copies, class V, size_t... part>
inline void spread_to(char* to, V v, std::index_sequence<part...>) {
  constexpr size_t lanes = sizeof(V) / sizeof(T);
  (put(to + part * sizeof(V), spread<copies, part * lanes>(v, std::make_index_sequence<lanes>{})), ...);
}

// Bytes of the registers that have a cheap shuffle of one source; 0 where there are none.
template <class T>
constexpr size_t kOneSource = sizeof(T) < 4 ? kTwoSources<T> : kBytes;

// A number of copies known at compile time: a whole register of elements at once.
template <class T, size_t copies>
void repeat_fixed(const char* __restrict from, char* __restrict to, size_t rows) {
  constexpr size_t lanes = kOneSource<T> / sizeof(T);
  size_t i = 0;
  if constexpr (lanes > 0) {
    for (; i + lanes <= rows; i += lanes) {
      const auto v = get<Vec<T, lanes>>(from + i * sizeof(T));
      spread_to<T, copies>(to + i * copies * sizeof(T), v, std::make_index_sequence<copies>{});
    }
  }
  for (; i < rows; ++i) {
    const T value = get<T>(from + i * sizeof(T));  // once: GCC 13 falls over eight bytes read in the inner loop
    for (size_t j = 0; j < copies; ++j) put(to + (i * copies + j) * sizeof(T), value);
  }
}

// Any number: whole registers of copies as long as they fit. Copies too many are overwritten by the next
// element's.
template <class T>
void repeat_any(const char* __restrict from, char* __restrict to, size_t rows, size_t n) {
  using V = Vec<T, kBytes / sizeof(T)>;
  const size_t bytes = n * sizeof(T), written = (bytes + kBytes - 1) / kBytes * kBytes;
  size_t i = 0;
  for (; (rows - i) * bytes >= written; ++i) {
    const V copies = V{} + get<T>(from + i * sizeof(T));
    for (size_t at = 0; at < written; at += kBytes) put(to + i * bytes + at, copies);
  }
  for (; i < rows; ++i) {
    for (size_t j = 0; j < n; ++j) put(to + i * bytes + j * sizeof(T), get<T>(from + i * sizeof(T)));
  }
}

template <class T>
void repeat_contiguous(const char* from, char* to, size_t rows, size_t n) {
  switch (n) {
    case 2: return repeat_fixed<T, 2>(from, to, rows);
    case 3: return repeat_fixed<T, 3>(from, to, rows);
    case 4: return repeat_fixed<T, 4>(from, to, rows);
    case 5: return repeat_fixed<T, 5>(from, to, rows);
    case 6: return repeat_fixed<T, 6>(from, to, rows);
    case 7: return repeat_fixed<T, 7>(from, to, rows);
    case 8: return repeat_fixed<T, 8>(from, to, rows);
    default: return repeat_any<T>(from, to, rows, n);
  }
}

template <class T>
void repeat_as(const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n) {
  if (stride == ptrdiff_t(sizeof(T))) return repeat_contiguous<T>(from, to, rows, n);
  constexpr size_t kColumn = 1024 / sizeof(T);  // elements gathered at a time
  alignas(kCacheLine) char column[kColumn * sizeof(T)];
  for (size_t i = 0; i < rows; i += kColumn) {
    const size_t k = rows - i < kColumn ? rows - i : kColumn;
    gather_row<T>(from + ptrdiff_t(i) * stride, stride, column, k);
    repeat_contiguous<T>(column, to + i * n * sizeof(T), k, n);
  }
}

// Calls f with a value of the unsigned type of `item` bytes.
template <class F>
inline void with_item(size_t item, F f) {
  switch (item) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

void gather(size_t item, const StridedRows& s) {
  with_item(item, [&](auto t) { gather_as<decltype(t)>(s); });
}

void copy(size_t item, const char* from, ptrdiff_t from_stride, char* to, ptrdiff_t to_stride, size_t n) {
  with_item(item, [&](auto t) { copy_as<decltype(t)>(from, from_stride, to, to_stride, n); });
}

void repeat_each(size_t item, const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n) {
  with_item(item, [&](auto t) { repeat_as<decltype(t)>(from, stride, to, rows, n); });
}

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
