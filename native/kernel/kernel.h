// What the loop offers to the rest: one function for each element type and policy, and what brings operands before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/elements.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read as little-endian");

namespace minuend {

constexpr size_t kCacheLine = 64;  // bytes

// How the elements of a row lie in an operand's memory: side by side, every second one, a stride apart, or one element
// for the whole row.
enum class Access { contiguous, every_second, strided, broadcast };

// At most one is `broadcast`; `strided` is of elements from kLeastStrided on, and never beside `every_second`.
struct Accesses {
  Access a = Access::contiguous, b = Access::contiguous;
};
constexpr size_t kLeastStrided = 4;  // bytes of an element; smaller ones are sooner gathered

// What the kernel has loops for; for the rest, operands are gathered first. Loops for everything would be 860 for each
// instruction set instead of 581, for calls that are rare.
//
//   policy                    accesses of A and B
//   wrap                      all of the above
//   error, saturate, widen    contiguous or broadcast; every second beside contiguous or every second
//   count, and all tables     contiguous or broadcast
constexpr bool reads_strided(Element element, Policy policy) {
  return policy == Policy::wrap && element != Element::table;
}
constexpr bool reads_every_second(Element element, Policy policy) {
  return policy != Policy::count && element != Element::table;
}

// Where the memory of a block lies, and so how it is moved; choose_traffic() says when.
//
//   in_l1      no prefetch, ordinary stores
//   in_cache   lines are prefetched into L1, the result's for writing
//   beyond     the same, but what is written over is prefetched into L2
//   streamed   non-temporal stores, which leave the caches to others
enum class Traffic { in_l1, in_cache, beyond, streamed };

// Rows of n elements. Strides are in bytes: from row to row, and from element to element where the access is `strided`.
struct Block {
  const char* a;
  const char* b;
  char* out;
  size_t n, rows = 1;
  ptrdiff_t a_row_stride = 0, b_row_stride = 0, out_row_stride = 0;
  ptrdiff_t a_stride = 0, b_stride = 0;
};

// Subtracts a block. A row of `out` is contiguous; nothing need be aligned, and `out` may be exactly a or b where that
// is contiguous. After Traffic::streamed the caller ends with a store fence. Returns how many elements overflow under
// `count`, and under `widen` of 64 bits; under `error` only whether any does, as 0 or 1; else 0.
using Kernel = size_t (*)(const void* table, const Block& block, Accesses accesses, Traffic traffic);

// Rows of n elements, `stride` bytes apart, that are to be contiguous; the other strides are from row to row.
struct StridedRows {
  const char* from;
  char* to;
  ptrdiff_t stride;
  size_t n, rows = 1;
  ptrdiff_t from_row_stride = 0, to_row_stride = 0;
};

// What one instruction set offers. `item` is the size of an element in bytes.
struct Routines {
  Kernel (*find)(Element element, Policy policy, Accesses accesses);  // nullptr where there is no such policy
  void (*gather)(size_t item, const StridedRows& rows);
  // n contiguous elements to places `stride` bytes apart.
  void (*scatter)(size_t item, const char* from, char* to, ptrdiff_t stride, size_t n);
  // n copies of each of `rows` elements that are `stride` bytes apart.
  void (*repeat_each)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n);
  // Rows of `columns` contiguous elements, `to_stride` bytes apart, from contiguous elements down each column. Behind
  // the last row up to a cache line may be written.
  void (*transpose)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows,
                    size_t columns);
  // Bytes, with non-temporal stores.
  void (*copy_streamed)(const char* from, char* to, size_t bytes);
};

}  // namespace minuend
