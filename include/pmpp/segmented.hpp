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
#include <pmpp/check_each.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/direct.hpp>
#include <pmpp/segmented/reduce.hpp>
#include <pmpp/segmented/runs.hpp>
#include <pmpp/segmented/tile.hpp>
#include <pmpp/select.hpp>

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
struct segment_check {
  input<Offsets> offsets;
  item_count count;
  PMPP_HOST_DEVICE void operator()(std::int64_t s) const {
    if (s + 1 >= offsets.count.get()) return;
    const auto begin = static_cast<std::int64_t>(offsets.first[s]);
    check_part(begin, static_cast<std::int64_t>(offsets.first[s + 1]) - begin, count.get(),
               "segment between two offsets");
  }
};
template <class P, class In, class Offsets>
void check_offsets(const P& where, const input<In>& in, const input<Offsets>& offsets) {
  check_each(where, offsets.count, segment_check<Offsets>{offsets, in.count});
}

/// Short inputs, and long segments (segmented/direct.hpp). False, and nothing is done, if neither is to be expected.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
bool segmented_reduce_directly(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                               Op op) {
  constexpr int bytes = sizeof(value_of<In>);
  constexpr bool possible = bytes <= 16 && sizeof(A) <= 16;
  const std::int64_t segments = offsets.count.bound - 1;
  [[maybe_unused]] const auto run = [&](auto blocks_of_a_processor) {
    using kernel = direct_reduce_kernel<In, Offsets, Out, Op, A, Tuning, blocks_of_a_processor>;
    const typename kernel::plan p(in.count.bound, segments);
    scratch memory(where, std::size_t(p.chunks) * sizeof(A), std::size_t(p.chunks) * sizeof(unsigned));
    pmpp::launch(where, max(p.tasks, p.chunks), kernel{},
                 typename kernel::arguments{in.first, in.count, offsets.first, offsets.count, out, op, init, p,
                                            static_cast<A*>(memory.data()), memory.state()});
    return true;
  };
  if constexpr (possible && Tuning.short_input > 0)  // as many blocks at once as possible: latency counts
    if (in.count.bound <= Tuning.short_input && segments <= Tuning.short_segments)
      return run(std::integral_constant<int, 8>{});
  if constexpr (possible && bytes >= 4 &&
                Tuning.long_average > 0)  // memory likes fewer streams better: 350, not 375 us
    if (in.count.bound / segments >= Tuning.long_average) return run(std::integral_constant<int, 6>{});
  return false;
}

/// Enqueues on a GPU or runs in the emulator.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
void segmented_reduce_on_blocks(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                                Op op) {
  detail::check_reachable(where, "segmented_reduce", zip_iterator{in.first, zip_iterator{offsets.first, out}});
  if (segmented_reduce_directly<Tuning>(where, in, offsets, out, init, op)) return;
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead) {
    using kernel = segmented_reduce_kernel<In, Offsets, Out, Op, A, items, decltype(tuning)::value>;
    using slots = block::tile_state<segment_carry<A>>;
    constexpr std::size_t counter_bytes = 16;  // the started blocks, in front of the slots
    const std::int64_t steps = in.count.bound + offsets.count.bound;
    const std::int64_t blocks = min(std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors,
                                    ceil_div(steps, std::int64_t(kernel::layout::elements)));
    const std::int64_t slot_count = blocks == 1 ? 0 : blocks;
    scratch memory(where, slots::payload_bytes(slot_count),
                   slot_count == 0 ? 0 : counter_bytes + slots::state_bytes(slot_count));
    unsigned* const started = memory.state();
    void* const state = started == nullptr ? nullptr : started + counter_bytes / sizeof *started;
    pmpp::launch(where, blocks, kernel{},
                 typename kernel::arguments{in.first, in.count, offsets.first, offsets.count, out, op, init, lead,
                                            started, slots(state, memory.data())});
  };
  block::with_access(in.first, [&](auto wide, std::int64_t lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    constexpr bool fits = decltype(wide)::value * max(sizeof(value_of<In>), sizeof(A)) <= 256;
    using items = std::integral_constant<int, fits ? int(decltype(wide)::value) : 1>;
    const std::int64_t items_lead = fits ? lead : 0;
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = segmented_reduce_kernel<In, Offsets, Out, Op, A, items::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared);
    };
    with_fitting_tuning<segmented_tuning, Tuning, Tuning.least()>(
        "segmented_reduce", sizeof(A), where, bytes_of, [&](auto tuning) { enqueue(tuning, items{}, items_lead); });
  });
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
      const std::int64_t first_step = t * host_loop::grain, end_step = min(steps, first_step + host_loop::grain);
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

/// Enqueues segmented_inclusive_scan, reduce_by_key or run_length_encode on a GPU, or runs it in the emulator.
/// Aligned: what is accessed by whole vectors, which starts with In.
template <segmented_tuning Tuning, class A, class Count, class P, class Aligned, class In, class Heads, class Out,
          class Sink, class Op>
void runs_on_blocks(const P& where, const Aligned& aligned, const input<In>& in, const Heads& heads, const Out& out,
                    Sink sink, Op op, const completion& done) {
  const auto enqueue = [&](auto kernel_of_tuning, std::int64_t lead, int shift) {
    using kernel = decltype(kernel_of_tuning);
    constexpr int items = kernel::vector_items;
    using look_back = typename kernel::look_back;
    // Short inputs are cut into smaller tiles, one for each block.
    const std::int64_t most_blocks = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors;
    const std::size_t room = std::size_t(machine_of(where).shared_per_block) - sizeof(typename kernel::shared);
    const std::int64_t share = ceil_div(ceil_div(in.count.bound, std::int64_t(kernel::workers) * items), most_blocks);
    auto rows = static_cast<int>(max<std::int64_t>(1, min<std::int64_t>(share, kernel::most_rows)));
    if (rows > kernel::each) rows = static_cast<int>(round_up(rows, kernel::each));
    const auto plan_of = [&](int r) { return typename kernel::plan(in.count.bound, lead, r); };
    while (rows > 1 && plan_of(rows).shared_bytes() > room) rows -= rows > kernel::each ? kernel::each : 1;
    const typename kernel::plan p = plan_of(rows);
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    const std::size_t payload = linked == 0 ? 0 : scratch_bytes({look_back::payload_bytes(linked)});
    const bool waits = Heads::by_key && linked > 0 && in.count.pointer != nullptr;
    scratch memory(where, payload + (waits ? sizeof(selection) : 0), linked == 0 ? 0 : look_back::state_bytes(linked));
    auto* const data = static_cast<std::byte*>(memory.data());
    auto* const found = waits ? reinterpret_cast<selection*>(data + payload) : nullptr;
    launch_kernel<kernel::threads>(where, grid{min(p.tiles, most_blocks), kernel::threads, p.shared_bytes()}, kernel{},
                                   typename kernel::arguments{in.first, in.count, heads, out, sink, op, p, lead, shift,
                                                              found, look_back(memory.state(), data, p.tiles), done});
  };
  const auto start = [&](auto wide, std::int64_t lead, auto shifted, int shift) {
    constexpr bool fits = decltype(wide)::value * max(sizeof(value_of<In>), sizeof(A)) <= 256;
    const std::int64_t items_lead = fits ? lead : 0;
    constexpr auto kernel_of = [](auto tuning) {
      constexpr int items = fits ? int(decltype(wide)::value) : 1;
      constexpr bool moved = fits && decltype(shifted)::value;
      return run_kernel<In, Heads, Out, Sink, Op, A, Count, items, moved, decltype(tuning)::value>{};
    };
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = decltype(kernel_of(tuning));
      return sizeof(typename kernel::shared) + kernel::plan::bytes_of_rows(1);
    };
    with_fitting_tuning<segmented_tuning, Tuning, Tuning.least()>(
        "segmented", sizeof(value_of<In>), where, bytes_of,
        [&](auto tuning) { enqueue(kernel_of(tuning), items_lead, shift); });
  };
  if constexpr (Heads::by_key && joins_shifted<In>) {  // the keys' boundaries count
    constexpr int items = block::access<In>::items, own = block::access<decltype(in.first.b)>::items;
    using wide = std::integral_constant<int, items>;
    const std::int64_t lead = block::access<decltype(in.first.a)>::template lead<items>(in.first.a);
    const auto shift =
        static_cast<int>((lead + items - block::access<decltype(in.first.b)>::template lead<items>(in.first.b)) % own);
    if (shift == 0)
      start(wide{}, lead, std::false_type{}, 0);
    else
      start(wide{}, lead, std::true_type{}, shift);
  } else {
    block::with_access(aligned, [&](auto wide, std::int64_t lead) { start(wide, lead, std::false_type{}, 0); });
  }
}

/// Scans elements [begin, end) after what lies in front of them in their segment.
template <class A, class In, class Offsets, class Out, class Op>
void segmented_scan_elements(const In& in, const Offsets& offsets, std::int64_t segment, std::int64_t begin,
                             std::int64_t end, part<A> running, const Out& out, Op op) {
  for (std::int64_t i = begin; i < end; ++i) {
    for (; static_cast<std::int64_t>(offsets[segment]) <= i; ++segment)
      if (static_cast<std::int64_t>(offsets[segment]) == i) running.present = false;
    const A x = static_cast<A>(in[i]);  // before the write: out may be in
    running.value = running.present ? static_cast<A>(op(running.value, x)) : x;
    running.present = true;
    out[i] = static_cast<value_of<Out>>(running.value);
  }
}

template <class P, class In, class Offsets, class Out, class A, class Op>
void segmented_scan_on_host([[maybe_unused]] const P& where, const In& in, const Offsets& offsets,
                            std::int64_t segments, const Out& out, Op op, std::type_identity<A>) {
  if (segments <= 0) return;
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  const std::int64_t first = offset(0), last = offset(segments);
  if constexpr (std::is_same_v<P, seq_policy>) {
    detail::segmented_scan_elements(in, offsets, 0, first, last, part<A>{}, out, op);
  } else {
    const std::int64_t tasks = ceil_div(last - first, host_loop::grain);
    const auto begin_of_task = [=](std::int64_t t) { return min(last, first + t * host_loop::grain); };
    const auto first_behind = [&](std::int64_t i) {  // the first offset that is at least i
      std::int64_t low = 0, high = segments;
      while (low < high) {
        const std::int64_t s = low + (high - low) / 2;
        if (offset(s) < i)
          low = s + 1;
        else
          high = s;
      }
      return low;
    };
    host_loop::task_results<part<A>> parts(tasks);
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t begin = begin_of_task(t), end = begin_of_task(t + 1);
      const std::int64_t head = offset(first_behind(end) - 1);  // the last one in front of `end`
      parts[t] = {fold_elements<A>(in, max(begin, head), end, op), head >= begin ? 1u : 0u, true};
    });
    part<A> before{};
    for (std::int64_t t = 0; t < tasks; ++t) {
      const part<A> next = join_parts<A, Op>{op}(before, parts[t]);
      parts[t] = before;
      before = next;
    }
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t begin = begin_of_task(t);
      segmented_scan_elements(in, offsets, first_behind(begin), begin, begin_of_task(t + 1), parts[t], out, op);
    });
  }
}

/// Reduces the runs that begin in [begin, end), of which there are some if begin is 0. Returns the number of heads and
/// what the elements from the last one on combine to; where `write`, run number `rank` and the following are written.
template <class A, class In, class Eq, class Out, class Op>
part<A> reduce_runs(const In& in, std::int64_t begin, std::int64_t end, part<A> running, std::int64_t rank, bool write,
                    const Out& out, Eq eq, Op op) {
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

/// seq: one loop. host: tasks count their heads and combine what lies after the last one; then they write.
template <class A, class P, class In, class Eq, class Out, class Op>
selection runs_on_host([[maybe_unused]] const P& where, const input<In>& in, Eq eq, const Out& out, Op op) {
  const std::int64_t n = in.count.get();
  std::int64_t runs = 0;
  part<A> running{};
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t begin = 0; begin < n; begin += host_loop::grain) {
      running = reduce_runs(in.first, begin, min(n, begin + host_loop::grain), running, runs, true, out, eq, op);
      runs += running.heads;
    }
  } else {
    const std::int64_t tasks = ceil_div(n, host_loop::grain);
    host_loop::task_results<part<A>> parts(tasks);
    host_loop::task_results<std::int64_t> ranks(tasks);
    const auto reduce_task = [&](std::int64_t t, part<A> before, std::int64_t rank, bool write) {
      return reduce_runs(in.first, t * host_loop::grain, min(n, (t + 1) * host_loop::grain), before, rank, write, out,
                         eq, op);
    };
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) { parts[t] = reduce_task(t, part<A>{}, 0, false); });
    for (std::int64_t t = 0; t < tasks; ++t) {
      const part<A> next = join_parts<A, Op>{op}(running, parts[t]);
      ranks[t] = runs;
      runs += parts[t].heads;
      parts[t] = running;
      running = next;
    }
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) { reduce_task(t, parts[t], ranks[t], true); });
  }
  if (runs > 0) out.values[runs - 1] = static_cast<value_of<decltype(out.values)>>(running.value);
  return {runs, n};
}

/// The operator of run_length_encode, where each value is one: on kernels a length is a difference of positions.
struct add_lengths : plus {};

/// Eight-byte values share a word of the look-back with the number of runs if that takes four: below 2^32 elements. For
/// smaller values it may take eight, for larger ones there is no such word.
template <segmented_tuning Tuning, class A, class P, class In, class Eq, class Out, class Sink, class Op>
void runs_of_any_length(const char* function, const P& where, const input<In>& in, Eq eq, const Out& out, Sink sink,
                        Op op, const completion& done) {
  detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{out.keys, out.values}});
  if constexpr (std::is_same_v<Op, add_lengths>) {
    const auto keys = in.first.a;
    const input<std::remove_const_t<decltype(keys)>> alone{keys, in.count};
    runs_on_blocks<Tuning, std::uint64_t, std::uint64_t>(where, keys, alone, heads_of_runs<Eq>{eq}, out, sink, plus{},
                                                         done);
  } else {
    const heads_by_key<Eq> heads{eq};
    if constexpr (sizeof(A) > 4 && sizeof(A) <= 8)
      if (in.count.bound >> 32 == 0)
        return runs_on_blocks<Tuning, A, std::uint32_t>(where, in.first, in, heads, out, sink, op, done);
    runs_on_blocks<Tuning, A, std::uint64_t>(where, in.first, in, heads, out, sink, op, done);
  }
}

template <class KeysOut, class ValuesOut, class In>
auto runs_output(const char* function, KeysOut& keys_out, const char* values_name, ValuesOut& values_out,
                 const char* keys_name, const input<In>& in) {
  const auto keys = unbounded_output(function, keys_name, keys_out, in.count.bound, in);
  const auto values = unbounded_output(function, values_name, values_out, in.count.bound, in);
  return runs_out<std::remove_const_t<decltype(keys)>, std::remove_const_t<decltype(values)>>{keys, values};
}

template <segmented_tuning Tuning, class A, class P, class In, class Eq, class Out, class Op>
std::int64_t runs_and_wait(const char* function, const P& where, const input<In>& in, Eq eq, const Out& out, Op op) {
  if constexpr (kernel_execution<P>) {
    reply<selection, P> answer(function, where);
    runs_of_any_length<Tuning, A>(function, answer.policy(), in, on_values<value_of<In>>(eq), out,
                                  store_selection{answer.target()}, on_values<A>(op), answer.done());
    return answer.wait().kept;
  } else {
    return runs_on_host<A>(where, in, on_values<value_of<In>>(eq), out, on_values<A>(op)).kept;
  }
}
template <segmented_tuning Tuning, class A, class P, class In, class Eq, class Out, class C, class Op>
void runs_and_store(const char* function, const P& where, const input<In>& in, Eq eq, const Out& out, C& count_out,
                    Op op) {
  const auto sink = count_sink(function, where, count_out);
  if constexpr (kernel_execution<P>)
    runs_of_any_length<Tuning, A>(function, where, in, on_values<value_of<In>>(eq), out, sink, on_values<A>(op),
                                  completion{});
  else
    sink(runs_on_host<A>(where, in, on_values<value_of<In>>(eq), out, on_values<A>(op)));
}

/// Keys and their values; values are a range or an iterator.
template <class Keys, class Values>
auto keys_and_values(const char* function, Keys& keys, Values& values) {
  if constexpr (random_access<std::decay_t<Values>>)
    return detail::with_stored(detail::zipped_with_start(function, std::begin(keys), std::end(keys), begin_of(values)));
  else
    return detail::with_stored(zipped(function, keys, values));
}
/// Elements that count one each.
template <class R>
auto counted(const char* function, R& r) {
  const auto in = with_stored(input_of(function, r));
  using one = constant_iterator<std::int64_t>;
  using iterator = zip_iterator<std::remove_const_t<decltype(in.first)>, one>;
  return input<iterator>{iterator(in.first, one(1)), in.count};
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
/// about 50 bytes a block of the grid, or a value and four bytes every 2 sqrt(n) elements, from the workspace or one
/// allocation in stream order. Cost: n elements and segments + 1 offsets read, segments written; one launch.
/// \throws std::invalid_argument for a null or reversed input, or no offsets at all, std::length_error if out is too
/// short; cuda_error. Source: Merrill and Garland, Merge-based SpMV, 2016. Example: test/segmented.cpp, sums.
template <segmented_tuning Tuning = tuned<segmented_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class A = accumulator_of<element_value<R>>, class Op = plus>
auto segmented_reduce(const P& where, R&& r, Offsets&& offsets, O&& out, A init = {}, Op op = {}) {
  const char* const function = "segmented_reduce";
  const auto in = detail::stored_for<A>(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, at);
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
    detail::segmented_reduce_on_host(where, in.first, at.first, at.count.get() - 1, target, start, fold);
  }
  return first + segments;
}

/// Scans each segment: out[i] = op(... op(r[offsets[s]], ...), r[i]) for the segment s that i lies in, grouped freely, in
/// order. As segmented_reduce.
///
/// \param out  an iterator, or a range as long as r; visible to `where`. Only out[offsets[0]] ... out[offsets[segments] -
///             1] are written.
/// \return the iterator past r's last element in out.
/// The accumulator is accumulator_of<T>. In place is allowed (out begins where r begins). Scratch: 16 bytes a tile of
/// 100 KB, as zeroed state of the workspace, or one allocation in stream order. Cost: n elements and segments + 1
/// offsets read, n written; one launch. \throws as segmented_reduce. Example: test/segmented.cpp, scans.
template <segmented_tuning Tuning = segmented_scan_tuning, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> O, class Op = plus>
auto segmented_inclusive_scan(const P& where, R&& r, Offsets&& offsets, O&& out, Op op = {}) {
  using A = detail::stored_as<accumulator_of<element_value<R>>>;
  const char* const function = "segmented_inclusive_scan";
  const auto in = detail::stored_for<A>(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, at);
  detail::check_output(function, "out", out, in.count.bound, at);
  detail::check_offsets(where, in, at);
  const auto first = detail::begin_of(out);
  const auto target = detail::with_stored(detail::unwrap(first));
  detail::check_apart<true>(function, "out", target, in.count.bound, in);
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{at.first, target}});
    const detail::heads_at_offsets<std::remove_const_t<decltype(at.first)>> heads{at.first, at.count};
    if (in.count.bound > 0 && at.count.bound > 1)
      detail::runs_on_blocks<Tuning, A, std::uint32_t>(where, zip_iterator{in.first, target}, in, heads, target,
                                                       detail::nowhere{}, detail::on_values<A>(op),
                                                       detail::completion{});
  } else {
    detail::segmented_scan_on_host(where, in.first, at.first, at.count.get() - 1, target, detail::on_values<A>(op),
                                   std::type_identity<A>{});
  }
  return first + in.count.bound;
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
  const auto in = detail::keys_and_values(function, keys, values);
  const auto out = detail::runs_output(function, keys_out, "values_out", values_out, "keys_out", in);
  using A = accumulator_of<decltype(in.first[0].second)>;
  const std::int64_t runs = detail::runs_and_wait<Tuning, A>(function, where, in, eq, out, op);
  const auto keys_end = detail::begin_of(keys_out) + runs;
  const auto values_end = detail::begin_of(values_out) + runs;
  return pair<std::remove_const_t<decltype(keys_end)>, std::remove_const_t<decltype(values_end)>>{keys_end, values_end};
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
  const auto in = detail::keys_and_values(function, keys, values);
  const auto out = detail::runs_output(function, keys_out, "values_out", values_out, "keys_out", in);
  using A = accumulator_of<decltype(in.first[0].second)>;
  detail::runs_and_store<Tuning, A>(function, where, in, eq, out, count_out, op);
}

/// Writes each run of equals as its first element and its length: reduce_by_key where each value is one.
///
/// \param counts_out  an iterator or a range, of any integer type.
/// \return the iterators past the last elements written, as a pair. Example: examples/11_run_lengths.cpp.
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, range_for<P> R, output_for<P> ValuesOut,
          output_for<P> CountsOut>
auto run_length_encode(const P& where, R&& r, ValuesOut&& values_out, CountsOut&& counts_out) {
  const char* const function = "run_length_encode";
  const auto in = detail::counted(function, r);
  const auto out = detail::runs_output(function, values_out, "counts_out", counts_out, "values_out", in);
  const std::int64_t runs =
      detail::runs_and_wait<Tuning, std::int64_t>(function, where, in, equal_to{}, out, detail::add_lengths{});
  const auto values_end = detail::begin_of(values_out) + runs;
  const auto counts_end = detail::begin_of(counts_out) + runs;
  return pair<std::remove_const_t<decltype(values_end)>, std::remove_const_t<decltype(counts_end)>>{values_end,
                                                                                                    counts_end};
}

/// As run_length_encode, but leaves the number of runs in *count_out and does not wait; as reduce_by_key_into.
template <segmented_tuning Tuning = run_length_tuning, execution_policy P, range_for<P> R, output_for<P> ValuesOut,
          output_for<P> CountsOut, output_for<P> C>
void run_length_encode_into(const P& where, R&& r, ValuesOut&& values_out, CountsOut&& counts_out, C&& count_out) {
  const char* const function = "run_length_encode_into";
  const auto in = detail::counted(function, r);
  const auto out = detail::runs_output(function, values_out, "counts_out", counts_out, "values_out", in);
  detail::runs_and_store<Tuning, std::int64_t>(function, where, in, equal_to{}, out, count_out, detail::add_lengths{});
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

template <segmented_tuning Tuning = run_length_tuning, execution_policy P, random_access It, end_of<It> End, output ValuesOut, output CountsOut>
auto run_length_encode(const P& where, It first, End last, ValuesOut&& values_out, CountsOut&& counts_out) { return run_length_encode<Tuning>(where, subrange{first, last}, values_out, counts_out); }

template <segmented_tuning Tuning = run_length_tuning, execution_policy P, random_access It, end_of<It> End, output ValuesOut, output CountsOut, output C>
void run_length_encode_into(const P& where, It first, End last, ValuesOut&& values_out, CountsOut&& counts_out, C&& count_out) { run_length_encode_into<Tuning>(where, subrange{first, last}, values_out, counts_out, count_out); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
