// The one way to a difference: two strided operands and a result, however they lie to one another.
#pragma once

#include "subtract.h"

namespace minuend {

constexpr size_t kNoMemory = SIZE_MAX;

// Computes all elements as if the operands had been copied first. Returns what the kernel says of overflow; where that is
// an error, the operands hold what they held. kNoMemory: there is none for a result that has to be computed apart.
// The layout may be reordered on the way.
size_t compute(Work& work);

}  // namespace minuend
