// SPDX-License-Identifier: Apache-2.0
//
// Reduction: combines all elements of a range with an associative operator.
//
//   reduce, transform_reduce (dot product)         here, on the kernel in reduce/kernel.hpp, where the method is told
//   min_element, max_element, minmax_element       in reduce/extrema.hpp: reductions of pairs of value and index
//
// Work n; traffic n * sizeof(T) read, a few KB written; one launch. Operands stay in order and are always elements or
// results of adjacent ranges: associative is enough. The same call gives the same bits on every run. (PMPP ch. 10.)
#pragma once

#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/reduce/extrema.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/reduce/same_bits.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Combines all elements: op(... op(op(init, r[0]), r[1]) ..., r[n - 1]), grouped freely, in order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param init  joins once, on the left; its type is that of the accumulator and of the result, and must hold the elements:
///              no integer for floating-point ones, nor a narrower one. Without it elements add up in accumulator_of<T>: 64
///              bits for 8- and 16-bit integers, float for half and bfloat16.
/// \param op    associative; need not be commutative or have an identity. Sees init, elements (converted to the type of
///              the accumulator, which must be trivially copyable) and results of adjacent ranges. same_bits{op}: the same bits
///              on every policy and machine too, for op that also commutes (reduce/same_bits.hpp has its price).
/// \return the result; init for an empty range.
/// The same bits on every run; on host also for any number of threads. Waits for the policy's stream; reduce_into does
/// not. No allocation once warm. Cost: n elements read; one launch.
/// \throws std::invalid_argument for a null or reversed input, or when the stream is being captured; cuda_error.
/// Source: PMPP ch. 10. Example: test/reduce.cpp, sum.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R,
          class A = accumulator_of<element_value<R>>, class Op = plus>
[[nodiscard]] A reduce(const P& where, R&& r, A init = {}, Op op = {}) {
  return detail::reduce_and_wait<Tuning>("reduce", where, detail::input_of("reduce", r), detail::initial<A>{init, true},
                                         op);
}

/// As reduce, but writes the result to *out, converted to its type, and does not wait.
///
/// \param out  an iterator, or a range with room for one; visible to `where`.
/// Asynchronous on a GPU; may be captured. Scratch: at most 9 KB on an H100 (and one accumulator of more than 12 bytes a block)
/// from the workspace, or one allocation in stream order.
/// \throws as reduce; std::length_error if out is an empty range. Example: test/reduce.cpp, reduce_into.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class A = accumulator_of<element_value<R>>, class Op = plus>
void reduce_into(const P& where, R&& r, O&& out, A init = {}, Op op = {}) {
  detail::reduce_to_output<Tuning>("reduce_into", where, detail::input_of("reduce_into", r), out, init, op);
}

/// Combines f(r[i]) over all elements, or f(r[i], s[i]) (dot product: op plus, f multiplies). As reduce; the values of
/// f are converted to the type of init. s is an iterator, or a range as long as r. \throws as reduce; std::length_error
/// if s is a range that is shorter. Cost: every input read once; one launch. Example: test/reduce.cpp, dot product.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const P& where, R&& r, A init, Op op, F f) {
  const auto in = detail::mapped_to<A, detail::plain_operator<Op>>(detail::input_of("transform_reduce", r), f);
  return detail::reduce_and_wait<Tuning>("transform_reduce", where, in, detail::initial<A>{init, true}, op);
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> S, class A,
          class Op, class F>
[[nodiscard]] A transform_reduce(const P& where, R&& r, S&& s, A init, Op op, F f) {
  const auto in = detail::mapped_to<A, detail::plain_operator<Op>>(detail::zipped("transform_reduce", r, s),
                                                                   detail::apply_to_pair<F>{f});
  return detail::reduce_and_wait<Tuning>("transform_reduce", where, in, detail::initial<A>{init, true}, op);
}

/// As transform_reduce, but writes the result to *out and does not wait; as reduce_into.
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class A,
          class Op, class F>
void transform_reduce_into(const P& where, R&& r, O&& out, A init, Op op, F f) {
  const auto in = detail::mapped_to<A, detail::plain_operator<Op>>(detail::input_of("transform_reduce_into", r), f);
  detail::reduce_to_output<Tuning>("transform_reduce_into", where, in, out, init, op);
}
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, range_for<P> R, output_for<P> S,
          output_for<P> O, class A, class Op, class F>
void transform_reduce_into(const P& where, R&& r, S&& s, O&& out, A init, Op op, F f) {
  const auto in = detail::mapped_to<A, detail::plain_operator<Op>>(detail::zipped("transform_reduce_into", r, s),
                                                                   detail::apply_to_pair<F>{f});
  detail::reduce_to_output<Tuning>("transform_reduce_into", where, in, out, init, op);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class A = accumulator_of<value_of<It>>, class Op = plus>
[[nodiscard]] A reduce(const P& where, It first, End last, A init = {}, Op op = {}) { return reduce<Tuning>(where, subrange{first, last}, init, op); }

template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
void reduce_into(const P& where, It first, End last, O&& out, A init = {}, Op op = {}) { reduce_into<Tuning>(where, subrange{first, last}, out, init, op); }

template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, class A, class Op, class F>
[[nodiscard]] A transform_reduce(const P& where, It first, End last, A init, Op op, F f) { return transform_reduce<Tuning>(where, subrange{first, last}, init, op, f); }

template <reduce_tuning Tuning = tuned<reduce_tuning>, execution_policy P, random_access It, end_of<It> End, random_access It2, class A, class Op, class F> requires reachable_by<It, P> && reachable_by<It2, P>
[[nodiscard]] A transform_reduce(const P& where, It first, End last, It2 first2, A init, Op op, F f) {
  const auto in = detail::mapped_to<A, detail::plain_operator<Op>>(detail::zipped_with_start("transform_reduce", first, last, first2), detail::apply_to_pair<F>{f});
  return detail::reduce_and_wait<Tuning>("transform_reduce", where, in, detail::initial<A>{init, true}, op);
}

// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
