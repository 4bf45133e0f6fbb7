// Copies of elements.
#pragma once

#include <algorithm>

#include "plan/traversal.h"

namespace minuend {

// Elements of A, copied to where the result lies. The innermost dim is a row, and the dim around it, if there is one,
// counts rows. Units are elements.
class Copies : public Traversal {
 public:
  Copies(const Views& views, size_t item, Traffic traffic)
      : Traversal(traffic, std::min(views.layout.rank, 2)), item_(item) {
    const Layout& l = views.layout;
    const int row = l.rank - 1;
    if (l.rank > 0) n_ = l.size[row], from_ = l.a[row], to_ = l.out[row];
    if (l.rank > 1) rows_ = l.size[row - 1], from_row_ = l.a[row - 1], to_row_ = l.out[row - 1];
    is_contiguous_ = to_ == ptrdiff_t(item) || n_ == 1;
    is_long_ = from_ == to_ && is_contiguous_ && n_ * item >= kLeastStreamedRow;
  }

  size_t units() const { return rows_ * n_; }
  size_t grain() const { return row_grain(n_); }

  size_t run(const char* a, const char*, char* out, size_t first, size_t last) const {
    return in_rows(n_, first, last, [&](size_t row, size_t rows, size_t column, size_t n) {
      const char* from = a + ptrdiff_t(row) * from_row_ + ptrdiff_t(column) * from_;
      copy_rows(from, out + ptrdiff_t(row) * to_row_ + ptrdiff_t(column) * to_, rows, n);
      return 0;
    });
  }

 private:
  void copy_rows(const char* from, char* to, size_t rows, size_t n) const {
    if (is_contiguous_ && !is_long_) {
      return routines().gather(item_, {from, to, from_, n, rows, from_row_, to_row_});
    }
    for (size_t r = 0; r < rows; ++r, from += from_row_, to += to_row_) {
      if (is_long_) routines().copy_bytes(from, to, n * item_, streams());
      else routines().copy(item_, from, from_, to, to_, n);
    }
  }

  const size_t item_;
  size_t n_ = 1, rows_ = 1;
  ptrdiff_t from_ = 0, to_ = 0, from_row_ = 0, to_row_ = 0;  // strides in bytes
  bool is_contiguous_, is_long_;
};

}  // namespace minuend
