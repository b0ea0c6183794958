// SPDX-License-Identifier: Apache-2.0
//
// TMA, a unit of sm_90a (H100, H200) that copies tiles of matrices by itself, and barriers that count bytes.
//
//   on the host
//   describe_tiles(map, ...)              what TMA has to know of a matrix: a "tensor map"
//   describe_heads(map, ...)              the same of vectors by head, position and sequence
//   describe_windows(map, ...)            the same of images, to copy what lies at a place of windows
//   wgmma_probe                           a kernel that tells for what the program was compiled
//
//   on the device
//   transaction_barrier                   an "mbarrier": a phase ends when all have arrived, and all expected bytes too
//   copy_tile(to, map, done, x, y, z)     starts the copy of a tile; zeros where it leaves the matrix. One thread calls
//   copy_windows(to, map, done, ...)      the same for windows; zeros where a window leaves its image
//   store_in_block(rank, to, there, ...)  16 bytes to another block of the cluster; clusters_begin() before the first such
//   copy_tile(map, from, x, y, z)         from shared memory to a matrix; copies_end(), copies_have_read<N>() after batches
//
// Code for sm_90a has to be asked for by that name (nvcc -arch=sm_90a, CMAKE_CUDA_ARCHITECTURES=90a): sm_90 is not enough.
// Elsewhere the second part does not exist.
// (PTX ISA: mbarrier, cp.async.bulk.tensor. CUDA Driver API: tensor maps.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)
#include <cstdint>
#include <type_traits>

#include <pmpp/core/error.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::simt {

/// What TMA has to know of a matrix, as the driver writes it. A kernel gets it among its arguments, by value.
struct alignas(64) tile_map {
  unsigned char bytes[128];
};

/// A kernel that is never launched: what CUDA says of it tells whether it was compiled for sm_90a, as it has shared memory
/// only then.
struct wgmma_probe {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block&) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    __shared__ volatile int mark;
    mark = 1;
#endif
  }
};

/// A function of the driver, which programs do not link; null if it has none. Its enumerations are given as ints: cuda.h,
/// which names them, takes long to compile.
template <class F>
F driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status),
        "cudaGetDriverEntryPointByVersion");
  return status == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(found) : nullptr;
}

/// Values of the driver's enumerations of how tensor maps lie in shared memory, are fetched and end.
inline constexpr int no_interleave = 0, no_swizzle = 0, swizzle_128b = 3, l2_promotion_128b = 2, l2_promotion_256b = 3,
                     zeros = 0;

/// Describes `batch` matrices of `rows` rows of `row` elements for copies of box_rows x 128 bytes: the rows of a tile
/// follow each other in shared memory, and their 16-byte words are swizzled within 8 rows, as products want them.
/// Strides in elements. False if TMA cannot: it wants multiples of 16 bytes. With a width, for copies of this many
/// elements of a row, whose words stay where they are.
template <class T, int Width = 0>
bool describe_tiles(tile_map& map, const T* data, std::int64_t row, std::int64_t rows, std::int64_t stride,
                    std::int64_t batch, std::int64_t batch_stride, int box_rows) {
  using encode_function = int (*)(tile_map*, int type, std::uint32_t rank, void*, const std::uint64_t* size,
                                  const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                  int interleave, int exchange, int l2_fetch, int outside);
  static const auto encode = driver_function<encode_function>("cuTensorMapEncodeTiled");
  constexpr std::int64_t items = 16 / sizeof(T), most = std::int64_t(1) << 31;
  if (encode == nullptr || (sizeof(T) & (sizeof(T) - 1)) != 0 || sizeof(T) > 8 ||
      reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || stride % items != 0 || batch_stride % items != 0 ||
      stride <= 0 || batch_stride < 0 || row >= most || rows >= most || batch >= most)
    return false;
  constexpr int type = sizeof(T) == 1   ? 0
                       : sizeof(T) == 2 ? 1
                       : sizeof(T) == 4 ? 2
                                        : 4;  // CU_TENSOR_MAP_DATA_TYPE_UINT..
  const bool one = batch == 1 || batch_stride == 0;
  const std::uint64_t size[3] = {std::uint64_t(row), std::uint64_t(rows), std::uint64_t(one ? 1 : batch)};
  const std::uint64_t strides[2] = {stride * sizeof(T), one ? 16 : batch_stride * sizeof(T)};
  const std::uint32_t box[3] = {Width > 0 ? Width : 128 / sizeof(T), std::uint32_t(box_rows), 1}, steps[3] = {1, 1, 1};
  // Fetched by 256 bytes, rows that lie in two lines of the cache take longer (f16, 3000 x 3000 x 3000: 159 and 140 us).
  const bool straddles = (reinterpret_cast<std::uintptr_t>(data) | strides[0]) % 128 != 0;
  return encode(&map, type, 3, const_cast<std::remove_const_t<T>*>(data), size, strides, box, steps, no_interleave,
                Width > 0 ? no_swizzle : swizzle_128b, straddles ? l2_promotion_128b : l2_promotion_256b, zeros) == 0;
}

/// Describes vectors of `size` elements, of several heads at each position of several sequences, for copies of 128 bytes of the
/// vectors of `box_heads` heads at `box_positions` positions: these follow each other in shared memory, heads first, as those of
/// describe_tiles. Strides in elements. False if TMA cannot: it wants multiples of 16 bytes.
template <class T>
bool describe_heads(tile_map& map, const T* data, const std::int64_t (&extents)[4], const std::int64_t (&strides)[3],
                    int box_heads, int box_positions) {
  using encode_function = int (*)(tile_map*, int type, std::uint32_t rank, void*, const std::uint64_t* size,
                                  const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                  int interleave, int exchange, int l2_fetch, int outside);
  static const auto encode = driver_function<encode_function>("cuTensorMapEncodeTiled");
  static_assert(sizeof(T) == 2);
  if (encode == nullptr || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  std::uint64_t size[4], apart[3];
  for (int i = 0; i < 4; ++i) size[i] = std::uint64_t(extents[i]);
  for (int i = 0; i < 3; ++i) {  // of one alone, the stride counts for nothing
    apart[i] = extents[i + 1] == 1 ? 16 : std::uint64_t(strides[i]) * sizeof(T);
    if (apart[i] % 16 != 0 || apart[i] == 0 || apart[i] >= std::uint64_t(1) << 40) return false;
  }
  const std::uint32_t box[4] = {64, std::uint32_t(box_heads), std::uint32_t(box_positions), 1}, steps[4] = {1, 1, 1, 1};
  constexpr int type = 1;  // CU_TENSOR_MAP_DATA_TYPE_UINT16
  return encode(&map, type, 4, const_cast<std::remove_const_t<T>*>(data), size, apart, box, steps, no_interleave,
                swizzle_128b, l2_promotion_256b, zeros) == 0;
}

/// Images and their windows, as describe_windows wants them. Distances in elements, sides in pixels, x first.
struct window_shape {
  std::int64_t channels, sides[2], images, pixel_strides[2], image_stride;
  int padding[2], extent[2],
      stride[2];  ///< of windows: zeros before the image, pixels from the first to the last, steps
};

/// Describes images for copies of 128 bytes of channels of a pixel of each of `count` windows, which follow each other
/// along x, then y, then from image to image. Rows in shared memory as describe_tiles has them. False if TMA
/// cannot: it wants multiples of 16 bytes, and windows that are not too large.
template <class T>
bool describe_windows(tile_map& map, const T* data, const window_shape& s, int count) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4);
  using encode_function =
      int (*)(tile_map*, int type, std::uint32_t rank, void*, const std::uint64_t* size, const std::uint64_t* strides,
              const int* begin, const int* end, std::uint32_t channels, std::uint32_t windows,
              const std::uint32_t* steps, int interleave, int exchange, int l2_fetch, int outside);
  static const auto encode = driver_function<encode_function>("cuTensorMapEncodeIm2col");
  constexpr std::int64_t bytes = sizeof(T);
  const std::int64_t strides[3] = {s.pixel_strides[0] * bytes, s.pixel_strides[1] * bytes, s.image_stride * bytes};
  bool fits = encode != nullptr && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && s.images < std::int64_t(1) << 31;
  for (const std::int64_t stride : strides)
    fits = fits && stride % 16 == 0 && stride > 0 && stride < std::int64_t(1) << 40;
  int begin[2], end[2];  // where windows may begin, from the first and the last pixel
  for (int i = 0; i < 2; ++i) {
    begin[i] = -s.padding[i];
    end[i] = s.padding[i] - s.extent[i];
    fits = fits && begin[i] >= -128 && end[i] >= -128 && end[i] <= 127 && s.extent[i] < 256 && s.stride[i] <= 8;
  }
  // Drivers up to CUDA 13.1 describe images of less than 128 KB wrongly.
  if (!fits || strides[2] * s.images < 1 << 17) return false;
  const std::uint64_t size[4] = {std::uint64_t(s.channels), std::uint64_t(s.sides[0]), std::uint64_t(s.sides[1]),
                                 std::uint64_t(s.images)};
  const std::uint64_t apart[3] = {std::uint64_t(strides[0]), std::uint64_t(strides[1]), std::uint64_t(strides[2])};
  const std::uint32_t steps[4] = {1, std::uint32_t(s.stride[0]), std::uint32_t(s.stride[1]), 1};
  constexpr int type = sizeof(T) == 2 ? 1 : 2;  // CU_TENSOR_MAP_DATA_TYPE_UINT16, UINT32
  return encode(&map, type, 4, const_cast<std::remove_const_t<T>*>(data), size, apart, begin, end, 128 / sizeof(T),
                std::uint32_t(count), steps, no_interleave, swizzle_128b, l2_promotion_256b, zeros) == 0;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
/// Where a byte of shared memory lies in another block of the cluster.
__device__ inline std::uint32_t in_block(std::uint32_t address, int rank) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
#endif

/// Counts arrivals, and bytes that TMA or store_in_block have written. A barrier is in an even phase, then in an odd one, ...
struct transaction_barrier {
  std::uint64_t word;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  __device__ std::uint32_t address() const { return std::uint32_t(__cvta_generic_to_shared(&word)); }

  /// A phase will have `count` arrivals. One thread calls.
  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  /// Arrives, and makes the phase wait for `bytes` bytes too.
  __device__ void arrive_expecting(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }
  /// Arrives at the barrier that lies here in another block of the cluster. (Not as a release to the cluster: that waits for all stores.)
  __device__ void arrive_at(int rank) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(in_block(address(), rank)) : "memory");
  }
  /// Waits for the end of the phase, if it is the current one: odd (1) or even (0).
  __device__ void wait(std::uint32_t odd) {
    std::uint32_t ended = 0;
    while (ended == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ended)
                   : "r"(address()), "r"(odd)
                   : "memory");
  }
  /// The same where other blocks of the cluster arrive, or store.
  __device__ void wait_for_cluster(std::uint32_t odd) {
    std::uint32_t ended = 0;
    while (ended == 0)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; "
          "}"
          : "=r"(ended)
          : "r"(address()), "r"(odd)
          : "memory");
  }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)

/// Makes initialised barriers known to TMA. One thread calls, before the block meets.
__device__ inline void barriers_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Reads a word of a kernel's arguments, `byte` bytes from the first or the last there is: what lies beside it is at hand then.
template <class Arguments>
__device__ __forceinline__ void fetch_arguments(const Arguments& x, int byte) {
  constexpr int last = int(sizeof x) - 4;
  asm volatile("" ::"r"(reinterpret_cast<const int*>(&x)[(byte < last ? byte : last) / 4]));
}
/// Writes 16 bytes to where `to` lies in another block of the cluster; its barrier counts them when they are there.
__device__ inline void store_in_block(int rank, void* to, transaction_barrier& there, const std::uint32_t (&words)[4]) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
                   in_block(std::uint32_t(__cvta_generic_to_shared(to)), rank)),
               "r"(in_block(there.address(), rank)), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
/// All blocks of the cluster have come: their barriers are initialised. All threads call.
__device__ __forceinline__ void clusters_begin() {
  asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
}
/// True in one lane of a warp whose lanes all call: what it does by itself, ptxas knows to be one lane's.
__device__ __forceinline__ bool elect_one() {
  std::uint32_t is_elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(is_elected));
  return is_elected != 0;
}
/// Has TMA read a description that will be needed soon.
__device__ inline void fetch_description(const tile_map& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

__device__ inline void copy_tile(void* to, const tile_map& map, transaction_barrier& done, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(std::uint32_t(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(done.address()), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// The same of vectors: from element x, a head, a position and a sequence on.
__device__ inline void copy_tile(void* to, const tile_map& map, transaction_barrier& done, int x, int head,
                                 int position, int sequence) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(std::uint32_t(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(done.address()), "r"(x), "r"(head), "r"(position), "r"(sequence)
      : "memory");
}

/// From the window that begins at (x, y) of an image on: channels from `channel` on of the pixel (dx, dy) into each.
__device__ inline void copy_windows(void* to, const tile_map& map, transaction_barrier& done, int channel, int x, int y,
                                    int image, int dx, int dy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(std::uint32_t(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(done.address()), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(std::uint16_t(dx)),
      "h"(std::uint16_t(dy))
      : "memory");
}

/// The same from shared memory, to the matrix; what is outside is left out. One thread calls, then copies_end().
__device__ inline void copy_tile(const tile_map& map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(std::uint32_t(__cvta_generic_to_shared(from))), "r"(x), "r"(y), "r"(z)
               : "memory");
}
/// Ends a batch of such copies; all batches of this thread but the newest N have read shared memory.
__device__ inline void copies_end() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N>
__device__ void copies_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
/// What the calling thread has written to shared memory may be copied by a thread that it meets.
__device__ inline void visible_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop

#endif
