// The element types as traits: how one register of operands becomes one register of results.
//
// Every trait has the same few members:
//   In, Out    unsigned integers as wide as an element of the operands and of the result
//   lanes      elements in one register of results
//   reports    what is said of overflow; writes: whether there is a result at all
//   operator() registers of A and B -> register of results; where overflow is reported, the sign bit of each lane of
//              `over` says whether that lane overflows
//
// The code is GCC's and Clang's vector extension: the same text for every instruction set, whose registers have
// `kBytes`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace minuend {
namespace MINUEND_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t kBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kBytes = 32;
#else
constexpr size_t kBytes = 16;
#endif

enum class Report { nothing, any, count };

template <class T, size_t n>
struct VecOf {
  typedef T type __attribute__((vector_size(sizeof(T) * n)));
};
template <class T, size_t n>
using Vec = typename VecOf<T, n>::type;

template <class To, class From>
inline To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The lanes i of two registers, one behind the other. GCC 11 has only shuffles that keep the size.
template <int... i, class V>
__attribute__((always_inline)) inline auto shuffled(V a, V b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, i...);
#else
  using T = std::remove_reference_t<decltype(a[0])>;
  constexpr int n = sizeof(V) / sizeof(T);
  if constexpr (sizeof...(i) == n) return __builtin_shuffle(a, b, Vec<std::make_signed_t<T>, n>{i...});
  else return Vec<T, sizeof...(i)>{(i < n ? a[i % n] : b[i % n])...};
#endif
}

// ---- what subtraction is ------------------------------------------------------------------------------------------

// Every trait asks it; they only say how elements get here, and what becomes of an answer that does not fit.
struct Difference {
  // Of unsigned lanes modulo 2^n, of floats rounded once.
  template <class V>
  static V of(V a, V b) {
    return a - b;
  }

  // Whether the exact difference lies outside T, in the sign bit of each lane; d is the difference modulo 2^n. Signed:
  // the operands' signs differ and the result's is not A's. Unsigned: the borrow.
  template <class T, class V>
  static V overflow(V a, V b, V d) {
    if constexpr (std::is_signed_v<T>) return (a ^ b) & (a ^ d);
    else return (~a & (b | d)) | (b & d);
  }
};

// ---- integers ------------------------------------------------------------------------------------------------

template <class T, Report kReports, bool kWrites>
struct Modular {
  using In = std::make_unsigned_t<T>;
  using Out = In;
  static constexpr size_t lanes = kBytes / sizeof(T);
  static constexpr Report reports = kReports;
  static constexpr bool writes = kWrites;
  using V = Vec<In, lanes>;

  V operator()(V a, V b, V& over) const {
    const V d = Difference::of(a, b);
    if constexpr (kReports != Report::nothing) over = Difference::overflow<T>(a, b, d);
    return d;
  }
};

// Bytes of the largest integers whose saturated difference is one instruction.
#if defined(__aarch64__)
constexpr size_t kSaturates = 8;
#elif defined(__SSE2__)
constexpr size_t kSaturates = 2;
#else
constexpr size_t kSaturates = 0;
#endif

#if defined(__AVX512BW__)
#define MINUEND_SUBS(kind) _mm512_subs_##kind
#elif defined(__AVX2__)
#define MINUEND_SUBS(kind) _mm256_subs_##kind
#elif defined(__SSE2__)
#define MINUEND_SUBS(kind) _mm_subs_##kind
#endif

template <class T>
struct Saturating {
  using In = std::make_unsigned_t<T>;
  using Out = In;
  static constexpr size_t lanes = kBytes / sizeof(T);
  static constexpr Report reports = Report::nothing;
  static constexpr bool writes = true;
  using V = Vec<In, lanes>;
  using S = Vec<std::make_signed_t<T>, lanes>;

  V operator()(V a, V b, V&) const {
    if constexpr (sizeof(T) <= kSaturates) {
      return in_one(a, b);
    } else if constexpr (std::is_signed_v<T>) {
      const V d = Difference::of(a, b);
      const V over = (V)((S)Difference::overflow<T>(a, b, d) < 0);
      constexpr In highest = In(~In(0)) >> 1;
      const V limit = (V)((S)a < 0) ^ (V{} + highest);  // below zero: the lowest value, else the highest
      return (d & ~over) | (limit & over);
    } else {
      return Difference::of(a > b ? a : b, b);
    }
  }

  // The difference and the nearest value that fits at once.
#if defined(__aarch64__)
  static V in_one(V a, V b) {
    if constexpr (std::is_same_v<T, int8_t>) return (V)vqsubq_s8((int8x16_t)a, (int8x16_t)b);
    else if constexpr (std::is_same_v<T, uint8_t>) return (V)vqsubq_u8((uint8x16_t)a, (uint8x16_t)b);
    else if constexpr (std::is_same_v<T, int16_t>) return (V)vqsubq_s16((int16x8_t)a, (int16x8_t)b);
    else if constexpr (std::is_same_v<T, uint16_t>) return (V)vqsubq_u16((uint16x8_t)a, (uint16x8_t)b);
    else if constexpr (std::is_same_v<T, int32_t>) return (V)vqsubq_s32((int32x4_t)a, (int32x4_t)b);
    else if constexpr (std::is_same_v<T, uint32_t>) return (V)vqsubq_u32((uint32x4_t)a, (uint32x4_t)b);
    else if constexpr (std::is_same_v<T, int64_t>) return (V)vqsubq_s64((int64x2_t)a, (int64x2_t)b);
    else return (V)vqsubq_u64((uint64x2_t)a, (uint64x2_t)b);
  }
#elif defined(MINUEND_SUBS)
  static V in_one(V a, V b) {
    using Register = Vec<long long, kBytes / 8>;
    const auto x = (Register)a, y = (Register)b;
    if constexpr (std::is_same_v<T, int8_t>) return (V)MINUEND_SUBS(epi8)(x, y);
    else if constexpr (std::is_same_v<T, uint8_t>) return (V)MINUEND_SUBS(epu8)(x, y);
    else if constexpr (std::is_same_v<T, int16_t>) return (V)MINUEND_SUBS(epi16)(x, y);
    else return (V)MINUEND_SUBS(epu16)(x, y);
  }
#endif
};

template <class T, class W>
struct Widening {
  using In = T;
  using Out = std::make_unsigned_t<W>;
  static constexpr size_t lanes = kBytes / sizeof(W);
  static constexpr Report reports = Report::nothing;
  static constexpr bool writes = true;
  using V = Vec<std::make_unsigned_t<T>, lanes>;
  using Pairs = Vec<std::make_unsigned_t<T>, 2 * lanes>;  // of which the first elements count
  using Wide = Vec<Out, lanes>;

  template <class A, class B>
  Wide operator()(A a, B b, Wide&) const {
    return Difference::of(wide(a), wide(b));
  }

  static Wide wide(V x) {
    using Typed = Vec<T, lanes>;
    return (Wide)__builtin_convertvector((Typed)x, Vec<W, lanes>);
  }
  // A pair is as wide as a result, and its lower half is the element: nothing has to move.
  static Wide wide(Pairs x) {
    constexpr int above = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) return (Wide)((Vec<W, lanes>)((Wide)x << above) >> above);
    else return (Wide)x & Out(std::make_unsigned_t<T>(-1));
  }
};

// Whether an operation takes stride 2 as pairs.
template <class Op>
constexpr bool takes_pairs = false;
template <class T, class W>
constexpr bool takes_pairs<Widening<T, W>> = true;

// uint64 answers in int64: it fits where the sign of the wrapped difference is that of the exact one.
struct WideningU64 {
  using In = uint64_t;
  using Out = uint64_t;
  static constexpr size_t lanes = kBytes / 8;
  static constexpr Report reports = Report::count;
  static constexpr bool writes = true;
  using V = Vec<uint64_t, lanes>;

  V operator()(V a, V b, V& over) const {
    const V d = Difference::of(a, b);
    over = Difference::overflow<uint64_t>(a, b, d) ^ d;
    return d;
  }
};

// ---- floats --------------------------------------------------------------------------------------------------

template <class F, class U>
struct Ieee {
  using In = U;
  using Out = U;
  static constexpr size_t lanes = kBytes / sizeof(F);
  static constexpr Report reports = Report::nothing;
  static constexpr bool writes = true;
  using V = Vec<U, lanes>;
  using T = Vec<F, lanes>;

  V operator()(V a, V b, V&) const { return (V)Difference::of((T)a, (T)b); }
};

// 16-bit floats are computed in float32 and rounded once. That is exact: float32 has more than twice their
// mantissa bits and two. A register of n 16-bit lanes is read as n/2 words whose low and high halves are the even
// and odd elements, so no lane ever moves.
template <class Format>
struct Half {
  using In = uint16_t;
  using Out = uint16_t;
  static constexpr size_t lanes = kBytes / 2;
  static constexpr Report reports = Report::nothing;
  static constexpr bool writes = true;
  using V = Vec<uint16_t, lanes>;
  using Word = Vec<uint32_t, lanes / 2>;
  using F = Vec<float, lanes / 2>;

  V operator()(V a, V b, V&) const {
    const Word x = as<Word>(a), y = as<Word>(b);
    return as<V>(Format::join(Difference::of((F)Format::low(x), (F)Format::low(y)),
                              Difference::of((F)Format::high(x), (F)Format::high(y))));
  }
};

struct RoundedBfloat16 {
  using Word = Half<RoundedBfloat16>::Word;
  using F = Half<RoundedBfloat16>::F;
  static Word low(Word x) { return x << 16; }
  static Word high(Word x) { return x & 0xffff0000u; }
  static Word join(F even, F odd) {
    using V = Vec<uint16_t, sizeof(Word) / 2>;
    const Word low = rounded(even) >> 16, high = rounded(odd);
    if constexpr (kBytes == 16) return low | (high & 0xffff0000u);  // SSE2 cannot choose lanes
    else return (Word)alternate((V)low, (V)high, std::make_index_sequence<sizeof(Word) / 2>{});
  }
  template <class V, size_t... i>
  static V alternate(V even, V odd, std::index_sequence<i...>) {
    return shuffled<int(i + i % 2 * sizeof...(i))...>(even, odd);
  }

  // The result stands in the upper half; what is left in the lower one is to be dropped. A NaN that comes of two
  // bfloat16 is quiet, and has nothing in the lower half that could be carried.
  static Word rounded(F f) {
    const Word x = (Word)f;
    return x + 0x7fffu + ((x >> 16) & 1u);
  }
};

#if defined(__AVX512BF16__)
// Where the CPU rounds to bfloat16 itself. It takes subnormal numbers for zeros, so those are rounded as elsewhere.
struct HardwareBfloat16 : RoundedBfloat16 {
  static Word join(F even, F odd) {
    constexpr int subnormal = 0x20;
    const __m512 x = (__m512)even, y = (__m512)odd;
    const __mmask16 found_x = _mm512_fpclass_ps_mask(x, subnormal), found_y = _mm512_fpclass_ps_mask(y, subnormal);
    if (__builtin_expect(!_kortestz_mask16_u8(found_x, found_y), 0)) return RoundedBfloat16::join(even, odd);
    const auto halves = as<Vec<uint16_t, 32>>(_mm512_cvtne2ps_pbh(y, x));
    return as<Word>(interleaved(halves, std::make_index_sequence<32>{}));
  }
  template <class V, size_t... i>
  static V interleaved(V v, std::index_sequence<i...>) {
    return shuffled<int(i / 2 + i % 2 * 16)...>(v, v);
  }
};
using Bfloat16 = HardwareBfloat16;
#else
using Bfloat16 = RoundedBfloat16;
#endif

struct Binary16 {
  using Word = Half<Binary16>::Word;
  using F = Half<Binary16>::F;
  static Word low(Word x) { return widen(x & 0xffffu); }
  static Word high(Word x) { return widen(x >> 16); }
  static Word join(F even, F odd) { return narrow(even) | (narrow(odd) << 16); }

  // Shift the magnitude into float32's place and scale by 2^112; the scaling normalises subnormals exactly.
  static Word widen(Word h) {
    const Word magnitude = (h & 0x7fffu) << 13;
    const Word scaled = (Word)((F)magnitude * 0x1p112f);
    const Word special = (Word)(magnitude >= 0x0f800000u);  // infinity and NaN keep the highest exponent
    return scaled | (special & 0x7f800000u) | ((h & 0x8000u) << 16);
  }

  static Word narrow(F f) {
    const Word x = (Word)f & 0x7fffffffu;
    const Word sign = ((Word)f >> 16) & 0x8000u;
    // Normal results: move the exponent, add half a unit of the last place (less the tie), drop 13 bits.
    const Word normal = (x - 0x38000000u + 0xfffu + ((x >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 0.5 puts the last place of float16's subnormals at float32's last place.
    const Word subnormal = (Word)((F)x + 0.5f) - 0x3f000000u;
    const Word small = (Word)(x < 0x38800000u);
    const Word large = (Word)(x >= 0x47800000u);  // 65536 and above, infinity, NaN
    const Word nan = (Word)(x > 0x7f800000u);
    const Word finite = (subnormal & small) | (normal & ~small);
    return sign | (finite & ~large) | ((0x7c00u | (nan & 0x200u)) & large);
  }
};

#if defined(__AVX512FP16__)
using Float16 = Ieee<_Float16, uint16_t>;
#elif defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
using Float16 = Ieee<__fp16, uint16_t>;
#elif defined(__F16C__) || defined(__aarch64__)
#define MINUEND_CONVERTS_FLOAT16 1
// Where the CPU converts float16.
struct HardwareHalf {
  using In = uint16_t;
  using Out = uint16_t;
  static constexpr size_t lanes = kBytes / 2;
  static constexpr Report reports = Report::nothing;
  static constexpr bool writes = true;
  using V = Vec<uint16_t, lanes>;
  using Part = Vec<uint16_t, lanes / 2>;

  V operator()(V a, V b, V&) const {
    return join(difference(part<0>(a), part<0>(b)), difference(part<1>(a), part<1>(b)),
                std::make_index_sequence<lanes>{});
  }

  template <size_t which>
  static Part part(V v) {
    return take(v, std::integral_constant<size_t, which * lanes / 2>{}, std::make_index_sequence<lanes / 2>{});
  }
  template <size_t from, size_t... i>
  static Part take(V v, std::integral_constant<size_t, from>, std::index_sequence<i...>) {
    return shuffled<int(from + i)...>(v, v);
  }
  template <size_t... i>
  static V join(Part low, Part high, std::index_sequence<i...>) {
    return shuffled<int(i)...>(low, high);
  }

#if defined(__aarch64__)
  static Part difference(Part a, Part b) {
    return (Part)vcvt_f16_f32(Difference::of(vcvt_f32_f16((float16x4_t)a), vcvt_f32_f16((float16x4_t)b)));
  }
#elif defined(__AVX512F__)
  static Part difference(Part a, Part b) {
    const __m512 d = Difference::of(_mm512_cvtph_ps((__m256i)a), _mm512_cvtph_ps((__m256i)b));
    return (Part)_mm512_cvtps_ph(d, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#else
  static Part difference(Part a, Part b) {
    const __m256 d = Difference::of(_mm256_cvtph_ps((__m128i)a), _mm256_cvtph_ps((__m128i)b));
    return (Part)_mm256_cvtps_ph(d, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#endif
};
using Float16 = HardwareHalf;
#else
using Float16 = Half<Binary16>;
#endif

// ---- tables --------------------------------------------------------------------------------------------------

// 65,536 answers by (a << 8 | b), then as many flags of overflow.
template <Report kReports, bool kWrites>
struct Tabulated {
  using In = uint8_t;
  using Out = uint8_t;
  static constexpr size_t lanes = 16;
  static constexpr Report reports = kReports;
  static constexpr bool writes = kWrites;
  using V = Vec<uint8_t, lanes>;
  const uint8_t* table;

  V operator()(V a, V b, V& over) const {
    V d{};
    for (size_t i = 0; i < lanes; ++i) {
      const size_t at = size_t(a[i]) << 8 | b[i];
      d[i] = table[at];
      if constexpr (kReports != Report::nothing) over[i] = uint8_t(table[65536 + at] << 7);
    }
    return d;
  }
};

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
