// SPDX-License-Identifier: Apache-2.0
//
// Moves by index: gather, gather_if, scatter, scatter_if.
//
//   index            3 0 2                 gather:  out[i] = in[index[i]]      d a c
//   in               a b c d               scatter: out[index[i]] = in[i]
//
// Indices, and what is read or written in order, move in vectors of 16 bytes as in transform; what an index names moves one by
// one: a sector of 32 bytes of memory for each element, if no other is near. Work n; one launch; no scratch. The result is the
// same on every run, for scatter if no two elements go to one place. (PMPP ch. 5 and 6.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class In>
struct fetch {
  In in;
  template <class Index>
  PMPP_HOST_DEVICE value_of<In> operator()(const Index& i) const {
    return in[static_cast<std::ptrdiff_t>(i)];
  }
};
/// Reads by index where a predicate of the stencil is true; the place is written only then.
template <class In, class Out, class Pred>
struct fetch_if {
  In in;
  Out out;
  Pred pred;
  template <class Index, class S>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const pair<Index, S>& x) const {
    if (static_cast<bool>(pred(x.second)))
      out[i] = static_cast<value_of<Out>>(in[static_cast<std::ptrdiff_t>(x.first)]);
  }
};
template <class Out>
struct put_at {
  Out out;
  template <class T, class Index>
  PMPP_HOST_DEVICE void operator()(std::int64_t, const pair<T, Index>& x) const {
    out[static_cast<std::ptrdiff_t>(x.second)] = static_cast<value_of<Out>>(x.first);
  }
};
template <class Out, class Pred>
struct put_at_if {
  Out out;
  Pred pred;
  template <class T, class Index, class S>
  PMPP_HOST_DEVICE void operator()(std::int64_t, const pair<pair<T, Index>, S>& x) const {
    if (static_cast<bool>(pred(x.second)))
      out[static_cast<std::ptrdiff_t>(x.first.second)] = static_cast<value_of<Out>>(x.first.first);
  }
};

/// Debug mode: every index, of those that are used, lies in [0, extent).
template <class Index>
struct index_check {
  Index index;
  std::int64_t extent;
  message_text what;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto place = static_cast<std::int64_t>(index[i]);
    if (place < 0 || place >= extent) bad_place(i, place, extent, what.text);
  }
};
template <class Index, class Stencil, class Pred>
struct index_check_if {
  index_check<Index> check;
  Stencil stencil;
  Pred pred;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    if (static_cast<bool>(pred(stencil[i]))) check(i);
  }
};
/// How many elements there are behind an argument; -1 if it is an iterator, which does not say.
template <class R>
std::int64_t known_extent(R& r) {
  if constexpr (random_access<std::decay_t<R>>)
    return -1;
  else
    return std::end(r) - std::begin(r);
}

template <class Index>
constexpr bool require_index() {
  static_assert(std::is_integral_v<Index>, "pmpp: indices must be integers");
  return std::is_integral_v<Index>;
}

/// Of what an index names, and an output of n elements.
template <class In, class O>
void check_gathered(const char* function, In& in, O& out, const item_count& count) {
  const auto from = detail::unwrap(detail::begin_of(in));
  const std::int64_t extent = detail::known_extent(in);
  if (extent != 0) detail::require_not_null(function, "in", from, count.bound);
  if (extent >= 0 && count.pointer == nullptr)
    detail::check_output(function, "out", out, count.bound, input<std::remove_const_t<decltype(from)>>{from, {extent}});
  else
    detail::check_output(function, "out", out, count.bound);
}
/// Of elements, their indices, and what these name.
template <class In, class M, class O>
void check_scattered(const char* function, const input<In>& in, M& index, O& out) {
  require_index<value_of<decltype(detail::unwrap(detail::begin_of(index)))>>();
  detail::check_room(function, "index", index, in.count.bound);
  const auto target = detail::unwrap(detail::begin_of(out));
  require_writable<std::remove_const_t<decltype(target)>>();
  const std::int64_t extent = detail::known_extent(out);
  if (extent != 0) detail::require_not_null(function, "out", target, in.count.bound);
  if (extent > 0 && in.count.pointer == nullptr) {
    const auto at = detail::unwrap(detail::begin_of(index));
    detail::check_apart(function, "out", target, extent, in);
    detail::check_apart(function, "out", target, extent, input<std::remove_const_t<decltype(at)>>{at, in.count});
  }
}

/// Writes x[i], of type T, to place i of an output that calls f(i, x[i]).
template <class P, class In, class F>
void hand_to(const P& where, const input<In>& in, const F& f) {
  detail::copy_elements<tuned<transform_tuning>>(where, in, tabulate_output_iterator<value_of<In>, F>(f));
}
template <class A, class B>
auto zip_of(const A& a, const B& b) {
  return zip_iterator<A, B>(a, b);
}

/// index, in and what is to be written, checked; f(indices, elements, target) goes on.
template <class P, class M, class Source, class O, class Used, class F>
void with_moved(const char* function, const P& where, const input<M>& index, Source& source, O& out,
                const char* indexed_name, std::int64_t extent, const Used& used, const F& f) {
  if constexpr (debug_mode) {
    if (extent >= 0) {
      const index_check<M> check{index.first, extent, message_text(indexed_name)};
      if constexpr (std::is_same_v<Used, std::nullptr_t>)
        detail::check_each(where, index.count, check);
      else
        detail::check_each(
            where, index.count,
            index_check_if<M, decltype(used.first), decltype(used.second)>{check, used.first, used.second});
    }
  }
  const auto from = detail::with_stored(detail::unwrap(detail::begin_of(source)));
  const auto target = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  detail::check_reachable(where, function, detail::zip_of(from, target));
  f(from, target);
}

}  // namespace detail

/// Writes in[index[i]] to out[i], for each of the indices.
///
/// \param index  integers of any type: a range, or two iterators, or an iterator and a device_count; visible to `where`.
///               \pre each lies in `in`; checked in debug mode if `in` is a range.
/// \param in     an iterator or a range; visible to `where`.
/// \param out    an iterator, or a range with room for an element an index; visible to `where`. It must not overlap `in`; it may
///               be index.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n indices and n elements read, n written; one launch.
/// \throws std::invalid_argument for a null or reversed input or overlap, std::length_error if out is too short; cuda_error.
/// Debug mode: std::out_of_range with the place and the index (on a GPU a trap, with both). Example: test/gather.cpp, gather.
template <execution_policy P, range_for<P> M, output_for<P> In, output_for<P> O>
auto gather(const P& where, M&& index, In&& in, O&& out) {
  const char* const function = "gather";
  const auto at = detail::input_of(function, index);
  detail::require_index<element_value<M>>();
  detail::check_gathered(function, in, out, at.count);
  detail::with_moved(function, where, at, in, out, "gather: index", detail::known_extent(in), nullptr,
                     [&](const auto& from, const auto& target) {
                       using source = std::remove_cvref_t<decltype(from)>;
                       using T = value_of<std::remove_cvref_t<decltype(target)>>;
                       // More vectors took longer: 2^26 at multiples of the golden ratio 2052 us on an H100, of four 2230.
                       detail::copy_elements<transform_tuning{.vectors_per_thread = 2}>(
                           where, detail::mapped<T>(at, detail::fetch<source>{from}), target);
                     });
  return detail::begin_of(out) + at.count.bound;
}

/// Writes in[index[i]] to out[i] where pred(stencil[i]) is true, and leaves out[i] as it is elsewhere. As gather.
///
/// \param stencil  a range as long as index, or an iterator; visible to `where`.
/// \param pred     callable on `where`'s machine; without it the stencil itself is the condition.
/// An index where pred is false is not used and may be anything.
template <execution_policy P, range_for<P> M, output_for<P> S, output_for<P> In, output_for<P> O, class Pred = identity>
auto gather_if(const P& where, M&& index, S&& stencil, In&& in, O&& out, Pred pred = {}) {
  const char* const function = "gather_if";
  const auto at = detail::input_of(function, index);
  detail::require_index<element_value<M>>();
  detail::check_gathered(function, in, out, at.count);
  detail::check_room(function, "stencil", stencil, at.count.bound);
  const auto condition = detail::unwrap(detail::begin_of(stencil));
  using stencils = std::remove_const_t<decltype(condition)>;
  if constexpr (detail::require_marked<gpu_execution<P>, Pred>() &&
                detail::require_predicate<Pred, value_of<stencils>>())
    detail::with_moved(function, where, at, in, out, "gather_if: index", detail::known_extent(in),
                       pair<stencils, Pred>{condition, pred}, [&](const auto& from, const auto& target) {
                         using source = std::remove_cvref_t<decltype(from)>;
                         using result = std::remove_cvref_t<decltype(target)>;
                         const auto both = detail::zip_of(at.first, condition);
                         detail::hand_to(where, detail::input<std::remove_const_t<decltype(both)>>{both, at.count},
                                         detail::fetch_if<source, result, Pred>{from, target, pred});
                       });
  return detail::begin_of(out) + at.count.bound;
}

/// Writes in[i] to out[index[i]], for each element of `in`.
///
/// \param in     a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param index  integers of any type, as an iterator or a range as long as `in`; visible to `where`. \pre each lies in out, and no
///               two are equal (which of two elements would remain is not specified). The first is checked in debug mode if out
///               is a range.
/// \param out    an iterator or a range; visible to `where`; it must not overlap an input.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements and n indices read, n elements written; one launch.
/// \throws as gather; std::length_error if index is a range that is shorter than `in`. Example: test/gather.cpp, scatter.
template <execution_policy P, range_for<P> R, output_for<P> M, output_for<P> O>
void scatter(const P& where, R&& in, M&& index, O&& out) {
  const char* const function = "scatter";
  const auto elements = detail::input_of(function, in);
  detail::check_scattered(function, elements, index, out);
  const auto at = detail::unwrap(detail::begin_of(index));
  using indices = std::remove_const_t<decltype(at)>;
  detail::with_moved(function, where, detail::input<indices>{at, elements.count}, in, out, "scatter: index",
                     detail::known_extent(out), nullptr, [&](const auto&, const auto& target) {
                       const auto both = detail::zip_of(detail::with_stored(elements.first), at);
                       detail::hand_to(where, detail::input<std::remove_const_t<decltype(both)>>{both, elements.count},
                                       detail::put_at<std::remove_cvref_t<decltype(target)>>{target});
                     });
}

/// Writes in[i] to out[index[i]] where pred(stencil[i]) is true. As scatter.
///
/// \param stencil  a range as long as `in`, or an iterator; visible to `where`.
/// \param pred     callable on `where`'s machine; without it the stencil itself is the condition.
template <execution_policy P, range_for<P> R, output_for<P> M, output_for<P> S, output_for<P> O, class Pred = identity>
void scatter_if(const P& where, R&& in, M&& index, S&& stencil, O&& out, Pred pred = {}) {
  const char* const function = "scatter_if";
  const auto elements = detail::input_of(function, in);
  detail::check_scattered(function, elements, index, out);
  detail::check_room(function, "stencil", stencil, elements.count.bound);
  const auto at = detail::unwrap(detail::begin_of(index));
  const auto condition = detail::unwrap(detail::begin_of(stencil));
  using indices = std::remove_const_t<decltype(at)>;
  using stencils = std::remove_const_t<decltype(condition)>;
  if constexpr (detail::require_marked<gpu_execution<P>, Pred>() &&
                detail::require_predicate<Pred, value_of<stencils>>())
    detail::with_moved(
        function, where, detail::input<indices>{at, elements.count}, in, out, "scatter_if: index",
        detail::known_extent(out), pair<stencils, Pred>{condition, pred}, [&](const auto&, const auto& target) {
          const auto all = detail::zip_of(detail::zip_of(detail::with_stored(elements.first), at), condition);
          detail::hand_to(where, detail::input<std::remove_const_t<decltype(all)>>{all, elements.count},
                          detail::put_at_if<std::remove_cvref_t<decltype(target)>, Pred>{target, pred});
        });
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End, output In, output_for<P> O> requires reachable_by<It, P>
auto gather(const P& where, It first, End last, In&& in, O&& out) { return gather(where, subrange{first, last}, in, out); }
template <execution_policy P, random_access It, end_of<It> End, output S, output In, output_for<P> O, class Pred = identity> requires reachable_by<It, P>
auto gather_if(const P& where, It first, End last, S&& stencil, In&& in, O&& out, Pred pred = {}) { return gather_if(where, subrange{first, last}, stencil, in, out, pred); }
template <execution_policy P, random_access It, end_of<It> End, output M, output_for<P> O> requires reachable_by<It, P>
void scatter(const P& where, It first, End last, M&& index, O&& out) { scatter(where, subrange{first, last}, index, out); }
template <execution_policy P, random_access It, end_of<It> End, output M, output S, output_for<P> O, class Pred = identity> requires reachable_by<It, P>
void scatter_if(const P& where, It first, End last, M&& index, S&& stencil, O&& out, Pred pred = {}) { scatter_if(where, subrange{first, last}, index, stencil, out, pred); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
