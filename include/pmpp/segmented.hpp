// SPDX-License-Identifier: Apache-2.0
//
// Many small problems in one array: segmented_reduce, segmented_inclusive_scan, reduce_by_key, run_length_encode.
//
//   offsets  0     3 3         8       segment s is [offsets[s], offsets[s + 1]); segment 1 is empty
//   values   1 2 3   1 1 1 1 1
//   sums     6     0 5
//
//   keys     a a a b b c               a segment is a run of equal keys
//   values   1 2 3 4 5 6               -> a 6, b 9, c 6
//
// Time depends on elements + segments alone, not on how elements are spread over segments: one segment of everything,
// millions of tiny or empty ones, or a mixture. Operands stay in order and are always elements or results of adjacent
// ranges of one segment; no identity is needed. The same bits on every run.
//
//   segmented_reduce                    segmented/reduce.hpp; segmented/direct.hpp for short inputs and long segments
//                                       of few elements segmented/few.hpp, of one length segmented/equal.hpp
//   segmented_inclusive_scan            segmented/by_offsets.hpp; segmented/direct_scan.hpp for short inputs
//   reduce_by_key, run_length_encode    segmented/by_key.hpp
//
// (PMPP ch. 11, 14; Schwartz, 1980; Merrill and Garland, 2016.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/equal_segments.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/segments.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/by_key.hpp>
#include <pmpp/segmented/by_offsets.hpp>
#include <pmpp/segmented/reduce.hpp>
#include <pmpp/segmented/tuning.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Checks, and starts. init: of an exclusive scan.
template <segmented_tuning Tuning, bool Exclusive, class P, class R, class Offsets, class O, class Init, class Op>
auto scan_segments(const char* function, const P& where, R& r, Offsets& offsets, O& out, const Init& init,
                   const Op& op) {
  using A = stored_as<accumulator_of<element_value<R>>>;
  const auto in = detail::stored_for<A>(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  detail::check_output(function, "out", out, in.count.bound, at);
  detail::check_offsets(where, in, at);
  const auto first = detail::begin_of(out);
  const auto target = detail::with_stored(detail::unwrap(first));
  detail::check_apart<true>(function, "out", target, in.count.bound, in);
  const auto fold = detail::folding<gpu_execution<P>, A, element_value<R>, Exclusive>(op);
  if constexpr (std::is_same_v<decltype(fold), const refused>) {
    return first;
  } else if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{at.first, target}});
    using heads = heads_at_offsets<std::remove_const_t<decltype(at.first)>>;
    if (at.count.bound > 1)
      detail::segmented_scan_on_blocks<Tuning, Exclusive>(function, where, in, heads{at.first, at.count}, target,
                                                          A(init), fold);
  } else {
    detail::segmented_scan_on_host<Exclusive>(where, in.first, at.first, at.count.get() - 1, target, fold, A(init));
  }
  return first + in.count.bound;
}

}  // namespace detail

/// Combines the elements of each segment: out[s] = op(... op(init, r[offsets[s]]) ..., r[offsets[s + 1] - 1]), grouped
/// freely, in order.
///
/// \param r        a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param offsets  segments + 1 integers of any type, as a range, or two iterators, or an iterator and a device_count
///                 (segments + 1 then too); visible to `where`. \pre they never decrease, and the last one is at most
///                 the length of r; checked in debug mode. Elements in front of the first one are left out. Where all have
///                 one length: equal_segments(length, segments), as in segmented_reduce(device, r, equal_segments(4, rows), sums).
/// \param out      an iterator, or a range with room for an element a segment; visible to `where`; not r or offsets.
/// \param init     joins once, on the left, in every segment, and is the result of empty ones; its type is that of the
///                 accumulator, which must be trivially copyable. Without it as in reduce.
/// \param op       associative; need not be commutative or have an identity.
/// \return the iterator past the last element written (past the bound for a device_count).
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured. Scratch:
/// about 50 bytes a block of the grid, or a value and four bytes every 2 sqrt(n) elements, from the workspace or one
/// allocation in stream order; none for equal_segments of up to 1023 elements (4 KB), which read no offsets.
/// Cost: n elements and segments + 1 offsets read, segments written; one launch.
/// \throws std::invalid_argument for a null or reversed input, or no offsets at all, std::length_error if out is too
/// short, or r for equal_segments; cuda_error. Source: Merrill and Garland, Merge-based SpMV, 2016. Example: test/segmented.cpp, sums.
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class A = accumulator_of<element_value<R>>, class Op = plus>
auto segmented_reduce(const P& where, R&& r, Offsets&& offsets, O&& out, A init = {}, Op op = {}) {
  const char* const function = "segmented_reduce";
  const auto in = detail::stored_for<A>(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  const std::int64_t segments = at.count.bound - 1;
  detail::check_output(function, "out", out, segments, in, at);
  detail::check_offsets(where, in, at);
  const auto first = detail::begin_of(out);
  const auto target = detail::with_stored(detail::unwrap(first));
  const detail::stored_as<A> start(init);
  const auto fold = detail::folding<gpu_execution<P>, A, element_value<R>>(op);
  if constexpr (kernel_execution<P>) {
    if (segments > 0) detail::segmented_reduce_on_blocks<Tuning>(where, in, at, target, start, fold);
  } else {
    const auto fold_task = [&](std::int64_t begin, std::int64_t end) {
      return detail::fold_task<std::remove_const_t<decltype(start)>>(in.first, begin, end, fold);
    };
    detail::segmented_reduce_on_host(where, in.first, at.first, at.count.get() - 1, target, start, fold, fold_task);
  }
  return first + segments;
}

/// Scans each segment: out[i] = op(... op(r[offsets[s]], ...), r[i]) for the segment s that i lies in, grouped freely, in
/// order. As segmented_reduce.
///
/// \param out  an iterator, or a range as long as r; visible to `where`. Only out[offsets[0]] ... out[offsets[segments] -
///             1] are written.
/// \return the iterator past r's last element in out.
/// The accumulator is accumulator_of<T>. In place is allowed (out begins where r begins). Scratch: up to 16 bytes
/// for every 100 KB, of short inputs for every 8 KB, as zeroed state of the workspace, or one allocation in stream order.
/// Cost: n elements and segments + 1 offsets read, n written; one launch. \throws as segmented_reduce. Example: test/segmented.cpp, scans.
template <segmented_tuning Tuning = segmented_scan_tuning, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class Op = plus>
auto segmented_inclusive_scan(const P& where, R&& r, Offsets&& offsets, O&& out, Op op = {}) {
  return detail::scan_segments<Tuning, false>("segmented_inclusive_scan", where, r, offsets, out,
                                              detail::stored_as<accumulator_of<element_value<R>>>{}, op);
}

/// Combines the values of each run of equal keys: for run j, keys_out[j] is the key of its first element, values_out[j]
/// = op(... op(v, w) ..., z) of its values, grouped freely, in order.
///
/// \param keys        a range, or two iterators, or an iterator and a device_count; visible to `where`. Keys are
///                    trivially copyable.
/// \param values      a range as long as keys, or an iterator; visible to `where`. They add up in accumulator_of<V>.
/// \param keys_out, values_out  iterators or ranges; visible to `where`; none of the inputs. \pre room for all runs:
///                    that is not checked, and nothing after them is touched.
/// \param op          associative; need not be commutative or have an identity.
/// \param eq          compares a key with the one in front of it: an equivalence. A NaN equals nothing.
/// \return the iterators past the last elements written, as a pair.
/// The same bits on every run. Waits for the policy's stream; reduce_by_key_into does not. No allocation once warm.
/// Cost: keys and values read once, a key and a value written for each run; one launch.
/// \throws std::invalid_argument for a null or reversed input, a null output, or when the stream is being captured,
/// std::length_error if values are a range that is shorter than keys; cuda_error. Source: PMPP ch. 11; Merrill and
/// Garland, 2016. Example: test/segmented.cpp, runs.
template <segmented_tuning Tuning = run_tuning, execution_policy P, range_for<P> Keys, output_for<P> Values,
          output_for<P> KeysOut, output_for<P> ValuesOut, class Op = plus, class Eq = equal_to>
auto reduce_by_key(const P& where, Keys&& keys, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out, Op op = {},
                   Eq eq = {}) {
  const char* const function = "reduce_by_key";
  return detail::runs_and_wait<Tuning>(function, where, detail::keys_and_values(function, keys, values), keys_out,
                                       values_out, op, eq);
}

/// As reduce_by_key, but leaves the number of runs in *count_out and does not wait.
///
/// \param count_out  an iterator, or a range with room for one, of any integer type; visible to `where`. 0 for an empty
///                   range. It may be the pointer of a device_count, of keys' own too.
/// Asynchronous on a GPU; may be captured. Scratch: 16 bytes a tile of 100 KB (more for wide values), from the
/// workspace or one allocation in stream order. \throws as reduce_by_key; std::length_error if count_out is an empty
/// range.
template <segmented_tuning Tuning = run_tuning, execution_policy P, range_for<P> Keys, output_for<P> Values,
          output_for<P> KeysOut, output_for<P> ValuesOut, output_for<P> C, class Op = plus, class Eq = equal_to>
void reduce_by_key_into(const P& where, Keys&& keys, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out,
                        C&& count_out, Op op = {}, Eq eq = {}) {
  const char* const function = "reduce_by_key_into";
  detail::runs_and_store<Tuning>(function, where, detail::keys_and_values(function, keys, values), keys_out, values_out,
                                 count_out, op, eq);
}

/// Writes each run of equals as its first element and its length: reduce_by_key where each value is one.
///
/// \param counts_out  an iterator or a range, of any integer type.
/// \param eq          as of reduce_by_key: compares an element with the one in front of it.
/// \return the iterators past the last elements written, as a pair. Example: examples/11_run_lengths.cpp.
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, range_for<P> R, output_for<P> ValuesOut,
          output_for<P> CountsOut, class Eq = equal_to>
auto run_length_encode(const P& where, R&& r, ValuesOut&& values_out, CountsOut&& counts_out, Eq eq = {}) {
  const char* const function = "run_length_encode";
  return detail::runs_and_wait<Tuning>(function, where, detail::counted(function, r), values_out, counts_out,
                                       detail::add_lengths{}, eq);
}

/// As run_length_encode, but leaves the number of runs in *count_out and does not wait; as reduce_by_key_into.
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, range_for<P> R, output_for<P> ValuesOut,
          output_for<P> CountsOut, output_for<P> C, class Eq = equal_to>
void run_length_encode_into(const P& where, R&& r, ValuesOut&& values_out, CountsOut&& counts_out, C&& count_out,
                            Eq eq = {}) {
  const char* const function = "run_length_encode_into";
  detail::runs_and_store<Tuning>(function, where, detail::counted(function, r), values_out, counts_out, count_out,
                                 detail::add_lengths{}, eq);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto segmented_reduce(const P& where, It first, End last, Offsets&& offsets, O&& out, A init = {}, Op op = {}) { return segmented_reduce<Tuning>(where, subrange{first, last}, offsets, out, init, op); }
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto segmented_reduce(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, A init = {}, Op op = {}) { return segmented_reduce<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, out, init, op); }
template <segmented_tuning Tuning = segmented_scan_tuning, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class Op = plus>
auto segmented_inclusive_scan(const P& where, It first, End last, Offsets&& offsets, O&& out, Op op = {}) { return segmented_inclusive_scan<Tuning>(where, subrange{first, last}, offsets, out, op); }
template <segmented_tuning Tuning = segmented_scan_tuning, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class Op = plus>
auto segmented_inclusive_scan(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, Op op = {}) { return segmented_inclusive_scan<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, out, op); }
template <segmented_tuning Tuning = run_tuning, execution_policy P, random_access It, end_of<It> End, output Values, output KeysOut, output ValuesOut, class Op = plus, class Eq = equal_to>
auto reduce_by_key(const P& where, It first, End last, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out, Op op = {}, Eq eq = {}) { return reduce_by_key<Tuning>(where, subrange{first, last}, values, keys_out, values_out, op, eq); }
template <segmented_tuning Tuning = run_tuning, execution_policy P, random_access It, end_of<It> End, output Values, output KeysOut, output ValuesOut, output C, class Op = plus, class Eq = equal_to>
void reduce_by_key_into(const P& where, It first, End last, Values&& values, KeysOut&& keys_out, ValuesOut&& values_out, C&& count_out, Op op = {}, Eq eq = {}) { reduce_by_key_into<Tuning>(where, subrange{first, last}, values, keys_out, values_out, count_out, op, eq); }
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, random_access It, end_of<It> End, output ValuesOut, output CountsOut, class Eq = equal_to>
auto run_length_encode(const P& where, It first, End last, ValuesOut&& values_out, CountsOut&& counts_out, Eq eq = {}) { return run_length_encode<Tuning>(where, subrange{first, last}, values_out, counts_out, eq); }
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, random_access It, end_of<It> End, output ValuesOut, output CountsOut, output C, class Eq = equal_to>
void run_length_encode_into(const P& where, It first, End last, ValuesOut&& values_out, CountsOut&& counts_out, C&& count_out, Eq eq = {}) { run_length_encode_into<Tuning>(where, subrange{first, last}, values_out, counts_out, count_out, eq); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
