// SPDX-License-Identifier: Apache-2.0
//
// Errors. Four kinds, so that a caller can tell them apart:
//
//   std::invalid_argument, std::length_error   the call is wrong; thrown before anything runs, outputs untouched
//   pmpp::cuda_error                           CUDA refused or failed: the call, the place, CUDA's name and text
//   pmpp::out_of_memory                        an allocation failed: bytes asked for and bytes free
//   pmpp::kernel_fault                         the emulator caught a bug in a kernel (see simt/emulated_block.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include <pmpp/core/config.hpp>
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
class cuda_error : public std::runtime_error {
public:
  cuda_error(cuda_status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  cuda_status code() const noexcept { return code_; }

private:
  cuda_status code_;
};

/// An allocation failed. The library stays usable: a smaller allocation may succeed.
class out_of_memory : public std::bad_alloc {
public:
  out_of_memory(std::size_t asked, std::size_t available, const std::string& where)
      : asked_(asked),
        free_(available),
        message_(where + ": out of memory, asked for " + std::to_string(asked) + " bytes, " +
                 std::to_string(available) + " bytes are free") {}
  const char* what() const noexcept override { return message_.c_str(); }
  std::size_t asked_bytes() const noexcept { return asked_; }
  std::size_t free_bytes() const noexcept { return free_; }

private:
  std::size_t asked_, free_;
  std::string message_;
};

/// The emulator caught a bug in a kernel; what() names the kernel, the block, the thread and the place.
class kernel_fault : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

/// Throws std::invalid_argument with `message` unless `condition` holds. `message` is a callable, so that a good call
/// builds no string.
template <class Message>
void require(bool condition, Message&& message) {
  if (!condition) throw std::invalid_argument(message());
}

/// Throws std::length_error "function: argument has room for N, needs M" unless `room` >= `needed`.
inline void require_room(const char* function, const char* argument, std::int64_t room, std::int64_t needed) {
  if (room < needed)
    throw std::length_error(std::string("pmpp::") + function + ": " + argument + " has room for " +
                            std::to_string(room) + " elements, needs " + std::to_string(needed));
}

namespace detail {

/// The name of a type, as the compiler spells it.
template <class T>
constexpr std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t from = text.find("T = ") + 4;
  const std::size_t to = text.find(';', from);
  return text.substr(from, (to == std::string_view::npos ? text.rfind(']') : to) - from);
}

#if PMPP_CUDA
[[noreturn]] inline void throw_cuda_error(cudaError_t status, const std::string& call, const std::source_location& at) {
  cudaGetLastError();  // a non-sticky error must not surface again in the next call
  std::string text = call + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ") at " +
                     at.file_name() + ":" + std::to_string(at.line());
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction)
    text +=
        "; this program holds no machine code for the current device: add its architecture to "
        "CMAKE_CUDA_ARCHITECTURES";
  throw cuda_error(status, text);
}
#endif

}  // namespace detail

#if PMPP_CUDA
/// Throws cuda_error, naming `call` and the place of the caller, unless `status` is cudaSuccess.
inline void check(cudaError_t status, const char* call, std::source_location at = std::source_location::current()) {
  if (status != cudaSuccess) detail::throw_cuda_error(status, call, at);
}
#endif

}  // namespace pmpp::inline PMPP_BACKEND
