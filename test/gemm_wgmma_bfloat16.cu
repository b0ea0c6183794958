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

TEST_CASE("wgmma: every tile, along either side of C") {
  if (!available()) return;
  const auto try_type = [](auto type) {
    using TC = decltype(type);
    test::only_each third(3);
    for (int tile = 0; tile < 5; ++tile)
      for (const bool exchanged : {false, true})
        for (const bool a_major : {false, true})
          for (const int spoilt : {0, 1})  // lines of C that TMA cannot write
            for (const float beta : {0.0f, 2.0f})
              for (const int splits : {1, 2, 3}) {
                // Down columns C is written where TMA can and C is not read.
                if ((exchanged ? tile < 2 || spoilt || beta != 0 : tile > 3) || third.leaves_out()) continue;
                CAPTURE(tile);
                CAPTURE(exchanged);
                CAPTURE(a_major);
                CAPTURE(spoilt);
                CAPTURE(beta);
                CAPTURE(splits);
                const int cols = pmpp::detail::wgmma_tiles[tile].n;
                const std::int64_t n = spoilt        ? cols + 24
                                       : splits == 1 ? 2 * cols
                                                     : cols + 40;  // parts of tiles, or whole ones
                const matrix<__nv_bfloat16> a(exchanged ? n : 136, 200, !exchanged && a_major, 2),
                    b(200, exchanged ? 136 : n, !exchanged || a_major, 2);
                matrix<TC> c(exchanged ? n : 136, exchanged ? 136 : n, false, 2, spoilt);
                const pmpp::detail::wgmma_plan plan{.tile = tile, .splits = splits, .exchanged = exchanged};
                CHECK(pmpp::detail::gemm_as_planned(device, problem(a, b, c, 1, beta, add_place{}),
                                                    exchanged || !a_major, !exchanged || a_major, plan));
                check_product(a, b, c, 1, beta, add_place{});
              }
  };
  try_type(float{});
  try_type(__nv_bfloat16{});
}

TEST_CASE("wgmma: few columns of C, few rows") {
  if (!available()) return;
  for (const std::int64_t few : {1, 18, 150, 281})
    for (const bool rows : {false, true})
      for (const bool b_major : {false, true}) {
        CAPTURE(few);
        CAPTURE(rows);
        const std::int64_t m = rows ? few : 520, n = rows ? 520 : few;
        const matrix<__nv_bfloat16> a(m, 520), b(520, n, b_major);
        matrix<__nv_bfloat16> c(m, n);
        CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0)));
        check_product(a, b, c, 1, 0);
      }
}

TEST_CASE("wgmma: k is split where that helps") {
  if (!available()) return;
  const matrix<__nv_bfloat16> a(520, 4100), b(4100, 500);
  matrix<float> c(520, 500);
  CHECK(pmpp::detail::plan_wgmma(pmpp::detail::wgmma_cost_of<__nv_bfloat16>(), 0b1111, 520, 500, 65, 1, pmpp::machine{})
            .splits > 1);
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
