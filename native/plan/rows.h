// Rows of elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "plan/singles.h"
#include "plan/traversal.h"

namespace minuend {

// The innermost dim is a row; the dim around it, if there is one, counts rows. Units are elements. How an operand's row
// is read, the first line that holds:
//
//   condition                                         access        measured reason
//   one element for the row                           broadcast     one load instead of one for each register
//   contiguous                                        contiguous
//   stride 2, and the kernel has the loop (kernel.h)  every second  gathered first, it takes up to four times as long
//   backwards, and the kernel reverses registers      strided       by way of a buffer it takes 1.1 to 3 times as long
//   any other stride, in a contiguous result; not     strided       the kernel reads the lines of both operands in turn
//   backwards alone, nor one row for many
//   any other                                         gathered      into a buffer, then contiguous: 1.2 to 2.7 times as
//                                                                   fast backwards
//
// A result that is not contiguous along the row is computed in a buffer and scattered; large elements that the kernel
// takes singly are not: 0.65 to 1 of the time of a buffer, of 2 bytes up to twice as long. Rows that are short, and whose
// results follow one another, are joined: one row to the kernel; those whose elements are far apart are not, see
// reads_singles().
class Rows : public KernelTraversal {
 public:
  Rows(const Work& work, Traffic traffic, const Routines& of, bool may_buffer = true)
      : KernelTraversal(work, traffic, std::min(work.layout.rank, 2)) {
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
    reads_every_second_ = reads_every_second(element_, policy_, a_.inner == 0 || b_.inner == 0);
    out_is_contiguous_ = out_.inner == ptrdiff_t(result_) || !writes_;
    joined_ = !reads_singles(work, n_, a_, b_) && !reverses() && is_joinable(reinterpret_cast<uintptr_t>(work.out));
    repeat_b_ = joined_ ? is_scalar(b_) : b_.inner == 0;
    repeat_a_ = !repeat_b_ && (joined_ ? is_scalar(a_) : a_.inner == 0);
    // Elements at odd addresses straddle cache lines: they are streamed as bytes.
    buffers_result_ = streams() && !joined_ && out_is_contiguous_ && writes_ &&
                      reinterpret_cast<uintptr_t>(work.out) % result_ != 0 && n_ * result_ >= kBuffer;
    is_apart_ = !out_is_contiguous_ && item_ >= kLeastApart && takes_singles(element_, policy_);
    const bool may_be_direct = !joined_ && out_is_contiguous_ && !buffers_result_;
    const Accesses chosen = is_apart_ ? Accesses{Access::strided, Access::strided} : accesses(may_be_direct);
    read_as(chosen, moves_nothing(chosen) ? of : routines());
    const bool needs_no_buffer = is_strided(accesses_) || (is_direct(a_, repeat_a_) && is_direct(b_, repeat_b_));
    direct_ = is_apart_ || (may_be_direct && needs_no_buffer);
    // Results that follow one another, and share cache lines with the next ones, are streamed only if they are long, or
    // through a buffer.
    const bool follow = joined_ || (writes_ && out_.outer == ptrdiff_t(n_ * result_));
    const auto start = reinterpret_cast<uintptr_t>(work.out);
    auto streams_run = [&](size_t elements, ptrdiff_t next) {
      return (start | size_t(next)) % kCacheLine == 0 || elements * result_ >= kLeastStreamedRow;
    };
    const bool streams_all = l.rank < 3 || streams_run(rows_ * n_, l.out[row - 2]);
    const bool streams_rows = joined_ ? streams_all : rows_ == 1 || streams_run(n_, out_.outer);
    row_traffic_ = streams() && (buffers_result_ || !out_is_contiguous_ || !streams_rows) ? Traffic::beyond : traffic;
    if (streams() && direct_ && !streams_rows && follow && streams_all && may_buffer) {
      rows_in_buffer_ = kBuffer / (n_ * result_);
      const Traffic rows_ahead = n_ * result_ < kLeastPrefetched ? Traffic::in_l1 : Traffic::in_cache;
      row_traffic_ = is_strided(accesses_) ? Traffic::beyond : rows_ahead;
    }
    if (!direct_ && !joined_) piece_ = piece();
    shares_pages_ = is_strided(accesses_) && n_ > kColumnsOnPages && (shares_pages(a_) || shares_pages(b_));
    const bool reads = direct_ || (joined_ && (is_run(a_) || is_run(b_)));  // not only buffers
    if (traffic == Traffic::in_cache && !reads) row_traffic_ = Traffic::in_l1;
  }

  size_t units() const { return rows_ * n_; }
  size_t grain() const { return row_grain(n_); }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const {
    return in_rows(n_, from, to, [&](size_t row, size_t rows, size_t column, size_t n) {
      return run_at(a, b, out, row, rows, column, n);
    });
  }

 private:
  // Two columns of one matrix share cache lines, which should still be in L1 when the second is gathered.
  static constexpr size_t kGathered = 32 << 10;  // bytes of lines
  static constexpr size_t kInTurn = kBuffer;     // bytes of lines of one operand
  static constexpr size_t kScattered = 1 << 10;       // bytes of result; 8 KiB took up to 1.6 times as long
  static constexpr size_t kColumnsOnPages = 512;   // which the TLB holds: 0.4 of the time of whole rows
  static constexpr size_t kLeastApart = 4;         // bytes of an element
  static constexpr size_t kLeastPrefetched = 256;  // bytes of a row
  static constexpr size_t kLeastPiece = 128, kShortRow = 32;  // elements

  static bool is_scalar(const Strides& s) { return s.outer == 0 && s.inner == 0; }
  // What the kernel reads without a buffer.
  bool is_row(const Strides& s) const {
    return is_contiguous(s.inner) || (reads_every_second_ && s.inner == 2 * ptrdiff_t(item_));
  }
  // Whether rows of every second element have gaps between them.
  bool is_every_second(const Strides& s) const {
    return !is_contiguous(s.inner) && is_row(s) && !is_run(s) && s.outer != 0;
  }
  bool is_direct(const Strides& s, bool repeats) const { return repeats || is_row(s); }
  bool is_run(const Strides& s) const { return is_row(s) && s.outer == s.inner * ptrdiff_t(n_); }
  Access access(const Strides& s, bool repeats) const {
    if (repeats) return Access::broadcast;
    return !is_contiguous(s.inner) && (joined_ ? is_run(s) : is_row(s)) ? Access::every_second : Access::contiguous;
  }
  bool is_strided_row(const Strides& s, bool repeats) const {
    return !is_direct(s, repeats) && (rows_ == 1 || s.outer != 0);
  }
  // Whether elements stay in their lanes.
  static bool moves_nothing(Accesses x) {
    return !is_strided(x) && x.a != Access::every_second && x.b != Access::every_second;
  }
  bool is_backwards(const Strides& s) const { return s.inner == -ptrdiff_t(item_); }
  // Whether the kernel reverses rows in registers: of a few registers, where no other operand has to be gathered.
  bool reverses() const {
    if (!is_backwards(a_) && !is_backwards(b_)) return false;
    auto is_reversible = [&](const Strides& s) {
      return is_backwards(s) ? s.outer != 0 || rows_ == 1 : is_contiguous(s.inner) || s.inner == 0;
    };
    return takes_singles(element_, policy_) && n_ * item_ >= routines().least_reversed && is_reversible(a_) &&
           is_reversible(b_);
  }
  Accesses accesses(bool may_be_strided) const {
    Accesses f{access(a_, repeat_a_), access(b_, repeat_b_)};
    if (!may_be_strided) return f;
    const bool a = is_strided_row(a_, repeat_a_), b = is_strided_row(b_, repeat_b_);
    const bool pays = (a && !is_backwards(a_)) || (b && !is_backwards(b_));
    if ((!pays && !reverses()) || !(a || is_direct(a_, repeat_a_)) || !(b || is_direct(b_, repeat_b_))) return f;
    if (a || f.a == Access::every_second) f.a = Access::strided;
    if (b || f.b == Access::every_second) f.b = Access::strided;
    return f;
  }
  // Whether an operand's rows lie closer together than its elements: many rows are sooner gathered at once.
  bool rows_share_lines() const {
    return std::abs(a_.outer) < std::abs(a_.inner) || std::abs(b_.outer) < std::abs(b_.inner);
  }
  // Whether each element of a row lies on a page of its own, or nearly, which those of other rows share.
  static bool shares_pages(const Strides& s) {
    return std::abs(s.inner) >= kPage / 2 && s.outer != 0 && std::abs(s.outer) <= kPage / 2;
  }
  // Bytes of cache lines for each element to be gathered; 0 if none is.
  size_t in_lines(const Strides& s, bool repeats) const {
    return is_direct(s, repeats) ? 0 : std::min(size_t(std::abs(s.inner)), kCacheLine);
  }

  size_t piece() const {
    const size_t scattered = traffic_ == Traffic::in_l1 ? 2 * kScattered : kScattered;
    const size_t most = (out_is_contiguous_ ? kBuffer : scattered) / std::max(item_, result_);
    const size_t a_lines = in_lines(a_, repeat_a_), b_lines = in_lines(b_, repeat_b_);
    if (a_lines == 0 || b_lines == 0) return most;
    return std::min(most, std::max(kLeastPiece, kGathered / (a_lines + b_lines)));
  }

  // Whether rows are joined.
  bool is_joinable(uintptr_t out) const {
    if (rows_ == 1 || !writes_ || out_.inner != ptrdiff_t(result_) || out_.outer != ptrdiff_t(result_ * n_)) {
      return false;
    }
    const bool gathers = !is_direct(a_, a_.inner == 0) || !is_direct(b_, b_.inner == 0);
    const bool longer = is_backwards(a_) || is_backwards(b_) || rows_share_lines();
    const bool has_pairs = is_every_second(a_) || is_every_second(b_);
    if (n_ * item_ < (has_pairs ? routines().least_every_second : kCacheLine)) return true;
    if (gathers && n_ <= (longer ? kChunk / 2 : kShortRow)) return true;  // else a short row has at least a register
    auto spread = [&](const Strides& s) { return is_run(s) || s.inner == 0; };
    if (n_ <= 16 && spread(a_) && spread(b_)) return true;
    // A few whole cache lines, on cache lines, are sooner read as they lie: in up to 0.85 of the time, on Zen 4.
    const size_t bytes = n_ * result_;
    const bool is_line = bytes % kCacheLine == 0 && out % kCacheLine == 0 && !streams();
    if (is_line && !gathers && bytes >= 4 * kCacheLine && bytes <= 8 * kCacheLine) return false;
    auto once = [&](const Strides& s) { return is_run(s) || s.outer == 0; };  // gathered once or not at all
    return n_ <= kChunk / 4 && once(a_) && once(b_);
  }

  size_t run_at(const char* a, const char* b, char* out, size_t row, size_t rows, size_t column, size_t n) const {
    auto at = [&](const Strides& s) { return ptrdiff_t(row) * s.outer + ptrdiff_t(column) * s.inner; };
    a += at(a_), b += at(b_), out += at(out_);
    if (rows_in_buffer_ > 0) return run_through_buffer(a, b, out, rows, n);
    if (direct_) return run_direct(a, b, out, rows, n);
    if (joined_) return run_joined(a, b, out, rows, n);
    return run_gathered(a, b, out, rows, n);
  }

  // Rows, or as many columns of them as the TLB holds pages.
  size_t run_direct(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    const size_t columns = rows > 1 && shares_pages_ ? kColumnsOnPages : n;
    size_t count = 0;
    for (size_t c = 0; c < n; c += columns) {
      const auto column = ptrdiff_t(c);
      const char *const x = a + column * a_.inner, *const y = b + column * b_.inner;
      const size_t k = std::min(columns, n - c);
      char* const z = out + column * out_.inner;
      const ptrdiff_t apart = is_apart_ ? out_.inner : 0;
      const Block block{x, y, z, k, rows, a_.outer, b_.outer, out_.outer, a_.inner, b_.inner, apart};
      count += kernel_(table_, block, accesses_, row_traffic_);
    }
    return count;
  }

  // Rows whose results follow one another, a few at a time into a buffer, whose whole cache lines are streamed: 0.5 to
  // 0.9 of the time that the same rows take where each writes a part of its last line. Rows of more than a few registers
  // are prefetched beyond the gaps between them: 0.4 to 0.9 of the time on Zen 3.
  size_t run_through_buffer(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    alignas(64) char results[kBuffer];
    size_t count = 0;
    for (size_t r = 0; r < rows; r += rows_in_buffer_) {
      const size_t at_once = std::min(rows_in_buffer_, rows - r);
      const auto row = ptrdiff_t(r);
      const Block block{a + row * a_.outer, b + row * b_.outer, results, n, at_once, a_.outer, b_.outer,
                        out_.outer, a_.inner, b_.inner};
      count += kernel_(table_, block, accesses_, row_traffic_);
      routines().copy_bytes(results, out + row * out_.outer, at_once * n * result_, true);
    }
    return count;
  }

  // Joined rows: as many at a time as fit the buffer, or as few as read the lines of both operands in turn.
  size_t run_joined(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    Gathered a_buffer, b_buffer;
    const size_t lines = rows_share_lines() ? 0 : n * std::max(in_lines(a_, a_.inner == 0), in_lines(b_, b_.inner == 0));
    const size_t fits = kBuffer / (n * item_);
    const size_t step = lines * fits <= kInTurn ? fits : std::max(kInTurn / lines, size_t(1));
    size_t count = 0;
    for (size_t r = 0; r < rows; r += step) {
      const size_t k = std::min(step, rows - r);
      const char* x = join(a + a_.outer * ptrdiff_t(r), a_, repeat_a_, k, n, a_buffer);
      const char* y = join(b + b_.outer * ptrdiff_t(r), b_, repeat_b_, k, n, b_buffer);
      count += kernel_(table_, {x, y, out + r * n * result_, k * n}, accesses_, row_traffic_);
    }
    return count;
  }

  const char* join(const char* p, const Strides& s, bool repeats, size_t rows, size_t n, Gathered& to) const {
    if (repeats || is_run(s)) return p;
    if (to.ready) return to.bytes;  // one row repeated: the first step, the longest, has gathered enough of it
    if (s.inner == 0 && s.outer != 0) {
      routines().repeat_each(item_, p, s.outer, to.bytes, rows, n);
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

  // Whether an operand's rows are read where they lie, or are one row that is gathered once.
  bool is_there(const Strides& s, bool repeats) const { return is_direct(s, repeats) || s.outer == 0; }

  // Pieces of rows. Where an operand is the same in every row, it is gathered once for a column of pieces; if the other
  // one needs no buffer, such a column is one call of the kernel.
  size_t run_gathered(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    const bool writes_there = out_is_contiguous_ && !buffers_result_;
    const bool at_once = writes_there && is_there(a_, repeat_a_) && is_there(b_, repeat_b_);
    const ptrdiff_t a_row = is_direct(a_, repeat_a_) ? a_.outer : 0, b_row = is_direct(b_, repeat_b_) ? b_.outer : 0;
    size_t count = 0;
    for (size_t c = 0; c < n; c += piece_) {
      Gathered a_buffer, b_buffer;
      alignas(64) char results[kBuffer];
      const size_t k = std::min(piece_, n - c), step = at_once ? rows : 1;
      for (size_t r = 0; r < rows; r += step) {
        const auto row = ptrdiff_t(r), column = ptrdiff_t(c);
        const char* x = gather(a + a_.outer * row + a_.inner * column, a_, repeat_a_, k, a_buffer);
        const char* y = gather(b + b_.outer * row + b_.inner * column, b_, repeat_b_, k, b_buffer);
        char* z = out + out_.outer * row + out_.inner * column;
        const Block block{x, y, writes_there ? z : results, k, step, a_row, b_row, out_.outer};
        count += kernel_(table_, block, accesses_, row_traffic_);
        if (!out_is_contiguous_) routines().copy(result_, results, ptrdiff_t(result_), z, out_.inner, k);
        if (buffers_result_) routines().copy_bytes(results, z, k * result_, true);
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
  size_t piece_ = 0;           // elements of a row that are gathered at a time
  size_t rows_in_buffer_ = 0;  // rows whose results are; 0 where they are written at once
  bool reads_every_second_, out_is_contiguous_, joined_, repeat_a_, repeat_b_, buffers_result_, direct_,
      shares_pages_ = false, is_apart_ = false;
  Traffic row_traffic_;
};

}  // namespace minuend
