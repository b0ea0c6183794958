// SPDX-License-Identifier: Apache-2.0
//
// Execution policies: the first argument of every algorithm says where it runs and how.
//
//   pmpp::seq                                 the calling thread, plain loops: the readable specification
//   pmpp::host, pmpp::host.threads(8)         the cores of this machine, or that many threads
//   pmpp::device                              the current CUDA device, default stream
//   pmpp::device.on(stream)                   ... that stream (cudaStream_t, pmpp::stream, cuda::stream_ref, ...)
//   pmpp::device.on(stream).with(workspace)   ... with scratch memory from a workspace: no allocation once warm
//   pmpp::emulated                            the kernels of `device`, run on the CPU, one fiber per CUDA thread
//
// What each promises:
//   seq, host     have finished when the call returns.
//   device        only enqueues, unless the call returns a value to the host: then it waits for its stream. Each such
//                 function has a twin `..._into` that leaves its result on the device and does not wait.
//   emulated      has finished when the call returns; a bug in a kernel is a pmpp::kernel_fault.
//
// In a program without CUDA (PMPP_CUDA = 0) `device` is `emulated`: the same program runs on a laptop.
// Policies are small values without ownership: the stream and the workspace must outlive the work enqueued with them.
#pragma once

#include <concepts>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/text.hpp>
#if PMPP_CUDA
#include <cuda_runtime_api.h>
#endif

namespace pmpp::inline PMPP_BACKEND {

class workspace;

#if PMPP_CUDA
using stream_handle = cudaStream_t;
#else
/// The emulator runs everything at once, in order; its only stream is nullptr.
using stream_handle = struct emulated_stream*;
#endif

/// A stream of another library: a class that converts to the handle (rmm::cuda_stream_view), or whose get() gives it
/// (cuda::stream_ref, std::unique_ptr<CUstream_st, ...>).
template <class S>
concept foreign_stream = std::is_class_v<S> &&(std::convertible_to<const S&, stream_handle> || requires(const S& s) {
  { s.get() } -> std::same_as<stream_handle>;
});

namespace detail {

/// The handle of a stream of any kind.
template <class S>
constexpr stream_handle handle_of(const S& s) {
  if constexpr (std::convertible_to<const S&, stream_handle>)
    return s;
  else
    return s.get();
}

}  // namespace detail

/// Plain loops on the calling thread.
struct seq_policy {};

/// Parallel loops on this machine's cores.
struct host_policy {
  int thread_count = 0;  ///< threads to use; 0: OMP_NUM_THREADS where that is set, else as many as there are cores

  /// The same policy with at most `count` threads, the calling one among them. Results do not depend on the count, not even
  /// in the last bit. No more than 16 threads, or than there are cores where these are more, are ever used.
  /// \throws std::invalid_argument if count is negative
  constexpr host_policy threads(int count) const {
    if (count < 0)
      detail::throw_invalid_argument(detail::text("pmpp::host.threads: the count is ") + detail::text::of(count));
    return {count};
  }
};

/// What runs the kernels of a kernel_policy.
enum class backend { gpu, emulator };

/// Kernels, on a GPU or in the emulator.
template <backend Where>
struct kernel_policy {
  stream_handle stream = nullptr;
  workspace* scratch = nullptr;  ///< scratch memory, or nullptr: allocated in stream order per call
  bool measuring = false;        ///< a call records the scratch that it asks for and launches nothing (scratch_bytes)

  constexpr kernel_policy on(stream_handle s) const {
    kernel_policy p = *this;
    p.stream = s;
    return p;
  }
  template <foreign_stream S>
  constexpr kernel_policy on(const S& s) const {
    return on(detail::handle_of(s));
  }
  constexpr kernel_policy with(workspace& w) const {
    kernel_policy p = *this;
    p.scratch = &w;
    return p;
  }
};

using emulated_policy = kernel_policy<backend::emulator>;
using device_policy = kernel_policy<PMPP_CUDA ? backend::gpu : backend::emulator>;

inline constexpr seq_policy seq{};
inline constexpr host_policy host{};
inline constexpr device_policy device{};
#if PMPP_WITH_EMULATOR
inline constexpr emulated_policy emulated{};
#endif

namespace detail {
template <class P>
inline constexpr bool is_kernel_policy = false;
template <backend Where>
inline constexpr bool is_kernel_policy<kernel_policy<Where>> = true;
}  // namespace detail

/// A policy that runs kernels: device or emulated.
template <class P>
concept kernel_execution = detail::is_kernel_policy<std::remove_cvref_t<P>>;

/// Any policy.
template <class P>
concept execution_policy = kernel_execution<P> || std::same_as<std::remove_cvref_t<P>, seq_policy> ||
    std::same_as<std::remove_cvref_t<P>, host_policy>;

/// A policy that runs kernels on a GPU.
template <class P>
concept gpu_execution = std::same_as<std::remove_cvref_t<P>, kernel_policy<backend::gpu>>;

}  // namespace pmpp::inline PMPP_BACKEND
