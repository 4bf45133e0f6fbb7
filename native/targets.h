// The CPU targets that the loop is compiled for, and the choice among them.
#pragma once

#include <vector>

#include "kernel.h"

namespace minuend {

// Names of the targets that this CPU runs, slowest first.
const std::vector<const char*>& targets();

// The target in use: the best one, or what MINUEND_TARGET names, until set_target() forces another.
const char* target();
bool set_target(const char* name);

// What the target in use offers.
const Routines& routines();

}  // namespace minuend
