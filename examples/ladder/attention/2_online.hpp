// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: flash attention, the scores never in memory (Dao et al., 2022). A thread has a query, and its result so far, in registers.
// Tiles of 32 keys and values pass through shared memory, where all threads of the block read the same vector at a time. Of the scores
// it has seen a thread keeps the largest, m, and the sum of exp(score - m); where a larger one comes, sum and result are
// multiplied by exp(old m - new m): the online softmax. At the end the result is divided by the sum.
#pragma once

#include "heads.hpp"

namespace ladder {

struct online_attention {
  static constexpr int threads = 128, tile = 32;
  struct shared {
    float k[tile][size], v[tile][size];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const heads& h) const {
    const auto in_k = pmpp::simt::watch(block, h.k, "k"), in_v = pmpp::simt::watch(block, h.v, "v");
    const auto tile_k = pmpp::simt::watch(block, memory.k, "k's tile"),
               tile_v = pmpp::simt::watch(block, memory.v, "v's tile");
    const std::int64_t n = h.length, first = std::int64_t(block.position().y) * n;  // of the head
    const std::int64_t query = std::int64_t(block.position().x) * threads + block.thread();
    float q[size], out[size] = {}, largest = -INFINITY, sum = 0;
    for (int d = 0; d < size; ++d) q[d] = query < n ? scale * h.q[(first + query) * size + d] : 0.0f;
    for (std::int64_t begin = 0; begin < n; begin += tile) {
      const int keys = int(pmpp::min(n - begin, std::int64_t(tile)));
      for (int e = block.thread(); e < keys * size; e += threads) {
        tile_k[e / size][e % size] = in_k[(first + begin) * size + e];
        tile_v[e / size][e % size] = in_v[(first + begin) * size + e];
      }
      block.sync();
      for (int key = 0; key < keys; ++key) {
        float score = 0;
        for (int d = 0; d < size; ++d) score += q[d] * tile_k[key][d];
        if (score > largest) {
          const float shrink = std::exp(largest - score);
          sum *= shrink;
          for (int d = 0; d < size; ++d) out[d] *= shrink;
          largest = score;
        }
        const float weight = std::exp(score - largest);
        sum += weight;
        for (int d = 0; d < size; ++d) out[d] += weight * tile_v[key][d];
      }
      block.sync();  // the next tile overwrites what others may still read
    }
    for (int d = 0; query < n && d < size; ++d) h.out[(first + query) * size + d] = out[d] / sum;
  }
};

template <class Policy>
void attend_online(const Policy& where, const heads& h) {
  constexpr std::int64_t threads = online_attention::threads;
  pmpp::launch(where, pmpp::grid{{pmpp::ceil_div(h.length, threads), h.count}, threads}, online_attention{}, h);
}

}  // namespace ladder
