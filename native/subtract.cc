#include "subtract.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "float_mode.h"
#include "planes.h"
#include "rows.h"
#include "squares.h"
#include "targets.h"
#include "threads.h"

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

// Bytes, unless they are said to be something else.
constexpr size_t kLeastShared = 1 << 20;        // to wake another thread takes as long as to move so many,
constexpr size_t kLeastSharedAwake = 1 << 19;   // to hand work to one that is awake, as long as so many,
constexpr size_t kLeastLong = 1 << 18;          // to hand over the GIL and take it back, as long as so many
constexpr std::chrono::microseconds kSoon{50};  // less than a thread looks out for more work before it sleeps
constexpr size_t kBytesPerPart = 1 << 17;
constexpr int kPartsPerThread = 16;             // parts; a thread that comes late finds something left to do
constexpr size_t kFirstCache = 48 << 10;
constexpr size_t kLargestOwnCache = 64 << 20;
constexpr size_t kLeastStreamed = 4 << 20;
constexpr size_t kServerShare = 12;             // of a larger last cache one part in so many is counted on,
constexpr size_t kTwiceShare = 4;               // or one in so many where what goes past the caches is written twice
constexpr size_t kHardlyRead = 8;               // where less is read than one byte for so many that are written

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

struct Caches {
  size_t own = 0, last = 0;  // bytes
};
const Caches kCaches = [] {
  Caches c;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  c.own = size_t(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
  c.last = size_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#endif
  return c;
}();

// Bytes of an operand that is read once where it does not repeat.
size_t bytes_read(const Layout& l, const ptrdiff_t* strides, size_t item) {
  for (int i = 0; i < l.rank; ++i) item *= strides[i] == 0 ? 1 : l.size[i];
  return item;
}

// From how many bytes on all that is touched no longer stays in the caches, so that writing past them pays: most of a
// last cache that is the machine's own. A larger one is a server's, shared with programs that are not seen. Work that
// reads was measured to find it no faster than memory, so the cores' own caches count; what is hardly more than written
// stays in a part of it. Elements of the result that lie across cache lines are first written into a buffer, which only
// pays where more is touched than a larger part holds.
size_t stream_threshold(bool reads, bool twice) {
  const auto [own, last] = kCaches;
  if (last <= kLargestOwnCache) return std::max(last / 4 * 3, kLeastStreamed);
  if (twice) return last / kTwiceShare;
  return std::max(reads ? 2 * own : last / kServerShare, kLeastStreamed);
}

Reach reach_of(const Work& work, size_t elements) {
  const size_t item = item_size(work.element);
  const size_t read = bytes_read(work.layout, work.layout.a, item) + bytes_read(work.layout, work.layout.b, item);
  const bool in_place = work.out == work.a || work.out == work.b;
  const size_t result = result_size(work.element, work.policy), written = elements * result;
  const size_t bytes = read + (in_place ? 0 : written);
  if (bytes <= kFirstCache) return Reach::first;
  const bool reads = read > written / kHardlyRead, is_across = reinterpret_cast<uintptr_t>(work.out) % result != 0;
  if (bytes <= stream_threshold(reads, false)) return Reach::near;
  // What is written over an operand is in the caches already.
  return in_place || (is_across && bytes <= stream_threshold(reads, true)) ? Reach::far : Reach::past;
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

// Work that threads which are awake share, and for which none is woken.
bool is_middle(size_t bytes) { return bytes >= kLeastSharedAwake && bytes < kLeastShared; }

// Whether it is worth another thread's while. Work of middle size is where it follows other such work closely: then the
// threads are awake, or their waking is paid for once by many calls.
bool is_shared(size_t bytes) {
  if (!is_middle(bytes)) return bytes >= kLeastShared;
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::duration> last{Clock::duration::min() / 2};
  const Clock::duration now = Clock::now().time_since_epoch();
  return now - last.exchange(now, std::memory_order_relaxed) < kSoon;
}

size_t run(const Work& work, const Cell& cell, size_t bytes) {
  const size_t units = outer_count(work.layout, cell) * cell.units();
  const int threads = num_threads();
  if (threads < 2 || !is_shared(bytes)) {
    const FloatMode mode;
    const size_t count = run_range(work, cell, 0, units);
    if (cell.streams()) end_of_stream();
    return count;
  }
  const auto parts = int(std::min(size_t(threads) * kPartsPerThread, bytes / kBytesPerPart));
  Shared shared{work, cell, units, parts};
  in_parallel(parts, threads, run_part, &shared);
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

bool is_long(const Work& work) {
  const size_t bytes = bytes_of(work, work.layout.count());
  if (is_middle(bytes) && num_threads() > 1) return false;  // soon done, by all threads
  return bytes > kLeastLong;
}

size_t subtract(Work& work) {
  if (is_short_line(work)) {
    const Layout& l = work.layout;
    const FloatMode mode;
    const Kernel kernel = routines().find(work.element, work.policy, Form{});
    return kernel(work.table, {work.a, work.b, work.out, l.size[0]}, Form{}, Reach::first);
  }
  const size_t elements = work.layout.count();
  if (elements == 0) return 0;
  collapse(work.layout, work.a, work.b, work.out);
  const Reach reach = reach_of(work, elements);
  const size_t bytes = bytes_of(work, elements);
  if (const int dim = Planes::outer_dim(work); dim >= 0) return run(work, Planes(work, reach, dim), bytes);
  if (const int dim = Squares::outer_dim(work); dim >= 0) {
    move_next_to_inner(work.layout, dim);
    return run(work, Squares(work, reach), bytes);
  }
  return run(work, Rows(work, reach), bytes);
}

size_t first_overflow(const Work& work) {
  Work counting = work;
  counting.policy = work.policy == Policy::widen ? Policy::widen : Policy::count;
  alignas(64) char scratch[kBuffer];  // what is written here is not looked at
  counting.out = scratch;
  for (int i = 0; i < counting.layout.rank; ++i) counting.layout.out[i] = 0;
  const Rows rows(counting, Reach::first);
  const size_t elements = work.layout.count();
  for (size_t i = 0; i < elements; i += kChunk) {
    if (run_range(counting, rows, i, std::min(i + kChunk, elements)) == 0) continue;
    for (size_t j = i; j < elements; ++j) {
      if (run_range(counting, rows, j, j + 1) != 0) return j;
    }
  }
  return elements;
}

}  // namespace minuend
