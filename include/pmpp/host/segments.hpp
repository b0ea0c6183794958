// SPDX-License-Identifier: Apache-2.0
//
// The calls of segmented.hpp on the CPU.
//
// Tasks are adjacent pieces of the input. Each finds out what it comes to, as a part (core/segment_part.hpp), and one thread
// joins the parts in order; scans and runs are then written by the tasks, which know what precedes them. Which elements are
// combined with which depends on the input alone: the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/segment_part.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// seq: two loops. host: tasks of equal numbers of elements and ends; the result does not depend on the number of
/// threads. fold_task(begin, end): what elements [begin, end) come to.
template <class P, class In, class Offsets, class Out, class A, class Op, class Fold>
void segmented_reduce_on_host([[maybe_unused]] const P& where, const In& in, const Offsets& offsets,
                              std::int64_t segments, const Out& out, A init, Op op, const Fold& fold_task) {
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t s = 0; s < segments; ++s) {
      A value = init;
      for (std::int64_t i = offset(s); i < offset(s + 1); ++i) value = static_cast<A>(op(value, static_cast<A>(in[i])));
      out[s] = static_cast<value_of<Out>>(value);
    }
  } else if (segments > 0) {
    const std::int64_t steps = offset(segments) - offset(0) + segments, tasks = ceil_div(steps, host_loop::grain);
    struct carry {
      segment_part<A> first,
          last;              ///< of the segment that the task goes on with, if that ends in it, and of the open one
      std::int64_t segment;  ///< that of `first`, or -1
    };
    host_loop::task_results<carry> carries(tasks);
    const auto fold = [&](std::int64_t begin, std::int64_t end) {
      return begin < end ? segment_part<A>{fold_task(begin, end), 0, true} : segment_part<A>{};
    };
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t first_step = t * host_loop::grain, end_step = min(steps, first_step + host_loop::grain);
      const std::int64_t first = detail::ends_before(offsets, segments, first_step);
      const std::int64_t last = detail::ends_before(offsets, segments, end_step);
      const std::int64_t begin = offset(0) + first_step - first, end = offset(0) + end_step - last;
      carry c{{}, {}, -1};
      std::int64_t i = begin;
      for (std::int64_t s = first; s < last; i = offset(++s)) {
        const segment_part<A> sum = fold(i, offset(s + 1));
        if (offset(s) < begin && offset(s) < offset(s + 1)) {
          c.first = sum;
          c.segment = s;
        } else {
          out[s] = static_cast<value_of<Out>>(sum.present ? static_cast<A>(op(init, sum.value)) : init);
        }
      }
      c.last = fold(i, end);
      c.last.heads = first < last;
      carries[t] = c;
    });
    const join_parts<A, Op> join{op};
    segment_part<A> before{};
    for (std::int64_t t = 0; t < tasks; ++t) {
      const carry& c = carries[t];
      if (c.segment >= 0)
        out[c.segment] = static_cast<value_of<Out>>(static_cast<A>(op(init, join(before, c.first).value)));
      before = join(before, c.last);
    }
  }
}

/// Scans elements [begin, end) after what lies in front of them in their segment. Exclusive: segments start with init.
template <bool Exclusive, class A, class In, class Offsets, class Out, class Op>
void segmented_scan_elements(const In& in, const Offsets& offsets, std::int64_t segment, std::int64_t begin,
                             std::int64_t end, segment_part<A> running, const Out& out, Op op, const A& init) {
  for (std::int64_t i = begin; i < end; ++i) {
    for (; static_cast<std::int64_t>(offsets[segment]) <= i; ++segment)
      if (static_cast<std::int64_t>(offsets[segment]) == i) running.present = false;
    const A x = static_cast<A>(in[i]);  // before the write: out may be in
    if (Exclusive && !running.present) running = {init, 0, true};
    const A before = running.value;
    running.value = running.present ? static_cast<A>(op(before, x)) : x;
    running.present = true;
    out[i] = static_cast<value_of<Out>>(Exclusive ? before : running.value);
  }
}

/// seq: one loop. host: tasks fold what lies after their last head; then they scan.
template <bool Exclusive, class P, class In, class Offsets, class Out, class A, class Op>
void segmented_scan_on_host([[maybe_unused]] const P& where, const In& in, const Offsets& offsets,
                            std::int64_t segments, const Out& out, Op op, const A& init) {
  if (segments <= 0) return;
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  const std::int64_t first = offset(0), last = offset(segments);
  if constexpr (std::is_same_v<P, seq_policy>) {
    detail::segmented_scan_elements<Exclusive>(in, offsets, 0, first, last, segment_part<A>{}, out, op, init);
  } else {
    const std::int64_t tasks = ceil_div(last - first, host_loop::grain);
    const auto begin_of_task = [=](std::int64_t t) { return min(last, first + t * host_loop::grain); };
    const auto first_at_least = [&](std::int64_t i) {  // the first offset that is at least i
      return detail::partition_point(std::int64_t(0), segments, [&](std::int64_t s) { return offset(s) < i; });
    };
    host_loop::task_results<segment_part<A>> parts(tasks);
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t begin = begin_of_task(t), end = begin_of_task(t + 1);
      const std::int64_t head = offset(first_at_least(end) - 1);  // the last one in front of `end`
      A sum = static_cast<A>(in[max(begin, head)]);
      if (Exclusive && head >= begin) sum = static_cast<A>(op(init, sum));
      for (std::int64_t i = max(begin, head) + 1; i < end; ++i) sum = static_cast<A>(op(sum, static_cast<A>(in[i])));
      parts[t] = {sum, head >= begin ? 1u : 0u, true};
    });
    segment_part<A> before{};
    for (std::int64_t t = 0; t < tasks; ++t) {
      const segment_part<A> next = join_parts<A, Op>{op}(before, parts[t]);
      parts[t] = before;
      before = next;
    }
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t begin = begin_of_task(t);
      segmented_scan_elements<Exclusive>(in, offsets, first_at_least(begin), begin, begin_of_task(t + 1), parts[t], out,
                                         op, init);
    });
  }
}

/// Reduces the runs that begin in [begin, end), of which there are some if begin is 0. Returns the number of heads and
/// what the elements from the last one on combine to; where `write`, run number `rank` and the following are written.
template <class A, class In, class Eq, class Out, class Op>
segment_part<A> reduce_runs(const In& in, std::int64_t begin, std::int64_t end, segment_part<A> running,
                            std::int64_t rank, bool write, const Out& out, Eq eq, Op op) {
  running.heads = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const value_of<In> x = in[i];
    const A value = static_cast<A>(x.second);
    if (i == 0 || !static_cast<bool>(eq(in[i - 1].first, x.first))) {
      if (write) {
        if (rank > 0) out.values[rank - 1] = static_cast<value_of<decltype(out.values)>>(running.value);
        out.keys[rank] = static_cast<value_of<decltype(out.keys)>>(x.first);
      }
      ++rank;
      ++running.heads;
      running.value = value;
    } else {
      running.value = running.present ? static_cast<A>(op(running.value, value)) : value;
    }
    running.present = true;
  }
  return running;
}

/// Returns the number of runs. seq: one loop. host: tasks count their heads and combine what lies after the last one; then they write.
template <class A, class P, class In, class Eq, class Out, class Op>
std::int64_t runs_on_host([[maybe_unused]] const P& where, const input<In>& in, Eq eq, const Out& out, Op op) {
  const std::int64_t n = in.count.get();
  std::int64_t runs = 0;
  segment_part<A> running{};
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t begin = 0; begin < n; begin += host_loop::grain) {
      running = reduce_runs(in.first, begin, min(n, begin + host_loop::grain), running, runs, true, out, eq, op);
      runs += running.heads;
    }
  } else {
    const std::int64_t tasks = ceil_div(n, host_loop::grain);
    host_loop::task_results<segment_part<A>> parts(tasks);
    host_loop::task_results<std::int64_t> ranks(tasks);
    const auto reduce_task = [&](std::int64_t t, segment_part<A> before, std::int64_t rank, bool write) {
      return reduce_runs(in.first, t * host_loop::grain, min(n, (t + 1) * host_loop::grain), before, rank, write, out,
                         eq, op);
    };
    host_loop::parallel_for(where, tasks,
                            [&](std::int64_t t) { parts[t] = reduce_task(t, segment_part<A>{}, 0, false); });
    for (std::int64_t t = 0; t < tasks; ++t) {
      const segment_part<A> next = join_parts<A, Op>{op}(running, parts[t]);
      ranks[t] = runs;
      runs += parts[t].heads;
      parts[t] = running;
      running = next;
    }
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) { reduce_task(t, parts[t], ranks[t], true); });
  }
  if (runs > 0) out.values[runs - 1] = static_cast<value_of<decltype(out.values)>>(running.value);
  return runs;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
