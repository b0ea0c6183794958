// SPDX-License-Identifier: Apache-2.0
//
// The k first numbers of rows that blocks hold in shared memory: one block a row, or a cluster of up to eight, each with a slice.
//
//   codes of the row, once   | slice of block 0 | slice of block 1 | ...        which bits differ at all, meanwhile
//   a digit of 8 bits        how many of the codes in question have each; blocks read each other's counts
//                            -> the digit of the k-th code. From the highest bit that differs on, until all that agree in
//                               the digits so far are wanted: two or three digits of most data
//   the k first              codes before those digits, and of those that agree in them the first by place
//
// Each warp goes through a stretch of the slice by rows of 32 lanes and counts by ballots: so the k come in the order of their
// places, on every run. Where they are wanted in their own order, the first block sorts them, and them alone. Of each
// counter there are four, in neighbouring banks, for different lanes.
// (PMPP ch. 9, 11; Alabi, Blanchard, Gordon and Steinbach, 2012; Zhang, Naruse, Li and Wang, 2023.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/top_keys/kernels.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class Source, class Rows, class Output, top_k_tuning Tuning, class Order>
struct held_rows_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  using code = typename keys::code;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr bool sorts = std::is_same_v<Order, sorted_order>;
  static constexpr int threads = sorts ? max(Tuning.threads, Tuning.large_threads) : Tuning.threads,
                       min_blocks = sorts ? 1 : 3, loads = max(1, min(Tuning.loads, 32 / Source::items));
  static constexpr int digit_bits = 8, digits = 1 << digit_bits, copies = 4;
  using room = key_room<key, threads>;
  using counters = packed<unsigned, copies>;

  struct shared {
    counters count[digits];
    counters total[digits / copies];   ///< of all blocks
    counters own[2][digits / copies];  ///< of this block, for the others; of digits by turns
    std::uint64_t bits_of_warp[threads / simt::warp_size], found_of_warp[threads / simt::warp_size];
    std::uint64_t bits, found;  ///< of this block, for the others: which bits differ; codes before the limit and at it
    int digit;                  ///< of the k-th code,
    unsigned before, at;        ///< and how many in question have a lower one, and this
  };
  struct arguments {
    Source source;
    Rows rows;
    std::int64_t k, slice;  ///< slice: elements of a block
    int blocks;             ///< of a row, a power of two
    int keys_bytes;         ///< of dynamic shared memory, in front of the codes
    Output output;
  };

  static std::int64_t keys_bytes(std::int64_t k) {
    if constexpr (!sorts) return 0;
    const auto some = static_cast<int>(min(ceil_div(k, std::int64_t(room::items)), std::int64_t(threads)));
    return static_cast<std::int64_t>(round_up(room::bytes_for(round_up(some, simt::warp_size)), std::size_t(16)));
  }
  /// \param rows, average    how many there are; elements that a block has on average
  /// \param multiprocessors  where there are more blocks, they are smaller: several run at once
  static grid shape(const arguments& a, std::int64_t rows, std::int64_t average, int multiprocessors) {
    const int most = rows * a.blocks > multiprocessors ? Tuning.threads : threads;
    int some = Tuning.short_threads;
    while (some < most && 8 * some < average) some *= 2;
    if (sorts)
      while (some < threads && (room::size(some) < a.k || (some < a.k && a.k <= room::few))) some *= 2;
    const std::int64_t codes = (a.slice + 2 * Source::items) * std::int64_t(sizeof(code));
    return {rows * a.blocks, some, a.keys_bytes + round_up(codes, std::int64_t(16)), extent3{a.blocks}};
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    clear(block, memory);
    simt::previous_kernels_done();
    take_row(block, memory, a, static_cast<unsigned>(block.index()) >> floor_log2(a.blocks));
  }

  /// Before a row: no barrier is needed.
  template <class Block>
  PMPP_HOST_DEVICE static void clear(Block& block, shared& memory) {
    for (int d = block.thread(); d < digits; d += block.threads()) memory.count[d] = {};
  }
  template <class Block>
  PMPP_HOST_DEVICE static void take_row(Block& block, shared& memory, const arguments& a, std::int64_t row) {
    row_of_blocks<Block>(block, memory, a, row).take();
  }

private:
  template <class Block>
  struct row_of_blocks {
    Block& block;
    shared& memory;
    const arguments& a;
    std::int64_t row, begin;
    int rank, k, from, count;  ///< from: where the slice begins in the row
    const code* held = nullptr;
    int shift =
        0;  ///< codes without so many bits are compared with the limit: those before it are wanted, and some at it
    code limit = static_cast<code>(~code(0));
    unsigned wanted;

    PMPP_HOST_DEVICE row_of_blocks(Block& b, shared& m, const arguments& arguments_, std::int64_t row_)
        : block(b),
          memory(m),
          a(arguments_),
          row(row_),
          begin(arguments_.rows.begin(row)),
          rank(static_cast<int>(b.index()) & (arguments_.blocks - 1)) {
      const std::int64_t n = a.rows.end(row) - begin;
      k = static_cast<int>(min(a.k, n));
      from = static_cast<int>(min(rank * a.slice, n));
      count = static_cast<int>(min(a.slice, n - from));
      wanted = static_cast<unsigned>(k);
    }

    PMPP_HOST_DEVICE void take() {
      code* const codes = reinterpret_cast<code*>(block.dynamic_shared() + a.keys_bytes);
      const code first = k > 0 ? a.source.code(begin) : code(0);
      code differing = 0;
      held = codes + a.source.template hold<loads>(block, begin + from, begin + from + count, codes, [&](code c) {
        differing = static_cast<code>(differing | (c ^ first));
      });
      if (k < a.rows.end(row) - begin)
        find_limit(first, differing);
      else
        block.sync();
      put_first();
    }

  private:
    PMPP_HOST_DEVICE std::uint64_t any_of_warp(std::uint64_t bits) {
      std::uint64_t any = block.warp_or(static_cast<unsigned>(bits));
      if constexpr (keys::wide) any |= std::uint64_t(block.warp_or(static_cast<unsigned>(bits >> 32))) << 32;
      return any;
    }
    /// The sum of what the first `words` lanes have.
    PMPP_HOST_DEVICE std::uint64_t sum_of_warp(std::uint64_t x, int words) {
      const bool has = block.lane() < words;
      return block.warp_add(has ? static_cast<unsigned>(x) : 0u) |
             std::uint64_t(block.warp_add(has ? static_cast<unsigned>(x >> 32) : 0u)) << 32;
    }

    /// Begins with a barrier, and ends with one.
    PMPP_HOST_DEVICE void find_limit(code first, code differing) {
      std::uint64_t bits = any_of_warp(differing);
      if (block.lane() == 0) memory.bits_of_warp[block.warp()] = bits;
      block.sync();
      bits = any_of_warp(block.lane() < block.warps() ? memory.bits_of_warp[block.lane()] : 0);
      if (a.blocks > 1) {
        auto cluster = block.cluster();
        if (block.thread() == 0) memory.bits = bits;
        cluster.sync();
        bits = any_of_warp(block.lane() < a.blocks ? *cluster.map_shared(&memory.bits, block.lane()) : 0);
      }
      const auto high = static_cast<unsigned>(bits >> 32), low = static_cast<unsigned>(bits);
      shift = high != 0 ? 64 - simt::leading_zeros(high) : 32 - simt::leading_zeros(low);
      limit = shift < 8 * int(sizeof(code)) ? static_cast<code>(first >> shift) : code(0);
      for (int turn = 0; shift > 0; ++turn) {
        const int width = min(digit_bits, shift);
        shift -= width;
        count_digits(width);
        find_digit(turn % 2);
        limit = static_cast<code>(static_cast<code>(limit << width) | static_cast<code>(memory.digit));
        wanted -= memory.before;
        if (memory.at == wanted) break;
      }
    }
    /// Of the codes that agree with the limit so far, each digit.
    PMPP_HOST_DEVICE void count_digits(int width) {
      const unsigned mask = (1u << width) - 1;
      const int copy = block.lane() % copies;
      constexpr int at_once = 4;
      for (int first = block.thread(); first < count; first += at_once * block.threads()) {
        code x[at_once]{};
        for (int u = 0; u < at_once; ++u)
          if (first + u * block.threads() < count) x[u] = static_cast<code>(held[first + u * block.threads()] >> shift);
        for (int u = 0; u < at_once; ++u)
          if (first + u * block.threads() < count && static_cast<code>(x[u] >> width) == limit)
            simt::atomic_add(&memory.count[static_cast<unsigned>(x[u]) & mask].item[copy], 1u);
      }
      block.sync();
    }
    /// The digit of the last code that is wanted. Ends with a barrier.
    PMPP_HOST_DEVICE void find_digit(int turn) {
      auto& sums = a.blocks > 1 ? memory.own[turn] : memory.total;
      for (int d = block.thread(); d < digits; d += block.threads()) {
        const counters c = memory.count[d];
        memory.count[d] = {};
        sums[d / copies].item[d % copies] = c.item[0] + c.item[1] + c.item[2] + c.item[3];
      }
      if (a.blocks > 1) {
        auto cluster = block.cluster();
        cluster.sync();
        for (int d = block.thread(); d < digits; d += block.threads()) {
          unsigned sum = 0;
          for (int b = 0; b < a.blocks; ++b) sum += *cluster.map_shared(&sums[d / copies].item[d % copies], b);
          memory.total[d / copies].item[d % copies] = sum;
        }
      }
      block.sync();
      if (block.warp() == 0) {
        constexpr int of_lane = digits / simt::warp_size;
        unsigned x[of_lane], sum = 0;
        for (int j = 0; j < of_lane; j += copies) {
          const counters c = memory.total[(block.lane() * of_lane + j) / copies];
          for (int i = 0; i < copies; ++i) sum += x[j + i] = c.item[i];
        }
        unsigned before = block::warp_inclusive_scan(block, sum, plus{}) - sum;
        for (int j = 0; j < of_lane; ++j) {
          if (before < wanted && wanted - before <= x[j]) {
            memory.digit = block.lane() * of_lane + j;
            memory.before = before;
            memory.at = x[j];
          }
          before += x[j];
        }
      }
      block.sync();
    }

    /// Writes what is wanted, in the order of places, or sorts it. A warp has a stretch of the slice.
    PMPP_HOST_DEVICE void put_first() {
      const int stretch = round_up(ceil_div(count, block.warps()), simt::warp_size),
                first = min(block.warp() * stretch, count), end = min(first + stretch, count);
      unsigned before = 0, at = 0;
      for (int i = first + block.lane(); i < end; i += simt::warp_size) {
        const auto c = static_cast<code>(held[i] >> shift);
        before += c < limit ? 1 : 0;
        at += c == limit ? 1 : 0;
      }
      const std::uint64_t own = block.warp_add(before) | std::uint64_t(block.warp_add(at)) << 32;
      if (block.lane() == 0) memory.found_of_warp[block.warp()] = own;
      block.sync();
      const std::uint64_t of_warps = memory.found_of_warp[min(block.lane(), block.warps() - 1)];
      std::uint64_t found = sum_of_warp(of_warps, block.warp());
      if (a.blocks > 1) {
        auto cluster = block.cluster();
        const std::uint64_t of_block = sum_of_warp(of_warps, block.warps());
        if (block.thread() == 0) memory.found = of_block;
        cluster.sync();
        found += sum_of_warp(*cluster.map_shared(&memory.found, min(block.lane(), a.blocks - 1)), rank);
      }
      before = static_cast<unsigned>(found);
      at = static_cast<unsigned>(found >> 32);
      room* slots = reinterpret_cast<room*>(block.dynamic_shared());
      if constexpr (sorts)
        if (a.blocks > 1) slots = block.cluster().map_shared(slots, 0);
      for (int row_of_lanes = first; row_of_lanes < end; row_of_lanes += simt::warp_size) {
        const int i = row_of_lanes + block.lane();
        const code all = i < end ? held[i] : code(0), c = static_cast<code>(all >> shift);
        const unsigned lower = (1u << block.lane()) - 1;
        const auto are_before = static_cast<unsigned>(block.ballot(i < end && c < limit)),
                   are_at = static_cast<unsigned>(block.ballot(i < end && c == limit));
        if ((are_before | are_at) == 0) continue;
        const unsigned own_before = before + simt::count_bits(are_before & lower),
                       own_at = at + simt::count_bits(are_at & lower);
        if (i < end && (c < limit || (c == limit && own_at < wanted))) {
          const auto place = static_cast<int>(own_before + min(own_at, wanted));
          const key x = keys::make(all, from + i);
          if constexpr (sorts)
            (*slots)[place] = x;
          else
            a.output.put(row, place, x, 0);
        }
        before += simt::count_bits(are_before);
        at += simt::count_bits(are_at);
      }
      if (a.blocks > 1)
        block.cluster().sync();
      else
        block.sync();
      if constexpr (sorts)
        if (rank == 0) {
          auto& sorted =
              *reinterpret_cast<room*>(block.dynamic_shared());  // not by a pointer that may be to another block's
          sorted.sort(block, k);
          for (int i = block.thread(); i < k; i += block.threads()) a.output.put(row, i, sorted[i], 0);
        }
    }
  };
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
