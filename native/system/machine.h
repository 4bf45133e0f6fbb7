// What the operating system says and gives: machine_posix.cc and machine_windows.cc.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace minuend {

// Memory from the C library that begins on a cache line; nullptr where there is none.
void* allocate_lines(size_t bytes);
void free_lines(void* p);

// Pages from the system, of zeros; nullptr where it has none. Large ones are requested where that pays.
void* map_pages(size_t bytes);
void unmap_pages(void* p, size_t bytes);

// Bytes of the machine's memory; 0 where the system does not say.
size_t physical_memory();

// Bytes of L2, and of L3 as one core sees it; 0 where there is none, or the system does not say.
struct CacheSizes {
  size_t l2 = 0, l3 = 0;
};
CacheSizes cache_sizes();

// How many CPUs this process may run on, by its affinity.
int available_cpus();

// Reads a file of the system's, which is small, into `to`: how many bytes there were, at most `size`; 0 where it is not
// there, -1 where it cannot be read now. Allocates nothing.
int read_file(const char* path, char* to, size_t size);

// The CPU that the calling thread runs on; -1 where the system does not say.
int current_cpu();

// Keeps threads off one CPU, where the system takes such wishes.
void keep_off(int cpu, const std::vector<std::thread::native_handle_type>& threads);

// What is called around each fork: before it, and behind it in the parent and in the child. nullptr: nothing.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace minuend
