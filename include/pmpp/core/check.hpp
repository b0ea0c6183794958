// SPDX-License-Identifier: Apache-2.0
//
// Bounds checks of views and buffers. They exist in debug mode only (PMPP_DEBUG = 1) and cost nothing otherwise.
// On the host a bad index is a std::out_of_range; on a GPU, which has no exceptions, it is a printed line that names
// the block and the thread, and a trap: the next call that waits for the device throws pmpp::cuda_error.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/text.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Ends the kernel or throws std::out_of_range: `what` has no element `index`, only [0, extent).
[[noreturn]] PMPP_HOST_DEVICE inline void bad_index(std::int64_t index, std::int64_t extent, const char* what) {
#if defined(__CUDA_ARCH__)
  printf("pmpp: %s: index %lld is outside [0, %lld), block (%u, %u, %u), thread (%u, %u, %u)\n", what,
         static_cast<long long>(index), static_cast<long long>(extent), blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
         threadIdx.y, threadIdx.z);
  __trap();
#else
  detail::throw_out_of_range(detail::text("pmpp::") + what + ": index " + detail::text::of(index) + " is outside [0, " +
                             detail::text::of(extent) + ")");
#endif
}

/// The same where it matters which of many indices it is: number `place` of `what`.
[[noreturn]] PMPP_HOST_DEVICE inline void bad_place(std::int64_t place, std::int64_t index, std::int64_t extent,
                                                    const char* what) {
#if defined(__CUDA_ARCH__)
  printf("pmpp: %s: number %lld is %lld, outside [0, %lld)\n", what, static_cast<long long>(place),
         static_cast<long long>(index), static_cast<long long>(extent));
  __trap();
#else
  detail::throw_out_of_range(detail::text("pmpp::") + what + ": number " + detail::text::of(place) + " is " +
                             detail::text::of(index) + ", outside [0, " + detail::text::of(extent) + ")");
#endif
}

/// The same for elements [first, first + count), of which some do not exist, or which end before they begin.
[[noreturn]] PMPP_HOST_DEVICE inline void bad_part(std::int64_t first, std::int64_t count, std::int64_t extent,
                                                   const char* what) {
#if defined(__CUDA_ARCH__)
  printf("pmpp: %s: %lld from %lld on are not a part of [0, %lld), block (%u, %u, %u), thread (%u, %u, %u)\n", what,
         static_cast<long long>(count), static_cast<long long>(first), static_cast<long long>(extent), blockIdx.x,
         blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  __trap();
#else
  detail::throw_out_of_range(detail::text("pmpp::") + what + ": " + detail::text::of(count) + " from " +
                             detail::text::of(first) + " on are not a part of [0, " + detail::text::of(extent) + ")");
#endif
}

/// Ends the kernel or throws std::invalid_argument: `what` should ascend, but element `index` is above the next one, or
/// one of them is NaN.
[[noreturn]] PMPP_HOST_DEVICE inline void bad_order(std::int64_t index, const char* what) {
#if defined(__CUDA_ARCH__)
  printf("pmpp: %s: element %lld is not below or equal to the next one\n", what, static_cast<long long>(index));
  __trap();
#else
  detail::throw_invalid_argument(detail::text("pmpp::") + what + ": element " + detail::text::of(index) +
                                 " is not below or equal to the next one");
#endif
}

/// Ends the kernel or throws std::invalid_argument: a graph has an edge (u, v), its transpose no edge (v, u).
[[noreturn]] PMPP_HOST_DEVICE inline void bad_edge(std::int64_t u, std::int64_t v) {
#if defined(__CUDA_ARCH__)
  printf("pmpp: bfs: edge (%lld, %lld) of the graph has no edge (%lld, %lld) in its transpose\n",
         static_cast<long long>(u), static_cast<long long>(v), static_cast<long long>(v), static_cast<long long>(u));
  __trap();
#else
  detail::throw_invalid_argument(detail::text("pmpp::bfs: edge (") + detail::text::of(u) + ", " + detail::text::of(v) +
                                 ") of the graph has no edge (" + detail::text::of(v) + ", " + detail::text::of(u) +
                                 ") in its transpose; undirected(g) is for graphs that are symmetric");
#endif
}

/// A count or stride of any integer type as a 64-bit one. \throws std::length_error (host only) if it is 2^63 or more.
template <std::integral N>
PMPP_HOST_DEVICE constexpr std::int64_t checked_count(N n) {
#if !defined(__CUDA_ARCH__)
  if constexpr (std::is_unsigned_v<N> && sizeof(N) >= 8)
    if (n > static_cast<N>(0x7fffffffffffffff))
      detail::throw_length_error("pmpp: a count of " + detail::text::of(n) + ", the limit is 2^63 - 1");
#endif
  return static_cast<std::int64_t>(n);
}

/// In debug mode: bad_index unless 0 <= index < extent. Nothing otherwise.
PMPP_HOST_DEVICE constexpr void check_index([[maybe_unused]] std::int64_t index, [[maybe_unused]] std::int64_t extent,
                                            [[maybe_unused]] const char* what) {
  if constexpr (debug_mode) {
    if (index < 0 || index >= extent) bad_index(index, extent, what);
  }
}

/// In debug mode: bad_part unless [first, first + count) lies in [0, extent). Nothing otherwise.
PMPP_HOST_DEVICE constexpr void check_part([[maybe_unused]] std::int64_t first, [[maybe_unused]] std::int64_t count,
                                           [[maybe_unused]] std::int64_t extent, [[maybe_unused]] const char* what) {
  if constexpr (debug_mode) {
    if (first < 0 || first > extent || count < 0 || count > extent - first) bad_part(first, count, extent, what);
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
