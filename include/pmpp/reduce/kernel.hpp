// SPDX-License-Identifier: Apache-2.0
//
// How reduce.hpp works: tuning, the kernel, the host path.
//
//   1. A warp reads rows: 32 lanes times one 16-byte vector, 512 bytes. Eight rows are in flight before the first is
//      used.
//   2. A lane folds its vector; a shuffle tree folds the 32 lanes of all rows in flight, in order (block/reduce.hpp); the
//      result joins the warp's accumulator. For operators whose order is known not to matter (sum, min ... of numbers) the tree waits
//      to the end: each lane keeps an accumulator of its own.
//   3. The block folds its warps and leaves one partial result (block/tile_state.hpp) for the block that started last,
//      which folds them in index order, applies init on the left and writes the result.
//
// One launch; one barrier in a block, three in the last. The cut into rows, warps and blocks depends on n, the alignment
// and the number of multiprocessors alone: hence the same bits on every run. (Last-block hand-over through words of flag
// and value as in Merrill and Garland's decoupled look-back, 2016, here with a single reader.)
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/read_anywhere.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/same_bits.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct reduce_tuning {
  int threads = 256;             ///< of a block
  int rows_in_flight = 8;        ///< loads of 16 bytes that a thread issues before it uses the first
  int blocks_per_processor = 4;  ///< of the grid, at most; H100, 2^24 floats: 4 -> 29.3 us, 8 -> 30.5 us
  int min_blocks =
      4;  ///< that the compiler makes room for on a multiprocessor, for accumulators up to 12 bytes, of extrema 16
};

namespace detail {

/// What the result starts with. Without a value the first element starts it.
template <class A>
struct initial_value {
  A value{};
  bool present = false;
};
template <class A>
using initial = initial_value<stored_as<A>>;

/// The type in which one row of T adds up before it joins an accumulator of type A: 8- and 16-bit integers need no
/// 64-bit additions within a row (nor within one task of the host).
template <class Op, class T, class A>
using row_type =
    std::conditional_t<std::is_same_v<Op, plus> && is_small_integer<T> && std::is_integral_v<A> && sizeof(A) == 8,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, A>;

/// Whether the order of operands matters to Op, and where not: what a lane's accumulator holds before its first
/// element.
template <class Op, class A>
struct operand_order {
  static constexpr bool any = is_known_commutative<Op, A>;
  // For the extremes of floating-point numbers that is NaN, which loses to every operand: an infinity would hide that
  // there was nothing but NaN.
  static constexpr A neutral = [] {
    if constexpr (!any)
      return A{};
    else if constexpr (std::is_floating_point_v<A> && (std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>))
      return std::numeric_limits<A>::quiet_NaN();
    else
      return identity_of<Op, A>;
  }();
  /// An operator with the same results where its operands are known to be in order.
  PMPP_HOST_DEVICE static const Op& in_order(const Op& op) { return op; }
};

/// Columns: in any order where that is so of each.
template <class Op, class Rest, class A, class B>
struct operand_order<columns_operator<Op, Rest>, pair<A, B>> {
  using first = operand_order<Op, A>;
  using second = operand_order<Rest, B>;
  static constexpr bool any = first::any && second::any;
  static constexpr pair<A, B> neutral{first::neutral, second::neutral};
  PMPP_HOST_DEVICE static const columns_operator<Op, Rest>& in_order(const columns_operator<Op, Rest>& op) {
    return op;
  }
};

/// Folds in[begin, end) from the left; begin < end.
template <class A, class In, class Op>
A fold_elements(const In& in, std::int64_t begin, std::int64_t end, Op op) {
  A a = static_cast<A>(in[begin]);
  for (std::int64_t i = begin + 1; i < end; ++i) a = static_cast<A>(op(a, static_cast<A>(in[i])));
  return a;
}

/// Reduces `in` to one value, which `sink` receives from one thread.
template <class In, class Op, class A, class Sink, int Items, reduce_tuning Tuning>
struct reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads, warps = threads / simt::warp_size,
                       min_blocks = sizeof(A) <= (operand_order<Op, A>::any ? 16 : 12) ? Tuning.min_blocks
                                    : sizeof(A) <= 16                                  ? min(3, Tuning.min_blocks)
                                    : sizeof(A) <= 32                                  ? min(2, Tuning.min_blocks)
                                                                                       : 1;
  // Wider rows need fewer in flight, narrower ones more; what an iterator computes (less than 16 bytes) does not count.
  static constexpr int least_tail = block::least_tail<In, Items>;
  static constexpr int row_bytes =  // with the words that cover vectors anywhere
      int(sizeof(block::raw_items<In, Items>)) * (least_tail > 0 ? 2 : 1);
  static constexpr bool any_order = operand_order<Op, A>::any;
  static constexpr int
      wanted_rows = ceil_div(Tuning.rows_in_flight * 16, row_bytes < 16 ? row_bytes : row_bytes / 16 * 16),
      // Four of 64 bytes take fewer shuffles than twice two: 47 million elements of 32 bytes 499 us (596).
      in_order = row_bytes == 64 ? max(4, wanted_rows) : wanted_rows,
      rows_in_flight = min(16, any_order ? wanted_rows : 1 << floor_log2(in_order));
  using T = value_of<In>;
  using R = row_type<Op, T, A>;

  struct shared {
    block::reduce_memory<A> warp_results;
    bool started_last;
  };
  static constexpr int lanes = simt::warp_size;
  static constexpr int stride = (any_order ? warps : 1) * lanes;  // vectors from one row in flight to the next

  /// Who folds what. In any order: the blocks sweep the data together, tile by tile, which memory likes best (346 us
  /// for 2^28 floats on an H100). In order: every warp has its own adjacent rows (356 us).
  struct plan {
    std::int64_t n, lead_of_input;
    block::layout<Items> data;
    std::int64_t blocks;  ///< that find work, at least one
    std::int64_t each;    ///< vectors of a warp, where order matters
    std::int64_t busy;    ///< warps that find work, where order matters

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, std::int64_t most_blocks)
        : n(count), lead_of_input(lead), data(max(std::int64_t(0), count - least_tail), lead), each(0), busy(0) {
      const std::int64_t rows = ceil_div(data.vectors, std::int64_t(lanes)), one = 1;
      blocks = max(one, min(most_blocks, ceil_div(rows, std::int64_t(warps) * rows_in_flight)));
      if constexpr (!any_order) {
        const std::int64_t rows_of_warp = max(one, ceil_div(rows, blocks * warps));
        each = rows_of_warp * lanes;
        busy = max(one, ceil_div(rows, rows_of_warp));
        blocks = ceil_div(busy, std::int64_t(warps));
      }
    }
  };
  struct arguments {
    In in;
    item_count count;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    Op op;
    initial_value<A> init;
    Sink sink;
    unsigned* started;  ///< zero; counts the blocks that have started
    block::tile_state<A> partials;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr) p = plan(a.count.get(), a.known.lead_of_input, block.count());
    if (block.index() >= p.blocks) return;
    A result{};
    if (p.n <= threads) {  // an element each: a short call waits for one load and one tree
      if (block.thread() < p.n) result = static_cast<A>(a.in[block.thread()]);
      result = block::reduce(block, memory.warp_results, result, a.op, max(1, static_cast<int>(p.n)));
    } else if (!fold(block, memory, a, p, result)) {
      return;
    }
    if (block.thread() == 0) {
      if (p.n == 0)
        result = a.init.value;
      else if (a.init.present)
        result = static_cast<A>(a.op(a.init.value, result));
      a.sink(result);
      a.done.signal();
    }
  }

private:
  /// What a grid folds. True in the block whose thread 0 gets the result.
  template <class Block>
  PMPP_HOST_DEVICE static bool fold(Block& block, shared& memory, const arguments& a, const plan& p, A& result) {
    const std::int64_t warp = block.index() * warps + block.warp();
    const std::int64_t first =
        any_order ? (block.index() * warps * rows_in_flight + block.warp()) * lanes : warp * p.each;
    const std::int64_t end = any_order ? p.data.vectors : min(p.data.vectors, first + p.each);
    const std::int64_t step = any_order ? p.blocks * warps * rows_in_flight * lanes : rows_in_flight * lanes;

    // The block that starts last folds the partial results: all others run or have run by then, so that it waits for
    // none that has yet to be scheduled, whatever the order in which the machine starts blocks.
    unsigned ticket = 0;
    if (block.thread() == 0 && p.blocks > 1)
      ticket = simt::take_ticket(a.started, static_cast<unsigned>(p.blocks - 1));  // zero for the next launch

    // Elements outside of whole vectors are on their way before the others: of a short input they would be waited for last.
    // Large ones would take registers that those in flight need.
    constexpr bool has_edges = Items > 1, ahead = has_edges && sizeof(R) <= 16;
    const int in_lead = has_edges && warp == 0 ? static_cast<int>(p.data.lead) : 0;
    const bool has_tail = has_edges && warp == (any_order ? warps - 1 : p.busy - 1);
    const int in_tail = has_tail ? static_cast<int>(p.n - p.data.tail()) : 0;
    R lead{}, tail{};
    if (ahead) load_edges(block, a, p.data.tail(), in_lead, in_tail, lead, tail);
    accumulator total;
    for (std::int64_t vector = first; vector < end; vector += step)
      if (vector + (rows_in_flight - 1) * stride + lanes <= end)
        add_rows<true>(block, a, p.data, vector, end, total);
      else
        add_rows<false>(block, a, p.data, vector, end, total);
    if (has_edges && !ahead) load_edges(block, a, p.data.tail(), in_lead, in_tail, lead, tail);
    if (in_lead > 0) add_row<true>(block, a, lead, in_lead, total);
    if (in_tail > 0) add_row(block, a, tail, in_tail, total);

    if (block.thread() == 0) memory.started_last = ticket == p.blocks - 1;
    if constexpr (any_order) {
      result = block::reduce(block, memory.warp_results, total.value, a.op);
    } else {
      const std::int64_t busy_here = min(std::int64_t(warps), p.busy - block.index() * warps);
      result = block::reduce_warps(block, memory.warp_results, total.value, a.op, static_cast<int>(busy_here));
    }
    if (p.blocks == 1) return true;
    if (block.thread() == 0) a.partials.publish(block.index(), result);
    if (warps == 1) block.sync();  // else the reduction above had a barrier
    if (!memory.started_last) return false;
    result = fold_partials(block, memory, a, static_cast<int>(p.blocks));
    return true;
  }

  /// The running result of a lane (in any order) or, in lane 0, of a warp (in order).
  struct accumulator {
    A value{};
    bool empty = true;

    PMPP_HOST_DEVICE accumulator() {
      if constexpr (any_order) {
        value = operand_order<Op, A>::neutral;
        empty = false;
      }
    }
    template <bool InFront = false>
    PMPP_HOST_DEVICE void add(const A& x, const Op& op) {
      value = empty ? x : static_cast<A>(InFront ? op(x, value) : op(value, x));
      empty = false;
    }
  };

  /// Adds the values that the first `count` lanes hold, behind those before or in front of them; count may be negative.
  template <bool InFront = false, class Block>
  PMPP_HOST_DEVICE static void add_row(Block& block, const arguments& a, R y, int count, accumulator& total) {
    if constexpr (any_order) {
      if (block.lane() < count) total.add(static_cast<A>(y), a.op);
    } else {
      y = block::warp_reduce(block, y, a.op, count);
      if (block.lane() == 0 && count > 0) total.template add<InFront>(static_cast<A>(y), a.op);
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void load_edges(Block& block, const arguments& a, std::int64_t first_of_tail, int in_lead,
                                          int in_tail, R& lead, R& tail) {
    if (block.lane() < in_lead) lead = static_cast<R>(a.in[block.lane()]);
    if (block.lane() < in_tail) tail = static_cast<R>(a.in[first_of_tail + block.lane()]);
  }

  /// Adds the vectors of rows_in_flight rows, the first of which starts at `vector`. All: they exist; else those from
  /// `end` on do not.
  template <bool All, class Block>
  PMPP_HOST_DEVICE static void add_rows(Block& block, const arguments& a, const block::layout<Items>& data,
                                        std::int64_t vector, std::int64_t end, accumulator& total) {
    constexpr int all = (rows_in_flight - 1) * stride + lanes;
    const int left = All ? all : static_cast<int>(min(end - vector, std::int64_t(all)));
    block::raw_items<In, Items> x[rows_in_flight]{};
    for (int r = 0; r < rows_in_flight; ++r)
      if (All || block.lane() < left - r * stride)
        x[r] = block::access<In>::template load<Items>(a.in, data.element(vector + r * stride + block.lane()));
    const auto fold = [&](int r) {
      R y = static_cast<R>(block::access<In>::value(a.in, x[r], 0));
      for (int k = 1; k < Items; ++k)
        y = static_cast<R>(
            operand_order<Op, A>::in_order(a.op)(y, static_cast<R>(block::access<In>::value(a.in, x[r], k))));
      return y;
    };
    if constexpr (All && !any_order) {
      R y[rows_in_flight];
      for (int r = 0; r < rows_in_flight; ++r) y[r] = fold(r);
      const R sum = block::warp_reduce_rows(block, y, a.op);
      if (block.lane() == 0) total.add(static_cast<A>(sum), a.op);
    } else {
      for (int r = 0; r < rows_in_flight; ++r) {
        if (!All && left <= r * stride) break;
        R y{};
        if (All || block.lane() < left - r * stride) y = fold(r);
        add_row(block, a, y, All ? lanes : left - r * stride, total);
      }
    }
  }

  /// The block that started last: folds the results of all blocks in order. Thread 0 gets the result.
  template <class Block>
  PMPP_HOST_DEVICE static A fold_partials(Block& block, shared& memory, const arguments& a, int blocks) {
    const int each = ceil_div(blocks, threads);
    const int first = block.thread() * each;
    A value{};
    for (int i = first; i < min(blocks, first + each); ++i) {
      const A next = a.partials.take(block, i);
      value = i == first ? next : static_cast<A>(a.op(value, next));
    }
    block.sync();  // warp_results is free again
    return block::reduce(block, memory.warp_results, value, a.op, ceil_div(blocks, each));
  }
};

/// Enqueues the reduction of `in` on a GPU or runs it in the emulator.
template <reduce_tuning Tuning, class P, class In, class A, class Op, class Sink>
void reduce_on_blocks(const P& where, const input<In>& in, const initial_value<A>& init, Op op, Sink sink,
                      completion done) {
  check_reachable(where, "reduce", in.first);
  constexpr bool any_order = operand_order<Op, A>::any;
  block::with_access_anywhere<any_order>(in.first, [&](auto from, auto items, std::int64_t lead) {
    using kernel = reduce_kernel<decltype(from), Op, A, Sink, items, Tuning>;
    using slots = block::tile_state<A>;
    constexpr std::size_t counter_bytes = 16;  // the started blocks, in front of the slots
    constexpr auto most = static_cast<std::int64_t>((usual_state - counter_bytes) / slots::state_bytes(1));
    // Whole waves: of four blocks a multiprocessor where three fit, the last would run alone.
    constexpr int each = Tuning.blocks_per_processor -
                         Tuning.blocks_per_processor % min(Tuning.blocks_per_processor, kernel::min_blocks);
    const typename kernel::plan p(in.count.bound, lead,
                                  min(most, std::int64_t(each) * machine_of(where).multiprocessors));
    const std::int64_t partials = p.blocks == 1 ? 0 : p.blocks;
    scratch memory(where, slots::payload_bytes(partials),
                   partials == 0 ? 0 : counter_bytes + slots::state_bytes(partials));
    unsigned* started = memory.state();
    void* state = started == nullptr ? nullptr : started + counter_bytes / sizeof *started;
    pmpp::launch(
        where, p.blocks, kernel{},
        typename kernel::arguments{from, in.count, p, op, init, sink, started, slots(state, memory.data()), done});
  });
}

/// Folds one task of the host path. Sixteen accumulators, where order is known not to matter, let the compiler use
/// SIMD. Elsewhere four elements are folded before they join the rest, so that fewer operations wait for each other.
template <class A, class In, class Op>
A fold_task(const In& in, std::int64_t begin, std::int64_t end, Op op) {
  using R = row_type<Op, value_of<In>, A>;
  constexpr int lanes = 16;
  if constexpr (is_known_commutative<Op, A>) {
    if (end - begin >= lanes) {
      R lane[lanes];
      for (int k = 0; k < lanes; ++k) lane[k] = static_cast<R>(in[begin + k]);
      std::int64_t i = begin + lanes;
      for (; i + lanes <= end; i += lanes)
        for (int k = 0; k < lanes; ++k) lane[k] = static_cast<R>(op(lane[k], static_cast<R>(in[i + k])));
      for (; i < end; ++i) lane[0] = static_cast<R>(op(lane[0], static_cast<R>(in[i])));
      return static_cast<A>(fold_elements<R>(lane, 0, lanes, op));
    }
  }
  const auto join = [&](const R& a, const R& b) { return static_cast<R>(op(a, b)); };
  R a = static_cast<R>(in[begin]);
  std::int64_t i = begin + 1;
  for (; end - i >= 4; i += 4) {
    const R b = join(static_cast<R>(in[i]), static_cast<R>(in[i + 1]));
    a = join(a, join(b, join(static_cast<R>(in[i + 2]), static_cast<R>(in[i + 3]))));
  }
  for (; i < end; ++i) a = join(a, static_cast<R>(in[i]));
  return static_cast<A>(a);
}

/// seq: a left fold. host: fixed tasks, folded in order, so that the result does not depend on the number of threads.
template <class P, class In, class A, class Op>
A reduce_on_host(const P& where, const input<In>& in, const initial_value<A>& init, Op op) {
  const std::int64_t n = in.count.get();
  if (n == 0) return init.value;
  if constexpr (std::is_same_v<P, seq_policy>) {
    if (!init.present) return fold_elements<A>(in.first, 0, n, op);
    A a = init.value;
    for (std::int64_t i = 0; i < n; ++i) a = static_cast<A>(op(a, static_cast<A>(in.first[i])));
    return a;
  } else {
    const std::int64_t tasks = ceil_div(n, host_loop::grain);
    host_loop::task_results<A> partial(tasks);
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      partial[t] = fold_task<A>(in.first, t * host_loop::grain, min(n, (t + 1) * host_loop::grain), op);
    });
    const A total = fold_elements<A>(partial.data(), 0, tasks, op);
    return init.present ? static_cast<A>(op(init.value, total)) : total;
  }
}

/// Writes a result through an output iterator.
template <class Out>
struct write_to {
  Out out;
  template <class A>
  PMPP_HOST_DEVICE void operator()(const A& result) const {
    if constexpr (is_value<A>)
      *out = static_cast<value_of<Out>>(result);
    else
      *out = static_cast<value_of<Out>>(detail::value_of_stored(result));
  }
};

template <reduce_tuning Tuning, class P, class In, class A, class O, class Sink>
void reduce_and_sink(const P& where, const input<In>& elements, const initial_value<A>& init, O combine, Sink sink) {
  const auto in = stored_for<A>(elements);
  const auto op = folding<gpu_execution<P>, A, value_of<In>>(detail::plain(combine));
  if constexpr (is_same_bits<O>)
    detail::reduce_same_bits(where, in, init.value, init.present, op, sink, completion{});
  else if constexpr (kernel_execution<P>)
    reduce_on_blocks<Tuning>(where, in, init, op, sink, completion{});
  else
    sink(reduce_on_host(where, in, init, op));
}

template <reduce_tuning Tuning, class P, class In, class A, class O>
A reduce_and_wait(const char* function, const P& where, const input<In>& elements, const initial_value<A>& init,
                  O combine) {
  const auto in = stored_for<A>(elements);
  const auto op = folding<gpu_execution<P>, A, value_of<In>>(detail::plain(combine));
  if constexpr (kernel_execution<P>) {
    reply<A, P> answer(function, where);
    const write_to<A*> sink{answer.target()};
    if constexpr (is_same_bits<O>)
      detail::reduce_same_bits(answer.policy(), in, init.value, init.present, op, sink, answer.done());
    else
      reduce_on_blocks<Tuning>(answer.policy(), in, init, op, sink, answer.done());
    return answer.wait();
  } else if constexpr (is_same_bits<O>) {
    A result = init.value;
    detail::reduce_same_bits(where, in, init.value, init.present, op, write_to<A*>{__builtin_addressof(result)},
                             completion{});
    return result;
  } else {
    return reduce_on_host(where, in, init, op);
  }
}

template <reduce_tuning Tuning, class P, class In, class O, class A, class Op>
void reduce_to_output(const char* function, const P& where, const input<In>& in, O& out, A init, Op op) {
  detail::check_output(function, "out", out, 1);
  const auto target = detail::with_stored(detail::unwrap(begin_of(out)));
  reduce_and_sink<Tuning>(where, in, initial<A>{init, true}, op,
                          write_to<std::remove_const_t<decltype(target)>>{target});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
