// SPDX-License-Identifier: Apache-2.0
//
// Elements of two kinds and the rest, to three outputs: three_way_partition_copy.
//
//   r                  3 8 1 5 9 2      less than 3 first, more than 6 second
//   first  1 2         second  8 9      rest  3 5
//
// This is partition_copy (select.hpp) with two counts for one: a lane counts both kinds in the halves of a word, so that one scan
// ranks all, and blocks exchange both counts at once. In shared memory the first kind moves to the front of a warp's part, the rest to
// the front of as much room behind it, and the second kind fills that from its end back.
//
// Work n; traffic n elements read, n written; one launch. All three keep their order. (PMPP ch. 11; cub::DevicePartition::If with
// two predicates, whose rest comes reversed.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/selection.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// The ends of what three_way_partition_copy has written.
template <class First, class Second, class Rest>
struct three_ends {
  First first;
  Second second;
  Rest rest;
};

namespace detail {

/// The kind of an element, as a selection counts it (select/kernel.hpp).
template <class IsFirst, class IsSecond>
struct keep_by_kind {
  static constexpr bool neighbours = false;
  static constexpr std::uint64_t first = 1, second = std::uint64_t(1) << 32;
  IsFirst is_first;
  IsSecond is_second;
  template <class T>
  PMPP_HOST_DEVICE std::uint64_t test(const T& x) const {
    if (static_cast<bool>(is_first(value_of_stored(x)))) return first;
    return static_cast<bool>(is_second(value_of_stored(x))) ? second : 0;
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};
struct store_three_ways {
  three_way_selection* out;
  PMPP_HOST_DEVICE void operator()(const three_way_selection& s) const { *out = s; }
};
template <class Out>
struct store_two_counts {
  Out out;
  PMPP_HOST_DEVICE void operator()(const three_way_selection& s) const {
    out[0] = static_cast<value_of<Out>>(s.kept);
    out[1] = static_cast<value_of<Out>>(s.second);
  }
};

/// One loop over in[begin, end).
template <class In, class First, class Second, class Rest, class Kinds>
three_way_selection split_three_ways(const In& in, std::int64_t begin, std::int64_t end, const First& first,
                                     const Second& second, const Rest& rest, const Kinds& kinds) {
  std::int64_t of_first = 0, of_second = 0, of_rest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const value_of<In> x = in[i];
    const std::uint64_t kind = kinds.test(x);
    if (kind == Kinds::first)
      first[of_first++] = static_cast<value_of<First>>(x);
    else if (kind == Kinds::second)
      second[of_second++] = static_cast<value_of<Second>>(x);
    else
      rest[of_rest++] = static_cast<value_of<Rest>>(x);
  }
  return {of_first, of_second, end - begin};
}
/// host: tasks of a fixed number of elements; each keeps what it has split until its turn.
template <class P, class In, class First, class Second, class Rest, class Kinds>
three_way_selection partition_on_host(const P& where, const input<In>& in, const First& first, const Second& second,
                                      const Rest& rest, const Kinds& kinds) {
  const std::int64_t n = in.count.get();
  if constexpr (std::is_same_v<P, seq_policy>) {
    return detail::split_three_ways(in.first, 0, n, first, second, rest, kinds);
  } else {
    constexpr std::int64_t grain = host_loop::grain;
    host_loop::turns order;
    three_way_selection found{0, 0, n};
    host_loop::parallel_for(where, ceil_div(n, grain), [&](std::int64_t) {
      host_loop::turn mine(order);
      const std::int64_t begin = mine.number() * grain, end = min(n, begin + grain);
      host_loop::task_results<value_of<In>> split(3 * grain);
      auto *const a = split.data(), *const b = a + grain, *const c = b + grain;
      const three_way_selection here = detail::split_three_ways(in.first, begin, end, a, b, c, kinds);
      mine.wait();
      const three_way_selection before = found;
      found.kept += here.kept;
      found.second += here.second;
      mine.pass();
      const auto copy = [](const auto* from, std::int64_t count, const auto& out, std::int64_t place) {
        for (std::int64_t k = 0; k < count; ++k)
          out[place + k] = static_cast<value_of<std::remove_cvref_t<decltype(out)>>>(from[k]);
      };
      copy(a, here.kept, first, before.kept);
      copy(b, here.second, second, before.second);
      copy(c, here.n - here.kept - here.second, rest, begin - before.kept - before.second);
    });
    return found;
  }
}

/// Checks the arguments and calls f(input, output of the first kind, outputs of the others, kinds).
template <class P, class R, class First, class Second, class Rest, class IsFirst, class IsSecond, class F>
void with_three_ways(const char* function, R& r, First& out_first, Second& out_second, Rest& out_rest,
                     const IsFirst& is_first, const IsSecond& is_second, const F& f) {
  const auto in = detail::input_of(function, r);
  const std::int64_t n = in.count.bound;
  const auto first = detail::unbounded_output(function, "out_first", out_first, n, in);
  const auto second = detail::unbounded_output(function, "out_second", out_second, n, in);
  const auto rest = detail::unbounded_output(function, "out_rest", out_rest, n, in);
  using others = second_and_rest<std::remove_const_t<decltype(second)>, std::remove_const_t<decltype(rest)>>;
  using T = element_value<R>;
  if constexpr (require_marked<gpu_execution<P>, IsFirst>() && require_marked<gpu_execution<P>, IsSecond>() &&
                require_predicate<IsFirst, T>() && require_predicate<IsSecond, T>())
    f(detail::with_stored(in), first, others{second, rest}, keep_by_kind<IsFirst, IsSecond>{is_first, is_second});
}

}  // namespace detail

/// Copies the elements for which is_first is true to out_first, of the others those for which is_second is true to out_second, and
/// what is left to out_rest; all in their order.
///
/// \param r          a range, or two iterators; visible to `where`. Elements are trivially copyable.
/// \param out_first, out_second, out_rest  iterators or ranges; visible to `where`; apart from r and each other. \pre room for what
///                   comes: that is not checked, and nothing after it is touched.
/// \param is_first, is_second  callable on `where`'s machine; called at most once for each element.
/// \return the iterators past the last elements written: .first, .second, .rest.
/// Waits for the policy's stream; three_way_partition_copy_into leaves the numbers of the first two in counts_out[0] and [1]
/// instead, does not wait, may be captured, and takes a device_count. Scratch: 16 bytes of state a tile of 50 KB, from the workspace
/// or one allocation in stream order. Cost: n elements read, n written; one launch.
/// \throws std::invalid_argument for a null or reversed input, a null output or one that begins in r, or when the stream is being
/// captured; cuda_error. Source: PMPP ch. 11. Example: test/three_way_partition.cpp, three ways.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> First,
          output_for<P> Second, output_for<P> Rest, class IsFirst, class IsSecond>
auto three_way_partition_copy(const P& where, R&& r, First&& out_first, Second&& out_second, Rest&& out_rest,
                              IsFirst is_first, IsSecond is_second) {
  const char* const function = "three_way_partition_copy";
  detail::three_way_selection found{};
  detail::with_three_ways<P>(function, r, out_first, out_second, out_rest, is_first, is_second,
                             [&](const auto& in, const auto& first, const auto& others, const auto& kinds) {
                               if constexpr (kernel_execution<P>) {
                                 detail::reply<detail::three_way_selection, P> answer(function, where);
                                 detail::select_on_blocks<Tuning>(function, answer.policy(), in, first, others,
                                                                  detail::store_three_ways{answer.target()}, kinds,
                                                                  answer.done());
                                 found = answer.wait();
                               } else {
                                 found = detail::partition_on_host(where, in, first, others.second, others.rest, kinds);
                               }
                             });
  const auto end_first = detail::begin_of(out_first) + found.kept;
  const auto end_second = detail::begin_of(out_second) + found.second;
  const auto end_rest = detail::begin_of(out_rest) + (found.n - found.kept - found.second);
  return three_ends<std::remove_const_t<decltype(end_first)>, std::remove_const_t<decltype(end_second)>,
                    std::remove_const_t<decltype(end_rest)>>{end_first, end_second, end_rest};
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> First,
          output_for<P> Second, output_for<P> Rest, output_for<P> C, class IsFirst, class IsSecond>
void three_way_partition_copy_into(const P& where, R&& r, First&& out_first, Second&& out_second, Rest&& out_rest,
                                   C&& counts_out, IsFirst is_first, IsSecond is_second) {
  const char* const function = "three_way_partition_copy_into";
  detail::check_output(function, "counts_out", counts_out, 2);
  const auto counts = detail::unwrap(detail::begin_of(counts_out));
  using sink = detail::store_two_counts<std::remove_const_t<decltype(counts)>>;
  static_assert(std::is_integral_v<value_of<decltype(sink::out)>>, "pmpp: counts_out must take integers");
  detail::with_three_ways<P>(
      function, r, out_first, out_second, out_rest, is_first, is_second,
      [&](const auto& in, const auto& first, const auto& others, const auto& kinds) {
        if constexpr (kernel_execution<P>) {
          detail::check_reachable(where, function, counts);
          detail::select_on_blocks<Tuning>(function, where, in, first, others, sink{counts}, kinds,
                                           detail::completion{});
        } else {
          sink{counts}(detail::partition_on_host(where, in, first, others.second, others.rest, kinds));
        }
      });
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, output First, output Second, output Rest, class IsFirst, class IsSecond>
auto three_way_partition_copy(const P& where, It first, It last, First&& out_first, Second&& out_second, Rest&& out_rest, IsFirst is_first, IsSecond is_second) { return three_way_partition_copy<Tuning>(where, subrange{first, last}, out_first, out_second, out_rest, is_first, is_second); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output First, output Second, output Rest, output C, class IsFirst, class IsSecond>
void three_way_partition_copy_into(const P& where, It first, End last, First&& out_first, Second&& out_second, Rest&& out_rest, C&& counts_out, IsFirst is_first, IsSecond is_second) { three_way_partition_copy_into<Tuning>(where, subrange{first, last}, out_first, out_second, out_rest, counts_out, is_first, is_second); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
