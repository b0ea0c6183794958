// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums with any associative operator: inclusive_scan, exclusive_scan.
//
//   1. A block takes a tile by ticket and copies it to shared memory: eight rows a warp, 32 lanes times one 16-byte
//      vector each, all under way at once.
//   2. A lane folds its vector, a warp scans the lanes of each row (block/scan.hpp) and chains its rows. The block
//      publishes what the tile combines to.
//   3. One warp collects what lies before the tile (block/look_back.hpp).
//   4. Every lane starts from prefix, warps before, rows before and lanes before, runs through its vector and writes it.
//
// Work n; traffic n elements read, n written; three barriers a tile; one launch. Operands stay in order and are always
// elements or results of adjacent ranges; no identity is needed. The grouping depends on n, the alignment and the number
// of multiprocessors alone: the same bits on every run. In place is allowed. Input and output whose 16-byte boundaries
// lie at different elements are moved one element per lane.
// (PMPP ch. 11; Merrill and Garland, 2016. The book's Kogge-Stone is block/scan.hpp.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct scan_tuning {
  int threads = 384;   ///< of a block
  int vectors = 17;     ///< of a thread, 16 bytes each; odd: then the lanes of a warp find theirs in different banks
  int min_blocks = 1;  ///< on a multiprocessor; fewer where registers are short
};

namespace detail {

enum class scan_kind { inclusive, exclusive };

/// What the first element joins on its left.
template <class A>
struct scan_start {
  A value{};
  bool present = false;
};

template <class In, class Out, class Op, class A, scan_kind Kind, int Items, scan_tuning Tuning>
struct scan_kernel {
  static constexpr int lanes = simt::warp_size, workers = Tuning.threads, warps = workers / lanes, threads = workers + lanes,
                       min_blocks = sizeof(A) > 16  ? 1
                                    : sizeof(A) > 8 ? 2
                                                    : smaller(Tuning.min_blocks, sizeof(A) > 4 || Items > 4 ? 4 : 8);
  using raw = block::raw_items<In, Items>;
  using results = block::vector<value_of<Out>, Items>;

  /// A vector in shared memory: first of the input, then of the output. Wide ones have an odd number of 16-byte words.
  union slot {
    static constexpr int bytes = larger(sizeof(raw), sizeof(results)), words = bytes / 16 | 1;
    PMPP_HOST_DEVICE slot() {}
    raw in;
    results out;
    unsigned char room[bytes < 16 ? bytes : words * 16];
  };
  // As many bytes in shared memory, however wide the vectors are.
  static constexpr int most_vectors = (larger(1, Tuning.vectors * 16 / larger(8, int(sizeof(slot)))) - 1) | 1;

  struct shared {
    block::look_back_memory<A> look_back;
    A warp_total[2][warps], before_warp[2][warps];
    std::int64_t tile[4];
    A before_lane[2][workers];
    alignas(16) slot vector[2][most_vectors * workers];
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;
    int vectors;  ///< of a thread

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int vectors_of_thread)
        : data(count, lead),
          tiles(ceil_div(data.vectors, std::int64_t(vectors_of_thread) * workers)),
          vectors(vectors_of_thread) {}
  };
  struct arguments {
    In in;
    Out out;
    item_count count;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    Op op;
    scan_start<A> start;
    block::look_back<A> look_back;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    plan p = a.known;
    if (a.count.pointer != nullptr) p = plan(a.count.get(), a.lead, a.known.vectors);
    const block::look_back<A>& look_back = a.look_back;
    const bool once = p.tiles <= block.count();  // every block gets one tile
    const std::int64_t first = look_back.first(block, memory.look_back);
    const bool talks = block.warp() == warps;
    if (block.thread() == 0) {
      memory.tile[0] = first;
      memory.tile[1] = once || first >= p.tiles ? p.tiles : look_back.ask();
      if (first >= p.tiles) look_back.leave(block, memory.look_back);
    }
    if (first < p.tiles && !talks) load(block, memory, a, p, first, 0);
    block.sync();
    for (unsigned k = 0; first < p.tiles; ++k) {
      // Tile k has been loaded, tile k - 1 waits for being written, tile k + 1 will take its place.
      const std::int64_t last = k == 0 ? 0 : memory.tile[(k - 1) % 4], now = memory.tile[k % 4];
      if (last >= p.tiles) break;
      const int stage = k % 2;
      if (!talks && now < p.tiles) {
        if (inside(p, now))
          total<true>(block, memory, a, p, now, stage);
        else
          total<false>(block, memory, a, p, now, stage);
      }
      block.sync();
      const std::int64_t next = memory.tile[(k + 1) % 4];
      if (talks)
        talk(block, memory, a, p, now, stage, k, next);
      else {
        if (k > 0) {
          if (inside(p, last))
            write<true>(block, memory, a, p, last, 1 - stage);
          else
            write<false>(block, memory, a, p, last, 1 - stage);
          block.sync_warp();
        }
        load(block, memory, a, p, next, 1 - stage);
      }
    }
    look_back.finish(block, memory.look_back, p.tiles);
  }

private:
  /// A tile that has all vectors and all their items needs no checks.
  PMPP_HOST_DEVICE static bool inside(const plan& p, std::int64_t index) {
    const std::int64_t end = p.data.element((index + 1) * workers * most_vectors);
    return p.vectors == most_vectors && (index > 0 || p.data.first == 0) && end <= p.data.n;
  }

  /// The vectors of one warp in a tile. They are moved lane by lane and worked on thread by thread.
  template <bool Inside>
  struct part {
    int vectors;             ///< of a thread
    std::int64_t first;      ///< element of the first vector
    int begin = 0, end = 0;  ///< the elements that exist, counted from there
    slot* slots;             ///< of the warp

    template <class Block>
    PMPP_HOST_DEVICE part(Block& block, shared& memory, const plan& p, std::int64_t tile, int stage)
        : vectors(Inside ? most_vectors : p.vectors),
          first(p.data.element((tile * warps + block.warp()) * vectors * lanes)),
          slots(memory.vector[stage] + block.warp() * vectors * lanes) {
      if (Inside) return;
      begin = static_cast<int>(larger(std::int64_t(0), -first));
      end = static_cast<int>(
          larger(std::int64_t(0), smaller(p.data.n - first, std::int64_t(vectors) * lanes * Items)));
    }
    PMPP_HOST_DEVICE bool has(int i) const { return Inside || i * Items < end; }
    PMPP_HOST_DEVICE bool whole(int i) const { return Inside || (i * Items >= begin && (i + 1) * Items <= end); }
    PMPP_HOST_DEVICE std::int64_t element(int i) const { return first + i * Items; }
    /// Which items of vector i exist.
    PMPP_HOST_DEVICE int begin_of(int i) const { return larger(0, begin - i * Items); }
    PMPP_HOST_DEVICE int end_of(int i) const { return smaller(Items, end - i * Items); }
    /// Calls f(k) for them.
    template <class F>
    PMPP_HOST_DEVICE void for_each_item(int i, F f) const {
      if (whole(i)) {
        for (int k = 0; k < Items; ++k) f(k);
      } else {
        for (int k = 0; k < Items; ++k)
          if (k >= begin_of(i) && k < end_of(i)) f(k);
      }
    }
    /// How many lanes have a vector to work on.
    PMPP_HOST_DEVICE int busy_lanes() const { return Inside ? lanes : ceil_div(end, vectors * Items); }
  };

  /// Starts copying a tile to shared memory.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, shared& memory, const arguments& a, const plan& p,
                                    std::int64_t tile, int stage) {
    if (tile < p.tiles) {
      if (inside(p, tile))
        load_part<true>(block, memory, a, p, tile, stage);
      else
        load_part<false>(block, memory, a, p, tile, stage);
    }
    simt::copy_async_batch();
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load_part(Block& block, shared& memory, const arguments& a, const plan& p,
                                         std::int64_t tile, int stage) {
    const part<Inside> of_warp(block, memory, p, tile, stage);
    for (int v = 0; v < of_warp.vectors; ++v) {
      const int i = v * lanes + block.lane();
      if (!of_warp.has(i)) continue;
      if (of_warp.whole(i))
        block::access<In>::template load_async<Items>(a.in, of_warp.element(i), of_warp.slots[i].in);
      else
        of_warp.slots[i].in = block::access<In>::template load_part<Items>(a.in, of_warp.element(i),
                                                                           of_warp.begin_of(i), of_warp.end_of(i));
    }
  }

  /// Combines the elements of a tile.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void total(Block& block, shared& memory, const arguments& a, const plan& p,
                                     std::int64_t tile, int stage) {
    simt::copy_async_wait<0>();
    block.sync_warp();
    const part<Inside> of_warp(block, memory, p, tile, stage);
    A sum{};
    bool has_sum = false;
    for (int v = 0; v < of_warp.vectors; ++v) {
      const int i = block.lane() * of_warp.vectors + v;
      if (!of_warp.has(i)) continue;
      const raw x = of_warp.slots[i].in;
      of_warp.for_each_item(i, [&](int k) {
        const A y = static_cast<A>(block::access<In>::value(a.in, x, k));
        sum = has_sum ? static_cast<A>(a.op(sum, y)) : y;
        has_sum = true;
      });
    }
    const int busy = of_warp.busy_lanes();
    sum = block::warp_inclusive_scan(block, sum, a.op, busy);
    if (block.lane() == busy - 1) memory.warp_total[stage][block.warp()] = sum;
    memory.before_lane[stage][block.thread()] = block.shuffle_up(sum, 1);
  }

  /// The warp that talks to other blocks, while the workers write the last tile and load the next one: publishes what
  /// the tile combines to, asks for a ticket, waits for the tiles before, works out what precedes each warp.
  template <class Block>
  PMPP_HOST_DEVICE static void talk(Block& block, shared& memory, const arguments& a, const plan& p, std::int64_t tile,
                                    int stage, unsigned k, std::int64_t next) {
    if (tile >= p.tiles) {
      if (block.lane() == 0) a.look_back.leave(block, memory.look_back);
      return;
    }
    const std::int64_t left = ceil_div(p.data.vectors - tile * p.vectors * workers, std::int64_t(p.vectors) * lanes);
    const int count = static_cast<int>(smaller(left, std::int64_t(warps)));  // of warps with elements
    A sum{};
    if (block.lane() < count) sum = memory.warp_total[stage][block.lane()];
    sum = block::warp_inclusive_scan(block, sum, a.op, count);
    const A aggregate = block.shuffle(sum, count - 1), before = block.shuffle_up(sum, 1);
    std::int64_t asked = p.tiles;
    if (block.lane() == 0) {
      a.look_back.publish(tile, aggregate);
      if (next < p.tiles) asked = a.look_back.ask();
    }
    A prefix =
        a.look_back.wait(block, memory.look_back, tile, aggregate, a.start.present, a.start.value, a.op);
    prefix = block.shuffle(prefix, 0);
    if (block.lane() < count) {
      const bool has_prefix = tile > 0 || a.start.present;
      memory.before_warp[stage][block.lane()] = block.lane() == 0 ? prefix : has_prefix ? static_cast<A>(a.op(prefix, before)) : before;
    }
    if (block.lane() == 0) memory.tile[(k + 2) % 4] = asked;
  }

  /// Scans and writes a tile whose prefix is there. `before`: what the lanes before this one combine to.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void write(Block& block, shared& memory, const arguments& a, const plan& p, std::int64_t tile,
                                     int stage) {
    A running{};
    bool has_running = tile > 0 || a.start.present || block.warp() > 0;
    if (has_running) running = memory.before_warp[stage][block.warp()];
    const auto append = [&](const A& right) {
      running = has_running ? static_cast<A>(a.op(running, right)) : right;
      has_running = true;
    };
    if (block.lane() > 0) append(memory.before_lane[stage][block.thread()]);

    const part<Inside> of_warp(block, memory, p, tile, stage);
    for (int v = 0; v < of_warp.vectors; ++v) {
      const int i = block.lane() * of_warp.vectors + v;
      if (!of_warp.has(i)) continue;
      const raw x = of_warp.slots[i].in;
      results y{};
      of_warp.for_each_item(i, [&](int k) {
        if (Kind == scan_kind::exclusive) y.item[k] = static_cast<value_of<Out>>(running);
        append(static_cast<A>(block::access<In>::value(a.in, x, k)));
        if (Kind == scan_kind::inclusive) y.item[k] = static_cast<value_of<Out>>(running);
      });
      of_warp.slots[i].out = y;
    }
    block.sync_warp();
    for (int v = 0; v < of_warp.vectors; ++v) {
      const int i = v * lanes + block.lane();
      if (!of_warp.has(i)) continue;
      const results y = of_warp.slots[i].out;
      if constexpr (Items > 1) {
        if (of_warp.whole(i)) {
          block::access<Out>::template store<Items>(a.out, of_warp.element(i), y);
          continue;
        }
      }
      of_warp.for_each_item(i, [&](int k) { a.out[of_warp.element(i) + k] = y.item[k]; });
    }
  }
};

/// Enqueues the scan on a GPU or runs it in the emulator.
template <scan_tuning Tuning, scan_kind Kind, class P, class In, class Out, class A, class Op>
void scan_on_blocks(const P& where, const input<In>& in, Out out, const scan_start<A>& start, Op op) {
  if (in.count.bound == 0) return;
  check_reachable(where, "scan", zip_iterator{in.first, out});
  block::with_access(zip_iterator{in.first, out}, [&](auto items, std::int64_t lead) {
    using kernel = scan_kernel<In, Out, Op, A, Kind, items, Tuning>;
    using look_back = block::look_back<A>;
    // Short inputs are cut into smaller tiles, one for each multiprocessor.
    const std::int64_t rows = ceil_div(in.count.bound, std::int64_t(Tuning.threads) * items);
    const std::int64_t vectors =
        smaller<std::int64_t>(kernel::most_vectors, ceil_div<std::int64_t>(rows, processor_count(where)));
    const typename kernel::plan p(in.count.bound, lead, static_cast<int>(vectors));
    const bool alone = p.tiles == 1;
    scratch memory(where, alone ? 0 : look_back::payload_bytes(p.tiles), alone ? 0 : look_back::state_bytes(p.tiles));
    launch(where, smaller<std::int64_t>(p.tiles, std::int64_t(kernel::min_blocks) * processor_count(where)), kernel{},
           typename kernel::arguments{in.first, out, in.count, p, lead, op, start,
                                      look_back(memory.state(), memory.data(), p.tiles)});
  });
}

/// Scans in[begin, end) behind `running`, if has_running; returns the last inclusive result.
template <scan_kind Kind, class In, class Out, class A, class Op>
A scan_elements(const In& in, const Out& out, std::int64_t begin, std::int64_t end, A running, bool has_running,
                Op op) {
  for (std::int64_t i = begin; i < end; ++i) {
    const A x = static_cast<A>(in[i]);  // before the write: out may be in
    if (Kind == scan_kind::exclusive) out[i] = static_cast<value_of<Out>>(running);
    running = has_running ? static_cast<A>(op(running, x)) : x;
    has_running = true;
    if (Kind == scan_kind::inclusive) out[i] = static_cast<value_of<Out>>(running);
  }
  return running;
}

/// seq: one loop. host: tasks of fixed size are summed up, then scanned while the caches still hold them; the result does
/// not depend on the number of threads.
template <scan_kind Kind, class P, class In, class Out, class A, class Op>
void scan_on_host(const P& where, const input<In>& in, Out out, const scan_start<A>& start, Op op) {
  const std::int64_t n = in.count.get();
  if constexpr (std::is_same_v<P, seq_policy>) {
    scan_elements<Kind>(in.first, out, 0, n, start.value, start.present, op);
  } else {
    constexpr std::int64_t grain = host_loop::grain, tasks_of_slab = 256;
    A running = start.value;
    bool has_running = start.present;
    for (std::int64_t slab = 0; slab < n; slab += tasks_of_slab * grain) {
      const std::int64_t tasks = ceil_div(smaller(n - slab, tasks_of_slab * grain), grain);
      const auto begin_of = [=](std::int64_t t) { return slab + t * grain; };
      const auto end_of = [=](std::int64_t t) { return smaller(n, slab + (t + 1) * grain); };
      host_loop::task_results<A> total(tasks);
      host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
        A sum = static_cast<A>(in.first[begin_of(t)]);
        for (std::int64_t i = begin_of(t) + 1; i < end_of(t); ++i)
          sum = static_cast<A>(op(sum, static_cast<A>(in.first[i])));
        total[t] = sum;
      });
      host_loop::task_results<A> before(tasks + 1);  // what precedes each task; nothing before the first, maybe
      before[0] = running;
      for (std::int64_t t = 0; t < tasks; ++t)
        before[t + 1] = t > 0 || has_running ? static_cast<A>(op(before[t], total[t])) : total[t];
      host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
        scan_elements<Kind>(in.first, out, begin_of(t), end_of(t), before[t], t > 0 || has_running, op);
      });
      running = before[tasks];
      has_running = true;
    }
  }
}

/// The type that sums are kept in. Where 32 bits give the same results as 64 (they end up in 32 or fewer), 32 bits.
template <class T, class Out, class A, class Op>
using scan_accumulator =
    std::conditional_t<std::is_same_v<Op, plus> && std::is_integral_v<T> && std::is_integral_v<A> &&
                           std::is_integral_v<Out> && !std::is_same_v<Out, bool> && !std::is_same_v<A, bool> &&
                           (sizeof(A) >= 4) && (sizeof(Out) <= 4),
                       std::uint32_t, A>;

template <scan_tuning Tuning, scan_kind Kind, class P, class In, class O, class A, class Op>
auto scan_input(const char* function, const P& where, const input<In>& in, O& out, const scan_start<A>& start, Op op) {
  check_output(function, "out", out, in.count.bound);
  const auto first = begin_of(out);
  const auto target = unwrap(first);
  using narrow = scan_accumulator<value_of<In>, value_of<std::remove_const_t<decltype(target)>>, A, Op>;
  const scan_start<narrow> from{static_cast<narrow>(start.value), start.present};
  if constexpr (kernel_execution<P>)
    scan_on_blocks<Tuning, Kind>(where, in, target, from, op);
  else
    scan_on_host<Kind>(where, in, target, from, op);
  return first + in.count.bound;
}

}  // namespace detail

/// Writes op(... op(op(r[0], r[1]), ...), r[i]) to out[i], grouped freely, in order.
///
/// \param r    a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param out  an iterator, or a range with room for as many elements; visible to `where`. Results are converted to its
///             element type.
/// \param op   associative; need not be commutative or have an identity. Sees elements, converted to the type of the
///             accumulator (accumulator_of<T>, trivially copyable), and results of adjacent ranges.
/// \param init where given, joins once, on the left; its type is then that of the accumulator.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// In place is allowed (out begins where r begins); other overlaps are not. The same bits on every run; on host also for
/// any number of threads. Asynchronous on a GPU; may be captured. Scratch: 8 bytes a tile of 32 KB (16 for accumulators
/// of 5 to 12 bytes), as zeroed state of the workspace, or one allocation in stream order.
/// Cost: n elements read, n written; one launch.
/// \throws std::invalid_argument for a null or reversed input, std::length_error if out is too short; out_of_memory,
/// cuda_error. Source: PMPP ch. 11; Merrill and Garland, 2016. Example: test/scan.cpp, sums of integers.
template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access_range R, output O, class Op = plus>
auto inclusive_scan(const P& where, R&& r, O&& out, Op op = {}) {
  using A = accumulator_of<element_value<R>>;
  return detail::scan_input<Tuning, detail::scan_kind::inclusive>(
      "inclusive_scan", where, detail::input_of("inclusive_scan", r), out, detail::scan_start<A>{}, op);
}
template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access_range R, output O, class Op, class A>
auto inclusive_scan(const P& where, R&& r, O&& out, Op op, A init) {
  return detail::scan_input<Tuning, detail::scan_kind::inclusive>(
      "inclusive_scan", where, detail::input_of("inclusive_scan", r), out, detail::scan_start<A>{init, true}, op);
}

/// Writes op(... op(op(init, r[0]), r[1]) ..., r[i - 1]) to out[i]; out[0] is init. As inclusive_scan.
/// Example: test/scan.cpp, exclusive.
template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access_range R, output O,
          class A = accumulator_of<element_value<R>>, class Op = plus>
auto exclusive_scan(const P& where, R&& r, O&& out, A init = {}, Op op = {}) {
  return detail::scan_input<Tuning, detail::scan_kind::exclusive>(
      "exclusive_scan", where, detail::input_of("exclusive_scan", r), out, detail::scan_start<A>{init, true}, op);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class Op = plus>
auto inclusive_scan(const P& where, It first, End last, O&& out, Op op = {}) { return inclusive_scan<Tuning>(where, subrange{first, last}, out, op); }

template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class Op, class A>
auto inclusive_scan(const P& where, It first, End last, O&& out, Op op, A init) { return inclusive_scan<Tuning>(where, subrange{first, last}, out, op, init); }

template <scan_tuning Tuning = scan_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto exclusive_scan(const P& where, It first, End last, O&& out, A init = {}, Op op = {}) { return exclusive_scan<Tuning>(where, subrange{first, last}, out, init, op); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
