// Rows of which each is one difference, repeated.
#pragma once

#include <algorithm>

#include "plan/traversal.h"

namespace minuend {

// Both operands have one element for each row, and the results follow one another: an element of each row is computed,
// and its result repeated, in 0.06 to 0.8 of the time that rows of equal elements take. Units are elements.
class Repeats : public KernelTraversal {
 public:
  static bool fits(const Work& work, Traffic traffic) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    const size_t item = result_size(work.element, work.policy);
    if (l.rank < 2 || l.a[row] != 0 || l.b[row] != 0) return false;
    if (report_of(work.element, work.policy) == Report::count) return false;  // each copy counts
    const size_t bytes = l.size[row] * item;
    return l.out[row] == ptrdiff_t(item) && l.out[row - 1] == ptrdiff_t(bytes) && l.size[row - 1] >= kLeast &&
           (traffic != Traffic::streamed || bytes <= kBuffer / 2);
  }

  Repeats(const Work& work, Traffic traffic) : KernelTraversal(work, traffic, 2) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    n_ = l.size[row], rows_ = l.size[row - 1];
    a_ = l.a[row - 1], b_ = l.b[row - 1];
    read_as({a_ == 0 ? Access::broadcast : Access::contiguous, b_ == 0 ? Access::broadcast : Access::contiguous});
    step_ = streams() ? kBuffer / (n_ * result_) : kBuffer / std::max(item_, result_);
  }

  size_t units() const { return rows_ * n_; }
  size_t grain() const { return row_grain(n_); }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const {
    return in_rows(n_, from, to, [&](size_t row, size_t rows, size_t column, size_t n) {
      return run_rows(a + ptrdiff_t(row) * a_, b + ptrdiff_t(row) * b_, out + (row * n_ + column) * result_, rows, n);
    });
  }

 private:
  static constexpr size_t kLeast = 2;  // rows

  size_t run_rows(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    Gathered a_buffer, b_buffer;
    alignas(64) char results[kBuffer], copies[kBuffer];
    size_t count = 0;
    for (size_t r = 0; r < rows; r += step_) {
      const size_t k = std::min(step_, rows - r);
      const char* x = bring(a + ptrdiff_t(r) * a_, a_, k, a_buffer);
      const char* y = bring(b + ptrdiff_t(r) * b_, b_, k, b_buffer);
      count += kernel_(table_, {x, y, results, k}, accesses_, Traffic::in_l1);
      char* const z = out + r * n * result_;
      routines().repeat_each(result_, results, ptrdiff_t(result_), streams() ? copies : z, k, n);
      if (streams()) routines().copy_bytes(copies, z, k * n * result_, true);
    }
    return count;
  }

  const char* bring(const char* p, ptrdiff_t stride, size_t n, Gathered& to) const {
    if (stride == 0 || is_contiguous(stride)) return p;
    routines().gather(item_, {p, to.bytes, stride, n});
    return to.bytes;
  }

  size_t n_, rows_, step_;  // `step_`: rows at a time
  ptrdiff_t a_, b_;         // from row to row, in bytes
};

}  // namespace minuend
