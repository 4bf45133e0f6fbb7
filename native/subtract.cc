#include "subtract.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "targets.h"
#include "threads.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace minuend {

size_t item_size(Element element) {
  switch (element) {
    case Element::i8: case Element::u8: case Element::table: return 1;
    case Element::f16: case Element::bf16: case Element::i16: case Element::u16: return 2;
    case Element::f32: case Element::i32: case Element::u32: return 4;
    default: return 8;
  }
}

size_t result_size(Element element, Policy policy) {
  const size_t own = item_size(element);
  return policy == Policy::widen && element != Element::table && own < 8 ? 2 * own : own;
}

namespace {

constexpr size_t kBuffer = 8192;             // bytes that are gathered at a time: a few such fit the first cache
constexpr size_t kChunk = kBuffer / 8;       // elements that are so many bytes at most
constexpr size_t kLeastShared = 1 << 20;     // bytes; to wake another thread takes as long as to move as many
constexpr size_t kBytesPerPart = 1 << 17;
constexpr int kPartsPerThread = 16;           // so that a thread that comes late finds something left to do
constexpr size_t kLargestOwnCache = 64 << 20;
constexpr size_t kLeastStreamed = 4 << 20;
constexpr size_t kLeastStreamedRow = 2048;  // bytes

// Makes what was written past the caches visible before anyone is told that it is there.
void end_of_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The contract's rounding and subnormals, whatever mode the caller's thread is in; restored at the end.
class FloatMode {
#if defined(__SSE2__)
 public:
  FloatMode() : saved_(_mm_getcsr()), changed_((saved_ & kControl) != kDefault) {
    if (changed_) _mm_setcsr(kDefault);
  }
  ~FloatMode() {
    if (changed_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;          // all exceptions masked, to nearest even, nothing flushed
  static constexpr unsigned kControl = 0xffff & ~0x3fu;  // the low six bits are flags
  unsigned saved_;
  bool changed_;
#elif defined(__aarch64__)
 public:
  FloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
  }
  ~FloatMode() {
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  uint64_t saved_;
#endif
};

// The innermost dims of a layout: what is handed to the kernel in one go. They are counted in units, which threads
// share.
class Cell {
 public:
  Cell(const Work& work, Reach reach, int dims)
      : kernel_(routines().find(work.element, work.policy)),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count),
        reach_(reach),
        dims_(dims) {}
  virtual ~Cell() = default;
  virtual size_t units() const = 0;
  virtual size_t grain() const = 0;  // threads begin at multiples of so many units
  virtual size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const = 0;

  int dims() const { return dims_; }
  bool streams() const { return reach_ == Reach::past; }

 protected:
  bool consecutive(ptrdiff_t stride) const { return stride == ptrdiff_t(item_); }

  const Kernel kernel_;
  const void* const table_;
  const size_t item_, result_;
  const bool writes_;
  const Reach reach_;

 private:
  const int dims_;
};

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
    in_place_ = out_.inner == ptrdiff_t(result_) || !writes_;
    joined_ = is_joinable();
    repeat_b_ = joined_ ? is_scalar(b_) : b_.inner == 0;
    repeat_a_ = !repeat_b_ && (joined_ ? is_scalar(a_) : a_.inner == 0);
    form_ = repeat_b_ ? Form::repeat_b : repeat_a_ ? Form::repeat_a : Form::both;
    // Elements that lie across cache lines are written past the caches as bytes.
    detours_ = streams() && !joined_ && in_place_ && writes_ && reinterpret_cast<uintptr_t>(work.out) % result_ != 0 &&
               n_ * result_ >= kBuffer;
    direct_ = !joined_ && in_place_ && !detours_ && is_direct(a_, repeat_a_) && is_direct(b_, repeat_b_);
    // A row whose ends share cache lines with its neighbours pays only if it is long.
    const bool streams_rows = joined_ || rows_ == 1 || out_.outer % 64 == 0 || n_ * result_ >= kLeastStreamedRow;
    row_reach_ = streams() && (detours_ || !in_place_ || !streams_rows) ? Reach::far : reach;
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
  // An operand brought together in a buffer, and which part of it that is.
  struct Gathered {
    alignas(64) char bytes[kBuffer];
    bool ready = false;
  };

  static bool is_scalar(const Strides& s) { return s.outer == 0 && s.inner == 0; }
  bool is_direct(const Strides& s, bool repeats) const { return repeats || consecutive(s.inner); }
  bool is_run(const Strides& s) const { return consecutive(s.inner) && s.outer == s.inner * ptrdiff_t(n_); }

  // Whether many rows are better taken as one: they are short, and their results follow one another.
  bool is_joinable() const {
    if (rows_ == 1 || !writes_ || out_.inner != ptrdiff_t(result_) || out_.outer != ptrdiff_t(result_ * n_)) {
      return false;
    }
    const bool gathers = !(a_.inner == 0 || consecutive(a_.inner)) || !(b_.inner == 0 || consecutive(b_.inner));
    if (n_ <= 16 || (gathers && n_ <= kChunk / 2)) return true;
    auto once = [&](const Strides& s) { return is_run(s) || s.outer == 0; };  // gathered once, or never
    return n_ <= kChunk / 4 && once(a_) && once(b_);
  }

  size_t run_at(const char* a, const char* b, char* out, size_t row, size_t rows, size_t column, size_t n) const {
    auto at = [&](const Strides& s) { return ptrdiff_t(row) * s.outer + ptrdiff_t(column) * s.inner; };
    a += at(a_), b += at(b_), out += at(out_);
    if (direct_) return kernel_(table_, {a, b, out, n, rows, a_.outer, b_.outer, out_.outer}, form_, row_reach_);
    if (joined_) return run_joined(a, b, out, rows, n);
    return run_gathered(a, b, out, rows, n);
  }

  // Rows that are one row to the kernel.
  size_t run_joined(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    Gathered a_buffer, b_buffer;
    const size_t step = kChunk / n;
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
      routines().gather(item_, p, s.inner, to.bytes, rows * n, reach_);
      return to.bytes;
    }
    for (size_t r = 0; r < rows; ++r) {
      routines().gather(item_, p + s.outer * ptrdiff_t(r), s.inner, to.bytes + r * n * item_, n, reach_);
    }
    to.ready = s.outer == 0;
    return to.bytes;
  }

  // Pieces of rows. Where an operand is the same in every row, it is gathered once for a column of pieces.
  size_t run_gathered(const char* a, const char* b, char* out, size_t rows, size_t n) const {
    const size_t piece = kBuffer / std::max(item_, result_);
    const bool writes_there = in_place_ && !detours_;
    size_t count = 0;
    for (size_t c = 0; c < n; c += piece) {
      Gathered a_buffer, b_buffer;
      alignas(64) char results[kBuffer];
      const size_t k = std::min(piece, n - c);
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
    if (!to.ready) routines().gather(item_, p, s.inner, to.bytes, n, reach_);
    to.ready = s.outer == 0;
    return to.bytes;
  }

  size_t n_, rows_;
  Strides a_, b_, out_;
  Form form_;
  bool in_place_, joined_, repeat_a_, repeat_b_, detours_, direct_;
  Reach row_reach_;
};

// Operands that run along the outer of the two dims: brought over in squares that fit the first cache. Units are
// bands of as many rows as a square has. At most one operand repeats along a row.
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
    for (int d = 0; d < inner; ++d) {
      const bool a = l.a[d] == item && l.a[inner] != 0 && l.a[inner] != item;
      const bool b = l.b[d] == item && l.b[inner] != 0 && l.b[inner] != item;
      if ((a || b) && l.size[d] >= 8 && l.size[inner] >= 8) return d;
    }
    return -1;
  }

  Squares(const Work& work, Reach reach) : Cell(work, reach, 2), side_(item_ <= 2 ? 128 : 64) {
    const Layout& l = work.layout;
    const int d = l.rank - 2;
    rows_ = l.size[d];
    columns_ = l.size[d + 1];
    a_outer_ = l.a[d], b_outer_ = l.b[d], out_outer_ = l.out[d];
    a_inner_ = l.a[d + 1], b_inner_ = l.b[d + 1];
    form_ = b_inner_ == 0 ? Form::repeat_b : a_inner_ == 0 ? Form::repeat_a : Form::both;
    // Whole cache lines of what is transposed and of the result; past the caches only those pay.
    const bool b_turns = consecutive(b_outer_) && !consecutive(b_inner_);
    bands_ = Cuts(rows_, side_, b_turns ? work.b : work.a, b_turns ? b_inner_ : a_inner_, item_);
    stacks_ = Cuts(columns_, side_, work.out, out_outer_, result_);
  }

  size_t units() const override { return bands_.count; }
  size_t grain() const override { return 1; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    size_t count = 0;
    for (size_t i = from; i < to; i += kField) {
      for (size_t j = 0; j < stacks_.count; j += kField) {
        count += run_field(a, b, out, i, std::min(i + kField, to), j, std::min(j + kField, stacks_.count));
      }
    }
    return count;
  }

 private:
  static constexpr size_t kLine = 64;             // bytes of a cache line
  static constexpr size_t kSquare = 64 * 64 * 8;  // bytes; a side is a few cache lines
  static constexpr size_t kField = 4;             // squares along a field

  // A dim cut into pieces of one length, of which the first may be shorter: then the others begin on cache lines.
  struct Cuts {
    Cuts() = default;
    Cuts(size_t n, size_t side, const char* first, ptrdiff_t stride, size_t item) : size(n), length(side) {
      const size_t ahead = reinterpret_cast<uintptr_t>(first) % kLine;
      if (stride % ptrdiff_t(kLine) == 0 && ahead % item == 0) before = ahead / item;
      count = (before + n + side - 1) / side;
    }
    size_t begin(size_t i) const { return i == 0 ? 0 : i * length - before; }
    size_t end(size_t i) const { return std::min((i + 1) * length - before, size); }
    size_t size = 0, length = 1, before = 0, count = 0;  // `before`: what the first piece lacks
  };

  struct Square {
    size_t row, column, rows, columns;
  };

  struct Part {
    const char* at;
    ptrdiff_t stride;
  };

  Square square(size_t i, size_t j) const {
    const size_t row = bands_.begin(i), column = stacks_.begin(j);
    return {row, column, bands_.end(i) - row, stacks_.end(j) - column};
  }

  // A field of squares: as many pages as the CPU's translation cache holds.
  size_t run_field(const char* a, const char* b, char* out, size_t i0, size_t i1, size_t j0, size_t j1) const {
    alignas(64) char a_buffer[kSquare], b_buffer[kSquare];
    size_t count = 0;
    for (size_t i = i0; i < i1; ++i) {
      for (size_t j = j0; j < j1; ++j) {
        const bool last = j + 1 == j1;
        if (!last || i + 1 < i1) {
          const Square next = last ? square(i + 1, j0) : square(i, j + 1);
          fetch_ahead(a, a_outer_, a_inner_, next);
          fetch_ahead(b, b_outer_, b_inner_, next);
        }
        const Square s = square(i, j);
        const Part x = operand(a, a_outer_, a_inner_, s, a_buffer);
        const Part y = operand(b, b_outer_, b_inner_, s, b_buffer);
        char* z = out + ptrdiff_t(s.row) * out_outer_ + s.column * result_;
        count += kernel_(table_, {x.at, y.at, z, s.columns, s.rows, x.stride, y.stride, out_outer_}, form_, reach_);
      }
    }
    return count;
  }

  // Asks for the next square: its runs are too short for the CPU to foresee.
  void fetch_ahead(const char* p, ptrdiff_t outer, ptrdiff_t inner, const Square& s) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    const bool along = consecutive(inner);
    if (!along && !consecutive(outer)) return;
    const size_t runs = along ? s.rows : s.columns, bytes = (along ? s.columns : s.rows) * item_;
    const ptrdiff_t stride = along ? outer : inner;
    for (size_t i = 0; i < runs; ++i) {
      for (size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(p + ptrdiff_t(i) * stride + at, 0, 2);
    }
  }

  Part operand(const char* p, ptrdiff_t outer, ptrdiff_t inner, const Square& s, char* buffer) const {
    p += outer * ptrdiff_t(s.row) + inner * ptrdiff_t(s.column);
    if (inner == 0 || consecutive(inner)) return {p, outer};
    const size_t width = side_ * item_;
    if (consecutive(outer)) {
      routines().transpose(item_, p, inner, buffer, width, s.rows, s.columns);
    } else {
      for (size_t i = 0; i < s.rows; ++i) {
        routines().gather(item_, p + outer * ptrdiff_t(i), inner, buffer + i * width, s.columns, reach_);
      }
    }
    return {buffer, ptrdiff_t(width)};
  }

  size_t side_, rows_, columns_;
  ptrdiff_t a_outer_, b_outer_, out_outer_, a_inner_, b_inner_;
  Cuts bands_, stacks_;
  Form form_;
};

// Units [from, to) of a work, counted over its outer dims and the cell's own units.
size_t run_range(const Work& work, const Cell& cell, size_t from, size_t to) {
  const Layout& l = work.layout;
  const int outer = l.rank - cell.dims();
  size_t index[kMaxRank];
  const char *a = work.a, *b = work.b;
  char* out = work.out;
  auto step = [&](int dim, ptrdiff_t n) {
    a += l.a[dim] * n;
    b += l.b[dim] * n;
    out += l.out[dim] * n;
  };
  size_t rest = from / cell.units();
  for (int i = outer - 1; i >= 0; --i) {
    index[i] = rest % l.size[i];
    rest /= l.size[i];
    step(i, ptrdiff_t(index[i]));
  }
  size_t count = 0, unit = from % cell.units();
  while (from < to) {
    const size_t n = std::min(cell.units() - unit, to - from);
    count += cell.run(a, b, out, unit, unit + n);
    from += n;
    unit = 0;
    for (int i = outer - 1; i >= 0; --i) {
      step(i, 1);
      if (++index[i] < l.size[i]) break;
      step(i, -ptrdiff_t(l.size[i]));
      index[i] = 0;
    }
  }
  return count;
}

// Bytes of an operand that is read once where it does not repeat.
size_t bytes_read(const Layout& l, const ptrdiff_t* strides, size_t item) {
  for (int i = 0; i < l.rank; ++i) item *= strides[i] == 0 ? 1 : l.size[i];
  return item;
}

// From how many bytes on all that is touched no longer stays in the caches, so that writing past them pays: most of a
// last cache that is the machine's own. A larger one is a server's, shared with programs that are not seen, and was
// measured to be no faster than memory: there the cores' own caches count.
size_t stream_threshold() {
  static const size_t bytes = [] {
    size_t own = 0, last = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    own = size_t(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
    last = size_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#endif
    return std::max(last > kLargestOwnCache ? 2 * own : last / 4 * 3, kLeastStreamed);
  }();
  return bytes;
}

Reach reach_of(const Work& work, size_t elements) {
  const size_t item = item_size(work.element);
  const size_t bytes = bytes_read(work.layout, work.layout.a, item) + bytes_read(work.layout, work.layout.b, item) +
                       elements * result_size(work.element, work.policy);
  if (bytes <= stream_threshold()) return Reach::near;
  // What is written over an operand is in the caches already.
  return work.out == work.a || work.out == work.b ? Reach::far : Reach::past;
}

size_t bytes_of(const Work& work, size_t elements) {
  return elements * (2 * item_size(work.element) + result_size(work.element, work.policy));
}

size_t outer_count(const Layout& l, const Cell& cell) {
  size_t n = 1;
  for (int i = 0; i < l.rank - cell.dims(); ++i) n *= l.size[i];
  return n;
}

struct Shared {
  const Work& work;
  const Cell& cell;
  size_t units;
  int parts;
  std::atomic<size_t> count{0};
};

void run_part(void* context, int i) {
  auto& shared = *static_cast<Shared*>(context);
  const FloatMode mode;
  const size_t grain = shared.cell.grain();
  auto bound = [&](int k) {
    return k == shared.parts ? shared.units : shared.units / grain * size_t(k) / size_t(shared.parts) * grain;
  };
  shared.count += run_range(shared.work, shared.cell, bound(i), bound(i + 1));
  if (shared.cell.streams()) end_of_stream();
}

size_t run(const Work& work, const Cell& cell, size_t bytes) {
  const size_t units = outer_count(work.layout, cell) * cell.units();
  const int threads = num_threads();
  const size_t parts = threads < 2 || bytes < kLeastShared ? 1 : std::min<size_t>(size_t(threads) * kPartsPerThread, bytes / kBytesPerPart);
  if (parts < 2) {
    const FloatMode mode;
    const size_t count = run_range(work, cell, 0, units);
    if (cell.streams()) end_of_stream();
    return count;
  }
  Shared shared{work, cell, units, int(parts)};
  in_parallel(int(parts), threads, run_part, &shared);
  return shared.count;
}

// The commonest work of all: two short plain arrays, for which any planning would cost more than the answer.
bool is_short_line(const Work& work) {
  const Layout& l = work.layout;
  const auto item = ptrdiff_t(item_size(work.element));
  return l.rank == 1 && l.size[0] <= kChunk && l.a[0] == item && l.b[0] == item &&
         l.out[0] == ptrdiff_t(result_size(work.element, work.policy));
}

// Moves a dim to the place just outside the innermost one.
void move_next_to_inner(Layout& l, int dim) {
  for (int i = dim; i < l.rank - 2; ++i) {
    std::swap(l.size[i], l.size[i + 1]);
    std::swap(l.a[i], l.a[i + 1]);
    std::swap(l.b[i], l.b[i + 1]);
    std::swap(l.out[i], l.out[i + 1]);
  }
}

}  // namespace

bool is_long(const Work& work) { return bytes_of(work, work.layout.count()) > kLeastShared / 4; }

size_t subtract(Work& work) {
  if (is_short_line(work)) {
    const Layout& l = work.layout;
    const FloatMode mode;
    const Kernel kernel = routines().find(work.element, work.policy);
    return kernel(work.table, {work.a, work.b, work.out, l.size[0]}, Form::both, Reach::near);
  }
  const size_t elements = work.layout.count();
  if (elements == 0) return 0;
  collapse(work.layout, work.a, work.b, work.out);
  const Reach reach = reach_of(work, elements);
  const size_t bytes = bytes_of(work, elements);
  if (const int dim = Squares::outer_dim(work); dim >= 0) {
    move_next_to_inner(work.layout, dim);
    return run(work, Squares(work, reach), bytes);
  }
  return run(work, Rows(work, reach), bytes);
}

Overflows overflows(const Work& work) {
  Work counting = work;
  counting.policy = work.policy == Policy::widen ? Policy::widen : Policy::count;
  alignas(64) char scratch[kBuffer];  // what is written here is not looked at
  counting.out = scratch;
  for (int i = 0; i < counting.layout.rank; ++i) counting.layout.out[i] = 0;
  const Rows rows(counting, Reach::near);
  const size_t elements = work.layout.count();
  Overflows found{0, elements};
  for (size_t i = 0; i < elements; i += kChunk) {
    const size_t end = std::min(i + kChunk, elements), count = run_range(counting, rows, i, end);
    if (found.count == 0 && count > 0) {
      found.first = i;
      while (run_range(counting, rows, found.first, found.first + 1) == 0) ++found.first;
    }
    found.count += count;
  }
  return found;
}

}  // namespace minuend
