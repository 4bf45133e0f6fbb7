// The loop, once. Compiled for each CPU target with MINUEND_TARGET as its namespace; no header with code that
// other targets also compile may be used here, or the linker could keep this target's copy of it.
#include "kernel.h"

#include "element.h"
#include "pack.h"
#include "part.h"

namespace minuend {
namespace MINUEND_TARGET {
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

constexpr int kLinesAtOnce = kBytes / 8;  // 8 registers of 64 bytes; of smaller ones as many instructions
constexpr size_t kAhead = 3072;           // bytes; at 2048 a loop of 32-byte registers takes 1.4 times as long in place
constexpr size_t kStoreAhead = 512;       // bytes
constexpr size_t kWorthAligning = 4096;   // bytes of result
constexpr int kToFirst = 3, kToSecond = 2;  // caches, as __builtin_prefetch counts them
// Loops of small registers have so many instructions for a line that every asking pays.
constexpr bool kAsksLess = kBytes > 16;

// Where registers of one operand come from.
template <class V, class T, Access access>
struct Source {
  static constexpr size_t kStep = (access == Access::second ? 2 : 1) * sizeof(T);
  static constexpr size_t kLanes = sizeof(V) / sizeof(T);
  const char* p;
  ptrdiff_t stride;  // where elements lie apart
  V same{};

  Source(const char* at, ptrdiff_t apart) : p(at), stride(apart) {
    if constexpr (access == Access::same) same = V{} + get<T>(at);
  }
  // So many elements less can be had by whole registers: behind the last one there may be nothing to read.
  static constexpr size_t kLess = access == Access::second ? 1 : 0;
  V full(size_t i) const {
    if constexpr (access == Access::same) return same;
    if constexpr (access == Access::each) return get<V>(p + i * kStep);
    if constexpr (access == Access::apart) return all_apart(i);
    return evens(get<V>(p + i * kStep), get<V>(p + i * kStep + sizeof(V)));
  }
  // Asks for what comes so many bytes later.
  template <Reach reach = Reach::near>
  void fetch_ahead(size_t i, ptrdiff_t bytes) const {
    constexpr int cache = reach == Reach::far ? kToSecond : kToFirst;
    if constexpr (access == Access::apart) return;  // the CPU has more loads of single elements under way of itself
    if constexpr (access != Access::same) __builtin_prefetch(p + i * kStep + bytes, 0, cache);
    if constexpr (access == Access::second) __builtin_prefetch(p + i * kStep + bytes + kLine, 0, cache);
  }
  // The first n lanes. Where overflow is reported the others are 0, so that they never count.
  template <bool zeros>
  V part(size_t i, size_t n) const {
    const char* from = p + i * kStep;
    if constexpr (access == Access::same && !zeros) return same;
    if constexpr (access == Access::same) return load_part<V>(reinterpret_cast<const char*>(&same), n * sizeof(T));
    if constexpr (access == Access::each) return load_part<V>(from, n * sizeof(T));
    if constexpr (access == Access::apart) return one_by_one(i, n);
    if (n == 0) __builtin_unreachable();
    const size_t bytes = (2 * n - 1) * sizeof(T), low = bytes < sizeof(V) ? bytes : sizeof(V);
    return evens(load_part<V>(from, low), bytes > low ? load_part<V>(from + low, bytes - low) : V{});
  }

 private:
  static V evens(V low, V high) { return evens_of<T>(low, high, std::make_index_sequence<kLanes>{}); }
  V all_apart(size_t i) const {
#if defined(__AVX512FP16__)
    // The instruction that loads a register of them. What has it beside float16 has no microcode that makes it slow.
    const __m512i eight = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(stride));
    const char* from = p + ptrdiff_t(i) * stride;
    if constexpr (sizeof(T) == 8) return (V)_mm512_i64gather_epi64(eight, from, 1);
    if constexpr (sizeof(T) == 4 && kLanes == 8) return (V)_mm512_i64gather_epi32(eight, from, 1);
    if constexpr (sizeof(T) == 4 && kLanes == 16) {
      const __m256i low = _mm512_i64gather_epi32(eight, from, 1);
      return (V)_mm512_inserti64x4(_mm512_castsi256_si512(low), _mm512_i64gather_epi32(eight, from + 8 * stride, 1), 1);
    }
#endif
    return one_by_one(i, kLanes);
  }
  V one_by_one(size_t i, size_t n) const {
    V found{};
#pragma GCC unroll 16
    for (size_t k = 0; k < kLanes; ++k) {
      if (k < n) found[k] = get<T>(p + ptrdiff_t(i + k) * stride);
    }
    return found;
  }
};

// What registers say of overflow, gathered over a block: an OR of them all, or the number of their sign bits.
template <class V, class T, Report reports>
class Tally {
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
  static V ones(V over) { return (V)((Vec<std::make_signed_t<T>, sizeof(V) / sizeof(T)>)over < 0); }
  static size_t sum(V v) {
    size_t n = 0;
    for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i) n += size_t(v[i]);
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

// Whether so much is done to a register that the CPU has too few loads under way of itself. For the others asking ahead
// costs more than it gives where nothing else is the matter.
template <class Op>
constexpr bool is_slow = false;
template <class Format>
constexpr bool is_slow<Half<Format>> = true;
#if defined(__F16C__) && !defined(__AVX512FP16__)
template <>
constexpr bool is_slow<HardwareHalf> = true;
#endif

// Operations by what they have loops for; the table is kernel.h's.
template <class Op>
constexpr bool takes_all = Op::reports == Report::nothing;
template <class T>
constexpr bool takes_all<Saturating<T>> = false;
template <class T, class W>
constexpr bool takes_all<Widening<T, W>> = false;
template <class Op>
constexpr bool takes_second = Op::writes;
template <Report reports, bool writes>
constexpr bool takes_all<Tabulated<reports, writes>> = false;
template <Report reports, bool writes>
constexpr bool takes_second<Tabulated<reports, writes>> = false;

template <Access access>
constexpr bool in_steps = access == Access::second || access == Access::apart;

// Bytes from a row to a later one that so many bytes lie ahead, if only what is in rows counts: between them there may
// be lines that nobody reads.
inline ptrdiff_t rows_ahead(size_t bytes, size_t row, ptrdiff_t step) {
  return ptrdiff_t((bytes + row - 1) / row) * step;
}

// Bytes.
struct Ahead {
  ptrdiff_t a, b, out;
};

// How far ahead is asked for so many bytes: in the same row where it is long, or follows on; else in a later one.
inline ptrdiff_t ask_ahead(size_t bytes, const Block& block, size_t item, ptrdiff_t step) {
  const size_t row = block.n * item;
  return block.rows == 1 || row > 2 * bytes || step == ptrdiff_t(row) ? ptrdiff_t(bytes) : rows_ahead(bytes, row, step);
}

template <class Op, Access access_a, Access access_b, Reach reach, class Overflows>
inline void row(Op op, const Block& block, const Ahead& ahead, const char* a, const char* b, char* out,
                Overflows& overflows) {
  using In = std::make_unsigned_t<typename Op::In>;
  using Out = typename Op::Out;
  using Operand = Vec<In, Op::lanes>;
  using Result = Vec<Out, Op::lanes>;
  using A = Source<Operand, In, access_a>;
  using B = Source<Operand, In, access_b>;
  const A from_a(a, block.a_stride);
  const B from_b(b, block.b_stride);
  const size_t n = block.n;
  constexpr size_t less = A::kLess | B::kLess;
  constexpr bool has_apart = access_a == Access::apart || access_b == Access::apart;
  // A store whose line is not in the first cache waits for it, and all later stores wait behind.
  const bool asks_for_out = (reach == Reach::near || reach == Reach::far) && Op::writes && out != a && out != b;
  Result over{};
  size_t i = 0;

  // Called, it would need `over` in memory, and the loop with it.
  auto part = [&](size_t k) __attribute__((always_inline)) {
    constexpr bool zeros = Op::reports != Report::nothing;
    const Result d = op(from_a.template part<zeros>(i, k), from_b.template part<zeros>(i, k), over);
    if constexpr (Op::writes) {
      // The rest of its cache line may have gone past the caches: a line that goes both ways takes ten times as long.
      if (reach == Reach::past && k == Op::lanes) store<true>(out + i * sizeof(Out), d);
      else store_part(out + i * sizeof(Out), d, k * sizeof(Out));
    }
    overflows.add(over);
    i += k;
  };
  // Stores on whole cache lines: past the caches they have to be, elsewhere a store that straddles two costs double.
  if (Op::writes && (reach == Reach::past || n * sizeof(Out) >= kWorthAligning)) {
    constexpr size_t width = sizeof(Result);
    const size_t ahead = (width - reinterpret_cast<uintptr_t>(out) % width) % width / sizeof(Out);
    if (ahead > 0 && ahead < n) part(ahead);
  }
  auto ask = [&](size_t at) __attribute__((always_inline)) {  // for the lines that a line of the result needs
    if constexpr (reach != Reach::past || is_slow<Op>) {
      from_a.template fetch_ahead<reach>(at, ahead.a);
      from_b.template fetch_ahead<reach>(at, ahead.b);
    }
    if (asks_for_out) __builtin_prefetch(out + at * sizeof(Out) + ahead.out, 1);
  };
  auto full = [&](size_t at) __attribute__((always_inline)) {
    const Result d = op(from_a.full(at), from_b.full(at), over);
    if constexpr (Op::writes) store<reach == Reach::past>(out + at * sizeof(Out), d);
    overflows.add(over);
  };
  constexpr size_t in_line = kLine / sizeof(Result), line = in_line * Op::lanes;
  if constexpr (reach != Reach::first && less == 0 && !has_apart) {
#pragma GCC unroll kLinesAtOnce
    for (; i + line <= n; i += line) {
      ask(i);
      for (size_t k = 0; k < in_line; ++k) full(i + k * Op::lanes);
    }
  } else if constexpr (reach != Reach::first) {  // unrolled they would be no faster
    for (; i + line + less <= n; i += line) {
      ask(i);
      for (size_t k = 0; k < in_line; ++k) full(i + k * Op::lanes);
    }
  }
  if constexpr (reach == Reach::first || in_line > 1) {
    for (; i + Op::lanes + less <= n; i += Op::lanes) full(i);
  }
  if (i < n) part(n - i);
}

// Rows of a few registers, of which the last one begins with elements of the one before: so much is to be done in every
// row, whatever its length. Only counting would notice the elements that are done twice.
template <class Op>
constexpr bool can_be_short = Op::writes && Op::reports != Report::count;
constexpr size_t kShortRow = 8;  // registers

template <class Op, Access access_a, Access access_b, bool asks, class Overflows>
inline void short_rows(Op op, const Block& block, Overflows& overflows) {
  using In = std::make_unsigned_t<typename Op::In>;
  using Out = typename Op::Out;
  using Operand = Vec<In, Op::lanes>;
  const ptrdiff_t a_ahead = rows_ahead(kAhead, block.n * sizeof(In), block.a_step);
  const ptrdiff_t b_ahead = rows_ahead(kAhead, block.n * sizeof(In), block.b_step);
  const ptrdiff_t out_ahead = rows_ahead(kStoreAhead, block.n * sizeof(Out), block.out_step);
  const size_t last = block.n - Op::lanes;
  const char *a = block.a, *b = block.b;
  char* out = block.out;
  Vec<Out, Op::lanes> over{};
  for (size_t r = 0; r < block.rows; ++r, a += block.a_step, b += block.b_step, out += block.out_step) {
    const Source<Operand, In, access_a> from_a(a, 0);
    const Source<Operand, In, access_b> from_b(b, 0);
    auto at = [&](size_t i) __attribute__((always_inline)) {
      const auto d = op(from_a.full(i), from_b.full(i), over);
      overflows.add(over);
      return d;
    };
    for (size_t i = 0; asks && i < block.n; i += kLine / sizeof(Out)) {
      if (a_ahead != 0) from_a.fetch_ahead(i, a_ahead);
      if (b_ahead != 0) from_b.fetch_ahead(i, b_ahead);
      if (out != a && out != b) __builtin_prefetch(out + i * sizeof(Out) + out_ahead, 1);
    }
    const auto end = at(last);  // before anything is written, for `out` may be a or b
    for (size_t i = 0; i < last; i += Op::lanes) store<false>(out + i * sizeof(Out), at(i));
    store<false>(out + last * sizeof(Out), end);
  }
}

template <class Op, Access access_a, Access access_b, Reach reach>
size_t loop(Op op, const Block& block) {
  Tally<Vec<typename Op::Out, Op::lanes>, typename Op::Out, Op::reports> overflows;
  if constexpr (can_be_short<Op> && reach != Reach::past && !in_steps<access_a> && !in_steps<access_b>) {
    if (block.rows > 1 && block.n >= Op::lanes && block.n <= kShortRow * Op::lanes) {
      short_rows<Op, access_a, access_b, reach != Reach::first>(op, block, overflows);
      return overflows.total();
    }
  }
  using In = std::make_unsigned_t<typename Op::In>;
  using Operand = Vec<In, Op::lanes>;
  const Ahead ahead{ask_ahead(kAhead, block, Source<Operand, In, access_a>::kStep, block.a_step),
                    ask_ahead(kAhead, block, Source<Operand, In, access_b>::kStep, block.b_step),
                    ask_ahead(kStoreAhead, block, sizeof(typename Op::Out), block.out_step)};
  const char *a = block.a, *b = block.b;
  char* out = block.out;
  for (size_t r = 0; r < block.rows; ++r, a += block.a_step, b += block.b_step, out += block.out_step) {
    row<Op, access_a, access_b, reach>(op, block, ahead, a, b, out, overflows);
  }
  return overflows.total();
}

// Calls f with the access as a type.
template <class F>
inline size_t with_access(Access access, F f) {
  if (access == Access::each) return f(std::integral_constant<Access, Access::each>{});
  if (access == Access::second) return f(std::integral_constant<Access, Access::second>{});
  if (access == Access::apart) return f(std::integral_constant<Access, Access::apart>{});
  return f(std::integral_constant<Access, Access::same>{});
}

template <class Op, Reach reach>
size_t loop_of(Op op, const Block& block, Form form) {
  return with_access(form.a, [&](auto a) {
    return with_access(form.b, [&](auto b) -> size_t {
      constexpr Access x = decltype(a)::value, y = decltype(b)::value;
      constexpr bool has_apart = x == Access::apart || y == Access::apart;
      constexpr bool has_same = x == Access::same || y == Access::same;
      constexpr bool has_second = x == Access::second || y == Access::second;
      constexpr bool exists = !(x == Access::same && y == Access::same) &&
                              !(has_apart && (!takes_all<Op> || sizeof(typename Op::In) < kLeastApart || has_second)) &&
                              !(has_second && !takes_all<Op> && (!takes_second<Op> || has_same));
      constexpr bool as_near = has_apart || (has_second && reach == Reach::first);
      if constexpr (!exists) return 0;
      else return loop<Op, x, y, as_near ? Reach::near : reach>(op, block);
    });
  });
}

template <class Op>
size_t run_op(Op op, const Block& block, Form form, Reach reach) {
  constexpr bool can_stream = Op::writes && Op::lanes * sizeof(typename Op::Out) == kBytes;
  constexpr size_t item = sizeof(typename Op::Out);
  const bool asks_less = kAsksLess && (block.out == block.a || block.out == block.b);
  if constexpr (!Op::writes) return loop_of<Op, Reach::near>(op, block, form);
  // Where it is written over, what lies in the next caches is there in time without asking: 1.1 to 1.4 times as fast.
  if (reach == Reach::first || (reach == Reach::near && asks_less && !is_slow<Op>)) {
    return loop_of<Op, Reach::first>(op, block, form);
  }
  if constexpr (can_stream) {
    if (reach == Reach::past && reinterpret_cast<uintptr_t>(block.out) % item == 0 &&
        block.out_step % ptrdiff_t(item) == 0) {
      return loop_of<Op, Reach::past>(op, block, form);
    }
  }
  // And what lies farther away is asked into the second cache: on two threads the first one has no room for so much
  // that is on its way, which takes up to 1.25 times as long.
  if constexpr (kAsksLess) {
    if (reach == Reach::far && asks_less && form.a == Access::each && form.b == Access::each) {
      return loop<Op, Access::each, Access::each, Reach::far>(op, block);
    }
  }
  return loop_of<Op, Reach::near>(op, block, form);
}

template <class Op>
size_t run(const void*, const Block& block, Form form, Reach reach) {
  return run_op(Op{}, block, form, reach);
}

#if defined(__AVX512FP16__)
template <class Op>
size_t run_apart(const void*, const Block& block, Form form, Reach) {
  if (form.a == Access::same) return loop<Op, Access::same, Access::apart, Reach::near>({}, block);
  if (form.b == Access::same) return loop<Op, Access::apart, Access::same, Reach::near>({}, block);
  if (form.a == Access::each) return loop<Op, Access::each, Access::apart, Reach::near>({}, block);
  if (form.b == Access::each) return loop<Op, Access::apart, Access::each, Reach::near>({}, block);
  return loop<Op, Access::apart, Access::apart, Reach::near>({}, block);
}
#else
template <Report reports, bool writes>
size_t run_table(const void* table, const Block& block, Form form, Reach) {
  return loop_of<Tabulated<reports, writes>, Reach::first>({static_cast<const uint8_t*>(table)}, block, form);
}

#endif

void copy_past(const char* from, char* to, size_t bytes) {
  using V = Vec<uint8_t, kBytes>;
  const size_t ahead = (kBytes - reinterpret_cast<uintptr_t>(to) % kBytes) % kBytes;
  size_t i = ahead < bytes ? ahead : bytes;
  std::memcpy(to, from, i);
  for (; i + kBytes <= bytes; i += kBytes) store<true>(to + i, get<V>(from + i));
  std::memcpy(to + i, from + i, bytes - i);
}

template <class Op>
Kernel find_float(Policy policy) {
  return policy == Policy::wrap ? run<Op> : nullptr;  // floats have one policy
}

#if !defined(__AVX512FP16__)
template <class T, class W>
Kernel find_integer(Policy policy) {
  using U = std::make_unsigned_t<T>;
  switch (policy) {
    case Policy::wrap: return run<Modular<U, Report::nothing, true>>;
    case Policy::error: return run<Modular<T, Report::any, true>>;
    case Policy::count: return run<Modular<T, Report::count, false>>;
    case Policy::saturate: return run<Saturating<T>>;
    case Policy::widen:
      if constexpr (std::is_same_v<T, int64_t>) return run<Modular<T, Report::count, true>>;
      else if constexpr (std::is_same_v<T, uint64_t>) return run<WideningU64>;
      else return run<Widening<T, W>>;
  }
  return nullptr;
}

Kernel find_table(Policy policy) {
  switch (policy) {
    case Policy::error: return run_table<Report::any, true>;
    case Policy::count: return run_table<Report::count, false>;
    default: return run_table<Report::nothing, true>;
  }
}

#endif

#if defined(__AVX512FP16__)
}  // namespace
}  // namespace MINUEND_TARGET
namespace avx512 {
extern const Routines routines;
}
namespace MINUEND_TARGET {
namespace {

// What this instruction set has beside avx512: arithmetic in float16, rounding to bfloat16, and a CPU whose loads of
// elements that lie apart are quick. All else would be avx512's loops once more.
Kernel find(Element element, Policy policy, Form form) {
  const bool has_apart = form.a == Access::apart || form.b == Access::apart;
  if (element == Element::f16) return find_float<Float16>(policy);
  if (element == Element::bf16) return find_float<Half<Bfloat16>>(policy);
  if (has_apart && policy == Policy::wrap) {
    switch (element) {
      case Element::f32: return run_apart<Ieee<float, uint32_t>>;
      case Element::f64: return run_apart<Ieee<double, uint64_t>>;
      case Element::i32: case Element::u32: return run_apart<Modular<uint32_t, Report::nothing, true>>;
      case Element::i64: case Element::u64: return run_apart<Modular<uint64_t, Report::nothing, true>>;
      default: break;
    }
  }
  return avx512::routines.find(element, policy, form);
}
#else
Kernel find(Element element, Policy policy, Form) {
  switch (element) {
    case Element::f16: return find_float<Float16>(policy);
    case Element::bf16: return find_float<Half<Bfloat16>>(policy);
    case Element::f32: return find_float<Ieee<float, uint32_t>>(policy);
    case Element::f64: return find_float<Ieee<double, uint64_t>>(policy);
    case Element::i8: return find_integer<int8_t, int16_t>(policy);
    case Element::i16: return find_integer<int16_t, int32_t>(policy);
    case Element::i32: return find_integer<int32_t, int64_t>(policy);
    case Element::i64: return find_integer<int64_t, int64_t>(policy);
    case Element::u8: return find_integer<uint8_t, int16_t>(policy);
    case Element::u16: return find_integer<uint16_t, int32_t>(policy);
    case Element::u32: return find_integer<uint32_t, int64_t>(policy);
    case Element::u64: return find_integer<uint64_t, int64_t>(policy);
    case Element::table: return find_table(policy);
  }
  return nullptr;
}
#endif

}  // namespace

extern const Routines routines = {find, gather, scatter, stretch, transpose, copy_past};

}  // namespace MINUEND_TARGET
}  // namespace minuend
