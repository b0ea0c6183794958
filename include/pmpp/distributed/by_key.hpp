// SPDX-License-Identifier: Apache-2.0
//
// Runs of equal keys over several ranks: reduce_by_key, run_length_encode. A run may lie on any number of ranks.
//
//   1. Each rank reduces the runs of its block.
//   2. Gathered, of each rank that has elements: the first and the last key of its block, the first and the last of its sums, and how
//      many there are.
//   3. A block that begins with what equals the end of the block before it continues that run: its first sum joins, from the right, the
//      last of the rank where the run began, and is dropped. One thread of each process does that: a step for each rank.
//   4. The runs become blocks that differ by one at most, or stay where they began.
//
// Operands stay in order. Traffic: that of one device, some elements from each rank, and the runs once more for step 4. (PMPP ch. 11
// and 20.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Step 3. The last sum of each rank that keeps it, at ends[2 k + 1], becomes that of the whole run. One thread.
template <class A, class Op>
struct join_runs {
  two_ends<A>* ends;
  const int* continued;  ///< whether block k continues the run before it
  const int* single;     ///< whether block k is one run
  std::int64_t count;
  Op op;
  PMPP_HOST_DEVICE void operator()(std::int64_t) const {
    auto* const sums = reinterpret_cast<A*>(ends);
    std::int64_t head = 0;  // where the run began that lasts until the end of block k
    for (std::int64_t k = 1; k < count; ++k) {
      if (continued[k] != 0) sums[2 * head + 1] = static_cast<A>(op(sums[2 * head + 1], sums[2 * k]));
      if (continued[k] == 0 || single[k] == 0) head = k;
    }
  }
};

/// Steps 1 to 4. \param reduce_block  (where, number of a rank here, room for keys, for sums, for their number)
template <class A, class P, class C, class K, class Op, class Eq, class ReduceBlock>
std::pair<distributed_buffer<K>, distributed_buffer<A>> runs_of_ranks(const devices<P, C>& gpus,
                                                                      const distributed_buffer<K>& keys, const Op& op,
                                                                      const Eq& eq, result_blocks blocks,
                                                                      ReduceBlock reduce_block) {
  using S = stored_as<A>;
  const auto group = gpus.group();
  const auto size = [&](int i) { return keys.size_of(gpus.rank(i)); };
  const auto run_keys = detail::arrays_of<K>(*group, size);
  const auto sums = detail::arrays_of<A>(*group, size);
  const auto counts = detail::arrays_of<std::int64_t>(*group, [](int) { return 1; });
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    reduce_block(where, i, run_keys[k].span(), sums[k].span(), counts[k].span());
  });
  auto sizes = detail::firsts_of_all(gpus, counts);
  const auto ranks = detail::ranks_with_elements(keys);
  const auto continued = detail::continued_blocks(gpus, keys, ranks, eq);

  std::vector<std::int64_t> dropped(sizes.size());
  if (ranks.size() > 1) {
    const auto m = static_cast<std::int64_t>(ranks.size());
    std::vector<int> single;
    for (const int r : ranks) single.push_back(sizes[std::size_t(r)] == 1 ? 1 : 0);
    const auto ends = detail::gather_ends<S>(
        gpus, ranks, [&](int i) { return sums[std::size_t(i)].data(); },
        [&](int i) { return sums[std::size_t(i)].data() + (sizes[std::size_t(gpus.rank(i))] - 1); });
    const auto flags = detail::arrays_of<int>(*group, [&](int i) { return i == 0 ? 2 * m : 0; });
    const auto fold = detail::folding<gpu_execution<P>, S, S>(op);
    std::vector<two_ends<S>> joined(ranks.size());
    gpus.each([&](int i, const P& where) {
      if (i != 0) return;
      const detail::rank_group::place& place = group->places[0];
      int* const on_rank = flags[0].data();
      detail::copy_on_rank(place, on_rank, continued.data(), std::size_t(m) * sizeof(int));
      detail::copy_on_rank(place, on_rank + m, single.data(), std::size_t(m) * sizeof(int));
      const counting_iterator<std::int64_t> zero(0);
      pmpp::for_each(where, zero, zero + 1,
                     join_runs<S, std::remove_const_t<decltype(fold)>>{ends[0].data(), on_rank, on_rank + m, m, fold});
      detail::copy_to_host(gpus, 0, joined.data(), ends[0].data(), joined.size() * sizeof(two_ends<S>));
    });
    gpus.synchronize(0);
    for (std::size_t k = 0; k < ranks.size(); ++k) dropped[std::size_t(ranks[k])] = continued[k];
    gpus.each([&](int i, const P&) {
      for (std::size_t k = 0; k < ranks.size(); ++k) {
        if (ranks[k] != gpus.rank(i) || (continued[k] != 0 && single[k] != 0)) continue;
        const std::int64_t last = sizes[std::size_t(ranks[k])] - 1;
        detail::copy_on_rank(group->places[std::size_t(i)], sums[std::size_t(i)].data() + last,
                             joined[k].bytes + sizeof(S), sizeof(S));
      }
    });
  }
  for (std::size_t r = 0; r < sizes.size(); ++r) sizes[r] -= dropped[r];
  const auto pieces = detail::pieces_for_result(sizes, blocks);
  const auto begin = [&](int i) { return dropped[std::size_t(gpus.rank(i))]; };
  return {detail::exchanged<K>(
              gpus, [&](int i) { return run_keys[std::size_t(i)].data() + begin(i); }, pieces),
          detail::exchanged<A>(
              gpus, [&](int i) { return sums[std::size_t(i)].data() + begin(i); }, pieces)};
}

}  // namespace detail

/// Combines the values of each run of equal keys, as reduce_by_key on one device.
///
/// \param values  of the same blocks as keys. They add up in accumulator_of<V>.
/// \param op, eq  as in reduce_by_key on one device; the same on every process.
/// \param blocks  result_blocks::even, or in_place: then a run stays on the rank where it begins.
/// \return the key of the first element of each run, and its sum: two buffers of the same blocks.
/// Waits for the number of runs; their moves are enqueued. Cost: keys and values read once, runs written twice, and moved once to their
/// rank; four elements and a count from each rank. Allocates the result, and room for as many runs as elements until the call ends.
/// \throws std::invalid_argument if keys or values lie on other devices, std::length_error if their blocks differ;
/// communication_error; out_of_memory, cuda_error. Source: PMPP ch. 11. Example: test/distributed_verbs.cpp, runs.
template <class P, class C, class K, class V, class Op = plus, class Eq = equal_to>
[[nodiscard]] std::pair<distributed_buffer<K>, distributed_buffer<accumulator_of<V>>> reduce_by_key(
    const devices<P, C>& gpus, const distributed_buffer<K>& keys, const distributed_buffer<V>& values, Op op = {},
    Eq eq = {}, result_blocks blocks = result_blocks::even) {
  detail::require_on("reduce_by_key", "keys", gpus, keys);
  detail::require_on("reduce_by_key", "values", gpus, values);
  detail::require_same_blocks("reduce_by_key", "values", keys, values);
  detail::require_same_call<K, V, Op, Eq>(gpus, "reduce_by_key", {keys.size(), static_cast<std::int64_t>(blocks)});
  return detail::runs_of_ranks<accumulator_of<V>>(
      gpus, keys, op, eq, blocks, [&](const P& where, int i, auto keys_out, auto sums_out, auto count) {
        pmpp::reduce_by_key_into(where, keys.part(i), values.part(i), keys_out, sums_out, count, op, eq);
      });
}

/// Each run of equals as its first element and its length. As reduce_by_key. Example: test/distributed_verbs.cpp, runs.
template <class P, class C, class T>
[[nodiscard]] std::pair<distributed_buffer<T>, distributed_buffer<std::int64_t>> run_length_encode(
    const devices<P, C>& gpus, const distributed_buffer<T>& x, result_blocks blocks = result_blocks::even) {
  detail::require_on("run_length_encode", "x", gpus, x);
  detail::require_same_call<T>(gpus, "run_length_encode", {x.size(), static_cast<std::int64_t>(blocks)});
  return detail::runs_of_ranks<std::int64_t>(gpus, x, plus{}, equal_to{}, blocks,
                                             [&](const P& where, int i, auto values, auto lengths, auto count) {
                                               pmpp::run_length_encode_into(where, x.part(i), values, lengths, count);
                                             });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
