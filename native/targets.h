// The CPU targets that the loop is compiled for, and the choice among them.
#pragma once

#include <cstddef>

#include "kernel.h"

namespace minuend {

struct Names {
  const char* const* first;
  size_t count;
};

// Names of the targets that this CPU runs, slowest first.
Names targets();

// The target in use: the best one, or what MINUEND_TARGET names, until set_target() forces another.
const char* target();
bool set_target(const char* name);

// What the target in use offers.
const Routines& routines();

}  // namespace minuend
