// SPDX-License-Identifier: Apache-2.0
//
// The scans of scan.hpp on the CPU, by one thread or by all.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Scans in[begin, end) after `running`, if has_running. `Fours`: four elements are scanned among themselves before
/// they join what precedes them: fewer operations wait for each other. It pays where one takes more than a cycle.
template <bool Exclusive, bool Fours, class In, class Out, class A, class Op>
void scan_elements(const In in, const Out out, std::int64_t begin, std::int64_t end, A running, bool has_running,
                   Op op) {
  constexpr int exclusive = Exclusive;
  const auto join = [&](const A& a, const A& b) { return static_cast<A>(op(a, b)); };
  const auto element = [&](std::int64_t i) { return static_cast<A>(in[i]); };
  const auto put = [&](std::int64_t i, const A& a) { out[i] = static_cast<value_of<Out>>(a); };
  for (std::int64_t i = begin; i < end; ++i) {
    const A x = element(i);  // before the write: out may be in
    if (exclusive) put(i, running);
    running = has_running ? join(running, x) : x;
    has_running = true;
    if (!exclusive) put(i, running);
    if constexpr (Fours)
      for (; end - i > 4; i += 4) {
        const A a = element(i + 1), b = join(a, element(i + 2)), c = join(b, element(i + 3)),
                d = join(c, element(i + 4));
        if (exclusive) put(i + 1, running);
        put(i + 1 + exclusive, join(running, a));
        put(i + 2 + exclusive, join(running, b));
        put(i + 3 + exclusive, join(running, c));
        running = join(running, d);
        if (!exclusive) put(i + 4, running);
      }
  }
}

/// seq: one loop. host: tasks take turns (host/parallel_for.hpp), whatever the number of threads. A task sums up its
/// elements, hands on what precedes the next task, and scans its elements while the caches still hold them.
/// fold_task(begin, end): what elements [begin, end) come to.
template <bool Exclusive, class P, class In, class Out, class A, class Op, class Fold>
void scan_on_host(const P& where, const input<In>& in, Out out, const A& start, bool has_start, Op op,
                  [[maybe_unused]] const Fold& fold_task) {
  const std::int64_t n = in.count.get();
  if constexpr (std::is_same_v<P, seq_policy>) {
    scan_elements<Exclusive, false>(in.first, out, 0, n, start, has_start, op);
  } else {
    const std::int64_t grain = host_loop::grain_of<value_of<In>>(n);
    constexpr bool fours = std::is_floating_point_v<A>;
    if (n <= grain) return scan_elements<Exclusive, fours>(in.first, out, 0, n, start, has_start, op);
    host_loop::turns order;
    A running = start;
    host_loop::parallel_for(where, ceil_div(n, grain), [&](std::int64_t) {
      host_loop::turn mine(order);
      const std::int64_t begin = mine.number() * grain, end = min(n, begin + grain);
      const bool has_before = begin > 0 || has_start;
      const A sum = fold_task(begin, end);
      mine.wait();
      const A before = running;
      running = has_before ? static_cast<A>(op(before, sum)) : sum;
      mine.pass();
      scan_elements<Exclusive, fours>(in.first, out, begin, end, before, has_before, op);
    });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
