// SPDX-License-Identifier: Apache-2.0
//
// Calls that a CUDA graph holds, for tests that replay them on other data.
#pragma once

#include <pmpp/core/error.hpp>

#if PMPP_CUDA
namespace test {

/// What `enqueue` puts into a stream, captured once. (Nothing runs before the first replay.)
class captured_graph {
public:
  template <class F>
  captured_graph(cudaStream_t stream, F enqueue) : stream_(stream) {
    pmpp::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    enqueue();
    pmpp::check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    pmpp::check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  ~captured_graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;

  void replay() const { pmpp::check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch"); }

private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace test
#endif
