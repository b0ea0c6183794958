// SPDX-License-Identifier: Apache-2.0
//
// Reductions over several ranks: reduce, transform_reduce, min_element, max_element, minmax_element.
//
//   1. Each rank that has elements reduces its block, in one launch, to a partial result in its memory.
//   2. The partial results of all ranks are gathered, in the order of the ranks: sizeof(A) bytes from each.
//   3. One rank of each process joins them, in that order, and its host reads the running totals. So every process has the same
//      value, to the last bit, and scan.hpp has what stands in front of each rank.
//   Where one process has all ranks, and the operator is one of pmpp's own, each rank tells the host instead, which joins.
//
// Operands stay in order: associative is enough, no identity is needed, and ranks without elements are left out. The grouping depends
// on the blocks: a sum of floating-point numbers may differ in the last bits from that of another number of ranks. gpus.same_bits() group by
// index instead (same_bits.hpp).
// Traffic: n elements read, p partial results exchanged. (PMPP ch. 10 and 20.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_bits.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The joined results of ranks 0 to r, for each rank r that has elements; before it: `init` where it is present.
template <class A>
struct totals_of_ranks {
  initial_value<A> init;
  std::vector<int> ranks;  ///< that have elements
  std::vector<A> totals;   ///< through each of them

  /// What stands in front of a rank.
  initial_value<A> before(int rank) const {
    initial_value<A> result = init;
    for (std::size_t k = 0; k < ranks.size() && ranks[k] < rank; ++k) result = {totals[k], true};
    return result;
  }
  A all() const { return totals.empty() ? init.value : totals.back(); }
};

/// Replaces partial results by their running totals. One thread: there are as many as ranks.
template <class A, class Op>
struct join_in_order {
  A* partials;
  std::int64_t count;
  initial_value<A> init;
  Op op;
  PMPP_HOST_DEVICE void operator()(std::int64_t) const {
    A total = partials[0];
    if (init.present) total = static_cast<A>(op(init.value, total));
    partials[0] = total;
    for (std::int64_t k = 1; k < count; ++k) partials[k] = total = static_cast<A>(op(total, partials[k]));
  }
};

/// What each rank here makes of its elements, sent to the host, which waits for all of them at once; `none` of no elements.
/// \param input_at  number of a rank here -> its elements, in order
template <class A, kernel_execution P, class C, class InputAt, class Op>
std::vector<A> folds_of_ranks(const char* function, const devices<P, C>& gpus, InputAt input_at, const Op& op,
                              const A& none) {
  std::vector<std::unique_ptr<reply<A, P>>> answers(std::size_t(gpus.local_size()));
  gpus.each([&](int i, const P& where) {
    const auto in = detail::stored_for<A>(input_at(i));
    if (in.count.bound == 0) return;
    answers[std::size_t(i)] = std::make_unique<reply<A, P>>(function, where);
    reply<A, P>& answer = *answers[std::size_t(i)];
    using T = value_of<std::remove_const_t<decltype(in.first)>>;
    detail::reduce_on_blocks<tuned<reduce_tuning>>(answer.policy(), in, initial_value<A>{},
                                                   detail::folding<gpu_execution<P>, A, T>(detail::plain(op)),
                                                   write_to<A*>{answer.target()}, answer.done());
  });
  std::vector<A> folds;
  for (const auto& answer : answers) folds.push_back(answer ? answer->wait() : none);
  return folds;
}

/// Steps 1 to 3. \param input_at  number of a rank here -> its elements, in order
template <class A, class P, class C, class T, class InputAt, class Op>
totals_of_ranks<A> totals_by_rank(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                  InputAt input_at, const initial_value<A>& init, const Op& op) {
  static_assert(
      !is_same_bits<Op>,
      "pmpp: on several ranks write gpus.same_bits() as the first argument, and op in place of same_bits{op}");
  detail::require_same_call<T, A, Op>(gpus, function, {x.size()});
  totals_of_ranks<A> result{init, detail::ranks_with_elements(x), {}};
  std::vector<std::int64_t> number(static_cast<std::size_t>(gpus.size())), offsets{0};
  for (std::size_t k = 0; k < result.ranks.size(); ++k) {
    number[std::size_t(result.ranks[k])] = static_cast<std::int64_t>(k);
    offsets.push_back(static_cast<std::int64_t>(k) + 1);
  }
  const auto m = static_cast<std::int64_t>(result.ranks.size());
  if (m == 0) return result;
  if (gpus.size() == 1) {  // what reduce on one device does
    gpus.each([&](int, const P& where) {
      result.totals.push_back(detail::reduce_and_wait<tuned<reduce_tuning>>(function, where, input_at(0), init, op));
    });
    return result;
  }

  result.totals.resize(static_cast<std::size_t>(m), init.value);
  const auto join = detail::folding<gpu_execution<P>, A, A>(detail::plain(op));
  using joining = join_in_order<A, std::remove_const_t<decltype(join)>>;
  if constexpr (kernel_execution<P> && is_known_commutative<std::remove_const_t<decltype(join)>, A>)
    if (gpus.all_here()) {  // each rank tells this host, which knows the operator too
      const std::vector<A> folds = detail::folds_of_ranks<A>(function, gpus, input_at, op, init.value);
      for (int i = 0; i < gpus.local_size(); ++i)
        if (!x.part(i).empty()) result.totals[std::size_t(number[std::size_t(gpus.rank(i))])] = folds[std::size_t(i)];
      joining{result.totals.data(), m, init, join}(0);
      return result;
    }

  const auto group = gpus.group();
  const auto partials = detail::arrays_of<A>(*group, [&](int) { return m; });
  gpus.each([&](int i, const P& where) {
    if (x.part(i).empty()) return;
    A* const place = partials[std::size_t(i)].data() + number[std::size_t(gpus.rank(i))];
    detail::reduce_and_sink<tuned<reduce_tuning>>(where, input_at(i), initial_value<A>{}, op, write_to<A*>{place});
  });
  detail::gather_pieces(gpus, result.ranks, offsets, partials);

  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    A* const first = partials[0].data();
    pmpp::for_each(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(1),
                   joining{first, m, init, join});
    detail::copy_to_host(gpus, 0, result.totals.data(), first, static_cast<std::size_t>(m) * sizeof(A));
  });
  gpus.synchronize(0);
  return result;
}

template <class T>
auto block_of(const char* function, const distributed_buffer<T>& x, int i) {
  const auto block = x.part(i);
  return detail::input_of(function, block);
}

/// Elements of a block with their indices in the whole.
template <class P, class C, class T>
auto indexed_block(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x, int i) {
  using counting = counting_iterator<std::int64_t>;
  const auto in = detail::with_stored(detail::block_of(function, x, i));
  using iterator = std::remove_const_t<decltype(in.first)>;
  return mapped<indexed<value_of<iterator>>>(
      input<zip_iterator<iterator, counting>>{{in.first, counting(x.offset(gpus.rank(i)))}, in.count}, make_indexed{});
}

/// The first index of those that compare best; the size of an empty x.
template <bool Greatest, class P, class C, class T, class Comp>
std::int64_t extreme_index(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x,
                           const Comp& comp) {
  detail::require_on(function, "x", gpus, x);
  if (x.size() == 0) return 0;
  using A = indexed<stored_as<T>>;
  const auto by = detail::ordered_by<gpu_execution<P>, T>(comp);
  return detail::totals_by_rank<A>(
             function, gpus, x, [&](int i) { return detail::indexed_block(function, gpus, x, i); }, initial_value<A>{},
             extremum<std::remove_const_t<decltype(by)>, Greatest>{by})
      .all()
      .index();
}

}  // namespace detail

/// Combines all elements: op(... op(op(init, x[0]), x[1]) ..., x[n - 1]), grouped freely, in order; on every process.
///
/// \param gpus      or gpus.same_bits(): the same bits for any number of ranks and any blocks, those of reduce on one device with
///                  same_bits{op}, for op that also commutes (same_bits.hpp has its price).
/// \param init, op  as in reduce on one device; the same on every process.
/// Waits. The same bits on every run with the same blocks. Cost: n elements read; each rank sends and receives p - 1 partial results
/// (all in one process: none for operators of pmpp, else one); one launch a rank, one more to join. One rank: reduce alone.
/// \throws std::invalid_argument if x lies on other devices; communication_error; cuda_error. Source: PMPP ch. 10.
/// Example: test/distributed.cpp, reductions.
template <class P, class C, class T, class A = accumulator_of<T>, class Op = plus>
[[nodiscard]] A reduce(const devices<P, C>& gpus, const distributed_buffer<T>& x, A init = {}, Op op = {}) {
  detail::require_on("reduce", "x", gpus, x);
  return detail::totals_by_rank<detail::stored_as<A>>(
             "reduce", gpus, x, [&](int i) { return detail::block_of("reduce", x, i); }, detail::initial<A>{init, true},
             op)
      .all();
}
template <class P, class C, class T, class A = accumulator_of<T>, class Op = plus>
[[nodiscard]] A reduce(const same_bits_devices<P, C>& same, const distributed_buffer<T>& x, A init = {}, Op op = {}) {
  detail::require_on("reduce", "x", same.gpus, x);
  return detail::reduce_same_bits_of_ranks<detail::stored_as<A>>(
      same.gpus, detail::initial<A>{init, true}, op,
      [](const std::span<const T>& block) { return detail::input_of("reduce", block); }, x);
}

/// Combines f(x[i]) over all elements, or f(x[i], y[i]) (dot product: op plus, f multiplies). As reduce, with gpus.same_bits() too.
/// \param y  of the same blocks as x. \throws as reduce; std::length_error if the blocks differ
template <class P, class C, class T, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const devices<P, C>& gpus, const distributed_buffer<T>& x, A init, Op op, F f) {
  detail::require_on("transform_reduce", "x", gpus, x);
  return detail::totals_by_rank<detail::stored_as<A>>(
             "transform_reduce", gpus, x,
             [&](int i) { return detail::mapped_to<A, Op>(detail::block_of("transform_reduce", x, i), f); },
             detail::initial<A>{init, true}, op)
      .all();
}
template <class P, class C, class T, class U, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                 const distributed_buffer<U>& y, A init, Op op, F f) {
  detail::require_on("transform_reduce", "x", gpus, x);
  detail::require_on("transform_reduce", "y", gpus, y);
  detail::require_same_blocks("transform_reduce", "y", x, y);
  return detail::totals_by_rank<detail::stored_as<A>>(
             "transform_reduce", gpus, x,
             [&](int i) {
               const auto a = x.part(i);
               const auto b = y.part(i);
               return detail::mapped_to<A, Op>(detail::zipped("transform_reduce", a, b), detail::apply_to_pair<F>{f});
             },
             detail::initial<A>{init, true}, op)
      .all();
}
template <class P, class C, class T, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const same_bits_devices<P, C>& same, const distributed_buffer<T>& x, A init, Op op,
                                 F f) {
  detail::require_on("transform_reduce", "x", same.gpus, x);
  return detail::reduce_same_bits_of_ranks<detail::stored_as<A>>(
      same.gpus, detail::initial<A>{init, true}, op,
      [&](const std::span<const T>& a) { return detail::mapped_to<A, Op>(detail::input_of("transform_reduce", a), f); },
      x);
}
template <class P, class C, class T, class U, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const same_bits_devices<P, C>& same, const distributed_buffer<T>& x,
                                 const distributed_buffer<U>& y, A init, Op op, F f) {
  detail::require_on("transform_reduce", "x", same.gpus, x);
  detail::require_on("transform_reduce", "y", same.gpus, y);
  detail::require_same_blocks("transform_reduce", "y", x, y);
  return detail::reduce_same_bits_of_ranks<detail::stored_as<A>>(
      same.gpus, detail::initial<A>{init, true}, op,
      [&](const std::span<const T>& a, const std::span<const U>& b) {
        return detail::mapped_to<A, Op>(detail::zipped("transform_reduce", a, b), detail::apply_to_pair<F>{f});
      },
      x, y);
}

/// The index of the first element that no other comes before under comp (min_element), or that comes before no other (max_element);
/// 0, which is the size, for no elements. On every process.
/// \param comp  as in min_element on one device; a NaN breaks the order of less there, and here.
/// Waits. Cost and \throws as reduce. Example: test/distributed.cpp, extremal elements.
template <class P, class C, class T, class Comp = less>
[[nodiscard]] std::int64_t min_element(const devices<P, C>& gpus, const distributed_buffer<T>& x, Comp comp = {}) {
  return detail::extreme_index<false>("min_element", gpus, x, comp);
}
template <class P, class C, class T, class Comp = less>
[[nodiscard]] std::int64_t max_element(const devices<P, C>& gpus, const distributed_buffer<T>& x, Comp comp = {}) {
  return detail::extreme_index<true>("max_element", gpus, x, comp);
}
/// Both, in one pass over x.
template <class P, class C, class T, class Comp = less>
[[nodiscard]] pair<std::int64_t, std::int64_t> minmax_element(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                                              Comp comp = {}) {
  const char* const function = "minmax_element";
  detail::require_on(function, "x", gpus, x);
  if (x.size() == 0) return {0, 0};
  using E = detail::indexed<detail::stored_as<T>>;
  using A = pair<E, E>;
  const auto by = detail::ordered_by<gpu_execution<P>, T>(comp);
  using order = std::remove_const_t<decltype(by)>;
  const A found =
      detail::totals_by_rank<A>(
          function, gpus, x,
          [&](int i) { return detail::mapped<A>(detail::indexed_block(function, gpus, x, i), detail::twice{}); },
          detail::initial_value<A>{},
          detail::both_extrema<detail::extremum<order, false>, detail::extremum<order, true>>{{by}, {by}})
          .all();
  return {found.first.index(), found.second.index()};
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
