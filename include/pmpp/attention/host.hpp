// SPDX-License-Identifier: Apache-2.0
//
// Attention on cores: 16 rows (attention/problem.hpp) at a time, over tiles of 64 keys, which are turned to floats in the order in which
// the inner loops run along them. The online softmax is that of attention/kernel.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <pmpp/attention/problem.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Row by row and key by key: the specification.
template <class T>
void attention_by_definition(const attention_problem<T>& x) {
  std::vector<float> result(static_cast<std::size_t>(x.v.size()));
  for (std::int64_t pair = 0; pair < x.pairs(); ++pair)
    for (std::int64_t row = 0; row < x.rows(); ++row) {
      const std::int64_t b = pair / x.k.heads(), head = pair % x.k.heads();
      const std::int64_t seen = x.lengths_of(b).seen_by(row / x.group());
      const T* const q = x.query(pair, row);
      float most = -std::numeric_limits<float>::infinity(), sum = 0;  // score; sum of exp(score - most)
      result.assign(result.size(), 0);
      for (std::int64_t key = 0; key < seen; ++key) {
        const T *const k = x.k.vector(b, head, key), *const v = x.v.vector(b, head, key);
        float score = 0;
        for (std::int64_t i = 0; i < x.q.size(); ++i) score += static_cast<float>(q[i]) * static_cast<float>(k[i]);
        score *= x.scale;
        const float now = max(most, score), before = std::exp(most - now), weight = std::exp(score - now);
        for (std::size_t i = 0; i < result.size(); ++i)
          result[i] = result[i] * before + weight * static_cast<float>(v[i]);
        sum = sum * before + weight;
        most = now;
      }
      for (std::size_t i = 0; i < result.size(); ++i)
        x.result(pair, row)[i] = static_cast<T>(seen > 0 ? result[i] / sum : 0);
      x.note(pair, row, seen > 0 ? most + std::log(sum) : most);
    }
}

template <class T>
void attention_on_cores(const host_policy& where, const attention_problem<T>& x) {
  constexpr std::int64_t tile_rows = 16, tile_keys = 64;
  const std::int64_t tiles = ceil_div(x.rows(), tile_rows), size = x.q.size();
  host_loop::parallel_for(where, x.pairs() * tiles, [&](std::int64_t task) {
    const std::int64_t pair = task / tiles, first = task % tiles * tile_rows, rows = min(tile_rows, x.rows() - first);
    const std::int64_t b = pair / x.k.heads(), head = pair % x.k.heads();
    const attention_lengths lengths = x.lengths_of(b);
    std::int64_t seen[tile_rows], keys = 0;
    for (std::int64_t r = 0; r < rows; ++r) keys = max(keys, seen[r] = lengths.seen_by((first + r) / x.group()));
    const auto room = [&](std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n)); };
    std::vector<float> q = room(tile_rows * size), k = room(size * tile_keys), v = room(tile_keys * size);
    std::vector<float> result = room(tile_rows * size);
    float most[tile_rows], sum[tile_rows] = {}, score[tile_keys];
    for (std::int64_t r = 0; r < rows; ++r) {
      most[r] = -std::numeric_limits<float>::infinity();
      const T* const from = x.query(pair, first + r);
      for (std::int64_t i = 0; i < size; ++i) q[std::size_t(r * size + i)] = static_cast<float>(from[i]) * x.scale;
    }
    for (std::int64_t begin = 0; begin < keys; begin += tile_keys) {
      for (std::int64_t j = 0; j < min(tile_keys, keys - begin); ++j) {
        const T *const from_k = x.k.vector(b, head, begin + j), *const from_v = x.v.vector(b, head, begin + j);
        for (std::int64_t i = 0; i < size; ++i) {
          k[std::size_t(i * tile_keys + j)] = static_cast<float>(from_k[i]);
          v[std::size_t(j * size + i)] = static_cast<float>(from_v[i]);
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t count = min(tile_keys, seen[r] - begin);
        if (count <= 0) continue;
        for (float& y : score) y = 0;
        for (std::int64_t i = 0; i < size; ++i) {
          const float factor = q[std::size_t(r * size + i)];
          const float* const column = k.data() + i * tile_keys;
          for (std::int64_t j = 0; j < tile_keys; ++j) score[j] += factor * column[j];
        }
        float now = most[r];
        for (std::int64_t j = 0; j < count; ++j) now = max(now, score[j]);
        const float before = std::exp(most[r] - now);
        most[r] = now;
        sum[r] *= before;
        float* const to = result.data() + r * size;
        for (std::int64_t i = 0; i < size; ++i) to[i] *= before;
        for (std::int64_t j = 0; j < count; ++j) {
          const float weight = std::exp(score[j] - now);
          const float* const value = v.data() + j * size;
          sum[r] += weight;
          for (std::int64_t i = 0; i < size; ++i) to[i] += weight * value[i];
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const to = x.result(pair, first + r);
      for (std::int64_t i = 0; i < size; ++i)
        to[i] = static_cast<T>(seen[r] > 0 ? result[std::size_t(r * size + i)] / sum[r] : 0);
      x.note(pair, first + r, seen[r] > 0 ? most[r] + std::log(sum[r]) : most[r]);
    }
  });
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
