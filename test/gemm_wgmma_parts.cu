// SPDX-License-Identifier: Apache-2.0
//
// Floats as three bfloat16s each on the tensor cores of sm_90a. See gemm_wgmma.cu, and gemm_float_parts.cpp for what is proved.
#include "support/float_products.hpp"
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test;

namespace {

template <class Problem>
void by_wgmma(const Problem& x) {
  pmpp::detail::parts_plan plan;
  plan.by_wgmma = true;
  plan.wgmma = pmpp::detail::plan_parts_by_wgmma(device, x);
  REQUIRE(plan.wgmma.clocks < pmpp::detail::never);
  constexpr pmpp::gemm_tuning tuning = pmpp::gemm_tuning_for<float>();
  pmpp::detail::gemm_from_tensor_cores<tuning.mma_large, tuning.mma_small>(device, x, plan);
}

}  // namespace

TEST_CASE("wgmma: parts of floats, any shape and layout") {
  if (!wgmma::available()) return;
  try_any_floats(100, [](const auto& x) { by_wgmma(x); });
}

TEST_CASE("wgmma: parts of floats, errors are at most those of floats") {
  if (!wgmma::available()) return;
  for (const std::int64_t k : {128, 300, 1000, 5000}) try_errors(70, 140, k, [](const auto& x) { by_wgmma(x); });
}

TEST_CASE("wgmma: parts of floats, infinities, NaN, the largest and the smallest") {
  if (!wgmma::available()) return;
  try_special_floats([](const auto& x) { by_wgmma(x); });
}

TEST_CASE("wgmma: parts of floats, several tiles a block, splits of k, batches, an epilogue, C that is read") {
  if (!wgmma::available()) return;
  for (const wgmma::shape& s : {wgmma::shape{1500, 1700, 40}, {300, 140, 5000}, {130, 260, 700}, {128, 128, 64}})
    for (const bool column_major : {false, true})
      for (const int batch : {1, 3}) {
        if (only_small() && s.m > 1000) continue;
        const wgmma::matrix<float> a(s.m, s.k, column_major, batch, 1),
            b(s.k, s.n, !column_major, batch == 3 ? 1 : batch, 3);
        wgmma::matrix<float> c(s.m, s.n, column_major, batch, s.k % 3);
        const auto x = wgmma::problem(a, b, c, 1, 0.5f, wgmma::add_place{});
        column_major ? by_wgmma(x.exchanged()) : by_wgmma(x);
        wgmma::check_product(a, b, c, 1, 0.5, wgmma::add_place{});
      }
}

TEST_CASE("wgmma: parts of floats, by gemm, in a graph, the same bits on every run") {
  if (!wgmma::available()) return;
  const floats a(1030, 700, {true}), b(700, 900);
  floats c(1030, 900);
  pmpp::stream stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  pmpp::gemm(device.on(stream), 1, a.input(), b.input(), 0, c.view(),
             pmpp::gemm_options{.precision = pmpp::float_from_tensor_cores{}});
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
  stream.synchronize();
  check_product<float>(a, b, c, 1, 0, 0x1p-24);
  CHECK(greatest_error(a, b, c) <= 0x1p-22);
  const auto first = device_place::get(c.memory);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
    stream.synchronize();
    CHECK(device_place::get(c.memory) == first);
  }
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
