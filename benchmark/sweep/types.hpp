// SPDX-License-Identifier: Apache-2.0
//
// Element types and operators of the sweep beyond numbers: structures whose operators the library knows nothing of.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_fp16.h>

#include <pmpp/core/config.hpp>

namespace sweep {

using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Several 32-bit words that add up side by side.
template <int Words>
struct words {
  u32 word[Words];
  PMPP_HOST_DEVICE static words of(u64 key, i64 i) {
    words w{};
    for (int k = 0; k < Words; ++k) w.word[k] = k == 0 ? u32(key >> 32) : k == 1 ? u32(i) : u32(key) + u32(k);
    return w;
  }
};
struct add_words {
  template <int N>
  PMPP_HOST_DEVICE words<N> operator()(const words<N>& a, const words<N>& b) const {
    words<N> sum;
    for (int k = 0; k < N; ++k) sum.word[k] = a.word[k] + b.word[k];
    return sum;
  }
};
/// By the first word alone: equals are told apart by the others.
struct by_first_word {
  template <int N>
  PMPP_HOST_DEVICE bool operator()(const words<N>& a, const words<N>& b) const {
    return a.word[0] < b.word[0];
  }
};

/// Mean, variance and count in 16 bytes, joined as running moments are, but exactly: an operator that costs something.
struct moments {
  u32 count, least, most, sum;
  PMPP_HOST_DEVICE static moments of(u64 key, i64) { return {1, u32(key >> 32), u32(key >> 32), u32(key)}; }
};
struct join_moments {
  PMPP_HOST_DEVICE moments operator()(const moments& a, const moments& b) const {
    return {a.count + b.count, a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most, a.sum + b.sum};
  }
};

/// The map x -> a x + b modulo 2^64, 16 bytes; the operator applies the left one first, and is not commutative.
struct affine {
  u64 a, b;
  PMPP_HOST_DEVICE static affine of(u64 key, i64) { return {key | 1u, key >> 7}; }
};
struct compose {
  PMPP_HOST_DEVICE affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};

/// pmpp::plus under a name that no library knows, and with one type of result.
template <class A>
struct add_as {
  PMPP_HOST_DEVICE A operator()(const A& a, const A& b) const { return a + b; }
};
struct xor_bits {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& a, const T& b) const {
    return a ^ b;
  }
};
/// As less, under a name that no library knows.
struct precedes {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, __half>;

/// The element of type T that stands for a 64-bit key: rising keys give rising elements.
template <class T>
PMPP_HOST_DEVICE T element_of(u64 key, [[maybe_unused]] i64 i) {
  if constexpr (requires { T::of(key, i); })
    return T::of(key, i);
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half(float(key) * 0x1p-63f - 1);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<double>(key) * 0x1p-63 - 1);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(static_cast<i64>(key ^ (u64(1) << 63)) >> (64 - 8 * sizeof(T)));
  else
    return static_cast<T>(key >> (64 - 8 * sizeof(T)));
}

}  // namespace sweep
