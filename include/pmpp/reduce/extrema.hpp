// SPDX-License-Identifier: Apache-2.0
//
// Extremal elements: min_element, max_element, minmax_element. Part of reduce.hpp, which includes this file.
//
//   1. An element becomes a pair of its value and its index; the reduction keeps the better pair, of equals the one with the
//      smaller index. So the order of operands does not matter and every lane keeps an accumulator of its own; within a lane
//      indices only grow, so a comparison of values is enough there.
//   2. The index travels as two words: a 4-byte value and its index fit one message between blocks.
//   3. On the host SIMD finds the extreme value of 256 elements; its place is looked up only where it is a new best.
//
// Traffic and launches as reduce. No identity is needed: infinities and user types are ordinary values. (PMPP ch. 10.)
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
#include <pmpp/reduce/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// For the extremal elements: a value and its index, -1 for an operand that is none. The index in two words, so that a
/// 4-byte value and its index fit one message (block/tile_state.hpp).
template <class T>
struct indexed {
  T value;
  std::uint32_t low, high;

  PMPP_HOST_DEVICE std::int64_t index() const { return static_cast<std::int64_t>(std::uint64_t(high) << 32 | low); }
};
struct make_indexed {
  template <class T>
  PMPP_HOST_DEVICE indexed<T> operator()(const pair<T, std::int64_t>& p) const {
    return {p.first, static_cast<std::uint32_t>(p.second), static_cast<std::uint32_t>(p.second >> 32)};
  }
};

/// The first of those that no other comes before; Greatest: the first of those that come before no other. Operands are
/// in order, so the first of equals is the left one.
template <class Comp, bool Greatest>
struct extremum_in_order {
  Comp comp;
  template <class T>
  PMPP_HOST_DEVICE indexed<T> operator()(const indexed<T>& a, const indexed<T>& b) const {
    return (Greatest ? comp(a.value, b.value) : comp(b.value, a.value)) ? b : a;
  }
};
/// The same for operands in any order: indices break ties.
template <class Comp, bool Greatest>
struct extremum {
  Comp comp;
  template <class T>
  PMPP_HOST_DEVICE indexed<T> operator()(const indexed<T>& a, const indexed<T>& b) const {
    if (b.index() < 0) return a;
    if (a.index() < 0) return b;
    const extremum_in_order<Comp, Greatest> in_order{comp};
    return a.index() < b.index() ? in_order(a, b) : in_order(b, a);
  }
};
template <class Comp, bool Greatest, class T>
struct operand_order<extremum<Comp, Greatest>, indexed<T>> {
  static constexpr bool any = true;
  static constexpr indexed<T> neutral{T{}, ~0u, ~0u};
  PMPP_HOST_DEVICE static extremum_in_order<Comp, Greatest> in_order(const extremum<Comp, Greatest>& op) {
    return {op.comp};
  }
};

/// One task of min_element or max_element on the host. SIMD finds the extreme value of 256 elements; only where it
/// beats what was found before, a second look finds its place.
template <class A, class It, class T, class Comp, bool Greatest>
A fold_task(const transform_iterator<zip_iterator<It, counting_iterator<std::int64_t>>, make_indexed, T>& in,
            std::int64_t begin, std::int64_t end, extremum<Comp, Greatest> op) {
  using V = value_of<It>;
  constexpr int lanes = 16, piece = 256;
  const It x = in.base.a;
  const auto before = [&](const V& a, const V& b) {
    return static_cast<bool>(Greatest ? op.comp(b, a) : op.comp(a, b));
  };
  const auto first_of = [&](const V& a, const V& b) { return before(b, a) ? b : a; };
  A best = in[begin];
  for (std::int64_t from = begin; from < end; from += piece) {
    const std::int64_t to = min(from + piece, end);
    V lane[lanes];
    for (int k = 0; k < lanes; ++k) lane[k] = best.value;
    std::int64_t i = from;
    for (; i + lanes <= to; i += lanes)
      for (int k = 0; k < lanes; ++k) lane[k] = first_of(lane[k], x[i + k]);
    for (; i < to; ++i) lane[0] = first_of(lane[0], x[i]);
    const V value = fold_elements<V>(lane, 0, lanes, first_of);
    if (!before(value, best.value)) continue;
    i = from;
    while (i < to && (!before(x[i], best.value) || before(value, x[i]))) ++i;  // passes by NaN
    if (i < to) best = in[i];                                                  // else comp is no order
  }
  return best;
}

/// Least and greatest at once.
template <class Least, class Most>
struct both_extrema {
  Least least;
  Most most;
  template <class E>
  PMPP_HOST_DEVICE pair<E, E> operator()(const pair<E, E>& a, const pair<E, E>& b) const {
    return {least(a.first, b.first), most(a.second, b.second)};
  }
};
template <class Comp, class E>
struct operand_order<both_extrema<extremum<Comp, false>, extremum<Comp, true>>, pair<E, E>> {
  using op_type = both_extrema<extremum<Comp, false>, extremum<Comp, true>>;
  static constexpr bool any = true;
  static constexpr E nothing{decltype(E::value){}, ~0u, ~0u};
  static constexpr pair<E, E> neutral{nothing, nothing};
  PMPP_HOST_DEVICE static both_extrema<extremum_in_order<Comp, false>, extremum_in_order<Comp, true>> in_order(
      const op_type& op) {
    return {{op.least.comp}, {op.most.comp}};
  }
};
struct twice {
  template <class E>
  PMPP_HOST_DEVICE pair<E, E> operator()(const E& e) const {
    return {e, e};
  }
};

/// Writes the index alone.
template <class Out>
struct write_index_to {
  Out out;
  template <class T>
  PMPP_HOST_DEVICE void operator()(const indexed<T>& result) const {
    *out = static_cast<value_of<Out>>(result.index() < 0 ? 0 : result.index());
  }
};

template <class In>
auto with_index(const input<In>& in) {
  using counting = counting_iterator<std::int64_t>;
  return mapped<indexed<value_of<In>>>(input<zip_iterator<In, counting>>{{in.first, counting(0)}, in.count},
                                       make_indexed{});
}

template <reduce_tuning Tuning, bool Greatest, class P, class R, class Comp, class Proj>
auto extreme_element(const char* function, const P& where, R& r, const Comp& comp, const Proj& proj) {
  const auto elements = detail::projected_input(input_of(function, r), proj);
  const auto in = detail::with_index(detail::with_stored(elements));
  using A = value_of<decltype(in.first)>;
  const auto by = detail::ordered_by<gpu_execution<P>, value_of<decltype(elements.first)>>(comp);
  using order = std::remove_const_t<decltype(by)>;
  const A found = reduce_and_wait<Tuning>(function, where, in, initial<A>{}, extremum<order, Greatest>{by});
  return std::begin(r) + (found.index() < 0 ? 0 : found.index());
}

template <reduce_tuning Tuning, bool Greatest, class P, class R, class O, class Comp, class Proj>
void extreme_element_into(const char* function, const P& where, R& r, O& out, const Comp& comp, const Proj& proj) {
  check_output(function, "out", out, 1);
  const auto elements = detail::projected_input(input_of(function, r), proj);
  const auto in = detail::with_index(detail::with_stored(elements));
  using A = value_of<decltype(in.first)>;
  const auto by = detail::ordered_by<gpu_execution<P>, value_of<decltype(elements.first)>>(comp);
  const auto target = unwrap(begin_of(out));
  reduce_and_sink<Tuning>(where, in, initial<A>{}, extremum<std::remove_const_t<decltype(by)>, Greatest>{by},
                          write_index_to<std::remove_const_t<decltype(target)>>{target});
}

}  // namespace detail

/// The first element that no other comes before under comp; the end of an empty range.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. Any trivially copyable T.
/// \param comp  a strict weak order of the elements. A NaN breaks the order of less: with one in the range, which element
///              is found is not specified (the same one on every run).
/// \param proj  a projection (core/projected.hpp), as &T::member: comp compares what it gives.
/// Waits for the policy's stream; min_element_into writes the index to *out (0 for an empty range) and does not.
/// \throws as reduce. Cost: n elements read; one launch. Source: PMPP ch. 10. Example: test/reduce.cpp, extremal elements.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Proj = identity>
[[nodiscard]] auto min_element(const P& where, R&& r, Comp comp = {}, Proj proj = {}) {
  return detail::extreme_element<Tuning, false>("min_element", where, r, comp, proj);
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less, class Proj = identity>
void min_element_into(const P& where, R&& r, O&& out, Comp comp = {}, Proj proj = {}) {
  detail::extreme_element_into<Tuning, false>("min_element_into", where, r, out, comp, proj);
}

/// The first element that comes before no other under comp; as min_element.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Proj = identity>
[[nodiscard]] auto max_element(const P& where, R&& r, Comp comp = {}, Proj proj = {}) {
  return detail::extreme_element<Tuning, true>("max_element", where, r, comp, proj);
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less, class Proj = identity>
void max_element_into(const P& where, R&& r, O&& out, Comp comp = {}, Proj proj = {}) {
  detail::extreme_element_into<Tuning, true>("max_element_into", where, r, out, comp, proj);
}

/// {min_element, max_element} in one pass. Both are the first of equals (std::minmax_element returns the last maximum).
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Proj = identity>
[[nodiscard]] auto minmax_element(const P& where, R&& r, Comp comp = {}, Proj proj = {}) {
  const auto elements = detail::projected_input(detail::input_of("minmax_element", r), proj);
  const auto in = detail::with_index(detail::with_stored(elements));
  using E = value_of<decltype(in.first)>;
  const auto by = detail::ordered_by<gpu_execution<P>, value_of<decltype(elements.first)>>(comp);
  using order = std::remove_const_t<decltype(by)>;
  const detail::both_extrema<detail::extremum<order, false>, detail::extremum<order, true>> op{{by}, {by}};
  const auto found = detail::reduce_and_wait<Tuning>(
      "minmax_element", where, detail::mapped<pair<E, E>>(in, detail::twice{}), detail::initial<pair<E, E>>{}, op);
  const auto first = std::begin(r);
  using iterator = std::remove_const_t<decltype(first)>;
  const auto at = [&](const E& e) { return first + (e.index() < 0 ? 0 : e.index()); };
  return pair<iterator, iterator>{at(found.first), at(found.second)};
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Proj = identity>
[[nodiscard]] It min_element(const P& where, It first, End last, Comp comp = {}, Proj proj = {}) { return min_element<Tuning>(where, subrange{first, last}, comp, proj); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Proj = identity>
[[nodiscard]] It max_element(const P& where, It first, End last, Comp comp = {}, Proj proj = {}) { return max_element<Tuning>(where, subrange{first, last}, comp, proj); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Proj = identity>
[[nodiscard]] pair<It, It> minmax_element(const P& where, It first, End last, Comp comp = {}, Proj proj = {}) { return minmax_element<Tuning>(where, subrange{first, last}, comp, proj); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Comp = less, class Proj = identity>
void min_element_into(const P& where, It first, End last, O&& out, Comp comp = {}, Proj proj = {}) { min_element_into<Tuning>(where, subrange{first, last}, out, comp, proj); }
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Comp = less, class Proj = identity>
void max_element_into(const P& where, It first, End last, O&& out, Comp comp = {}, Proj proj = {}) { max_element_into<Tuning>(where, subrange{first, last}, out, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
