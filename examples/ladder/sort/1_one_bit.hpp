// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: a radix sort of one bit a pass (PMPP, section 13.3). In each pass keys whose bit is 0 go to the front, the others
// after them, and neither overtakes its like. An exclusive scan of the bits tells every key how many ones precede it,
// hence its place:
//
//   bit            0 1 1 0 1 0        three zeros, three ones
//   ones before    0 0 1 2 2 3
//   place          0 3 4 1 5 2        a zero: its index - ones before;  a one: number of zeros + ones before
//
// 32 passes, from the lowest bit on. Three kernels a pass, and neighbouring threads write to two distant places.
#pragma once

#include <cstdint>
#include <utility>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/scan.hpp>

/// Where a sort keeps what it needs besides the keys: room for as many numbers each.
struct sort_buffers {
  unsigned *keys, *counts;
};

struct bits_of_keys {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const unsigned* keys, std::int64_t n, int bit, unsigned* bits) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < n) bits[i] = keys[i] >> bit & 1;
  }
};

struct move_by_bit {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const unsigned* keys, std::int64_t n, int bit,
                                   const unsigned* ones_before, unsigned* out) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= n) return;
    const unsigned key = keys[i];
    const std::int64_t zeros = n - ones_before[n - 1] - (keys[n - 1] >> bit & 1);
    out[(key >> bit & 1) == 0 ? i - ones_before[i] : zeros + ones_before[i]] = key;
  }
};

/// \pre n < 2^32
template <class Policy>
void sort_by_bits(const Policy& where, unsigned* keys, std::int64_t n, const sort_buffers& other) {
  const std::int64_t blocks = pmpp::ceil_div(n, std::int64_t(bits_of_keys::threads));
  unsigned *from = keys, *to = other.keys, *const ones = other.counts;
  for (int bit = 0; bit < 32; ++bit) {
    pmpp::launch(where, blocks, bits_of_keys{}, from, n, bit, ones);
    pmpp::exclusive_scan(where, ones, ones + n, ones);
    pmpp::launch(where, blocks, move_by_bit{}, from, n, bit, ones, to);
    std::swap(from, to);  // after 32 passes the keys are back in `keys`
  }
}
