// SPDX-License-Identifier: Apache-2.0
//
// Products of different shapes in one launch, whose shapes only the device knows: gemm_grouped.
//
//   pmpp::gemm_grouped(device, 1, groups, count, 0);                      groups[g]: three matrix_views, in device memory
//   pmpp::gemm_grouped(device, 1, A, offsets, experts, B, n * k, 0, C);   rows offsets[g] .. offsets[g + 1] of A by B number g
//
// The second form is a mixture of experts: a router has sorted the rows of A by expert and counted them on the device, so that the
// host knows neither shapes nor pointers, and need not wait for them.
//
//   1. As many blocks as run at a time. Each goes from tile to tile: i, i + blocks, ... of the tiles of all groups, one group after
//      another.
//   2. Where a tile lies, each warp finds out by itself: the lanes take a group each, add up how many tiles they have, and the warp
//      goes on from where it was. A block reads each group's shape once, or as often as it has tiles among 32 groups.
//   3. The tile is worked out as by gemm: half and bfloat16 on tensor cores (gemm/mma.hpp) where a group's operands can be read 16
//      bytes at a time, all else on ordinary units (gemm/multistage.hpp), whatever the strides.
//   4. On an H100 rows in groups, the second form, are multiplied by the kernel of gemm's large products (gemm_grouped/wgmma.hpp).
//   5. A group that makes no sense (shapes that do not fit each other, offsets that descend or lie outside) is left out: its
//      elements of C stay as they are. The first block counts those.
//
// k is not split, and groups of few rows take a whole tile: 64 x 64 where groups have few rows on average, else 128 x 128. The same
// bits on every run: no sum depends on which block works it out. One launch; no scratch.
// (PMPP ch. 5, 6; cuBLAS calls it a grouped GEMM, but wants shapes on the host.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/gemm_grouped/wgmma.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// One product of several: C = alpha A B + beta C. A is m x k, B k x n, C m x n, any strides.
template <class TA, class TB, class TC>
struct gemm_group {
  matrix_view<const TA> a;
  matrix_view<const TB> b;
  matrix_view<TC> c;
};

/// The tiles of ordinary units and of tensor cores, which have the same extents and threads. Small ones where groups have fewer
/// than `few_rows` rows on average.
struct gemm_grouped_tuning {
  gemm_tile large{}, small{};
  mma_tile mma_large{}, mma_small{};
  std::int64_t few_rows = 96;

  friend constexpr bool operator==(const gemm_grouped_tuning&, const gemm_grouped_tuning&) = default;
};

// clang-format off
/// For sums of type A: those of gemm, with so few stages that they fit everywhere together. Not yet measured.
template <class A>
constexpr gemm_grouped_tuning gemm_grouped_tuning_for() {
  if (sizeof(A) <= 4)
    return {.large = {.m = 128, .n = 128, .k = 8, .stages = 5, .thread_m = 16, .thread_n = 8, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
            .small = {.m = 64, .n = 64, .k = 16, .stages = 5, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 2, .unrolled_k = 8, .slices = 2},
            .mma_large = {.m = 128, .n = 128, .warp_m = 64, .warp_n = 64, .stages = 3, .blocks = 2},
            .mma_small = {.m = 64, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 3, .blocks = 2}};
  constexpr gemm_tile tile{.m = 128, .n = 64, .k = 8, .stages = 3, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 2, .unrolled_k = 8};
  return {.large = tile, .small = tile};
}
// clang-format on

namespace detail {

/// What a group is to a kernel.
template <class TA, class TB, class TC>
struct grouped_problem {
  gemm_operand<TA> a;
  gemm_operand<TB> b;
  gemm_target<TC> c;
  std::int64_t k;
  std::int64_t row;  ///< of C, where it begins
};

/// Shapes beyond this are none.
inline constexpr std::int64_t longest_of_group = std::int64_t(1) << 31;

/// Groups whose views lie in memory.
template <class TA, class TB, class TC>
struct groups_of_views {
  const gemm_group<TA, TB, TC>* groups;
  std::int64_t count;

  /// Group g; says whether it makes sense. `reads`: A and B are read.
  PMPP_HOST_DEVICE bool get(std::int64_t g, bool reads, grouped_problem<TA, TB, TC>& to) const {
    const auto& [a, b, c] = groups[g];
    to.a = {a.data(), a.rows(), a.row_stride(), a.col_stride(), 0};
    to.b = {b.data(), b.cols(), b.col_stride(), b.row_stride(), 0};
    to.c = {c.data(), c.rows(), c.cols(), c.row_stride(), c.col_stride(), 0};
    to.k = reads ? a.cols() : 0;
    to.row = 0;
    const auto is_length = [](std::int64_t n) { return n >= 0 && n < longest_of_group; };
    const auto is_there = [](const auto* data) {
      return data != nullptr && reinterpret_cast<std::uintptr_t>(data) % alignof(decltype(*data)) == 0;
    };
    const bool fits = a.rows() == c.rows() && b.cols() == c.cols() && a.cols() == b.rows() && is_length(c.rows()) &&
                      is_length(c.cols()) && is_length(a.cols());
    if (!fits) return false;
    if (c.rows() == 0 || c.cols() == 0) return true;
    return is_there(c.data()) && (c.rows() == 1 || c.row_stride() != 0) && (c.cols() == 1 || c.col_stride() != 0) &&
           (to.k == 0 || (is_there(a.data()) && is_there(b.data())));
  }
};

/// Groups of rows of A and C.
template <class TA, class TB, class TC, class Offset>
struct groups_of_rows {
  const Offset* offsets;
  std::int64_t count;
  matrix_view<const TA> a;
  matrix_view<const TB> b;
  std::int64_t b_stride;
  matrix_view<TC> c;

  PMPP_HOST_DEVICE bool get(std::int64_t g, bool reads, grouped_problem<TA, TB, TC>& to) const {
    const auto begin = static_cast<std::int64_t>(offsets[g]), end = static_cast<std::int64_t>(offsets[g + 1]);
    if (!are_rows(begin, end, c.rows())) return false;
    to.a = {a.data() + begin * a.row_stride(), end - begin, a.row_stride(), a.col_stride(), 0};
    to.b = {b.data() + g * b_stride, b.cols(), b.col_stride(), b.row_stride(), 0};
    to.c = {c.data() + begin * c.row_stride(), end - begin, c.cols(), c.row_stride(), c.col_stride(), 0};
    to.k = reads ? a.cols() : 0;
    to.row = begin;
    return true;
  }
};

/// Calls the epilogue with the place in C, and the group if it wants it.
template <class Epilogue>
struct grouped_epilogue {
  Epilogue f;
  std::int64_t row, group;

  template <class T>
  PMPP_HOST_DEVICE auto operator()(const T& value, std::int64_t i, std::int64_t j) const {
    if constexpr (requires { f(value, i, j, group); })
      return f(value, row + i, j, group);
    else if constexpr (requires { f(value, i, j); })
      return f(value, row + i, j);
    else
      return f(value);
  }
};

template <class Groups, class TA, class TB, class TC, class A, class S, class Epilogue, gemm_tile Tile,
          mma_tile MmaTile>
struct gemm_grouped_kernel {
  using epilogue = grouped_epilogue<Epilogue>;
  using problem = grouped_problem<TA, TB, TC>;
  using by_units = gemm_kernel<TA, TB, TC, A, S, epilogue, Tile, k_tile_copy::mixed, k_tile_copy::mixed>;
  static constexpr bool tensor_cores = MmaTile.m > 0 && is_two_byte_float<TA>&& std::is_same_v<TA, TB>;
  template <bool AlongKB>
  using by_mma = mma_kernel<mma_type_of<TA>, TA, TC, S, epilogue, MmaTile, true, AlongKB>;

  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  static constexpr std::int64_t m = Tile.m, n = Tile.n;
  static_assert(!tensor_cores || (MmaTile.m == Tile.m && MmaTile.n == Tile.n && MmaTile.threads() == Tile.threads()));

  struct shared {
    alignas(128) std::byte bytes[max(sizeof(typename by_units::shared), tensor_cores ? MmaTile.shared_bytes() : 0)];
  };
  struct arguments {
    Groups groups;
    S alpha, beta;
    Epilogue f;
    bool reads;              ///< A and B
    std::int64_t* left_out;  ///< null, or where the number of groups that make no sense goes
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    if (block.index() == 0 && x.left_out != nullptr) count_left_out(block, x);
    position at;
    for (std::int64_t tile = block.index(); find(block, x, tile, at); tile += block.count()) {
      problem y;
      x.groups.get(at.group, x.reads, y);
      multiply(block, memory, x, at, y);
      block::async_pipeline<2>::drain();
      block.sync();  // shared memory is free
    }
  }

private:
  /// Tiles of the groups before `first` are `before`; of `group` it is number `tile`.
  struct position {
    std::int64_t first = 0, before = 0, group = 0, tile = 0;
  };

  PMPP_HOST_DEVICE static std::int64_t tiles_of(const problem& y) {
    return ceil_div(y.c.rows, m) * ceil_div(y.c.cols, n);
  }

  /// Finds tile number `tile` of all, from where the last was; false if there are not so many. Warps work alike.
  template <class Block>
  PMPP_HOST_DEVICE static bool find(Block& block, const arguments& x, std::int64_t tile, position& at) {
    for (; at.first < x.groups.count; at.first += simt::warp_size) {
      problem y;
      const std::int64_t own = at.first + block.lane();
      const std::int64_t tiles = own < x.groups.count && x.groups.get(own, x.reads, y) ? tiles_of(y) : 0;
      std::int64_t sum = tiles;  // of this lane's group and those before it
      for (int d = 1; d < simt::warp_size; d *= 2) {
        const std::int64_t below = block.shuffle_up(sum, d);
        if (block.lane() >= d) sum += below;
      }
      const std::int64_t all = block.shuffle(sum, simt::warp_size - 1);
      if (tile < at.before + all) {
        const int lane = block.warp_add(int(at.before + sum <= tile));
        at.group = at.first + lane;
        at.tile = tile - at.before - block.shuffle(sum - tiles, lane);
        return true;
      }
      at.before += all;
    }
    return false;
  }

  template <class Block>
  PMPP_HOST_DEVICE static void count_left_out(Block& block, const arguments& x) {
    std::int64_t wrong = 0;
    for (std::int64_t first = 0; first < x.groups.count; first += threads) {
      problem y;
      const std::int64_t g = first + block.thread();
      wrong += block.sync_count(g < x.groups.count && !x.groups.get(g, x.reads, y));
    }
    if (block.thread() == 0) *x.left_out = wrong;
  }

  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const position& at,
                                        const problem& y) {
    const std::int64_t tiles_m = ceil_div(y.c.rows, m), tiles_n = ceil_div(y.c.cols, n);
    const gemm_result<S, epilogue> result{x.alpha, x.beta, {x.f, y.row, at.group}, false};
    // A tile alone: of how they follow each other the kernels need nothing else.
    const tile_place tile = raster<8, division>(tiles_m, tiles_n)(static_cast<std::uint32_t>(at.tile));
    if constexpr (tensor_cores) {
      const auto by = [&]<bool AlongKB>(std::bool_constant<AlongKB>) {
        by_mma<AlongKB>{}(
            block, reinterpret_cast<typename by_mma<AlongKB>::shared&>(memory.bytes),
            typename by_mma<AlongKB>::arguments{y.a, y.b, y.c, y.k, {}, {}, y.k, nullptr, 0, result, true, true}, tile);
      };
      if (is_read_by_words(y.a, true, 1)) {
        if (is_read_by_words(y.b, false, 1)) return by(std::false_type{});
        if (is_read_by_words(y.b, true, 1)) return by(std::true_type{});
      }
    }
    by_units{}(block, reinterpret_cast<typename by_units::shared&>(memory.bytes),
               typename by_units::arguments{y.a,
                                            y.b,
                                            y.c,
                                            y.k,
                                            1,
                                            tiles_m,
                                            tiles_n,
                                            0,
                                            1,
                                            y.k,
                                            nullptr,
                                            result,
                                            y.c.is_made_of(by_units::word),
                                            A(1),
                                            {},
                                            {}},
               tile);
  }
};

/// Multiplies all groups. `rows`: of all groups together, 0 if it is not known.
template <gemm_grouped_tuning Asked, class TA, class TB, class TC, class P, class Groups, class Alpha, class Beta,
          class Epilogue>
void gemm_of_groups(const P& where, const Groups& groups, Alpha alpha_given, Beta beta_given, const Epilogue& f,
                    std::int64_t* left_out, std::int64_t rows) {
  using A = gemm_sum<TA, TB>;
  using S = gemm_scale<A, TC>;
  constexpr gemm_grouped_tuning tuning = Asked == gemm_grouped_tuning{} ? gemm_grouped_tuning_for<A>() : Asked;
  const S alpha = static_cast<S>(alpha_given), beta = static_cast<S>(beta_given);
  const bool reads = alpha != S{};
  if constexpr (kernel_execution<P>) {
    const machine& on = machine_of(where);
    const auto run = [&]<gemm_tile Tile, mma_tile MmaTile>() {
      using kernel = gemm_grouped_kernel<Groups, TA, TB, TC, A, S, Epilogue, Tile, MmaTile>;
      const std::int64_t blocks = std::int64_t(on.multiprocessors) *
                                  on.resident_blocks(kernel::threads, sizeof(typename kernel::shared), Tile.blocks);
      pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{groups, alpha, beta, f, reads, left_out});
    };
    const bool few = rows > 0 && rows < tuning.few_rows * groups.count;
    if constexpr (
        requires { groups.offsets; } && is_two_byte_float<TA> && std::is_same_v<TA, TB> &&
        !requires(std::int64_t i, S sum) { f(sum, i, i, i); })
      if (reads && !few) {
        const gemm_problem<TA, TB, TC, S, Epilogue> x{
            {groups.a.data(), groups.a.rows(), groups.a.row_stride(), groups.a.col_stride(), 0},
            {groups.b.data(), groups.b.cols(), groups.b.col_stride(), groups.b.row_stride(), groups.b_stride},
            {groups.c.data(), groups.c.rows(), groups.c.cols(), groups.c.row_stride(), groups.c.col_stride(), 0},
            groups.a.cols(),
            groups.count,
            {alpha, beta, f, false}};
        if (gemm_of_rows_by_wgmma(where, x, groups.offsets, left_out)) return;
      }
    constexpr std::size_t shared_of_large =
        max(tuning.large.shared_bytes(sizeof(A)), sizeof(TA) == 2 ? tuning.mma_large.shared_bytes() : 0);
    if (few || !on.fits(shared_of_large))
      run.template operator()<tuning.small, tuning.mma_small>();
    else
      run.template operator()<tuning.large, tuning.mma_large>();
  } else {
    std::int64_t wrong = 0;
    for (std::int64_t g = 0; g < groups.count; ++g) {
      grouped_problem<TA, TB, TC> y;
      if (!groups.get(g, reads, y)) {
        ++wrong;
      } else if (y.c.rows > 0 && y.c.cols > 0) {
        const gemm_problem<TA, TB, TC, S, grouped_epilogue<Epilogue>> problem{
            y.a, y.b, y.c, y.k, 1, {alpha, beta, {f, y.row, g}, false}};
        detail::gemm_dispatch<gemm_tuning_for<A>(), false, unrounded, A>(where, problem, {});
      }
    }
    if (left_out != nullptr) *left_out = wrong;
  }
}

}  // namespace detail

/// C <- epilogue(alpha A B + beta C) for each of `count` groups, in one launch.
///
/// \param groups  `count` of them, their views and what these show visible to `where`; on a GPU the host does not read them.
///                No C shares memory with anything else.
/// \param left_out  null, or visible to `where`: becomes the number of groups that were left out, as their shapes do not fit each
///                  other, have a negative extent or one of 2^31 or more, a null or misaligned pointer, or a C with stride 0. What
///                  else they hold is believed.
/// \param options  .epilogue: f(value), f(value, i, j), or f(value, i, j, g) for element (i, j) of C of group g; .precision is not
///                 used: sums are those of gemm, on tensor cores for half and bfloat16 whose A has k contiguous, B k or n, at
///                 multiples of 16 bytes.
/// alpha, beta, NaN and types as gemm. The same bits on every run. Asynchronous on a GPU; may be captured: a graph reads groups
/// anew each time. No scratch. Cost: one launch.
/// \throws std::invalid_argument for a negative count, or null groups; cuda_error.
/// Source: PMPP ch. 5, 6. Example: test/gemm_grouped.cpp, views of any shape.
template <gemm_grouped_tuning Tuning = tuned<gemm_grouped_tuning>, execution_policy P, class Alpha, class TA, class TB,
          class TC, class Beta, class Epilogue = no_epilogue>
void gemm_grouped(const P& where, Alpha alpha, const gemm_group<TA, TB, TC>* groups, std::int64_t count, Beta beta,
                  std::int64_t* left_out = nullptr, const gemm_options<Epilogue>& options = {}) {
  require(count >= 0 && (count == 0 || groups != nullptr), [&] {
    return detail::text("pmpp::gemm_grouped: ") + detail::text::of(count) + " groups" +
           (groups == nullptr ? ", which are null" : "");
  });
  detail::check_reachable(where, "gemm_grouped", groups);
  detail::check_reachable(where, "gemm_grouped", left_out);
  detail::gemm_of_groups<Tuning, TA, TB, TC>(where, detail::groups_of_views<TA, TB, TC>{groups, count}, alpha, beta,
                                             options.epilogue, left_out, 0);
}

/// Rows offsets[g] ... offsets[g + 1] - 1 of C become epilogue(alpha A_g B_g + beta C_g), A_g being those rows of A, for each of
/// `count` groups: a mixture of experts.
///
/// \param a, c  all rows, m x k and m x n; rows that belong to no group are not touched.
/// \param offsets  count + 1 integers, visible to `where`; on a GPU the host does not read them. Ascending, from 0 to m; a group
///                 whose offsets descend or lie outside is left out. Groups that overlap write the same elements: one is kept.
/// \param b, b_stride  matrix number g, k x n, begins g * b_stride elements after the first, which the view describes.
/// \param left_out, options  as above; the epilogue's i is the row of C.
/// \throws std::invalid_argument for shapes that do not fit, a null view, a C with stride 0 or one that overlaps A or B; cuda_error.
/// Otherwise as above. Example: examples/44_mixture_of_experts.cpp.
template <gemm_grouped_tuning Tuning = tuned<gemm_grouped_tuning>, execution_policy P, class Alpha, class TA,
          std::integral Offset, class TB, class Beta, class TC, class Epilogue = no_epilogue>
void gemm_grouped(const P& where, Alpha alpha, const matrix_view<TA>& a, const Offset* offsets, std::int64_t count,
                  const matrix_view<TB>& b, std::int64_t b_stride, Beta beta, const matrix_view<TC>& c,
                  std::int64_t* left_out = nullptr, const gemm_options<Epilogue>& options = {}) {
  using A = std::remove_const_t<TA>;
  using B = std::remove_const_t<TB>;
  require(count >= 0 && (count == 0 || offsets != nullptr), [&] {
    return detail::text("pmpp::gemm_grouped: ") + detail::text::of(count) + " groups" +
           (offsets == nullptr ? ", their offsets are null" : "");
  });
  detail::check_reachable(where, "gemm_grouped", offsets);
  detail::check_reachable(where, "gemm_grouped", left_out);
  // What is wrong with a view, gemm says too; and there is nothing to be done where C is empty.
  detail::gemm_checked("gemm_grouped", where, alpha, a, 0, b, count > 1 ? b_stride : 0, beta, c, 0, 1, options,
                       [](const auto&) {});
  const detail::groups_of_rows<A, B, TC, Offset> groups{offsets, count, a, b, b_stride, c};
  detail::gemm_of_groups<Tuning, A, B, TC>(where, groups, alpha, beta, options.epilogue, left_out, c.rows());
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
