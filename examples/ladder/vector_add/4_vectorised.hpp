// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: 16 bytes at a time: a quarter of the instructions, and more bytes on their way for each. The pointers are
// multiples of 16 bytes; the last threads add what does not fill a vector. (The library takes any pointer.)
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct alignas(16) four_floats {
  float item[4];
};

struct add_vectors {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, const float* y, float* sum, std::int64_t n) const {
    const auto a = pmpp::simt::watch(block, reinterpret_cast<const four_floats*>(x), "a");
    const auto b = pmpp::simt::watch(block, reinterpret_cast<const four_floats*>(y), "b");
    const auto c = pmpp::simt::watch(block, reinterpret_cast<four_floats*>(sum), "c");
    const std::int64_t i = block.index() * threads + block.thread();
    if (4 * i + 4 <= n) {
      const four_floats p = a[i], q = b[i];
      c[i] = four_floats{p.item[0] + q.item[0], p.item[1] + q.item[1], p.item[2] + q.item[2], p.item[3] + q.item[3]};
    } else {
      for (std::int64_t j = 4 * i; j < n; ++j) sum[j] = x[j] + y[j];
    }
  }
};
