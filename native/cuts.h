// A dim cut into pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernel.h"

namespace minuend {

// Pieces of one length, of which the first may be shorter: then the others begin on cache lines.
struct Cuts {
  Cuts() = default;
  Cuts(size_t n, size_t side) : size(n), length(side), count((n + side - 1) / side) {}
  // Where the elements begin at `first` and are so large, and what is around them lies so far apart, all in bytes.
  Cuts(size_t n, size_t side, const char* first, ptrdiff_t stride, size_t item) : size(n), length(side) {
    const size_t ahead = reinterpret_cast<uintptr_t>(first) % kLine;
    if (stride % ptrdiff_t(kLine) == 0 && ahead % item == 0) before = ahead / item;
    count = (before + n + side - 1) / side;
  }

  size_t begin(size_t i) const { return i == 0 ? 0 : i * length - before; }
  size_t end(size_t i) const { return std::min((i + 1) * length - before, size); }

  size_t size = 0, length = 1, before = 0, count = 0;  // `before`: what the first piece lacks
};

}  // namespace minuend
