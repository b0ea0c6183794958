// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of attention.hpp: results and log-sum-exp are those of the definition, worked out in double, within what the
// type of the elements can hold: for random shapes, causal or not, with heads that share keys, in both layouts and with gaps, with lengths
// of sequences, no keys, one query, and few queries of a long cache, whose parts are joined. What lies outside stays, and what lies past
// the lengths is not read. Bad arguments throw.
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

using test::random_of;

namespace {

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
  for (const int x : test::random_values<int>(n)) v.push_back(T(static_cast<float>(x % 1000) / 500));
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
    of_queries.push_back(static_cast<int>(test::generator()() % std::uint64_t(s.queries + 1)));
    of_keys.push_back(b == 0 ? 0 : static_cast<int>(test::generator()() % std::uint64_t(s.keys + 1)));
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

}  // namespace

TEST_ALL_PLACES("attention: floats, any shape") {
  try_shape<where, float, 64>({1, 2, 2, 70, 75, 64, true});
  try_shape<where, float, 64>({2, 4, 2, 9, 40, 36, true, true});
  try_shape<where, float, 64>({1, 1, 1, 20, 9, 20, true, false, true});  // the first queries see nothing
  try_shape<where, float, 64>({3, 2, 1, 5, 33, 10, false, true, true, 3}, 0.7f);
  try_shape<where, float, 64>({1, 2, 1, 3, 0, 8});
  try_shape<where, float, 64>({2, 1, 1, 1, 1, 1});
  try_shape<where, float, 64>({1, 1, 1, 0, 5, 8});
  for (int turn = 0; turn < 6; ++turn) {
    const auto key_heads = random_of<std::int64_t>({1, 2}), group = random_of<std::int64_t>({1, 2, 3});
    try_shape<where, float, 64>({random_of<std::int64_t>({1, 2}), key_heads * group, key_heads,
                                 random_of<std::int64_t>({1, 2, 15, 17, 33}), random_of<std::int64_t>({1, 7, 32, 65}),
                                 random_of<std::int64_t>({4, 7, 32, 64}), turn % 2 == 0, turn % 3 == 0, turn % 4 < 2,
                                 turn % 3});
  }
}

TEST_ALL_PLACES("attention: half, one query and few of a long cache, in parts") {
  try_shape<where, half, 128>({1, 4, 1, 1, 1500, 128});
  try_shape<where, half, 128>({2, 2, 2, 4, 700, 72, true, true, true});
  try_shape<where, half, 128>({1, 1, 1, 40, 600, 128, true});
}

TEST_CASE("attention: half and bfloat16, in tiles") {
  using where = test::device_place;
  try_shape<where, half, 128>({1, 3, 1, 50, 90, 128, true});
  try_shape<where, half, 128>({2, 1, 1, 35, 70, 100, false, true, false, 1});
  try_shape<where, bfloat16, 64>({1, 2, 1, 70, 130, 64, true});
  try_shape<where, bfloat16, 64>({2, 2, 2, 12, 50, 40, false, true, true, 8});
}

TEST_ALL_PLACES("attention: bad arguments throw, and nothing is written") {
  const typename where::policy policy{};
  auto some = where::put(std::vector<float>(4000, 5));
  float* p = some.data();
  using pmpp::bhsd;
  const auto run = [&](auto q, auto k, auto v, auto out, const pmpp::attention_options& o = {}) {
    pmpp::attention<pmpp::attention_tuning{.head_size = 64}>(policy, q, k, v, out, o);
  };
  const auto q = bhsd(p, 1, 4, 3, 8), k = bhsd(p + 500, 1, 2, 5, 8), v = bhsd(p + 1000, 1, 2, 5, 8);
  const auto out = bhsd(p + 2000, 1, 4, 3, 8);
  const auto fails = [&](auto... x) { CHECK_THROWS_AS(run(x...), std::invalid_argument); };
  fails(q, k, bhsd(p + 1000, 1, 2, 4, 8), out);                            // other values than keys
  fails(q, bhsd(p + 500, 1, 3, 5, 8), bhsd(p + 1000, 1, 3, 5, 8), out);    // 3 does not divide 4
  fails(q, bhsd(p + 500, 1, 0, 5, 8), bhsd(p + 1000, 1, 0, 5, 8), out);    // no heads
  fails(q, bhsd(p + 500, 1, 2, 5, 4), bhsd(p + 1000, 1, 2, 5, 4), out);    // size
  fails(q, k, v, bhsd(p + 2000, 1, 4, 2, 8));                              // fewer results
  fails(q, k, v, bhsd(p + 4, 1, 4, 3, 8));                                 // overlap
  fails(q, k, v, pmpp::heads_view<float>(p + 2000, 1, 4, 3, 8, 0, 0, 8));  // heads on top of each other
  fails(q, bhsd(static_cast<float*>(nullptr), 1, 2, 5, 8), v, out);
  fails(bhsd(p, 1, 1, 2, 65), bhsd(p + 500, 1, 1, 2, 65), bhsd(p + 1000, 1, 1, 2, 65), bhsd(p + 2000, 1, 1, 2, 65));
  fails(q, k, v, out, pmpp::attention_options{.scale = -1});
  fails(q, k, v, out, pmpp::attention_options{.scale = std::numeric_limits<float>::quiet_NaN()});
  fails(pmpp::heads_view<float>(p, 1, 4, -3, 8, 96, 24, 8), k, v, out);
  CHECK(where::get(some) == std::vector<float>(4000, 5));
}
