#include "plan/compute.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "system/memory.h"

namespace minuend {

namespace {

// How an operand's memory lies to the result's.
//
//   relation   condition                                                     what is done
//   apart      no byte in common                                             the result is written where it belongs
//   same       each element is read where its difference is written          the same, undone where that is an error
//   crossing   any other                                                     it is computed apart and copied
enum class Relation { apart, same, crossing };

struct Operand {
  const char* first;
  const ptrdiff_t* strides;
  size_t item;
};

struct Range {
  const char *low, *high;
};

Range range(const Layout& l, const Operand& x) {
  Range r{x.first, x.first + x.item};
  for (int i = 0; i < l.rank; ++i) {
    const ptrdiff_t reach = x.strides[i] * ptrdiff_t(l.size[i] - 1);
    (reach < 0 ? r.low : r.high) += reach;
  }
  return r;
}

// Whether x and y are interleaved without a byte in common, as fields of records and channels of pixels are: the
// elements of each lie at one place of a common period.
bool are_interleaved(const Layout& l, const Operand& x, const Operand& y) {
  ptrdiff_t period = 0;
  for (int i = 0; i < l.rank; ++i) {
    if (l.size[i] > 1) period = std::gcd(period, std::gcd(x.strides[i], y.strides[i]));
  }
  if (period == 0) return false;
  const ptrdiff_t ahead = ((y.first - x.first) % period + period) % period;
  return ahead >= ptrdiff_t(x.item) && period - ahead >= ptrdiff_t(y.item);
}

bool is_same(const Layout& l, const Operand& x, const Operand& y) {
  if (x.first != y.first || x.item != y.item) return false;
  for (int i = 0; i < l.rank; ++i) {
    if (l.size[i] > 1 && x.strides[i] != y.strides[i]) return false;
  }
  return true;
}

Relation relation(const Layout& l, const Operand& x, const Operand& out, const Range& goal) {
  const Range own = range(l, x);
  if (own.high <= goal.low || goal.high <= own.low) return Relation::apart;
  if (is_same(l, x, out)) return Relation::same;
  return are_interleaved(l, x, out) ? Relation::apart : Relation::crossing;
}

bool can_fail(const Work& work) {
  return work.policy == Policy::error || (work.policy == Policy::widen && item_size(work.element) == 8);
}

// Gives an operand back its values after a difference that wrapped was written over it: subtraction modulo 2^n can be
// undone. Over B, b = a - (a - b). Over A, a = b - (0 - (a - b)).
void undo(Work work) {
  work.policy = Policy::wrap;
  const char *a = work.a, *b = work.b;
  if (work.out == a) {
    constexpr uint64_t zero = 0;
    Work negation = work;
    negation.a = reinterpret_cast<const char*>(&zero);
    for (int i = 0; i < work.layout.rank; ++i) {
      negation.layout.a[i] = 0;
      negation.layout.b[i] = work.layout.out[i];
    }
    negation.b = work.out;
    subtract(negation);
    work.a = b;
    std::memcpy(work.layout.a, work.layout.b, sizeof(work.layout.b));
  }
  work.b = work.out;
  std::memcpy(work.layout.b, work.layout.out, sizeof(work.layout.out));
  subtract(work);
}

Element unsigned_of(size_t item) {
  switch (item) {
    case 1: return Element::u8;
    case 2: return Element::u16;
    case 4: return Element::u32;
    default: return Element::u64;
  }
}

// Copies elements from `from`, which lies as the layout says of A, to `to`: all less 0.
void copy(Layout layout, const char* from, char* to, size_t item) {
  constexpr uint64_t zero = 0;
  for (int i = 0; i < layout.rank; ++i) layout.b[i] = 0;
  Work work{unsigned_of(item), Policy::wrap, nullptr, layout, from, reinterpret_cast<const char*>(&zero), to};
  subtract(work);
}

size_t compute_apart(const Work& work) {
  const size_t item = result_size(work.element, work.policy);
  void* block = take_block(work.layout.count() * item);
  if (block == nullptr) return kNoMemory;
  Work inside = work;
  inside.out = static_cast<char*>(block);
  pack_like(inside.layout, work.layout.out, work.layout.out, item);
  Layout back = work.layout;
  std::memcpy(back.a, inside.layout.out, sizeof(back.a));
  const size_t found = subtract(inside);
  if (found == 0) copy(back, static_cast<const char*>(block), work.out, item);
  give_block(block);
  return found;
}

}  // namespace

size_t compute(Work& work) {
  const Layout& l = work.layout;
  if (l.count() == 0) return 0;
  if (work.policy == Policy::count) return subtract(work);
  const size_t item = item_size(work.element);
  const Operand out{work.out, l.out, result_size(work.element, work.policy)};
  const Range goal = range(l, out);
  const Relation a = relation(l, {work.a, l.a, item}, out, goal), b = relation(l, {work.b, l.b, item}, out, goal);
  const bool replaces = (a == Relation::same || b == Relation::same) && can_fail(work);
  // Codes may have upper bits that a table ignores, so they cannot be computed back.
  if (a == Relation::crossing || b == Relation::crossing || (replaces && work.element == Element::table)) {
    return compute_apart(work);
  }
  if (!replaces) return subtract(work);
  const Work asked = work;  // subtract() reorders the layout
  const size_t found = subtract(work);
  if (found != 0) undo(asked);
  return found;
}

}  // namespace minuend
