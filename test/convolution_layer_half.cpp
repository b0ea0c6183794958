// SPDX-License-Identifier: Apache-2.0
//
// Layers of half: sums in float, rounded once. See convolution_layer.cpp.
#include <pmpp/convolution_layer.hpp>

#include <cstring>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include <pmpp/memory/stream.hpp>

#include "support/layers.hpp"

using test::batch;
using test::order;
using test::setting;
using test::settings;
using test::try_layer;
using test::with;

#if PMPP_CUDA
TEST_CASE("half adds up in float and is rounded once") {
  test::try_two_bytes<test::device_place, __half, __half>(1e-3);
  test::try_two_bytes<test::device_place, __half, float>(1e-6);
}

TEST_CASE("a layer in a graph, replayed on changed data, in another stream") {
  using where = test::device_place;
  const setting s{{2, 9, 9, 64}, 64, 3, 3, with(1, 1)};
  batch<where, __half> in(s.in, order::nhwc);
  const batch<where, __half> filters(s.filter_extent(), order::nhwc);
  batch<where, __half> captured(s.out_extent(), order::nhwc), direct(s.out_extent(), order::nhwc);
  const pmpp::stream stream;
  const auto run = [&](batch<where, __half>& out) {
    pmpp::convolution_layer(pmpp::device.on(stream), in.input(), filters.input(), out.view(), s.options);
  };
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  run(captured);
  REQUIRE(cudaStreamEndCapture(stream.handle(), &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  auto turned = in.initial;
  for (auto& x : turned) x = static_cast<__half>(-static_cast<float>(x));
  pmpp::copy(turned, in.memory);
  REQUIRE(cudaGraphLaunch(executable, stream.handle()) == cudaSuccess);
  run(direct);
  stream.synchronize();
  const auto a = where::get(captured.memory), b = where::get(direct.memory);
  const std::size_t bytes = static_cast<std::size_t>(2 * 9 * 9 * 64) * sizeof(__half);
  CHECK(std::memcmp(static_cast<const void*>(a.data()), static_cast<const void*>(b.data()), bytes) == 0);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
#else
TEST_ALL_PLACES("half adds up in float and is rounded once") {
  for (const setting& s : settings()) {
    try_layer<where, _Float16, test::small>(s, order::nhwc, order::nhwc, order::nhwc, 1e-3);
    try_layer<where, _Float16, test::small, float>(s, order::nchw, order::nhwc, order::spread, 1e-6);
  }
}
#endif
