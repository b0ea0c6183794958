// SPDX-License-Identifier: Apache-2.0
//
// Radix sort, for keys that are numbers under less or greater.
//
//   1. One kernel counts the digits (8 bits) of all keys, all digits at once; its last block finds where each digit
//      begins in each pass, and decides which passes are needed: not those whose digit is the same everywhere.
//   2. A pass for each digit, from the lowest, moves every element to its place by that digit; equals keep their order.
//      A block takes a tile, counts its digits and tells the others, then gathers the keys by digit in shared memory
//      (block/radix_rank.hpp). How many of each digit come in the tiles before it learns by look-back, 256 digits side
//      by side, while the keys of its next tile are on their way. Then it writes runs.
//
//          digit      0    1    2  ...                      words of a tile: one for each digit
//          tile t-2   12   31   29     all up to this tile  |
//          tile t-1   4*   7*   2      this tile alone      |  look-back adds up words, backwards, to the first that
//          tile t     ?    ?    ?                           v  holds all up to its tile
//
// What all blocks together hold takes one launch in all (sort/radix_short.hpp). Otherwise one launch for the counts and one
// a digit. Traffic: n keys read, then n elements read and written in each pass that is needed.
// The look-back words are cleared once, by the first kernel: the flags mean something else in every other pass.
// (PMPP ch. 13; Adinets and Merrill, Onesweep, 2022; Merrill and Garland, 2016.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/radix_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/radix_keys.hpp>
#include <pmpp/sort/radix_short.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

/// A pass, as the first kernel has decided.
struct radix_pass {
  radix_home source, target;
  int epoch;  ///< 0 and 1 in turn
};

constexpr int most_radix_passes = 8;

/// Decides on the passes: only those that are `needed`, but an even number of them in place, so that the last one ends
/// in the data; at least one otherwise.
PMPP_HOST_DEVICE inline void plan_radix_passes(int passes, bool in_place, const bool* needed, radix_pass* pass) {
  int count = 0, spare = -1;
  for (int p = 0; p < passes; ++p) {
    if (needed[p])
      ++count;
    else
      spare = p;
  }
  if (spare >= 0 && (in_place ? count % 2 == 1 : count == 0))
    ++count;
  else
    spare = -1;
  radix_home source = in_place ? radix_home::data : radix_home::input;
  for (int p = 0, k = 0; p < passes; ++p) {
    pass[p] = {};
    if (!needed[p] && p != spare) continue;
    const radix_home target = (count - 1 - k) % 2 == 0 ? radix_home::data : radix_home::other;
    pass[p] = {source, target, k % 2};
    source = target;
    ++k;
  }
}

/// What the kernels of one sort hand on to each other.
struct radix_control {
  std::int64_t first[most_radix_passes][block::radix_digits];  ///< the place where a digit begins
  radix_pass pass[most_radix_passes];
  unsigned ticket[most_radix_passes];  ///< tiles taken
};

/// In zeroed state: how often each digit occurs, and how many blocks have counted.
struct radix_counts {
  std::uint64_t count[most_radix_passes][block::radix_digits];
  unsigned blocks_done;
};

template <class Code, class Keys, int Threads, bool Least = false>
struct radix_count_kernel {
  static constexpr int threads = Threads, items = 8, tile = threads * items,
                       min_blocks = min(16, max(1, 1152 / threads));
  static constexpr int lanes = simt::warp_size, warps = threads / lanes,
                       most_passes = max(2, int(sizeof(typename Code::bits)));
  /// Copies of each counter, of some lanes each: lanes with different digits meet in fewer banks. 64 KB, or 32.
  static constexpr int copies = (most_passes > 4 ? 8 : 16) / (Least ? 2 : 1);

  struct shared {
    alignas(16) unsigned count[most_passes][block::radix_digits][copies];
    bool needed[most_radix_passes];
    bool last;
  };
  struct arguments {
    Keys keys;
    item_count count;
    key_bits range;
    int passes;
    bool in_place;
    radix_counts* counts;
    radix_control* control;
    simt::quad* words;  ///< of the look-back, to be cleared
    std::int64_t quads;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t n = a.count.get();
    for (std::int64_t i = block.index() * threads + block.thread(); i < a.quads; i += block.count() * threads)
      a.words[i] = simt::quad{};
    const int counters = a.passes * block::radix_digits;
    unsigned* const counter = &memory.count[0][0][0];
    for (int i = block.thread(); i < counters * copies / 4; i += threads)
      reinterpret_cast<simt::quad*>(counter)[i] = simt::quad{};
    block.sync();
    for (std::int64_t first = block.index() * tile; first < n; first += block.count() * tile)
      if (n - first >= tile)
        count<true>(block, memory, a, first, tile);
      else
        count<false>(block, memory, a, first, static_cast<int>(n - first));
    block.sync();
    for (int i = block.thread(); i < counters; i += threads) {
      unsigned found = 0;
      for (int c = 0; c < copies; ++c) found += counter[i * copies + (c + i) % copies];
      if (found != 0) simt::add_global(&a.counts->count[i / block::radix_digits][i % block::radix_digits], found);
    }
    block.sync();
    if (block.thread() == 0) {
      const unsigned others = static_cast<unsigned>(block.count()) - 1;
      memory.last = simt::atomic_increment_wrap<simt::order::acq_rel>(&a.counts->blocks_done, others) == others;
    }
    block.sync();
    if (memory.last) finish(block, memory, a, n);
  }

private:
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void count(Block& block, shared& memory, const arguments& a, std::int64_t first, int found) {
    typename Code::bits x[items]{};
    for (int k = 0; k < items; ++k) {
      const int i = k * threads + block.thread();
      if (Whole || i < found) x[k] = Code::encode(a.keys[first + i]);
    }
    const int copy = block.lane() % copies;
    for (int p = 0; p < a.passes; ++p) {
      const radix_digit digit = radix_digit::of(p, a.range);
      for (int k = 0; k < items; ++k)
        if (Whole || k * threads + block.thread() < found) simt::atomic_add(&memory.count[p][digit(x[k])][copy], 1u);
    }
  }

  /// The last block: a warp for each pass.
  template <class Block>
  PMPP_HOST_DEVICE static void finish(Block& block, shared& memory, const arguments& a, std::int64_t n) {
    constexpr int per_lane = block::radix_digits / lanes;
    for (int p = block.warp(); p < a.passes; p += warps) {
      std::int64_t count[per_lane], sum = 0;
      bool all = n == 0;
      for (int k = 0; k < per_lane; ++k) {
        std::uint64_t* const from = &a.counts->count[p][block.lane() * per_lane + k];
        count[k] = static_cast<std::int64_t>(simt::load(from));
        simt::store(from, 0u);
        sum += count[k];
        all = all || count[k] == n;
      }
      std::int64_t place = block::warp_inclusive_scan(block, sum, plus{}) - sum;
      for (int k = 0; k < per_lane; ++k) {
        a.control->first[p][block.lane() * per_lane + k] = place;
        place += count[k];
      }
      const bool constant = block.any(all);
      if (block.lane() == 0) memory.needed[p] = !constant;
    }
    if (block.thread() < most_radix_passes) a.control->ticket[block.thread()] = 0;
    block.sync();
    if (block.thread() == 0) plan_radix_passes(a.passes, a.in_place, memory.needed, a.control->pass);
  }
};

/// What a tile holds: keys and values side by side in shared memory.
template <class Code, class V, int Threads, int Items>
struct radix_tile_memory {
  static constexpr int tile = Threads * Items;

  block::radix_rank_memory<Threads> rank;
  std::int64_t offset[block::radix_digits];  ///< of a digit's keys: place in the output - place in the tile
  std::int64_t next;                         ///< tile of the block
  radix_digit digit;
  alignas(16) typename Code::bits keys[tile];
  alignas(max(16, int(alignof(V)))) unsigned char bytes[has_values<V> ? tile * sizeof(V) : 16];

  PMPP_HOST_DEVICE V* values() { return reinterpret_cast<V*>(bytes); }
};

/// Elements of a thread: so that registers hold those of `resident` threads on a multiprocessor, which need `others` beside
/// them, and its shared memory too, of which `bytes_of_all` are for elements.
template <class K, class V>
constexpr int radix_items(int most, int resident, int others = 32, int bytes_of_all = 144 * 1024) {
  const int value = has_values<V> ? int(sizeof(V)) : 0, bytes = int(sizeof(K)) + value;
  const int registers = max(4, int(sizeof(K))) + (has_values<V> ? max(4, value) : 0);  // in bytes
  return max(1, min(most, min(4 * (65536 / resident - others) / registers, bytes_of_all / resident / bytes)));
}

template <class Code, class V, class Keys, class Values, int Threads, int Items, int MinBlocks>
struct radix_pass_kernel {
  using bits = typename Code::bits;
  static constexpr int threads = Threads, items = Items, lanes = simt::warp_size, min_blocks = MinBlocks;

  struct shared : radix_tile_memory<Code, V, threads, items> {};
  struct arguments {
    Keys keys;
    Values values;
    item_count count;
    radix_digit digit;
    int pass;
    int rows;  ///< of 32 elements that a warp takes of a tile
    std::int64_t tiles;
    bool wide;    ///< look-back words have 64 bits: for 2^30 elements and more
    void* words;  ///< of the look-back: 256 for each tile
    radix_control* control;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    if (block.thread() == 0) {
      memory.next = take(a);
      memory.digit = a.digit;
    }
    const radix_pass pass = a.control->pass[a.pass];
    if (pass.source == radix_home::nowhere) return;
    block.sync();
    bits x[items];
    [[maybe_unused]] V v[has_values<V> ? items : 1];
    std::int64_t tile = memory.next;
    load(block, a, pass, tile, x, v);
    for (int count; (count = elements_of(a, tile)) > 0;)
      tile = count == threads * items ? move<true>(block, memory, a, pass, tile, items, count, x, v)
                                      : move<false>(block, memory, a, pass, tile, a.rows, count, x, v);
  }

private:
  PMPP_HOST_DEVICE static std::int64_t take(const arguments& a) {
    return simt::atomic_add(&a.control->ticket[a.pass], 1u);
  }
  /// How many elements a tile has: none if it does not exist.
  PMPP_HOST_DEVICE static int elements_of(const arguments& a, std::int64_t tile) {
    const std::int64_t size = std::int64_t(threads) * a.rows;
    return static_cast<int>(max(std::int64_t(0), min(size, a.count.get() - tile * size)));
  }

  /// Loads the elements of a tile, if it exists.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const radix_pass& pass, std::int64_t tile,
                                    bits (&x)[items], V (&v)[has_values<V> ? items : 1]) {
    const int first = block.warp() * a.rows * lanes;
    const int found = min(elements_of(a, tile) - first, a.rows * lanes) - block.lane();
    const std::int64_t place = tile * threads * a.rows + first + block.lane();
    a.keys.read(pass.source, [&](const auto& keys) {
      const auto from = keys + place;
      for (int k = 0; k < items; ++k)  // those that are missing rank last
        x[k] = k * lanes < found ? Code::encode(from[k * lanes]) : static_cast<bits>(~bits(0));
    });
    if constexpr (has_values<V>)
      a.values.read(pass.source, [&](const auto& values) {
        const auto from = values + place;
        for (int k = 0; k < items; ++k)
          if (k * lanes < found) v[k] = static_cast<V>(from[k * lanes]);
      });
  }

  /// Moves one tile, whose elements are x and v. Whole: it has all elements that a tile can have. Returns the next tile of
  /// the block; x and v become its elements.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static std::int64_t move(Block& block, shared& memory, const arguments& a, const radix_pass& pass,
                                            std::int64_t tile, int rows, int count, bits (&x)[items],
                                            V (&v)[has_values<V> ? items : 1]) {
    if (Whole) rows = items;
    std::int64_t next = a.tiles;
    if (block.thread() == 0 && block.count() < a.tiles) next = take(a);
    block::count_in_warp<items>(block, memory.rank, rows, [&](int k) { return a.digit(x[k]); });
    block::place_digits(block, memory.rank, [&](int d, unsigned total) {
      publish(a, pass, tile, d, total, tile == 0 ? up_to : alone);
      if (d == 0) memory.next = next;
    });
    const radix_digit digit = memory.digit;  // the compiler would keep what it has computed from a.digit in registers
    const auto digit_of = [&](int k) { return digit(x[k]); };
    block::for_each_ranked<items>(block, memory.rank, rows, digit_of, [&](int k, int to) {
      memory.keys[to] = x[k];
      if constexpr (has_values<V>) memory.values()[to] = v[k];
    });
    block::for_each_digit(block, memory.rank, [&](int d) {
      const std::int64_t start = a.control->first[a.pass][d];
      const std::int64_t before = a.wide ? look_back<std::uint64_t>(block, memory, a, pass, tile, d)
                                         : look_back<std::uint32_t>(block, memory, a, pass, tile, d);
      memory.offset[d] = start + before - memory.rank.first[d];
    });
    next = memory.next;
    load(block, a, pass, next, x, v);  // they arrive while this tile is written
    block.sync();
    a.keys.write(pass.target, [&](const auto& keys) {
      put<Whole>(
          block, memory, a, count, keys, [&](int i) { return memory.keys[i]; },
          [](bits code) { return Code::decode(code); });
    });
    if constexpr (has_values<V>)
      a.values.write(pass.target, [&](const auto& values) {
        put<Whole>(
            block, memory, a, count, values, [&](int i) { return memory.values()[i]; }, [](const V& y) { return y; });
      });
    return next;
  }

  /// Writes what element(i) gives for place i of the tile, one place of a row a thread. Some rows are read before the first
  /// is written: the compiler cannot know that shared memory is not what is written.
  template <bool Whole, class Block, class To, class Element, class Finish>
  PMPP_HOST_DEVICE static void put(Block& block, shared& memory, const arguments& a, int count, const To& to,
                                   Element element, Finish finish) {
    constexpr int at_once = min_blocks == 1 ? 4 : 1;  // two blocks a multiprocessor have no registers for more
    const auto mine = to + block.thread();
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int first = 0; first < items; first += at_once) {
      std::int64_t place[at_once]{};
      decltype(element(0)) x[at_once]{};
      for (int u = 0; u < at_once; ++u) {
        const int row = (first + u) * threads, i = row + block.thread();
        if (first + u >= items || !(Whole || i < count)) continue;
        x[u] = element(i);
        place[u] = memory.offset[a.digit(memory.keys[i])] + row;
      }
      for (int u = 0; u < at_once; ++u) {
        const int row = (first + u) * threads;
        if (first + u < items && (Whole || row + block.thread() < count)) block::assign(mine, place[u], finish(x[u]));
      }
    }
  }

  // A word of the look-back: a count, and in its highest two bits what it counts, which are inverted in every other
  // pass. A word that the pass before has left (an inverted up_to), or a cleared one, means nothing.
  static constexpr unsigned alone = 1, up_to = 2;

  template <class Word>
  PMPP_HOST_DEVICE static Word* word_of(const arguments& a, std::int64_t tile, int d) {
    return static_cast<Word*>(a.words) + tile * block::radix_digits + d;
  }
  PMPP_HOST_DEVICE static void publish(const arguments& a, const radix_pass& pass, std::int64_t tile, int d,
                                       std::uint64_t count, unsigned kind) {
    if (pass.epoch != 0) kind ^= 2;
    if (a.wide)
      simt::store(word_of<std::uint64_t>(a, tile, d), std::uint64_t(kind) << 62 | count);
    else
      simt::store(word_of<std::uint32_t>(a, tile, d), kind << 30 | static_cast<unsigned>(count));
  }

  /// How many keys with digit d the tiles before this one have; tells the others.
  template <class Word, class Block>
  PMPP_HOST_DEVICE static std::int64_t look_back(Block& block, shared& memory, const arguments& a,
                                                 const radix_pass& pass, std::int64_t tile, int d) {
    if (tile == 0) return 0;
    constexpr int at_once = 32 / sizeof(Word), kind_shift = 8 * sizeof(Word) - 2;
    constexpr Word ready = Word(3) << kind_shift;
    const Word inverted = pass.epoch != 0 ? Word(2) << kind_shift : Word(0);
    const Word* const first = word_of<Word>(a, 0, d);
    const Word* last = word_of<Word>(a, tile - 1, d);  // the nearest one that is missing
    Word before = 0;
    for (bool done = false; !done;) {
      Word word[at_once];
      for (int k = 0; k < at_once; ++k) {
        word[k] = 0;  // means nothing: there is no such tile, or tile 0 has been counted
        if (last - first >= k * block::radix_digits) word[k] = simt::load(last - k * block::radix_digits) ^ inverted;
      }
      int taken = 0;
      for (int k = 0; k < at_once; ++k) {
        const auto kind = static_cast<unsigned>(word[k] >> kind_shift);
        if (done || taken < k || kind - 1 > 1) continue;
        before += word[k] & ~ready;
        done = kind == up_to;
        taken = k + 1;
      }
      last -= taken * block::radix_digits;
      if (taken < at_once && !done) block.spin();
    }
    publish(a, pass, tile, d, std::uint64_t(before) + memory.rank.total[d], up_to);
    return static_cast<std::int64_t>(before);
  }
};

/// What is sorted: keys, and values or nothing.
template <class In, class T>
struct radix_parts {
  static auto keys(const In& it) { return it; }
  static const no_value* values(const In&) { return nullptr; }
};
template <class A, class B, class K, class V>
struct radix_parts<zip_iterator<A, B>, pair<K, V>> {
  static auto keys(const zip_iterator<A, B>& it) { return it.a; }
  static auto values(const zip_iterator<A, B>& it) { return it.b; }
};

template <class In, class Data>
bool same_place(const In& in, const Data& data) {
  if constexpr (std::is_same_v<In, Data>)
    return in - data == 0;
  else
    return false;
}

/// Elements of a thread where one launch sorts.
template <auto Tuning, class K, class V>
inline constexpr int radix_together_items = radix_items<K, V>(Tuning.radix_together, Tuning.radix_threads, 64);

/// Whether one launch sorts n elements.
template <auto Tuning, class K, class V>
bool radix_sorts_together(const machine& m, std::int64_t n) {
  constexpr int threads = Tuning.radix_threads, items = radix_together_items<Tuning, K, V>;
  using kernel = radix_together_kernel<radix_code<K, false>, V, const K*, const V*, threads, items>;
  return Tuning.radix_together > 0 && n <= std::int64_t(m.multiprocessors) * threads * items && all_fit<kernel>(m);
}

/// Enqueues the sort on a GPU or runs it in the emulator: from in to data, which may be the same.
template <auto Tuning, class Code, class V, class P, class KeysIn, class ValuesIn, class KeysOut, class ValuesOut>
void radix_sort_on_blocks(const P& where, const KeysIn& keys_in, const ValuesIn& values_in, const KeysOut& keys_out,
                          const ValuesOut& values_out, const item_count& count, const key_bits& range) {
  using K = typename Code::key;
  constexpr int threads = Tuning.radix_threads, small_blocks = has_values<V> ? 1 : max(1, 1024 / threads);
  constexpr int small_items = radix_items<K, V>(Tuning.radix_small_items, small_blocks * threads);
  constexpr int large_items = radix_items<K, V>(Tuning.radix_items, threads);
  using keys_of_pass = radix_homes<KeysIn, KeysOut, K>;
  using values_of_pass = radix_homes<ValuesIn, ValuesOut, V>;
  using compared = radix_compare_kernel<Code, V, KeysIn, ValuesIn, KeysOut, ValuesOut, threads, Tuning.radix_compared>;
  using together =
      radix_together_kernel<Code, V, keys_of_pass, values_of_pass, threads, radix_together_items<Tuning, K, V>>;
  const machine& m = machine_of(where);
  const std::int64_t n = count.bound, processors = m.multiprocessors;
  const bool in_place = same_place(keys_in, keys_out), wide = n >= Tuning.radix_narrow;
  if (all_fit<compared>(m) && n <= min(std::int64_t(compared::most), resident_blocks<compared>(m) * simt::warp_size)) {
    const scratch memory(where, 0, in_place ? 2 * sizeof(unsigned) : 0);
    const typename compared::arguments a{keys_in, values_in, keys_out, values_out, count, range, memory.state()};
    const std::int64_t blocks = ceil_div(n, std::int64_t(simt::warp_size));
    if (!in_place) pmpp::launch(where, blocks, compared{}, a);
    if (!in_place || detail::try_launch_together(where, blocks, compared{}, a)) return;
  }
  if (radix_sorts_together<Tuning, K, V>(m, n)) {
    const std::int64_t rows =
        max(ceil_div(n, processors * threads),
            min(std::int64_t(min(Tuning.radix_rows, together::items)), ceil_div(n, std::int64_t(32) * threads)));
    const std::int64_t blocks = ceil_div(n, rows * threads);
    const std::size_t table_bytes = 2 * together::quads * sizeof(simt::quad) * static_cast<std::size_t>(blocks);
    scratch memory(
        where,
        scratch_bytes({checked_bytes(n, sizeof(K), "sort"), has_values<V> ? checked_bytes(n, sizeof(V), "sort") : 0}),
        256 + table_bytes);
    K* const other_keys = memory.take<K>(n);
    V* const other_values = memory.take<V>(has_values<V> ? n : 0);
    const typename together::arguments a{{keys_in, keys_out, other_keys},
                                         {values_in, values_out, other_values},
                                         in_place,
                                         count,
                                         range,
                                         max(1, ceil_div(range.hi - range.lo, block::radix_bits)),
                                         static_cast<int>(rows),
                                         memory.state(),
                                         reinterpret_cast<simt::quad*>(memory.state() + 64)};
    if (detail::try_launch_together(where, blocks, together{}, a)) return;
  }
  int passes = max(1, ceil_div(range.hi - range.lo, block::radix_bits));
  if (in_place) passes = round_up(passes, 2);
  // Long inputs: one block a multiprocessor with tiles as large as can be, which are written in longer runs. Where blocks
  // have no room for small tiles, smaller ones.
  using large_pass = radix_pass_kernel<Code, V, keys_of_pass, values_of_pass, threads, large_items, 1>;
  using small_pass = radix_pass_kernel<Code, V, keys_of_pass, values_of_pass, threads, small_items, small_blocks>;
  constexpr int least_threads = min(threads, 256);
  using least_pass = radix_pass_kernel<Code, V, keys_of_pass, values_of_pass, least_threads,
                                       radix_items<K, V>(small_items, least_threads, 32, 34 * 1024), 2>;
  const bool large = all_fit<large_pass>(m) && n / (threads * large_items) >= Tuning.radix_large * processors;
  const bool least = !fit_everywhere<P, small_pass> && !all_fit<small_pass>(m);
  const int threads_of_pass = least ? least_threads : threads;
  const std::int64_t most_rows =
      large ? large_items
            : min(std::int64_t(least ? least_pass::items : small_items), n / threads_of_pass / Tuning.radix_tiles);
  const int rows = static_cast<int>(max(std::int64_t(1), most_rows));
  const std::int64_t tiles = ceil_div(n, std::int64_t(threads_of_pass) * rows);
  const std::size_t word_bytes = static_cast<std::size_t>(tiles) * block::radix_digits * (wide ? 8 : 4);
  const std::size_t value_bytes = has_values<V> ? checked_bytes(n, sizeof(V), "sort") : 0;
  scratch memory(where,
                 scratch_bytes({checked_bytes(n, sizeof(K), "sort"), value_bytes, word_bytes, sizeof(radix_control)}),
                 sizeof(radix_counts));
  K* const other_keys = memory.take<K>(n);
  V* const other_values = memory.take<V>(has_values<V> ? n : 0);
  auto* const words = memory.take<simt::quad>(static_cast<std::int64_t>(word_bytes / sizeof(simt::quad)));
  auto* const control = memory.take<radix_control>(1);
  const auto launch_counts = [&](auto counts) {
    using kernel = decltype(counts);
    launch(where, min(ceil_div(n, std::int64_t(2 * threads)), std::int64_t(kernel::min_blocks) * processors), counts,
           typename kernel::arguments{keys_in, count, range, passes, in_place,
                                      reinterpret_cast<radix_counts*>(memory.state()), control, words,
                                      static_cast<std::int64_t>(word_bytes / sizeof(simt::quad))});
  };
  const auto launch_passes = [&](auto pass) {
    using kernel = decltype(pass);
    for (int p = 0; p < passes; ++p)
      pmpp::launch(where, min(tiles, kernel::min_blocks * processors), pass,
                   typename kernel::arguments{{keys_in, keys_out, other_keys},
                                              {values_in, values_out, other_values},
                                              count,
                                              radix_digit::of(p, range),
                                              p,
                                              rows,
                                              tiles,
                                              wide,
                                              words,
                                              control});
  };
  using counts = radix_count_kernel<Code, KeysIn, threads>;
  const bool least_counts = !fit_everywhere<P, counts> && !all_fit<counts>(m);
  if constexpr (!fit_everywhere<P, counts>)
    if (least_counts) launch_counts(radix_count_kernel<Code, KeysIn, threads, true>{});
  if (!least_counts) launch_counts(counts{});
  if (large) return launch_passes(large_pass{});
  if constexpr (!fit_everywhere<P, small_pass>)
    if (least) return launch_passes(least_pass{});
  launch_passes(small_pass{});
}

/// The key of an element that is sorted.
template <class K, class V>
PMPP_HOST_DEVICE const K& radix_key_of(const pair<K, V>& x) {
  return x.first;
}
template <class K>
requires is_radix_key<K> PMPP_HOST_DEVICE const K& radix_key_of(const K& x) { return x; }

/// seq: on one thread. host: parts of the input on all of them; each counts its digits in each pass and then knows where
/// its elements go. `other` has room for all elements.
template <class Code, class T, class P, class In, class Data>
void radix_sort_on_host(const P& where, const In& in, const Data& data, T* other, std::int64_t n,
                        const key_bits& range) {
  constexpr int digits = block::radix_digits;
  struct digit_counts {
    std::int64_t of[most_radix_passes][digits];
  };
  const auto code_of = [](const auto& from, std::int64_t i) {
    using It = std::remove_cvref_t<decltype(from)>;
    return Code::encode(detail::radix_key_of(block::element_as<T>(value_of<It>(from[i]))));
  };
  std::int64_t parts = 1;
  if constexpr (!std::is_same_v<P, seq_policy>)  // parts cost a third more work: they count again before each pass
    parts = n < 16 * host_loop::grain ? 1 : min(host_loop::part_count(where), n / (4 * host_loop::grain));
  const std::int64_t size = ceil_div(n, parts);
  const auto for_parts = [&](auto task) {
    if constexpr (std::is_same_v<P, seq_policy>)
      task(std::int64_t(0));
    else
      host_loop::parallel_parts(where, parts, task);
  };
  host_loop::task_results<digit_counts> found(parts);
  const bool in_place = same_place(in, data);
  int passes = max(1, ceil_div(range.hi - range.lo, block::radix_bits));
  if (in_place) passes = round_up(passes, 2);
  for_parts([&, passes, range, found = found.data()](std::int64_t part) {  // by reference: read again for each element
    for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) {
      const auto code = code_of(in, i);
      for (int p = 0; p < passes; ++p) ++found[part].of[p][radix_digit::of(p, range)(code)];
    }
  });
  bool needed[most_radix_passes] = {};
  for (int p = 0; p < passes; ++p)
    for (int d = 0; d < digits && !needed[p]; ++d) {
      std::int64_t sum = 0;
      for (std::int64_t part = 0; part < parts; ++part) sum += found[part].of[p][d];
      needed[p] = sum > 0 && sum < n;
    }
  radix_pass plan[most_radix_passes];
  plan_radix_passes(passes, in_place, needed, plan);
  const auto write_home = [&](radix_home home, auto f) {
    if (home == radix_home::other)
      f(other);
    else
      f(data);
  };
  const auto read_home = [&](radix_home home, auto f) {
    if (home == radix_home::input)
      f(in);
    else
      write_home(home, f);
  };
  bool moved = false;
  for (int p = 0; p < passes; ++p) {
    if (plan[p].source == radix_home::nowhere) continue;
    const radix_digit digit = radix_digit::of(p, range);
    if (moved && parts > 1)
      read_home(plan[p].source, [&](const auto& from) {
        for_parts([&, from, digit](std::int64_t part) {
          auto& count = found[part].of[p];
          for (std::int64_t& c : count) c = 0;
          for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) ++count[digit(code_of(from, i))];
        });
      });
    std::int64_t place = 0;
    for (int d = 0; d < digits; ++d)
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t count = found[part].of[p][d];
        found[part].of[p][d] = place;
        place += count;
      }
    read_home(plan[p].source, [&](const auto& from) {
      write_home(plan[p].target, [&](const auto& to) {
        for_parts([&, from, to, digit](std::int64_t part) {
          using It = std::remove_cvref_t<decltype(from)>;
          auto& next = found[part].of[p];
          for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) {
            const T x = block::element_as<T>(value_of<It>(from[i]));
            block::assign(to, next[digit(Code::encode(radix_key_of(x)))]++, x);
          }
        });
      });
    });
    moved = true;
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
