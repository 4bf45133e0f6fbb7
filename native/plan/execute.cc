#include "plan/execute.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "plan/copies.h"
#include "plan/planes.h"
#include "plan/repeats.h"
#include "plan/rows.h"
#include "plan/tiles.h"
#include "system/cpu.h"
#include "system/float_mode.h"
#include "system/instruction_sets.h"
#include "system/machine.h"
#include "system/threads.h"

namespace minuend {

namespace {

// Bytes, unless they are said to be something else.
constexpr size_t kLeastShared = 1 << 20;        // waking another thread takes as long as moving so many,
constexpr size_t kLeastSharedAwake = 1 << 19;   // handing work to one that is awake, as long as so many,
constexpr size_t kLeastLong = 1 << 18;          // releasing the GIL and taking it back, as long as so many
constexpr std::chrono::microseconds kSoon{50};  // less than a thread waits for more work before it sleeps
constexpr size_t kBytesPerPart = 1 << 17;
constexpr int kPartsPerThread = 16;             // parts; a thread that comes late finds something left to do
constexpr size_t kL1 = 48 << 10;
constexpr size_t kLargestOwnCache = 64 << 20;
constexpr size_t kLeastStreamed = 4 << 20;
constexpr size_t kServerShare = 12;             // the part of a larger last cache that is counted on,
constexpr size_t kTwiceShare = 4;               // or where what is streamed is written twice
constexpr size_t kPartOfL2 = 2;                 // beside what is read ahead
constexpr size_t kShortRow = 4 * kCacheLine;    // which shares lines with the next one
constexpr size_t kHardlyRead = 8;               // bytes written for each byte read
constexpr size_t kLeastLines = 4;               // cache lines of a transposed column in a block of rows

// Units [from, to), counted over the outer dims and the traversal's own units.
template <class Traversal>
MINUEND_PLAN_INLINE size_t run_range(const Views& views, const Traversal& traversal, size_t from, size_t to) {
  const Layout& l = views.layout;
  const int outer = l.rank - traversal.dims();
  if (outer == 0) return traversal.run(views.a, views.b, views.out, from, to);
  size_t index[kMaxRank];
  const char *a = views.a, *b = views.b;
  char* out = views.out;
  auto step = [&](int dim, ptrdiff_t n) {
    a += l.a[dim] * n;
    b += l.b[dim] * n;
    out += l.out[dim] * n;
  };
  size_t rest = from / traversal.units();
  for (int i = outer - 1; i >= 0; --i) {
    index[i] = rest % l.size[i];
    rest /= l.size[i];
    step(i, ptrdiff_t(index[i]));
  }
  size_t count = 0, unit = from % traversal.units();
  while (from < to) {
    const size_t n = std::min(traversal.units() - unit, to - from);
    count += traversal.run(a, b, out, unit, unit + n);
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

const CacheSizes kCaches = cache_sizes();
const bool kIsAmd = is_amd();

struct Moved {
  size_t read, written;  // bytes
};

// What is moved of elements alone, or of all that lies in their cache lines.
Moved moved(const Work& work, bool by_lines) {
  const Layout& l = work.layout;
  const size_t item = item_size(work.element), result = result_size(work.element, work.policy);
  auto bytes = [&](const ptrdiff_t* s, size_t own) {
    return elements_read(l, s) * (by_lines ? in_lines(l, s, own) : own);
  };
  return {bytes(l.a, item) + bytes(l.b, item), l.count() * (by_lines ? in_lines(l, l.out, result) : result)};
}

// From how many bytes on the caches no longer hold all that is touched. Up to 64 MiB the last cache is taken for the
// machine's own, above for a server's, which many programs share.
//
//   last cache    work                              bytes                      measured reason
//   64 MiB        any, on AMD                       1/2 of it, 4 MiB at least  above, Zen 4 streams up to twice as fast
//   64 MiB        any                               3/4 of it, 4 MiB at least  the rest belongs to others
//   larger        reads                             twice L2, 4 MiB at least   it is no faster than memory
//   larger        hardly reads (1 byte in 8)        1/12 of it                 what is only written stays there
//   larger        streams by way of a buffer        1/4 of it                  all is written twice
size_t stream_threshold(bool reads, bool twice) {
  const size_t own = kCaches.l2, last = kCaches.l3;
  if (last <= kLargestOwnCache) return std::max(last / 4 * (kIsAmd ? 2 : 3), kLeastStreamed);
  if (twice) return last / kTwiceShare;
  return std::max(reads ? 2 * own : last / kServerShare, kLeastStreamed);
}

// How a block's memory is moved, the first line that holds:
//
//   condition                                     traffic    measured reason
//   48 KiB or less                                in_l1      prefetching what is there costs more than it gives
//   stream_threshold() or less, on AMD, with      in_l1      Zen 4 prefetches by itself: up to 1.3 times as fast, and
//   what lies between strided elements                       twice as fast where there is little but a result; above,
//                                                            streaming takes 0.5 to 0.8 of the time, strided or not
//   stream_threshold() or less                    in_cache   a store that misses L1 waits for its line
//   in place                                      beyond     the result's lines are in the caches anyway
//   odd addresses, up to a higher threshold       beyond     streaming them takes a buffer
//   odd addresses, on AMD                         beyond     it costs Zen 4 more than lines that are read: 1.1 times
//   more                                          streamed   lines are not read just to be written over
Traffic choose_traffic(const Views& views, const Moved& own, const Moved& lines, size_t result) {
  const bool in_place = views.out == views.a || views.out == views.b;
  auto sum = [&](const Moved& moved) { return moved.read + (in_place ? 0 : moved.written); };
  const size_t bytes = sum(own);
  if (bytes <= kL1) return Traffic::in_l1;
  const bool reads = own.read > own.written / kHardlyRead;
  const bool is_across = reinterpret_cast<uintptr_t>(views.out) % result != 0;
  if (sum(kIsAmd ? lines : own) <= stream_threshold(reads, false)) return kIsAmd ? Traffic::in_l1 : Traffic::in_cache;
  const bool is_stored = is_across && (kIsAmd || bytes <= stream_threshold(reads, true));
  return in_place || is_stored ? Traffic::beyond : Traffic::streamed;
}

// Whether short rows that share cache lines are sooner stored than streamed by way of a buffer: what the last cache holds
// takes 0.65 to 0.9 of the time, on Zen 3, and more of it up to 1.3 times as long.
bool holds_result(const Moved& own) {
  return kIsAmd && kCaches.l3 <= kLargestOwnCache && own.read + own.written <= kCaches.l3;
}

// Whose loops compute rows, where elements stay in their lanes. Tables, small floats and policies take more instructions
// than loads: they keep the largest registers.
const Routines& choose_routines(const Work& work, Traffic traffic, const Moved& own) {
  const bool is_cached = traffic == Traffic::in_l1 || traffic == Traffic::in_cache;
  const bool is_simple = work.policy == Policy::wrap && work.element != Element::table &&
                         work.element != Element::f16 && work.element != Element::bf16;
  const bool reads = own.read > own.written / kHardlyRead;
  return is_cached && is_simple && reads && own.read + own.written > kCaches.l2 ? routines_beyond_l2() : routines();
}

size_t bytes_of(const Work& work, size_t elements) {
  const Layout& l = work.layout;
  const size_t item = item_size(work.element);
  return elements * (in_lines(l, l.a, item) + in_lines(l, l.b, item) + result_size(work.element, work.policy));
}

size_t outer_count(const Layout& l, const Traversal& traversal) {
  size_t n = 1;
  for (int i = 0; i < l.rank - traversal.dims(); ++i) n *= l.size[i];
  return n;
}

template <class Traversal>
struct Shared {
  const Views& views;
  const Traversal& traversal;
  size_t units;
  int parts;
  std::atomic<size_t> count{0};
};

template <class Traversal>
void run_part(void* context, int i) {
  auto& shared = *static_cast<Shared<Traversal>*>(context);
  const FloatMode mode;
  const size_t grain = shared.traversal.grain();
  auto bound = [&](int k) {
    return k == shared.parts ? shared.units : shared.units / grain * size_t(k) / size_t(shared.parts) * grain;
  };
  shared.count += run_range(shared.views, shared.traversal, bound(i), bound(i + 1));
  if (shared.traversal.streams()) end_of_stream();
}

// Work that awake threads share, and for which none is woken.
bool is_middle(size_t bytes) { return bytes >= kLeastSharedAwake && bytes < kLeastShared; }

// Whether threads share the work. Work of middle size is shared where it closely follows other such work: then threads
// are awake, or woken once for many calls.
bool is_shared(size_t bytes) {
  if (!is_middle(bytes)) return bytes >= kLeastShared;
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::duration> last{Clock::duration::min() / 2};
  const Clock::duration now = Clock::now().time_since_epoch();
  return now - last.exchange(now, std::memory_order_relaxed) < kSoon;
}

template <class Traversal>
MINUEND_PLAN_INLINE size_t run(const Views& views, const Traversal& traversal, size_t bytes) {
  const size_t units = outer_count(views.layout, traversal) * traversal.units();
  if (bytes >= kLeastShared) heed_container();
  const int threads = num_threads();
  if (threads < 2 || !is_shared(bytes)) {
    const FloatMode mode;
    const size_t count = run_range(views, traversal, 0, units);
    if (traversal.streams()) end_of_stream();
    return count;
  }
  const auto parts = int(std::min(size_t(threads) * kPartsPerThread, bytes / kBytesPerPart));
  Shared<Traversal> shared{views, traversal, units, parts};
  in_parallel(parts, threads, run_part<Traversal>, &shared);
  return shared.count;
}

// The commonest work: short contiguous arrays.
bool is_short_line(const Work& work) {
  const Layout& l = work.layout;
  const auto item = ptrdiff_t(item_size(work.element));
  return l.rank == 1 && l.size[0] <= kChunk && l.a[0] == item && l.b[0] == item &&
         l.out[0] == ptrdiff_t(result_size(work.element, work.policy));
}

// Whether an operand's elements along the dims between a dim and the innermost one share cache lines: those along the
// innermost one do not, or are a short row, whose last line the next one begins in.
bool shares_lines_between(const Layout& l, const ptrdiff_t* s, int dim) {
  const ptrdiff_t line = kCacheLine, inner = std::abs(s[l.rank - 1]);
  for (int d = dim + 1; d < l.rank - 1; ++d) {
    const ptrdiff_t step = std::abs(s[d]);
    const bool is_short = inner > 0 && inner < line && inner * ptrdiff_t(l.size[l.rank - 1]) < ptrdiff_t(kShortRow);
    if (is_short ? step % line != 0 : step != 0 && step < line && inner >= line) return true;
  }
  return false;
}

// How many rows of a dim are tiled before the next ones, or all of them. Where the dims between it and the innermost one
// go through the same cache lines, L2 should hold the lines of these rows until all have: 0.35 to 0.9 of the time. Blocks
// of fewer rows than make some lines of a column took up to 1.3 times as long.
size_t rows_at_once(const Work& work, int dim, const Moved& lines) {
  const Layout& l = work.layout;
  const size_t rows = l.size[dim];
  size_t bytes = lines.read + lines.written;
  for (int d = 0; d < dim; ++d) bytes /= l.size[d];
  const bool shares = shares_lines_between(l, l.a, dim) || shares_lines_between(l, l.b, dim) ||
                      shares_lines_between(l, l.out, dim);
  if (bytes <= 2 * kCaches.l2 || l.rank == kMaxRank || !shares) return rows;
  const size_t fits = kCaches.l2 / kPartOfL2 / (bytes / rows + 1);
  const size_t line = kCacheLine / item_size(work.element), least = kLeastLines * line;
  const size_t multiple = fits < kCacheLine ? line : kCacheLine;  // fewer than a tile has
  return fits < least ? rows : std::min(rows, fits / multiple * multiple);
}

// Whether each row of the result is short and streamed by itself, and does not fill its cache lines. Those that it shares
// with others are then written in two ways, or in parts: stored, rows of up to 100 elements take 0.07 to 0.5 of the
// time, and others up to this length 0.5 to 1.
bool writes_parts_of_lines(const Work& work, int dim) {
  const Layout& l = work.layout;
  const size_t row = l.size[l.rank - 1] * result_size(work.element, work.policy);
  const bool on_lines = reinterpret_cast<uintptr_t>(work.out) % kCacheLine == 0;
  const bool fills = on_lines && row % kCacheLine == 0 && l.out[dim] % ptrdiff_t(kCacheLine) == 0;
  return !fills && row < kLeastStreamedRow && !Tiles::is_joined(work, dim);
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

size_t run_tiles(Work& work, Traffic traffic, int dim, size_t at_once, size_t bytes) {
  Layout& l = work.layout;
  const size_t rows = l.size[dim], whole = rows / at_once, rest = rows % at_once;
  if (whole == 1 && rest == 0) {
    move_next_to_inner(l, dim);
    return run(work, Tiles(work, traffic), bytes);
  }
  // The dim is cut in two: as many rows as are tiled at once move inwards, the blocks of them stay.
  Work last = work;
  for (int i = l.rank++; i > dim; --i) {
    l.size[i] = l.size[i - 1];
    l.a[i] = l.a[i - 1], l.b[i] = l.b[i - 1], l.out[i] = l.out[i - 1];
  }
  const auto block = ptrdiff_t(at_once);
  l.size[dim] = whole, l.size[dim + 1] = at_once;
  l.a[dim] *= block, l.b[dim] *= block, l.out[dim] *= block;
  move_next_to_inner(l, dim + 1);
  size_t count = run(work, Tiles(work, traffic), bytes / rows * (rows - rest));
  if (rest == 0) return count;
  last.layout.size[dim] = rest;
  last.a += l.a[dim] * ptrdiff_t(whole), last.b += l.b[dim] * ptrdiff_t(whole), last.out += l.out[dim] * ptrdiff_t(whole);
  move_next_to_inner(last.layout, dim);
  return count + run(last, Tiles(last, traffic), bytes / rows * rest);
}

}  // namespace

bool is_long(const Work& work) {
  const size_t bytes = bytes_of(work, work.layout.count());
  if (is_middle(bytes) && num_threads() > 1) return false;  // soon done, by all threads
  return bytes > kLeastLong;
}

// Which traversal, the first line that holds:
//
//   condition                                        traversal  measured reason
//   a contiguous row of 1,024 elements or fewer      none       planning costs more than the answer
//   2 rows or more of one element of each operand    Repeats    a result is computed once for a row
//   8 planes or more of few elements, in a           Planes     a call of the kernel for each short row costs more than
//   contiguous result                                           the row
//   an operand runs across the result's rows         Tiles      a row of it takes a cache line for each element, and a
//   (Tiles::outer_dim() says when it pays)                      page for many
//   any other                                        Rows       the kernel reads rows without a buffer
size_t execute(Work& work) {
  if (is_short_line(work)) {
    const Layout& l = work.layout;
    const FloatMode mode;
    const Kernel kernel = routines().find(work.op, work.element, work.policy, Accesses{});
    return kernel(work.table, {work.a, work.b, work.out, l.size[0]}, Accesses{}, Traffic::in_l1);
  }
  const size_t elements = work.layout.count();
  if (elements == 0) return 0;
  collapse(work.layout, work.a, work.b, work.out);
  const Moved own = moved(work, false);
  const Moved lines = own.read + own.written > kL1 ? moved(work, true) : own;
  const Traffic traffic = choose_traffic(work, own, lines, result_size(work.element, work.policy));
  const size_t bytes = bytes_of(work, elements);
  if (Repeats::fits(work, traffic)) return run(work, Repeats(work, traffic), bytes);
  if (const int dim = Planes::outer_dim(work, traffic); dim >= 0) return run(work, Planes(work, traffic, dim), bytes);
  if (const int dim = Tiles::outer_dim(work, traffic); dim >= 0) {
    const bool in_parts = traffic == Traffic::streamed && writes_parts_of_lines(work, dim);
    return run_tiles(work, in_parts ? Traffic::beyond : traffic, dim, rows_at_once(work, dim, lines), bytes);
  }
  return run(work, Rows(work, traffic, choose_routines(work, traffic, own), !holds_result(own)), bytes);
}

void copy(Views& views, size_t item) {
  const size_t bytes = views.layout.count() * item;
  if (bytes == 0) return;
  collapse(views.layout, views.a, views.b, views.out);
  run(views, Copies(views, item, choose_traffic(views, {bytes, bytes}, {bytes, bytes}, item)), 2 * bytes);
}

size_t first_overflow(const Work& work) {
  Work counting = work;
  counting.policy = work.policy == Policy::widen ? Policy::widen : Policy::count;
  alignas(64) char scratch[kBuffer];  // what is written here is not read
  counting.out = scratch;
  for (int i = 0; i < counting.layout.rank; ++i) counting.layout.out[i] = 0;
  const Rows rows(counting, Traffic::in_l1, routines());
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
