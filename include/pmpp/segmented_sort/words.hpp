// SPDX-License-Identifier: Apache-2.0
//
// Elements of segments as unsigned words in their order, for networks (block/short_segments.hpp); void where there are none.
//
// Numbers have their codes, which equal ones share; in front of values those of up to 32 bits with their places after them.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

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

template <class T, class Comp>
struct sort_words {
  using code = typename code_under<T, Comp>::type;
  using type = std::conditional_t<std::is_void_v<code>, void, key_words<code>>;
};
template <class K, class V, class Comp>
struct sort_words<pair<K, V>, by_first<Comp>> {
  using code = typename code_under<K, Comp>::type;
  using type = std::conditional_t<std::is_void_v<code> || (sizeof(K) > 4), void, pair_words<code>>;
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
