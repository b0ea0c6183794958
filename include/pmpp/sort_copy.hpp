// SPDX-License-Identifier: Apache-2.0
//
// Sorts into an output, and leaves the input as it is: sort_copy, sort_by_key_copy. As sort.hpp, whose first pass reads the input
// and writes elsewhere anyway: nothing is copied before.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Writes the elements of r to out, sorted. Stable.
///
/// \param r     as of sort; not changed.
/// \param out   an iterator, or a range with room for as many elements; visible to `where`; apart from r. Elements are of r's type.
/// \param comp, proj  as of sort: the projection is &T::member, f(x), or members<&T::first, &T::second>{}.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// Asynchronous on a GPU; may be captured. Scratch and cost: as sort.
/// \throws as sort; std::invalid_argument if out overlaps r, std::length_error if it is too short. Example: test/sort_copy.cpp.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less, class Proj = identity>
auto sort_copy(const P& where, R&& r, O&& out, Comp comp = {}, Proj proj = {}) {
  const char* const function = "sort_copy";
  const auto in = detail::input_of(function, r);
  detail::check_output(function, "out", out, in.count.bound, in);
  const auto first = detail::begin_of(out);
  const auto target = detail::unwrap(first);
  static_assert(std::is_same_v<value_of<std::remove_const_t<decltype(target)>>, element_value<R>>,
                "pmpp::sort_copy: out has another type than the elements");
  detail::sort_elements<Tuning, element_value<R>>(function, where, in.first, target, in.count,
                                                  detail::order_by<element_value<R>>(comp, proj));
  return first + in.count.bound;
}

/// Writes keys, sorted, and the value of each key beside it.
///
/// \param keys, values          as of sort_by_key; not changed.
/// \param keys_out, values_out  as out of sort_copy, of the same types; apart from keys and values.
/// \return the iterators past the last key and value written, as a pair. As sort_by_key otherwise. Example: test/sort_copy.cpp.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> K, output_for<P> V,
          output_for<P> KOut, output_for<P> VOut, class Comp = less, class Proj = identity>
auto sort_by_key_copy(const P& where, K&& keys, V&& values, KOut&& keys_out, VOut&& values_out, Comp comp = {},
                      Proj proj = {}) {
  const char* const function = "sort_by_key_copy";
  const auto in = detail::pairs_of(function, keys, values);
  const std::int64_t n = in.count.bound;
  detail::check_output(function, "keys_out", keys_out, n, in);
  detail::check_output(function, "values_out", values_out, n, in);
  const auto k = detail::begin_of(keys_out);
  const auto v = detail::begin_of(values_out);
  const zip_iterator target{k, v};
  using T = value_of<std::remove_const_t<decltype(in.first)>>;
  static_assert(std::is_same_v<value_of<std::remove_const_t<decltype(target)>>, T>,
                "pmpp::sort_by_key_copy: the outputs have other types than keys and values");
  const auto order = detail::order_by<element_value<K>>(comp, proj);
  detail::sort_elements<Tuning, T>(function, where, in.first, target, in.count,
                                   detail::by_first<std::remove_const_t<decltype(order)>>{order});
  const auto keys_end = k + n;
  const auto values_end = v + n;
  return pair<std::remove_const_t<decltype(keys_end)>, std::remove_const_t<decltype(values_end)>>{keys_end, values_end};
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Comp = less, class Proj = identity> requires reachable_by<It, P>
auto sort_copy(const P& where, It first, End last, O&& out, Comp comp = {}, Proj proj = {}) { return sort_copy<Tuning>(where, subrange{first, last}, out, comp, proj); }
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, output_for<P> KOut, output_for<P> VOut, class Comp = less, class Proj = identity> requires reachable_by<K, P>
auto sort_by_key_copy(const P& where, K first, End last, V&& values, KOut&& keys_out, VOut&& values_out, Comp comp = {}, Proj proj = {}) { return sort_by_key_copy<Tuning>(where, subrange{first, last}, values, keys_out, values_out, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
