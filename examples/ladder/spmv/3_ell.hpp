// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: ELL, a thread for each row (PMPP, 4th edition, section 14.4). The k-th nonzeros of all rows lie side by side: what
// neighbouring threads read is adjacent. All rows are as long as the longest, though: one long row is enough to make
// the matrix too large.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

#include "matrix.hpp"

struct ell_spmv {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::int64_t rows, std::int64_t width, const int* columns,
                                   const float* values, const float* x, float* y) const {
    const auto column = pmpp::simt::watch(block, columns, "columns");
    const auto value = pmpp::simt::watch(block, values, "values");
    const auto factor = pmpp::simt::watch(block, x, "x");
    const std::int64_t row = block.index() * threads + block.thread();
    if (row >= rows) return;
    float sum = 0;
    for (std::int64_t k = 0, i = row; k < width && columns[i] >= 0; ++k, i += rows) sum += value[i] * factor[column[i]];
    y[row] = sum;
  }
};

template <class Policy>
void write_ell(const Policy& where, const pmpp::ell_matrix<indices, numbers>& A, const float* x, float* y) {
  pmpp::launch(where, pmpp::ceil_div(A.rows, std::int64_t(ell_spmv::threads)), ell_spmv{}, A.rows, A.width,
               A.columns.data(), A.values.data(), x, y);
}

template <class Policy>
void multiply_ell(const Policy& where, const formats& A, const float* x, float* y) {
  write_ell(where, A.ell, x, y);
}
