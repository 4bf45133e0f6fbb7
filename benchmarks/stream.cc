// What this machine can move: reads streams of bytes and writes another, with nothing to compute but an xor.
//
// The unit is a cache line. A pattern (p, q, w) reads p lines of A and q lines of B for each w lines that it writes:
// (1, 1, 1) is a subtraction of contiguous arrays, (0, 0, 1) only writes. One thread is the caller's own: it runs on the
// CPU that the libraries' calls run on, and another one may be faster or slower by a tenth at that time. Several are
// pinned, one to a CPU that the process may use; they stand ready, spinning, when the clock starts, and sleep between
// runs.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

constexpr size_t kLine = 64;
typedef uint64_t Line __attribute__((vector_size(kLine)));

inline Line load(const char* p) {
  Line v;
  std::memcpy(&v, p, kLine);
  return v;
}

inline void store(char* p, const Line& v) { std::memcpy(p, &v, kLine); }

#if defined(__SSE2__)
constexpr bool kHasNonTemporal = true;
inline void store_past_cache(char* p, const Line& v) {
#if defined(__AVX512F__)
  __m512i x;
  std::memcpy(&x, &v, kLine);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), x);
#elif defined(__AVX__)
  __m256i x[2];
  std::memcpy(x, &v, kLine);
  for (int i = 0; i < 2; ++i) _mm256_stream_si256(reinterpret_cast<__m256i*>(p) + i, x[i]);
#else
  __m128i x[4];
  std::memcpy(x, &v, kLine);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(p) + i, x[i]);
#endif
}
inline void finish() { _mm_sfence(); }
inline void breathe() { _mm_pause(); }
#else
constexpr bool kHasNonTemporal = false;
inline void store_past_cache(char* p, const Line& v) { store(p, v); }
inline void finish() {}
inline void breathe() {}
#endif

template <int P, int Q, int W, bool past_cache>
void move(const char* a, const char* b, char* out, size_t first, size_t last) {
  for (size_t g = first; g < last; ++g) {
    Line v = {};
    for (int i = 0; i < P; ++i) v ^= load(a + (g * P + i) * kLine);
    for (int i = 0; i < Q; ++i) v ^= load(b + (g * Q + i) * kLine);
    for (int i = 0; i < W; ++i) {
      char* to = out + (g * W + i) * kLine;
      past_cache ? store_past_cache(to, v) : store(to, v);
    }
  }
  if (past_cache) finish();
}

using Move = void (*)(const char*, const char*, char*, size_t, size_t);
struct Pattern {
  int p, q, w;
  Move plain, past_cache;
};

#define PATTERN(p, q, w) {p, q, w, move<p, q, w, false>, move<p, q, w, true>}
constexpr Pattern kPatterns[] = {
    PATTERN(0, 0, 1), PATTERN(1, 0, 1), PATTERN(0, 1, 1), PATTERN(1, 1, 1), PATTERN(2, 0, 1), PATTERN(0, 2, 1),
    PATTERN(2, 1, 1), PATTERN(1, 2, 1), PATTERN(2, 2, 1), PATTERN(1, 0, 2), PATTERN(0, 1, 2), PATTERN(1, 1, 2),
    PATTERN(3, 1, 3), PATTERN(1, 3, 3), PATTERN(6, 2, 3), PATTERN(2, 6, 3), PATTERN(1, 1, 4), PATTERN(2, 2, 3),
};
constexpr int kCount = int(sizeof(kPatterns) / sizeof(kPatterns[0]));

struct Run {
  Move move;
  const char *a, *b;
  char* out;
  size_t groups, piece;
  int threads;
  std::atomic<size_t> next{0};
  std::atomic<int> ready{0}, done{0};
  std::atomic<bool> go{false};
  double seconds = 0;

  void work() {
    for (size_t first; (first = next.fetch_add(piece)) < groups;)
      move(a, b, out, first, first + piece < groups ? first + piece : groups);
  }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double time_alone(Run& run) {
  const auto start = Clock::now();
  run.work();
  return seconds_since(start);
}

class Pool {
 public:
  double time(Run& run) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (int(started_) < run.threads) std::thread(&Pool::wait_for_runs, this, started_++).detach();
    run_ = &run;
    left_ = run.threads;
    ++round_;
    wake_.notify_all();
    finished_.wait(lock, [this] { return left_ == 0; });
    run_ = nullptr;
    return run.seconds;
  }

 private:
  void wait_for_runs(int index) {
    pin(index);
    unsigned long seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (run_ == nullptr || index >= run_->threads) continue;
      Run& run = *run_;
      lock.unlock();
      take_part(run, index == 0);
      lock.lock();
      if (--left_ == 0) finished_.notify_one();
    }
  }

  static void take_part(Run& run, bool leads) {
    run.ready.fetch_add(1);
    if (!leads) {
      while (!run.go.load(std::memory_order_acquire)) breathe();
      run.work();
      run.done.fetch_add(1);
      return;
    }
    while (run.ready.load() < run.threads) std::this_thread::yield();
    const auto start = Clock::now();
    run.go.store(true, std::memory_order_release);
    run.work();
    while (run.done.load() < run.threads - 1) breathe();
    run.seconds = seconds_since(start);
  }

  static void pin(int index) {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    int skip = index % CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed) || skip-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
      return;
    }
#else
    (void)index;
#endif
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  Run* run_ = nullptr;
  unsigned long round_ = 0;
  int started_ = 0, left_ = 0;
};

}  // namespace

extern "C" {

int stream_patterns(const int** first) {
  static int flat[kCount * 3];
  for (int i = 0; i < kCount; ++i) {
    flat[3 * i] = kPatterns[i].p;
    flat[3 * i + 1] = kPatterns[i].q;
    flat[3 * i + 2] = kPatterns[i].w;
  }
  *first = flat;
  return kCount;
}

int stream_has_past_cache() { return kHasNonTemporal; }

// Seconds that the pattern with this index took over `groups` groups of lines. `out` lies on a cache line.
double stream(const char* a, const char* b, char* out, size_t groups, int pattern, int past_cache, int threads) {
  static auto* pool = new Pool;  // never destroyed: its threads wait on it until the process ends
  Run run;
  const Pattern& chosen = kPatterns[pattern];
  run.move = past_cache ? chosen.past_cache : chosen.plain;
  run.a = a;
  run.b = b;
  run.out = out;
  run.groups = groups;
  run.threads = threads;
  const size_t most = (256 << 10) / kLine;
  const size_t share = groups / (size_t(threads) * 4) + 1;
  run.piece = threads == 1 ? groups + 1 : share < most ? share : most;
  return threads == 1 ? time_alone(run) : pool->time(run);
}
}
