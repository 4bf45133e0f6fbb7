// Strided subtraction: from a layout to calls of the kernel.
#pragma once

#include "kernel.h"
#include "layout.h"

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

// The elements that overflow under the work's policy: how many, and the place of the first in C order (the number of
// elements where there is none).
struct Overflows {
  size_t count = 0, first = 0;
};
Overflows overflows(const Work& work);

// Whether a work moves so many bytes that other Python threads should run meanwhile.
bool is_long(const Work& work);

}  // namespace minuend
