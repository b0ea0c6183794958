// SPDX-License-Identifier: Apache-2.0
//
// Half on the tensor cores of sm_90a. See gemm_wgmma.cu.
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE("wgmma: copies of operands that lie in two lines of the cache begin at multiples of 128 bytes") {
  if (!available()) return;
  for (const bool along_k : {false, true})
    for (const std::int64_t k : {600, 601, 604}) {
      const matrix<__half> x(along_k ? 5 : k, along_k ? k : 5, !along_k, 2);
      pmpp::detail::gemm_operand<__half> y{x.memory.data(), x.rows, x.row_stride(), x.col_stride(), x.step};
      pmpp::device_buffer<__half> copy(pmpp::detail::repacked_bytes(y, along_k, x.cols, 2) / 2);
      pmpp::detail::repack(device, y, along_k, x.cols, 2, copy.data());
      const auto got = pmpp::to_host(copy);
      int wrong = 0;
      for (std::int64_t batch = 0; batch < 2; ++batch)
        for (std::int64_t i = 0; i < x.rows; ++i)
          for (std::int64_t p = 0; p < x.cols; ++p)
            wrong += static_cast<float>(
                         got[static_cast<std::size_t>(batch * y.batch_stride + i * y.stride + p * y.k_stride)]) !=
                     x.value(i, p, batch);
      CHECK(wrong == 0);
      CHECK((along_k ? y.stride : y.k_stride) * 2 % 128 == 0);
    }
}

TEST_CASE("wgmma: kernels that begin early wait for those before them") {
  if (!available()) return;
  // Each product exchanges the columns of the last one in a circle, and overwrites what that one read.
  constexpr std::int64_t side = 1024, steps = 101;
  matrix<__half> x(side, side), y(side, side), circle(side, side);
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j)
      circle.initial[static_cast<std::size_t>(circle.at(i, j))] = __half(j == (i + 1) % side ? 1.0f : 0.0f);
  circle.memory = pmpp::device_buffer<__half>(circle.initial);
  for (std::int64_t step = 0; step < steps; ++step)
    REQUIRE(pmpp::detail::gemm_by_wgmma(device, problem(step % 2 ? y : x, circle, step % 2 ? x : y, 1, 0)));
  const auto got = pmpp::to_host(y.memory);
  int wrong = 0;
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j)
      wrong += float(got[static_cast<std::size_t>(y.at(i, (j + steps) % side))]) !=
               float(x.initial[static_cast<std::size_t>(x.at(i, j))]);
  CHECK(wrong == 0);
}

TEST_CASE("wgmma: small integers are exact, what exceeds half is infinity, NaN spreads") {
  if (!available()) return;
  matrix<__half> a(130, 200), b(200, 140);
  for (auto& x : a.initial) x = __half(std::round(static_cast<float>(x) * 8));
  for (auto& x : b.initial) x = __half(std::round(static_cast<float>(x) * 8));
  a.initial[static_cast<std::size_t>(a.at(5, 7))] = __half(std::numeric_limits<float>::quiet_NaN());
  a.memory = pmpp::device_buffer<__half>(a.initial);
  b.memory = pmpp::device_buffer<__half>(b.initial);
  matrix<__half> c(130, 140);
  REQUIRE(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 300, 0)));
  const auto got = pmpp::to_host(c.memory);
  int wrong = 0;
  for (std::int64_t i = 0; i < 130; ++i)
    for (std::int64_t j = 0; j < 140; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < 200; ++p) sum += a.value(i, p, 0) * b.value(p, j, 0);
      const auto result = static_cast<float>(got[static_cast<std::size_t>(c.at(i, j))]);
      const auto wanted = static_cast<float>(__half(static_cast<float>(sum * 300)));
      wrong += i == 5 ? !std::isnan(result) : result != wanted;
    }
  CHECK(wrong == 0);
}
