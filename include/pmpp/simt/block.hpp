// SPDX-License-Identifier: Apache-2.0
//
// The machine that a kernel sees. A kernel is a function object that receives its block:
//
//   struct my_kernel {
//     static constexpr int threads = 256;                 // threads of a block
//     struct shared { float tile[256]; };                 // the block's shared memory; may be left out
//     template <class Block>
//     PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* in, float* out) const {
//       memory.tile[block.thread()] = in[block.index() * threads + block.thread()];
//       block.sync();
//       ...
//     }
//   };
//   pmpp::launch(pmpp::device, blocks, my_kernel{}, in, out);
//
// `Block` is simt::cuda_block on a GPU and simt::emulated_block on the CPU; the text of the kernel is the same.
// Each thread has its own handle `block`; it costs nothing on the GPU.
//
//   block.thread(), threads()          threadIdx, blockDim: rank in the block, x fastest, and number of threads
//   block.index(), count()             blockIdx, gridDim: rank in the grid, x fastest, and number of blocks (64-bit)
//   block.thread_position(), shape()   threadIdx and blockDim as extent3
//   block.position(), grid_shape()     blockIdx and gridDim as extent3
//   block.lane(), warp(), warps()      thread() % 32, thread() / 32, number of warps
//   block.sync()                       __syncthreads()
//   block.sync_or(p), sync_and(p), sync_count(p)          __syncthreads_or, _and, _count
//   block.sync_warp(mask)              __syncwarp(mask)
//   block.shuffle(v, lane, mask)       __shfl_sync, for any trivially copyable v; likewise
//   block.shuffle_up(v, d, mask), shuffle_down(v, d, mask), shuffle_xor(v, bits, mask)
//                                      a lane whose source lies outside the warp keeps its own v
//   block.ballot(p, mask), any(p, mask), all(p, mask)     __ballot_sync, __any_sync, __all_sync
//   block.match_any(v, mask)           __match_any_sync, v of 4 or 8 bytes
//   block.warp_add(v, mask), warp_min, warp_max, warp_and, warp_or, warp_xor
//                                      __reduce_add_sync ...: 32-bit integers, one instruction
//   block.dynamic_shared()             extern __shared__: std::byte*, 16-byte aligned, grid.dynamic_shared bytes
//   block.spin()                       in the body of a loop that polls another block's word; nothing on a GPU
//   block.active_lanes()               __activemask(): lanes of the warp that are here together (simt/groups.hpp)
//   block.cluster()                    the blocks that the launch has put together, and their shared memory (simt/cluster.hpp)
//
// `mask` names the lanes that take part and defaults to all lanes of the warp that exist; every named lane must call.
// Atomics and loads with a memory order are free functions: simt/atomic.hpp, simt/memory.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Three extents or a position, x fastest: what CUDA calls dim3.
struct extent3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr extent3() = default;
  /// Extents outside [0, 2^32) become 2^32 - 1, which every launch refuses.
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  PMPP_HOST_DEVICE constexpr extent3(X x_, Y y_ = 1, Z z_ = 1) : x(saturated(x_)), y(saturated(y_)), z(saturated(z_)) {}

  PMPP_HOST_DEVICE constexpr std::int64_t volume() const { return std::int64_t(x) * y * z; }
  friend constexpr bool operator==(const extent3&, const extent3&) = default;

private:
  template <std::integral N>
  PMPP_HOST_DEVICE static constexpr unsigned saturated(N extent) {
    const auto n = static_cast<std::int64_t>(extent);
    return n < 0 || n > 0xffffffffll ? 0xffffffffu : static_cast<unsigned>(n);
  }
};

namespace simt {

/// 32 on every GPU of NVIDIA's. The emulator plays 64 too (AMD's wave64: docs/machines.md says what would break there).
inline constexpr int warp_size = 32;
/// A bit for each lane of a warp.
using lane_mask = std::conditional_t<warp_size == 32, unsigned, std::uint64_t>;
inline constexpr lane_mask all_lanes = ~lane_mask(0);

/// What a launch asks for; the kernel's own shared memory comes on top of dynamic_shared.
struct launch_shape {
  extent3 blocks;                  ///< of the grid
  extent3 threads;                 ///< of each block
  std::size_t dynamic_shared = 0;  ///< bytes of dynamic shared memory
  extent3 cluster;                 ///< blocks of a cluster (simt/cluster.hpp): 1 block where there is no need of any

  constexpr launch_shape() = default;
  /// A negative number of bytes becomes one that every launch refuses.
  template <std::integral Bytes = std::size_t>
  constexpr launch_shape(extent3 grid_blocks, extent3 block_threads, Bytes bytes = 0, extent3 cluster_blocks = {})
      : blocks(grid_blocks),
        threads(block_threads),
        dynamic_shared(static_cast<std::int64_t>(bytes) < 0 ? std::size_t(PTRDIFF_MAX)
                                                            : static_cast<std::size_t>(bytes)),
        cluster(cluster_blocks) {}
};

/// The operations of the table above, as a compiler can check them.
template <class B>
concept thread_block = requires(B& block, int i, unsigned mask, bool p, float v) {
  { block.thread() } -> std::same_as<int>;
  { block.threads() } -> std::same_as<int>;
  { block.index() } -> std::same_as<std::int64_t>;
  { block.count() } -> std::same_as<std::int64_t>;
  { block.thread_position() } -> std::same_as<extent3>;
  { block.shape() } -> std::same_as<extent3>;
  { block.position() } -> std::same_as<extent3>;
  { block.grid_shape() } -> std::same_as<extent3>;
  { block.lane() } -> std::same_as<int>;
  { block.warp() } -> std::same_as<int>;
  { block.warps() } -> std::same_as<int>;
  block.sync();
  { block.sync_or(p) } -> std::same_as<bool>;
  { block.sync_and(p) } -> std::same_as<bool>;
  { block.sync_count(p) } -> std::same_as<int>;
  block.sync_warp(mask);
  { block.shuffle(v, i, mask) } -> std::same_as<float>;
  { block.shuffle_up(v, i, mask) } -> std::same_as<float>;
  { block.shuffle_down(v, i, mask) } -> std::same_as<float>;
  { block.shuffle_xor(v, i, mask) } -> std::same_as<float>;
  { block.ballot(p, mask) } -> std::same_as<lane_mask>;
  { block.any(p, mask) } -> std::same_as<bool>;
  { block.all(p, mask) } -> std::same_as<bool>;
  { block.match_any(i, mask) } -> std::same_as<lane_mask>;
  { block.warp_add(i, mask) } -> std::same_as<int>;
  { block.dynamic_shared() } -> std::same_as<std::byte*>;
  block.spin();
  { block.active_lanes() } -> std::same_as<lane_mask>;
  { block.cluster().rank() } -> std::same_as<int>;
};

namespace detail {

/// Shared memory that a static array may hold on a GPU; more has to be dynamic.
inline constexpr std::size_t static_shared_limit = 48 * 1024;

// What a kernel says of itself. `threads` fixes the block size (and bounds the registers), `cluster` how many blocks of a
// row make a cluster where the launch names no other, `min_blocks` asks the compiler to fit that many blocks on a
// multiprocessor, `leaves_first_cache` (with min_blocks) says that shared memory for more blocks would only take the first
// cache away, `begins_early` that it may be started while the kernel before it still ends: it waits itself before it touches
// global memory.
// clang-format off
template <class Kernel> inline constexpr int threads_of = 1024;
template <class Kernel> requires requires { Kernel::threads; } inline constexpr int threads_of<Kernel> = Kernel::threads;
template <class Kernel> inline constexpr int cluster_of = 1;
template <class Kernel> requires requires { Kernel::cluster; } inline constexpr int cluster_of<Kernel> = Kernel::cluster;
template <class Kernel> inline constexpr int min_blocks_of = 1;
template <class Kernel> requires requires { Kernel::min_blocks; } inline constexpr int min_blocks_of<Kernel> = Kernel::min_blocks;
template <class Kernel> inline constexpr bool leaves_first_cache = false;
template <class Kernel> requires requires { Kernel::leaves_first_cache; } inline constexpr bool leaves_first_cache<Kernel> = Kernel::leaves_first_cache;
template <class Kernel> inline constexpr bool begins_early = false;
template <class Kernel> requires requires { Kernel::begins_early; } inline constexpr bool begins_early<Kernel> = Kernel::begins_early;
template <class Kernel> inline constexpr std::size_t shared_bytes_of = 0;
template <class Kernel> requires requires { sizeof(typename Kernel::shared); } inline constexpr std::size_t shared_bytes_of<Kernel> = sizeof(typename Kernel::shared);
// clang-format on

/// Bytes of a kernel's shared memory in a launch: all, or where that is more than `limit` what a block of `threads` threads
/// needs of it, from its beginning on. A kernel says so that takes blocks of any size: shared_bytes(threads).
template <class Kernel>
constexpr std::size_t shared_bytes_in(std::int64_t threads, std::size_t limit) {
  constexpr std::size_t all = shared_bytes_of<Kernel>;
  if constexpr (all > static_shared_limit && requires { Kernel::shared_bytes(1); }) {
    static_assert(Kernel::shared_bytes(threads_of<Kernel>) <= all);
    if (all > limit && threads <= threads_of<Kernel>) return Kernel::shared_bytes(static_cast<int>(threads));
  }
  return all;
}

}  // namespace detail
}  // namespace simt
}  // namespace pmpp::inline PMPP_BACKEND
