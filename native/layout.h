// Strides put in the order that suits the kernel.
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

// Packs the result's elements, of `item` bytes, in the order in which x and y lie, as NumPy's order="K" does: where two dims
// are ordered differently in the two, or not at all, the outer one stays outside.
void pack_like(Layout& layout, const ptrdiff_t* x, const ptrdiff_t* y, size_t item);

// Whether the result's elements share no byte, as far as is seen at a glance: each stride spans all that shorter ones
// reach. Layouts that are woven together are not told from ones that overlap.
bool is_nested(const Layout& layout, size_t item);

// The same elements in fewer, longer dims: drops dims of size 1, turns dims with a negative result stride round
// (which moves the three pointers), sorts them by the result's strides and joins those that continue each other.
// The order of the elements changes, so a caller that needs C order must not collapse.
void collapse(Layout& layout, const char*& a, const char*& b, char*& out);

}  // namespace minuend
