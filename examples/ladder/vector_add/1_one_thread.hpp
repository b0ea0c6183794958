// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: the loop of a CPU as a kernel, in one thread. It is right, and shows what a single thread of a GPU can do: wait
// for memory.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct add_in_one_thread {
  static constexpr int threads = 1;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, const float* y, float* sum, std::int64_t n) const {
    const auto a = pmpp::simt::watch(block, x, "a"), b = pmpp::simt::watch(block, y, "b");
    const auto c = pmpp::simt::watch(block, sum, "c");
    for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
  }
};
