// SPDX-License-Identifier: Apache-2.0
//
// What all kernels of convolution.hpp have in common: the type of their sums, how elements become sums and sums elements, how
// a mask comes to a kernel, how results are written.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/pixel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class T>
inline constexpr bool needs_double = std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4);

/// The type that products are added up in.
template <class In, class Tap, class Out>
using sum_of = std::conditional_t<needs_double<In> || needs_double<Tap> || needs_double<Out>, double, float>;

template <class In, class TapY, class TapX, class Out>
using separable_sum_of = sum_of<In, std::conditional_t<needs_double<TapY>, TapY, TapX>, Out>;

template <class A, class T>
PMPP_HOST_DEVICE A converted(const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<A>(x);
  else
    return static_cast<A>(static_cast<float>(x));  // half, bfloat16
}

template <class T>
inline constexpr T least_of = std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T most_of = std::numeric_limits<T>::max();

/// A sum as an element of the output: integers are rounded to the nearest, halves away from zero, and saturate; NaN
/// becomes 0.
template <class Out, class A>
PMPP_HOST_DEVICE Out stored(A x) {
  if constexpr (std::is_unsigned_v<Out> && sizeof(Out) <= 2 && std::is_same_v<A, float>) {
    return static_cast<Out>(simt::rounded(x, most_of<Out>));
  } else if constexpr (std::is_integral_v<Out> && sizeof(Out) <= 2 && std::is_same_v<A, float>) {
    // Adding 1.5 * 2^23 leaves no bit after the point, and the integer in the low bits: no conversion, which is slow.
    constexpr float shift = 12582912;
    x = x == x ? min(max(x, float(least_of<Out>)), float(most_of<Out>)) : 0;
    const float even = (x + shift) - shift, rest = x - even;
    const float nearest = even + (rest == 0.5f && x > 0 ? 1.0f : rest == -0.5f && x < 0 ? -1.0f : 0.0f);
    return static_cast<Out>(__builtin_bit_cast(std::uint32_t, nearest + shift));
  } else if constexpr (std::is_integral_v<Out>) {
    constexpr Out low = least_of<Out>, high = most_of<Out>;
    if (x != x) return Out(0);
    if (x <= static_cast<A>(low)) return low;
    if (x >= static_cast<A>(high)) return high;
    const auto whole = static_cast<Out>(x);
    const A rest = x - static_cast<A>(whole);
    return static_cast<Out>(rest >= A(0.5) ? whole + 1 : rest <= A(-0.5) ? whole - 1 : whole);
  } else if constexpr (std::is_arithmetic_v<Out>) {
    return static_cast<Out>(x);
  } else {
    return static_cast<Out>(static_cast<float>(x));
  }
}

/// Four elements as sums. Bytes after the exponent of 2^23 are numbers, 2^23 too large: conversions are slow.
template <class A, class T>
PMPP_HOST_DEVICE four<A> widened(const four<T>& raw) {
  four<A> wide;
  if constexpr (std::is_same_v<T, std::uint8_t> && std::is_same_v<A, float>) {
    std::uint32_t word;
    __builtin_memcpy(&word, &raw, 4);
    for (unsigned j = 0; j < 4; ++j)
      wide.item[j] = __builtin_bit_cast(float, simt::pick_bytes(word, 0x4b000000u, 0x7440u + j)) - 8388608.0f;
  } else {
    for (int j = 0; j < 4; ++j) wide.item[j] = converted<A>(raw.item[j]);
  }
  return wide;
}

/// Adjacent bytes, whatever is in them, as words that move at once.
template <int Words>
struct [[gnu::may_alias]] alignas(4 * Words) words_of {
  std::uint32_t word[Words];
};
template <int Words, class T>
PMPP_HOST_DEVICE words_of<Words> load_words(const T* from) {
  return *reinterpret_cast<const words_of<Words>*>(from);
}
template <int Words, class T>
PMPP_HOST_DEVICE void store_words(T* to, const words_of<Words>& value) {
  *reinterpret_cast<words_of<Words>*>(to) = value;
}

/// A mask on its way to a kernel: up to `Capacity` taps in the kernel's parameters, row by row, or where they lie in
/// memory that the kernel sees.
template <class Tap, int Capacity>
struct mask_argument {
  volume<const Tap> taps;  ///< data is nullptr: they are in `value`
  Tap value[Capacity];

  template <class A>
  PMPP_HOST_DEVICE A tap(std::int64_t z, std::int64_t y, std::int64_t x) const {
    if (taps.data == nullptr) return converted<A>(value[(z * taps.height + y) * taps.width + x]);
    return converted<A>(*taps.at(z, y, x));
  }
};

/// Writes taps that came as parameters to memory.
template <class Tap, int Capacity>
struct place_taps_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const mask_argument<Tap, Capacity>& part, int count, Tap* to) const {
    for (int i = block.thread(); i < count; i += threads) to[i] = part.value[i];
  }
};

/// What there is to do.
template <class In, class Tap, class Out>
struct convolution {
  volume<const In> in;
  volume<const Tap> mask;
  volume<Out> out;
  border::rule outside;
};
template <class In, class TapY, class TapX, class Out>
struct separable_convolution {
  volume<const In> in;
  volume<const TapY> mask_y;  ///< of one row, as mask_x
  volume<const TapX> mask_x;
  volume<Out> out;
  border::rule outside;
};

/// What kernels read and write.
template <class In, class Out>
struct convolution_views {
  volume<const In> in;
  volume<Out> out;
  border::rule outside;
  bool in_fours, out_fours;  ///< volume::in_fours of both
};
template <class C>
auto views_of(const C& c) {
  return convolution_views{c.in, c.out, c.outside, c.in.in_fours(), c.out.in_fours()};
}

/// Writes four neighbouring results, converted, as far as there is room; at once where `fours` says that they may be.
template <class Out, class Room, class Sum>
PMPP_HOST_DEVICE void store_four(const volume<Out>& out, Out* to, bool fours, Room room, const Sum (&sums)[4]) {
  four<Out> result;
  for (int j = 0; j < 4; ++j) result.item[j] = stored<Out>(sums[j]);
  if (fours && room >= 4)
    *reinterpret_cast<four<Out>*>(to) = result;
  else
    for (int j = 0; j < 4; ++j)
      if (j < room) to[j * out.step] = result.item[j];
}

/// Writes a column of results, four wide, to `to`, as far as there are `rows` and `columns`; `sums(h)` are those of row h.
template <int Rows, class In, class Out, class Sums>
PMPP_HOST_DEVICE void store_column(const convolution_views<In, Out>& task, Out* to, int rows, int columns,
                                   const Sums& sums) {
  for_each_constant<Rows>([&](auto number) {
    constexpr int h = decltype(number)::value;
    if (h < rows) {
      store_four(task.out, to, task.out_fours, columns, sums(number));
      to += task.out.pitch;
    }
  });
}
/// The same at row y and column x of plane z.
template <int Rows, class In, class Out, class Sums>
PMPP_HOST_DEVICE void store_column(const convolution_views<In, Out>& task, std::int64_t z, std::int64_t y,
                                   std::int64_t x, const Sums& sums) {
  const volume<Out>& out = task.out;
  store_column<Rows>(task, out.at(z, y, x), static_cast<int>(min(out.height - y, std::int64_t(Rows))),
                     static_cast<int>(min(out.width - x, std::int64_t(4))), sums);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
