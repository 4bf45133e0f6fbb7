// The instruction sets that the loop is compiled for, and the choice among them.
#pragma once

#include <cstddef>

#include "kernel/kernel.h"

namespace minuend {

struct Names {
  const char* const* first;
  size_t count;
};

// Names of those that this CPU runs, slowest first.
Names instruction_sets();
// Names of all that this build has, also of those that this CPU lacks.
Names built_instruction_sets();

// What MINUEND_ISA names, or MINUEND_TARGET, its name before; nullptr where neither is set.
const char* requested_instruction_set();

// The one in use: the best, or the requested one, until set_instruction_set() forces another.
const char* instruction_set();
bool set_instruction_set(const char* name);

// What the one in use offers.
const Routines& routines();
// The same for simple arithmetic on what the caches beyond L2 hold. On Zen 4 these are AVX2's, whose loads are half as
// large: by loads of 64 bytes 2 to 16 MiB took up to 1.15 times as long, and less as long.
const Routines& routines_beyond_l2();

}  // namespace minuend
