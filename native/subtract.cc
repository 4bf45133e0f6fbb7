#include "subtract.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "targets.h"
#include "threads.h"

#if defined(__SSE2__)
#include <immintrin.h>
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

constexpr size_t kChunk = 1024;             // elements of an operand that are gathered at a time: 8 KB at most
constexpr size_t kBytesPerThread = 1 << 18;  // less is done before another thread has woken
constexpr size_t kStreamBytes = 8 << 20;     // results larger than this would only push other data out of the caches

// The contract's rounding and subnormals, whatever mode the caller's thread is in; restored at the end.
class FloatMode {
#if defined(__SSE2__)
 public:
  FloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kDefault) _mm_setcsr((saved_ & ~kControl) | kDefault);
  }
  ~FloatMode() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned kDefault = 0x1f80;          // all exceptions masked, to nearest even, nothing flushed
  static constexpr unsigned kControl = 0xffff & ~0x3fu;  // the low six bits are flags
  unsigned saved_;
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

template <class T>
void gather_as(const char* from, ptrdiff_t stride, char* to, size_t n) {
  for (size_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), from + ptrdiff_t(i) * stride, sizeof(T));
}

template <class T>
void scatter_as(const char* from, char* to, ptrdiff_t stride, size_t n) {
  for (size_t i = 0; i < n; ++i) std::memcpy(to + ptrdiff_t(i) * stride, from + i * sizeof(T), sizeof(T));
}

void gather(size_t item, const char* from, ptrdiff_t stride, char* to, size_t n) {
  switch (item) {
    case 1: return gather_as<uint8_t>(from, stride, to, n);
    case 2: return gather_as<uint16_t>(from, stride, to, n);
    case 4: return gather_as<uint32_t>(from, stride, to, n);
    default: return gather_as<uint64_t>(from, stride, to, n);
  }
}

void scatter(size_t item, const char* from, char* to, ptrdiff_t stride, size_t n) {
  switch (item) {
    case 1: return scatter_as<uint8_t>(from, to, stride, n);
    case 2: return scatter_as<uint16_t>(from, to, stride, n);
    case 4: return scatter_as<uint32_t>(from, to, stride, n);
    default: return scatter_as<uint64_t>(from, to, stride, n);
  }
}

// One line of a layout: the innermost dim, from any element on.
class Line {
 public:
  Line(const Work& work, bool stream)
      : kernel_(find_kernel(work.element, work.policy)),
        table_(work.table),
        item_(item_size(work.element)),
        result_(result_size(work.element, work.policy)),
        writes_(work.policy != Policy::count),
        stream_(stream) {
    const Layout& l = work.layout;
    if (l.rank > 0) {
      a_ = l.a[l.rank - 1];
      b_ = l.b[l.rank - 1];
      out_ = l.out[l.rank - 1];
    }
    repeat_b_ = b_ == 0;
    repeat_a_ = a_ == 0 && !repeat_b_;
    direct_ = (repeat_a_ || a_ == ptrdiff_t(item_)) && (repeat_b_ || b_ == ptrdiff_t(item_)) &&
              (!writes_ || out_ == ptrdiff_t(result_));
  }

  size_t run(const char* a, const char* b, char* out, size_t n) const {
    const Form form = repeat_a_ ? Form::repeat_a : repeat_b_ ? Form::repeat_b : Form::both;
    if (direct_) return kernel_(table_, a, b, out, n, form, stream_);
    return run_gathered(a, b, out, n, form);
  }

 private:
  size_t run_gathered(const char* a, const char* b, char* out, size_t n, Form form) const {
    alignas(64) char a_buffer[kChunk * 8], b_buffer[kChunk * 8], out_buffer[kChunk * 8];
    size_t count = 0;
    for (size_t i = 0; i < n; i += kChunk) {
      const size_t k = std::min(kChunk, n - i);
      const char* x = operand(a + ptrdiff_t(i) * a_, a_, repeat_a_, a_buffer, k);
      const char* y = operand(b + ptrdiff_t(i) * b_, b_, repeat_b_, b_buffer, k);
      const bool in_place = out_ == ptrdiff_t(result_) || !writes_;
      char* z = out + ptrdiff_t(i) * out_;
      count += kernel_(table_, x, y, in_place ? z : out_buffer, k, form, stream_ && in_place);
      if (!in_place) scatter(result_, out_buffer, z, out_, k);
    }
    return count;
  }

  const char* operand(const char* p, ptrdiff_t stride, bool repeats, char* buffer, size_t n) const {
    if (repeats || stride == ptrdiff_t(item_)) return p;
    gather(item_, p, stride, buffer, n);
    return buffer;
  }

  Kernel kernel_;
  const void* table_;
  size_t item_, result_;
  ptrdiff_t a_ = 0, b_ = 0, out_ = 0;
  bool writes_, stream_, repeat_a_ = false, repeat_b_ = false, direct_ = false;
};

// Elements [from, to) of a layout, counted in its own order.
size_t run_range(const Work& work, const Line& line, size_t from, size_t to) {
  const Layout& l = work.layout;
  if (l.rank == 0) return line.run(work.a, work.b, work.out, to - from);
  const int inner = l.rank - 1;
  size_t index[kMaxRank];
  const char *a = work.a, *b = work.b;
  char* out = work.out;
  auto step = [&](int dim, ptrdiff_t n) {
    a += l.a[dim] * n;
    b += l.b[dim] * n;
    out += l.out[dim] * n;
  };
  size_t rest = from;
  for (int i = inner; i >= 0; --i) {
    index[i] = rest % l.size[i];
    rest /= l.size[i];
    step(i, ptrdiff_t(index[i]));
  }
  size_t count = 0;
  while (from < to) {
    const size_t n = std::min(l.size[inner] - index[inner], to - from);
    count += line.run(a, b, out, n);
    from += n;
    step(inner, -ptrdiff_t(index[inner]));
    index[inner] = 0;
    for (int i = inner - 1; i >= 0; --i) {
      step(i, 1);
      if (++index[i] < l.size[i]) break;
      step(i, -ptrdiff_t(l.size[i]));
      index[i] = 0;
    }
  }
  return count;
}

size_t bytes_of(const Work& work, size_t elements) {
  return elements * (2 * item_size(work.element) + result_size(work.element, work.policy));
}

struct Shared {
  const Work& work;
  const Line& line;
  size_t elements;
  int parts;
  std::atomic<size_t> count{0};
};

void run_part(void* context, int i) {
  auto& shared = *static_cast<Shared*>(context);
  const FloatMode mode;
  // Parts begin at multiples of 64 elements, so that no two threads write to one cache line of a plain result.
  auto bound = [&](int k) {
    return k == shared.parts ? shared.elements : shared.elements / 64 * size_t(k) / size_t(shared.parts) * 64;
  };
  shared.count += run_range(shared.work, shared.line, bound(i), bound(i + 1));
}

}  // namespace

bool is_long(const Work& work) { return bytes_of(work, work.layout.count()) > 1 << 15; }

size_t subtract(Work work) {
  const size_t elements = work.layout.count();
  if (elements == 0) return 0;
  collapse(work.layout, work.a, work.b, work.out);
  const bool stream = elements * result_size(work.element, work.policy) >= kStreamBytes;
  const Line line(work, stream);
  const size_t parts = std::min<size_t>(size_t(num_threads()), bytes_of(work, elements) / kBytesPerThread);
  if (parts < 2) {
    const FloatMode mode;
    return run_range(work, line, 0, elements);
  }
  Shared shared{work, line, elements, int(parts)};
  in_parallel(int(parts), run_part, &shared);
  return shared.count;
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
