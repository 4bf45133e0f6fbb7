#include "system/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "system/container.h"
#include "system/machine.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace minuend {

namespace {

// What MINUEND_NUM_THREADS requests: 0 where it is unset, -1 where it is no such number.
int requested_threads() {
  const char* requested = std::getenv("MINUEND_NUM_THREADS");
  if (requested == nullptr || *requested == 0) return 0;
  char* end;
  const long n = std::strtol(requested, &end, 10);
  return *end == 0 && n >= 1 && n <= kMostThreads ? int(n) : -1;
}

// The number that somebody has requested, 0 for none; without one as many as CPUs are allowed.
std::atomic<int> requested{std::max(requested_threads(), 0)};
std::atomic<int> allowed{1};

using Clock = std::chrono::steady_clock;
std::atomic<Clock::duration> learned{};  // when the number allowed was last looked up

void learn_cpus() {
  static const int own = available_cpus();  // of the process: later on, a caller may have pinned itself to one CPU
  learned = Clock::now().time_since_epoch();
  if (const int quota = container().cpus(); quota > 0) allowed = std::min(own, quota);
}

inline void pause() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Callers under way, each on a CPU of its own if there are enough.
std::atomic<int> callers{0};

// A part is one thread's by rights, so that from call to call it is found in the same core's caches; a thread that has
// done its own takes from the others.
struct Job {
  Job(void (*f)(void*, int), void* with, int n, int threads)
      : part(f), context(with), parts(n), shares(std::min({threads, n, kMostShares})) {
    for (int i = 0; i < shares; ++i) next[i].at = first(i);
  }

  // The caller's share is 0, and it stays to the end; helpers stay while there are fewer callers than `most`, and so
  // leave the CPUs to other callers.
  void work(int share = 0, int most = INT_MAX) {
    for (int i = 0; i < shares; ++i) take((share + i) % shares, most);
  }

 private:
  static constexpr int kMostShares = 64;
  struct alignas(64) Next {
    std::atomic<int> at;
  };

  int first(int share) const { return int(int64_t(parts) * share / shares); }
  void take(int share, int most) {
    const int end = first(share + 1);
    while (callers.load(std::memory_order_relaxed) < most) {
      const int i = next[share].at.fetch_add(1);
      if (i >= end) return;
      part(context, i);
    }
  }

  void (*const part)(void*, int);
  void* const context;
  const int parts, shares;
  Next next[kMostShares];
};

// The threads and what they wait for. One job at a time; a caller that finds a job under way works alone.
//
// A caller never waits for a thread to wake: it publishes invitations, works, and withdraws those that nobody has
// taken. A thread that has just worked looks out for the next job for about a tenth of a millisecond before it sleeps.
class Pool {
 public:
  bool try_run(Job& job, int helpers, int threads) {
    if (!busy_.try_lock()) return false;
    start(helpers);
    // Helpers stay off the caller's CPU. Linux likes to wake a thread where its waker runs, and there the two would take
    // turns for milliseconds while another CPU is idle.
    if (const int cpu = current_cpu(); cpu >= 0 && cpu != avoided_) {
      keep_off(cpu, threads_);
      avoided_ = cpu;
    }
    job_ = &job;
    most_callers_ = threads;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      state_.store((round_of(state_.load()) + 1) << kBits | uint64_t(std::min(int(threads_.size()), helpers)));
      if (sleeping_ > 0) wake_.notify_all();
    }
    job.work();
    state_.fetch_and(~kInvitations);
    for (int i = 0; active_.load() != 0; ++i) {
      if (i < kSpins) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
    busy_.unlock();
    return true;
  }

 private:
  static constexpr int kBits = 16;
  static constexpr uint64_t kInvitations = (1 << kBits) - 1;
  static constexpr int kSpins = 2000;
  static uint64_t round_of(uint64_t state) { return state >> kBits; }

  void start(int helpers) {
    try {
      threads_.reserve(size_t(helpers));
      while (int(threads_.size()) < helpers) {
        std::thread thread(&Pool::wait_for_work, this, int(threads_.size()) + 1);
        threads_.push_back(thread.native_handle());
        thread.detach();
        avoided_ = -1;
      }
    } catch (const std::exception&) {
      // The system gives no more threads, or no memory for them: work with those that there are.
    }
  }

  void wait_for_work(int share) {
    for (uint64_t seen = 0;;) {
      seen = next_round(seen);
      active_.fetch_add(1);
      uint64_t state = state_.load();
      while (round_of(state) == seen && (state & kInvitations) != 0) {
        if (state_.compare_exchange_weak(state, state - 1)) {
          job_->work(share, most_callers_);
          break;
        }
      }
      active_.fetch_sub(1);
    }
  }

  // Returns when there is a round other than the one seen.
  uint64_t next_round(uint64_t seen) {
    for (int i = 0; i < kSpins && callers.load(std::memory_order_relaxed) < most_callers_; ++i) {
      if (const uint64_t round = round_of(state_.load()); round != seen) return round;
      pause();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleeping_;
    wake_.wait(lock, [&] { return round_of(state_.load()) != seen; });
    --sleeping_;
    return round_of(state_.load());
  }

  std::mutex busy_, mutex_;
  std::condition_variable wake_;
  Job* job_ = nullptr;
  std::atomic<int> most_callers_{0};  // from so many on helpers have nothing to do
  std::atomic<uint64_t> state_{0};  // the round's number and, in the low bits, how many more may join it
  std::atomic<int> active_{0};      // threads that have joined, or are trying to
  std::vector<std::thread::native_handle_type> threads_;  // they never end
  int avoided_ = -1;                // the CPU that they avoid
  int sleeping_ = 0;
};

// Never destroyed: its threads wait on it until the process ends.
std::atomic<Pool*> pool{nullptr};

// nullptr where there is no memory for it.
Pool* the_pool() {
  Pool* p = pool.load();
  if (p == nullptr) {
    auto* fresh = new (std::nothrow) Pool;
    if (pool.compare_exchange_strong(p, fresh)) return fresh;
    delete fresh;
  }
  return p;
}

bool try_run(Job& job, int helpers, int threads) {
  Pool* p = the_pool();
  return p != nullptr && p->try_run(job, helpers, threads);
}

}  // namespace

bool environment_is_valid() { return requested_threads() >= 0; }

int num_threads() {
  const int n = requested.load(std::memory_order_relaxed);
  return n > 0 ? n : allowed.load(std::memory_order_relaxed);
}
void set_num_threads(int n) { requested = n; }

void heed_container() {
  constexpr auto soon = std::chrono::seconds(1);
  if (requested.load(std::memory_order_relaxed) > 0) return;
  if (Clock::now().time_since_epoch() - learned.load(std::memory_order_relaxed) >= soon) learn_cpus();
}

void fit_threads() {
  requested = 0;
  learn_cpus();
}

void init_threads() {
  learn_cpus();
  // A child has none of the threads, and a lock may have been held: it starts anew.
  at_fork(nullptr, nullptr, [] {
    pool.store(nullptr);
    callers.store(0);
  });
}

void in_parallel(int parts, int threads, void (*part)(void*, int), void* context) {
  const int helpers = std::max(threads - 1 - callers.fetch_add(1), 0);
  Job job{part, context, parts, helpers + 1};
  if (helpers == 0 || parts < 2 || !try_run(job, helpers, threads)) job.work();
  callers.fetch_sub(1);
}

}  // namespace minuend
