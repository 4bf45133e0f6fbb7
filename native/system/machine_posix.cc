// Linux, macOS and their like.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "system/machine.h"

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace minuend {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = 2 << 20;

#if defined(__linux__)
// A cache of one core; 0 where Linux does not say.
size_t cache_of_one_core(int level) {
  char path[64];
  std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
  size_t kib = 0;
  if (std::FILE* file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%zuK", &kib) != 1) kib = 0;
    std::fclose(file);
  }
  return kib << 10;
}
#elif defined(__APPLE__)
size_t system_number(const char* name) {
  uint64_t found = 0;
  size_t size = sizeof(found);
  return sysctlbyname(name, &found, &size, nullptr, 0) == 0 ? size_t(found) : 0;
}
#endif

}  // namespace

void* allocate_lines(size_t bytes) {
  void* p = nullptr;
  return posix_memalign(&p, kLine, bytes) == 0 ? p : nullptr;
}
void free_lines(void* p) { std::free(p); }

// Pages of 2 MiB, where the system has them, begin at multiples of their size.
void* map_pages(size_t bytes) {
  const bool huge = bytes >= 2 * kHugePage;
  const size_t slack = huge ? kHugePage : 0;
  void* p = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (!huge) return p;
  auto* low = static_cast<char*>(p);
  char* aligned = low + (kHugePage - reinterpret_cast<uintptr_t>(low) % kHugePage) % kHugePage;
  if (aligned > low) munmap(low, size_t(aligned - low));
  if (const auto behind = size_t(low + bytes + slack - (aligned + bytes)); behind > 0) munmap(aligned + bytes, behind);
#if defined(MADV_HUGEPAGE)
  madvise(aligned, bytes, MADV_HUGEPAGE);  // a hint: where the system has none, pages are small
#endif
  return aligned;
}
void unmap_pages(void* p, size_t bytes) { munmap(p, bytes); }

size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? size_t(pages) * size_t(page) : 0;
}

// sysconf() counts all L3 of an EPYC, of which a core reaches its own complex's alone: 335 MB there, and 32 MiB here.
CacheSizes cache_sizes() {
  CacheSizes sizes;
#if defined(__linux__)
  sizes = {cache_of_one_core(2), cache_of_one_core(3)};
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (sizes.l2 == 0) sizes.l2 = size_t(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
  if (sizes.l3 == 0) sizes.l3 = size_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#endif
#elif defined(__APPLE__)
  sizes = {system_number("hw.l2cachesize"), system_number("hw.l3cachesize")};
#endif
  return sizes;
}

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n > 0 ? int(n) : 1;
}

int read_file(const char* path, char* to, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
  size_t have = 0;
  ssize_t n = 0;
  while (have < size && ((n = read(file, to + have, size - have)) > 0 || (n < 0 && errno == EINTR))) {
    if (n > 0) have += size_t(n);
  }
  close(file);
  return n < 0 ? -1 : int(have);
}

int current_cpu() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

void keep_off([[maybe_unused]] int cpu, [[maybe_unused]] const std::vector<std::thread::native_handle_type>& threads) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return;  // the caller's own: what it may use, they may
  if (CPU_COUNT(&set) > 1) CPU_CLR(size_t(cpu), &set);
  for (const auto thread : threads) pthread_setaffinity_np(thread, sizeof(set), &set);
#endif
}

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) { pthread_atfork(before, in_parent, in_child); }

}  // namespace minuend
