// SPDX-License-Identifier: Apache-2.0
//
// pinned_buffer<T>: an array in page-locked host memory (cudaMallocHost). Copies between it and the device run at the
// full speed of the bus and truly asynchronously; kernels can also reach it, slowly. Page-locked memory is taken from
// the whole machine: use it for staging, not for everything. Allocating and freeing are slow; keep the buffer. The host
// reads and writes elements with b[i]; work on the device that uses them must be done by then. Move-only; b.clone()
// copies. In a program without CUDA the memory is the host's.
#pragma once

#include <concepts>
#include <type_traits>

#include <pmpp/memory/buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// An owning array in page-locked host memory; the members are those of detail::buffer (memory/buffer.hpp).
template <class T>
class pinned_buffer : public detail::buffer<T, detail::pinned_memory> {
  using base = detail::buffer<T, detail::pinned_memory>;

public:
  using base::base;
  pinned_buffer() = default;

  /// A copy with memory of its own, made on the default stream and waited for. \throws out_of_memory
  pinned_buffer clone() const { return pinned_buffer(typename base::copy_of{}, *this); }

private:
  pinned_buffer(typename base::copy_of tag, const pinned_buffer& other) : base(tag, other) {}
};

template <std::integral N, class T>
pinned_buffer(N, T) -> pinned_buffer<T>;
template <contiguous_data R>
pinned_buffer(const R&) -> pinned_buffer<std::remove_const_t<element_of<const R>>>;

}  // namespace pmpp::inline PMPP_BACKEND
