// SPDX-License-Identifier: Apache-2.0
//
// The block as a GPU runs it: every operation of simt/block.hpp is the CUDA intrinsic beside it in that table, inlined.
// A kernel written against it compiles to the machine code of the same kernel written by hand (test/checks/zero_cost.py).
//
// The launch wraps a kernel in the one __global__ function of the library, run_kernel: it makes the kernel's shared
// memory (in front of the dynamic part where it is too large for a static array) and hands both over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/cluster.hpp>

#if defined(__CUDACC__) && PMPP_CUDA

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error \
    "pmpp: kernels need compute capability 8.0: compile with nvcc -arch=native, or -arch=sm_80 and later (CMAKE_CUDA_ARCHITECTURES)"
#endif

namespace pmpp::inline PMPP_BACKEND::simt {

/// Threads: the number of threads of a block in a one-dimensional launch, known to the compiler; -1: any number; 0: any shape.
template <int Threads = 0>
class cuda_block {
public:
  __device__ explicit cuda_block(std::byte* dynamic) : dynamic_(dynamic) {}

  // clang-format off
  __device__ __forceinline__ extent3 thread_position() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  __device__ __forceinline__ extent3 shape() const { return {blockDim.x, blockDim.y, blockDim.z}; }
  __device__ __forceinline__ extent3 position() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  __device__ __forceinline__ extent3 grid_shape() const { return {gridDim.x, gridDim.y, gridDim.z}; }
  __device__ __forceinline__ int thread() const { return int(Threads != 0 ? threadIdx.x : threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }
  __device__ __forceinline__ int threads() const { return Threads > 0 ? Threads : Threads < 0 ? int(blockDim.x) : int(blockDim.x * blockDim.y * blockDim.z); }
  __device__ __forceinline__ std::int64_t index() const { return Threads != 0 ? blockIdx.x : blockIdx.x + gridDim.x * (blockIdx.y + std::int64_t(gridDim.y) * blockIdx.z); }
  __device__ __forceinline__ std::int64_t count() const { return Threads != 0 ? gridDim.x : std::int64_t(gridDim.x) * gridDim.y * gridDim.z; }
  // clang-format on
  __device__ __forceinline__ int lane() const { return thread() & (warp_size - 1); }
  __device__ __forceinline__ int warp() const { return int(unsigned(thread()) / warp_size); }
  __device__ __forceinline__ int warps() const { return (threads() + warp_size - 1) / warp_size; }

  __device__ __forceinline__ void sync() const { __syncthreads(); }
  __device__ __forceinline__ bool sync_or(bool p) const { return __syncthreads_or(p) != 0; }
  __device__ __forceinline__ bool sync_and(bool p) const { return __syncthreads_and(p) != 0; }
  __device__ __forceinline__ int sync_count(bool p) const { return __syncthreads_count(p); }
  __device__ __forceinline__ void sync_warp(unsigned mask = all_lanes) const { __syncwarp(mask); }

  // clang-format off
  template <class T> __device__ __forceinline__ T shuffle(T v, int lane, unsigned mask = all_lanes) const { return by_words(v, [=](unsigned word) { return __shfl_sync(mask, word, lane); }); }
  template <class T> __device__ __forceinline__ T shuffle_up(T v, int distance, unsigned mask = all_lanes) const { return by_words(v, [=](unsigned word) { return __shfl_up_sync(mask, word, unsigned(distance)); }); }
  template <class T> __device__ __forceinline__ T shuffle_down(T v, int distance, unsigned mask = all_lanes) const { return by_words(v, [=](unsigned word) { return __shfl_down_sync(mask, word, unsigned(distance)); }); }
  template <class T> __device__ __forceinline__ T shuffle_xor(T v, int bits, unsigned mask = all_lanes) const { return by_words(v, [=](unsigned word) { return __shfl_xor_sync(mask, word, bits); }); }
  // clang-format on

  __device__ __forceinline__ unsigned ballot(bool p, unsigned mask = all_lanes) const { return __ballot_sync(mask, p); }
  __device__ __forceinline__ bool any(bool p, unsigned mask = all_lanes) const { return __any_sync(mask, p) != 0; }
  __device__ __forceinline__ bool all(bool p, unsigned mask = all_lanes) const { return __all_sync(mask, p) != 0; }
  template <class T>
  __device__ __forceinline__ unsigned match_any(T v, unsigned mask = all_lanes) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    return __match_any_sync(mask, __builtin_bit_cast(word, v));
  }
  // clang-format off
  template <class T> __device__ __forceinline__ T warp_add(T v, unsigned mask = all_lanes) const { return __reduce_add_sync(mask, v); }
  template <class T> __device__ __forceinline__ T warp_min(T v, unsigned mask = all_lanes) const { return __reduce_min_sync(mask, v); }
  template <class T> __device__ __forceinline__ T warp_max(T v, unsigned mask = all_lanes) const { return __reduce_max_sync(mask, v); }
  template <class T> __device__ __forceinline__ T warp_and(T v, unsigned mask = all_lanes) const { return T(__reduce_and_sync(mask, unsigned(v))); }
  template <class T> __device__ __forceinline__ T warp_or(T v, unsigned mask = all_lanes) const { return T(__reduce_or_sync(mask, unsigned(v))); }
  template <class T> __device__ __forceinline__ T warp_xor(T v, unsigned mask = all_lanes) const { return T(__reduce_xor_sync(mask, unsigned(v))); }
  // clang-format on

  __device__ __forceinline__ std::byte* dynamic_shared() const { return dynamic_; }
  __device__ __forceinline__ void spin() const {}
  __device__ __forceinline__ lane_mask active_lanes() const { return __activemask(); }
  __device__ __forceinline__ cuda_cluster cluster() const { return {}; }

private:
  // Moves a value of any size through a 4-byte shuffle.
  template <class T, class F>
  __device__ __forceinline__ static T by_words(const T& v, F f) {
    static_assert(std::is_trivially_copyable_v<T>, "pmpp: a shuffled value must be trivially copyable");
    constexpr int words = (sizeof(T) + 3) / 4;
    unsigned buffer[words] = {};
    __builtin_memcpy(buffer, __builtin_addressof(v), sizeof(T));
    for (int i = 0; i < words; ++i) buffer[i] = f(buffer[i]);
    T result = v;
    __builtin_memcpy(__builtin_addressof(result), buffer, sizeof(T));
    return result;
  }

  std::byte* dynamic_;
};

static_assert(thread_block<cuda_block<>> && thread_block<cuda_block<256>>);

namespace detail {

/// The library's only __global__ function. Threads: as for cuda_block. The second launch bound matters: without it the
/// compiler aims at 32 registers and splits a batch of loads in two.
template <int Threads, class Kernel, class... Args>
__global__ void __launch_bounds__(threads_of<Kernel>, min_blocks_of<Kernel>)
    run_kernel(const __grid_constant__ Kernel kernel, const __grid_constant__ Args... args) {
  if constexpr (shared_bytes_of<Kernel> == 0) {
    extern __shared__ __align__(16) std::byte dynamic[];
    cuda_block<Threads> block(dynamic);
    kernel(block, args...);
  } else if constexpr (shared_bytes_of<Kernel> <= static_shared_limit) {
    extern __shared__ __align__(16) std::byte dynamic[];
    __shared__ typename Kernel::shared memory;
    cuda_block<Threads> block(dynamic);
    kernel(block, memory, args...);
  } else {
    static_assert(alignof(typename Kernel::shared) <= 1024, "pmpp: shared memory is aligned to 1024 bytes at most");
    extern __shared__ __align__(1024) std::byte aligned[];  // what tensor maps that swizzle ask for
    constexpr std::size_t offset = (shared_bytes_of<Kernel> + 15) / 16 * 16;
    cuda_block<Threads> block(aligned + offset);
    kernel(block, *reinterpret_cast<typename Kernel::shared*>(aligned), args...);
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND::simt

#endif
