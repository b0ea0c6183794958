// SPDX-License-Identifier: Apache-2.0
//
// Questions about sequences: count, all_of, find, equal and their kin.
//
//   count, count_if                                                  one reduction (reduce.hpp)
//   find, find_if, find_if_not, find_first_of, contains              the first place for which something is true:
//   all_of, any_of, none_of, adjacent_find                           find/kernel.hpp, where the method is told
//   is_sorted_until, is_partitioned
//   equal, mismatch, lexicographical_compare, includes               the same of two sequences
//
// A count reads its input once. All others stop soon after the first place that settles the question, and read the input once
// where there is none. The answer is the same on every run. Each call waits for its answer, and launches nothing where the host
// knows it: of no elements, of neighbours in one; its twin that ends in _into leaves the answer in *out and does not wait. (PMPP ch. 10.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/find/kernel.hpp>
#include <pmpp/find/questions.hpp>
#include <pmpp/reduce/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
/// How many elements equal `value`.
///
/// \param r      a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param value  converted to the type of the elements.
/// Waits for the policy's stream; count_into leaves the number in *out, of any integer type, and does not.
/// Cost: n elements read; one launch. \throws as reduce. Example: test/find.cpp, counts.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R>
[[nodiscard]] std::int64_t count(const P& where, R&& r, const std::type_identity_t<element_value<R>>& value) {
  using T = detail::element_as_stored<R>;
  detail::require_equivalence<equal_to, element_value<R>>();
  return detail::reduce_and_wait<Tuning>(
      "count", where, detail::counted_elements("count", where, r, detail::equal_to_value<T>{T(value)}),
      detail::initial<std::int64_t>{0, true}, plus{});
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O>
void count_into(const P& where, R&& r, O&& out, const std::type_identity_t<element_value<R>>& value) {
  using T = detail::element_as_stored<R>;
  detail::require_equivalence<equal_to, element_value<R>>();
  detail::reduce_to_output<Tuning>(
      "count_into", where, detail::counted_elements("count_into", where, r, detail::equal_to_value<T>{T(value)}), out,
      std::int64_t{0}, plus{});
}

/// How many elements pred is true for; as count. \param pred  callable on `where`'s machine; called once for each element.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] std::int64_t count_if(const P& where, R&& r, Pred pred) {
  const auto judge = detail::judged_by<gpu_execution<P>, element_value<R>>(pred);
  return detail::reduce_and_wait<Tuning>("count_if", where, detail::counted_elements("count_if", where, r, judge),
                                         detail::initial<std::int64_t>{0, true}, plus{});
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void count_if_into(const P& where, R&& r, O&& out, Pred pred) {
  const auto judge = detail::judged_by<gpu_execution<P>, element_value<R>>(pred);
  detail::reduce_to_output<Tuning>("count_if_into", where, detail::counted_elements("count_if_into", where, r, judge),
                                   out, std::int64_t{0}, plus{});
}

/// The first element that pred is true for; the end of the input (after as many elements as there are) if there is none.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. On kernels elements are
///              trivially copyable.
/// \param pred  callable on `where`'s machine; called for elements after the first one too, in no particular order.
/// Stops soon after the first such place: on a GPU what is in flight at once is read, 17 MB on an H200, or all where there is
/// none. Waits for the policy's stream.
/// find_if_into leaves the place in *out, of any integer type (the number of elements if there is none), and does not wait: it
/// may be captured. Scratch: 16 bytes of state. Cost: at most n elements read; one launch, of find_if none if n is known to be 0.
/// \throws std::invalid_argument for a null or reversed input, or when the stream is being captured (find_if); cuda_error.
/// Source: PMPP ch. 10. Example: test/find.cpp, find_if.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] auto find_if(const P& where, R&& r, Pred pred) {
  const char* const function = "find_if";
  return std::begin(r) +
         detail::answer_of<std::int64_t, Tuning>(
             function, where, detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_place{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void find_if_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "find_if_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_place{}), out);
}

/// The first element that pred is false for; as find_if.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] auto find_if_not(const P& where, R&& r, Pred pred) {
  const char* const function = "find_if_not";
  return std::begin(r) +
         detail::answer_of<std::int64_t, Tuning>(
             function, where, detail::ask_if(function, where, r, pred, std::false_type{}, detail::tell_place{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void find_if_not_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "find_if_not_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_if(function, where, r, pred, std::false_type{}, detail::tell_place{}), out);
}

/// The first element that equals `value`, which is converted to the type of the elements; as find_if.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R>
[[nodiscard]] auto find(const P& where, R&& r, const std::type_identity_t<element_value<R>>& value) {
  const char* const function = "find";
  return std::begin(r) + detail::answer_of<std::int64_t, Tuning>(
                             function, where, detail::ask_equal(function, where, r, value, detail::tell_place{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O>
void find_into(const P& where, R&& r, O&& out, const std::type_identity_t<element_value<R>>& value) {
  const char* const function = "find_into";
  detail::answer_into<Tuning>(function, where, detail::ask_equal(function, where, r, value, detail::tell_place{}), out);
}

/// Whether an element equals `value`; as find.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R>
[[nodiscard]] bool contains(const P& where, R&& r, const std::type_identity_t<element_value<R>>& value) {
  const char* const function = "contains";
  return detail::answer_of<bool, Tuning>(function, where,
                                         detail::ask_equal(function, where, r, value, detail::tell_whether<true>{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O>
void contains_into(const P& where, R&& r, O&& out, const std::type_identity_t<element_value<R>>& value) {
  const char* const function = "contains_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_equal(function, where, r, value, detail::tell_whether<true>{}), out);
}

/// Whether pred is true for all elements (so for none); as find_if. \param out  takes a bool.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] bool all_of(const P& where, R&& r, Pred pred) {
  const char* const function = "all_of";
  return detail::answer_of<bool, Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::false_type{}, detail::tell_whether<false>{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void all_of_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "all_of_into";
  detail::answer_into<Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::false_type{}, detail::tell_whether<false>{}), out);
}

/// Whether pred is true for an element; as all_of.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] bool any_of(const P& where, R&& r, Pred pred) {
  const char* const function = "any_of";
  return detail::answer_of<bool, Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_whether<true>{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void any_of_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "any_of_into";
  detail::answer_into<Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_whether<true>{}), out);
}

/// Whether pred is true for no element; as all_of.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] bool none_of(const P& where, R&& r, Pred pred) {
  const char* const function = "none_of";
  return detail::answer_of<bool, Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_whether<false>{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void none_of_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "none_of_into";
  detail::answer_into<Tuning>(
      function, where, detail::ask_if(function, where, r, pred, std::true_type{}, detail::tell_whether<false>{}), out);
}

/// The first element that equals one of `set`: eq(element, one of the set). As find_if.
///
/// \param set  a range; visible to `where`. Every element is compared with all of it: for small sets. Calls eq also for elements after one
///             that is found.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S,
          class Eq = equal_to>
[[nodiscard]] auto find_first_of(const P& where, R&& r, S&& set, Eq eq = {}) {
  const char* const function = "find_first_of";
  return std::begin(r) +
         detail::answer_of<std::int64_t, Tuning>(function, where, detail::ask_one_of(function, where, r, set, eq));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S, output_for<P> O,
          class Eq = equal_to>
void find_first_of_into(const P& where, R&& r, S&& set, O&& out, Eq eq = {}) {
  const char* const function = "find_first_of_into";
  detail::answer_into<Tuning>(function, where, detail::ask_one_of(function, where, r, set, eq), out);
}

/// The first element that equals the next one; as find_if. \param eq  called as eq(element, the next one).
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Eq = equal_to>
[[nodiscard]] auto adjacent_find(const P& where, R&& r, Eq eq = {}) {
  const char* const function = "adjacent_find";
  return std::begin(r) +
         detail::answer_of<std::int64_t, Tuning>(
             function, where,
             detail::ask_neighbours<detail::repeated>(
                 function, r, detail::equated_by<gpu_execution<P>, element_value<R>>(eq), detail::tell_place_before{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Eq = equal_to>
void adjacent_find_into(const P& where, R&& r, O&& out, Eq eq = {}) {
  const char* const function = "adjacent_find_into";
  detail::answer_into<Tuning>(
      function, where,
      detail::ask_neighbours<detail::repeated>(function, r, detail::equated_by<gpu_execution<P>, element_value<R>>(eq),
                                               detail::tell_place_before{}),
      out);
}

/// The first element that must precede the one in front of it; the end of the input if there is none. As find_if.
/// \param comp  a strict weak order. A NaN is out of order nowhere under less.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Comp = less>
[[nodiscard]] auto is_sorted_until(const P& where, R&& r, Comp comp = {}) {
  const char* const function = "is_sorted_until";
  return std::begin(r) + detail::answer_of<std::int64_t, Tuning>(
                             function, where,
                             detail::ask_neighbours<detail::out_of_order>(
                                 function, r, detail::ordered_in<gpu_execution<P>, R>(comp), detail::tell_place{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less>
void is_sorted_until_into(const P& where, R&& r, O&& out, Comp comp = {}) {
  const char* const function = "is_sorted_until_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_neighbours<detail::out_of_order>(
                                  function, r, detail::ordered_in<gpu_execution<P>, R>(comp), detail::tell_place{}),
                              out);
}

/// Whether all elements that pred is true for come before all others; as all_of. pred is called twice for each element.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, class Pred>
[[nodiscard]] bool is_partitioned(const P& where, R&& r, Pred pred) {
  const char* const function = "is_partitioned";
  return detail::answer_of<bool, Tuning>(
      function, where,
      detail::ask_neighbours<detail::out_of_part>(
          function, r, detail::judged_by<gpu_execution<P>, element_value<R>>(pred), detail::tell_whether<false>{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
void is_partitioned_into(const P& where, R&& r, O&& out, Pred pred) {
  const char* const function = "is_partitioned_into";
  detail::answer_into<Tuning>(
      function, where,
      detail::ask_neighbours<detail::out_of_part>(
          function, r, detail::judged_by<gpu_execution<P>, element_value<R>>(pred), detail::tell_whether<false>{}),
      out);
}

/// Whether r and s are equally long and eq(r[i], s[i]) is true for all i.
///
/// \param r, s  ranges, or two iterators each, or an iterator and a device_count each; visible to `where`.
/// Where both lengths are known and differ, nothing is read. As find_if; equal_into leaves a bool in *out.
/// Example: test/find.cpp, two sequences.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S,
          class Eq = equal_to>
[[nodiscard]] bool equal(const P& where, R&& r, S&& s, Eq eq = {}) {
  const char* const function = "equal";
  return detail::answer_of<bool, Tuning>(function, where,
                                         detail::ask_unequal(where, detail::input_of(function, r),
                                                             detail::input_of(function, s), eq, detail::tell_equal{}));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S, output_for<P> O,
          class Eq = equal_to>
void equal_into(const P& where, R&& r, S&& s, O&& out, Eq eq = {}) {
  const char* const function = "equal_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_unequal(where, detail::input_of(function, r), detail::input_of(function, s),
                                                  eq, detail::tell_equal{}),
                              out);
}

/// The first i for which eq(r[i], s[i]) is false, as two iterators; the end of the shorter one if there is none. As equal;
/// mismatch_into leaves i in *out.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S,
          class Eq = equal_to>
[[nodiscard]] auto mismatch(const P& where, R&& r, S&& s, Eq eq = {}) {
  const char* const function = "mismatch";
  const std::int64_t place = detail::answer_of<std::int64_t, Tuning>(
      function, where,
      detail::ask_unequal(where, detail::input_of(function, r), detail::input_of(function, s), eq,
                          detail::tell_place{}));
  const auto in_r = std::begin(r) + place;
  const auto in_s = std::begin(s) + place;
  return pair<std::remove_const_t<decltype(in_r)>, std::remove_const_t<decltype(in_s)>>{in_r, in_s};
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S, output_for<P> O,
          class Eq = equal_to>
void mismatch_into(const P& where, R&& r, S&& s, O&& out, Eq eq = {}) {
  const char* const function = "mismatch_into";
  detail::answer_into<Tuning>(function, where,
                              detail::ask_unequal(where, detail::input_of(function, r), detail::input_of(function, s),
                                                  eq, detail::tell_place{}),
                              out);
}

/// Whether r precedes s: at the first i where one of r[i] and s[i] precedes the other it is r[i], or there is none and r is
/// shorter. As equal; \param comp  a strict weak order.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S,
          class Comp = less>
[[nodiscard]] bool lexicographical_compare(const P& where, R&& r, S&& s, Comp comp = {}) {
  const char* const function = "lexicographical_compare";
  return detail::answer_of<bool, Tuning>(
      function, where, detail::ask_less(where, detail::input_of(function, r), detail::input_of(function, s), comp));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S, output_for<P> O,
          class Comp = less>
void lexicographical_compare_into(const P& where, R&& r, S&& s, O&& out, Comp comp = {}) {
  const char* const function = "lexicographical_compare_into";
  detail::answer_into<Tuning>(
      function, where, detail::ask_less(where, detail::input_of(function, r), detail::input_of(function, s), comp),
      out);
}

/// Whether a sorted r has every element of a sorted s, and as often. As equal.
///
/// \param comp  a strict weak order. \pre r and s are sorted by it; checked in debug mode.
/// Stops soon after the first element of s that r has not: at 9 million of them that are in flight at once on an H200.
/// Cost: s read, and where r has up to about twice as many elements among those of s, of up to 16 bytes, r read too, a quarter of it
/// twice. Elsewhere of r about log2(n) elements for each 128 of s and what lies between these, at most log2(n) an element. Each 2048 of
/// s, or fewer, are begun by a search in all of r. One launch, none for an empty s.
/// Source: PMPP ch. 12; searches among parts as in merge path (Odeh, Green, Mwassi, Shmueli and Birk, 2012). Example: test/find.cpp, includes.
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S,
          class Comp = less>
[[nodiscard]] bool includes(const P& where, R&& r, S&& s, Comp comp = {}) {
  const char* const function = "includes";
  return detail::answer_of<bool, Tuning>(function, where, detail::ask_includes(function, where, r, s, comp));
}
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, range_for<P> R, range_for<P> S, output_for<P> O,
          class Comp = less>
void includes_into(const P& where, R&& r, S&& s, O&& out, Comp comp = {}) {
  const char* const function = "includes_into";
  detail::answer_into<Tuning>(function, where, detail::ask_includes(function, where, r, s, comp), out);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
[[nodiscard]] std::int64_t count(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& value) { return count<Tuning>(where, subrange{first, last}, value); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O>
void count_into(const P& where, It first, End last, O&& out, const std::type_identity_t<value_of<It>>& value) { count_into<Tuning>(where, subrange{first, last}, out, value); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] std::int64_t count_if(const P& where, It first, End last, Pred pred) { return count_if<Tuning>(where, subrange{first, last}, pred); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void count_if_into(const P& where, It first, End last, O&& out, Pred pred) { count_if_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] It find_if(const P& where, It first, End last, Pred pred) { return find_if<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void find_if_into(const P& where, It first, End last, O&& out, Pred pred) { find_if_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] It find_if_not(const P& where, It first, End last, Pred pred) { return find_if_not<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void find_if_not_into(const P& where, It first, End last, O&& out, Pred pred) { find_if_not_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
[[nodiscard]] It find(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& value) { return find<Tuning>(where, subrange{first, last}, value); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O>
void find_into(const P& where, It first, End last, O&& out, const std::type_identity_t<value_of<It>>& value) { find_into<Tuning>(where, subrange{first, last}, out, value); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
[[nodiscard]] bool contains(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& value) { return contains<Tuning>(where, subrange{first, last}, value); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O>
void contains_into(const P& where, It first, End last, O&& out, const std::type_identity_t<value_of<It>>& value) { contains_into<Tuning>(where, subrange{first, last}, out, value); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] bool all_of(const P& where, It first, End last, Pred pred) { return all_of<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void all_of_into(const P& where, It first, End last, O&& out, Pred pred) { all_of_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] bool any_of(const P& where, It first, End last, Pred pred) { return any_of<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void any_of_into(const P& where, It first, End last, O&& out, Pred pred) { any_of_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] bool none_of(const P& where, It first, End last, Pred pred) { return none_of<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void none_of_into(const P& where, It first, End last, O&& out, Pred pred) { none_of_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, range_for<P> S, class Eq = equal_to>
[[nodiscard]] It find_first_of(const P& where, It first, End last, S&& set, Eq eq = {}) { return find_first_of<Tuning>(where, subrange{first, last}, set, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, range_for<P> S, output_for<P> O, class Eq = equal_to>
void find_first_of_into(const P& where, It first, End last, S&& set, O&& out, Eq eq = {}) { find_first_of_into<Tuning>(where, subrange{first, last}, set, out, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Eq = equal_to>
[[nodiscard]] It adjacent_find(const P& where, It first, End last, Eq eq = {}) { return adjacent_find<Tuning>(where, subrange{first, last}, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Eq = equal_to>
void adjacent_find_into(const P& where, It first, End last, O&& out, Eq eq = {}) { adjacent_find_into<Tuning>(where, subrange{first, last}, out, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less>
[[nodiscard]] It is_sorted_until(const P& where, It first, End last, Comp comp = {}) { return is_sorted_until<Tuning>(where, subrange{first, last}, comp); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Comp = less>
void is_sorted_until_into(const P& where, It first, End last, O&& out, Comp comp = {}) { is_sorted_until_into<Tuning>(where, subrange{first, last}, out, comp); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, class Pred>
[[nodiscard]] bool is_partitioned(const P& where, It first, End last, Pred pred) { return is_partitioned<Tuning>(where, subrange{first, last}, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred>
void is_partitioned_into(const P& where, It first, End last, O&& out, Pred pred) { is_partitioned_into<Tuning>(where, subrange{first, last}, out, pred); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, class Eq = equal_to>
[[nodiscard]] bool equal(const P& where, It first, End last, It2 first2, End2 last2, Eq eq = {}) { return equal<Tuning>(where, subrange{first, last}, subrange{first2, last2}, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, output_for<P> O, class Eq = equal_to>
void equal_into(const P& where, It first, End last, It2 first2, End2 last2, O&& out, Eq eq = {}) { equal_into<Tuning>(where, subrange{first, last}, subrange{first2, last2}, out, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, class Eq = equal_to>
[[nodiscard]] pair<It, It2> mismatch(const P& where, It first, End last, It2 first2, End2 last2, Eq eq = {}) { return mismatch<Tuning>(where, subrange{first, last}, subrange{first2, last2}, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, output_for<P> O, class Eq = equal_to>
void mismatch_into(const P& where, It first, End last, It2 first2, End2 last2, O&& out, Eq eq = {}) { mismatch_into<Tuning>(where, subrange{first, last}, subrange{first2, last2}, out, eq); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, class Comp = less>
[[nodiscard]] bool lexicographical_compare(const P& where, It first, End last, It2 first2, End2 last2, Comp comp = {}) { return lexicographical_compare<Tuning>(where, subrange{first, last}, subrange{first2, last2}, comp); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, output_for<P> O, class Comp = less>
void lexicographical_compare_into(const P& where, It first, End last, It2 first2, End2 last2, O&& out, Comp comp = {}) { lexicographical_compare_into<Tuning>(where, subrange{first, last}, subrange{first2, last2}, out, comp); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, class Comp = less>
[[nodiscard]] bool includes(const P& where, It first, End last, It2 first2, End2 last2, Comp comp = {}) { return includes<Tuning>(where, subrange{first, last}, subrange{first2, last2}, comp); }
template <find_tuning Tuning = tuned<find_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, end_of<It2> End2, output_for<P> O, class Comp = less>
void includes_into(const P& where, It first, End last, It2 first2, End2 last2, O&& out, Comp comp = {}) { includes_into<Tuning>(where, subrange{first, last}, subrange{first2, last2}, out, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
