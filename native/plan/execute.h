// Operators over strided memory: from a layout to calls of the kernel.
#pragma once

#include "kernel/kernel.h"
#include "plan/layout.h"

namespace minuend {

// Two operands and a result in memory.
struct Views {
  Layout layout;
  const char* a;
  const char* b;
  char* out;
};

// One operator over them.
struct Work : Views {
  Operator op;
  Element element;
  Policy policy;
  const void* table;  // the results, where the element is `table`
};

// Computes all elements; returns what the kernel says of overflow. The layout may be reordered on the way. `out` may be
// exactly A's or B's memory with the same strides.
size_t execute(Work& work);

// Copies elements of `item` bytes from A to the result; B is A, and none of it is in the result's memory.
void copy(Views& views, size_t item);

// The place in C order of the first element that overflows; the number of elements where none does.
size_t first_overflow(const Work& work);

// Whether a work moves so many bytes that other Python threads should run meanwhile.
bool is_long(const Work& work);

}  // namespace minuend
