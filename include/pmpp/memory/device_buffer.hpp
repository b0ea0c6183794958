// SPDX-License-Identifier: Apache-2.0
//
// device_buffer<T>: an array in the memory of the device, owned by the host program.
//
//   pmpp::device_buffer<float> x{n};             // uninitialised: one cudaMalloc and nothing else
//   pmpp::device_buffer<float> y{n, 1.0f};       // n ones
//   pmpp::device_buffer<float> z{host_vector};   // a copy
//   pmpp::device_buffer<float> t{n, stream};     // in stream order, from a pool: for temporaries in a loop
//   std::vector<float> back = pmpp::to_host(z);  // memory/copy.hpp
//
// There is no operator[] on purpose: one element at a time over the bus is the slowest program there is. Copy what you
// want to see with to_host or copy. Move-only; b.clone() copies. Frees itself on the device that it was made on.
// In a program without CUDA the memory is the host's.
#pragma once

#include <concepts>
#include <type_traits>

#include <pmpp/memory/buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// An owning array in device memory; the members are those of detail::buffer (memory/buffer.hpp).
template <class T>
class device_buffer : public detail::buffer<T, detail::device_memory> {
  using base = detail::buffer<T, detail::device_memory>;

public:
  using base::base;
  device_buffer() = default;

  /// A copy with memory of its own. With a stream: in its order, not waited for; otherwise copied on the default
  /// stream, and waited for. \throws out_of_memory
  device_buffer clone() const { return device_buffer(typename base::copy_of{}, *this); }

private:
  device_buffer(typename base::copy_of tag, const device_buffer& other) : base(tag, other) {}
};

template <std::integral N, class T>
requires(!stream_like<T>) device_buffer(N, T)
->device_buffer<T>;
template <std::integral N, class T, stream_like S>
device_buffer(N, T, S) -> device_buffer<T>;
template <contiguous_data R>
device_buffer(const R&) -> device_buffer<std::remove_const_t<element_of<const R>>>;
template <contiguous_data R, stream_like S>
device_buffer(const R&, S) -> device_buffer<std::remove_const_t<element_of<const R>>>;

}  // namespace pmpp::inline PMPP_BACKEND
