// The state of a thread that the kernel runs under, and leaves as it was.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace minuend {

// Orders non-temporal stores before all that follows.
inline void end_of_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The contract's rounding and subnormals, whatever mode the caller's thread is in; restored at the end.
class FloatMode {
#if defined(__SSE2__)
 public:
  FloatMode() : saved_(_mm_getcsr()), changed_((saved_ & kControl) != kDefault) {
    if (changed_) _mm_setcsr(kDefault);
  }
  ~FloatMode() {
    if (changed_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;          // all exceptions masked, to nearest even, nothing flushed
  static constexpr unsigned kControl = 0xffff & ~0x3fu;  // the low six bits are flags
  unsigned saved_;
  bool changed_;
#elif defined(__aarch64__)
 public:
  FloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
  }
  ~FloatMode() {
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  uint64_t saved_;
#endif
};

}  // namespace minuend
