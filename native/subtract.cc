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

constexpr size_t kChunk = 1024;              // elements of an operand that are gathered at a time: 8 KB at most
constexpr size_t kLeastShared = 1 << 20;     // bytes; to wake another thread takes as long as to move as many
constexpr size_t kBytesPerPart = 1 << 17;
constexpr int kPartsPerThread = 4;           // so that a thread that comes late finds something left to do
constexpr size_t kLargestOwnCache = 64 << 20;
constexpr size_t kLeastStreamed = 8 << 20;

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

// The innermost dim, or two, of a layout: what is handed to the kernel in one go. Its outermost dim is cut into
// units, which threads share.
class Cell {
 public:
  explicit Cell(const Work& work, bool stream, int dims)
      : kernel_(routines().find(work.element, work.policy)),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count),
        stream_(stream),
        dims_(dims) {}
  virtual ~Cell() = default;
  virtual size_t units() const = 0;
  virtual size_t grain() const { return 1; }  // threads begin at multiples of so many units
  virtual size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const = 0;

  int dims() const { return dims_; }
  bool streams() const { return stream_; }

 protected:
  bool consecutive(ptrdiff_t stride) const { return stride == ptrdiff_t(item_); }

  const Kernel kernel_;
  const void* const table_;
  const size_t item_, result_;
  const bool writes_, stream_;

 private:
  const int dims_;
};

// One line. Units are elements. Operands that are neither consecutive nor repeated are gathered first.
class Line : public Cell {
 public:
  Line(const Work& work, bool stream) : Cell(work, stream, work.layout.rank > 0 ? 1 : 0) {
    const Layout& l = work.layout;
    if (l.rank > 0) {
      units_ = l.size[l.rank - 1];
      a_ = l.a[l.rank - 1];
      b_ = l.b[l.rank - 1];
      out_ = l.out[l.rank - 1];
    } else {  // one element, wherever it lies
      a_ = b_ = ptrdiff_t(item_);
      out_ = ptrdiff_t(result_);
    }
    form_ = b_ == 0 ? Form::repeat_b : a_ == 0 ? Form::repeat_a : Form::both;
    in_place_ = out_ == ptrdiff_t(result_) || !writes_;
    direct_ = (form_ == Form::repeat_a || consecutive(a_)) && (form_ == Form::repeat_b || consecutive(b_)) && in_place_;
  }

  size_t units() const override { return units_; }
  size_t grain() const override { return 64; }  // no two threads write to one cache line of a plain result

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    a += a_ * ptrdiff_t(from);
    b += b_ * ptrdiff_t(from);
    out += out_ * ptrdiff_t(from);
    if (direct_) return kernel_(table_, a, b, out, to - from, form_, stream_);
    return run_gathered(a, b, out, to - from);
  }

 private:
  size_t run_gathered(const char* a, const char* b, char* out, size_t n) const {
    alignas(64) char a_buffer[kChunk * 8], b_buffer[kChunk * 8], out_buffer[kChunk * 8];
    size_t count = 0;
    for (size_t i = 0; i < n; i += kChunk) {
      const size_t k = std::min(kChunk, n - i);
      const char* x = operand(a + ptrdiff_t(i) * a_, a_, form_ == Form::repeat_a, a_buffer, k);
      const char* y = operand(b + ptrdiff_t(i) * b_, b_, form_ == Form::repeat_b, b_buffer, k);
      char* z = out + ptrdiff_t(i) * out_;
      count += kernel_(table_, x, y, in_place_ ? z : out_buffer, k, form_, stream_ && in_place_);
      if (!in_place_) routines().scatter(result_, out_buffer, z, out_, k);
    }
    return count;
  }

  const char* operand(const char* p, ptrdiff_t stride, bool repeats, char* buffer, size_t n) const {
    if (repeats || consecutive(stride)) return p;
    routines().gather(item_, p, stride, buffer, n);
    return buffer;
  }

  size_t units_ = 1;
  ptrdiff_t a_ = 0, b_ = 0, out_ = 0;
  Form form_;
  bool direct_, in_place_;
};

// Short lines whose results follow one another. Units are lines; many are joined into one call.
class Rows : public Cell {
  struct Strides {
    Strides(const Layout& l, const ptrdiff_t* strides, size_t item)
        : outer(strides[l.rank - 2]), inner(strides[l.rank - 1]),
          joined(inner == ptrdiff_t(item) && outer == inner * ptrdiff_t(l.size[l.rank - 1])) {}
    bool repeats() const { return outer == 0 && inner == 0; }
    bool once() const { return joined || outer == 0; }  // gathered once, or never
    ptrdiff_t outer, inner;
    bool joined;  // the rows are one consecutive run
  };

 public:
  static bool fits(const Work& work) {
    const Layout& l = work.layout;
    if (l.rank < 2 || work.policy == Policy::count) return false;
    const size_t n = l.size[l.rank - 1], item = item_size(work.element);
    const auto result = ptrdiff_t(result_size(work.element, work.policy));
    if (n > kChunk / 4 || l.out[l.rank - 1] != result || l.out[l.rank - 2] != result * ptrdiff_t(n)) return false;
    return n <= 16 || (Strides(l, l.a, item).once() && Strides(l, l.b, item).once());
  }

  Rows(const Work& work, bool stream) : Cell(work, stream, 2), a_(work.layout, work.layout.a, item_),
                                        b_(work.layout, work.layout.b, item_) {
    const Layout& l = work.layout;
    rows_ = l.size[l.rank - 2];
    length_ = l.size[l.rank - 1];
    form_ = b_.repeats() ? Form::repeat_b : a_.repeats() ? Form::repeat_a : Form::both;
  }

  size_t units() const override { return rows_; }
  size_t grain() const override { return 64; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    alignas(64) char a_buffer[kChunk * 8], b_buffer[kChunk * 8];
    const size_t step = kChunk / length_;
    size_t count = 0;
    bool a_ready = false, b_ready = false;
    for (size_t i = from; i < to; i += step) {
      const size_t k = std::min(step, to - i);
      const char* x = operand(a_, form_ == Form::repeat_a, a, i, k, a_buffer, a_ready);
      const char* y = operand(b_, form_ == Form::repeat_b, b, i, k, b_buffer, b_ready);
      count += kernel_(table_, x, y, out + i * length_ * result_, k * length_, form_, stream_);
    }
    return count;
  }

 private:
  const char* operand(const Strides& s, bool repeats, const char* p, size_t row, size_t rows, char* buffer,
                      bool& ready) const {
    p += s.outer * ptrdiff_t(row);
    if (repeats || s.joined) return p;
    if (ready) return buffer;  // the same row again and again: the first, longest, step holds it often enough
    if (s.inner == 0 && s.outer != 0) {
      routines().stretch(item_, p, s.outer, buffer, rows, length_);
      return buffer;
    }
    for (size_t i = 0; i < rows; ++i) {
      routines().gather(item_, p + s.outer * ptrdiff_t(i), s.inner, buffer + i * length_ * item_, length_);
    }
    ready = s.outer == 0;
    return buffer;
  }

  Strides a_, b_;
  size_t rows_, length_;
  Form form_;
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

  Squares(const Work& work, bool stream) : Cell(work, stream, 2), side_(item_ <= 2 ? 128 : 64) {
    const Layout& l = work.layout;
    const int d = l.rank - 2;
    rows_ = l.size[d];
    columns_ = l.size[d + 1];
    a_outer_ = l.a[d], b_outer_ = l.b[d], out_outer_ = l.out[d];
    a_inner_ = l.a[d + 1], b_inner_ = l.b[d + 1];
    form_ = b_inner_ == 0 ? Form::repeat_b : a_inner_ == 0 ? Form::repeat_a : Form::both;
    // Past the caches only whole cache lines pay.
    stream_lines_ = stream && reinterpret_cast<uintptr_t>(work.out) % 64 == 0 && out_outer_ % 64 == 0;
  }

  size_t units() const override { return (rows_ + side_ - 1) / side_; }

  size_t run(const char* a, const char* b, char* out, size_t from, size_t to) const override {
    const size_t end = std::min(to * side_, rows_), field = side_ * kField;
    size_t count = 0;
    for (size_t r = from * side_; r < end; r += field) {
      for (size_t c = 0; c < columns_; c += field) {
        count += run_field(a, b, out, r, std::min(r + field, end), c, std::min(c + field, columns_));
      }
    }
    return count;
  }

 private:
  struct Part {
    const char* at;
    ptrdiff_t stride;
  };

  // A field of squares: as many pages as the CPU's translation cache holds.
  size_t run_field(const char* a, const char* b, char* out, size_t r0, size_t r1, size_t c0, size_t c1) const {
    alignas(64) char a_buffer[kSquare], b_buffer[kSquare];
    size_t count = 0;
    for (size_t r = r0; r < r1; r += side_) {
      const size_t rows = std::min(side_, r1 - r);
      for (size_t c = c0; c < c1; c += side_) {
        const size_t columns = std::min(side_, c1 - c);
        const bool last = c + side_ >= c1;
        const size_t next_r = last ? r + side_ : r, next_c = last ? c0 : c + side_;
        if (next_r < r1) {
          fetch_ahead(a, a_outer_, a_inner_, next_r, next_c, std::min(side_, r1 - next_r), std::min(side_, c1 - next_c));
          fetch_ahead(b, b_outer_, b_inner_, next_r, next_c, std::min(side_, r1 - next_r), std::min(side_, c1 - next_c));
        }
        const Part x = operand(a, a_outer_, a_inner_, r, c, rows, columns, a_buffer);
        const Part y = operand(b, b_outer_, b_inner_, r, c, rows, columns, b_buffer);
        char* z = out + ptrdiff_t(r) * out_outer_ + c * result_;
        for (size_t i = 0; i < rows; ++i) {
          count += kernel_(table_, x.at + ptrdiff_t(i) * x.stride, y.at + ptrdiff_t(i) * y.stride,
                           z + ptrdiff_t(i) * out_outer_, columns, form_, stream_lines_);
        }
      }
    }
    return count;
  }

  // Asks for the next square: its runs are too short for the CPU to foresee.
  void fetch_ahead(const char* p, ptrdiff_t outer, ptrdiff_t inner, size_t r, size_t c, size_t rows,
                   size_t columns) const {
    p += outer * ptrdiff_t(r) + inner * ptrdiff_t(c);
    const bool along = consecutive(inner);
    if (!along && !consecutive(outer)) return;
    const size_t runs = along ? rows : columns, bytes = (along ? columns : rows) * item_;
    const ptrdiff_t stride = along ? outer : inner;
    for (size_t i = 0; i < runs; ++i) {
      for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + ptrdiff_t(i) * stride + at, 0, 2);
    }
  }

  Part operand(const char* p, ptrdiff_t outer, ptrdiff_t inner, size_t r, size_t c, size_t rows, size_t columns,
               char* buffer) const {
    p += outer * ptrdiff_t(r) + inner * ptrdiff_t(c);
    if (inner == 0 || consecutive(inner)) return {p, outer};
    const size_t width = side_ * item_;
    if (consecutive(outer)) {
      routines().transpose(item_, p, inner, buffer, width, rows, columns);
    } else {
      for (size_t i = 0; i < rows; ++i) {
        routines().gather(item_, p + outer * ptrdiff_t(i), inner, buffer + i * width, columns);
      }
    }
    return {buffer, ptrdiff_t(width)};
  }

  static constexpr size_t kSquare = 64 * 64 * 8;  // bytes; a side is a few cache lines
  static constexpr size_t kField = 4;             // squares along a field
  size_t side_, rows_, columns_;
  ptrdiff_t a_outer_, b_outer_, out_outer_, a_inner_, b_inner_;
  Form form_;
  bool stream_lines_;
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
    return std::max(last > kLargestOwnCache ? 4 * own : last / 4 * 3, kLeastStreamed);
  }();
  return bytes;
}

bool should_stream(const Work& work, size_t elements) {
  const size_t item = item_size(work.element);
  // What is written over an operand is in the caches already.
  return work.out != work.a && work.out != work.b &&
         bytes_read(work.layout, work.layout.a, item) + bytes_read(work.layout, work.layout.b, item) +
                 elements * result_size(work.element, work.policy) > stream_threshold();
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

bool is_long(const Work& work) { return bytes_of(work, work.layout.count()) > 1 << 15; }

size_t subtract(Work& work) {
  if (is_short_line(work)) {
    const Layout& l = work.layout;
    const FloatMode mode;
    const Kernel kernel = routines().find(work.element, work.policy);
    return kernel(work.table, work.a, work.b, work.out, l.size[0], Form::both, false);
  }
  const size_t elements = work.layout.count();
  if (elements == 0) return 0;
  collapse(work.layout, work.a, work.b, work.out);
  const bool stream = should_stream(work, elements);
  const size_t bytes = bytes_of(work, elements);
  if (const int dim = Squares::outer_dim(work); dim >= 0) {
    move_next_to_inner(work.layout, dim);
    return run(work, Squares(work, stream), bytes);
  }
  if (Rows::fits(work)) return run(work, Rows(work, stream), bytes);
  return run(work, Line(work, stream), bytes);
}

size_t first_overflow(const Work& work) {
  Work counting = work;
  counting.policy = work.policy == Policy::widen ? Policy::widen : Policy::count;
  alignas(64) char scratch[8 * kChunk];  // what is written here is not looked at
  counting.out = scratch;
  for (int i = 0; i < counting.layout.rank; ++i) counting.layout.out[i] = 0;
  const Line line(counting, false);
  const size_t elements = work.layout.count();
  for (size_t i = 0; i < elements; i += kChunk) {
    if (run_range(counting, line, i, std::min(i + kChunk, elements)) == 0) continue;
    for (size_t j = i; j < elements; ++j) {
      if (run_range(counting, line, j, j + 1) != 0) return j;
    }
  }
  return elements;
}

}  // namespace minuend
