// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm/parts.hpp and gemm/from_tensor_cores.hpp by mma.sync, in the emulator and on a GPU: a float is its three
// parts, exactly, for all exponents; products are those of the definition for any shape, layout, alpha, beta, epilogue, batch, and
// splits of k; errors are at most those of sums of floats, for random numbers, wide ranges and sums that cancel; infinities, NaN,
// denormal and the largest floats are as sums of floats have them; the same bits on every run. (By wgmma: gemm_wgmma_parts.cu.)
#include <pmpp/gemm.hpp>

#include <cstdint>
#include <vector>

#include "support/float_products.hpp"
#include "support/tensor_products.hpp"

using namespace test;

namespace {

constexpr pmpp::gemm_options exact{.precision = pmpp::float_from_tensor_cores{}};

/// By mma.sync alone, by one of two tiles.
template <class Problem>
void by_mma(const Problem& x, bool large) {
  constexpr pmpp::gemm_tuning tuning = PMPP_CUDA ? pmpp::gemm_tuning_for<float>() : tiles;
  using policy = pmpp::device_policy;
  constexpr auto tile = [](pmpp::mma_tile t) {
    return pmpp::detail::mma_tile_of_parts(t, pmpp::detail::least_shared_per_block<policy>);
  };
  const auto& on = pmpp::machine_of(pmpp::device);
  pmpp::detail::parts_plan plan;
  plan.large = large;
  plan.mma = large ? pmpp::detail::plan_parts_by_mma<tile(tuning.mma_large)>(x, on)
                   : pmpp::detail::plan_parts_by_mma<tile(tuning.mma_small)>(x, on);
  pmpp::detail::gemm_from_tensor_cores<tuning.mma_large, tuning.mma_small>(pmpp::device, x, plan);
}

}  // namespace

TEST_CASE("gemm of parts: a float is its parts") {
  const auto check = [](float x) {
    pmpp::detail::bfloat16_part part[3];
    pmpp::detail::split_float(x, part);
    double sum = 0;
    for (int p = 2; p >= 0; --p) sum = sum / 256 + double(pmpp::detail::float_of(part[p]));
    return sum == double(x);
  };
  int wrong = 0;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (std::uint32_t i = 0; i < 300; ++i) {
      const std::uint32_t low = i < 4 ? (i % 2 ? 0x7fffffu : 0u) ^ (i / 2 ? 0x8000u : 0u)
                                      : static_cast<std::uint32_t>(generator()()) & 0x7fffffu;
      wrong += !check(__builtin_bit_cast(float, (i % 2) << 31 | exponent << 23 | low));
    }
  CHECK(wrong == 0);
  pmpp::detail::bfloat16_part part[3];
  pmpp::detail::split_float(-std::numeric_limits<float>::infinity(), part);
  CHECK((part[0] == 0xff80 && part[1] == 0 && part[2] == 0));
  pmpp::detail::split_float(__builtin_bit_cast(float, 0x7f800001u), part);
  CHECK(part[0] == 0x7fc0);
}

TEST_CASE("gemm of parts: any shape, any layout") {
  for (const bool large : {false, true}) try_any_floats(PMPP_CUDA ? 60 : 4, [&](const auto& x) { by_mma(x, large); });
}

TEST_CASE("gemm of parts: errors are at most those of floats") {
  for (const std::int64_t k : {128, 300, 1000})
    if (!only_small() || k == 300)
      try_errors(PMPP_CUDA ? 70 : 20, PMPP_CUDA ? 140 : 40, k, [](const auto& x) { by_mma(x, true); });
}

TEST_CASE("gemm of parts: infinities, NaN, the largest and the smallest") {
  for (const bool large : {false, true}) try_special_floats([&](const auto& x) { by_mma(x, large); });
}

TEST_CASE("gemm of parts: splits of k, an epilogue with its place, a column-major C, the same bits") {
  const floats a(20, 500, {true, 1}), b(500, 33, {false, 3});
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    floats c(20, 33, {true, 2});
    c.initial.assign(c.initial.size(), 1.0f);
    c.memory = device_place::put(c.initial);
    by_mma(problem_of(a, b, c, 2, -1, plus_place{}).exchanged(), false);
    const auto got = device_place::get(c.memory);
    if (run == 0) first = got;
    CHECK(got == first);
    const auto v = c.view_of(got.data());
    int wrong = 0;
    for (std::int64_t i = 0; i < 20; ++i)
      for (std::int64_t j = 0; j < 33; ++j) {
        double sum = -1.0 + plus_place{}(0, i, j), size = 200;
        for (std::int64_t p = 0; p < 500; ++p) {
          const double y = 2 * double(a.value(i, p)) * double(b.value(p, j));
          sum += y, size += std::abs(y);
        }
        wrong += !(std::abs(double(v(i, j)) - sum) <= 0x1p-21 * size);
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gemm of parts: batches, with a matrix for each product or one for all") {
  constexpr std::int64_t m = 20, n = 33, k = 66, batch = 2;
  const auto of_a = random_values<float>(m * k * batch), of_b = random_values<float>(k * n * batch);
  const auto a = device_place::put(of_a), b = device_place::put(of_b);
  for (const int one : {0, 1, 2}) {
    auto c = device_place::put(std::vector<float>(static_cast<std::size_t>(m * n * batch)));
    const std::int64_t step_a = one == 1 ? 0 : m * k, step_b = one == 2 ? 0 : k * n;
    by_mma(pmpp::detail::gemm_problem<float, float, float, float, pmpp::no_epilogue>{{a.data(), m, k, 1, step_a},
                                                                                     {b.data(), n, 1, n, step_b},
                                                                                     {c.data(), m, n, n, 1, m * n},
                                                                                     k,
                                                                                     batch,
                                                                                     {1, 0, {}, false}},
           false);
    const auto got = device_place::get(c);
    int wrong = 0;
    for (std::int64_t t = 0; t < batch; ++t)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0, size = 0;
          for (std::int64_t p = 0; p < k; ++p) {
            const double y = double(of_a[static_cast<std::size_t>(t * step_a + i * k + p)]) *
                             double(of_b[static_cast<std::size_t>(t * step_b + p * n + j)]);
            sum += y, size += std::abs(y);
          }
          wrong += !(std::abs(double(got[static_cast<std::size_t>((t * m + i) * n + j)]) - sum) <= 0x1p-21 * size);
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("gemm of floats from tensor cores: the call, small and large", where, host_place, device_place) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{3, 5, 7},
                                {64, 48, 40},
                                {1, 90, 100},
                                {70, 1, 100},
                                {PMPP_CUDA ? 1100 : 70, PMPP_CUDA ? 1000 : 50, PMPP_CUDA ? 700 : 130}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const test::matrix<where, float> a(m, k, {true, 1}), b(k, n);
    test::matrix<where, float> c(m, n);
    pmpp::gemm<test::tuned<where>(tensor)>(typename where::policy{}, 1, a.input(), b.input(), 0.5, c.view(), exact);
    check_product<float>(a, b, c, 1, 0.5, 0x1p-24);
  }
}
