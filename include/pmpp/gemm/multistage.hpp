// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on the ordinary arithmetic units, for every type: tiles in shared memory, and in registers.
//
//   1. A block owns a tile of C, and all of k or one of several splits of it. It goes through k k-tile by k-tile. Several
//      k-tiles of A and B are on their way to shared memory at a time (simt/memory.hpp: copy_async), none through registers.
//   2. Both k-tiles lie in shared memory with k as the slow index, whatever the layout in global memory: then a thread
//      reads what it needs for one k as whole 16-byte words, and its neighbours read the same words or other banks.
//   3. A thread owns thread_m x thread_n elements of C in registers: 8 x 16 floats make 128 multiplications of 6 loads.
//      The operands of the next k are loaded while this k's are multiplied.
//   4. Splits write partial sums, which a second launch adds up in order: the same bits on every run. Where C is large,
//      only the tiles that do not fill a wave of blocks are split. Where it is small, the warps of a block may be slices:
//      each multiplies its part of every k-tile, and the block adds up.
//   5. Sums reach C, or scratch memory, by rows, through the shared memory of k-tiles (gemm/sums_by_rows.hpp).
//
// 2 m n k operations; A is read n / tile n times, B m / tile m times, mostly from L2: tiles that are near each other run
// at the same time. One barrier a k-tile; one launch, or two.
// (PMPP ch. 5 and 6; Volkov and Demmel, 2008; Nath, Tomov and Dongarra, 2010.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/operand.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/gemm/sums_by_rows.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Elsewhere: it is for machines alone that have no TMA, or programs that do not use it; code for sm_90a is empty.
template <class TA, class TB, class TC, class A, class S, class Epilogue, gemm_tile Tile, k_tile_copy CopyA,
          k_tile_copy CopyB, bool Elsewhere = false>
struct gemm_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  using math = fma_math<A, Tile>;
  using sums = typename math::sums;
  static constexpr int word = math::word;
  static constexpr int slice_k = Tile.k / Tile.slices, slice_threads = threads / Tile.slices;
  static_assert(Tile.k % 8 == 0 && slice_k % Tile.unrolled_k == 0 && Tile.k % Tile.slices == 0 &&
                Tile.unrolled_k % 2 == 0 && Tile.stages >= 3);

  using iterator_a = tile_iterator<A, TA, Tile.m, Tile.k, threads, CopyA>;
  using iterator_b = tile_iterator<A, TB, Tile.n, Tile.k, threads, CopyB>;
  static constexpr int row_a = iterator_a::row_length, row_b = iterator_b::row_length;
  struct shared {
    alignas(16) A a[Tile.stages * Tile.k * row_a];
    alignas(16) A b[Tile.stages * Tile.k * row_b];
  };
  static_assert(sizeof(shared) == Tile.shared_bytes(sizeof(A)));

  using arguments = gemm_arguments<TA, TB, TC, A, S, Epilogue>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    if constexpr (!Elsewhere)
#endif
    {
      const auto own = x.share_of(static_cast<int>(block.index()));
      const auto tile = static_cast<std::uint32_t>(own.tile + (own.split < 0 ? 0 : x.whole));
      make_tile(block, memory, x, own, x.order(tile));
    }
  }

  /// All of k of a tile.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x, const tile_place& tile) const {
    make_tile(block, memory, x, {-1, 0}, tile);
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void make_tile(Block& block, shared& memory, const arguments& x,
                                         const typename arguments::share& own, const tile_place& place) {
    simt::previous_kernels_done();
    const coord at(block, x, own, place);
    A sum[Tile.thread_m][Tile.thread_n] = {};
    multiply(block, memory, x, at, sum);
    block::async_pipeline<Tile.stages>::drain();
    sums_by_rows<A, Tile, sizeof(shared)> rows{block.thread(), memory.a};
    rows.each_part(
        at, sum, x.one, [&] { block.sync(); },
        [&] {
          if (at.split < 0) {
            TC* const c = x.c.data + at.batch * x.c.batch_stride;
            x.c_in_words ? rows.template write<word>(x, at, c) : rows.template write<1>(x, at, c);
          } else if (x.whole > 0) {
            A* const tile = x.partials + (at.tile * x.splits + at.split) * (Tile.m * Tile.n);
            rows.leave([&](int i, int j) { return tile + i * Tile.n + j; });
          } else {  // a reduction has those of each split as a matrix
            const std::int64_t length = x.partial_row();
            A* const matrix = x.partials + (at.batch * x.splits + at.split) * x.c.rows * length;
            rows.leave([&](int i, int j) -> A* {
              const std::int64_t row = at.row + i, col = at.col + j;
              const bool is_own = i >= at.others_rows && row < x.c.rows && j >= at.others_cols && col < length;
              return is_own ? matrix + row * length + col : nullptr;
            });
          }
        });
  }

  /// Which part of the product this block and this thread work out.
  struct coord : tile_coord<Tile>, math::thread_coord {
    std::int64_t k_begin, k_end;
    int split, tile;  ///< negative where k is not split; among those tiles whose k is

    template <class Block>
    PMPP_HOST_DEVICE coord(Block& block, const arguments& x, const typename arguments::share& own,
                           const tile_place& place)
        : tile_coord<Tile>(x, place),
          math::thread_coord(block.lane(), block.warp()),
          k_begin(own.split < 0 ? 0 : own.split * x.split_k),
          k_end(own.split < 0 ? x.k : min(x.k, k_begin + x.split_k)),
          split(own.split),
          tile(own.tile) {}
  };

  /// Adds the products of a thread's elements over the k of the split.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const coord& at, sums& sum) {
    constexpr int ahead = Tile.stages - 1;
    const std::int64_t depth = max(std::int64_t(0), at.k_end - at.k_begin);
    const int k_tiles = static_cast<int>(ceil_div(depth, std::int64_t(Tile.k)));
    const int last_depth = static_cast<int>(depth - (k_tiles - 1) * std::int64_t(Tile.k));
    iterator_a a(block.thread(), x.a, at.batch, at.row, at.k_begin);
    iterator_b b(block.thread(), x.b, at.batch, at.col, at.k_begin);
    int left = k_tiles;  // to be copied
    const auto fetch = [&](auto inside, int row) {
      const int there = left > 1 ? Tile.k : left == 1 ? last_depth : 0;
      a.template copy<inside.value>(block.thread(), x.a, memory.a + row * row_a, there);
      b.template copy<inside.value>(block.thread(), x.b, memory.b + row * row_b, there);
      --left;
    };
    block::async_pipeline<Tile.stages, Tile.k> ring;  // of rows of shared memory
    ring.template begin<ahead>([&](int row) { fetch(std::false_type{}, row); });
    ring.template wait<ahead - 1>(block);
    const A* const own_a = memory.a + at.thread_row;
    const A* const own_b = memory.b + at.thread_col;
    const auto load = [&](int row, typename math::operands& to) {
      math::load(own_a + row * row_a, own_b + row * row_b, to);
    };
    typename math::operands now[2] = {};
    const int own = at.slice * slice_k;
    if (k_tiles > 0) load(ring.front() + own, now[0]);
    const auto multiply_k_tile = [&](auto fetches_inside) {
      fetch(fetches_inside, ring.acquire());
      ring.commit();
      for (int q = 0; q < slice_k; q += Tile.unrolled_k) {
        const int row = ring.front() + own + q;
        const bool last = q + Tile.unrolled_k == slice_k;
        unrolled<Tile.unrolled_k>([&](int p) {
          const bool next = p + 1 == Tile.unrolled_k;
          if (next && last) {
            ring.release();
            ring.template wait<ahead - 1>(block);
          }
          load(!next ? row + p + 1 : last ? ring.front() + own : row + Tile.unrolled_k, now[(p + 1) % 2]);
          math::add_products(now[p % 2], sum);
        });
      }
    };
    // Fetches that lie inside the operands need no checks.
    const int inside = a.is_whole() && b.is_whole() ? k_tiles - (last_depth < Tile.k ? 1 : 0) - ahead : 0;
    int s = 0;
    for (; s < inside; ++s) multiply_k_tile(std::true_type{});
    for (; s < k_tiles; ++s) multiply_k_tile(std::false_type{});
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
