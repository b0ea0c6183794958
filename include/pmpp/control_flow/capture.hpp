// SPDX-License-Identifier: Apache-2.0
//
// What a body enqueues, captured into the body of a conditional node (control_flow.hpp).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/executable_graph.hpp>
#include <pmpp/memory/recording.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Errors that mean "not while a stream is captured", in words that say where.
inline bool spoils_capture([[maybe_unused]] cuda_status code) {
#if PMPP_CUDA
  return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
#else
  return false;
#endif
}
[[noreturn]] inline void refuse_body(const char* function, cuda_status code, const char* what) {
#if PMPP_CUDA
  cudaGetLastError();  // it is told here, and must not surface again
#endif
  throw cuda_error(code, detail::text("pmpp::") + function +
                             ": the body cannot be captured, because it waits for the device, allocates, or works on a "
                             "stream other than its policy's: " +
                             what);
}

template <class P, class Body>
void call_body(const char* function, Body& body, const P& on) {
  if constexpr (!kernel_execution<P>) {
    body(on);
  } else {
    const recording_scope recording(function);
    try {
      body(on);
    } catch (const cuda_error& e) {
      if (!spoils_capture(e.code()) || e.what()[0] == 'p')
        throw;  // those of an inner body name it already: "pmpp::..."
      refuse_body(function, e.code(), e.what());
    }
#if PMPP_CUDA
    if constexpr (gpu_execution<P>)  // a body may have passed over an error
      if (detail::capture_status(on.stream) == cudaStreamCaptureStatusInvalidated)
        refuse_body(function, cudaErrorStreamCaptureInvalidated, "the capture is invalid");
    if (recording_failed())
      refuse_body(function, cudaErrorStreamCaptureInvalidated, "a loop or branch in it was not recorded to its end");
#endif
  }
}

#if PMPP_CUDA && CUDART_VERSION >= 12040

/// Whether the driver has WHILE nodes.
inline bool has_conditional_nodes() {
  static const bool has = [] {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess && version >= 12040;
  }();
  return has;
}

/// A stream of its own that is captured, into the body of a node or into a new graph, until end().
class capture {
public:
  explicit capture(cudaGraph_t body = nullptr) : stream_(new_stream()), is_body_(body != nullptr) {
    constexpr auto mode = cudaStreamCaptureModeThreadLocal;  // other threads may do what they like
    if (is_body_)
      check(cudaStreamBeginCaptureToGraph(stream_, body, nullptr, nullptr, 0, mode), "cudaStreamBeginCaptureToGraph");
    else
      check(cudaStreamBeginCapture(stream_, mode), "cudaStreamBeginCapture");
    is_active_ = true;
  }
  capture(const capture&) = delete;
  capture& operator=(const capture&) = delete;
  /// Without end(): what was captured is given up.
  ~capture() {
    if (is_active_) {
      cudaGraph_t graph = nullptr;
      cudaStreamEndCapture(stream_, &graph);
      if (is_body_)
        lost_body() = lost_body() || graph == nullptr;
      else if (graph != nullptr && !std::exchange(lost_body(), false))
        cudaGraphDestroy(graph);
      cudaGetLastError();
    }
    const relaxed_capture relaxed;
    const pmpp::stream ended = std::move(stream_);
  }

  stream_handle stream() const { return stream_; }

  /// What was captured: the caller's, unless it is the body of a node.
  cudaGraph_t end(const char* function) {
    is_active_ = false;
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    if (is_body_ && graph == nullptr) lost_body() = true;
    if (spoils_capture(status)) refuse_body(function, status, cudaGetErrorString(status));
    check(status, "cudaStreamEndCapture");
    return graph;
  }

private:
  static pmpp::stream new_stream() {
    const relaxed_capture relaxed;  // this thread may be capturing another one
    return {};
  }
  /// Whether an invalid capture took the body of a node with it. A driver (13.0) that destroys the graph around it then destroys the
  /// body once more, and crashes: that graph is left to the end of the process.
  static bool& lost_body() noexcept {
    static thread_local bool lost = false;
    return lost;
  }
  pmpp::stream stream_;
  bool is_body_, is_active_ = false;
};

/// Whether a copy is known to have an end in memory that the device may not reach.
inline bool copies_host_memory(cudaGraphNode_t node) {
  cudaMemcpy3DParms copy{};
  bool found = false;
  if (cudaGraphMemcpyNodeGetParams(node, &copy) == cudaSuccess)
    for (const void* p : {copy.srcPtr.ptr, copy.dstPtr.ptr}) {
      cudaPointerAttributes attributes{};
      found = found || (p != nullptr && cudaPointerGetAttributes(&attributes, p) == cudaSuccess &&
                        attributes.type == cudaMemoryTypeUnregistered);
    }
  cudaGetLastError();  // what is not known is left to cudaGraphInstantiate
  return found;
}

/// Graphs may not hold in the body of a node what takes or frees memory, calls the host or waits for anything outside, nor copy
/// memory that the device does not reach. CUDA would refuse them with "invalid argument", and later.
inline void require_repeatable(const char* function, cudaGraph_t body) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(body, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count != 0) check(cudaGraphGetNodes(body, nodes.data(), &count), "cudaGraphGetNodes");
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    const char* what = nullptr;
    if (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree) {
      what = "allocates or frees memory in the order of the stream: take it before, and give the policy a workspace";
    } else if (type == cudaGraphNodeTypeHost) {
      what = "calls a function on the host";
    } else if (type == cudaGraphNodeTypeGraph) {
      cudaGraph_t inner = nullptr;
      check(cudaGraphChildGraphNodeGetGraph(node, &inner), "cudaGraphChildGraphNodeGetGraph");
      require_repeatable(function, inner);
    } else if (type == cudaGraphNodeTypeMemcpy) {
      if (copies_host_memory(node))
        what = "copies from or to ordinary host memory: take a pinned_buffer, or copy before or after";
    } else if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemset && type != cudaGraphNodeTypeEmpty &&
               type != cudaGraphNodeTypeConditional) {
      what = "waits for or tells something outside of the graph: an event, a semaphore";
    }
    require(what == nullptr, [&] {
      return detail::text("pmpp::") + function + ": the body cannot be repeated on the device: it " + what;
    });
  }
}

/// A condition of the graph that `stream` is captured into.
inline unsigned long long new_condition(stream_handle stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph), "cudaStreamGetCaptureInfo");
#else
  check(cudaStreamGetCaptureInfo_v3(stream, &status, nullptr, &graph), "cudaStreamGetCaptureInfo");
#endif
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph), "cudaGraphConditionalHandleCreate");
  return handle;
}

/// Puts a node with this condition into the graph that `stream` is captured into, after what is there.
/// \return the body of the node, empty
inline cudaGraph_t add_node(stream_handle stream, cudaGraphConditionalNodeType type, unsigned long long condition) {
  cudaGraphNodeParams node{};
  node.type = cudaGraphNodeTypeConditional;
  node.conditional.handle = condition;
  node.conditional.type = type;
  node.conditional.size = 1;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  cudaGraphNode_t added = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &before, &edges, &count),
        "cudaStreamGetCaptureInfo");
  check(cudaGraphAddNode(&added, graph, before, edges, count, &node), "cudaGraphAddNode");
  check(cudaStreamUpdateCaptureDependencies(stream, &added, nullptr, 1, cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
#else
  check(cudaStreamGetCaptureInfo_v3(stream, &status, nullptr, &graph, &before, &edges, &count),
        "cudaStreamGetCaptureInfo");
  check(cudaGraphAddNode_v2(&added, graph, before, edges, count, &node), "cudaGraphAddNode");
  check(cudaStreamUpdateCaptureDependencies_v2(stream, &added, nullptr, 1, cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
#endif
  return node.conditional.phGraph_out[0];
}

#else

inline bool has_conditional_nodes() { return false; }

#endif

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
