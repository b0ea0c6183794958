// SPDX-License-Identifier: Apache-2.0
//
// Large products of floats on the ordinary units of sm_90a (H100, H200), where TMA brings A and B.
//
//   1. A block works out a tile of C, as in gemm/multistage.hpp; two or three run on a multiprocessor at a time. Tiles that do not
//      fill the last round are one row of k-tiles, of which as many blocks as run at a time multiply an equal share each: the
//      beginning of a tile, whose sums are left in scratch memory, then the end of the one before, to which those of earlier blocks
//      are added, in order: the same bits on every run, and one launch.
//   2. A block has four warps that multiply, and one thread beside them that asks TMA for k-tiles of A and B,
//      several ahead. K-tiles change hands by barriers: `full` when the bytes are there, `empty` when all warps have read
//      them. That is a few instructions of a warp for each k-tile, where copies by all threads take 70 for 1024 products.
//   3. TMA writes zeros where a tile leaves the matrix: the loop over k has no cases.
//   4. Sums reach C by rows, through the shared memory of k-tiles (gemm/sums_by_rows.hpp).
//   5. Both operands lie along m and n; others are copied first (gemm/repack.hpp).
//
// (PTX ISA, cp.async.bulk.tensor; Osama et al., 2023, for shares of what is left over.)
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/sums_by_rows.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// What a launch of gemm_bulk_kernel gets. `whole` tiles are worked out by one block each; `partials`: a tile for each of the blocks
/// that share the others.
template <class TC, class S, class Epilogue>
struct gemm_bulk_arguments : gemm_arguments<float, float, TC, float, S, Epilogue> {
  simt::tile_map a_map, b_map;
  block_shares<int> shares;      ///< of the tiles that are not whole
  unsigned* arrivals = nullptr;  ///< of sums of each of them, then of blocks that share them: zero
};

template <class TC, class S, class Epilogue, gemm_tile Tile>
struct gemm_bulk_kernel {
  using arguments = gemm_bulk_arguments<TC, S, Epilogue>;
  using math = fma_math<float, Tile>;
  using operands = typename math::operands;
  using thread_coord = typename math::thread_coord;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int word = math::word, min_blocks = Tile.blocks;

  // The asking thread has a warpgroup to itself, which leaves its registers to the other: of two blocks of 2 x 128 threads
  // each has 128. Were it one of those that multiply, others would wait for its warp.
  static constexpr int multiplying = 128, threads = 2 * multiplying, few_registers = 24,
                       many_registers = 65536 / (Tile.blocks * threads) / 8 * 16 - few_registers;
  static_assert(Tile.threads() == multiplying && Tile.slices == 1);

  struct shared {
    alignas(16) float a[Tile.stages * Tile.k * Tile.m];
    alignas(16) float b[Tile.stages * Tile.k * Tile.n];
    block::tensor_pipeline<Tile.stages> ring;
    int index;  ///< of the block
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    if (block.thread() == 0) memory.ring.init(multiplying / simt::warp_size);
    simt::previous_kernels_done();
    if (block.thread() == 0) memory.index = index_of(block, x);
    block.sync();
    if (block.thread() >= multiplying) {
      simt::release_registers<few_registers>();
      if (block.thread() == multiplying) produce(memory, x);
    } else {
      simt::acquire_registers<many_registers>();
      multiply(block, memory, x);
    }
#endif
  }

private:
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  struct coord : tile_coord<Tile>, thread_coord {
    __device__ coord(const arguments& x, int tile, const thread_coord& own)
        : tile_coord<Tile>(x, x.order(static_cast<std::uint32_t>(tile))), thread_coord(own) {}
  };

  /// A block's own tile, or its place among those that share tiles, in the order in which they start: so whoever has sums
  /// that it waits for has started.
  template <class Block>
  __device__ static int index_of(Block& block, const arguments& x) {
    if (block.index() < x.whole) return static_cast<int>(block.index());
    const auto last = static_cast<unsigned>(block.count() - x.whole) - 1;
    return static_cast<int>(x.whole + simt::take_ticket(x.arrivals + x.split_tiles.value(), last));
  }

  /// A tile, and which of its k-tiles a block multiplies.
  struct piece {
    int tile, first, k_tiles;

    /// Piece 0 of the block, with which a tile ends, or 1, with which one begins. It has no k-tiles if there are not so many.
    __device__ piece(const arguments& x, int of_block, int i) {
      const int whole = static_cast<int>(x.whole), index = of_block - whole;
      if (index < 0) {
        tile = whole + index, first = 0, k_tiles = i == 0 ? x.shares.k_tiles : 0;
      } else {
        const int begin = x.shares.first_k_tile(index), end = x.shares.first_k_tile(index + 1);
        const int own = begin / x.shares.k_tiles + i, at = begin - own * x.shares.k_tiles;
        tile = whole + own, first = max(at, 0), k_tiles = min(end - begin + at, x.shares.k_tiles) - first;
      }
    }
  };

  using position = block::stage_position<Tile.stages>;

  /// Asks for the k-tiles of the block, one after another.
  __device__ static void produce(shared& memory, const arguments& x) {
    position next;
    for (int i = 1; i >= 0; --i) {
      const piece at(x, memory.index, i);
      if (at.k_tiles <= 0) continue;
      const tile_coord<Tile> tile(x, x.order(static_cast<std::uint32_t>(at.tile)));
      const int row = static_cast<int>(tile.row), col = static_cast<int>(tile.col),
                batch = static_cast<int>(tile.batch), batch_a = x.a.batch_stride != 0 ? batch : 0,
                batch_b = x.b.batch_stride != 0 ? batch : 0;
      for (int s = at.first; s < at.first + at.k_tiles; ++s, next.advance()) {
        auto& full = memory.ring.acquire(next, (Tile.m + Tile.n) * Tile.k * static_cast<int>(sizeof(float)));
        simt::copy_tile(memory.a + next.stage * Tile.k * Tile.m, x.a_map, full, row, s * Tile.k, batch_a);
        simt::copy_tile(memory.b + next.stage * Tile.k * Tile.n, x.b_map, full, col, s * Tile.k, batch_b);
      }
    }
  }

  static constexpr int words_of_row = Tile.thread_n / word, words_of_thread = Tile.thread_m * words_of_row;
  using word_of_sums = typename math::shared_word;
  __device__ static word_of_sums* part_of(const arguments& x, int block, int thread) {
    return reinterpret_cast<word_of_sums*>(x.partials) + std::int64_t(block) * (multiplying * words_of_thread) + thread;
  }

  /// Leaves sums of the beginning of a tile, or of its middle, to the block that has its end.
  template <class Block>
  __device__ static void publish(Block& block, const arguments& x, int index, int tile,
                                 const typename math::sums& sum) {
    word_of_sums* to = part_of(x, index - static_cast<int>(x.whole), block.thread());
    each_word_of_sums<math>(sum, x.one, [&](int, int, const auto& y) {
      *to = y;
      to += multiplying;
    });
    simt::fence();
    simt::warpgroup_sync(0);
    if (block.thread() == 0) simt::atomic_add(x.arrivals + tile, 1u);
  }

  /// Adds what other blocks have of a tile that this one has the end of, in order. They are earlier blocks, each of which leaves its
  /// sums before it waits itself.
  template <class Block>
  __device__ static void add_others(Block& block, const arguments& x, int tile, typename math::sums& sum) {
    const int first = x.shares.first_block(tile), others = x.shares.parts(tile) - 1;
    if (block.thread() == 0) {
      while (simt::load(x.arrivals + tile) != static_cast<unsigned>(others)) block.spin();
      simt::store(x.arrivals + tile, 0u);
    }
    simt::warpgroup_sync(0);
    simt::fence();
#pragma unroll 1
    for (int other = first; other < first + others; ++other) {
      const word_of_sums* const from = part_of(x, other, block.thread());
      constexpr int at_once = min(words_of_thread, 8);
      unrolled<words_of_thread / at_once>([&](int group) {
        word_of_sums y[at_once];
        for (int q = 0; q < at_once; ++q) y[q] = from[(group * at_once + q) * multiplying];
        for (int q = 0; q < at_once; ++q)
          for (int e = 0; e < word; ++e) {
            const int i = group * at_once + q;
            sum[i / words_of_row][i % words_of_row * word + e] += y[q].item[e];
          }
      });
    }
  }

  template <class Block>
  __device__ static void multiply(Block& block, shared& memory, const arguments& x) {
    const thread_coord own(block.lane(), block.warp());
    const auto load = [&](int row, operands& to) {
      math::load(memory.a + row * Tile.m + own.thread_row, memory.b + row * Tile.n + own.thread_col, to);
    };
    const int index = memory.index;
    piece at(x, index, 1), next(x, index, 0);
    if (at.k_tiles <= 0) at = next, next.k_tiles = 0;
    if (at.k_tiles <= 0) return;
    // Of a tile's last k-tile, what lies in A and B, in steps of the loop: the rest is zeros.
    const int last_depth = static_cast<int>((x.k - 1) % Tile.k) / Tile.unrolled_k * Tile.unrolled_k + Tile.unrolled_k;
    operands now[2] = {};
    int row = 0;     // of shared memory, for this k
    int last = 0;    // the stage that was read before this one
    position after;  // the stage that is read after this one
    after.advance();
    memory.ring.wait({});
    load(0, now[0]);
    for (bool second = false; at.k_tiles > 0; second = true) {
      float sum[Tile.thread_m][Tile.thread_n] = {};
#pragma unroll 1
      for (int s = 0; s < at.k_tiles; ++s) {
        if (second || s > 0) {
          block.sync_warp();
          if (block.lane() == 0) memory.ring.release(last);
          last = last + 1 < Tile.stages ? last + 1 : 0;
        }
        // The next k-tile has to be there too: its first k is loaded while this one's last is multiplied. (After the last
        // of all, what is loaded is not used, and nothing is written there.)
        if (s + 1 < at.k_tiles || next.k_tiles > 0) memory.ring.wait(after);
        const int row_after = after.stage * Tile.k, depth = at.first + s + 1 < x.shares.k_tiles ? Tile.k : last_depth;
        after.advance();
#pragma unroll 1
        for (int q = 0; q < depth; q += Tile.unrolled_k) {
          const int next_row = q + Tile.unrolled_k < depth ? row + Tile.unrolled_k : row_after;
          unrolled<Tile.unrolled_k>([&](int p) {
            load(p + 1 < Tile.unrolled_k ? row + p + 1 : next_row, now[(p + 1) % 2]);
            math::add_products(now[p % 2], sum);
          });
          row = next_row;
        }
      }
      const int shared_tile = at.tile - static_cast<int>(x.whole);
      if (at.first + at.k_tiles < x.shares.k_tiles) {
        publish(block, x, index, shared_tile, sum);
      } else {  // the last piece: no k-tile is on its way
        if (at.first > 0) add_others(block, x, shared_tile, sum);
        const coord place(x, at.tile, own);
        sums_by_rows<float, Tile, sizeof(memory.a) + sizeof(memory.b)> rows{block.thread(), memory.a};
        rows.each_part(
            own, sum, x.one, [] { simt::warpgroup_sync(0); },
            [&] {
              TC* const c = x.c.data + place.batch * x.c.batch_stride;
              x.c_in_words ? rows.template write<word>(x, place, c) : rows.template write<1>(x, place, c);
            });
      }
      at = next;
      next.k_tiles = 0;
    }
  }
#endif
};

/// Clocks that such a product is expected to take, fitted to times of random shapes on an H200; never where there is no TMA.
template <gemm_tile Tile, class Problem>
double clocks_of_bulk(const Problem& x, const machine& on) {
  constexpr std::int64_t most = std::int64_t(1) << 30;
  const std::int64_t k_tiles = ceil_div(x.k, std::int64_t(Tile.k)),
                     places = std::int64_t(on.multiprocessors) * Tile.blocks,
                     tiles =
                         ceil_div(x.c.rows, std::int64_t(Tile.m)) * ceil_div(x.c.cols, std::int64_t(Tile.n)) * x.batch,
                     rest = tiles % places;
  if (x.k == 0 || tiles * k_tiles >= most || !wgmma_available()) return never;
  constexpr double area = Tile.m * Tile.n;
  const double depth = double(round_up(x.k, std::int64_t(Tile.unrolled_k))), of_k = 0.862 * area / on.float_rate();
  const double store = 0.109 * area * (1 + (x.result.reads() ? 2.6 : 0) + (x.c.is_made_of(4) ? 0 : 1.13));  // of a tile
  double clocks = double(tiles / places) * (4110 + Tile.blocks * (depth * of_k + store));
  if (rest > 0) {
    const double own_k = min(depth, max(1.0, double(rest * k_tiles) / double(places)) * Tile.k),  // of a block
        parts = min(double(places) / double(rest), double(k_tiles));                              // of a tile
    clocks += 11500 + Tile.blocks * own_k * of_k +
              double(min<std::int64_t>(Tile.blocks, ceil_div(rest, std::int64_t(on.multiprocessors)))) * store +
              0.0936 * area * parts;
  }
  return 8680 + 1.22 * max(clocks, clocks_of_memory(x, on));
}

/// Enqueues a product of large floats whose operands lie along m and n; says whether it can.
template <gemm_tile Tile, class P, class TC, class S, class Epilogue>
bool gemm_by_bulk(const P& where, const gemm_problem<float, float, TC, S, Epilogue>& x) {
  using kernel = gemm_bulk_kernel<TC, S, Epilogue, Tile>;
  constexpr std::int64_t most = std::int64_t(1) << 30;
  const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(Tile.m)),
                     tiles_n = ceil_div(x.c.cols, std::int64_t(Tile.n)), tiles = tiles_m * tiles_n * x.batch,
                     k_tiles = ceil_div(x.k, std::int64_t(Tile.k));
  const std::int64_t blocks = std::int64_t(machine_of(where).multiprocessors) * Tile.blocks;  // that run at a time
  const std::int64_t rest = tiles % blocks, whole = tiles - rest;
  if (x.k == 0 || tiles * k_tiles >= most || x.a.stride != 1 || x.b.stride != 1) return false;
  typename kernel::arguments y{{x.a, x.b, x.c, x.k, x.batch, tiles_m, tiles_n, whole, 1, x.k, nullptr, x.result,
                                x.c.is_made_of(kernel::word), 1},
                               {},
                               {},
                               {static_cast<int>(rest), static_cast<int>(k_tiles), static_cast<int>(blocks)}};
  const auto describe = [&]<int Width>(simt::tile_map& map, const gemm_operand<float>& operand,
                                       std::integral_constant<int, Width>) {
    return simt::describe_tiles<float, Width>(map, operand.data, operand.extent, x.k, operand.k_stride, x.batch,
                                              operand.batch_stride, Tile.k);
  };
  if (!describe(y.a_map, x.a, std::integral_constant<int, Tile.m>{}) ||
      !describe(y.b_map, x.b, std::integral_constant<int, Tile.n>{}))
    return false;
  scratch memory(where, rest > 0 ? checked_bytes(blocks * Tile.m * Tile.n, sizeof(float), "gemm") : 0,
                 rest > 0 ? checked_bytes(rest + 1, sizeof(unsigned), "gemm") : 0);
  y.partials = static_cast<float*>(memory.data());
  y.arrivals = memory.state();
  launch(where, whole + (rest > 0 ? blocks : 0), kernel{}, y);
  return true;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

template <auto Tile, class Problem>
double clocks_of_bulk(const Problem&, const machine&) {
  return 1e300;
}

template <auto Tile, class P, class Problem>
bool gemm_by_bulk(const P&, const Problem&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
