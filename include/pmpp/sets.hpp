// SPDX-License-Identifier: Apache-2.0
//
// Sets as sorted sequences: set_union, set_intersection, set_difference, set_symmetric_difference, and the same by key.
//
//   a                     1 2 2 2 5         of an element that a has m times and b k times the results have
//   b                     2 2 3             union  max(m, k)   intersection  min(m, k)   difference  max(m - k, 0)
//   merged                1 2 2 2 2 2 3 5   symmetric difference  |m - k|
//   kept by difference    1     2       5
//
//   1. A small kernel cuts a and b into parts of 992 elements in all (480 of 8 bytes) that are problems of their own: no element has
//      its counterpart in another part (sets/kernel.hpp).
//   2. A warp copies its part of both to shared memory. The merge never lies in memory: a lane finds where its 31 elements (15 of
//      8 bytes) begin, by a search within the part, and walks on from there, by elements without a counterpart and by pairs.
//   3. What is kept goes to the output as that of copy_if does (select.hpp).
//
// Work n + m; traffic both inputs read once, the kept ones written; two launches. The result is unique: of equals those of a, or
// the last ones, as in std. (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/raw_array.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sets/kernel.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Keeps what the walk has marked.
struct keep_marked {
  static constexpr bool neighbours = false;
  template <bool, class>
  static constexpr bool allowed() {
    return true;
  }
  template <class T>
  PMPP_HOST_DEVICE static bool test(const pair<T, bool>& x) {
    return x.second;
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const pair<T, bool>& x) {
    return x.first;
  }
  /// The same for the first `count` elements of a vector, a bit each.
  template <class Raw>
  PMPP_HOST_DEVICE static unsigned verdicts(const Raw& x, int count) {
    return x.kept & ((1u << count) - 1);
  }
};
struct write_sum_of_counts {
  item_count a, b;
  std::int64_t* sum;
  PMPP_HOST_DEVICE void operator()(std::int64_t) const { *sum = a.get() + b.get(); }
};

/// Enqueues the operation on a GPU or runs it in the emulator.
template <class P, class Sets, class Out, class Sink>
void set_on_blocks(const char* function, const P& where, const Sets& sets, const Out& out, const Sink& sink,
                   const completion& done) {
  using T = value_of<decltype(sets.a)>;
  using merged = set_merge_iterator<Sets, T>;
  using cut = set_cut_kernel<Sets>;
  const std::int64_t n = sets.count_a.bound + sets.count_b.bound, parts = ceil_div(n, merged::part);
  scratch memory(where, checked_bytes(parts + 2, sizeof(std::int64_t), function) + 2 * allocation_alignment, 0);
  std::int64_t* const cuts = memory.template take<std::int64_t>(parts + 1);
  item_count count{n};
  if (sets.count_a.pointer != nullptr || sets.count_b.pointer != nullptr) {
    std::int64_t* const sum = memory.template take<std::int64_t>(1);
    count = {n, sum, true};
    const counting_iterator<std::int64_t> first(0);
    pmpp::for_each(where, first, first + 1, write_sum_of_counts{sets.count_a, sets.count_b, sum});
  }
  pmpp::launch(where, ceil_div(parts + 1, std::int64_t(cut::cuts_of_block)), cut{},
               typename cut::arguments{sets, merged::part, parts, cuts});
  merged all{};
  all.sets = sets;
  all.cuts = cuts;
  // Some blocks: one walks while others wait for memory; small ones suit short elements, of which a warp's part is long. Where the walk
  // reads memory itself, loads wait for each other, so that as many threads as there can be take a vector each.
  constexpr select_tuning tuning = !merged::by_rows ? select_tuning{.threads = 992, .rows = 6}
                                   : sizeof(T) <= 4 ? select_tuning{.threads = 256, .rows = 8, .blocks = 3}
                                                    : select_tuning{.threads = 416, .rows = 8, .blocks = 2};
  detail::select_on_blocks<tuning>(function, where, input<merged>{all, count}, out, nowhere{}, sink, keep_marked{},
                                   done);
}

// What a walk on a processor takes to; not lambdas, since nvcc compiles walk() for GPUs too.
/// Writes the elements that are kept, one after the other.
template <class T, class Out>
struct write_next {
  const Out& out;
  std::int64_t& count;
  PMPP_HOST_DEVICE void operator()(const T& x, bool keep) const {
    if (keep) block::assign(out, count++, x);
  }
};
/// The same, where there are no elements yet.
template <class T>
struct construct_next {
  T* at;
  std::int64_t& count;
  PMPP_HOST_DEVICE void operator()(const T& x, bool keep) const {
    if (keep) ::new (static_cast<void*>(at + count++)) T(x);
  }
};

/// seq: one walk. host: tasks of a fixed number of elements of the merge; each keeps what it has found until its turn.
template <class P, class Sets, class Out>
selection set_on_host(const P& where, const Sets& sets, const Out& out) {
  using T = value_of<decltype(sets.a)>;
  const std::int64_t n = sets.count_a.get(), m = sets.count_b.get();
  std::int64_t kept = 0;
  if constexpr (std::is_same_v<P, seq_policy>) {
    sets.walk({0, 0}, n + m, n, m, write_next<T, Out>{out, kept});
  } else {
    constexpr std::int64_t grain = host_loop::grain;
    host_loop::turns order;
    host_loop::parallel_for(where, ceil_div(n + m, grain), [&](std::int64_t) {
      host_loop::turn mine(order);
      const std::int64_t begin = mine.number() * grain, end = min(n + m, begin + grain);
      raw_array<T> found(end - begin);
      std::int64_t count = 0;
      sets.walk(sets.cut(begin, sets.a, n, sets.b, m), end, n, m, construct_next<T>{found.data(), count});
      mine.wait();
      const std::int64_t before = kept;
      kept += count;
      mine.pass();
      for (std::int64_t k = 0; k < count; ++k) block::assign(out, before + k, found.data()[k]);
    });
  }
  return {kept, n + m};
}

/// The sequences, checked, and f(sets) for what is to be done with them.
template <set_operation Operation, class P, class InA, class InB, class Comp, class F>
void with_sets(const char* function, const P& where, const input<InA>& a, const input<InB>& b, const Comp& comp,
               const F& f) {
  using T = value_of<InA>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements must be trivially copyable");
  const auto by = detail::ordered_by<gpu_execution<P>, T>(comp);
  const auto x = detail::with_stored(a);
  const auto y = detail::with_stored(b);
  detail::check_sorted(where, x, y, by, "sets: the first input", "sets: the second input");
  if constexpr (kernel_execution<P>) detail::check_reachable(where, function, zip_iterator{x.first, y.first});
  using sets = set_of_two<std::remove_const_t<decltype(x.first)>, std::remove_const_t<decltype(y.first)>,
                          std::remove_const_t<decltype(by)>, Operation>;
  f(sets{x.first, y.first, x.count, y.count, by});
}
template <set_operation Operation, class P, class InA, class InB, class Out, class Comp>
std::int64_t set_and_wait(const char* function, const P& where, const input<InA>& a, const input<InB>& b,
                          const Out& out, const Comp& comp) {
  std::int64_t kept = 0;
  detail::with_sets<Operation>(function, where, a, b, comp, [&](const auto& sets) {
    if constexpr (kernel_execution<P>) {
      reply<selection, P> answer(function, where);
      detail::set_on_blocks(function, answer.policy(), sets, out, store_selection{answer.target()}, answer.done());
      kept = answer.wait().kept;
    } else {
      kept = detail::set_on_host(where, sets, out).kept;
    }
  });
  return kept;
}
template <set_operation Operation, class P, class InA, class InB, class Out, class C, class Comp>
void set_and_store(const char* function, const P& where, const input<InA>& a, const input<InB>& b, const Out& out,
                   C& count_out, const Comp& comp) {
  const auto sink = detail::count_sink(function, where, count_out);
  detail::with_sets<Operation>(function, where, a, b, comp, [&](const auto& sets) {
    if constexpr (kernel_execution<P>)
      detail::set_on_blocks(function, where, sets, out, sink, completion{});
    else
      sink(detail::set_on_host(where, sets, out));
  });
}

template <set_operation Operation, class P, class A, class B, class O, class Comp>
auto set_to(const char* function, const P& where, A& a, B& b, O& out, const Comp& comp) {
  const auto in_a = detail::input_of(function, a);
  const auto in_b = detail::converted<element_value<A>>(detail::input_of(function, b));
  const auto target = detail::unbounded_output(function, "out", out, in_a.count.bound + in_b.count.bound, in_a, in_b);
  std::int64_t kept = 0;
  if constexpr (require_order<Comp, element_value<A>>())
    kept = detail::set_and_wait<Operation>(function, where, in_a, in_b, target, comp);
  return detail::begin_of(out) + kept;
}
template <set_operation Operation, class P, class A, class B, class O, class C, class Comp>
void set_into(const char* function, const P& where, A& a, B& b, O& out, C& count_out, const Comp& comp) {
  const auto in_a = detail::input_of(function, a);
  const auto in_b = detail::converted<element_value<A>>(detail::input_of(function, b));
  const auto target = detail::unbounded_output(function, "out", out, in_a.count.bound + in_b.count.bound, in_a, in_b);
  detail::set_and_store<Operation>(function, where, in_a, in_b, target, count_out, comp);
}
/// Writes a key and its value to two outputs.
template <class Keys, class Values>
struct write_pair_of_set {
  Keys keys;
  Values values;
  template <class X>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const X& x) const {
    keys[i] = static_cast<value_of<Keys>>(x.first);
    values[i] = static_cast<value_of<Values>>(x.second);
  }
};
/// Checks keys and values, and calls f(a, b, output of pairs, order of pairs).
template <class P, class KA, class VA, class KB, class VB, class KOut, class VOut, class Comp, class F>
void with_pairs_of_sets(const char* function, KA& keys_a, VA& values_a, KB& keys_b, VB& values_b, KOut& keys_out,
                        VOut& values_out, const Comp& comp, const F& f) {
  const auto a = detail::pairs_of(function, keys_a, values_a);
  using T = value_of<std::remove_const_t<decltype(a.first)>>;
  const auto b = detail::converted<T>(detail::pairs_of(function, keys_b, values_b));
  const std::int64_t n = a.count.bound + b.count.bound;
  const auto keys = detail::unbounded_output(function, "keys_out", keys_out, n, a, b);
  const auto values = detail::unbounded_output(function, "values_out", values_out, n, a, b);
  using write = write_pair_of_set<std::remove_const_t<decltype(keys)>, std::remove_const_t<decltype(values)>>;
  f(a, b, tabulate_output<stored_as<T>>(write{keys, values}), by_first<Comp>{comp});
}
template <set_operation Operation, class P, class KA, class VA, class KB, class VB, class KOut, class VOut, class Comp>
auto set_by_key(const char* function, const P& where, KA& keys_a, VA& values_a, KB& keys_b, VB& values_b,
                KOut& keys_out, VOut& values_out, const Comp& comp) {
  std::int64_t kept = 0;
  detail::with_pairs_of_sets<P>(function, keys_a, values_a, keys_b, values_b, keys_out, values_out, comp,
                                [&](const auto& a, const auto& b, const auto& out, const auto& by) {
                                  kept = detail::set_and_wait<Operation>(function, where, a, b, out, by);
                                });
  const auto keys_end = detail::begin_of(keys_out) + kept;
  const auto values_end = detail::begin_of(values_out) + kept;
  return pair<std::remove_const_t<decltype(keys_end)>, std::remove_const_t<decltype(values_end)>>{keys_end, values_end};
}
template <set_operation Operation, class P, class KA, class VA, class KB, class VB, class KOut, class VOut, class C,
          class Comp>
void set_by_key_into(const char* function, const P& where, KA& keys_a, VA& values_a, KB& keys_b, VB& values_b,
                     KOut& keys_out, VOut& values_out, C& count_out, const Comp& comp) {
  detail::with_pairs_of_sets<P>(function, keys_a, values_a, keys_b, values_b, keys_out, values_out, comp,
                                [&](const auto& a, const auto& b, const auto& out, const auto& by) {
                                  detail::set_and_store<Operation>(function, where, a, b, out, count_out, by);
                                });
}

}  // namespace detail

/// Writes the elements that sorted a or b have: of equals, those of a, and of b as many as it has more.
///
/// \param a, b  ranges, or two iterators each, or an iterator and a device_count each; visible to `where`. Elements are trivially
///              copyable; those of b become elements of a's type. \pre sorted by comp; checked in debug mode.
/// \param out   an iterator or a range; visible to `where`; apart from a and b. \pre room for the result, at most for all
///              elements: that is not checked, and nothing after the result is touched.
/// \param comp  a strict weak order, callable on `where`'s machine.
/// \return the iterator past the last element written.
/// Waits for the policy's stream; set_union_into does not, and leaves the number of elements written in *count_out. Scratch: 8 bytes
/// for every 992 elements (480 of 5 to 8 bytes, 160 of 9 to 24, 512 of more), and that of copy_if. Cost: both inputs read once, the result written once; two launches.
/// \throws std::invalid_argument for a null or reversed input, a null output or one that begins in an input, or when the stream is
/// being captured; cuda_error. Source: PMPP ch. 12. Example: test/sets.cpp, sets.
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, class Comp = less>
auto set_union(const P& where, A&& a, B&& b, O&& out, Comp comp = {}) {
  return detail::set_to<detail::set_operation::of_union>("set_union", where, a, b, out, comp);
}
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, output_for<P> C, class Comp = less>
void set_union_into(const P& where, A&& a, B&& b, O&& out, C&& count_out, Comp comp = {}) {
  detail::set_into<detail::set_operation::of_union>("set_union_into", where, a, b, out, count_out, comp);
}

/// Writes the elements of a that b has too, of equals the first, as many as b has. As set_union.
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, class Comp = less>
auto set_intersection(const P& where, A&& a, B&& b, O&& out, Comp comp = {}) {
  return detail::set_to<detail::set_operation::of_intersection>("set_intersection", where, a, b, out, comp);
}
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, output_for<P> C, class Comp = less>
void set_intersection_into(const P& where, A&& a, B&& b, O&& out, C&& count_out, Comp comp = {}) {
  detail::set_into<detail::set_operation::of_intersection>("set_intersection_into", where, a, b, out, count_out, comp);
}

/// Writes the elements of a that b has not, of equals the last, as many as a has more. As set_union.
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, class Comp = less>
auto set_difference(const P& where, A&& a, B&& b, O&& out, Comp comp = {}) {
  return detail::set_to<detail::set_operation::of_difference>("set_difference", where, a, b, out, comp);
}
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, output_for<P> C, class Comp = less>
void set_difference_into(const P& where, A&& a, B&& b, O&& out, C&& count_out, Comp comp = {}) {
  detail::set_into<detail::set_operation::of_difference>("set_difference_into", where, a, b, out, count_out, comp);
}

/// Writes the elements of which one of a and b has more, of equals the last, as many as it has more. As set_union.
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, class Comp = less>
auto set_symmetric_difference(const P& where, A&& a, B&& b, O&& out, Comp comp = {}) {
  return detail::set_to<detail::set_operation::of_symmetric_difference>("set_symmetric_difference", where, a, b, out,
                                                                        comp);
}
template <execution_policy P, range_for<P> A, range_for<P> B, output_for<P> O, output_for<P> C, class Comp = less>
void set_symmetric_difference_into(const P& where, A&& a, B&& b, O&& out, C&& count_out, Comp comp = {}) {
  detail::set_into<detail::set_operation::of_symmetric_difference>("set_symmetric_difference_into", where, a, b, out,
                                                                   count_out, comp);
}

/// As set_union of keys, each with its value beside it.
///
/// \param values_a, values_b    iterators, or ranges as long as their keys; visible to `where`.
/// \param keys_out, values_out  as out of set_union.
/// \return the iterators past the last key and value written, as a pair. set_union_by_key_into leaves the number of keys written in
/// *count_out instead, and does not wait.
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, class Comp = less>
auto set_union_by_key(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                      VOut&& values_out, Comp comp = {}) {
  return detail::set_by_key<detail::set_operation::of_union>("set_union_by_key", where, keys_a, values_a, keys_b,
                                                             values_b, keys_out, values_out, comp);
}
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, output_for<P> C, class Comp = less>
void set_union_by_key_into(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                           VOut&& values_out, C&& count_out, Comp comp = {}) {
  detail::set_by_key_into<detail::set_operation::of_union>("set_union_by_key_into", where, keys_a, values_a, keys_b,
                                                           values_b, keys_out, values_out, count_out, comp);
}

/// As set_union_by_key, for set_intersection.
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, class Comp = less>
auto set_intersection_by_key(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                             VOut&& values_out, Comp comp = {}) {
  return detail::set_by_key<detail::set_operation::of_intersection>("set_intersection_by_key", where, keys_a, values_a,
                                                                    keys_b, values_b, keys_out, values_out, comp);
}
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, output_for<P> C, class Comp = less>
void set_intersection_by_key_into(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b,
                                  KOut&& keys_out, VOut&& values_out, C&& count_out, Comp comp = {}) {
  detail::set_by_key_into<detail::set_operation::of_intersection>(
      "set_intersection_by_key_into", where, keys_a, values_a, keys_b, values_b, keys_out, values_out, count_out, comp);
}

/// As set_union_by_key, for set_difference.
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, class Comp = less>
auto set_difference_by_key(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                           VOut&& values_out, Comp comp = {}) {
  return detail::set_by_key<detail::set_operation::of_difference>("set_difference_by_key", where, keys_a, values_a,
                                                                  keys_b, values_b, keys_out, values_out, comp);
}
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, output_for<P> C, class Comp = less>
void set_difference_by_key_into(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                                VOut&& values_out, C&& count_out, Comp comp = {}) {
  detail::set_by_key_into<detail::set_operation::of_difference>(
      "set_difference_by_key_into", where, keys_a, values_a, keys_b, values_b, keys_out, values_out, count_out, comp);
}

/// As set_union_by_key, for set_symmetric_difference.
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, class Comp = less>
auto set_symmetric_difference_by_key(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b,
                                     KOut&& keys_out, VOut&& values_out, Comp comp = {}) {
  return detail::set_by_key<detail::set_operation::of_symmetric_difference>(
      "set_symmetric_difference_by_key", where, keys_a, values_a, keys_b, values_b, keys_out, values_out, comp);
}
template <execution_policy P, range_for<P> KA, output_for<P> VA, range_for<P> KB, output_for<P> VB, output_for<P> KOut,
          output_for<P> VOut, output_for<P> C, class Comp = less>
void set_symmetric_difference_by_key_into(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b,
                                          KOut&& keys_out, VOut&& values_out, C&& count_out, Comp comp = {}) {
  detail::set_by_key_into<detail::set_operation::of_symmetric_difference>("set_symmetric_difference_by_key_into", where,
                                                                          keys_a, values_a, keys_b, values_b, keys_out,
                                                                          values_out, count_out, comp);
}

// The same for two iterators each, or an iterator and a device_count each.
// clang-format off
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, class Comp = less> requires reachable_by<A, P>
auto set_union(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, Comp comp = {}) { return set_union(where, subrange{a, a_end}, subrange{b, b_end}, out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, output_for<P> C, class Comp = less> requires reachable_by<A, P>
void set_union_into(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, C&& count_out, Comp comp = {}) { set_union_into(where, subrange{a, a_end}, subrange{b, b_end}, out, count_out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, class Comp = less> requires reachable_by<A, P>
auto set_intersection(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, Comp comp = {}) { return set_intersection(where, subrange{a, a_end}, subrange{b, b_end}, out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, output_for<P> C, class Comp = less> requires reachable_by<A, P>
void set_intersection_into(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, C&& count_out, Comp comp = {}) { set_intersection_into(where, subrange{a, a_end}, subrange{b, b_end}, out, count_out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, class Comp = less> requires reachable_by<A, P>
auto set_difference(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, Comp comp = {}) { return set_difference(where, subrange{a, a_end}, subrange{b, b_end}, out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, output_for<P> C, class Comp = less> requires reachable_by<A, P>
void set_difference_into(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, C&& count_out, Comp comp = {}) { set_difference_into(where, subrange{a, a_end}, subrange{b, b_end}, out, count_out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, class Comp = less> requires reachable_by<A, P>
auto set_symmetric_difference(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, Comp comp = {}) { return set_symmetric_difference(where, subrange{a, a_end}, subrange{b, b_end}, out, comp); }
template <execution_policy P, random_access A, end_of<A> AEnd, random_access B, end_of<B> BEnd, output_for<P> O, output_for<P> C, class Comp = less> requires reachable_by<A, P>
void set_symmetric_difference_into(const P& where, A a, AEnd a_end, B b, BEnd b_end, O&& out, C&& count_out, Comp comp = {}) { set_symmetric_difference_into(where, subrange{a, a_end}, subrange{b, b_end}, out, count_out, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
