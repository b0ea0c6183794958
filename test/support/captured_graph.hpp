// SPDX-License-Identifier: Apache-2.0
//
// Calls that a CUDA graph holds, for tests that replay them on other data.
#pragma once

#include <utility>

#include <pmpp/core/error.hpp>
#include <pmpp/memory/stream.hpp>

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

namespace test {

/// Runs `enqueue` once, so that workspaces grow, and again with each call, to the end: on a GPU as a graph, captured once.
template <class F>
class repeated {
public:
  repeated(const pmpp::stream& stream, F enqueue) : stream_(stream), enqueue_(std::move(enqueue)) {
    enqueue_();
    stream.synchronize();
#if PMPP_CUDA
    graph_ = new captured_graph(stream, enqueue_);
#endif
  }
  repeated(const repeated&) = delete;
  repeated& operator=(const repeated&) = delete;
#if PMPP_CUDA
  ~repeated() { delete graph_; }
#endif
  void operator()() const {
#if PMPP_CUDA
    graph_->replay();
#else
    enqueue_();
#endif
    stream_.synchronize();
  }

private:
  const pmpp::stream& stream_;
  F enqueue_;
#if PMPP_CUDA
  const captured_graph* graph_ = nullptr;
#endif
};

}  // namespace test
