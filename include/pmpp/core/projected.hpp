// SPDX-License-Identifier: Apache-2.0
//
// Orders by a part of an element.
//
//   sort(where, people, less{}, &person::age)                 the projection stands after the comparator, or the equality
//   includes(where, people, few, projected{less{}, &person::age})   for every algorithm that takes a comparator
//   sort(where, people, less{}, members<&person::city, &person::age>{})      by city, then by age
//
// A projection is a pointer to a member, or a function of one element. members makes of several numbers one, whose order is theirs, the
// first counts most: their codes (core/number_code.hpp) side by side in a word, or in several. So sorts go by digits.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class F, class T>
requires requires(const F& f, const T& x) { x.*f; }
PMPP_HOST_DEVICE constexpr auto project(const F& f, const T& x) { return x.*f; }
template <class F, class T>
requires requires(const F& f, const T& x) { f(x); }
PMPP_HOST_DEVICE constexpr auto project(const F& f, const T& x) { return f(x); }

/// What a projection makes of elements.
template <class F, class T>
using projection_of = decltype(detail::project(std::declval<const F&>(), std::declval<const T&>()));
template <class F, class T>
inline constexpr bool projects = requires(const F& f, const T& x) {
  detail::project(f, x);
};

/// Codes that one word does not hold.
template <int Words>
struct word_key {
  std::uint64_t word[Words];
  friend bool operator==(const word_key&, const word_key&) = default;
  PMPP_HOST_DEVICE friend constexpr bool operator<(const word_key& x, const word_key& y) {
    for (int w = 0; w < Words; ++w)
      if (x.word[w] != y.word[w]) return x.word[w] < y.word[w];
    return false;
  }
};
template <class K>
inline constexpr int digit_words_of = 0;
template <int Words>
inline constexpr int digit_words_of<word_key<Words>> = Words;

template <class T>
struct member_type;
template <class T, class S>
struct member_type<T S::*> {
  static constexpr bool is_number = is_radix_key<std::remove_cv_t<T>>;
  using type = std::conditional_t<is_number, std::remove_cv_t<T>, int>;
};

}  // namespace detail

/// The order of elements by what `proj` makes of them: comp(proj(x), proj(y)). Numbers under less or greater are in the order of sort.
template <class Comp, class Proj>
struct projected {
  Comp comp;
  Proj proj;

  template <class T>
  requires detail::projects<Proj, T> PMPP_HOST_DEVICE constexpr bool operator()(const T& x, const T& y) const {
    using K = detail::projection_of<Proj, T>;
    using order = detail::radix_order<Comp, K>;
    if constexpr (order::known) {
      using code = detail::radix_code<K, order::descending>;
      return code::encode(detail::project(proj, x)) < code::encode(detail::project(proj, y));
    } else {
      return static_cast<bool>(comp(detail::project(proj, x), detail::project(proj, y)));
    }
  }
};
template <class Comp, class Proj>
projected(Comp, Proj) -> projected<Comp, Proj>;

/// A projection to members of a structure that are integers, float, double, half or bfloat16: what it gives is in the order of the first,
/// where these are equal of the second, and so on; -0.0 precedes +0.0 and NaN comes after all numbers. Under greater all is reversed.
template <auto... Member>
struct members {
  static_assert(sizeof...(Member) > 0 && (std::is_member_object_pointer_v<decltype(Member)> && ...),
                "pmpp::members: pointers to members: members<&point::x, &point::y>");
  static constexpr bool numbers = (detail::member_type<decltype(Member)>::is_number && ...);
  static_assert(numbers, "pmpp::members: the members are integers or floating-point numbers");

  template <class T>
  PMPP_HOST_DEVICE constexpr auto operator()(const T& x) const {
    detail::word_key<words> key{};
    int word = 0, used = 0;
    if constexpr (numbers) (append(key, word, used, x.*Member), ...);
    if constexpr (words > 1)
      return key;
    else if constexpr (width > 32)
      return key.word[0];
    else
      return static_cast<std::uint32_t>(key.word[0]);
  }

private:
  template <class M>
  using code = detail::radix_code<std::remove_cvref_t<M>, false>;

  template <class K, class M>
  PMPP_HOST_DEVICE static constexpr void append(K& key, int& word, int& used, const M& member) {
    constexpr int bits = code<M>::width;
    if (used + bits > 64) {
      ++word;
      used = 0;
    }
    key.word[word] = (bits < 64 ? key.word[word] << (bits % 64) : 0) | code<M>::encode(member);
    used += bits;
  }
  static constexpr int words_needed() {
    int needed = 1, used = 0;
    for (const int bits : {code<typename detail::member_type<decltype(Member)>::type>::width...}) {
      if (used + bits > 64) {
        ++needed;
        used = 0;
      }
      used += bits;
    }
    return needed;
  }
  static constexpr int words = words_needed(),
                       width = (code<typename detail::member_type<decltype(Member)>::type>::width + ...);
};

namespace detail {

/// Word w of what a projection makes of elements.
template <class Proj, class K>
struct project_word {
  Proj proj;
  int w;
  template <class T>
  PMPP_HOST_DEVICE auto operator()(const T& x) const {
    const K key = detail::project(proj, x);
    if constexpr (digit_words_of < K >> 0)
      return key.word[w];
    else
      return key;
  }
};

template <class Proj>
struct project_element {
  Proj proj;
  template <class T>
  PMPP_HOST_DEVICE auto operator()(const T& x) const {
    return detail::project(proj, x);
  }
};

/// A comparator, or an equality, and the projection that follows it: identity if there is none.
template <class T, class Comp, class Proj>
constexpr auto order_by(const Comp& comp, const Proj& proj) {
  constexpr bool is_projection = projects<Proj, T>;
  static_assert(is_projection, "pmpp: after the comparator comes a projection: a pointer to a member, or f(x)");
  if constexpr (std::is_same_v<Proj, identity>)
    return comp;
  else if constexpr (is_projection)
    return projected<Comp, Proj>{comp, proj};
  else
    return refused{};
}

/// A comparator and what follows it in the arguments of a sort: bits of the keys, or a projection.
template <class Bits>
inline constexpr bool is_key_bits = std::is_same_v<Bits, key_bits> || std::is_same_v<Bits, all_key_bits>;
template <class T, class Comp, class Bits>
constexpr auto order_under(const Comp& comp, const Bits& bits) {
  constexpr bool is_bits = is_key_bits<Bits>, is_projection = projects<Bits, T>;
  static_assert(is_bits || is_projection,
                "pmpp: after the comparator come key_bits, or a projection: a pointer to a member, or f(x)");
  if constexpr (is_bits)
    return comp;
  else if constexpr (is_projection)
    return projected<Comp, Bits>{comp, bits};
  else
    return refused{};
}
/// Elements, or what a projection makes of them.
template <class It, class Bits>
auto projected_input(const input<It>& in, const Bits& bits) {
  if constexpr (is_key_bits<Bits> || std::is_same_v<Bits, identity>) {
    return in;
  } else {
    static_cast<void>(order_under<value_of<It>>(less{}, bits));
    return detail::mapped<projection_of<Bits, value_of<It>>>(in, project_element<Bits>{bits});
  }
}
template <class Bits>
constexpr auto bits_under(const Bits& bits) {
  if constexpr (is_key_bits<Bits>)
    return bits;
  else
    return all_key_bits{};
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
