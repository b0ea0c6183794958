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
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct scan_tuning {
  int threads = 256;   ///< of a block
  int rows = 8;        ///< of a warp, 16 bytes a lane: a tile has threads * rows * 16 bytes
  int min_blocks = 5;  ///< on a multiprocessor; at most 4 where registers are short. H100, 2^28 floats: 4 -> 953 us,
                       ///< 5 -> 878, 6 -> 993
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
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes,
                       min_blocks = sizeof(A) > 16  ? 1
                                    : sizeof(A) > 8 ? 2
                                                    : smaller(Tuning.min_blocks, sizeof(A) > 4 || Items > 4 ? 4 : 5);
  using raw = block::raw_items<In, Items>;
  // As many bytes in shared memory, however wide the vectors are.
  static constexpr int most_rows = larger(1, smaller(2 * Tuning.rows, Tuning.rows * 16 / larger(8, int(sizeof(raw)))));

  struct shared {
    block::look_back_memory<A> look_back;
    A prefix, warp_total[warps];
    std::int64_t next;
    alignas(16) raw row[most_rows][threads];
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;
    int rows;  ///< of a warp

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : data(count, lead), tiles(ceil_div(data.vectors, std::int64_t(rows_of_warp) * threads)), rows(rows_of_warp) {}
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
    if (a.count.pointer != nullptr) p = plan(a.count.get(), a.lead, a.known.rows);
    const block::look_back<A>& look_back = a.look_back;
    std::int64_t index = look_back.first(block, memory.look_back);
    const bool once = p.tiles <= block.count();  // every block gets one tile
    if (index >= p.tiles && block.thread() == 0) look_back.leave(block, memory.look_back);
    while (index < p.tiles) {
      tile t;
      t.begin(p, index);
      load(block, memory, a, p, t);
      total(block, memory, a, p, t);
      block.sync();
      std::int64_t asked = p.tiles;
      if (block.warp() == 0) {
        if (block.thread() == 0) publish(memory, a, p, t);
        const A prefix = look_back.wait(block, t.index, t.aggregate, a.start.present, a.start.value, a.op);
        if (block.thread() == 0) {
          memory.prefix = prefix;
          if (!once) asked = look_back.ask();  // not earlier: from then on others wait for that tile
        }
      }
      block.sync();
      if (once && block.thread() == 0) look_back.leave(block, memory.look_back);
      write(block, memory, a, p, t);
      if (once) break;
      if (block.thread() == 0) {
        memory.next = asked;
        if (asked >= p.tiles) look_back.leave(block, memory.look_back);
      }
      block.sync();
      index = memory.next;
    }
    look_back.finish(block, memory.look_back, p.tiles);
  }

private:
  /// What a thread knows of a tile of its block.
  struct tile {
    std::int64_t index = 0;
    bool inside = false;     ///< it has all rows and all their elements: no checks
    A scanned[most_rows]{};  ///< of this lane and the lanes before it in the row
    A aggregate{};           ///< in thread 0

    PMPP_HOST_DEVICE void begin(const plan& p, std::int64_t at) {
      index = at;
      inside = is_inside(p, at);
    }
  };
  PMPP_HOST_DEVICE static bool is_inside(const plan& p, std::int64_t index) {
    const std::int64_t end = p.data.element((index + 1) * threads * most_rows);
    return p.rows == most_rows && (index > 0 || p.data.first == 0) && end <= p.data.n;
  }

  /// The vectors of one thread in a tile: one in each row of its warp.
  template <bool Inside>
  struct vectors_of_thread {
    const plan& p;
    int rows, lane;
    std::int64_t first_of_warp;

    template <class Block>
    PMPP_HOST_DEVICE vectors_of_thread(Block& block, const plan& of, std::int64_t tile_index)
        : p(of),
          rows(Inside ? most_rows : of.rows),
          lane(block.lane()),
          first_of_warp((tile_index * warps + block.warp()) * rows * lanes) {}
    /// How many lanes of row r have a vector, from lane 0 on.
    PMPP_HOST_DEVICE int lanes_of(int r) const {
      if constexpr (Inside) return lanes;
      const std::int64_t left = r < rows ? p.data.vectors - first_of_warp - r * lanes : 0;
      return static_cast<int>(left < 0 ? 0 : smaller(left, std::int64_t(lanes)));
    }
    PMPP_HOST_DEVICE std::int64_t element(int r) const { return p.data.element(first_of_warp + r * lanes + lane); }
    /// Which items of the vector exist.
    PMPP_HOST_DEVICE int begin_of(int r) const {
      return Inside ? 0 : p.data.begin_of(first_of_warp + r * lanes + lane);
    }
    PMPP_HOST_DEVICE int end_of(int r) const {
      return Inside ? Items : p.data.end_of(first_of_warp + r * lanes + lane);
    }
  };

  /// Starts loading a tile.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, shared& memory, const arguments& a, const plan& p, const tile& t) {
    if (t.inside)
      load_rows<true>(block, memory, a, p, t);
    else
      load_rows<false>(block, memory, a, p, t);
    simt::copy_async_batch();
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load_rows(Block& block, shared& memory, const arguments& a, const plan& p,
                                         const tile& t) {
    const vectors_of_thread<Inside> v(block, p, t.index);
    for (int r = 0; r < most_rows; ++r) {
      if (block.lane() >= v.lanes_of(r)) continue;
      raw& slot = memory.row[r][block.thread()];
      if (v.end_of(r) - v.begin_of(r) == Items)
        block::access<In>::template load_async<Items>(a.in, v.element(r), slot);
      else
        slot = block::access<In>::template load_part<Items>(a.in, v.element(r), v.begin_of(r), v.end_of(r));
    }
  }

  /// Combines the elements of a tile that has been loaded.
  template <class Block>
  PMPP_HOST_DEVICE static void total(Block& block, shared& memory, const arguments& a, const plan& p, tile& t) {
    simt::copy_async_wait<0>();
    const A of_warp = t.inside ? scan_rows<true>(block, memory, a, p, t) : scan_rows<false>(block, memory, a, p, t);
    if (block.lane() == 0) memory.warp_total[block.warp()] = of_warp;
  }

  /// Thread 0: tells the other blocks what tile t combines to.
  PMPP_HOST_DEVICE static void publish(const shared& memory, const arguments& a, const plan& p, tile& t) {
    const std::int64_t vectors_of_tile = p.data.vectors - t.index * p.rows * threads;
    t.aggregate = memory.warp_total[0];
    for (int w = 1; w < warps; ++w)
      if (t.inside || w * p.rows * lanes < vectors_of_tile)
        t.aggregate = static_cast<A>(a.op(t.aggregate, memory.warp_total[w]));
    a.look_back.publish(t.index, t.aggregate);
  }

  /// Scans the lanes of each row; returns what the rows of the warp combine to.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static A scan_rows(Block& block, const shared& memory, const arguments& a, const plan& p, tile& t) {
    const vectors_of_thread<Inside> v(block, p, t.index);
    A all{};
    for (int r = 0; r < most_rows; ++r) {
      const int count = v.lanes_of(r);
      if (count == 0) continue;
      if (block.lane() < count) {
        const raw x = memory.row[r][block.thread()];
        const int begin = v.begin_of(r), end = v.end_of(r);
        for (int k = 0; k < Items; ++k) {
          if (k < begin || k >= end) continue;
          const A y = static_cast<A>(block::access<In>::value(a.in, x, k));
          t.scanned[r] = k == begin ? y : static_cast<A>(a.op(t.scanned[r], y));
        }
      }
      t.scanned[r] = block::warp_inclusive_scan(block, t.scanned[r], a.op, count);
      const A row = block.shuffle(t.scanned[r], count - 1);
      all = r == 0 ? row : static_cast<A>(a.op(all, row));
    }
    return all;
  }

  /// Writes the results of a tile whose prefix is there.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const shared& memory, const arguments& a, const plan& p,
                                     const tile& t) {
    A carry{};  // what precedes the row: first the prefix of the tile and the warps before this one
    bool has_carry = t.index > 0 || a.start.present;
    if (has_carry) carry = memory.prefix;
    for (int w = 0; w < warps - 1; ++w) {
      if (w >= block.warp()) break;
      carry = has_carry ? static_cast<A>(a.op(carry, memory.warp_total[w])) : memory.warp_total[w];
      has_carry = true;
    }
    if (t.inside)
      write_rows<true>(block, memory, a, p, t, carry, has_carry);
    else
      write_rows<false>(block, memory, a, p, t, carry, has_carry);
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void write_rows(Block& block, const shared& memory, const arguments& a, const plan& p,
                                          const tile& t, A carry, bool has_carry) {
    const vectors_of_thread<Inside> v(block, p, t.index);
    for (int r = 0; r < most_rows; ++r) {
      const int count = v.lanes_of(r);
      if (count == 0) continue;
      const A left = block.shuffle_up(t.scanned[r], 1);
      const A row = block.shuffle(t.scanned[r], count - 1);
      if (block.lane() < count) {
        A running = carry;
        bool has_running = has_carry;
        if (block.lane() > 0) {
          running = has_carry ? static_cast<A>(a.op(carry, left)) : left;
          has_running = true;
        }
        write_vector(a, memory.row[r][block.thread()], v.element(r), v.begin_of(r), v.end_of(r), running, has_running);
      }
      carry = has_carry ? static_cast<A>(a.op(carry, row)) : row;
      has_carry = true;
    }
  }

  /// Scans one vector behind `running` and writes items [begin, end) of it.
  PMPP_HOST_DEVICE static void write_vector(const arguments& a, const raw& x, std::int64_t element, int begin, int end,
                                            A running, bool has_running) {
    block::vector<value_of<Out>, Items> y{};
    for (int k = 0; k < Items; ++k) {
      if (k < begin || k >= end) continue;
      if (Kind == scan_kind::exclusive) y.item[k] = static_cast<value_of<Out>>(running);
      const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
      running = has_running ? static_cast<A>(a.op(running, item)) : item;
      has_running = true;
      if (Kind == scan_kind::inclusive) y.item[k] = static_cast<value_of<Out>>(running);
    }
    if (end - begin == Items) {
      store(a.out, element, y);
    } else {
      for (int k = 0; k < Items; ++k)
        if (k >= begin && k < end) a.out[element + k] = y.item[k];
    }
  }

  PMPP_HOST_DEVICE static void store(const Out& out, std::int64_t i, const block::vector<value_of<Out>, Items>& y) {
    if constexpr (Items == 1)
      out[i] = y.item[0];
    else
      block::access<Out>::template store<Items>(out, i, y);
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
    // Short inputs are cut into tiles of fewer rows, one for each multiprocessor.
    const std::int64_t rows = ceil_div(in.count.bound, std::int64_t(Tuning.threads) * items);
    const std::int64_t rows_of_tile =
        smaller<std::int64_t>(kernel::most_rows, ceil_div<std::int64_t>(rows, processor_count(where)));
    const typename kernel::plan p(in.count.bound, lead, static_cast<int>(rows_of_tile));
    const bool alone = p.tiles == 1;
    scratch memory(where, alone ? 0 : look_back::payload_bytes(p.tiles), alone ? 0 : look_back::state_bytes(p.tiles));
    launch(where, smaller<std::int64_t>(p.tiles, std::int64_t(kernel::min_blocks) * processor_count(where)), kernel{},
           typename kernel::arguments{in.first, out, in.count, p, lead, op, start,
                                      look_back(memory.state(), memory.data())});
  });
}

/// Scans in[begin, end) behind `running`, if has_running. `Fours`: four elements are scanned among themselves before
/// they join what precedes them: fewer operations wait for each other. It pays where one takes more than a cycle.
template <scan_kind Kind, bool Fours, class In, class Out, class A, class Op>
void scan_elements(const In in, const Out out, std::int64_t begin, std::int64_t end, A running, bool has_running,
                   Op op) {
  constexpr int exclusive = Kind == scan_kind::exclusive;
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
template <scan_kind Kind, class P, class In, class Out, class A, class Op>
void scan_on_host(const P& where, const input<In>& in, Out out, const scan_start<A>& start, Op op) {
  const std::int64_t n = in.count.get();
  if constexpr (std::is_same_v<P, seq_policy>) {
    scan_elements<Kind, false>(in.first, out, 0, n, start.value, start.present, op);
  } else {
    const std::int64_t grain = host_loop::grain_of<value_of<In>>(n);
    host_loop::turns order;
    A running = start.value;
    host_loop::parallel_for(where, ceil_div(n, grain), [&](std::int64_t) {
      host_loop::turn mine(order);
      const std::int64_t begin = mine.number() * grain, end = smaller(n, begin + grain);
      const bool has_before = begin > 0 || start.present;
      const A sum = fold_task<A>(in.first, begin, end, op);
      mine.wait();
      const A before = running;
      running = has_before ? static_cast<A>(op(before, sum)) : sum;
      mine.pass();
      scan_elements<Kind, std::is_floating_point_v<A>>(in.first, out, begin, end, before, has_before, op);
    });
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
