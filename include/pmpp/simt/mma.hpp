// SPDX-License-Identifier: Apache-2.0
//
// Small matrix products that a warp works out at once, on the tensor cores of a GPU.
//
//   using mma = simt::mma<simt::mma_type::bfloat16>;
//   mma::sum c[4];                                     c += A B: A is 16 x k, B k x 8, C 16 x 8
//   simt::multiply_add<simt::mma_type::bfloat16>(block, c, a, b);
//
// Each lane holds a part of each matrix, in words of one or more elements with consecutive k. Lane 4 g + t has
//
//   a[2 w + h]   row g + 8 h of A, elements from k = (4 w + t) * items on
//   b[w]         column g of B, the same k
//   c[2 h + e]   row g + 8 h, column 2 t + e of C
//
// The same numbers of k may stand anywhere in a sum: who reads A and B alike may hand out k in any order.
// (PTX ISA, section on mma.sync, where the same parts are drawn.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>

#if PMPP_CUDA
struct __half;  // of headers that only those include who use it
struct __nv_bfloat16;
#endif

namespace pmpp::inline PMPP_BACKEND::simt {

/// What the elements of A and B are. Sums are double, float, or int.
enum class mma_type {
  none,      ///< nothing that tensor cores multiply
  float64,   ///< double
  tf32,      ///< float, of which the upper 19 bits count
  float16,   ///< half
  bfloat16,  ///< the upper half of a float
  int8,
  uint8
};

/// The parts of a lane.
template <mma_type Type>
struct mma {
  static constexpr bool is_double = Type == mma_type::float64,
                        is_integer = Type == mma_type::int8 || Type == mma_type::uint8;
  using word = std::conditional_t<is_double, double, std::uint32_t>;
  using sum = std::conditional_t<is_double, double, std::conditional_t<is_integer, std::int32_t, float>>;
  static constexpr int items = is_integer                                                ? 4
                               : Type == mma_type::float16 || Type == mma_type::bfloat16 ? 2
                                                                                         : 1;  ///< of a word
  static constexpr int words = 2;  ///< of 8 rows of A, or of B
  static constexpr int k = 4 * words * items;
};

namespace detail {

/// Element `e` of a word as a number that can be multiplied.
template <mma_type Type>
PMPP_HOST_DEVICE auto mma_element(typename mma<Type>::word word, int e) {
  if constexpr (Type == mma_type::float64) {
    return word;
  } else if constexpr (Type == mma_type::int8) {
    return static_cast<std::int32_t>(static_cast<std::int8_t>(word >> (8 * e)));
  } else if constexpr (Type == mma_type::uint8) {
    return static_cast<std::int32_t>(static_cast<std::uint8_t>(word >> (8 * e)));
  } else if constexpr (Type == mma_type::tf32) {
    return __builtin_bit_cast(float, word & 0xffffe000u);
  } else if constexpr (Type == mma_type::bfloat16) {
    return __builtin_bit_cast(float, (word >> (16 * e)) << 16);
  } else {
    const std::uint32_t bits = word >> (16 * e) & 0xffff, exponent = bits >> 10 & 31;
    const std::uint32_t sign = (bits & 0x8000) << 16, fraction = (bits & 0x3ff) << 13;
    if (exponent == 0) {  // fraction / 2^24
      const float small = static_cast<float>(bits & 0x3ff) / 16777216.0f;
      return sign != 0 ? -small : small;
    }
    return __builtin_bit_cast(float, sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction);
  }
}

}  // namespace detail

/// The bits of a float, rounded to those that a product of type tf32 takes into account.
PMPP_HOST_DEVICE inline std::uint32_t round_to_tf32(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  std::uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__builtin_bit_cast(float, bits)));
  return rounded;
#else
  const bool finite = (bits & 0x7f800000) != 0x7f800000;
  return finite ? (bits + 0x1000) & 0xffffe000u : bits;
#endif
}

/// c += A B for the warp. All lanes call.
template <mma_type Type, class Block>
PMPP_HOST_DEVICE void multiply_add([[maybe_unused]] Block& block, typename mma<Type>::sum (&c)[4],
                                   const typename mma<Type>::word (&a)[2 * mma<Type>::words],
                                   const typename mma<Type>::word (&b)[mma<Type>::words]) {
#if defined(__CUDA_ARCH__)
  if constexpr (Type == mma_type::float64) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int w = 0; w < 2; ++w) {
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[0]), "+d"(c[1])
          : "d"(a[2 * w]), "d"(b[w]));
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[2]), "+d"(c[3])
          : "d"(a[2 * w + 1]), "d"(b[w]));
    }
#endif
  } else if constexpr (Type == mma_type::tf32) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (Type == mma_type::float16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (Type == mma_type::bfloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (Type == mma_type::int8) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  // Each lane asks the four that hold a row of A, or a column of B, for their parts.
  constexpr int words = mma<Type>::words;
  struct parts {
    typename mma<Type>::word a[2 * words], b[words];
  };
  parts own;
  for (int w = 0; w < 2 * words; ++w) own.a[w] = a[w];
  for (int w = 0; w < words; ++w) own.b[w] = b[w];
  const int lane = block.lane(), g = lane / 4, t = lane % 4;
  for (int q = 0; q < 4; ++q) {
    const parts row = block.shuffle(own, 4 * g + q);
    const parts column[2] = {block.shuffle(own, 8 * t + q), block.shuffle(own, 8 * t + 4 + q)};
    for (int w = 0; w < words; ++w)
      for (int i = 0; i < mma<Type>::items; ++i)
        for (int e = 0; e < 2; ++e) {
          const auto factor = detail::mma_element<Type>(column[e].b[w], i);
          c[e] += detail::mma_element<Type>(row.a[2 * w], i) * factor;
          c[2 + e] += detail::mma_element<Type>(row.a[2 * w + 1], i) * factor;
        }
  }
#endif
}

/// Reads four matrices of 8 rows of 16 bytes from shared memory: lane 8 j + r says where row r of matrix j lies, at a
/// multiple of 16. Lane 4 g + t gets, as word j, four bytes of matrix j: those from 4 t on in row g; or, if Transposed,
/// the two-byte elements (2 t, g) and (2 t + 1, g). All lanes call.
template <bool Transposed, class Block>
PMPP_HOST_DEVICE void load_matrices([[maybe_unused]] Block& block, std::uint32_t (&words)[4], const void* row) {
#if defined(__CUDA_ARCH__)
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from)
                 : "memory");
#else
  const int g = block.lane() / 4, t = block.lane() % 4;
  for (int j = 0; j < 4; ++j)
    if constexpr (Transposed) {
      const auto* even = static_cast<const std::uint16_t*>(block.shuffle(row, 8 * j + 2 * t));
      const auto* odd = static_cast<const std::uint16_t*>(block.shuffle(row, 8 * j + 2 * t + 1));
      words[j] = even[g] | static_cast<std::uint32_t>(odd[g]) << 16;
    } else {
      words[j] = static_cast<const std::uint32_t*>(block.shuffle(row, 8 * j + g))[t];
    }
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

#if PMPP_CUDA
using half_type = ::__half;
using bfloat16_type = ::__nv_bfloat16;
#elif defined(__FLT16_MAX__)
using half_type = _Float16;
struct bfloat16_type;
#else
struct half_type;
struct bfloat16_type;
#endif

/// What tensor cores may take elements for.
template <class T>
inline constexpr simt::mma_type mma_type_of = simt::mma_type::none;
template <>
inline constexpr simt::mma_type mma_type_of<double> = simt::mma_type::float64;
template <>
inline constexpr simt::mma_type mma_type_of<std::int8_t> = simt::mma_type::int8;
template <>
inline constexpr simt::mma_type mma_type_of<std::uint8_t> = simt::mma_type::uint8;
template <>
inline constexpr simt::mma_type mma_type_of<half_type> = simt::mma_type::float16;
template <>
inline constexpr simt::mma_type mma_type_of<bfloat16_type> = simt::mma_type::bfloat16;

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
