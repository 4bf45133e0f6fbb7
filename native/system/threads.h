// A few threads that wait for large work.
#pragma once

#include <cstddef>

namespace minuend {

// Called once, before any work: a forked child then starts threads of its own.
void init_threads();

// How many threads large work is shared among: MINUEND_NUM_THREADS, or the CPUs that this process may run on, by its
// affinity and by the quota of its container.
int num_threads();
// Looks whether the quota has changed, at most once a second. For large work: it reads the clock.
void heed_container();
// Takes back what was set, and looks at once.
void fit_threads();
// Whether MINUEND_NUM_THREADS is unset or a number from 1 to kMostThreads.
bool environment_is_valid();
constexpr int kMostThreads = 4096;
void set_num_threads(int n);

// Calls part(context, i) for every i below `parts`, on this thread and at most `threads` - 1 others, and returns when
// all are done. Where the others are busy with another caller's work, or asleep, this thread does it all. Safe after
// fork.
void in_parallel(int parts, int threads, void (*part)(void* context, int i), void* context);

}  // namespace minuend
