// The element types as traits: how one register of operands becomes one register of results of an operator `Op`, a
// functor like those in kernel/operators/.
//
// A trait adds to what TraitBase has operator(): registers of A and B -> register of results. Where overflow is
// reported, the sign bit of each lane of `over` says whether that lane overflows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/registers.h"

namespace minuend {
namespace MINUEND_ISA {
namespace {

template <size_t bytes>
using Unsigned = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// The C++ type of an element type that is an integer.
template <Element element, class U = Unsigned<item_size(element)>>
using Integer = std::conditional_t<row_of(element).kind == Kind::with_sign, std::make_signed_t<U>, U>;

template <Element kElement, Policy kPolicy>
struct TraitBase {
  static constexpr Element element = kElement;
  static constexpr Policy policy = kPolicy;
  static constexpr Report reports = report_of(element, policy);
  static constexpr bool writes = policy != Policy::count;  // whether there is a result at all
  static constexpr bool wraps = policy == Policy::wrap && element != Element::table;
  static constexpr bool takes_pairs = false;  // whether it takes stride 2 as `Pairs`
  static constexpr bool takes_any = false;    // whether any() computes single elements and registers of any width
  // Whether it has so many instructions that the CPU's own window holds too few loads: then operands are prefetched in
  // any case.
  static constexpr bool is_slow = false;

  // Elements of the operands and of the result, as unsigned integers, and how many are in one register of results.
  using In = Unsigned<item_size(element)>;
  using Out = Unsigned<result_size(element, policy)>;
  static constexpr size_t lanes = element == Element::table ? 16 : kBytes / sizeof(Out);
  using Operand = Vec<In, lanes>;
  using Result = Vec<Out, lanes>;
};

// ---- integers ------------------------------------------------------------------------------------------------

// The result modulo 2^n. `widen` of 64 bits is one too: in int64, which not all exact results fit.
template <class Op, Element element, Policy policy>
struct Modular : TraitBase<element, policy> {
  using V = typename Modular::Operand;
  using T = Integer<element>;
  using R = std::conditional_t<policy == Policy::widen, std::make_signed_t<T>, T>;

  V operator()(V a, V b, V& over) const {
    const V d = Op::of(a, b);
    if constexpr (Modular::reports != Report::nothing) over = Op::template overflow<T, R>(a, b, d);
    return d;
  }
  static constexpr bool takes_any = takes_singles(element, policy);
  template <class X>
  static X any(X a, X b) {
    return Op::of(a, b);
  }
};

template <class Op, Element element>
struct Saturating : TraitBase<element, Policy::saturate> {
  using V = typename Saturating::Operand;

  V operator()(V a, V b, V&) const { return Op::template saturated<Integer<element>>(a, b); }
};

template <class Op, Element element>
struct Widening : TraitBase<element, Policy::widen> {
  using T = Integer<element>;
  using V = typename Widening::Operand;
  using Wide = typename Widening::Result;
  static constexpr bool takes_pairs = true;
  using Pairs = Vec<typename Widening::In, 2 * Widening::lanes>;  // of which the first elements count

  template <class A, class B>
  Wide operator()(A a, B b, Wide&) const {
    return Op::of(wide(a), wide(b));
  }

  using W = std::make_signed_t<typename Widening::Out>;
  static Wide wide(V x) {
    using Typed = Vec<T, Widening::lanes>;
    return (Wide)__builtin_convertvector((Typed)x, Vec<W, Widening::lanes>);
  }
  // A pair is as wide as a result, and its lower half is the element: nothing has to move.
  static Wide wide(Pairs x) {
    constexpr int above = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) return (Wide)((Vec<W, Widening::lanes>)((Wide)x << above) >> above);
    else return (Wide)x & typename Widening::Out(T(-1));
  }
};

// ---- floats --------------------------------------------------------------------------------------------------

template <class Op, Element element, class F>
struct Ieee : TraitBase<element, Policy::wrap> {
  using V = typename Ieee::Operand;
  using T = Vec<F, Ieee::lanes>;

  V operator()(V a, V b, V&) const { return (V)Op::of((T)a, (T)b); }
  static constexpr bool takes_any = takes_singles(element, Policy::wrap);
  template <class X>
  static X any(X a, X b) {
    using Floats = std::conditional_t<sizeof(X) == sizeof(F), F, Vec<F, sizeof(X) / sizeof(F)>>;
    return as<X>(Op::of(as<Floats>(a), as<Floats>(b)));
  }
};

// 16-bit floats are computed in float32 and rounded once. That is exact: float32 has more than twice their
// mantissa bits and two. A register of n 16-bit lanes is read as n/2 words whose low and high halves are the even
// and odd elements, so no lane ever moves.
using Words = Vec<uint32_t, kBytes / 4>;
using Floats = Vec<float, kBytes / 4>;

template <class Op, class Format>
struct Half : TraitBase<Format::element, Policy::wrap> {
  using V = typename Half::Operand;
  static constexpr bool is_slow = true;

  V operator()(V a, V b, V&) const {
    const Words x = as<Words>(a), y = as<Words>(b);
    return as<V>(Format::join(Op::of((Floats)Format::low(x), (Floats)Format::low(y)),
                              Op::of((Floats)Format::high(x), (Floats)Format::high(y))));
  }
};

struct RoundedBfloat16 {
  static constexpr Element element = Element::bf16;
  static Words low(Words x) { return x << 16; }
  static Words high(Words x) { return x & 0xffff0000u; }
  static Words join(Floats even, Floats odd) {
    using V = Vec<uint16_t, sizeof(Words) / 2>;
    const Words low = rounded(even) >> 16, high = rounded(odd);
    if constexpr (kBytes == 16) return low | (high & 0xffff0000u);  // SSE2 cannot choose lanes
    else return (Words)alternate((V)low, (V)high, std::make_index_sequence<sizeof(Words) / 2>{});
  }
  template <class V, size_t... i>
  static V alternate(V even, V odd, std::index_sequence<i...>) {
    return shuffled<int(i + i % 2 * sizeof...(i))...>(even, odd);
  }

  // The result stands in the upper half; what is left in the lower one is to be dropped. A NaN that comes of two
  // bfloat16 is quiet, and has nothing in the lower half that could be carried.
  static Words rounded(Floats f) {
    const Words x = (Words)f;
    return x + 0x7fffu + ((x >> 16) & 1u);
  }
};

#if defined(__AVX512BF16__)
// Where the CPU rounds to bfloat16 itself. It takes subnormal numbers for zeros, so those are rounded as elsewhere.
struct HardwareBfloat16 : RoundedBfloat16 {
  static Words join(Floats even, Floats odd) {
    constexpr int subnormal = 0x20;
    const __m512 x = (__m512)even, y = (__m512)odd;
    const __mmask16 found_x = _mm512_fpclass_ps_mask(x, subnormal), found_y = _mm512_fpclass_ps_mask(y, subnormal);
    if (__builtin_expect(!_kortestz_mask16_u8(found_x, found_y), 0)) return RoundedBfloat16::join(even, odd);
    const auto halves = as<Vec<uint16_t, 32>>(_mm512_cvtne2ps_pbh(y, x));
    return as<Words>(interleaved(halves, std::make_index_sequence<32>{}));
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
  static constexpr Element element = Element::f16;
  static Words low(Words x) { return widen(x & 0xffffu); }
  static Words high(Words x) { return widen(x >> 16); }
  static Words join(Floats even, Floats odd) { return narrow(even) | (narrow(odd) << 16); }

  // Shift the magnitude into float32's place and scale by 2^112; the scaling normalises subnormals exactly.
  static Words widen(Words h) {
    const Words magnitude = (h & 0x7fffu) << 13;
    const Words scaled = (Words)((Floats)magnitude * 0x1p112f);
    const Words special = (Words)(magnitude >= 0x0f800000u);  // infinity and NaN keep the highest exponent
    return scaled | (special & 0x7f800000u) | ((h & 0x8000u) << 16);
  }

  static Words narrow(Floats f) {
    const Words x = (Words)f & 0x7fffffffu;
    const Words sign = ((Words)f >> 16) & 0x8000u;
    // Normal results: move the exponent, add half a unit of the last place (less the tie), drop 13 bits.
    const Words normal = (x - 0x38000000u + 0xfffu + ((x >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 0.5 puts the last place of float16's subnormals at float32's last place.
    const Words subnormal = (Words)((Floats)x + 0.5f) - 0x3f000000u;
    const Words small = (Words)(x < 0x38800000u);
    const Words large = (Words)(x >= 0x47800000u);  // 65536 and above, infinity, NaN
    const Words nan = (Words)(x > 0x7f800000u);
    const Words finite = (subnormal & small) | (normal & ~small);
    return sign | (finite & ~large) | ((0x7c00u | (nan & 0x200u)) & large);
  }
};

#if defined(__AVX512FP16__)
template <class Op>
using Float16 = Ieee<Op, Element::f16, _Float16>;
#elif defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
template <class Op>
using Float16 = Ieee<Op, Element::f16, __fp16>;
#elif defined(__F16C__) || defined(__aarch64__)
// Where the CPU converts float16.
template <class Op>
struct HardwareHalf : TraitBase<Element::f16, Policy::wrap> {
  using V = Operand;
  using Part = Vec<uint16_t, lanes / 2>;
  static constexpr bool is_slow = true;

  V operator()(V a, V b, V&) const {
    return join(rounded(part<0>(a), part<0>(b)), rounded(part<1>(a), part<1>(b)), std::make_index_sequence<lanes>{});
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
  static Part rounded(Part a, Part b) {
    return (Part)vcvt_f16_f32(Op::of(vcvt_f32_f16((float16x4_t)a), vcvt_f32_f16((float16x4_t)b)));
  }
#elif defined(__AVX512F__)
  static Part rounded(Part a, Part b) {
    const __m512 d = Op::of(_mm512_cvtph_ps((__m256i)a), _mm512_cvtph_ps((__m256i)b));
    return (Part)_mm512_cvtps_ph(d, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#else
  static Part rounded(Part a, Part b) {
    const __m256 d = Op::of(_mm256_cvtph_ps((__m128i)a), _mm256_cvtph_ps((__m128i)b));
    return (Part)_mm256_cvtps_ph(d, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#endif
};
template <class Op>
using Float16 = HardwareHalf<Op>;
#else
template <class Op>
using Float16 = Half<Op, Binary16>;
#endif

// ---- tables --------------------------------------------------------------------------------------------------

// 65,536 results by (a << 8 | b), then as many flags of overflow. They are of an operator, so none is needed here.
template <Policy policy>
struct Tabulated : TraitBase<Element::table, policy> {
  using V = typename Tabulated::Operand;
  const uint8_t* table;

  V operator()(V a, V b, V& over) const {
    V d{};
    for (size_t i = 0; i < Tabulated::lanes; ++i) {
      const size_t at = size_t(a[i]) << 8 | b[i];
      d[i] = table[at];
      if constexpr (Tabulated::reports != Report::nothing) over[i] = uint8_t(table[65536 + at] << 7);
    }
    return d;
  }
};

}  // namespace
}  // namespace MINUEND_ISA
}  // namespace minuend
