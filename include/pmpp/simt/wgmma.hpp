// SPDX-License-Identifier: Apache-2.0
//
// Products of whole tiles in shared memory, by a warpgroup (four warps) of sm_90a. For CUDA only.
//
//   operand_in_shared(...)                says how an operand of a product lies in shared memory, as simt/tensor_copy.hpp leaves it
//   multiply_rows<T, ..., N>(d, a, b, add)  d = A B, or d += A B, for 64 rows by a warpgroup; A in registers or not. Starts only:
//   products_begin(), products_end(), products_wait<N>()     around a batch; all batches but the newest N are done
//   fence_accumulators(registers)         what a batch has read or written may be used otherwise, after the wait
//   release_registers<N>(), acquire_registers<N>()     a warpgroup leaves registers to the others of its block
//   warpgroup_sync(group)                 a barrier of one warpgroup
//
// (PTX ISA: wgmma, setmaxnreg.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)
#include <cstdint>

struct __half;
struct __nv_bfloat16;

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::simt {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)

/// Waits for all threads of a warpgroup; `group` says which, below 15.
__device__ inline void warpgroup_sync(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

/// The same of several warpgroups, of so many threads together.
__device__ inline void warpgroups_sync(int group, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(threads) : "memory");
}

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

/// The same `bytes` further on, a multiple of 16: the address is in the lower bits, and never leaves them.
__device__ inline std::uint64_t operand_after(std::uint64_t operand, std::uint32_t bytes) {
  return (operand & ~std::uint64_t(0xffffffff)) | (std::uint32_t(operand) + bytes / 16);
}

namespace detail {

// clang-format off
template <class T> struct product_text;  // the part of the instruction's name that the type decides
template <> struct product_text<__half> { static constexpr char type[] = "k16.f32.f16.f16"; };
template <> struct product_text<__nv_bfloat16> { static constexpr char type[] = "k16.f32.bf16.bf16"; };
template <> struct product_text<std::uint16_t> : product_text<__nv_bfloat16> {};  // the bits of one
template <> struct product_text<float> { static constexpr char type[] = "k8.f32.tf32.tf32"; };
template <> struct product_text<std::int8_t> { static constexpr char type[] = "k32.s32.s8.s8"; };
template <> struct product_text<std::uint8_t> { static constexpr char type[] = "k32.s32.u8.u8"; };
template <class T, bool A, bool B> struct major_text { static constexpr char bits[] = {',', '1', ',', '1', ',', '0' + A, ',', '0' + B, 0}; };
template <class T, bool B> struct major_text_of_b { static constexpr char bits[] = {',', '1', ',', '1', ',', '0' + B, 0}; };
template <> struct major_text_of_b<float, false> { static constexpr char bits[] = ",1,1"; };
template <> struct major_text<float, false, false> { static constexpr char bits[] = ",1,1"; };  // there is no choice
template <> struct major_text<std::int8_t, false, false> { static constexpr char bits[] = ""; };
template <> struct major_text<std::uint8_t, false, false> { static constexpr char bits[] = ""; };
template <int N> struct number_text { static constexpr char digits[] = {'0' + N / 100, '0' + N / 10 % 10, '0' + N % 10, 0}; };
template <int N> requires(N < 100) struct number_text<N> { static constexpr char digits[] = {'0' + N / 10, '0' + N % 10, 0}; };
template <int N, int Columns> struct end_of { static constexpr char text[] = ""; };
template <int N> struct end_of<N, N> { static constexpr char text[] = "/*"; };
// clang-format on

/// The registers of N columns, and one that stands for those of all others.
template <int N>
struct registers_of {
  std::uint32_t (&own)[N / 2];
  mutable std::uint32_t none = 0;
  __device__ __forceinline__ std::uint32_t& operator[](int i) const { return i < N / 2 ? own[i] : none; }
};

}  // namespace detail

/// d = A B, or d += A B where `add`, of 64 rows of A and N columns of B, 32 bytes of k deep: for a warpgroup. A and B are
/// of type T (floats count with their upper 19 bits) and along k in shared memory, or along m (n) as the flags say. N: a multiple of 16.
/// Lane 4 g + t of warp w holds in d[4 j + 2 h + e] the element at row 16 w + g + 8 h, column 8 j + 2 t + e.
template <class T, bool AlongMA, bool AlongNB, int N>
__device__ __forceinline__ void multiply_rows(std::uint32_t (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) {
  static_assert(N % 16 == 0 && N <= 256);
  using type = detail::product_text<T>;
  using majors = detail::major_text<T, AlongMA, AlongNB>;
  const detail::registers_of<N> r{d};
  // clang-format off
  // Of the registers named here the instruction has N / 2: a comment begins after these.
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n%148%131 {"
      "%0, %1, %2, %3, %4, %5, %6, %7%133, %8, %9, %10, %11, %12, %13, %14, %15%134, "
      "%16, %17, %18, %19, %20, %21, %22, %23%135, %24, %25, %26, %27, %28, %29, %30, %31%136, "
      "%32, %33, %34, %35, %36, %37, %38, %39%137, %40, %41, %42, %43, %44, %45, %46, %47%138, "
      "%48, %49, %50, %51, %52, %53, %54, %55%139, %56, %57, %58, %59, %60, %61, %62, %63%140, "
      "%64, %65, %66, %67, %68, %69, %70, %71%141, %72, %73, %74, %75, %76, %77, %78, %79%142, "
      "%80, %81, %82, %83, %84, %85, %86, %87%143, %88, %89, %90, %91, %92, %93, %94, %95%144, "
      "%96, %97, %98, %99, %100, %101, %102, %103%145, %104, %105, %106, %107, %108, %109, %110, %111%146, "
      "%112, %113, %114, %115, %116, %117, %118, %119%147, %120, %121, %122, %123, %124, %125, %126, %127 /**/ "
      "}, %128, %129, p%132; }"
      : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]),
        "+r"(r[8]), "+r"(r[9]), "+r"(r[10]), "+r"(r[11]), "+r"(r[12]), "+r"(r[13]), "+r"(r[14]), "+r"(r[15]),
        "+r"(r[16]), "+r"(r[17]), "+r"(r[18]), "+r"(r[19]), "+r"(r[20]), "+r"(r[21]), "+r"(r[22]), "+r"(r[23]),
        "+r"(r[24]), "+r"(r[25]), "+r"(r[26]), "+r"(r[27]), "+r"(r[28]), "+r"(r[29]), "+r"(r[30]), "+r"(r[31]),
        "+r"(r[32]), "+r"(r[33]), "+r"(r[34]), "+r"(r[35]), "+r"(r[36]), "+r"(r[37]), "+r"(r[38]), "+r"(r[39]),
        "+r"(r[40]), "+r"(r[41]), "+r"(r[42]), "+r"(r[43]), "+r"(r[44]), "+r"(r[45]), "+r"(r[46]), "+r"(r[47]),
        "+r"(r[48]), "+r"(r[49]), "+r"(r[50]), "+r"(r[51]), "+r"(r[52]), "+r"(r[53]), "+r"(r[54]), "+r"(r[55]),
        "+r"(r[56]), "+r"(r[57]), "+r"(r[58]), "+r"(r[59]), "+r"(r[60]), "+r"(r[61]), "+r"(r[62]), "+r"(r[63]),
        "+r"(r[64]), "+r"(r[65]), "+r"(r[66]), "+r"(r[67]), "+r"(r[68]), "+r"(r[69]), "+r"(r[70]), "+r"(r[71]),
        "+r"(r[72]), "+r"(r[73]), "+r"(r[74]), "+r"(r[75]), "+r"(r[76]), "+r"(r[77]), "+r"(r[78]), "+r"(r[79]),
        "+r"(r[80]), "+r"(r[81]), "+r"(r[82]), "+r"(r[83]), "+r"(r[84]), "+r"(r[85]), "+r"(r[86]), "+r"(r[87]),
        "+r"(r[88]), "+r"(r[89]), "+r"(r[90]), "+r"(r[91]), "+r"(r[92]), "+r"(r[93]), "+r"(r[94]), "+r"(r[95]),
        "+r"(r[96]), "+r"(r[97]), "+r"(r[98]), "+r"(r[99]), "+r"(r[100]), "+r"(r[101]), "+r"(r[102]), "+r"(r[103]),
        "+r"(r[104]), "+r"(r[105]), "+r"(r[106]), "+r"(r[107]), "+r"(r[108]), "+r"(r[109]), "+r"(r[110]), "+r"(r[111]),
        "+r"(r[112]), "+r"(r[113]), "+r"(r[114]), "+r"(r[115]), "+r"(r[116]), "+r"(r[117]), "+r"(r[118]), "+r"(r[119]),
        "+r"(r[120]), "+r"(r[121]), "+r"(r[122]), "+r"(r[123]), "+r"(r[124]), "+r"(r[125]), "+r"(r[126]), "+r"(r[127])
      : "l"(a), "l"(b), "r"(int(add)), "C"(type::type), "C"(majors::bits),
        "C"(detail::end_of<N, 16>::text), "C"(detail::end_of<N, 32>::text), "C"(detail::end_of<N, 48>::text),
        "C"(detail::end_of<N, 64>::text), "C"(detail::end_of<N, 80>::text), "C"(detail::end_of<N, 96>::text),
        "C"(detail::end_of<N, 112>::text), "C"(detail::end_of<N, 128>::text), "C"(detail::end_of<N, 144>::text),
        "C"(detail::end_of<N, 160>::text), "C"(detail::end_of<N, 176>::text), "C"(detail::end_of<N, 192>::text),
        "C"(detail::end_of<N, 208>::text), "C"(detail::end_of<N, 224>::text), "C"(detail::end_of<N, 240>::text),
        "C"(detail::number_text<N>::digits));
  // clang-format on
}

/// The same where A is in registers. Of floats a[0 .. 3] of lane 4 g + t of warp w are its elements at rows 16 w + g, + 8, + 0, + 8
/// and k = t, t, t + 4, t + 4; of two-byte types two elements each, at these rows and k = 2 t, 2 t, 2 t + 8, 2 t + 8.
template <class T, bool AlongNB, int N>
__device__ __forceinline__ void multiply_rows(std::uint32_t (&d)[N / 2], const std::uint32_t* a, std::uint64_t b,
                                              bool add) {
  static_assert(N % 16 == 0 && N <= 256);
  using type = detail::product_text<T>;
  using major = detail::major_text_of_b<T, AlongNB>;
  const detail::registers_of<N> r{d};
  // clang-format off
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %133, 0; wgmma.mma_async.sync.aligned.m64n%151%134 {"
      "%0, %1, %2, %3, %4, %5, %6, %7%136, %8, %9, %10, %11, %12, %13, %14, %15%137, "
      "%16, %17, %18, %19, %20, %21, %22, %23%138, %24, %25, %26, %27, %28, %29, %30, %31%139, "
      "%32, %33, %34, %35, %36, %37, %38, %39%140, %40, %41, %42, %43, %44, %45, %46, %47%141, "
      "%48, %49, %50, %51, %52, %53, %54, %55%142, %56, %57, %58, %59, %60, %61, %62, %63%143, "
      "%64, %65, %66, %67, %68, %69, %70, %71%144, %72, %73, %74, %75, %76, %77, %78, %79%145, "
      "%80, %81, %82, %83, %84, %85, %86, %87%146, %88, %89, %90, %91, %92, %93, %94, %95%147, "
      "%96, %97, %98, %99, %100, %101, %102, %103%148, %104, %105, %106, %107, %108, %109, %110, %111%149, "
      "%112, %113, %114, %115, %116, %117, %118, %119%150, %120, %121, %122, %123, %124, %125, %126, %127 /**/ "
      "}, {%128, %129, %130, %131}, %132, p%135; }"
      : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]),
        "+r"(r[8]), "+r"(r[9]), "+r"(r[10]), "+r"(r[11]), "+r"(r[12]), "+r"(r[13]), "+r"(r[14]), "+r"(r[15]),
        "+r"(r[16]), "+r"(r[17]), "+r"(r[18]), "+r"(r[19]), "+r"(r[20]), "+r"(r[21]), "+r"(r[22]), "+r"(r[23]),
        "+r"(r[24]), "+r"(r[25]), "+r"(r[26]), "+r"(r[27]), "+r"(r[28]), "+r"(r[29]), "+r"(r[30]), "+r"(r[31]),
        "+r"(r[32]), "+r"(r[33]), "+r"(r[34]), "+r"(r[35]), "+r"(r[36]), "+r"(r[37]), "+r"(r[38]), "+r"(r[39]),
        "+r"(r[40]), "+r"(r[41]), "+r"(r[42]), "+r"(r[43]), "+r"(r[44]), "+r"(r[45]), "+r"(r[46]), "+r"(r[47]),
        "+r"(r[48]), "+r"(r[49]), "+r"(r[50]), "+r"(r[51]), "+r"(r[52]), "+r"(r[53]), "+r"(r[54]), "+r"(r[55]),
        "+r"(r[56]), "+r"(r[57]), "+r"(r[58]), "+r"(r[59]), "+r"(r[60]), "+r"(r[61]), "+r"(r[62]), "+r"(r[63]),
        "+r"(r[64]), "+r"(r[65]), "+r"(r[66]), "+r"(r[67]), "+r"(r[68]), "+r"(r[69]), "+r"(r[70]), "+r"(r[71]),
        "+r"(r[72]), "+r"(r[73]), "+r"(r[74]), "+r"(r[75]), "+r"(r[76]), "+r"(r[77]), "+r"(r[78]), "+r"(r[79]),
        "+r"(r[80]), "+r"(r[81]), "+r"(r[82]), "+r"(r[83]), "+r"(r[84]), "+r"(r[85]), "+r"(r[86]), "+r"(r[87]),
        "+r"(r[88]), "+r"(r[89]), "+r"(r[90]), "+r"(r[91]), "+r"(r[92]), "+r"(r[93]), "+r"(r[94]), "+r"(r[95]),
        "+r"(r[96]), "+r"(r[97]), "+r"(r[98]), "+r"(r[99]), "+r"(r[100]), "+r"(r[101]), "+r"(r[102]), "+r"(r[103]),
        "+r"(r[104]), "+r"(r[105]), "+r"(r[106]), "+r"(r[107]), "+r"(r[108]), "+r"(r[109]), "+r"(r[110]), "+r"(r[111]),
        "+r"(r[112]), "+r"(r[113]), "+r"(r[114]), "+r"(r[115]), "+r"(r[116]), "+r"(r[117]), "+r"(r[118]), "+r"(r[119]),
        "+r"(r[120]), "+r"(r[121]), "+r"(r[122]), "+r"(r[123]), "+r"(r[124]), "+r"(r[125]), "+r"(r[126]), "+r"(r[127])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)), "C"(type::type), "C"(major::bits),
        "C"(detail::end_of<N, 16>::text), "C"(detail::end_of<N, 32>::text), "C"(detail::end_of<N, 48>::text),
        "C"(detail::end_of<N, 64>::text), "C"(detail::end_of<N, 80>::text), "C"(detail::end_of<N, 96>::text),
        "C"(detail::end_of<N, 112>::text), "C"(detail::end_of<N, 128>::text), "C"(detail::end_of<N, 144>::text),
        "C"(detail::end_of<N, 160>::text), "C"(detail::end_of<N, 176>::text), "C"(detail::end_of<N, 192>::text),
        "C"(detail::end_of<N, 208>::text), "C"(detail::end_of<N, 224>::text), "C"(detail::end_of<N, 240>::text),
        "C"(detail::number_text<N>::digits));
  // clang-format on
}

#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop

#endif
