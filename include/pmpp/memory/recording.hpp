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

/// Names it, or nullptr for what is not recorded, until the end of its scope.
class recording_scope {
public:
  explicit recording_scope(const char* function) noexcept : outer_(std::exchange(recorder(), function)) {}
  ~recording_scope() { recorder() = outer_; }
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;

private:
  const char* outer_;
};

/// Throws std::invalid_argument if the calling thread's calls are recorded. `what` is what they may not do, and what else to do.
inline void refuse_in_recording(const char* what) {
  if (const char* function = recorder())
    detail::throw_invalid_argument(detail::text("pmpp::") + function +
                                   ": the body is recorded once and repeated without the host: " + what);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
