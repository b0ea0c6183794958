// SPDX-License-Identifier: Apache-2.0
//
// What find.hpp asks: what is sought, where, and what is told of the place.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/find/includes.hpp>
#include <pmpp/find/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

// What is sought.

/// Elements for which a predicate has this value.
template <class Pred, bool Value>
struct judged_as {
  Pred pred;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    return static_cast<bool>(pred(x)) == Value;
  }
};
/// Elements that equal one.
template <class T>
struct equal_to_value {
  T value;
  template <class X>
  PMPP_HOST_DEVICE bool operator()(const X& x) const {
    return static_cast<bool>(value_of_stored(x) == value_of_stored(value));
  }
};
/// Elements that equal one of a set.
template <class It, class Eq>
struct equal_to_one_of {
  input<It> set;
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    // Several elements of the set at a time: else each would be waited for before the next one is asked for.
    constexpr int at_once = 8;
    bool found = false;
    for (std::int64_t i = 0, n = set.count.get(); i < n && !found; i += at_once)
      for (int k = 0; k < at_once; ++k)
        if (i + k < n) found |= static_cast<bool>(eq(x, set.first[i + k]));
    return found;
  }
  /// Whether one of a vector's items does: each element of the set is loaded once for all of them, and no comparison waits for another.
  template <class In, int Items>
  PMPP_HOST_DEVICE bool any_of(const In& in, const block::raw_items<In, Items>& x) const {
    bool found = false;
    for (std::int64_t i = 0, n = set.count.get(); i < n && !found; ++i) {
      const auto& one = set.first[i];
      for (int k = 0; k < Items; ++k) found |= static_cast<bool>(eq(block::access<In>::value(in, x, k), one));
    }
    return found;
  }
};
/// Elements that equal the one in front of them.
template <class Eq>
struct repeated {
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const neighbour_pair<T>& x) const {
    return x.has_before && static_cast<bool>(eq(x.before, x.here));
  }
};
/// Elements that must precede the one in front of them.
template <class Comp>
struct out_of_order {
  Comp comp;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const neighbour_pair<T>& x) const {
    return x.has_before && static_cast<bool>(comp(x.here, x.before));
  }
};
/// Elements that belong to the first part, after one that does not.
template <class Pred>
struct out_of_part {
  Pred pred;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const neighbour_pair<T>& x) const {
    return x.has_before && static_cast<bool>(pred(x.here)) && !static_cast<bool>(pred(x.before));
  }
};
/// Pairs that are not equal.
template <class Eq>
struct unequal {
  Eq eq;
  template <class A, class B>
  PMPP_HOST_DEVICE bool operator()(const pair<A, B>& x) const {
    return !static_cast<bool>(eq(x.first, x.second));
  }
};
/// Pairs of which one precedes the other.
template <class Comp>
struct unordered_pair {
  Comp comp;
  template <class A, class B>
  PMPP_HOST_DEVICE bool operator()(const pair<A, B>& x) const {
    return static_cast<bool>(comp(x.first, x.second)) || static_cast<bool>(comp(x.second, x.first));
  }
};
// What is told of the place that was found.

struct tell_place {
  PMPP_HOST_DEVICE std::int64_t operator()(const found_place& f) const { return f.place; }
};
/// The element in front of it, which equals it.
struct tell_place_before {
  PMPP_HOST_DEVICE std::int64_t operator()(const found_place& f) const { return f.found() ? f.place - 1 : f.place; }
};
template <bool IfFound>
struct tell_whether {
  PMPP_HOST_DEVICE bool operator()(const found_place& f) const { return f.found() == IfFound; }
};
struct tell_equal {
  PMPP_HOST_DEVICE bool operator()(const found_place& f) const { return !f.found() && f.n == f.m; }
};
template <class In, class Comp>
struct tell_less {
  In in;
  Comp comp;
  PMPP_HOST_DEVICE bool operator()(const found_place& f) const {
    if (!f.found()) return f.n < f.m;
    const auto x = in[f.place];
    return static_cast<bool>(comp(x.first, x.second));
  }
};

template <class R>
using element_as_stored = stored_as<element_value<R>>;

/// A question about one sequence: where it is, what is sought there, what is told of the place.
template <class In, class Test, class Answer>
struct question {
  In in;
  two_counts count;
  Test test;
  Answer answer;
};
template <class It, class Test, class Answer>
auto ask(const input<It>& in, const Test& test, const Answer& answer) {
  return question<It, Test, Answer>{in.first, {in.count}, test, answer};
}
template <class R, find_tuning Tuning, class P, class Q>
R answer_of(const char* function, const P& where, const Q& q) {
  return detail::find_and_wait<R, Tuning>(function, where, q.in, q.count, q.test, q.answer);
}
template <find_tuning Tuning, class P, class Q, class O>
void answer_into(const char* function, const P& where, const Q& q, O& out) {
  detail::find_and_store<Tuning>(function, where, q.in, q.count, q.test, q.answer, out);
}

template <class P, class R, class Pred, bool Value, class Answer>
auto ask_if(const char* function, const P&, R& r, const Pred& pred, std::bool_constant<Value>, const Answer& answer) {
  using test = decltype(detail::judged_by<gpu_execution<P>, element_value<R>>(pred));
  return detail::ask(detail::with_stored(detail::input_of(function, r)),
                     judged_as<test, Value>{detail::judged_by<gpu_execution<P>, element_value<R>>(pred)}, answer);
}
template <class P, class R, class Answer>
auto ask_equal(const char* function, const P&, R& r, const element_value<R>& value, const Answer& answer) {
  using T = element_as_stored<R>;
  require_equivalence<equal_to, element_value<R>>();
  return detail::ask(detail::with_stored(detail::input_of(function, r)), equal_to_value<T>{T(value)}, answer);
}
template <class P, class R, class S, class Eq>
auto ask_one_of(const char* function, const P& where, R& r, S& set, const Eq& eq) {
  const auto among = detail::input_of(function, set);
  detail::check_reachable(where, function, among.first);
  const auto equated = detail::equated_by<gpu_execution<P>, element_value<R>>(eq);
  using one_of = equal_to_one_of<std::remove_const_t<decltype(among.first)>, std::remove_const_t<decltype(equated)>>;
  return detail::ask(detail::with_stored(detail::input_of(function, r)), one_of{among, equated}, tell_place{});
}
template <template <class> class Test, class R, class F, class Answer>
auto ask_neighbours(const char* function, R& r, const F& f, const Answer& answer) {
  const auto in = detail::with_stored(detail::input_of(function, r));
  using iterator = neighbours_iterator<std::remove_const_t<decltype(in.first)>>;
  return detail::ask(input<iterator>{iterator(in.first), in.count}, Test<F>{f}, answer);
}
/// Both sequences as pairs, with both lengths.
template <class A, class B>
auto side_by_side(const input<A>& a, const input<B>& b) {
  const auto x = detail::with_stored(a.first);
  const auto y = detail::with_stored(b.first);
  return zip_iterator<std::remove_const_t<decltype(x)>, std::remove_const_t<decltype(y)>>(x, y);
}
template <class P, class A, class B, class Eq, class Answer>
auto ask_unequal(const P&, const input<A>& a, const input<B>& b, const Eq& eq, const Answer& answer) {
  const auto in = detail::side_by_side(a, b);
  const auto equated = detail::equated_by<gpu_execution<P>, value_of<A>>(eq);
  using test = unequal<std::remove_const_t<decltype(equated)>>;
  two_counts counts{a.count, b.count};
  const bool differ = a.count.pointer == nullptr && b.count.pointer == nullptr && a.count.bound != b.count.bound;
  if (differ && std::is_same_v<Answer, tell_equal>) counts = {{0}, {1}};  // nothing has to be read
  return question<std::remove_const_t<decltype(in)>, test, Answer>{in, counts, test{equated}, answer};
}
template <class P, class A, class B, class Comp>
auto ask_less(const P&, const input<A>& a, const input<B>& b, const Comp& comp) {
  const auto in = detail::side_by_side(a, b);
  const auto by = detail::ordered_by<gpu_execution<P>, value_of<A>>(comp);
  using pairs = std::remove_const_t<decltype(in)>;
  using order = std::remove_const_t<decltype(by)>;
  return question<pairs, unordered_pair<order>, tell_less<pairs, order>>{in, {a.count, b.count}, {by}, {in, by}};
}
template <class P, class R, class S, class Comp>
auto ask_includes(const char* function, const P& where, R& r, S& s, const Comp& comp) {
  const auto a = detail::with_stored(detail::input_of(function, r));
  const auto b = detail::with_stored(detail::input_of(function, s));
  const auto by = detail::ordered_by<gpu_execution<P>, element_value<R>>(comp);
  detail::check_reachable(where, function, zip_iterator{a.first, b.first});
  detail::check_sorted(where, a, b, by, "includes: the first input", "includes: the second input");
  using test = missing_in<std::remove_const_t<decltype(a.first)>, std::remove_const_t<decltype(b.first)>,
                          std::remove_const_t<decltype(by)>>;
  using counting = counting_iterator<std::int64_t>;
  return detail::ask(input<counting>{counting(0), b.count}, test{a, b, by}, tell_whether<false>{});
}

/// Whether each element is counted.
template <class P, class R, class Test>
auto counted_elements(const char* function, const P&, R& r, const Test& test) {
  return detail::mapped<bool>(detail::with_stored(detail::input_of(function, r)), test);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
