// SPDX-License-Identifier: Apache-2.0
//
// Merge sort, for everything that is not sorted by digits.
//
//   1. Each block sorts a tile of up to 8704 elements in shared memory (block/sort.hpp).
//   2. Passes make one run of two, of four where inputs are long (block/merge_runs.hpp), from the data to scratch and back,
//      so that the last one ends in the data. Where the tiles of a pass of four begin in their runs a small kernel finds.
//
// What fits into a tile takes one launch in all. Traffic: 2n elements for the tiles and 2n for each pass.
// (PMPP ch. 12 and 13. Passes of four halve the traffic of the book's; Batcher's networks are not stable.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/sort/homes.hpp>
#include <pmpp/sort/tuning.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Threads of a block, fewer where elements are so large that they would not fit.
constexpr int sort_threads(int threads, int bytes_of_thread, int most_bytes) {
  while (threads > simt::warp_size && threads * bytes_of_thread > most_bytes) threads /= 2;
  return threads;
}

template <class T, class In, class Out, class Comp, sort_tiles_tuning Tuning>
struct sort_tiles_kernel {
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
  static constexpr int threads = 64;

  struct arguments {
    block::sorted_runs<4, In> runs;
    item_count count;
    std::int64_t tile, tiles_of_group, tiles;
    Comp comp;
    four_cuts* cuts;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    block::sorted_runs<4, In> runs = a.runs;
    if (a.count.pointer != nullptr) runs.source.count = a.count.get();
    const std::int64_t tile = block.index() * (threads / 4) + block.thread() / 4, group = tile / a.tiles_of_group;
    const std::int64_t diagonal = min(tile % a.tiles_of_group * a.tile, runs.count_of(group));
    const std::int64_t place = runs.run <= 1 << 28
                                   ? block::cut_four<T, int>(block, runs, group, diagonal, a.comp)
                                   : block::cut_four<T, std::int64_t>(block, runs, group, diagonal, a.comp);
    if (tile < a.tiles) a.cuts[tile].place[block.thread() % 4] = place;
  }
};

template <int Ways, class T, class In, class Out, class Comp, merge_runs_tuning Tuning>
struct merge_runs_kernel {
  static constexpr int items = block::odd_items(Ways == 4 ? Tuning.four_bytes : Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.block_bytes),
                       min_blocks =
                           min(32, max(1, block::resident_threads(Tuning.resident, items*int(sizeof(T))) / threads));
  using memory_of_block = block::merge_runs_memory<T, threads, items, Ways>;
  static constexpr std::int64_t tile = memory_of_block::tile;

  struct shared {
    memory_of_block of_block;
  };
  struct arguments {
    block::sorted_runs<Ways, In> runs;
    Out out;
    item_count count;
    unsigned tiles_of_group;
    Comp comp;
    const four_cuts* cuts;  ///< of four runs
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    auto& of_block = memory.of_block;
    block::sorted_runs<Ways, In> runs = a.runs;
    if (a.count.pointer != nullptr) runs.source.count = a.count.get();
    const auto index = static_cast<unsigned>(block.index());  // 64-bit divisions are slow
    const std::int64_t group = index / a.tiles_of_group, all = runs.count_of(group);
    const std::int64_t begin = index % a.tiles_of_group * tile;
    if (begin >= all) return;
    const std::int64_t end = min(begin + tile, all);
    if constexpr (Ways == 2) {
      for (int w = block.warp(); w < 2; w += block.warps())
        block::cut_two(block, runs, group, w == 0 ? begin : end, a.comp, w == 0 ? of_block.begin : of_block.end);
    } else if (const int q = block.thread(); q < 4) {
      of_block.begin.place[q] = a.cuts[block.index()].place[q];
      of_block.end.place[q] = end == all ? runs.length(group, q) : a.cuts[block.index() + 1].place[q];
    }
    block.sync();
    block::merge_runs(block, of_block, runs, group, static_cast<int>(end - begin), a.out, runs.first_of(group) + begin,
                      a.comp);
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
                 typename cut::arguments{runs, count, tile, tiles_of_group, tiles, comp, cuts});
  }
  pmpp::launch(where, tiles, kernel{},
               typename kernel::arguments{runs, out, count, static_cast<unsigned>(tiles_of_group), comp, cuts});
}

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
void merge_sort_on_blocks(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using to_data = sort_tiles_kernel<T, In, Data, Comp, Tuning.tiles>;
  using to_other = sort_tiles_kernel<T, In, Other, Comp, Tuning.tiles>;
  using fours = merge_runs_kernel<4, T, Data, Other, Comp, Tuning.merges>;
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
  const bool by_fours = n >= Tuning.merges.four_way_from;
  int passes = by_fours ? ceil_div(doublings, 2) : doublings;
  // Every group of a pass of four may end with part of a tile.
  const std::int64_t others = passes > 0 ? n : 0,
                     cuts = by_fours && doublings > 1 ? ceil_div(n, fours::tile) + ceil_div(n, 4 * run) + 1 : 0;
  scratch memory(where, scratch_bytes({home::bytes(others), checked_bytes(cuts, sizeof(four_cuts), "sort")}), 0);
  const Other other = home::of(memory, others);
  four_cuts* const cut = memory.take<four_cuts>(cuts);

  const grid shape{ceil_div(n, run), threads};
  const block::staged_input<In> source(in, n);
  if (passes % 2 == 0)
    pmpp::launch(where, shape, to_data{}, typename to_data::arguments{source, data, count, comp});
  else
    pmpp::launch(where, shape, to_other{}, typename to_other::arguments{source, other, count, comp});
  for (; passes > 0; --passes) {
    const auto pass = [&](const auto& from, const auto& to) {
      if (by_fours && doublings >= 2) {
        merge_runs<4, Tuning.merges, T>(where, from, to, count, run, comp, cut);
        run *= 4;
        doublings -= 2;
      } else {
        merge_runs<2, Tuning.merges, T>(where, from, to, count, run, comp, cut);
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

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
