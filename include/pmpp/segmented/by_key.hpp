// SPDX-License-Identifier: Apache-2.0
//
// reduce_by_key and run_length_encode: segments are runs of equal keys.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp). A lane works on
//      adjacent vectors of its warp's part of a tile. Each key is compared with the one in front of it: a head begins a run.
//   2. Runs move to the front of the part, in shared memory: the key at each head and the value of the run that ends in
//      front of it. Of run lengths the keys move, and the heads are kept as bits.
//   3. One warp publishes how many heads the tile has and what the elements from the last one on combine to, and collects
//      the same of all tiles before (block/look_back.hpp), with the operator of a segmented scan.
//   4. Runs are written as whole lines, what precedes them joined to the first value. A length is a difference of positions
//      of heads.
//
// Work n; traffic: inputs read, runs written; one barrier a tile; one launch. The same bits on every run.
// (Segmented scan: Schwartz, 1980; Merrill and Garland, Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/block/lane_vectors.hpp>
#include <pmpp/block/segmented_scan.hpp>
#include <pmpp/block/store_rows.hpp>
#include <pmpp/block/tile_pipeline.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/segment_part.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/host/segments.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The operator of run_length_encode, where each value is one: on kernels a length is a difference of positions.
struct add_lengths : plus {};

/// Where runs go.
template <class KeysOut, class ValuesOut>
struct runs_out {
  KeysOut keys;
  ValuesOut values;
};

/// What a kernel is asked for. `in`: pairs of key and value; for lengths, keys. Part: what tiles publish.
template <class InT, class Eq, class Op, class Out, class Sink, class PartT>
struct runs_job {
  using In = InT;
  using Part = PartT;
  using A = decltype(std::declval<const Part&>().value());
  using join = join_packed<Part, Op, true>;
  static constexpr bool lengths = std::is_same_v<Op, add_lengths>;
  input<In> in;
  Eq eq;
  Op op;
  Out out;
  Sink sink;  ///< takes the number of runs

  template <class X>
  PMPP_HOST_DEVICE static const auto& key(const X& x) {
    if constexpr (lengths)
      return x;
    else
      return x.first;
  }
  using K = std::remove_cvref_t<decltype(key(std::declval<const value_of<In>&>()))>;
};

/// The part of run lengths: two numbers of 48 bits, as no array is longer.
struct length_part {
  std::uint32_t low_length, low_heads, high;

  PMPP_HOST_DEVICE static length_part of(std::uint64_t length, std::uint64_t heads) {
    return {static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(heads),
            static_cast<std::uint32_t>(length >> 32 | heads >> 32 << 16)};
  }
  PMPP_HOST_DEVICE std::uint64_t value() const { return std::uint64_t(high & 0xffff) << 32 | low_length; }
  PMPP_HOST_DEVICE std::uint64_t heads() const { return std::uint64_t(high >> 16) << 32 | low_heads; }
};

/// What a vector is in shared memory: one slot; of pairs, what it was loaded as, keys and values apart.
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
inline constexpr bool joins_shifted = false;
template <class K, class V>
inline constexpr bool joins_shifted<zip_iterator<K*, V*>> =
    block::access<K*>::always&& block::access<V*>::always&& block::access<K*>::items > 1 &&
    block::access<V*>::items > 1 && sizeof(V) % 4 == 0;

template <class Job, int Items, segmented_tuning Tuning>
struct run_kernel {
  using In = typename Job::In;
  using A = typename Job::A;
  using K = typename Job::K;
  using state = typename Job::Part;
  static constexpr bool lengths = Job::lengths, apart = !lengths;
  /// Whether the values' vectors may begin elsewhere than those of the keys: of two, they are copied element by element then.
  static constexpr bool joins = apart && Items > 1 && joins_shifted<In>, shifts = joins && Items > 2;
  static constexpr int vector_items = Items;
  using raw = block::raw_items<In, Items>;
  using look_back = block::look_back<state, 1>;  // runs of 16 take 442 us on an H100, with a window of 2 450

  using position = std::uint16_t;
  /// A vector of keys in shared memory, or as many of those at heads, or as many positions.
  union slot {
    PMPP_HOST_DEVICE slot() {}
    raw in;
    K keys[Items];
    position at[Items];
  };
  using sides = sides_of<apart, raw, slot>;
  /// Values of 8 bytes, and such keys, go so wherever they lie (5 10^7 pairs in long runs, H200: keys of 4 bytes 300 -> 262 us, of 8 370 -> 292).
  static constexpr bool by_elements = joins && Items == 2 && sizeof(typename sides::second) == 16;
  /// Of a vector, or of as many heads: their keys, and the values of the runs that end in front of them.
  static constexpr int vector_bytes = int(apart ? max(sizeof(raw), Items*(sizeof(K) + sizeof(A))) : sizeof(slot));
  static_assert(vector_bytes <= 2048 + 16, "pmpp: elements have at most 2048 bytes");
  static_assert(Items <= 16 && is_power_of_two(Items));
  // As many bytes in shared memory, however wide the elements are.
  static constexpr int lanes = simt::warp_size, tile_bytes = Tuning.threads * Tuning.bytes,
                       wanted_warps = min(min(Tuning.threads / lanes, tile_bytes / (lanes * vector_bytes)), lanes - 1),
                       warps = max(1, wanted_warps), workers = warps * lanes, threads = workers + lanes,
                       min_blocks = min(Tuning.min_blocks, 2048 / threads),
                       fitting_rows = max(1, min(tile_bytes / (workers * vector_bytes), 65535 / (lanes * Items)));
  /// How many adjacent vectors a lane gets at once. They move by way of registers: not more than a lane has room for, and
  /// such that most rows come together.
  static constexpr int each = [] {
    constexpr int row_bytes = max(sizeof(raw), lengths ? 0 : Items * (sizeof(K) + sizeof(A))),
                  room = max(64, 248 - 6 * int(sizeof(A)));
    const int most = min(fitting_rows, max(1, min(32 / Items, room / row_bytes)));
    const int strips = ceil_div(fitting_rows, most), even = fitting_rows / strips;
    return even * strips > fitting_rows / most * most ? even : most;
  }();
  static constexpr int most_strips = fitting_rows / each, most_rows = each * most_strips;
  /// In short inputs a lane has no more than this: code without room for others is shorter. Each instruction of it is waited for. (Of
  /// lengths there is none: of some types ptxas of CUDA 13.0 finds no predicates for it.)
  static constexpr int few = lengths ? each : min(each, 2);

  struct alignas(128) shared {
    block::tile_pipeline_memory<state> pipeline;
    state of_warp[2][warps];
    state before_warp[2][warps];
    K key_before[2][warps];  ///< the key in front of its part
    bool begins_with_head[2][warps];
    unsigned heads[2][lengths ? workers * most_strips : 1];  ///< of a lane in a strip, a bit for each element
    typename sides::second after[2][shifts ? warps : 1];     ///< the vector of values after its part
  };
  /// Keys and values lie apart, as they do in memory, so that lanes copy to adjacent words: 2^27 pairs of 8 bytes in runs
  /// of 16 take 440 us on an H100, vector by vector 670. First the keys of a strip, then its values.
  using front_vectors = block::lane_vectors<typename sides::first>;
  using back_vectors = block::lane_vectors<typename sides::second>;
  struct plan : block::tile_plan<Items, workers, 1> {
    int strips, vectors, rows = strips * vectors;  ///< of a warp; of a lane in a strip; of a warp
    unsigned reciprocal = front_vectors::reciprocal_of(vectors);

    plan(std::int64_t count, std::int64_t lead, int strips_of_warp, int vectors_of_lane)
        : block::tile_plan<Items, workers, 1>(count, lead, strips_of_warp * vectors_of_lane),
          strips(strips_of_warp),
          vectors(vectors_of_lane) {}
    /// Dynamic shared memory: two tiles.
    std::size_t shared_bytes() const { return shared_bytes(strips, vectors); }
    static constexpr std::size_t shared_bytes(int strips, int vectors) {
      return std::size_t(2) * warps * strips * strip_bytes(vectors);
    }
    /// Tiles of so many rows of a warp, or a few more. Lengths: strips may be thinner, so that these are fewer.
    static plan for_rows(std::int64_t count, std::int64_t lead, std::int64_t wanted, std::size_t room) {
      const auto rows = static_cast<int>(min<std::int64_t>(max<std::int64_t>(1, wanted), most_rows));
      int strips = ceil_div(rows, each), vectors = strips == 1 ? rows : each;
      for (int s = strips; lengths && s <= min(most_strips, ceil_div(rows, each) * 3 / 2); ++s)
        if (const int v = ceil_div(rows, s); v * s < vectors * strips) vectors = v, strips = s;
      while (strips * vectors > 1 && shared_bytes(strips, vectors) > room) --(strips > 1 ? strips : vectors);
      return {count, lead, strips, vectors};
    }
  };
  template <class Vectors>
  PMPP_HOST_DEVICE static constexpr int bytes_of_side(int vectors) {
    constexpr int boundary = max(128, int(alignof(typename Vectors::type)));
    return round_up(lanes * Vectors::bytes_of_lane(vectors), apart ? boundary : 1);
  }
  /// Shared memory for a strip of a warp, `vectors` of each lane. The runs that begin in it have room there.
  PMPP_HOST_DEVICE static constexpr int strip_bytes(int vectors) {
    const int front = bytes_of_side<front_vectors>(vectors);
    return apart ? max(front + bytes_of_side<back_vectors>(vectors),
                       round_up(lanes * vectors * Items * int(sizeof(A) + sizeof(K)), 128))
                 : front;
  }
  /// The values, and the vector after them, which lies elsewhere.
  struct back_and_one {
    back_vectors own;
    int count;
    typename sides::second& after;
    PMPP_HOST_DEVICE auto& operator[](int v) const { return v < count ? own[v] : after; }
  };
  static constexpr bool begins_early = simt::can_begin_early;
  struct arguments {
    Job job;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    int shift;         ///< elements by which the values' vectors begin before those of the keys
    selection* found;  ///< where the result waits until all blocks have read the count, which it may overwrite
    look_back others;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.job.in.count.pointer != nullptr) p.set(a.job.in.count.get(), a.lead);
    block::for_each_tile(
        block, a.others, memory.pipeline, p.tiles, a.found != nullptr || a.done.flag != nullptr,
        [&](int tile,
            bool early) {  // 3 * 10^7 pairs of 8 bytes in runs of 50 take 98 us on an H200, all asked for ahead 106
          if (early) p.prefetch(a.job.in.first, tile);
        },
        [&](int tile, int stage) {
          if (inside(block, p, tile))
            load(block, memory, a, p, part<true, 0>(block, memory, p, tile, stage), stage);
          else
            load(block, memory, a, p, part<false, 0>(block, memory, p, tile, stage), stage);
        },
        [&](int tile, int stage) {
          simt::copy_async_wait<0>();
          block.sync_warp();
          with_part(block, memory, p, tile, stage, [&](const auto& mine) {
            const state all = gather(block, memory, a, mine, stage);
            if (block.lane() == 0) memory.of_warp[stage][block.warp()] = all;
          });
        },
        [&](int tile, int stage, auto exchange) { join_warps(block, memory, a, p, tile, stage, exchange); },
        [&](int tile, int stage) {
          write(block, memory, a, part<false>(block, memory, p, tile, stage), stage);
          block.sync_warp();
        });
    a.others.finish(block, memory.pipeline.look_back, p.tiles);  // the last block finds all written where it counts
    if (a.done.flag != nullptr) block.sync();
    if (block.thread() != 0 || !(a.known.tiles == 1 || memory.pipeline.look_back.last)) return;
    if (a.found != nullptr) a.job.sink(*a.found);
    a.done.signal();
  }

private:
  /// The vectors of one warp in a tile. They are moved in rows of 32 and worked on in strips of up to Most for a lane. Inside: all
  /// their elements exist; and to be worked on, a lane has Most.
  template <bool Inside, int Most = each>
  struct part : block::vector_range<Items, Inside> {
    int strips;
    int vectors;  ///< of a lane in a strip
    std::byte* bytes;
    front_vectors front;
    back_vectors back;
    unsigned* heads;

    PMPP_HOST_DEVICE part(auto& block, shared& memory, const plan& p, int tile, int stage)
        : block::vector_range<Items, Inside>(p.data, p.first_vector(block, tile), p.rows * lanes),
          strips(most_strips == 1 ? 1 : p.strips),
          vectors(Inside && Most > 0 ? Most : p.vectors),
          bytes(block.dynamic_shared() + (stage * warps + block.warp()) * (strips * strip_bytes(vectors))),
          front{bytes, vectors, gap<front_vectors>(),
                Inside && Most > 0 ? front_vectors::reciprocal_of(max(1, Most)) : p.reciprocal},
          back{bytes + bytes_of_side<front_vectors>(vectors), vectors, gap<back_vectors>(), front.reciprocal},
          heads(memory.heads[stage] + block.warp() * (lengths ? lanes * most_strips : 0)) {}
    /// Bytes from a strip's vectors of one side to those of the next strip.
    template <class Vectors>
    PMPP_HOST_DEVICE int gap() const {
      return apart && most_strips > 1 ? strip_bytes(vectors) - lanes * Vectors::bytes_of_lane(vectors) : 0;
    }

    /// All vectors of a lane in a strip.
    PMPP_HOST_DEVICE void get(auto& block, shared& memory, const arguments& a, int strip, int stage,
                              raw (&x)[max(1, Most)]) const {
      if constexpr (shifts)
        if (a.shift != 0) return get_shifted(block, memory, a, strip, stage, x);
      const int first_vector = first_of(block, strip), lane = strip * lanes + block.lane();
      for (int j = 0; j < Most; ++j) {
        if (j >= vectors || !this->has(first_vector + j)) continue;
        if constexpr (apart)
          x[j] = {front.at(lane, j).in, back.at(lane, j).in};
        else
          x[j] = front.at(lane, j).in;
      }
    }
    /// The same where values lie otherwise than keys: they come out of one vector more, the first of the next lane, by
    /// moving down in registers: one by one such values took 516 us where this takes 444.
    PMPP_HOST_DEVICE void get_shifted(auto& block, shared& memory, const arguments& a, int strip, int stage,
                                      raw (&x)[max(1, Most)]) const {
      const int first_vector = first_of(block, strip), lane = strip * lanes + block.lane();
      constexpr int step = int(sizeof(*a.job.in.first.b)) / 4, words = Items * step;  // of an element, of a vector
      const bool last = strip + 1 == strips && block.lane() == lanes - 1;
      std::uint32_t w[(Most + 1) * words];
      for (int j = 0; j <= Most; ++j) {
        const auto& y = j < vectors ? back.at(lane, j)
                        : last      ? memory.after[stage][block.warp()]
                                    : back.at(lane + 1, 0);
        for (int i = 0; i < words; ++i) w[j * words + i] = y.in.word[i];
      }
      for (int bit = 1; bit < Items; bit *= 2)
        if ((a.shift & bit) != 0)
          for (int i = 0; i + bit * step < (Most + 1) * words; ++i) w[i] = w[i + bit * step];
      for (int j = 0; j < Most; ++j) {
        if (j < vectors && this->has(first_vector + j)) x[j].first = front.at(lane, j).in;
        for (int i = 0; i < words; ++i) x[j].second.word[i] = w[j * words + i];
      }
    }
    /// The first vector of a lane in a strip.
    PMPP_HOST_DEVICE int first_of(auto& block, int strip) const { return (strip * lanes + block.lane()) * vectors; }
    /// Calls f(i) for the items that exist in a lane's vectors from first_vector on.
    PMPP_HOST_DEVICE void for_each_item_of(int first_vector, auto f) const {
      for (int j = 0; j < Most; ++j)
        if (Inside || (j < vectors && this->has(first_vector + j)))
          this->for_each_item(first_vector + j, [&](int k) { f(j * Items + k); });
    }
    /// How many lanes have a vector in a strip.
    PMPP_HOST_DEVICE int busy_lanes(auto& block, int strip) const {
      return Inside ? lanes : simt::count_bits(block.ballot(this->has(first_of(block, strip))));
    }
    /// What is kept of the i-th head.
    PMPP_HOST_DEVICE A& ended_at(int i) const { return of_run<A>(i, 0); }
    PMPP_HOST_DEVICE K& key_at(int i) const {
      if constexpr (lengths)
        return reinterpret_cast<K*>(bytes)[i];
      else
        return of_run<K>(i, int(sizeof(A)));
    }
    /// Values and keys lie apart in the strip for as many, after `after` bytes for each; in another order within a line, so that
    /// lanes that write at multiples of 16 places, as where each element is a head, find these in different banks.
    template <class X>
    PMPP_HOST_DEVICE X& of_run(int i, int after) const {
      constexpr int full = lanes * each * Items, line = min(lanes, max(1, 128 / int(sizeof(X))));
      const int strip = most_strips == 1 ? 0 : i / full, k = i - strip * full;
      return reinterpret_cast<X*>(bytes + strip * strip_bytes(vectors) +
                                  after * lanes * vectors * Items)[is_power_of_two(line) ? k ^ (k / line % line) : k];
    }
    PMPP_HOST_DEVICE position& position_at(int i) const { return reinterpret_cast<position*>(bytes)[i]; }
  };

  /// Whether all elements of a warp's part exist.
  PMPP_HOST_DEVICE static bool inside(auto& block, const plan& p, int tile) {
    const std::int64_t first = p.data.element(p.first_vector(block, tile));
    return first >= 0 && first + p.rows * lanes * Items <= p.data.n;
  }
  /// Calls f with a warp's part, to be worked on: where all elements of a large one exist without checks.
  PMPP_HOST_DEVICE static void with_part(auto& block, shared& memory, const plan& p, int tile, int stage, auto f) {
    if (few < each && p.vectors <= few)
      f(part<false, few>(block, memory, p, tile, stage));
    else if (p.vectors == each && inside(block, p, tile))
      f(part<true>(block, memory, p, tile, stage));
    else
      f(part<false>(block, memory, p, tile, stage));
  }

  /// Starts copying elements to shared memory; reads the key in front of them.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, shared& memory, const arguments& a, const plan& p,
                                    const part<Inside, 0>& mine, int stage) {
    const In& in = a.job.in.first;
    if constexpr (lengths)
      block::load_async(block, in, mine, mine.front);
    else if constexpr (by_elements && sizeof(K) == 8)
      load_elements(block, in.a, mine, mine.front);
    else
      block::load_async(block, in.a, mine, mine.front);
    if constexpr (apart) load_values(block, memory, a, p, mine, stage);
    simt::copy_async_commit();
    if (block.lane() == 0 && mine.first > 0 && mine.first < p.data.n)
      memory.key_before[stage][block.warp()] = Job::key(in[mine.first - 1]);
  }

  template <bool Inside>
  PMPP_HOST_DEVICE static void load_values(auto& block, shared& memory, const arguments& a, const plan& p,
                                           const part<Inside, 0>& mine, int stage) {
    const auto& in = a.job.in.first.b;
    if constexpr (shifts)
      if (a.shift != 0) {
        auto data = p.data;  // the values'
        data.first -= a.shift;
        const block::vector_range<Items, false> values(data, (mine.first - p.data.first) / Items, mine.count + 1);
        return block::load_async(block, in, values,
                                 back_and_one{mine.back, mine.count, memory.after[stage][block.warp()]});
      }
    if constexpr (joins && !shifts)
      if (by_elements || a.shift != 0) return load_elements(block, in, mine, mine.back);
    block::load_async(block, in, mine, mine.back);
  }
  /// As block::load_async, for elements that begin anywhere.
  template <class T, bool Inside>
  PMPP_HOST_DEVICE static void load_elements(auto& block, const T* in, const part<Inside, 0>& mine, const auto& slots) {
    constexpr int word = greatest_common_divisor(8, int(sizeof(T))), of_item = int(sizeof(T)) / word,
                  of_vector = Items * of_item;
    const auto* const from = reinterpret_cast<const char*>(in + mine.first);
    for (int w = block.lane(); w < mine.count * of_vector && (Inside || w < mine.end * of_item); w += lanes)
      if (Inside || w >= mine.begin * of_item)
        simt::copy_async<word>(static_cast<char*>(pmpp::bytes_of(slots[w / of_vector].in)) + w % of_vector * word,
                               from + w * word);
  }

  /// Calls put(rank, item) for the heads of a strip, `runs` of which lie before it, and adds theirs to `runs`. Returns
  /// the rank of the lane's first one.
  template <int Most>
  PMPP_HOST_DEVICE static int for_each_head(auto& block, unsigned heads, int& runs, auto put) {
    const int count = simt::count_bits(heads), up_to = block::warp_inclusive_scan(block, count, plus{});
    const int first = runs + up_to - count;
    runs += block.shuffle(up_to, lanes - 1);
    int rank = first;
    for (int i = 0; i < Most * Items; ++i)
      if ((heads >> i & 1) != 0) put(rank++, i);
    return first;
  }

  /// Moves the runs that begin in a warp's part to its front: keys, and the values of those in front of them.
  template <bool Inside, int Most, class Block>
  PMPP_HOST_DEVICE static state gather(Block& block, shared& memory, const arguments& a, const part<Inside, Most>& mine,
                                       int stage) {
    K before_strip{};  // the key before the strip, in lane 0
    if (block.lane() == 0) before_strip = memory.key_before[stage][block.warp()];
    [[maybe_unused]] segment_part<A> running{};
    [[maybe_unused]] int last_head = -1;  // of the lane: item of the part
    int runs = 0;
    for (int strip = 0; strip < mine.strips; ++strip) {
      const int first = mine.first_of(block, strip);
      raw x[Most]{};
      mine.get(block, memory, a, strip, stage, x);
      block.sync_warp();  // runs may now go where these were
      const auto item = [&](int i) { return block::access<In>::value(a.job.in.first, x[i / Items], i % Items); };
      K first_key{}, previous{};  // of the lane
      int from = Most * Items;
      unsigned heads = 0;
      mine.for_each_item_of(first, [&](int i) {
        const K key = Job::key(item(i));
        if (i < from) {
          from = i;
          first_key = key;
        } else if (!static_cast<bool>(a.job.eq(previous, key))) {
          heads |= 1u << i;
        }
        previous = key;
      });
      const K left = block.shuffle(previous, (block.lane() + lanes - 1) % lanes);
      const K before_lane = block.lane() == 0 ? before_strip : left;
      before_strip = left;  // in lane 0 that is the last key of this strip
      if (from < Most * Items) {
        const bool very_first = mine.first + first * Items + from == 0;
        if (very_first || !static_cast<bool>(a.job.eq(before_lane, first_key))) heads |= 1u << from;
      }
      if constexpr (lengths) {
        mine.heads[strip * lanes + block.lane()] = heads;
        if (heads != 0) last_head = first * Items + 31 - simt::leading_zeros(heads);
        for_each_head<Most>(block, heads, runs, [&](int rank, int i) { mine.key_at(rank) = Job::key(item(i)); });
      } else {
        if (strip == 0 && block.lane() == 0) memory.begins_with_head[stage][block.warp()] = (heads >> from & 1) != 0;
        A y[Most * Items]{};
        A tail{};
        mine.for_each_item_of(first, [&](int i) {
          const A value = static_cast<A>(item(i).second);
          tail = i == from || (heads >> i & 1) != 0 ? value : static_cast<A>(a.job.op(tail, value));
          y[i] = tail;
        });
        const int busy = mine.busy_lanes(block, strip);
        const unsigned with_head = block.ballot(heads != 0);
        tail = block::warp_segmented_scan(block, tail, with_head, a.job.op, busy);
        const A of_left = block.shuffle_up(tail, 1), all = block.shuffle(tail, max(0, busy - 1));
        const int rank = for_each_head<Most>(block, heads, runs, [&](int r, int i) {
          mine.ended_at(r) = y[max(0, i - 1)];
          mine.key_at(r) = Job::key(item(i));
        });
        if (heads != 0 && (block.lane() > 0 || running.present)) {  // the run that ends in the lane began before it
          const bool joins = running.present && (with_head & ((1u << block.lane()) - 1)) == 0;
          const A before = block.lane() == 0 ? running.value
                           : joins           ? static_cast<A>(a.job.op(running.value, of_left))
                                             : of_left;
          A& ended = mine.ended_at(rank);
          ended = simt::trailing_zeros(heads) == from ? before : static_cast<A>(a.job.op(before, ended));
        }
        if (busy > 0) {
          running.value = running.present && with_head == 0 ? static_cast<A>(a.job.op(running.value, all)) : all;
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

  /// What precedes each warp of a tile whose runs have been gathered: one warp publishes what the tile comes to, and looks
  /// back.
  PMPP_HOST_DEVICE static void join_warps(auto& block, shared& memory, const arguments& a, const plan& p, int tile,
                                          int stage, const auto& exchange) {
    const int of_warp = lanes * p.rows;
    const std::int64_t left = p.data.vectors - std::int64_t(tile) * (warps * of_warp);
    const int count = max(1, simt::count_bits(block.ballot(block.lane() < warps && block.lane() * of_warp < left)));
    const typename Job::join op{a.job.op};
    state sum{};  // of this lane's warp and those before it
    if (block.lane() < count) sum = memory.of_warp[stage][block.lane()];
    sum = block::warp_inclusive_scan(block, sum, op, count);
    const state all = block.shuffle(sum, count - 1), before = block.shuffle_up(sum, 1);
    const state prefix = exchange(all, false, state{}, op);
    if (block.lane() < count)
      memory.before_warp[stage][block.lane()] = block.lane() == 0 ? prefix : tile > 0 ? op(prefix, before) : before;
    if (block.lane() != 0 || tile < p.tiles - 1) return;
    const state total = tile > 0 ? op(prefix, all) : all;
    const selection found = {static_cast<std::int64_t>(total.heads()), p.data.n};
    const auto& values = a.job.out.values;
    if (found.kept > 0) values[found.kept - 1] = static_cast<value_of<decltype(a.job.out.values)>>(total.value());
    if (a.found != nullptr)
      *a.found = found;
    else
      a.job.sink(found);
  }

  /// Writes the runs that begin in a warp's part, and the value of the one that ends in front of the first.
  template <int Most>
  PMPP_HOST_DEVICE static void write(auto& block, shared& memory, const arguments& a, const part<false, Most>& mine,
                                     int stage) {
    const auto n = static_cast<int>(memory.of_warp[stage][block.warp()].heads());
    if (n == 0) return;
    const state before = memory.before_warp[stage][block.warp()];
    const auto first = static_cast<std::int64_t>(before.heads());
    const int from = first == 0 ? 1 : 0;  // no run ends in front of the very first
    if constexpr (lengths) {
      put(block, a.job.out.keys, first, 0, n, [&](int j) { return mine.key_at(j); });
      block.sync_warp();  // the positions of the heads go where these were
      int runs = 0;
      for (int strip = 0; strip < mine.strips; ++strip) {
        unsigned heads = 0;
        if (mine.has(mine.first_of(block, strip))) heads = mine.heads[strip * lanes + block.lane()];
        for_each_head<Most>(block, heads, runs, [&](int rank, int i) {
          mine.position_at(rank) = static_cast<position>(mine.first_of(block, strip) * Items + i);
        });
      }
      block.sync_warp();
      put(block, a.job.out.values, first - 1, from, n, [&](int j) {
        return j > 0 ? std::uint64_t(mine.position_at(j) - mine.position_at(j - 1))
                     : before.value() + std::uint64_t(mine.position_at(0) - mine.begin);
      });
    } else {
      put(block, a.job.out.keys, first, 0, n, [&](int j) { return mine.key_at(j); });
      const bool begins_with_head = memory.begins_with_head[stage][block.warp()];
      put(block, a.job.out.values, first - 1, from, n, [&](int j) {
        const A ended = mine.ended_at(j);
        return j > 0 ? ended : begins_with_head ? before.value() : static_cast<A>(a.job.op(before.value(), ended));
      });
    }
  }

  /// A warp writes get(from) ... get(n - 1) to out[position + from ...], whole lines where the elements allow it.
  template <class Block, class O, class Get>
  PMPP_HOST_DEVICE static void put(Block& block, const O& out, std::int64_t position, int from, int n, Get get) {
    for (int j = block.lane() - detail::before_row(out, position); j < n; j += lanes)
      if (j >= from) out[position + j] = static_cast<value_of<O>>(get(j));
  }
};

/// Enqueues a job on a GPU or runs it in the emulator.
template <segmented_tuning Tuning, class P, class Job>
void runs_on_blocks(const char* function, const P& where, const Job& job, const completion& done) {
  using In = typename Job::In;
  const In& in = job.in.first;
  const std::int64_t n = job.in.count.bound;
  const auto enqueue = [&](auto kernel_of_tuning, std::int64_t lead, std::int64_t lead_of_values) {
    using kernel = decltype(kernel_of_tuning);
    using look_back = typename kernel::look_back;
    using plan = typename kernel::plan;
    // Short inputs are cut into smaller tiles, one for each block.
    const std::int64_t most_blocks = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors;
    const std::size_t room = std::size_t(machine_of(where).shared_per_block) - sizeof(typename kernel::shared);
    // A few rows of a warp, up to 16 elements of a lane, take less time than one of a warp and a look-back.
    const std::int64_t rows = ceil_div(n, std::int64_t(kernel::workers) * kernel::vector_items);
    const std::int64_t share = rows <= min(4, 16 / kernel::vector_items) ? rows : ceil_div(rows, most_blocks);
    plan p = plan::for_rows(n, lead, share, room);
    // Many tiles: rows of keys begin at lines.
    [[maybe_unused]] const std::int64_t before = p.tiles > most_blocks ? p.vectors * kernel::vector_items - 1 : 0;
    int shift = 0;
    if constexpr (Job::lengths) {
      lead = block::lead_of_line(in, lead, before, kernel::vector_items);
    } else if constexpr (joins_shifted<In>) {
      constexpr int items = kernel::vector_items;
      lead = block::lead_of_line(in.a, lead, before, items);
      shift = static_cast<int>((lead - lead_of_values) % items + items) % items;
    }
    p = plan(n, lead, p.strips, p.vectors);
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    const std::size_t payload = linked == 0 ? 0 : scratch_bytes({look_back::payload_bytes(linked)});
    const bool waits = linked > 0 && job.in.count.pointer != nullptr;
    scratch memory(where, payload + (waits ? sizeof(selection) : 0), linked == 0 ? 0 : look_back::state_bytes(linked));
    auto* const data = static_cast<std::byte*>(memory.data());
    auto* const found = waits ? reinterpret_cast<selection*>(data + payload) : nullptr;
    launch_kernel<kernel::threads>(
        where, grid{min<std::int64_t>(p.tiles, most_blocks), kernel::threads, p.shared_bytes()}, kernel{},
        typename kernel::arguments{job, p, lead, shift, found, look_back(memory.state(), data, p.tiles), done});
  };
  const auto start = [&](auto wide, std::int64_t lead, std::int64_t lead_of_values) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    constexpr bool fits = decltype(wide)::value * max(sizeof(value_of<In>), sizeof(typename Job::A)) <= 256;
    constexpr auto kernel_of = [](auto tuning) {
      return run_kernel < Job, fits ? int(decltype(wide)::value) : 1, decltype(tuning)::value > {};
    };
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = decltype(kernel_of(tuning));
      return sizeof(typename kernel::shared) + kernel::plan::shared_bytes(1, 1);
    };
    with_fitting_tuning<segmented_tuning, Tuning, Tuning.least()>(
        function, sizeof(value_of<In>), where, bytes_of,
        [&](auto tuning) { enqueue(kernel_of(tuning), fits ? lead : 0, lead_of_values); });
  };
  if constexpr (!Job::lengths && joins_shifted<In>) {  // the keys' boundaries count
    using keys = block::access<decltype(in.a)>;
    using values = block::access<decltype(in.b)>;
    // Of narrow keys no longer vectors than of values, but words: a lane has less to do, and short inputs fill more blocks. Of wide
    // keys no more than 16 bytes: then some vector begins at a line wherever the keys do.
    constexpr int items = min(keys::items, max(values::items, int(4 / sizeof(*in.a))));
    start(std::integral_constant<int, items>{}, keys::template lead<items>(in.a), values::template lead<items>(in.b));
  } else {
    block::with_access(in, [&](auto wide, std::int64_t lead) { start(wide, lead, 0); });
  }
}

/// What functions are called with for a T that may be stored.
template <class T>
using as_given = std::remove_cvref_t<decltype(value_of_stored(std::declval<const T&>()))>;

/// Enqueues on a GPU, or runs; `sink` takes the number of runs.
template <segmented_tuning Tuning, class P, class In, class Out, class Sink, class Op, class Eq>
void start_runs(const char* function, const P& where, const input<In>& in, const Out& out, const Sink& sink, Op op,
                Eq eq, const completion& done) {
  using A = accumulator_of<decltype(in.first[0].second)>;
  using X = value_of<In>;
  constexpr bool on_gpu = gpu_execution<P>;
  using K = as_given<decltype(X::first)>;
  if constexpr (require_marked<on_gpu, Eq>() && require_equivalence<Eq, K>() && require_marked<on_gpu, Op>() &&
                require_fold<as_given<A>, as_given<decltype(X::second)>, Op>() &&
                require_op_then_eq<Op, as_given<A>, Eq, K>()) {
    const auto same = on_values<value_of<In>>(eq);
    const auto fold = on_values<A>(op);
    using Same = std::remove_const_t<decltype(same)>;
    using Fold = std::remove_const_t<decltype(fold)>;
    if constexpr (!kernel_execution<P>) {
      sink(selection{detail::runs_on_host<A>(where, in, same, out, fold), in.count.get()});
    } else if constexpr (std::is_same_v<Op, add_lengths>) {
      detail::check_reachable(where, function, zip_iterator{in.first.a, zip_iterator{out.keys, out.values}});
      using Keys = std::remove_cvref_t<decltype(in.first.a)>;
      const runs_job<Keys, Same, Op, Out, Sink, length_part> job{{in.first.a, in.count}, same, op, out, sink};
      detail::runs_on_blocks<Tuning>(function, where, job, done);
    } else {
      detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{out.keys, out.values}});
      const auto start = [&](auto count) {
        const runs_job<In, Same, Fold, Out, Sink, packed_part<A, decltype(count)>> job{in, same, fold, out, sink};
        detail::runs_on_blocks<Tuning>(function, where, job, done);
      };
      // Eight-byte values share a word of the look-back with the number of runs if that takes four: below 2^32 elements.
      // For smaller values it may take eight, for larger ones there is no such word.
      if constexpr (sizeof(A) > 4 && sizeof(A) <= 8)
        if (in.count.bound >> 32 == 0) return start(std::uint32_t{});
      start(std::uint64_t{});
    }
  }
}

template <class Op, class KeysOut, class ValuesOut, class In>
auto runs_output(const char* function, KeysOut& keys_out, ValuesOut& values_out, const input<In>& in) {
  constexpr bool lengths = std::is_same_v<Op, add_lengths>;
  const auto keys =
      detail::unbounded_output(function, lengths ? "values_out" : "keys_out", keys_out, in.count.bound, in);
  const auto values =
      detail::unbounded_output(function, lengths ? "counts_out" : "values_out", values_out, in.count.bound, in);
  return runs_out<std::remove_const_t<decltype(keys)>, std::remove_const_t<decltype(values)>>{keys, values};
}
/// Returns where the outputs end.
template <segmented_tuning Tuning, class P, class In, class KeysOut, class ValuesOut, class Op, class Eq>
auto runs_and_wait(const char* function, const P& where, const input<In>& in, KeysOut& keys_out, ValuesOut& values_out,
                   Op op, Eq eq) {
  const auto out = detail::runs_output<Op>(function, keys_out, values_out, in);
  selection found{};
  if constexpr (kernel_execution<P>) {
    reply<selection, P> answer(function, where);
    detail::start_runs<Tuning>(function, answer.policy(), in, out, store_selection{answer.target()}, op, eq,
                               answer.done());
    found = answer.wait();
  } else {
    detail::start_runs<Tuning>(function, where, in, out, store_selection{&found}, op, eq, completion{});
  }
  const auto keys_end = detail::begin_of(keys_out) + found.kept;
  const auto values_end = detail::begin_of(values_out) + found.kept;
  return pair<std::remove_const_t<decltype(keys_end)>, std::remove_const_t<decltype(values_end)>>{keys_end, values_end};
}
/// Leaves the number of runs in *count_out.
template <segmented_tuning Tuning, class P, class In, class KeysOut, class ValuesOut, class C, class Op, class Eq>
void runs_and_store(const char* function, const P& where, const input<In>& in, KeysOut& keys_out, ValuesOut& values_out,
                    C& count_out, Op op, Eq eq) {
  const auto out = detail::runs_output<Op>(function, keys_out, values_out, in);
  detail::start_runs<Tuning>(function, where, in, out, detail::count_sink(function, where, count_out), op, eq,
                             completion{});
}

/// Keys and their values; values are a range or an iterator.
template <class Keys, class Values>
auto keys_and_values(const char* function, Keys& keys, Values& values) {
  return detail::with_stored(zipped(function, keys, values, "values"));
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
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
