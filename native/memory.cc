#include "memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#define MINUEND_HAS_MMAP 1
#endif

namespace minuend {

namespace {

constexpr size_t kHeader = 64;  // before the data: the block's capacity, and the data stays on a cache line
constexpr size_t kHugePage = 2 << 20;
constexpr size_t kLeastMapped = 256 << 10;  // smaller blocks are the C library's, cheaper to have the first time
constexpr size_t kMostSmall = 64;           // and are kept only so many, which bounds the search for one

size_t& capacity(void* start) { return *static_cast<size_t*>(start); }
void* data(void* start) { return static_cast<char*>(start) + kHeader; }
void* start(void* block) { return static_cast<char*>(block) - kHeader; }

// Sizes in steps of an eighth of a power of two, so that about equal results share blocks.
size_t rounded(size_t size) {
  size += kHeader;
  size_t step = 4096;
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

#if defined(MINUEND_HAS_MMAP)
void* map(size_t size) {
  if (size < kLeastMapped) return std::aligned_alloc(64, size);
  const bool huge = size >= 2 * kHugePage;
  const size_t slack = huge ? kHugePage : 0;
  void* p = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (!huge) return p;
  auto* low = static_cast<char*>(p);
  char* aligned = low + (kHugePage - reinterpret_cast<uintptr_t>(low) % kHugePage) % kHugePage;
  if (aligned > low) munmap(low, size_t(aligned - low));
  if (const size_t behind = size_t(low + size + slack - (aligned + size)); behind > 0) munmap(aligned + size, behind);
#if defined(MADV_HUGEPAGE)
  madvise(aligned, size, MADV_HUGEPAGE);  // a wish: where the system has none, pages are small
#endif
  return aligned;
}
void unmap(void* p, size_t size) {
  if (size < kLeastMapped) return std::free(p);
  munmap(p, size);
}
#else
void* map(size_t size) { return std::aligned_alloc(64, size); }
void unmap(void* p, size_t) { std::free(p); }
#endif

size_t initial_limit() {
  size_t limit = size_t(1) << 30;
#if defined(_SC_PHYS_PAGES)
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) limit = std::min(limit, size_t(pages) * size_t(page) / 8);
#endif
  return limit;
}

// Blocks that are kept, oldest first.
class Shelf {
 public:
  // One of this size, the newest; nullptr where there is none.
  void* take(size_t size) {
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Kept& k) { return k.size == size; });
    if (found == blocks_.rend()) return nullptr;
    void* p = found->block;
    blocks_.erase(std::next(found).base());
    bytes_ -= size;
    return p;
  }

  void put(void* p, size_t size) {
    blocks_.push_back({size, p});
    bytes_ += size;
  }

  void shrink(size_t bytes, size_t count = SIZE_MAX) {
    size_t gone = 0;
    while (bytes_ > bytes || blocks_.size() - gone > count) {
      const Kept& oldest = blocks_[gone++];
      bytes_ -= oldest.size;
      unmap(oldest.block, oldest.size);
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + ptrdiff_t(gone));
  }

  size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    size_t size;
    void* block;
  };
  std::vector<Kept> blocks_;
  size_t bytes_ = 0;
};

struct Cache {
  std::mutex mutex;
  Shelf small, large;
  size_t limit = initial_limit();

  Shelf& shelf(size_t size) { return size < kLeastMapped ? small : large; }
  size_t bytes() const { return small.bytes() + large.bytes(); }
  void shrink(size_t to) {
    large.shrink(to - std::min(to, small.bytes()));
    small.shrink(to, kMostSmall - 1);
  }
  void keep(void* p, size_t size) {
    shrink(limit - size);
    shelf(size).put(p, size);
  }
};

// Never destroyed: arrays may outlive the module.
Cache& cache() {
  static auto* c = new Cache;
  return *c;
}

}  // namespace

void* take_block(size_t size) {
  if (size > SIZE_MAX / 4) return nullptr;
  const size_t wanted = rounded(size);
  Cache& c = cache();
  // A lock that is taken, by another thread or before a fork, is not waited for: the system has memory too.
  if (std::unique_lock<std::mutex> lock(c.mutex, std::try_to_lock); lock.owns_lock()) {
    if (void* p = c.shelf(wanted).take(wanted); p != nullptr) return data(p);
  }
  void* p = map(wanted);
  if (p == nullptr) return nullptr;
  capacity(p) = wanted;
  return data(p);
}

void give_block(void* block) {
  if (block == nullptr) return;
  void* p = start(block);
  Cache& c = cache();
  if (std::unique_lock<std::mutex> lock(c.mutex, std::try_to_lock); lock.owns_lock() && capacity(p) <= c.limit) {
    return c.keep(p, capacity(p));
  }
  unmap(p, capacity(p));
}

size_t block_size(const void* block) { return capacity(start(const_cast<void*>(block))) - kHeader; }

size_t cache_limit() {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().limit;
}

void set_cache_limit(size_t bytes) {
  Cache& c = cache();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.limit = bytes;
  c.shrink(bytes);
}

size_t cached_bytes() {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().bytes();
}

size_t clear_cache() {
  Cache& c = cache();
  const std::lock_guard<std::mutex> lock(c.mutex);
  const size_t bytes = c.bytes();
  c.shrink(0);
  return bytes;
}

}  // namespace minuend
