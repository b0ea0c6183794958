// SPDX-License-Identifier: Apache-2.0
//
// Which block of a grid is the last to come to a place: it goes on with what all of them have written, while the others are
// done. Nobody waits. The word that counts them is 0 again when the last has come, for the next launch.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Whether this block is the last of `blocks` to call, with a word that is 0 before and after. One thread of each calls. The last
/// sees what the others wrote before they called, and what other threads of theirs wrote before a barrier in front of it; relaxed:
/// it sees nothing, and knows only that they have come.
template <simt::order Order = simt::order::acq_rel>
PMPP_HOST_DEVICE bool comes_last(unsigned* word, std::int64_t blocks) {
  const auto others = static_cast<unsigned>(blocks - 1);
  return simt::atomic_increment_wrap<Order>(word, others) == others;
}

/// The same for all threads of each block, which all call, and all of the last see what the others wrote. `flag` lies in shared
/// memory. Two barriers.
template <class Block>
PMPP_HOST_DEVICE bool is_last_block(Block& block, unsigned* word, std::int64_t blocks, bool& flag) {
  block.sync();
  if (block.thread() == 0) flag = comes_last(word, blocks);
  block.sync();
  return flag;
}

}  // namespace pmpp::inline PMPP_BACKEND::block
