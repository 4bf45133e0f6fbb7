// Windows, as clang-cl and MinGW compile for it.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <malloc.h>
#include <windows.h>

#include <algorithm>

#include "system/machine.h"

namespace minuend {

namespace {

constexpr size_t kLine = 64;

}  // namespace

void* allocate_lines(size_t bytes) { return _aligned_malloc(bytes, kLine); }
void free_lines(void* p) { _aligned_free(p); }

void* map_pages(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }
void unmap_pages(void* p, size_t) { VirtualFree(p, 0, MEM_RELEASE); }

size_t physical_memory() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) != 0 ? size_t(status.ullTotalPhys) : 0;
}

CacheSizes cache_sizes() {
  CacheSizes sizes;
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> rows(bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (rows.empty() || GetLogicalProcessorInformation(rows.data(), &bytes) == 0) return sizes;
  for (const auto& row : rows) {
    if (row.Relationship != RelationCache) continue;
    if (row.Cache.Level == 2) sizes.l2 = std::max(sizes.l2, size_t(row.Cache.Size));
    if (row.Cache.Level == 3) sizes.l3 = std::max(sizes.l3, size_t(row.Cache.Size));
  }
  return sizes;
}

int available_cpus() {
  DWORD_PTR own = 0, all = 0;
  int n = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all) != 0) {
    for (; own != 0; own &= own - 1) ++n;
  }
  return std::max(n, 1);
}

int read_file(const char*, char*, size_t) { return 0; }  // no files say this

// Windows wakes a thread on an idle CPU by itself.
int current_cpu() { return -1; }
void keep_off(int, const std::vector<std::thread::native_handle_type>&) {}

void at_fork(void (*)(), void (*)(), void (*)()) {}  // there is none

}  // namespace minuend
