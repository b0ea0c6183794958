// SPDX-License-Identifier: Apache-2.0
//
// Radix sort, for keys that are numbers under less or greater.
//
//   1. One kernel counts the digits (8 bits) of all keys, all digits at once; its last block finds where each digit
//      begins in each pass, and decides which passes are needed: not those whose digit is the same everywhere.
//   2. A pass for each digit, from the lowest, moves every element to its place by that digit; equals keep their order.
//      A block takes a tile, counts its digits and publishes that, then gathers the keys by digit in shared memory
//      (sort/radix_keys.hpp). How many of each digit come in the tiles before it learns by look-back, 256 digits side
//      by side, while the keys of its next tile are on their way. Then it writes runs.
//
//          digit      0    1    2  ...                      words of a tile: one for each digit
//          tile t-2   12   31   29     all up to this tile  |
//          tile t-1   4*   7*   2      this tile alone      |  look-back adds up words, backwards, to the first that
//          tile t     ?    ?    ?                           v  holds all up to its tile
//
// What all blocks together hold takes one launch in all (sort/radix_together.hpp). Otherwise one launch for the counts and one
// a digit. Traffic: n keys read, then n elements read and written in each pass that is needed.
// The look-back words are cleared once, by the first kernel: the flags mean something else in every other pass.
// (PMPP ch. 13; Adinets and Merrill, Onesweep, 2022; Merrill and Garland, 2016.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Numbers in a launch for each digit (sort/radix.hpp).
struct radix_tuning {
  int threads = 512;     ///< of a block
  int items = 52;        ///< elements of a thread, at most. 2^28 keys of 4 bytes: 4384 (5556)
  int short_items = 32;  ///< the same where inputs are short. 2^21 keys: 73.2 (113.9), 2^22: 108 (174)
  int long_from = 4;     ///< long inputs: from this many tiles of `items` a multiprocessor on. 2^24 keys: 369 (429)
  int min_tiles = 64;    ///< of short inputs, even if that makes tiles smaller: where there are few multiprocessors
  int value_bytes = 16;  ///< of the largest values that go along with their keys in each pass; no figures were kept
  std::int64_t wide_from = std::int64_t(1) << 30;  ///< elements from which look-back words have 64 bits: counts have 30
};

namespace detail {

/// What the kernels of one sort leave for each other.
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

template <class Code, class Keys, int Threads, bool Least = false, class Digits = key_bits>
struct radix_count_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
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
    Digits range;
    int passes;
    bool in_place;
    radix_counts* counts;
    radix_control* control;
    simt::quad* words;  ///< of the look-back, to be cleared
    std::int64_t quads;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int counters = a.passes * block::radix_digits;
    unsigned* const counter = &memory.count[0][0][0];
    for (int i = block.thread(); i < counters * copies / 4; i += threads)
      reinterpret_cast<simt::quad*>(counter)[i] = simt::quad{};
    simt::previous_kernels_done();
    const std::int64_t n = a.count.get();
    for (std::int64_t i = block.index() * threads + block.thread(); i < a.quads; i += block.count() * threads)
      a.words[i] = simt::quad{};
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
    if (block::is_last_block(block, &a.counts->blocks_done, block.count(), memory.last)) finish(block, memory, a, n);
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
      const auto& digit = digit_of_pass(p, a.range);
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

/// How a pass is compiled.
struct radix_pass_shape {
  int threads, items, min_blocks;
  bool few_rows;  ///< tiles may have fewer rows than items: for short inputs
  bool wide;      ///< look-back words may have 64 bits
};

template <class Code, class V, class Keys, class Values, radix_pass_shape Shape, class Digit = radix_digit>
struct radix_pass_kernel {
  using bits = typename Code::bits;
  using tile_elements = radix_tile<Code, V, Shape.threads, Shape.items>;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Shape.threads, items = Shape.items, min_blocks = Shape.min_blocks;

  struct shared : tile_elements::memory {
    std::int64_t offset[block::radix_digits];  ///< of a digit's keys: place in the output - place in the tile
    std::int64_t next;                         ///< tile of the block
    Digit digit;
  };
  struct arguments {
    Keys keys;
    Values values;
    item_count count;
    Digit digit;
    int pass;
    int rows;  ///< of 32 elements that a warp takes of a tile
    std::int64_t tiles;
    bool wide;    ///< look-back words have 64 bits
    void* words;  ///< of the look-back: 256 for each tile
    radix_control* control;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    if (block.thread() == 0) {
      memory.next = take(a);
      memory.digit = a.digit;
    }
    const radix_pass pass = a.control->pass[a.pass];
    if (pass.source == radix_home::nowhere) return;
    block.sync();
    std::int64_t tile = memory.next;
    tile_elements elements;
    load(block, a, pass, tile, elements);
    for (int count; (count = count_of(a, tile)) > 0;)
      if constexpr (Shape.few_rows)
        tile = count == tile_elements::size ? move<true>(block, memory, a, pass, tile, count, elements)
                                            : move<false>(block, memory, a, pass, tile, count, elements);
      else
        tile = move<true>(block, memory, a, pass, tile, count, elements);
  }

private:
  PMPP_HOST_DEVICE static std::int64_t take(const arguments& a) {
    return simt::take_ticket(&a.control->ticket[a.pass]);
  }
  PMPP_HOST_DEVICE static int rows_of(const arguments& a) { return Shape.few_rows ? a.rows : items; }
  /// How many elements a tile has: none if it does not exist.
  PMPP_HOST_DEVICE static int count_of(const arguments& a, std::int64_t tile) {
    const std::int64_t size = std::int64_t(threads) * rows_of(a);
    return static_cast<int>(max(std::int64_t(0), min(size, a.count.get() - tile * size)));
  }
  /// Whether codes lie where a pass reads.
  PMPP_HOST_DEVICE static bool holds_codes(const radix_pass& pass) { return Code::keys_hold_codes && !pass.is_first; }
  /// Loads the elements of a tile, if it exists.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const radix_pass& pass, std::int64_t tile,
                                    tile_elements& elements) {
    const int rows = rows_of(a);
    elements.load(block, a.keys, a.values, pass.source, tile * threads * rows, count_of(a, tile), rows,
                  holds_codes(pass));
  }

  /// Moves one tile of `count` elements. AllRows: they are ranked in as many rows as there can be; keys that are missing
  /// come last. Returns the next tile of the block, whose elements are loaded.
  template <bool AllRows, class Block>
  PMPP_HOST_DEVICE static std::int64_t move(Block& block, shared& memory, const arguments& a, const radix_pass& pass,
                                            std::int64_t tile, int count, tile_elements& elements) {
    std::int64_t next = a.tiles;
    if (block.thread() == 0 && block.count() < a.tiles) next = take(a);
    if (!holds_codes(pass)) elements.encode();
    // The compiler would keep what it has computed from a.digit in registers: it is read again.
    elements.gather(block, memory, AllRows ? items : a.rows, a.digit, memory.digit, [&](int d, unsigned total) {
      publish(a, pass, tile, d, total, tile == 0 ? up_to : alone);
      if (d == 0) memory.next = next;
    });
    block::for_each_digit(block, memory.rank, [&](int d) {
      const std::int64_t start = a.control->first[a.pass][d];
      std::int64_t before;
      if (Shape.wide && a.wide)
        before = look_back<std::uint64_t>(block, memory, a, pass, tile, d);
      else
        before = look_back<std::uint32_t>(block, memory, a, pass, tile, d);
      memory.offset[d] = start + before - memory.rank.first[d];
    });
    next = memory.next;
    load(block, a, pass, next, elements);  // they arrive while this tile is written
    block.sync();
    if (Shape.few_rows ? AllRows : count == tile_elements::size)
      write<true>(block, memory, a, pass, count);
    else
      write<false>(block, memory, a, pass, count);
    return next;
  }

  /// Writes a tile; Whole: it has all elements that a tile can have.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void write(Block& block, shared& memory, const arguments& a, const radix_pass& pass,
                                     int count) {
    a.keys.write(pass.target, [&](const auto& keys) {
      const auto code = [&](int i) { return memory.keys[i]; };
      if (!Code::keys_hold_codes || pass.is_last)
        put<Whole>(block, memory, a, count, keys, code, [](bits x) { return Code::decode(x); });
      else
        put<Whole>(block, memory, a, count, keys, code,
                   [](bits x) { return __builtin_bit_cast(typename Code::key, x); });
    });
    if constexpr (has_values<V>)
      a.values.write(pass.target, [&](const auto& values) {
        put<Whole>(
            block, memory, a, count, values, [&](int i) { return memory.values()[i]; }, [](const V& y) { return y; });
      });
  }

  /// Writes what element(i) gives for place i of the tile. Some rows are read before one is written: the compiler may not do that.
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

  /// The same, to what writes tiles its own way (distributed/sort_by_digits.hpp).
  template <bool, class Block, class To, class Element, class Finish>
  requires To::puts_tiles PMPP_HOST_DEVICE static void put(Block& block, shared& memory, const arguments& a, int count,
                                                           const To& to, Element element, Finish finish) {
    to.put(block, memory, a.digit, count, element, finish);
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
    if (Shape.wide && a.wide)
      simt::store(word_of<std::uint64_t>(a, tile, d), std::uint64_t(kind) << 62 | count);
    else
      simt::store(word_of<std::uint32_t>(a, tile, d), kind << 30 | static_cast<unsigned>(count));
  }

  /// How many keys with digit d the tiles before this one have; publishes what they have up to this one.
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

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same.
template <radix_tuning Tuning, class Code, class V, class T, class P, class In, class Data>
void radix_sort_by_passes(const P& where, const In& in, const Data& data, const item_count& count,
                          const key_bits& range) {
  using K = typename Code::key;
  using home = second_home<T>;
  using keys = decltype(detail::homes_of_keys(in, data, typename home::iterator{}));
  using values = decltype(detail::homes_of_values(in, data, typename home::iterator{}));
  // Long inputs: one block a multiprocessor with tiles as large as can be, which are written in longer runs. Where blocks
  // have no room for small tiles, smaller ones.
  constexpr int threads = Tuning.threads, short_blocks = has_values<V> ? 1 : max(1, 1024 / threads);
  constexpr int long_items = radix_items<K, V>(Tuning.items, threads),
                short_items = radix_items<K, V>(Tuning.short_items, short_blocks * threads);
  constexpr int least_threads = min(threads, 256),
                least_items = radix_items<K, V>(short_items, least_threads, 32, 34 * 1024);
  constexpr bool one_shape = short_blocks == 1 && short_items == long_items;  // one kernel is enough
  // Narrow keys with values: whole tiles alone would spill 1288 bytes of registers in place of 436 (sm_90a).
  constexpr bool few_rows = one_shape || (has_values<V> && sizeof(K) < 4);
  using long_pass = radix_pass_kernel<Code, V, keys, values, radix_pass_shape{threads, long_items, 1, few_rows, true}>;
  constexpr bool long_fits = fit_everywhere<P, long_pass>;  // all that is wide is long then
  using short_pass =
      radix_pass_kernel<Code, V, keys, values,
                        radix_pass_shape{threads, short_items, short_blocks, true, one_shape || !long_fits}>;
  using least_pass =
      radix_pass_kernel<Code, V, keys, values, radix_pass_shape{least_threads, least_items, 2, true, true}>;
  const machine& m = machine_of(where);
  const std::int64_t n = count.bound, processors = m.multiprocessors;
  const bool in_place = detail::same_place(in, data), wide = n >= Tuning.wide_from;
  const bool is_long = all_fit<long_pass>(m) && (wide || n / (threads * long_items) >= Tuning.long_from * processors);
  const bool is_least = !fit_everywhere<P, short_pass> && !is_long && !all_fit<short_pass>(m);
  if (long_fits && wide && !is_long)  // a GPU for which the program was not compiled
    refuse_elements("sort", sizeof(T), simt::detail::shared_bytes_of<long_pass>, m);
  const int threads_of_pass = is_least ? least_threads : threads;
  const std::int64_t most_rows =
      is_long ? long_items
              : min(std::int64_t(is_least ? least_items : short_items), n / threads_of_pass / Tuning.min_tiles);
  const int rows = static_cast<int>(max(std::int64_t(1), most_rows));
  const std::int64_t tiles = ceil_div(n, std::int64_t(threads_of_pass) * rows);
  const std::size_t word_bytes = static_cast<std::size_t>(tiles) * block::radix_digits * (wide ? 8 : 4);
  const auto quads = static_cast<std::int64_t>(word_bytes / sizeof(simt::quad));
  scratch memory(where, scratch_bytes({home::bytes(n), word_bytes, sizeof(radix_control)}), sizeof(radix_counts));
  const auto other = home::of(memory, n);
  const keys all_keys = detail::homes_of_keys(in, data, other);
  const values all_values = detail::homes_of_values(in, data, other);
  auto* const words = memory.take<simt::quad>(quads);
  auto* const control = memory.take<radix_control>(1);
  int passes = radix_passes(range);
  if (in_place) passes = round_up(passes, 2);

  // Where blocks may have 48 KB alone, as in the emulator, digits are counted by half as many counters.
  using all_counts = radix_count_kernel<Code, decltype(all_keys.in), threads>;
  using counts = radix_count_kernel<Code, decltype(all_keys.in), threads, !fit_everywhere<P, all_counts>>;
  pmpp::launch(where, min(ceil_div(n, std::int64_t(2 * threads)), std::int64_t(counts::min_blocks) * processors),
               counts{},
               typename counts::arguments{all_keys.in, count, range, passes, in_place,
                                          reinterpret_cast<radix_counts*>(memory.state()), control, words, quads});

  const auto launch_passes = [&](auto pass) {
    using kernel = decltype(pass);
    for (int p = 0; p < passes; ++p)
      pmpp::launch(where, min(tiles, kernel::min_blocks * processors), pass,
                   typename kernel::arguments{all_keys, all_values, count, digit_of_pass(p, range), p, rows, tiles,
                                              wide, words, control});
  };
  if (is_long) return launch_passes(long_pass{});
  if constexpr (!fit_everywhere<P, short_pass>)
    if (is_least) return launch_passes(least_pass{});
  launch_passes(short_pass{});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
