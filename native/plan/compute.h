// The one door: two strided operands and a result, which may overlap in any way.
#pragma once

#include "plan/execute.h"

namespace minuend {

constexpr size_t kNoMemory = SIZE_MAX;

// Computes all elements as if the operands had been copied first. Returns what the kernel says of overflow; where that
// is an error, the operands keep their values. kNoMemory: a result that needs a buffer found no memory for it. The
// layout may be reordered on the way.
size_t compute(Work& work);

}  // namespace minuend
