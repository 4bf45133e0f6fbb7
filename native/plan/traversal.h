// How a layout is gone through.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "plan/execute.h"
#include "system/instruction_sets.h"

namespace minuend {

// Around a kernel that computes 16 elements, calls of such functions were a tenth of the time.
#define MINUEND_PLAN_INLINE __attribute__((always_inline)) inline

constexpr size_t kBuffer = 8192;        // bytes that are gathered at a time: L1 holds a few such
constexpr size_t kChunk = kBuffer / 8;  // elements of the largest type in a buffer

// The innermost dims of a layout, gone through together. They are counted in units, which threads share. Every
// traversal has these members:
//   units()    how many there are
//   grain()    a thread begins at a multiple of so many units
//   run()      goes through the units [from, to); returns what the kernel says of overflow
class Traversal {
 public:
  Traversal(Traffic traffic, int dims) : traffic_(traffic), dims_(dims) {}

  int dims() const { return dims_; }
  bool streams() const { return traffic_ == Traffic::streamed; }

 protected:
  const Traffic traffic_;

 private:
  const int dims_;
};

constexpr size_t kLeastStreamedRow = 2048;  // bytes

// Elements of an operand along the dims from one on, each once.
inline size_t elements_read(const Layout& l, const ptrdiff_t* strides, int from = 0) {
  size_t n = 1;
  for (int i = from; i < l.rank; ++i) n *= strides[i] == 0 ? 1 : l.size[i];
  return n;
}

// Bytes of cache lines for each of them, of `item` bytes: what lies in between is read as well.
inline size_t in_lines(const Layout& l, const ptrdiff_t* strides, size_t item, int from = 0) {
  size_t least = 0;
  for (int i = from; i < l.rank; ++i) {
    const auto stride = size_t(std::abs(strides[i]));
    if (l.size[i] > 1 && stride > 0 && (least == 0 || stride < least)) least = stride;
  }
  return std::max(std::min(least, kCacheLine), item);
}

// Short rows are not cut; of long ones, no two threads write to one cache line of a contiguous result.
inline size_t row_grain(size_t n) { return n <= kChunk ? n : 64; }

// Elements [from, to) of rows of n: calls f(row, rows, column, count) for the rest of a row, for whole rows and for the
// beginning of one; returns the sum of what f returns.
template <class F>
MINUEND_PLAN_INLINE size_t in_rows(size_t n, size_t from, size_t to, F f) {
  size_t row = from / n, sum = 0;
  if (const size_t column = from % n; column > 0) {
    const size_t end = std::min(n, column + (to - from));
    sum += f(row++, 1, column, end - column);
    from += end - column;
  }
  if (const size_t whole = (to - from) / n; whole > 0) {
    sum += f(row, whole, 0, n);
    row += whole;
    from += whole * n;
  }
  if (from < to) sum += f(row, 1, 0, to - from);
  return sum;
}

// A traversal that calls the kernel.
class KernelTraversal : public Traversal {
 public:
  KernelTraversal(const Work& work, Traffic traffic, int dims)
      : Traversal(traffic, dims),
        op_(work.op),
        element_(work.element),
        policy_(work.policy),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count) {}

 protected:
  // A gathered operand, and whether all that follows needs the same.
  struct Gathered {
    alignas(64) char bytes[kBuffer];
    bool ready = false;
  };

  bool is_contiguous(ptrdiff_t stride) const { return stride == ptrdiff_t(item_); }

  // Chooses the kernel, of the routines in use or of others; called once, by the derived class.
  void read_as(Accesses accesses, const Routines& of = routines()) {
    accesses_ = accesses;
    kernel_ = of.find(op_, element_, policy_, accesses);
  }

  const Operator op_;
  const Element element_;
  const Policy policy_;
  const void* const table_;
  const size_t item_, result_;
  const bool writes_;
  Accesses accesses_{};
  Kernel kernel_ = nullptr;
};

}  // namespace minuend
