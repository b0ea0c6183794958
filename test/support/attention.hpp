// SPDX-License-Identifier: Apache-2.0
//
// Attention by its definition, in double, to which results are held: tests of attention.cpp and attention_wgmma.cu.
#pragma once

#include <pmpp/attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

#if !PMPP_CUDA
/// The upper half of a float, for programs without CUDA's.
struct pmpp::detail::bfloat16_type {
  std::uint16_t bits;
  bfloat16_type() = default;
  explicit bfloat16_type(float x) {
    std::uint32_t all;
    std::memcpy(&all, &x, 4);
    bits = static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
  operator float() const { return __builtin_bit_cast(float, std::uint32_t(bits) << 16); }
};
#endif

namespace test::heads {

using half = pmpp::detail::half_type;
using bfloat16 = pmpp::detail::bfloat16_type;

struct shape {
  std::int64_t batch, heads, key_heads, queries, keys, size;
  bool causal = false, lengths = false, bshd = false;
  std::int64_t gap = 0;  // elements between vectors
};

template <class T>
pmpp::heads_view<T> view(T* data, const shape& s, std::int64_t heads, std::int64_t length) {
  const std::int64_t step = s.size + s.gap;
  return s.bshd ? pmpp::heads_view<T>(data, s.batch, heads, length, s.size, length * heads * step, step, heads * step)
                : pmpp::heads_view<T>(data, s.batch, heads, length, s.size, heads * length * step, length * step, step);
}

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> v;
  for (const int x : random_values<int>(n)) v.push_back(T(static_cast<float>(x % 1000) / 500));
  return v;
}

/// Half a unit in the last place, of a number near 1.
template <class T>
constexpr double epsilon = std::is_same_v<T, float>  ? 0x1p-24
                           : std::is_same_v<T, half> ? 0x1p-11
                                                     : 0x1p-8 / 2;

/// Weights are rounded (relative error epsilon each, so of the mean of values below 2 in magnitude at most 2 epsilon), and so is the
/// result (again); scores below 4 size * scale are sums of products with 21 bits or more, whose error moves weights alike.
template <class where, class T, int Size>
void try_shape(const shape& s, float scale = 0) {
  for (const std::int64_t n : {s.batch, s.heads, s.key_heads, s.queries, s.keys, s.size}) CAPTURE(n);
  CAPTURE(s.causal);
  CAPTURE(s.lengths);
  const auto room = [&](std::int64_t heads, std::int64_t length) {
    return s.batch * heads * length * (s.size + s.gap);
  };
  const auto of_q = numbers<T>(room(s.heads, s.queries));
  auto of_k = numbers<T>(room(s.key_heads, s.keys)), of_v = numbers<T>(room(s.key_heads, s.keys));
  const auto of_out = numbers<T>(room(s.heads, s.queries) + 1);
  std::vector<int> of_queries, of_keys;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    of_queries.push_back(static_cast<int>(generator()() % std::uint64_t(s.queries + 1)));
    of_keys.push_back(b == 0 ? 0 : static_cast<int>(generator()() % std::uint64_t(s.keys + 1)));
    for (std::int64_t h = 0; s.lengths && h < s.key_heads; ++h)
      for (std::int64_t j = of_keys.back(); j < s.keys; ++j)
        for (auto* x : {&of_k, &of_v})
          *view(x->data(), s, s.key_heads, s.keys).vector(b, h, j) = T(std::numeric_limits<float>::quiet_NaN());
  }
  const auto q = where::put(of_q), k = where::put(of_k), v = where::put(of_v);
  const auto query_lengths = where::put(of_queries), key_lengths = where::put(of_keys);
  auto out = where::put(of_out);
  auto log_sum_exp = where::put(std::vector<float>(static_cast<std::size_t>(s.batch * s.heads * s.queries + 1), 7));
  pmpp::attention<pmpp::attention_tuning{.head_size = Size}>(
      typename where::policy{}, view(q.data(), s, s.heads, s.queries), view(k.data(), s, s.key_heads, s.keys),
      view(v.data(), s, s.key_heads, s.keys), view(out.data(), s, s.heads, s.queries),
      {.causal = s.causal,
       .scale = scale,
       .query_lengths = s.lengths ? query_lengths.data() : nullptr,
       .key_lengths = s.lengths ? key_lengths.data() : nullptr,
       .log_sum_exp = log_sum_exp.data()});
  const auto got = where::get(out);
  const auto logs = where::get(log_sum_exp);
  auto untouched = of_out;
  double error = 0, log_error = 0;
  const double factor = scale > 0 ? double(scale) : 1 / std::sqrt(double(s.size));
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t m = s.lengths ? of_queries[std::size_t(b)] : s.queries;
        const std::int64_t n = s.lengths ? of_keys[std::size_t(b)] : s.keys, group = s.heads / s.key_heads;
        const auto dot = [&](std::int64_t j) {
          const T* x = view(of_q.data(), s, s.heads, s.queries).vector(b, h, i);
          const T* y = view(of_k.data(), s, s.key_heads, s.keys).vector(b, h / group, j);
          double sum = 0;
          for (std::int64_t p = 0; p < s.size; ++p) sum += double(float(x[p])) * double(float(y[p]));
          return sum * factor;
        };
        std::vector<double> scores, mean(std::size_t(s.size), 0.0);
        for (std::int64_t j = 0; i < m && j < n && (!s.causal || j <= n - m + i); ++j) scores.push_back(dot(j));
        double sum = 0;
        const double most = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
        for (std::size_t j = 0; j < scores.size(); ++j) {
          const T* y = view(of_v.data(), s, s.key_heads, s.keys).vector(b, h / group, std::int64_t(j));
          sum += std::exp(scores[j] - most);
          for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += std::exp(scores[j] - most) * double(float(y[p]));
        }
        const auto place = view(of_out.data(), s, s.heads, s.queries).vector(b, h, i) - of_out.data();
        for (std::size_t p = 0; p < mean.size(); ++p) {
          const T result = got[std::size_t(place) + p];
          const double wanted = scores.empty() ? 0 : mean[p] / sum, off = std::fabs(double(float(result)) - wanted);
          error = off <= error ? error : scores.empty() && off != 0 ? 1e9 : off;  // NaN too
          untouched[std::size_t(place) + p] = result;
        }
        const float log = logs[std::size_t((b * s.heads + h) * s.queries + i)];
        if (scores.empty())
          CHECK(log == -std::numeric_limits<float>::infinity());
        else
          log_error = std::fmax(log_error, std::fabs(double(log) - (most + std::log(sum))));
      }
  // What was not touched is what it was, bit by bit.
  CHECK(std::memcmp(untouched.data(), got.data(), got.size() * sizeof(T)) == 0);
  CHECK(logs.back() == 7);
  CHECK(error <= 4 * epsilon<T> + 4e-5);
  CHECK(log_error <= 2e-5);
}

}  // namespace test::heads
