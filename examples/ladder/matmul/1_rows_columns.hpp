// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: a thread a row of C, and a thread a column (PMPP, 4th edition, exercises of chapter 3). Few threads have much
// to do each. With a row a thread, neighbouring threads read A and write C a whole row apart: each access of a warp
// touches 32 lines of memory. With a column a thread they read B and write C side by side.
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

struct row_a_thread {
  static constexpr int threads = 64;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, product x) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= x.m) return;
    for (std::int64_t j = 0; j < x.n; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < x.k; ++p) sum += x.a[i * x.k + p] * x.b[p * x.n + j];
      x.c[i * x.n + j] = sum;
    }
  }
};

struct column_a_thread {
  static constexpr int threads = 64;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, product x) const {
    const std::int64_t j = block.index() * threads + block.thread();
    if (j >= x.n) return;
    for (std::int64_t i = 0; i < x.m; ++i) {
      float sum = 0;
      for (std::int64_t p = 0; p < x.k; ++p) sum += x.a[i * x.k + p] * x.b[p * x.n + j];
      x.c[i * x.n + j] = sum;
    }
  }
};

template <class Policy>
void multiply_by_rows(const Policy& where, const product& x) {
  pmpp::launch(where, (x.m + 63) / 64, row_a_thread{}, x);
}
template <class Policy>
void multiply_by_columns(const Policy& where, const product& x) {
  pmpp::launch(where, (x.n + 63) / 64, column_a_thread{}, x);
}
