#include "plan/layout.h"

#include <cstdlib>
#include <initializer_list>
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

// Whether no dim has a shorter stride than one inside of it.
bool is_c_ordered(const Layout& l, const ptrdiff_t* strides) {
  ptrdiff_t longest = 0;
  for (int i = l.rank - 1; i >= 0; --i) {
    if (l.size[i] == 1 || strides[i] == 0) continue;
    if (std::abs(strides[i]) < longest) return false;
    longest = std::abs(strides[i]);
  }
  return true;
}

}  // namespace

size_t Layout::count() const {
  size_t n = 1;
  for (int i = 0; i < rank; ++i) n *= size[i];
  return n;
}

void pack_like(Layout& l, const ptrdiff_t* x, const ptrdiff_t* y, size_t item) {
  int order[kMaxRank];  // dims from the innermost outwards
  // Whether dim i belongs inside dim j, which lies inside of it in C order: 1 yes, 0 no, -1 if nothing tells.
  auto inside = [&](int i, int j) {
    int answer = -1;
    for (const ptrdiff_t* s : {x, y}) {
      if (l.size[i] == 1 || l.size[j] == 1 || s[i] == 0 || s[j] == 0) continue;
      if (std::abs(s[j]) <= std::abs(s[i])) return 0;
      answer = 1;
    }
    return answer;
  };
  const bool in_c_order = is_c_ordered(l, x) && is_c_ordered(l, y);  // the commonest
  for (int k = 0; k < l.rank; ++k) {
    const int dim = l.rank - 1 - k;
    int place = k;
    for (int at = in_c_order ? -1 : k - 1; at >= 0; --at) {
      const int answer = inside(dim, order[at]);
      if (answer == 0) break;
      if (answer == 1) place = at;
    }
    for (int at = k; at > place; --at) order[at] = order[at - 1];
    order[place] = dim;
  }
  auto stride = ptrdiff_t(item);
  for (int k = 0; k < l.rank; ++k) {
    l.out[order[k]] = stride;
    if (l.size[order[k]] != 0) stride *= ptrdiff_t(l.size[order[k]]);
  }
}

bool is_nested(const Layout& l, size_t item) {
  int order[kMaxRank], n = 0;  // dims of more than one element, the shortest stride first
  for (int i = 0; i < l.rank; ++i) {
    if (l.size[i] == 0) return true;
    if (l.size[i] == 1) continue;
    int at = n++;
    for (; at > 0 && std::abs(l.out[order[at - 1]]) > std::abs(l.out[i]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
  auto reach = ptrdiff_t(item);
  for (int k = 0; k < n; ++k) {
    const ptrdiff_t stride = std::abs(l.out[order[k]]);
    if (stride < reach) return false;
    reach += stride * ptrdiff_t(l.size[order[k]] - 1);
  }
  return true;
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
