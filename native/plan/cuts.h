// A dim cut into pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernel/kernel.h"

namespace minuend {

// Pieces of one length, of which the first may be shorter: then the others begin on cache lines.
struct Cuts {
  Cuts() = default;
  Cuts(size_t n, size_t side) : size(n), length(side), count((n + side - 1) / side) {}
  // Of elements of `item` bytes that begin at `first`; the next row or column begins `stride` bytes on.
  Cuts(size_t n, size_t side, const char* first, ptrdiff_t stride, size_t item) : size(n), length(side) {
    const size_t ahead = reinterpret_cast<uintptr_t>(first) % kCacheLine;
    if (stride % ptrdiff_t(kCacheLine) == 0 && ahead % item == 0) before = ahead / item;
    count = (before + n + side - 1) / side;
  }

  size_t begin(size_t i) const { return i == 0 ? 0 : i * length - before; }
  size_t end(size_t i) const { return std::min((i + 1) * length - before, size); }

  size_t size = 0, length = 1, before = 0, count = 0;  // `before`: by how much the first piece is shorter
};

}  // namespace minuend
