// SPDX-License-Identifier: Apache-2.0
//
// More of runs and segments: inclusive_scan_by_key, exclusive_scan_by_key, unique_by_key; segmented_exclusive_scan,
// segmented_min_element, segmented_max_element.
//
//   keys      a a a b b c
//   values    1 2 3 4 5 6     inclusive  1 3 6 4 9 6     exclusive, from 0  0 1 3 0 4 0     unique  a 1, b 4, c 6
//
//   1. A scan by key is a segmented scan (segmented/by_offsets.hpp) whose segments begin at keys that differ from the one in
//      front of them. On the host: a scan of values that know whether they begin a run, and forget then what came before.
//   2. unique_by_key is unique_copy (select.hpp) of pairs, compared by their keys. Where runs are long it reads no values but those
//      that it keeps.
//   3. segmented_exclusive_scan is the kernel of the inclusive one (segmented.hpp).
//   4. The extremes of segments are reductions (segmented.hpp) of pairs of value and index.
//
// Launches and traffic as those; operands stay in order; the same bits on every run. (PMPP ch. 11; Schwartz, 1980.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/reduce/extrema.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A value, or the result of adjacent ones, and whether a run begins in them. The flag has the size of the value: so the two
/// fill words. As an element of an output it is the value.
template <class A>
struct of_run {
  A value;
  std::conditional_t<sizeof(A) % 8 == 0, std::uint64_t, std::uint32_t> begins;

  template <class T>
  requires requires(const A& a) { static_cast<T>(a); }
  PMPP_HOST_DEVICE explicit operator T() const { return static_cast<T>(value); }
};
/// What begins a run forgets what came before.
template <class Op>
struct within_run {
  Op op;
  template <class A>
  PMPP_HOST_DEVICE of_run<A> operator()(const of_run<A>& a, const of_run<A>& b) const {
    if (b.begins != 0) return b;
    return {static_cast<A>(op(a.value, b.value)), a.begins};
  }
};
/// Makes a value of a run of a key with its neighbour, and a value. Start: what runs start with, if with anything.
template <class A, class Eq, class Op, bool HasInit>
struct value_in_run {
  Eq eq;
  Op op;
  A init;
  template <class K, class V>
  PMPP_HOST_DEVICE of_run<A> operator()(const pair<neighbour_pair<K>, V>& x) const {
    const bool begins = !x.first.has_before || !static_cast<bool>(eq(x.first.before, x.first.here));
    A value = static_cast<A>(x.second);
    if (HasInit && begins) value = static_cast<A>(op(init, value));
    return {value, begins};
  }
};
/// Place i gets what precedes it in its run: x, unless the run begins here.
template <class Out, class Keys, class Eq, class A>
struct write_value_before {
  Out out;
  neighbours_iterator<Keys> keys;
  Eq eq;
  A init;
  template <class K>
  PMPP_HOST_DEVICE value_of<Out> value(const neighbour_pair<K>& at, const of_run<A>& x) const {
    const bool begins = !at.has_before || !static_cast<bool>(eq(at.before, at.here));
    return static_cast<value_of<Out>>(begins ? init : x.value);
  }
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const of_run<A>& x) const { out[i] = value(keys[i], x); }
};
/// Keys with their neighbours, and values: checked, and what goes wrong named.
template <class P, scan_kind Kind, class Keys, class Values, class O, class A, class Op, class Eq>
auto scan_runs(const char* function, const P& where, Keys& keys, Values& values, O& out, const A& init, const Op& op,
               const Eq& eq) {
  const auto both = detail::keys_and_values(function, keys, values);
  detail::check_output(function, "out", out, both.count.bound,
                       input<std::remove_cvref_t<decltype(both.first.a)>>{both.first.a, both.count});
  using K = value_of<std::remove_cvref_t<decltype(both.first.a)>>;
  using V = value_of<std::remove_cvref_t<decltype(both.first.b)>>;
  if constexpr (require_marked<gpu_execution<P>, Op>() && require_marked<gpu_execution<P>, Eq>() &&
                require_equivalence<Eq, K>() && require_fold<A, V, Op, Kind == scan_kind::exclusive>() &&
                require_op_then_eq<Op, A, Eq, K>()) {
    constexpr bool exclusive = Kind == scan_kind::exclusive;
    using key_iterator = std::remove_cvref_t<decltype(both.first.a)>;
    using value_iterator = std::remove_cvref_t<decltype(both.first.b)>;
    const auto target = detail::unwrap(detail::begin_of(out));
    using result = std::remove_const_t<decltype(target)>;
    detail::check_reachable(where, function, zip_iterator{both.first, target});
    if constexpr (kernel_execution<P>) {
      using stored = stored_as<A>;
      const auto values_in = detail::stored_for<stored>(input<value_iterator>{both.first.b, both.count});
      const auto to = detail::with_stored(target);
      const auto same = on_values<K>(eq);
      const auto fold = on_values<stored>(own_operator<stored>(op));
      detail::check_overlap(function, values_in, to);
      using heads = heads_of_runs<key_iterator, std::remove_const_t<decltype(same)>>;
      detail::segmented_scan_on_blocks<run_scan_tuning, exclusive>(
          function, where, values_in, heads{both.first.a, same, true}, to, stored(init), fold);
    } else {
      using runs = zip_iterator<neighbours_iterator<key_iterator>, value_iterator>;
      const input<runs> in{runs(neighbours_iterator<key_iterator>(both.first.a), both.first.b), both.count};
      const auto elements = detail::mapped<of_run<A>>(in, value_in_run<A, Eq, Op, exclusive>{eq, op, init});
      const auto scan = [&](auto sink) {
        detail::scan_input<tuned<scan_tuning>, Kind>(function, where, elements, sink,
                                                     scan_start<of_run<A>>{{init, 1}, exclusive}, within_run<Op>{op});
      };
      if constexpr (exclusive)
        scan(tabulate_output<of_run<A>>(write_value_before<result, key_iterator, Eq, A>{
            target, neighbours_iterator<key_iterator>(both.first.a), eq, init}));
      else
        scan(target);
    }
  }
  return detail::begin_of(out) + both.count.bound;
}

/// The first pair of each run of equal keys (select/keep.hpp).
template <class Eq>
struct keep_first_key {
  static constexpr bool neighbours = true, second_later = true;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return require_marked<OnGpu, Eq>() && require_equivalence<Eq, decltype(T::first)>();
  }
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE static const auto& compared(const T& x) {
    return x.first;
  }
  template <class K, class T>
  PMPP_HOST_DEVICE bool test(const K& before, const T& x) const {
    return !static_cast<bool>(eq(value_of_stored(before), value_of_stored(x.first)));
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

template <class A, class B>
struct write_key_and_value {
  A keys;
  B values;
  template <class K, class V>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const pair<K, V>& x) const {
    keys[i] = static_cast<value_of<A>>(x.first);
    values[i] = static_cast<value_of<B>>(x.second);
  }
};
/// An output of pairs that goes to two, apart from the input.
template <class In, class KeysOut, class ValuesOut>
auto two_outputs(const char* function, const input<In>& in, KeysOut& keys_out, ValuesOut& values_out) {
  const auto k = detail::unwrap(detail::begin_of(keys_out));
  const auto v = detail::unwrap(detail::begin_of(values_out));
  using key_iterator = std::remove_const_t<decltype(k)>;
  using value_iterator = std::remove_const_t<decltype(v)>;
  require_writable<key_iterator>();
  require_writable<value_iterator>();
  detail::require_not_null(function, "keys_out", k, 1);
  detail::require_not_null(function, "values_out", v, 1);
  detail::check_apart(function, "keys_out", k, 1, in);
  detail::check_apart(function, "values_out", v, 1, in);
  return tabulate_output<value_of<In>>(write_key_and_value<key_iterator, value_iterator>{k, v});
}

struct index_or_none {
  template <class T>
  PMPP_HOST_DEVICE std::int64_t operator()(const indexed<T>& x) const {
    return x.index();
  }
};
template <segmented_tuning Tuning, bool Greatest, class P, class R, class Offsets, class O, class Comp>
auto extreme_of_segments(const char* function, const P& where, R& r, Offsets& offsets, O& out, const Comp& comp) {
  const auto in = detail::with_index(detail::with_stored(detail::input_of(function, r)));
  using E = value_of<std::remove_const_t<decltype(in.first)>>;
  const auto by = detail::ordered_in<gpu_execution<P>, R>(comp);
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  const std::int64_t segments = at.count.bound - 1;
  detail::check_output(function, "out", out, segments, detail::input_of(function, r), at);
  const auto target = detail::unwrap(detail::begin_of(out));
  using result = std::remove_const_t<decltype(target)>;
  static_assert(std::is_integral_v<value_of<result>> && std::is_signed_v<value_of<result>>,
                "pmpp: out must take signed integers");
  const extremum<std::remove_const_t<decltype(by)>, Greatest> op{by};
  using order = operand_order<std::remove_const_t<decltype(op)>, E>;
  const E none = order::neutral;
  const auto sink = transform_output_iterator<result, index_or_none, E>(target, index_or_none{});
  detail::check_offsets(where, in, at);
  if constexpr (kernel_execution<P>) {
    if (segments > 0) detail::segmented_reduce_on_blocks<Tuning>(where, in, at, sink, none, op);
  } else {
    const auto fold_task = [&](std::int64_t begin, std::int64_t end) {
      return detail::fold_elements<E>(in.first, begin, end, op);
    };
    detail::segmented_reduce_on_host(where, in.first, at.first, at.count.get() - 1, sink, none, op, fold_task);
  }
  return detail::begin_of(out) + segments;
}

}  // namespace detail

/// Scans the values of each run of equal keys: out[i] = op(... op(values[s], values[s + 1]) ..., values[i]) for the run that begins
/// at s and has i, grouped freely, in order.
///
/// \param keys    a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param values  a range as long as keys, or an iterator; visible to `where`. They add up in accumulator_of<V>.
/// \param out     an iterator, or a range with room for as many elements; visible to `where`. It may be values, but not keys.
/// \param op      associative; need not be commutative or have an identity.
/// \param eq      compares a key with the one in front of it: an equivalence. A NaN equals nothing.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// Asynchronous on a GPU; may be captured. Scratch as inclusive_scan. Cost: n keys and n values read, n results written; one launch.
/// \throws std::invalid_argument for a null or reversed input, or out in keys, std::length_error if values or out are too short;
/// cuda_error. Source: PMPP ch. 11; Schwartz, 1980. Example: test/by_key.cpp, scans by key.
template <execution_policy P, range_for<P> Keys, output_for<P> Values, output_for<P> O, class Op = plus,
          class Eq = equal_to>
auto inclusive_scan_by_key(const P& where, Keys&& keys, Values&& values, O&& out, Op op = {}, Eq eq = {}) {
  using A = accumulator_of<value_of<decltype(detail::unwrap(detail::begin_of(values)))>>;
  return detail::scan_runs<P, detail::scan_kind::inclusive>("inclusive_scan_by_key", where, keys, values, out, A{}, op,
                                                            eq);
}

/// The same for what precedes each value: out[i] = op(... op(init, values[s]) ..., values[i - 1]); init where a run begins.
///
/// \param init  joins once in every run, on the left; its type is that of the accumulator.
/// As inclusive_scan_by_key.
template <execution_policy P, range_for<P> Keys, output_for<P> Values, output_for<P> O,
          class A = accumulator_of<value_of<decltype(detail::unwrap(detail::begin_of(std::declval<Values&>())))>>,
          class Op = plus, class Eq = equal_to>
auto exclusive_scan_by_key(const P& where, Keys&& keys, Values&& values, O&& out, A init = {}, Op op = {}, Eq eq = {}) {
  return detail::scan_runs<P, detail::scan_kind::exclusive>("exclusive_scan_by_key", where, keys, values, out, init, op,
                                                            eq);
}

/// Copies the first key of each run of equal keys, and its value; as unique_copy.
///
/// \param keys, values          as of inclusive_scan_by_key; trivially copyable.
/// \param keys_out, values_out  iterators or ranges; visible to `where`; none of the inputs. \pre room for all runs: that is not
///                              checked, and nothing after them is touched.
/// \return the iterators past the last elements written, as a pair.
/// Waits for the policy's stream; unique_by_key_into leaves the number of runs in *count_out and does not.
/// \throws as unique_copy; std::invalid_argument for an output that begins within an input. Example: test/by_key.cpp, unique_by_key.
template <execution_policy P, range_for<P> Keys, output_for<P> Values, output_for<P> KeysOut, output_for<P> ValuesOut,
          class Eq = equal_to>
auto unique_by_key(const P& where, Keys&& keys, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out,
                   Eq eq = {}) {
  const char* const function = "unique_by_key";
  const auto in = detail::keys_and_values(function, keys, values);
  const auto to = detail::two_outputs(function, in, keys_out, values_out);
  const std::int64_t kept = detail::select_and_wait<tuned<select_tuning>>(function, where, in, to, detail::nowhere{},
                                                                          detail::keep_first_key<Eq>{eq})
                                .kept;
  const auto keys_end = detail::begin_of(keys_out) + kept;
  const auto values_end = detail::begin_of(values_out) + kept;
  return pair<std::remove_const_t<decltype(keys_end)>, std::remove_const_t<decltype(values_end)>>{keys_end, values_end};
}
template <execution_policy P, range_for<P> Keys, output_for<P> Values, output_for<P> KeysOut, output_for<P> ValuesOut,
          output_for<P> C, class Eq = equal_to>
void unique_by_key_into(const P& where, Keys&& keys, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out,
                        C&& count_out, Eq eq = {}) {
  const char* const function = "unique_by_key_into";
  const auto in = detail::keys_and_values(function, keys, values);
  const auto to = detail::two_outputs(function, in, keys_out, values_out);
  detail::select_and_store<tuned<select_tuning>>(function, where, in, to, detail::nowhere{}, count_out,
                                                 detail::keep_first_key<Eq>{eq});
}

/// Scans each segment: out[i] = op(... op(init, r[offsets[s]]) ..., r[i - 1]) for the segment s that i lies in; init where a
/// segment begins.
///
/// \param r, offsets  as of segmented_inclusive_scan.
/// \param out         as of segmented_inclusive_scan.
/// \param init        joins once, on the left, in every segment; its type is that of out's elements and r's.
/// Elements add up in accumulator_of<T>. Otherwise as segmented_inclusive_scan. Example: test/by_key.cpp, segments.
template <execution_policy P, range_for<P> R, range_for<P> Offsets, output_for<P> O, class Op = plus>
auto segmented_exclusive_scan(const P& where, R&& r, Offsets&& offsets, O&& out,
                              std::type_identity_t<accumulator_of<element_value<R>>> init = {}, Op op = {}) {
  return detail::scan_segments<segmented_scan_tuning, true>("segmented_exclusive_scan", where, r, offsets, out, init,
                                                            op);
}

/// Writes to out[s] the index in r of the first element of segment s that no other of it comes before under comp; -1 for an empty
/// segment. As min_element of each segment: the argmin of each row.
///
/// \param r, offsets  as of segmented_reduce.
/// \param out         an iterator, or a range with room for a signed integer a segment; visible to `where`; not r or offsets.
/// \return the iterator past the last index written. Scratch, cost and \throws as segmented_reduce. Example: test/by_key.cpp,
/// segments.
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class Comp = less>
auto segmented_min_element(const P& where, R&& r, Offsets&& offsets, O&& out, Comp comp = {}) {
  return detail::extreme_of_segments<Tuning, false>("segmented_min_element", where, r, offsets, out, comp);
}
/// The same for the first element that comes before no other.
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class Comp = less>
auto segmented_max_element(const P& where, R&& r, Offsets&& offsets, O&& out, Comp comp = {}) {
  return detail::extreme_of_segments<Tuning, true>("segmented_max_element", where, r, offsets, out, comp);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End, output Values, output O, class Op = plus, class Eq = equal_to> requires reachable_by<It, P>
auto inclusive_scan_by_key(const P& where, It first, End last, Values&& values, O&& out, Op op = {}, Eq eq = {}) { return inclusive_scan_by_key(where, subrange{first, last}, values, out, op, eq); }
template <execution_policy P, random_access It, end_of<It> End, output Values, output O, class A = accumulator_of<value_of<decltype(detail::unwrap(detail::begin_of(std::declval<Values&>())))>>, class Op = plus, class Eq = equal_to> requires reachable_by<It, P>
auto exclusive_scan_by_key(const P& where, It first, End last, Values&& values, O&& out, A init = {}, Op op = {}, Eq eq = {}) { return exclusive_scan_by_key(where, subrange{first, last}, values, out, init, op, eq); }
template <execution_policy P, random_access It, end_of<It> End, output Values, output KeysOut, output ValuesOut, class Eq = equal_to> requires reachable_by<It, P>
auto unique_by_key(const P& where, It first, End last, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out, Eq eq = {}) { return unique_by_key(where, subrange{first, last}, values, keys_out, values_out, eq); }
template <execution_policy P, random_access It, end_of<It> End, output Values, output KeysOut, output ValuesOut, output C, class Eq = equal_to> requires reachable_by<It, P>
void unique_by_key_into(const P& where, It first, End last, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out, C&& count_out, Eq eq = {}) { unique_by_key_into(where, subrange{first, last}, values, keys_out, values_out, count_out, eq); }
template <execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class Op = plus> requires reachable_by<It, P>
auto segmented_exclusive_scan(const P& where, It first, End last, Offsets&& offsets, O&& out, std::type_identity_t<accumulator_of<value_of<It>>> init = {}, Op op = {}) { return segmented_exclusive_scan(where, subrange{first, last}, offsets, out, init, op); }
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class Comp = less> requires reachable_by<It, P>
auto segmented_min_element(const P& where, It first, End last, Offsets&& offsets, O&& out, Comp comp = {}) { return segmented_min_element<Tuning>(where, subrange{first, last}, offsets, out, comp); }
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class Comp = less> requires reachable_by<It, P>
auto segmented_max_element(const P& where, It first, End last, Offsets&& offsets, O&& out, Comp comp = {}) { return segmented_max_element<Tuning>(where, subrange{first, last}, offsets, out, comp); }
template <execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class Op = plus> requires reachable_by<It, P>
auto segmented_exclusive_scan(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, std::type_identity_t<accumulator_of<value_of<It>>> init = {}, Op op = {}) { return segmented_exclusive_scan(where, subrange{first, last}, subrange{offsets, offsets_end}, out, init, op); }
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class Comp = less> requires reachable_by<It, P>
auto segmented_min_element(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, Comp comp = {}) { return segmented_min_element<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, out, comp); }
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class Comp = less> requires reachable_by<It, P>
auto segmented_max_element(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, Comp comp = {}) { return segmented_max_element<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, out, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
