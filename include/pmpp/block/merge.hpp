// SPDX-License-Identifier: Apache-2.0
//
// What blocks merge with: inputs that pass through shared memory, and a warp's search for a co-rank.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// How many elements a thread moves through shared memory at once.
template <class It>
inline constexpr int staged_items = 1;
template <class T>
inline constexpr int staged_items<T*> = access<T*>::items;

/// An input that passes through shared memory: element i has its place at i + shift, so that vectors of memory are
/// vectors there too. Where memory has no vectors (another iterator, an odd address) elements move one by one.
template <class It>
struct staged_input {
  static constexpr int items = staged_items<It>;

  It in{};
  std::int64_t count = 0;
  int shift = 0;
  bool in_words = false;

  staged_input() = default;
  /// Host code.
  staged_input(const It& it, std::int64_t n) : in(it), count(n) {
    if constexpr (items > 1) {
      const std::int64_t lead = access<It>::template lead<items>(it);
      in_words = lead >= 0;
      shift = lead > 0 ? items - static_cast<int>(lead) : 0;
    }
  }
  /// n elements from element `first`, which is a multiple of 16, on.
  PMPP_HOST_DEVICE staged_input part(std::int64_t first, std::int64_t n) const {
    staged_input p = *this;
    p.in = in + first;
    p.count = n;
    return p;
  }
};
using pmpp::detail::element_as;

/// out[i] = x; also for an output of keys and values.
template <class Out, class T>
PMPP_HOST_DEVICE void assign(const Out& out, std::int64_t i, const T& x) {
  out[i] = static_cast<value_of<Out>>(x);
}
template <class A, class B, class T>
PMPP_HOST_DEVICE void assign(const zip_iterator<A, B>& out, std::int64_t i, const T& x) {
  assign(out.a, i, x.first);
  assign(out.b, i, x.second);
}

/// The first of [low, high) that is not `before`, for a predicate that is true up to some place; found by the lanes of a
/// warp: a round of loads for every five bits of the answer.
template <class Block, class Index, class Before>
PMPP_HOST_DEVICE Index warp_partition_point(Block& block, Index low, Index high, Before before) {
  while (block.any(low < high)) {
    const Index step = max(Index(1), ceil_div(high - low, Index(simt::warp_size)));
    const Index i = low + (block.lane() + 1) * step - 1;  // the last place of this lane's part
    low += simt::count_bits(block.ballot(i < high && before(i))) * step;
    high = min(high, low + step - 1);
    low = min(low, high);
  }
  return low;
}

/// As co_rank, by the lanes of a warp.
template <class Block, class Index, class A, class B, class Comp>
PMPP_HOST_DEVICE Index warp_co_rank(Block& block, Index diagonal, const A& a, Index a_count, const B& b, Index b_count,
                                    const Comp& comp) {
  return warp_partition_point(block, max(Index(0), diagonal - b_count), min(diagonal, a_count),
                              [&](Index i) { return !comp(b[diagonal - 1 - i], a[i]); });
}

/// A place that is at most the co-rank of `diagonal`, and less than `Grain` in front of it; found by the lanes of a warp or
/// by each `Lanes` of them, each for another diagonal. The first probes lie around the place where the co-rank is if both
/// inputs rise evenly, at distances that grow by powers of two; the following ones cut what is left into equal parts. Of
/// inputs that rise unevenly that is one round of probes more than without the guess, of others fewer. Index: int up to 2^30 elements.
template <int Grain, int Lanes = simt::warp_size, class Index, class Block, class A, class B, class Comp>
PMPP_HOST_DEVICE Index rough_co_rank(Block& block, Index diagonal, const A& a, std::type_identity_t<Index> a_count,
                                     const B& b, std::type_identity_t<Index> b_count, const Comp& comp) {
  const Index low = max(Index(0), diagonal - b_count), high = min(diagonal, a_count);
  const int rank = block.lane() % Lanes;
  Index from = 0, to = a_count + 1;  // the co-rank lies in [from, to)
  const auto probe = [&](Index i) {  // for how many lanes are i elements of a among the first of the result?
    const unsigned lanes = block.ballot(i <= low || (i < to && i <= high && !comp(b[diagonal - i], a[i - 1])));
    return simt::count_bits(lanes >> (block.lane() - rank) & (simt::all_lanes >> (simt::warp_size - Lanes)));
  };
  const float part_of_a = static_cast<float>(a_count) / static_cast<float>(max(Index(1), a_count + b_count));
  const Index guess = (static_cast<Index>(static_cast<float>(diagonal) * part_of_a) - Grain / 2) / Grain * Grain;
  const auto near_guess = [&](int lane) {  // for 8 lanes -511, -63, -7, 0, 1, 8, 64, 512 grains away
    constexpr int half = Lanes / 2, bits = max(1, 24 / Lanes);
    return guess +
           Grain * (lane < half ? 1 - (Index(1) << (half - 1 - lane) * bits) : Index(1) << (lane - half) * bits);
  };
  const int below = probe(near_guess(rank));
  if (below > 0) from = max(from, near_guess(below - 1));
  if (below < Lanes) to = min(to, max(from + 1, near_guess(below)));
  while (block.any(to - from > Grain)) {
    Index step = Grain;
    while (step * (Lanes + 1) < to - from) step *= Lanes + 1;
    const int parts = probe(from + (rank + 1) * step);
    to = min(to, from + (parts + 1) * step);
    from += parts * step;
  }
  return max(from, low);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
