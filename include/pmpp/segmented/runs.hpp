// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_inclusive_scan, reduce_by_key and run_length_encode.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp). A warp works on its
//      part of a tile in rows of 32 vectors: each lane on one vector, then the lanes among themselves, from head to head.
//      For segments given by offsets the warp finds those that lie in its part while the elements are on their way, and
//      marks the heads, one bit each. For runs of equal keys each key is compared with the one before.
//   2. A scan only folds its part now. Runs move to the front of the part, in shared memory: the key at each head and the
//      value of the run that ends in front of it. Of run lengths the keys move, and the heads are kept as bits.
//   3. One warp publishes how many heads the tile has and what the elements from the last one on combine to, and collects
//      the same of all tiles before (block/look_back.hpp), with the operator of a segmented scan.
//   4. A scan runs through its part a second time, knowing what precedes it, and writes rows of 512 bytes. Runs are
//      written as whole lines, the prefix joined to the first value. A length is a difference of positions of heads.
//
// Work n (and offsets); traffic: inputs read, results written; one barrier a tile; one launch. The same bits on every run.
// (Segmented scan: Schwartz, 1980; Merrill and Garland, Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/tile_pipeline.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/segmented/tile.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/atomic.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

// Where segments begin, and what of an element is its key and its value.

/// At the offsets.
template <class Offsets>
struct heads_at_offsets {
  static constexpr bool by_key = false, lengths = false;
  struct no_key {};
  Offsets offsets;
  item_count count;
  // clang-format off
  template <class X> PMPP_HOST_DEVICE static no_key key(const X&) { return {}; }
  template <class X> PMPP_HOST_DEVICE static const X& value(const X& x) { return x; }
  // clang-format on
};
/// Where the key differs from the one before.
template <class Eq>
struct heads_by_key {
  static constexpr bool by_key = true, lengths = false;
  Eq eq;
  // clang-format off
  template <class X> PMPP_HOST_DEVICE static const auto& key(const X& x) { return x.first; }
  template <class X> PMPP_HOST_DEVICE static const auto& value(const X& x) { return x.second; }
  // clang-format on
};
/// The same for keys alone, each of which counts one.
template <class Eq>
struct heads_of_runs {
  static constexpr bool by_key = true, lengths = true;
  Eq eq;
  template <class X>
  PMPP_HOST_DEVICE static const X& key(const X& x) {
    return x;
  }
};

/// Where runs go.
template <class KeysOut, class ValuesOut>
struct runs_out {
  KeysOut keys;
  ValuesOut values;
};

/// What tiles tell each other: how many heads, and what the elements from the last one on combine to. In words, so that
/// both fit 12 bytes where they can (block/tile_state.hpp).
template <class A, class Count>
struct run_state {
  std::uint32_t value_words[(sizeof(A) + 3) / 4], head_words[sizeof(Count) / 4];

  PMPP_HOST_DEVICE static run_state of(const A& value, std::uint64_t heads) {
    run_state s{};
    const auto count = static_cast<Count>(heads);
    memcpy(s.value_words, static_cast<const void*>(&value), sizeof(A));
    memcpy(s.head_words, &count, sizeof(Count));
    return s;
  }
  PMPP_HOST_DEVICE A value() const {
    A a;
    memcpy(static_cast<void*>(&a), value_words, sizeof(A));
    return a;
  }
  PMPP_HOST_DEVICE std::uint64_t heads() const {
    Count c;
    memcpy(&c, head_words, sizeof(Count));
    return c;
  }
};
/// Two numbers of 48 bits: no array is longer.
struct length_state {
  std::uint32_t low_length, low_heads, high;

  PMPP_HOST_DEVICE static length_state of(std::uint64_t length, std::uint64_t heads) {
    return {static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(heads),
            static_cast<std::uint32_t>(length >> 32 | heads >> 32 << 16)};
  }
  PMPP_HOST_DEVICE std::uint64_t value() const { return std::uint64_t(high & 0xffff) << 32 | low_length; }
  PMPP_HOST_DEVICE std::uint64_t heads() const { return std::uint64_t(high >> 16) << 32 | low_heads; }
};
/// A scan over offsets needs to know whether there are heads, not how many.
template <class State, class Op, bool CountHeads>
struct join_runs {
  Op op;
  PMPP_HOST_DEVICE State operator()(const State& left, const State& right) const {
    const std::uint64_t l = left.heads(), r = right.heads();
    using A = decltype(left.value());
    return State::of(r != 0 ? right.value() : static_cast<A>(op(left.value(), right.value())),
                     CountHeads ? l + r : l | r);
  }
};

/// In: values; by key, pairs of key and value; for lengths, keys. Out: an iterator, or runs_out. Count holds the number
/// of heads.
template <class In, class Heads, class Out, class Sink, class Op, class A, class Count, int Items,
          segmented_tuning Tuning>
struct run_kernel {
  static constexpr bool by_key = Heads::by_key, lengths = Heads::lengths;
  using raw = block::raw_items<In, Items>;
  using K = std::remove_cvref_t<decltype(Heads::key(std::declval<const value_of<In>&>()))>;
  using state = std::conditional_t<lengths, length_state, run_state<A, Count>>;
  using join = join_runs<state, Op, by_key>;
  using look_back = block::look_back<state>;

  /// A head: its key, and the value of the run that ends in front of it.
  struct run {
    A ended;
    K key;
  };
  using staged = std::conditional_t<lengths, K, std::conditional_t<by_key, run, std::uint8_t>>;
  using position = std::conditional_t<lengths, std::uint16_t, std::uint8_t>;
  /// A vector in shared memory, or as many runs, or as many positions. Wide ones have an odd number of 16-byte words,
  /// but not those of two: there a third more elements in a tile are worth more than the lanes' different banks.
  union slot {
    static constexpr int bytes = larger(sizeof(raw), Items*larger(sizeof(staged), sizeof(position))),
                         words = bytes / 16 | 1;
    PMPP_HOST_DEVICE slot() {}
    raw in;
    staged runs[Items];
    position at[Items];
    unsigned char room[bytes <= 32 ? bytes : words * 16];
  };
  static_assert(sizeof(slot) <= 2048 + 16, "pmpp: elements have at most 2048 bytes");
  // As many bytes in shared memory, however wide the elements are.
  static constexpr int lanes = simt::warp_size, tile_bytes = Tuning.threads * Tuning.bytes,
                       wanted_warps = smaller(smaller(Tuning.threads / lanes, tile_bytes / (lanes * int(sizeof(slot)))),
                                              lanes - 1),
                       warps = larger(1, wanted_warps), workers = warps * lanes, threads = workers + lanes,
                       min_blocks = smaller(Tuning.min_blocks, 2048 / threads),
                       fitting_rows = smaller(tile_bytes / (workers * int(sizeof(slot))), 65535 / (lanes * Items)),
                       most_rows = larger(1, fitting_rows);
  /// How many heads a lane has in some rows: fields of a word that do not overflow when the lanes add up.
  static constexpr int bits = Items * lanes < 256 ? 8 : 16;
  /// Rows that are worked on together, so that one need not wait for the shuffles of another.
  static constexpr int row_bytes = larger(sizeof(raw), lengths ? 0 : Items * sizeof(A)),
                       at_once = larger(1, smaller(32 / bits, 64 / row_bytes));

  using mask = std::conditional_t<Items <= 8, std::uint8_t, std::uint16_t>;  // a bit for each item of a vector
  static_assert(Items <= 16);
  struct alignas(128) shared {
    block::tile_pipeline_memory<state> pipeline;
    state of_warp[2][warps];
    state before_warp[2][warps];
    K key_before[2][warps];  ///< the key in front of its part
    bool begins_with_head[2][warps];
    alignas(16) unsigned char heads[2][by_key && !lengths ? 16 : workers * most_rows * int(sizeof(mask))];
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;                          ///< at least one, which may be empty
    int rows;                                    ///< of a warp
    std::int64_t offsets = 0, from = 0, to = 0;  ///< of a scan: their number; elements to be written

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : data(count, lead),
          tiles(larger(std::int64_t(1), ceil_div(data.vectors, std::int64_t(rows_of_warp) * workers))),
          rows(rows_of_warp) {}
    /// Dynamic shared memory: two tiles.
    std::size_t shared_bytes() const { return 2 * sizeof(slot) * workers * static_cast<std::size_t>(rows); }
  };
  struct arguments {
    In in;
    item_count count;
    Heads heads;
    Out out;
    Sink sink;
    Op op;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    selection* found;  ///< where the result waits until all blocks have read the count, which it may overwrite
    look_back others;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    plan p = a.known;
    if (a.count.pointer != nullptr) p = plan(a.count.get(), a.lead, a.known.rows);
    if constexpr (!by_key) {
      p.offsets = a.heads.count.get();
      if (p.offsets > 0) {
        p.from = static_cast<std::int64_t>(a.heads.offsets[0]);
        p.to = static_cast<std::int64_t>(a.heads.offsets[p.offsets - 1]);
      }
    }
    block::for_each_tile<by_key>(
        block, a.others, memory.pipeline, p.tiles,
        [&](std::int64_t tile, int stage) {
          with_share(block, memory, p, tile, stage, [&](const auto& mine) { load(block, memory, a, p, mine, stage); });
        },
        [&](std::int64_t tile, int stage) {
          simt::copy_async_wait<0>();
          block.sync_warp();
          with_share(block, memory, p, tile, stage, [&](const auto& mine) { work(block, memory, a, p, mine, stage); });
        },
        [&](std::int64_t tile, int stage, auto exchange) { talk(block, memory, a, p, tile, stage, exchange); },
        [&](std::int64_t tile, int stage) {
          if constexpr (by_key)
            write_runs(block, memory, a, share<false>(block, memory, p, tile, stage), stage);
          else
            with_share(block, memory, p, tile, stage, [&](const auto& mine) {
              const part<A> before = {memory.before_warp[stage][block.warp()].value(), 0, tile > 0 || block.warp() > 0};
              scan<true>(block, a, p, mine, before);
            });
          block.sync_warp();
        });
    a.others.finish(block, memory.pipeline.look_back, p.tiles);  // the last block finds everything written
    if constexpr (by_key) {
      if (a.done.flag != nullptr) block.sync();
      if (block.thread() != 0 || !(a.known.tiles == 1 || memory.pipeline.look_back.last)) return;
      if (a.found != nullptr) a.sink(*a.found);
      a.done.signal();
    }
  }

private:
  /// The vectors of one warp in a tile, in rows of 32.
  template <bool Inside>
  struct share : block::vector_range<Items, Inside> {
    int rows;
    slot* slots;
    unsigned char* heads;  ///< a mask for each vector

    template <class Block>
    PMPP_HOST_DEVICE share(Block& block, shared& memory, const plan& p, std::int64_t tile, int stage)
        : block::vector_range<Items, Inside>(p.data, (tile * warps + block.warp()) * p.rows * lanes, p.rows * lanes),
          rows(p.rows),
          slots(reinterpret_cast<slot*>(block.dynamic_shared()) +
                std::int64_t(stage * warps + block.warp()) * this->count),
          heads(memory.heads[stage] + (by_key && !lengths ? 0 : block.warp() * this->count * int(sizeof(mask)))) {}

    /// Calls f(r, v) for the lane's vectors v of rows row + r, as many as are worked on together.
    template <class Block, class F>
    PMPP_HOST_DEVICE void for_each_vector(Block& block, int row, F f) const {
      for (int r = 0; r < at_once; ++r) {
        const int v = (row + r) * lanes + block.lane();
        if (row + r < rows && this->has(v)) f(r, v);
      }
    }
    /// How many lanes have a vector in a row.
    PMPP_HOST_DEVICE int busy_lanes(int row) const {
      if (row >= rows) return 0;
      return Inside ? lanes : smaller(lanes, larger(0, ceil_div(this->end - row * lanes * Items, Items)));
    }
    PMPP_HOST_DEVICE unsigned heads_of(int v) const {
      mask m;
      memcpy(&m, heads + v * int(sizeof(mask)), sizeof(mask));
      return m;
    }
    PMPP_HOST_DEVICE void keep_heads(int v, unsigned of_vector) const {
      const auto m = static_cast<mask>(of_vector);
      memcpy(heads + v * int(sizeof(mask)), &m, sizeof(mask));
    }
  };

  /// Calls f with a warp's share. A tile of which all elements exist, and all are to be written, needs no checks.
  template <class Block, class F>
  PMPP_HOST_DEVICE static void with_share(Block& block, shared& memory, const plan& p, std::int64_t tile, int stage,
                                          F f) {
    const std::int64_t vectors = std::int64_t(workers) * p.rows;
    const std::int64_t begin = p.data.element(tile * vectors), end = p.data.element((tile + 1) * vectors);
    if (by_key ? begin >= 0 && end <= p.data.n : begin >= p.from && end <= p.to)
      f(share<true>(block, memory, p, tile, stage));
    else
      f(share<false>(block, memory, p, tile, stage));
  }

  /// Starts copying elements to shared memory, and finds what tells where the heads are.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, shared& memory, const arguments& a, const plan& p,
                                    const share<Inside>& mine, int stage) {
    block::load_async(block, a.in, mine, mine.slots);
    simt::copy_async_batch();
    if constexpr (!by_key)
      mark(block, a, p, mine);
    else if (block.lane() == 0 && mine.first > 0 && mine.first < p.data.n)
      memory.key_before[stage][block.warp()] = Heads::key(a.in[mine.first - 1]);
  }

  /// Marks the offsets that lie in the warp's part.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void mark(Block& block, const arguments& a, const plan& p, const share<Inside>& mine) {
    constexpr int batch = 8, mask_bits = 8 * int(sizeof(mask));  // loads of a lane that are on their way at once
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.heads.offsets[s]); };
    auto* const words = reinterpret_cast<unsigned*>(mine.heads);
    for (int i = block.lane(); i < mine.count * mask_bits / 32; i += lanes) words[i] = 0;
    block.sync_warp();
    if (!mine.has(0)) return;
    const std::int64_t begin = mine.first + mine.begin, end = mine.first + mine.end;
    std::int64_t s = count_leading(block, p.offsets, [&](std::int64_t i) { return offset(i) < begin; });
    for (;;) {
      std::int64_t at[batch];
      for (int i = 0; i < batch; ++i) {
        const std::int64_t k = s + i * lanes + block.lane();
        at[i] = k < p.offsets ? offset(k) : end;
      }
      for (int i = 0; i < batch; ++i) {
        if (at[i] >= end) break;
        const int element = static_cast<int>(at[i] - mine.first);
        const unsigned bit = unsigned(element / Items * mask_bits + element % Items);
        simt::atomic_or(words + bit / 32, 1u << bit % 32);
      }
      const std::int64_t last = block.shuffle(at[batch - 1], lanes - 1);
      if (last >= end) return;
      s += batch * lanes;
      if (block.shuffle(at[0], 0) == last)  // many empty segments: on to the first offset behind them
        s += count_leading(block, p.offsets - s, [&](std::int64_t i) { return offset(s + i) <= last; });
    }
  }

  /// Finds out what the elements of a warp's part come to; runs move to the front of the part.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void work(Block& block, shared& memory, const arguments& a, const plan& p,
                                    const share<Inside>& mine, int stage) {
    state all;
    if constexpr (by_key) {
      all = gather(block, memory, a, mine, stage);
    } else {
      const part<A> folded = scan<false>(block, a, p, mine, part<A>{});
      all = state::of(folded.value, folded.heads);
    }
    if (block.lane() == 0) memory.of_warp[stage][block.warp()] = all;
  }

  /// Scans some rows from head to head, behind `running`, which becomes what the elements from the last head on combine
  /// to. before: what precedes each lane's vector.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void scan_rows(Block& block, const share<Inside>& mine, int row,
                                         const unsigned (&heads)[at_once], A (&y)[at_once][Items], A (&before)[at_once],
                                         part<A>& running, const Op& op) {
    A tail[at_once]{};  // of the lane, from its last head on
    unsigned with_head[at_once];
    int reach[at_once]{};  // how many lanes to the left there is no head between
    for (int r = 0; r < at_once; ++r) with_head[r] = block.ballot(heads[r] != 0);
    mine.for_each_vector(block, row, [&](int r, int v) {
      bool present = false;
      mine.for_each_item(v, [&](int k) {
        if (present && (heads[r] >> k & 1) == 0) y[r][k] = static_cast<A>(op(tail[r], y[r][k]));
        tail[r] = y[r][k];
        present = true;
      });
      reach[r] = smaller(block.lane(), simt::leading_zeros(with_head[r] << (lanes - 1 - block.lane())));
    });
    for (int d = 1; d < lanes; d *= 2)
      for (int r = 0; r < at_once; ++r) {
        const A left = block.shuffle_up(tail[r], d);
        if (d <= reach[r]) tail[r] = static_cast<A>(op(left, tail[r]));
      }
    bool preceded[at_once]{};
    for (int r = 0; r < at_once; ++r) {
      const int busy = mine.busy_lanes(row + r);
      if (busy == 0) break;
      const A left = block.shuffle_up(tail[r], 1), all = block.shuffle(tail[r], busy - 1);
      const bool joins = running.present && (with_head[r] & ((1u << block.lane()) - 1)) == 0;
      before[r] = block.lane() == 0 ? running.value : joins ? static_cast<A>(op(running.value, left)) : left;
      preceded[r] = block.lane() > 0 || running.present;
      running.value = running.present && with_head[r] == 0 ? static_cast<A>(op(running.value, all)) : all;
      running.heads |= unsigned(with_head[r] != 0);
      running.present = true;
    }
    mine.for_each_vector(block, row, [&](int r, int v) {
      mine.for_each_item(v, [&](int k) {
        if (preceded[r] && k < simt::trailing_zeros(heads[r])) y[r][k] = static_cast<A>(op(before[r], y[r][k]));
      });
    });
  }

  /// Scans a warp's part behind `running`. Returns what the elements from the last head on combine to.
  template <bool Write, bool Inside, class Block>
  PMPP_HOST_DEVICE static part<A> scan(Block& block, const arguments& a, const plan& p, const share<Inside>& mine,
                                       part<A> running) {
    for (int row = 0; row < mine.rows; row += at_once) {
      A y[at_once][Items]{}, before[at_once];
      unsigned heads[at_once]{};
      mine.for_each_vector(block, row, [&](int r, int v) {
        const raw x = mine.slots[v].in;
        heads[r] = mine.heads_of(v);
        mine.for_each_item(v, [&](int k) { y[r][k] = static_cast<A>(block::access<In>::value(a.in, x, k)); });
      });
      scan_rows(block, mine, row, heads, y, before, running, a.op);
      if constexpr (Write) store(block, a, p, mine, row, y);
    }
    return running;
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const arguments& a, const plan& p, const share<Inside>& mine,
                                     int row, const A (&y)[at_once][Items]) {
    mine.for_each_vector(block, row, [&](int r, int v) {
      const std::int64_t i = mine.element(v);
      if constexpr (Items > 1) {
        if (Inside || (mine.whole(v) && i >= p.from && i + Items <= p.to)) {
          block::vector<value_of<Out>, Items> result;
          for (int k = 0; k < Items; ++k) result.item[k] = static_cast<value_of<Out>>(y[r][k]);
          block::access<Out>::template store<Items>(a.out, i, result);
          return;
        }
      }
      mine.for_each_item(v, [&](int k) {
        if (Inside || (i + k >= p.from && i + k < p.to)) a.out[i + k] = static_cast<value_of<Out>>(y[r][k]);
      });
    });
  }

  /// Calls put(rank, r, k) for the heads of some rows, `runs` of which lie before them, and adds theirs to `runs`.
  template <class Block, class Put>
  PMPP_HOST_DEVICE static void for_each_head(Block& block, const unsigned (&heads)[at_once], int& runs, Put put) {
    const auto field = [](unsigned counts, int r) { return static_cast<int>(counts >> r * bits & ((1u << bits) - 1)); };
    unsigned counts = 0;
    for (int r = 0; r < at_once; ++r) counts += unsigned(simt::count_bits(heads[r])) << r * bits;
    const unsigned up_to = block::warp_inclusive_scan(block, counts, plus{});
    const unsigned of_rows = block.shuffle(up_to, lanes - 1);
    for (int r = 0; r < at_once; ++r) {
      int rank = runs + field(up_to, r) - field(counts, r);
      runs += field(of_rows, r);
      for (int k = 0; k < Items; ++k)
        if ((heads[r] >> k & 1) != 0) put(rank++, r, k);
    }
  }

  /// Moves the runs that begin in a warp's part to its front: keys, and the values of those in front of them.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static state gather(Block& block, shared& memory, const arguments& a, const share<Inside>& mine,
                                       int stage) {
    K before_row{};  // the key before the row, in lane 0
    if (block.lane() == 0) before_row = memory.key_before[stage][block.warp()];
    [[maybe_unused]] part<A> running{};
    [[maybe_unused]] int last_head = -1;  // of the lane: item of the part
    int runs = 0;
    for (int row = 0; row < mine.rows; row += at_once) {
      raw x[at_once]{};
      mine.for_each_vector(block, row, [&](int r, int v) { x[r] = mine.slots[v].in; });
      block.sync_warp();  // runs may now go where these were
      const auto item = [&](int r, int k) { return block::access<In>::value(a.in, x[r], k); };
      unsigned heads[at_once]{};
      for (int r = 0; r < at_once; ++r) {
        const int v = (row + r) * lanes + block.lane();
        const bool has = row + r < mine.rows && mine.has(v);
        K last{};
        if (has && mine.end_of(v) == Items) last = Heads::key(item(r, Items - 1));
        const K left = block.shuffle(last, (block.lane() + lanes - 1) % lanes);
        K previous = block.lane() == 0 ? before_row : left;
        before_row = left;  // in lane 0 that is the last key of this row
        if (!has) continue;
        mine.for_each_item(v, [&](int k) {
          const K key = Heads::key(item(r, k));
          const bool head = mine.element(v) + k == 0 || !static_cast<bool>(a.heads.eq(previous, key));
          heads[r] |= unsigned(head) << k;
          previous = key;
        });
        if constexpr (lengths) {
          mine.keep_heads(v, heads[r]);
          if (heads[r] != 0) last_head = v * Items + 31 - simt::leading_zeros(heads[r]);
        }
      }
      if constexpr (lengths) {
        for_each_head(block, heads, runs,
                      [&](int rank, int r, int k) { mine.slots->runs[rank] = Heads::key(item(r, k)); });
      } else {
        if (row == 0 && block.lane() == 0)
          memory.begins_with_head[stage][block.warp()] = (heads[0] >> mine.begin_of(0) & 1) != 0;
        A y[at_once][Items]{}, before[at_once]{};
        for (int r = 0; r < at_once; ++r)
          for (int k = 0; k < Items; ++k) y[r][k] = static_cast<A>(Heads::value(item(r, k)));
        scan_rows(block, mine, row, heads, y, before, running, a.op);
        for_each_head(block, heads, runs, [&](int rank, int r, int k) {
          const bool first = k == mine.begin_of((row + r) * lanes + block.lane());
          mine.slots->runs[rank] = {first ? before[r] : y[r][larger(0, k - 1)], Heads::key(item(r, k))};
        });
      }
    }
    if constexpr (lengths) {
      last_head = block.warp_max(last_head);
      return state::of(static_cast<std::uint64_t>(mine.end - (last_head < 0 ? mine.begin : last_head)),
                       static_cast<std::uint64_t>(runs));
    } else {
      return state::of(running.value, static_cast<std::uint64_t>(runs));
    }
  }

  /// The messenger's part of a tile that has been worked on.
  template <class Block, class Exchange>
  PMPP_HOST_DEVICE static void talk(Block& block, shared& memory, const arguments& a, const plan& p, std::int64_t tile,
                                    int stage, const Exchange& exchange) {
    const std::int64_t left = p.data.vectors - tile * p.rows * workers;
    const int count = static_cast<int>(
        larger(std::int64_t(1), smaller(ceil_div(left, std::int64_t(p.rows) * lanes), std::int64_t(warps))));
    const join op{a.op};
    state sum{};  // of this lane's warp and those before it
    if (block.lane() < count) sum = memory.of_warp[stage][block.lane()];
    sum = block::warp_inclusive_scan(block, sum, op, count);
    const state all = block.shuffle(sum, count - 1), before = block.shuffle_up(sum, 1);
    const state prefix = exchange(all, false, state{}, op);
    if (block.lane() < count)
      memory.before_warp[stage][block.lane()] = block.lane() == 0 ? prefix : tile > 0 ? op(prefix, before) : before;
    if constexpr (by_key) {
      if (block.lane() != 0 || tile < p.tiles - 1) return;
      const state total = tile > 0 ? op(prefix, all) : all;
      const selection found = {static_cast<std::int64_t>(total.heads()), p.data.n};
      if (found.kept > 0) a.out.values[found.kept - 1] = static_cast<value_of<decltype(a.out.values)>>(total.value());
      if (a.found != nullptr)
        *a.found = found;
      else
        a.sink(found);
    }
  }

  /// Writes the runs that begin in a warp's part, and the value of the one that ends in front of the first.
  template <class Block>
  PMPP_HOST_DEVICE static void write_runs(Block& block, shared& memory, const arguments& a, const share<false>& mine,
                                          int stage) {
    const auto n = static_cast<int>(memory.of_warp[stage][block.warp()].heads());
    if (n == 0) return;
    const state before = memory.before_warp[stage][block.warp()];
    const auto first = static_cast<std::int64_t>(before.heads());
    const int from = first == 0 ? 1 : 0;  // no run ends in front of the very first
    if constexpr (lengths) {
      put(block, a.out.keys, first, 0, n, [&](int j) { return mine.slots->runs[j]; });
      block.sync_warp();  // the positions of the heads go where these were
      int runs = 0;
      for (int row = 0; row < mine.rows; row += at_once) {
        unsigned heads[at_once]{};
        mine.for_each_vector(block, row, [&](int r, int v) { heads[r] = mine.heads_of(v); });
        for_each_head(block, heads, runs, [&](int rank, int r, int k) {
          mine.slots->at[rank] = static_cast<position>(((row + r) * lanes + block.lane()) * Items + k);
        });
      }
      block.sync_warp();
      put(block, a.out.values, first - 1, from, n, [&](int j) {
        return j > 0 ? std::uint64_t(mine.slots->at[j] - mine.slots->at[j - 1])
                     : before.value() + std::uint64_t(mine.slots->at[0] - mine.begin);
      });
    } else {
      put(block, a.out.keys, first, 0, n, [&](int j) { return mine.slots->runs[j].key; });
      const bool begins_with_head = memory.begins_with_head[stage][block.warp()];
      put(block, a.out.values, first - 1, from, n, [&](int j) {
        const A ended = mine.slots->runs[j].ended;
        return j > 0 ? ended : begins_with_head ? before.value() : static_cast<A>(a.op(before.value(), ended));
      });
    }
  }

  /// A warp writes get(from) ... get(n - 1) to out[position + from ...], whole lines where the elements allow it.
  template <class Block, class O, class Get>
  PMPP_HOST_DEVICE static void put(Block& block, const O& out, std::int64_t position, int from, int n, Get get) {
    int shift = 0;
    if constexpr (std::is_pointer_v<O>)
      shift = static_cast<int>((std::int64_t(reinterpret_cast<std::uintptr_t>(out) / sizeof(*out)) + position) % lanes);
    for (int j = block.lane() - shift; j < n; j += lanes)
      if (j >= from) out[position + j] = static_cast<value_of<O>>(get(j));
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
