// SPDX-License-Identifier: Apache-2.0
//
// Rows in groups, each with a matrix of its own, on the tensor cores of sm_90a: the kernel of gemm/warp_specialised.hpp, whose blocks
// find their tiles by the offsets.
//
// All of A is one matrix to TMA, and all matrices B one batch of them, so that the host can describe both without having seen the
// offsets. A tile at the end of a group reads rows of the next one too, whose sums are not written.
#pragma once

#include <pmpp/core/config.hpp>

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether [begin, end) are some of `rows` rows: offsets that descend or lie outside make no sense.
PMPP_HOST_DEVICE constexpr bool are_rows(std::int64_t begin, std::int64_t end, std::int64_t rows) {
  return begin >= 0 && end >= begin && end <= rows;
}

/// Rows offsets[g] ... offsets[g + 1] - 1 of `rows` are group g of `count`, unless that makes no sense.
template <class Offset>
struct rows_of_groups {
  static constexpr bool groups_rows = true;
  const Offset* offsets;
  int count, rows;
  std::int64_t* left_out;  ///< null, or where the number of groups that make no sense goes

  PMPP_HOST_DEVICE bool get(int g, int& begin, int& end) const {
    const auto first = static_cast<std::int64_t>(offsets[g]), last = static_cast<std::int64_t>(offsets[g + 1]);
    begin = static_cast<int>(first);
    end = static_cast<int>(last);
    return are_rows(first, last, rows);
  }

  /// Calls f(group, begin, end, tile) for each tile of this block, of M rows and one of `tiles_n` columns of tiles.
  template <int M, class Block, class F>
  PMPP_HOST_DEVICE void each_tile(Block& block, int tiles_n, F f) const {
    int tile = static_cast<int>(block.index());  // counted from the first of group g
    for (int g = 0; g < count; ++g) {
      int begin, end;
      if (!get(g, begin, end)) continue;
      const int tiles = ceil_div(end - begin, M) * tiles_n;
      for (; tile < tiles; tile += static_cast<int>(block.count())) f(g, begin, end, tile);
      tile -= tiles;
    }
  }

  /// A warp calls.
  template <class Block>
  PMPP_HOST_DEVICE void count_left_out(Block& block) const {
    if (left_out == nullptr) return;
    int wrong = 0, begin, end;
    for (int g = block.lane(); g < count; g += simt::warp_size) wrong += get(g, begin, end) ? 0 : 1;
    wrong = block.warp_add(wrong);
    if (block.lane() == 0) *left_out = wrong;
  }
};

/// Enqueues the products where this path can do them; says whether it has. `x`: of all rows, its batch the groups.
template <class P, class T, class TC, class S, class Epilogue, class Offset>
bool gemm_of_rows_by_wgmma([[maybe_unused]] const P& where,
                           [[maybe_unused]] const gemm_problem<T, T, TC, S, Epilogue>& x,
                           [[maybe_unused]] const Offset* offsets, [[maybe_unused]] std::int64_t* left_out) {
#if PMPP_CUDA && defined(__CUDACC__)
  if constexpr (gpu_execution<P> && sizeof(TC) >= 2 && sizeof(TC) <= 8) {
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool b_along_k = is_read_by_words(x.b, true, x.batch);
    const auto fits = [](std::int64_t count) { return count > 0 && count < most; };
    if (!fits(x.k) || !fits(x.c.rows) || !fits(x.c.cols) || !fits(x.batch) || !is_read_by_words(x.a, true, 1) ||
        (!b_along_k && !is_read_by_words(x.b, false, x.batch)) || !wgmma_available())
      return false;
    const auto run = [&]<int I>(std::integral_constant<int, I>) {
      const rows_of_groups<Offset> groups{offsets, static_cast<int>(x.batch), static_cast<int>(x.c.rows), left_out};
      using enum rows_along;
      return gemm_by_wgmma_tile<wgmma_tiles[I], k, either>(where, x, {}, groups, k, b_along_k ? k : mn);
    };
    // Groups of the average length stand for those that the host does not know; the last tile of each is half empty.
    const machine& on = machine_of(where);
    const std::int64_t mean = x.c.rows / x.batch + 64, k_tiles = ceil_div(x.k, std::int64_t(128 / sizeof(T)));
    const auto clocks = [&](int tile) {
      return wgmma_clocks(other_wgmma_cost, tile, mean, x.c.cols, k_tiles, x.batch, on, {});
    };
    return clocks(2) < clocks(1) ? run(std::integral_constant<int, 2>{}) : run(std::integral_constant<int, 1>{});
  }
#endif
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
