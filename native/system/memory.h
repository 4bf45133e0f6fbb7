// Memory of results, cached for the next one.
//
// A fresh large array costs more in page faults than the subtraction does, and one that does not start on a cache line
// costs a quarter. Blocks that results no longer use are cached, up to a bound, and given to the next result of their
// size.
#pragma once

#include <cstddef>

namespace minuend {

// Results below this size take NumPy's own memory.
constexpr size_t kLeastCached = 8 * 1024;

// Called once, before anything else here: a fork then leaves the child an open lock.
void init_memory();

// A block of at least `size` bytes, aligned to a cache line; nullptr where the system has none.
void* take_block(size_t size);
void give_block(void* block);
// How many bytes the block holds.
size_t block_size(void* block);

// The bound on cached bytes; 0 switches the cache off. Where nobody has set one, it is what fits the machine and the
// container, which is queried again as memory comes and goes; see memory.cc.
size_t cache_limit();
void set_cache_limit(size_t bytes);
// Takes back what was set, and queries at once.
void fit_cache();

// Bytes cached now; clear_cache() returns them to the system and their number.
size_t cached_bytes();
size_t clear_cache();

}  // namespace minuend
