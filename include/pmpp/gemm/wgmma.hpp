// SPDX-License-Identifier: Apache-2.0
//
// Tiles on the tensor cores of sm_90a (gemm/warp_specialised.hpp): how a product is cut up, what that is expected to cost, which
// operands are copied first, and the launches.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/math.hpp>
#include <pmpp/function_of.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/warp_specialised.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A tile, how many blocks share it, how many clocks a product is expected to take so, how many of its last tiles another function
/// works out, and whether rows and columns of C are exchanged.
struct wgmma_plan {
  int tile = 0, splits = 1;
  double clocks = 0;
  std::int64_t left_out = 0;
  bool exchanged = false;
};

/// Starts a product with a given tile, where rows of A and B lie so; false, and nothing has happened, if TMA cannot read A or B.
template <wgmma_tile Tile, rows_along A, rows_along B, c_written C = c_written::either, class T, class TC, class S,
          class Epilogue, class Windows = no_windows>
bool gemm_by_wgmma_tile(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x,
                        const wgmma_plan& plan = {}, const Windows& windows = {}, rows_along of_a = A,
                        rows_along of_b = B) {
  using kernel = gemm_wgmma_kernel<T, TC, S, Epilogue, Tile, A, B, C, Windows>;
  typename kernel::arguments y;
  y.windows = windows;
  y.a_along_m = of_a == rows_along::mn;
  y.b_along_n = of_b == rows_along::mn;
  const auto describe = [&](simt::tile_map& map, const gemm_operand<T>& from, bool along_k, int rows) {
    if constexpr (kernel::in_parts)
      return simt::describe_tiles(map, from.data, x.k, from.extent, from.stride,
                                  (from.batch_stride == 0 ? 1 : x.batch) * kernel::parts, from.extent * from.stride,
                                  rows);
    return along_k
               ? simt::describe_tiles(map, from.data, x.k, from.extent, from.stride, x.batch, from.batch_stride, rows)
               : simt::describe_tiles(map, from.data, from.extent, x.k, from.k_stride, x.batch, from.batch_stride,
                                      kernel::depth);
  };
  // For whole tiles, where there are any, and for those at the edge, if the last is not whole.
  const auto describe_both = [&](simt::tile_map& map, simt::tile_map& edge, int& edge_rows, const gemm_operand<T>& from,
                                 bool along_k, std::int64_t extent) {
    const int most = edge_rows, rest = static_cast<int>(extent % most);
    if (rest > 0) edge_rows = static_cast<int>(min(round_up(rest, along_k ? 8 : int(kernel::depth)), most));
    if ((extent >= most || !along_k) && !describe(map, from, along_k, most)) return false;
    if (rest == 0 || !along_k) {
      edge = map;
      return true;
    }
    if (!describe(edge, from, along_k, edge_rows)) return false;
    if (extent < most) map = edge;
    return true;
  };
  if (!describe_both(y.a, y.edge_a, y.edge_rows_a, x.a, !y.a_along_m, x.c.rows) ||
      !describe_both(y.b, y.edge_b, y.edge_rows_b, x.b, !y.b_along_n, x.c.cols))
    return false;
  y.c = x.c;
  y.k_tiles = static_cast<int>(ceil_div(x.k, std::int64_t(kernel::depth)));
  const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(kernel::m)),
                     tiles_n = ceil_div(x.c.cols, std::int64_t(kernel::n)),
                     tiles = tiles_m * tiles_n * x.batch - plan.left_out;
  const int splits = kernel::can_share && y.k_tiles < 1 << 22 ? min(plan.splits, y.k_tiles) : 1;
  const std::int64_t units = tiles * splits;
  if (units >= std::int64_t(1) << 31 || tiles_m * tiles_n >= std::int64_t(1) << 31) return false;
  y.order = raster<wgmma_group>(tiles_m, tiles_n);
  y.tiles_n = static_cast<int>(tiles_n);
  y.tiles = static_cast<int>(tiles);
  y.splits = divisor(splits);
  y.in_clusters = splits > 1 && splits <= min(kernel::most_parts_sent + 1, most_blocks_of_tile) &&
                  units <= splits * most_clusters(reinterpret_cast<const void*>(function_of(kernel{}, y)),
                                                  kernel::threads, sizeof(typename kernel::shared), splits);
  const bool shares = splits > 1 && !y.in_clusters;
  scratch memory(where,
                 shares ? checked_bytes(units * kernel::m * kernel::n, sizeof(typename kernel::sum_type), "gemm") : 0,
                 shares ? std::size_t(tiles) * sizeof(unsigned) : 0);
  y.partials = static_cast<typename kernel::sum_type*>(memory.data());
  y.arrivals = memory.state();
  y.batch_a = x.a.batch_stride != 0;
  y.batch_b = x.b.batch_stride != 0;
  y.result = x.result;
  y.down = C == c_written::down || x.c.is_column_major();
  const bool down = kernel::can_go_down && y.down;
  const std::int64_t line = down ? x.c.rows : x.c.cols, lines = down ? x.c.cols : x.c.rows;
  if constexpr (kernel::is_double)
    y.c_by_tma = y.a_along_m && (y.down || (kernel::pairs_across && x.c.col_stride == 1)) &&
                 (y.down ? x.c.col_stride : x.c.row_stride) % 2 == 0 && x.c.batch_stride % 2 == 0 &&
                 reinterpret_cast<std::uintptr_t>(x.c.data) % (2 * sizeof(TC)) == 0;
  else
    y.c_by_tma = (down ? x.c.row_stride : x.c.col_stride) == 1 &&
                 line * sizeof(TC) % 16 == 0 &&  // it writes whole words
                 simt::describe_tiles(y.to, x.c.data, line, lines, down ? x.c.col_stride : x.c.row_stride, x.batch,
                                      x.c.batch_stride, down ? kernel::store::template box_lines<true> : 64);
  if (kernel::store::is_straight && !y.c_by_tma) return false;
  launch_kernel<kernel::threads>(where,
                                 grid{min<std::int64_t>(units, machine_of(where).multiprocessors), kernel::threads, 0,
                                      y.in_clusters ? extent3(splits) : extent3{}},
                                 kernel{}, y);
  return true;
}

/// The first three also for floats; the last one for C written down columns, by elements of two bytes and B along k.
inline constexpr wgmma_tile wgmma_tiles[] = {{.n = 256, .stages = 4, .slices = 2},
                                             {.n = 128, .stages = 6, .slices = 2},
                                             {.n = 192, .stages = 4, .slices = 3},
                                             {.n = 64, .stages = 8, .slices = 2},
                                             {.n = 160, .stages = 5, .slices = 2}};

/// Bits of those that may write C down columns, and of the one that does nothing else. (Of 128 and 96 columns would be better by 0.2 % of
/// the time of 120 layers of a language model, of 254 random shapes by nothing.)
inline constexpr unsigned tiles_down = 0b1100, tiles_only_down = 0b10000;

/// Whether TMA can write C, whose rows are in one piece.
template <class T>
bool tma_writes(const gemm_target<T>& c) {
  return c.is_made_of(16 / sizeof(T));
}

/// Whether rows and columns of C may be exchanged, so that it is written down.
template <class Problem>
bool may_be_exchanged(const Problem& x) {
  return tma_writes(x.c) && !x.result.reads();
}

/// Calls by<C>(problem) for a kernel that knows how C is written, by tiles that may write it down columns, or across.
template <bool Down, bool Across, class Problem, class F>
bool in_way_of(const wgmma_plan& plan, const Problem& x, F by) {
  if constexpr (Down)
    if (plan.exchanged) return by.template operator()<c_written::down>(x.exchanged());
  if constexpr (Across)
    return may_be_exchanged(x) ? by.template operator()<c_written::across>(x)
                               : by.template operator()<c_written::otherwise>(x);
  return false;
}

/// What makes a product take longer than its tiles say: how often TMA asks for each row of 128 bytes of A and B; how long writing
/// C takes, as a multiple; the clocks that memory takes for C.
struct wgmma_burden {
  double a = 1, b = 1, c = 1, memory = 0;
};

/// Clocks of an H200: of a k-tile's products, of each tile; of each row of 128 bytes that is asked for; of a tile besides, of its columns; of
/// a call; the share of the rate of memory that is reached; how much of the shorter of memory and the rest is not hidden; and where blocks
/// share a tile, once and for each, and the bytes in a clock of a multiprocessor, from and to the second cache.
struct wgmma_cost {
  double products[5], request, of_tile, of_col, start, memory, hidden, meeting, part, bytes;
};
/// Of floats, parts of floats, groups of rows and layers of convolutions, fitted to 3200 times of random shapes of bfloat16.
inline constexpr wgmma_cost other_wgmma_cost{
    {991, 455, 680, 328, 568}, 2.66, 924, 12.6, 7400, 0.97, 0.26, 991, 1317, 75};
/// Of other products, fitted to times of random shapes, single calls and others, and of layers of language models (benchmark/gemm_sweep):
/// 4700 of half and bfloat16, 1600 of 8-bit integers, 5600 of 8-bit floats.
template <class T>
constexpr wgmma_cost wgmma_cost_of() {
  if (sizeof(T) == 1)
    return std::is_integral_v<T>
               ? wgmma_cost{{989, 471, 649, 239, 0}, 2.23, 1320, 24.1, 8110, 0.928, 0.0893, 430, 638, 45.7}
               : wgmma_cost{{1340, 702, 0, 359, 0}, 3.12, 1370, 14.9, 6970, 1.17, 0.479, 206, 643, 51.9};
  if (sizeof(T) == 2) return {{985, 514, 790, 320, 633}, 2.32, 802, 15.3, 8910, 0.979, 0.114, 463, 1410, 69.6};
  return other_wgmma_cost;
}

/// How much longer than usual C takes: what TMA cannot write, lanes do, by words; what it cannot read, by elements.
template <class Problem>
double burden_of_c(const Problem& x) {
  return tma_writes(x.c) ? (x.result.reads() ? 1.91 : 1) : x.result.reads() ? 6.49 : 3.25;
}
/// The same down columns, where lanes have single elements.
inline constexpr double burden_of_c_down = 1.13;

/// The burden of C where it has floats: written by TMA, by lanes that fill sectors of columns, by lanes in parts of sectors.
template <class Problem>
wgmma_burden burden_of_floats(const Problem& x, double of_a, double of_b, const machine& on) {
  constexpr double of_c[3][2] = {{1, 2.2}, {1.2, 2.3}, {4.5, 3.9}},
                   of_memory[] = {1.1, 1.1, 3.6};  // [1]: C is read too
  const int way = tma_writes(x.c) ? 0 : x.c.row_stride == 1 && x.exchanged().c.is_written_by(4) ? 1 : 2;
  const double bytes = double(x.c.rows) * double(x.c.cols) * double(x.batch) * sizeof(float);
  return {of_a, of_b, of_c[way][x.result.reads()],
          of_memory[way] * (x.result.reads() ? 2.1 : 1) * bytes / on.memory_rate()};
}

/// How many clocks tile number i of sums over `k_tiles` k-tiles of k is expected to take, of m x n elements in all.
inline double wgmma_tile_clocks(const wgmma_cost& cost, int i, std::int64_t m, std::int64_t n, std::int64_t k_tiles,
                                const wgmma_burden& of) {
  const wgmma_tile& tile = wgmma_tiles[i];
  const double rows = double(min<std::int64_t>(m, 128)) * of.a + double(min<std::int64_t>(n, tile.n)) * of.b;
  return double(k_tiles) * max(cost.products[i], rows * cost.request) + cost.of_tile + cost.of_col * of.c * tile.n;
}

/// The same of the whole product, `batch` times, where each tile is worked out by one block.
inline double wgmma_clocks(const wgmma_cost& cost, int i, std::int64_t m, std::int64_t n, std::int64_t k_tiles,
                           std::int64_t batch, const machine& on, const wgmma_burden& of) {
  const std::int64_t tiles = ceil_div(m, std::int64_t(128)) * ceil_div(n, std::int64_t(wgmma_tiles[i].n)) * batch;
  return double(ceil_div(tiles, std::int64_t(on.multiprocessors))) * wgmma_tile_clocks(cost, i, m, n, k_tiles, of);
}

/// What reading A and B takes, of this many rows.
inline double memory_clocks(std::int64_t rows, std::int64_t k_tiles, std::int64_t batch, const machine& on,
                            double share = 0.97) {
  return double(rows) * double(k_tiles) * double(batch) * 128 / (share * on.memory_rate());
}

/// What is added where `splits` blocks share each tile: they write their sums, and the last one reads those of all.
inline double clocks_of_sharing(const wgmma_cost& cost, const wgmma_tile& tile, std::int64_t m, std::int64_t splits) {
  const double words = double(min<std::int64_t>(m, 128)) * tile.n * 4 / cost.bytes;
  return cost.meeting + words + double(splits) * (cost.part + words);
}

/// The best plan for sums of m x n elements over `k_tiles` k-tiles of k, `batch` times, by the tiles i for which bit i is set.
inline wgmma_plan plan_wgmma(const wgmma_cost& cost, unsigned tiles, std::int64_t m, std::int64_t n,
                             std::int64_t k_tiles, std::int64_t batch, const machine& on, const wgmma_burden& of = {}) {
  const double from_memory = memory_clocks(m + n, k_tiles, batch, on, cost.memory) + of.memory;
  const std::int64_t processors = on.multiprocessors;
  wgmma_plan best;
  const auto consider = [&](wgmma_plan plan, double clocks, double besides = 0) {
    plan.clocks = cost.start + max(clocks, from_memory) + cost.hidden * min(clocks, from_memory) + besides;
    if (best.clocks == 0 || plan.clocks < best.clocks) best = plan;
  };
  for (int i = 0; tiles >> i != 0; ++i) {
    if ((tiles >> i & 1) == 0) continue;
    const wgmma_tile& tile = wgmma_tiles[i];
    consider({.tile = i}, wgmma_clocks(cost, i, m, n, k_tiles, batch, on, of));
    if (tile.n == 256) continue;  // whose parts were never best
    const std::int64_t all = ceil_div(m, std::int64_t(128)) * ceil_div(n, std::int64_t(tile.n)) * batch,
                       most = processors / all;
    std::int64_t last = 1;
    for (const std::int64_t splits : {std::int64_t(2), std::int64_t(3), most / 2, most})
      if (splits > last && splits <= most && splits <= k_tiles) {
        last = splits;
        consider({.tile = i, .splits = static_cast<int>(splits)},
                 wgmma_tile_clocks(cost, i, m, n, ceil_div(k_tiles, splits), of),
                 clocks_of_sharing(cost, tile, m, splits));
      }
  }
  return best;
}

/// Starts a product as planned. Both operands are as TMA wants them. Of floats, B is along k.
template <bool OneTile = false, class T, class TC, class S, class Epilogue>
bool gemm_as_planned(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x, bool a_along_k,
                     bool b_along_k, const wgmma_plan& plan) {
  const auto run = [&]<int I>() {
    constexpr wgmma_tile Tile = wgmma_tiles[I];
    using enum rows_along;
    if constexpr (sizeof(T) == 2) {
      constexpr bool only_down = (tiles_only_down >> I & 1) != 0, may_go_down = only_down || (tiles_down >> I & 1) != 0;
      constexpr rows_along of_b = only_down ? k : either;
      const rows_along a = a_along_k ? k : mn, b = b_along_k ? k : mn;
      return in_way_of<may_go_down, !only_down>(plan, x, [&]<c_written C>(const auto& y) {
        constexpr bool down = C == c_written::down;
        return gemm_by_wgmma_tile<Tile, either, of_b, C>(where, y, plan, no_windows{}, down ? b : a, down ? a : b);
      });
    } else {
      if constexpr (sizeof(T) == 8)
        if (!a_along_k && !b_along_k) return gemm_by_wgmma_tile<Tile, mn, mn>(where, x, plan);
      if constexpr (sizeof(T) >= 4)
        if (!a_along_k) return gemm_by_wgmma_tile<Tile, mn, k>(where, x, plan);
      return gemm_by_wgmma_tile<Tile, k, k>(where, x, plan);
    }
  };
  if (plan.tile == 1) return run.template operator()<1>();
  if constexpr (!OneTile) {
    if (plan.tile == 2) return run.template operator()<2>();
    if constexpr (!std::is_same_v<T, float>)
      if (plan.tile == 3) return run.template operator()<3>();
    if constexpr (sizeof(T) == 2)
      if (plan.tile == 4) return run.template operator()<4>();
    return run.template operator()<0>();
  }
  return false;
}

/// What a tile of 128 x 128 doubles takes, with writing C (H100).
inline double clocks_of_double_tile(std::int64_t k, bool reads_c, const machine& on) {
  return 0.90 * double(round_up(k, std::int64_t(16))) * 128 * 128 / on.tensor_rate(sizeof(double)) +
         (reads_c ? 21200 : 7830);
}

/// Doubles, in tiles of 128 x 128. Where a last round would have few of them, the others do without it: those tiles, the
/// last rows of the last columns, are left to mma.sync, with k in as many splits as there are multiprocessors for.
template <class TC, class S, class Epilogue>
bool gemm_of_doubles(const device_policy& where, const gemm_problem<double, double, TC, S, Epilogue>& x, bool a_along_k,
                     bool b_along_k) {
  constexpr std::int64_t side = 128;
  constexpr auto type = simt::mma_type::float64;
  const machine& on = machine_of(where);
  const int processors = on.multiprocessors;
  const std::int64_t tiles_m = ceil_div(x.c.rows, side), tiles_n = ceil_div(x.c.cols, side),
                     last = tiles_m * tiles_n % processors;
  const std::int64_t last_group = (tiles_m - 1) % wgmma_group + 1, cols = ceil_div(last, last_group),
                     rows = cols > 1 ? last_group : last;
  wgmma_plan plan{1};
  auto rest = x;
  mma_plan of_rest{};
  if constexpr (!epilogue_uses_index<Epilogue, S>)
    if (x.batch == 1 && last > 0 && tiles_m * tiles_n > processors && cols <= tiles_n) {
      const std::int64_t row = (tiles_m - rows) * side, col = (tiles_n - cols) * side;
      rest.a = {x.a.data + row * x.a.stride, x.a.extent - row, x.a.stride, x.a.k_stride, 0};
      rest.b = {x.b.data + col * x.b.stride, x.b.extent - col, x.b.stride, x.b.k_stride, 0};
      rest.c.data += row * x.c.row_stride + col * x.c.col_stride;
      rest.c.rows -= row;
      rest.c.cols -= col;
      of_rest = plan_mma<type, large_double_tile, small_double_tile>(rest, on);
      if (of_rest.clocks < clocks_of_double_tile(x.k, x.result.reads(), on)) plan.left_out = rows * cols;
    }
  if (!gemm_as_planned<true>(where, x, a_along_k, b_along_k, plan)) return false;
  if (plan.left_out > 0) gemm_on_tensor_cores<type, large_double_tile, small_double_tile>(where, rest, of_rest);
  return true;
}

/// Enqueues a product where this path can do it in fewer than `clocks_of_others`; says whether it has. A and B: half, bfloat16, doubles, 8-bit
/// integers, or floats taken as tf32. What TMA cannot read is copied first (gemm/repack.hpp); that, and shared tiles, need scratch.
template <class P, class T, class TC, class S, class Epilogue>
bool gemm_by_wgmma(const P& where, gemm_problem<T, T, TC, S, Epilogue> x, double clocks_of_others = 2 * never) {
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr bool is_double = std::is_same_v<T, double>;
  if constexpr (gpu_execution<P> && (is_float || mma_type_of<T> != simt::mma_type::none) && sizeof(TC) >= 2 &&
                sizeof(TC) <= 8) {
    constexpr std::int64_t most = std::int64_t(1) << 31;
    if (x.k == 0 || x.k >= most || x.c.rows >= most || x.c.cols >= most || x.batch >= most || !wgmma_available())
      return false;
    const machine& on = machine_of(where);
    const gemm_shape shape = shape_of(x, on);
    bool a_along_k = is_read_by_words(x.a, true, x.batch), b_along_k = is_read_by_words(x.b, true, x.batch);
    constexpr bool only_along_k = sizeof(T) == 1;
    bool a_ready = a_along_k || (!only_along_k && is_read_by_words(x.a, false, x.batch)),
         b_ready = b_along_k || (!only_along_k && is_read_by_words(x.b, false, x.batch));
    if (!a_ready) a_along_k = only_along_k || x.a.stride != 1;
    if (!b_ready) b_along_k = only_along_k || x.b.stride != 1;
    if (is_float && !a_along_k && !b_along_k) {  // one of them has to be
      const bool a = b_ready ? !a_ready || x.c.rows < x.c.cols : false;
      (a ? a_along_k : b_along_k) = true;
      (a ? a_ready : b_ready) = false;
    }
    // Doubles of C that one lane has are neighbours in memory if C is column-major. Others are written by rows.
    if (is_float    ? !b_along_k
        : is_double ? (a_along_k == b_along_k ? x.c.col_stride == 1 : a_along_k)
                    : x.c.is_column_major()) {
      x = x.exchanged();
      std::swap(a_along_k, b_along_k);
      std::swap(a_ready, b_ready);
    }
    wgmma_plan plan{1};
    if constexpr (is_double) {
      // Of more than a round of tiles, the last ones are left to others.
      constexpr double start = 8720;
      const double rounds =
          double(ceil_div(x.c.rows, std::int64_t(128)) * ceil_div(x.c.cols, std::int64_t(128)) * x.batch) /
          on.multiprocessors;
      const auto by = [&](int items) { return x.c.is_written_by(items) || x.exchanged().c.is_written_by(items); };
      const double c_bytes = double(x.c.rows) * double(x.c.cols) * double(x.batch) * sizeof(TC) *
                             (x.result.reads() ? 2 : 1) *
                             (by(4)   ? 1.19
                              : by(2) ? 2.09
                                      : 3.85);
      const double clocks =
          start +
          max((x.batch > 1 || rounds <= 1 ? std::ceil(rounds) : min(std::ceil(rounds), rounds + 0.5)) *
                  clocks_of_double_tile(x.k, x.result.reads(), on),
              memory_clocks(x.c.rows + x.c.cols, ceil_div(x.k, std::int64_t(16)), x.batch, on) +
                  c_bytes / on.memory_rate()) +
          (a_ready ? 0 : clocks_of_repack(x.a, a_along_k, x.k, x.batch, on)) +
          (b_ready ? 0 : clocks_of_repack(x.b, b_along_k, x.k, x.batch, on));
      if (clocks > clocks_of_others) return false;
    } else {
      const std::int64_t k_tiles = ceil_div(x.k, std::int64_t(128 / sizeof(T)));
      // An operand that straddles lines of the cache is copied too where that pays.
      const bool a_straddles = a_ready && straddles_lines(x.a, a_along_k, x.k),
                 b_straddles = b_ready && straddles_lines(x.b, b_along_k, x.k);
      const auto copy_clocks = [&](const gemm_operand<T>& y, bool along_k) {
        return clocks_of_repack(y, along_k, x.k, x.batch, on);
      };
      struct choice {
        wgmma_plan plan{1};
        double clocks = 0;
        bool copies_a = false, copies_b = false;
      };
      const choice best = remembered(shape, [&] {
        choice least;
        for (const bool copy_a : {false, true})
          for (const bool copy_b : {false, true}) {
            if (copy_a > a_straddles || copy_b > b_straddles) continue;
            const double asked_again = 1.31, of_a = a_straddles && !copy_a ? asked_again : 1,
                         of_b = b_straddles && !copy_b ? asked_again : 1;
            const bool copies_a = copy_a || !a_ready, copies_b = copy_b || !b_ready;
            const bool one_launch = copies_a && copies_b && is_one_copy(x.a, a_along_k, x.b, b_along_k, x.k, x.batch);
            const double copies = (copies_a ? copy_clocks(x.a, a_along_k) : 0) +
                                  (copies_b ? copy_clocks(x.b, b_along_k) : 0) -
                                  (one_launch ? on.clocks_of(repack_launch) : 0);
            const auto consider = [&](wgmma_plan next, bool exchanged) {
              next.exchanged = exchanged;
              const double clocks = next.clocks + copies;
              if (least.clocks == 0 || clocks < least.clocks) least = {next, clocks, copy_a, copy_b};
            };
            const unsigned tiles = is_float ? 0b111 : 0b1111;
            const auto of = is_float ? burden_of_floats(x, of_a, of_b, on) : wgmma_burden{of_a, of_b, burden_of_c(x)};
            consider(plan_wgmma(wgmma_cost_of<T>(), tiles, x.c.rows, x.c.cols, k_tiles, x.batch, on, of), false);
            if (sizeof(T) == 2 && may_be_exchanged(x))
              consider(plan_wgmma(wgmma_cost_of<T>(), tiles_down | (a_along_k ? tiles_only_down : 0), x.c.cols,
                                  x.c.rows, k_tiles, x.batch, on, {of_b, of_a, burden_of_c_down}),
                       true);
          }
        return least;
      });
      if (best.clocks > clocks_of_others) return false;
      plan = best.plan;
      a_ready = a_ready && !best.copies_a;
      b_ready = b_ready && !best.copies_b;
    }
    return multiply_copies(where, x, {!a_ready, a_along_k}, {!b_ready, b_along_k}, [&](const auto& y) {
      if constexpr (is_double)
        return gemm_of_doubles(where, y, a_along_k, b_along_k);
      else
        return gemm_as_planned(where, y, a_along_k, b_along_k, plan);
    });
  }
  return false;
}

/// The tile for parts of floats: a stage holds three of A and three of B.
inline constexpr wgmma_tile tile_of_parts{.n = 128, .stages = 2, .slices = 2};

/// How a product of parts is cut up, and the clocks that it is expected to take; `never` where this path cannot do it.
template <class P, class TC, class S, class Epilogue>
wgmma_plan plan_parts_by_wgmma(const P& where, const gemm_problem<float, float, TC, S, Epilogue>& x) {
  if constexpr (gpu_execution<P> && sizeof(TC) >= 2 && sizeof(TC) <= 8) {
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool fits = x.k < most - part_k_tile && x.c.rows < most && x.c.cols < most && x.batch < most / parts_of_float;
    if (fits && wgmma_available()) {
      // As for bfloat16 with tiles of 128 columns, six times as long a k; but each part is asked for once, for two products.
      const wgmma_burden of{0.5, 0.5, x.result.beta != S{} ? 1.9 : 1};
      return plan_wgmma(other_wgmma_cost, 0b10, x.c.rows, x.c.cols,
                        part_products * ceil_div(x.k, std::int64_t(part_k_tile)), x.batch, machine_of(where), of);
    }
  }
  wgmma_plan none;
  none.clocks = 2 * never;
  return none;
}

/// Starts a product of parts; says whether it has.
template <class P, class TC, class S, class Epilogue>
bool gemm_of_parts_by_wgmma(const P& where, const problem_of_parts<TC, S, Epilogue>& x, const wgmma_plan& plan,
                            const float_originals& floats) {
  if constexpr (gpu_execution<P> && sizeof(TC) >= 2 && sizeof(TC) <= 8)
    return gemm_by_wgmma_tile<tile_of_parts, rows_along::k, rows_along::k>(where, x, plan, floats);
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop

#else

#include <pmpp/gemm/simt.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

struct wgmma_plan {
  double clocks;
};

template <class P, class Problem>
bool gemm_by_wgmma(const P&, const Problem&, double) {
  return false;
}
template <class P, class Problem>
wgmma_plan plan_parts_by_wgmma(const P&, const Problem&) {
  return {2 * never};
}
template <class P, class Problem, class Originals>
bool gemm_of_parts_by_wgmma(const P&, const Problem&, const wgmma_plan&, const Originals&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
