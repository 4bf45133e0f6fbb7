// Rows of elements, gathered where they have steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cell.h"

namespace minuend {

// One operand of two dims.
struct Strides {
  ptrdiff_t outer, inner;
};

// The innermost dim is a row; the dim around it, where there is one, counts rows. Units are elements. An operand that
// is neither consecutive nor repeated along a row is gathered first, as many elements at a time as the first cache
// holds, and so is a result scattered.
class Rows : public Cell {
 public:
  Rows(const Work& work, Reach reach) : Cell(work, reach, std::min(work.layout.rank, 2)) {
    const Layout& l = work.layout;
    const int row = l.rank - 1;
    n_ = l.rank > 0 ? l.size[row] : 1;
    rows_ = l.rank > 1 ? l.size[row - 1] : 1;
    auto strides = [&](const ptrdiff_t* all, size_t item) {
      return Strides{l.rank > 1 ? all[row - 1] : 0, l.rank > 0 ? all[row] : ptrdiff_t(item)};
    };
    a_ = strides(l.a, item_);
    b_ = strides(l.b, item_);
    out_ = strides(l.out, result_);
    reads_second_ = reads_all(element_, policy_) ||
                    (reads_second(element_, policy_) && a_.inner != 0 && b_.inner != 0);
    in_place_ = out_.inner == ptrdiff_t(result_) || !writes_;
    joined_ = is_joinable();
    repeat_b_ = joined_ ? is_scalar(b_) : b_.inner == 0;
    repeat_a_ = !repeat_b_ && (joined_ ? is_scalar(a_) : a_.inner == 0);
    // Elements that lie across cache lines are written past the caches as bytes.
    detours_ = streams() && !joined_ && in_place_ && writes_ && reinterpret_cast<uintptr_t>(work.out) % result_ != 0 &&
               n_ * result_ >= kBuffer;
    read_as(form(!joined_ && in_place_ && !detours_ && item_ >= kLeastApart && reads_all(element_, policy_)));
    const bool has_apart = form_.a == Access::apart || form_.b == Access::apart;
    direct_ = !joined_ && in_place_ && !detours_ &&
              (has_apart || (is_direct(a_, repeat_a_) && is_direct(b_, repeat_b_)));
    // A row whose ends share cache lines with its neighbours pays only if it is long.
    const bool streams_rows =
        joined_ || rows_ == 1 || out_.outer % ptrdiff_t(kLine) == 0 || n_ * result_ >= kLeastStreamedRow;
    row_reach_ = streams() && (detours_ || !in_place_ || !streams_rows) ? Reach::far : reach;
    if (!direct_ && !joined_) piece_ = piece();
    const bool reads = direct_ || (joined_ && (is_run(a_) || is_run(b_)));  // not only what lies in buffers
    if (reach == Reach::near && !reads) row_reach_ = Reach::first;
  }

  size_t units() const override { return rows_ * n_; }
  // Whole rows, where they are short; else no two threads write to one cache line of a plain result.
  size_t grain() const override { return n_ <= kChunk ? n_ : 64; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    size_t r = from / n_, count = 0;
    if (const size_t c = from % n_; c > 0) {
      const size_t end = std::min(n_, c + (to - from));
      count += run_at(a, b, out, r++, 1, c, end - c);
      from += end - c;
    }
    if (const size_t whole = (to - from) / n_; whole > 0) {
      count += run_at(a, b, out, r, whole, 0, n_);
      r += whole;
      from += whole * n_;
    }
    if (from < to) count += run_at(a, b, out, r, 1, 0, to - from);
    return count;
  }

 private:
  static constexpr size_t kLeastStreamedRow = 2048;  // bytes
  // Two columns of one matrix share cache lines, which are to be there still when the second is gathered.
  static constexpr size_t kGathered = 32 << 10;  // bytes of lines
  static constexpr size_t kLeastPiece = 128;     // elements

  static bool is_scalar(const Strides& s) { return s.outer == 0 && s.inner == 0; }
  // What the kernel reads where it lies.
  bool is_row(const Strides& s) const {
    return consecutive(s.inner) || (reads_second_ && s.inner == 2 * ptrdiff_t(item_));
  }
  bool is_direct(const Strides& s, bool repeats) const { return repeats || is_row(s); }
  bool is_run(const Strides& s) const { return is_row(s) && s.outer == s.inner * ptrdiff_t(n_); }
  Access access(const Strides& s, bool repeats) const {
    if (repeats) return Access::same;
    return !consecutive(s.inner) && (joined_ ? is_run(s) : is_row(s)) ? Access::second : Access::each;
  }
  // What is not consecutive is gathered, or read one by one where it lies: that is sooner done for large elements, but
  // not backwards alone, nor again and again for many rows.
  bool is_apart(const Strides& s, bool repeats) const {
    return !is_direct(s, repeats) && (rows_ == 1 || s.outer != 0);
  }
  bool is_backwards(const Strides& s) const { return s.inner == -ptrdiff_t(item_); }
  Form form(bool may_be_apart) const {
    Form f{access(a_, repeat_a_), access(b_, repeat_b_)};
    if (!may_be_apart) return f;
    const bool a = is_apart(a_, repeat_a_), b = is_apart(b_, repeat_b_);
    const bool pays = (a && !is_backwards(a_)) || (b && !is_backwards(b_));
    if (!pays || !(a || is_direct(a_, repeat_a_)) || !(b || is_direct(b_, repeat_b_))) return f;
    if (a || f.a == Access::second) f.a = Access::apart;
    if (b || f.b == Access::second) f.b = Access::apart;
    return f;
  }
  // Bytes of cache lines that an element takes which has to be gathered; 0 where none has.
  size_t in_lines(const Strides& s, bool repeats) const {
    return is_direct(s, repeats) ? 0 : std::min(size_t(std::abs(s.inner)), kLine);
  }

  size_t piece() const {
    const size_t most = kBuffer / std::max(item_, result_);
    const size_t a_lines = in_lines(a_, repeat_a_), b_lines = in_lines(b_, repeat_b_);
    if (a_lines == 0 || b_lines == 0) return most;
    return std::min(most, std::max(kLeastPiece, kGathered / (a_lines + b_lines)));
  }

  // Whether many rows are better taken as one: they are short, and their results follow one another.
  bool is_joinable() const {
    if (rows_ == 1 || !writes_ || out_.inner != ptrdiff_t(result_) || out_.outer != ptrdiff_t(result_ * n_)) {
      return false;
    }
    const bool gathers = !is_direct(a_, a_.inner == 0) || !is_direct(b_, b_.inner == 0);
    if (n_ * item_ < kLine || (gathers && n_ <= kChunk / 2)) return true;  // a short row is a register at least
    auto spread = [&](const Strides& s) { return is_run(s) || s.inner == 0; };
    if (n_ <= 16 && spread(a_) && spread(b_)) return true;
    auto once = [&](const Strides& s) { return is_run(s) || s.outer == 0; };  // gathered once, or never
    return n_ <= kChunk / 4 && once(a_) && once(b_);
  }

  size_t run_at(const char* a, const char* b, char* out, size_t row, size_t rows, size_t column, size_t n) const {
    auto at = [&](const Strides& s) { return ptrdiff_t(row) * s.outer + ptrdiff_t(column) * s.inner; };
    a += at(a_), b += at(b_), out += at(out_);
    if (direct_) {
      const Block block{a, b, out, n, rows, a_.outer, b_.outer, out_.outer, a_.inner, b_.inner};
      return kernel_(table_, block, form_, row_reach_);
    }
    if (joined_) return run_joined(a, b, out, rows, n);
    return run_gathered(a, b, out, rows, n);
  }

  // Rows that are one row to the kernel.
  size_t run_joined(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    Gathered a_buffer, b_buffer;
    const size_t step = kBuffer / (n * item_);
    size_t count = 0;
    for (size_t r = 0; r < rows; r += step) {
      const size_t k = std::min(step, rows - r);
      const char* x = join(a + a_.outer * ptrdiff_t(r), a_, repeat_a_, k, n, a_buffer);
      const char* y = join(b + b_.outer * ptrdiff_t(r), b_, repeat_b_, k, n, b_buffer);
      count += kernel_(table_, {x, y, out + r * n * result_, k * n}, form_, row_reach_);
    }
    return count;
  }

  const char* join(const char* p, const Strides& s, bool repeats, size_t rows, size_t n, Gathered& to) const {
    if (repeats || is_run(s)) return p;
    if (to.ready) return to.bytes;  // the same row again and again: the first, longest, step holds it often enough
    if (s.inner == 0 && s.outer != 0) {
      routines().stretch(item_, p, s.outer, to.bytes, rows, n);
      return to.bytes;
    }
    if (s.outer == s.inner * ptrdiff_t(n)) {
      routines().gather(item_, {p, to.bytes, s.inner, rows * n});
      return to.bytes;
    }
    routines().gather(item_, {p, to.bytes, s.inner, n, rows, s.outer, ptrdiff_t(n * item_)});
    to.ready = s.outer == 0;
    return to.bytes;
  }

  // Pieces of rows. Where an operand is the same in every row, it is gathered once for a column of pieces.
  size_t run_gathered(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    const bool writes_there = in_place_ && !detours_;
    size_t count = 0;
    for (size_t c = 0; c < n; c += piece_) {
      Gathered a_buffer, b_buffer;
      alignas(64) char results[kBuffer];
      const size_t k = std::min(piece_, n - c);
      for (size_t r = 0; r < rows; ++r) {
        const auto row = ptrdiff_t(r), column = ptrdiff_t(c);
        const char* x = gather(a + a_.outer * row + a_.inner * column, a_, repeat_a_, k, a_buffer);
        const char* y = gather(b + b_.outer * row + b_.inner * column, b_, repeat_b_, k, b_buffer);
        char* z = out + out_.outer * row + out_.inner * column;
        count += kernel_(table_, {x, y, writes_there ? z : results, k}, form_, row_reach_);
        if (!in_place_) routines().scatter(result_, results, z, out_.inner, k);
        if (detours_) routines().copy_past(results, z, k * result_);
      }
    }
    return count;
  }

  const char* gather(const char* p, const Strides& s, bool repeats, size_t n, Gathered& to) const {
    if (is_direct(s, repeats)) return p;
    if (!to.ready) routines().gather(item_, {p, to.bytes, s.inner, n});
    to.ready = s.outer == 0;
    return to.bytes;
  }

  size_t n_, rows_;
  Strides a_, b_, out_;
  size_t piece_ = 0;  // elements of a row that are gathered at a time
  bool reads_second_, in_place_, joined_, repeat_a_, repeat_b_, detours_, direct_;
  Reach row_reach_;
};

}  // namespace minuend
