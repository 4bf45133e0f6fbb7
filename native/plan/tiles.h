// Transposed operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "plan/cuts.h"
#include "plan/singles.h"
#include "plan/traversal.h"

namespace minuend {

// Operands whose contiguous dim is the outer of the two: transposed in tiles that fit L1. Units are bands of as many
// rows as a tile has, or stacks of as many columns, whichever are more. At most one operand is broadcast along a row.
// Where one dim is short, a tile is longer along the other.
class Tiles : public KernelTraversal {
 public:
  // The dim that should be the outer one; -1 where the work is not of this kind.
  static int outer_dim(const Work& work, Traffic traffic) {
    const Layout& l = work.layout;
    const auto item = ptrdiff_t(item_size(work.element));
    const int inner = l.rank - 1;
    const bool in_place = work.policy == Policy::count || l.rank == 0 ||
                          l.out[inner] == ptrdiff_t(result_size(work.element, work.policy));
    if (l.rank < 2 || !in_place) return -1;
    // The operand with the largest distance between columns gains the most.
    int found = -1;
    ptrdiff_t farthest = 0;
    for (int d = 0; d < inner; ++d) {
      auto consider = [&](const ptrdiff_t* s, const ptrdiff_t* other) {
        // What is broadcast along the dim in between is sooner gathered once, as a row.
        const bool repeats = d < inner - 1 && s[inner - 1] == 0 && l.size[inner - 1] >= kFew;
        if (!runs_across(s[d], s[inner], item) || repeats || !pays(work, d, s[d], s[inner])) return;
        if (is_cached(work, d, s, other)) return;
        if (is_read_singly(work, d, s, other, traffic) || saves_little(work, d, s, other)) return;
        if (const ptrdiff_t distance = std::abs(s[inner]); distance > farthest) found = d, farthest = distance;
      };
      consider(l.a, l.b);
      consider(l.b, l.a);
    }
    return found;
  }

  // Whether all rows are one to the kernel: columns are few, and the result is contiguous.
  static bool is_joined(const Work& work, int outer) {
    const Layout& l = work.layout;
    const int inner = l.rank - 1;
    const auto item = ptrdiff_t(item_size(work.element)), columns = ptrdiff_t(l.size[inner]);
    const auto result = ptrdiff_t(result_size(work.element, work.policy));
    // An operand that is not transposed and does not follow on would have to be gathered as well.
    auto follows = [&](const ptrdiff_t* s) {
      if (s[inner] == 0) return s[outer] == 0;
      return s[inner] != item || s[outer] == columns * item;
    };
    return l.size[inner] <= kChunk / 16 && work.policy != Policy::count && l.out[outer] == columns * result &&
           (l.size[inner] < kFew || (follows(l.a) && follows(l.b)));
  }

  Tiles(const Work& work, Traffic traffic)
      : KernelTraversal(work, traffic, 2), joined_(is_joined(work, work.layout.rank - 2)) {
    const Layout& l = work.layout;
    const int d = l.rank - 2;
    const size_t side = item_ <= 2 ? 128 : 64;
    const size_t rows = l.size[d], columns = l.size[d + 1], line = kCacheLine / item_;
    a_outer_ = l.a[d], b_outer_ = l.b[d], out_outer_ = l.out[d];
    a_inner_ = l.a[d + 1], b_inner_ = l.b[d + 1];
    shifts_ = streams() && !joined_ && out_outer_ % ptrdiff_t(kCacheLine) != 0 &&
             out_outer_ % ptrdiff_t(result_) == 0 && reinterpret_cast<uintptr_t>(work.out) % result_ == 0;
    const bool wide = shifts_ && item_ < 8 && rows >= side;  // fewer lines are then read twice
    const size_t column_side = length(side, rows) * (wide ? 2 : 1), more = shifts_ ? kCacheLine / result_ : 0;
    pitch_ = joined_ ? columns : std::min(column_side + more, (columns + line - 1) / line * line);
    const bool repeats_b = repeats(b_outer_, b_inner_), repeats_a = !repeats_b && repeats(a_outer_, a_inner_);
    read_as({access(a_outer_, a_inner_, repeats_a), access(b_outer_, b_inner_, repeats_b)});
    // Whole cache lines of what is transposed and of the result, without which streaming does not pay.
    const size_t row_side = length(side, pitch_);
    if (is_contiguous(b_outer_) && is_transposed(b_outer_, b_inner_))
      bands_ = Cuts(rows, row_side, work.b, b_inner_, item_);
    else if (is_contiguous(a_outer_)) bands_ = Cuts(rows, row_side, work.a, a_inner_, item_);
    else bands_ = Cuts(rows, row_side);
    stacks_ = joined_ ? Cuts(columns, columns) : Cuts(columns, column_side, work.out, out_outer_, result_);
    by_bands_ = bands_.count >= stacks_.count;
    rows_at_once_ = (shifts_ ? kLargest : streams() ? kTileBytes : kTransposed) / (pitch_ * item_);
    rows_at_once_ = rows_at_once_ < line ? std::min(line, kLargest / (pitch_ * item_)) : rows_at_once_ / line * line;
  }

  size_t units() const { return by_bands_ ? bands_.count : stacks_.count; }
  size_t grain() const { return 1; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const {
    const size_t i0 = by_bands_ ? from : 0, i1 = by_bands_ ? to : bands_.count;
    const size_t j0 = by_bands_ ? 0 : from, j1 = by_bands_ ? stacks_.count : to;
    Buffer a_buffer, b_buffer;
    size_t count = 0;
    for (size_t i = i0; i < i1; i += kFieldSide) {
      for (size_t j = j0; j < j1; j += kFieldSide) {
        const Field field{i, std::min(i + kFieldSide, i1), j, std::min(j + kFieldSide, j1)};
        count += run_field(a, b, out, field, a_buffer, b_buffer);
      }
    }
    return count;
  }

 private:
  static constexpr size_t kTileBytes = 64 * 64 * 8;       // bytes; a side is a few cache lines
  static constexpr size_t kLargest = kTileBytes / 4 * 5;  // bytes, with a few columns more
  static constexpr size_t kTransposed = kTileBytes / 2;  // L1 holds so many, before and after they are transposed;
                                                  // streamed, two goes for a tile take longer
  static constexpr size_t kFieldSide = 4;             // tiles along a field
  static constexpr size_t kFew = 8, kMany = 64;   // rows or columns
  static constexpr size_t kLarge = 4;             // bytes of an element that is sooner read one by one
  static constexpr size_t kFarthest = 4096;       // bytes from column to column of a few rows
  static constexpr size_t kLargeStep = 16;        // bytes
  static constexpr size_t kFarColumns = 256;      // columns whose lines L1 holds
  static constexpr size_t kLinesInL1 = 384;       // beside other ones
  static constexpr size_t kSomeFar = 128;         // columns; of fewer, a row is short
  static constexpr size_t kTlbPages = 1024;          // that the TLB holds
  static constexpr size_t kSecondCache = 1 << 20;  // bytes
  static constexpr size_t kHalfOfL2 = 1 << 18;    // bytes, of the smallest L2
  static constexpr size_t kSomeColumns = 32;
  static constexpr ptrdiff_t kFarRows = 512;      // bytes from row to row, with gaps
  static constexpr ptrdiff_t kClose = 32;         // bytes from row to row of what is transposed
  static constexpr size_t kRowsInBuffer = 128;        // rows that are gathered before they are transposed
  static constexpr size_t kLeastReversed = 16;    // rows and columns, or a cache line: behind tiles nothing is written
  static constexpr size_t kLongest = 1024;        // rows or columns of a tile

  // Whether an operand with such strides runs across rows: several of its elements down a column share a cache line,
  // and none along a row do.
  static bool runs_across(ptrdiff_t outer, ptrdiff_t inner, ptrdiff_t item) {
    if (inner == 0 || inner == item || outer == 0) return false;
    return outer == item || (std::abs(outer) <= kClose && std::abs(inner) >= ptrdiff_t(kCacheLine));
  }

  // Whether tiles pay for an operand with such strides. Few rows of large elements are sooner read one by one, unless
  // columns share cache lines.
  static bool pays(const Work& work, int outer, ptrdiff_t down, ptrdiff_t across) {
    const size_t rows = work.layout.size[outer], columns = work.layout.size[work.layout.rank - 1];
    const size_t item = item_size(work.element), distance = size_t(std::abs(across));
    const bool follows = down == ptrdiff_t(item);
    if (rows >= kFew && columns >= kFew) return follows || item < kLarge || columns > cached_lines(distance);
    if (!follows) return false;
    if (columns < kFew) return columns < rows && is_joined(work, outer);
    const size_t most = item < 8 && rows > item / 2 ? kFarthest : kFew * item;
    return columns >= kMany && 2 * item < distance && distance <= most;  // stride 2 is read without a buffer
  }

  // Whether both operands are sooner read one element at a time: the other one would have to be gathered, and the lines
  // of this one's columns stay in L1 from row to row. With elements of 4 and 8 bytes that is 1.1 to 4 times as fast.
  // Small ones, whose tiles take less, are gathered by registers where they are near. Columns that share a few sets of
  // L1 took up to six times as long; few columns that are no whole registers of 16 bytes up to 1.4 times. Not inlined,
  // or small work, which is not of this kind, takes 1.1 times as long.
  // Beyond the caches the other one's lines are sooner read row by row whatever the columns are: 0.6 to 0.95 of the time.
  // What is not read singly is gathered row by row then, as long as L1 holds a row's lines: 0.6 to 0.9 of it, on Zen 3.
  // Near elements of the other one, in few columns of far rows, are sooner gathered: 0.5 to 0.95, on Zen 3.
  __attribute__((noinline)) static bool is_read_singly(const Work& work, int outer, const ptrdiff_t* s,
                                                       const ptrdiff_t* other, Traffic traffic) {
    const Layout& l = work.layout;
    const int inner = l.rank - 1;
    const auto item = ptrdiff_t(item_size(work.element));
    const size_t columns = l.size[inner];
    const bool gathered_fast = item < ptrdiff_t(kLarge) || other[outer] == other[inner] * ptrdiff_t(columns);
    if (runs_across(other[outer], other[inner], item)) return false;
    const bool is_apart = is_far(other[inner]);
    const bool is_held = columns > kSomeFar && columns <= kLinesInL1;
    const bool takes_any = takes_singles(work.element, work.policy);
    if (traffic == Traffic::streamed && is_apart && (takes_any || is_held)) return true;
    const ptrdiff_t row = std::abs(other[outer]), columns_of_other = std::abs(other[inner]) * ptrdiff_t(columns);
    const bool has_gaps = row >= kFarRows && row >= 2 * columns_of_other;
    if (traffic == Traffic::streamed && has_gaps && columns <= kMany) return false;
    const bool is_whole = columns >= kFew || columns % (16 / size_t(item)) == 0;
    if (other[inner] == 0 || other[inner] == item || (gathered_fast && !is_apart) || !is_whole) return false;
    const Strides a{l.a[inner - 1], l.a[inner]}, b{l.b[inner - 1], l.b[inner]};
    return elements_read(l, s, outer + 1) <= kLinesInL1 && reads_singles(work, columns, a, b) &&
           lines_in_a_set(s[inner], columns) <= kWaysOfL1;
  }

  // Whether rows are sooner left outside of the dims in between: an operand's are one cache line, L2 holds all lines of
  // the other dims until the last row has been read, and the other operand's rows are on pages of their own. Of few
  // columns that took 0.05 to 0.75 of the time.
  static bool is_cached(const Work& work, int outer, const ptrdiff_t* s, const ptrdiff_t* other) {
    const Layout& l = work.layout;
    const int inner = l.rank - 1;
    const bool is_line = l.size[outer] * size_t(std::abs(s[outer])) <= kCacheLine;
    const bool is_apart = std::abs(other[outer]) >= kPage && l.size[inner] < kSomeColumns;
    if (outer == inner - 1 || !is_line || !is_apart) return false;
    return elements_read(l, s, outer + 1) * in_lines(l, s, item_size(work.element), outer + 1) <= kHalfOfL2;
  }

  // Whether rows are sooner read one element at a time, beside an operand that is read as it lies:
  //
  //   tiles                                          time of single elements
  //   of 4 bytes, lower than registers transpose     0.3 to 0.8, also where dims lie between of up to 64 columns
  //   of 8 bytes, hardly higher than these, of       0.6 to 0.9
  //     fewer than 64 columns
  //   of 2 bytes, whose columns have large steps     0.55 to 0.9; of long columns 1 to 1.2
  //   of 1 byte, the same, without instructions      0.55 to 1
  //     that move bytes anywhere
  static bool saves_little(const Work& work, int outer, const ptrdiff_t* s, const ptrdiff_t* other) {
    const Layout& l = work.layout;
    const int inner = l.rank - 1;
    const size_t item = item_size(work.element), rows = l.size[outer], columns = l.size[inner];
    const size_t side = kCacheLine / item, step = size_t(std::abs(s[outer]));
    if (other[inner] != 0 && other[inner] != ptrdiff_t(item)) return false;
    if (item == 1) return step >= kLargeStep - 1 && rows < kLongest && columns < kLongest && !routines().moves_small;
    if (item == 2) return step > kLargeStep && rows < kLongest && columns < kFarColumns;
    if (s[outer] != ptrdiff_t(item)) return false;
    const bool is_next = outer == inner - 1;
    if (item == 4) return rows < side && (is_next ? columns > kFew && columns < kLongest
                                                  : columns >= kFew && columns <= kMany);
    return item == 8 && rows > side && rows < side + side / 2 && columns >= kFew && columns < kMany;
  }

  // How many cache lines at such a distance in bytes stay cached: the TLB holds their pages, and L2 the lines, which
  // share few of its sets if a large power of two divides the distance.
  static size_t cached_lines(size_t distance) {
    return std::min(kTlbPages, kSecondCache / std::max(power_of_two_in(distance), kCacheLine));
  }
  // The largest that divides n.
  static size_t power_of_two_in(size_t n) { return n & (~n + 1); }

  // Of one dim, given the size of the other: the less there is of that, the longer.
  static size_t length(size_t side, size_t other) {
    return other >= side ? side : std::min(side * side / other / side * side, kLongest);
  }

  struct Tile {
    size_t row, column, rows, columns;
    size_t own;  // columns; the others are for rows whose last cache line ends behind them
  };

  // Tiles from (i, j) to before (i_end, j_end).
  struct Field {
    size_t i, i_end, j, j_end;
  };

  struct Part {
    const char* at;
    ptrdiff_t stride;
  };

  // A tile of a transposed or gathered operand.
  struct Buffer {
    alignas(64) char bytes[kLargest + kCacheLine];
    size_t rows = 0;  // that are all the same, of an operand that is broadcast down columns
  };

  bool is_transposed(ptrdiff_t outer, ptrdiff_t inner) const { return runs_across(outer, inner, ptrdiff_t(item_)); }

  // What is not is_transposed is gathered by the kernel.
  Access access(ptrdiff_t outer, ptrdiff_t inner, bool repeats) const {
    if (repeats) return Access::broadcast;
    const bool brought = inner == 0 || is_contiguous(inner) || is_transposed(outer, inner);
    const bool is_row = !joined_ || outer == inner * ptrdiff_t(pitch_);
    return brought || !is_row || streams() ? Access::contiguous : Access::strided;
  }

  // Whether the kernel is given one element for a row.
  bool repeats(ptrdiff_t outer, ptrdiff_t inner) const { return inner == 0 && (outer == 0 || !joined_); }

  Tile tile(size_t i, size_t j) const {
    const size_t row = bands_.begin(i), column = stacks_.begin(j);
    const size_t own = stacks_.end(j) - column, more = shifts_ ? kCacheLine / result_ - 1 : 0;
    return {row, column, bands_.end(i) - row, std::min(own + more, stacks_.size - column), own};
  }

  // A field of tiles: as many pages as the TLB holds.
  size_t run_field(const char* a, const char* b, char* out, const Field& f, Buffer& a_buffer, Buffer& b_buffer) const {
    size_t count = 0;
    for (size_t i = f.i; i < f.i_end; ++i) {
      for (size_t j = f.j; j < f.j_end; ++j) {
        const bool last = j + 1 == f.j_end;
        if (!last || i + 1 < f.i_end) {
          const Tile next = last ? tile(i + 1, f.j) : tile(i, j + 1);
          prefetch(a, a_outer_, a_inner_, next);
          prefetch(b, b_outer_, b_inner_, next);
        }
        count += run_tile(a, b, out, tile(i, j), a_buffer, b_buffer);
      }
    }
    return count;
  }

  // A tile, as many rows at a time as are transposed within L1.
  size_t run_tile(const char* a, const char* b, char* out, const Tile& whole, Buffer& a_buffer,
                    Buffer& b_buffer) const {
    size_t count = 0;
    for (size_t done = 0; done < whole.rows; done += rows_at_once_) {
      const Tile s{whole.row + done, whole.column, std::min(rows_at_once_, whole.rows - done), whole.columns,
                   whole.own};
      const Part x = operand(a, a_outer_, a_inner_, accesses_.a, s, a_buffer);
      const Part y = operand(b, b_outer_, b_inner_, accesses_.b, s, b_buffer);
      char* z = out + ptrdiff_t(s.row) * out_outer_ + s.column * result_;
      if (shifts_) {
        count += run_shifted(x, y, z, s);
        continue;
      }
      const Block block =
          joined_ ? Block{x.at, y.at, z, s.rows * s.columns, 1, 0, 0, 0, a_inner_, b_inner_}
                  : Block{x.at, y.at, z, s.columns, s.rows, x.stride, y.stride, out_outer_, a_inner_, b_inner_};
      count += kernel_(table_, block, accesses_, traffic_);
    }
    return count;
  }

  // Streamed rows that begin anywhere in cache lines: of each row, the columns that fill whole lines. Rows with the
  // same offset in a line are done together.
  size_t run_shifted(const Part& x, const Part& y, char* z, const Tile& s) const {
    const size_t alike = kCacheLine / power_of_two_in(size_t(out_outer_));
    const bool first = s.column == 0, last = s.column + s.own == stacks_.size;
    const size_t x_item = accesses_.a == Access::broadcast ? 0 : item_,
                 y_item = accesses_.b == Access::broadcast ? 0 : item_;
    const auto step = ptrdiff_t(alike);
    size_t count = 0;
    for (size_t r = 0; r < std::min(alike, s.rows); ++r) {
      const auto row = ptrdiff_t(r);
      char* const start = z + row * out_outer_;
      const size_t ahead = (kCacheLine - reinterpret_cast<uintptr_t>(start) % kCacheLine) % kCacheLine / result_;
      const size_t from = first ? 0 : std::min(ahead, s.columns);
      const size_t to = last ? s.columns : std::min(s.own + ahead, s.columns);
      if (from == to) continue;
      const char* const x_at = x.at + row * x.stride + from * x_item;
      const char* const y_at = y.at + row * y.stride + from * y_item;
      const size_t rows = (s.rows - r + alike - 1) / alike;
      const Block block{x_at, y_at, start + from * result_, to - from, rows, x.stride * step, y.stride * step,
                        out_outer_ * step};
      count += kernel_(table_, block, accesses_, traffic_);
    }
    return count;
  }

  // Prefetches the next tile: its runs are too short for the CPU's own prefetcher.
  void prefetch(const char* p, ptrdiff_t outer, ptrdiff_t inner, const Tile& s) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    const bool along = is_contiguous(inner);
    if (outer == 0 || (!along && !is_transposed(outer, inner))) return;
    if (outer < 0) p += outer * ptrdiff_t(s.rows - 1);
    const size_t runs = along ? s.rows : s.columns;
    const size_t bytes = along ? s.columns * item_ : s.rows * size_t(std::abs(outer));
    const ptrdiff_t stride = along ? std::abs(outer) : inner;
    for (size_t i = 0; i < runs; ++i) {
      const char* const run = p + ptrdiff_t(i) * stride;
      const size_t before = reinterpret_cast<uintptr_t>(run) % kCacheLine;
      for (size_t at = 0; at < before + bytes; at += kCacheLine) __builtin_prefetch(run - before + at, 0, 2);
    }
  }

  Part operand(const char* p, ptrdiff_t outer, ptrdiff_t inner, Access access, const Tile& s, Buffer& to) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    const size_t width = pitch_ * item_;
    if (access != Access::contiguous || (is_contiguous(inner) && (!joined_ || outer == ptrdiff_t(width))))
      return {p, outer};
    const bool is_there = joined_ && outer == 0 && to.rows >= s.rows;
    if (is_there) return {to.bytes, ptrdiff_t(width)};
    if (outer == 0 && !joined_) {  // one row for all
      routines().gather(item_, {p, to.bytes, inner, s.columns});
      return {to.bytes, 0};
    }
    if (inner == 0) {
      routines().repeat_each(item_, p, outer, to.bytes, s.rows, s.columns);
    } else if (is_transposed(outer, inner)) {
      transpose_tile(p, outer, inner, to.bytes, s);
    } else {
      routines().gather(item_, {p, to.bytes, inner, s.columns, s.rows, outer, ptrdiff_t(width)});
    }
    to.rows = s.rows;
    return {to.bytes, ptrdiff_t(width)};
  }

  // Rows from columns that run backwards: these are read forwards, and the rows are written from the last to the first.
  // That is 1.1 to 1.4 times as fast as gathering columns.
  void transpose_backwards(const char* first, ptrdiff_t inner, char* last_row, size_t width, const Tile& s) const {
    routines().transpose(item_, first, inner, last_row, size_t(0) - width, s.rows, s.columns);
  }

  // Rows from columns. Columns with a stride are gathered first, a few at a time; the last few together with some of
  // those before, because what is transposed is as wide as a register.
  void transpose_tile(const char* p, ptrdiff_t outer, ptrdiff_t inner, char* to, const Tile& s) const {
    const size_t width = pitch_ * item_;
    if (is_contiguous(outer)) return routines().transpose(item_, p, inner, to, width, s.rows, s.columns);
    if (is_contiguous(-outer) && std::min(s.rows, s.columns) >= std::min(kCacheLine / item_, kLeastReversed)) {
      return transpose_backwards(p - ptrdiff_t((s.rows - 1) * item_), inner, to + (s.rows - 1) * width, width, s);
    }
    alignas(64) char buffer[kBuffer];
    for (size_t r = 0; r < s.rows; r += kRowsInBuffer) {
      const size_t rows = std::min(kRowsInBuffer, s.rows - r), columns = std::min(kBuffer / (rows * item_), s.columns);
      for (size_t done = 0; done < s.columns; done += columns) {
        const size_t c = std::min(done, s.columns - columns);
        const char* const from = p + ptrdiff_t(r) * outer + ptrdiff_t(c) * inner;
        routines().gather(item_, {from, buffer, outer, rows, columns, inner, ptrdiff_t(rows * item_)});
        routines().transpose(item_, buffer, ptrdiff_t(rows * item_), to + r * width + c * item_, width, rows, columns);
      }
    }
  }

  const bool joined_;
  bool shifts_, by_bands_;
  size_t pitch_;   // elements from row to row of a tile,
  size_t rows_at_once_;  // and rows of it at a time
  ptrdiff_t a_outer_, b_outer_, out_outer_, a_inner_, b_inner_;
  Cuts bands_, stacks_;
};

}  // namespace minuend
