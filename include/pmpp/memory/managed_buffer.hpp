// SPDX-License-Identifier: Apache-2.0
//
// managed_buffer<T>: an array that the host and all devices see at one address (cudaMallocManaged); pages move to
// whoever touches them. The shortest way to a first program, and to data larger than the card; a page fault costs tens
// of microseconds, so programs that must be fast use device_buffer and copy. The host reads and writes elements with
// b[i]; work on the device that uses them must be done by then. Move-only; b.clone() copies. In a program without CUDA
// the memory is the host's.
#pragma once

#include <concepts>
#include <type_traits>

#include <pmpp/memory/buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// An owning array in managed memory; the members are those of detail::buffer (memory/buffer.hpp).
template <class T>
class managed_buffer : public detail::buffer<T, detail::managed_memory> {
  using base = detail::buffer<T, detail::managed_memory>;

public:
  using base::base;
  managed_buffer() = default;

  /// A copy with memory of its own, made on the default stream and waited for. \throws out_of_memory
  managed_buffer clone() const { return managed_buffer(typename base::copy_of{}, *this); }

private:
  managed_buffer(typename base::copy_of tag, const managed_buffer& other) : base(tag, other) {}
};

template <std::integral N, class T>
managed_buffer(N, T) -> managed_buffer<T>;
template <contiguous_data R>
managed_buffer(const R&) -> managed_buffer<std::remove_const_t<element_of<const R>>>;

}  // namespace pmpp::inline PMPP_BACKEND
