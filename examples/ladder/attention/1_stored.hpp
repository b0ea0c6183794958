// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: three launches, with the scores in memory (PMPP, 5th edition, ch. 20). A thread makes a score, then a warp the softmax of
// a row, then a thread an element of the result. The scores of 4096 positions are 64 MB a head: written, read, written and
// read again, while queries, keys, values and results are 1 MB each.
#pragma once

#include <pmpp/network.hpp>

#include "heads.hpp"

namespace ladder {

struct scores_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const heads& h, float* scores) const {
    const auto q = pmpp::simt::watch(block, h.q, "q"), k = pmpp::simt::watch(block, h.k, "k");
    const auto out = pmpp::simt::watch(block, scores, "scores");
    const std::int64_t e = block.index() * threads + block.thread(), n = h.length;
    if (e >= h.count * n * n) return;
    const std::int64_t query = e / n, key = e / (n * n) * n + e % n;  // rows of all heads together
    float sum = 0;
    for (int d = 0; d < size; ++d) sum += q[query * size + d] * k[key * size + d];
    out[e] = scale * sum;
  }
};

struct weighted_values {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const heads& h, const float* weights) const {
    const auto w = pmpp::simt::watch(block, weights, "scores"), v = pmpp::simt::watch(block, h.v, "v");
    const auto out = pmpp::simt::watch(block, h.out, "out");
    const std::int64_t e = block.index() * threads + block.thread(), n = h.length;
    if (e >= h.count * n * size) return;
    const std::int64_t query = e / size, first = query / n * n, d = e % size;
    float sum = 0;
    for (std::int64_t key = 0; key < n; ++key) sum += w[query * n + key] * v[(first + key) * size + d];
    out[e] = sum;
  }
};

/// \param scores  room for count x length x length
template <class Policy>
void attend_by_stored_scores(const Policy& where, const heads& h, float* scores) {
  const std::int64_t rows = h.count * h.length, threads = scores_kernel::threads;
  pmpp::launch(where, pmpp::ceil_div(rows * h.length, threads), scores_kernel{}, h, scores);
  const pmpp::matrix_view<float> table(scores, rows, h.length);
  pmpp::softmax(where, table, table);
  pmpp::launch(where, pmpp::ceil_div(rows * size, threads), weighted_values{}, h, scores);
}

}  // namespace ladder
