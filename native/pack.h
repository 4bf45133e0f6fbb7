// Strided elements brought together, and put back. Included by kernel.cc, so compiled for each CPU target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "element.h"

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

// With the stride known at compile time the loop becomes shuffles of whole registers.
template <class T, ptrdiff_t kStride>
void gather_fixed(const char* __restrict from, char* __restrict to, size_t n) {
  constexpr auto item = ptrdiff_t(sizeof(T));
  for (ptrdiff_t i = 0; i < ptrdiff_t(n); ++i) put<T>(to + i * item, get<T>(from + i * kStride * item));
}

template <class T>
void gather_block(const char* __restrict from, ptrdiff_t stride, char* __restrict to, size_t n) {
  constexpr auto item = ptrdiff_t(sizeof(T));
  if (stride == -item) return gather_fixed<T, -1>(from, to, n);
  if (stride == 2 * item) return gather_fixed<T, 2>(from, to, n);
  for (ptrdiff_t i = 0; i < ptrdiff_t(n); ++i) put<T>(to + i * item, get<T>(from + i * stride));
}

// A block at a time, while the lines of a later one are asked for.
template <class T>
void gather_as(const char* from, ptrdiff_t stride, char* to, size_t n) {
  constexpr size_t kBlock = 512 / sizeof(T);
  const ptrdiff_t line = stride > 64 || stride < -64 ? stride : stride < 0 ? -64 : 64;
  const ptrdiff_t span = stride * ptrdiff_t(kBlock), ahead = 6 * span;
  for (size_t i = 0; i < n; i += kBlock) {
    const char* p = from + ptrdiff_t(i) * stride;
    if (stride != 0) {
      for (ptrdiff_t at = 0; span < 0 ? at > span : at < span; at += line) __builtin_prefetch(p + ahead + at);
    }
    gather_block<T>(p, stride, to + i * sizeof(T), n - i < kBlock ? n - i : kBlock);
  }
}

template <class T>
void scatter_as(const char* __restrict from, char* __restrict to, ptrdiff_t stride, size_t n) {
  constexpr auto item = ptrdiff_t(sizeof(T));
  for (ptrdiff_t i = 0; i < ptrdiff_t(n); ++i) put<T>(to + i * stride, get<T>(from + i * item));
}

// The copies are a number known at compile time, or a loop for each element.
template <class T, size_t kCopies>
void stretch_fixed(const char* __restrict from, ptrdiff_t stride, char* __restrict to, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    const T value = get<T>(from + ptrdiff_t(i) * stride);
    for (size_t j = 0; j < kCopies; ++j) put<T>(to + (i * kCopies + j) * sizeof(T), value);
  }
}

template <class T>
void stretch_as(const char* __restrict from, ptrdiff_t stride, char* __restrict to, size_t rows, size_t n) {
  switch (n) {
    case 2: return stretch_fixed<T, 2>(from, stride, to, rows);
    case 3: return stretch_fixed<T, 3>(from, stride, to, rows);
    case 4: return stretch_fixed<T, 4>(from, stride, to, rows);
    case 8: return stretch_fixed<T, 8>(from, stride, to, rows);
    default: break;
  }
  for (size_t i = 0; i < rows; ++i) {
    const T value = get<T>(from + ptrdiff_t(i) * stride);
    for (size_t j = 0; j < n; ++j) put<T>(to + (i * n + j) * sizeof(T), value);
  }
}

template <class V, size_t... i>
inline V interleave_low(V a, V b, std::index_sequence<i...>) {
  return __builtin_shufflevector(a, b, int(i % 2 * sizeof...(i) + i / 2)...);
}
template <class V, size_t... i>
inline V interleave_high(V a, V b, std::index_sequence<i...>) {
  return __builtin_shufflevector(a, b, int(i % 2 * sizeof...(i) + i / 2 + sizeof...(i) / 2)...);
}

// The side of a square that is transposed in registers. Small elements do best in the narrowest ones, whose shuffles
// are the cheapest; of large ones those hold too few.
template <class T>
constexpr size_t kSquareSide = (sizeof(T) < 4 ? 16 : kBytes) / sizeof(T);

// A square of registers: n rows of n elements. Interleaving the upper with the lower half of the rows log2(n) times
// transposes it.
template <class T>
inline void transpose_square(const char* from, ptrdiff_t stride, char* to, size_t to_stride) {
  constexpr size_t n = kSquareSide<T>;
  using V = Vec<T, n>;
  using Indices = std::make_index_sequence<n>;
  V rows[n], next[n];
  for (size_t i = 0; i < n; ++i) rows[i] = get<V>(from + ptrdiff_t(i) * stride);
  for (size_t done = 1; done < n; done *= 2) {
    for (size_t i = 0; i < n / 2; ++i) {
      next[2 * i] = interleave_low(rows[i], rows[i + n / 2], Indices{});
      next[2 * i + 1] = interleave_high(rows[i], rows[i + n / 2], Indices{});
    }
    for (size_t i = 0; i < n; ++i) rows[i] = next[i];
  }
  for (size_t i = 0; i < n; ++i) put<V>(to + i * to_stride, rows[i]);
}

template <class T>
void transpose_as(const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows, size_t columns) {
  constexpr size_t n = kSquareSide<T>;
  const size_t whole_rows = rows / n * n, whole_columns = columns / n * n;
  for (size_t c = 0; c < whole_columns; c += n) {
    for (size_t r = 0; r < whole_rows; r += n) {
      transpose_square<T>(from + r * sizeof(T) + ptrdiff_t(c) * stride, stride, to + r * to_stride + c * sizeof(T),
                          to_stride);
    }
  }
  auto one = [&](size_t r, size_t c) {
    put<T>(to + r * to_stride + c * sizeof(T), get<T>(from + r * sizeof(T) + ptrdiff_t(c) * stride));
  };
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) one(r, c);
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

void gather(size_t item, const char* from, ptrdiff_t stride, char* to, size_t n) {
  with_item(item, [&](auto t) { gather_as<decltype(t)>(from, stride, to, n); });
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
