// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: coarsened, in registers. As rung 3 a thread owns 15 adjacent elements, but scans them in registers, and warps
// scan the sums of threads by shuffles. An element passes through shared memory twice, on its way in and on its way out, only
// to change from whole lines to a thread's own; rung 3 has it there for eight accesses. Four barriers for 15,360 elements.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

#include "4_warps.hpp"

struct in_registers {
  static constexpr int threads = 1024, items = 15, size = threads * items;  // odd: lanes find different banks
  struct shared {
    int element[size];
    int of_warp[threads / 32];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n) const {
    const auto element = pmpp::simt::watch(block, memory.element, "element");
    const auto of_warp = pmpp::simt::watch(block, memory.of_warp, "of_warp");
    const int t = block.thread();
    int carry = 0;  // sum of the sections before
    for (std::int64_t first = 0; first < n; first += size) {
      for (int k = t; k < size; k += threads) element[k] = first + k < n ? in[first + k] : 0;
      block.sync();
      int own[items];
      for (int k = 0; k < items; ++k) own[k] = element[t * items + k] + (k > 0 ? own[k - 1] : 0);
      const int sum = scan_of_warp(block, own[items - 1]);
      if (block.lane() == 31) of_warp[block.warp()] = sum;
      block.sync();
      const int sums = scan_of_warp(block, of_warp[block.lane()]);
      const int of_warps = block.shuffle(sums, (block.warp() - 1) & 31);
      const int before = carry + (block.warp() > 0 ? of_warps : 0) + sum - own[items - 1];
      for (int k = 0; k < items; ++k) element[t * items + k] = before + own[k];
      block.sync();
      for (int k = t; k < size; k += threads)
        if (first + k < n) out[first + k] = element[k];
      carry += block.shuffle(sums, 31);
      block.sync();  // the next section overwrites what the others may still read
    }
  }
};

template <class Policy>
void scan_in_registers(const Policy& where, const int* in, int* out, std::int64_t n) {
  pmpp::launch(where, 1, in_registers{}, in, out, n);
}
