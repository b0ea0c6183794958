// SPDX-License-Identifier: Apache-2.0
//
// Reduction among the threads of one block: a shuffle tree in each warp, then thread 0 folds the warps' results. A warp that
// has several rows of values takes them through one tree (warp_reduce_rows).
//
// At step d lane i holds the combination of lanes [i, i + d) and appends that of lanes [i + d, i + 2d): operands stay
// in order and are always results of adjacent ranges, so any associative operator will do. Five shuffles a warp, one
// barrier a block. (PMPP ch. 10: convergent, shared-memory and warp-level reduction trees.)
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Combines the values of lanes 0 .. count - 1 of a warp, in order. All lanes of the warp call; lane 0 gets the result,
/// the others get something else. No barrier. \pre 1 <= count <= 32, the same in all lanes.
template <class Block, class T, class Op>
PMPP_HOST_DEVICE T warp_reduce(Block& block, T value, Op op, int count = simt::warp_size) {
  for (int d = 1; d < simt::warp_size; d *= 2) {
    if (d >= count) continue;  // nothing is left to append; not `break`, which would keep the loop from unrolling
    const T right = block.shuffle_down(value, d);
    if (block.lane() + d < count) value = static_cast<T>(op(value, right));
  }
  return value;
}

namespace detail {

/// By assignments: a choice between two objects would be one between addresses, and keep them out of registers.
template <class T>
PMPP_HOST_DEVICE void swap_if(bool really, T& a, T& b) {
  const T before = a;
  if (really) a = b;
  if (really) b = before;
}

}  // namespace detail

/// Combines Rows rows of 32 values each, one of each row in every lane: the values of row 0 in the order of the lanes, then
/// those of row 1 and so on. All lanes of the warp call; lane 0 gets the result, the others get something else.
///
/// A tree for each row would take five shuffles a row. Here neighbours split two rows between them: the left one sends its
/// value of the second row and takes the other's of the first, so that one shuffle serves two rows, and later four:
/// Rows + 4 in all. \pre Rows is a power of two, at most 32
template <int Left = 0, class Block, class T, class Op, int Rows>
PMPP_HOST_DEVICE T warp_reduce_rows(Block& block, T (&rows)[Rows], const Op& op) {
  static_assert(is_power_of_two(Rows) && Rows <= simt::warp_size);
  constexpr int left =
      Left == 0 ? Rows : Left;  // values of a lane; of rows that agree with its number modulo `distance`
  constexpr int distance = Rows / left;
  if constexpr (left > 1) {
    const bool right = (block.lane() & distance) != 0;
    for (int r = 0; r < left / 2; ++r) {
      T keep = rows[2 * r], send = rows[2 * r + 1];
      detail::swap_if(right, keep, send);
      T other = block.shuffle_xor(send, distance);
      detail::swap_if(right, keep, other);
      rows[r] = static_cast<T>(op(keep, other));
    }
    return warp_reduce_rows<left / 2>(block, rows, op);
  } else {
    T value = rows[0];
    for (int step = 0, d = Rows; step < floor_log2(simt::warp_size); ++step, d *= 2) {
      if (d == simt::warp_size) d = 1;  // rows are complete: one row after the other
      const bool right = (block.lane() & d) != 0;
      T other = block.shuffle_xor(value, d);
      detail::swap_if(right, value, other);
      value = static_cast<T>(op(value, other));
    }
    return value;
  }
}

/// Shared memory of the two functions below. It may be reused after the next barrier.
template <class T>
struct reduce_memory {
  T warp[simt::warp_size];
};

/// Combines the values that lane 0 of warps 0 .. count - 1 holds, in order. All threads of the block call; thread 0
/// gets the result. One barrier. \pre 1 <= count <= warps(), the same in all threads; whole warps.
template <class Block, class T, class Op>
PMPP_HOST_DEVICE T reduce_warps(Block& block, reduce_memory<T>& memory, T value, Op op, int count) {
  if (block.warps() == 1) return value;
  if (block.lane() == 0) memory.warp[block.warp()] = value;
  block.sync();
  if (block.thread() == 0)  // one thread after the other: quicker than a second tree for the usual 8 warps
    for (int w = 1; w < count; ++w) value = static_cast<T>(op(value, memory.warp[w]));
  return value;
}

/// Combines the values of all threads, in order. All threads of the block call; thread 0 gets the result. One barrier.
/// \pre whole warps
template <class Block, class T, class Op>
PMPP_HOST_DEVICE T reduce(Block& block, reduce_memory<T>& memory, T value, Op op) {
  return reduce_warps(block, memory, warp_reduce(block, value, op), op, block.warps());
}

/// Combines the values of threads 0 .. count - 1, in order. All threads of the block call; thread 0 gets the result.
/// One barrier. \pre 1 <= count <= threads(), the same in all threads; whole warps.
template <class Block, class T, class Op>
PMPP_HOST_DEVICE T reduce(Block& block, reduce_memory<T>& memory, T value, Op op, int count) {
  const int in_warp = count - block.warp() * simt::warp_size;
  if (in_warp > 0) value = warp_reduce(block, value, op, min(in_warp, simt::warp_size));
  return reduce_warps(block, memory, value, op, ceil_div(count, simt::warp_size));
}

}  // namespace pmpp::inline PMPP_BACKEND::block
