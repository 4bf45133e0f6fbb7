#include "system/memory.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "system/machine.h"

namespace minuend {

namespace {

constexpr size_t kHeader = 64;  // bytes before the data, which so starts on a cache line
constexpr size_t kLeastMapped = 256 << 10;  // smaller blocks are the C library's, cheaper to have the first time
constexpr size_t kMostSmall = 64;           // and are kept only so many, which bounds the search for one

// What stands before the data. Kept blocks are linked through it: giving one back allocates nothing, for it must not
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

size_t initial_limit() {
  constexpr size_t most = size_t(1) << 30;
  const size_t memory = physical_memory();
  return memory > 0 ? std::min(most, memory / 8) : most;
}

// Blocks that are kept, oldest first.
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
  size_t limit = initial_limit();

  Shelf& shelf(size_t size) { return size < kLeastMapped ? small : large; }
  size_t bytes() const { return small.bytes() + large.bytes(); }
  void shrink(size_t to) {
    large.shrink(to - std::min(to, small.bytes()));
    small.shrink(to, kMostSmall - 1);
  }
  void keep(Block* b) {
    shrink(limit - b->size);
    shelf(b->size).put(b);
  }
};

// Never destroyed: arrays may outlive the module.
Cache& cache() {
  alignas(Cache) static char room[sizeof(Cache)];
  static auto* c = new (room) Cache;
  return *c;
}

}  // namespace

void init_memory() {
  cache();
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
  }
  void* p = map(wanted);
  return p == nullptr ? nullptr : data(new (p) Block{wanted, nullptr, nullptr});
}

void give_block(void* given) {
  if (given == nullptr) return;
  Block* b = block_of(given);
  Cache& c = cache();
  if (std::unique_lock<std::mutex> lock(c.mutex, std::try_to_lock); lock.owns_lock() && b->size <= c.limit) {
    return c.keep(b);
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
