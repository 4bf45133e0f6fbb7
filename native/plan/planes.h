// Small planes of elements, many of them.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "plan/singles.h"
#include "plan/traversal.h"

namespace minuend {

// The innermost dims, two or more, are a plane of a few elements, the dim around them counts planes, and the result is
// contiguous: as many planes as the buffer holds are one row to the kernel. An operand that is not contiguous is
// gathered first, one row of all these planes at a time. Units are planes.
class Planes : public KernelTraversal {
 public:
  // The dim that counts planes, the outermost that may; -1 where the work is not of this kind.
  static int outer_dim(const Work& work, Traffic traffic) {
    const Layout& l = work.layout;
    if (work.policy == Policy::count || has_long_rows(work)) return -1;
    const auto item = ptrdiff_t(result_size(work.element, work.policy));
    const size_t bytes = traffic == Traffic::streamed ? 2 * kMostBytes : kMostBytes;
    const auto own = ptrdiff_t(item_size(work.element));
    const bool copies = l.rank > 0 && l.a[l.rank - 1] == own && l.b[l.rank - 1] == own;
    const size_t most = std::min(copies ? kMostRows : kMost, bytes / size_t(own));
    const size_t most_shared = std::min(kMostRows, kBuffer / kLeast / item_size(work.element));
    auto is_small = [&](int d, size_t inside) {
      const bool shares = shares_lines(l.a, d, l.rank) || shares_lines(l.b, d, l.rank);
      return inside <= most || (inside <= most_shared && shares);
    };
    int found = -1;
    size_t inside = 1;  // elements
    for (int d = l.rank - 1; d >= 0 && inside <= kMostRows && l.out[d] == ptrdiff_t(inside) * item; --d) {
      if (d <= l.rank - 3 && l.size[d] >= kLeast && is_small(d, inside)) found = d;
      inside *= l.size[d];
    }
    return found;
  }

  Planes(const Work& work, Traffic traffic, int p)
      : KernelTraversal(work, traffic, work.layout.rank - p),
        a_(work.layout, work.layout.a, p),
        b_(work.layout, work.layout.b, p) {
    const Layout& l = work.layout;
    planes_ = l.size[p];
    for (int d = p + 1; d < l.rank; ++d) plane_ *= l.size[d];
    const bool same_b = b_.is_scalar(), same_a = !same_b && a_.is_scalar();
    read_as({same_a ? Access::broadcast : Access::contiguous, same_b ? Access::broadcast : Access::contiguous});
  }

  size_t units() const { return planes_; }
  size_t grain() const { return kCacheLine; }  // no two threads write to one cache line of a result

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const {
    Gathered a_buffer, b_buffer;
    const size_t step = kBuffer / (plane_ * item_);
    size_t count = 0;
    for (size_t i = from; i < to; i += step) {
      const size_t k = std::min(step, to - i);
      const char* x = bring(a + ptrdiff_t(i) * a_.outer, a_, accesses_.a, k, a_buffer);
      const char* y = bring(b + ptrdiff_t(i) * b_.outer, b_, accesses_.b, k, b_buffer);
      count += kernel_(table_, {x, y, out + i * plane_ * result_, k * plane_}, accesses_, traffic_);
    }
    return count;
  }

 private:
  static constexpr size_t kLeast = 8;  // planes
  static constexpr size_t kLeastCall = 256;  // bytes
  static constexpr size_t kMost = 128, kMostBytes = 512;  // of a plane: elements, and their bytes
  static constexpr size_t kMostRows = 512;                // elements of one whose rows are copied, or that shares lines

  // Whether planes share cache lines, which the elements of a plane do not: as many planes as share them are gathered
  // together, in up to 0.6 of the time.
  static bool shares_lines(const ptrdiff_t* s, int d, int rank) {
    const auto line = ptrdiff_t(kCacheLine);
    return s[d] != 0 && std::abs(s[d]) <= line / 2 && std::abs(s[rank - 1]) >= line && std::abs(s[rank - 2]) >= line;
  }

  // Whether planes are rows enough for a call of the kernel each, which reads their elements one at a time: 1.4 to 1.7
  // times as fast as gathering both operands.
  __attribute__((noinline)) static bool has_long_rows(const Work& work) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    if (l.rank < 3 || l.size[row] * l.size[row - 1] * item_size(work.element) < kLeastCall) return false;
    return reads_singles(work, l.size[row], {l.a[row - 1], l.a[row]}, {l.b[row - 1], l.b[row]});
  }

  // An operand: the stride of its planes, and its rows within a plane, as long as its strides allow.
  struct Operand {
    Operand(const Layout& l, const ptrdiff_t* s, int p) : outer(s[p]), inner(s[l.rank - 1]), n(l.size[l.rank - 1]) {
      row[0] = 0;
      for (int d = l.rank - 2; d > p; --d) {
        if (rows == 1 && s[d] == inner * ptrdiff_t(n)) {
          n *= l.size[d];
          continue;
        }
        for (size_t i = 1; i < l.size[d]; ++i) {
          for (size_t r = 0; r < rows; ++r) row[i * rows + r] = row[r] + ptrdiff_t(i) * s[d];
        }
        rows *= l.size[d];
      }
    }
    bool is_scalar() const { return outer == 0 && inner == 0 && rows == 1; }

    ptrdiff_t outer, inner;  // bytes
    size_t n, rows = 1;
    ptrdiff_t row[kMostRows];  // offset of each, in bytes
  };

  const char* bring(const char* p, const Operand& s, Access access, size_t planes, Gathered& to) const {
    const auto plane = ptrdiff_t(plane_ * item_);
    if (access == Access::broadcast || (s.rows == 1 && is_contiguous(s.inner) && s.outer == plane)) return p;
    if (to.ready) return to.bytes;  // all planes are one: the first step, the largest, has gathered enough of them
    for (size_t r = 0; r < s.rows; ++r) {
      char* const row = to.bytes + r * s.n * item_;
      routines().gather(item_, {p + s.row[r], row, s.inner, s.n, planes, s.outer, plane});
    }
    to.ready = s.outer == 0;
    return to.bytes;
  }

  const Operand a_, b_;
  size_t planes_, plane_ = 1;
};

}  // namespace minuend
