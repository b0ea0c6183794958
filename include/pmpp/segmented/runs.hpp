// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_inclusive_scan, reduce_by_key and run_length_encode.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp). A lane works on
//      adjacent vectors of its warp's part of a tile, then the lanes join what they end with, from head to head.
//      For segments given by offsets the warp finds those that lie in its part while the elements are on their way, and
//      marks the heads, one bit each. For runs of equal keys each key is compared with the one before.
//   2. A scan only folds its part now. Runs move to the front of the part, in shared memory: the key at each head and the
//      value of the run that ends in front of it. Of run lengths the keys move, and the heads are kept as bits.
//   3. One warp publishes how many heads the tile has and what the elements from the last one on combine to, and collects
//      the same of all tiles before (block/look_back.hpp), with the operator of a segmented scan. Of a tile without a head
//      nothing is written: it publishes, and collects nothing.
//   4. A scan runs through its part a second time, knowing what precedes it; results take the elements' place, from where
//      rows of 512 bytes are written. Runs are written as whole lines, the prefix joined to the first value. A length is a difference of positions of heads.
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

/// What becomes of a vector in shared memory, but for runs.
template <class Out, int Items>
struct results_of {
  using type = block::vector<value_of<Out>, Items>;
};
template <class KeysOut, class ValuesOut, int Items>
struct results_of<runs_out<KeysOut, ValuesOut>, Items> {
  struct type {};
};

/// What a vector is in shared memory: one slot; of keys with values, what it was loaded as, the two sides apart.
template <bool Apart, class Raw, class Slot>
struct sides_of {
  using first = Slot;
  struct second {};
};
template <class X, class Y, class Slot>
struct sides_of<true, pair<X, Y>, Slot> {
  struct first {
    X in;
  };
  struct second {
    Y in;
  };
};

/// Whether keys and values move as vectors also where theirs begin at different elements.
template <class In>
constexpr bool joins_shifted = false;
template <class K, class V>
constexpr bool joins_shifted<zip_iterator<K*, V*>> =
    block::access<K*>::always&& block::access<V*>::always&& block::access<K*>::items > 1 &&
    block::access<V*>::items > 1 && sizeof(V) % 4 == 0;

/// What tiles exchange: how many heads, and what the elements from the last one on combine to. In words, so that
/// both fit 12 bytes where they can (block/tile_state.hpp).
template <class A, class Count>
struct run_state {
  std::uint32_t value_words[(sizeof(A) + 3) / 4], head_words[sizeof(Count) / 4];

  PMPP_HOST_DEVICE static run_state of(const A& value, std::uint64_t heads) {
    run_state s{};
    const auto count = static_cast<Count>(heads);
    memcpy(s.value_words, pmpp::bytes_of(value), sizeof(A));
    memcpy(s.head_words, &count, sizeof(Count));
    return s;
  }
  PMPP_HOST_DEVICE A value() const {
    A a;
    memcpy(pmpp::bytes_of(a), value_words, sizeof(A));
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
/// of heads. Shifted: the values' vectors begin elsewhere than those of the keys.
template <class In, class Heads, class Out, class Sink, class Op, class A, class Count, int Items, bool Shifted,
          segmented_tuning Tuning>
struct run_kernel {
  static constexpr bool by_key = Heads::by_key, lengths = Heads::lengths, apart = by_key && !lengths;
  static constexpr int vector_items = Items;
  using raw = block::raw_items<In, Items>;
  using K = std::remove_cvref_t<decltype(Heads::key(std::declval<const value_of<In>&>()))>;
  using state = std::conditional_t<lengths, length_state, run_state<A, Count>>;
  using join = join_runs<state, Op, by_key>;
  using look_back = block::look_back<state, 1>;  // runs of 16 take 442 us on an H100, with a window of 2 450

  /// A head: its key, and the value of the run that ends in front of it.
  struct run {
    A ended;
    K key;
  };
  using results = typename results_of<Out, Items>::type;
  using staged = std::conditional_t<lengths, K, std::conditional_t<by_key, run, std::uint8_t>>;
  using position = std::conditional_t<lengths, std::uint16_t, std::uint8_t>;
  /// A vector in shared memory, or what became of it, or as many runs, or as many positions.
  union slot {
    PMPP_HOST_DEVICE slot() {}
    raw in;
    results out;
    staged runs[Items];
    position at[Items];
  };
  using sides = sides_of<apart, raw, slot>;
  static_assert(sizeof(slot) + (by_key ? 0 : sizeof(A)) <= 2048 + 16, "pmpp: elements have at most 2048 bytes");
  // As many bytes in shared memory, however wide the elements are.
  static constexpr int lanes = simt::warp_size, tile_bytes = Tuning.threads * Tuning.bytes,
                       wanted_warps =
                           min(min(Tuning.threads / lanes, tile_bytes / (lanes * int(sizeof(slot)))), lanes - 1),
                       warps = max(1, wanted_warps), workers = warps * lanes, threads = workers + lanes,
                       min_blocks = min(Tuning.min_blocks, 2048 / threads),
                       fitting_rows = max(1, min(tile_bytes / (workers * int(sizeof(slot))), 65535 / (lanes * Items)));
  /// Vectors that a scan reads at a time.
  static constexpr int at_once = max(1, min(4, 64 / int(sizeof(raw))));
  /// How many adjacent vectors a lane gets at once. A scan: all, some times at_once. Runs are moved by way of registers:
  /// not more than a lane has room for, and such that most rows come together.
  static constexpr int each = [] {
    if (!by_key) return fitting_rows < at_once ? fitting_rows : fitting_rows / at_once * at_once;
    constexpr int row_bytes = max(sizeof(raw), lengths ? 0 : Items * (sizeof(K) + sizeof(A))),
                  room = max(64, 248 - 6 * int(sizeof(A)));
    const int most = min(fitting_rows, max(1, min(32 / Items, room / row_bytes)));
    const int strips = ceil_div(fitting_rows, most), even = fitting_rows / strips;
    return even * strips > fitting_rows / most * most ? even : most;
  }();
  static constexpr int most_strips = fitting_rows / each, most_rows = each * most_strips;
  static_assert(Items <= 16 && is_power_of_two(Items));

  struct alignas(128) shared {
    block::tile_pipeline_memory<state> pipeline;
    state of_warp[2][warps];
    state before_warp[2][warps];
    K key_before[2][warps];  ///< the key in front of its part
    bool begins_with_head[2][warps];
    unsigned lanes_with_head[2][warps];
    A before_lane[2][by_key ? 1 : workers];  ///< what it is preceded by in its warp, from the last head on
    unsigned heads[2][!by_key ? warps * most_rows * Items : lengths ? workers * most_strips : 1];  ///< a bit for each
    typename sides::second after[2][Shifted ? warps : 1];  ///< the vector of values after its part
    std::int64_t last_begin[warps],
        last_offset[warps];  ///< of a warp's last search: an element, the first offset there
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;                          ///< at least one, which may be empty
    int rows;                                    ///< of a warp: at most `each`, or a multiple of it
    std::int64_t offsets = 0, from = 0, to = 0;  ///< of a scan: their number; elements to be written

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : data(count, lead),
          tiles(max(std::int64_t(1), ceil_div(data.vectors, std::int64_t(rows_of_warp) * workers))),
          rows(rows_of_warp) {}
    /// Dynamic shared memory: two tiles.
    std::size_t shared_bytes() const { return bytes_of_rows(rows); }
    static constexpr std::size_t bytes_of_rows(int r) {
      return std::size_t(2) * warps * ceil_div(r, each) * strip_bytes(min(r, each));
    }
  };
  /// Vectors in shared memory. Adjacent ones of a lane lie one after the other, and take an odd number of words: then
  /// lanes find theirs in different banks.
  template <class T>
  struct plane {
    std::byte* bytes;  ///< of the first strip
    int vectors;       ///< of a lane in a strip

    PMPP_HOST_DEVICE static constexpr int lane_bytes(int vectors) {
      constexpr int word = max(greatest_common_divisor(16, int(sizeof(T))), int(alignof(T)));
      return (vectors * int(sizeof(T)) / word | 1) * word;
    }
    PMPP_HOST_DEVICE static constexpr int bytes_of_strip(int vectors) {
      return round_up(lanes * lane_bytes(vectors), apart ? max(128, int(alignof(T))) : 1);
    }
    /// Vector j of a lane; lanes are counted through the strips.
    PMPP_HOST_DEVICE T& at(int lane, int j) const {
      const int gap = strip_bytes(vectors) - lanes * lane_bytes(vectors);  // for the other side
      return *reinterpret_cast<T*>(bytes + lane * lane_bytes(vectors) +
                                   (apart && most_strips > 1 ? lane / lanes * gap : 0) + j * int(sizeof(T)));
    }
    PMPP_HOST_DEVICE T& operator[](int v) const { return at(v / vectors, v % vectors); }
  };
  /// Keys and values lie apart, as they do in memory, so that lanes copy to adjacent words: 2^27 pairs of 8 bytes in runs
  /// of 16 take 440 us on an H100, vector by vector 670.
  using front_plane = plane<typename sides::first>;
  using back_plane = plane<typename sides::second>;
  /// The values' plane, and a vector after it that lies elsewhere.
  struct back_and_one {
    back_plane plane;
    int count;
    typename sides::second& after;
    PMPP_HOST_DEVICE auto& operator[](int v) const { return v < count ? plane[v] : after; }
  };
  /// Shared memory for a strip of a warp. The runs that begin in it have room there.
  PMPP_HOST_DEVICE static constexpr int strip_bytes(int vectors) {
    const int front = front_plane::bytes_of_strip(vectors);
    return apart ? max(front + back_plane::bytes_of_strip(vectors),
                       round_up(lanes * vectors * Items * int(sizeof(staged)), 128))
                 : front;
  }
  struct arguments {
    In in;
    item_count count;
    Heads heads;
    Out out;
    Sink sink;
    Op op;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    int shift;         ///< elements by which the values' vectors begin before those of the keys
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
      if (block.lane() == 0 && block.warp() < warps) {
        memory.last_begin[block.warp()] = p.from;
        memory.last_offset[block.warp()] = 0;
      }
    }
    block::for_each_tile<by_key>(
        block, a.others, memory.pipeline, p.tiles,
        [&](std::int64_t tile, int stage) {
          with_stream_k(block, memory, p, tile, stage,
                        [&](const auto& mine) { load(block, memory, a, p, mine, stage); });
        },
        [&](std::int64_t tile, int stage) {
          simt::copy_async_wait<0>();
          block.sync_warp();
          with_stream_k(block, memory, p, tile, stage, [&](const auto& mine) { work(block, memory, a, mine, stage); });
        },
        [&](std::int64_t tile, int stage, auto exchange) { look_back_for(block, memory, a, p, tile, stage, exchange); },
        [&](std::int64_t tile, int stage) {
          if constexpr (by_key)
            write_runs(block, memory, a, share<false>(block, memory, p, tile, stage), stage);
          else
            with_stream_k(block, memory, p, tile, stage,
                          [&](const auto& mine) { write_scan(block, memory, a, p, mine, tile, stage); });
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
  /// The vectors of one warp in a tile. They are moved in rows of 32 and worked on in strips of `each` for a lane.
  template <bool Inside>
  struct share : block::vector_range<Items, Inside> {
    int strips;
    int vectors;  ///< of a lane in a strip
    std::byte* bytes;
    front_plane front;
    back_plane back;
    unsigned* heads;

    template <class Block>
    PMPP_HOST_DEVICE share(Block& block, shared& memory, const plan& p, std::int64_t tile, int stage)
        : block::vector_range<Items, Inside>(p.data, (tile * warps + block.warp()) * p.rows * lanes, p.rows * lanes),
          strips(each == most_rows ? 1 : ceil_div(p.rows, each)),
          vectors(Inside ? each : min(p.rows, each)),
          bytes(block.dynamic_shared() + std::int64_t(stage * warps + block.warp()) * strips * strip_bytes(vectors)),
          front{bytes, vectors},
          back{bytes + front_plane::bytes_of_strip(vectors), vectors},
          heads(memory.heads[stage] + block.warp() * (!by_key   ? most_rows * Items
                                                      : lengths ? lanes * most_strips
                                                                : 0)) {}

    /// Starts copying its vectors to shared memory.
    template <class Block>
    PMPP_HOST_DEVICE void load(Block& block, shared& memory, const arguments& a, const plan& p, int stage) const {
      if constexpr (Shifted) {
        block::load_async(block, a.in.a, *this, front);
        auto own = p.data;
        own.first -= a.shift;
        block::load_async(block, a.in.b,
                          block::vector_range<Items, false>(own, (this->first - p.data.first) / Items, this->count + 1),
                          back_and_one{back, this->count, memory.after[stage][block.warp()]});
      } else if constexpr (apart) {
        block::load_async(block, a.in.a, *this, front);
        block::load_async(block, a.in.b, *this, back);
      } else {
        block::load_async(block, a.in, *this, front);
      }
      simt::copy_async_commit();
    }
    /// Vector j of a lane in a strip, as it was loaded.
    template <class Block>
    PMPP_HOST_DEVICE raw loaded(Block& block, int strip, int j) const {
      const int lane = strip * lanes + block.lane();
      if constexpr (apart)
        return {front.at(lane, j).in, back.at(lane, j).in};
      else
        return front.at(lane, j).in;
    }
    /// All vectors of a lane in a strip. Values that lie otherwise than keys come out of one vector more, the first of the
    /// next lane, by moving down in registers: one by one such values took 516 us where this takes 444.
    template <class Block>
    PMPP_HOST_DEVICE void get(Block& block, shared& memory, const arguments& a, int strip, int stage,
                              raw (&x)[each]) const {
      const int first_vector = first_of(block, strip);
      if constexpr (Shifted) {
        constexpr int step = int(sizeof(*a.in.b)) / 4, words = Items * step;  // of an element, of a vector
        const int lane = strip * lanes + block.lane();
        const bool last = strip + 1 == strips && block.lane() == lanes - 1;
        std::uint32_t w[(each + 1) * words];
        for (int j = 0; j <= each; ++j) {
          const auto& y = j < vectors ? back.at(lane, j)
                          : last      ? memory.after[stage][block.warp()]
                                      : back.at(lane + 1, 0);
          for (int i = 0; i < words; ++i) w[j * words + i] = y.in.word[i];
        }
        for (int bit = 1; bit < block::access<decltype(a.in.b)>::items; bit *= 2)
          if ((a.shift & bit) != 0)
            for (int i = 0; i + bit * step < (each + 1) * words; ++i) w[i] = w[i + bit * step];
        for (int j = 0; j < each; ++j) {
          if (j < vectors && this->has(first_vector + j)) x[j].first = front.at(lane, j).in;
          for (int i = 0; i < words; ++i) x[j].second.word[i] = w[j * words + i];
        }
      } else {
        for (int j = 0; j < each; ++j)
          if (j < vectors && this->has(first_vector + j)) x[j] = loaded(block, strip, j);
      }
    }
    /// The first vector of a lane in a strip.
    template <class Block>
    PMPP_HOST_DEVICE int first_of(Block& block, int strip) const {
      return (strip * lanes + block.lane()) * vectors;
    }
    /// Calls f(i) for the items that exist in a lane's vectors from first_vector on.
    template <class F>
    PMPP_HOST_DEVICE void for_each_item_of(int first_vector, F f) const {
      for (int j = 0; j < each; ++j)
        if (Inside || (j < vectors && this->has(first_vector + j)))
          this->for_each_item(first_vector + j, [&](int k) { f(j * Items + k); });
    }
    /// How many lanes have a vector in a strip.
    PMPP_HOST_DEVICE int busy_lanes(int strip) const {
      if (Inside) return lanes;
      const int items = vectors * Items;
      return min(lanes, max(0, ceil_div(this->end - strip * lanes * items, items)));
    }
    /// As they were marked, of vector v.
    PMPP_HOST_DEVICE unsigned heads_of(int v) const {
      return heads[v * Items / 32] >> v * Items % 32 & ((1u << Items) - 1);
    }
    /// Calls f(v, place, elements, heads) for the vectors of a lane. Some are read at a time, so that they are not waited
    /// for one by one.
    template <class Block, class F>
    PMPP_HOST_DEVICE void for_each_vector(Block& block, F f) const {
      constexpr bool whole = Inside && each % at_once == 0;
      const int first_vector = first_of(block, 0);
      for (int j = 0; j < vectors; j += at_once) {
        raw x[at_once]{};
        unsigned of_vector[at_once]{};
        for (int r = 0; r < at_once; ++r)
          if (whole || (j + r < vectors && this->has(first_vector + j + r))) {
            x[r] = loaded(block, 0, j + r);
            of_vector[r] = heads_of(first_vector + j + r);
          }
        for (int r = 0; r < at_once; ++r)
          if (whole || (j + r < vectors && this->has(first_vector + j + r)))
            f(first_vector + j + r, front.at(block.lane(), j + r), x[r], of_vector[r]);
      }
    }
    /// Runs in the front of the part.
    PMPP_HOST_DEVICE staged& run_at(int i) const { return reinterpret_cast<staged*>(bytes)[i]; }
    PMPP_HOST_DEVICE position& position_at(int i) const { return reinterpret_cast<position*>(bytes)[i]; }
  };

  /// Calls f with a warp's share. A tile of which all elements exist, and all are to be written, needs no checks; the
  /// number of vectors is known then, so that loops unroll.
  template <class Block, class F>
  PMPP_HOST_DEVICE static void with_stream_k(Block& block, shared& memory, const plan& p, std::int64_t tile, int stage,
                                             F f) {
    const std::int64_t vectors = std::int64_t(workers) * p.rows;
    const std::int64_t begin = p.data.element(tile * vectors), end = p.data.element((tile + 1) * vectors);
    if (p.rows % each == 0 && (by_key ? begin >= 0 && end <= p.data.n : begin >= p.from && end <= p.to))
      f(share<true>(block, memory, p, tile, stage));
    else
      f(share<false>(block, memory, p, tile, stage));
  }

  /// Starts copying elements to shared memory, and finds what tells where the heads are.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, shared& memory, const arguments& a, const plan& p,
                                    const share<Inside>& mine, int stage) {
    mine.load(block, memory, a, p, stage);
    if constexpr (!by_key)
      mark(block, memory, a, p, mine);
    else if (block.lane() == 0 && mine.first > 0 && mine.first < p.data.n)
      memory.key_before[stage][block.warp()] = Heads::key(a.in[mine.first - 1]);
  }

  /// Marks the offsets that lie in the warp's part, one bit an element.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void mark(Block& block, shared& memory, const arguments& a, const plan& p,
                                    const share<Inside>& mine) {
    using Offsets = std::remove_cvref_t<decltype(a.heads.offsets)>;
    using offset_access = block::access<Offsets>;
    constexpr bool wide = std::is_pointer_v<Offsets> && offset_access::always;
    using narrow = std::conditional_t<sizeof(value_of<Offsets>) <= 4, std::uint32_t, std::uint64_t>;
    constexpr int adjacent = wide ? max(1, offset_access::items) : 1, batch = max(1, 8 / adjacent);
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.heads.offsets[s]); };
    for (int i = block.lane(); i < mine.count * Items / 32; i += lanes) mine.heads[i] = 0;
    block.sync_warp();
    if (!mine.has(0)) return;
    const std::int64_t begin = mine.first + mine.begin, end = mine.first + mine.end;
    std::int64_t s = first_offset(block, memory, p, begin, [&](std::int64_t i) { return offset(i) < begin; });
    for (;;) {
      if constexpr (wide && adjacent > 1)  // from a boundary on; those before are left out below
        s -= static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.heads.offsets + s) /
                                       sizeof(value_of<Offsets>) % adjacent);
      narrow at[batch][adjacent];
      for (int i = 0; i < batch; ++i) {
        const std::int64_t k = s + (i * lanes + block.lane()) * adjacent;
        if (k >= 0 && k + adjacent <= p.offsets) {
          const auto x = offset_access::template load<adjacent>(a.heads.offsets, k);
          for (int j = 0; j < adjacent; ++j)
            at[i][j] = static_cast<narrow>(offset_access::value(a.heads.offsets, x, j));
        } else {
          for (int j = 0; j < adjacent; ++j)
            at[i][j] = static_cast<narrow>(k + j < 0 ? begin - 1 : k + j < p.offsets ? offset(k + j) : end);
        }
      }
      for (int i = 0; i < batch; ++i) {
        unsigned bits = 0;  // of a word; neighbours mostly share one
        for (int j = 0; j < adjacent; ++j) {
          const narrow element = at[i][j] - static_cast<narrow>(mine.first);  // large where it lies before the part
          if (element < static_cast<narrow>(mine.end)) bits |= 1u << element % 32;
          const bool go_on =
              j + 1 < adjacent && (at[i][(j + 1) % adjacent] - static_cast<narrow>(mine.first)) / 32 == element / 32;
          if (go_on) continue;
          if (bits != 0) simt::atomic_or(mine.heads + element / 32, bits);
          bits = 0;
        }
      }
      const auto last = static_cast<std::int64_t>(block.shuffle(at[batch - 1][adjacent - 1], lanes - 1));
      const auto front = static_cast<std::int64_t>(block.shuffle(at[0][adjacent - 1], 0));
      s += batch * lanes * adjacent;
      if (last >= end || s >= p.offsets) return;
      if (front == last)  // many empty segments: on to the first offset after them
        s += count_leading(block, p.offsets - s, [&](std::int64_t i) { return offset(s + i) <= last; });
    }
  }

  /// The first offset at or after element `begin`, of which `before` tells that they lie before it. Looked for near the
  /// place where it would be if all segments were of the same length from the warp's last part on.
  template <class Block, class F>
  PMPP_HOST_DEVICE static std::int64_t first_offset(Block& block, shared& memory, const plan& p, std::int64_t begin,
                                                    F before) {
    const float density = float(p.offsets - 1) / float(max(std::int64_t(1), p.to - p.from));
    const std::int64_t ahead = begin - memory.last_begin[block.warp()];
    const std::int64_t s = count_leading_near(
        block, p.offsets, memory.last_offset[block.warp()] + static_cast<std::int64_t>(float(ahead) * density), before);
    block.sync_warp();
    if (block.lane() == 0) {
      memory.last_begin[block.warp()] = begin;
      memory.last_offset[block.warp()] = s;
    }
    return s;
  }

  /// Finds out what the elements of a warp's part come to; runs move to the front of the part.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void work(Block& block, shared& memory, const arguments& a, const share<Inside>& mine,
                                    int stage) {
    state all;
    if constexpr (by_key)
      all = gather(block, memory, a, mine, stage);
    else
      all = fold(block, memory, a, mine, stage);
    if (block.lane() == 0) memory.of_warp[stage][block.warp()] = all;
  }

  /// Scans what the lanes of a warp have from their last head on (all that they have, without one).
  template <class Block>
  PMPP_HOST_DEVICE static A scan_lanes(Block& block, A tail, unsigned lanes_with_head, int busy, const Op& op) {
    // How many lanes to the left there is no head between.
    const int reach = min(block.lane(), simt::leading_zeros(lanes_with_head << (lanes - 1 - block.lane())));
    for (int d = 1; d < lanes; d *= 2) {
      const A left = block.shuffle_up(tail, d);
      if (d <= reach && block.lane() < busy) tail = static_cast<A>(op(left, tail));
    }
    return tail;
  }

  /// A scan's first way through a warp's part.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static state fold(Block& block, shared& memory, const arguments& a, const share<Inside>& mine,
                                     int stage) {
    A tail{};
    bool has_tail = false;
    unsigned heads = 0;
    mine.for_each_vector(block, [&](int v, slot&, const raw& x, unsigned of_vector) {
      mine.for_each_item(v, [&](int k) {
        const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
        tail = has_tail && (of_vector >> k & 1) == 0 ? static_cast<A>(a.op(tail, item)) : item;
        has_tail = true;
      });
      heads |= of_vector;
    });
    const int busy = mine.busy_lanes(0);
    const unsigned with_head = block.ballot(heads != 0);
    tail = scan_lanes(block, tail, with_head, busy, a.op);
    memory.before_lane[stage][block.thread()] = block.shuffle_up(tail, 1);
    if (block.lane() == 0) memory.lanes_with_head[stage][block.warp()] = with_head;
    return state::of(block.shuffle(tail, max(0, busy - 1)), with_head != 0);
  }

  /// Its second way, knowing what precedes the part. Results take the elements' place, from where rows are written.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void write_scan(Block& block, shared& memory, const arguments& a, const plan& p,
                                          const share<Inside>& mine, std::int64_t tile, int stage) {
    A running = memory.before_warp[stage][block.warp()].value();
    bool has_running = tile > 0 || block.warp() > 0;
    if (block.lane() > 0) {
      const A before = memory.before_lane[stage][block.thread()];
      const bool joins = has_running && (memory.lanes_with_head[stage][block.warp()] & ((1u << block.lane()) - 1)) == 0;
      running = joins ? static_cast<A>(a.op(running, before)) : before;
      has_running = true;
    }
    mine.for_each_vector(block, [&](int v, slot& place, const raw& x, unsigned of_vector) {
      results y{};
      mine.for_each_item(v, [&](int k) {
        const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
        running = has_running && (of_vector >> k & 1) == 0 ? static_cast<A>(a.op(running, item)) : item;
        has_running = true;
        y.item[k] = static_cast<value_of<Out>>(running);
      });
      place.out = y;
    });
    block.sync_warp();
    for (int v = block.lane(); v < mine.count; v += lanes) {
      if (!mine.has(v)) break;
      const results y = mine.front[v].out;
      const std::int64_t i = mine.element(v);
      if constexpr (Items > 1) {
        if (Inside || (mine.whole(v) && i >= p.from && i + Items <= p.to)) {
          block::access<Out>::template store<Items>(a.out, i, y);
          continue;
        }
      }
      mine.for_each_item(v, [&](int k) {
        if (Inside || (i + k >= p.from && i + k < p.to)) a.out[i + k] = y.item[k];
      });
    }
  }

  /// Calls put(rank, item) for the heads of a strip, `runs` of which lie before it, and adds theirs to `runs`. Returns
  /// the rank of the lane's first one.
  template <class Block, class Put>
  PMPP_HOST_DEVICE static int for_each_head(Block& block, unsigned heads, int& runs, Put put) {
    const int count = simt::count_bits(heads), up_to = block::warp_inclusive_scan(block, count, plus{});
    const int first = runs + up_to - count;
    runs += block.shuffle(up_to, lanes - 1);
    int rank = first;
    for (int i = 0; i < each * Items; ++i)
      if ((heads >> i & 1) != 0) put(rank++, i);
    return first;
  }

  /// Moves the runs that begin in a warp's part to its front: keys, and the values of those in front of them.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static state gather(Block& block, shared& memory, const arguments& a, const share<Inside>& mine,
                                       int stage) {
    K before_strip{};  // the key before the strip, in lane 0
    if (block.lane() == 0) before_strip = memory.key_before[stage][block.warp()];
    [[maybe_unused]] part<A> running{};
    [[maybe_unused]] int last_head = -1;  // of the lane: item of the part
    int runs = 0;
    for (int strip = 0; strip < mine.strips; ++strip) {
      const int first = mine.first_of(block, strip);
      raw x[each]{};
      mine.get(block, memory, a, strip, stage, x);
      block.sync_warp();  // runs may now go where these were
      const auto item = [&](int i) { return block::access<In>::value(a.in, x[i / Items], i % Items); };
      K first_key{}, previous{};  // of the lane
      int from = each * Items;
      unsigned heads = 0;
      mine.for_each_item_of(first, [&](int i) {
        const K key = Heads::key(item(i));
        if (i < from) {
          from = i;
          first_key = key;
        } else if (!static_cast<bool>(a.heads.eq(previous, key))) {
          heads |= 1u << i;
        }
        previous = key;
      });
      const K left = block.shuffle(previous, (block.lane() + lanes - 1) % lanes);
      const K before_lane = block.lane() == 0 ? before_strip : left;
      before_strip = left;  // in lane 0 that is the last key of this strip
      if (from < each * Items) {
        const bool very_first = mine.first + first * Items + from == 0;
        if (very_first || !static_cast<bool>(a.heads.eq(before_lane, first_key))) heads |= 1u << from;
      }
      if constexpr (lengths) {
        mine.heads[strip * lanes + block.lane()] = heads;
        if (heads != 0) last_head = first * Items + 31 - simt::leading_zeros(heads);
        for_each_head(block, heads, runs, [&](int rank, int i) { mine.run_at(rank) = Heads::key(item(i)); });
      } else {
        if (strip == 0 && block.lane() == 0) memory.begins_with_head[stage][block.warp()] = (heads >> from & 1) != 0;
        A y[each * Items]{};
        A tail{};
        mine.for_each_item_of(first, [&](int i) {
          const A value = static_cast<A>(Heads::value(item(i)));
          tail = i == from || (heads >> i & 1) != 0 ? value : static_cast<A>(a.op(tail, value));
          y[i] = tail;
        });
        const int busy = mine.busy_lanes(strip);
        const unsigned with_head = block.ballot(heads != 0);
        tail = scan_lanes(block, tail, with_head, busy, a.op);
        const A of_left = block.shuffle_up(tail, 1), all = block.shuffle(tail, max(0, busy - 1));
        const int rank = for_each_head(block, heads, runs, [&](int r, int i) {
          mine.run_at(r) = {y[max(0, i - 1)], Heads::key(item(i))};
        });
        if (heads != 0 && (block.lane() > 0 || running.present)) {  // the run that ends in the lane began before it
          const bool joins = running.present && (with_head & ((1u << block.lane()) - 1)) == 0;
          const A before = block.lane() == 0 ? running.value
                           : joins           ? static_cast<A>(a.op(running.value, of_left))
                                             : of_left;
          A& ended = mine.run_at(rank).ended;
          ended = simt::trailing_zeros(heads) == from ? before : static_cast<A>(a.op(before, ended));
        }
        if (busy > 0) {
          running.value = running.present && with_head == 0 ? static_cast<A>(a.op(running.value, all)) : all;
          running.present = true;
        }
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

  /// The look-back warp's part of a tile that has been worked on.
  template <class Block, class Exchange>
  PMPP_HOST_DEVICE static void look_back_for(Block& block, shared& memory, const arguments& a, const plan& p,
                                             std::int64_t tile, int stage, const Exchange& exchange) {
    const std::int64_t left = p.data.vectors - tile * p.rows * workers;
    const int count =
        static_cast<int>(max(std::int64_t(1), min(ceil_div(left, std::int64_t(p.rows) * lanes), std::int64_t(warps))));
    const join op{a.op};
    state sum{};  // of this lane's warp and those before it
    if (block.lane() < count) sum = memory.of_warp[stage][block.lane()];
    sum = block::warp_inclusive_scan(block, sum, op, count);
    const state all = block.shuffle(sum, count - 1), before = block.shuffle_up(sum, 1);
    if constexpr (by_key)  // nothing is written of a tile without a head: it needs no prefix
      if (all.heads() == 0 && tile < p.tiles - 1 && !look_back::ends_row(tile)) return exchange.publish(all);
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
      put(block, a.out.keys, first, 0, n, [&](int j) { return mine.run_at(j); });
      block.sync_warp();  // the positions of the heads go where these were
      int runs = 0;
      for (int strip = 0; strip < mine.strips; ++strip) {
        unsigned heads = 0;
        if (block.lane() < mine.busy_lanes(strip)) heads = mine.heads[strip * lanes + block.lane()];
        for_each_head(block, heads, runs, [&](int rank, int i) {
          mine.position_at(rank) = static_cast<position>(mine.first_of(block, strip) * Items + i);
        });
      }
      block.sync_warp();
      put(block, a.out.values, first - 1, from, n, [&](int j) {
        return j > 0 ? std::uint64_t(mine.position_at(j) - mine.position_at(j - 1))
                     : before.value() + std::uint64_t(mine.position_at(0) - mine.begin);
      });
    } else {
      put(block, a.out.keys, first, 0, n, [&](int j) { return mine.run_at(j).key; });
      const bool begins_with_head = memory.begins_with_head[stage][block.warp()];
      put(block, a.out.values, first - 1, from, n, [&](int j) {
        const A ended = mine.run_at(j).ended;
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
