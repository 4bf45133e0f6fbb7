// Strided elements brought together, and put back. Included by kernel.cc, so compiled for each CPU target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "element.h"
#include "kernel.h"

namespace minuend {
namespace MINUEND_TARGET {
namespace {

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

// The lanes 0, 2, 4... of two registers. Packing, which works within 16 bytes, costs less than half of what the general
// shuffle of small lanes does.
template <class T, class V, size_t... i>
inline V evens_of(V low, V high, std::index_sequence<i...>) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) <= 2 && sizeof(V) == 64) {
    const __m512i in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512i kept = sizeof(T) == 1 ? _mm512_set1_epi16(0xff) : _mm512_set1_epi32(0xffff);
    const __m512i x = _mm512_and_si512((__m512i)low, kept), y = _mm512_and_si512((__m512i)high, kept);
    const __m512i packed = sizeof(T) == 1 ? _mm512_packus_epi16(x, y) : _mm512_packus_epi32(x, y);
    return (V)_mm512_permutexvar_epi64(in_order, packed);
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(T) <= 2 && sizeof(V) == 32) {
    const __m256i kept = sizeof(T) == 1 ? _mm256_set1_epi16(0xff) : _mm256_set1_epi32(0xffff);
    const __m256i x = _mm256_and_si256((__m256i)low, kept), y = _mm256_and_si256((__m256i)high, kept);
    const __m256i packed = sizeof(T) == 1 ? _mm256_packus_epi16(x, y) : _mm256_packus_epi32(x, y);
    return (V)_mm256_permute4x64_epi64(packed, 0xd8);
  }
#endif
  return __builtin_shufflevector(low, high, int(2 * i)...);
}

// Registers whose shuffles take lanes from two of them at once cheaply; 0 where there are none.
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

// The lanes that register k holds of every so manieth element, beside those that `found` has of the registers before.
template <size_t step, size_t k, class V, size_t... i>
inline V add_lanes(V found, V next, std::index_sequence<i...>) {
  constexpr size_t n = sizeof...(i);
  return __builtin_shufflevector(found, next,
                                 int(i * step / n == k ? n + i * step % n : k == 1 && i * step < n ? i * step : i)...);
}

// A register of elements from `step` registers, of which k are the later ones.
template <class T, size_t step, class V, size_t... k>
inline V every(const char* p, std::index_sequence<k...>) {
  constexpr auto lanes = std::make_index_sequence<sizeof(V) / sizeof(T)>{};
  V found = get<V>(p);
  if constexpr (step == 2) found = evens_of<T>(found, get<V>(p + sizeof(V)), lanes);
  else ((found = add_lanes<step, k + 1>(found, get<V>(p + (k + 1) * sizeof(V)), lanes)), ...);
  return found;
}

// Every second element, or of pixels one of three or four channels, from the i-th on and a register of so many bytes at
// a time. What is read lies between elements, so the last is left out. Returns how many there are.
template <class T, size_t step, size_t width>
size_t gather_every(const char* __restrict from, char* __restrict to, size_t i, size_t n) {
  constexpr size_t lanes = width / sizeof(T);
  if constexpr (lanes > 0) {
    for (; i + lanes < n; i += lanes) {
      const char* p = from + step * i * sizeof(T);
      put(to + i * sizeof(T), every<T, step, Vec<T, lanes>>(p, std::make_index_sequence<step - 1>{}));
    }
  }
  return i;
}

// The same, and what is too short for large registers in smaller ones.
template <class T, size_t step>
size_t gather_every(const char* from, char* to, size_t n) {
  constexpr size_t width = step == 2 ? kBytes : kTwoSources<T>;
  size_t i = gather_every<T, step, width>(from, to, 0, n);
  if constexpr (width == 64) i = gather_every<T, step, 32>(from, to, i, n);
  if constexpr (width >= 32) i = gather_every<T, step, 16>(from, to, i, n);
  return i;
}

// Calls at(i) for pieces of n, n <= count, that begin at i; the last overlaps the one before where it does not fit.
template <class F>
inline void in_pieces(size_t count, size_t n, F at) {
  size_t i = 0;
  for (; i + n <= count; i += n) at(i);
  if (i < count) at(count - n);
}

template <class V, size_t... i>
inline V reversed(V v, std::index_sequence<i...>) {
  return __builtin_shufflevector(v, v, int(sizeof...(i) - 1 - i)...);
}

// Consecutive elements the other way round, a register of so many bytes at a time; what is left over at the end is
// done with elements that were done before. Says whether there was at least one register.
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

// Elements from steps to steps; four at a time, whose places do not wait for one another.
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

// Nothing is asked for ahead: the CPU has more loads of single elements under way of itself.
template <class T>
void gather_row(const char* __restrict from, ptrdiff_t stride, char* __restrict to, size_t n) {
  constexpr auto item = ptrdiff_t(sizeof(T));
  if (stride == item) {
    std::memcpy(to, from, n * sizeof(T));
    return;
  }
  if (stride == -item) return gather_backwards<T>(from, to, n);
  size_t i = 0;
  if (stride == 2 * item) i = gather_every<T, 2>(from, to, n);
  if (stride == 3 * item) i = gather_every<T, 3>(from, to, n);
  if (stride == 4 * item) i = gather_every<T, 4>(from, to, n);
  copy_steps<T>(from + ptrdiff_t(i) * stride, stride, to + i * sizeof(T), item, n - i);
}

// Short rows of consecutive bytes: one is two words that overlap.
template <class Word>
void copy_short_rows(const Steps& s, size_t bytes) {
  constexpr ptrdiff_t kRowsAhead = 16;
  const size_t second = bytes - sizeof(Word);
  const char* from = s.from;
  char* to = s.to;
  for (size_t r = 0; r < s.rows; ++r, from += s.from_step, to += s.to_step) {
    __builtin_prefetch(from + kRowsAhead * s.from_step);
    const auto head = get<Word>(from), tail = get<Word>(from + second);
    put(to, head);
    put(to + second, tail);
  }
}

bool copy_short_rows(const Steps& s, size_t bytes) {
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

// A few elements from each of many rows: a column at a time, where lines hold some of several columns of as many rows
// as the first cache holds.
template <class T>
void gather_columns(const Steps& s) {
  constexpr size_t kHeld = 16 << 10;  // bytes
  const size_t apart = size_t(s.stride < 0 ? -s.stride : s.stride);
  const size_t step = apart < kLine ? kHeld / (s.n * apart + kLine) : s.rows;  // or columns share no lines
  for (size_t r = 0; r < s.rows; r += step) {
    const size_t rows = s.rows - r < step ? s.rows - r : step;
    const char* from = s.from + ptrdiff_t(r) * s.from_step;
    char* to = s.to + ptrdiff_t(r) * s.to_step;
    for (size_t i = 0; i < s.n; ++i) {
      copy_steps<T>(from + ptrdiff_t(i) * s.stride, s.from_step, to + i * sizeof(T), s.to_step, rows);
    }
  }
}

// One row again and again: what is there already, twice as much each time.
template <class T>
void gather_repeated(const Steps& s) {
  const size_t row = s.n * sizeof(T), bytes = s.rows * row;
  gather_row<T>(s.from, s.stride, s.to, s.n);
  for (size_t done = row; done < bytes; done *= 2) std::memcpy(s.to + done, s.to, done * 2 < bytes ? done : bytes - done);
}

template <class T>
void gather_as(const Steps& s) {
  constexpr size_t kFew = 16;  // elements
  const bool consecutive = s.stride == ptrdiff_t(sizeof(T));
  const bool joins = s.to_step == ptrdiff_t(s.n * sizeof(T));
  if (joins && s.from_step == 0) return gather_repeated<T>(s);
  if (joins && s.from_step == s.stride * ptrdiff_t(s.n)) return gather_row<T>(s.from, s.stride, s.to, s.rows * s.n);
  if (consecutive && copy_short_rows(s, s.n * sizeof(T))) return;
  const bool reversed = s.stride == -ptrdiff_t(sizeof(T)) && s.n * sizeof(T) >= 8;
  if (s.rows > s.n && !consecutive && !reversed && s.n <= kFew) return gather_columns<T>(s);
  for (size_t r = 0; r < s.rows; ++r) {
    const auto row = ptrdiff_t(r);
    gather_row<T>(s.from + row * s.from_step, s.stride, s.to + row * s.to_step, s.n);
  }
}

template <class T>
void scatter_as(const char* __restrict from, char* __restrict to, ptrdiff_t stride, size_t n) {
  copy_steps<T>(from, ptrdiff_t(sizeof(T)), to, stride, n);
}

// Lane i of the result is lane (first + i) / copies.
template <size_t copies, size_t first, class V, size_t... i>
inline V spread(V v, std::index_sequence<i...>) {
  return __builtin_shufflevector(v, v, int((first + i) / copies)...);
}
template <class T, size_t copies, class V, size_t... part>
inline void spread_to(char* to, V v, std::index_sequence<part...>) {
  constexpr size_t lanes = sizeof(V) / sizeof(T);
  (put(to + part * sizeof(V), spread<copies, part * lanes>(v, std::make_index_sequence<lanes>{})), ...);
}

// Registers across which one shuffle moves an element; 0 where there are none.
template <class T>
constexpr size_t kOneSource = sizeof(T) < 4 ? kTwoSources<T> : kBytes;

// A number of copies that is known at compile time: a whole register of elements at once.
template <class T, size_t copies>
void stretch_fixed(const char* __restrict from, char* __restrict to, size_t rows) {
  constexpr size_t lanes = kOneSource<T> / sizeof(T);
  size_t i = 0;
  if constexpr (lanes > 0) {
    for (; i + lanes <= rows; i += lanes) {
      const auto v = get<Vec<T, lanes>>(from + i * sizeof(T));
      spread_to<T, copies>(to + i * copies * sizeof(T), v, std::make_index_sequence<copies>{});
    }
  }
  for (; i < rows; ++i) {
    for (size_t j = 0; j < copies; ++j) put(to + (i * copies + j) * sizeof(T), get<T>(from + i * sizeof(T)));
  }
}

// Any number. As long as there is room for it, a register full of copies is written: those that are too many are
// overwritten by the next element's.
template <class T>
void stretch_any(const char* __restrict from, char* __restrict to, size_t rows, size_t n) {
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
void stretch_consecutive(const char* from, char* to, size_t rows, size_t n) {
  switch (n) {
    case 2: return stretch_fixed<T, 2>(from, to, rows);
    case 3: return stretch_fixed<T, 3>(from, to, rows);
    case 4: return stretch_fixed<T, 4>(from, to, rows);
    case 5: return stretch_fixed<T, 5>(from, to, rows);
    case 6: return stretch_fixed<T, 6>(from, to, rows);
    case 7: return stretch_fixed<T, 7>(from, to, rows);
    case 8: return stretch_fixed<T, 8>(from, to, rows);
    default: return stretch_any<T>(from, to, rows, n);
  }
}

template <class T>
void stretch_as(const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n) {
  if (stride == ptrdiff_t(sizeof(T))) return stretch_consecutive<T>(from, to, rows, n);
  constexpr size_t kColumn = 1024 / sizeof(T);  // elements brought together first
  alignas(kLine) char column[kColumn * sizeof(T)];
  for (size_t i = 0; i < rows; i += kColumn) {
    const size_t k = rows - i < kColumn ? rows - i : kColumn;
    gather_row<T>(from + ptrdiff_t(i) * stride, stride, column, k);
    stretch_consecutive<T>(column, to + i * n * sizeof(T), k, n);
  }
}

// The side of a square that is transposed in registers. Small elements do best in lanes of 16 bytes, whose shuffles are
// the cheapest; of large ones those hold too few. Two registers of 32 bytes are shuffled at a time, but one of 64.
template <class T>
constexpr size_t kSquareSide = (sizeof(T) < 4 || (sizeof(T) == 4 && kBytes == 32) ? 16 : kBytes) / sizeof(T);
// Lanes of a register: so many squares are transposed at once.
template <class T>
constexpr size_t kSquaresAtOnce = kSquareSide<T> * sizeof(T) < 32 && kBytes >= 32 ? 2 : 1;
// Fewer rows or columns than these are filled up to a square.
template <class T>
constexpr size_t kFilledSide = (sizeof(T) < 4 ? 16 : kBytes) / sizeof(T);

// From each lane of n elements, the first or the second half of a's and b's, interleaved.
template <size_t n, bool second, class V, size_t... i>
inline V interleave(V a, V b, std::index_sequence<i...>) {
  return __builtin_shufflevector(a, b, int(i % 2 * sizeof...(i) + i / n * n + i % n / 2 + second * n / 2)...);
}

// n consecutive elements from each of so many squares.
template <class T, size_t n, size_t squares>
inline auto get_lanes(const char* from, [[maybe_unused]] ptrdiff_t to_next_square) {
  using Lane = Vec<T, n>;
  if constexpr (squares == 1) return get<Lane>(from);
#if defined(__AVX2__)
  else return (Vec<T, 2 * n>)_mm256_loadu2_m128i((const __m128i*)(from + to_next_square), (const __m128i*)from);
#endif
}

// Squares beside one another: n registers of n elements each. Interleaving the upper with the lower half of them
// log2(n) times transposes them.
template <size_t n, class V, class Indices>
inline void transpose_registers(V (&v)[n], Indices indices) {
  V next[n];
  for (size_t done = 1; done < n; done *= 2) {
    for (size_t i = 0; i < n / 2; ++i) {
      next[2 * i] = interleave<n, false>(v[i], v[i + n / 2], indices);
      next[2 * i + 1] = interleave<n, true>(v[i], v[i + n / 2], indices);
    }
    for (size_t i = 0; i < n; ++i) v[i] = next[i];
  }
}

// A stride of which the compiler knows nothing: it would keep all multiples of one ready, in more registers than there
// are, which takes small squares half as long again. Large ones, of many shuffles, are not helped by it.
template <size_t squares>
inline ptrdiff_t in_register(ptrdiff_t stride) {
  if constexpr (squares > 1) asm("" : "+r"(stride));
  return stride;
}

// Rows of consecutive elements from columns of consecutive elements.
template <class T>
struct Turn {
  const char* from;
  ptrdiff_t stride;
  char* to;
  size_t to_stride, rows, columns;

  const char* source(size_t r, size_t c) const { return from + r * sizeof(T) + ptrdiff_t(c) * stride; }
  char* goal(size_t r, size_t c) const { return to + r * to_stride + c * sizeof(T); }

  // n rows from n columns, or from as many squares of n columns.
  template <size_t n, size_t squares>
  void square(size_t r, size_t c) const {
    Vec<T, squares * n> v[n];
    const ptrdiff_t column = in_register<squares>(stride), row = in_register<squares>(ptrdiff_t(to_stride));
    const char* p = source(r, c);
    char* q = goal(r, c);
    for (size_t i = 0; i < n; ++i) v[i] = get_lanes<T, n, squares>(p + ptrdiff_t(i) * column, ptrdiff_t(n) * column);
    transpose_registers(v, std::make_index_sequence<squares * n>{});
    for (size_t i = 0; i < n; ++i) put(q + ptrdiff_t(i) * row, v[i]);
  }

  template <size_t n, size_t squares>
  void squares_down(size_t c) const {
    in_pieces(rows, n, [&](size_t r) { square<n, squares>(r, c); });
  }
  void in_squares() const {
    constexpr size_t n = kSquareSide<T>, at_once = kSquaresAtOnce<T>;
    size_t c = 0;
    for (; c + at_once * n <= columns; c += at_once * n) squares_down<n, at_once>(c);
    for (; c < columns; c += n) squares_down<n, 1>(c + n <= columns ? c : columns - n);
  }

  // Few columns are filled up to n, and rows are written from the first to the last: each begins where the one before
  // has written what is nobody's.
  template <size_t n>
  void few_columns() const {
    if constexpr (has_half<n>) {
      if (columns <= n / 2) return few_columns<n / 2>();
    }
    if (rows < n) return one_by_one(0, columns);
    in_pieces(rows, n, [&](size_t r) {
      Vec<T, n> v[n];
      for (size_t i = 0; i < n; ++i) v[i] = get<Vec<T, n>>(source(r, i < columns ? i : 0));
      transpose_registers(v, std::make_index_sequence<n>{});
      for (size_t i = 0; i < n; ++i) put(goal(r + i, 0), v[i]);
    });
  }

  // Few rows are filled up to n with what lies behind them: other columns, or what is between them and so in pages of
  // theirs. At the end of all memory that is theirs, where there is nothing behind, columns are taken one by one.
  template <size_t n>
  void few_rows() const {
    const ptrdiff_t apart = stride < 0 ? -stride : stride;
    if constexpr (has_half<n>) {
      if (rows <= n / 2 && apart <= ptrdiff_t(n / 2 * sizeof(T))) return few_rows<n / 2>();
    }
    const bool backwards = stride < 0;
    const char* const end = source(rows, backwards ? 0 : columns - 1);
    size_t c = 0;
    while (backwards && c < columns && source(n, c) > end) ++c;
    one_by_one(0, c);
    for (; apart <= kPage && c + n <= columns && source(n, backwards ? c : c + n - 1) <= end; c += n) {
      Vec<T, n> v[n];
      for (size_t i = 0; i < n; ++i) v[i] = get<Vec<T, n>>(source(0, c + i));
      transpose_registers(v, std::make_index_sequence<n>{});
      for (size_t i = 0; i < n; ++i) {
        if (i < rows) put(goal(i, c), v[i]);
      }
    }
    one_by_one(c, columns);
  }

  void one_by_one(size_t first_column, size_t end) const {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = first_column; c < end; ++c) put<T>(goal(r, c), get<T>(source(r, c)));
    }
  }

  static constexpr ptrdiff_t kPage = 4096;  // bytes; of columns no farther apart every page between holds an element
  template <size_t n>
  static constexpr bool has_half = n >= 4 && n * sizeof(T) >= 16;
};

template <class T>
void transpose_as(const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows, size_t columns) {
  constexpr size_t n = kFilledSide<T>;
  const Turn<T> turn{from, stride, to, to_stride, rows, columns};
  if (columns < n) turn.template few_columns<n>();
  else if (rows < n) turn.template few_rows<n>();
  else turn.in_squares();
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

void gather(size_t item, const Steps& s) {
  with_item(item, [&](auto t) { gather_as<decltype(t)>(s); });
}

void scatter(size_t item, const char* from, char* to, ptrdiff_t stride, size_t n) {
  with_item(item, [&](auto t) { scatter_as<decltype(t)>(from, to, stride, n); });
}

void stretch(size_t item, const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n) {
  with_item(item, [&](auto t) { stretch_as<decltype(t)>(from, stride, to, rows, n); });
}

void transpose(size_t item, const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows,
               size_t columns) {
  with_item(item, [&](auto t) { transpose_as<decltype(t)>(from, stride, to, to_stride, rows, columns); });
}

}  // namespace
}  // namespace MINUEND_TARGET
}  // namespace minuend
