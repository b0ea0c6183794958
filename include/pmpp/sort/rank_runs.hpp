// SPDX-License-Identifier: Apache-2.0
//
// Merge sort of short inputs in two launches: small tiles, of which one pass makes one sequence.
//
// An element's place is the one in its own tile, and how many elements of each other tile precede it. A block finds the
// places of 256 neighbours, a warp those in a tile: first it looks for the first and the last of them among samples of the
// tile; what lies between is mostly short enough for shared memory, where each is searched.
#pragma once

#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/sort/homes.hpp>
#include <pmpp/sort/merge_sort.hpp>
#include <pmpp/sort/tuning.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class T, class In, class Out, class Comp, int Longest>
struct rank_runs_kernel {
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
    int run;  ///< elements of a run, at most Longest
    Comp comp;
  };

  static std::int64_t blocks_of_runs(std::int64_t runs, int run) { return runs * ceil_div(run, elements); }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int all = static_cast<int>(a.count.get()), index = static_cast<int>(block.index());
    const int run = a.run, samples = run / step, blocks_of_run = ceil_div(run, elements);
    const int own = index / blocks_of_run, in_run = index % blocks_of_run * elements, begin = own * run + in_run;
    const int count = min(elements, min((own + 1) * run, all) - begin), runs = ceil_div(all, run);
    if (count <= 0) return;
    const auto element = [&](int i) { return block::element_as<T>(value_of<In>(a.in[i])); };
    T* const sample = reinterpret_cast<T*>(memory.sample);
    T* const part_of_run = reinterpret_cast<T*>(memory.part_of_warp[block.warp()]);
    const T least = element(begin), greatest = element(begin + count - 1);
    for (int k = block.thread(); k < runs * samples; k += threads)
      if (const int i = k / samples * run + (k % samples + 1) * step - 1; i < all) sample[k] = element(i);
    for (int i = block.thread(); i < elements; i += threads) memory.place[i] = static_cast<unsigned>(in_run + i);
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
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
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
  pmpp::launch(where, grid{tiles, threads}, tiles_kernel{},
               typename tiles_kernel::arguments{block::staged_input<In>(in, n), other, count, comp});
  pmpp::launch(where, ranks::blocks_of_runs(tiles, run), ranks{},
               typename ranks::arguments{other, data, count, run, comp});
  return true;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
