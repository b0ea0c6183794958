// SPDX-License-Identifier: Apache-2.0
//
// Radix sort in one launch, of what all blocks together hold.
//
// Each block has one tile for the whole sort. It moves its keys by a digit in four steps:
//
//   1. it counts its digits and writes them to its row of a table, all of them marked;
//   2. ranks its keys and gathers them by digit in shared memory (sort/radix_keys.hpp);
//   3. reads the rows of all blocks, waiting for those that are missing: the sums over all rows say where a digit begins,
//      those over the rows before its own where its own keys of a digit begin;
//   4. writes its keys there, and waits for all blocks (block/sync_grid.hpp).
//
// The first digit to do so is the highest 8 bits, or the 8 below where these are the same everywhere. (The digit of the last pass may
// have a bit or two, and few digits are frequent ones.) Then each block sorts what has come to its part of the output, from the
// first digit that begins there to the first that begins in the next block's: no block waits any more. Where a digit is so
// frequent that a part might not fit into a block (step 3 says so, to all blocks alike), step 4 is left out, and the keys move
// by all digits, from the lowest.
//
// If all keys have the same digit the block keeps what it has instead of 4. Elements move between two arrays, so that
// no block has to wait for readers either, unless such a pass upsets their turn. A row has 15 bits for each count.
// (PMPP ch. 13; Merrill and Grimshaw, 2011.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Numbers in one launch (sort/radix_together.hpp).
struct radix_together_tuning {
  int threads = 512;  ///< of a block
  int items = 26;     ///< elements of a thread, at most: 0 for never. 2^20 keys of 4 bytes: 34.6 (82.7)
  int rows = 6;       ///< the same where that needs no more than 32 blocks. 2^16 keys: 15.9 (53.3)
};

namespace detail {

/// All blocks sort at once, a tile each.
template <class Code, class V, class Keys, class Values, int Threads, int Items>
struct radix_together_kernel {
  using bits = typename Code::bits;
  using key = typename Code::key;
  using tile_elements = radix_tile<Code, V, Threads, Items>;
  static constexpr int threads = Threads, items = Items, tile = tile_elements::size, lanes = simt::warp_size,
                       warps = threads / lanes, min_blocks = 1, per_lane = block::radix_digits / lanes;
  static constexpr int quads = block::radix_digits / 8;  ///< of a row of the table

  struct shared : tile_elements::memory {
    unsigned before[per_lane][lanes], all[per_lane][lanes];  ///< keys with a digit: in the blocks before, in all
    unsigned offset[block::radix_digits];  ///< of a digit's keys: place in the output - place in the tile
    int first, end;                        ///< of the block's part of the output, if keys of one digit stay together
    bool constant, fits, last;
  };
  static_assert(tile < 1 << 15);
  struct arguments {
    Keys keys;
    Values values;
    bool in_place;
    item_count count;
    key_bits range;
    int passes;
    int rows;           ///< of 32 elements that a warp takes
    unsigned* barrier;  ///< two words, and one that counts the blocks that have done the last pass
    simt::quad* table;  ///< twice a row for each block; zero
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int n = static_cast<int>(a.count.get()), size = threads * a.rows,
              first = static_cast<int>(block.index()) * size, count = max(0, min(size, n - first));
    radix_home home = a.in_place ? radix_home::data : radix_home::input;
    int passes = a.passes, high = a.range.hi, p = 0, round = 0, barriers = 0;
    const auto sync_all = [&] { block::sync_grid(block, a.barrier + barriers++ % 2); };
    for (bool highest = true;; ++round) {
      const bool samples = highest && passes > 1 && tile > size && n > 0;
      key sample{};
      if (samples)
        a.keys.read(home, [&](const auto& keys) {
          sample = keys[static_cast<unsigned>(block.thread()) * std::uint64_t(n) / threads];
        });
      tile_elements own;
      own.load(block, a.keys, a.values, home, first, count, a.rows);
      const radix_digit top{high - block::radix_bits, block::radix_digits - 1};
      if (highest) highest = samples && looks_even(block, memory, top, sample, n, tile - size);
      const radix_digit digit = highest ? top : digit_of_pass(p, a.range);
      place(block, memory, a, own, round, n, digit);
      if (highest && !memory.constant && memory.fits) {
        home = a.in_place ? radix_home::other : radix_home::data;
        put(block, memory, a, home, count, digit);
        sync_all();
        if (block.warp() == 0) clear_row(block, a, round);
        return sort_own(block, memory, a, home, passes);
      }
      if (highest) {
        highest = memory.constant;  // those bits are done
        if (highest) --passes, high -= block::radix_bits;
      } else {
        const bool last_pass = p == passes - 1, moves = last_pass || !memory.constant;
        const radix_home target = (passes - p) % 2 == 1 ? radix_home::data : radix_home::other;
        if (moves && target == home) sync_all();  // all have read what will be overwritten
        if (last_pass && block.thread() == 0) memory.last = block::comes_last(a.barrier + 2, block.count());
        if (moves) put(block, memory, a, home = target, count, digit);
        if (last_pass) break;
        ++p;
      }
      sync_all();
    }
    block.sync();
    if (memory.last)
      for (int i = block.thread(); i < block.count() * quads; i += threads) table_of(block, a, round)[i] = simt::quad{};
  }

private:
  static constexpr unsigned ready = 0x80008000;  ///< the marks of two counts

  /// The table of a round: they take turns.
  template <class Block>
  PMPP_HOST_DEVICE static simt::quad* table_of(Block& block, const arguments& a, int round) {
    return a.table + round % 2 * block.count() * quads;
  }

  /// A warp clears the block's row of a round.
  template <class Block>
  PMPP_HOST_DEVICE static void clear_row(Block& block, const arguments& a, int round) {
    static_assert(quads == lanes);
    table_of(block, a, round)[block.index() * quads + block.lane()] = simt::quad{};
  }

  /// Whether a round pays that tells if no such digit is too frequent: so a sample says, a key of each thread, to all blocks alike.
  /// Also for one digit.
  template <class Block>
  PMPP_HOST_DEVICE static bool looks_even(Block& block, shared& memory, const radix_digit& digit, const key& sample,
                                          std::int64_t n, int room) {
    block::for_each_digit(block, memory.rank, [&](int d) { memory.offset[d] = 0; });
    block.sync();
    simt::atomic_add(&memory.offset[digit(Code::encode(sample))], 1u);
    block.sync();
    bool frequent = false;
    block::for_each_digit(block, memory.rank, [&](int d) {
      const int found = static_cast<int>(memory.offset[d]);
      frequent |= found < threads && (found - 12) * n > room * threads;
    });
    return !block.sync_or(frequent);
  }

  /// Gathers the block's elements by a digit in shared memory, and finds out where they go among those of all blocks.
  template <class Block>
  PMPP_HOST_DEVICE static void place(Block& block, shared& memory, const arguments& a, tile_elements& own, int round,
                                     int n, const radix_digit& digit) {
    const int blocks = static_cast<int>(block.count());
    simt::quad* const table = table_of(block, a, round);
    block::for_each_digit(block, memory.rank, [&](unsigned d) {
      memory.before[d / lanes][d % lanes] = memory.all[d / lanes][d % lanes] = 0;
    });
    own.encode();
    own.gather(block, memory, a.rows, digit, digit, [&](int d, unsigned total) {
      const unsigned next = block.shuffle_down(total, 1);
      if (d % 2 == 0)
        simt::store(reinterpret_cast<unsigned*>(table + block.index() * quads) + d / 2, ready | total | next << 16);
    });
    if (round > 0 && block.warp() == 0) clear_row(block, a, round - 1);
    add_up(block, memory, table, blocks);
    block.sync();
    if (block.warp() == 0) find_offsets(block, memory, digit, n, threads * a.rows);
    block.sync();
  }

  /// Sorts the block's own part, which no other block touches, and writes it to the data.
  template <class Block>
  PMPP_HOST_DEVICE static void sort_own(Block& block, shared& memory, const arguments& a, radix_home home, int passes) {
    const int first = memory.first, count = memory.end - first, rows = ceil_div(count, threads);
    tile_elements own;
    own.load(block, a.keys, a.values, home, first, count, rows);
    own.encode();
    for (int p = 0; p < passes; ++p) {
      const radix_digit digit = digit_of_pass(p, a.range);
      own.gather(block, memory, rows, digit, digit, [](int, unsigned) {});
      block.sync();
      if (p == passes - 1) break;
      const int mine = block.warp() * rows * lanes + block.lane();
      for (int k = 0; k < items; ++k) {
        if (k >= rows) break;
        own.x[k] = memory.keys[mine + k * lanes];
        if constexpr (has_values<V>) own.v[k] = memory.values()[mine + k * lanes];
      }
    }
    a.keys.write(radix_home::data, [&](const auto& keys) {
      for (int i = block.thread(); i < count; i += threads)
        block::assign(keys, first + i, Code::decode(memory.keys[i]));
    });
    if constexpr (has_values<V>)
      a.values.write(radix_home::data, [&](const auto& values) {
        for (int i = block.thread(); i < count; i += threads) block::assign(values, first + i, memory.values()[i]);
      });
  }

  /// Turns sums over rows into offsets; finds out whether all keys have the same digit, and, if those of one digit were to
  /// stay together, which of them would be this block's and whether no block would have too many. By one warp.
  template <class Block>
  PMPP_HOST_DEVICE static void find_offsets(Block& block, shared& memory, const radix_digit& digit, int n, int size) {
    const int own = static_cast<int>(block.index()) * size;
    const int pads = static_cast<int>(block.count()) * size - n;  // they have the highest digit in each pass
    int sum = 0, longest = 0, first = n, end = n;
    for (int j = 0; j < per_lane; ++j) {
      const int all = static_cast<int>(memory.all[j][block.lane()]), d = block.lane() * per_lane + j;
      sum += all;
      longest = max(longest, all - (d == static_cast<int>(digit.mask) ? pads : 0));
    }
    longest = block.warp_max(longest);
    int start = block::warp_inclusive_scan(block, sum, plus{}) - sum;
    for (int j = 0; j < per_lane; ++j) {
      const int d = block.lane() * per_lane + j;
      if (start >= own) first = min(first, start);
      if (start >= own + size) end = min(end, start);
      memory.offset[d] = static_cast<unsigned>(start) + memory.before[j][block.lane()] - memory.rank.first[d];
      start += static_cast<int>(memory.all[j][block.lane()]);
    }
    first = block.warp_min(first);
    end = block.warp_min(end);
    if (block.lane() != 0) return;
    memory.constant = longest == n;
    memory.fits = size + longest <= tile;
    memory.first = first;
    memory.end = end;
  }

  /// Writes the tile. Some elements are read before one is written: the compiler may not do that.
  template <class Block>
  PMPP_HOST_DEVICE static void put(Block& block, shared& memory, const arguments& a, radix_home target, int count,
                                   const radix_digit& digit) {
    constexpr int at_once = 4;
    a.keys.write(target, [&](const auto& keys) {
      a.values.write(target, [&](const auto& values) {
        for (int first = block.thread(); first < count; first += at_once * threads) {
          bits x[at_once]{};
          [[maybe_unused]] V v[at_once]{};
          unsigned to[at_once]{};
          for (int u = 0; u < at_once; ++u) {
            const int i = first + u * threads;
            if (i >= count) break;
            x[u] = memory.keys[i];
            if constexpr (has_values<V>) v[u] = memory.values()[i];
            to[u] = memory.offset[digit(x[u])] + static_cast<unsigned>(i);
          }
          for (int u = 0; u < at_once; ++u) {
            if (first + u * threads >= count) break;
            block::assign(keys, static_cast<std::int64_t>(to[u]), Code::decode(x[u]));
            if constexpr (has_values<V>) block::assign(values, static_cast<std::int64_t>(to[u]), v[u]);
          }
        }
      });
    });
  }

  PMPP_HOST_DEVICE static void add(const simt::quad& q, unsigned (&sum)[per_lane]) {
    for (int w = 0; w < 4; ++w) {
      sum[2 * w] += q.word[w] & 0x7fff;
      sum[2 * w + 1] += q.word[w] >> 16 & 0x7fff;
    }
  }

  /// Adds up the rows of the table; each warp some of them, each lane eight digits.
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const simt::quad* table, int blocks) {
    constexpr int at_once = 9;
    unsigned before[per_lane]{}, after[per_lane]{};
    for (int first = block.warp(); first < blocks; first += warps * at_once) {
      simt::quad q[at_once];
      for (int u = 0; u < at_once; ++u)
        if (const int r = first + u * warps; r < blocks) q[u] = simt::load_quad(table + r * quads + block.lane());
      for (int u = 0; u < at_once; ++u) {
        const int r = first + u * warps;
        if (r >= blocks) break;
        while ((q[u].word[0] & q[u].word[1] & q[u].word[2] & q[u].word[3] & ready) != ready) {
          block.spin();
          q[u] = simt::load_quad(table + r * quads + block.lane());
        }
        if (r < block.index())
          add(q[u], before);
        else
          add(q[u], after);
      }
    }
    for (int j = 0; j < per_lane; ++j) {
      simt::atomic_add(&memory.before[j][block.lane()], before[j]);
      simt::atomic_add(&memory.all[j][block.lane()], before[j] + after[j]);
    }
  }
};

/// Elements of a thread where one launch sorts.
template <radix_together_tuning Tuning, class K, class V>
inline constexpr int radix_together_items = radix_items<K, V>(Tuning.items, Tuning.threads, 64);

/// Whether one launch sorts n elements.
template <radix_together_tuning Tuning, class K, class V>
bool radix_sorts_together(const machine& m, std::int64_t n) {
  constexpr int threads = Tuning.threads, items = radix_together_items<Tuning, K, V>;
  using kernel = radix_together_kernel<radix_code<K, false>, V, const K*, const V*, threads, items>;
  return Tuning.items > 0 && n <= std::int64_t(m.multiprocessors) * threads * items && all_fit<kernel>(m);
}

/// Sorts from `in` to `data`, which may be the same. False: too many elements, or their blocks do not run at once.
template <radix_together_tuning Tuning, class Code, class V, class T, class P, class In, class Data>
bool radix_sort_together(const P& where, const In& in, const Data& data, const item_count& count,
                         const key_bits& range) {
  using K = typename Code::key;
  using home = second_home<T>;
  using kernel = radix_together_kernel<Code, V, decltype(detail::homes_of_keys(in, data, typename home::iterator{})),
                                       decltype(detail::homes_of_values(in, data, typename home::iterator{})),
                                       Tuning.threads, radix_together_items<Tuning, K, V>>;
  const machine& m = machine_of(where);
  const std::int64_t n = count.bound, threads = Tuning.threads;
  if (!radix_sorts_together<Tuning, K, V>(m, n)) return false;
  const std::int64_t rows = max(ceil_div(n, m.multiprocessors * threads),
                                min(std::int64_t(min(Tuning.rows, kernel::items)), ceil_div(n, 32 * threads)));
  const std::int64_t blocks = ceil_div(n, rows * threads);
  const std::size_t table_bytes = 2 * kernel::quads * sizeof(simt::quad) * static_cast<std::size_t>(blocks);
  scratch memory(where, home::bytes(n), 256 + table_bytes);
  const auto other = home::of(memory, n);
  const typename kernel::arguments a{detail::homes_of_keys(in, data, other),
                                     detail::homes_of_values(in, data, other),
                                     detail::same_place(in, data),
                                     count,
                                     range,
                                     radix_passes(range),
                                     static_cast<int>(rows),
                                     memory.state(),
                                     reinterpret_cast<simt::quad*>(memory.state() + 64)};
  return detail::try_launch_together(where, blocks, kernel{}, a);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
