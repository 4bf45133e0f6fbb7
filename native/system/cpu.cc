#include "system/cpu.h"

#include <cstdint>
#include <cstring>

#if defined(MINUEND_X86)
#include <cpuid.h>
#elif defined(MINUEND_ARM) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(MINUEND_ARM) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace minuend {

#if defined(MINUEND_X86)

namespace {

enum Register { eax, ebx, ecx, edx };

// A bit of what CPUID answers.
struct Feature {
  unsigned leaf, subleaf;
  Register in;
  int bit;
};
constexpr Feature kOsSavesRegisters{1, 0, ecx, 27};
constexpr Feature kAvx2[] = {{7, 0, ebx, 5},    // AVX2
                             {1, 0, ecx, 12},   // FMA
                             {1, 0, ecx, 29},   // F16C
                             {7, 0, ebx, 3},    // BMI1
                             {7, 0, ebx, 8}};   // BMI2
constexpr Feature kAvx512[] = {{7, 0, ebx, 16},   // F
                               {7, 0, ebx, 17},   // DQ
                               {7, 0, ebx, 30},   // BW
                               {7, 0, ebx, 31}};  // VL
constexpr Feature kAvx512Fp16[] = {{7, 0, edx, 23},  // FP16
                                   {7, 1, eax, 5},   // BF16
                                   {7, 0, ecx, 1}};  // VBMI

// The registers whose contents the system keeps for a thread, by the bits of XCR0.
constexpr uint64_t kYmm = 0x6, kZmm = 0xe6;

bool has(const Feature& feature) {
  unsigned found[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &found[eax], &found[ebx], &found[ecx], &found[edx]) != 0 &&
         (found[feature.in] >> feature.bit & 1) != 0;
}

template <size_t n>
bool has_all(const Feature (&features)[n], uint64_t registers) {
  if (!has(kOsSavesRegisters)) return false;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & registers) != registers) return false;
  for (const Feature& feature : features) {
    if (!has(feature)) return false;
  }
  return true;
}

}  // namespace

bool has_avx2() { return has_all(kAvx2, kYmm); }
bool has_avx512() { return has_avx2() && has_all(kAvx512, kZmm); }
bool has_avx512_fp16() { return has_avx512() && has_all(kAvx512Fp16, kZmm); }

bool is_amd() {
  unsigned highest, name[3];
  __cpuid(0, highest, name[0], name[2], name[1]);
  return std::memcmp(name, "AuthenticAMD", sizeof(name)) == 0;
}

bool is_zen4() {
  unsigned version, rest[3];
  __cpuid(1, version, rest[0], rest[1], rest[2]);
  const unsigned family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
  return is_amd() && family == 25 && has_avx512();
}

#else

#if defined(MINUEND_ARM)
bool has_neon_fp16() {
#if defined(__linux__)
  constexpr unsigned long half = 1u << 9 | 1u << 10;  // FPHP and ASIMDHP: of one float16, and of registers of them
  return (getauxval(AT_HWCAP) & half) == half;
#elif defined(__APPLE__)
  int found = 0;
  size_t size = sizeof(found);
  return sysctlbyname("hw.optional.arm.FEAT_FP16", &found, &size, nullptr, 0) == 0 && found != 0;
#else
  return false;  // Windows does not say
#endif
}
#endif

bool is_amd() { return false; }
bool is_zen4() { return false; }

#endif

}  // namespace minuend
