// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: Brent-Kung (PMPP, section 11.4). A tree of sums on the way up, and on the way down what the tree left out:
//
//   x0  x0..1  x2  x2..3  x4  x4..5  x6  x6..7       up, stride 1
//   x0  x0..1  x2  x0..3  x4  x4..5  x6  x4..7       up, stride 2
//   x0  x0..1  x2  x0..3  x4  x4..5  x6  x0..7       up, stride 4
//   x0  x0..1  x2  x0..3  x4  x0..5  x6  x0..7       down, stride 2
//   x0  x0..1  x0..2  x0..3  x0..4  x0..5 ...        down, stride 1
//
// About two additions an element, in twice as many steps as Kogge-Stone. Neighbouring threads take neighbouring sums of
// a step, so that whole warps have nothing to do rather than half the lanes of each.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct brent_kung {
  static constexpr int threads = 1024, section = 2 * threads;
  struct shared {
    int sum[section];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n) const {
    const auto sum = pmpp::simt::watch(block, memory.sum, "sum");
    const int t = block.thread();
    int carry = 0;  // sum of the sections before
    for (std::int64_t first = 0; first < n; first += section) {
      for (int k = t; k < section; k += threads) sum[k] = first + k < n ? in[first + k] : 0;
      block.sync();
      for (int stride = 1; stride < section; stride *= 2) {
        const int k = (t + 1) * 2 * stride - 1;
        if (k < section) sum[k] = sum[k] + sum[k - stride];
        block.sync();
      }
      for (int stride = section / 4; stride > 0; stride /= 2) {
        const int k = (t + 1) * 2 * stride - 1;
        if (k + stride < section) sum[k + stride] = sum[k + stride] + sum[k];
        block.sync();
      }
      for (int k = t; k < section; k += threads)
        if (first + k < n) out[first + k] = carry + sum[k];
      carry += sum[section - 1];
      block.sync();  // the next section overwrites what the others may still read
    }
  }
};

template <class Policy>
void scan_by_brent_kung(const Policy& where, const int* in, int* out, std::int64_t n) {
  pmpp::launch(where, 1, brent_kung{}, in, out, n);
}
