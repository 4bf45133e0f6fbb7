// The one table of element types, and the overflow policies. minuend.dtypes has Python's; learn() holds each row against this
// one.
#pragma once

#include <cstddef>

namespace minuend {

// `table` is any type of 8 bits or fewer, by its 65,536 answers.
enum class Element { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, table };
enum class Kind { floating, with_sign, without_sign, coded };

struct ElementRow {
  Element element;
  const char* name;  // Python's, in ElementType.kernel
  Kind kind;
  size_t size;  // bytes
};

constexpr ElementRow kElements[] = {
    {Element::f16, "f16", Kind::floating, 2},      {Element::bf16, "bf16", Kind::floating, 2},
    {Element::f32, "f32", Kind::floating, 4},      {Element::f64, "f64", Kind::floating, 8},
    {Element::i8, "i8", Kind::with_sign, 1},       {Element::i16, "i16", Kind::with_sign, 2},
    {Element::i32, "i32", Kind::with_sign, 4},     {Element::i64, "i64", Kind::with_sign, 8},
    {Element::u8, "u8", Kind::without_sign, 1},    {Element::u16, "u16", Kind::without_sign, 2},
    {Element::u32, "u32", Kind::without_sign, 4},  {Element::u64, "u64", Kind::without_sign, 8},
    {Element::table, "table", Kind::coded, 1},
};

constexpr const ElementRow& row_of(Element element) { return kElements[size_t(element)]; }

constexpr bool is_in_order() {
  for (size_t i = 0; i < sizeof(kElements) / sizeof(ElementRow); ++i) {
    if (size_t(kElements[i].element) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "row_of() finds a row by its place");

// What is written where the exact difference does not fit, and whether such elements are counted.
enum class Policy { wrap, error, saturate, widen, count };
constexpr const char* kPolicies[] = {"wrap", "error", "saturate", "widen", "count"};

// Bytes of one element of an operand, and of the result.
constexpr size_t item_size(Element element) { return row_of(element).size; }
constexpr size_t result_size(Element element, Policy policy) {
  const ElementRow& row = row_of(element);
  return policy == Policy::widen && row.kind != Kind::coded && row.size < 8 ? 2 * row.size : row.size;
}

// The type of unsigned integers of so many bytes.
constexpr Element unsigned_of(size_t item) {
  for (const ElementRow& row : kElements) {
    if (row.kind == Kind::without_sign && row.size == item) return row.element;
  }
  return Element::u8;
}

}  // namespace minuend
