// SPDX-License-Identifier: Apache-2.0
//
// How histogram.hpp works: tuning, the kernel, the host path.
//
//   1. Warps read rows: 32 lanes times one 16-byte vector. All warps of all blocks sweep the data together; while a warp
//      counts some rows, the next ones are on their way.
//   2. A block of 1024 threads counts in shared memory, of which it takes as much as a multiprocessor has. How, depends
//      on the samples and on the number of bins B:
//        bytes   samples of one byte. Counts their 256 values, whatever B is, and asks for a value's bin at the end. Each
//                lane has a column of the table to itself, so that lanes never meet in a bank: [value][lane].
//        bins    B up to the table's 56,000 counters: one table a block. Above, up to most_ranges times as many: blocks
//                take turns, each counts one range of the bins and ignores the others; the blocks that share a part of
//                the data run side by side, so that all but one find it in the L2 cache.
//        cache   more bins: counted in global memory, but for those that a block met first, or in a few thousand samples
//                spread over the data. Those have a place in a hash table in shared memory: a bin that holds much of the
//                data is not counted in global memory.
//      Adding the literal 1 matters: lanes of a warp that add it to one address do so in one step. So data that are all
//      alike are no slower than any other (31 additions a clock and multiprocessor; random bins 10; columns 14).
//   3. Each block adds its counts to the result, atomically. Counters of a few KB collect in zeroed state: the block that
//      finishes last moves them to the output and leaves the state zero. Larger ones are cleared by a kernel before.
//
// The rates that the choice rests on, H100, samples of 4 bytes in units of a clock and multiprocessor: memory delivers
// 3.2; shared memory takes 10, or 3 ranges of it; global memory 0.34 (0.27 over 64 KB, 0.005 into one address).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/histogram/bins.hpp>
#include <pmpp/host/histogram.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct histogram_tuning {
  int threads = 1024;          ///< of a block; one block a multiprocessor
  int rows = 3;                ///< loads of 16 bytes that a thread has under way while it counts as many
  int shared_bytes = 1 << 20;  ///< that a block takes at most; the device's limit if that is less
  int most_ranges = 12;        ///< times that bins may exceed the counters of a block before they go to global memory
  int cached_bins = 8192;      ///< places for them in shared memory; a power of two
  int value_bytes = 1 << 17;   ///< of a block's counters of samples of one byte, at most

  /// The same where a block has 48 KB.
  constexpr histogram_tuning least() const {
    histogram_tuning t = *this;
    t.cached_bins = min(cached_bins, 2048);
    t.value_bytes = min(value_bytes, 40 * 1024);
    return t;
  }
};

namespace detail {

/// How a block counts.
enum class histogram_table { bytes, bins, cache };

/// Counters in global memory: those of the bins, channel by channel, then how many samples of each channel have none.
template <class Count>
struct bin_counters {
  Count* counts;
  std::uint64_t* rejected;  ///< nullptr: not wanted
  std::uint32_t slots;      ///< bins of all channels

  PMPP_HOST_DEVICE void add(std::uint32_t slot, std::uint32_t n) const {
    if (slot < slots)
      simt::add_global(counts + slot, static_cast<Count>(n));
    else if (rejected != nullptr)
      simt::add_global(rejected + (slot - slots), std::uint64_t(n));
  }
};

/// Interleaved samples: of every Channels samples the first Active are counted, each in bins of its own.
template <int Channels, int Active>
struct interleaved {
  static constexpr int channels = Channels, active = Active;

  /// Where a sample is counted that its binning put into `bin`.
  PMPP_HOST_DEVICE static std::uint32_t slot(std::uint32_t bin, std::uint32_t bins, int channel) {
    if constexpr (Active == 1) return bin;
    return bin < bins ? channel * bins + bin : Active * bins + channel;
  }
};

template <class T>
PMPP_HOST_DEVICE std::uint8_t byte_of(const T& x) {
  static_assert(sizeof(T) == 1);
  return __builtin_bit_cast(std::uint8_t, x);
}

/// Empties counters.
template <class Count, int Active>
struct clear_counters_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, each = 8;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const bin_counters<Count>& to) const {
    simt::previous_kernels_done();
    const std::int64_t first = block.index() * (threads * each) + block.thread();
    for (int u = 0; u < each; ++u)
      if (first + u * threads < to.slots) to.counts[first + u * threads] = 0;
    if (to.rejected != nullptr && block.index() == 0 && block.thread() < Active) to.rejected[block.thread()] = 0;
  }
};

template <class In, class Binning, class Count, class Layers, histogram_table Table, int Items, histogram_tuning Tuning>
struct histogram_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes;
  static_assert(threads % lanes == 0 && is_power_of_two(Tuning.cached_bins));
  static constexpr int channels = Layers::channels, active = Layers::active;
  using T = value_of<In>;
  using raw = block::raw_items<In, Items>;
  static constexpr int rows = max(1, Tuning.rows * 16 / max(16, int(sizeof(raw))));
  /// Of the table of byte values: as many as leave it 96 KB, or what the tuning says.
  static constexpr int columns = [] {
    int n = active <= 3 ? lanes : active <= 6 ? lanes / 2 : lanes / 4;
    while (n > 1 && 1024 * active * n > Tuning.value_bytes) n /= 2;
    return n;
  }();

  struct shared {
    bool finished_last;
  };
  struct arguments {
    In in;
    item_count count;
    std::int64_t lead;
    Binning binning;
    std::uint32_t counters;  ///< of a block's table: values and columns, or bins of a range, or places
    divisor ranges;
    bin_counters<Count> sum;     ///< where blocks add their counts
    bin_counters<Count> output;  ///< where the last one moves them
    unsigned* finished;          ///< zero; counts blocks that have added theirs; nullptr: they stay where they are
  };

  /// Bytes of the block's table: counters (and one for the bins of other ranges), in front of what the binning keeps in
  /// shared memory.
  PMPP_HOST_DEVICE static constexpr std::size_t table_bytes(std::uint32_t counters) {
    const std::uint32_t words = Table == histogram_table::cache  ? 2 * counters
                                : Table == histogram_table::bins ? round_up(spread(counters) + 1, std::uint32_t(lanes))
                                                                 : counters;
    return words * sizeof(std::uint32_t);
  }
  /// The place of counter i in the table: a word is left out after each 32 and each 1024, so that bins whose numbers differ by
  /// these times something are in different banks. Two instructions, where each sample has some 20 in all.
  PMPP_HOST_DEVICE static constexpr std::uint32_t spread(std::uint32_t i) { return i + (i >> 5) + (i >> 10); }
  /// How many counters so many bytes have room for.
  static constexpr std::uint32_t counters_in(std::size_t bytes) {
    const std::size_t words = bytes / sizeof(std::uint32_t) / lanes * lanes;
    return words == 0 ? 0 : static_cast<std::uint32_t>((words - 1) * 1024 / (1024 + 32 + 1) / lanes * lanes);
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const block::layout<Items> data(a.count.get(), a.lead);
    const auto index = static_cast<std::uint32_t>(block.index());
    const std::uint32_t part = a.ranges.quotient(index), range = index - part * a.ranges.value();
    const std::int64_t parts = a.ranges.quotient(static_cast<std::uint32_t>(block.count()));
    const rows_of_warp where{(block.warp() * parts + part) * lanes, parts * warps * lanes, data.vectors};

    raw x[rows]{};
    load(block, a, data, where, x);
    auto* table = reinterpret_cast<std::uint32_t*>(block.dynamic_shared());
    const int words = static_cast<int>(table_bytes(a.counters) / 4);
    for (int i = block.thread(); i < words; i += threads) table[i] = 0;
    const auto& bin_of = a.binning.ready(block, block.dynamic_shared() + table_bytes(a.counters));
    block.sync();

    const counting<std::remove_cvref_t<decltype(bin_of)>> count{
        bin_of, table, a.sum, a.counters, range * a.counters, block.lane() % columns};
    if constexpr (Table == histogram_table::cache) reserve_places(block, count, a);
    for (rows_of_warp here = where; here.first < here.end;) {
      const rows_of_warp next = here.next();
      raw y[rows]{};
      load(block, a, data, next, y);
      if (here.complete())
        add_rows<true>(block, count, a, data, here, x);
      else
        add_rows<false>(block, count, a, data, here, x);
      for (int r = 0; r < rows; ++r) x[r] = y[r];
      here = next;
    }
    if (part == 0 && block.warp() == 0) {
      if (block.lane() < data.lead) add_element(count, a, block.lane());
      const std::int64_t i = data.tail() + block.lane();
      if (i < a.count.get()) add_element(count, a, i);
    }
    block.sync();
    add_to_sum(block, a, table, range, bin_of);
    if (a.finished != nullptr) move_sum(block, memory, a);
  }

private:
  /// The rows that a warp has under way: their first vectors are first, first + stride ...
  struct rows_of_warp {
    std::int64_t first, stride, end;

    PMPP_HOST_DEVICE rows_of_warp next() const { return {first + rows * stride, stride, end}; }
    PMPP_HOST_DEVICE bool complete() const { return first + (rows - 1) * stride + lanes <= end; }
    template <bool Complete>
    PMPP_HOST_DEVICE bool has(int r, int lane) const {
      return Complete || first + r * stride + lane < end;
    }
  };

  /// Issues the loads of rows, as far as these exist.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const block::layout<Items>& data,
                                    const rows_of_warp& from, raw (&x)[rows]) {
    if (from.complete())
      load_rows<true>(block, a, data, from, x);
    else
      load_rows<false>(block, a, data, from, x);
  }
  template <bool Complete, class Block>
  PMPP_HOST_DEVICE static void load_rows(Block& block, const arguments& a, const block::layout<Items>& data,
                                         const rows_of_warp& from, raw (&x)[rows]) {
    for (int r = 0; r < rows; ++r)
      if (from.template has<Complete>(r, block.lane()))
        x[r] = block::access<In>::template load<Items>(a.in, data.element(from.first + r * from.stride + block.lane()));
  }

  /// Counts samples.
  template <class BinOf>
  struct counting {
    const BinOf& bin_of;
    std::uint32_t* table;
    const bin_counters<Count>& sum;
    std::uint32_t counters, first;  ///< of this block's range
    int column;

    PMPP_HOST_DEVICE void operator()(const T& x, int channel) const {
      if constexpr (Table == histogram_table::bytes) {
        simt::atomic_add(table + channel * 256 * columns + column + byte_of(x) * columns, 1u);
      } else {
        add(bin_of(x), channel);
      }
    }
    /// Counts a sample whose bin is known.
    PMPP_HOST_DEVICE void add(std::uint32_t bin, int channel) const {
      const std::uint32_t slot = Layers::slot(bin, bin_of.bins, channel);
      if constexpr (Table == histogram_table::bins) {
        simt::atomic_add(table + spread(min(slot - first, counters)), 1u);
      } else if (std::uint32_t* place = place_of(slot); place != nullptr) {
        simt::atomic_add(place + Tuning.cached_bins, 1u);
      } else {
        sum.add(slot, 1);
      }
    }

    /// The place of a bin in the hash table, nullptr if it has none. Places hold slot + 1, and 0 while they are free;
    /// whoever comes first keeps a place.
    PMPP_HOST_DEVICE std::uint32_t* place_of(std::uint32_t slot) const {
      std::uint32_t* place = table + (slot * 0x9e3779b1u >> (32 - floor_log2(Tuning.cached_bins)));
      std::uint32_t tenant = simt::load(place);
      if (tenant == 0) tenant = simt::atomic_compare_exchange(place, 0u, slot + 1);
      return tenant == 0 || tenant == slot + 1 ? place : nullptr;
    }
    /// Gives a place to the bin of a sample, without counting it.
    PMPP_HOST_DEVICE void reserve(const T& x, int channel) const {
      place_of(Layers::slot(bin_of(x), bin_of.bins, channel));
    }
  };

  /// Gives places to the bins of samples spread over the data: wherever a bin is frequent, it is among them.
  template <class Block, class Counting>
  PMPP_HOST_DEVICE static void reserve_places(Block& block, const Counting& count, const arguments& a) {
    constexpr int spread = Tuning.cached_bins / 2;
    const std::int64_t step = a.count.get() / spread;
    for (std::int64_t k = block.thread(); k < spread && step > 0; k += threads) {
      const auto channel = static_cast<int>(k * step % channels);
      if (channel < active) count.reserve(static_cast<T>(a.in[k * step]), channel);
    }
  }

  /// i % channels, in 32-bit steps: a fifth of the instructions of the 64-bit remainder.
  PMPP_HOST_DEVICE static int channel_of(std::int64_t i) {
    constexpr auto carried = static_cast<std::uint32_t>((std::uint64_t(1) << 32) % channels);
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) >> 32) % channels;
    return static_cast<int>((high * carried + static_cast<std::uint32_t>(i) % channels) % channels);
  }

  template <bool Complete, class Block, class Counting>
  PMPP_HOST_DEVICE static void add_rows(Block& block, const Counting& count, const arguments& a,
                                        const block::layout<Items>& data, const rows_of_warp& from,
                                        const raw (&x)[rows]) {
    for (int r = 0; r < rows; ++r)
      if (from.template has<Complete>(r, block.lane()))
        add_vector(count, a, x[r], data.element(from.first + r * from.stride + block.lane()));
  }
  template <class Counting>
  PMPP_HOST_DEVICE static void add_vector(const Counting& count, const arguments& a, const raw& x,
                                          std::int64_t element) {
    int channel[channels];  // of item k: channel[k % channels]
    channel[0] = channel_of(element);
    for (int c = 1; c < channels; ++c) channel[c] = channel[c - 1] + 1 < channels ? channel[c - 1] + 1 : 0;
    const auto is_active = [&](int k) { return active == channels || channel[k % channels] < active; };
    if constexpr (Table != histogram_table::bytes && std::remove_cvref_t<decltype(count.bin_of)>::side_by_side) {
      T value[Items];
      std::uint32_t bin[Items];
      for (int k = 0; k < Items; ++k) value[k] = block::access<In>::value(a.in, x, k);
      count.bin_of.all(value, bin);
      for (int k = 0; k < Items; ++k)
        if (is_active(k)) count.add(bin[k], channel[k % channels]);
    } else {
      for (int k = 0; k < Items; ++k)
        if (is_active(k)) count(block::access<In>::value(a.in, x, k), channel[k % channels]);
    }
  }
  template <class Counting>
  PMPP_HOST_DEVICE static void add_element(const Counting& count, const arguments& a, std::int64_t i) {
    const int channel = channel_of(i);
    if (channel < active) count(static_cast<T>(a.in[i]), channel);
  }

  /// Adds what the block has counted to the sum.
  template <class Block, class BinOf>
  PMPP_HOST_DEVICE static void add_to_sum(Block& block, const arguments& a, std::uint32_t* table, std::uint32_t range,
                                          const BinOf& bin_of) {
    if constexpr (Table == histogram_table::bytes) {
      add_values(block, a, table, bin_of);
    } else {
      for (std::uint32_t i = block.thread(); i < a.counters; i += threads) {
        if constexpr (Table == histogram_table::bins) {
          if (const std::uint32_t n = table[spread(i)]; n != 0) a.sum.add(range * a.counters + i, n);
        } else {
          if (table[i + Tuning.cached_bins] != 0) a.sum.add(table[i] - 1, table[i + Tuning.cached_bins]);
        }
      }
    }
  }
  /// Where bins are fewer than values, those of one bin are joined in shared memory first: global memory adds to one address
  /// slowly.
  template <class Block, class BinOf>
  PMPP_HOST_DEVICE static void add_values(Block& block, const arguments& a, std::uint32_t* table, const BinOf& bin_of) {
    constexpr int values = 256 * active, rounds = ceil_div(values, threads);
    std::uint32_t n[rounds]{};
    for (int r = 0; r < rounds; ++r)
      if (const int i = r * threads + block.thread(); i < values)
        for (int c = 0; c < columns; ++c) n[r] += table[i * columns + (block.lane() + c) % columns];  // in 32 banks
    const std::uint32_t slots = a.sum.slots + active;
    const bool join = slots <= values;
    if (join) {
      block.sync();
      for (std::uint32_t i = block.thread(); i < slots; i += threads) table[i] = 0;
      block.sync();
    }
    for (int r = 0; r < rounds; ++r) {
      if (n[r] == 0) continue;  // bin_of sees values that occur, no others
      const int i = r * threads + block.thread();
      const T value = __builtin_bit_cast(T, static_cast<std::uint8_t>(i));
      const std::uint32_t slot = Layers::slot(bin_of(value), bin_of.bins, i / 256);
      if (join)
        simt::atomic_add(table + slot, n[r]);
      else
        a.sum.add(slot, n[r]);
    }
    if (!join) return;
    block.sync();
    for (std::uint32_t i = block.thread(); i < slots; i += threads)
      if (table[i] != 0) a.sum.add(i, table[i]);
  }

  /// The block that comes here last moves the sum to the output and leaves zeros, for the next launch.
  template <class Block>
  PMPP_HOST_DEVICE static void move_sum(Block& block, shared& memory, const arguments& a) {
    if (!block::is_last_block(block, a.finished, block.count(), memory.finished_last)) return;
    for (std::uint32_t i = block.thread(); i < a.sum.slots; i += threads) {
      a.output.counts[i] = simt::load(a.sum.counts + i);
      simt::store(a.sum.counts + i, Count(0));
    }
    if (a.sum.rejected != nullptr && block.thread() < active) {
      a.output.rejected[block.thread()] = simt::load(a.sum.rejected + block.thread());
      simt::store(a.sum.rejected + block.thread(), std::uint64_t(0));
    }
  }
};

/// Enqueues the histogram on a GPU or runs it in the emulator.
template <histogram_tuning Tuning, class Layers, class P, class In, class Binning, class Count>
void histogram_by_tables(const P& where, const input<In>& in, Binning binning, const bin_counters<Count>& output,
                         bool accumulate) {
  detail::check_reachable(where, "histogram", zip_iterator{in.first, output.counts});
  const machine& on = machine_of(where);
  constexpr std::size_t ticket_bytes = 16, rejected_bytes = sizeof(std::uint64_t) * Layers::active;
  const std::size_t state_bytes = ticket_bytes + rejected_bytes + sizeof(Count) * output.slots;
  const bool through_state = !accumulate && state_bytes <= usual_state;
  using clear = clear_counters_kernel<Count, Layers::active>;
  if (!accumulate && !through_state)
    launch(where, ceil_div<std::int64_t>(output.slots, clear::threads * clear::each), clear{}, output);
  const scratch memory(where, 0, through_state ? state_bytes : 0);
  auto* state = reinterpret_cast<std::byte*>(memory.state());
  bin_counters<Count> sum = output;
  if (through_state) {
    sum.counts = reinterpret_cast<Count*>(state + ticket_bytes + rejected_bytes);
    if (output.rejected != nullptr) sum.rejected = reinterpret_cast<std::uint64_t*>(state + ticket_bytes);
  }

  const std::size_t room = min(on.room_after(1), std::size_t(Tuning.shared_bytes) - 64);  // less what the kernel has
  constexpr std::size_t cached_bytes = 2 * sizeof(std::uint32_t) * std::size_t(Tuning.cached_bins);
  if constexpr (requires { binning.plant(room); }) binning.plant(min(room / 2, room - min(room, cached_bytes)));
  const std::uint32_t slots = output.slots + Layers::active;

  block::with_access(in.first, [&](auto items, std::int64_t lead) {
    const auto start = [&](auto kernel, std::uint32_t counters, std::uint32_t ranges) {
      using K = decltype(kernel);
      // A block gets at least eight rows, and counts less than 2^32 samples.
      const std::int64_t vectors = ceil_div<std::int64_t>(in.count.bound, items), one = 1;
      const std::int64_t most = max<std::int64_t>(on.multiprocessors / ranges, one);
      const std::int64_t parts = max(max(min(most, ceil_div<std::int64_t>(vectors, 8 * K::lanes)), one),
                                     ceil_div(in.count.bound, std::int64_t(1) << 31));
      const grid shape{parts * ranges, K::threads, K::table_bytes(counters) + binning.shared_bytes()};
      launch_kernel<K::threads>(where, shape, kernel,
                                typename K::arguments{in.first, in.count, lead, binning, counters, divisor(ranges), sum,
                                                      output, through_state ? memory.state() : nullptr});
    };
    if constexpr (sizeof(value_of<In>) == 1) {
      using kernel = histogram_kernel<In, Binning, Count, Layers, histogram_table::bytes, items, Tuning>;
      start(kernel{}, 256 * Layers::active * kernel::columns, 1);
    } else {
      using kernel = histogram_kernel<In, Binning, Count, Layers, histogram_table::bins, items, Tuning>;
      const std::uint32_t most = kernel::counters_in(room - binning.shared_bytes()), ranges = ceil_div(slots, most);
      if (ranges <= unsigned(Tuning.most_ranges))
        start(kernel{}, round_up(ceil_div(slots, ranges), std::uint32_t(kernel::lanes)), ranges);
      else
        start(histogram_kernel<In, Binning, Count, Layers, histogram_table::cache, items, Tuning>{}, Tuning.cached_bins,
              1);
    }
  });
}

/// The same with tables that fit the machine.
template <histogram_tuning Tuning, class Layers, class P, class In, class Binning, class Count>
void histogram_on_blocks(const P& where, const input<In>& in, const Binning& binning, const bin_counters<Count>& output,
                         bool accumulate) {
  constexpr auto bytes_of = [](auto tuning) {
    using values = histogram_kernel<In, Binning, Count, Layers, histogram_table::bytes, 1, decltype(tuning)::value>;
    return sizeof(value_of<In>) == 1 ? std::size_t(1024) * (Layers::active * values::columns + 1)
                                     : std::size_t(8) * (decltype(tuning)::value.cached_bins + 128);
  };
  with_fitting_tuning<histogram_tuning, Tuning, Tuning.least()>(
      "histogram", sizeof(value_of<In>), where, bytes_of, [&](auto tuning) {
        histogram_by_tables<decltype(tuning)::value, Layers>(where, in, binning, output, accumulate);
      });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
