// Strided subtraction: from a layout to calls of the kernel.
#pragma once

#include "kernel/kernel.h"
#include "plan/layout.h"

namespace minuend {

// One subtraction over strided memory.
struct Work {
  Element element;
  Policy policy;
  const void* table;  // the answers, where the element is `table`
  Layout layout;
  const char* a;
  const char* b;
  char* out;
};

// Computes all elements; returns what the kernel says of overflow. The layout may be reordered on the way. `out` may be
// exactly A's or B's memory with the same strides.
size_t subtract(Work& work);

// The place in C order of the first element that overflows; the number of elements where none does.
size_t first_overflow(const Work& work);

// Whether a work moves so many bytes that other Python threads should run meanwhile.
bool is_long(const Work& work);

}  // namespace minuend
