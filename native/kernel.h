// What the loop offers to the rest: one function per element type and policy, for contiguous or repeated operands.
#pragma once

#include <cstddef>
#include <cstdint>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read as little-endian");

namespace minuend {

constexpr size_t kLine = 64;  // bytes of a cache line

// The element types that the kernel knows; `table` is any type of 8 bits or fewer, by its 65,536 answers.
enum class Element { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, table };

// What is written where the exact difference does not fit, and whether such elements are counted.
enum class Policy { wrap, error, saturate, widen, count };

// Which elements of its memory a row of an operand has: each, every second, those that lie a stride apart, or the same
// again and again.
enum class Access { each, second, apart, same };

// At most one is `same`; `apart` there is of elements from kLeastApart on, and none beside `second`.
struct Form {
  Access a = Access::each, b = Access::each;
};
constexpr size_t kLeastApart = 4;  // bytes of an element; smaller ones are sooner gathered

// What the kernel has loops for; what it has none for is gathered first. Loops for all would be three in five, for calls
// that are rare.
//
//   policy                    accesses of A and B
//   wrap                      all of the above
//   error, saturate, widen    each or same; every second beside each or every second
//   count, and all tables     each or same
constexpr bool reads_all(Element element, Policy policy) { return policy == Policy::wrap && element != Element::table; }
constexpr bool reads_second(Element element, Policy policy) {
  return policy != Policy::count && element != Element::table;
}

// Where the memory is that a block reads and writes: in the first cache; in the next ones, so that lines are asked for in
// time; farther away, and the result not past the caches, such as one that is written over an operand; or so far away
// and so large that the result is written past them.
enum class Reach { first, near, far, past };

// Rows of n elements; consecutive rows begin so many bytes apart.
struct Block {
  const char* a;
  const char* b;
  char* out;
  size_t n, rows = 1;
  ptrdiff_t a_step = 0, b_step = 0, out_step = 0;
  ptrdiff_t a_stride = 0, b_stride = 0;  // bytes from element to element of an operand whose access is `apart`
};

// Subtracts a block. A row of `out` is consecutive; nothing need be aligned, and `out` may be exactly a or b where each
// element of that is read. After Reach::past the caller ends with a store fence. Returns how
// many elements overflow where the policy is `count` or `widen`; under `error` only whether any
// does, as 0 or 1; else 0.
using Kernel = size_t (*)(const void* table, const Block& block, Form form, Reach reach);

// Rows of n elements, `stride` bytes apart, that are to be consecutive.
struct Steps {
  const char* from;
  char* to;
  ptrdiff_t stride;
  size_t n, rows = 1;
  ptrdiff_t from_step = 0, to_step = 0;  // bytes between the beginnings of rows
};

// What one CPU target offers.
struct Routines {
  Kernel (*find)(Element element, Policy policy, Form form);  // for blocks of this form; nullptr where none has the policy
  void (*gather)(size_t item, const Steps& steps);
  // n consecutive elements of `item` bytes to places `stride` bytes apart.
  void (*scatter)(size_t item, const char* from, char* to, ptrdiff_t stride, size_t n);
  // n copies of each of `rows` elements that are `stride` bytes apart.
  void (*stretch)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t rows, size_t n);
  // Rows of `columns` consecutive elements, `to_stride` bytes apart, from consecutive elements down each column. Behind
  // the last row up to a line may be written.
  void (*transpose)(size_t item, const char* from, ptrdiff_t stride, char* to, size_t to_stride, size_t rows,
                    size_t columns);
  // Bytes, written past the caches.
  void (*copy_past)(const char* from, char* to, size_t bytes);
};

// Bytes of one element of an operand, and of the result.
size_t item_size(Element element);
size_t result_size(Element element, Policy policy);

}  // namespace minuend
