// SPDX-License-Identifier: Apache-2.0
//
// Sorting: sort, stable_sort, sort_by_key, argsort, is_sorted.
//
// Numbers under less or greater are sorted by their digits (sort/radix.hpp), everything else by merging:
//
//   1. Each block sorts a tile of up to 8704 elements in shared memory (block/sort.hpp).
//   2. Passes make one run of two, of four where inputs are long (block/merge_runs.hpp), from the data to scratch and back,
//      so that the last one ends in the data. What fits into a tile takes one launch in all.
//
// Short inputs are compared all with all, or in smaller tiles of which one pass makes one run.
//
// Work n log n; traffic 2n elements for the tiles and 2n for each pass: 2^27 elements of 4 bytes take 7 passes. Scratch: n
// elements and up to 2 %. Stable: equals keep their order, so that the result is unique and the same on every run. Values move
// along with their keys.
// (PMPP ch. 12 and 13. Passes of four halve the traffic of the book's; Batcher's networks are not stable.)
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/radix.hpp>
#include <pmpp/sort/radix_short.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct sort_tuning {
  int threads = 512;           ///< of a block that sorts a tile, at most
  int bytes = 64;              ///< of a thread's elements there, more for wide ones: 17 of 4 bytes, 11 of 8, 9 of 12
  int tile_bytes = 96 * 1024;  ///< of all elements of a block there and of one that merges, about, at most
  int radix_threads = 512;     ///< of a block of the radix sort
  int radix_items = 52;        ///< elements of a thread there, at most
  int radix_small_items = 32;  ///< the same where inputs are short
  int radix_compared = 8192;   ///< elements of an input whose keys are compared with each other, at most
  int radix_together = 26;     ///< elements of a thread where one launch sorts, at most
  int radix_rows = 6;          ///< the same where it needs no more than 32 blocks
  int radix_large = 4;         ///< from this many large tiles a multiprocessor on
  int radix_tiles = 64;        ///< of short inputs there should be as many, even if that makes them smaller
  int radix_value = 16;        ///< bytes of the largest values that go along with their keys in each pass
  std::int64_t radix_narrow = std::int64_t(1) << 30;   ///< below this many elements look-back words have 32 bits
  int pass_threads = 128;                              ///< of a block that merges runs, at most
  int pass_bytes = 64;                                 ///< of a thread's elements there, more for wide ones
  int four_bytes = 100;                                ///< the same where it merges four runs
  int resident = 1536;                                 ///< threads that sort on a multiprocessor at a time
  int pass_resident = 1536;                            ///< threads that merge runs there
  std::int64_t four_way_from = std::int64_t(1) << 24;  ///< from this many elements on passes merge four runs
  int short_threads = 512;                             ///< of a block that sorts a tile where inputs are short
  int short_bytes = 44;                                ///< of a thread's elements there
  int compared = 8192;                                 ///< up to this many elements are compared with each other
  std::int64_t ranked = std::int64_t(1) << 16;         ///< up to this many elements one pass merges all tiles
  int segmented_bytes = 36;                            ///< of a thread's elements where segmented_sort takes one launch
  int network_threads = 512;                           ///< of a block of segmented_sort where networks sort all
  std::int64_t segmented_short = std::int64_t(1) << 21;  ///< up to this many elements segmented_sort takes one launch
};

namespace detail {

/// Elements of a thread: a power of two, at most 16.
constexpr int sort_items(int bytes_of_thread, int bytes) {
  return 1 << floor_log2(max(min(16, bytes_of_thread / bytes), bytes <= 16 ? 4 : 1));
}
/// Threads of a block, fewer where elements are so large that they would not fit.
constexpr int sort_threads(int threads, int bytes_of_thread, int most_bytes) {
  while (threads > simt::warp_size && threads * bytes_of_thread > most_bytes) threads /= 2;
  return threads;
}

template <class T, class In, class Out, class Comp, sort_tuning Tuning>
struct sort_tiles_kernel {
  static constexpr int items = block::odd_items(Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.tile_bytes),
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

template <int Ways, class T, class In, class Out, class Comp, sort_tuning Tuning>
struct merge_runs_kernel {
  static constexpr int items = block::odd_items(Ways == 4 ? Tuning.four_bytes : Tuning.pass_bytes, sizeof(T)),
                       threads = sort_threads(min(Tuning.threads, Tuning.pass_threads), items*int(sizeof(T)),
                                              Tuning.tile_bytes),
                       min_blocks = min(
                           32, max(1, block::resident_threads(Tuning.pass_resident, items*int(sizeof(T))) / threads));
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

/// Sorts some thousand elements by comparing each with all others: it comes after the smaller ones, and after the equal
/// ones in front of it. A lane of each warp of a block has one of 32 elements, and a warp compares with some of all.
template <class T, class In, class Out, class Comp, int Most>
struct compare_all_kernel {
  static constexpr int threads = 512, lanes = simt::warp_size, min_blocks = 2, loads = 8,
                       most = min(Most, 96 * 1024 / int(sizeof(T)));

  struct shared {
    alignas(16) unsigned char elements[most * sizeof(T)];
    unsigned place[lanes];
  };
  struct arguments {
    In in;
    Out out;
    item_count count;
    Comp comp;
    unsigned* barrier;  ///< in place: two words, zero
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int n = static_cast<int>(a.count.get()), own = static_cast<int>(block.index()) * lanes;
    T* const all = reinterpret_cast<T*>(memory.elements);
    for (int first = block.thread(); first < n; first += loads * threads) {
      T x[loads];
      for (int k = 0; k < loads; ++k) x[k] = block::element_as<T>(value_of<In>(a.in[min(first + k * threads, n - 1)]));
      for (int k = 0; k < loads; ++k)
        if (first + k * threads < n) all[first + k * threads] = x[k];
    }
    if (block.thread() < lanes) memory.place[block.thread()] = 0;
    block.sync();
    const int i = own + block.lane();
    if (own < n) {
      const T mine = all[min(i, n - 1)];
      float before = 0;  // the units for integers may be busy with comparisons
      for (int first = block.warp() * lanes; first < n; first += threads) {
        const auto count = [&](const auto& precedes) {
          if (first + lanes <= n)
            for (int j = 0; j < lanes; ++j) {
              if (precedes(all[first + j], j)) before += 1.0f;
            }
          else
            for (int j = 0; j < n - first; ++j)
              if (precedes(all[first + j], j)) before += 1.0f;
        };
        if (first < own)
          count([&](const T& other, int) { return !a.comp(mine, other); });
        else if (first > own)
          count([&](const T& other, int) { return static_cast<bool>(a.comp(other, mine)); });
        else
          count([&](const T& other, int j) {
            return j < block.lane() ? !a.comp(mine, other) : static_cast<bool>(a.comp(other, mine));
          });
      }
      simt::atomic_add(&memory.place[block.lane()], static_cast<unsigned>(before));
    }
    sync_grid_once(block, a.barrier);  // all have read
    if (block.warp() == 0 && i < n)
      block::assign(a.out, static_cast<std::int64_t>(min(memory.place[block.lane()], unsigned(n - 1))), all[i]);
  }
};

/// Makes one sequence of some sorted runs at once: an element's place is the one in its own run, and how many elements of
/// each other run precede it. A block finds the places of some neighbours, a warp those in a run: first it looks for the least
/// and the greatest of them among samples of the run; what lies between is mostly short enough for shared memory.
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

/// How a merge sort of n elements goes.
struct merge_sort_plan {
  int threads;       ///< of a block that sorts a tile
  std::int64_t run;  ///< elements of such a tile
  int doublings;     ///< from there to n
  bool four_way_from;
};

template <class T, sort_tuning Tuning>
merge_sort_plan plan_merge_sort(const machine& m, std::int64_t n) {
  using kernel = sort_tiles_kernel<T, T*, T*, less, Tuning>;
  const int threads = threads_that_fit<kernel>("sort", sizeof(T), m, kernel::threads);
  merge_sort_plan plan{threads, std::int64_t(threads) * kernel::items, 0, n >= Tuning.four_way_from};
  if (n > plan.run && n < plan.run * m.multiprocessors / 2) {  // half of the multiprocessors would have nothing to do
    plan.threads = max(threads / 2, simt::warp_size);
    plan.run = std::int64_t(plan.threads) * kernel::items;
  }
  while (plan.run << plan.doublings < n) ++plan.doublings;
  return plan;
}

/// Enqueues a pass: `Ways` runs of `run` elements become one.
template <int Ways, sort_tuning Tuning, class T, class P, class In, class Out, class Comp>
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

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, by way of `other`, which has room for all
/// elements if they are more than a tile. `in` may be `data`.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Other, class Comp>
void merge_sort_on_blocks(const P& where, const merge_sort_plan& plan, const In& in, const Data& data,
                          const Other& other, const item_count& count, const Comp& comp, four_cuts* cuts) {
  using to_data = sort_tiles_kernel<T, In, Data, Comp, Tuning>;
  using to_other = sort_tiles_kernel<T, In, Other, Comp, Tuning>;
  const grid shape{ceil_div(count.bound, plan.run), plan.threads};
  const block::staged_input<In> source(in, count.bound);
  const int doublings = plan.doublings;
  int passes = plan.four_way_from ? ceil_div(doublings, 2) : doublings;
  if (passes % 2 == 0)
    pmpp::launch(where, shape, to_data{}, typename to_data::arguments{source, data, count, comp});
  else
    pmpp::launch(where, shape, to_other{}, typename to_other::arguments{source, other, count, comp});
  std::int64_t run = plan.run;
  for (int done = 0; passes > 0; --passes) {
    const auto pass = [&](const auto& from, const auto& to) {
      if (plan.four_way_from && doublings - done >= 2) {
        merge_runs<4, Tuning, T>(where, from, to, count, run, comp, cuts);
        run *= 4;
        done += 2;
      } else {
        merge_runs<2, Tuning, T>(where, from, to, count, run, comp, cuts);
        run *= 2;
        done += 1;
      }
    };
    if (passes % 2 == 0)
      pass(data, other);
    else
      pass(other, data);
  }
}

/// How many cuts a sort needs.
template <sort_tuning Tuning, class T>
std::int64_t count_cuts(const merge_sort_plan& plan, std::int64_t n) {
  if (!plan.four_way_from || plan.doublings < 2) return 0;
  using kernel = merge_runs_kernel<4, T, T*, T*, less, Tuning>;
  // Every group of a pass may end with part of a tile.
  return ceil_div(n, kernel::tile) + ceil_div(n, 4 * plan.run) + 1;
}

/// Room for n elements that are not constructed.
template <class T>
class raw_array {
public:
  explicit raw_array(std::int64_t n)
      : data_(static_cast<T*>(::operator new (checked_bytes(n, sizeof(T), "sort"), std::align_val_t{alignof(T)}))) {}
  ~raw_array() { ::operator delete (data_, std::align_val_t{alignof(T)}); }
  raw_array(const raw_array&) = delete;
  raw_array& operator=(const raw_array&) = delete;
  T* data() { return data_; }

private:
  T* data_;
};

/// The rounds of a merge sort on the host: runs of 16 elements, then twice as many in each round, from `data` to `other`
/// and back; the last round ends in `data`.
template <class T, class In, class Data, class Comp>
struct host_sort {
  static constexpr std::int64_t shortest = 16;

  In in;
  Data data;
  T* other;
  std::int64_t n;
  const Comp& comp;
  int rounds;

  /// Sorts the runs of [begin, end) by insertion.
  void sort_runs(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t first = begin; first < end; first += shortest) {
      const std::int64_t count = min(shortest, end - first);
      T x[shortest];
      for (std::int64_t i = 0; i < count; ++i) {
        const T inserted = block::element_as<T>(value_of<In>(in[first + i]));
        std::int64_t k = i;
        for (; k > 0 && comp(inserted, x[k - 1]); --k) x[k] = x[k - 1];
        x[k] = inserted;
      }
      for (std::int64_t i = 0; i < count; ++i)
        if (rounds % 2 == 0)
          block::assign(data, first + i, x[i]);
        else
          other[first + i] = x[i];
    }
  }
  /// Writes elements [begin, end) of round `round`, which merges pairs of runs of shortest << round; they lie in one pair.
  void merge_part(int round, std::int64_t begin, std::int64_t end) const {
    const std::int64_t run = shortest << round, first = begin / (2 * run) * (2 * run);
    const std::int64_t count_a = min(run, n - first), count_b = min(run, n - first - count_a);
    const auto merge_from = [&](const auto& from, const auto& to) {
      detail::merge_elements(from + first, count_a, from + first + count_a, count_b, begin - first, end - first,
                             to + first, comp);
    };
    if ((rounds - round) % 2 == 0)
      merge_from(data, other);
    else
      merge_from(other, data);
  }
};

/// seq: everything on one thread. host: parts that fit the caches, each on one thread, then rounds that all share.
template <class T, class P, class In, class Data, class Comp>
void merge_sort_on_host(const P& where, const In& in, const Data& data, std::int64_t n, const Comp& comp) {
  using sorter = host_sort<T, In, Data, Comp>;
  constexpr std::int64_t part = sorter::shortest << 12;
  static_assert(part % host_loop::grain == 0);
  int rounds = 0;
  while (sorter::shortest << rounds < n) ++rounds;
  raw_array<T> other(rounds == 0 ? 0 : n);
  const sorter s{in, data, other.data(), n, comp, rounds};
  const auto sort_part = [&](std::int64_t i) {
    const std::int64_t begin = i * part, end = min(n, begin + part);
    s.sort_runs(begin, end);
    for (int round = 0; round < rounds && sorter::shortest << round < part; ++round)
      for (std::int64_t first = begin; first < end; first += sorter::shortest << (round + 1))
        s.merge_part(round, first, min(end, first + (sorter::shortest << (round + 1))));
  };
  const auto merge_rounds = [&](auto for_ranges) {
    for (int round = 12; round < rounds; ++round)
      for_ranges([&](std::int64_t begin, std::int64_t end) { s.merge_part(round, begin, end); });
  };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0; i * part < n; ++i) sort_part(i);
    merge_rounds([&](auto body) {
      for (std::int64_t begin = 0; begin < n; begin += part) body(begin, min(n, begin + part));
    });
  } else {
    host_loop::parallel_parts(where, ceil_div(n, part), sort_part);
    merge_rounds([&](auto body) { host_loop::parallel_ranges(where, n, body); });
  }
}

/// Where elements of type T that are sorted by way of `scratch` have their second home.
template <class T>
struct second_home {
  using iterator = T*;
  static constexpr std::size_t bytes(std::int64_t n) { return checked_bytes(n, sizeof(T), "sort"); }
  static iterator of(scratch& memory, std::int64_t n) { return memory.take<T>(n); }
};
template <class K, class V>
struct second_home<pair<K, V>> {
  using iterator = zip_iterator<K*, V*>;
  static constexpr std::size_t bytes(std::int64_t n) {
    return round_up(checked_bytes(n, sizeof(K), "sort"), allocation_alignment) + checked_bytes(n, sizeof(V), "sort");
  }
  static iterator of(scratch& memory, std::int64_t n) {
    K* const keys = memory.take<K>(n);
    return {keys, memory.take<V>(n)};
  }
};

/// The tuning of tiles where inputs are short.
template <sort_tuning Tuning>
constexpr sort_tuning short_tuning() {
  sort_tuning tuning = Tuning;
  tuning.threads = Tuning.short_threads;
  tuning.bytes = Tuning.short_bytes;
  return tuning;
}

/// The same where a block has 48 KB.
template <sort_tuning Tuning>
constexpr sort_tuning least_tuning() {
  sort_tuning tuning = Tuning;
  tuning.tile_bytes = min(Tuning.tile_bytes, 40 * 1024);
  return tuning;
}

/// Sorts a short input by comparing all with all, or a longer one in small tiles, which one pass merges. False: it is too
/// long, or blocks have too little memory.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
bool sort_short(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using compared = compare_all_kernel<T, In, Data, Comp, Tuning.compared>;
  using tiles_kernel = sort_tiles_kernel<T, In, Other, Comp, short_tuning<Tuning>()>;
  using ranks = rank_runs_kernel<T, Other, Data, Comp, tiles_kernel::tile>;
  const std::int64_t n = count.bound;
  const machine& m = machine_of(where);
  if (all_fit<compared>(m) && n <= min(std::int64_t(compared::most), resident_blocks<compared>(m) * 32)) {
    const bool in_place = same_place(in, data);
    const scratch memory(where, 0, in_place ? 2 * sizeof(unsigned) : 0);
    const typename compared::arguments a{in, data, count, comp, memory.state()};
    const std::int64_t blocks = ceil_div(n, std::int64_t(simt::warp_size));
    if (!in_place) pmpp::launch(where, blocks, compared{}, a);
    if (!in_place || detail::try_launch_together(where, blocks, compared{}, a)) return true;
  }
  // Small tiles are sorted sooner; large ones are fewer where there would be more small ones than warps that look into them.
  const int small = max(tiles_kernel::threads / 2, simt::warp_size);
  const int threads = n <= std::int64_t(ranks::warps) * small * tiles_kernel::items ? small : tiles_kernel::threads;
  const int run = threads * tiles_kernel::items;
  const std::int64_t tiles = ceil_div(n, std::int64_t(run));
  if (n > Tuning.ranked || tiles > ranks::most_runs || !all_fit<ranks>(m)) return false;
  scratch memory(where, home::bytes(n), 0);
  const Other other = home::of(memory, n);
  pmpp::launch(where, grid{tiles, threads}, tiles_kernel{},
               typename tiles_kernel::arguments{block::staged_input<In>(in, n), other, count, comp});
  pmpp::launch(where, ranks::blocks_of_runs(tiles, run), ranks{},
               typename ranks::arguments{other, data, count, run, comp});
  return true;
}

template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
void merge_sort(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  if constexpr (kernel_execution<P>) {
    if constexpr (sizeof(T) <= 16)
      if (sort_short<Tuning, T>(where, in, data, count, comp)) return;
    const machine& m = machine_of(where);
    using twos = merge_runs_kernel<2, T, T*, T*, less, Tuning>;
    using fours = merge_runs_kernel<4, T, T*, T*, less, Tuning>;
    if constexpr (!fit_everywhere<P, twos, fours>)
      if (!all_fit<twos, fours>(m)) {
        constexpr sort_tuning least = least_tuning<Tuning>();
        if constexpr (least.tile_bytes < Tuning.tile_bytes)
          return merge_sort<least, T>(where, in, data, count, comp);
        else
          refuse_elements("sort", sizeof(T), max(sizeof(typename twos::shared), sizeof(typename fours::shared)), m);
      }
    const merge_sort_plan plan = plan_merge_sort<T, Tuning>(m, count.bound);
    const std::int64_t n = plan.doublings > 0 ? count.bound : 0, cuts = count_cuts<Tuning, T>(plan, n);
    scratch memory(where, scratch_bytes({second_home<T>::bytes(n), checked_bytes(cuts, sizeof(four_cuts), "sort")}), 0);
    const auto other = second_home<T>::of(memory, n);
    merge_sort_on_blocks<Tuning, T>(where, plan, in, data, other, count, comp, memory.take<four_cuts>(cuts));
  } else {
    merge_sort_on_host<T>(where, in, data, count.get(), comp);
  }
}

/// How elements of type T are sorted under Comp: keys, and the values that go with them.
template <class T, class Comp>
struct sorted_parts {
  using key = T;
  using value = no_value;
  using order = radix_order<Comp, T>;
  template <class Less>
  static Less comparator(Less less_of_keys) {
    return less_of_keys;
  }
};
template <class K, class V, class Comp>
struct sorted_parts<pair<K, V>, by_first<Comp>> {
  using key = K;
  using value = V;
  using order = radix_order<Comp, K>;
  template <class Less>
  static by_first<Less> comparator(Less less_of_keys) {
    return {less_of_keys};
  }
};

inline void check_bits(const char* function, const key_bits& range, int width) {
  require(0 <= range.lo && range.lo <= range.hi && range.hi <= width, [&] {
    return std::string("pmpp::") + function + ": key_bits{" + std::to_string(range.lo) + ", " +
           std::to_string(range.hi) + "} do not lie in a key of " + std::to_string(width) + " bits";
  });
}

/// Refuses, when it compiles, elements that cannot be sorted.
template <class Comp, class T>
constexpr bool require_sortable() {
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: sorted elements must be trivially copyable");
  return std::is_trivially_copyable_v<T> && require_order<Comp, T>();
}

template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp, class Bits>
void sort_stored(const char* function, const P& where, const In& in, const Data& data, const item_count& count,
                 const Comp& comp, const Bits& bits) {
  using parts = sorted_parts<T, Comp>;
  constexpr bool by_digits = parts::order::known, some_bits = std::is_same_v<Bits, key_bits>;
  static_assert(!some_bits || (by_digits && std::is_integral_v<typename parts::key>),
                "pmpp: key_bits are for integer keys under less or greater");
  if constexpr (kernel_execution<P>) detail::check_reachable(where, function, zip_iterator{in, data});
  if constexpr (by_digits) {
    using K = typename parts::key;
    using V = typename parts::value;
    using code = radix_code<K, parts::order::descending>;
    key_bits range = {0, code::width};
    if constexpr (some_bits) range = bits;
    check_bits(function, range, code::width);
    if (count.bound == 0) return;
    using of_in = radix_parts<In, T>;
    using of_data = radix_parts<Data, T>;
    if constexpr (!kernel_execution<P>) {
      if (const std::int64_t n = count.get(); n > 512) {
        raw_array<T> other(n);
        radix_sort_on_host<code>(where, in, data, other.data(), n, range);
      } else {
        merge_sort_on_host<T>(where, in, data, n, parts::comparator(code_less<code>(range)));
      }
    } else if constexpr (sizeof(V) <= Tuning.radix_value) {
      radix_sort_on_blocks<Tuning, code, V>(where, of_in::keys(in), of_in::values(in), of_data::keys(data),
                                            of_data::values(data), count, range);
    } else {
      merge_sort<Tuning, T>(where, in, data, count, parts::comparator(code_less<code>(range)));
    }
  } else {
    if (count.bound > 0) merge_sort<Tuning, T>(where, in, data, count, comp);
  }
}

/// Sorts `in` into `data`, which may be the same.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp, class Bits = all_key_bits>
void sort_elements(const char* function, const P& where, const In& in, const Data& data, const item_count& count,
                   const Comp& comp, const Bits& bits = {}) {
  if constexpr (require_marked<gpu_execution<P>, Comp>() && require_sortable<Comp, T>())
    sort_stored<Tuning, stored_as<T>>(function, where, with_stored(in), with_stored(data), count, on_values<T>(comp),
                                      bits);
}

/// Whether a pair of neighbours is out of order.
template <class Comp>
struct descends {
  Comp comp;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& before, const T& after) const {
    return static_cast<bool>(comp(after, before));
  }
};

}  // namespace detail

/// Sorts r. Stable: elements that are equal under comp keep their order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. Elements are trivially
///              copyable, up to about 450 bytes.
/// \param comp  a strict weak order, callable on `where`'s machine: comp(x, y) says that x must precede y. Asked about
///              elements only. Where it contradicts itself elements may be missing or come twice, but nothing else is
///              read or written.
/// \param bits  key_bits{lo, hi}: look at these bits of the keys only, which must be integers under less or greater.
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured.
/// Integers, float, double, half and bfloat16 under less or greater (std's too) are sorted by digits of 8 bits, comp is
/// not called: -0.0 precedes +0.0 (under greater it follows), NaN comes last under both. Cost: n keys read, then 2n
/// elements of traffic for each byte that is not the same in all keys; a launch each. Scratch: n elements and 3 % (bytes:
/// 12 %), from the workspace or one allocation in stream order. Up to 8192 keys for each multiprocessor (4-byte keys) take
/// one launch in all.
/// Other elements are merged. Cost: 2n elements of traffic for tiles of 8704 and for each factor of two from there to n, of
/// four from 2^24 elements on; as many launches, of four twice as many. Scratch: n elements and up to 2 %; none for one tile.
/// Of up to 16 bytes: up to 8192 (98,304 bytes) take n^2 comparisons in one launch without scratch, up to 65,536 two
/// launches.
/// \throws std::invalid_argument for a null or reversed range, bits outside of the key, or elements too large for a block's
/// shared memory; out_of_memory, cuda_error. Source: PMPP ch. 12, 13; Adinets, Merrill, 2022. Example: test/sort.cpp, sort.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Bits = all_key_bits>
void sort(const P& where, R&& r, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::input_of("sort", r);
  if constexpr (detail::require_writable<decltype(in.first)>())
    detail::sort_elements<Tuning, element_value<R>>("sort", where, in.first, in.first, in.count, comp, bits);
}

/// The same; sort is stable already.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Bits = all_key_bits>
void stable_sort(const P& where, R&& r, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::input_of("stable_sort", r);
  if constexpr (detail::require_writable<decltype(in.first)>())
    detail::sort_elements<Tuning, element_value<R>>("stable_sort", where, in.first, in.first, in.count, comp, bits);
}

/// Sorts keys as sort does, and moves the value of each key along with it.
///
/// \param values  a range as long as keys, or an iterator; visible to `where`.
/// By digits where sort does, for values of up to 16 bytes. Scratch: n keys and n values. \throws as sort; std::length_error if the values are fewer than the keys.
/// Example: test/sort.cpp, sort_by_key.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> K, output_for<P> V,
          class Comp = less, class Bits = all_key_bits>
void sort_by_key(const P& where, K&& keys, V&& values, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::parts_apart("sort_by_key", "values", detail::pairs_of("sort_by_key", keys, values));
  using T = value_of<std::remove_const_t<decltype(in.first)>>;
  detail::sort_elements<Tuning, T>("sort_by_key", where, in.first, in.first, in.count, detail::by_first<Comp>{comp},
                                   bits);
}

/// Writes the order in which keys are sorted: index_out[0] is the place of the least key, and so on. Equals in order.
///
/// \param keys       as r of sort; not changed.
/// \param index_out  an iterator, or a range with room for as many integers; visible to `where`.
/// \return the iterator past the last index written. Scratch: 2n keys and n indices. \throws as sort; std::length_error
/// if index_out is too short. Example: test/sort.cpp, argsort.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less, class Bits = all_key_bits>
auto argsort(const P& where, R&& keys, O&& index_out, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::input_of("argsort", keys);
  const std::int64_t n = in.count.bound;
  detail::check_output("argsort", "index_out", index_out, n, in);
  const auto first = detail::begin_of(index_out);
  const auto target = detail::unwrap(first);
  using K = element_value<R>;
  using I = value_of<std::remove_const_t<decltype(target)>>;
  static_assert(std::is_integral_v<I>, "pmpp::argsort: index_out must take an integer");
  const zip_iterator source{in.first, counting_iterator<I>(I(0))};
  const auto sort_to = [&](K* sorted_keys) {
    detail::sort_elements<Tuning, pair<K, I>>("argsort", where, source, zip_iterator{sorted_keys, target}, in.count,
                                              detail::by_first<Comp>{comp}, bits);
  };
  if constexpr (kernel_execution<P>) {
    detail::scratch memory(where, detail::checked_bytes(n, sizeof(K), "argsort"), 0);
    sort_to(memory.take<K>(n));
  } else {
    detail::raw_array<K> sorted_keys(in.count.get());
    sort_to(sorted_keys.data());
  }
  return first + n;
}

/// Whether no element of r precedes the one in front of it. \param r a range or two iterators; visible to `where`.
/// Waits for the policy's stream. Cost: n elements read; one launch. \throws as sort; std::invalid_argument when the
/// stream is being captured. Example: test/sort.cpp, is_sorted.
template <execution_policy P, range_for<P> R, class Comp = less>
[[nodiscard]] bool is_sorted(const P& where, R&& r, Comp comp = {}) {
  const auto in = detail::input_of("is_sorted", r);
  const std::int64_t pairs = in.count.bound - 1;
  if (pairs < 1) return true;
  if constexpr (detail::require_order<Comp, element_value<R>>())
    return !transform_reduce(where, in.first, in.first + pairs, in.first + 1, false, logical_or{},
                             detail::descends<Comp>{comp});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Bits = all_key_bits>
void sort(const P& where, It first, End last, Comp comp = {}, Bits bits = {}) { sort<Tuning>(where, subrange{first, last}, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Bits = all_key_bits>
void stable_sort(const P& where, It first, End last, Comp comp = {}, Bits bits = {}) { stable_sort<Tuning>(where, subrange{first, last}, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, class Comp = less, class Bits = all_key_bits>
void sort_by_key(const P& where, K first, End last, V&& values, Comp comp = {}, Bits bits = {}) { sort_by_key<Tuning>(where, subrange{first, last}, values, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Comp = less, class Bits = all_key_bits>
auto argsort(const P& where, It first, End last, O&& index_out, Comp comp = {}, Bits bits = {}) { return argsort<Tuning>(where, subrange{first, last}, index_out, comp, bits); }

template <execution_policy P, random_access It, class Comp = less>
[[nodiscard]] bool is_sorted(const P& where, It first, It last, Comp comp = {}) { return is_sorted(where, subrange{first, last}, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
