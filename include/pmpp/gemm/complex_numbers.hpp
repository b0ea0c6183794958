// SPDX-License-Identifier: Apache-2.0
//
// Complex doubles for tensor cores, which multiply real ones. A number of A is four real ones, and the parts of a number of B or C stand
// below each other, so that a product of 16 x 8 x 8 doubles is one of 8 x 8 x 4 complex numbers:
//
//   | ar -ai |  | br |     | cr |
//   | ai  ar |  | bi |  =  | ci |
//
// A lane has numbers as the lanes of simt/mma.hpp have doubles, and takes them from memory as they lie: the parts of a number are
// neighbours among the registers of a product, so that none but -ai and the other ar are made.
// (Van Zee and Smith, 2017, make a matrix of real numbers of A so, which they call 1m.)
#pragma once

#include <cstdint>
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

/// -x by its sign bit: subtractions of doubles would wait where products do.
PMPP_HOST_DEVICE inline double negated(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  bits ^= std::uint64_t(1) << 63;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

/// c += A B for the warp. All lanes call.
template <simt::mma_type Type, class Block, class Sum, class Word, int Words>
PMPP_HOST_DEVICE void multiply_small(Block& block, Sum (&c)[4], const Word (&a)[2 * Words], const Word (&b)[Words]) {
  if constexpr (std::is_same_v<Word, complex_parts>) {
    const double factor[2] = {b[0].real, b[0].imag};
    for (int h = 0; h < 2; ++h) {  // rows 8 apart
      const double parts[4] = {a[h].real, a[h].imag, detail::negated(a[h].imag), a[h].real};
      complex_parts *const left = c + 2 * h, *const right = left + 1;
      double sum[4] = {left->real, right->real, left->imag, right->imag};
      simt::multiply_add<Type>(block, sum, parts, factor);
      *left = {sum[0], sum[2]}, *right = {sum[1], sum[3]};
    }
  } else {
    simt::multiply_add<Type>(block, c, a, b);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
