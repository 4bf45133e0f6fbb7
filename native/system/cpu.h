// What the CPU can do, queried from the CPU itself: compilers' own words for it differ, and some know too few.
#pragma once

#if defined(__x86_64__)
#define MINUEND_X86 1
#elif defined(__aarch64__)
#define MINUEND_ARM 1
#endif

namespace minuend {

#if defined(MINUEND_X86)
// With the F16C, FMA and BMI instructions, which all CPUs have that have AVX2.
bool has_avx2();
// F, BW, VL and DQ.
bool has_avx512();
// FP16, BF16 and VBMI as well.
bool has_avx512_fp16();
#elif defined(MINUEND_ARM)
// Arithmetic in float16.
bool has_neon_fp16();
#endif

bool is_amd();
// Family 25 of AMD, with AVX-512.
bool is_zen4();

}  // namespace minuend
