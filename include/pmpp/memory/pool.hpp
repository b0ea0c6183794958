// SPDX-License-Identifier: Apache-2.0
//
// pmpp's own pool of device memory, for allocations in stream order (cudaMallocAsync's kind).
//
// CUDA's default pool gives its memory back to the system at every synchronisation, which makes the next allocation a
// slow one. Changing the default pool would change it for the whole program. So pmpp makes one pool per device, on
// first use, whose release threshold is "never" unless the program sets one (trim.hpp); memory freed to it is reused by the next allocation at the cost of
// bookkeeping on the host, about a microsecond. The pools live until the process ends: cudaDeviceReset would free them behind
// pmpp's back, and no call on that device works after it. When an allocation anywhere in
// pmpp fails, the pool's idle memory is given back and the allocation is tried once more (memory/raw.hpp).
//
// This file also holds the three small guards that calls into CUDA need here.
#pragma once

#include <pmpp/core/config.hpp>
#if PMPP_CUDA

#include <cstddef>
#include <cstdint>

#include <pmpp/core/error.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The calling thread's current CUDA device.
inline int current_device() {
  int id = 0;
  check(cudaGetDevice(&id), "cudaGetDevice");
  return id;
}

/// Makes device `id` the current one and restores the previous one at the end. Never throws: for destructors.
class device_guard {
public:
  explicit device_guard(int id) noexcept {
    if (cudaGetDevice(&previous_) != cudaSuccess) previous_ = id;
    switched_ = previous_ != id;
    if (switched_) cudaSetDevice(id);
  }
  ~device_guard() {
    if (switched_) cudaSetDevice(previous_);
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

private:
  int previous_ = 0;
  bool switched_ = false;
};

/// Lets the calling thread call cudaMalloc and friends while a stream is being captured into a graph. Such calls are
/// not captured: what they allocate is not the graph's.
class relaxed_capture {
public:
  relaxed_capture() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  relaxed_capture(const relaxed_capture&) = delete;
  relaxed_capture& operator=(const relaxed_capture&) = delete;

private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The place of pmpp's pool of each device; nullptr until it is made. Read and written by atomic builtins.
inline cudaMemPool_t& memory_pool_slot(int id) {
  static cudaMemPool_t* const slots = [] {  // until the process ends, as the pools
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    return new cudaMemPool_t[static_cast<std::size_t>(devices)]();
  }();
  return slots[id];
}

/// pmpp's pool of device `id`, made on first use; it keeps all memory that it ever had. Safe to call from many threads.
/// \throws cuda_error where the device has no memory pools.
inline cudaMemPool_t memory_pool(int id) {
  cudaMemPool_t& slot = memory_pool_slot(id);
  if (cudaMemPool_t made = __atomic_load_n(&slot, __ATOMIC_ACQUIRE)) return made;

  const relaxed_capture relaxed;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = id;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
  std::uint64_t threshold = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");

  cudaMemPool_t other = nullptr;
  if (__atomic_compare_exchange_n(&slot, &other, pool, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return pool;
  cudaMemPoolDestroy(pool);  // another thread was faster
  return other;
}

/// pmpp's pool of device `id`; nullptr if it has not been made.
inline cudaMemPool_t existing_memory_pool(int id) { return __atomic_load_n(&memory_pool_slot(id), __ATOMIC_ACQUIRE); }

/// Gives the idle memory of pmpp's pool of device `id` back to the system, if there is such a pool.
inline void trim_memory_pool(int id) noexcept {
  if (cudaMemPool_t pool = existing_memory_pool(id)) cudaMemPoolTrimTo(pool, 0);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#endif  // PMPP_CUDA
