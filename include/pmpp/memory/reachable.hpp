// SPDX-License-Identifier: Apache-2.0
//
// Can the policy's machine reach this memory? Passing host memory to a kernel is the most common mistake of all, and
// shows as an illegal access long after.
//
//   when it compiles   range_for, output_for and their kin, which algorithms ask of their arguments, refuse on `device`
//                      what its type tells to be the host's: std::vector, std::array, csr_matrix. So does the emulator of
//                      a program without CUDA, so that what runs there runs on a GPU.
//   in debug mode      CUDA is asked about every plain pointer behind an iterator; 0.1 us a pointer.
#pragma once

#include <array>
#include <initializer_list>
#include <span>  // also std::ranges::view
#include <type_traits>
#if __has_include(<bits/allocator.h>)
#include <bits/allocator.h>  // std::allocator alone: <vector> costs every user 0.3 s of compile time
#else
#include <memory>
#endif

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// True of what certainly lies in the host's memory: a container of std::allocator, an array of the standard library, an
/// iterator that names such a container, a matrix with such offsets, a view of such a range.
template <class R>
inline constexpr bool in_host_memory = requires {
  requires std::is_same_v<typename R::allocator_type, std::allocator<typename R::value_type>>;
}
|| requires(const R& matrix) { requires in_host_memory<std::remove_cvref_t<decltype(matrix.offsets())>>; }
|| requires(const R& view) {
  requires std::ranges::view<R> && in_host_memory<std::remove_cvref_t<decltype(view.base())>>;
};
template <class T, std::size_t N>
inline constexpr bool in_host_memory<std::array<T, N>> = true;
template <class T>
inline constexpr bool in_host_memory<std::initializer_list<T>> = true;
template <class It, class End>
inline constexpr bool in_host_memory<subrange<It, End>> = in_host_memory<It>;
template <template <class, class> class Iterator, class P, class R>
requires std::contiguous_iterator<Iterator<P, R>>
inline constexpr bool in_host_memory<Iterator<P, R>> = in_host_memory<R>;

template <class P, class R>
constexpr bool may_reach() {
  static_assert(!std::is_same_v<P, device_policy> || !in_host_memory<std::remove_cvref_t<R>>,
                "pmpp: device cannot reach the memory of a std::vector, std::array or csr_matrix: copy it to a "
                "device_buffer or device_csr_matrix, or pass a std::span if the GPU does reach it");
  static_assert(
      !gpu_execution<P> || !std::ranges::view<std::remove_cvref_t<R>> || contiguous_data<R>,
      "pmpp: a GPU cannot run the iterators of std::ranges views: pass counting_iterator, transform_iterator, "
      "zip_iterator or strided_iterator (core/iterator.hpp), or device_buffers of the elements");
  return true;
}

}  // namespace detail

/// Not known to be out of the reach of the machine of policy P.
template <class R, class P>
concept reachable_by = detail::may_reach<P, R>();

/// What an algorithm on P takes: a range, contiguous data, and what is written, an iterator or a range.
template <class R, class P>
concept range_for = random_access_range<R> && reachable_by<R, P>;
template <class R, class P>
concept contiguous_for = contiguous_data<R> && reachable_by<R, P>;
template <class O, class P>
concept output_for = output<O> && reachable_by<O, P>;

namespace detail {

/// Throws std::invalid_argument if `p` is ordinary host memory and the current device cannot read such memory.
inline void require_device_pointer([[maybe_unused]] const char* function, [[maybe_unused]] const void* p) {
#if PMPP_CUDA
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
  if (attributes.type != cudaMemoryTypeUnregistered) return;
  int device = 0, reads_host_memory = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&reads_host_memory, cudaDevAttrPageableMemoryAccess, device), "cudaDeviceGetAttribute");
  require(reads_host_memory != 0, [&] {
    return detail::text("pmpp::") + function +
           ": a pointer to host memory was passed to pmpp::device; use device_buffer, pinned_buffer or managed_buffer";
  });
#endif
}

/// Whether `p` is in memory that kernels read and the host cannot, or should not: a GPU's, or managed.
template <class P>
bool lives_on_device([[maybe_unused]] const P& where, [[maybe_unused]] const void* p) {
#if PMPP_CUDA
  if constexpr (gpu_execution<P>) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  }
#endif
  return false;
}

/// Applies require_device_pointer to the plain pointers that an iterator is made of. Only in debug mode, on a GPU.
template <class P, class It>
void check_reachable([[maybe_unused]] const P& where, [[maybe_unused]] const char* function,
                     [[maybe_unused]] const It& it) {
  if constexpr (debug_mode && gpu_execution<P>) {
    if (where.measuring) return;  // scratch is nowhere then
    each_pointer(it, [&](const auto* p) {
      if (p != nullptr) require_device_pointer(function, p);
    });
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
