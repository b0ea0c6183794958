// SPDX-License-Identifier: Apache-2.0
//
// The k first numbers of one long row, or of a few: each held by blocks of many multiprocessors, all of which run at once.
//
//   codes of the row, once   | slice of block 0 | slice of block 1 | ...   in shared memory; the first digit of each is counted
//   a digit of 11 bits       every block adds its counts to those of the row, waits for the others, and finds the digit of the
//                            k-th key in the sums. Digits of codes, and of places where these do not decide, until the keys
//                            up to that digit are few more than k: after one or two digits of most data
//   those keys               to the list of the row, in any order. All blocks wait, and read it
//   the k first              each block counts, for some keys of the list, how many come before: that is the place of a key
//
// So no block has more to do than others, whatever the data, and the result comes sorted. One launch, a barrier of a row's blocks
// for each digit and one for the list. The counts of three digits take turns: while one is added to, the one before may still be
// read, and the one before that is cleared.
// (PMPP ch. 9; Zhang, Naruse, Li and Wang, 2023, read the data once more for each digit.)
#pragma once

#include <cstdint>

#include <pmpp/block/scan.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/top_keys/kernels.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class Source, class Output, top_k_tuning Tuning>
struct spread_rows_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  using code = typename keys::code;
  static constexpr int threads = max(Tuning.threads, Tuning.large_threads), min_blocks = 1, lanes = simt::warp_size,
                       warps = threads / lanes, loads = max(1, min(Tuning.loads, 32 / Source::items));
  static constexpr int digits = 2 * threads, digit_bits = floor_log2(digits), code_bits = Source::number_code::width,
                       first_bits = min(digit_bits, code_bits);
  static constexpr int state_words = 64 + 3 * digits;  ///< of a row: two of barriers, one of `found`; counts

  struct shared {
    unsigned count[digits], of_warp[warps], rank[lanes];
    unsigned found, base;        ///< keys for the list, and where they go
    unsigned digit, before, at;  ///< of the k-th key; how many in question have a lower one, and this
  };
  struct arguments {
    Source source;
    equal_rows rows;
    std::int64_t k, slice;  ///< slice: elements of a block
    int blocks, room;       ///< of a row; keys of its list
    key_list<keys> list;
    unsigned* state;
    Output output;
  };
  static std::size_t bytes(std::int64_t slice, std::int64_t room) {
    return round_up(static_cast<std::size_t>(room), std::size_t(16)) * sizeof(key) +
           static_cast<std::size_t>(slice + 2 * Source::items) * sizeof(code);
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    row_of_blocks<Block>(block, memory, a).take();
  }

private:
  template <class Block>
  struct row_of_blocks {
    Block& block;
    shared& memory;
    const arguments& a;
    std::int64_t row, begin;
    int rank, k, from, count, barriers = 0;  ///< from: where the slice begins in the row
    unsigned* state;
    key* slots;
    const code* held = nullptr;
    /// The digits so far of the k-th key, and how many bits come after them.
    code limit = 0;
    unsigned place_limit = 0;
    int shift = code_bits - first_bits, place_shift, width = first_bits;  ///< width: of the last one,
    bool of_codes = true;                                                 ///< which is one of codes
    unsigned wanted, listed = 0;  ///< of the keys that agree in these digits; keys up to them

    PMPP_HOST_DEVICE row_of_blocks(Block& b, shared& m, const arguments& arguments_)
        : block(b),
          memory(m),
          a(arguments_),
          row(static_cast<unsigned>(b.index()) / static_cast<unsigned>(arguments_.blocks)),
          begin(arguments_.rows.begin(row)),
          rank(static_cast<int>(b.index() - row * arguments_.blocks)),
          state(arguments_.state + row * state_words),
          slots(reinterpret_cast<key*>(b.dynamic_shared())) {
      const std::int64_t n = a.rows.end(row) - begin;
      k = static_cast<int>(min(a.k, n));
      from = static_cast<int>(min(rank * a.slice, n));
      count = static_cast<int>(min(a.slice, n - from));
      place_shift = n > 1 ? ceil_log2(static_cast<int>(n)) : 0;
      wanted = static_cast<unsigned>(k);
    }

    PMPP_HOST_DEVICE void take() {
      for (int d = block.thread(); d < digits; d += threads) memory.count[d] = 0;
      if (block.thread() == 0) memory.found = 0;
      block.sync();
      if (k == 0) return;  // no block of the row has anything to do
      code* const codes = reinterpret_cast<code*>(block.dynamic_shared() + round_up(a.room, 16) * int(sizeof(key)));
      held = codes + a.source.template hold<loads>(block, begin + from, begin + from + count, codes, [&](code c) {
        simt::atomic_add(&memory.count[static_cast<unsigned>(c >> shift)], 1u);
      });
      int round = 0;
      for (find_digit(round); listed > static_cast<unsigned>(a.room); find_digit(++round)) count_digits();
      write_list();
      clear(round);
      put_first();
    }

  private:
    PMPP_HOST_DEVICE unsigned* counts_of(int round) const { return state + 64 + round % 3 * digits; }
    PMPP_HOST_DEVICE void sync_row() { block::sync_grid(block, state + barriers++ % 2, a.blocks); }
    PMPP_HOST_DEVICE unsigned place(int i) const { return static_cast<unsigned>(from + i) >> place_shift; }
    PMPP_HOST_DEVICE bool agrees(int i) const {
      return static_cast<code>(held[i] >> shift) == limit && place(i) == place_limit;
    }

    /// Of the keys that agree with the limit so far, the next digit: of places when that of codes is complete.
    PMPP_HOST_DEVICE void count_digits() {
      of_codes = shift > 0;
      width = min(digit_bits, of_codes ? shift : place_shift);
      const int next = (of_codes ? shift : place_shift) - width;
      const unsigned mask = (1u << width) - 1;
      for (int i = block.thread(); i < count; i += threads) {
        if (!agrees(i)) continue;
        const unsigned d = of_codes ? static_cast<unsigned>(held[i] >> next) : static_cast<unsigned>(from + i) >> next;
        simt::atomic_add(&memory.count[d & mask], 1u);
      }
      (of_codes ? shift : place_shift) = next;
    }
    /// The digit of the k-th key, by the counts of all blocks. Begins with a barrier, and ends with one.
    PMPP_HOST_DEVICE void find_digit(int round) {
      block.sync();
      for (int d = block.thread(); d < digits; d += threads) {
        if (memory.count[d] != 0) simt::add_global(&counts_of(round)[d], memory.count[d]);
        memory.count[d] = 0;
      }
      sync_row();
      // Two digits of a thread.
      const std::uint64_t both = simt::load(reinterpret_cast<const std::uint64_t*>(counts_of(round)) + block.thread());
      const auto first = static_cast<unsigned>(both), sum = first + static_cast<unsigned>(both >> 32);
      clear(round + 2);
      unsigned before = block::warp_inclusive_scan(block, sum, plus{});
      if (block.lane() == lanes - 1) memory.of_warp[block.warp()] = before;
      block.sync();
      before += block.warp_add(block.lane() < block.warp() ? memory.of_warp[block.lane()] : 0u) - sum;
      if (before < wanted && wanted - before <= sum) {
        const bool second = wanted - before > first;
        memory.digit = static_cast<unsigned>(2 * block.thread()) + (second ? 1u : 0u);
        memory.before = before + (second ? first : 0u);
        memory.at = second ? sum - first : first;
      }
      block.sync();
      wanted -= memory.before;
      listed = static_cast<unsigned>(k) - wanted + memory.at;
      if (of_codes)
        limit = static_cast<code>(static_cast<code>(limit << width) | static_cast<code>(memory.digit));
      else
        place_limit = place_limit << width | memory.digit;
    }
    PMPP_HOST_DEVICE void clear(int round) const {
      for (int d = rank * threads + block.thread(); d < digits; d += a.blocks * threads) counts_of(round)[d] = 0;
    }

    /// The keys up to the limit. Ends with a barrier of the row.
    PMPP_HOST_DEVICE void write_list() {
      for (int i = block.thread(); i < count; i += threads) {
        const auto c = static_cast<code>(held[i] >> shift);
        if (c < limit || (c == limit && place(i) <= place_limit))
          slots[simt::atomic_add(&memory.found, 1u)] = keys::make(held[i], from + i);
      }
      block.sync();
      if (block.thread() == 0 && memory.found > 0) memory.base = simt::atomic_add(state + 2, memory.found);
      block.sync();
      for (unsigned i = block.thread(); i < memory.found; i += threads)
        a.list.set(row * a.room + memory.base + i, slots[i]);
      sync_row();
    }
    /// Of 32 keys at a time, how many come before: each warp looks at some of the list.
    PMPP_HOST_DEVICE void put_first() {
      const int all = static_cast<int>(listed);
      if (block.thread() == 0 && rank == 0) state[2] = 0;
      if (rank * lanes >= all) return;
      const auto list = a.list.from(row * a.room);
      for (int i = block.thread(); i < all; i += threads) slots[i] = list[i];
      for (int first = rank * lanes; first < all; first += a.blocks * lanes) {
        if (block.warp() == 0) memory.rank[block.lane()] = 0;
        block.sync();
        const key own = slots[min(first + block.lane(), all - 1)];
        unsigned before = 0;
        for (int i = block.warp(); i < all; i += warps) before += slots[i] < own ? 1u : 0u;
        simt::atomic_add(&memory.rank[block.lane()], before);
        block.sync();
        if (block.warp() != 0 || first + block.lane() >= all) continue;
        const auto at = static_cast<int>(memory.rank[block.lane()]);
        if (at < k) a.output.put(row, at, own, 0);
      }
    }
  };
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
