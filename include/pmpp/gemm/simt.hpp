// SPDX-License-Identifier: Apache-2.0
//
// Tiles on the ordinary arithmetic units (gemm/multistage.hpp): how a product is cut up, what that is expected to cost, and the
// launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/multistage.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// How a product is cut up, and how many clocks that takes, about.
struct gemm_plan {
  std::int64_t tiles_m, tiles_n, splits, split_k;
  double clocks;
  std::int64_t whole = 0;  ///< tiles, of all batches, whose k is not split though that of the others is
};

/// Clocks of what a machine cannot do.
inline constexpr double never = 1e300;
/// Clocks that a second launch takes, which adds up the splits: 6000 of an H100.
constexpr double clocks_of_second_launch(const machine& on) { return on.clocks_of(3.419e-6); }

/// Clocks of memory, if A, B and C pass once.
template <class TA, class TB, class TC, class S, class Epilogue>
double clocks_of_memory(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  const auto bytes_of = [&](const auto& y, std::size_t size) {
    return double(y.extent) * double(size) * double(x.k) * (y.batch_stride == 0 ? 1 : double(x.batch));
  };
  const double of_c = double(x.c.rows) * double(x.c.cols) * double(x.batch) * (x.result.reads() ? 2 : 1);
  return (bytes_of(x.a, sizeof(TA)) + bytes_of(x.b, sizeof(TB)) + of_c * sizeof(TC)) / on.memory_rate();
}

/// What a tile costs on a machine.
struct gemm_cost {
  std::int64_t m, n, k;  ///< of a tile and a k-tile
  int blocks, warps;     ///< of a multiprocessor; of a block
  double clocks_of_k;    ///< that a block's products of one k take
  double item_bytes, sum_bytes;
  bool fits;            ///< into shared memory
  double start = 5000;  ///< clocks before the first product and after the last
};

template <gemm_tile Tile, class A>
constexpr gemm_cost gemm_cost_of(const machine& on) {
  constexpr double products = Tile.thread_m * Tile.thread_n, word = 16.0 / sizeof(A);
  // Of a k of a block: products, and instructions besides. Loads from shared memory are what small tiles wait for.
  const double fma = double(Tile.m) * Tile.n / (sizeof(A) > 4 ? on.double_rate() : on.float_rate());
  constexpr double besides = 1 + (3 * (Tile.thread_m + Tile.thread_n) / word + 12) / products;
  // Kernels for each layout are better than that, by measurement: 8 x 8 elements of a thread, and 8 x 4.
  constexpr bool of_layout = sizeof(A) == 4 && (products == 64 || Tile.slices > 1);
  constexpr double of_fma = !of_layout ? 0.7 * besides * besides : products == 64 ? 1.18 : 1.5;
  constexpr double start = 5000 + double(Tile.slices - 1) * Tile.m * Tile.n;  // the sums of slices: one a clock
  constexpr std::size_t shared = Tile.shared_bytes(sizeof(A));
  return {Tile.m,
          Tile.n,
          Tile.k,
          on.resident_blocks(Tile.threads(), shared, Tile.blocks),
          Tile.threads() / simt::warp_size,
          of_fma * fma,
          sizeof(A),
          sizeof(A),
          on.fits(shared),
          start};
}

/// The best number of splits for a tile. A rough model, measured on an H100: what counts is how many blocks a
/// multiprocessor gets, how many warps it has to choose from, how well a tile fits m and n, and whether memory keeps up.
inline gemm_plan plan_gemm(const gemm_cost& tile, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                           const machine& on) {
  constexpr double split = 100;  // clocks of the second launch for each
  const int processors = on.multiprocessors;
  const double l2_bytes = on.l2_rate(), memory_bytes = on.memory_rate(), partial_bytes = 0.625 * memory_bytes;
  const std::int64_t tiles_m = ceil_div(m, tile.m), tiles_n = ceil_div(n, tile.n);
  const double tiles = double(tiles_m) * double(tiles_n) * double(batch);
  const double c_bytes = double(m) * double(n) * double(batch) * tile.sum_bytes;
  const double read = double(k) * double(batch) * tile.item_bytes;
  const double from_l2 = read * (double(m) * double(tiles_n) + double(n) * double(tiles_m)) / l2_bytes;
  const double from_memory = (read * (double(m) + double(n)) + c_bytes) / memory_bytes;
  if (!tile.fits) return {tiles_m, tiles_n, 1, k, never};
  gemm_plan best{tiles_m, tiles_n, 0, 0, 0};
  std::int64_t last_split_k = 0;
  for (int blocks = 0; blocks <= 3 * tile.blocks; ++blocks) {  // of a multiprocessor, wanted; 0: one split
    const auto wanted = blocks == 0 ? 1 : static_cast<std::int64_t>(min(blocks * processors / tiles, 4096.0));
    if (wanted < 1 || (blocks > 0 && wanted == 1)) continue;
    const std::int64_t split_k = round_up(ceil_div(max(k, std::int64_t(1)), wanted), tile.k);
    if (split_k == std::exchange(last_split_k, split_k)) continue;  // the plan before
    const std::int64_t splits = max(std::int64_t(1), ceil_div(k, split_k));
    const auto share = ceil_div(static_cast<std::int64_t>(tiles) * splits, std::int64_t(processors));
    const std::int64_t together = min(share, std::int64_t(tile.blocks));
    const double warps = double(together * tile.warps) / 4;  // of a scheduler: more hide more of what they wait for
    double clocks = double(share) * double(split_k) * tile.clocks_of_k * (warps + 0.5) / warps;
    clocks = max(clocks, max(from_l2, from_memory)) + tile.start * double(share);
    if (splits > 1)
      clocks += clocks_of_second_launch(on) + split * double(splits) + c_bytes * double(splits + 1) / partial_bytes;
    if (best.splits == 0 || clocks < best.clocks) best = {tiles_m, tiles_n, splits, split_k, clocks};
  }
  return best;
}

/// The same for tiles of which a wave, all that run at a time, takes most of the call: a last wave that is not full takes as
/// long as a full one, so its tiles are split, or those of the last two. Of less than a wave each multiprocessor gets equally
/// many whole tiles, and splits of the rest beside them.
inline gemm_plan plan_waves(const gemm_cost& tile, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                            const machine& on) {
  const double partial_bytes = 0.75 * on.memory_rate();
  const int processors = on.multiprocessors;
  const std::int64_t tiles_m = ceil_div(m, tile.m), tiles_n = ceil_div(n, tile.n), tiles = tiles_m * tiles_n * batch;
  if (!tile.fits) return {tiles_m, tiles_n, 1, k, never};
  const std::int64_t wave = std::int64_t(tile.blocks) * processors;
  // Clocks for one k of `together` blocks of a multiprocessor: more hide more of what they wait for.
  const auto clocks_of = [&](std::int64_t together) {
    return together == 0 ? 0 : tile.clocks_of_k * (1.14 * double(together) + 1.7 / tile.warps);
  };
  gemm_plan best{tiles_m, tiles_n, 0, 0, 0};
  const double of_wave = clocks_of(tile.blocks);
  const std::int64_t step = tiles < wave ? processors : wave;
  for (std::int64_t whole = tiles / step * step; whole >= 0 && tiles - whole < 2 * wave; whole -= step) {
    const std::int64_t rest = tiles - whole;
    const std::int64_t beside = whole < wave ? whole / processors : 0;  // whole tiles of a multiprocessor, at that time
    const double before = double(whole / wave) * (tile.start + double(k) * of_wave), of_beside = clocks_of(beside);
    std::int64_t last_split_k = 0;
    for (int each = 0; each <= 3 * tile.blocks; ++each) {  // splits of the rest for a multiprocessor; 0: one of a tile
      const std::int64_t wanted = each == 0 || rest == 0 ? 1 : min(each * processors / rest, k / tile.k);
      if (wanted < 1 || (each > 0 && wanted == 1)) continue;
      const std::int64_t split_k = round_up(ceil_div(max(k, std::int64_t(1)), wanted), tile.k);
      if (split_k == std::exchange(last_split_k, split_k)) continue;  // the plan before
      const std::int64_t splits = max(std::int64_t(1), ceil_div(k, split_k)), blocks = rest * splits;
      if (beside > 0 && blocks > (tile.blocks - beside) * processors) break;  // and more splits are more blocks
      if (beside > 0 && splits > 8) break;  // H200: 1864 x 576 x 3808 took half as long again as planned by 22 splits
      const std::int64_t waves = blocks / wave;
      double clocks = before + double(waves) * (tile.start + double(split_k) * of_wave);
      // Groups of multiprocessors get equally many blocks, but not all have equally many multiprocessors: 3 % count less.
      // After a wave the first multiprocessors that are ready take all there is.
      const std::int64_t last = blocks - waves * wave, few = last == 0 ? 0 : 1 + last * 100 / (processors * 97);
      const bool first = whole < wave && blocks < wave;
      const std::int64_t together = first ? min(std::int64_t(tile.blocks), beside + few) : last > 0 ? tile.blocks : 0;
      if (together > 0)
        clocks += tile.start + double(split_k) * clocks_of(together) + double(k - min(k, split_k)) * of_beside;
      if (splits > 1)
        clocks += clocks_of_second_launch(on) +
                  double(rest * tile.m * tile.n * (splits + 1)) * tile.sum_bytes / partial_bytes;
      if (best.splits == 0 || clocks < best.clocks)
        best = {tiles_m, tiles_n, splits, split_k, clocks, splits > 1 ? whole : 0};
    }
  }
  return best;
}

/// Enqueues a product on a GPU or runs it in the emulator, cut up as planned. Elsewhere: see gemm_kernel.
template <gemm_tile Tile, class A, bool Elsewhere = false, class P, class TA, class TB, class TC, class S,
          class Epilogue>
void gemm_by_tiles(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const gemm_plan& plan) {
  constexpr std::int64_t word = 16 / sizeof(A);
  const std::int64_t tiles = plan.tiles_m * plan.tiles_n * x.batch, row_length = round_up(x.c.cols, word);
  const std::int64_t whole = plan.splits > 1 ? plan.whole : tiles, cut = (tiles - whole) * plan.splits;
  const std::int64_t partials = cut == 0    ? 0
                                : whole > 0 ? cut * Tile.m * Tile.n
                                            : x.batch * plan.splits * x.c.rows * row_length;
  scratch memory(where, checked_bytes(partials, sizeof(A), "gemm"), 0);
  auto* sums = static_cast<A*>(memory.data());
  const auto run = [&]<k_tile_copy CopyA, k_tile_copy CopyB>() {
    using kernel = gemm_kernel<TA, TB, TC, A, S, Epilogue, Tile, CopyA, CopyB, Elsewhere>;
    const typename kernel::arguments arguments{
        x.a,   x.b,         x.c,          x.k,  x.batch,  plan.tiles_m,         plan.tiles_n,
        whole, plan.splits, plan.split_k, sums, x.result, x.c.is_made_of(word), A(1)};
    pmpp::launch(where, whole + cut, kernel{}, arguments);
    using combine = gemm_combine_tiles_kernel<Tile>;
    if (whole > 0 && cut > 0) pmpp::launch(where, (tiles - whole) * combine::blocks_of_tile, combine{}, arguments);
  };
  using enum k_tile_copy;
  // Large tiles are worth kernels of their own for the usual layouts: 4096^3 floats take 10 % longer with one for all.
  if constexpr (Tile.thread_m * Tile.thread_n * sizeof(A) >= 256 || Tile.slices > 1) {
    const k_tile_copy a = x.a.copy, b = x.b.copy;
    if (a == any || b == any || a == along || b == along)
      run.template operator()<mixed, mixed>();
    else if (a == along_k && b == along_k)
      run.template operator()<along_k, along_k>();
    else
      a == along_k   ? run.template operator()<along_k, words>()
      : b == along_k ? run.template operator()<words, along_k>()
                     : run.template operator()<words, words>();
  } else {
    run.template operator()<mixed, mixed>();
  }
  if (cut > 0 && whole == 0) detail::combine_splits(where, x, sums, row_length, plan.splits);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
