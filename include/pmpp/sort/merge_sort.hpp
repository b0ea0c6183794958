// SPDX-License-Identifier: Apache-2.0
//
// Merge sort, by comparators.
//
//   1. Each block sorts a tile of up to 8704 elements in shared memory (block/sort.hpp).
//   2. Passes make one run of two, of four where inputs are long (block/merge_runs.hpp), from the data to scratch and back,
//      so that the last one ends in the data. Where the tiles of a pass of four begin in their runs a small kernel finds.
//
// Short inputs: smaller tiles, of which one launch makes one sequence (rank_runs_kernel).
//
// What fits into a tile takes one launch in all. Traffic: 2n elements for the tiles and 2n for each pass.
// (PMPP ch. 12 and 13. Passes of four halve the traffic of the book's; Batcher's networks are not stable.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Tiles of a merge sort.
struct sort_tiles_tuning {
  int threads = 512;            ///< of a block, at most
  int bytes = 64;               ///< of a thread's elements, more for wide ones: 17 of 4 bytes, 11 of 8, 9 of 12
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time: three blocks of 40 registers a thread
};

/// Passes of a merge sort.
struct merge_runs_tuning {
  int threads = 128;            ///< of a block, at most
  int bytes = 64;               ///< of a thread's elements, more for wide ones
  int four_bytes = 100;         ///< the same of four runs: with 64 the pipe of shared memory was busy for 86 %
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time
  std::int64_t four_way_from = std::int64_t(1) << 24;  ///< elements: by fours 2^24 take 737 (872), 2^27 4725 (7038)
};

/// Two launches of a merge sort where inputs are short: small tiles, and all their elements ranked at once.
struct rank_runs_tuning {
  int threads = 512;                                ///< of a block that sorts a tile
  int bytes = 44;                                   ///< of a thread's elements there
  std::int64_t rank_limit = std::int64_t(1) << 16;  ///< elements: 2^16 take 29.9 (45.6), by passes 2^17 48.7 (55.6)
};

/// How elements are sorted by comparators. Figures as in sort_tuning.
struct merge_sort_tuning {
  sort_tiles_tuning tiles{};
  merge_runs_tuning passes{};
  rank_runs_tuning ranks{};

  /// The same where a block has 48 KB.
  constexpr merge_sort_tuning least() const {
    merge_sort_tuning t = *this;
    t.tiles.block_bytes = min(tiles.block_bytes, 40 * 1024);
    t.passes.block_bytes = min(passes.block_bytes, 40 * 1024);
    return t;
  }
};

namespace detail {

/// Threads of a block, fewer where elements are so large that they would not fit.
constexpr int sort_threads(int threads, int bytes_of_thread, int most_bytes) {
  while (threads > simt::warp_size && threads * bytes_of_thread > most_bytes) threads /= 2;
  return threads;
}

template <class T, class In, class Out, class Comp, sort_tiles_tuning Tuning>
struct sort_tiles_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int items = block::odd_items(Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.block_bytes),
                       min_blocks = min(32, max(1, Tuning.resident / threads / (items * int(sizeof(T)) > 136 ? 2 : 1)));
  using memory_of_block = block::sort_memory<T, threads, items>;
  static constexpr int tile = memory_of_block::tile;  ///< of a block of all threads

  struct shared {
    memory_of_block of_block;
  };
  static constexpr std::size_t shared_bytes(int block_threads) { return memory_of_block::bytes_for(block_threads); }
  struct arguments {
    block::staged_input<In> source;
    Out out;
    item_count count;
    Comp comp;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    block::staged_input<In> source = a.source;
    if (a.count.pointer != nullptr) source.count = a.count.get();
    const std::int64_t size = std::int64_t(block.threads()) * items, first = block.index() * size;
    const int count = static_cast<int>(min(size, source.count - first));
    if (count <= 0) return;
    T* const slots = memory.of_block.slots();
    source.in_words &= source.shift == 0;  // else the vectors of memory would not be vectors in shared memory
    block::copy_part(block, source, first, count, slots, 0);
    simt::copy_async_commit();
    simt::copy_async_wait<0>();
    block.sync();
    block::sort(block, memory.of_block, count, a.comp);
    block::detail::write_rows<memory_of_block, items>(block, slots, block.warp() * simt::warp_size * items, count,
                                                      a.out, first);
  }
};

/// Where the tiles of a pass of four lie in their runs.
using four_cuts = block::run_cut<4>;

template <class T, class In, class Comp>
struct cut_runs_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 64;

  struct arguments {
    block::sorted_runs<4, In> runs;
    item_count count;
    int tile;
    divisor tiles_of_group;
    unsigned tiles;
    Comp comp;
    four_cuts* cuts;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    block::sorted_runs<4, In> runs = a.runs;
    if (a.count.pointer != nullptr) runs.source.count = a.count.get();
    const unsigned tile = static_cast<unsigned>(block.index()) * (threads / 4) + unsigned(block.thread()) / 4,
                   group = a.tiles_of_group.quotient(tile), in_group = tile - group * a.tiles_of_group.value();
    const std::int64_t diagonal = min(std::int64_t(in_group) * a.tile, runs.count_of(group));
    const std::int64_t place = runs.run <= 1 << 28
                                   ? block::cut_four<T, int>(block, runs, group, diagonal, a.comp)
                                   : block::cut_four<T, std::int64_t>(block, runs, group, diagonal, a.comp);
    if (tile < a.tiles) a.cuts[tile].place[block.thread() % 4] = place;
  }
};

/// Merges elements [first, end) of what two runs of a group become: two warps find where that begins and ends in them.
template <class Block, class Memory, class In, class Out, class Comp>
PMPP_HOST_DEVICE void merge_two_runs(Block& block, Memory& memory, const block::sorted_runs<2, In>& runs,
                                     std::int64_t group, std::int64_t first, std::int64_t end, const Out& out,
                                     const Comp& comp) {
  for (int w = block.warp(); w < 2; w += block.warps()) {
    const std::int64_t diagonal = w == 0 ? first : end;
    auto& cut = w == 0 ? memory.begin : memory.end;
    if (runs.run <= 1 << 28)
      block::cut_two<int>(block, runs, group, diagonal, comp, cut);
    else
      block::cut_two<std::int64_t>(block, runs, group, diagonal, comp, cut);
  }
  block.sync();
  block::merge_runs(block, memory, runs, group, static_cast<int>(end - first), out, runs.first_of(group) + first, comp);
}
/// Of four runs: `cut` says where element `first` lies in them, `next` where element `end` does, unless that is the last.
template <class Block, class Memory, class In, class Out, class Comp>
PMPP_HOST_DEVICE void merge_four_runs(Block& block, Memory& memory, const block::sorted_runs<4, In>& runs,
                                      std::int64_t group, std::int64_t first, std::int64_t end, const four_cuts& cut,
                                      const four_cuts& next, const Out& out, const Comp& comp) {
  if (const int q = block.thread(); q < 4) {
    memory.begin.place[q] = cut.place[q];
    memory.end.place[q] = end == runs.count_of(group) ? runs.length(group, q) : next.place[q];
  }
  block.sync();
  block::merge_runs(block, memory, runs, group, static_cast<int>(end - first), out, runs.first_of(group) + first, comp);
}

template <int Ways, class T, class In, class Out, class Comp, merge_runs_tuning Tuning>
struct merge_runs_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int items = block::odd_items(Ways == 4 ? Tuning.four_bytes : Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.block_bytes),
                       min_blocks =
                           min(32, max(1, block::resident_threads(Tuning.resident, items*int(sizeof(T))) / threads));
  using shared = block::merge_runs_memory<T, threads, items, Ways>;
  static constexpr std::int64_t tile = shared::tile;

  struct arguments {
    block::sorted_runs<Ways, In> runs;
    Out out;
    item_count count;
    divisor tiles_of_group;
    Comp comp;
    const four_cuts* cuts;  ///< of four runs
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    block::sorted_runs<Ways, In> runs = a.runs;
    if (a.count.pointer != nullptr) runs.source.count = a.count.get();
    const auto index = static_cast<unsigned>(block.index());
    const unsigned group = a.tiles_of_group.quotient(index), in_group = index - group * a.tiles_of_group.value();
    const std::int64_t all = runs.count_of(group), begin = in_group * tile;
    if (begin >= all) return;
    const std::int64_t end = min(begin + tile, all);
    if constexpr (Ways == 2)
      detail::merge_two_runs(block, memory, runs, group, begin, end, a.out, a.comp);
    else
      detail::merge_four_runs(block, memory, runs, group, begin, end, a.cuts[block.index()], a.cuts[block.index() + 1],
                              a.out, a.comp);
  }
};

/// Enqueues a pass: `Ways` runs of `run` elements become one.
template <int Ways, merge_runs_tuning Tuning, class T, class P, class In, class Out, class Comp>
void merge_runs(const P& where, const In& in, const Out& out, const item_count& count, std::int64_t run,
                const Comp& comp, four_cuts* cuts) {
  using kernel = merge_runs_kernel<Ways, T, In, Out, Comp, Tuning>;
  static_assert(sizeof(typename kernel::shared) <= 227 * 1024,
                "pmpp: elements of more than about 450 bytes cannot be sorted");
  constexpr std::int64_t tile = kernel::tile;
  const std::int64_t tiles_of_group = ceil_div(Ways * run, tile);
  const block::sorted_runs<Ways, In> runs{block::staged_input<In>(in, count.bound), run};
  const std::int64_t groups = ceil_div(count.bound, Ways * run);
  const std::int64_t tiles = (groups - 1) * tiles_of_group + ceil_div(count.bound - (groups - 1) * Ways * run, tile);
  if constexpr (Ways == 4) {
    using cut = cut_runs_kernel<T, In, Comp>;
    pmpp::launch(where, ceil_div(tiles, std::int64_t(cut::threads / 4)), cut{},
                 typename cut::arguments{runs, count, int(tile), divisor(tiles_of_group), static_cast<unsigned>(tiles),
                                         comp, cuts});
  }
  pmpp::launch(where, tiles, kernel{},
               typename kernel::arguments{runs, out, count, divisor(tiles_of_group), comp, cuts});
}

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same.
template <merge_sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
void merge_sort_on_blocks(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using to_data = sort_tiles_kernel<T, In, Data, Comp, Tuning.tiles>;
  using to_other = sort_tiles_kernel<T, In, Other, Comp, Tuning.tiles>;
  using fours = merge_runs_kernel<4, T, Data, Other, Comp, Tuning.passes>;
  const std::int64_t n = count.bound;
  const machine& m = machine_of(where);
  int threads = threads_that_fit<to_data>("sort", sizeof(T), m, to_data::threads);
  std::int64_t run = std::int64_t(threads) * to_data::items;
  if (n > run && n < run * m.multiprocessors / 2) {  // half of the multiprocessors would have nothing to do
    threads = max(threads / 2, simt::warp_size);
    run = std::int64_t(threads) * to_data::items;
  }
  int doublings = 0;  // from a tile to n
  while (run << doublings < n) ++doublings;
  const bool by_fours = n >= Tuning.passes.four_way_from;
  int passes = by_fours ? ceil_div(doublings, 2) : doublings;
  // Every group of a pass of four may end with part of a tile.
  const std::int64_t others = passes > 0 ? n : 0,
                     cuts = by_fours && doublings > 1 ? ceil_div(n, fours::tile) + ceil_div(n, 4 * run) + 1 : 0;
  scratch memory(where, scratch_bytes({home::bytes(others), checked_bytes(cuts, sizeof(four_cuts), "sort")}), 0);
  const Other other = home::of(memory, others);
  four_cuts* const cut = memory.take<four_cuts>(cuts);

  const std::int64_t tiles = ceil_div(n, run);
  const block::staged_input<In> source(in, n);
  if (passes % 2 == 0)
    pmpp::launch(where, tiles, threads, to_data{}, typename to_data::arguments{source, data, count, comp});
  else
    pmpp::launch(where, tiles, threads, to_other{}, typename to_other::arguments{source, other, count, comp});
  for (; passes > 0; --passes) {
    const auto pass = [&](const auto& from, const auto& to) {
      if (by_fours && doublings >= 2) {
        merge_runs<4, Tuning.passes, T>(where, from, to, count, run, comp, cut);
        run *= 4;
        doublings -= 2;
      } else {
        merge_runs<2, Tuning.passes, T>(where, from, to, count, run, comp, cut);
        run *= 2;
        doublings -= 1;
      }
    };
    if (passes % 2 == 0)
      pass(data, other);
    else
      pass(other, data);
  }
}

/// Makes one sequence of some sorted runs at once: an element's place is the one in its own run, and how many elements of
/// each other run precede it. A block finds the places of some neighbours, a warp those in a run: first it looks for the first
/// and the last of them among samples of the run; what lies between is mostly short enough for shared memory.
template <class T, class In, class Out, class Comp, int Longest>
struct rank_runs_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 512, elements = 256, at_once = 8, most_runs = 64, min_blocks = 2;
  static constexpr int warps = threads / simt::warp_size;
  static constexpr int step = Longest < 64 ? simt::warp_size : 64;
  static constexpr int part = min(512, 4096 / int(sizeof(T)));  ///< of a run: elements in shared memory, at most

  struct shared {
    /// Elements step - 1, 2 * step - 1, ... of each run.
    alignas(16) unsigned char sample[most_runs * (Longest / step) * sizeof(T)];
    alignas(16) unsigned char part_of_warp[warps][part * sizeof(T)];
    unsigned place[elements];
  };
  struct arguments {
    In in;
    Out out;
    item_count count;
    divisor run;  ///< elements of a run, at most Longest
    divisor blocks_of_run;
    divisor samples;  ///< of a run
    Comp comp;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const int all = static_cast<int>(a.count.get()), index = static_cast<int>(block.index());
    const int run = a.run.value(), samples = a.samples.value();
    const int own = a.blocks_of_run.quotient(index), in_run = (index - own * int(a.blocks_of_run.value())) * elements,
              begin = own * run + in_run;
    const int count = min(elements, min((own + 1) * run, all) - begin), runs = a.run.quotient(all + run - 1);
    if (count <= 0) return;
    const auto element = [&](int i) { return block::element_as<T>(value_of<In>(a.in[i])); };
    T* const sample = reinterpret_cast<T*>(memory.sample);
    T* const part_of_run = reinterpret_cast<T*>(memory.part_of_warp[block.warp()]);
    const T least = element(begin), greatest = element(begin + count - 1);
    for (int k = block.thread(); k < runs * samples; k += threads) {
      const int r = a.samples.quotient(k), i = r * run + (k - r * samples + 1) * step - 1;
      if (i < all) sample[k] = element(i);
    }
    if (const int i = block.thread(); i < elements) memory.place[i] = static_cast<unsigned>(in_run + i);
    T mine[at_once];
    for (int k = 0; k < at_once; ++k) mine[k] = element(begin + min(k * simt::warp_size + block.lane(), count - 1));
    block.sync();
    for (int r = block.warp(); r < runs; r += warps) {
      if (r == own) continue;
      const int length = min(run, all - r * run), samples_of_run = length / step;
      const auto precedes = [&](const T& other, const T& x) {
        return r < own ? !a.comp(x, other) : static_cast<bool>(a.comp(other, x));
      };
      int low = 0, high = 0;  // samples in front of the least and of the greatest
      for (int first = 0; first < samples_of_run; first += simt::warp_size) {
        const int i = first + block.lane();
        const T& other = sample[r * samples + min(i, samples_of_run - 1)];
        low += simt::count_bits(block.ballot(i < samples_of_run && precedes(other, least)));
        high += simt::count_bits(block.ballot(i < samples_of_run && precedes(other, greatest)));
      }
      const int from = low * step, to = max(from, min((high + 1) * step, length));
      int before[at_once]{};
      const auto search = [&](const auto& at) {  // halves, the same for all
        for (int left = to - from; left > 0; left -= ceil_div(left, 2))
          for (int k = 0; k < at_once; ++k)
            if (precedes(at(before[k] + (left - 1) / 2), mine[k])) before[k] += ceil_div(left, 2);
      };
      if (to - from <= part) {
        block.sync_warp();  // the part is free again
        for (int i = block.lane(); i < to - from; i += simt::warp_size) part_of_run[i] = element(r * run + from + i);
        block.sync_warp();
        search([&](int i) -> const T& { return part_of_run[i]; });
      } else {
        search([&](int i) { return element(r * run + from + i); });
      }
      for (int k = 0; k < at_once; ++k)
        simt::atomic_add(&memory.place[k * simt::warp_size + block.lane()], static_cast<unsigned>(from + before[k]));
    }
    block.sync();
    for (int i = block.thread(); i < count; i += threads)
      block::assign(a.out, static_cast<std::int64_t>(min(memory.place[i], unsigned(all - 1))), element(begin + i));
  }
};

/// False: there are too many elements, or blocks have too little memory.
template <merge_sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
bool sort_by_ranking(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  constexpr sort_tiles_tuning tiles_tuning{Tuning.ranks.threads, Tuning.ranks.bytes, Tuning.tiles.block_bytes,
                                           Tuning.tiles.resident};
  using tiles_kernel = sort_tiles_kernel<T, In, Other, Comp, tiles_tuning>;
  using ranks = rank_runs_kernel<T, Other, Data, Comp, tiles_kernel::tile>;
  const std::int64_t n = count.bound;
  // Small tiles are sorted sooner; large ones are fewer where there would be more small ones than warps that look into them.
  const int small = max(tiles_kernel::threads / 2, simt::warp_size);
  const int threads = n <= std::int64_t(ranks::warps) * small * tiles_kernel::items ? small : tiles_kernel::threads;
  const int run = threads * tiles_kernel::items;
  const std::int64_t tiles = ceil_div(n, std::int64_t(run));
  if (n > Tuning.ranks.rank_limit || tiles > ranks::most_runs || !all_fit<ranks>(machine_of(where))) return false;
  scratch memory(where, home::bytes(n), 0);
  const Other other = home::of(memory, n);
  pmpp::launch(where, tiles, threads, tiles_kernel{},
               typename tiles_kernel::arguments{block::staged_input<In>(in, n), other, count, comp});
  const int blocks_of_run = ceil_div(run, ranks::elements);
  pmpp::launch(where, tiles * blocks_of_run, ranks{},
               typename ranks::arguments{other, data, count, divisor(run), divisor(blocks_of_run),
                                         divisor(max(1, run / ranks::step)), comp});
  return true;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
