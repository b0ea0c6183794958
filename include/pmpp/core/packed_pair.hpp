// SPDX-License-Identifier: Apache-2.0
//
// CUDA's __half2 and __nv_bfloat162 as elements.
//
//   device_buffer<packed_pair<__half2>> x{n};           of its own
//   reduce(device, span(as_packed(p), n))               what a program has already: __half2* p
//
// Their copy constructors are written out, so that C++ does not call them trivially copyable and no algorithm or buffer may move
// their bytes. A packed_pair has the same bytes, converts to and from the pair, and adds, multiplies and compares number by number.
#pragma once

#include <cstdint>
#include <cstring>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

template <class Pair>
struct packed_pair {
  static_assert(sizeof(Pair) == 4, "pmpp::packed_pair: of __half2 or __nv_bfloat162");
  std::uint32_t bits = 0;

  packed_pair() = default;
  PMPP_HOST_DEVICE packed_pair(const Pair& p) {
    memcpy(&bits, reinterpret_cast<const unsigned char*>(__builtin_addressof(p)), sizeof bits);
  }
  PMPP_HOST_DEVICE operator Pair() const {
    Pair p;
    memcpy(reinterpret_cast<unsigned char*>(__builtin_addressof(p)), &bits, sizeof bits);
    return p;
  }

  // clang-format off
  PMPP_HOST_DEVICE friend packed_pair operator+(const packed_pair& a, const packed_pair& b) { return __hadd2(Pair(a), Pair(b)); }
  PMPP_HOST_DEVICE friend packed_pair operator-(const packed_pair& a, const packed_pair& b) { return __hsub2(Pair(a), Pair(b)); }
  PMPP_HOST_DEVICE friend packed_pair operator*(const packed_pair& a, const packed_pair& b) { return __hmul2(Pair(a), Pair(b)); }
  PMPP_HOST_DEVICE friend packed_pair operator/(const packed_pair& a, const packed_pair& b) { return __h2div(Pair(a), Pair(b)); }
  PMPP_HOST_DEVICE friend packed_pair operator-(const packed_pair& a) { return __hneg2(Pair(a)); }
  /// Whether both numbers are equal. There is no order: sorts take a comparator.
  PMPP_HOST_DEVICE friend bool operator==(const packed_pair& a, const packed_pair& b) { return __hbeq2(Pair(a), Pair(b)); }
  /// What minimum and maximum make of two: of each number. NaN loses.
  PMPP_HOST_DEVICE friend packed_pair minimum_of(const packed_pair& a, const packed_pair& b) { return __hmin2(Pair(a), Pair(b)); }
  PMPP_HOST_DEVICE friend packed_pair maximum_of(const packed_pair& a, const packed_pair& b) { return __hmax2(Pair(a), Pair(b)); }
  // clang-format on
};

/// The same pairs as elements.
template <class Pair>
PMPP_HOST_DEVICE packed_pair<Pair>* as_packed(Pair* p) {
  return reinterpret_cast<packed_pair<Pair>*>(p);
}
template <class Pair>
PMPP_HOST_DEVICE const packed_pair<Pair>* as_packed(const Pair* p) {
  return reinterpret_cast<const packed_pair<Pair>*>(p);
}

}  // namespace pmpp::inline PMPP_BACKEND
