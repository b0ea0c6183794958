// SPDX-License-Identifier: Apache-2.0
//
// What passes over the large segments have in common: which array they read, and which runs of a segment become one.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/simt/atomic.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// n elements from any element on; `first` counts from the beginning of an array whose elements lie at i + shift.
template <class It>
PMPP_HOST_DEVICE block::staged_input<It> staged_from(const block::staged_input<It>& source, std::int64_t first,
                                                     std::int64_t n) {
  block::staged_input<It> part = source;
  part.in = source.in + first;
  part.count = n;
  part.shift = static_cast<int>((source.shift + first) % block::staged_input<It>::items);
  return part;
}
/// The runs of a segment.
template <int Ways, class It>
PMPP_HOST_DEVICE block::sorted_runs<Ways, It> runs_of(const block::staged_input<It>& source, const merged_tile& t) {
  return {staged_from(source, t.segment.begin, t.segment.end - t.segment.begin), t.run};
}

/// What passes over the large segments need. All segments that take part go from one array to the other; those that are not
/// so long join in later, so that all end in the data.
template <class Data, class Other, class Comp>
struct merge_arguments {
  block::staged_input<Data> data;
  block::staged_input<Other> other;
  segment_cut cut;
  segment_place* large;  ///< for each window: the large segment to which its last element belongs
  /// Words that are zero. Short inputs: for each window, what has been done of the large segment that begins there. Long ones:
  /// a barrier, and the passes that the longest segment needs.
  unsigned* state;
  Comp comp;

  /// Makes the pass before which `left` are left: merge(from, to).
  template <class Merge>
  PMPP_HOST_DEVICE void make_pass(int left, const Merge& merge) const {
    const bool from_data = left % 2 == 0;
    if constexpr (std::is_same_v<Data, Other>)
      merge(from_data ? data : other, (from_data ? other : data).in);
    else if (from_data)
      merge(data, other.in);
    else
      merge(other, data.in);
  }
  /// Makes the passes of long inputs: merge_pass(left, from, to). All blocks call it.
  template <class Block, class MergePass>
  PMPP_HOST_DEVICE void make_passes(Block& block, block::grid_barrier& barrier, const MergePass& merge_pass) const {
    const int passes = static_cast<int>(state[2]);
    for (int left = passes; left > 0; --left) {
      if (left < passes) barrier.sync(block);
      make_pass(left, [&](const auto& from, const auto& to) { merge_pass(left, from, to); });
    }
    block.sync();  // all threads have read how many passes there are
    if (block.thread() == 0 && barrier.leave(block)) {
      simt::store(state, 0u);
      state[2] = 0;
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
