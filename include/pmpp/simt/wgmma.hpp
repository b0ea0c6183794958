// SPDX-License-Identifier: Apache-2.0
//
// What sm_90a (H100, H200) has for matrix products beyond other GPUs: a unit that copies tiles, barriers that count
// bytes, and products of whole tiles in shared memory. For CUDA only; the emulator has none of it.
//
//   on the host
//   describe_tiles(map, ...)              what the copy unit has to know of a matrix: a "tensor map"
//   wgmma_probe                           a kernel that tells for what the program was compiled
//
//   on the device
//   transaction_barrier                   an "mbarrier": a phase ends when all have arrived, and all expected bytes too
//   copy_tile(to, map, done, x, y, z)     starts the copy of a tile; zeros where it leaves the matrix. One thread calls
//   keep_registers<N>(), take_registers<N>()     a warpgroup, four warps, leaves registers to the others of its block
//   operand_in_shared(...)                says how an operand of a product lies in shared memory
//   multiply_rows<T, ..., N>(d, a, b, add)  d = A B, or d += A B, for 64 rows by a warpgroup. Starts only:
//   products_begin(), products_end(), products_wait<N>()     around a batch; all batches but the newest N are done
//   products_settle(registers)            what a batch has read or written may be used otherwise, after the wait
//
// Code for sm_90a has to be asked for by that name (nvcc -arch=sm_90a, CMAKE_CUDA_ARCHITECTURES=90a): sm_90 is not enough.
// Elsewhere the second part does not exist.
// (PTX ISA: mbarrier, cp.async.bulk.tensor, setmaxnreg, wgmma. CUDA Driver API: tensor maps.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)
#include <cuda.h>

#include <cstdint>
#include <type_traits>

#include <pmpp/core/error.hpp>

struct __half;
struct __nv_bfloat16;

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::simt {

/// What the copy unit has to know of a matrix. A kernel gets it among its arguments, by value.
using tile_map = CUtensorMap;

/// A kernel that is never launched: what CUDA says of it tells whether it was compiled for sm_90a, as it has shared memory
/// only then.
struct wgmma_probe {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block&) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    __shared__ volatile int mark;
    mark = 1;
#endif
  }
};

/// Describes `batch` matrices of `rows` rows of `row` elements for copies of box_rows x 128 bytes: the rows of a tile
/// follow each other in shared memory, and their 16-byte words are exchanged within 8 rows, as products want them.
/// Strides in elements. False if the copy unit cannot: it wants multiples of 16 bytes.
template <class T>
bool describe_tiles(tile_map& map, const T* data, std::int64_t row, std::int64_t rows, std::int64_t stride,
                    std::int64_t batch, std::int64_t batch_stride, int box_rows) {
  using encode_function = decltype(&cuTensorMapEncodeTiled);
  static const encode_function encode = [] {  // of the driver, which programs do not link
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status),
          "cudaGetDriverEntryPointByVersion");
    return status == cudaDriverEntryPointSuccess ? reinterpret_cast<encode_function>(found) : nullptr;
  }();
  constexpr std::int64_t items = 16 / sizeof(T), most = std::int64_t(1) << 31;
  if (encode == nullptr || (sizeof(T) != 2 && sizeof(T) != 4 && sizeof(T) != 8) ||
      reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || stride % items != 0 || batch_stride % items != 0 ||
      stride <= 0 || batch_stride < 0 || row >= most || rows >= most || batch >= most)
    return false;
  constexpr CUtensorMapDataType type = sizeof(T) == 2   ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                       : sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                        : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const bool one = batch == 1 || batch_stride == 0;
  const cuuint64_t size[3] = {cuuint64_t(row), cuuint64_t(rows), cuuint64_t(one ? 1 : batch)};
  const cuuint64_t strides[2] = {stride * sizeof(T), one ? 16 : batch_stride * sizeof(T)};
  const cuuint32_t box[3] = {128 / sizeof(T), cuuint32_t(box_rows), 1}, steps[3] = {1, 1, 1};
  return encode(&map, type, 3, const_cast<std::remove_const_t<T>*>(data), size, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/// Counts arrivals, and bytes that the copy unit has written. A barrier is in an even phase, then in an odd one, ...
struct transaction_barrier {
  std::uint64_t word;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
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

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Makes initialised barriers known to the copy unit. One thread calls, before the block meets.
__device__ inline void barriers_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void copy_tile(void* to, const tile_map& map, transaction_barrier& done, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(std::uint32_t(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(done.address()), "r"(x), "r"(y), "r"(z)
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
__device__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
/// The same for more than it had: waits until others have left them.
template <int N>
__device__ void take_registers() {
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
template <class T, int N>
__device__ __forceinline__ void products_settle(T (&values)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    if constexpr (std::is_same_v<T, float>)
      asm volatile("" : "+f"(values[i])::"memory");
    else
      asm volatile("" : "+r"(values[i])::"memory");
}

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
template <class T, bool A, bool B> struct major_text { static constexpr char bits[] = {',', '0' + A, ',', '0' + B, 0}; };
template <> struct major_text<float, false, false> { static constexpr char bits[] = ""; };  // there is no choice
// clang-format on

}  // namespace detail

/// d = A B, or d += A B where `add`, of 64 rows of A and N columns of B, 32 bytes of k deep: for a warpgroup. A and B are
/// of type T (floats count with their upper 19 bits) and along k in shared memory, or along m (n) as the flags say.
/// Lane 4 g + t of warp w holds in d[4 j + 2 h + e] the element at row 16 w + g + 8 h, column 8 j + 2 t + e.
template <class T, bool AlongMA, bool AlongNB, int N>
__device__ __forceinline__ void multiply_rows(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) {
  using type = detail::product_text<T>;
  using majors = detail::major_text<T, AlongMA, AlongNB>;
  // clang-format off
  if constexpr (N == 64)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64%35 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
      "}, %32, %33, p, 1, 1%36; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  else if constexpr (N == 128)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128%67 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
      "}, %64, %65, p, 1, 1%68; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  else if constexpr (N == 192)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %98, 0; wgmma.mma_async.sync.aligned.m64n192%99 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95 "
      "}, %96, %97, p, 1, 1%100; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
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
      "}, %128, %129, p, 1, 1%132; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits));
  // clang-format on
}

/// The same for floats of which A is in registers: a[0 .. 3] of lane 4 g + t of warp w are its elements at rows 16 w + g,
/// + 8, + 0, + 8 and k = t, t, t + 4, t + 4.
__device__ __forceinline__ void multiply_rows(float (&d)[128], const std::uint32_t* a, std::uint64_t b, bool add) {
  // clang-format off
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
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
  // clang-format on
}

#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop

#endif
