// SPDX-License-Identifier: Apache-2.0
//
// merge and merge_by_key over several ranks: two sorted buffers become a third, in blocks that differ by one element at most.
//
//   1. Where block j of the result begins, in a and in b, is found by samples, as splitters.hpp cuts blocks, of two runs here that each
//      lie on all ranks. A sample is taken by the rank that has the element.
//   2. Each rank gets its piece of a and its piece of b; they arrive sorted, for the ranks are in order. Two exchanges.
//   3. Each rank merges the two.
//
// Each element moves once. Of equal elements those of a come first. (PMPP ch. 12 and 20.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/splitters.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// less or greater, with NaN last, as sort leaves them; zeros of both signs are equal.
template <class Comp>
struct nan_last {
  Comp comp;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& a, const T& b) const {
    return comp(a, b) || (a == a && !(b == b));
  }
};
/// The order of inputs of merge: that of comp, made total where it is one of numbers.
template <bool OnGpu, class T, class Comp>
auto order_of_merge(const Comp& comp) {
  if constexpr (radix_order<Comp, T>::known && has_nan<T>)
    return nan_last<Comp>{comp};
  else
    return detail::ordered_by<OnGpu, T>(comp);
}

/// Where the blocks of the two inputs begin: of a, of b at ranks + 1; the ends behind them.
struct two_partitions {
  const std::int64_t* offsets;
  int ranks;

  PMPP_HOST_DEVICE std::int64_t offset(int q, int rank) const { return offsets[q * std::int64_t(ranks + 1) + rank]; }
  /// The rank that has element i of input q: the last that begins at it or before.
  PMPP_HOST_DEVICE int owner(int q, std::int64_t i) const {
    return detail::partition_point(0, ranks, [&](int r) { return offset(q, r + 1) <= i; });
  }
};

/// Number `at` of the samples of both inputs: what it is a sample of, and whose.
struct merge_sample {
  int q;
  std::int64_t index;
  bool exists;
  PMPP_HOST_DEVICE merge_sample(const cut_intervals& now, int cuts, std::int64_t at) {
    const int k = static_cast<int>(at % now.samples), j = static_cast<int>(at / now.samples % cuts);
    q = static_cast<int>(at / now.samples / cuts);
    exists = k < now.samples_of(j, q);
    index = exists ? now.lo(j, q) + now.place(j, q, k) : 0;
  }
};
/// Takes those of this rank.
template <class Keys, class K>
struct take_merge_sample {
  cut_intervals now;
  two_partitions blocks;
  Keys a, b;
  K* out;
  int cuts, self;
  PMPP_HOST_DEVICE void operator()(std::int64_t at) const {
    const merge_sample sample(now, cuts, at);
    if (!sample.exists) return;
    const std::int64_t i = sample.index - blocks.offset(sample.q, self);
    if (i < 0 || sample.index >= blocks.offset(sample.q, self + 1)) return;
    out[at] = sample.q == 0 ? a[i] : b[i];
  }
};
/// Picks each from what its rank has taken; `taken` has those of all ranks.
template <class K>
struct pick_merge_sample {
  cut_intervals now;
  two_partitions blocks;
  const K* taken;
  K* out;
  int cuts;
  std::int64_t count;
  PMPP_HOST_DEVICE void operator()(std::int64_t at) const {
    const merge_sample sample(now, cuts, at);
    if (sample.exists) out[at] = taken[blocks.owner(sample.q, sample.index) * count + at];
  }
};

/// Step 1: how many elements of a, and of b, each block of the result has.
template <class P, class C, class T, class Comp>
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> shares_of_merge(const devices<P, C>& gpus,
                                                                                const distributed_buffer<T>& a,
                                                                                const distributed_buffer<T>& b,
                                                                                const Comp& comp) {
  using K = stored_as<T>;
  const int p = gpus.size(), cuts = p - 1, samples = detail::samples_for(p);
  const auto group = gpus.group();
  const std::int64_t count = 2 * std::int64_t(cuts) * samples;
  const auto mine = detail::arrays_of<K>(*group, [&](int) { return count; });
  const auto taken = detail::arrays_of<K>(*group, [&](int) { return p * count; });
  const auto offsets = detail::arrays_of<std::int64_t>(*group, [&](int) { return 2 * (p + 1); });
  std::vector<std::int64_t> bounds;
  for (int r = 0; r <= p; ++r) bounds.push_back(a.offset(r));
  for (int r = 0; r <= p; ++r) bounds.push_back(b.offset(r));
  gpus.each([&](int i, const P&) {
    detail::copy_on_rank(group->places[std::size_t(i)], offsets[std::size_t(i)].data(), bounds.data(),
                         bounds.size() * sizeof(std::int64_t));
  });
  const counting_iterator<std::int64_t> zero(0);
  const auto take = [&](auto intervals, const std::vector<rank_array<K>>& all) {
    gpus.each([&](int i, const P& where) {
      const auto block_a = a.part(i), block_b = b.part(i);
      const auto in_a = detail::with_stored(detail::input_of("merge", block_a));
      const auto in_b = detail::with_stored(detail::input_of("merge", block_b));
      pmpp::for_each(
          where, zero, zero + count,
          take_merge_sample<std::remove_const_t<decltype(in_a.first)>, K>{intervals(i),
                                                                          {offsets[std::size_t(i)].data(), p},
                                                                          in_a.first,
                                                                          in_b.first,
                                                                          mine[std::size_t(i)].data(),
                                                                          cuts,
                                                                          gpus.rank(i)});
    });
    gpus.together([&](int i, C& link, stream_handle s) {
      pmpp::all_gather(link, mine[std::size_t(i)].data(), taken[std::size_t(i)].data(),
                       mine[std::size_t(i)].span().size_bytes(), s);
    });
    gpus.each([&](int i, const P& where) {
      const auto k = static_cast<std::size_t>(i);
      pmpp::for_each(
          where, zero, zero + count,
          pick_merge_sample<K>{intervals(i), {offsets[k].data(), p}, taken[k].data(), all[k].data(), cuts, count});
    });
  };
  const std::int64_t n = a.size() + b.size();
  const auto found =
      detail::cuts_of_runs<K>(gpus, {a.size(), b.size()}, detail::even_targets(n, p), samples, comp, take);
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> shares;
  for (int j = 0; j < p; ++j)
    for (std::size_t q = 0; q < 2; ++q) {
      const std::int64_t begin = j == 0 ? 0 : found[std::size_t(j - 1)][q];
      const std::int64_t end = j == cuts ? (q == 0 ? a : b).size() : found[std::size_t(j)][q];
      (q == 0 ? shares.first : shares.second).push_back(end - begin);
    }
  return shares;
}

/// Step 2, for one of the inputs.
template <class P, class C, class T>
distributed_buffer<T> with_blocks(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                  const std::vector<std::int64_t>& sizes) {
  return detail::exchanged<T>(
      gpus, [&](int i) { return x.part(i).data(); }, detail::pieces_for_blocks(detail::sizes_of(x), sizes));
}

}  // namespace detail

/// Merges a and b, which are sorted under comp as a whole, into a buffer of blocks that differ by one element at most. Stable: of equal
/// elements those of a come first.
///
/// \param comp  as in merge on one device; floating-point numbers under less or greater may end with NaN, as sort leaves them.
/// Waits for the cuts; the moves and the merges are enqueued. Cost: a few rounds of samples; each element moves once, and is read and
/// written once more; two exchanges, one merge a rank. Scratch: all elements once more, 512 p^2 a rank for samples (128 for more than
/// 16 ranks). \throws std::invalid_argument if a or b lies on other devices, or where its order is found to be none;
/// communication_error; out_of_memory, cuda_error. Source: PMPP ch. 12. Example: test/distributed_verbs.cpp, merge.
template <class P, class C, class T, class Comp = less>
[[nodiscard]] distributed_buffer<T> merge(const devices<P, C>& gpus, const distributed_buffer<T>& a,
                                          const distributed_buffer<T>& b, Comp comp = {}) {
  detail::require_on("merge", "a", gpus, a);
  detail::require_on("merge", "b", gpus, b);
  detail::require_same_call<T, Comp>(gpus, "merge", {a.size(), b.size()});
  const auto by = detail::order_of_merge<gpu_execution<P>, T>(comp);
  const auto shares = detail::shares_of_merge(gpus, a, b, by);
  const auto from_a = detail::with_blocks(gpus, a, shares.first), from_b = detail::with_blocks(gpus, b, shares.second);
  distributed_buffer<T> out;
  out.allocate(gpus.group(), detail::even_sizes(a.size() + b.size(), gpus.size()));
  gpus.each([&](int i, const P& where) { pmpp::merge(where, from_a.part(i), from_b.part(i), out.part(i), by); });
  return out;
}

/// Merges keys as merge does, and moves the value of each key along with it.
/// \param values_a, values_b  of the same blocks as their keys. \return keys and values, of the same blocks.
/// \throws as merge; std::length_error if the blocks differ. Example: test/distributed_verbs.cpp, merge_by_key.
template <class P, class C, class K, class V, class Comp = less>
[[nodiscard]] std::pair<distributed_buffer<K>, distributed_buffer<V>> merge_by_key(
    const devices<P, C>& gpus, const distributed_buffer<K>& keys_a, const distributed_buffer<V>& values_a,
    const distributed_buffer<K>& keys_b, const distributed_buffer<V>& values_b, Comp comp = {}) {
  const char* const function = "merge_by_key";
  detail::require_on(function, "keys_a", gpus, keys_a);
  detail::require_on(function, "values_a", gpus, values_a);
  detail::require_on(function, "keys_b", gpus, keys_b);
  detail::require_on(function, "values_b", gpus, values_b);
  detail::require_same_blocks(function, "values_a", keys_a, values_a);
  detail::require_same_blocks(function, "values_b", keys_b, values_b);
  detail::require_same_call<K, V, Comp>(gpus, function, {keys_a.size(), keys_b.size()});
  const auto by = detail::order_of_merge<gpu_execution<P>, K>(comp);
  const auto shares = detail::shares_of_merge(gpus, keys_a, keys_b, by);
  const auto a = detail::with_blocks(gpus, keys_a, shares.first), b = detail::with_blocks(gpus, keys_b, shares.second);
  const auto va = detail::with_blocks(gpus, values_a, shares.first),
             vb = detail::with_blocks(gpus, values_b, shares.second);
  const auto sizes = detail::even_sizes(keys_a.size() + keys_b.size(), gpus.size());
  std::pair<distributed_buffer<K>, distributed_buffer<V>> out;
  out.first.allocate(gpus.group(), sizes);
  out.second.allocate(gpus.group(), sizes);
  gpus.each([&](int i, const P& where) {
    pmpp::merge_by_key(where, a.part(i), va.part(i), b.part(i), vb.part(i), out.first.part(i), out.second.part(i), by);
  });
  return out;
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
