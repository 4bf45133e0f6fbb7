// The loop, once for all operators and element types. Compiled for each instruction set with MINUEND_ISA as its
// namespace; no header with code that others compile as well may be used here, or the linker could take one instruction
// set's copy of it for all. constexpr functions of such headers are called in constant expressions alone.
#include "kernel/kernel.h"

#include "kernel/gather.h"
#include "kernel/operators/subtract.h"
#include "kernel/partial.h"
#include "kernel/traits.h"
#include "kernel/transpose.h"

namespace minuend {
namespace MINUEND_ISA {
namespace {

template <bool stream, class V>
inline void store(char* p, V v) {
  if constexpr (stream) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return _mm512_stream_si512((__m512i*)p, (__m512i)v);
#elif defined(__AVX__)
    if constexpr (sizeof(V) == 32) return _mm256_stream_si256((__m256i*)p, (__m256i)v);
#elif defined(__SSE2__)
    if constexpr (sizeof(V) == 16) return _mm_stream_si128((__m128i*)p, (__m128i)v);
#endif
  }
  std::memcpy(p, &v, sizeof(v));
}

// 16 bytes.
template <bool stream, class V>
inline void store_few(char* p, V v) {
#if defined(__SSE2__)
  if constexpr (stream) return _mm_stream_si128((__m128i*)p, (__m128i)v);
#endif
  std::memcpy(p, &v, sizeof(v));
}

constexpr int kLinesPerTurn = kBytes / 8;  // the loop is unrolled to so many cache lines: about as many instructions
constexpr size_t kPrefetchDistance = 3072;      // bytes; at 2048 AVX2 takes 1.4 times as long in place
constexpr size_t kStorePrefetchDistance = 512;  // bytes
constexpr size_t kWorthAligning = 4096;         // bytes of result
constexpr size_t kLinesGathered = 2560;         // bytes of an operand's lines
constexpr size_t kLeastGathered = 64, kMostGathered = 512;  // elements
constexpr int kIntoL1 = 3, kIntoL2 = 2;  // caches, as __builtin_prefetch counts them
// With small registers a cache line takes so many instructions that every prefetch pays.
constexpr bool kPrefetchesLess = kBytes > 16;

// n elements, every second one, in a register; the rest 0.
template <class V, class T>
MINUEND_PART V evens_in_part(const char* from, size_t n) {
  if (n == 0) __builtin_unreachable();
  const size_t bytes = (2 * n - 1) * sizeof(T), low = bytes < sizeof(V) ? bytes : sizeof(V);
  return evens_of<T>(load_part<V>(from, low), bytes > low ? load_part<V>(from + low, bytes - low) : V{},
                     std::make_index_sequence<sizeof(V) / sizeof(T)>{});
}

// Loads registers of one operand.
template <class V, class T, Access access>
struct Source {
  static constexpr size_t kStep = (access == Access::every_second ? 2 : 1) * sizeof(T);
  static constexpr size_t kLanes = sizeof(V) / sizeof(T);
  const char* p;
  V same{};

  explicit Source(const char* at) : p(at) {
    if constexpr (access == Access::broadcast) same = V{} + get<T>(at);
  }
  // The last element of every second one is not loaded with a whole register: behind it there may be no memory.
  static constexpr size_t kLess = access == Access::every_second ? 1 : 0;
  V full(size_t i) const {
    if constexpr (access == Access::broadcast) return same;
    if constexpr (access == Access::contiguous) return get<V>(p + i * kStep);
    return evens(get<V>(p + i * kStep), get<V>(p + i * kStep + sizeof(V)));
  }
  // The same as the trait takes it.
  template <class Trait>
  auto lanes_of(size_t i) const {
    constexpr bool pairs = access == Access::every_second && Trait::takes_pairs;
    if constexpr (pairs) return get<typename Trait::Pairs>(p + i * kStep);
    else return full(i);
  }
  // Prefetches the line `bytes` ahead.
  template <Traffic traffic = Traffic::in_cache>
  void prefetch(size_t i, ptrdiff_t bytes) const {
    constexpr int cache = traffic == Traffic::beyond ? kIntoL2 : kIntoL1;
    if constexpr (access != Access::broadcast) __builtin_prefetch(p + i * kStep + bytes, 0, cache);
    if constexpr (access == Access::every_second) __builtin_prefetch(p + i * kStep + bytes + kCacheLine, 0, cache);
  }
  // The first n lanes. Where overflow is reported the others are 0, so that they never count.
  template <bool zeros>
  V part(size_t i, size_t n) const {
    if constexpr (access == Access::broadcast && !zeros) return same;
    if constexpr (access == Access::broadcast) return load_part<V>(reinterpret_cast<const char*>(&same), n * sizeof(T));
    if constexpr (access == Access::contiguous) return load_part<V>(p + i * kStep, n * sizeof(T));
    return evens_in_part<V, T>(p + i * kStep, n);
  }
  // Where the same lie in memory: in `buffer` where the operand does not have them so.
  const char* part_in_memory(size_t i, size_t n, V& buffer) const {
    if constexpr (access == Access::contiguous) return p + i * kStep;
    buffer = part<false>(i, n);
    return reinterpret_cast<const char*>(&buffer);
  }

 private:
  static V evens(V low, V high) { return evens_of<T>(low, high, std::make_index_sequence<kLanes>{}); }
};

// Overflow over a block: an OR of all registers' flags, or the number of their sign bits.
template <class Trait>
class Tally {
  using T = typename Trait::Out;
  using V = typename Trait::Result;
  static constexpr Report reports = Trait::reports;

 public:
  void add(V over) {
    if constexpr (reports == Report::any) seen_ |= over;
    if constexpr (reports == Report::count) {
      seen_ -= ones(over);
      if (++added_ == 255) drain();  // an 8-bit lane holds no more
    }
  }
  size_t total() {
    if constexpr (reports == Report::any) sum_ = sum(V{} - ones(seen_)) != 0;
    if constexpr (reports == Report::count) drain();
    return sum_;
  }

 private:
  static V ones(V over) { return (V)((Vec<std::make_signed_t<T>, Trait::lanes>)over < 0); }
  static size_t sum(V v) {
    size_t n = 0;
    for (size_t i = 0; i < Trait::lanes; ++i) n += size_t(v[i]);
    return n;
  }
  void drain() {
    sum_ += sum(seen_);
    seen_ = V{};
    added_ = 0;
  }

  V seen_{};
  size_t sum_ = 0, added_ = 0;
};

// From a row to the later one that lies so many bytes of rows ahead, not counting the gaps between rows.
inline ptrdiff_t distance_in_rows(size_t bytes, size_t row, ptrdiff_t step) {
  return ptrdiff_t((bytes + row - 1) / row) * step;
}

// In bytes.
struct PrefetchDistances {
  ptrdiff_t a, b, out;
};

// Where the bytes lie that come so many bytes later: in the same row if it is long or the next one follows on, else in
// a later row.
inline ptrdiff_t prefetch_distance(size_t bytes, const Block& block, size_t item, ptrdiff_t step) {
  const size_t row = block.n * item;
  return block.rows == 1 || row > 2 * bytes || step == ptrdiff_t(row) ? ptrdiff_t(bytes)
                                                                      : distance_in_rows(bytes, row, step);
}

// The first n lanes of a register, whose operands lie in memory: writes the results, returns the overflows. A register
// is returned in any case, so that the caller knows that it has to clear the upper halves.
template <class Trait>
MINUEND_PART typename Trait::Result part_of(Trait trait, const char* a, const char* b, char* out, size_t n) {
  using Operand = typename Trait::Operand;
  const size_t bytes = n * sizeof(typename Trait::In);
  typename Trait::Result over{};
  const auto d = trait(load_part<Operand>(a, bytes), load_part<Operand>(b, bytes), over);
  if constexpr (Trait::writes) store_part(out, d, n * sizeof(typename Trait::Out));
  return over;
}

template <class Trait, Access access_a, Access access_b, Traffic traffic, class Overflows>
inline void row(Trait trait, const Block& block, const PrefetchDistances& distances, const char* a, const char* b,
                char* out, Overflows& overflows) {
  using In = typename Trait::In;
  using Out = typename Trait::Out;
  using Operand = typename Trait::Operand;
  using Result = typename Trait::Result;
  using A = Source<Operand, In, access_a>;
  using B = Source<Operand, In, access_b>;
  const A from_a(a);
  const B from_b(b);
  const size_t n = block.n;
  constexpr size_t less = A::kLess | B::kLess;
  // Of these a call would make rows of 9 to 200 elements up to 1.17 times as slow.
  constexpr bool is_commonest = Trait::wraps && access_a != Access::every_second && access_b != Access::every_second &&
                                (traffic == Traffic::in_l1 || traffic == Traffic::in_cache);
  constexpr bool calls = kCallsForParts && !is_commonest;
  // A store waits for its line to come into L1, and all later stores wait behind it.
  const bool prefetches_out =
      (traffic == Traffic::in_cache || traffic == Traffic::beyond) && Trait::writes && out != a && out != b;
  Result over{};
  size_t i = 0;

  // Inlined, or `over` would have to be in memory, and the loop would work there.
  auto part = [&](size_t k) __attribute__((always_inline)) {
    // The rest of its line may be streamed, and a line that is written both ways takes ten times as long.
    if (calls && (traffic != Traffic::streamed || less == 0 || k < Trait::lanes)) {
      Operand x, y;
      const char *const at_a = from_a.part_in_memory(i, k, x), *const at_b = from_b.part_in_memory(i, k, y);
      overflows.add(part_of(trait, at_a, at_b, out + i * sizeof(Out), k));
    } else {
      constexpr bool zeros = Trait::reports != Report::nothing;
      const Result d = trait(from_a.template part<zeros>(i, k), from_b.template part<zeros>(i, k), over);
      if constexpr (Trait::writes) {
        if (traffic == Traffic::streamed && k == Trait::lanes) store<true>(out + i * sizeof(Out), d);
        else store_part(out + i * sizeof(Out), d, k * sizeof(Out));
      }
      overflows.add(over);
    }
    i += k;
  };
  // Stores on whole cache lines: streamed ones have to be, and others that straddle two lines cost double.
  if (Trait::writes && (traffic == Traffic::streamed || n * sizeof(Out) >= kWorthAligning)) {
    constexpr size_t width = sizeof(Result);
    const size_t ahead = (width - reinterpret_cast<uintptr_t>(out) % width) % width / sizeof(Out);
    if (ahead > 0 && ahead < n) part(ahead);
  }
  auto prefetch = [&](size_t at) __attribute__((always_inline)) {  // what a line of the result needs
    if constexpr (traffic != Traffic::streamed || Trait::is_slow) {
      from_a.template prefetch<traffic>(at, distances.a);
      from_b.template prefetch<traffic>(at, distances.b);
    }
    if (prefetches_out) __builtin_prefetch(out + at * sizeof(Out) + distances.out, 1);
  };
  auto full = [&](size_t at) __attribute__((always_inline)) {
    const Result d = trait(from_a.template lanes_of<Trait>(at), from_b.template lanes_of<Trait>(at), over);
    if constexpr (Trait::writes) store<traffic == Traffic::streamed>(out + at * sizeof(Out), d);
    overflows.add(over);
  };
  constexpr size_t in_line = kCacheLine / sizeof(Result), line = in_line * Trait::lanes;
  if constexpr (traffic != Traffic::in_l1 && less == 0) {
#pragma GCC unroll kLinesPerTurn
    for (; i + line <= n; i += line) {
      prefetch(i);
      for (size_t k = 0; k < in_line; ++k) full(i + k * Trait::lanes);
    }
  } else if constexpr (traffic != Traffic::in_l1) {  // no faster if unrolled
    for (; i + line + less <= n; i += line) {
      prefetch(i);
      for (size_t k = 0; k < in_line; ++k) full(i + k * Trait::lanes);
    }
  }
  if constexpr (traffic == Traffic::in_l1 || in_line > 1) {
    for (; i + Trait::lanes + less <= n; i += Trait::lanes) full(i);
  }
  if (i < n) part(n - i);
}

// Short rows: whole registers, of which the last one overlaps the one before, so that no row has a remainder. Some
// elements are computed twice, which only counting would notice.
template <class Trait>
constexpr bool can_be_short = Trait::writes && Trait::reports != Report::count;
constexpr size_t kShortRow = 8;  // registers

template <class Trait>
bool is_short(const Block& block, Accesses accesses) {
  constexpr size_t lanes = Trait::lanes;
  const bool by_registers = accesses.a != Access::every_second && accesses.b != Access::every_second;
  return can_be_short<Trait> && by_registers && block.rows > 1 && block.n >= lanes && block.n <= kShortRow * lanes;
}

template <class Trait, Access access_a, Access access_b, class Overflows>
inline void short_rows(Trait trait, const Block& block, bool prefetches, Overflows& overflows) {
  using In = typename Trait::In;
  using Out = typename Trait::Out;
  using Operand = typename Trait::Operand;
  const ptrdiff_t a_ahead = distance_in_rows(kPrefetchDistance, block.n * sizeof(In), block.a_row_stride);
  const ptrdiff_t b_ahead = distance_in_rows(kPrefetchDistance, block.n * sizeof(In), block.b_row_stride);
  const ptrdiff_t out_ahead = distance_in_rows(kStorePrefetchDistance, block.n * sizeof(Out), block.out_row_stride);
  const size_t last = block.n - Trait::lanes;
  const char *a = block.a, *b = block.b;
  char* out = block.out;
  typename Trait::Result over{};
  for (size_t r = 0; r < block.rows;
       ++r, a += block.a_row_stride, b += block.b_row_stride, out += block.out_row_stride) {
    const Source<Operand, In, access_a> from_a(a);
    const Source<Operand, In, access_b> from_b(b);
    auto at = [&](size_t i) __attribute__((always_inline)) {
      const auto d = trait(from_a.full(i), from_b.full(i), over);
      overflows.add(over);
      return d;
    };
    for (size_t i = 0; prefetches && i < block.n; i += kCacheLine / sizeof(Out)) {
      if (a_ahead != 0) from_a.prefetch(i, a_ahead);
      if (b_ahead != 0) from_b.prefetch(i, b_ahead);
      if (out != a && out != b) __builtin_prefetch(out + i * sizeof(Out) + out_ahead, 1);
    }
    const auto end = at(last);  // loaded before anything is written: `out` may be a or b
    for (size_t i = 0; i < last; i += Trait::lanes) store<false>(out + i * sizeof(Out), at(i));
    store<false>(out + last * sizeof(Out), end);
  }
}

// Short rows have one loop for all traffic that is not streamed: in_l1's, with or without prefetch.
template <class Trait, Access access_a, Access access_b, Traffic traffic>
size_t loop(Trait trait, const Block& block, bool prefetches = true) {
  Tally<Trait> overflows;
  if constexpr (can_be_short<Trait> && traffic == Traffic::in_l1) {
    if (is_short<Trait>(block, {access_a, access_b})) {
      short_rows<Trait, access_a, access_b>(trait, block, prefetches, overflows);
      return overflows.total();
    }
  }
  using In = typename Trait::In;
  using Operand = typename Trait::Operand;
  const PrefetchDistances distances{
      prefetch_distance(kPrefetchDistance, block, Source<Operand, In, access_a>::kStep, block.a_row_stride),
      prefetch_distance(kPrefetchDistance, block, Source<Operand, In, access_b>::kStep, block.b_row_stride),
      prefetch_distance(kStorePrefetchDistance, block, sizeof(typename Trait::Out), block.out_row_stride)};
  const char *a = block.a, *b = block.b;
  char* out = block.out;
  for (size_t r = 0; r < block.rows;
       ++r, a += block.a_row_stride, b += block.b_row_stride, out += block.out_row_stride) {
    row<Trait, access_a, access_b, traffic>(trait, block, distances, a, b, out, overflows);
  }
  return overflows.total();
}

// Calls f with the access as a type.
template <class F>
inline size_t with_access(Access access, F f) {
  if (access == Access::contiguous) return f(std::integral_constant<Access, Access::contiguous>{});
  if (access == Access::every_second) return f(std::integral_constant<Access, Access::every_second>{});
  return f(std::integral_constant<Access, Access::broadcast>{});
}

template <class Trait, Traffic traffic>
size_t loop_of(Trait trait, const Block& block, Accesses accesses, bool prefetches = true) {
  return with_access(accesses.a, [&](auto a) {
    return with_access(accesses.b, [&](auto b) -> size_t {
      constexpr Access x = decltype(a)::value, y = decltype(b)::value;
      constexpr bool has_every_second = x == Access::every_second || y == Access::every_second;
      // What is rare has one loop for all traffic.
      constexpr bool is_rare = has_every_second && (traffic == Traffic::in_l1 || (!Trait::wraps && x != y));
      if constexpr (!has_loop(Trait::element, Trait::policy, {x, y})) return 0;
      else return loop<Trait, x, y, is_rare ? Traffic::in_cache : traffic>(trait, block, prefetches);
    });
  });
}

// Whether no element of the result straddles cache lines.
template <size_t item>
inline bool is_aligned(const Block& block) {
  return reinterpret_cast<uintptr_t>(block.out) % item == 0 && block.out_row_stride % ptrdiff_t(item) == 0;
}

template <class Trait>
size_t run_trait(Trait trait, const Block& block, Accesses accesses, Traffic traffic) {
  constexpr bool can_stream = Trait::writes && Trait::lanes * sizeof(typename Trait::Out) == kBytes;
  if constexpr (!Trait::writes) return loop_of<Trait, Traffic::in_cache>(trait, block, accesses);
  const bool streams = can_stream && traffic == Traffic::streamed && is_aligned<sizeof(typename Trait::Out)>(block);
  // In place, what L2 holds comes in time without prefetch: 1.1 to 1.4 times as fast.
  const bool prefetches_less = kPrefetchesLess && (block.out == block.a || block.out == block.b);
  const bool in_time =
      traffic == Traffic::in_l1 || (traffic == Traffic::in_cache && prefetches_less && !Trait::is_slow);
  if (in_time || (!streams && is_short<Trait>(block, accesses))) {
    return loop_of<Trait, Traffic::in_l1>(trait, block, accesses, !in_time);
  }
  if constexpr (can_stream) {
    if (streams) return loop_of<Trait, Traffic::streamed>(trait, block, accesses);
  }
  // What lies farther away is prefetched into L2: on two threads L1 has no room for all the lines under way, which took
  // up to 1.25 times as long.
  if constexpr (kPrefetchesLess) {
    if (traffic == Traffic::beyond && prefetches_less && accesses.a == Access::contiguous &&
        accesses.b == Access::contiguous) {
      return loop<Trait, Access::contiguous, Access::contiguous, Traffic::beyond>(trait, block);
    }
  }
  return loop_of<Trait, Traffic::in_cache>(trait, block, accesses);
}

// From element to element of a row, in bytes.
inline ptrdiff_t step_of(Access access, ptrdiff_t stride, size_t item) {
  return access == Access::strided ? stride : access == Access::broadcast ? 0 : ptrdiff_t(item);
}

// Calls f(a, b, out) for each row.
template <class F>
inline void in_rows(const Block& block, F f) {
  for (size_t r = 0; r < block.rows; ++r) {
    const auto row = ptrdiff_t(r);
    f(block.a + row * block.a_row_stride, block.b + row * block.b_row_stride, block.out + row * block.out_row_stride);
  }
}

// One operand of run_gathered().
template <class T>
struct Pieces {
  const ptrdiff_t stride;
  const Gather<T> gather;  // nullptr where nothing is gathered
  const Access access;     // of what the loop reads
  alignas(kCacheLine) char buffer[kMostGathered * 3 / 2 * sizeof(T)];

  Pieces(Access own, ptrdiff_t bytes)
      : stride(step_of(own, bytes, sizeof(T))),
        gather(own == Access::strided ? find_gather<T>(bytes) : nullptr),
        access(own == Access::strided ? Access::contiguous : own) {}

  const char* bring(const char* row, size_t i, size_t n) {
    const char* from = row + ptrdiff_t(i) * stride;
    if (gather == nullptr) return from;
    gather(from, stride, buffer, n);
    return buffer;
  }
  // Elements in so many bytes of cache lines.
  size_t fitting(size_t bytes) const {
    const auto distance = size_t(stride < 0 ? -stride : stride);
    return distance == 0 ? kMostGathered : bytes / (distance < kCacheLine ? distance : kCacheLine);
  }
};

// Strided operands. Pieces are short, so that both operands' lines are read in turn: longer ones, from memory, took up
// to twice as long on Zen 4. They end on cache lines of the result, where stores should.
template <class Trait>
size_t run_gathered(Trait trait, const Block& block, Accesses accesses, Traffic traffic) {
  using In = typename Trait::In;
  using Out = typename Trait::Out;
  Pieces<In> from_a(accesses.a, block.a_stride), from_b(accesses.b, block.b_stride);
  const size_t a_fits = from_a.fitting(kLinesGathered), b_fits = from_b.fitting(kLinesGathered);
  const size_t fits = (a_fits < b_fits ? a_fits : b_fits) / kLeastGathered * kLeastGathered;
  const size_t most = fits < kLeastGathered ? kLeastGathered : fits < kMostGathered ? fits : kMostGathered;
  const bool aligns = traffic == Traffic::streamed || block.n * sizeof(Out) >= kWorthAligning;
  size_t count = 0;
  in_rows(block, [&](const char* a, const char* b, char* out) {
    const size_t before = aligns ? reinterpret_cast<uintptr_t>(out) % kCacheLine / sizeof(Out) : 0;
    for (size_t i = 0, end = most - before; i < block.n; i = end, end += most) {
      if (end + most / 2 > block.n) end = block.n;
      const char* const x = from_a.bring(a, i, end - i);
      const char* const y = from_b.bring(b, i, end - i);
      const Block piece{x, y, out + i * sizeof(Out), end - i};
      count += run_trait(trait, piece, {from_a.access, from_b.access}, traffic);
    }
  });
  return count;
}

// Elements [from, to) of a row, one at a time.
template <class Trait>
inline void in_ones(const char* a, ptrdiff_t a_step, const char* b, ptrdiff_t b_step, char* out, size_t from, size_t to,
                    ptrdiff_t out_step = sizeof(typename Trait::In)) {
  using T = typename Trait::In;
  a += ptrdiff_t(from) * a_step, b += ptrdiff_t(from) * b_step, out += ptrdiff_t(from) * out_step;
#pragma GCC unroll 4
  for (size_t i = from; i < to; ++i, a += a_step, b += b_step, out += out_step) {
    put(out, Trait::any(get<T>(a), get<T>(b)));
    asm volatile("");  // larger registers that are put together of single elements would take twice as long
  }
}

template <class T, size_t... i>
inline Vec<T, sizeof...(i)> collected(const char* p, ptrdiff_t step, std::index_sequence<i...>) {
  return Vec<T, sizeof...(i)>{get<T>(p + ptrdiff_t(i) * step)...};
}

// Elements of a row before the first cache line of the result, or before what else has such a width.
template <class T, size_t width = kCacheLine>
inline size_t before_line(const char* out, size_t n) {
  const size_t ahead = (width - reinterpret_cast<uintptr_t>(out) % width) % width / sizeof(T);
  return ahead < n ? ahead : n;
}

// A row of one operand of run_singly(), from an element on.
template <class T, Access access>
struct Singles {
  const char* p;
  const ptrdiff_t step;
  T same{};

  Singles(const char* row, ptrdiff_t stride) : p(row), step(access == Access::contiguous ? sizeof(T) : stride) {
    if constexpr (access == Access::broadcast) same = get<T>(row);
  }
  T at(size_t i) const {
    if constexpr (access == Access::broadcast) return same;
    else return get<T>(p + ptrdiff_t(i) * step);
  }
  template <size_t n>
  Vec<T, n> few() const {
    if constexpr (access == Access::broadcast) return Vec<T, n>{} + same;
    else if constexpr (access == Access::contiguous) return get<Vec<T, n>>(p);
    else return collected<T>(p, step, std::make_index_sequence<n>{});
  }
  void advance(size_t n) {
    if constexpr (access != Access::broadcast) p += ptrdiff_t(n) * step;
  }
};

// Elements that are far apart: single loads of both operands overlap, and there is no buffer. From L3 that is 1.1 to 1.3
// times as fast as gathering, on Zen 4. Of 4 or 8 bytes 16 bytes are put together: up to 1.15 times as fast as one at a
// time, where small elements take 1.2 times as long.
template <class Trait, bool stream, Access access_a, Access access_b>
size_t run_singly(const Block& block, ptrdiff_t a_step, ptrdiff_t b_step, bool in_turn) {
  using T = typename Trait::In;
  in_rows(block, [&](const char* a, const char* b, char* out) {
    Singles<T, access_a> x(a, a_step);
    Singles<T, access_b> y(b, b_step);
    size_t left = block.n;
    auto advance = [&](size_t n) __attribute__((always_inline)) {
      x.advance(n), y.advance(n);
      out += n * sizeof(T);
      left -= n;
    };
    auto one = [&](size_t i) __attribute__((always_inline)) {
      put(out + i * sizeof(T), Trait::any(x.at(i), y.at(i)));
      asm volatile("");  // larger registers that are put together of single elements would take twice as long
    };
    if (in_turn) {
#pragma GCC unroll 1
      for (; left > 0; advance(1)) one(0);
      return;
    }
    if constexpr (stream) {
      for (size_t ahead = before_line<T>(out, left); ahead > 0; --ahead, advance(1)) one(0);
    }
    if constexpr (sizeof(T) >= 4) {
      constexpr size_t few = 16 / sizeof(T), at_once = stream ? kCacheLine / sizeof(T) : few;
      while (left >= at_once) {
        for (size_t k = 0; k < at_once; k += few, advance(few)) {
          store_few<stream>(out, Trait::any(x.template few<few>(), y.template few<few>()));
        }
      }
    } else if constexpr (access_a != access_b) {
      for (; left >= 4; advance(4)) one(0), one(1), one(2), one(3);
    } else {  // the offsets of both operands' next elements would need too many registers: 1.1 to 1.2 times the time
#pragma GCC unroll 4
      for (; left > 0; advance(1)) one(0);
    }
    for (; left > 0; advance(1)) one(0);
  });
  return 0;
}

// Calls f with the accesses as types, of which one at least is `strided`.
template <class F>
inline size_t with_strided(Accesses accesses, F f) {
  constexpr std::integral_constant<Access, Access::strided> strided{};
  if (accesses.a == Access::strided && accesses.b == Access::strided) return f(strided, strided);
  const bool of_a = accesses.a == Access::strided;
  return with_access(of_a ? accesses.b : accesses.a, [&](auto other) -> size_t {
    if constexpr (decltype(other)::value == Access::every_second) return 0;  // never with `strided`
    else return of_a ? f(strided, other) : f(other, strided);
  });
}

inline ptrdiff_t distance(ptrdiff_t step) { return step < 0 ? -step : step; }
inline ptrdiff_t farther_of(ptrdiff_t a, ptrdiff_t b) { return distance(a) < distance(b) ? distance(b) : distance(a); }

// Steps of about a cache line, from memory: a load that is not unrolled goes through equal steps, which the CPU's own
// prefetcher follows. On Zen 3 that takes 0.8 to 0.95 of the time; with AVX-512 it was not measured.
inline bool reads_in_turn(ptrdiff_t a, ptrdiff_t b, bool from_memory) {
  constexpr ptrdiff_t kLeast = 48, kMost = 128;  // bytes
  const ptrdiff_t farther = farther_of(a, b);
  return kBytes == 32 && from_memory && farther >= kLeast && farther <= kMost;
}

template <class Trait, bool stream>
size_t run_singly(const Block& block, Accesses accesses, ptrdiff_t a_step, ptrdiff_t b_step, bool from_memory) {
  const bool in_turn = reads_in_turn(a_step, b_step, from_memory);
  return with_strided(accesses, [&](auto a, auto b) {
    return run_singly<Trait, stream, decltype(a)::value, decltype(b)::value>(block, a_step, b_step, in_turn);
  });
}

// Whether elements are sooner read one at a time: they are far apart, or AVX2 gathers them. It shuffles bytes within 16
// bytes alone, so that by registers small elements of two operands take long. Measured on Zen 3, ns for an element:
//
//   bytes    step       from the caches: by registers, singly    from memory: by registers, singly
//   1        4, 4       0.24, 0.41                               0.82, 0.64
//   1        8, 8       0.49, 0.52                               1.68, 0.98
//   1        13, 13     0.44, 0.56                               1.80, 1.39
//   1        16, 16     0.81, 0.57                               2.55, 1.77
//   1        1, 16      0.48, 0.51                               1.75, 1.39
//   2        3, 3       0.46, 0.70                               1.29, 0.84
//   2        6, 6       0.69, 0.70                               2.48, 1.60
//   2        1, 8       0.66, 0.78                               1.72, 1.35
//   4        1, 4       0.87, 0.74                               1.45, 1.21
template <size_t item>
inline bool takes_singly(Accesses accesses, ptrdiff_t a, ptrdiff_t b, bool from_memory) {
  if (is_far(a) || is_far(b)) return true;
  if constexpr (kBytes != 32) return false;
  if (farther_of(a, b) == kNear) return true;
  constexpr ptrdiff_t kFromMemory = 8, kFromCaches = item == 1 ? 28 : 24;  // bytes, of both steps
  const bool both = accesses.a == Access::strided && accesses.b == Access::strided;
  return item <= 2 && both && distance(a) + distance(b) >= (from_memory ? kFromMemory : kFromCaches);
}

// Both operands of one small step, without a buffer.
template <class Trait, size_t step, bool stream>
size_t run_steps(Trait trait, const Block& block) {
  using T = typename Trait::In;
  constexpr auto stride = ptrdiff_t(step * sizeof(T));
  in_rows(block, [&](const char* a, const char* b, char* out) {
    typename Trait::Result over{};
    size_t i = stream ? before_line<T>(out, block.n) : 0;
    in_ones<Trait>(a, stride, b, stride, out, 0, i);
    // What lies between elements is read as well, so the last element is left out.
    for (; i + Trait::lanes < block.n; i += Trait::lanes) {
      const auto x = every_nth<T, step, kBytes>(a + ptrdiff_t(i) * stride);
      store<stream>(out + i * sizeof(T), trait(x, every_nth<T, step, kBytes>(b + ptrdiff_t(i) * stride), over));
    }
    in_ones<Trait>(a, stride, b, stride, out, i, block.n);
  });
  return 0;
}

// A register of an operand's row whose first element is at i.
template <class V, class T, Access access>
struct Reversible {
  const char* p;
  V same{};

  explicit Reversible(const char* row) : p(row) {
    if constexpr (access == Access::broadcast) same = V{} + get<T>(row);
  }
  V at(size_t i) const {
    constexpr size_t lanes = sizeof(V) / sizeof(T);
    if constexpr (access == Access::broadcast) return same;
    if constexpr (access == Access::contiguous) return get<V>(p + i * sizeof(T));
    return reversed(get<V>(p - ptrdiff_t((i + lanes - 1) * sizeof(T))), std::make_index_sequence<lanes>{});
  }
};

// Operands of which one or both run backwards (`strided`), reversed in registers. The first and the last register of a
// row overlap others; they are loaded before anything is written, for `out` may be a or b.
template <class Trait, bool stream, Access access_a, Access access_b>
size_t run_backwards(Trait trait, const Block& block) {
  using T = typename Trait::In;
  constexpr auto step = [](Access access) {
    constexpr auto item = ptrdiff_t(sizeof(T));
    return access == Access::strided ? -item : access == Access::contiguous ? item : 0;
  };
  const bool aligns = stream || block.n * sizeof(T) >= kWorthAligning;
  constexpr size_t width = stream ? kCacheLine : kBytes;
  in_rows(block, [&](const char* a, const char* b, char* out) {
    const size_t n = block.n, ahead = aligns ? before_line<T, width>(out, n) : 0;
    const Reversible<typename Trait::Operand, T, access_a> x(a);
    const Reversible<typename Trait::Operand, T, access_b> y(b);
    typename Trait::Result over{};
    auto of = [&](size_t i) __attribute__((always_inline)) { return trait(x.at(i), y.at(i), over); };
    if (stream || n < Trait::lanes) {
      in_ones<Trait>(a, step(access_a), b, step(access_b), out, 0, ahead);
      size_t i = ahead;
      for (; i + Trait::lanes <= n; i += Trait::lanes) store<stream>(out + i * sizeof(T), of(i));
      in_ones<Trait>(a, step(access_a), b, step(access_b), out, i, n);
      return;
    }
    const size_t last = n - Trait::lanes;
    const auto first_register = of(0), last_register = of(last);
#pragma GCC unroll 4
    for (size_t i = ahead; i < last; i += Trait::lanes) store<false>(out + i * sizeof(T), of(i));
    store<false>(out, first_register);
    store<false>(out + last * sizeof(T), last_register);
  });
  return 0;
}

template <class Trait, bool stream>
size_t run_backwards(Trait trait, const Block& block, Accesses accesses) {
  auto run_as = [&](auto a, auto b) {
    return run_backwards<Trait, stream, decltype(a)::value, decltype(b)::value>(trait, block);
  };
  return with_strided(accesses, run_as);
}

inline bool gathers(Accesses accesses) { return accesses.a == Access::strided || accesses.b == Access::strided; }

// Results with a stride.
template <class Trait>
size_t run_apart(const Block& block) {
  in_rows(block, [&](const char* a, const char* b, char* out) {
    in_ones<Trait>(a, block.a_stride, b, block.b_stride, out, 0, block.n, block.out_stride);
  });
  return 0;
}

// Which loop strided operands have, the first line that holds:
//
//   condition                                    loop          measured reason, on Zen 4
//   a result with a stride                       run_apart      up to 1.5 times as fast as by way of a buffer, on Zen 3
//   backwards                                    run_backwards  up to 1.9 times as fast as by way of a buffer
//   both of 3 or of 4 elements of 4 bytes        run_steps     up to 1.2 times as fast as single elements
//   takes_singly(), and no overflow to report,   run_singly    1.1 to 1.3 times as fast as by way of a buffer
//   nor small floats
//   any other                                    run_gathered  small elements are gathered by registers
template <class Trait>
__attribute__((noinline)) size_t run_strided(Trait trait, const Block& block, Accesses accesses, Traffic traffic) {
  if constexpr (Trait::takes_any) {
    constexpr size_t item = sizeof(typename Trait::In);
    if (block.out_stride != 0) return run_apart<Trait>(block);
    const ptrdiff_t a = step_of(accesses.a, block.a_stride, item), b = step_of(accesses.b, block.b_stride, item);
    const bool may_stream = traffic == Traffic::streamed && is_aligned<item>(block);
    const bool streams = item >= 4 && may_stream;
    auto is_reversible = [](Access access, ptrdiff_t step) {
      return access != Access::strided || step == -ptrdiff_t(item);
    };
    if (is_reversible(accesses.a, a) && is_reversible(accesses.b, b)) {
      return may_stream ? run_backwards<Trait, true>(trait, block, accesses)
                        : run_backwards<Trait, false>(trait, block, accesses);
    }
    if constexpr (item == 4 && kGathered > 0) {
      if (a == b && a == 3 * ptrdiff_t(item)) {
        return streams ? run_steps<Trait, 3, true>(trait, block) : run_steps<Trait, 3, false>(trait, block);
      }
      if (a == b && a == 4 * ptrdiff_t(item)) {
        return streams ? run_steps<Trait, 4, true>(trait, block) : run_steps<Trait, 4, false>(trait, block);
      }
    }
    const bool from_memory = traffic == Traffic::beyond || traffic == Traffic::streamed;
    if (takes_singly<item>(accesses, a, b, from_memory)) {
      return streams ? run_singly<Trait, true>(block, accesses, a, b, from_memory)
                     : run_singly<Trait, false>(block, accesses, a, b, from_memory);
    }
  }
  return run_gathered(trait, block, accesses, traffic);
}

template <class Trait>
size_t run(const void*, const Block& block, Accesses accesses, Traffic traffic) {
  if (gathers(accesses)) return run_strided(Trait{}, block, accesses, traffic);
  return run_trait(Trait{}, block, accesses, traffic);
}

template <bool stream>
void copy_aligned(const char* from, char* to, size_t bytes) {
  using V = Vec<uint8_t, kBytes>;
  const size_t ahead = (kBytes - reinterpret_cast<uintptr_t>(to) % kBytes) % kBytes;
  size_t i = ahead < bytes ? ahead : bytes;
  std::memcpy(to, from, i);
#pragma GCC unroll 4
  for (; i + kBytes <= bytes; i += kBytes) store<stream>(to + i, get<V>(from + i));
  std::memcpy(to + i, from + i, bytes - i);
}

void copy_bytes(const char* from, char* to, size_t bytes, bool stream) {
  stream ? copy_aligned<true>(from, to, bytes) : copy_aligned<false>(from, to, bytes);
}

template <class Trait>
Kernel find_float(Policy policy) {
  return policy == Policy::wrap ? run<Trait> : nullptr;  // floats have one policy
}

#if defined(MINUEND_ADDS_TO)
}  // namespace
}  // namespace MINUEND_ISA
namespace MINUEND_ADDS_TO {
extern const Routines routines;
}
namespace MINUEND_ISA {
namespace {

// What this instruction set adds to another: arithmetic in float16; on x86 rounding to bfloat16 as well. All else would
// be the same loops once more.
template <class Op>
Kernel find_of(Operator op, Element element, Policy policy, Accesses accesses) {
  if (element == Element::f16) return find_float<Float16<Op>>(policy);
#if defined(__AVX512FP16__)
  if (element == Element::bf16) return find_float<Half<Op, Bfloat16>>(policy);
#endif
  return MINUEND_ADDS_TO::routines.find(op, element, policy, accesses);
}
#else
template <class Op, Element element>
Kernel find_integer(Policy policy) {
  switch (policy) {
    case Policy::wrap: return run<Modular<Op, unsigned_of(item_size(element)), Policy::wrap>>;
    case Policy::error: return run<Modular<Op, element, Policy::error>>;
    case Policy::count: return run<Modular<Op, element, Policy::count>>;
    case Policy::saturate: return run<Saturating<Op, element>>;
    case Policy::widen:
      if constexpr (item_size(element) == 8) return run<Modular<Op, element, Policy::widen>>;
      else return run<Widening<Op, element>>;
  }
  return nullptr;
}

template <Policy policy>
size_t run_table(const void* table, const Block& block, Accesses accesses, Traffic) {
  const Tabulated<policy> trait{{}, static_cast<const uint8_t*>(table)};
  if (gathers(accesses)) return run_gathered(trait, block, accesses, Traffic::in_l1);
  return loop_of<Tabulated<policy>, Traffic::in_l1>(trait, block, accesses, false);
}

Kernel find_table(Policy policy) {
  switch (policy) {
    case Policy::error: return run_table<Policy::error>;
    case Policy::count: return run_table<Policy::count>;
    default: return run_table<Policy::wrap>;  // their results are in the table
  }
}

template <class Op>
Kernel find_narrow(Element element, Policy policy) {
  switch (element) {
    case Element::f16: return find_float<Float16<Op>>(policy);
    case Element::bf16: return find_float<Half<Op, Bfloat16>>(policy);
    case Element::i8: return find_integer<Op, Element::i8>(policy);
    case Element::i16: return find_integer<Op, Element::i16>(policy);
    case Element::u8: return find_integer<Op, Element::u8>(policy);
    case Element::u16: return find_integer<Op, Element::u16>(policy);
    case Element::table: return find_table(policy);
    default: return nullptr;
  }
}

template <class Op>
Kernel find_wide(Element element, Policy policy) {
  switch (element) {
    case Element::f32: return find_float<Ieee<Op, Element::f32, float>>(policy);
    case Element::f64: return find_float<Ieee<Op, Element::f64, double>>(policy);
    case Element::i32: return find_integer<Op, Element::i32>(policy);
    case Element::i64: return find_integer<Op, Element::i64>(policy);
    case Element::u32: return find_integer<Op, Element::u32>(policy);
    case Element::u64: return find_integer<Op, Element::u64>(policy);
    default: return nullptr;
  }
}

// Of an instruction set that is compiled in halves second_half.cc has the elements of 4 and 8 bytes.
#if defined(MINUEND_HALVES)
}  // namespace
Kernel find_in_second_half(Operator op, Element element, Policy policy);
namespace {

template <class Op>
Kernel find_rest(Operator op, Element element, Policy policy) {
  return find_in_second_half(op, element, policy);
}
#else
template <class Op>
Kernel find_rest(Operator, Element element, Policy policy) {
  return find_wide<Op>(element, policy);
}
#endif

template <class Op>
Kernel find_of(Operator op, Element element, Policy policy, Accesses) {
  const Kernel found = find_narrow<Op>(element, policy);
  return found != nullptr ? found : find_rest<Op>(op, element, policy);
}
#endif

// Calls f with the functor of an operator.
template <class F>
inline decltype(auto) with_operator(Operator op, F f) {
  switch (op) {
    case Operator::subtract: return f(Subtract{});
  }
  __builtin_unreachable();
}

#if defined(MINUEND_SECOND_HALF)
}  // namespace

Kernel find_in_second_half(Operator op, Element element, Policy policy) {
  return with_operator(op, [&](auto functor) { return find_wide<decltype(functor)>(element, policy); });
}
#else
Kernel find(Operator op, Element element, Policy policy, Accesses accesses) {
  return with_operator(op, [&](auto functor) { return find_of<decltype(functor)>(op, element, policy, accesses); });
}

const Inverse& inverse(Operator op) {
  return with_operator(op, [](auto functor) -> const Inverse& { return decltype(functor)::inverse; });
}

}  // namespace

constexpr bool kMovesSmall = kTwoSources<uint8_t> == kBytes;
// For AVX2 measured on Zen 3: rows of 32 to 120 bytes are reversed in 0.4 to 0.95 of the time, and every second element of
// rows of 64 to 95 bytes gathered in 0.5 to 0.9. The others were measured on Zen 4.
constexpr size_t kLeastReversed = kBytes == 32 ? kBytes : 2 * kCacheLine;
constexpr size_t kLeastEverySecond = kBytes == 32 ? 3 * kBytes : kCacheLine;
extern const Routines routines = {find,       inverse,     gather,         copy,             repeat_each, transpose,
                                  copy_bytes, kMovesSmall, kLeastReversed, kLeastEverySecond};
#endif

}  // namespace MINUEND_ISA
}  // namespace minuend
