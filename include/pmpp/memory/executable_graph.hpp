// SPDX-License-Identifier: Apache-2.0
//
// A graph of CUDA, as something that is owned.
#pragma once

#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

#if PMPP_CUDA

/// A graph that can be launched. Destroyed while it runs, it lives until it has ended: CUDA sees to that.
class executable_graph {
public:
  executable_graph() noexcept = default;
  /// Owns `graph`, also if this throws.
  explicit executable_graph(cudaGraph_t graph) : executable_graph() {
    graph_ = graph;
    check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
  }
  executable_graph(executable_graph&& other) noexcept { swap(other); }
  executable_graph& operator=(executable_graph&& other) noexcept {
    executable_graph old(std::move(other));
    swap(old);
    return *this;
  }
  ~executable_graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  explicit operator bool() const noexcept { return executable_ != nullptr; }
  void launch(stream_handle stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

private:
  void swap(executable_graph& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(executable_, other.executable_);
  }
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

#endif

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
