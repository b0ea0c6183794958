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
// millions of tiny or empty ones, or a mixture. How: segmented/reduce.hpp and segmented/runs.hpp, on the tiles of
// segmented/tile.hpp. Operands stay in order and are always elements or results of adjacent ranges of one segment; no
// identity is needed. The same bits on every run. (PMPP ch. 11, 14; Schwartz, 1980; Merrill and Garland, 2016.)
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/reduce.hpp>
#include <pmpp/segmented/tile.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class It>
void require_offsets(const char* function, const input<It>& offsets) {
  static_assert(std::is_integral_v<value_of<It>>, "pmpp: offsets must be integers");
  require(offsets.count.bound >= 1, [&] {
    return std::string("pmpp::") + function + ": offsets must have one entry more than there are segments, got " +
           std::to_string(offsets.count.bound);
  });
}

/// Debug mode: offsets never decrease and lie in [0, n].
template <class Offsets>
PMPP_HOST_DEVICE void check_segment(const Offsets& offsets, std::int64_t s, std::int64_t n) {
  const auto begin = static_cast<std::int64_t>(offsets[s]);
  check_part(begin, static_cast<std::int64_t>(offsets[s + 1]) - begin, n, "segment (offsets)");
}
template <class Offsets>
struct check_offsets_kernel {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, Offsets offsets, item_count offset_count, item_count count) const {
    const std::int64_t segments = offset_count.get() - 1, n = count.get();
    for (std::int64_t s = block.index() * threads + block.thread(); s < segments; s += block.count() * threads)
      check_segment(offsets, s, n);
  }
};
template <class P, class In, class Offsets>
void check_offsets([[maybe_unused]] const P& where, [[maybe_unused]] const input<In>& in,
                   [[maybe_unused]] const input<Offsets>& offsets) {
  if constexpr (debug_mode && kernel_execution<P>)
    launch(where, std::int64_t(4) * processor_count(where), check_offsets_kernel<Offsets>{}, offsets.first,
           offsets.count, in.count);
  else if constexpr (debug_mode)
    for (std::int64_t s = 0; s < offsets.count.get() - 1; ++s) check_segment(offsets.first, s, in.count.get());
}

/// Enqueues on a GPU or runs in the emulator.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
void segmented_reduce_on_blocks(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                                Op op) {
  check_reachable(where, "segmented_reduce", zip_iterator{in.first, zip_iterator{offsets.first, out}});
  block::with_access(in.first, [&](auto wide, std::int64_t wide_lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    constexpr bool fits = wide * larger(sizeof(value_of<In>), sizeof(A)) <= 256;
    constexpr int items = fits ? int(wide) : 1;
    using kernel = segmented_reduce_kernel<In, Offsets, Out, Op, A, items, Tuning>;
    using slots = block::tile_state<segment_carry<A>>;
    constexpr std::size_t counter_bytes = 16;  // the started blocks, in front of the slots
    const std::int64_t steps = in.count.bound + offsets.count.bound;
    const std::int64_t blocks = smaller(std::int64_t(kernel::min_blocks) * processor_count(where),
                                        ceil_div(steps, std::int64_t(kernel::layout::elements)));
    const std::int64_t slot_count = blocks == 1 ? 0 : blocks;
    scratch memory(where, slots::payload_bytes(slot_count),
                   slot_count == 0 ? 0 : counter_bytes + slots::state_bytes(slot_count));
    unsigned* const started = memory.state();
    void* const state = started == nullptr ? nullptr : started + counter_bytes / sizeof *started;
    launch(where, blocks, kernel{},
           typename kernel::arguments{in.first, in.count, offsets.first, offsets.count, out, op, init,
                                      fits ? wide_lead : 0, started, slots(state, memory.data())});
  });
}

/// How many ends of segments lie on the first `step` steps of the walk over elements and ends.
template <class Offsets>
std::int64_t ends_before(const Offsets& offsets, std::int64_t segments, std::int64_t step) {
  std::int64_t low = 0, high = segments;
  while (low < high) {
    const std::int64_t s = low + (high - low) / 2;
    if (static_cast<std::int64_t>(offsets[s + 1]) - static_cast<std::int64_t>(offsets[0]) + s + 1 <= step)
      low = s + 1;
    else
      high = s;
  }
  return low;
}

/// seq: two loops. host: tasks of equal numbers of elements and ends; the result does not depend on the number of
/// threads.
template <class P, class In, class Offsets, class Out, class A, class Op>
void segmented_reduce_on_host([[maybe_unused]] const P& where, const In& in, const Offsets& offsets,
                              std::int64_t segments, const Out& out, A init, Op op) {
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t s = 0; s < segments; ++s) {
      A value = init;
      for (std::int64_t i = offset(s); i < offset(s + 1); ++i) value = static_cast<A>(op(value, static_cast<A>(in[i])));
      out[s] = static_cast<value_of<Out>>(value);
    }
  } else if (segments > 0) {
    const std::int64_t steps = offset(segments) - offset(0) + segments, tasks = ceil_div(steps, host_loop::grain);
    host_loop::task_results<segment_carry<A>> carries(tasks);
    const auto fold = [&](std::int64_t begin, std::int64_t end) {
      return begin < end ? part<A>{fold_task<A>(in, begin, end, op), 0, true} : part<A>{};
    };
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t first_step = t * host_loop::grain, end_step = smaller(steps, first_step + host_loop::grain);
      const std::int64_t first = ends_before(offsets, segments, first_step);
      const std::int64_t last = ends_before(offsets, segments, end_step);
      const std::int64_t begin = offset(0) + first_step - first, end = offset(0) + end_step - last;
      segment_carry<A> c{{}, {}, -1};
      std::int64_t i = begin;
      for (std::int64_t s = first; s < last; i = offset(++s)) {
        const part<A> sum = fold(i, offset(s + 1));
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
    part<A> before{};
    for (std::int64_t t = 0; t < tasks; ++t) {
      const segment_carry<A>& c = carries[t];
      if (c.segment >= 0)
        out[c.segment] = static_cast<value_of<Out>>(static_cast<A>(op(init, join(before, c.first).value)));
      before = join(before, c.last);
    }
  }
}

}  // namespace detail

/// Combines the elements of each segment: out[s] = op(... op(init, r[offsets[s]]) ..., r[offsets[s + 1] - 1]), grouped
/// freely, in order.
///
/// \param r        a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param offsets  segments + 1 integers of any type, as a range, or two iterators, or an iterator and a device_count
///                 (segments + 1 then too); visible to `where`. \pre they never decrease, and the last one is at most
///                 the length of r; checked in debug mode. Elements in front of the first one are left out.
/// \param out      an iterator, or a range with room for an element a segment; visible to `where`; not r or offsets.
/// \param init     joins once, on the left, in every segment, and is the result of empty ones; its type is that of the
///                 accumulator, which must be trivially copyable. Without it as in reduce.
/// \param op       associative; need not be commutative or have an identity.
/// \return the iterator past the last element written (past the bound for a device_count).
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured. Scratch:
/// about 50 bytes a block of the grid, from the workspace or one allocation in stream order.
/// Cost: n elements and segments + 1 offsets read, segments written; one launch.
/// \throws std::invalid_argument for a null or reversed input, or no offsets at all, std::length_error if out is too
/// short; cuda_error. Source: Merrill and Garland, Merge-based SpMV, 2016. Example: test/segmented.cpp, sums.
template <segmented_tuning Tuning = segmented_tuning{}, execution_policy P, random_access_range R,
          random_access_range Offsets, output O, class A = accumulator_of<element_value<R>>, class Op = plus>
auto segmented_reduce(const P& where, R&& r, Offsets&& offsets, O&& out, A init = {}, Op op = {}) {
  const char* const function = "segmented_reduce";
  const auto in = detail::input_of(function, r);
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, at);
  const std::int64_t segments = at.count.bound - 1;
  detail::check_output(function, "out", out, segments);
  detail::check_offsets(where, in, at);
  const auto first = detail::begin_of(out);
  const auto target = detail::unwrap(first);
  if constexpr (kernel_execution<P>) {
    if (segments > 0) detail::segmented_reduce_on_blocks<Tuning>(where, in, at, target, init, op);
  } else {
    detail::segmented_reduce_on_host(where, in.first, at.first, at.count.get() - 1, target, init, op);
  }
  return first + segments;
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <segmented_tuning Tuning = segmented_tuning{}, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto segmented_reduce(const P& where, It first, End last, Offsets&& offsets, O&& out, A init = {}, Op op = {}) { return segmented_reduce<Tuning>(where, subrange{first, last}, offsets, out, init, op); }

template <segmented_tuning Tuning = segmented_tuning{}, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto segmented_reduce(const P& where, It first, End last, Off offsets, OffEnd offsets_end, O&& out, A init = {}, Op op = {}) { return segmented_reduce<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, out, init, op); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
