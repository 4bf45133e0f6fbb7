// Small planes of elements, many of them.
#pragma once

#include <algorithm>

#include "cell.h"

namespace minuend {

// The two innermost dims are a plane of a few elements, the dim around them counts planes, and results follow one
// another: as many planes as the first cache holds are one row to the kernel. An operand that does not follow on is
// brought together first, a row of all these planes at a time. Units are planes.
class Planes : public Cell {
 public:
  static bool pays(const Work& work) {
    const Layout& l = work.layout;
    const int p = l.rank - 3;
    if (p < 0 || work.policy == Policy::count || l.size[p] < kLeast || l.size[p + 1] * l.size[p + 2] > kMost) return false;
    return follows(l, l.out, ptrdiff_t(result_size(work.element, work.policy)));
  }

  Planes(const Work& work, Reach reach) : Cell(work, reach, 3) {
    const Layout& l = work.layout;
    const int p = l.rank - 3;
    planes_ = l.size[p], rows_ = l.size[p + 1], n_ = l.size[p + 2];
    a_ = operand(l, l.a), b_ = operand(l, l.b);
    const bool same_b = is_scalar(b_), same_a = !same_b && is_scalar(a_);
    form_ = {same_a ? Access::same : Access::each, same_b ? Access::same : Access::each};
  }

  size_t units() const override { return planes_; }
  size_t grain() const override { return kLine; }  // no two threads write to one cache line of a result

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    Gathered a_buffer, b_buffer;
    const size_t plane = rows_ * n_, step = kBuffer / (plane * item_);
    size_t count = 0;
    for (size_t i = from; i < to; i += step) {
      const size_t k = std::min(step, to - i);
      const char* x = bring(a + ptrdiff_t(i) * a_.plane, a_, form_.a, k, a_buffer);
      const char* y = bring(b + ptrdiff_t(i) * b_.plane, b_, form_.b, k, b_buffer);
      count += kernel_(table_, {x, y, out + i * plane * result_, k * plane}, form_, reach_);
    }
    return count;
  }

 private:
  static constexpr size_t kLeast = 16;  // planes
  static constexpr size_t kMost = 64;   // elements of one

  struct Operand {
    ptrdiff_t plane, row, inner;
    bool follows;
  };

  static bool follows(const Layout& l, const ptrdiff_t* s, ptrdiff_t item) {
    const int p = l.rank - 3;
    const auto n = ptrdiff_t(l.size[p + 2]), rows = ptrdiff_t(l.size[p + 1]);
    return s[p + 2] == item && s[p + 1] == n * item && s[p] == rows * n * item;
  }
  Operand operand(const Layout& l, const ptrdiff_t* s) const {
    const int p = l.rank - 3;
    return {s[p], s[p + 1], s[p + 2], follows(l, s, ptrdiff_t(item_))};
  }
  static bool is_scalar(const Operand& s) { return s.plane == 0 && s.row == 0 && s.inner == 0; }

  const char* bring(const char* p, const Operand& s, Access access, size_t planes, Gathered& to) const {
    if (s.follows || access == Access::same) return p;
    if (to.ready) return to.bytes;  // every plane the same: the first, largest, step holds enough of them
    const size_t row = n_ * item_;
    for (size_t r = 0; r < rows_; ++r) {
      const char* from = p + ptrdiff_t(r) * s.row;
      routines().gather(item_, {from, to.bytes + r * row, s.inner, n_, planes, s.plane, ptrdiff_t(rows_ * row)});
    }
    to.ready = s.plane == 0;
    return to.bytes;
  }

  size_t planes_, rows_, n_;
  Operand a_, b_;
  Form form_;
};

}  // namespace minuend
