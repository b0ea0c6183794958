// SPDX-License-Identifier: Apache-2.0
//
// Ranges that get shorter in place, selections by a value, and how many a selection would keep: remove, remove_copy, unique,
// unique_count.
//
//   r                  3 7 7 1 7 1 1     remove 7   3 1 1 1    unique   3 7 1 7 1    unique_count   5
//
// Each is a selection (select.hpp) with another predicate or output: work n, n elements read, the kept ones written, one launch;
// stable. What lies behind the new end is what it was, or what moved from there. (PMPP ch. 11.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

/// Whether the second of two neighbours is not the same as the first.
template <class Eq>
struct begins_a_run {
  Eq same;
  template <class T>
  PMPP_HOST_DEVICE std::int64_t operator()(const T& before, const T& x) const {
    return static_cast<bool>(same(before, x)) ? 0 : 1;
  }
};

}  // namespace detail

/// Removes the elements that equal a value from r, in place; those that stay keep their order.
///
/// \param r      a range, or two iterators, or an iterator and a device_count; visible to `where`. Elements are trivially copyable
///               and have operator==.
/// \param value  becomes an element before it is compared. A NaN equals nothing.
/// \return where r ends then; elements behind may be anything that r had. Waits for the policy's stream; remove_into leaves the new
/// length in *count_out, of any integer type, and does not. Cost and \throws as remove_if. Example: test/remove.cpp, remove.
template <execution_policy P, range_for<P> R>
auto remove(const P& where, R&& r, const element_value<R>& value) {
  return pmpp::remove_if(where, r, r, detail::equals_given<element_value<R>>{value});
}
template <execution_policy P, range_for<P> R, output_for<P> C>
void remove_into(const P& where, R&& r, C&& count_out, const element_value<R>& value) {
  pmpp::remove_if_into(where, r, r, count_out, detail::equals_given<element_value<R>>{value});
}

/// Copies the elements that do not equal a value; as remove_if.
template <execution_policy P, range_for<P> R, output_for<P> O>
auto remove_copy(const P& where, R&& r, O&& out, const element_value<R>& value) {
  return pmpp::remove_if(where, r, out, detail::equals_given<element_value<R>>{value});
}
template <execution_policy P, range_for<P> R, output_for<P> O, output_for<P> C>
void remove_copy_into(const P& where, R&& r, O&& out, C&& count_out, const element_value<R>& value) {
  pmpp::remove_if_into(where, r, out, count_out, detail::equals_given<element_value<R>>{value});
}

/// Keeps the first element of each run of equals, in place.
///
/// \param eq, proj  as of unique_copy.
/// \return where r ends then; as remove. unique_into does not wait. Example: test/remove.cpp, remove.
template <execution_policy P, range_for<P> R, class Eq = equal_to, class Proj = identity>
auto unique(const P& where, R&& r, Eq eq = {}, Proj proj = {}) {
  return pmpp::unique_copy(where, r, r, eq, proj);
}
template <execution_policy P, range_for<P> R, output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_into(const P& where, R&& r, C&& count_out, Eq eq = {}, Proj proj = {}) {
  pmpp::unique_copy_into(where, r, r, count_out, eq, proj);
}

/// How many runs of equals r has: what unique would keep. As unique_copy, but nothing is written: the work is a reduction over
/// neighbours, or where the device knows the length, a selection.
template <execution_policy P, range_for<P> R, class Eq = equal_to, class Proj = identity>
[[nodiscard]] std::int64_t unique_count(const P& where, R&& r, Eq eq = {}, Proj proj = {}) {
  const auto in = detail::input_of("unique_count", r);
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  if (const std::int64_t pairs = in.count.bound - 1; in.count.pointer == nullptr && pairs >= 0)
    return pmpp::transform_reduce(where, subrange{in.first, in.first + pairs}, in.first + 1, std::int64_t(1), plus{},
                                  detail::begins_a_run<std::remove_const_t<decltype(same)>>{same});
  return pmpp::unique_copy(where, r, discard_iterator{}, eq, proj).index;
}
template <execution_policy P, range_for<P> R, output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_count_into(const P& where, R&& r, C&& count_out, Eq eq = {}, Proj proj = {}) {
  const auto in = detail::input_of("unique_count_into", r);
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  if (const std::int64_t pairs = in.count.bound - 1; in.count.pointer == nullptr && pairs >= 0)
    return pmpp::transform_reduce_into(where, subrange{in.first, in.first + pairs}, in.first + 1, count_out,
                                       std::int64_t(1), plus{},
                                       detail::begins_a_run<std::remove_const_t<decltype(same)>>{same});
  pmpp::unique_copy_into(where, r, discard_iterator{}, count_out, eq, proj);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
auto remove(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& value) { return pmpp::remove(where, subrange{first, last}, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> C>
void remove_into(const P& where, It first, End last, C&& count_out, const std::type_identity_t<value_of<It>>& value) { pmpp::remove_into(where, subrange{first, last}, count_out, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O>
auto remove_copy(const P& where, It first, End last, O&& out, const std::type_identity_t<value_of<It>>& value) { return pmpp::remove_copy(where, subrange{first, last}, out, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O, output_for<P> C>
void remove_copy_into(const P& where, It first, End last, O&& out, C&& count_out, const std::type_identity_t<value_of<It>>& value) { pmpp::remove_copy_into(where, subrange{first, last}, out, count_out, value); }
template <execution_policy P, random_access It, end_of<It> End, class Eq = equal_to, class Proj = identity> requires reachable_by<It, P>
auto unique(const P& where, It first, End last, Eq eq = {}, Proj proj = {}) { return pmpp::unique(where, subrange{first, last}, eq, proj); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_into(const P& where, It first, End last, C&& count_out, Eq eq = {}, Proj proj = {}) { pmpp::unique_into(where, subrange{first, last}, count_out, eq, proj); }
template <execution_policy P, random_access It, end_of<It> End, class Eq = equal_to, class Proj = identity> requires reachable_by<It, P>
[[nodiscard]] std::int64_t unique_count(const P& where, It first, End last, Eq eq = {}, Proj proj = {}) { return pmpp::unique_count(where, subrange{first, last}, eq, proj); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_count_into(const P& where, It first, End last, C&& count_out, Eq eq = {}, Proj proj = {}) { pmpp::unique_count_into(where, subrange{first, last}, count_out, eq, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
