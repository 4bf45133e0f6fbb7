#include "plan/singles.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace minuend {

size_t lines_in_a_set(ptrdiff_t distance, size_t n) {
  if (n <= kWaysOfL1) return n;
  constexpr size_t kSets = 64;  // the addresses of L1's sets repeat every 4 KiB
  uint8_t lines[kSets] = {};
  size_t most = 0;
  for (size_t i = 0; i < n && most <= kWaysOfL1; ++i) {
    uint8_t& own = lines[uintptr_t(ptrdiff_t(i) * distance) / kCacheLine % kSets];
    most = std::max(most, size_t(++own));
  }
  return most;
}

// One row for many is gathered once. Any other operand is apart here where it would have to be gathered, unless that is
// done by registers for all rows at once. Least elements of a row, measured on Zen 4:
//
//   operands that are apart         bytes    least    measured reason
//   both                            4, 8     4        two buffers: 1.3 to 2.3 times as fast
//   both                            1, 2     8        1.1 to 2.3 times as fast
//   one                             8        4        1.1 to 1.9 times as fast
//   one, beside one element a row   4        8        1.1 to 1.7 times as fast; fewer do not fill two registers
//   one, beside any other           4        4        1.1 to 1.7 times as fast
//   one, rows share its lines       4, 8     8        columns are read faster than short rows
//   one, each element on a line     1, 2     8        1.1 to 1.6 times as fast
//   the same, beside a scalar       1, 2     16       0.8 to 1 of the time, on Zen 3; fewer took up to 1.7 times as long
//   one, closer together            1, 2     32       gathered, several are computed at once
//
// Rows that share cache lines are gathered column by column where a set of L1 does not hold a row's lines: then these
// would be read anew for each row, in up to six times the time.
bool reads_far(const Work& work, size_t n, const Strides& a, const Strides& b) {
  constexpr size_t kFew = 4, kSome = 8, kMany = 16, kNever = 32, kColumnByColumn = 16;
  constexpr auto kLine = ptrdiff_t(kCacheLine), kClose = ptrdiff_t(256);  // bytes; 16 lines so close share no set
  if (!takes_singles(work.element, work.policy)) return false;
  const auto item = ptrdiff_t(item_size(work.element));
  auto is_apart = [&](const Strides& s) {
    const bool gathered_fast = !is_far(s.inner) && s.outer == s.inner * ptrdiff_t(n);
    return s.inner != 0 && s.inner != item && !gathered_fast;
  };
  auto shares_lines = [&](const Strides& s) {
    return is_apart(s) && std::abs(s.outer) < std::min(kLine, std::abs(s.inner));
  };
  const bool apart_a = is_apart(a), apart_b = is_apart(b);
  if ((apart_a && a.outer == 0) || (apart_b && b.outer == 0)) return false;
  size_t least = item >= 4 ? kFew : kSome;
  if (!apart_a || !apart_b) {
    const Strides &apart = apart_a ? a : b, &other = apart_a ? b : a;
    if (item >= 4) least = (item == 4 && other.inner == 0) || shares_lines(apart) ? kSome : kFew;
    else least = std::abs(apart.inner) < kLine ? kNever : other.outer != 0 ? kSome : kMany;
  }
  if (n < least) return false;
  auto conflicts = [&](const Strides& s) {
    return shares_lines(s) && std::abs(s.inner) > kClose && lines_in_a_set(s.inner, n) > kWaysOfL1;
  };
  return n > kColumnByColumn || !(conflicts(a) || conflicts(b));
}

}  // namespace minuend
