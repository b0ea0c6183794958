// SPDX-License-Identifier: Apache-2.0
//
// Shortest paths between all pairs of vertices, from the matrix of the edges' lengths.
//
//   matrix_view<float> d(data, n, n);          // d(i, j): length of the edge from i to j; infinity where there is none
//   floyd_warshall(device, d);                 // d(i, j): length of the shortest path
//   floyd_warshall(device, d, next);           // and the vertex after i on it
//   floyd_warshall(device, d, maximum{}, ...)  // other joins and judgements: below
//
// Vertices are taken as pivots 64 or 128 at a time (floyd_warshall/kernels.hpp, where the kernel is told):
//
//   1. from pivots to all others, and from all others to pivots;
//   2. between all others: a product of matrices with + for * and min for +, which is nearly all of the work. Meanwhile one
//      block makes the distances among the next pivots.
//
// Work n^3 sums and minima; traffic n^3 / 32 elements at most; 2 launches for each 64 vertices, of more than 3072 128. In place, no scratch. Whole
// numbers are the same on every policy, as are all on every run; sums of floating-point numbers are grouped by pivots. (Floyd 1962,
// Warshall 1962; Katz and Kider 2008; PMPP, 5th edition, ch. 16.)
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/floyd_warshall/kernels.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <int Micro, class P, class Problem>
void paths_on_blocks(const P& where, const Problem& p) {
  using T = typename decltype(p.d)::value_type;
  using rest = product_kernel<Problem, T, true, Micro>;
  using frame = product_kernel<Problem, T, false, Micro>;
  const std::int64_t n = p.d.rows();
  if constexpr (Problem::has_hops) {
    using kernel = first_hops_kernel<std::remove_const_t<decltype(p.next)>>;
    pmpp::launch(where, min(ceil_div(n * n, std::int64_t(kernel::threads)), std::int64_t(1) << 16), kernel{}, p.next);
  }
  const std::int64_t tiles = ceil_div(n, std::int64_t(rest::height)), halves = ceil_div(n, std::int64_t(frame::width));
  pmpp::launch(where, 1, rest{}, p, std::int64_t(0));  // closes the first pivot
  for (std::int64_t next = 1; next <= tiles && tiles > 1; ++next) {
    pmpp::launch(where, 2 * halves, frame{}, p, next);
    pmpp::launch(where, (tiles - 1) * (tiles - 1), rest{}, p, next);
  }
}

/// Betters cell (i, j), for j from `first` on, by paths through k.
template <class Problem>
void better_row(const Problem& p, std::int64_t i, std::int64_t k, std::int64_t first, std::int64_t last) {
  const auto a = p.d(i, k);
  for (std::int64_t j = first; j < last; ++j) {
    if constexpr (Problem::has_hops) {
      if (p.rules.improves(a, p.d(k, j), p.d(i, j))) p.next(i, j) = p.next(i, k);
    } else {
      p.d(i, j) = p.rules.better(a, p.d(k, j), p.d(i, j));
    }
  }
}

/// seq: vertex by vertex. host: the same by pivots, so that rows are shared out.
template <class P, class Problem>
void paths_on_host(const P& where, const Problem& p) {
  const std::int64_t n = p.d.rows();
  if constexpr (Problem::has_hops)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) p.next(i, j) = static_cast<typename decltype(p.next)::value_type>(j);
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t i = 0; i < n; ++i) detail::better_row(p, i, k, 0, n);
  } else {
    constexpr std::int64_t size = 64, piece = 256;
    for (std::int64_t pivot = 0; pivot < n; pivot += size) {
      const std::int64_t end = min(n, pivot + size);
      const auto better_pivot = [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = pivot; k < end; ++k)
          for (std::int64_t i = pivot; i < end; ++i) detail::better_row(p, i, k, first, last);
      };
      better_pivot(pivot, end);
      host_loop::parallel_for(where, ceil_div(n, piece), [&](std::int64_t task) {
        const std::int64_t first = task * piece, last = min(n, first + piece);
        if (first < pivot) better_pivot(first, min(last, pivot));
        if (last > end) better_pivot(max(first, end), last);
      });
      host_loop::parallel_for(where, n, [&](std::int64_t i) {
        if (i >= pivot && i < end) return;
        for (std::int64_t k = pivot; k < end; ++k) detail::better_row(p, i, k, pivot, end);
        for (std::int64_t k = pivot; k < end; ++k) {
          detail::better_row(p, i, k, 0, pivot);
          detail::better_row(p, i, k, end, n);
        }
      });
    }
  }
}

template <class P, class T, class Hops, class Combine, class Comp>
void paths_checked(const P& where, const matrix_view<T>& d, const Hops& next, const Combine& combine,
                   const Comp& comp) {
  constexpr bool is_writable = !std::is_const_v<T>;
  static_assert(is_writable, "pmpp: floyd_warshall works in place: its distances are const");
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && sizeof(T) <= 32,
                "pmpp: distances are trivially copyable, of at most 32 bytes, and can be made without arguments");
  if constexpr (is_writable && detail::require_fold<T, T, Combine>() && detail::require_order<Comp, T>()) {
    require(d.rows() == d.cols(), [&] {
      return detail::text("pmpp::floyd_warshall: the distances are ") + detail::text::of(d.rows()) + " x " +
             detail::text::of(d.cols()) + ", not square";
    });
    constexpr bool has_hops = !std::is_same_v<Hops, no_hops>;
    if constexpr (has_hops)
      require(next.rows() == d.rows() && next.cols() == d.cols(), [&] {
        return detail::text("pmpp::floyd_warshall: the distances are ") + detail::text::of(d.rows()) + " x " +
               detail::text::of(d.cols()) + ", so next must be too, but is " + detail::text::of(next.rows()) + " x " +
               detail::text::of(next.cols());
      });
    if (d.empty()) return;
    require(d.data() != nullptr, [] { return detail::text("pmpp::floyd_warshall: the distances are null"); });
    if constexpr (has_hops) {
      require(next.data() != nullptr, [] { return detail::text("pmpp::floyd_warshall: next is null"); });
      require(!detail::may_meet(d, next),
              [] { return detail::text("pmpp::floyd_warshall: the distances and next overlap"); });
    }
    using rules = path_rules<T, Combine, Comp>;
    const path_problem<T, Hops, rules> p{d, next, rules{combine, comp}};
    if constexpr (kernel_execution<P>) {
      detail::check_reachable(where, "floyd_warshall", d.data());
      constexpr int small = path_micro<T>(0), large = path_micro<T>(std::numeric_limits<std::int64_t>::max());
      if (path_micro<T>(d.rows()) == small)
        detail::paths_on_blocks<small>(where, p);
      else
        detail::paths_on_blocks<large>(where, p);
    } else {
      detail::paths_on_host(where, p);
    }
  }
}

}  // namespace detail

/// Replaces the length of each edge by that of the shortest path: d(i, j) by the best of all that paths from i to j combine to.
///
/// \param d        n x n, any strides; visible to `where`; in place. d(i, j): the edge from i to j, or what stands for none. Of
///                 numbers that is infinity, or at most half of the largest integer, as two of them are added. d(i, i) is 0,
///                 or what stands for none if cycles are wanted.
/// \param combine  joins two paths: plus{}; any associative operator
/// \param comp     comp(x, y): x is better than y; less{}. combine does not turn the better into the worse. Widest paths:
///                 combine = minimum{}, comp = greater{}; reachability: logical_and{}, greater{} of bools.
/// \pre no cycle is better than standing still (with plus and less: no cycle of negative length); else distances are of no
/// use, but nothing else happens.
/// The same bits on every run. Asynchronous on a GPU; may be captured. No scratch. Cost: n^3 of combine and comp; 2 launches for
/// each 64 vertices, of more than 3072 128 (64 for elements past 4 bytes, 32 past 8). Fastest: int, float, double with plus and less.
/// \throws std::invalid_argument for a matrix that is not square, or null; cuda_error. Source: PMPP, 5th edition, ch. 16.
/// Example: test/floyd_warshall.cpp.
template <execution_policy P, class T, class Combine = plus, class Comp = less>
requires(!std::integral<Combine>) void floyd_warshall(const P& where, const matrix_view<T>& d,
                                                      const Combine& combine = {}, const Comp& comp = {}) {
  detail::paths_checked(where, d, detail::no_hops{}, combine, comp);
}

/// The same, and the first step of each path: the shortest path from i to j goes by next(i, j), from there by next(next(i, j), j),
/// and so on to j. Where there is no path next(i, j) is j and says nothing; next(i, i) likewise.
///
/// \param next  n x n integers, any strides; written; not the memory of d
/// \pre no cycle has the length 0 or less
template <execution_policy P, class T, std::integral I, class Combine = plus, class Comp = less>
void floyd_warshall(const P& where, const matrix_view<T>& d, const matrix_view<I>& next, const Combine& combine = {},
                    const Comp& comp = {}) {
  detail::paths_checked(where, d, next, combine, comp);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
