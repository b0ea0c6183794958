// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: JDS, a thread for each row (PMPP, 4th edition, section 14.5). Rows are sorted by length, so that the threads of a
// warp have rows of about one length, and jagged diagonals need no padding. Neighbouring threads read adjacent nonzeros, but
// write y where the sort has moved its row from. A row that is longer than all others together is still one thread's.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

#include "matrix.hpp"

struct jds_spmv {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::int64_t rows, std::int64_t width, const int* order,
                                   const int* offsets, const int* columns, const float* values, const float* x,
                                   float* y) const {
    const auto column = pmpp::simt::watch(block, columns, "columns");
    const auto value = pmpp::simt::watch(block, values, "values");
    const auto factor = pmpp::simt::watch(block, x, "x");
    const std::int64_t r = block.index() * threads + block.thread();
    if (r >= rows) return;
    float sum = 0;
    for (std::int64_t k = 0; k < width && offsets[k] + r < offsets[k + 1]; ++k)
      sum += value[offsets[k] + r] * factor[column[offsets[k] + r]];
    y[order[r]] = sum;
  }
};

template <class Policy>
void multiply_jds(const Policy& where, const formats& A, const float* x, float* y) {
  pmpp::launch(where, pmpp::ceil_div(A.jds.rows, std::int64_t(jds_spmv::threads)), jds_spmv{}, A.jds.rows, A.jds.width,
               A.jds.order.data(), A.jds.offsets.data(), A.jds.columns.data(), A.jds.values.data(), x, y);
}
