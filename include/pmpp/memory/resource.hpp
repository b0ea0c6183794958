// SPDX-License-Identifier: Apache-2.0
//
// Workspaces over memory resources: RMM's, cuda::mr's, the program's own.
//
//   rmm::mr::pool_memory_resource<...> mr{...};
//   pmpp::workspace memory{pmpp::blocks_from(mr)};       // grows by blocks of mr, gives them back in the end
//
// A resource is anything with one of these pairs; no header of those libraries is needed. Here the first that it has is used:
//
//   allocate_sync(bytes, alignment)          deallocate_sync(pointer, bytes, alignment)           cuda::mr from CCCL 3.1 on
//   allocate(bytes, alignment)               deallocate(pointer, bytes, alignment)                cuda::mr, std::pmr's shape
//   allocate(stream, bytes, alignment)       deallocate(stream, pointer, bytes, alignment)        cuda::mr from CCCL 3.1 on
//   allocate_async(bytes, alignment, stream) deallocate_async(pointer, bytes, alignment, stream)  cuda::mr until CCCL 3.0
//
// The workspace takes few blocks and keeps them (memory/workspace.hpp), so that what an allocation costs there hardly counts, and
// a resource need not order anything by streams. Its memory must be the device's: that is not checked.
#pragma once

#include <cstddef>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class R>
concept syncs_by_name = requires(R& r, void* p, std::size_t n) {
  r.deallocate_sync(r.allocate_sync(n, n), n, n);
};
template <class R>
concept allocates_at_once = requires(R& r, void* p, std::size_t n) {
  r.deallocate(r.allocate(n, n), n, n);
};
template <class R>
concept allocates_on_streams = requires(R& r, stream_handle s, std::size_t n) {
  r.deallocate(s, r.allocate(s, n, n), n, n);
};
template <class R>
concept allocates_async = requires(R& r, stream_handle s, std::size_t n) {
  r.deallocate_async(r.allocate_async(n, n, s), n, n, s);
};

/// The two calls of a resource, on a block that every stream may use, or that no stream uses any more.
template <class R>
struct resource_calls {
  static void* allocate(void* resource, std::size_t bytes) {
    R& r = *static_cast<R*>(resource);
    constexpr std::size_t alignment = allocation_alignment;
    if constexpr (syncs_by_name<R>) {
      return r.allocate_sync(bytes, alignment);
    } else if constexpr (allocates_at_once<R>) {
      return r.allocate(bytes, alignment);
    } else {
      const stream own;
      void* block = nullptr;
      if constexpr (allocates_on_streams<R>)
        block = r.allocate(own.handle(), bytes, alignment);
      else
        block = r.allocate_async(bytes, alignment, own.handle());
      own.synchronize();
      return block;
    }
  }
  static void free(void* resource, void* block, std::size_t bytes) {
    R& r = *static_cast<R*>(resource);
    constexpr std::size_t alignment = allocation_alignment;
    if constexpr (syncs_by_name<R>)
      r.deallocate_sync(block, bytes, alignment);
    else if constexpr (allocates_at_once<R>)
      r.deallocate(block, bytes, alignment);
    else if constexpr (allocates_on_streams<R>)
      r.deallocate(stream_handle{}, block, bytes, alignment);
    else
      r.deallocate_async(block, bytes, alignment, stream_handle{});
  }
};

}  // namespace detail

/// Anything that gives out memory by one of the pairs of calls above.
template <class R>
concept memory_resource = detail::syncs_by_name<R> || detail::allocates_at_once<R> || detail::allocates_on_streams<R> ||
    detail::allocates_async<R>;

/// The blocks of `resource`, for a workspace. The resource is not copied: it must outlive the workspace.
/// What it throws where memory is short must derive from std::bad_alloc for a smaller block to be tried. Blocks go back when the
/// workspace is destroyed, after the device has been waited for; a resource that throws then ends the program.
/// Example: examples/40_scratch_of_your_own.cpp
template <class R>
block_source blocks_from(R& resource) {
  constexpr bool is_resource = memory_resource<R>;
  static_assert(
      is_resource,
      "pmpp::blocks_from: a memory resource has allocate(bytes, alignment) and deallocate(pointer, bytes, alignment), "
      "or the same with a stream (memory/resource.hpp lists them)");
  if constexpr (is_resource)
    return {__builtin_addressof(resource), detail::resource_calls<R>::allocate, detail::resource_calls<R>::free};
  else
    return detail::device_blocks;
}

}  // namespace pmpp::inline PMPP_BACKEND
