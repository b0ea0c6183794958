// SPDX-License-Identifier: Apache-2.0
//
// A rung beside the others: CSC, the nonzeros column by column, a thread a column. x is read once, in order, and a column
// whose x is zero is left out as a whole, which no format of rows can do. But the rows of a column are anywhere, and each
// product is an atomic addition to y. It is the CSR of the transposed matrix.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/transform.hpp>

#include "matrix.hpp"

struct csc_spmv {
  static constexpr int threads = 256;
  /// `columns`: row c has the nonzeros of column c of A, and for each its row. y is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, pmpp::csr_view<const float, const int> columns, const float* x,
                                   float* y) const {
    const auto row = pmpp::simt::watch(block, columns.columns, "rows");
    const auto value = pmpp::simt::watch(block, columns.values, "values");
    const std::int64_t c = block.index() * threads + block.thread();
    if (c >= columns.rows) return;
    const float factor = x[c];
    if (factor == 0) return;
    for (int i = columns.offsets[c]; i < columns.offsets[c + 1]; ++i)
      pmpp::simt::atomic_add(y + row[i], value[i] * factor);
  }
};

template <class Policy>
void multiply_csc(const Policy& where, const formats& A, const float* x, float* y) {
  pmpp::fill(where, y, y + A.csr.rows(), 0.0f);
  pmpp::launch(where, pmpp::ceil_div(A.columns.rows(), std::int64_t(csc_spmv::threads)), csc_spmv{}, A.columns.view(),
               x, y);
}
