// SPDX-License-Identifier: Apache-2.0
//
// Distributions: what is made of random words.
//
//   random_bits<T>{}            integers, every bit as likely 0 as 1
//   uniform<T>{low, high}       integers of [low, high], each as likely as each; floating-point numbers of [low, high)
//   normal<T>{mean, deviation}  the bell curve
//   d(generator, i)             value number i of distribution d: the same wherever it is asked for
//
// One block of four words makes four values, or two of 8 bytes (`per_block`): value i is made of block i / per_block.
//
//   integers         the upper half of word * range (Lemire, "Fast random integer generation in an interval", 2019); a word that
//                    would make some values likelier than others is replaced by one of a block that belongs to this value alone
//   floating point   the upper 24 bits of a word (53 of two; half 11, bfloat16 8) times 2^-24: all values that the type has
//                    there at that distance. Then low + (high - low) * u, rounded once; what rounds to high becomes low
//   normal           Box and Muller, 1958: of two uniform numbers two normal ones, that of even number the sine's
//
// The same bits on every machine: logarithm, sine and cosine are series of our own, of fused multiply-adds, quotients and roots that
// IEEE 754 rounds alike everywhere, because those of libm and of CUDA differ in their last bits. So no option of a compiler for
// fast arithmetic changes them on a GPU; on a CPU -ffast-math might. normal<float> is within rounding of curand_normal4's numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/exact.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/random/philox.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// c0 + t (c1 + t (c2 + ...)).
template <class F>
PMPP_HOST_DEVICE F polynomial(F, double c) {
  return static_cast<F>(c);
}
template <class F, class... C>
PMPP_HOST_DEVICE F polynomial(F t, double c, C... more) {
  return fused(polynomial(t, more...), t, static_cast<F>(c));
}

/// What float and double are made of.
template <class F>
struct float_parts {
  static constexpr bool wide = sizeof(F) == 8;
  using word = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
  using integer = std::make_signed_t<word>;
  static constexpr int bits = 8 * sizeof(F), digits = std::numeric_limits<F>::digits;
  static constexpr word root_of_half = wide ? word(0x3fe6a09e667f3bcd) : word(0x3f3504f3);  ///< its representation
};

/// The natural logarithm of x, normal and positive: x = 2^e m with m = 1 + f around 1. Within 1 unit of the last place for float: a
/// polynomial of f, which divides nothing; within 2 for double: log m = 2 artanh s, by its series.
template <class F>
PMPP_HOST_DEVICE F logarithm(F x) {
  using parts = float_parts<F>;
  using word = typename parts::word;
  word bits;
  memcpy(&bits, &x, sizeof x);
  const auto e = static_cast<typename parts::integer>(bits - parts::root_of_half) >> (parts::digits - 1);
  bits -= static_cast<word>(e) << (parts::digits - 1);
  F m;
  memcpy(&m, &bits, sizeof m);
  const F f = m - 1, of_two = static_cast<F>(0.69314718055994530942);
  if constexpr (parts::wide) {
    const F s = quotient(f, m + 1), t = s * s, twice = 2 * s;
    const F series =
        polynomial(t, 1. / 3, 1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21);
    return fused(static_cast<F>(e), of_two, fused(twice, t * series, twice));
  } else {
    // (log(1 + f) - f) / f^2, its relative error least: 4e-9 of the logarithm.
    const F rest = polynomial(f, -0.49999988079071045, 0.33333325386047363, -0.25001582503318787, 0.2000197470188141,
                              -0.16609081625938416, 0.14181813597679138, -0.13242985308170319, 0.12904493510723114,
                              -0.07621856033802032);
    return fused(static_cast<F>(e), of_two, fused(f * f, rest, f));
  }
}

/// x with the bits of a sign turned.
template <class F>
PMPP_HOST_DEVICE F with_sign(F x, typename float_parts<F>::word sign) {
  typename float_parts<F>::word bits;
  memcpy(&bits, &x, sizeof x);
  bits ^= sign;
  memcpy(&x, &bits, sizeof x);
  return x;
}

template <class F>
struct sine_and_cosine {
  F sine, cosine;
};
/// Of `turn` / 2^32 of a circle (2^64 for double): the nearest quarter, and the rest by Taylor's series.
template <class F>
PMPP_HOST_DEVICE sine_and_cosine<F> on_circle(typename float_parts<F>::word turn) {
  using parts = float_parts<F>;
  using word = typename parts::word;
  // The upper two bits of `place` say which quarter is nearest.
  const word place = turn + (word(1) << (parts::bits - 3)), sign = word(1) << (parts::bits - 1);
  const auto rest = static_cast<typename parts::integer>(turn << 2);
  const F a = static_cast<F>(rest) * static_cast<F>(6.283185307179586477 / (parts::wide ? 0x1p66 : 0x1p34)), t = a * a;
  F s, c;
  if constexpr (parts::wide) {
    s = polynomial(t, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000);
    c = polynomial(t, 1., -1. / 2, 1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200,
                   1. / 20922789888000);
  } else {
    s = polynomial(t, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880);
    c = polynomial(t, 1., -1. / 2, 1. / 24, -1. / 720, 1. / 40320);
  }
  s = fused(a, t * s, a);
  const bool odd = (place & sign >> 1) != 0;
  return {with_sign(odd ? c : s, place & sign), with_sign(odd ? s : c, (place + (sign >> 1)) & sign)};
}

/// Two independent normal numbers of two words.
template <class F>
PMPP_HOST_DEVICE sine_and_cosine<F> box_muller(typename float_parts<F>::word distance,
                                               typename float_parts<F>::word turn) {
  constexpr F unit = static_cast<F>(float_parts<F>::wide ? 0x1p-64 : 0x1p-32);
  const F u = fused(static_cast<F>(distance), unit, unit / 2);  // in (0, 1]
  const F square = -2 * logarithm(u);
  const F r = ordinary_root(square < F(0x1p-100) ? F(0x1p-100) : square);  // of u = 1 the square is 0
  const auto at = on_circle<F>(turn);
  return {r * at.sine, r * at.cosine};
}

PMPP_HOST_DEVICE inline std::uint64_t upper_product(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t(a) * b >> 32;
}
PMPP_HOST_DEVICE inline std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(a) * b >> 64);
#endif
}

/// What makes a distribution of a function of_block(generator, block), which returns the values of one block.
template <class Self, class T, int PerBlock>
struct distribution {
  using value_type = T;
  static constexpr int per_block = PerBlock;

  /// Value number i.
  PMPP_HOST_DEVICE T operator()(const philox& generator, std::uint64_t i) const {
    const auto all = static_cast<const Self&>(*this).of_block(generator, i / PerBlock);
    T x = all.item[0];
    for (int k = 1; k < PerBlock; ++k)
      if (i % PerBlock == static_cast<std::uint64_t>(k)) x = all.item[k];
    return x;
  }
};
/// Word k of a block, where it is cut into words of 4 or 8 bytes.
template <class Word>
PMPP_HOST_DEVICE Word word_of(const philox::words& w, int k) {
  if constexpr (sizeof(Word) == 8)
    return std::uint64_t(w.item[2 * k + 1]) << 32 | w.item[2 * k];
  else
    return w.item[k];
}
template <class T>
inline constexpr int values_of_block = sizeof(T) == 8 ? 2 : 4;
template <class T>
inline constexpr bool is_random_number = (std::is_integral_v<T> && sizeof(T) <= 8) || std::is_same_v<T, float> ||
                                         std::is_same_v<T, double> || is_two_byte_float<T>;

}  // namespace detail

/// Random bits as integers of type T, of up to 8 bytes.
template <class T = std::uint32_t>
struct random_bits : detail::distribution<random_bits<T>, T, detail::values_of_block<T>> {
  static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "pmpp: random_bits are integers of at most 8 bytes");

  PMPP_HOST_DEVICE auto of_block(const philox& generator, std::uint64_t block) const {
    constexpr int count = detail::values_of_block<T>;
    using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const philox::words w = generator.block(block);
    packed<T, count> x;
    for (int k = 0; k < count; ++k)
      if constexpr (std::is_same_v<T, bool>)
        x.item[k] = (w.item[k] & 1) != 0;
      else
        x.item[k] = static_cast<T>(detail::word_of<word>(w, k));
    return x;
  }
};

/// Integers of [low, high]; floating-point numbers (half and bfloat16 too) of [low, high). \pre low <= high; high - low is finite.
/// i below 2^55 for integers.
template <class T = float>
struct uniform : detail::distribution<uniform<T>, T, detail::values_of_block<T>> {
  static_assert(detail::is_random_number<T>,
                "pmpp: uniform is there for integers, float, double and types of two bytes like half");

  T low, high;

  /// All integers; [0, 1).
  PMPP_HOST_DEVICE constexpr uniform() : low(T(0)), high(T(1)) {
    if constexpr (std::is_integral_v<T>) {
      low = identity_of<maximum, T>;
      high = identity_of<minimum, T>;
    }
  }
  PMPP_HOST_DEVICE constexpr uniform(T from, T to) : low(from), high(to) {}

  PMPP_HOST_DEVICE auto of_block(const philox& generator, std::uint64_t block) const {
    constexpr int count = detail::values_of_block<T>;
    const philox::words w = generator.block(block);
    packed<T, count> x;
    for (int k = 0; k < count; ++k) {
      if constexpr (std::is_integral_v<T>)
        x.item[k] = integer(generator, block * count + static_cast<std::uint64_t>(k), w, k);
      else
        x.item[k] = real(w, k);
    }
    return x;
  }

private:
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

  PMPP_HOST_DEVICE T real(const philox::words& w, int k) const {
    int digits = std::numeric_limits<F>::digits;
    if constexpr (sizeof(T) == 2) digits = static_cast<F>(static_cast<T>(1 + 0x1p-10f)) > 1 ? 11 : 8;  // half; bfloat16
    const F unit = F(1) / static_cast<F>(word(1) << digits);
    const F u = static_cast<F>(detail::word_of<word>(w, k) >> (8 * int(sizeof(word)) - digits)) * unit;
    const F from = static_cast<F>(low), to = static_cast<F>(high);
    const T x = static_cast<T>(detail::fused(u, to - from, from));
    return static_cast<F>(x) < to ? x : low;
  }
  PMPP_HOST_DEVICE T integer(const philox& generator, std::uint64_t i, const philox::words& w, int k) const {
    const word range = static_cast<word>(static_cast<word>(high) - static_cast<word>(low)) + 1;  // 0: all words
    word x = detail::word_of<word>(w, k);
    if (range != 0) {
      // Words whose lower product lies below 2^bits modulo range make some values likelier: they are drawn again.
      if (static_cast<word>(x * range) < range) {
        const word uneven = static_cast<word>(word(0) - range) % range;
        for (std::uint64_t again = 0; static_cast<word>(x * range) < uneven && again < 256; ++again)
          x = detail::word_of<word>(generator.block(std::uint64_t(1) << 63 | again << 55 | i), 0);
      }
      x = static_cast<word>(detail::upper_product(x, range));
    }
    return static_cast<T>(static_cast<word>(low) + x);
  }
};
template <class T>
uniform(T, T) -> uniform<T>;

/// Normal numbers; half and bfloat16 are rounded floats. At most 6.8 deviations from the mean, of double 9.5. \pre deviation >= 0
template <class T = float>
struct normal : detail::distribution<normal<T>, T, detail::values_of_block<T>> {
  static_assert(detail::is_random_number<T> && !std::is_integral_v<T>,
                "pmpp: normal is there for float, double and types of two bytes like half");

  T mean, deviation;

  PMPP_HOST_DEVICE constexpr normal() : mean(T(0)), deviation(T(1)) {}
  PMPP_HOST_DEVICE constexpr normal(T centre, T standard_deviation) : mean(centre), deviation(standard_deviation) {}

  PMPP_HOST_DEVICE auto of_block(const philox& generator, std::uint64_t block) const {
    constexpr int count = detail::values_of_block<T>;
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using word = typename detail::float_parts<F>::word;
    const philox::words w = generator.block(block);
    const F m = static_cast<F>(mean), d = static_cast<F>(deviation);
    packed<T, count> x;
    for (int k = 0; k < count; k += 2) {
      const auto z = detail::box_muller<F>(detail::word_of<word>(w, k), detail::word_of<word>(w, k + 1));
      x.item[k] = static_cast<T>(detail::fused(d, z.sine, m));
      x.item[k + 1] = static_cast<T>(detail::fused(d, z.cosine, m));
    }
    return x;
  }
};
template <class T>
normal(T, T) -> normal<T>;

}  // namespace pmpp::inline PMPP_BACKEND
