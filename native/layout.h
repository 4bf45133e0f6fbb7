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

// The same elements in fewer, longer dims: drops dims of size 1, turns dims with a negative result stride round
// (which moves the three pointers), sorts them by the result's strides and joins those that continue each other.
// The order of the elements changes, so a caller that needs C order must not collapse.
void collapse(Layout& layout, const char*& a, const char*& b, char*& out);

}  // namespace minuend
