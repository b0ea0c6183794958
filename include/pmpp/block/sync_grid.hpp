// SPDX-License-Identifier: Apache-2.0
//
// A barrier of all blocks of a grid, or of some, for kernels launched by launch_together. Its word is 0 before it and after it, so that
// nobody has to find out who is the last to leave.
#pragma once

#include <cstdint>

#include <pmpp/block/last_block.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// All threads of as many blocks call. What any of them wrote before, all of them see afterwards. Thread 0 of each block runs
/// `before()` when its block has arrived, and `after()` when all blocks have, before the other threads go on.
/// The last block to arrive sets the word to 0, which the others wait for. Two words in turn serve any number of barriers: a block
/// comes to a word again when all have been at the other one, and so have left this one.
template <class Block, class Before, class After>
PMPP_HOST_DEVICE void sync_grid(Block& block, unsigned* word, std::int64_t blocks, Before before, After after) {
  block.sync();
  if (block.thread() == 0) {
    before();
    simt::fence();  // on either side, and the word itself relaxed: polls stay cheap
    if (!comes_last<simt::order::relaxed>(word, blocks))
      while (simt::load(word) != 0) block.spin();
    simt::fence();
    after();
  }
  block.sync();
}
template <class Block>
PMPP_HOST_DEVICE void sync_grid(Block& block, unsigned* word, std::int64_t blocks) {
  const auto nothing = [] {};
  block::sync_grid(block, word, blocks, nothing, nothing);
}
/// All blocks.
template <class Block>
PMPP_HOST_DEVICE void sync_grid(Block& block, unsigned* word) {
  block::sync_grid(block, word, block.count());
}

}  // namespace pmpp::inline PMPP_BACKEND::block
