// SPDX-License-Identifier: Apache-2.0
//
// What all rungs add up: n unsigned numbers, modulo 2^32, so that every order of additions gives the same sum. A block of
// 1,024 threads adds a section of 2,048 at a time, as in PMPP, chapter 10.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

inline constexpr int block_threads = 1024;
inline constexpr std::int64_t section = 2 * block_threads;

/// The tree of sums over a block's numbers in shared memory; thread 0 gets the result. All threads call.
template <class Block, class Tile>
PMPP_HOST_DEVICE unsigned add_up(Block& block, const Tile& tile) {
  for (int stride = block.threads() / 2; stride > 0; stride /= 2) {
    block.sync();
    if (block.thread() < stride) tile[block.thread()] += tile[block.thread() + stride];
  }
  return block.thread() == 0 ? unsigned(tile[0]) : 0u;
}

}  // namespace ladder
