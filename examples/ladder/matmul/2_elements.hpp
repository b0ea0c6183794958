// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: a thread an element of C (PMPP, section 3.4). All multiprocessors have work. Each multiplication reads two
// elements from memory, or from a cache that another thread's reading has filled: 4 bytes an operation.
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

struct element_a_thread {
  static constexpr int side = 16;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, product x) const {
    const std::int64_t j = std::int64_t(block.position().x) * side + block.thread_position().x;
    const std::int64_t i = std::int64_t(block.position().y) * side + block.thread_position().y;
    if (i >= x.m || j >= x.n) return;
    float sum = 0;
    for (std::int64_t p = 0; p < x.k; ++p) sum += x.a[i * x.k + p] * x.b[p * x.n + j];
    x.c[i * x.n + j] = sum;
  }
};

template <class Policy>
void multiply_by_elements(const Policy& where, const product& x) {
  constexpr int side = element_a_thread::side;
  pmpp::launch(where, pmpp::grid{{(x.n + side - 1) / side, (x.m + side - 1) / side}, {side, side}}, element_a_thread{},
               x);
}
