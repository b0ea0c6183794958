// SPDX-License-Identifier: Apache-2.0
//
// What a block of a radix sort does with a tile: it loads keys and values to registers, ranks the keys by a digit
// (block/radix_rank.hpp), and gathers both by that digit in shared memory.
//
// A warp takes some rows of 32 neighbours, a lane one element of each row.
#pragma once

#include <cstdint>

#include <pmpp/block/radix_rank.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Elements of a thread: so that registers hold those of `resident` threads on a multiprocessor, which need `others` beside
/// them, and its shared memory too, of which `bytes_of_all` are for elements.
template <class K, class V>
constexpr int radix_items(int most, int resident, int others = 32, int bytes_of_all = 144 * 1024) {
  const int value = has_values<V> ? int(sizeof(V)) : 0, bytes = int(sizeof(K)) + value;
  const int registers = max(4, int(sizeof(K))) + (has_values<V> ? max(4, value) : 0);  // in bytes
  return max(1, min(most, min(4 * (65536 / resident - others) / registers, bytes_of_all / resident / bytes)));
}

template <class Code, class V, int Threads, int Items>
struct radix_tile {
  using bits = typename Code::bits;
  static constexpr int threads = Threads, items = Items, size = threads * items, lanes = simt::warp_size;

  struct memory {
    block::radix_rank_memory<threads> rank;
    alignas(16) bits keys[size];
    alignas(max(16, int(alignof(V)))) unsigned char bytes[has_values<V> ? size * sizeof(V) : 16];

    PMPP_HOST_DEVICE V* values() { return reinterpret_cast<V*>(bytes); }
  };

  bits x[items];
  [[maybe_unused]] V v[has_values<V> ? items : 1];

  /// Loads `count` elements, from `first` on; keys that are missing rank last.
  template <class Block, class Keys, class Values>
  PMPP_HOST_DEVICE void load(Block& block, const Keys& keys, const Values& values, radix_home home, std::int64_t first,
                             int count, int rows) {
    const int mine = block.warp() * rows * lanes, found = min(count - mine, rows * lanes) - block.lane();
    first += mine + block.lane();
    keys.read(home, [&](const auto& all) {
      const auto from = all + first;
      for (int k = 0; k < items; ++k)
        x[k] = k * lanes < found ? Code::encode(from[k * lanes]) : static_cast<bits>(~bits(0));
    });
    if constexpr (has_values<V>)
      values.read(home, [&](const auto& all) {
        const auto from = all + first;
        for (int k = 0; k < items; ++k)
          if (k * lanes < found) v[k] = static_cast<V>(from[k * lanes]);
      });
  }

  /// Tells f(digit, total) how many keys have each digit, and gathers the elements by digit in shared memory. `digit` is
  /// read again in between where it lies in shared memory: its digits of all keys would take registers.
  template <class Block, class F>
  PMPP_HOST_DEVICE void gather(Block& block, memory& of_tile, int rows, const radix_digit& digit,
                               const radix_digit& again, F f) const {
    block::count_in_warp<items>(block, of_tile.rank, rows, [&](int k) { return digit(x[k]); });
    block::place_digits(block, of_tile.rank, f);
    const radix_digit of_rank = again;
    block::for_each_ranked<items>(
        block, of_tile.rank, rows, [&](int k) { return of_rank(x[k]); },
        [&](int k, int to) {
          of_tile.keys[to] = x[k];
          if constexpr (has_values<V>) of_tile.values()[to] = v[k];
        });
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
