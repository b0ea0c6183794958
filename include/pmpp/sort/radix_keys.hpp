// SPDX-License-Identifier: Apache-2.0
//
// Numbers as the radix sorts see them: unsigned codes in the order of the keys, and digits of codes.
#pragma once

#include <cstdint>
#include <string>  // also std::less and std::greater: <functional> costs every user 0.3 s of compile time
#include <string_view>
#include <type_traits>

#include <pmpp/block/radix_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// The bits of integer keys that a sort looks at: lo ... hi - 1, counted from the lowest. Keys that agree in them are
/// equal. \pre 0 <= lo <= hi <= bits of the key
struct key_bits {
  int lo, hi;
};
/// All bits of the keys.
struct all_key_bits {};

namespace detail {

// Keys as unsigned integers in the same order.

template <class K>
inline constexpr bool is_half = type_name<K>() == "__half" || type_name<K>() == "_Float16";
template <class K>
inline constexpr bool is_bfloat16 = type_name<K>() == "__nv_bfloat16" || type_name<K>() == "__bf16";
template <class K>
inline constexpr bool is_radix_float = std::is_same_v<K, float> || std::is_same_v<K, double> ||
                                       (sizeof(K) == 2 && (is_half<K> || is_bfloat16<K>));
template <class K>
inline constexpr bool is_radix_key = (std::is_integral_v<K> && sizeof(K) <= 8) || is_radix_float<K>;

/// The bits of infinity.
template <class K>
constexpr std::uint64_t infinity_bits() {
  if constexpr (sizeof(K) == 8) return 0x7ff0000000000000;
  if constexpr (sizeof(K) == 4) return 0x7f800000;
  return is_half<K> ? 0x7c00 : 0x7f80;
}

/// -0.0 precedes +0.0 (follows it where descending); NaN comes last, either way.
template <class K, bool Descending>
struct radix_code {
  using key = K;
  using bits = std::conditional_t<sizeof(K) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(K) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>>>;
  static constexpr int width = 8 * sizeof(K);

  PMPP_HOST_DEVICE static bits encode(const K& key) {
    bits u = __builtin_bit_cast(bits, key);
    if constexpr (is_radix_float<K>)
      u ^= static_cast<bits>(sign_everywhere(u) | sign);
    else if constexpr (std::is_signed_v<K>)
      u ^= sign;
    if constexpr (Descending) u = static_cast<bits>(~u);
    return static_cast<bits>(u - nans);
  }
  PMPP_HOST_DEVICE static K decode(bits u) {
    u = static_cast<bits>(u + nans);
    if constexpr (Descending) u = static_cast<bits>(~u);
    if constexpr (is_radix_float<K>)
      u ^= static_cast<bits>(~sign_everywhere(u) | sign);
    else if constexpr (std::is_signed_v<K>)
      u ^= sign;
    return __builtin_bit_cast(K, u);
  }

private:
  static constexpr bits sign = static_cast<bits>(bits(1) << (width - 1));
  /// How many NaNs have each sign: this many codes too far from the end are those of one sign.
  static constexpr bits nans = is_radix_float<K> ? static_cast<bits>(sign - 1 - infinity_bits<K>()) : bits(0);
  PMPP_HOST_DEVICE static bits sign_everywhere(bits u) {
    return static_cast<bits>(static_cast<std::make_signed_t<bits>>(u) >> (width - 1));
  }
};

// Which comparators order keys of type K as their codes do.
// clang-format off
template <class Comp, class K> struct radix_order { static constexpr bool known = false; };
template <class K> struct radix_order<less, K>               { static constexpr bool known = is_radix_key<K>, descending = false; };
template <class K> struct radix_order<greater, K>            { static constexpr bool known = is_radix_key<K>, descending = true; };
template <class K> struct radix_order<std::less<>, K>        : radix_order<less, K> {};
template <class K> struct radix_order<std::greater<>, K>     : radix_order<greater, K> {};
template <class K> struct radix_order<std::less<K>, K>       : radix_order<less, K> {};
template <class K> struct radix_order<std::greater<K>, K>    : radix_order<greater, K> {};
// clang-format on

/// The order of codes as a comparator, for the merge sort.
template <class Code>
struct code_less {
  typename Code::bits mask;
  PMPP_HOST_DEVICE explicit code_less(const key_bits& range)
      : mask(static_cast<typename Code::bits>((range.hi == 64 ? 0 : std::uint64_t(1) << range.hi) -
                                              (range.lo == 64 ? 0 : std::uint64_t(1) << range.lo))) {}
  template <class A, class B>
  PMPP_HOST_DEVICE bool operator()(const A& a, const B& b) const {
    return (Code::encode(a) & mask) < (Code::encode(b) & mask);
  }
};

/// Digit `shift` ... of a code.
struct radix_digit {
  int shift;
  unsigned mask;

  /// Of pass `pass` over these bits; past their end it is always 0.
  PMPP_HOST_DEVICE static radix_digit of(int pass, const key_bits& range) {
    const int from = range.lo + pass * block::radix_bits, width = min(block::radix_bits, range.hi - from);
    return width > 0 ? radix_digit{from, (1u << width) - 1} : radix_digit{0, 0};
  }
  template <class Bits>
  PMPP_HOST_DEVICE unsigned operator()(Bits code) const {
    return static_cast<unsigned>(code >> shift) & mask;
  }
};

/// Digits of this many bits, at least one.
inline int radix_passes(const key_bits& range) { return max(1, ceil_div(range.hi - range.lo, block::radix_bits)); }

/// Keys without values.
struct no_value {};
template <class V>
inline constexpr bool has_values = !std::is_same_v<V, no_value>;

/// The key of an element that is sorted.
template <class K, class V>
PMPP_HOST_DEVICE const K& radix_key_of(const pair<K, V>& x) {
  return x.first;
}
template <class K>
requires is_radix_key<K> PMPP_HOST_DEVICE const K& radix_key_of(const K& x) { return x; }

/// Where elements lie before a pass, and where they go.
enum class radix_home : int { nowhere, input, data, other };

template <class In, class Data, class T>
struct radix_homes {
  In in;
  Data data;
  T* other;

  /// Calls f with what elements are read from.
  template <class F>
  PMPP_HOST_DEVICE void read(radix_home home, F f) const {
    constexpr bool plain = std::is_same_v<Data, T*>, plain_input = std::is_same_v<std::remove_const_t<In>, const T*> ||
                                                                   std::is_same_v<std::remove_const_t<In>, T*>;
    if constexpr (plain && plain_input) {
      const T* from = home == radix_home::other ? other : data;
      if (home == radix_home::input) from = in;
      f(from);
    } else if (home == radix_home::input) {
      f(in);
    } else {
      write(home, f);
    }
  }
  /// Calls f with what elements are written to.
  template <class F>
  PMPP_HOST_DEVICE void write(radix_home home, F f) const {
    if constexpr (std::is_same_v<Data, T*>)
      f(home == radix_home::other ? other : data);
    else if (home == radix_home::other)
      f(other);
    else
      f(data);
  }
};

/// What is sorted: keys, and values or nothing. What is taken of `memory`: n keys, n values.
template <class In, class Data, class T>
struct radix_parts {
  using key = T;
  using value = no_value;
  using keys = radix_homes<In, Data, T>;
  using values = radix_homes<no_value*, no_value*, no_value>;
  static keys keys_of(const In& in, const Data& data, scratch& memory, std::int64_t n) {
    return {in, data, memory.take<T>(n)};
  }
  static values values_of(const In&, const Data&, scratch&, std::int64_t) { return {}; }
};
template <class InK, class InV, class DataK, class DataV, class K, class V>
struct radix_parts<zip_iterator<InK, InV>, zip_iterator<DataK, DataV>, pair<K, V>> {
  using key = K;
  using value = V;
  using keys = radix_homes<InK, DataK, K>;
  using values = radix_homes<InV, DataV, V>;
  template <class In, class Data>
  static keys keys_of(const In& in, const Data& data, scratch& memory, std::int64_t n) {
    return {in.a, data.a, memory.take<K>(n)};
  }
  template <class In, class Data>
  static values values_of(const In& in, const Data& data, scratch& memory, std::int64_t n) {
    return {in.b, data.b, memory.take<V>(n)};
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
