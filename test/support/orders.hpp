// SPDX-License-Identifier: Apache-2.0
//
// The emulator starts blocks and threads in many orders.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

#include <doctest/doctest.h>

#include "support/data.hpp"

#if PMPP_WITH_EMULATOR
namespace test {

/// Calls f(seed) for seeds 0 ... seeds - 1 in each order of blocks, with the blocks on one thread and on two; for one seed where
/// little is to be done.
template <class F>
void for_each_order(std::uint64_t seeds, F f) {
  using pmpp::simt::block_order;
  if (only_small()) seeds = 1;
  for (const block_order order : {block_order::ascending, block_order::descending, block_order::shuffled})
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
      for (const int threads : {1, 2}) {
        pmpp::simt::emulator_options options;
        options.threads = threads;
        options.seed = seed;
        options.order = order;
        const pmpp::simt::scoped_emulator_options scope(options);
        CAPTURE(seed);
        CAPTURE(static_cast<int>(order));
        f(seed);
      }
}

}  // namespace test
#endif
