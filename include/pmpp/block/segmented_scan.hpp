// SPDX-License-Identifier: Apache-2.0
//
// Segmented scan in a block: of adjacent elements, some of which are heads, the first of a segment. In front of a head
// nothing joins.
//
//     elements    1 2 3 4 | 5 6 7 8 | 9 1 2 3        three threads of four elements
//     heads       ^     ^                 ^
//     scanned     1 3 6 4 | 5 11 18 26 | 9 10 2 5    by each thread: scan_items
//     joined              | 9 15 22 30 | 39 40       with what ends in front of the thread: join_before, join_items
//
// What a thread has is a part (core/segment_part.hpp). (Segmented scan by pairs of flag and value: Schwartz, 1980; Blelloch, 1990. PMPP ch. 11.)
#pragma once

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/segment_part.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

using pmpp::detail::join_parts;
using pmpp::detail::segment_part;

/// Lane i gets what the values of the lanes from the last one with a head up to i combine to, for i < count; bit l of
/// `lanes_with_head`: lane l has one. That takes half of the instructions of a scan of parts. All lanes of a warp call.
template <class Block, class A, class Op>
PMPP_HOST_DEVICE A warp_segmented_scan(Block& block, A value, unsigned lanes_with_head, const Op& op,
                                       int count = simt::warp_size) {
  constexpr int lanes = simt::warp_size;
  // How many lanes to the left there is no head between.
  const int reach = min(block.lane(), simt::leading_zeros(lanes_with_head << (lanes - 1 - block.lane())));
  for (int d = 1; d < lanes; d *= 2) {
    const A left = block.shuffle_up(value, d);
    if (d <= reach && block.lane() < count) value = static_cast<A>(op(left, value));
  }
  return value;
}

/// Scans items [begin, end) of a thread from head to head; bit k of `heads`: item k is one. Item k of `y` becomes the
/// combination of the items from the last head on (from `begin` on, without one).
template <class A, int N, class Op>
PMPP_HOST_DEVICE segment_part<A> scan_items(A (&y)[N], unsigned heads, int begin, int end, Op op) {
  segment_part<A> last{};
  for (int k = 0; k < N; ++k) {
    if (k < begin || k >= end) continue;
    if (last.present && (heads >> k & 1) == 0) y[k] = static_cast<A>(op(last.value, y[k]));
    last.value = y[k];
    last.present = true;
  }
  last.heads = static_cast<unsigned>(simt::count_bits(heads));
  return last;
}

/// Shared memory of join_before. It may be reused after the next barrier.
template <class A>
struct parts_memory {
  segment_part<A> warp[simt::warp_size];
};

/// Joins `first` and the parts of all threads before this one. All threads call. One barrier. Whole: all threads have a
/// value; then of heads it is known whether there are any, not how many.
template <bool Whole, class Block, class A, class Op>
PMPP_HOST_DEVICE segment_part<A> join_before(Block& block, parts_memory<A>& memory, const segment_part<A>& own,
                                             const segment_part<A>& first, const join_parts<A, Op>& join) {
  constexpr int lanes = simt::warp_size;
  segment_part<A> scanned = own;
  if constexpr (Whole) {
    const unsigned with_head = block.ballot(own.heads != 0);
    scanned.value = block::warp_segmented_scan(block, own.value, with_head, join.op);
    scanned.heads = (with_head << (lanes - 1 - block.lane())) != 0;
  } else {
    scanned = block::warp_inclusive_scan(block, own, join);
  }
  if (block.lane() == lanes - 1) memory.warp[block.warp()] = scanned;
  segment_part<A> left = block.shuffle_up(scanned, 1);
  block.sync();
  segment_part<A> before = first;
  for (int w = 0; w < block.warp(); ++w) {
    segment_part<A> warp = memory.warp[w];
    if (Whole) warp.present = true;
    before = join(before, warp);
  }
  if (Whole) left.present = true;
  return block.lane() == 0 ? before : join(before, left);
}

/// Puts what precedes the thread in front of the items before its first head.
template <class A, int N, class Op>
PMPP_HOST_DEVICE void join_items(A (&y)[N], const segment_part<A>& before, unsigned heads, int begin, int end, Op op) {
  if (!before.present) return;
  end = min(end, simt::trailing_zeros(heads));
  for (int k = 0; k < N; ++k)
    if (k >= begin && k < end) y[k] = static_cast<A>(op(before.value, y[k]));
}

}  // namespace pmpp::inline PMPP_BACKEND::block
