// SPDX-License-Identifier: Apache-2.0
//
// Groups of lanes under the names of CUDA's cooperative groups, in kernels of both machines:
//
//   const auto tile = simt::tiled_partition<8>(block);   // 8 lanes that lie next to each other: 1, 2, 4, 8, 16 or 32
//   const auto lanes = simt::coalesced_threads(block);   // the lanes of the warp that are here together
//
//   g.rank(), size()                place in the group, and how many there are
//   g.mask()                        the lanes of the warp that are in it
//   g.sync()                        a barrier of the group
//   g.shuffle(v, rank)              v of the lane of this rank
//   g.ballot(p), any(p), all(p)     bit r of a ballot is the vote of rank r
//   g.reduce(v, op)                 op over the v of all, in the order of ranks; all lanes get it, with the same bits
//   tile.index(), count()           of this tile among those of the block
//   tile.shuffle_up(v, d), shuffle_down(v, d), shuffle_xor(v, bits)
//                                   a lane whose source lies outside the tile keeps its own v
//
//   simt::aggregated_increment(block, counter)           // atomic_add(counter, 1) of all lanes that are here, by one of them
//
// All lanes of a group call. The other groups: a block is its own (block.sync()), block.cluster() that of blocks next to
// each other, and a grid that launch_together has started waits by block/sync_grid.hpp.
//
// Which lanes are together in coalesced_threads is for the machine to say; a program must be right for any number. A GPU
// mostly has all lanes that took the same branch. The emulator takes those that come to the same place before the others
// of the warp can do anything else, under a seed sometimes fewer.
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

/// Size lanes of a warp, the first a multiple of Size.
template <int Size, class Block>
class thread_tile {
  static_assert(Size >= 1 && Size <= warp_size && (Size & (Size - 1)) == 0,
                "pmpp: a tile has 1, 2, 4, 8, 16 or 32 lanes");

public:
  PMPP_HOST_DEVICE explicit thread_tile(Block& block) : block_(block), first_(block.lane() & ~(Size - 1)) {}

  PMPP_HOST_DEVICE int rank() const { return block_.lane() & (Size - 1); }
  PMPP_HOST_DEVICE static constexpr int size() { return Size; }
  PMPP_HOST_DEVICE int index() const { return block_.thread() / Size; }
  PMPP_HOST_DEVICE int count() const { return block_.threads() / Size; }
  PMPP_HOST_DEVICE lane_mask mask() const { return all_lanes >> (warp_size - Size) << first_; }

  PMPP_HOST_DEVICE void sync() const { block_.sync_warp(mask()); }
  template <class T>
  PMPP_HOST_DEVICE T shuffle(const T& v, int rank) const {
    return block_.shuffle(v, first_ + (rank & (Size - 1)), mask());
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_up(const T& v, int distance) const {
    return from(v, rank() - distance);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_down(const T& v, int distance) const {
    return from(v, rank() + distance);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_xor(const T& v, int bits) const {
    return from(v, rank() ^ bits);
  }
  PMPP_HOST_DEVICE lane_mask ballot(bool p) const { return block_.ballot(p, mask()) >> first_; }
  PMPP_HOST_DEVICE bool any(bool p) const { return block_.any(p, mask()); }
  PMPP_HOST_DEVICE bool all(bool p) const { return block_.all(p, mask()); }

  /// In log2(Size) shuffles. op must be associative.
  template <class T, class Op>
  PMPP_HOST_DEVICE T reduce(T v, Op op) const {
    for (int bit = 1; bit < Size; bit *= 2) {
      const T other = block_.shuffle_xor(v, bit, mask());
      v = rank() & bit ? op(other, v) : op(v, other);  // ranges that lie next to each other, the lower one first
    }
    return v;
  }

private:
  template <class T>
  PMPP_HOST_DEVICE T from(const T& v, int source) const {
    return block_.shuffle(v, first_ + (source < 0 || source >= Size ? rank() : source), mask());
  }

  Block& block_;
  int first_;  // lane
};

/// The tile of Size lanes that the calling thread is in. \pre The block's threads are a multiple of Size.
template <int Size, class Block>
PMPP_HOST_DEVICE thread_tile<Size, Block> tiled_partition(Block& block) {
  return thread_tile<Size, Block>(block);
}

/// Lanes of a warp that came to the same place together.
template <class Block>
class coalesced_group {
public:
  PMPP_HOST_DEVICE coalesced_group(Block& block, lane_mask mask) : block_(block), mask_(mask) {}

  PMPP_HOST_DEVICE int rank() const { return count_bits(mask_ & ((lane_mask(1) << block_.lane()) - 1)); }
  PMPP_HOST_DEVICE int size() const { return count_bits(mask_); }
  PMPP_HOST_DEVICE lane_mask mask() const { return mask_; }

  PMPP_HOST_DEVICE void sync() const { block_.sync_warp(mask_); }
  template <class T>
  PMPP_HOST_DEVICE T shuffle(const T& v, int rank) const {
    return block_.shuffle(v, lane_of(rank), mask_);
  }
  PMPP_HOST_DEVICE lane_mask ballot(bool p) const {
    lane_mask votes = block_.ballot(p, mask_), by_rank = 0;
    for (int r = 0; votes != 0; ++r) {
      const lane_mask lane = lane_mask(1) << lane_of(r);
      if (votes & lane) by_rank |= lane_mask(1) << r;
      votes &= ~lane;
    }
    return by_rank;
  }
  PMPP_HOST_DEVICE bool any(bool p) const { return block_.any(p, mask_); }
  PMPP_HOST_DEVICE bool all(bool p) const { return block_.all(p, mask_); }

  /// op must be associative.
  template <class T, class Op>
  PMPP_HOST_DEVICE T reduce(T v, Op op) const {
    const int n = size(), r = rank();
    for (int d = 1; d < n; d *= 2) {
      const T next = shuffle(v, r + d < n ? r + d : r);
      if (r % (2 * d) == 0 && r + d < n) v = op(v, next);
    }
    return shuffle(v, 0);
  }

private:
  PMPP_HOST_DEVICE int lane_of(int rank) const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(__fns(mask_, 0, rank + 1));
#else
    lane_mask rest = mask_;
    for (; rank > 0 && rest != 0; --rank) rest &= rest - 1;
    return rest == 0 ? warp_size : trailing_zeros(rest);
#endif
  }

  Block& block_;
  lane_mask mask_;
};

template <class Block>
PMPP_HOST_DEVICE coalesced_group<Block> coalesced_threads(Block& block) {
  return {block, block.active_lanes()};
}

/// What atomic_add(counter, 1) returns: each calling thread gets a number of its own. Lanes of a warp that are here together
/// take theirs by one addition. (Adinets, CUDA pro tip: warp-aggregated atomics, 2014.)
/// \pre Lanes that are here together pass the same counter.
template <class Block, class T>
PMPP_HOST_DEVICE T aggregated_increment(Block& block, T* counter) {
  const auto lanes = coalesced_threads(block);
  const int leader = trailing_zeros(lanes.mask());
#if !defined(__CUDA_ARCH__)
  if (block.shuffle(counter, leader, lanes.mask()) != counter)
    throw kernel_fault("pmpp::simt::aggregated_increment: lanes that are here together pass different counters");
#endif
  T first{};
  if (block.lane() == leader) first = atomic_add(counter, static_cast<T>(lanes.size()));
  return static_cast<T>(block.shuffle(first, leader, lanes.mask()) + static_cast<T>(lanes.rank()));
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
