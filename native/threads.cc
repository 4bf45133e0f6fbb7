#include "threads.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace minuend {

namespace {

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n > 0 ? int(n) : 1;
}

// What MINUEND_NUM_THREADS asks for: 0 where it is unset, -1 where it is no such number.
int asked_threads() {
  const char* asked = std::getenv("MINUEND_NUM_THREADS");
  if (asked == nullptr || *asked == 0) return 0;
  char* end;
  const long n = std::strtol(asked, &end, 10);
  return *end == 0 && n >= 1 && n <= kMostThreads ? int(n) : -1;
}

int initial_threads() {
  const int asked = asked_threads();
  return asked > 0 ? asked : available_cpus();
}

std::atomic<int>& wanted() {
  static std::atomic<int> n{initial_threads()};
  return n;
}

struct Job {
  void (*part)(void*, int);
  void* context;
  int parts;
  std::atomic<int> next{0};

  void work() {
    for (int i; (i = next.fetch_add(1)) < parts;) part(context, i);
  }
};

// The threads and what they wait for. One job at a time; a caller that finds a job under way works alone.
class Pool {
 public:
  bool try_run(Job& job, int helpers) {
    if (!busy_.try_lock()) return false;
    std::unique_lock<std::mutex> lock(mutex_);
    while (started_ < helpers) {
      try {
        std::thread(&Pool::wait_for_work, this, started_).detach();
        ++started_;
      } catch (const std::system_error&) {
        break;  // the system gives no more threads: work with those that there are
      }
    }
    if (helpers > started_) helpers = started_;
    job_ = &job;
    invited_ = active_ = helpers;
    ++round_;
    lock.unlock();
    wake_.notify_all();
    job.work();
    lock.lock();
    done_.wait(lock, [this] { return active_ == 0; });
    job_ = nullptr;
    lock.unlock();
    busy_.unlock();
    return true;
  }

 private:
  void wait_for_work(int index) {
    unsigned long seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (job_ == nullptr || index >= invited_) continue;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex busy_, mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  unsigned long round_ = 0;
  int started_ = 0, invited_ = 0, active_ = 0;
};

// Never destroyed: its threads wait on it until the process ends.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  Pool* p = pool.load();
  if (p == nullptr) {
    auto* fresh = new Pool;
    if (pool.compare_exchange_strong(p, fresh)) {
#if defined(__unix__) || defined(__APPLE__)
      // A child has none of the threads, and a lock may have been held: it starts anew.
      static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
      (void)registered;
#endif
      return *fresh;
    }
    delete fresh;
  }
  return *p;
}

}  // namespace

bool environment_is_valid() { return asked_threads() >= 0; }

int num_threads() { return wanted().load(); }
void set_num_threads(int n) { wanted().store(n); }

void in_parallel(int parts, void (*part)(void*, int), void* context) {
  Job job{part, context, parts};
  if (parts < 2 || !the_pool().try_run(job, parts - 1)) job.work();
}

}  // namespace minuend
