// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm/bulk.hpp, on a GPU that has TMA: products of floats are those of the definition,
// small integers exactly, for any shape, tiles of several sizes, whole tiles beside shares of tiles, rows with gaps after
// them, matrices that begin anywhere at a multiple of 16 bytes, batches, alpha, beta and an epilogue that knows its place;
// what lies around C stays; the same bits on every run; operands that TMA cannot read are refused.
#include <pmpp/gemm.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using test::random_of;
using where = test::device_place;

namespace {

/// Small tiles, so that there are more of them than places; and the one that gemm uses.
// clang-format off
constexpr pmpp::gemm_tile
    small{.m = 32, .n = 64, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 2},
    high{.m = 64, .n = 64, .k = 16, .stages = 4, .thread_m = 8, .thread_n = 4, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
    // clang-format on
    real = pmpp::gemm_tuning_for<float>().bulk;

struct add_place {
  PMPP_HOST_DEVICE float operator()(float v, std::int64_t i, std::int64_t j) const {
    return v + static_cast<float>(i % 16 - j % 8);
  }
};

std::vector<float> integers(std::int64_t n) {
  auto v = test::random_values<float>(n);
  for (float& x : v) x = std::round(4 * x);
  return v;
}

/// An operand of `batch` matrices with `extent` numbers for each k, `gap` more between those of one k and of the next.
struct operand {
  std::int64_t extent, pitch, matrix, offset;
  std::vector<float> values;
  where::container<float> there;
  operand(std::int64_t extent_, std::int64_t k, std::int64_t batch, std::int64_t gap, std::int64_t offset_)
      : extent(extent_),
        pitch((extent_ + 3) / 4 * 4 + gap),
        matrix(batch > 0 ? k * pitch + 8 : 0),
        offset(offset_),
        values(integers(offset + (batch > 0 ? batch : 1) * (k * pitch + 8))),
        there(where::put(values)) {}
  float at(std::int64_t batch, std::int64_t i, std::int64_t p) const {
    return values[static_cast<std::size_t>(offset + batch * matrix + p * pitch + i)];
  }
  pmpp::detail::gemm_operand<float> view() const { return {there.data() + offset, extent, 1, pitch, matrix}; }
};

/// C = 2 A B - C and more; `one_b`: all products share B.
template <pmpp::gemm_tile Tile, class Epilogue>
void try_bulk(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool one_b, bool column_major,
              float beta, Epilogue epilogue) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(batch);
  CAPTURE(one_b);
  CAPTURE(column_major);
  CAPTURE(beta);
  const operand a(m, k, batch, random_of<std::int64_t>({0, 4, 28}), random_of<std::int64_t>({0, 4, 36})),
      b(n, k, one_b ? 0 : batch, random_of<std::int64_t>({0, 8}), random_of<std::int64_t>({0, 12}));
  const std::int64_t line = (column_major ? m : n) + random_of<std::int64_t>({0, 1, 4}),
                     matrix = line * (column_major ? n : m), first = random_of<std::int64_t>({0, 1, 4});
  const std::int64_t row_stride = column_major ? 1 : line, col_stride = column_major ? line : 1;
  const auto c = integers(first + matrix * batch + 5);
  auto c_there = where::put(c);
  const pmpp::detail::gemm_problem<float, float, float, float, Epilogue> x{
      a.view(), b.view(), {c_there.data() + first, m, n, row_stride, col_stride, matrix},
      k,        batch,    {2, beta, epilogue, false}};
  REQUIRE(pmpp::detail::gemm_by_bulk<Tile>(pmpp::device, x));
  auto wanted = c;
  for (std::int64_t t = 0; t < batch; ++t)
    for (std::int64_t i = 0; i < m; ++i) {
      std::vector<float> sums(static_cast<std::size_t>(n));
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t j = 0; j < n; ++j) sums[static_cast<std::size_t>(j)] += a.at(t, i, p) * b.at(t, j, p);
      for (std::int64_t j = 0; j < n; ++j) {
        float& to = wanted[static_cast<std::size_t>(first + t * matrix + i * row_stride + j * col_stride)];
        float value = 2 * sums[static_cast<std::size_t>(j)] + (beta == 0 ? 0 : beta * to);
        if constexpr (std::is_same_v<Epilogue, add_place>) value = add_place{}(value, i, j);
        to = value;
      }
    }
  CHECK(where::get(c_there) == wanted);
}

}  // namespace

TEST_CASE("gemm in bulk: any shape, with every tile") {
  if (!pmpp::detail::wgmma_available()) return;
  for (int i = 0; i < test::turns(60); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 3, 15, 16, 31, 33, 64, 65, 127, 128, 129, 200, 257}); };
    const auto m = size(), n = size(), k = random_of<std::int64_t>({1, 7, 8, 9, 16, 17, 64, 129, 300, 1100});
    const auto batch = random_of<std::int64_t>({1, 1, 2, 5});
    const bool one_b = i % 3 == 0, down = i % 4 == 3;
    const float beta = random_of({0.0f, -1.0f});
    try_bulk<small>(m, n, k, batch, one_b, down, beta, pmpp::no_epilogue{});
    try_bulk<high>(n, m, k, batch, one_b, down, beta, add_place{});
    try_bulk<real>(m, n, k, batch, one_b, down, beta, pmpp::no_epilogue{});
  }
}

TEST_CASE("gemm in bulk: many rounds of tiles, and shares of those that are left") {
  if (!pmpp::detail::wgmma_available()) return;
  for (const std::int64_t k : {1, 40, 1501}) {  // only long ones are shared
    try_bulk<small>(500, 1100, k, 1, false, false, 0, pmpp::no_epilogue{});
    try_bulk<small>(100, 300, k, 15, true, false, -1, pmpp::no_epilogue{});
    try_bulk<high>(1001, 1111, k, 1, false, true, 1, add_place{});
  }
  if (test::only_small()) return;
  for (const std::int64_t k : {1, 250}) try_bulk<real>(2100, 2300, k, 1, false, false, 0, pmpp::no_epilogue{});
}

TEST_CASE("gemm in bulk: the same bits on every run; what cannot be read is refused") {
  if (!pmpp::detail::wgmma_available()) return;
  const std::int64_t m = 1030, n = 900, k = 333, pitch = 1032;
  const auto a = where::put(test::random_values<float>(k * pitch)),
             b = where::put(test::random_values<float>(k * pitch));
  std::vector<float> first;
  for (int run = 0; run < 5; ++run) {
    auto c = where::put(std::vector<float>(static_cast<std::size_t>(m * n)));
    const pmpp::detail::gemm_problem<float, float, float, float, pmpp::no_epilogue> x{
        {a.data(), m, 1, pitch, 0}, {b.data(), n, 1, pitch, 0}, {c.data(), m, n, n, 1, 0}, k, 1, {1, 0, {}, false}};
    REQUIRE(pmpp::detail::gemm_by_bulk<real>(pmpp::device, x));
    const auto got = where::get(c);
    if (run == 0) first = got;
    CHECK(got == first);
    for (const auto& [data, stride, k_stride] :
         {std::array<std::int64_t, 3>{1, 1, pitch}, {0, 1, 1031}, {0, pitch, 1}}) {
      auto y = x;
      y.a = {a.data() + data, m - 2, stride, k_stride, 0};
      CHECK(!pmpp::detail::gemm_by_bulk<real>(pmpp::device, y));
    }
  }
}

// Every product by the large tile.
constexpr pmpp::gemm_tile large = pmpp::gemm_tuning_for<float>().large;
constexpr pmpp::gemm_tuning only_large = [] {
  pmpp::gemm_tuning tuning;
  tuning.large = tuning.small = large;
  tuning.direct = false;
  tuning.bulk = real;
  return tuning;
}();

TEST_CASE("gemm of large floats, whatever the layouts") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      test::try_product<where, only_large, float, float, float>(2059 + ta, 2051 + tb, 9, {ta, 1}, {tb, 0, 1}, {ta, 1},
                                                                2, 1);
}
