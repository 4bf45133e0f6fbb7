// The one door: two strided operands and a result, which may overlap in any way.
#pragma once

#include "plan/subtract.h"

namespace minuend {

constexpr size_t kNoMemory = SIZE_MAX;

// Computes all elements as if the operands had been copied first. Returns what the kernel says of overflow; where that
// is an error, the operands keep their values. kNoMemory: a result that has to be computed apart found no memory. The
// layout may be reordered on the way.
size_t compute(Work& work);

}  // namespace minuend
