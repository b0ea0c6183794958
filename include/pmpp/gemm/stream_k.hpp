// SPDX-License-Identifier: Apache-2.0
//
// Products whose C has too few tiles, or an awkward number of them, for whole waves of blocks: every multiprocessor gets one
// block, and every block the same share of the work.
//
//   1. The k-tiles of all tiles, one tile after another, are dealt out evenly: a block gets so many that follow each other, the
//      end of one tile, perhaps whole tiles, the beginning of another. It goes through them without a pause between tiles;
//      several are on their way to shared memory while one is multiplied, as in gemm/simt.hpp.
//   2. The warps of a tile, each of which owns 64 x 64 elements, are fewer than the block has: groups of them, slices, each
//      multiply a part of every k-tile, and the first adds up the sums.
//   3. Whole tiles are written to C, the others to scratch memory. When all blocks have done so (block/grid_barrier.hpp), they
//      add up what belongs together, in order: the same bits on every run.
//
// One launch; one barrier of the block a k-tile, one of the grid. Scratch: two tiles for each multiprocessor, most of which
// stay unused. (The division of work is that of "Stream-K", Osama, Merrill, Cecka, Garland and Owens, 2023; there, blocks wait
// for those that share their tile.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
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
  static constexpr int word = 16 / sizeof(A);     ///< elements of a 16-byte word
  static constexpr int own_m = 16, own_n = 8;     ///< elements of a thread
  static constexpr int lanes_m = 4, lanes_n = 8;  ///< of a warp
  static constexpr int warps_m = Tile.m / (lanes_m * own_m), warps_n = Tile.n / (lanes_n * own_n);
  static constexpr int slice_threads = warps_m * warps_n * simt::warp_size, slices = threads / slice_threads;
  static constexpr int slice_k = Tile.k / slices;
  static constexpr int own_words = own_m * own_n / word, words = Tile.m * Tile.n / word;  ///< of a thread; of a tile
  static_assert(word == 4 && slice_k % 2 == 0 && Tile.k % 8 == 0 && Tile.stages >= 3);

  using shared_word = packed<A, word>;

  // The word after each row lets lanes with consecutive k write to different banks.
  static constexpr int row_a = Tile.m + word, row_b = Tile.n + word, k_tile_a = Tile.k * row_a,
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
    A* partials;        ///< two tiles for each block, in words as the threads have them
    unsigned* barrier;  ///< two words, zero
    gemm_result<S, Epilogue> result;
    bool c_in_words;  ///< words of C may be written
    A one;            ///< 1: see gemm_arguments
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
  /// Row (column) number i of a thread's, from its first.
  PMPP_HOST_DEVICE static constexpr int row_of(int i) { return i / word * lanes_m * word + i % word; }
  PMPP_HOST_DEVICE static constexpr int col_of(int j) { return j / word * lanes_n * word + j % word; }

  /// Where a thread's elements lie in the tile.
  struct coord {
    int slice, row, col;
    PMPP_HOST_DEVICE explicit coord(int thread) {
      const int warp = thread / simt::warp_size, lane = thread % simt::warp_size, in_slice = warp % (warps_m * warps_n);
      slice = warp / (warps_m * warps_n);
      // Lanes 2i and 2i + 1 share their words of A, lanes 4i and 4i + 2 theirs of B: see gemm/simt.hpp.
      row = in_slice / warps_n * lanes_m * own_m + (lane / 2 % 2 + lane / 16 * 2) * word;
      col = in_slice % warps_n * lanes_n * own_n + (lane % 2 + lane / 4 % 4 * 2) * word;
    }
  };

  /// Copies one operand k-tile after k-tile: zeros beyond the edges.
  template <int Extent, bool AlongK>
  class tile_iterator {
    static constexpr int items = AlongK ? 1 : word;           ///< elements that are copied at once
    static constexpr int near = AlongK ? 8 : Extent / items;  ///< threads along what lies in one piece
    static constexpr int far = threads / near, row = Extent + word;

  public:
    PMPP_HOST_DEVICE tile_iterator(int t, const gemm_operand<A>& x, std::int64_t first, std::int64_t k)
        : extent_(static_cast<int>(min(std::int64_t(Extent), x.extent - first))),
          i_(AlongK ? t / near : t % near * items),
          p_(AlongK ? t % near : t / near) {
      from_ = x.data + (first + i_) * x.stride + (k + p_) * x.k_stride;
    }
    PMPP_HOST_DEVICE void copy(const gemm_operand<A>& x, A* to, int left) {
      to += p_ * row + i_;
      if (extent_ == Extent && left >= Tile.k)
        each(x, [&](int i, int p, const A* from) { simt::copy_async<items * sizeof(A)>(to + p * row + i, from); });
      else
        each(x, [&](int i, int p, const A* from) {
          const int there = p_ + p < left ? min(max(extent_ - i_ - i, 0), items) : 0;
          simt::copy_async<items * sizeof(A)>(to + p * row + i, from, there * int(sizeof(A)));
        });
      from_ += Tile.k * x.k_stride;
    }

  private:
    template <class F>
    PMPP_HOST_DEVICE void each(const gemm_operand<A>& x, F f) const {
      for (int i = 0; i < Extent; i += AlongK ? far : Extent)
        for (int p = 0; p < Tile.k; p += AlongK ? near : far)
          f(i, p, from_ + i * x.stride + p * (AlongK ? 1 : x.k_stride));
    }
    const A* from_;
    int extent_, i_, p_;  // of the tile; where this thread's first piece begins
  };

  /// Loads the operands of one k.
  struct operands {
    A a[own_m], b[own_n];
  };
  PMPP_HOST_DEVICE static void load(const A* a, const A* b, operands& to) {
    for (int i = 0; i < own_m; i += word) {
      const auto x = *reinterpret_cast<const shared_word*>(a + row_of(i));
      for (int e = 0; e < word; ++e) to.a[i + e] = x.item[e];
    }
    for (int j = 0; j < own_n; j += word) {
      const auto x = *reinterpret_cast<const shared_word*>(b + col_of(j));
      for (int e = 0; e < word; ++e) to.b[j + e] = x.item[e];
    }
  }

  /// The first k-tile of a block, among those of all tiles.
  template <class Block>
  PMPP_HOST_DEVICE static std::int64_t first_k_tile(Block& block, const arguments& x, std::int64_t of) {
    return std::int64_t(x.tiles_m * x.tiles_n) * x.k_tiles * of / block.count();
  }

  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x) {
    constexpr int ahead = Tile.stages - 1;
    const coord at(block.thread());
    const std::int64_t first = first_k_tile(block, x, block.index());
    const int k_tiles = static_cast<int>(first_k_tile(block, x, block.index() + 1) - first);
    int tile = static_cast<int>(first / x.k_tiles), in_tile = static_cast<int>(first % x.k_tiles), begin = in_tile;
    int fetch_tile = tile, fetch_in_tile = in_tile,
        to_fetch = k_tiles;  // what is copied next, and how many k-tiles are left
    using iterator_a = tile_iterator<Tile.m, AlongA>;
    using iterator_b = tile_iterator<Tile.n, AlongB>;
    const auto next_a = [&] {
      return iterator_a(block.thread(), x.a, std::int64_t(fetch_tile % x.tiles_m) * Tile.m,
                        std::int64_t(fetch_in_tile) * Tile.k);
    };
    const auto next_b = [&] {
      return iterator_b(block.thread(), x.b, std::int64_t(fetch_tile / x.tiles_m) * Tile.n,
                        std::int64_t(fetch_in_tile) * Tile.k);
    };
    iterator_a a = next_a();
    iterator_b b = next_b();
    // The next k-tile of A, and that of B. If both are copied element by element, half a k-tile lies between: all warps copy at the
    // same time, and multiply little meanwhile (128 x 128 x 65536 B' on an H100: 63 us, both at once 74).
    const auto copy = [&]<bool OfA, bool OfB>(int stage) {
      if (to_fetch > 0) {
        const int left = static_cast<int>(min(std::int64_t(Tile.k), x.k - std::int64_t(fetch_in_tile) * Tile.k));
        if constexpr (OfA) a.copy(x.a, memory.k_tiles + stage * k_tile, left);
        if constexpr (OfB) {
          b.copy(x.b, memory.k_tiles + stage * k_tile + k_tile_a, left);
          --to_fetch;
          if (++fetch_in_tile == x.k_tiles) {
            ++fetch_tile;
            fetch_in_tile = 0;
            a = next_a();
            b = next_b();
          }
        }
      }
      if constexpr (OfB) simt::copy_async_commit();
    };
    for (int s = 0; s < ahead; ++s) copy.template operator()<true, true>(s);
    simt::copy_async_wait<ahead - 1>();
    block.sync();
    operands now[2];
    const int from_a = at.slice * slice_k * row_a + at.row, from_b = k_tile_a + at.slice * slice_k * row_b + at.col;
    load(memory.k_tiles + from_a, memory.k_tiles + from_b, now[0]);
    int stage = 0, free_stage = ahead;
    A sum[own_m][own_n] = {};
    for (int s = 0; s < k_tiles; ++s) {
      const int filled = free_stage;
      copy.template operator()<true, !AlongB>(filled);
      free_stage = free_stage + 1 < Tile.stages ? free_stage + 1 : 0;
      const int next = stage + 1 < Tile.stages ? stage + 1 : 0;
      unrolled<slice_k>([&](int p) {
        const bool last = p == slice_k - 1;
        if (AlongB && p == slice_k / 2) copy.template operator()<false, true>(filled);
        if (last) {
          simt::copy_async_wait<ahead - 1>();
          block.sync();  // the next k-tile is there, and all have read this one, whose place is the next to be free
        }
        const A* const from = memory.k_tiles + (last ? next : stage) * k_tile;
        const int row = last ? 0 : p + 1;
        load(from + from_a + row * row_a, from + from_b + row * row_b, now[(p + 1) % 2]);
        const operands& y = now[p % 2];
        for (int i = 0; i < own_m; ++i)
          for (int j = 0; j < own_n; ++j) {
            const int serpentine = i % 2 == 0 ? j : own_n - 1 - j;  // the neighbour shares an operand
            sum[i][serpentine] += y.a[i] * y.b[serpentine];
          }
      });
      stage = next;
      if (++in_tile < x.k_tiles && s + 1 < k_tiles) continue;
      finish(block, memory, x, tile, at, s + 1 > in_tile - begin ? 1 : 0, begin == 0 && in_tile == x.k_tiles, sum);
      for (int i = 0; i < own_m; ++i)
        for (int j = 0; j < own_n; ++j) sum[i][j] = A{};
      begin = in_tile = 0;
      ++tile;
    }
    simt::copy_async_wait<0>();
  }

  /// Adds up the sums of the slices, and writes them to C, or to partial sums number `which` of the block. By way of shared
  /// memory and in loops that are not unrolled: this text runs once or twice, and has to be fetched first.
  template <class Block>
  PMPP_HOST_DEVICE static void finish(Block& block, shared& memory, const arguments& x, int tile, const coord& at,
                                      int which, bool whole, const A (&sum)[own_m][own_n]) {
    block.sync();  // the sums of the last tile have been read
    unrolled<own_words>([&](int n) {
      shared_word y;
      for (int e = 0; e < word; ++e) y.item[e] = sum[n / 2][n % 2 * word + e] * x.one;
      memory.sums[at.slice * words + n * slice_threads + block.thread() % slice_threads] = y;
    });
    block.sync();
    auto* const to = reinterpret_cast<shared_word*>(x.partials) + (2 * block.index() + which) * words;
    for (int n = block.thread(); n < words; n += threads) {
      shared_word y = memory.sums[n];
      for (int s = 1; s < slices; ++s)
        for (int e = 0; e < word; ++e) y.item[e] += memory.sums[s * words + n].item[e];
      if (whole)
        write(x, tile, coord(n % slice_threads), n / slice_threads, y);
      else
        to[n] = y;
    }
  }

  /// Writes word n of the elements of the thread at `at`.
  PMPP_HOST_DEVICE static void write(const arguments& x, int tile, const coord& at, int n, const shared_word& y) {
    const std::int64_t row = std::int64_t(tile % x.tiles_m) * Tile.m + at.row + row_of(n / 2);
    const std::int64_t col = std::int64_t(tile / x.tiles_m) * Tile.n + at.col + col_of(n % 2 * word);
    if (row >= x.c.rows) return;
    TC* to = x.c.data + row * x.c.row_stride + col * x.c.col_stride;
    if (x.c_in_words && col + word <= x.c.cols) {
      using group_c = packed<TC, word>;
      group_c z{};
      if (x.result.beta != S{}) z = *reinterpret_cast<const group_c*>(to);
      for (int e = 0; e < word; ++e) z.item[e] = x.result(y.item[e], &z.item[e], row, col + e);
      *reinterpret_cast<group_c*>(to) = z;
    } else {
      for (int e = 0; e < word; ++e, to += x.c.col_stride)
        if (col + e < x.c.cols) *to = x.result(y.item[e], to, row, col + e);
    }
  }

  /// Adds up chunk n of all tiles' words: the threads of a team one word each, and the teams share its parts.
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const arguments& x, int n) {
    const int team_size = threads / x.teams, chunks = words / team_size;
    const int tile = n / chunks, own_word = n % chunks * team_size + block.thread() % team_size,
              team = block.thread() / team_size;
    const std::int64_t all = std::int64_t(x.tiles_m * x.tiles_n) * x.k_tiles, first = std::int64_t(tile) * x.k_tiles;
    // The blocks that have k-tiles of the tile.
    const int begin = static_cast<int>(((first + 1) * block.count() - 1) / all),
              end = static_cast<int>(((first + x.k_tiles) * block.count() - 1) / all) + 1;
    if (end - begin == 1) return;
    const int which = first_k_tile(block, x, begin) < first ? 1 : 0, parts = end - begin;
    const auto* const from =
        reinterpret_cast<const shared_word*>(x.partials) + 2 * begin * std::int64_t(words) + own_word;
    shared_word sum{};
    constexpr int most = 9;  // words on their way to a thread
    for (int part = team; part < parts; part += most * x.teams) {
      shared_word next[most];
      for (int e = 0; e < most; ++e) {
        const int p = part + e * x.teams;
        next[e] = p < parts ? from[(2 * p + (p == 0 ? which : 0)) * std::int64_t(words)] : shared_word{};
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
    write(x, tile, coord(own_word % slice_threads), own_word / slice_threads, sum);
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
    scratch memory(where, checked_bytes(2 * blocks * kernel::words * kernel::word, sizeof(A), "gemm"),
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
