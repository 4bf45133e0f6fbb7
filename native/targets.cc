#include "targets.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#if defined(MINUEND_X86)
#include <cpuid.h>
#endif

namespace minuend {

namespace baseline {
extern const Routines routines;
}
#if defined(MINUEND_X86)
namespace avx2 {
extern const Routines routines;
}
namespace avx512 {
extern const Routines routines;
}
#endif
#if defined(MINUEND_AVX512_FP16)
namespace avx512_fp16 {
extern const Routines routines;
}
#endif

namespace {

struct Target {
  const char* name;
  const Routines* routines;
  bool (*runs_here)();
};

bool always() { return true; }

#if defined(MINUEND_X86)
bool has_avx2() {
  unsigned eax, ebx, ecx = 0, edx;
  constexpr unsigned f16c = 1u << 29;  // not among the names that every compiler's cpu_supports knows
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & f16c) != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

#if defined(MINUEND_AVX512_FP16)
bool has_avx512_fp16() {
  return has_avx512() && __builtin_cpu_supports("avx512fp16") && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vbmi");
}
#endif

constexpr Target kTargets[] = {
    {"baseline", &baseline::routines, always},
#if defined(MINUEND_X86)
    {"avx2", &avx2::routines, has_avx2},
    {"avx512", &avx512::routines, has_avx512},
#endif
#if defined(MINUEND_AVX512_FP16)
    {"avx512_fp16", &avx512_fp16::routines, has_avx512_fp16},
#endif
};

struct Found {
  const char* names[sizeof(kTargets) / sizeof(Target)] = {};
  size_t count = 0;

  Found() {
#if defined(MINUEND_X86)
    __builtin_cpu_init();
#endif
    for (const Target& t : kTargets) {
      if (t.runs_here()) names[count++] = t.name;
    }
  }
};
const Found kFound;

const Target* by_name(const char* name) {
  for (const Target& t : kTargets) {
    if (std::strcmp(t.name, name) == 0 && t.runs_here()) return &t;
  }
  return nullptr;
}

const Target* best() {
  if (const char* asked = std::getenv("MINUEND_TARGET")) {
    if (const Target* t = by_name(asked)) return t;
  }
  return by_name(kFound.names[kFound.count - 1]);
}

std::atomic<const Target*> current{best()};

}  // namespace

Names targets() { return {kFound.names, kFound.count}; }

const char* target() { return current.load()->name; }

bool set_target(const char* name) {
  const Target* t = by_name(name);
  if (t != nullptr) current.store(t);
  return t != nullptr;
}

const Routines& routines() { return *current.load()->routines; }

}  // namespace minuend
