// SPDX-License-Identifier: Apache-2.0
//
// Elements of two kinds and the rest, to three outputs: three_way_partition_copy.
//
//   r                  3 8 1 5 9 2      less than 3 first, more than 6 second
//   first  1 2         second  8 9      rest  3 5
//
//   One scan (scan.hpp) counts both kinds at once, in the halves of a word; its output is a function that takes each element to its
//   place by the two counts. The upper bit of a half says that the element itself is of that kind, so that each predicate is called
//   once for an element. Parts of 2^30 elements, one after the other, so that halves do not overflow.
//
// Work n; traffic n elements read (again when they are written, from the cache), n written; two launches, two more for each further
// 2^30 elements. All three keep their order. (PMPP ch. 11; cub::DevicePartition::If with two predicates, whose rest comes reversed.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The ends of what three_way_partition_copy has written.
template <class First, class Second, class Rest>
struct three_ends {
  First first;
  Second second;
  Rest rest;
};

namespace detail {

/// Two counts of up to 2^30, of which each has a mark in its upper bit.
struct marked_counts {
  static constexpr std::uint64_t first = 1, second = std::uint64_t(1) << 32, marks = first << 31 | second << 31;
  PMPP_HOST_DEVICE static std::int64_t of_first(std::uint64_t x) { return static_cast<std::int64_t>(x & 0x7fffffff); }
  PMPP_HOST_DEVICE static std::int64_t of_second(std::uint64_t x) {
    return static_cast<std::int64_t>(x >> 32 & 0x7fffffff);
  }
};
/// How many of both kinds there are up to some part.
struct kinds {
  std::int64_t first, second;
};
/// Counts add up; the marks are those of the last element.
struct add_marked {
  PMPP_HOST_DEVICE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    return (a & ~marked_counts::marks) + b;
  }
};
}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class IsFirst, class IsSecond>
struct mark_kind {
  IsFirst is_first;
  IsSecond is_second;
  template <class T>
  PMPP_HOST_DEVICE std::uint64_t operator()(const T& x) const {
    if (static_cast<bool>(is_first(x))) return marked_counts::first << 31 | marked_counts::first;
    if (static_cast<bool>(is_second(x))) return marked_counts::second << 31 | marked_counts::second;
    return 0;
  }
};

template <class In, class First, class Second, class Rest>
struct write_by_kind {
  In in;  ///< of the part
  First first;
  Second second;
  Rest rest;
  std::int64_t before;  ///< elements before the part
  const kinds* found;   ///< of them; none for the first part
  kinds* found_after;
  item_count count;  ///< of all elements
  std::int64_t part;

  PMPP_HOST_DEVICE void operator()(std::int64_t i, std::uint64_t x) const {
    const kinds old = found == nullptr ? kinds{0, 0} : *found;
    const kinds here{old.first + marked_counts::of_first(x), old.second + marked_counts::of_second(x)};
    if ((x & marked_counts::first << 31) != 0)
      first[here.first - 1] = static_cast<value_of<First>>(in[i]);
    else if ((x & marked_counts::second << 31) != 0)
      second[here.second - 1] = static_cast<value_of<Second>>(in[i]);
    else
      rest[before + i - here.first - here.second] = static_cast<value_of<Rest>>(in[i]);
    if (i + 1 == min(count.get() - before, part)) *found_after = here;
  }
};
/// Hands over the counts up to the last part that has elements.
template <class Sink>
struct hand_over_kinds {
  const kinds* found;
  item_count count;
  std::int64_t part;
  Sink sink;
  completion done;
  PMPP_HOST_DEVICE void operator()(std::int64_t) const {
    const std::int64_t n = count.get();
    sink(n == 0 ? kinds{0, 0} : found[ceil_div(n, part) - 1], n);
    done.signal();
  }
};
struct part_length {
  item_count count;
  std::int64_t part;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t k) const {
    return max(std::int64_t(0), min(part, count.get() - k * part));
  }
};
template <class C>
struct store_kinds {
  C out;
  PMPP_HOST_DEVICE void operator()(const kinds& k, std::int64_t) const {
    out[0] = static_cast<value_of<C>>(k.first);
    out[1] = static_cast<value_of<C>>(k.second);
  }
};
struct found_kinds {
  kinds of_both;
  std::int64_t n;
};
struct reply_kinds {
  found_kinds* out;
  PMPP_HOST_DEVICE void operator()(const kinds& k, std::int64_t n) const { *out = {k, n}; }
};

template <std::int64_t Part, class P, class In, class First, class Second, class Rest, class Kind, class Sink>
void partition_three_ways(const char* function, const P& where, const input<In>& in, const First& first,
                          const Second& second, const Rest& rest, const Kind& kind, const Sink& sink,
                          const completion& done) {
  static_assert(Part <= std::int64_t(1) << 30);
  using counter = counting_iterator<std::int64_t>;
  if constexpr (kernel_execution<P>)
    detail::check_reachable(where, function, zip_iterator{zip_iterator{in.first, first}, zip_iterator{second, rest}});
  const std::int64_t parts = ceil_div(in.count.bound, Part);
  // For each part what has been found up to its end, and its length.
  detail::with_room<kinds>(function, where, parts + 1, [&](kinds* found) {
    detail::with_room<std::int64_t>(function, where, parts + 1, [&](std::int64_t* length) {
      if (in.count.pointer != nullptr)
        pmpp::transform(where, counter(0), counter(0) + parts, length, part_length{in.count, Part});
      for (std::int64_t k = 0; k < parts; ++k) {
        const std::int64_t before = k * Part;
        const item_count of_part{min(Part, in.count.bound - before), in.count.pointer == nullptr ? nullptr : length + k,
                                 true};
        const In here = in.first + before;
        auto sorted = tabulate_output<std::uint64_t>(write_by_kind<In, First, Second, Rest>{
            here, first, second, rest, before, k == 0 ? nullptr : found + (k - 1), found + k, in.count, Part});
        detail::scan_input<tuned<scan_tuning>, scan_kind::inclusive>(
            function, where, detail::mapped<std::uint64_t>(input<In>{here, of_part}, kind), sorted,
            scan_start<std::uint64_t>{}, add_marked{});
      }
      pmpp::for_each(where, counter(0), counter(1), hand_over_kinds<Sink>{found, in.count, Part, sink, done});
    });
  });
}

/// Refuses predicates that cannot be called, when it compiles, and elements that cannot be held.
template <bool OnGpu, class T, class IsFirst, class IsSecond>
constexpr bool require_kinds() {
  return require_marked<OnGpu, IsFirst>() && require_marked<OnGpu, IsSecond>() && require_predicate<IsFirst, T>() &&
         require_predicate<IsSecond, T>();
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
/// instead, does not wait, may be captured, and takes a device_count. Scratch: inclusive_scan's of 8 bytes an element, and 24 bytes
/// for each 2^30 elements, from the workspace or one allocation each in stream order. Cost: see above.
/// \throws std::invalid_argument for a null or reversed input, a null output or one that begins in r, or when the stream is being
/// captured; cuda_error. Source: PMPP ch. 11. Example: test/three_way_partition.cpp, three ways.
template <std::int64_t Part = std::int64_t(1) << 30, execution_policy P, range_for<P> R, output_for<P> First,
          output_for<P> Second, output_for<P> Rest, class IsFirst, class IsSecond>
auto three_way_partition_copy(const P& where, R&& r, First&& out_first, Second&& out_second, Rest&& out_rest,
                              IsFirst is_first, IsSecond is_second) {
  const char* const function = "three_way_partition_copy";
  const auto in = detail::input_of(function, r);
  const std::int64_t n = in.count.bound;
  const auto first = detail::unbounded_output(function, "out_first", out_first, n, in);
  const auto second = detail::unbounded_output(function, "out_second", out_second, n, in);
  const auto rest = detail::unbounded_output(function, "out_rest", out_rest, n, in);
  detail::found_kinds found{};
  if constexpr (detail::require_kinds<gpu_execution<P>, element_value<R>, IsFirst, IsSecond>()) {
    const detail::mark_kind<IsFirst, IsSecond> kind{is_first, is_second};
    const auto run = [&](const auto& policy, detail::found_kinds* target, const detail::completion& done) {
      detail::partition_three_ways<Part>(function, policy, in, first, second, rest, kind, detail::reply_kinds{target},
                                         done);
    };
    if constexpr (kernel_execution<P>) {
      detail::reply<detail::found_kinds, P> answer(function, where);
      run(answer.policy(), answer.target(), answer.done());
      found = answer.wait();
    } else {
      run(where, &found, {});
    }
  }
  const auto end_first = detail::begin_of(out_first) + found.of_both.first;
  const auto end_second = detail::begin_of(out_second) + found.of_both.second;
  const auto end_rest = detail::begin_of(out_rest) + (found.n - found.of_both.first - found.of_both.second);
  return three_ends<std::remove_const_t<decltype(end_first)>, std::remove_const_t<decltype(end_second)>,
                    std::remove_const_t<decltype(end_rest)>>{end_first, end_second, end_rest};
}
template <std::int64_t Part = std::int64_t(1) << 30, execution_policy P, range_for<P> R, output_for<P> First,
          output_for<P> Second, output_for<P> Rest, output_for<P> C, class IsFirst, class IsSecond>
void three_way_partition_copy_into(const P& where, R&& r, First&& out_first, Second&& out_second, Rest&& out_rest,
                                   C&& counts_out, IsFirst is_first, IsSecond is_second) {
  const char* const function = "three_way_partition_copy_into";
  const auto in = detail::input_of(function, r);
  const std::int64_t n = in.count.bound;
  const auto first = detail::unbounded_output(function, "out_first", out_first, n, in);
  const auto second = detail::unbounded_output(function, "out_second", out_second, n, in);
  const auto rest = detail::unbounded_output(function, "out_rest", out_rest, n, in);
  detail::check_output(function, "counts_out", counts_out, 2);
  const auto counts = detail::unwrap(detail::begin_of(counts_out));
  using sink = detail::store_kinds<std::remove_const_t<decltype(counts)>>;
  static_assert(std::is_integral_v<value_of<decltype(sink::out)>>, "pmpp: counts_out must take integers");
  if constexpr (detail::require_kinds<gpu_execution<P>, element_value<R>, IsFirst, IsSecond>())
    detail::partition_three_ways<Part>(function, where, in, first, second, rest,
                                       detail::mark_kind<IsFirst, IsSecond>{is_first, is_second}, sink{counts}, {});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <std::int64_t Part = std::int64_t(1) << 30, execution_policy P, random_access It, output First, output Second, output Rest, class IsFirst, class IsSecond>
auto three_way_partition_copy(const P& where, It first, It last, First&& out_first, Second&& out_second, Rest&& out_rest, IsFirst is_first, IsSecond is_second) { return three_way_partition_copy<Part>(where, subrange{first, last}, out_first, out_second, out_rest, is_first, is_second); }
template <std::int64_t Part = std::int64_t(1) << 30, execution_policy P, random_access It, end_of<It> End, output First, output Second, output Rest, output C, class IsFirst, class IsSecond>
void three_way_partition_copy_into(const P& where, It first, End last, First&& out_first, Second&& out_second, Rest&& out_rest, C&& counts_out, IsFirst is_first, IsSecond is_second) { three_way_partition_copy_into<Part>(where, subrange{first, last}, out_first, out_second, out_rest, counts_out, is_first, is_second); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
