// Elements that are read one at a time, without a buffer.
#pragma once

#include "plan/execute.h"

namespace minuend {

// One operand of two dims.
struct Strides {
  ptrdiff_t outer, inner;
};

// The most of n lines, at such a distance, that share a set of L1; counted up to one more than a set holds.
size_t lines_in_a_set(ptrdiff_t distance, size_t n);

// Whether rows of n elements are sooner read one element at a time than gathered into a buffer. That takes an operand
// whose elements are far apart.
bool reads_far(const Work& work, size_t n, const Strides& a, const Strides& b);
inline bool reads_singles(const Work& work, size_t n, const Strides& a, const Strides& b) {
  return (is_far(a.inner) || is_far(b.inner)) && n >= 4 && reads_far(work, n, a, b);
}

}  // namespace minuend
