// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: Kogge-Stone by warps. The lanes of a warp hand their sums on by shuffles, from register to register, five steps without a
// barrier or an access to memory. Each warp leaves its sum; every warp then adds up what the warps before it have left, by
// the same five steps over these 32 numbers. Of the barriers of a section, which were twelve, three are left.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

/// The sum of the values of this lane and the lanes before it.
template <class Block>
PMPP_HOST_DEVICE int scan_of_warp(Block& block, int value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = block.shuffle_up(value, distance);
    if (block.lane() >= distance) value += before;
  }
  return value;
}

struct by_warps {
  static constexpr int threads = 1024;
  struct shared {
    int of_warp[threads / 32];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n) const {
    const auto of_warp = pmpp::simt::watch(block, memory.of_warp, "of_warp");
    int carry = 0;  // sum of the sections before
    for (std::int64_t first = 0; first < n; first += threads) {
      const std::int64_t i = first + block.thread();
      const int sum = scan_of_warp(block, i < n ? in[i] : 0);
      if (block.lane() == 31) of_warp[block.warp()] = sum;
      block.sync();
      const int sums = scan_of_warp(block, of_warp[block.lane()]);  // there are as many warps as lanes
      const int before = block.shuffle(sums, (block.warp() - 1) & 31);
      if (i < n) out[i] = carry + (block.warp() > 0 ? before : 0) + sum;
      carry += block.shuffle(sums, 31);
      block.sync();  // the next section overwrites what the others may still read
    }
  }
};

template <class Policy>
void scan_by_warps(const Policy& where, const int* in, int* out, std::int64_t n) {
  pmpp::launch(where, 1, by_warps{}, in, out, n);
}
