// SPDX-License-Identifier: Apache-2.0
//
// Before the first rung: odd-even transposition, the bubble sort of parallel machines. In even steps the keys 0 and 1, 2 and
// 3, ... are put in order, in odd steps 1 and 2, 3 and 4, ...; n steps sort n keys, for a key moves one place a step. All
// comparisons of a step are independent, and a step is a launch: n launches, n^2 / 2 comparisons. For few keys only.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>

struct exchange_neighbours {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* keys, std::int64_t n, int odd) const {
    const std::int64_t i = 2 * (block.index() * threads + block.thread()) + odd;
    if (i + 1 >= n || keys[i] <= keys[i + 1]) return;
    const unsigned larger = keys[i];
    keys[i] = keys[i + 1];
    keys[i + 1] = larger;
  }
};

template <class Policy>
void sort_by_transposition(const Policy& where, unsigned* keys, std::int64_t n) {
  const std::int64_t blocks = pmpp::ceil_div(n / 2, std::int64_t(exchange_neighbours::threads));
  for (std::int64_t step = 0; step < n; ++step)
    pmpp::launch(where, blocks, exchange_neighbours{}, keys, n, static_cast<int>(step % 2));
}
