// SPDX-License-Identifier: Apache-2.0
//
// Complex doubles for tensor cores, which multiply real ones. The parts of a number of A are two numbers of k, so that a product of
// 16 x 8 x 8 doubles is one part of 16 x 8 x 4 complex numbers:
//
//   (ar ai) | br | = cr,   (ar ai) | bi | = ci
//           |-bi |                 | br |
//
// A lane has numbers as the lanes of simt/mma.hpp have doubles, both parts of each, and takes them from memory as they lie.
// (Van Zee and Smith, 2017, make a matrix of real numbers of B so, which they call 1m.)
#pragma once

#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/simt/mma.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

template <class T>
inline constexpr bool is_complex_double = false;
template <complex_number T>
inline constexpr bool is_complex_double<T> = std::is_same_v<typename T::value_type, double>;

template <complex_number T>
requires(is_complex_double<T>) inline constexpr simt::mma_type mma_type_of<T> = simt::mma_type::float64;

/// A complex double as a lane has it.
struct alignas(16) complex_parts {
  double real, imag;

  PMPP_HOST_DEVICE complex_parts& operator+=(const complex_parts& x) { return real += x.real, imag += x.imag, *this; }
  template <class T>
  requires(is_complex_double<T>) PMPP_HOST_DEVICE explicit operator T() const { return T(real, imag); }
};

/// The parts of a lane, as simt::mma, of elements of type T.
template <simt::mma_type Type, class T>
struct mma_of : simt::mma<Type> {};
template <simt::mma_type Type, complex_number T>
struct mma_of<Type, T> {
  static constexpr bool is_double = true;
  using word = complex_parts;
  using sum = complex_parts;
  static constexpr int items = 1, words = 1, k = 4;
};

/// c += A B for the warp. All lanes call.
template <simt::mma_type Type, class Block, class Sum, class Word, int Words>
PMPP_HOST_DEVICE void multiply_small(Block& block, Sum (&c)[4], const Word (&a)[2 * Words], const Word (&b)[Words]) {
  if constexpr (std::is_same_v<Word, complex_parts>) {
    const double parts[4] = {a[0].real, a[1].real, a[0].imag, a[1].imag};
    const double to_real[2] = {b[0].real, -b[0].imag}, to_imag[2] = {b[0].imag, b[0].real};
    double real[4] = {c[0].real, c[1].real, c[2].real, c[3].real},
           imag[4] = {c[0].imag, c[1].imag, c[2].imag, c[3].imag};
    simt::multiply_add<Type>(block, real, parts, to_real);
    simt::multiply_add<Type>(block, imag, parts, to_imag);
    for (int e = 0; e < 4; ++e) c[e] = {real[e], imag[e]};
  } else {
    simt::multiply_add<Type>(block, c, a, b);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
