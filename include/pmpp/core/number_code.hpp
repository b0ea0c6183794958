// SPDX-License-Identifier: Apache-2.0
//
// Numbers as unsigned integers in the same order: what sorts, sorted segments and selections compare, and cut into digits.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/named_functors.hpp>
#include <pmpp/core/operators.hpp>

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
  static constexpr bool is_identity = std::is_unsigned_v<K> && !Descending;  ///< codes are the keys
  /// Codes may lie where keys do, which spares conversions.
  static constexpr bool keys_hold_codes = !is_identity && !std::is_same_v<K, bool>;

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
  /// How many NaNs have each sign: the codes of one sign are that far from the end.
  static constexpr bits nans = is_radix_float<K> ? static_cast<bits>(sign - 1 - infinity_bits<K>()) : bits(0);
  PMPP_HOST_DEVICE static bits sign_everywhere(bits u) {
    return static_cast<bits>(static_cast<std::make_signed_t<bits>>(u) >> (width - 1));
  }
};

/// Whether a comparator orders keys of type K as their codes do.
template <class Comp, class K>
struct radix_order {
  static constexpr bool descending = std::is_same_v<Comp, greater> || is_named_functor<Comp, K>("greater"),
                        known = is_radix_key<K> &&
                                (descending || std::is_same_v<Comp, less> || is_named_functor<Comp, K>("less"));
};

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

/// The code of keys that Comp orders; void where there is none.
template <class K, class Comp>
struct code_under {
  using type = void;
};
template <class K, class Comp>
requires(radix_order<Comp, K>::known) struct code_under<K, Comp> {
  using type = radix_code<K, radix_order<Comp, K>::descending>;
};
template <class K, class Code>
struct code_under<K, code_less<Code>> {
  using type = Code;
};

/// Keys as unsigned words in their order, which equal ones share; in front of values codes of up to 32 bits with their places
/// after them.
template <class Code>
struct key_words {
  PMPP_HOST_DEVICE static auto word(const typename Code::key& x, int) {
    return static_cast<std::conditional_t<Code::width <= 32, std::uint32_t, std::uint64_t>>(Code::encode(x));
  }
  template <class Word, class At>
  PMPP_HOST_DEVICE static auto element(Word w, bool, const At&) {
    return Code::decode(static_cast<typename Code::bits>(w));
  }
};
template <class Code>
struct pair_words {
  template <class T>
  PMPP_HOST_DEVICE static std::uint64_t word(const T& x, int place) {
    return std::uint64_t(Code::encode(x.first)) << 32 | unsigned(place);
  }
  template <class At>
  PMPP_HOST_DEVICE static auto element(std::uint64_t w, bool exists, const At& at) {
    std::remove_reference_t<decltype(at(0))> x{};
    if (exists) x = at(static_cast<int>(w & 0xffff));
    return x;
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
