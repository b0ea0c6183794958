// SPDX-License-Identifier: Apache-2.0
//
// Scans over several ranks: inclusive_scan, exclusive_scan.
//
//   1. Each rank reduces its block; the running totals of the ranks come to every process (reduce.hpp).
//   2. Each rank scans its block, with what stands in front of it as the initial value.
//
// A rank other than the first cannot begin to write before all in front of it has been read. So elements are read twice: 3n of
// traffic in place of 2n. gpus.same_bits() group them by index (same_bits_scan.hpp). (PMPP ch. 11 and 20.)
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/same_bits_scan.hpp>
#include <pmpp/scan.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class P, class C, class T, class U>
void check_scan(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x,
                const distributed_buffer<U>& y) {
  detail::require_on(function, "x", gpus, x);
  detail::require_on(function, "out", gpus, y);
  detail::require_same_blocks(function, "out", x, y);
}

template <scan_kind Kind, class P, class C, class T, class U, class A, class Op>
void scan_blocks(const char* function, const devices<P, C>& gpus, const distributed_buffer<T>& x,
                 distributed_buffer<U>& y, const initial_value<A>& init, const Op& op) {
  detail::check_scan(function, gpus, x, y);
  totals_of_ranks<A> totals{init, {}, {}};
  if (gpus.size() > 1)
    totals = detail::totals_by_rank<A>(
        function, gpus, x, [&](int i) { return detail::block_of(function, x, i); }, init, op);
  gpus.each([&](int i, const P& where) {
    const initial_value<A> before = totals.before(gpus.rank(i));
    auto block = y.part(i);
    detail::scan_input<tuned<scan_tuning>, Kind>(function, where, detail::block_of(function, x, i), block,
                                                 scan_start<A>{before.value, before.present}, op);
  });
}
template <scan_kind Kind, class P, class C, class T, class U, class A, class Op>
void scan_blocks(const char* function, const same_bits_devices<P, C>& same, const distributed_buffer<T>& x,
                 distributed_buffer<U>& y, const initial_value<A>& init, const Op& op) {
  detail::check_scan(function, same.gpus, x, y);
  detail::scan_same_bits_of_ranks<Kind == scan_kind::inclusive>(same.gpus, x, y, init, op);
}

}  // namespace detail

/// Writes op(... op(op(x[0], x[1]), ...), x[i]) to y[i], grouped freely, in order; y may be x.
///
/// \param gpus  or gpus.same_bits(): the same bits for any number of ranks, one too, and any blocks (same_bits_scan.hpp has its price).
/// \param y   of the same blocks as x; results are converted to its element type.
/// \param op  as in inclusive_scan on one device. A fifth argument `init`, where given, joins once, on the left.
/// Waits for the partial results of the ranks (not with one rank); the second pass is enqueued. Cost: n elements read twice (on one
/// rank: once), n written; the exchange of reduce; two launches a rank, and one.
/// \throws std::invalid_argument if x or y lies on other devices, std::length_error if their blocks differ; communication_error,
/// cuda_error. Source: PMPP ch. 11. Example: test/distributed.cpp, scans.
template <class P, class C, class T, class U, class Op = plus>
void inclusive_scan(const devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y, Op op = {}) {
  using A = detail::stored_as<accumulator_of<T>>;
  detail::scan_blocks<detail::scan_kind::inclusive>("inclusive_scan", gpus, x, y, detail::initial_value<A>{}, op);
}
template <class P, class C, class T, class U, class Op, class A>
void inclusive_scan(const devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y, Op op,
                    A init) {
  detail::scan_blocks<detail::scan_kind::inclusive>("inclusive_scan", gpus, x, y, detail::initial<A>{init, true}, op);
}
template <class P, class C, class T, class U, class Op = plus>
void inclusive_scan(const same_bits_devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y,
                    Op op = {}) {
  using A = detail::stored_as<accumulator_of<T>>;
  detail::scan_blocks<detail::scan_kind::inclusive>("inclusive_scan", gpus, x, y, detail::initial_value<A>{}, op);
}
template <class P, class C, class T, class U, class Op, class A>
void inclusive_scan(const same_bits_devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y,
                    Op op, A init) {
  detail::scan_blocks<detail::scan_kind::inclusive>("inclusive_scan", gpus, x, y, detail::initial<A>{init, true}, op);
}

/// Writes op(... op(op(init, x[0]), x[1]) ..., x[i - 1]) to y[i]; y[0] is init. As inclusive_scan.
template <class P, class C, class T, class U, class A = accumulator_of<T>, class Op = plus>
void exclusive_scan(const devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y, A init = {},
                    Op op = {}) {
  detail::scan_blocks<detail::scan_kind::exclusive>("exclusive_scan", gpus, x, y, detail::initial<A>{init, true}, op);
}
template <class P, class C, class T, class U, class A = accumulator_of<T>, class Op = plus>
void exclusive_scan(const same_bits_devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y,
                    A init = {}, Op op = {}) {
  detail::scan_blocks<detail::scan_kind::exclusive>("exclusive_scan", gpus, x, y, detail::initial<A>{init, true}, op);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
