// What the kernel offers to the rest: a loop for each operator, element type and policy, and what moves operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/element_table.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read as little-endian");

namespace minuend {

constexpr size_t kCacheLine = 64;  // bytes
constexpr ptrdiff_t kPage = 4096;  // bytes
constexpr size_t kWaysOfL1 = 8;  // lines that a set holds on Zen 4; on others more

// Each has a functor in kernel/operators/, which says all that is particular to it; the names are Python's, in
// Operator.kernel.
enum class Operator { subtract };
constexpr const char* kOperators[] = {"subtract"};

// How an operand that the result modulo 2^n was written over is computed back: in steps, of which each is written over
// the result. `other` is the operand that is still there.
enum class Term { zero, result, other };
struct Step {
  Operator op;
  Term left, right;
};
struct Steps {
  size_t count = 0;  // 0: it cannot be computed back
  Step steps[2] = {};
};
struct Inverse {
  Steps a, b;
  bool both = false;  // whether a result that is written over both operands always fits
};

// What is reported of overflow.
enum class Report { nothing, any, count };
constexpr Report report_of(Element element, Policy policy) {
  if (policy == Policy::error) return Report::any;
  return policy == Policy::count || (policy == Policy::widen && item_size(element) == 8) ? Report::count
                                                                                         : Report::nothing;
}

// How the elements of a row lie in an operand's memory: side by side, every second one, a stride apart, or one element
// for the whole row.
enum class Access { contiguous, every_second, strided, broadcast };

// At most one is `broadcast`; `strided` is never with `every_second`.
struct Accesses {
  Access a = Access::contiguous, b = Access::contiguous;
};

// What the kernel has loops for. Strided operands are gathered, a few elements at a time, for the loops of contiguous
// ones; so are those of every second element in the rest.
//
//   policy                    accesses of A and B
//   wrap                      all but strided
//   error, saturate, widen    contiguous or broadcast; every second with contiguous or every second
//   count, and all tables     contiguous or broadcast
constexpr bool reads_every_second(Element element, Policy policy, bool has_broadcast) {
  if (element == Element::table) return false;
  return policy == Policy::wrap || (policy != Policy::count && !has_broadcast);
}
constexpr bool is_strided(Accesses x) { return x.a == Access::strided || x.b == Access::strided; }
constexpr bool has_loop(Element element, Policy policy, Accesses x) {
  const bool has_broadcast = x.a == Access::broadcast || x.b == Access::broadcast;
  const bool has_every_second = x.a == Access::every_second || x.b == Access::every_second;
  if ((x.a == Access::broadcast && x.b == Access::broadcast) || is_strided(x)) return false;
  return !has_every_second || reads_every_second(element, policy, has_broadcast);
}

// Whether the kernel reads strided elements of both operands one at a time, without a buffer, where those of one are
// far apart. Measured reasons stand beside its loops.
constexpr bool takes_singles(Element element, Policy policy) {
  return policy == Policy::wrap && element != Element::table && element != Element::f16 && element != Element::bf16;
}
constexpr ptrdiff_t kNear = 16;  // bytes; gather.h has the measured reason
constexpr bool is_far(ptrdiff_t stride) { return stride > kNear || stride < -kNear; }

// Where the memory of a block lies, and so how it is moved; choose_traffic() says when.
//
//   in_l1      no prefetch, ordinary stores
//   in_cache   lines are prefetched into L1, the result's for writing
//   beyond     the same, but what is written over is prefetched into L2
//   streamed   non-temporal stores, which leave the caches to others
enum class Traffic { in_l1, in_cache, beyond, streamed };

// Rows of n elements. Strides are in bytes: from row to row, and from element to element where the access is `strided`.
// A result with a stride of its own (else 0: it is contiguous) is written one element at a time: both operands are
// `strided` then, and takes_singles() says which elements have such a loop.
struct Block {
  const char* a;
  const char* b;
  char* out;
  size_t n, rows = 1;
  ptrdiff_t a_row_stride = 0, b_row_stride = 0, out_row_stride = 0;
  ptrdiff_t a_stride = 0, b_stride = 0, out_stride = 0;
};

// Computes a block. Nothing need be aligned, and `out` may be exactly a or b where that has the same strides. After
// Traffic::streamed the caller ends with a store fence. Returns how many elements overflow under `count`, and under
// `widen` of 64 bits; under `error` only whether any does, as 0 or 1; else 0.
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
  // nullptr where the element type has no such policy.
  Kernel (*find)(Operator op, Element element, Policy policy, Accesses accesses);
  const Inverse& (*inverse)(Operator op);
  void (*gather)(size_t item, const StridedRows& rows);
  // Copies n elements from one stride to another.
  void (*copy)(size_t item, const char* from, ptrdiff_t from_stride, char* to, ptrdiff_t to_stride, size_t n);
  // n copies of each of `rows` elements that are `stride` bytes apart.
  void (*repeat_each)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n);
  // Rows of `columns` contiguous elements, `to_stride` bytes apart, from contiguous elements down each column. Behind
  // the last row up to a cache line may be written.
  void (*transpose)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows,
                    size_t columns);
  // Many bytes; `stream`: with non-temporal stores.
  void (*copy_bytes)(const char* from, char* to, size_t bytes, bool stream);
  bool moves_small;       // whether few instructions move bytes anywhere within its registers
  // Bytes of a row that is reversed in registers, and of one whose every second element is read without a buffer; shorter
  // ones are joined and gathered together.
  size_t least_reversed, least_every_second;
};

}  // namespace minuend
