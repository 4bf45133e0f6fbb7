// What a layout is computed in.
#pragma once

#include <cstddef>

#include "subtract.h"
#include "targets.h"

namespace minuend {

constexpr size_t kBuffer = 8192;        // bytes that are gathered at a time: a few such fit the first cache
constexpr size_t kChunk = kBuffer / 8;  // elements that are so many bytes at most

// The innermost dims of a layout: what is handed to the kernel in one go. They are counted in units, which threads
// share.
class Cell {
 public:
  Cell(const Work& work, Reach reach, int dims)
      : element_(work.element),
        policy_(work.policy),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count),
        reach_(reach),
        dims_(dims) {}
  virtual ~Cell() = default;
  virtual size_t units() const = 0;
  virtual size_t grain() const = 0;  // threads begin at multiples of so many units
  virtual size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const = 0;

  int dims() const { return dims_; }
  bool streams() const { return reach_ == Reach::past; }

 protected:
  // An operand brought together, and whether it is what all that follows needs as well.
  struct Gathered {
    alignas(64) char bytes[kBuffer];
    bool ready = false;
  };

  bool consecutive(ptrdiff_t stride) const { return stride == ptrdiff_t(item_); }

  // How the kernel is to read the operands; said once, by what derives from this.
  void read_as(Form form) {
    form_ = form;
    kernel_ = routines().find(element_, policy_, form);
  }

  const Element element_;
  const Policy policy_;
  const void* const table_;
  const size_t item_, result_;
  const bool writes_;
  const Reach reach_;
  Form form_{};
  Kernel kernel_ = nullptr;

 private:
  const int dims_;
};

}  // namespace minuend
