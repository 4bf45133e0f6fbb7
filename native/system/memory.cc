#include "system/memory.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>

#include "system/container.h"
#include "system/machine.h"

namespace minuend {

namespace {

constexpr size_t kHeader = 64;  // bytes before the data, which so starts on a cache line
constexpr size_t kLeastMapped = 256 << 10;  // smaller blocks are the C library's, cheaper to have the first time
constexpr size_t kMostSmall = 64;           // and are cached only so many, which bounds the search for one

// The container is queried again after so many bytes, and after so long.
using Clock = std::chrono::steady_clock;
constexpr size_t kQueryAfter = 16 << 20;
constexpr auto kQueryEvery = std::chrono::milliseconds(100);

// What stands before the data. Cached blocks are linked through it: giving one back allocates nothing, for it must not
// fail.
struct Block {
  size_t size;  // of all, header included
  Block *older, *newer;
};
static_assert(sizeof(Block) <= kHeader);

void* data(Block* block) { return reinterpret_cast<char*>(block) + kHeader; }
Block* block_of(void* data) { return reinterpret_cast<Block*>(static_cast<char*>(data) - kHeader); }

// Sizes in steps of an eighth of a power of two, so that about equal results share blocks.
size_t rounded(size_t size) {
  size += kHeader;
  size_t step = 4096;
  while (step * 16 <= size) step *= 2;
  return (size + step - 1) / step * step;
}

void* map(size_t size) { return size < kLeastMapped ? allocate_lines(size) : map_pages(size); }
void unmap(void* p, size_t size) { return size < kLeastMapped ? free_lines(p) : unmap_pages(p, size); }

// The bound where nobody has set one: 1 GiB, an eighth of the machine's memory or of what its container allows, and half
// of what the container has left besides the `cached` bytes and those that are about to be mapped; the least of them.
size_t fitting_limit(const Container::Memory& allowed, size_t cached, size_t coming) {
  constexpr size_t most = size_t(1) << 30;
  size_t memory = allowed.limit;
  if (const size_t all = physical_memory(); all > 0) memory = std::min(memory, all);
  const size_t eighth = std::min(most, memory / 8);
  if (allowed.limit == SIZE_MAX) return eighth;
  const int64_t left = allowed.left + int64_t(cached) - int64_t(coming);
  return std::min(eighth, size_t(std::max<int64_t>(left, 0)) / 2);
}

// Cached blocks, oldest first.
class Shelf {
 public:
  // One of this size, the newest; nullptr where there is none.
  Block* take(size_t size) {
    Block* b = newest_;
    while (b != nullptr && b->size != size) b = b->older;
    if (b != nullptr) remove(b);
    return b;
  }

  void put(Block* b) {
    b->older = newest_;
    b->newer = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer) = b;
    newest_ = b;
    bytes_ += b->size;
    ++count_;
  }

  void shrink(size_t bytes, size_t count = SIZE_MAX) {
    while (bytes_ > bytes || count_ > count) {
      Block* b = oldest_;
      remove(b);
      unmap(b, b->size);
    }
  }

  size_t bytes() const { return bytes_; }

 private:
  void remove(Block* b) {
    (b->older == nullptr ? oldest_ : b->older->newer) = b->newer;
    (b->newer == nullptr ? newest_ : b->newer->older) = b->older;
    bytes_ -= b->size;
    --count_;
  }

  Block *oldest_ = nullptr, *newest_ = nullptr;
  size_t bytes_ = 0, count_ = 0;
};

struct Cache {
  std::mutex mutex;
  Shelf small, large;
  size_t limit = 0;
  bool is_set = false;  // by the user, who is not contradicted

  // What the container allowed when it was queried, when that was, and how many bytes have come and gone since.
  Container::Memory allowed;
  Clock::time_point queried;
  size_t moved = 0;

  Shelf& shelf(size_t size) { return size < kLeastMapped ? small : large; }
  size_t bytes() const { return small.bytes() + large.bytes(); }
  void shrink(size_t to) {
    large.shrink(to - std::min(to, small.bytes()));
    small.shrink(to, kMostSmall - 1);
  }

  // Called for large blocks that are about to be mapped, and for those that are given back: queries the container anew
  // where that pays, and caches no more than now fits. Memory that grows in a container with a limit is watched
  // closely, since mapping costs more than a query.
  void move(size_t bytes, bool maps) {
    if (is_set || bytes < kLeastMapped) return;
    moved += bytes;
    if (moved < kQueryAfter) return;
    const bool grows = maps && allowed.limit != SIZE_MAX;
    if (grows || Clock::now() - queried >= kQueryEvery) fit(maps ? bytes : 0);
  }

  void fit(size_t coming = 0) {
    container().read(allowed);  // where that cannot be now, its last answer holds
    queried = Clock::now();
    moved = 0;
    limit = fitting_limit(allowed, bytes(), coming);
    shrink(limit);
  }

  void keep(Block* b) {
    shrink(limit - b->size);
    shelf(b->size).put(b);
  }
};

// Never destroyed: arrays may outlive the module.
Cache& cache() {
  alignas(Cache) static char storage[sizeof(Cache)];
  static auto* c = new (storage) Cache;
  return *c;
}

}  // namespace

void init_memory() {
  cache().fit();
  // A fork waits until no thread holds the lock, so that the child finds the cache whole and the lock open.
  auto unlock = [] { cache().mutex.unlock(); };
  at_fork([] { cache().mutex.lock(); }, unlock, unlock);
}

void* take_block(size_t size) {
  if (size > SIZE_MAX / 4) return nullptr;
  const size_t wanted = rounded(size);
  Cache& c = cache();
  // A lock that another thread holds is not waited for: the system has memory too.
  if (std::unique_lock<std::mutex> lock(c.mutex, std::try_to_lock); lock.owns_lock()) {
    if (Block* b = c.shelf(wanted).take(wanted); b != nullptr) return data(b);
    c.move(wanted, true);
  }
  void* p = map(wanted);
  if (p == nullptr && clear_cache() > 0) p = map(wanted);
  return p == nullptr ? nullptr : data(new (p) Block{wanted, nullptr, nullptr});
}

void give_block(void* given) {
  if (given == nullptr) return;
  Block* b = block_of(given);
  Cache& c = cache();
  if (std::unique_lock<std::mutex> lock(c.mutex, std::try_to_lock); lock.owns_lock()) {
    c.move(b->size, false);
    if (b->size <= c.limit) return c.keep(b);
  }
  unmap(b, b->size);
}

size_t block_size(void* given) { return block_of(given)->size - kHeader; }

size_t cache_limit() {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().limit;
}

void set_cache_limit(size_t bytes) {
  Cache& c = cache();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.is_set = true;
  c.limit = bytes;
  c.shrink(bytes);
}

void fit_cache() {
  Cache& c = cache();
  const std::lock_guard<std::mutex> lock(c.mutex);
  c.is_set = false;
  c.fit();
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
