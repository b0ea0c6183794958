// SPDX-License-Identifier: Apache-2.0
//
// Copies between any two contiguous ranges, on the host or a device; the direction is inferred from the addresses.
//
//   copy(from, to)                 done when it returns
//   copy(stream, from, to)         enqueued on that stream: pmpp::stream, cudaStream_t, ..., or a policy (device.on(s))
//   to_host(range)                 a std::vector with the elements of a range
//
// The sizes must be equal, which is checked before anything is written. The element types must be equal and trivially
// copyable. A range is what core/contiguous.hpp says: buffers, std::vector, std::span, thrust::device_vector, ...
//
// Asynchronous copies: a host range in pinned memory must stay alive and unchanged until the stream has done the copy.
// With ordinary (pageable) host memory CUDA may wait for the stream before it returns, and a captured graph remembers
// the address, not the contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What orders a copy: a policy, or a stream.
template <class W>
concept copy_place = execution_policy<W> || stream_like<W>;

namespace detail {

/// The number of bytes to copy, after all checks.
template <class T, class U>
std::size_t checked_copy(std::span<T> from, std::span<U> to) {
  static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>,
                "pmpp::copy: source and target must have the same element type; use pmpp::transform to convert");
  static_assert(std::is_trivially_copyable_v<U>, "pmpp::copy: the elements must be trivially copyable");
  static_assert(!std::is_const_v<U>, "pmpp::copy: the elements of the target are const");
  if (from.size() != to.size())
    detail::throw_length_error(detail::text("pmpp::copy: the source has ") + detail::text::of(from.size()) +
                               " elements, the target " + detail::text::of(to.size()));
  const std::size_t bytes = from.size_bytes();
  const auto a = reinterpret_cast<std::uintptr_t>(from.data()), b = reinterpret_cast<std::uintptr_t>(to.data());
  if (bytes != 0 && a < b + bytes && b < a + bytes)
    detail::throw_invalid_argument("pmpp::copy: source and target overlap");
  return bytes;
}

}  // namespace detail

/// Copies all elements of `from` to `to` and returns when that is done. Runs on the default stream: after work there,
/// not after work on independent streams (give the stream for that).
/// \throws std::length_error if the sizes differ, std::invalid_argument if the ranges overlap, both before anything is
/// written; cuda_error.
template <contiguous_data From, class To>
requires(contiguous_data<std::remove_reference_t<To>> && !copy_place<From>) void copy(const From& from, To&& to) {
  const auto source = detail::as_span(from);
  const auto target = detail::as_span(to);
  const std::size_t bytes = detail::checked_copy(source, target);
  if (bytes == 0) return;
  detail::copy_bytes(target.data(), source.data(), bytes, stream_handle{});
  synchronize(stream_handle{});
}

/// Copies all elements of `from` to `to`, in the order of `where`: a stream or a `device` policy enqueues and returns;
/// `seq`, `host` and `emulated` copy between host ranges and are done on return. \throws as copy(from, to)
template <copy_place Where, contiguous_data From, class To>
requires(contiguous_data<std::remove_reference_t<To>>) void copy(const Where& where, const From& from, To&& to) {
  const auto source = detail::as_span(from);
  const auto target = detail::as_span(to);
  const std::size_t bytes = detail::checked_copy(source, target);
  if (bytes == 0) return;
  if constexpr (kernel_execution<Where>)
    if (where.measuring) return;
  if constexpr (stream_like<Where>)
    detail::copy_bytes(target.data(), source.data(), bytes, detail::handle_of(where));
  else if constexpr (gpu_execution<Where>)
    detail::copy_bytes(target.data(), source.data(), bytes, where.stream);
  else
    std::memcpy(target.data(), source.data(), bytes);
}

/// A std::vector with the elements of `range`, in the order of `where`, and waits for that alone.
/// \throws std::bad_alloc, cuda_error
template <copy_place Where, contiguous_data R>
auto to_host(const Where& where, const R& range) {
  using T = std::remove_const_t<element_of<const R>>;
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no data()
    const auto source = detail::as_span(range);
    const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(source.data()), source.size());
    const auto values = to_host(where, bytes);
    return std::vector<T>(values.begin(), values.end());
  } else {
    std::vector<T> values(std::size(range));
    copy(where, range, values);
    if constexpr (stream_like<Where>)
      synchronize(detail::handle_of(where));
    else
      synchronize(where);
    return values;
  }
}

/// A std::vector with the elements of `range`. Runs on the default stream, like copy(from, to), and waits.
/// \throws std::bad_alloc, cuda_error
template <contiguous_data R>
auto to_host(const R& range) {
  return pmpp::to_host(stream_handle{}, range);
}

}  // namespace pmpp::inline PMPP_BACKEND
