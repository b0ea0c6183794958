// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: the order of work on a device, and its time.
//
// Work enqueued on one stream runs in order; work on two streams may overlap. A stream made here is independent of
// CUDA's default stream ("non-blocking"): work on one never waits for work on the other.
//
//   pmpp::stream s;
//   pmpp::event start, stop;
//   start.record(s);
//   pmpp::transform(pmpp::device.on(s), ...);
//   stop.record(s);
//   double ms = pmpp::event::elapsed_ms(start, stop);     // waits for `stop`, then device time between the two
//
// In a program without CUDA everything runs at once and in order: streams do nothing, events read the host's clock.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/recording.hpp>
#if !PMPP_CUDA
#include <chrono>
#endif

namespace pmpp::inline PMPP_BACKEND {

/// Waits until all work enqueued on `stream` so far has finished. Must not be called while `stream` is captured.
/// \throws cuda_error if that work failed.
inline void synchronize([[maybe_unused]] stream_handle stream) {
  detail::refuse_in_recording("it may not wait for the device");
#if PMPP_CUDA
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
#endif
}

/// The same of a stream of another library.
template <foreign_stream S>
void synchronize(const S& stream) {
  synchronize(detail::handle_of(stream));
}

/// Waits until all work enqueued with `policy` has finished; only `device` has anything to wait for.
/// \throws cuda_error if that work failed.
template <execution_policy P>
void synchronize([[maybe_unused]] const P& policy) {
  if constexpr (gpu_execution<P>) {
    if (!policy.measuring) synchronize(policy.stream);
  } else if constexpr (kernel_execution<P>) {
    detail::refuse_in_recording("it may not wait for the device");
  }
}

/// A point in a stream: other work can wait for it, and two of them measure time. Owns one CUDA event; movable.
/// A moved-from event may be destroyed, assigned to, and nothing else.
class event {
public:
  /// Creates an event on the current device. Before the first record it counts as reached. \throws cuda_error
  event() {
#if PMPP_CUDA
    check(cudaEventCreate(&handle_), "cudaEventCreate");
#endif
  }
  event(event&& other) noexcept { swap(other); }
  event& operator=(event&& other) noexcept {
    event old(std::move(other), taken{});
    swap(old);
    return *this;
  }
  ~event() {
#if PMPP_CUDA
    if (handle_ != nullptr) cudaEventDestroy(handle_);
#endif
  }

  /// Enqueues this point on `stream`, after the work that is there. Does not wait. \throws cuda_error
  void record([[maybe_unused]] stream_handle stream = nullptr) {
#if PMPP_CUDA
    check(cudaEventRecord(handle_, stream), "cudaEventRecord");
#else
    time_ = clock::now();
    recorded_ = true;
#endif
  }

  /// Waits until the point recorded last has been reached. \throws cuda_error if the work before it failed.
  void synchronize() const {
#if PMPP_CUDA
    check(cudaEventSynchronize(handle_), "cudaEventSynchronize");
#endif
  }

  /// True if the point recorded last has been reached. Does not wait. \throws cuda_error if the work before it failed.
  bool reached() const {
#if PMPP_CUDA
    const cudaError_t status = cudaEventQuery(handle_);
    if (status == cudaErrorNotReady) return false;
    check(status, "cudaEventQuery");
#endif
    return true;
  }

  /// Milliseconds from `first` to `last`; negative if `last` was reached earlier. Waits for both.
  /// The clock ticks about every half microsecond on a GPU. \throws std::invalid_argument if one was never recorded;
  /// cuda_error if work before them failed.
  static double elapsed_ms(const event& first, const event& last) {
    const char* never = "pmpp::event::elapsed_ms: both events must have been recorded";
#if PMPP_CUDA
    first.synchronize();
    last.synchronize();
    float milliseconds = 0;
    const cudaError_t status = cudaEventElapsedTime(&milliseconds, first.handle_, last.handle_);
    if (status == cudaErrorInvalidResourceHandle) {
      cudaGetLastError();
      detail::throw_invalid_argument(never);
    }
    check(status, "cudaEventElapsedTime");
    return milliseconds;
#else
    if (!first.recorded_ || !last.recorded_) detail::throw_invalid_argument(never);
    return std::chrono::duration<double, std::milli>(last.time_ - first.time_).count();
#endif
  }

#if PMPP_CUDA
  /// The CUDA event, still owned by this object.
  cudaEvent_t handle() const noexcept { return handle_; }
#endif

private:
  struct taken {};
  event(event&& other, taken) noexcept { swap(other); }

#if PMPP_CUDA
  void swap(event& other) noexcept { std::swap(handle_, other.handle_); }
  cudaEvent_t handle_ = nullptr;
#else
  using clock = std::chrono::steady_clock;
  void swap(event& other) noexcept {
    std::swap(time_, other.time_);
    std::swap(recorded_, other.recorded_);
  }
  clock::time_point time_{};
  bool recorded_ = false;
#endif
};

/// An ordered queue of work on one device. Owns one CUDA stream; movable. Converts to stream_handle, so that it can be
/// given wherever a cudaStream_t is expected; the work enqueued must not outlive it unless it has been waited for.
/// A moved-from stream has the handle nullptr, which is CUDA's default stream: destroy it or assign to it.
class stream {
public:
  /// Creates a stream on the current device that never waits for CUDA's default stream. \throws cuda_error
  stream() : stream(independent) {}

  /// Creates a stream that orders itself with CUDA's default stream, as cudaStreamCreate does. \throws cuda_error
  static stream ordered_with_default() { return stream(with_default); }

  stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  stream& operator=(stream&& other) noexcept {
    stream old(std::move(other));
    std::swap(handle_, old.handle_);
    return *this;
  }
  /// Returns at once; CUDA finishes the work that is enqueued before it lets go of the stream.
  ~stream() {
#if PMPP_CUDA
    if (handle_ != nullptr) cudaStreamDestroy(handle_);
#endif
  }

  /// The cudaStream_t, still owned by this object; always nullptr in a program without CUDA.
  stream_handle handle() const noexcept { return handle_; }
  operator stream_handle() const noexcept { return handle_; }

  /// Waits until all work enqueued here so far has finished. \throws cuda_error if that work failed.
  void synchronize() const { pmpp::synchronize(handle_); }

  /// Work enqueued here from now on starts only after `point` has been reached. The host does not wait.
  /// \throws cuda_error
  void wait([[maybe_unused]] const event& point) const {
#if PMPP_CUDA
    check(cudaStreamWaitEvent(handle_, point.handle(), 0), "cudaStreamWaitEvent");
#endif
  }

private:
  enum kind { independent, with_default };
  explicit stream([[maybe_unused]] kind k) {
#if PMPP_CUDA
    check(cudaStreamCreateWithFlags(&handle_, k == independent ? cudaStreamNonBlocking : cudaStreamDefault),
          "cudaStreamCreateWithFlags");
#endif
  }
  stream_handle handle_ = nullptr;
};

/// A stream of any library, or the handle. A handle by its exact type, so that a literal 0 is never taken for a stream.
template <class S>
concept stream_like = std::same_as<std::remove_cvref_t<S>, stream_handle> || foreign_stream<std::remove_cvref_t<S>>;

}  // namespace pmpp::inline PMPP_BACKEND
