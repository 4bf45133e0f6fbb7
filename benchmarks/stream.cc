// What this machine can move: reads streams of bytes and writes another, with nothing to compute but an xor.
//
// The unit is a cache line. A pattern (p, q, w) reads p lines of A and q lines of B for each w lines that it writes:
// (1, 1, 1) is a subtraction of contiguous arrays, (0, 0, 1) only writes. Lines that a pattern leaves over in one of the
// arrays are read or written on their own, so that all of them move, each once. Lines that lie apart, as those of columns
// cut out of a wide array, are spread evenly: what lies between them costs too. One thread is the caller's own: it runs on the
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

// Where lines lie: line i at i * step / kOne lines from the first.
constexpr size_t kOne = 1 << 16;
struct Lines {
  char* first;
  size_t step;

  template <bool apart>
  char* at(size_t i) const { return first + (apart ? i * step / kOne : i) * kLine; }
};

struct Arrays {
  Lines a, b, out;
};

template <int P, int Q, int W, bool past_cache, bool apart>
void move(const Arrays& in, size_t first, size_t last) {
  Line v = {};
  for (size_t g = first; g < last; ++g) {
    if (W > 0) v = Line{};
    for (int i = 0; i < P; ++i) v ^= load(in.a.at<apart>(g * P + i));
    for (int i = 0; i < Q; ++i) v ^= load(in.b.at<apart>(g * Q + i));
    for (int i = 0; i < W; ++i) {
      char* to = in.out.at<apart>(g * W + i);
      past_cache ? store_past_cache(to, v) : store(to, v);
    }
  }
  if (W == 0) asm volatile("" : : "m"(v));  // read, whether anybody looks at it or not
  if (past_cache) finish();
}

using Move = void (*)(const Arrays&, size_t, size_t);
struct Pattern {
  int lines[3];      // of A, B and the result
  Move moves[2][2];  // by whether stores go past the cache, and whether any lines lie apart
};

#define MOVES(p, q, w, past_cache) {move<p, q, w, past_cache, false>, move<p, q, w, past_cache, true>}
#define PATTERN(p, q, w) {{p, q, w}, {MOVES(p, q, w, false), MOVES(p, q, w, true)}}
constexpr Pattern kPatterns[] = {
    PATTERN(0, 0, 1), PATTERN(1, 0, 1), PATTERN(0, 1, 1), PATTERN(1, 1, 1), PATTERN(2, 0, 1), PATTERN(0, 2, 1),
    PATTERN(2, 1, 1), PATTERN(1, 2, 1), PATTERN(2, 2, 1), PATTERN(1, 0, 2), PATTERN(0, 1, 2), PATTERN(1, 1, 2),
    PATTERN(3, 1, 3), PATTERN(1, 3, 3), PATTERN(6, 2, 3), PATTERN(2, 6, 3), PATTERN(1, 1, 4), PATTERN(2, 2, 3),
};
constexpr int kCount = int(sizeof(kPatterns) / sizeof(kPatterns[0]));
constexpr Pattern kAlone[] = {PATTERN(1, 0, 0), PATTERN(0, 1, 0), PATTERN(0, 0, 1)};

// Groups of lines, taken by threads a piece at a time; little is one piece, for to share it takes longer.
struct alignas(kLine) Phase {
  Move move = nullptr;
  size_t end = 0, piece = 1;
  alignas(kLine) std::atomic<size_t> next{0};

  void plan(Move how, size_t first, size_t last, int threads) {
    move = how;
    end = last;
    next = first;
    const size_t n = last - first, share = n / (size_t(threads) * 4) + 1;
    const size_t least = (8 << 10) / kLine, most = (256 << 10) / kLine;
    piece = threads == 1 ? n : share < least ? least : share < most ? share : most;
  }
  void work(const Arrays& arrays) {
    while (next.load(std::memory_order_relaxed) < end) {
      const size_t first = next.fetch_add(piece, std::memory_order_relaxed), last = first + piece;
      if (first < end) move(arrays, first, last < end ? last : end);
    }
  }
};

struct Run {
  Arrays arrays;
  Phase phases[1 + 3];  // the pattern, and what it leaves over in each of the arrays
  int threads;
  alignas(kLine) std::atomic<int> ready{0}, done{0};
  std::atomic<bool> go{false};
  double seconds = 0;

  void work() {
    for (Phase& phase : phases) phase.work(arrays);
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
    for (int k = 0; k < 3; ++k) flat[3 * i + k] = kPatterns[i].lines[k];
  }
  *first = flat;
  return kCount;
}

int stream_has_past_cache() { return kHasNonTemporal; }

// Seconds that it took to move so many lines of A, B and the result by the pattern with this index; consecutive lines lie
// so many lines apart. `out` lies on a cache line.
double stream(char* const* places, const size_t* lines, const double* apart, int pattern, int past_cache, int threads) {
  static auto* pool = new Pool;  // never destroyed: its threads wait on it until the process ends
  Run run;
  run.threads = threads;
  Lines own[3];
  for (int k = 0; k < 3; ++k) own[k] = {places[k], size_t(apart[k] * kOne)};
  run.arrays = {own[0], own[1], own[2]};
  const bool any_apart = own[0].step != kOne || own[1].step != kOne || own[2].step != kOne;
  auto how = [&](const Pattern& p) { return p.moves[past_cache][any_apart]; };
  const Pattern& chosen = kPatterns[pattern];
  size_t groups = SIZE_MAX;
  for (int k = 0; k < 3; ++k) {
    if (const size_t n = size_t(chosen.lines[k]); n > 0 && lines[k] / n < groups) groups = lines[k] / n;
  }
  run.phases[0].plan(how(chosen), 0, groups, threads);
  for (int k = 0; k < 3; ++k) {
    run.phases[1 + k].plan(how(kAlone[k]), groups * size_t(chosen.lines[k]), lines[k], threads);
  }
  return threads == 1 ? time_alone(run) : pool->time(run);
}
}
