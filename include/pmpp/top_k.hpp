// SPDX-License-Identifier: Apache-2.0
//
// The k elements that come first in an order: top_k, partial_sort_copy; batched_top_k for rows of equal length, segmented_top_k for every segment of
// an array.
//
//   data      5 1 9 3 9 2     k = 3, comp = greater
//   values    9 9 5
//   indices   2 4 0           equals: the smaller index first
//
//   1. Numbers under less or greater become keys: code and index, all of which are different (top_keys/keys.hpp).
//   2. Rows that blocks hold in shared memory are selected from by digits there (top_keys/held.hpp; a long row, or a few, by all
//      multiprocessors together: top_keys/spread.hpp). Of others a sample says how good a key must be to come into question (top_keys/rows.hpp).
//   3. Blocks read the data once and keep the keys up to that limit, few more than k; one block sorts those of a row
//      (top_keys/kernels.hpp). If k is past 4096 they are sorted by digits (top_keys.hpp).
//
// Other elements, and other comparators, are sorted (top_k/sorted.hpp). The result is unique, whatever block was faster. Which
// places a sample reads is a function of n alone, but looks random to any data that were not made against it.
// (PMPP ch. 13; Zhang, Naruse, Li and Wang, 2023.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/equal_segments.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/top_k/host.hpp>
#include <pmpp/top_keys.hpp>
#include <pmpp/top_k/sorted.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class O>
using output_element = value_of<std::remove_const_t<decltype(unwrap(begin_of(std::declval<O&>())))>>;

/// Where results go, on the host.
template <class Values, class Indices>
struct top_k_output {
  Values values;
  Indices indices;
  std::int64_t k;

  template <class C>
  void put(std::int64_t row, std::int64_t place, const C& c) const {
    block::assign(values, row * k + place, c.first);
    block::assign(indices, row * k + place, c.second);
  }
};

/// Outputs of `places` values and indices, checked.
template <class Values, class Indices, class... Inputs>
auto checked_top_k_output(const char* function, Values& values_out, Indices& indices_out, std::int64_t places,
                          std::int64_t k, const Inputs&... inputs) {
  check_output(function, "values_out", values_out, places, inputs...);
  check_output(function, "indices_out", indices_out, places, inputs...);
  const auto values = detail::with_stored(detail::unwrap(begin_of(values_out)));
  const auto indices = unwrap(begin_of(indices_out));
  static_assert(std::is_integral_v<output_element<Indices>> || std::is_same_v<output_element<Indices>, discarded>,
                "pmpp::top_k: indices_out must take an integer");
  return top_k_output<std::remove_const_t<decltype(values)>, std::remove_const_t<decltype(indices)>>{values, indices,
                                                                                                     k};
}
template <class Code, class Values, class Indices>
auto to_numbers(const top_k_output<Values, Indices>& out) {
  return selection_output<Code, Values, Indices>{out.values, out.indices, out.k, 0, false, {}};
}

/// The code by which elements are selected; void: by sorting.
template <class T, class Comp>
using selected_by = typename code_under<T, Comp>::type;

inline void check_k(const char* function, std::int64_t k, std::int64_t most) {
  require(0 <= k && k <= most, [&] {
    return detail::text("pmpp::") + function + ": k is " + detail::text::of(k) + ", but must lie in [0, " +
           detail::text::of(most) + "]";
  });
}

/// What top_k does, for a function of this name.
template <top_k_tuning Tuning, class Order, class P, class In, class V, class X, class Comp>
void top_k_of(const char* function, const P& where, const input<In>& elements, std::int64_t k, V& values_out,
              X& indices_out, const Comp& comp) {
  using T = detail::stored_as<value_of<In>>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of top_k must be trivially copyable");
  const auto in = detail::with_stored(elements);
  const auto order = detail::ordered_by<gpu_execution<P>, value_of<In>>(comp);
  const std::int64_t n = in.count.bound;
  detail::check_k(function, k, n);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, k, k, in);
  if (k == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{target.values, target.indices}});
    using code = detail::selected_by<T, std::remove_const_t<decltype(order)>>;
    if constexpr (!std::is_void_v<code>) {
      const auto to = detail::to_numbers<code>(target);
      if (!detail::spread_numbers<Tuning, code>(where, in.first, in.count, n, 1, k, to) &&
          !detail::top_k_by_one_sort<Tuning, code>(where, in, k, target.values, target.indices))
        detail::select_numbers<Tuning, code, Order>(where, in.first, in.count, n, 1, k, to);
    } else
      detail::top_k_by_sorting<T>(where, in, k, target.values, target.indices, order);
  } else {
    detail::top_k_on_host<T>(where, in.first, 0, in.count.get(), 0, k, target, detail::merging_order<T>(order));
  }
}

/// What partial_sort_copy does: as top_k, but numbers may be sorted without their places.
template <top_k_tuning Tuning, class P, class In, class O, class Comp>
void partial_sort_copy_of(const char* function, const P& where, const input<In>& elements, std::int64_t k, O& out,
                          const Comp& comp) {
  if constexpr (kernel_execution<P>) {
    using T = detail::stored_as<value_of<In>>;
    const auto order = detail::ordered_by<gpu_execution<P>, value_of<In>>(comp);
    if constexpr (!std::is_void_v<detail::selected_by<T, std::remove_const_t<decltype(order)>>>) {
      const std::int64_t n = elements.count.bound;
      constexpr top_k_sorting sorting = Tuning.sorting;
      const bool many = k > sorting.many && (n <= sorting.keys || n / k < sorting.share);
      if (many || (k > sorting.few && n <= min(Tuning.spread, sorting.bytes / std::int64_t(sizeof(T))))) {
        const auto in = detail::with_stored(elements);
        check_output(function, "out", out, k, in);
        const auto values = detail::with_stored(detail::unwrap(begin_of(out)));
        detail::check_reachable(where, function, zip_iterator{in.first, values});
        return detail::take_from_sorted_keys<T>(function, where, in, k, values, order);
      }
    }
  }
  discard_iterator nowhere;
  detail::top_k_of<Tuning, sorted_order>(function, where, elements, k, out, nowhere, comp);
}

/// Writes a place, and the element that lies there.
template <class In, class Values, class Indices>
struct write_place_and_element {
  In in;
  Values values;
  Indices indices;
  PMPP_HOST_DEVICE void operator()(std::int64_t i, std::int64_t place) const {
    block::assign(indices, i, place);
    block::assign(values, i, in[place]);
  }
};

/// The same by a projection: what that gives is selected, numbers in one pass, and of the elements k are read.
template <top_k_tuning Tuning, class P, class In, class V, class X, class Comp, class Proj>
void top_k_by_projection(const char* function, const P& where, const input<In>& in, std::int64_t k, V& values_out,
                         X& indices_out, const Comp& comp, const Proj& proj) {
  detail::check_k(function, k, in.count.bound);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, k, k, in);
  const auto elements = detail::with_stored(in);
  using write = write_place_and_element<std::remove_const_t<decltype(elements.first)>,
                                        std::remove_const_t<decltype(target.values)>,
                                        std::remove_const_t<decltype(target.indices)>>;
  if constexpr (kernel_execution<P>)
    detail::check_reachable(where, function, zip_iterator{target.values, target.indices});
  discard_iterator nowhere;
  auto both = tabulate_output<std::int64_t>(write{elements.first, target.values, target.indices});
  detail::top_k_of<Tuning, sorted_order>(function, where, detail::projected_input(in, proj), k, nowhere, both, comp);
}

}  // namespace detail

/// Writes the k elements of r that come first under comp, in order, and where they lie: what a stable sort under comp
/// would put in front.
///
/// \param r            a range, or two iterators, or an iterator and a device_count; visible to `where`; not changed.
///                     Elements are trivially copyable.
/// \param k            0 <= k <= n.
/// \param values_out   an iterator, or a range with room for k elements; visible to `where`; does not overlap r.
/// \param indices_out  the same for integers that can hold n: values_out[i] is r[indices_out[i]].
/// \param comp         as of sort; greater gives the largest elements, less the smallest. Of equal elements those with
///                     the smaller index come first; numbers are in the order of sort, in which NaN is last.
/// \param order        sorted_order{}, or any_order{}: then values and indices of the k may come in any order, which is the same on
///                     every run. From k = 2^20 on, numbers of up to 4 bytes are then parted, as by nth_element, and not sorted.
///                     Or a projection (core/projected.hpp), as &T::member: elements come in the order of what it gives.
/// A device_count that is less than k leaves the last places of the outputs as they are.
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured.
/// Cost, of numbers under less or greater: n elements read, and about 2 % of them for a sample; one launch for k = 1, else two. Up to
/// 65,536 of them, and of more than 16,384, up to some millions, those that multiprocessors hold in shared memory together, for k up to 4096, take one
/// launch or two and no sample (scratch: 25 KB of state, 8 bytes for each of k + 1024 keys, 16 where elements have 8). Else scratch: 32 KB for each block that runs at once, 64 from k = 2049 on (1025 for
/// elements of 8 bytes), of several rows four times as many. From k = 4097 on (2049) those that the sample lets through are
/// sorted, for k > n / 16 all: 16 bytes of scratch for each element (32), up to 14 launches (21). Other elements are
/// sorted with their indices. Scratch comes from the workspace or one allocation in stream order.
/// \throws std::invalid_argument for a k outside of [0, n], a null or reversed range, a null output; std::length_error
/// for a short output; out_of_memory, cuda_error. Source: PMPP ch. 13. Example: examples/19_k_nearest.cpp.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, output_for<P> V,
          output_for<P> X, class Comp = greater, class Order = sorted_order>
void top_k(const P& where, R&& r, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {},
           [[maybe_unused]] Order order = {}) {
  constexpr bool is_order = std::is_same_v<Order, sorted_order> || std::is_same_v<Order, any_order>,
                 is_projection = detail::projects<Order, element_value<R>>;
  static_assert(
      is_order || is_projection,
      "pmpp::top_k: after the comparator come sorted_order{}, any_order{} or a projection: &T::member, or f(x)");
  const auto in = detail::input_of("top_k", r);
  if constexpr (is_order)
    detail::top_k_of<Tuning, Order>("top_k", where, in, k, values_out, indices_out, comp);
  else if constexpr (is_projection)
    detail::top_k_by_projection<Tuning>("top_k", where, in, k, values_out, indices_out, comp, order);
}

/// Writes the elements of r that come first under comp to out, sorted: as many as there is room for.
///
/// \param out  a range of up to n elements, or more, of which the last stay as they are; visible to `where`; does not overlap r.
/// \return the iterator past the last element written. As top_k otherwise, whose values these are; here the default is less.
/// Stable: of equal elements the first of r come, in order. proj: a projection, as of top_k. Example: test/top_k.cpp, partial_sort_copy.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, range_for<P> O,
          class Comp = less, class Proj = identity>
auto partial_sort_copy(const P& where, R&& r, O&& out, Comp comp = {}, [[maybe_unused]] Proj proj = {}) {
  const char* const function = "partial_sort_copy";
  const auto in = detail::input_of(function, r);
  const std::int64_t k = min(in.count.bound, std::int64_t(std::end(out) - std::begin(out)));
  discard_iterator nowhere;
  if constexpr (std::is_same_v<Proj, identity>)
    detail::partial_sort_copy_of<Tuning>(function, where, in, k, out, comp);
  else
    detail::top_k_by_projection<Tuning>(function, where, in, k, out, nowhere, comp, proj);
  return std::begin(out) + k;
}

/// For each row of r, writes the k elements that come first under comp: k places for each row.
///
/// \param r            as of top_k: rows of row_length elements, one after the other. A device_count is not allowed.
/// \param row_length   elements of a row; the number of elements is a multiple of it.
/// \param k            0 <= k <= row_length.
/// \param values_out   an iterator, or a range with room for k elements of each row: those of row i begin at place i * k.
/// \param indices_out  the same for integers: places in the row, from 0 on.
/// \param which        sorted_order{}, or any_order{}: then the k of each row may come in any order, which is the same on every run.
/// As top_k, whose launches serve all rows. For a k past 4096 (2048) rows are taken together, 2^24 elements at a time: keys that their
/// samples let through, or all where k is past a 16th of a row or elements are up to 2^21, are sorted, and by rows at the end. Other
/// elements than numbers are sorted row by row. \throws as top_k; std::invalid_argument for a row_length that does not divide n.
/// Example: test/top_k.cpp, rows of equal length.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, output_for<P> V,
          output_for<P> X, class Comp = greater, class Order = sorted_order>
void batched_top_k(const P& where, R&& r, std::int64_t row_length, std::int64_t k, V&& values_out, X&& indices_out,
                   Comp comp = {}, [[maybe_unused]] Order which = {}) {
  static_assert(std::is_same_v<Order, sorted_order> || std::is_same_v<Order, any_order>,
                "pmpp::batched_top_k: after the comparator comes sorted_order{} or any_order{}");
  const char* const function = "batched_top_k";
  using T = detail::stored_as<element_value<R>>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of top_k must be trivially copyable");
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto order = detail::ordered_by<gpu_execution<P>, element_value<R>>(comp);
  const std::int64_t n = in.count.bound;
  require(in.count.pointer == nullptr && row_length >= 0 && (row_length == 0 ? n == 0 : n % row_length == 0), [&] {
    return detail::text("pmpp::batched_top_k: ") +
           (in.count.pointer != nullptr ? "a device_count" : detail::text::of(n) + " elements") +
           " cannot be cut into rows of " + detail::text::of(row_length);
  });
  const std::int64_t rows = n == 0 ? 0 : n / row_length;
  detail::check_k(function, k, row_length);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, rows * k, k, in);
  if (k == 0 || rows == 0) return;
  const detail::input<detail::equal_offsets> ends{detail::offsets_of_rows(row_length), {rows + 1}};
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{target.values, target.indices}});
    using code = detail::selected_by<T, std::remove_const_t<decltype(order)>>;
    if constexpr (!std::is_void_v<code>) {
      const auto to = detail::to_numbers<code>(target);
      if (!detail::spread_numbers<Tuning, code>(where, in.first, in.count, row_length, rows, k, to) &&
          (rows > 1 || !detail::top_k_by_one_sort<Tuning, code>(where, in, k, target.values, target.indices)))
        detail::select_numbers<Tuning, code, Order, true>(where, in.first, in.count, row_length, rows, k, to);
    } else
      detail::segmented_top_k_by_sorting<T>(where, in.first, n, ends, k, target.values, target.indices, order);
  } else {
    detail::segmented_top_k_on_host<T>(where, in.first, ends.first, rows, k, target, detail::merging_order<T>(order));
  }
}

/// For each segment of r, writes the k elements that come first under comp: a row of k places for each segment. Of a
/// shorter segment all elements come, and the places after them stay as they are.
///
/// \param r, k, comp   as of top_k; k >= 0.
/// \param offsets      a range of integers, one more than there are segments; visible to `where`: segment s is
///                     [offsets[s], offsets[s + 1]). \pre they do not decrease and lie in [0, n] (checked in debug mode).
/// \param values_out   an iterator, or a range with room for k elements for each segment: those of segment s begin at
///                     place s * k.
/// \param indices_out  the same for integers: places in the segment, from 0 on.
/// As top_k: a block takes a segment, several a long one, whose length the host need not know. For numbers and k up to 4096 (2048 where
/// elements have 8 bytes) one launch without scratch for n up to 65,536 (k = 1: 2^21), else two, and scratch. Many short segments,
/// those of other elements, and all for a larger k, are sorted.
/// \throws as top_k; std::invalid_argument for no offsets. Example: test/top_k.cpp, segments.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> V, output_for<P> X, class Comp = greater>
void segmented_top_k(const P& where, R&& r, Offsets&& offsets, std::int64_t k, V&& values_out, X&& indices_out,
                     Comp comp = {}) {
  const char* const function = "segmented_top_k";
  using T = detail::stored_as<element_value<R>>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of top_k must be trivially copyable");
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto order = detail::ordered_by<gpu_execution<P>, element_value<R>>(comp);
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  const std::int64_t n = in.count.bound, segments = at.count.bound - 1;
  detail::check_k(function, k, segments == 0 ? k : (std::int64_t(1) << 62) / segments);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, segments * k, k, in, at);
  detail::check_offsets(where, in, at);
  if (k == 0 || n == 0 || segments == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{target.values, target.indices}});
    using code = detail::selected_by<T, std::remove_const_t<decltype(order)>>;
    if constexpr (!std::is_void_v<code>)
      if (detail::select_in_segments<Tuning, code>(where, in.first, at, n, k, detail::to_numbers<code>(target))) return;
    detail::segmented_top_k_by_sorting<T>(where, in.first, n, at, k, target.values, target.indices, order);
  } else {
    detail::segmented_top_k_on_host<T>(where, in.first, at.first, at.count.get() - 1, k, target,
                                       detail::merging_order<T>(order));
  }
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, output V, output X, class Comp = greater, class Order = sorted_order>
void top_k(const P& where, It first, End last, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}, Order order = {}) { top_k<Tuning>(where, subrange{first, last}, k, values_out, indices_out, comp, order); }

template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, range_for<P> O, class Comp = less, class Proj = identity> requires reachable_by<It, P>
auto partial_sort_copy(const P& where, It first, End last, O&& out, Comp comp = {}, Proj proj = {}) { return partial_sort_copy<Tuning>(where, subrange{first, last}, out, comp, proj); }

template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, output V, output X, class Comp = greater, class Order = sorted_order>
void batched_top_k(const P& where, It first, End last, std::int64_t row_length, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}, Order which = {}) { batched_top_k<Tuning>(where, subrange{first, last}, row_length, k, values_out, indices_out, comp, which); }

template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output V, output X, class Comp = greater>
void segmented_top_k(const P& where, It first, End last, Offsets&& offsets, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}) { segmented_top_k<Tuning>(where, subrange{first, last}, offsets, k, values_out, indices_out, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
