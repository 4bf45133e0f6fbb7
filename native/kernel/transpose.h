// Rows from columns, in registers. Included by loop.cc, so compiled for each instruction set.
#pragma once

#include "kernel/gather.h"

namespace minuend {
namespace MINUEND_ISA {
namespace {

// The side of a tile that is transposed in registers. Small elements do best in lanes of 16 bytes, whose shuffles are
// the cheapest; of large ones those hold too few. Two lanes share a register of 32 bytes.
template <class T>
constexpr size_t kTileSide = (sizeof(T) < 4 || (sizeof(T) == 4 && kBytes == 32) ? 16 : kBytes) / sizeof(T);
// Tiles that are transposed at once, in the lanes of a register.
template <class T>
constexpr size_t kTilesAtOnce = kTileSide<T> * sizeof(T) < 32 && kBytes >= 32 ? 2 : 1;
// Fewer rows or columns than these are padded to a tile.
template <class T>
constexpr size_t kFilledSide = (sizeof(T) < 4 ? 16 : kBytes) / sizeof(T);

// From each lane of n elements, the first or the second half of a's and b's, interleaved.
template <size_t n, bool second, class V, size_t... i>
inline V interleave(V a, V b, std::index_sequence<i...>) {
  return shuffled<int(i % 2 * sizeof...(i) + i / n * n + i % n / 2 + second * n / 2)...>(a, b);
}

// n contiguous elements from each tile.
template <class T, size_t n, size_t tiles>
inline auto get_lanes(const char* from, [[maybe_unused]] ptrdiff_t to_next_tile) {
  using Lane = Vec<T, n>;
  if constexpr (tiles == 1) return get<Lane>(from);
#if defined(__AVX2__)
  else return (Vec<T, 2 * n>)_mm256_loadu2_m128i((const __m128i*)(from + to_next_tile), (const __m128i*)from);
#endif
}

// Adjacent tiles: n registers of n elements each. Interleaving the upper with the lower half of them
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

// Hides a stride from the compiler, which would keep all its multiples in more registers than there are: small tiles
// took half as long again. Large ones, of many shuffles, are no faster for it.
template <size_t tiles>
inline ptrdiff_t in_register(ptrdiff_t stride) {
  if constexpr (tiles > 1) asm("" : "+r"(stride));
  return stride;
}

// Rows of contiguous elements from columns of contiguous elements.
template <class T>
struct Transposition {
  const char* from;
  ptrdiff_t stride;
  char* to;
  size_t to_stride, rows, columns;

  const char* source(size_t r, size_t c) const { return from + r * sizeof(T) + ptrdiff_t(c) * stride; }
  char* place(size_t r, size_t c) const { return to + ptrdiff_t(r * to_stride) + c * sizeof(T); }

  // n rows from n columns, or from as many tiles of n columns.
  template <size_t n, size_t tiles>
  void tile(size_t r, size_t c) const {
    Vec<T, tiles * n> v[n];
    const ptrdiff_t column = in_register<tiles>(stride), row = in_register<tiles>(ptrdiff_t(to_stride));
    const char* p = source(r, c);
    char* q = place(r, c);
    for (size_t i = 0; i < n; ++i) v[i] = get_lanes<T, n, tiles>(p + ptrdiff_t(i) * column, ptrdiff_t(n) * column);
    transpose_registers(v, std::make_index_sequence<tiles * n>{});
    for (size_t i = 0; i < n; ++i) put(q + ptrdiff_t(i) * row, v[i]);
  }

  template <size_t n, size_t tiles>
  void tiles_down(size_t c) const {
    in_pieces(rows, n, [&](size_t r) { tile<n, tiles>(r, c); });
  }
  void in_tiles() const {
    constexpr size_t n = kTileSide<T>, at_once = kTilesAtOnce<T>;
    size_t c = 0;
    for (; c + at_once * n <= columns; c += at_once * n) tiles_down<n, at_once>(c);
    for (; c < columns; c += n) tiles_down<n, 1>(c + n <= columns ? c : columns - n);
  }

  // Few columns are padded to n. Rows are written from the first to the last, so that each overwrites the padding of
  // the one before.
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
      for (size_t i = 0; i < n; ++i) put(place(r + i, 0), v[i]);
    });
  }

  // Few rows are padded to n with the memory behind them: other columns, or a gap between two, whose page then holds
  // some of either. At the end of the operand, where there is nothing behind, columns are copied one by one.
  template <size_t n>
  void few_rows() const {
    const ptrdiff_t distance = stride < 0 ? -stride : stride;
    if constexpr (has_half<n>) {
      if (rows <= n / 2 && distance <= ptrdiff_t(n / 2 * sizeof(T))) return few_rows<n / 2>();
    }
    const bool backwards = stride < 0;
    const char* const end = source(rows, backwards ? 0 : columns - 1);
    size_t c = 0;
    while (backwards && c < columns && source(n, c) > end) ++c;
    one_by_one(0, c);
    // At a larger distance some of the pages in between hold no element.
    for (; distance <= kPage && c + n <= columns && source(n, backwards ? c : c + n - 1) <= end; c += n) {
      Vec<T, n> v[n];
      for (size_t i = 0; i < n; ++i) v[i] = get<Vec<T, n>>(source(0, c + i));
      transpose_registers(v, std::make_index_sequence<n>{});
      for (size_t i = 0; i < n; ++i) {
        if (i < rows) put(place(i, c), v[i]);
      }
    }
    one_by_one(c, columns);
  }

  void one_by_one(size_t first_column, size_t end) const {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = first_column; c < end; ++c) put<T>(place(r, c), get<T>(source(r, c)));
    }
  }

  template <size_t n>
  static constexpr bool has_half = n >= 4 && n * sizeof(T) >= 16;
};

template <class T>
void transpose_as(const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows, size_t columns) {
  constexpr size_t n = kFilledSide<T>;
  const Transposition<T> transpose_tile{from, stride, to, to_stride, rows, columns};
  if (columns < n) transpose_tile.template few_columns<n>();
  else if (rows < n) transpose_tile.template few_rows<n>();
  else transpose_tile.in_tiles();
}

void transpose(size_t item, const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows,
               size_t columns) {
  with_item(item, [&](auto t) { transpose_as<decltype(t)>(from, stride, to, to_stride, rows, columns); });
}

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
