// How a layout is gone through.
#pragma once

#include <cstddef>

#include "plan/subtract.h"
#include "system/instruction_sets.h"

namespace minuend {

constexpr size_t kBuffer = 8192;        // bytes that are gathered at a time: L1 holds a few such
constexpr size_t kChunk = kBuffer / 8;  // elements of the largest type in a buffer

// The innermost dims of a layout, which go to the kernel together. They are counted in units, which threads share.
class Traversal {
 public:
  Traversal(const Work& work, Traffic traffic, int dims)
      : element_(work.element),
        policy_(work.policy),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count),
        traffic_(traffic),
        dims_(dims) {}
  virtual ~Traversal() = default;
  virtual size_t units() const = 0;
  virtual size_t grain() const = 0;  // a thread begins at a multiple of so many units
  virtual size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const = 0;

  int dims() const { return dims_; }
  bool streams() const { return traffic_ == Traffic::streamed; }

 protected:
  // A gathered operand, and whether all that follows needs the same.
  struct Gathered {
    alignas(64) char bytes[kBuffer];
    bool ready = false;
  };

  bool is_contiguous(ptrdiff_t stride) const { return stride == ptrdiff_t(item_); }

  // Chooses the kernel; called once, by the derived class.
  void read_as(Accesses accesses) {
    accesses_ = accesses;
    kernel_ = routines().find(element_, policy_, accesses);
  }

  const Element element_;
  const Policy policy_;
  const void* const table_;
  const size_t item_, result_;
  const bool writes_;
  const Traffic traffic_;
  Accesses accesses_{};
  Kernel kernel_ = nullptr;

 private:
  const int dims_;
};

}  // namespace minuend
