// Rows of which each is one difference, repeated.
#pragma once

#include <algorithm>

#include "plan/singles.h"
#include "plan/traversal.h"

namespace minuend {

// Both operands have one element for each row, and the results follow one another: an element of each row is computed,
// and its result repeated, in 0.06 to 0.8 of the time that rows of equal elements take. Few short rows are computed
// together with those of the dim around them: 0.1 of the time of a few rows at a time. A group is the rows of one index
// of that dim, or one row. Units are groups of several rows, or elements.
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

  Repeats(const Work& work, Traffic traffic) : KernelTraversal(work, traffic, has_groups(work) ? 3 : 2) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    n_ = l.size[row];
    if (dims() == 3) rows_ = l.size[row - 1], groups_ = l.size[row - 2];
    else groups_ = l.size[row - 1];
    auto strides = [&](const ptrdiff_t* s) {
      return dims() == 3 ? Strides{s[row - 2], s[row - 1]} : Strides{s[row - 1], 0};
    };
    a_ = strides(l.a), b_ = strides(l.b);
    auto access = [](const Strides& s) {
      return s.outer == 0 && s.inner == 0 ? Access::broadcast : Access::contiguous;
    };
    read_as({access(a_), access(b_)});
    const size_t computed = kBuffer / std::max(item_, result_);
    step_ = std::max((streams() ? kBuffer / (n_ * result_) : computed) / rows_, size_t(1));
  }

  size_t units() const { return rows_ > 1 ? groups_ : groups_ * n_; }
  size_t grain() const { return rows_ > 1 ? kCacheLine : row_grain(n_); }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const {
    auto run_from = [&](size_t group, size_t groups, size_t column, size_t n) {
      const auto i = ptrdiff_t(group);
      return run_groups(a + i * a_.outer, b + i * b_.outer, out + (group * rows_ * n_ + column) * result_, groups, n);
    };
    return rows_ > 1 ? run_from(from, to - from, 0, n_) : in_rows(n_, from, to, run_from);
  }

 private:
  static constexpr size_t kLeast = 2;  // rows
  static constexpr size_t kFewRows = 64;

  static bool has_groups(const Work& work) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    if (l.rank < 3 || l.size[row - 1] >= kFewRows) return false;
    const size_t bytes = l.size[row - 1] * l.size[row] * result_size(work.element, work.policy);
    return bytes <= kBuffer / 2 && l.out[row - 2] == ptrdiff_t(bytes);
  }

  size_t run_groups(const char* a, const char* b, char* out, size_t groups, size_t n) const {
    Gathered a_buffer, b_buffer;
    alignas(64) char results[kBuffer], copies[kBuffer];
    size_t count = 0;
    for (size_t i = 0; i < groups; i += step_) {
      const size_t k = std::min(step_, groups - i), rows = k * rows_;
      const char* x = bring(a + ptrdiff_t(i) * a_.outer, a_, accesses_.a, k, a_buffer);
      const char* y = bring(b + ptrdiff_t(i) * b_.outer, b_, accesses_.b, k, b_buffer);
      count += kernel_(table_, {x, y, results, rows}, accesses_, Traffic::in_l1);
      char* const z = out + i * rows_ * n * result_;
      routines().repeat_each(result_, results, ptrdiff_t(result_), streams() ? copies : z, rows, n);
      if (streams()) routines().copy_bytes(copies, z, rows * n * result_, true);
    }
    return count;
  }

  const char* bring(const char* p, const Strides& s, Access access, size_t groups, Gathered& to) const {
    const auto group = ptrdiff_t(rows_ * item_);
    if (access == Access::broadcast || ((rows_ == 1 || is_contiguous(s.inner)) && s.outer == group)) return p;
    if (rows_ == 1) routines().gather(item_, {p, to.bytes, s.outer, groups});
    else routines().gather(item_, {p, to.bytes, s.inner, rows_, groups, s.outer, group});
    return to.bytes;
  }

  size_t n_, rows_ = 1, groups_, step_;  // elements of a row, rows of a group; `step_`: groups at a time
  Strides a_, b_;                        // from group to group, and from row to row
};

}  // namespace minuend
