// SPDX-License-Identifier: Apache-2.0
//
// Products whose C has too few tiles, or an awkward number of them, for whole waves of blocks: every multiprocessor gets one
// block, and every block the same share of the work.
//
//   1. The k-tiles of all tiles, one tile after another, are dealt out evenly: a block gets so many that follow each other, the
//      end of one tile, perhaps whole tiles, the beginning of another. It goes through them without a pause between tiles;
//      several are on their way to shared memory while one is multiplied, as in gemm/multistage.hpp.
//   2. The warps of a tile, each of which owns 64 x 64 elements, are fewer than the block has: groups of them, slices, each
//      multiply a part of every k-tile, and the first adds up the sums.
//   3. Whole tiles are written to C, the others to scratch memory. When all blocks have done so (block/grid_barrier.hpp), they
//      add up what belongs together, in order: the same bits on every run.
//
// One launch; one barrier of the block a k-tile, one of the grid. Scratch: a tile for each tile and each multiprocessor,
// of which those that are not shared stay unused. (The division of work is that of gemm/schedule.hpp.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/epilogue.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/operand.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block goes through its share.
struct stream_k_tile {
  int m = 0, n = 0;  ///< elements of C of a tile: 64 or 128
  int k = 0;         ///< of a k-tile: 8 for each slice
  int stages = 0;    ///< k-tiles in shared memory

  /// Of a block, for elements of 4 bytes: the k-tiles, and the sums of all threads, 16 x 8 each.
  constexpr std::size_t shared_bytes() const {
    return 4 * (std::size_t(stages) * std::size_t(k) * std::size_t(m + n + 8) + 256 * 16 * 8);
  }
  friend constexpr bool operator==(const stream_k_tile&, const stream_k_tile&) = default;
};

namespace detail {

/// AlongA, AlongB: that operand lies in one piece along k; else along m or n.
template <class TC, class A, class S, class Epilogue, stream_k_tile Tile, bool AlongA, bool AlongB>
struct stream_k_kernel {
  static constexpr int threads = 256, min_blocks = 1;
  /// Each thread owns 16 x 8 elements; groups of warps that are not needed for a tile are slices.
  static constexpr gemm_tile own_tile{.m = Tile.m,
                                      .n = Tile.n,
                                      .k = Tile.k,
                                      .stages = Tile.stages,
                                      .thread_m = 16,
                                      .thread_n = 8,
                                      .lanes_m = 4,
                                      .slices = threads * 16 * 8 / (Tile.m * Tile.n)};
  using math = fma_math<A, own_tile>;
  using shared_word = typename math::shared_word;
  using sums = typename math::sums;
  static constexpr int word = math::word, slices = own_tile.slices, slice_threads = threads / slices;
  static constexpr int slice_k = Tile.k / slices, row_words = own_tile.thread_n / word;
  static constexpr int own_words = own_tile.thread_m * row_words,
                       words = Tile.m * Tile.n / word;  ///< of a thread; of a tile
  static_assert(word == 4 && slice_k % 2 == 0 && Tile.k % 8 == 0 && Tile.stages >= 3);

  template <int Extent, bool AlongK>
  using iterator = tile_iterator<A, A, Extent, Tile.k, threads, AlongK ? k_tile_copy::along_k : k_tile_copy::words>;
  using iterator_a = iterator<Tile.m, AlongA>;
  using iterator_b = iterator<Tile.n, AlongB>;
  static constexpr int row_a = iterator_a::row_length, row_b = iterator_b::row_length, k_tile_a = Tile.k * row_a,
                       k_tile = k_tile_a + Tile.k * row_b;
  struct shared {
    alignas(16) A k_tiles[Tile.stages * k_tile];  ///< each: A's part, then B's
    shared_word sums[slices * words];
  };
  static_assert(sizeof(shared) == Tile.shared_bytes());

  struct arguments {
    gemm_operand<A> a, b;
    gemm_target<TC> c;
    std::int64_t k;
    int k_tiles;  ///< of a tile
    int tiles_m, tiles_n;
    int teams;          ///< of threads, that share the parts of what is added up: a power of two
    A* partials;        ///< a tile for each tile and each block, in words as the threads have them
    unsigned* barrier;  ///< two words, zero
    gemm_result<S, Epilogue> result;
    bool c_in_words;  ///< words of C may be written
    A one;            ///< 1: see each_word_of_sums
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    multiply(block, memory, x);
    block::grid_barrier barrier(x.barrier, x.barrier + 1);
    barrier.sync(block);
    if (block.thread() == 0 && barrier.leave(block)) simt::store(x.barrier, 0u);
    const int chunks = x.tiles_m * x.tiles_n * (words * x.teams / threads);
    for (int n = static_cast<int>(block.index()); n < chunks; n += static_cast<int>(block.count()))
      add_up(block, memory, x, n);
  }

private:
  using thread_coord = typename math::thread_coord;
  PMPP_HOST_DEVICE static thread_coord coord_of(int thread) {
    return {thread % simt::warp_size, thread / simt::warp_size};
  }
  using operands = typename math::operands;

  /// What each block of this grid has to do.
  template <class Block>
  PMPP_HOST_DEVICE static block_shares<std::int64_t> shares_of(Block& block, const arguments& x) {
    return {std::int64_t(x.tiles_m * x.tiles_n), x.k_tiles, block.count()};
  }

  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x) {
    constexpr int ahead = Tile.stages - 1;
    const thread_coord at = coord_of(block.thread());
    const auto shares = shares_of(block, x);
    const std::int64_t first = shares.first_k_tile(block.index());
    const int k_tiles = static_cast<int>(shares.first_k_tile(block.index() + 1) - first);
    int tile = static_cast<int>(first / x.k_tiles), in_tile = static_cast<int>(first % x.k_tiles), begin = in_tile;
    int fetch_tile = tile, fetch_in_tile = in_tile,
        to_fetch = k_tiles;  // what is copied next, and how many k-tiles are left
    const auto next_a = [&] {
      return iterator_a(block.thread(), x.a, 0, std::int64_t(fetch_tile % x.tiles_m) * Tile.m,
                        std::int64_t(fetch_in_tile) * Tile.k);
    };
    const auto next_b = [&] {
      return iterator_b(block.thread(), x.b, 0, std::int64_t(fetch_tile / x.tiles_m) * Tile.n,
                        std::int64_t(fetch_in_tile) * Tile.k);
    };
    iterator_a a = next_a();
    iterator_b b = next_b();
    // The next k-tile of A, and that of B. If both are copied element by element, half a k-tile lies between: all warps copy at the
    // same time, and multiply little meanwhile (128 x 128 x 65536 B' on an H100: 63 us, both at once 74).
    block::async_pipeline<Tile.stages, k_tile> ring;  // of elements of shared memory
    const auto copy = [&]<bool OfA, bool OfB>(int to) {
      if (to_fetch > 0) {
        const int left = static_cast<int>(min(std::int64_t(Tile.k), x.k - std::int64_t(fetch_in_tile) * Tile.k));
        if constexpr (OfA) a.template copy<false>(block.thread(), x.a, memory.k_tiles + to, left);
        if constexpr (OfB) {
          b.template copy<false>(block.thread(), x.b, memory.k_tiles + to + k_tile_a, left);
          --to_fetch;
          if (++fetch_in_tile == x.k_tiles) {
            ++fetch_tile;
            fetch_in_tile = 0;
            a = next_a();
            b = next_b();
          }
        }
      }
    };
    ring.template begin<ahead>([&](int to) { copy.template operator()<true, true>(to); });
    ring.template wait<ahead - 1>(block);
    operands now[2];
    const int from_a = at.slice * slice_k * row_a + at.thread_row,
              from_b = k_tile_a + at.slice * slice_k * row_b + at.thread_col;
    math::load(memory.k_tiles + ring.front() + from_a, memory.k_tiles + ring.front() + from_b, now[0]);
    A sum[own_tile.thread_m][own_tile.thread_n] = {};
    for (int s = 0; s < k_tiles; ++s) {
      copy.template operator()<true, !AlongB>(ring.acquire());
      unrolled<slice_k>([&](int p) {
        const bool last = p == slice_k - 1;
        if (AlongB && p == slice_k / 2) copy.template operator()<false, true>(ring.acquire());
        if (p == (AlongB ? slice_k / 2 : 0)) ring.commit();
        if (last) {
          ring.release();
          ring.template wait<ahead - 1>(block);
        }
        const A* const from = memory.k_tiles + ring.front();
        const int row = last ? 0 : p + 1;
        math::load(from + from_a + row * row_a, from + from_b + row * row_b, now[(p + 1) % 2]);
        math::add_products(now[p % 2], sum);
      });
      if (++in_tile < x.k_tiles && s + 1 < k_tiles) continue;
      finish(block, memory, x, tile, at, begin == 0 && in_tile == x.k_tiles, sum);
      for (auto& row : sum)
        for (A& y : row) y = A{};
      begin = in_tile = 0;
      ++tile;
    }
    ring.drain();
  }

  /// Adds up the sums of the slices, and writes them to C, or to its place among the partial sums. By way of shared
  /// memory and in loops that are not unrolled: this text runs once or twice, and has to be fetched first.
  template <class Block>
  PMPP_HOST_DEVICE static void finish(Block& block, shared& memory, const arguments& x, int tile,
                                      const thread_coord& at, bool whole, const sums& sum) {
    block.sync();  // the sums of the last tile have been read
    unrolled<own_words>([&](int n) {
      shared_word y;
      for (int e = 0; e < word; ++e) y.item[e] = sum[n / row_words][n % row_words * word + e] * x.one;
      memory.sums[at.slice * words + n * slice_threads + block.thread() % slice_threads] = y;
    });
    block.sync();
    auto* const to = reinterpret_cast<shared_word*>(x.partials) +
                     block_shares<std::int64_t>::place_of_part(tile, block.index()) * words;
    for (int n = block.thread(); n < words; n += threads) {
      shared_word y = memory.sums[n];
      for (int s = 1; s < slices; ++s)
        for (int e = 0; e < word; ++e) y.item[e] += memory.sums[s * words + n].item[e];
      if (whole)
        write(x, tile, coord_of(n % slice_threads), n / slice_threads, y);
      else
        to[n] = y;
    }
  }

  /// Writes word n of the elements of the thread at `at`.
  PMPP_HOST_DEVICE static void write(const arguments& x, int tile, const thread_coord& at, int n,
                                     const shared_word& y) {
    const std::int64_t row = std::int64_t(tile % x.tiles_m) * Tile.m + at.thread_row + math::row_of(n / row_words);
    const std::int64_t col =
        std::int64_t(tile / x.tiles_m) * Tile.n + at.thread_col + math::col_of(n % row_words * word);
    if (row < x.c.rows) write_items<word>(x.c, x.result, x.c_in_words, x.c.data, row, col, y.item);
  }

  /// Adds up chunk n of all tiles' words: the threads of a team one word each, and the teams share its parts.
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const arguments& x, int n) {
    const int team_size = threads / x.teams, chunks = words / team_size;
    const int tile = n / chunks, own_word = n % chunks * team_size + block.thread() % team_size,
              team = block.thread() / team_size;
    const auto shares = shares_of(block, x);
    const auto begin = shares.first_block(tile);
    const int parts = static_cast<int>(shares.parts(tile));
    if (parts == 1) return;
    const auto* const from = reinterpret_cast<const shared_word*>(x.partials) +
                             block_shares<std::int64_t>::place_of_part(tile, begin) * words + own_word;
    shared_word sum{};
    constexpr int most = 9;  // words on their way to a thread
    for (int part = team; part < parts; part += most * x.teams) {
      shared_word next[most];
      for (int e = 0; e < most; ++e) {
        const int p = part + e * x.teams;
        next[e] = p < parts ? from[p * std::int64_t(words)] : shared_word{};
      }
      for (int e = 0; e < most; ++e)
        for (int i = 0; i < word; ++i) sum.item[i] += next[e].item[i];
    }
    if (x.teams > 1) {
      block.sync();  // those of the last chunk have been read
      memory.sums[block.thread()] = sum;
      block.sync();
      if (team > 0) return;
      for (int t = 1; t < x.teams; ++t)
        for (int i = 0; i < word; ++i) sum.item[i] += memory.sums[t * team_size + block.thread()].item[i];
    }
    write(x, tile, coord_of(own_word % slice_threads), own_word / slice_threads, sum);
  }
};

/// Whether A and B lie so that they can be copied: along k, or in words along m and n.
template <class TA, class TB, class TC, class S, class Epilogue>
bool fits_stream_k(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  const auto fits = [](k_tile_copy copy) { return copy == k_tile_copy::words || copy == k_tile_copy::along_k; };
  return x.batch == 1 && fits(x.a.copy) && fits(x.b.copy);
}

/// What a product takes by shares, in clocks, about (measured on an H100): beside gemm_plan's.
template <stream_k_tile Tile, class TA, class TB, class TC, class S, class Epilogue>
double clocks_of_stream_k(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  if (!on.fits(Tile.shared_bytes()) || !on.cooperative) return never;
  constexpr double start = 16000;                               // all but products
  constexpr double area = Tile.m * Tile.n, tile = 0.02 * area;  // for each
  // Copies of small tiles are more work for each product.
  const double product = (area < 128 * 128 ? 1.7 : 1.42) / on.float_rate();
  const std::int64_t processors = on.multiprocessors;
  const std::int64_t tiles = ceil_div(x.c.rows, std::int64_t(Tile.m)) * ceil_div(x.c.cols, std::int64_t(Tile.n));
  const std::int64_t share = ceil_div(tiles * ceil_div(x.k, std::int64_t(Tile.k)), processors);
  const double read = double(x.k) * double(x.c.rows + x.c.cols) * sizeof(TA) / on.memory_rate();
  return start + tile * double(tiles) + max(read, product * double(share) * area * Tile.k);
}

/// Enqueues a product for this many blocks, at most one a multiprocessor, or runs it in the emulator.
template <stream_k_tile Tile, class A, class P, class TC, class S, class Epilogue>
void gemm_by_stream_k(const P& where, const gemm_problem<A, A, TC, S, Epilogue>& x, std::int64_t most_blocks) {
  // If only one of them lies along k, it is A.
  const bool along_a = x.a.copy != k_tile_copy::words, along_b = x.b.copy != k_tile_copy::words;
  if (!along_a && along_b) return gemm_by_stream_k<Tile, A>(where, x.exchanged(), most_blocks);
  const auto run = [&]<bool AlongA, bool AlongB>() {
    using kernel = stream_k_kernel<TC, A, S, Epilogue, Tile, AlongA, AlongB>;
    const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(Tile.m)),
                       tiles_n = ceil_div(x.c.cols, std::int64_t(Tile.n)), tiles = tiles_m * tiles_n;
    const std::int64_t k_tiles = max(std::int64_t(1), ceil_div(x.k, std::int64_t(Tile.k)));
    const std::int64_t blocks = min(tiles * k_tiles, most_blocks);
    // Teams that share the parts of a word keep more of them on their way, as long as each block has one chunk to add up.
    std::int64_t teams = 1;
    while (2 * teams * tiles * kernel::words <= blocks * kernel::threads && 2 * teams * tiles <= blocks) teams *= 2;
    scratch memory(where, checked_bytes((tiles + blocks) * kernel::words * kernel::word, sizeof(A), "gemm"),
                   2 * sizeof(unsigned));
    detail::launch_together_at_most(
        where, blocks, kernel{},
        typename kernel::arguments{x.a, x.b, x.c, x.k, static_cast<int>(k_tiles), static_cast<int>(tiles_m),
                                   static_cast<int>(tiles_n), static_cast<int>(teams), static_cast<A*>(memory.data()),
                                   memory.state(), x.result, x.c.is_written_by(kernel::word), A(1)});
  };
  if (along_b)
    run.template operator()<true, true>();
  else if (along_a)
    run.template operator()<true, false>();
  else
    run.template operator()<false, false>();
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
