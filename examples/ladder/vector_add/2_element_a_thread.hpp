// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: an element a thread (PMPP, 4th edition, section 2.3). The grid covers the vector; the last block is cut off by
// the condition, which splits one warp at most.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct add_an_element {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, const float* y, float* sum, std::int64_t n) const {
    const auto a = pmpp::simt::watch(block, x, "a"), b = pmpp::simt::watch(block, y, "b");
    const auto c = pmpp::simt::watch(block, sum, "c");
    const std::int64_t i = block.index() * threads + block.thread();
    if (pmpp::simt::branch(block, i < n, "i < n")) c[i] = a[i] + b[i];
  }
};
