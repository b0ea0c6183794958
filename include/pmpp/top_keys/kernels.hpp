// SPDX-License-Identifier: Apache-2.0
//
// The k first numbers of rows, by one read of the data.
//
//   sample_keys_kernel   what a number must be to come into question: a limit (top_keys/rows.hpp). The last block of a row that has read
//                   its part of the sample sorts it.
//   top_keys_kernel   blocks go through tiles of a row; what does not come after the limit gathers in shared memory. When there
//                   is no room left, the keys are sorted, the k first stay, and the last of them is the limit. In the end the
//                   keys go to the list of the row.
//                   The last block of a row does the same with its list, and writes the k first, sorted.
//
//        | keys ->         room |   full: sorted | k first | <- limit      room for more |
//
// A block takes a short row alone, in one launch: with a sample of its own. What a block drops comes after k keys that it has, so
// that no data lead to a wrong result; only if less than k elements are up to the limit (once in 10^9 rows) does the last block
// go through the whole row again. Where data are such that a sample misleads, keys are sorted more often.
//
//   first_key_kernel    k = 1: the least key of each thread, warp, block and row. One launch.
// (Zhang, Naruse, Li and Wang, Parallel top-k, 2023, filter by digits in place of a sample.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/nth_element.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Where numbers are sorted, as that takes less time than a selection does. Figures: us on an H200, those of a selection in brackets.
struct top_k_sorting {
  std::int64_t row = 1 << 16;  ///< elements of one row, any k but 1. 5043 floats, k 21: 9 (17)
  /// Past `few` rows of `bytes` that are not spread, past `many` of twice that. 858,138, k 14,016: 50 (110).
  int few = 256, many = 4096;
  std::int64_t bytes = 1 << 22;  ///< of keys, as many as one launch sorts with their places
  std::int64_t keys = 1 << 23;   ///< in one row whose places are not asked for, for k past `many`,
  int share = 50;                ///< and n / k up to which any more are sorted. 5,482,263, k 9350: 100 (122)
  /// Elements of many segments on average for k = 1, four times as many for more. 131,072 segments of 64 u64, k 10: 269 (1189).
  std::int64_t segment = 64;
};

/// How top_k writes what it finds: in order, or as it comes, which takes less time.
struct sorted_order {};
struct any_order {};

struct top_k_tuning {
  int threads = 512;               ///< of a block, which has room for 8 keys each, or 4 of two words
  int large_threads = 1024;        ///< of one where k is more than half of that room
  int short_threads = 128;         ///< of one that takes a short row alone, or more. 600 rows of 2000: 20.6 us (46.0)
  int loads = 4;                   ///< vectors of 16 bytes that a thread has under way
  int blocks = 2;                  ///< of a multiprocessor
  int sample_part = 128;           ///< of so many elements of a long row one is read as a sample
  int sort_from = 16;              ///< n / k up to which everything is sorted if a block has no room for k keys
  int together = 1 << 24;          ///< elements of rows whose keys are in one list then; of an eighth all are sorted
  std::int64_t short_row = 1024;   ///< elements of short rows
  int by_a_warp = 16;              ///< k up to which a warp takes them one after the other; four times that of
  int of_a_warp = 256;             ///< so many elements in many rows. 131,072 rows of 128, k 8: 138 us (900)
  std::int64_t one_block = 65536;  ///< elements of a row that a block takes alone
  std::int64_t segment = 16384;    ///< of one that a block holds in shared memory. 20,000 of 400, k 10: 127 us (269)
  std::int64_t part = 32768;       ///< of a long segment's part, at least. 16 of 380,000, k 100: 51 us (116)
  std::int64_t alone = 1 << 21;    ///< of all segments for k = 1: a second launch would cost the host 4 us
  std::int64_t held =
      40960;  ///< elements for each multiprocessor of rows that blocks hold in shared memory; more for large k
  std::int64_t held_slice = 8192;  ///< of such a row more blocks hold a part each, if that helps
  std::int64_t spread = 16384;  ///< elements of one of a few rows, past which blocks of many multiprocessors hold it,
  int spread_blocks = 8;        ///< as many as that or more; for larger k longer ones
  std::int64_t longest_row = std::int64_t(1) << 32;  ///< elements; longer rows are cut
  top_k_sorting sorting{};
  nth_element_tuning parting{};  ///< where the k may come in any order: from which k on, and how
};

namespace detail {

/// Where the k first of a row go: decoded, or as keys.
template <class Code, class Values, class Indices>
struct selection_output {
  using keys = selection_keys<Code>;
  Values values;
  Indices indices;
  std::int64_t k, first;  ///< those of row r go to places first + r * k ...
  bool as_keys;
  key_list<keys> list;

  /// \param begin  what is added to the place in a row
  PMPP_HOST_DEVICE void put(std::int64_t row, std::int64_t i, const typename keys::key& x, std::int64_t begin) const {
    const std::int64_t at = first + row * k + i;
    if (as_keys) {
      list.set(at, x);
    } else {
      block::assign(values, at, Code::decode(keys::code_of(x)));
      block::assign(indices, at, keys::place_of(x) + begin);
    }
  }
};

/// Finds the limit of each row by a sample.
template <class Source, top_k_tuning Tuning>
struct sample_keys_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  static constexpr bool begins_early = simt::can_begin_early;
  static_assert((Tuning.threads & (Tuning.threads - 1)) == 0 &&
                    (Tuning.short_threads & (Tuning.short_threads - 1)) == 0,
                "pmpp: the numbers of threads of top_k_tuning are powers of two");
  static constexpr int threads = Tuning.threads, most_slots = min(1024, key_room<key, threads>::tile);

  struct shared {
    key_room<key, threads> slots;
    bool last;
  };
  struct arguments {
    Source source;
    equal_rows rows;
    std::int64_t k;
    int blocks;    ///< of a row, a power of two
    int clusters;  ///< of a thread, a power of two
    key_list<keys> slots, limits;
    std::int64_t* found;  ///< zero afterwards: of each row, and of all
    unsigned* arrived;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t row = block.index() >> floor_log2(a.blocks), begin = a.rows.begin(row),
                       n = a.rows.end(row) - begin;
    const int all = a.blocks * block.threads();
    const int own = (static_cast<int>(block.index()) & (a.blocks - 1)) * block.threads() + block.thread();
    const sample_plan plan(n, min(a.k, n), all * a.clusters, most_slots, max(64, all / simt::warp_size),
                           Source::widest);
    const auto found = a.slots.from(row * most_slots);
    if (plan.rank > 0)
      sample_keys<keys, Source::widest>(
          block, plan, own, all, [&](std::int64_t i) { return keys::make(a.source.code(begin + i), i); },
          [&](int slot, const key& x) { found.set(slot, x); });
    if (!block::is_last_block(block, &a.arrived[row], a.blocks, memory.last)) return;
    if (plan.rank > 0) {
      for (int i = block.thread(); i < plan.slots; i += block.threads()) memory.slots[i] = found[i];
      block.sync();
      memory.slots.sort(block, plan.slots);
    }
    if (block.thread() == 0) {
      a.limits.set(row, plan.rank > 0 ? memory.slots[plan.rank - 1] : keys::last());
      a.found[row] = 0;
      if (row == 0) a.found[a.rows.size()] = 0;
    }
  }
};

/// What a top_keys_kernel does with a row.
enum class selection_stage {
  part,    ///< all, alone; or some of its tiles, for the list of the row, which the last block finishes
  gather,  ///< as part, but all keys up to the limit, for one list of all rows
  rest     ///< those after it, if it turned out that there were too few
};

template <class Source, class Rows, class Output, top_k_tuning Tuning>
struct top_keys_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = max(Tuning.threads, Tuning.large_threads),
                       min_blocks = max(1, Tuning.blocks*Tuning.threads / threads),
                       loads = max(1, min(Tuning.loads, 32 / Source::items));
  using room_of_block = key_room<key, threads>;

  /// Blocks with room for their keys. Of a row that fits there k may be any, else half of the room.
  static grid shape(std::int64_t blocks, int block_threads) {
    return {blocks, block_threads, room_of_block::bytes_for(block_threads)};
  }
  static constexpr std::int64_t room_for(int block_threads, bool whole_rows) {
    return room_of_block::size(block_threads) / (whole_rows ? 1 : 2);
  }

  struct shared {
    unsigned count;          ///< more than there is room for: so many have tried
    std::int64_t base, row;  ///< where keys go in a list; the row, as they have it there
    bool last;
  };
  struct arguments {
    Source source;
    Rows rows;
    std::int64_t k;
    selection_stage stage;
    divisor parts;                                 ///< blocks of a row
    std::int64_t part_room;                        ///< of a part, in its row's list
    key_list<typename Source::keys> list, limits;  ///< limits: of the rows; null: each block has a sample of the row
    std::int64_t* found;                           ///< keys in the list of each row, and in the one of all
    bool* too_few;                                 ///< of each row, gathered
    int place_bits;                                ///< above them the places of keys in the list of all have the row
    unsigned* arrived;
    Output output;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t units = a.rows.units(a.parts);
    for (std::int64_t unit = block.index(); unit < units; unit += block.count())
      take_part(block, memory, a, a.rows.unit(unit, a.parts));
    a.rows.finish(block, memory.last);
  }
  template <class Block>
  PMPP_HOST_DEVICE static void take_part(Block& block, shared& memory, const arguments& a, const row_part& own) {
    row_of_block<Block>(block, memory, a, own).take();
  }

private:
  template <class Block>
  struct row_of_block {
    Block& block;
    shared& memory;
    const arguments& a;
    room_of_block& slots;
    row_part unit;
    std::int64_t begin, n;
    int room, k;  ///< k: at most half of the room, if the row does not fit; of gathered rows not used
    key limit = keys::last();

    PMPP_HOST_DEVICE row_of_block(Block& b, shared& m, const arguments& arguments_, const row_part& unit_)
        : block(b),
          memory(m),
          a(arguments_),
          slots(*reinterpret_cast<room_of_block*>(b.dynamic_shared())),
          unit(unit_),
          begin(a.rows.begin(unit.row)),
          n(a.rows.end(unit.row) - begin),
          room(room_of_block::size(b.threads())) {
      k = static_cast<int>(min(min(a.k, n), std::int64_t(n <= room ? room : room / 2)));
    }
    PMPP_HOST_DEVICE bool gathers() const {
      return a.stage == selection_stage::gather || a.stage == selection_stage::rest;
    }

    PMPP_HOST_DEVICE void take() {
      block.sync();  // the row before is written
      empty();
      if (a.stage == selection_stage::rest && !a.too_few[unit.slot]) return;
      // Alone: it has the row for itself, or the row's list.
      bool alone = !gathers() && unit.parts == 1, from_list = false, samples = a.limits.first == nullptr;
      const auto list = a.list.from(unit.first * a.part_room);
      std::int64_t count = n;
      if (!samples) limit = a.limits[unit.slot];
      block.sync();
      for (;;) {
        if (samples)
          find_limit(count,
                     [&](std::int64_t i) { return from_list ? list[i] : keys::make(a.source.code(begin + i), i); });
        if (from_list)
          read_list(list, count);
        else
          read_numbers();
        if (alone) {
          if (memory.count >= static_cast<unsigned>(k)) break;
          limit = keys::last();  // the sample was of no use
          samples = false;
        } else {
          write_to_list();
          if (gathers()) return note_too_few();
          if (!block::is_last_block(block, &a.arrived[unit.slot], unit.parts, memory.last)) return;
          alone = samples = true;
          unit.part = 0;
          unit.parts = 1;
          from_list = a.found[unit.slot] >= k;
          if (from_list)
            count = a.found[unit.slot];
          else
            limit = keys::last();
          block.sync();
          if (block.thread() == 0) a.found[unit.slot] = 0;
        }
        block.sync();  // all have seen the count
        empty();
        block.sync();
      }
      slots.sort(block, static_cast<int>(memory.count));
      for (int i = block.thread(); i < k; i += block.threads()) a.output.put(unit.row, i, slots[i], 0);
    }

  private:
    PMPP_HOST_DEVICE void empty() {
      if (block.thread() == 0) memory.count = 0;
    }
    PMPP_HOST_DEVICE void note_too_few() {
      if (a.stage == selection_stage::gather &&
          block::is_last_block(block, &a.arrived[unit.slot], unit.parts, memory.last) && block.thread() == 0)
        a.too_few[unit.slot] = a.found[unit.slot] < min(a.k, n);
    }

    template <class Key>
    PMPP_HOST_DEVICE void find_limit(std::int64_t count, const Key& key_of) {
      const int threads_here = block.threads(), most = min(2 * threads_here, room);
      const int fewest = min(room_of_block::few, threads_here);
      if (count > 4 * fewest) {
        const auto plan_of = [&](int clusters) {
          return sample_plan(count, k, clusters, clusters, max(32, threads_here / simt::warp_size),
                             clusters == most ? Source::widest : 1);
        };
        sample_plan plan = plan_of(most);
        // A smaller sample is sorted at once; it will do if what it lets through leaves half of the room. No neighbours are read
        // for it, which in sorted data are all alike.
        if (plan.slots > fewest) {
          const sample_plan small = plan_of(fewest);
          if (small.rank > 0 && 3 * small.rank * count <= std::int64_t(room) * small.clusters) plan = small;
        }
        if (plan.rank > 0) {
          sample_keys<keys, Source::widest>(block, plan, block.thread(), threads_here, key_of,
                                            [&](int slot, const key& x) { slots[slot] = x; });
          block.sync();
          slots.sort(block, plan.slots);
          limit = slots[plan.rank - 1];
        }
      }
      block.sync();
    }

    PMPP_HOST_DEVICE void read_numbers() {
      const bool after = a.stage == selection_stage::rest;
      auto limit_code = keys::code_of(limit);
      std::int64_t limit_place = begin + keys::place_of(limit);
      a.source.template for_each_tile<loads, !keys::wide>(
          block, begin, begin + n, unit.part, unit.parts,
          [&] { return after ? keys::code_of(keys::last()) : limit_code; },
          [&](auto code, std::int64_t i) {
            const bool up_to = code < limit_code || (code == limit_code && i <= limit_place);
            return up_to != after;
          },
          [&](unsigned mask, const auto& place_of) {
            keep(mask, [&](int b) { return keys::make(a.source.code(place_of(b)), place_of(b) - begin); });
            limit_code = keys::code_of(limit);
            limit_place = begin + keys::place_of(limit);
          });
    }
    PMPP_HOST_DEVICE void read_list(const key_list<typename Source::keys>& list, std::int64_t listed) {
      constexpr int at_once = keys::wide ? 4 : 8;
      for (std::int64_t first = 0; first < listed; first += at_once * block.threads()) {
        unsigned mask = 0;
        const std::int64_t own = first + block.thread();
        key x[at_once]{};  // all loads at a time
        for (int u = 0; u < at_once; ++u)
          if (own + u * block.threads() < listed) x[u] = list[own + u * block.threads()];
        for (int u = 0; u < at_once; ++u)
          if (own + u * block.threads() < listed && !(limit < x[u])) mask |= 1u << u;
        keep(mask, [&](int b) { return list[own + b * block.threads()]; });
      }
    }

    /// Keeps the keys of a tile for which there is a bit, if the limit does not exclude them meanwhile.
    template <class Key>
    PMPP_HOST_DEVICE void keep(unsigned mask, const Key& key_of) {
      constexpr int at_once = 2;
      while (block.sync_or(mask != 0)) {
        unsigned at = mask != 0 ? simt::atomic_add(&memory.count, static_cast<unsigned>(simt::count_bits(mask))) : 0u;
        while (mask != 0 && at < static_cast<unsigned>(room)) {
          key x[at_once]{};  // loads at a time
          unsigned rest = mask;
          for (int u = 0; u < at_once; ++u, rest &= rest - 1)
            if (rest != 0) x[u] = key_of(simt::trailing_zeros(rest));
          for (int u = 0; u < at_once; ++u)
            if (mask != 0 && at < static_cast<unsigned>(room)) {
              slots[at++] = x[u];
              mask &= mask - 1;
            }
        }
        block.sync();
        if (memory.count < static_cast<unsigned>(room)) continue;
        make_room();
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (unsigned rest = gathers() ? 0u : mask; rest != 0; rest &= rest - 1)
          if (limit < key_of(simt::trailing_zeros(rest))) mask ^= rest & (~rest + 1);
      }
    }
    PMPP_HOST_DEVICE void make_room() {
      if (gathers()) return write_to_list();
      slots.sort(block, room);
      limit = slots[k - 1];
      if (block.thread() == 0) memory.count = static_cast<unsigned>(k);
    }
    /// Appends the keys to the list of the row, or of all.
    PMPP_HOST_DEVICE void write_to_list() {
      const auto count = static_cast<int>(min(memory.count, static_cast<unsigned>(room)));
      block.sync();  // all have read the count
      if (block.thread() == 0) {
        const std::int64_t of_row = simt::atomic_add(&a.found[unit.slot], std::int64_t(count));
        memory.base = gathers() ? simt::atomic_add(&a.found[a.rows.size()], std::int64_t(count))
                                : unit.first * a.part_room + of_row;
        memory.row = gathers() ? unit.row << a.place_bits : 0;
        memory.count = 0;
      }
      block.sync();
      for (int i = block.thread(); i < count; i += block.threads()) {
        const key x = slots[i];
        a.list.set(memory.base + i, keys::make(keys::code_of(x), keys::place_of(x) + memory.row));
      }
    }
  };
};

/// The first number of each row.
template <class Source, class Rows, class Output, top_k_tuning Tuning>
struct first_key_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads, min_blocks = Tuning.blocks,
                       loads = max(1, min(Tuning.loads, 32 / Source::items));

  struct shared {
    key of_warp[threads / simt::warp_size];
    bool last;
  };
  struct arguments {
    Source source;
    Rows rows;
    divisor parts;          ///< blocks of a row
    key_list<keys> firsts;  ///< of the parts
    unsigned* arrived;
    Output output;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t units = a.rows.units(a.parts);
    for (std::int64_t unit = block.index(); unit < units; unit += block.count()) {
      const row_part own = a.rows.unit(unit, a.parts);
      if (a.rows.leaves(block, own.row)) continue;
      const std::int64_t begin = a.rows.begin(own.row), end = a.rows.end(own.row);
      auto best = static_cast<typename keys::code>(~typename keys::code(0));
      std::int64_t place = begin;  // where no code is less than that, the first element is the first
      a.source.template for_each_tile<loads, false>(
          block, begin, end, own.part, own.parts, [] { return keys::code_of(keys::last()); },
          [&](auto code, std::int64_t i) {
            place = code < best ? i : place;
            best = min(code, best);
            return false;
          },
          [](unsigned, const auto&) {});
      // The beginning of a row that lies within a vector is visited after whole vectors: of equals it is the first.
      if (block.thread() == 0 && own.part == 0 && (begin - a.source.lead) % Source::items != 0)
        for (std::int64_t i = min(end, begin + Source::items) - 1; i >= begin; --i)
          if (a.source.code(i) == best) place = i;
      key first = least_of_block(block, memory, keys::make(best, place - begin));
      if (own.parts > 1) {
        if (block.thread() == 0) a.firsts.set(own.first + own.part, first);
        if (!block::is_last_block(block, &a.arrived[own.slot], own.parts, memory.last)) continue;
        first = keys::last();
        for (int p = block.thread(); p < own.parts; p += block.threads()) {
          const key x = a.firsts[own.first + p];
          if (x < first) first = x;
        }
        first = least_of_block(block, memory, first);
      }
      if (block.thread() == 0 && begin < end) a.output.put(own.row, 0, first, 0);
    }
    a.rows.finish(block, memory.last);
  }

private:
  /// In thread 0.
  template <class Block>
  PMPP_HOST_DEVICE static key least_of_block(Block& block, shared& memory, key x) {
    const auto of_warp = [&] {
      for (int other = simt::warp_size / 2; other > 0; other /= 2) {
        const key y = block.shuffle_xor(x, other);
        if (y < x) x = y;
      }
    };
    of_warp();
    block.sync();
    if (block.lane() == 0) memory.of_warp[block.warp()] = x;
    block.sync();
    if (block.warp() == 0) {
      x = block.lane() < block.warps() ? memory.of_warp[block.lane()] : keys::last();
      of_warp();
    }
    return x;
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
