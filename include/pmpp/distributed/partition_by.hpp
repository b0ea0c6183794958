// SPDX-License-Identifier: Apache-2.0
//
// partition_by: each element goes to the rank that a function of it names. What hash joins, group-by and domain decompositions begin with.
//
//   1. Each rank writes down where its elements go, and sorts them by that, stably: one pass by digits for up to 255 ranks.
//   2. Where the elements for each rank begin is seen in the sorted destinations; the counts are told to every process.
//   3. One exchange: each element moves once.
//
// Elements for the same rank are there in the order of the whole. (PMPP ch. 20; the local sort: ch. 13.)
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class F, class T>
inline constexpr bool names_a_rank = false;
template <class F, class T>
requires requires(const F& f, const T& x) {
  { f(x) } -> std::integral;
}
inline constexpr bool names_a_rank<F, T> = true;

/// Where an element goes; `ranks` where the function names no rank.
template <class F>
struct destination_of {
  F rank_of;
  int ranks;
  template <class T>
  PMPP_HOST_DEVICE std::uint32_t operator()(const T& x) const {
    const auto rank = static_cast<std::int64_t>(rank_of(x));
    return static_cast<std::uint32_t>(rank < 0 || rank >= ranks ? ranks : rank);
  }
};

/// Writes down where each destination begins among the sorted ones.
struct mark_beginning {
  const std::uint32_t* sorted;
  std::int64_t* begins;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    if (i == 0 || sorted[i] != sorted[i - 1]) begins[sorted[i]] = i;
  }
};

/// Elements for each destination 0 to p, given where those that there are begin among n; the others have -1.
inline std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& begins, std::int64_t n) {
  std::vector<std::int64_t> counts(begins.size());
  std::int64_t end = n;
  for (std::size_t j = begins.size(); j-- > 0;) {
    if (begins[j] < 0) continue;
    counts[j] = end - begins[j];
    end = begins[j];
  }
  return counts;
}

}  // namespace detail

/// The elements of x, each on the rank that rank_of(element) names.
///
/// \param rank_of  a function object, called as rank_of(const T&), host and device; its result, an integer, is 0 to gpus.size() - 1.
/// \return a buffer whose block on each rank has what goes there, in the order of the whole; x stays as it is.
/// Waits for the counts; the moves are enqueued. Cost: n elements read and copied, sorted by digits of their destinations (one pass for
/// up to 255 ranks and elements of up to 16 bytes), and each sent and received once; p + 1 counts of each rank to all. Allocates the
/// result, and until the call ends as many elements again and 4 bytes for each.
/// \throws std::invalid_argument if x lies on other devices; on every process, before an element moves, if rank_of names a rank that
/// there is not; communication_error; out_of_memory, cuda_error. Source: PMPP ch. 13, 20.
/// Example: test/distributed_partition.cpp, partition_by.
template <class P, class C, class T, class F>
[[nodiscard]] distributed_buffer<T> partition_by(const devices<P, C>& gpus, const distributed_buffer<T>& x, F rank_of) {
  static_assert(detail::names_a_rank<F, T>,
                "pmpp: partition_by calls rank_of(element), which must return the number of a rank, an integer");
  detail::require_on("partition_by", "x", gpus, x);
  detail::require_same_call<T, F>(gpus, "partition_by", {x.size()});
  const auto group = gpus.group();
  const int p = gpus.size();
  const auto size = [&](int i) { return x.size_of(gpus.rank(i)); };
  const auto moved = detail::arrays_of<T>(*group, size);
  const auto destinations = detail::arrays_of<std::uint32_t>(*group, size);
  const auto begins = detail::arrays_of<std::int64_t>(*group, [&](int) { return p + 1; });
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    const auto block = x.part(i);
    detail::copy_on_rank(group->places[k], moved[k].data(), block.data(), block.size_bytes());
    pmpp::transform(where, block, destinations[k].span(), detail::destination_of<F>{rank_of, p});
    pmpp::sort_by_key(where, destinations[k].span(), moved[k].span(), less{},
                      key_bits{0, static_cast<int>(std::bit_width(unsigned(p)))});
    pmpp::fill(where, begins[k].span(), std::int64_t(-1));
    const counting_iterator<std::int64_t> zero(0);
    pmpp::for_each(where, zero, zero + size(i), detail::mark_beginning{destinations[k].data(), begins[k].data()});
  });

  const auto kinds = static_cast<std::size_t>(p) + 1;  // destinations, and none
  std::vector<std::int64_t> mine;
  std::vector<std::int64_t> of_one(kinds);
  for (int i = 0; i < gpus.local_size(); ++i) {  // once all are at work: such a copy waits for its rank
    const auto k = static_cast<std::size_t>(i);
    detail::copy_to_host(gpus, i, of_one.data(), begins[k].data(), kinds * sizeof(std::int64_t));
    gpus.synchronize(i);
    for (const std::int64_t count : detail::counts_of(of_one, size(i))) mine.push_back(count);
  }
  const auto all = detail::values_of_all(gpus, mine, p + 1);
  detail::piece_table pieces(p);
  for (int from = 0; from < p; ++from) {
    const std::int64_t* const counts = all.data() + static_cast<std::size_t>(from) * kinds;
    require(counts[p] == 0, [&] {
      return "pmpp::partition_by: rank_of names no rank from 0 to " + detail::text::of(p - 1) + " for " +
             detail::text::of(counts[p]) + " of the " + detail::text::of(x.size_of(from)) + " elements of rank " +
             detail::text::of(from);
    });
    for (int to = 0; to < p; ++to) pieces(from, to) = counts[to];
  }
  return detail::exchanged<T>(
      gpus, [&](int i) { return moved[std::size_t(i)].data(); }, pieces);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
