#include "plan/compute.h"

#include <cstdlib>
#include <numeric>

#include "system/instruction_sets.h"
#include "system/memory.h"

namespace minuend {

namespace {

// How an operand's memory lies to the result's.
//
//   relation   condition                                               what is done
//   separate   no byte in common                                       the result is written where it belongs
//   same       each element is read where its result is written        the same, undone where that is an error
//   crossing   any other                                               it is computed in a buffer and copied
enum class Relation { separate, same, crossing };

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

Relation relation(const Layout& l, const Operand& x, const Operand& out, const Range& written) {
  const Range own = range(l, x);
  if (own.high <= written.low || written.high <= own.low) return Relation::separate;
  if (is_same(l, x, out)) return Relation::same;
  return are_interleaved(l, x, out) ? Relation::separate : Relation::crossing;
}

bool can_fail(const Work& work) { return report_of(work.element, work.policy) != Report::nothing; }

// Gives the operand back its values that a result modulo 2^n was written over; `strides` are the other one's.
void undo(const Work& work, const Steps& back, const char* other, const ptrdiff_t* strides) {
  constexpr uint64_t zero = 0;
  auto take = [&](Term term, const char*& at, ptrdiff_t* to) {
    at = term == Term::result ? work.out : term == Term::other ? other : reinterpret_cast<const char*>(&zero);
    const ptrdiff_t* from = term == Term::result ? work.layout.out : strides;
    for (int i = 0; i < work.layout.rank; ++i) to[i] = term == Term::zero ? 0 : from[i];
  };
  for (size_t i = 0; i < back.count; ++i) {
    Work step = work;
    step.op = back.steps[i].op;
    step.policy = Policy::wrap;
    take(back.steps[i].left, step.a, step.layout.a);
    take(back.steps[i].right, step.b, step.layout.b);
    execute(step);
  }
}

size_t compute_in_buffer(const Work& work) {
  const size_t item = result_size(work.element, work.policy);
  void* block = take_block(work.layout.count() * item);
  if (block == nullptr) return kNoMemory;
  Work inside = work;
  inside.out = static_cast<char*>(block);
  pack_like(inside.layout, work.layout.out, work.layout.out, item);
  Views back{work.layout, inside.out, inside.out, work.out};
  for (int i = 0; i < work.layout.rank; ++i) back.layout.a[i] = back.layout.b[i] = inside.layout.out[i];
  const size_t found = execute(inside);
  if (found == 0) copy(back, item);
  give_block(block);
  return found;
}

}  // namespace

size_t compute(Work& work) {
  const Layout& l = work.layout;
  if (l.count() == 0) return 0;
  if (work.policy == Policy::count) return execute(work);
  const size_t item = item_size(work.element);
  const Operand out{work.out, l.out, result_size(work.element, work.policy)};
  const Range written = range(l, out);
  const Relation a = relation(l, {work.a, l.a, item}, out, written);
  const Relation b = relation(l, {work.b, l.b, item}, out, written);
  if (a == Relation::crossing || b == Relation::crossing) return compute_in_buffer(work);
  const bool over_a = a == Relation::same, over_b = b == Relation::same;
  if (!can_fail(work) || (!over_a && !over_b)) return execute(work);
  const Inverse& inverse = routines().inverse(work.op);
  const Steps& back = over_a ? inverse.a : inverse.b;
  const bool can_undo = over_a && over_b ? inverse.both : back.count > 0;
  // Codes may have upper bits that a table ignores, so they cannot be computed back.
  if (!can_undo || work.element == Element::table) return compute_in_buffer(work);
  const Work whole = work;  // execute() reorders the layout
  const size_t found = execute(work);
  if (found != 0) undo(whole, back, over_a ? whole.b : whole.a, over_a ? whole.layout.b : whole.layout.a);
  return found;
}

}  // namespace minuend
