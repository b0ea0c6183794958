// SPDX-License-Identifier: Apache-2.0
//
// Raw bytes: take them, give them back, copy them. Everything else under memory/ is built on these functions, and no
// other file calls cudaMalloc and its relatives.
//
//   allocate_device, allocate_pinned, allocate_managed     cudaMalloc, cudaMallocHost, cudaMallocManaged
//   allocate_ordered                                       from pmpp's pool, in the order of a stream (pool.hpp)
//   copy_bytes, set_bytes, repeat_bytes                    enqueue on a stream; a direction is never named
//
// A failed allocation clears CUDA's error, returns the pool's idle memory to the system and tries once more; then it
// throws pmpp::out_of_memory, after which smaller allocations work. Freeing never throws. All of it may be done while a
// stream is captured into a graph, by this thread or another, without spoiling the capture.
// In a program without CUDA all kinds are host memory, aligned as cudaMalloc aligns, and asking for more than the
// machine has is out_of_memory, as on a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/pool.hpp>
#if !PMPP_CUDA && __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What cudaMalloc guarantees: every allocation starts at a multiple of this many bytes.
inline constexpr std::size_t allocation_alignment = 256;

/// count * element_bytes. \throws std::length_error if count is negative or the product exceeds the address space.
inline std::size_t checked_bytes(std::int64_t count, std::size_t element_bytes, const char* what) {
  const auto n = static_cast<std::size_t>(count);  // a negative count becomes one beyond PTRDIFF_MAX
  if (n > static_cast<std::size_t>(PTRDIFF_MAX) / element_bytes)
    detail::throw_length_error(detail::text("pmpp::") + what + ": " + detail::text::of(count) + " elements of " +
                               detail::text::of(element_bytes) + " bytes do not fit the address space");
  return n * element_bytes;
}

#if PMPP_CUDA

/// Runs `allocate` (a callable that returns a cudaError_t), once more after trimming the pool if memory is short.
template <class Allocate>
void allocate_or_throw(std::size_t bytes, const char* call, Allocate allocate) {
  cudaError_t status = allocate();
  if (status == cudaSuccess) return;
  const relaxed_capture relaxed;
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    trim_memory_pool(current_device());
    status = allocate();
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t available = 0, total = 0;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) cudaGetLastError();
    throw out_of_memory(bytes, available, call);
  }
  check(status, call);
}

inline void* allocate_device(std::size_t bytes) {
  const relaxed_capture relaxed;
  void* p = nullptr;
  if (bytes != 0) allocate_or_throw(bytes, "cudaMalloc", [&] { return cudaMalloc(&p, bytes); });
  return p;
}
/// Waits for the whole device, as cudaFree does.
inline void free_device(void* p) noexcept {
  const relaxed_capture relaxed;
  cudaFree(p);
}

inline void* allocate_pinned(std::size_t bytes) {
  const relaxed_capture relaxed;
  void* p = nullptr;
  if (bytes != 0) allocate_or_throw(bytes, "cudaMallocHost", [&] { return cudaMallocHost(&p, bytes); });
  return p;
}
inline void free_pinned(void* p) noexcept {
  const relaxed_capture relaxed;
  cudaFreeHost(p);
}

inline void* allocate_managed(std::size_t bytes) {
  const relaxed_capture relaxed;
  void* p = nullptr;
  if (bytes != 0)
    allocate_or_throw(bytes, "cudaMallocManaged", [&] { return cudaMallocManaged(&p, bytes, cudaMemAttachGlobal); });
  return p;
}
inline void free_managed(void* p) noexcept { free_device(p); }

/// Memory of the current device that exists for work enqueued on `stream` from here on. Becomes a node of the graph
/// while `stream` is captured.
inline void* allocate_ordered(std::size_t bytes, stream_handle stream) {
  void* p = nullptr;
  if (bytes == 0) return p;
  const cudaMemPool_t pool = memory_pool(current_device());
  allocate_or_throw(bytes, "cudaMallocFromPoolAsync", [&] { return cudaMallocFromPoolAsync(&p, bytes, pool, stream); });
  return p;
}
/// Frees after the work that is on `stream`. Does not wait.
inline void free_ordered(void* p, stream_handle stream) noexcept {
  if (p != nullptr) cudaFreeAsync(p, stream);
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes, stream_handle stream) {
  if (bytes != 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}
inline void set_bytes(void* to, unsigned char value, std::size_t bytes, stream_handle stream) {
  if (bytes != 0) check(cudaMemsetAsync(to, value, bytes, stream), "cudaMemsetAsync");
}

#else

/// The bytes of memory that this machine has, and (where it can tell) has free; a guess where it cannot.
inline std::size_t machine_bytes([[maybe_unused]] bool only_free) noexcept {
#if defined(_SC_PHYS_PAGES) && defined(_SC_AVPHYS_PAGES)
  const long pages = sysconf(only_free ? _SC_AVPHYS_PAGES : _SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
#endif
  return std::size_t{1} << 40;
}

inline int current_device() noexcept { return 0; }

struct device_guard {
  explicit device_guard(int) noexcept {}
};

inline void* allocate_device(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  // Asked first: an operating system that overcommits would grant it and end the program at the first touch.
  void* p = bytes > machine_bytes(false) ? nullptr
                                         : ::operator new (bytes, std::align_val_t{allocation_alignment}, std::nothrow);
  if (p == nullptr) throw out_of_memory(bytes, machine_bytes(true), "pmpp::allocate_device");
  return p;
}
inline void free_device(void* p) noexcept { ::operator delete (p, std::align_val_t{allocation_alignment}); }
inline void* allocate_pinned(std::size_t bytes) { return allocate_device(bytes); }
inline void free_pinned(void* p) noexcept { free_device(p); }
inline void* allocate_managed(std::size_t bytes) { return allocate_device(bytes); }
inline void free_managed(void* p) noexcept { free_device(p); }
inline void* allocate_ordered(std::size_t bytes, stream_handle) { return allocate_device(bytes); }
inline void free_ordered(void* p, stream_handle) noexcept { free_device(p); }

inline void copy_bytes(void* to, const void* from, std::size_t bytes, stream_handle) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}
inline void set_bytes(void* to, unsigned char value, std::size_t bytes, stream_handle) {
  if (bytes != 0) std::memset(to, value, bytes);
}

#endif

/// Writes `count` copies of the `element_bytes` at `value` (host memory) to `to`, in stream order and without a kernel:
/// one memset if all bytes of the value are equal, else one element, doubled by copies.
inline void repeat_bytes(void* to, const void* value, std::size_t element_bytes, std::size_t count,
                         stream_handle stream) {
  if (count == 0) return;
  const auto* bytes = static_cast<const unsigned char*>(value);
  bool all_equal = true;
  for (std::size_t i = 1; i < element_bytes; ++i) all_equal = all_equal && bytes[i] == bytes[0];
  const std::size_t total = element_bytes * count;
  if (all_equal) return set_bytes(to, bytes[0], total, stream);
  auto* target = static_cast<unsigned char*>(to);
  copy_bytes(target, value, element_bytes, stream);
  for (std::size_t done = element_bytes; done < total;) {
    const std::size_t step = done < total - done ? done : total - done;
    copy_bytes(target + done, target, step, stream);
    done += step;
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
