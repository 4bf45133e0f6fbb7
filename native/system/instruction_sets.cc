#include "system/instruction_sets.h"

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

const char* requested_instruction_set() {
  const char* asked = std::getenv("MINUEND_ISA");
  return asked != nullptr ? asked : std::getenv("MINUEND_TARGET");
}

namespace {

struct InstructionSet {
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

constexpr InstructionSet kInstructionSets[] = {
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
  const char* names[sizeof(kInstructionSets) / sizeof(InstructionSet)] = {};
  size_t count = 0;

  Found() {
#if defined(MINUEND_X86)
    __builtin_cpu_init();
#endif
    for (const InstructionSet& set : kInstructionSets) {
      if (set.runs_here()) names[count++] = set.name;
    }
  }
};
const Found kFound;

const InstructionSet* by_name(const char* name) {
  for (const InstructionSet& set : kInstructionSets) {
    if (std::strcmp(set.name, name) == 0 && set.runs_here()) return &set;
  }
  return nullptr;
}

const InstructionSet* best() {
  if (const char* asked = requested_instruction_set()) {
    if (const InstructionSet* set = by_name(asked)) return set;
  }
  return by_name(kFound.names[kFound.count - 1]);
}

std::atomic<const InstructionSet*> current{best()};

}  // namespace

Names instruction_sets() { return {kFound.names, kFound.count}; }

const char* instruction_set() { return current.load()->name; }

bool set_instruction_set(const char* name) {
  const InstructionSet* set = by_name(name);
  if (set != nullptr) current.store(set);
  return set != nullptr;
}

const Routines& routines() { return *current.load()->routines; }

}  // namespace minuend
