#include "system/instruction_sets.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "system/cpu.h"

namespace minuend {

// CMake says which ones the compiler could build.
namespace baseline {
extern const Routines routines;
}
namespace avx2 {
extern const Routines routines;
}
namespace avx512 {
extern const Routines routines;
}
namespace avx512_fp16 {
extern const Routines routines;
}
namespace neon_fp16 {
extern const Routines routines;
}

const char* requested_instruction_set() {
  const char* requested = std::getenv("MINUEND_ISA");
  return requested != nullptr ? requested : std::getenv("MINUEND_TARGET");
}

namespace {

struct InstructionSet {
  const char* name;
  const Routines* routines;
  bool (*runs_here)();
};

bool always() { return true; }

constexpr InstructionSet kInstructionSets[] = {
    {"baseline", &baseline::routines, always},
#if defined(MINUEND_HAS_AVX2)
    {"avx2", &avx2::routines, has_avx2},
#endif
#if defined(MINUEND_HAS_AVX512)
    {"avx512", &avx512::routines, has_avx512},
#endif
#if defined(MINUEND_HAS_AVX512_FP16)
    {"avx512_fp16", &avx512_fp16::routines, has_avx512_fp16},
#endif
#if defined(MINUEND_HAS_NEON_FP16)
    {"neon_fp16", &neon_fp16::routines, has_neon_fp16},
#endif
};
constexpr size_t kBuilt = sizeof(kInstructionSets) / sizeof(InstructionSet);

// Their names: of all that are built, or of those that run here.
struct Found {
  const char* names[kBuilt] = {};
  size_t count = 0;

  explicit Found(bool all) {
    for (const InstructionSet& set : kInstructionSets) {
      if (all || set.runs_here()) names[count++] = set.name;
    }
  }
};
const Found kAll(true), kFound(false);

const InstructionSet* by_name(const char* name) {
  for (const InstructionSet& set : kInstructionSets) {
    if (std::strcmp(set.name, name) == 0 && set.runs_here()) return &set;
  }
  return nullptr;
}

const InstructionSet* best() {
  if (const char* requested = requested_instruction_set()) {
    if (const InstructionSet* set = by_name(requested)) return set;
  }
  return by_name(kFound.names[kFound.count - 1]);
}

std::atomic<const InstructionSet*> current{best()};

}  // namespace

Names instruction_sets() { return {kFound.names, kFound.count}; }
Names built_instruction_sets() { return {kAll.names, kAll.count}; }

const char* instruction_set() { return current.load()->name; }

bool set_instruction_set(const char* name) {
  const InstructionSet* set = by_name(name);
  if (set != nullptr) current.store(set);
  return set != nullptr;
}

const Routines& routines() { return *current.load()->routines; }

const Routines& routines_beyond_l2() {
#if defined(MINUEND_HAS_AVX2) && defined(MINUEND_HAS_AVX512)
  static const bool half = is_zen4();
  if (half && current.load()->routines == &avx512::routines) return avx2::routines;
#endif
  return routines();
}

}  // namespace minuend
