// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: COO, a thread for each nonzero (PMPP, 4th edition, section 14.2). All accesses to the matrix are adjacent and all
// threads have equal work, whatever the rows are like. But many threads add to one element of y: atomically, one after the
// other, in an order that differs from run to run. And y has to be zero first.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/transform.hpp>

#include "matrix.hpp"

struct coo_spmv {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::int64_t n, const int* row_of, const int* columns,
                                   const float* values, const float* x, float* y) const {
    const auto row = pmpp::simt::watch(block, row_of, "rows");
    const auto column = pmpp::simt::watch(block, columns, "columns");
    const auto value = pmpp::simt::watch(block, values, "values");
    const auto factor = pmpp::simt::watch(block, x, "x");
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < n) pmpp::simt::atomic_add(y + row[i], value[i] * factor[column[i]]);
  }
};

/// y <- y + A x
template <class Policy>
void add_coo(const Policy& where, const pmpp::coo_matrix<indices, numbers>& A, const float* x, float* y) {
  const std::int64_t n = A.values.size();
  pmpp::launch(where, pmpp::ceil_div(n, std::int64_t(coo_spmv::threads)), coo_spmv{}, n, A.row_of.data(),
               A.columns.data(), A.values.data(), x, y);
}

template <class Policy>
void multiply_coo(const Policy& where, const formats& A, const float* x, float* y) {
  pmpp::fill(where, y, y + A.coo.rows, 0.0f);
  add_coo(where, A.coo, x, y);
}
