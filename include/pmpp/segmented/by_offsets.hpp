// SPDX-License-Identifier: Apache-2.0
//
// segmented_inclusive_scan; scans by key (by_key.hpp), whose segments are runs of equal keys.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp). While the elements
//      are on their way, each warp finds the offsets that lie in its part of the tile and marks the heads, one bit each. Of
//      runs, lanes compare each key with the one in front of it: keys are there for one tile only, as heads are all that is kept.
//   2. A lane folds adjacent vectors of its warp's part, then the lanes scan what they end with, from head to head.
//   3. One warp publishes what the tile comes to, and whether it has a head, and collects the same of all tiles before
//      (block/look_back.hpp), with the operator of a segmented scan.
//   4. The lanes run through their vectors a second time, knowing what precedes them; results take the elements' place, from
//      where rows of 512 bytes are written.
// Short inputs are scanned segment by segment (direct_scan.hpp).
//
// Work n + segments; traffic: elements and offsets read, results written; one barrier a tile; one launch. The same bits on
// every run. (Segmented scan: Schwartz, 1980; Merrill and Garland, Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/lane_vectors.hpp>
#include <pmpp/block/search.hpp>
#include <pmpp/block/segmented_scan.hpp>
#include <pmpp/block/store_rows.hpp>
#include <pmpp/block/tile_pipeline.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/segment_part.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented/direct_scan.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where segments begin: where offsets point,
template <class OffsetsT>
struct heads_at_offsets {
  using Offsets = OffsetsT;
  using Keys = const char*;  // none
  static constexpr bool compared = false;
  Offsets offsets;
  item_count count;
};
/// or at keys that differ from the one in front of them.
template <class KeysT, class Eq>
struct heads_of_runs {
  using Offsets = const int*;  // none
  using Keys = KeysT;
  static constexpr bool compared = true;
  Keys keys;
  Eq eq;
  bool aligned;  ///< the keys' vectors begin where those of the elements do
};

template <class In, class Heads, class Out, class Op, class A, bool Exclusive, int Items, segmented_tuning Tuning>
struct segmented_scan_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using raw = block::raw_items<In, Items>;
  using results = block::vector<value_of<Out>, Items>;
  using sum = packed_part<A, std::uint32_t>;  ///< what elements come to, and whether there is a head
  using join_sums = join_packed<sum, Op, false>;
  using look_back = block::look_back<sum, 1>;

  /// A vector in shared memory, or what became of it.
  union slot {
    PMPP_HOST_DEVICE slot() {}
    raw in;
    results out;
  };
  using slot_array = block::lane_vectors<slot>;
  using Offsets = typename Heads::Offsets;
  using Keys = typename Heads::Keys;
  using K = value_of<Keys>;
  static constexpr bool compared = Heads::compared;
  struct key_slot {
    block::raw_items<Keys, compared ? Items : 1> in;
  };
  using key_array = block::lane_vectors<key_slot>;
  /// The heads of a vector, or of 32 elements.
  using head_bits =
      std::conditional_t<!compared, unsigned, std::conditional_t<(Items <= 8), std::uint8_t, std::uint16_t>>;
  static_assert(Items <= 16 && is_power_of_two(Items));
  static_assert(sizeof(slot) + sizeof(A) <= 2048 + 16, "pmpp: elements have at most 2048 bytes");
  // As many bytes in shared memory, however wide the elements are.
  static constexpr int lanes = simt::warp_size, tile_bytes = Tuning.threads * Tuning.bytes,
                       slot_bytes = 2 * int(sizeof(slot)) + (compared ? int(sizeof(key_slot)) : 0),
                       wanted_warps =
                           min(min(Tuning.threads / lanes, 2 * tile_bytes / (lanes * slot_bytes)), lanes - 1),
                       warps = max(1, wanted_warps), workers = warps * lanes, threads = workers + lanes,
                       min_blocks = min(Tuning.min_blocks, 2048 / threads),
                       most_vectors = max(1, min(2 * tile_bytes / (workers * slot_bytes), 65535 / (lanes * Items)));
  static constexpr int at_once = max(1, min(4, 64 / int(sizeof(raw)))),  ///< vectors of a lane that are read at a time
      words_of_heads = most_vectors * (compared ? lanes : Items);        ///< of a warp

  struct alignas(128) shared {
    block::tile_pipeline_memory<sum> pipeline;
    sum of_warp[2][warps];
    sum before_warp[2][warps];
    unsigned lanes_with_head[2][warps];
    A before_lane[2][workers];  ///< what it is preceded by in its warp, from the last head on
    head_bits heads[2][warps * words_of_heads];
    K key_before[warps];  ///< the key in front of its part
  };
  struct plan : block::tile_plan<Items, workers, 1> {
    int vectors;  ///< of a lane in a tile
    unsigned reciprocal;
    std::int64_t offsets = 0, from = 0, to = 0;  ///< their number; the elements to be written

    plan(std::int64_t count, std::int64_t lead, int vectors_of_lane)
        : block::tile_plan<Items, workers, 1>(count, lead, vectors_of_lane),
          vectors(vectors_of_lane),
          reciprocal(slot_array::reciprocal_of(vectors)) {}
    /// Dynamic shared memory: two tiles, and the keys of one.
    std::size_t shared_bytes() const { return shared_bytes(vectors); }
    static constexpr std::size_t shared_bytes(int vectors) {
      return std::size_t(workers) *
             (2 * slot_array::bytes_of_lane(vectors) + (compared ? key_array::bytes_of_lane(vectors) : 0));
    }
  };
  struct arguments {
    In in;
    item_count count;
    Heads heads;
    Out out;
    Op op;
    A init;      ///< of an exclusive scan
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    bool aligned;  ///< the output's vectors begin where those of the elements do
    look_back others;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr) p.set(a.count.get(), a.lead);
    if constexpr (compared) {
      p.to = p.data.n;
    } else {
      p.offsets = a.heads.count.get();
      if (p.offsets > 0) {
        p.from = static_cast<std::int64_t>(a.heads.offsets[0]);
        p.to = static_cast<std::int64_t>(a.heads.offsets[p.offsets - 1]);
      }
    }
    known_offset known{};
    block::for_each_tile(
        block, a.others, memory.pipeline, p.tiles, false,
        [&](int tile, bool) {
          p.prefetch(a.in, tile);
          if constexpr (compared) p.prefetch(a.heads.keys, tile);
        },
        [&](int tile, int stage) {
          with_part<true>(block, memory, p, tile, stage, [&](const auto& mine) {
            constexpr int at_a_time = std::is_same_v<decltype(mine), const part<true>&> ? 4 : 1;
            block::load_async<at_a_time>(block, a.in, mine, mine.slots);
            if constexpr (compared) load_keys(block, memory, a, p, mine);
            simt::copy_async_commit();
            if constexpr (!compared) mark(block, a, p, mine, known);
          });
        },
        [&](int tile, int stage) {
          simt::copy_async_wait<0>();
          block.sync_warp();
          with_part(block, memory, p, tile, stage, [&](const auto& mine) {
            if constexpr (compared) compare(block, memory, a, mine);
            fold(block, memory, a, mine, stage);
          });
        },
        [&](int tile, int stage, auto exchange) { join_warps(block, memory, a, p, tile, stage, exchange); },
        [&](int tile, int stage) {
          with_part(block, memory, p, tile, stage,
                    [&](const auto& mine) { write(block, memory, a, p, mine, tile, stage); });
          block.sync_warp();
        });
    a.others.finish(block, memory.pipeline.look_back, p.tiles);
  }

private:
  /// A place in the offsets, and the element that it points at: where a warp has looked last.
  struct known_offset {
    std::int64_t offset, element;
  };

  /// The vectors of one warp in a tile. They are moved in rows of 32 and worked on lane by lane.
  template <bool Inside>
  struct part : block::vector_range<Items, Inside> {
    int vectors;  ///< of a lane
    slot_array slots;
    key_array keys;
    head_bits* heads;

    PMPP_HOST_DEVICE part(auto& block, shared& memory, const plan& p, int tile, int stage)
        : block::vector_range<Items, Inside>(p.data, p.first_vector(block, tile), p.vectors * lanes),
          vectors(p.vectors),
          slots{block.dynamic_shared() + (stage * warps + block.warp()) * (lanes * slot_array::bytes_of_lane(vectors)),
                vectors, 0, p.reciprocal},
          keys{block.dynamic_shared() + 2 * workers * slot_array::bytes_of_lane(vectors) +
                   block.warp() * (lanes * key_array::bytes_of_lane(vectors)),
               vectors, 0, slots.reciprocal},
          heads(memory.heads[stage] + block.warp() * words_of_heads) {}

    /// The heads of a vector, a bit each.
    PMPP_HOST_DEVICE unsigned heads_of(int v) const {
      return compared ? heads[v] : heads[v * Items / 32] >> v * Items % 32 & ((1u << Items) - 1);
    }

    /// How many lanes have a vector.
    PMPP_HOST_DEVICE int busy_lanes(auto& block) const {
      return Inside ? lanes : simt::count_bits(block.ballot(this->has(block.lane() * vectors)));
    }
    /// Calls f(vector, slot, elements, heads) for the vectors of a lane. Some are read at a time, so that they are not
    /// waited for one by one.
    PMPP_HOST_DEVICE void for_each_vector(auto& block, auto f) const {
      int j = 0;
      if constexpr (Inside && at_once > 1)
        for (; j + at_once <= vectors; j += at_once) visit<at_once>(block, j, f);
      constexpr int step = Inside ? 1 : min(at_once, 2);
      for (; j < vectors; j += step) visit<step>(block, j, f);
    }
    /// The same for Step of them from j on.
    template <int Step>
    PMPP_HOST_DEVICE void visit(auto& block, int j, auto& f) const {
      const int own = block.lane() * vectors;
      raw x[Step]{};
      unsigned of_vector[Step]{};
      for (int r = 0; r < Step; ++r)
        if (const int v = own + j + r; Inside || (j + r < vectors && this->has(v))) {
          x[r] = slots.at(block.lane(), j + r).in;
          of_vector[r] = heads_of(v);
        }
      for (int r = 0; r < Step; ++r)
        if (const int v = own + j + r; Inside || (j + r < vectors && this->has(v)))
          f(v, slots.at(block.lane(), j + r), x[r], of_vector[r]);
    }
  };

  /// Calls f with a warp's part. One of which all elements exist and are to be written needs no checks. Loading: whether they are
  /// to be written does not matter yet, and may not be known.
  template <bool Loading = false, class Block, class F>
  PMPP_HOST_DEVICE static void with_part(Block& block, shared& memory, const plan& p, int tile, int stage, F f) {
    const std::int64_t begin = p.data.element(p.first_vector(block, tile)), end = begin + p.vectors * lanes * Items;
    if (begin >= (Loading ? 0 : p.from) && end <= (Loading ? p.data.n : p.to))
      f(part<true>(block, memory, p, tile, stage));
    else
      f(part<false>(block, memory, p, tile, stage));
  }

  /// Starts copying the keys of the warp's part; reads the one in front of them.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load_keys(Block& block, shared& memory, const arguments& a, const plan& p,
                                         const part<Inside>& mine) {
    const Keys& keys = a.heads.keys;
    if (Items == 1 || a.heads.aligned) {
      block::load_async<Inside ? 4 : 1>(block, keys, mine, mine.keys);
    } else if constexpr (Items > 1 && std::is_pointer_v<Keys>) {
      using one = block::vector<K, 1>;
      for (int row = 0; row < mine.vectors * Items; ++row) {
        const int item = row * lanes + block.lane(), v = item / Items, k = item % Items;
        if (item < mine.begin || item >= mine.end) continue;
        auto* const to = reinterpret_cast<one*>(pmpp::bytes_of(mine.keys[v].in)) + k;
        block::access<Keys>::template load_async<1>(keys, mine.element(v) + k, *to);
      }
    }
    if (block.lane() == 0 && mine.first > 0 && mine.first < p.data.n)
      memory.key_before[block.warp()] = keys[mine.first - 1];
  }

  /// Finds the heads of each lane's vectors.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void compare(Block& block, shared& memory, const arguments& a, const part<Inside>& mine) {
    const int first = block.lane() * mine.vectors;
    if (!mine.has(first)) return;
    const auto key = [&](const key_slot& x, int k) { return block::access<Keys>::value(a.heads.keys, x.in, k); };
    const bool very_first = mine.element(first) + mine.begin_of(first) == 0;
    K before = very_first          ? key(mine.keys.at(block.lane(), mine.begin / Items), mine.begin % Items)
               : block.lane() == 0 ? memory.key_before[block.warp()]
                                   : key(mine.keys.at(block.lane() - 1, mine.vectors - 1), Items - 1);
    for (int j = 0; j < mine.vectors; ++j) {
      if (!mine.has(first + j)) break;
      const key_slot x = mine.keys.at(block.lane(), j);
      unsigned heads = very_first && j == mine.begin / Items ? 1u << mine.begin % Items : 0;
      mine.for_each_item(first + j, [&](int k) {
        const K here = key(x, k);
        if (!static_cast<bool>(a.heads.eq(before, here))) heads |= 1u << k;
        before = here;
      });
      mine.heads[first + j] = static_cast<head_bits>(heads);
    }
  }

  /// Marks the offsets that lie in the warp's part, one bit an element.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void mark(Block& block, const arguments& a, const plan& p, const part<Inside>& mine,
                                    known_offset& known) {
    using offset_access = block::access<Offsets>;
    constexpr bool wide = std::is_pointer_v<Offsets> && offset_access::always;
    using narrow = std::conditional_t<sizeof(value_of<Offsets>) <= 4, std::uint32_t, std::uint64_t>;
    constexpr int adjacent = wide ? max(1, offset_access::items) : 1, batch = max(1, 8 / adjacent);
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.heads.offsets[s]); };
    for (int i = block.lane(); i < mine.count * Items / 32; i += lanes) mine.heads[i] = 0;
    block.sync_warp();
    if (!mine.has(0)) return;
    const std::int64_t begin = mine.first + mine.begin, end = mine.first + mine.end;
    // The first offset in the part is mostly near the place where it would be if segments were of one length from the one known
    // on: offsets are read from a little before that, and it is searched where they turn out to lie elsewhere.
    const float density = float(p.offsets - 1) / float(max(std::int64_t(1), p.to - p.from));
    if (known.offset == 0) known.element = p.from;
    const std::int64_t guess =
        min(max(known.offset + static_cast<std::int64_t>(float(begin - known.element) * density), std::int64_t(0)),
            p.offsets);
    std::int64_t s = max(std::int64_t(0), guess - 2 * lanes);
    // Marks those of a vector that lie in the part.
    const auto put = [&](const narrow(&of_vector)[adjacent]) {
      unsigned bits = 0;  // of a word; neighbours mostly share one
      for (int j = 0; j < adjacent; ++j) {
        const narrow element = of_vector[j] - static_cast<narrow>(mine.first);  // large where it lies before the part
        if (element < static_cast<narrow>(mine.end)) bits |= 1u << element % 32;
        const bool go_on =
            j + 1 < adjacent && (of_vector[(j + 1) % adjacent] - static_cast<narrow>(mine.first)) / 32 == element / 32;
        if (go_on) continue;
        if (bits != 0) simt::atomic_or(mine.heads + element / 32, bits);
        bits = 0;
      }
    };
    const auto load = [&](std::int64_t k, narrow(&of_vector)[adjacent]) {
      const auto x = offset_access::template load<adjacent>(a.heads.offsets, k);
      for (int j = 0; j < adjacent; ++j)
        of_vector[j] = static_cast<narrow>(offset_access::value(a.heads.offsets, x, j));
    };
    for (bool is_guess = true;;) {
      if constexpr (wide && adjacent > 1)  // from a boundary on; those before are left out below
        s -= static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.heads.offsets + s) /
                                       sizeof(value_of<Offsets>) % adjacent);
      narrow at[batch][adjacent];
      for (int i = 0; i < batch; ++i) {
        const std::int64_t k = s + (i * lanes + block.lane()) * adjacent;
        if (k >= 0 && k + adjacent <= p.offsets) {
          load(k, at[i]);
        } else {
          for (int j = 0; j < adjacent; ++j)
            at[i][j] = static_cast<narrow>(k + j < 0 ? begin - 1 : k + j < p.offsets ? offset(k + j) : end);
        }
      }
      const auto very_first = static_cast<std::int64_t>(block.shuffle(at[0][0], 0));
      auto last = static_cast<std::int64_t>(block.shuffle(at[batch - 1][adjacent - 1], lanes - 1));
      if (is_guess) {
        is_guess = false;
        if ((s > 0 && very_first >= begin) || last < begin) {
          s = first_offset(block, p, guess, [&](std::int64_t i) { return offset(i) < begin; });
          known = {s, begin};
          continue;
        }
        known = {max(std::int64_t(0), s), very_first};
      }
      for (int i = 0; i < batch; ++i) put(at[i]);
      const auto front = static_cast<std::int64_t>(block.shuffle(at[0][adjacent - 1], 0));
      s += batch * lanes * adjacent;
      // Most segments are empty: more of their offsets at a time.
      constexpr int many = (sizeof(narrow) == 4 ? 4 : 1) * batch;
      for (bool dense = end - last > 4 * (last - very_first) && front != last;
           dense && last < end && s + many * lanes * adjacent <= p.offsets; s += many * lanes * adjacent) {
        narrow next[many][adjacent];
        for (int i = 0; i < many; ++i) load(s + (i * lanes + block.lane()) * adjacent, next[i]);
        last = static_cast<std::int64_t>(block.shuffle(next[many - 1][adjacent - 1], lanes - 1));
        for (int i = 0; i < many; ++i) put(next[i]);
      }
      if (last >= end || s >= p.offsets) return;
      if (front == last)  // many empty segments: on to the first offset after them
        s = block::warp_search(block, s, p.offsets, [&](std::int64_t i) { return offset(i) <= last; });
    }
  }

  /// The first offset that is not `before`. The first round probes 16 places at growing distances to the guess.
  PMPP_HOST_DEVICE static std::int64_t first_offset(auto& block, const plan& p, std::int64_t guess, auto before) {
    const auto place = [&](int l) {
      return l < 8 ? guess - (std::int64_t(1) << 3 * (7 - l)) : guess - 1 + (std::int64_t(1) << 3 * (l - 8));
    };
    const std::int64_t mine = place(min(block.lane(), 15));
    const int held = block.warp_add(block.lane() < 16 && (mine < 0 || (mine < p.offsets && before(mine))) ? 1 : 0);
    const std::int64_t low = held == 0 ? 0 : max(std::int64_t(0), place(held - 1) + 1);
    const std::int64_t high = held == 16 ? p.offsets : min(p.offsets, place(held));
    return block::warp_search(block, low, high, before);
  }

  /// What item k of a vector and those in front of it come to. A head begins anew: with nothing, or with an exclusive scan's init.
  PMPP_HOST_DEVICE static A join(const arguments& a, const A& before, bool has_before, bool is_head, const raw& x,
                                 int k) {
    const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
    if constexpr (Exclusive) {
      const A& from = is_head ? a.init : before;
      return has_before || is_head ? static_cast<A>(a.op(from, item)) : item;
    } else {
      return has_before && !is_head ? static_cast<A>(a.op(before, item)) : item;
    }
  }

  /// What the elements of a warp's part come to, and those in front of each lane.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void fold(Block& block, shared& memory, const arguments& a, const part<Inside>& mine,
                                    int stage) {
    A tail{};  // what the lane has from its last head on
    bool has_tail = false;
    unsigned heads = 0;
    mine.for_each_vector(block, [&](int v, slot&, const raw& x, unsigned of_vector) {
      mine.for_each_item(v, [&](int k) {
        tail = join(a, tail, has_tail, (of_vector >> k & 1) != 0, x, k);
        has_tail = true;
      });
      heads |= of_vector;
    });
    const int busy = mine.busy_lanes(block);
    const unsigned with_head = block.ballot(heads != 0);
    tail = block::warp_segmented_scan(block, tail, with_head, a.op, busy);
    memory.before_lane[stage][block.thread()] = block.shuffle_up(tail, 1);
    const A all = block.shuffle(tail, max(0, busy - 1));
    if (block.lane() == 0) {
      memory.lanes_with_head[stage][block.warp()] = with_head;
      memory.of_warp[stage][block.warp()] = sum::of(all, with_head != 0);
    }
  }

  /// What precedes each warp of a tile that has been folded: one warp publishes what the tile comes to, and looks back.
  PMPP_HOST_DEVICE static void join_warps(auto& block, shared& memory, const arguments& a, const plan& p, int tile,
                                          int stage, const auto& exchange) {
    const int of_warp = lanes * p.vectors;
    const std::int64_t left = p.data.vectors - std::int64_t(tile) * (warps * of_warp);
    const int count = max(1, simt::count_bits(block.ballot(block.lane() < warps && block.lane() * of_warp < left)));
    const join_sums op{a.op};
    sum up_to{};  // of this lane's warp and those before it
    if (block.lane() < count) up_to = memory.of_warp[stage][block.lane()];
    up_to = block::warp_inclusive_scan(block, up_to, op, count);
    const sum all = block.shuffle(up_to, count - 1), before = block.shuffle_up(up_to, 1);
    const sum prefix = exchange(all, false, sum{}, op);
    if (block.lane() < count)
      memory.before_warp[stage][block.lane()] = block.lane() == 0 ? prefix : tile > 0 ? op(prefix, before) : before;
  }

  /// Scans and writes a warp's part, knowing what precedes it.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void write(Block& block, shared& memory, const arguments& a, const plan& p,
                                     const part<Inside>& mine, int tile, int stage) {
    A running = memory.before_warp[stage][block.warp()].value();
    bool has_running = tile > 0 || block.warp() > 0;
    if (block.lane() > 0) {
      const A before = memory.before_lane[stage][block.thread()];
      const bool joins = has_running && (memory.lanes_with_head[stage][block.warp()] & ((1u << block.lane()) - 1)) == 0;
      running = joins ? static_cast<A>(a.op(running, before)) : before;
      has_running = true;
    }
    mine.for_each_vector(block, [&](int v, slot& to, const raw& x, unsigned of_vector) {
      results y{};
      mine.for_each_item(v, [&](int k) {
        const bool is_head = (of_vector >> k & 1) != 0;
        if (Exclusive) y.item[k] = static_cast<value_of<Out>>(is_head ? a.init : running);
        running = join(a, running, has_running, is_head, x, k);
        has_running = true;
        if (!Exclusive) y.item[k] = static_cast<value_of<Out>>(running);
      });
      to.out = y;
    });
    block.sync_warp();
    block::store_rows(
        block, a.out, mine, mine.vectors, a.aligned,
        [](int v) { return v; }, [&](int v) -> const auto& { return mine.slots[v].out; },
        [&](std::int64_t i) { return i >= p.from && i < p.to; }, mine.slots.template adjacent<results>());
  }
};

/// Enqueues the scan on a GPU or runs it in the emulator.
template <segmented_tuning Tuning, bool Exclusive, class A, class P, class In, class Heads, class Out, class Op>
void segmented_scan_on_blocks(const char* function, const P& where, const input<In>& in, const Heads& begins,
                              const Out& out, const A& init, Op op) {
  if (in.count.bound == 0) return;
  if constexpr (!Heads::compared && max(sizeof(A), sizeof(value_of<In>)) <= 16) {
    using kernel = direct_segmented_scan_kernel<In, typename Heads::Offsets, Out, Op, A, Exclusive>;
    using arguments = typename kernel::arguments;
    const std::int64_t n = in.count.bound, segments = begins.count.bound - 1, average = n / segments;
    // More have to be of lengths at which warps and blocks have enough and not too much of one.
    if (max(n, segments) <= Tuning.scan_directly ||
        (n / 8 <= Tuning.scan_directly && average >= 16 && average <= 2 * kernel::chunk)) {
      arguments x{in.first, in.count, begins.offsets, begins.count,
                  out,      op,       init,           {n, segments, machine_of(where).multiprocessors}};
      scratch memory(where, kernel::slots::payload_bytes(x.known.chunks), arguments::state_bytes(x.known.chunks));
      if (x.known.chunks > 0) x.use(memory);
      return pmpp::launch(where, x.known.blocks(), kernel{}, x);
    }
  }
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead, bool aligned, const Heads& heads) {
    using kernel = segmented_scan_kernel<In, Heads, Out, Op, A, Exclusive, items, decltype(tuning)::value>;
    using look_back = typename kernel::look_back;
    using plan = typename kernel::plan;
    // Short inputs are cut into smaller tiles, one for each block.
    const std::int64_t most_blocks = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors;
    // A few vectors of a thread, up to 16 elements, take less time than one of a thread and a look-back.
    const std::int64_t rows = ceil_div(in.count.bound, std::int64_t(kernel::workers) * items);
    const std::int64_t share = rows <= min(4, 16 / items) ? rows : ceil_div(rows, most_blocks);
    const std::size_t room = std::size_t(machine_of(where).shared_per_block) - sizeof(typename kernel::shared) - 128;
    int most = kernel::most_vectors;
    while (most > 1 && plan::shared_bytes(most) > room) --most;
    const int vectors = block::vectors_of_tile(share, most);
    if (share > vectors) lead = block::lead_of_line(in.first, lead, vectors * items - 1, items);
    plan p(in.count.bound, lead, vectors);
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    scratch memory(where, look_back::payload_bytes(linked), linked == 0 ? 0 : look_back::state_bytes(linked));
    launch_kernel<kernel::threads>(
        where, grid{min<std::int64_t>(p.tiles, most_blocks), kernel::threads, p.shared_bytes()}, kernel{},
        typename kernel::arguments{in.first, in.count, heads, out, op, init, p, lead, aligned,
                                   look_back(memory.state(), memory.data(), p.tiles)});
  };
  const auto start = [&](auto wide, std::int64_t lead, std::int64_t lead_of_output, const Heads& heads) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    constexpr bool fits = decltype(wide)::value * max(sizeof(value_of<In>), sizeof(A)) <= 256;
    using items = std::integral_constant<int, fits ? int(decltype(wide)::value) : 1>;
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = segmented_scan_kernel<In, Heads, Out, Op, A, Exclusive, items::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared) + kernel::plan::shared_bytes(1);
    };
    with_fitting_tuning<segmented_tuning, Tuning, Tuning.least()>(
        function, sizeof(value_of<In>), where, bytes_of,
        [&](auto tuning) { enqueue(tuning, items{}, fits ? lead : 0, fits && lead == lead_of_output, heads); });
  };
  if constexpr (Heads::compared) {
    using Keys = typename Heads::Keys;
    using both = zip_iterator<Keys, In>;
    const auto begin = [&](auto wide, std::int64_t lead, std::int64_t lead_of_output) {
      const bool keys_aligned = block::access<Keys>::template lead<decltype(wide)::value>(begins.keys) == lead;
      start(wide, lead, lead_of_output, Heads{begins.keys, begins.eq, keys_aligned});
    };
    if constexpr (std::is_pointer_v<Keys> && block::access<In>::items != 0 && block::access<In>::always)
      block::with_input_access<both>(in.first, out, begin);  // keys in memory may lie as they will
    else
      block::with_input_access<both>(both(begins.keys, in.first), out, begin);
  } else {
    block::with_input_access<In>(in.first, out, [&](auto wide, std::int64_t lead, std::int64_t lead_of_output) {
      start(wide, lead, lead_of_output, begins);
    });
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
