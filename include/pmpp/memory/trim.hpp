// SPDX-License-Identifier: Apache-2.0
//
// What pmpp's pool of device memory keeps, for programs that share a GPU. The pool (memory/pool.hpp) serves buffers made with a
// stream and calls without a workspace. It never gives memory back by itself; here a program says how much it may keep.
//
//   pmpp::pool_use().held                  bytes that the pool has of the current device
//   pmpp::trim_pool();                     gives back what is idle now
//   pmpp::set_pool_threshold(64 << 20);    from now on gives back what is idle beyond that, whenever CUDA waits for a stream
//
// In a program without CUDA there is no pool, and these do nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/memory/pool.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Bytes that the pool of a device has, and how many of them are allocated.
struct pool_bytes {
  std::uint64_t held = 0, used = 0;
};

/// Of the current device; zeros as long as nothing has been taken of the pool. Does not wait. \throws cuda_error
inline pool_bytes pool_use() {
  pool_bytes b;
#if PMPP_CUDA
  if (cudaMemPool_t pool = detail::existing_memory_pool(detail::current_device())) {
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &b.held), "cudaMemPoolGetAttribute");
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &b.used), "cudaMemPoolGetAttribute");
  }
#endif
  return b;
}

/// Gives the idle memory of the current device's pool back to the system until the pool has no more than `keep` bytes. Memory is
/// idle when the work in front of its free has finished: wait for the streams first. Buffers, workspaces and graphs stay as they
/// are. \throws cuda_error
inline void trim_pool([[maybe_unused]] std::size_t keep = 0) {
#if PMPP_CUDA
  if (cudaMemPool_t pool = detail::existing_memory_pool(detail::current_device()))
    check(cudaMemPoolTrimTo(pool, keep), "cudaMemPoolTrimTo");
#endif
}

/// How many idle bytes the current device's pool keeps when CUDA waits for a stream, an event or the device; all of them unless
/// this is called. 0 makes allocations after each wait slow ones. \throws cuda_error
inline void set_pool_threshold([[maybe_unused]] std::uint64_t bytes) {
#if PMPP_CUDA
  check(cudaMemPoolSetAttribute(detail::memory_pool(detail::current_device()), cudaMemPoolAttrReleaseThreshold, &bytes),
        "cudaMemPoolSetAttribute");
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND
