// Transposed operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cell.h"
#include "cuts.h"

namespace minuend {

// Operands that run along the outer of the two dims: brought over in squares that fit the first cache. Units are
// bands of as many rows as a square has, or stacks of as many columns where there are more of those. At most one operand
// repeats along a row. Where one dim is short, a square is as much longer along the other.
class Squares : public Cell {
 public:
  // The dim that should be the outer one; -1 where the work is not of this kind.
  static int outer_dim(const Work& work) {
    const Layout& l = work.layout;
    const auto item = ptrdiff_t(item_size(work.element));
    const int inner = l.rank - 1;
    const bool in_place = work.policy == Policy::count || l.rank == 0 ||
                          l.out[inner] == ptrdiff_t(result_size(work.element, work.policy));
    if (l.rank < 2 || !in_place) return -1;
    // The operand whose columns lie the farthest apart gains the most.
    int found = -1;
    ptrdiff_t farthest = 0;
    for (int d = 0; d < inner; ++d) {
      auto consider = [&](const ptrdiff_t* s) {
        // What repeats along the dim between is sooner gathered once, as a row.
        const bool repeats = d < inner - 1 && s[inner - 1] == 0 && l.size[inner - 1] >= kFew;
        if (!turns(s[d], s[inner], item) || repeats || !pays(work, d, s[d], s[inner])) return;
        if (const ptrdiff_t apart = std::abs(s[inner]); apart > farthest) found = d, farthest = apart;
      };
      consider(l.a);
      consider(l.b);
    }
    return found;
  }

  Squares(const Work& work, Reach reach) : Cell(work, reach, 2), joined_(is_joined(work, work.layout.rank - 2)) {
    const Layout& l = work.layout;
    const int d = l.rank - 2;
    const size_t side = item_ <= 2 ? 128 : 64;
    const size_t rows = l.size[d], columns = l.size[d + 1], line = kLine / item_;
    a_outer_ = l.a[d], b_outer_ = l.b[d], out_outer_ = l.out[d];
    a_inner_ = l.a[d + 1], b_inner_ = l.b[d + 1];
    skews_ = streams() && !joined_ && out_outer_ % ptrdiff_t(kLine) != 0 &&
             out_outer_ % ptrdiff_t(result_) == 0 && reinterpret_cast<uintptr_t>(work.out) % result_ == 0;
    const bool wide = skews_ && item_ < 8 && rows >= side;  // for fewer lines that are needed twice
    const size_t column_side = length(side, rows) * (wide ? 2 : 1), more = skews_ ? kLine / result_ : 0;
    pitch_ = joined_ ? columns : std::min(column_side + more, (columns + line - 1) / line * line);
    const bool repeats_b = repeats(b_outer_, b_inner_), repeats_a = !repeats_b && repeats(a_outer_, a_inner_);
    read_as({access(a_outer_, a_inner_, repeats_a), access(b_outer_, b_inner_, repeats_b)});
    // Whole cache lines of what is transposed and of the result; past the caches only those pay.
    const size_t row_side = length(side, pitch_);
    if (consecutive(b_outer_) && turned(b_outer_, b_inner_)) bands_ = Cuts(rows, row_side, work.b, b_inner_, item_);
    else if (consecutive(a_outer_)) bands_ = Cuts(rows, row_side, work.a, a_inner_, item_);
    else bands_ = Cuts(rows, row_side);
    stacks_ = joined_ ? Cuts(columns, columns) : Cuts(columns, column_side, work.out, out_outer_, result_);
    by_bands_ = bands_.count >= stacks_.count;
    turned_ = (skews_ ? kLargest : streams() ? kSquare : kTurned) / (pitch_ * item_);
    turned_ = turned_ < line ? std::min(line, kLargest / (pitch_ * item_)) : turned_ / line * line;
  }

  size_t units() const override { return by_bands_ ? bands_.count : stacks_.count; }
  size_t grain() const override { return 1; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    const size_t i0 = by_bands_ ? from : 0, i1 = by_bands_ ? to : bands_.count;
    const size_t j0 = by_bands_ ? 0 : from, j1 = by_bands_ ? stacks_.count : to;
    Brought a_buffer, b_buffer;
    size_t count = 0;
    for (size_t i = i0; i < i1; i += kField) {
      for (size_t j = j0; j < j1; j += kField) {
        const Field field{i, std::min(i + kField, i1), j, std::min(j + kField, j1)};
        count += run_field(a, b, out, field, a_buffer, b_buffer);
      }
    }
    return count;
  }

 private:
  static constexpr size_t kSquare = 64 * 64 * 8;       // bytes; a side is a few cache lines
  static constexpr size_t kLargest = kSquare / 4 * 5;  // bytes, with a few columns more
  static constexpr size_t kTurned = kSquare / 2;  // the first cache holds so many before and after they are turned;
                                                  // what comes from far away takes longer in two goes
  static constexpr size_t kField = 4;             // squares along a field
  static constexpr size_t kFew = 8, kMany = 64;   // rows or columns
  static constexpr size_t kFarthest = 4096;       // bytes from column to column of a few rows
  static constexpr size_t kPages = 1024;          // that the CPU's translation cache holds
  static constexpr size_t kSecondCache = 1 << 20;  // bytes
  static constexpr ptrdiff_t kClose = 32;         // bytes from row to row of what is turned
  static constexpr size_t kHeld = 128;            // rows that are brought together to be turned
  static constexpr size_t kLongest = 1024;        // rows or columns of a square

  // Whether an operand with such strides runs along the outer dim, or close to it: several of its elements down a
  // column share a cache line, along a row none do.
  static bool turns(ptrdiff_t outer, ptrdiff_t inner, ptrdiff_t item) {
    if (inner == 0 || inner == item || outer == 0) return false;
    return outer == item || (std::abs(outer) <= kClose && std::abs(inner) >= ptrdiff_t(kLine));
  }

  // Whether squares are the way for an operand whose rows and columns begin so many bytes apart. Few rows of large
  // elements are sooner read one by one, unless columns share cache lines.
  static bool pays(const Work& work, int outer, ptrdiff_t down, ptrdiff_t apart) {
    const size_t rows = work.layout.size[outer], columns = work.layout.size[work.layout.rank - 1];
    const size_t item = item_size(work.element), distance = size_t(std::abs(apart));
    const bool follows = down == ptrdiff_t(item);
    if (rows >= kFew && columns >= kFew) return follows || item < kLeastApart || columns > kept_lines(distance);
    if (!follows) return false;
    if (columns < kFew) return columns < rows && is_joined(work, outer);
    const size_t most = item < 8 && rows > item / 2 ? kFarthest : kFew * item;
    return columns >= kMany && 2 * item < distance && distance <= most;  // every second element is read where it lies
  }

  // So many lines that lie so far apart stay where they are quickly had again: the CPU's translation cache holds their
  // pages, and the second cache the lines, which share few of its sets where a large power of two is between them.
  static size_t kept_lines(size_t apart) {
    return std::min(kPages, kSecondCache / std::max(power_of_two_in(apart), kLine));
  }
  // The largest that divides n.
  static size_t power_of_two_in(size_t n) { return n & (~n + 1); }

  // Whether all is one row to the kernel: there are few columns, and results follow one another.
  static bool is_joined(const Work& work, int outer) {
    const Layout& l = work.layout;
    const int inner = l.rank - 1;
    const auto item = ptrdiff_t(item_size(work.element)), columns = ptrdiff_t(l.size[inner]);
    const auto result = ptrdiff_t(result_size(work.element, work.policy));
    // An operand that is not turned and does not follow on would have to be brought over as well.
    auto follows = [&](const ptrdiff_t* s) {
      if (s[inner] == 0) return s[outer] == 0;
      return s[inner] != item || s[outer] == columns * item;
    };
    return l.size[inner] <= kChunk / 16 && work.policy != Policy::count && l.out[outer] == columns * result &&
           (l.size[inner] < kFew || (follows(l.a) && follows(l.b)));
  }

  // The longer the less there is of the other dim.
  static size_t length(size_t side, size_t other) {
    return other >= side ? side : std::min(side * side / other / side * side, kLongest);
  }

  struct Square {
    size_t row, column, rows, columns;
    size_t own;  // columns: the others are there for rows that end on a cache line behind them
  };

  // Squares from (i, j) up to, and without, (i_end, j_end).
  struct Field {
    size_t i, i_end, j, j_end;
  };

  struct Part {
    const char* at;
    ptrdiff_t stride;
  };

  // A square of an operand that is brought over.
  struct Brought {
    alignas(64) char bytes[kLargest + kLine];
    size_t rows = 0;  // alike, of an operand that is the same in each
  };

  bool turned(ptrdiff_t outer, ptrdiff_t inner) const { return turns(outer, inner, ptrdiff_t(item_)); }

  // What is not turned may be read where it lies: that is sooner done than to gather so few elements of a row.
  Access access(ptrdiff_t outer, ptrdiff_t inner, bool repeats) const {
    if (repeats) return Access::same;
    const bool brought = inner == 0 || consecutive(inner) || turned(outer, inner);
    const bool is_row = !joined_ || outer == inner * ptrdiff_t(pitch_);
    const bool backwards = inner == -ptrdiff_t(item_);
    return brought || !is_row || backwards || streams() || item_ < kLeastApart || !reads_all(element_, policy_) ? Access::each : Access::apart;
  }

  // What the kernel is given one element of.
  bool repeats(ptrdiff_t outer, ptrdiff_t inner) const { return inner == 0 && (outer == 0 || !joined_); }

  Square square(size_t i, size_t j) const {
    const size_t row = bands_.begin(i), column = stacks_.begin(j);
    const size_t own = stacks_.end(j) - column, more = skews_ ? kLine / result_ - 1 : 0;
    return {row, column, bands_.end(i) - row, std::min(own + more, stacks_.size - column), own};
  }

  // A field of squares: as many pages as the CPU's translation cache holds.
  size_t run_field(const char* a, const char* b, char* out, const Field& f, Brought& a_buffer, Brought& b_buffer) const {
    size_t count = 0;
    for (size_t i = f.i; i < f.i_end; ++i) {
      for (size_t j = f.j; j < f.j_end; ++j) {
        const bool last = j + 1 == f.j_end;
        if (!last || i + 1 < f.i_end) {
          const Square next = last ? square(i + 1, f.j) : square(i, j + 1);
          fetch_ahead(a, a_outer_, a_inner_, next);
          fetch_ahead(b, b_outer_, b_inner_, next);
        }
        count += run_square(a, b, out, square(i, j), a_buffer, b_buffer);
      }
    }
    return count;
  }

  // A square, as many rows at a time as are turned in the first cache.
  size_t run_square(const char* a, const char* b, char* out, const Square& whole, Brought& a_buffer,
                    Brought& b_buffer) const {
    size_t count = 0;
    for (size_t done = 0; done < whole.rows; done += turned_) {
      const Square s{whole.row + done, whole.column, std::min(turned_, whole.rows - done), whole.columns, whole.own};
      const Part x = operand(a, a_outer_, a_inner_, form_.a, s, a_buffer);
      const Part y = operand(b, b_outer_, b_inner_, form_.b, s, b_buffer);
      char* z = out + ptrdiff_t(s.row) * out_outer_ + s.column * result_;
      if (skews_) {
        count += run_skewed(x, y, z, s);
        continue;
      }
      const Block block =
          joined_ ? Block{x.at, y.at, z, s.rows * s.columns, 1, 0, 0, 0, a_inner_, b_inner_}
                  : Block{x.at, y.at, z, s.columns, s.rows, x.stride, y.stride, out_outer_, a_inner_, b_inner_};
      count += kernel_(table_, block, form_, reach_);
    }
    return count;
  }

  // Rows of the result that begin anywhere in cache lines, past the caches: of each, those columns that fill whole
  // lines. Rows that begin alike are done together.
  size_t run_skewed(const Part& x, const Part& y, char* z, const Square& s) const {
    const size_t alike = kLine / power_of_two_in(size_t(out_outer_));
    const bool first = s.column == 0, last = s.column + s.own == stacks_.size;
    const size_t x_item = form_.a == Access::same ? 0 : item_, y_item = form_.b == Access::same ? 0 : item_;
    const auto step = ptrdiff_t(alike);
    size_t count = 0;
    for (size_t r = 0; r < std::min(alike, s.rows); ++r) {
      const auto row = ptrdiff_t(r);
      char* const start = z + row * out_outer_;
      const size_t ahead = (kLine - reinterpret_cast<uintptr_t>(start) % kLine) % kLine / result_;
      const size_t from = first ? 0 : std::min(ahead, s.columns);
      const size_t to = last ? s.columns : std::min(s.own + ahead, s.columns);
      if (from == to) continue;
      const char* const x_at = x.at + row * x.stride + from * x_item;
      const char* const y_at = y.at + row * y.stride + from * y_item;
      const size_t rows = (s.rows - r + alike - 1) / alike;
      const Block block{x_at, y_at, start + from * result_, to - from, rows, x.stride * step, y.stride * step,
                        out_outer_ * step};
      count += kernel_(table_, block, form_, reach_);
    }
    return count;
  }

  // Asks for the next square: its runs are too short for the CPU to foresee.
  void fetch_ahead(const char* p, ptrdiff_t outer, ptrdiff_t inner, const Square& s) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    const bool along = consecutive(inner);
    if (outer == 0 || (!along && !turned(outer, inner))) return;
    if (outer < 0) p += outer * ptrdiff_t(s.rows - 1);
    const size_t runs = along ? s.rows : s.columns;
    const size_t bytes = along ? s.columns * item_ : s.rows * size_t(std::abs(outer));
    const ptrdiff_t stride = along ? std::abs(outer) : inner;
    for (size_t i = 0; i < runs; ++i) {
      const char* const run = p + ptrdiff_t(i) * stride;
      const size_t before = reinterpret_cast<uintptr_t>(run) % kLine;
      for (size_t at = 0; at < before + bytes; at += kLine) __builtin_prefetch(run - before + at, 0, 2);
    }
  }

  Part operand(const char* p, ptrdiff_t outer, ptrdiff_t inner, Access access, const Square& s, Brought& to) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    const size_t width = pitch_ * item_;
    if (access != Access::each || (consecutive(inner) && (!joined_ || outer == ptrdiff_t(width)))) return {p, outer};
    const bool is_there = joined_ && outer == 0 && to.rows >= s.rows;
    if (is_there) return {to.bytes, ptrdiff_t(width)};
    if (inner == 0) {
      routines().stretch(item_, p, outer, to.bytes, s.rows, s.columns);
    } else if (turned(outer, inner)) {
      turn(p, outer, inner, to.bytes, s);
    } else {
      routines().gather(item_, {p, to.bytes, inner, s.columns, s.rows, outer, ptrdiff_t(width)});
    }
    to.rows = s.rows;
    return {to.bytes, ptrdiff_t(width)};
  }

  // Rows from columns. Where those have steps they are brought together first, a few at a time; the last few again with
  // some of those before, for what is turned is as wide as a register.
  void turn(const char* p, ptrdiff_t outer, ptrdiff_t inner, char* to, const Square& s) const {
    const size_t width = pitch_ * item_;
    if (consecutive(outer)) return routines().transpose(item_, p, inner, to, width, s.rows, s.columns);
    alignas(64) char held[kBuffer];
    for (size_t r = 0; r < s.rows; r += kHeld) {
      const size_t rows = std::min(kHeld, s.rows - r), columns = std::min(kBuffer / (rows * item_), s.columns);
      for (size_t done = 0; done < s.columns; done += columns) {
        const size_t c = std::min(done, s.columns - columns);
        const char* const from = p + ptrdiff_t(r) * outer + ptrdiff_t(c) * inner;
        routines().gather(item_, {from, held, outer, rows, columns, inner, ptrdiff_t(rows * item_)});
        routines().transpose(item_, held, ptrdiff_t(rows * item_), to + r * width + c * item_, width, rows, columns);
      }
    }
  }

  const bool joined_;
  bool skews_, by_bands_;
  size_t pitch_;   // elements from row to row of what is brought over,
  size_t turned_;  // and rows of it at a time
  ptrdiff_t a_outer_, b_outer_, out_outer_, a_inner_, b_inner_;
  Cuts bands_, stacks_;
};

}  // namespace minuend
