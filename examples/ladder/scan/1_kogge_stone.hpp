// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: Kogge-Stone (PMPP, 4th edition, section 11.2). One block walks through the array, a section of as many elements as it has
// threads at a time. In step k = 0, 1, 2, ... each thread adds what stands 2^k places before its own element:
//
//   x0   x1     x2     x3     x4     x5         distance 1
//   x0   x0..1  x1..2  x2..3  x3..4  x4..5      distance 2
//   x0   x0..1  x0..2  x0..3  x1..4  x2..5      distance 4 ...
//
// Log2(threads) steps, but threads * log2(threads) additions where a plain loop needs one an element. Two buffers, read
// one and write the other, save the second barrier of each step.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct kogge_stone {
  static constexpr int threads = 1024;
  struct shared {
    int sum[2][threads];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n) const {
    const auto sums = pmpp::simt::watch(block, memory.sum, "sum");
    const int t = block.thread();
    int carry = 0;  // sum of the sections before
    for (std::int64_t first = 0; first < n; first += threads) {
      const std::int64_t i = first + t;
      int now = 0;  // the buffer that holds the sums so far
      sums[now][t] = i < n ? in[i] : 0;
      block.sync();
      for (int distance = 1; distance < threads; distance *= 2) {
        const int sum = sums[now][t];
        sums[1 - now][t] = t >= distance ? sums[now][t - distance] + sum : sum;
        now = 1 - now;
        block.sync();
      }
      if (i < n) out[i] = carry + sums[now][t];
      carry += sums[now][threads - 1];
      block.sync();  // the next section overwrites what the others may still read
    }
  }
};

template <class Policy>
void scan_by_kogge_stone(const Policy& where, const int* in, int* out, std::int64_t n) {
  pmpp::launch(where, 1, kogge_stone{}, in, out, n);
}
