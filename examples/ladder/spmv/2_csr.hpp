// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: CSR, a thread for each row (PMPP, 4th edition, section 14.3). No atomics, the row numbers shrink to one offset a
// row. But the nonzeros that neighbouring threads read lie a row apart, and a warp takes as long as its longest row.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

#include "matrix.hpp"

struct csr_spmv {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, pmpp::csr_view<const float, const int> A, const float* x,
                                   float* y) const {
    const auto column = pmpp::simt::watch(block, A.columns, "columns");
    const auto value = pmpp::simt::watch(block, A.values, "values");
    const auto factor = pmpp::simt::watch(block, x, "x");
    const std::int64_t row = block.index() * threads + block.thread();
    if (row >= A.rows) return;
    float sum = 0;
    for (int i = A.offsets[row]; i < A.offsets[row + 1]; ++i) sum += value[i] * factor[column[i]];
    y[row] = sum;
  }
};

template <class Policy>
void multiply_csr(const Policy& where, const formats& A, const float* x, float* y) {
  pmpp::launch(where, pmpp::ceil_div(A.csr.rows(), std::int64_t(csr_spmv::threads)), csr_spmv{}, A.csr.view(), x, y);
}
