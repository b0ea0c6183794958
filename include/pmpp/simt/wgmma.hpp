// SPDX-License-Identifier: Apache-2.0
//
// What sm_90a (H100, H200) has for matrix products beyond other GPUs: a unit that copies tiles, barriers that count
// bytes, and products of whole tiles in shared memory. For CUDA only; the emulator has none of it.
//
//   on the host
//   describe_tiles(map, ...)              what TMA has to know of a matrix: a "tensor map"
//   describe_windows(map, ...)            the same of images, to copy what lies at a place of windows
//   wgmma_probe                           a kernel that tells for what the program was compiled
//
//   on the device
//   previous_kernels_done()               before a kernel that begins early (simt/block.hpp) touches global memory
//   transaction_barrier                   an "mbarrier": a phase ends when all have arrived, and all expected bytes too
//   copy_tile(to, map, done, x, y, z)     starts the copy of a tile; zeros where it leaves the matrix. One thread calls
//   copy_windows(to, map, done, ...)      the same for windows; zeros where a window leaves its image
//   release_registers<N>(), acquire_registers<N>()     a warpgroup, four warps, leaves registers to the others of its block
//   operand_in_shared(...)                says how an operand of a product lies in shared memory
//   multiply_rows<T, ..., N>(d, a, b, add)  d = A B, or d += A B, for 64 rows by a warpgroup. Starts only:
//   products_begin(), products_end(), products_wait<N>()     around a batch; all batches but the newest N are done
//   fence_accumulators(registers)            what a batch has read or written may be used otherwise, after the wait
//
// Code for sm_90a has to be asked for by that name (nvcc -arch=sm_90a, CMAKE_CUDA_ARCHITECTURES=90a): sm_90 is not enough.
// Elsewhere the second part does not exist.
// (PTX ISA: mbarrier, cp.async.bulk.tensor, setmaxnreg, wgmma. CUDA Driver API: tensor maps.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)
#include <cstdint>
#include <type_traits>

#include <pmpp/core/error.hpp>

struct __half;
struct __nv_bfloat16;

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

/// Counts arrivals, and bytes that TMA has written. A barrier is in an even phase, then in an odd one, ...
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
  /// Waits for the end of the phase, if it is the current one: odd or even.
  __device__ void wait(bool odd) {
    std::uint32_t ended = 0;
    while (ended == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ended)
                   : "r"(address()), "r"(std::uint32_t(odd))
                   : "memory");
  }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)

/// In a kernel that begins early: waits until all kernels before it in the stream have ended, and sees what they wrote.
__device__ inline void previous_kernels_done() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// Makes initialised barriers known to TMA. One thread calls, before the block meets.
__device__ inline void barriers_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Makes the barriers of stages ready, each of which one thread fills and this many arrivals empty. One thread calls, before the
/// block meets.
template <int Stages>
__device__ void prepare_stages(transaction_barrier (&full)[Stages], transaction_barrier (&empty)[Stages], int readers) {
  for (int s = 0; s < Stages; ++s) {
    full[s].init(1);
    empty[s].init(readers);
  }
  barriers_visible();
}

/// Which of the stages is next, and whether its round is an odd one.
template <int Stages>
struct stage_position {
  int stage = 0;
  bool odd = false;
  __device__ void advance() {
    if (++stage == Stages) stage = 0, odd = !odd;
  }
};

__device__ inline void copy_tile(void* to, const tile_map& map, transaction_barrier& done, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(std::uint32_t(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(done.address()), "r"(x), "r"(y), "r"(z)
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

/// Waits for all threads of a warpgroup; `group` says which, below 15.
__device__ inline void warpgroup_sync(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

/// From now on the calling warpgroup has N registers a thread; a multiple of 8. All its threads call.
template <int N>
__device__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
/// The same for more than it had: waits until others have left them.
template <int N>
__device__ void acquire_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

/// Before a batch of products: registers and shared memory are as the thread has left them.
__device__ inline void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/// Registers that a batch reads or writes, after products_wait and before anything else is done with them: the compiler
/// does not know that products go on after the instruction, and would give registers to others too early.
template <int N>
__device__ __forceinline__ void fence_accumulators(std::uint32_t (&values)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(values[i])::"memory");
}

/// Has the compiler keep a value rather than work it out again wherever it is needed.
__device__ __forceinline__ void keep_in_register(int& value) { asm volatile("" : "+r"(value)); }

/// Where an operand lies in shared memory, as describe_tiles leaves it. Eight rows of 128 bytes are 1024 bytes; `columns`
/// is the distance in bytes of one 128 bytes of a row of the operand from the next, where rows are along m (n).
__device__ inline std::uint64_t operand_in_shared(const void* tile, int columns) {
  const std::uint64_t address = __cvta_generic_to_shared(tile) & 0x3ffff;  // of 18 bits
  return std::uint64_t(1) << 62 | std::uint64_t(1024 / 16) << 32 | std::uint64_t(columns / 16) << 16 | address / 16;
}

namespace detail {

// clang-format off
template <class T> struct product_text;  // the part of the instruction's name that the type decides
template <> struct product_text<__half> { static constexpr char type[] = "k16.f32.f16.f16"; };
template <> struct product_text<__nv_bfloat16> { static constexpr char type[] = "k16.f32.bf16.bf16"; };
template <> struct product_text<float> { static constexpr char type[] = "k8.f32.tf32.tf32"; };
template <> struct product_text<std::int8_t> { static constexpr char type[] = "k32.s32.s8.s8"; };
template <> struct product_text<std::uint8_t> { static constexpr char type[] = "k32.s32.u8.u8"; };
template <class T, bool A, bool B> struct major_text { static constexpr char bits[] = {',', '1', ',', '1', ',', '0' + A, ',', '0' + B, 0}; };
template <> struct major_text<float, false, false> { static constexpr char bits[] = ",1,1"; };  // there is no choice
template <> struct major_text<std::int8_t, false, false> { static constexpr char bits[] = ""; };
template <> struct major_text<std::uint8_t, false, false> { static constexpr char bits[] = ""; };
// clang-format on

}  // namespace detail

/// d = A B, or d += A B where `add`, of 64 rows of A and N columns of B, 32 bytes of k deep: for a warpgroup. A and B are
/// of type T (floats count with their upper 19 bits) and along k in shared memory, or along m (n) as the flags say.
/// Lane 4 g + t of warp w holds in d[4 j + 2 h + e] the element at row 16 w + g + 8 h, column 8 j + 2 t + e.
template <class T, bool AlongMA, bool AlongNB, int N>
__device__ __forceinline__ void multiply_rows(std::uint32_t (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) {
  using type = detail::product_text<T>;
  using majors = detail::major_text<T, AlongMA, AlongNB>;
  // clang-format off
  if constexpr (N == 64)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64%35 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
      "}, %32, %33, p%36; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  else if constexpr (N == 128)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128%67 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
      "}, %64, %65, p%68; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  else if constexpr (N == 192)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %98, 0; wgmma.mma_async.sync.aligned.m64n192%99 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95 "
      "}, %96, %97, p%100; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]),
        "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]),
        "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]),
        "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]),
        "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  else if constexpr (N == 256)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256%131 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127 "
      "}, %128, %129, p%132; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]),
        "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]),
        "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]),
        "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]),
        "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]),
        "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),
        "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111]),
        "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]),
        "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  // clang-format on
}

/// The same for floats of which A is in registers: a[0 .. 3] of lane 4 g + t of warp w are its elements at rows 16 w + g,
/// + 8, + 0, + 8 and k = t, t, t + 4, t + 4. N is 128, 192 or 256.
template <int N>
__device__ __forceinline__ void multiply_rows(std::uint32_t (&d)[N / 2], const std::uint32_t* a, std::uint64_t b,
                                              bool add) {
  // clang-format off
  if constexpr (N == 128)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
      "}, {%64, %65, %66, %67}, %68, p, 1, 1; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
  else if constexpr (N == 192)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %101, 0; wgmma.mma_async.sync.aligned.m64n192k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95 "
      "}, {%96, %97, %98, %99}, %100, p, 1, 1; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]),
        "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]),
        "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]),
        "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]),
        "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
  else if constexpr (N == 256)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %133, 0; wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127 "
      "}, {%128, %129, %130, %131}, %132, p, 1, 1; }"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
        "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
        "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
        "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
        "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
        "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
        "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
        "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]),
        "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]),
        "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]),
        "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]),
        "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]),
        "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),
        "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111]),
        "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]),
        "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
  // clang-format on
}

#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop

#endif
