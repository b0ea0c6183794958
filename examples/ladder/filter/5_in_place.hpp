// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: in order and in place, in one launch. Blocks pass on how many numbers are kept before them, as the dominoes of
// ladder/scan do; so the input is read once. A block writes only after the block before it has passed its count on, which
// that does when its own numbers are in registers: no number is written over before it has been read. (Gomez-Luna, Chang,
// Sung, Hwu and Guil, In-place data sliding algorithms, 2015.)
#pragma once

#include "kept.hpp"

namespace ladder {

struct in_place {
  static constexpr int threads = block_threads, items = 8, tile = threads * items;
  struct shared {
    int of_warp[items][warps], first;
    std::int64_t number;
  };
  /// progress[0] counts the blocks that have started; progress[b + 1] is 1 more than what blocks 0 to b keep. All 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, unsigned* data, std::int64_t n, int* progress,
                                   int* count) const {
    const auto watched = pmpp::simt::watch(block, data, "data");
    if (block.thread() == 0) memory.number = pmpp::simt::atomic_add(progress, 1);
    block.sync();
    unsigned x[items];
    int before[items], kept = 0;
    for (int k = 0; k < items; ++k) {
      const std::int64_t i = memory.number * tile + k * threads + block.thread();
      x[k] = i < n ? watched[i] : 1;
    }
    for (int k = 0; k < items; ++k) {
      const block_places place(block, memory.of_warp[k], is_kept(x[k]));
      before[k] = kept + place.before;
      kept += place.count;
    }
    if (block.thread() == 0) {
      int* const own = progress + memory.number + 1;
      int passed_on = 1;
      if (memory.number > 0)
        while ((passed_on = pmpp::simt::load<pmpp::simt::order::acquire>(own - 1)) == 0) block.spin();
      pmpp::simt::store<pmpp::simt::order::release>(own, passed_on + kept);
      memory.first = passed_on - 1;
      if (memory.number + 1 == block.count()) *count = memory.first + kept;
    }
    block.sync();
    for (int k = 0; k < items; ++k)
      if (is_kept(x[k])) data[memory.first + before[k]] = x[k];
  }
};

}  // namespace ladder
