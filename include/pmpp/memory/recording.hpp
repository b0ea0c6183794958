// SPDX-License-Identifier: Apache-2.0
//
// Whether the calling thread is in a function whose calls are recorded to be repeated on the device (control_flow.hpp). There
// nothing may wait for the device, as nothing runs yet, and nothing that is freed at the end may be used: what does either
// asks here first, on a GPU and in the emulator alike, so that what runs there runs on a GPU.
#pragma once

#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/text.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The function that records this thread's calls; nullptr if none does.
inline const char*& recorder() noexcept {
  static thread_local const char* function = nullptr;
  return function;
}

/// Whether what is recorded has half a loop in it, and must not run: also where its body passes over the exception.
inline bool& recording_failed() noexcept {
  static thread_local bool failed = false;
  return failed;
}

/// Names it, or nullptr for what is not recorded, until the end of its scope.
class recording_scope {
public:
  explicit recording_scope(const char* function) noexcept
      : outer_(std::exchange(recorder(), function)), outer_failed_(std::exchange(recording_failed(), false)) {}
  ~recording_scope() {
    recorder() = outer_;
    recording_failed() = outer_failed_;
  }
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;

private:
  const char* outer_;
  bool outer_failed_;
};

/// Throws std::invalid_argument if the calling thread's calls are recorded. `what` is what they may not do, and what else to do.
inline void refuse_in_recording(const char* what) {
  if (const char* function = recorder())
    detail::throw_invalid_argument(detail::text("pmpp::") + function +
                                   ": the body is recorded once and repeated without the host: " + what);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
