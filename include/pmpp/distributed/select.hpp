// SPDX-License-Identifier: Apache-2.0
//
// Selections over several ranks: copy_if, unique_copy, partition_copy, partition.
//
//   1. Each rank keeps those of its block, in order.
//   2. How many there are is told to every process.
//   3. The result becomes blocks that differ by one at most, or (result_blocks::in_place) stays on the ranks that made it.
//
// unique_copy asks, between 1 and 2, which blocks begin with what equals the end of the block before them: the first of what such a rank
// kept is dropped. (PMPP ch. 11 and 20.)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What each rank has put in two parts, in its memory, and how many are in the first one; by rank, on every process.
template <class T>
struct partitioned_blocks {
  std::vector<rank_array<T>> chosen, others;
  std::vector<std::int64_t> chosen_counts, other_counts;
};
template <class P, class C, class T, class Pred>
partitioned_blocks<T> partition_blocks(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                       const Pred& pred) {
  detail::require_on(function, "x", gpus, x);
  detail::require_same_call<T, Pred>(gpus, function, {x.size()});
  const auto group = gpus.group();
  const auto size = [&](int i) { return x.size_of(gpus.rank(i)); };
  partitioned_blocks<T> parts{detail::arrays_of<T>(*group, size), detail::arrays_of<T>(*group, size), {}, {}};
  const auto counts = detail::arrays_of<std::int64_t>(*group, [](int) { return 1; });
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    pmpp::partition_copy_into(where, x.part(i), parts.chosen[k].span(), parts.others[k].span(), counts[k].span(), pred);
  });
  parts.chosen_counts = detail::firsts_of_all(gpus, counts);
  for (int r = 0; r < gpus.size(); ++r)
    parts.other_counts.push_back(x.size_of(r) - parts.chosen_counts[std::size_t(r)]);
  return parts;
}

/// A buffer of the first elements of arrays, sizes[r] of rank r.
template <class T, class P, class C>
distributed_buffer<T> buffer_of(const devices<P, C>& gpus, const std::vector<rank_array<T>>& arrays,
                                const std::vector<std::int64_t>& sizes, result_blocks blocks) {
  return detail::exchanged<T>(
      gpus, [&](int i) { return arrays[std::size_t(i)].data(); }, detail::pieces_for_result(sizes, blocks));
}

}  // namespace detail

/// The elements x[i] for which pred(x[i]) is true, in order.
///
/// \param pred    as in copy_if on one device.
/// \param blocks  result_blocks::even, or in_place: then nothing moves, and blocks may be of any sizes.
/// Waits for the numbers of elements; their moves are enqueued. Cost: n elements read, those that are kept written twice, and moved
/// once to their rank; a count from each rank. Allocates the result, and as many elements as each block has until the call ends.
/// \throws std::invalid_argument if x lies on other devices; communication_error; out_of_memory, cuda_error.
/// Example: test/distributed.cpp, copy_if.
template <class P, class C, class T, class Pred>
[[nodiscard]] distributed_buffer<T> copy_if(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred,
                                            result_blocks blocks = result_blocks::even) {
  detail::require_on("copy_if", "x", gpus, x);
  detail::require_same_call<T, Pred>(gpus, "copy_if", {x.size(), static_cast<std::int64_t>(blocks)});
  const auto group = gpus.group();
  const auto kept = detail::arrays_of<T>(*group, [&](int i) { return x.size_of(gpus.rank(i)); });
  const auto counts = detail::arrays_of<std::int64_t>(*group, [](int) { return 1; });
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    pmpp::copy_if_into(where, x.part(i), kept[k].span(), counts[k].span(), pred);
  });
  return detail::buffer_of(gpus, kept, detail::firsts_of_all(gpus, counts), blocks);
}

/// The first element of each run of equals, in order; a run may lie on any number of ranks.
///
/// \param eq  as in unique_copy on one device. As copy_if otherwise; the first and the last element of each rank are exchanged too.
/// Example: test/distributed_verbs.cpp, unique_copy.
template <class P, class C, class T, class Eq = equal_to>
[[nodiscard]] distributed_buffer<T> unique_copy(const devices<P, C>& gpus, const distributed_buffer<T>& x, Eq eq = {},
                                                result_blocks blocks = result_blocks::even) {
  detail::require_on("unique_copy", "x", gpus, x);
  detail::require_same_call<T, Eq>(gpus, "unique_copy", {x.size(), static_cast<std::int64_t>(blocks)});
  const auto group = gpus.group();
  const auto kept = detail::arrays_of<T>(*group, [&](int i) { return x.size_of(gpus.rank(i)); });
  const auto counts = detail::arrays_of<std::int64_t>(*group, [](int) { return 1; });
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    pmpp::unique_copy_into(where, x.part(i), kept[k].span(), counts[k].span(), eq);
  });
  const auto ranks = detail::ranks_with_elements(x);
  const auto continued = detail::continued_blocks(gpus, x, ranks, eq);
  std::vector<std::int64_t> dropped(static_cast<std::size_t>(gpus.size()));
  for (std::size_t k = 0; k < ranks.size(); ++k) dropped[std::size_t(ranks[k])] = continued[k];
  auto sizes = detail::firsts_of_all(gpus, counts);
  for (std::size_t r = 0; r < sizes.size(); ++r) sizes[r] -= dropped[r];
  return detail::exchanged<T>(
      gpus, [&](int i) { return kept[std::size_t(i)].data() + dropped[std::size_t(gpus.rank(i))]; },
      detail::pieces_for_result(sizes, blocks));
}

/// The elements for which pred is true, and the others, both in their order.
///
/// \param pred, blocks  as copy_if. \return two buffers. Cost and \throws as copy_if, for both; one launch a rank.
/// Example: test/distributed_verbs.cpp, partition.
template <class P, class C, class T, class Pred>
[[nodiscard]] std::pair<distributed_buffer<T>, distributed_buffer<T>> partition_copy(
    const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred, result_blocks blocks = result_blocks::even) {
  const auto parts = detail::partition_blocks("partition_copy", gpus, x, pred);
  return {detail::buffer_of(gpus, parts.chosen, parts.chosen_counts, blocks),
          detail::buffer_of(gpus, parts.others, parts.other_counts, blocks)};
}

/// Moves the elements for which pred is true in front of all others; both keep their order.
///
/// The blocks of x differ by one element at most afterwards; views of parts are then no longer valid.
/// \return how many pred is true for. As copy_if otherwise: n elements are read, written twice, and moved to their rank.
/// Example: test/distributed_verbs.cpp, partition.
template <class P, class C, class T, class Pred>
std::int64_t stable_partition(const devices<P, C>& gpus, distributed_buffer<T>& x, Pred pred) {
  const auto sizes = detail::even_sizes(x.size(), gpus.size());
  x.require_blocks("stable_partition", sizes);
  const auto parts = detail::partition_blocks("stable_partition", gpus, x, pred);
  std::int64_t chosen = 0;
  for (const std::int64_t count : parts.chosen_counts) chosen += count;
  // Each block of the result: of the chosen ones what falls into it, then of the others.
  std::vector<std::int64_t> of_chosen, of_others;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    of_chosen.push_back(max(std::int64_t(0), min(chosen - begin, size)));
    of_others.push_back(size - of_chosen.back());
    begin += size;
  }
  x.allocate(gpus.group(), sizes);
  detail::exchange_to<T>(
      gpus, [&](int i) { return parts.chosen[std::size_t(i)].data(); },
      detail::pieces_for_blocks(parts.chosen_counts, of_chosen), [&](int i) { return x.part(i).data(); });
  detail::exchange_to<T>(
      gpus, [&](int i) { return parts.others[std::size_t(i)].data(); },
      detail::pieces_for_blocks(parts.other_counts, of_others),
      [&](int i) { return x.part(i).data() + of_chosen[std::size_t(gpus.rank(i))]; });
  return chosen;
}
/// The same; partition is stable already.
template <class P, class C, class T, class Pred>
std::int64_t partition(const devices<P, C>& gpus, distributed_buffer<T>& x, Pred pred) {
  return pmpp::stable_partition(gpus, x, pred);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
