// SPDX-License-Identifier: Apache-2.0
//
// A barrier of all blocks of a grid, or of some, as block/grid_barrier.hpp, for kernels that need to know no more than that all have come: its
// word is 0 before it and behind it, so that nobody has to find out who is the last to leave.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// All threads of as many blocks call. The last block to arrive sets the word to 0, which the others wait for. Two words in turn serve any
/// number of barriers: a block comes to a word again when all have been at the other one, and so have left this one.
template <class Block>
PMPP_HOST_DEVICE void sync_grid(Block& block, unsigned* word, std::int64_t blocks) {
  block.sync();
  if (block.thread() == 0) {
    const auto last = static_cast<unsigned>(blocks - 1);
    simt::fence();  // on either side, and the word itself relaxed: polls stay cheap
    if (simt::atomic_increment_wrap(word, last) != last)
      while (simt::load(word) != 0) block.spin();
    simt::fence();
  }
  block.sync();
}

}  // namespace pmpp::inline PMPP_BACKEND::block
