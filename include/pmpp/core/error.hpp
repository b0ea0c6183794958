// SPDX-License-Identifier: Apache-2.0
//
// Errors. Four kinds, so that a caller can tell them apart:
//
//   std::invalid_argument, std::length_error   the call is wrong; thrown before anything runs, outputs untouched
//                                              (<stdexcept>, which this library does not include: core/text.hpp)
//   pmpp::cuda_error                           CUDA refused or failed: the call, the place, CUDA's name and text
//   pmpp::out_of_memory                        an allocation failed: bytes asked for and bytes free
//   pmpp::kernel_fault                         the emulator caught a bug in a kernel (see simt/emulated_block.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>

#include <pmpp/core/config.hpp>
#include <pmpp/core/text.hpp>
#if PMPP_CUDA
#include <cuda_runtime_api.h>
#endif

namespace pmpp::inline PMPP_BACKEND {

#if PMPP_CUDA
using cuda_status = cudaError_t;
#else
/// Stands for cudaError_t in a program without CUDA, so that handlers of cuda_error compile there too.
using cuda_status = int;
#endif

/// CUDA refused a call, or a kernel failed. what() reads "call: cudaErrorName (text) at file:line".
class cuda_error : public detail::exception_with_text {
public:
  cuda_error(cuda_status code, const detail::text& message) : exception_with_text(message), code_(code) {}
  cuda_status code() const noexcept { return code_; }

private:
  cuda_status code_;
};

/// An allocation failed. The library stays usable: a smaller allocation may succeed.
class out_of_memory : public std::bad_alloc {
public:
  out_of_memory(std::size_t asked, std::size_t available, const detail::text& where)
      : asked_(asked),
        free_(available),
        message_(where + ": out of memory, asked for " + detail::text::of(asked) + " bytes, " +
                 detail::text::of(available) + " bytes are free") {}
  const char* what() const noexcept override { return message_.c_str(); }
  std::size_t asked_bytes() const noexcept { return asked_; }
  std::size_t free_bytes() const noexcept { return free_; }

private:
  std::size_t asked_, free_;
  detail::text message_;
};

/// The emulator caught a bug in a kernel; what() names the kernel, the block, the thread and the place.
class kernel_fault : public detail::exception_with_text {
public:
  explicit kernel_fault(const detail::text& message) : exception_with_text(message) {}
};

/// Throws std::invalid_argument with `message` unless `condition` holds. `message` is a callable, so that a good call
/// builds no string.
template <class Message>
void require(bool condition, Message&& message) {
  if (!condition) detail::throw_invalid_argument(message());
}

/// Throws std::length_error "function: argument has room for N, needs M" unless `room` >= `needed`.
inline void require_room(const char* function, const char* argument, std::int64_t room, std::int64_t needed) {
  if (room < needed)
    detail::throw_length_error(detail::text("pmpp::") + function + ": " + argument + " has room for " +
                               detail::text::of(room) + " elements, needs " + detail::text::of(needed));
}

namespace detail {

/// Characters somewhere else, known when a program is compiled. (<string_view> takes 0.25 s to compile.)
struct characters {
  const char* first;
  std::size_t count;

  constexpr bool operator==(const char* other) const {
    for (std::size_t i = 0; i < count; ++i, ++other)
      if (*other != first[i]) return false;  // also where `other` ends
    return *other == 0;
  }
  text to_text() const { return {first, count}; }
};

/// The name of a type, as the compiler spells it.
template <class T>
constexpr characters type_name() {
  const char *first = __PRETTY_FUNCTION__, *last = first;
  while (first[0] != 'T' || first[1] != ' ' || first[2] != '=') ++first;
  first += 4;
  for (const char* c = first; *c != 0 && *c != ';'; ++c)
    if (c[1] == ';' || c[1] == 0) last = c[1] == 0 ? c : c + 1;
  return {first, static_cast<std::size_t>(last - first)};
}

#if PMPP_CUDA
[[noreturn]] inline void throw_cuda_error(cudaError_t status, const text& call, const std::source_location& at) {
  cudaGetLastError();  // a non-sticky error must not surface again in the next call
  const bool has_no_code = status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction;
  throw cuda_error(status, call + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ") at " +
                               at.file_name() + ":" + text::of(at.line()) +
                               (has_no_code ? "; this program holds no machine code for the current device: add its "
                                              "architecture to CMAKE_CUDA_ARCHITECTURES"
                                            : ""));
}
#endif

}  // namespace detail

#if PMPP_CUDA
/// Throws cuda_error, naming `call` and the place of the caller, unless `status` is cudaSuccess.
inline void check(cudaError_t status, const char* call, std::source_location at = std::source_location::current()) {
  if (status != cudaSuccess) detail::throw_cuda_error(status, call, at);
}

namespace detail {

/// Whether work on `stream` is being captured into a graph, and whether that capture is still valid. \throws cuda_error
inline cudaStreamCaptureStatus capture_status(cudaStream_t stream,
                                              std::source_location at = std::source_location::current()) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing", at);
  return status;
}
inline bool is_captured(cudaStream_t stream, std::source_location at = std::source_location::current()) {
  return detail::capture_status(stream, at) != cudaStreamCaptureStatusNone;
}

}  // namespace detail
#endif

}  // namespace pmpp::inline PMPP_BACKEND
