// SPDX-License-Identifier: Apache-2.0
//
// The elements that algorithms are tested with. What a kernel does with an element depends on its size and its alignment: how
// many a vector or a tile holds, whether a warp can exchange one. So one type stands for all of its size:
//
//   bytes   aligned to
//       1            1   vectors of 16; the same values again and again
//       2            2
//       3            1   no power of two: loaded byte by byte, vectors of 16
//       4            4   float
//       8            8   double
//      12            4   three words, vectors of four
//      16            4   a struct of four floats: two a vector, or one by one where memory has no such boundary
//      16           16   a vector by itself
//      40            8   more than a message of the look-back holds
//     300            4   few in a tile
//
// Each is tried with one tuning, small tiles and those of the default in turns: every pair of a type and a tuning would be twice
// as long to compile and show nothing more.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>

#include "support/data.hpp"

namespace test {

/// The first byte says which number it was made of, the others show where parts of different elements are mixed up. (Of words
/// as large as the alignment allows: kernels that move elements byte by byte take long to compile.)
template <int Bytes, int Alignment>
struct alignas(Alignment) record {
  using word = std::conditional_t<Alignment == 1, std::uint8_t,
                                  std::conditional_t<Alignment == 4, std::uint32_t, std::uint64_t>>;
  word words[Bytes / sizeof(word)];
  friend bool operator==(const record&, const record&) = default;
};

template <class... T>
struct types {
  static constexpr std::size_t count = sizeof...(T);
};
using element_types = types<std::uint8_t, std::int16_t, record<3, 1>, float, double, record<12, 4>, record<16, 4>,
                            record<16, 16>, record<40, 8>, record<300, 4>>;

/// Numbers that elements are made of: 0 ... numbers - 1.
inline constexpr int numbers = 50;

/// Made of a number, and of a tag that tells those of one number apart as far as there is room.
template <class T>
T element(int number, std::uint32_t tag) {
  if constexpr (std::is_arithmetic_v<T>) {
    constexpr std::uint32_t tags = sizeof(T) == 1 ? 5 : sizeof(T) == 2 ? 600 : 300000;
    return static_cast<T>(number + numbers * static_cast<int>(tag % tags));
  } else {
    T x;
    for (auto& word : x.words) word = static_cast<typename T::word>(tag), tag = tag * 0x9e3779b1u + 1;
    x.words[0] = static_cast<typename T::word>((x.words[0] & ~typename T::word(0xff)) | typename T::word(number));
    return x;
  }
}

/// n elements of random numbers.
template <class T>
std::vector<T> elements_of(std::int64_t n) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < n; ++i)
    v.push_back(element<T>(static_cast<int>(generator()() % numbers), static_cast<std::uint32_t>(generator()())));
  return v;
}

struct number_of {
  template <class T>
  PMPP_HOST_DEVICE int operator()(const T& x) const {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<int>(static_cast<std::int64_t>(x) % numbers);
    else
      return static_cast<int>(x.words[0] & 0xff);
  }
};
struct by_number {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return number_of{}(x) < number_of{}(y);
  }
};
struct odd_number {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    return number_of{}(x) % 2 != 0;
  }
};

/// Calls f.operator()<T, Small>() for each type; Small says which half of the types is tried with small tiles.
template <class F>
void for_each_element_type(F f) {
  const auto each = [&]<class... T, std::size_t... I>(types<T...>, std::index_sequence<I...>) {
    (f.template operator()<T, I % 2 == 0>(), ...);
  };
  each(element_types{}, std::make_index_sequence<element_types::count>{});
}

}  // namespace test
