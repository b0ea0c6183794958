// SPDX-License-Identifier: Apache-2.0
//
// bfloat16 on the tensor cores of sm_90a. See gemm_wgmma.cu.
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE("wgmma: C in any layout, an epilogue with its place, NaN in C") {
  if (!available()) return;
  for (const bool exchanged : {false, true})
    for (const bool column_major : {false, true}) {
      const matrix<__nv_bfloat16> a(200, 136), b(136, 300);
      matrix<float> c(200, 300, column_major, 1, column_major ? 5 : 0);
      for (auto& x : c.initial) x = std::numeric_limits<float>::quiet_NaN();
      c.memory = pmpp::device_buffer<float>(c.initial);
      const auto x = problem(a, b, c, 1, 0, add_place{});
      CHECK((exchanged ? pmpp::detail::gemm_by_wgmma(device, x.exchanged()) : pmpp::detail::gemm_by_wgmma(device, x)));
      check_product(a, b, c, 1, 0, add_place{});
    }
}

TEST_CASE("wgmma: batches, with a matrix for each product or one for all") {
  if (!available()) return;
  for (const int each : {0, 1, 2}) {
    const matrix<__nv_bfloat16> a(130, 72, false, each == 1 ? 1 : 5), b(72, 70, false, each == 2 ? 1 : 5);
    matrix<float> c(130, 70, false, 5);
    CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 2)));
    check_product(a, b, c, 1, 2);
  }
}

TEST_CASE("wgmma: k is split where that helps") {
  if (!available()) return;
  const matrix<__nv_bfloat16> a(520, 4100), b(4100, 500);
  matrix<float> c(520, 500);
  CHECK(pmpp::detail::plan_wgmma(4, 520, 500, 65, 1, pmpp::machine{}).splits > 1);
  CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0)));
  check_product(a, b, c, 1, 0);
}

TEST_CASE("wgmma: what TMA cannot read is copied first") {
  if (!available()) return;
  try_unaligned<__nv_bfloat16>();
}

TEST_CASE("wgmma: in a graph, on a stream, the same bits on every run") {
  if (!available()) return;
  const matrix<__nv_bfloat16> a(700, 500), b(500, 600);
  matrix<float> c(700, 600);
  pmpp::stream stream;
  const auto x = problem(a, b, c, 1, 0);
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(pmpp::detail::gemm_by_wgmma(device.on(stream), x));
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
  stream.synchronize();
  check_product(a, b, c, 1, 0);
  const auto first = pmpp::to_host(c.memory);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
    stream.synchronize();
    CHECK(pmpp::to_host(c.memory) == first);
  }
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
