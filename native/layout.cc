#include "layout.h"

#include <cstdlib>
#include <utility>

namespace minuend {

namespace {

void move_dim(Layout& to, int i, const Layout& from, int j) {
  to.size[i] = from.size[j];
  to.a[i] = from.a[j];
  to.b[i] = from.b[j];
  to.out[i] = from.out[j];
}

// Whether dim i should lie outside dim j: by the result's stride, then (nothing is written) by the operands'.
bool outside(const Layout& l, int i, int j) {
  if (l.out[i] != l.out[j]) return l.out[i] > l.out[j];
  const ptrdiff_t own = std::abs(l.a[i]) + std::abs(l.b[i]), other = std::abs(l.a[j]) + std::abs(l.b[j]);
  return own > other;
}

bool continues(const Layout& l, int outer, int inner) {
  const auto n = ptrdiff_t(l.size[inner]);
  return l.a[outer] == l.a[inner] * n && l.b[outer] == l.b[inner] * n && l.out[outer] == l.out[inner] * n;
}

}  // namespace

size_t Layout::count() const {
  size_t n = 1;
  for (int i = 0; i < rank; ++i) n *= size[i];
  return n;
}

void collapse(Layout& l, const char*& a, const char*& b, char*& out) {
  int rank = 0;
  for (int i = 0; i < l.rank; ++i) {
    if (l.size[i] == 1) continue;
    move_dim(l, rank, l, i);
    if (l.out[rank] < 0) {
      const auto last = ptrdiff_t(l.size[rank] - 1);
      a += l.a[rank] * last;
      b += l.b[rank] * last;
      out += l.out[rank] * last;
      l.a[rank] = -l.a[rank];
      l.b[rank] = -l.b[rank];
      l.out[rank] = -l.out[rank];
    }
    ++rank;
  }
  l.rank = rank;
  for (int i = 1; i < rank; ++i) {  // insertion sort: stable, and ranks are small
    for (int j = i; j > 0 && outside(l, j, j - 1); --j) {
      std::swap(l.size[j], l.size[j - 1]);
      std::swap(l.a[j], l.a[j - 1]);
      std::swap(l.b[j], l.b[j - 1]);
      std::swap(l.out[j], l.out[j - 1]);
    }
  }
  int top = 0;  // the dim that the next one may continue
  for (int i = 1; i < rank; ++i) {
    if (continues(l, top, i)) {
      const size_t joined = l.size[top] * l.size[i];
      move_dim(l, top, l, i);
      l.size[top] = joined;
    } else {
      move_dim(l, ++top, l, i);
    }
  }
  if (rank > 0) l.rank = top + 1;
}

}  // namespace minuend
