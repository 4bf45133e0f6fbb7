// Sizes and strides, and the order in which the kernel goes through them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minuend {

constexpr int kMaxRank = 64;  // NumPy's own limit

// Sizes and byte strides of A, B and the result, outermost first; stride 0 repeats an operand.
struct Layout {
  int rank = 0;
  size_t size[kMaxRank];
  ptrdiff_t a[kMaxRank], b[kMaxRank], out[kMaxRank];

  size_t count() const;
};

// Packs the result's elements, of `item` bytes, in the order of the strides x and y, as NumPy's order="K" does: two
// dims that x and y order differently, or not at all, stay in C order.
void pack_like(Layout& layout, const ptrdiff_t* x, const ptrdiff_t* y, size_t item);

// Whether each stride of the result spans all that shorter ones reach: then no two elements share a byte. Interleaved
// layouts, which share none either, are not found.
bool is_nested(const Layout& layout, size_t item);

// The same elements in fewer, longer dims: drops dims of size 1, reverses dims with a negative result stride (which
// moves the three pointers), sorts them by the result's strides and joins those that continue each other. The order of
// the elements changes, so a caller that needs C order must not collapse.
void collapse(Layout& layout, const char*& a, const char*& b, char*& out);

}  // namespace minuend
