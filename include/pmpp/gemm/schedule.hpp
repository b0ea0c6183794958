// SPDX-License-Identifier: Apache-2.0
//
// Which tile of C, and which part of k, a block works out; and how the sums of several blocks become one.
//
//   raster         number t of the tiles of all matrices: those that run at the same time form a rectangle, and share what
//                  they read
//   splits of k    each block has one of them, of a tile (gemm_arguments); whole tiles may come first, so that only those which
//                  do not fill a wave of blocks are split
//   block_shares   stream-K: the k-tiles of all tiles, one tile after another, are dealt out evenly to as many blocks as there are
//                  multiprocessors (or as run at a time): the end of a tile, perhaps whole tiles, the beginning of another
//   reductions     the sums of a tile are added up in order, so that bits are the same on every run: by a second launch, which has
//                  them as matrices (combine_splits) or as tiles (gemm_combine_tiles_kernel), or in the same launch
//                  (gemm/direct.hpp, gemm/bulk.hpp)
//
// (Osama, Merrill, Cecka, Garland and Owens, "Stream-K", 2023; there, blocks wait for those that share their tile.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// A divisor that only a kernel knows.
struct division {
  std::uint32_t divisor;
  PMPP_HOST_DEVICE constexpr std::uint32_t value() const { return divisor; }
  PMPP_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const { return n < divisor ? 0 : n / divisor; }
};

/// A tile of C, row and column in tiles.
struct tile_place {
  std::uint32_t matrix, row, col;
};

/// Tiles follow each other down `Group` rows of tiles, then to the next column, then to the next rows, then to the next matrix.
template <std::uint32_t Group, class Divisor = divisor>
class raster {
public:
  raster() = default;
  /// Of tiles_m x tiles_n tiles a matrix.
  template <class T>
  PMPP_HOST_DEVICE raster(T tiles_m, T tiles_n)
      : of_matrix_{static_cast<std::uint32_t>(tiles_m * tiles_n)},
        of_group_{static_cast<std::uint32_t>(min(T(Group), tiles_m) * tiles_n)},
        of_rows_{static_cast<std::uint32_t>(min(T(Group), tiles_m))},
        of_last_rows_{static_cast<std::uint32_t>((tiles_m - 1) % T(Group) + 1)},
        last_group_(static_cast<std::uint32_t>((tiles_m - 1) / T(Group))) {}

  PMPP_HOST_DEVICE tile_place operator()(std::uint32_t tile) const {
    const std::uint32_t matrix = of_matrix_.quotient(tile), in_matrix = tile - matrix * of_matrix_.value();
    const std::uint32_t group = of_group_.quotient(in_matrix), in_group = in_matrix - group * of_group_.value();
    const Divisor& of_rows = group == last_group_ ? of_last_rows_ : of_rows_;
    const std::uint32_t col = of_rows.quotient(in_group);
    return {matrix, group * Group + in_group - col * of_rows.value(), col};
  }

private:
  Divisor of_matrix_, of_group_, of_rows_, of_last_rows_;
  std::uint32_t last_group_;
};

/// The k-tiles of tiles, one tile after another: each block has `share` of them that follow each other, the first `longer` blocks one
/// more.
template <class Index>
struct block_shares {
  Index k_tiles, share, longer;  ///< k_tiles: of a tile

  PMPP_HOST_DEVICE block_shares(Index tiles, Index k_tiles_of_tile, Index blocks)
      : k_tiles(k_tiles_of_tile), share(tiles * k_tiles / blocks), longer(tiles * k_tiles - share * blocks) {}

  /// The first k-tile of a block, among those of all tiles; that of the block after the last is their number.
  PMPP_HOST_DEVICE Index first_k_tile(Index block) const { return block * share + min(block, longer); }
  /// The block that has a k-tile.
  PMPP_HOST_DEVICE Index block_of(Index k_tile) const {
    const Index in_longer = longer * (share + 1);
    return k_tile < in_longer ? k_tile / (share + 1) : longer + (k_tile - in_longer) / share;
  }
  /// The blocks that have k-tiles of a tile are `parts(tile)` from `first_block(tile)` on. While tiles are fewer than blocks, a block
  /// is one of those after the first of one tile at most.
  PMPP_HOST_DEVICE Index first_block(Index tile) const { return block_of(tile * k_tiles); }
  PMPP_HOST_DEVICE Index parts(Index tile) const { return block_of((tile + 1) * k_tiles - 1) - first_block(tile) + 1; }
};

/// What a launch of a kernel of tiles gets.
template <class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_arguments {
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word of sums

  gemm_operand<TA> a;
  gemm_operand<TB> b;
  gemm_target<TC> c;
  std::int64_t k, batch;
  std::int64_t tiles_m, tiles_n;
  std::int64_t whole;            ///< tiles, of all batches, whose k is not split: the first
  std::int64_t splits, split_k;  ///< of the others' k; how long one is, a multiple of Tile.k
  A* partials;  ///< for each split a rows x round_up(cols, word) matrix; where tiles are whole, one tile after another
  gemm_result<S, Epilogue> result;
  bool c_in_words;  ///< C is written in words, of which its rows are made
  A one;            ///< 1: see each_word_of_sums (gemm/sums_by_rows.hpp)
  raster<8> order{tiles_m, tiles_n};
  divisor split_tiles{max<std::int64_t>(1, tiles_m* tiles_n* batch - whole)};  ///< those whose k is split

  /// Which split of which tile a block has, of those whose k is split; of others the split is negative.
  struct share {
    int split, tile;
  };
  PMPP_HOST_DEVICE share share_of(int block) const {
    const auto index = static_cast<int>(block - whole);
    if (index < 0) return {-1, block};
    const auto split = static_cast<int>(split_tiles.quotient(static_cast<std::uint32_t>(index)));
    return {split, index - split * static_cast<int>(split_tiles.value())};
  }
  PMPP_HOST_DEVICE std::int64_t partial_row() const { return round_up(c.cols, std::int64_t(word)); }
};

/// A tile of C.
template <gemm_tile Tile>
struct tile_coord {
  std::int64_t batch, row, col;  ///< of C, where the tile begins
  int others_rows, others_cols;  ///< the first of them, which other blocks write

  template <class TA, class TB, class TC, class A, class S, class Epilogue>
  PMPP_HOST_DEVICE tile_coord(const gemm_arguments<TA, TB, TC, A, S, Epilogue>& x, const tile_place& at)
      : batch(at.matrix) {
    const std::int64_t own_row = std::int64_t(at.row) * Tile.m, own_col = std::int64_t(at.col) * Tile.n;
    // The last tiles begin earlier, so that they lie inside C, where 16-byte words allow it: copies need no checks.
    constexpr int a_items = max(1, int(16 / sizeof(TA))), b_items = max(1, int(16 / sizeof(TB)));
    const bool moves_up = x.c.rows >= Tile.m && (x.a.copy != k_tile_copy::words || x.c.rows % a_items == 0);
    const bool moves_left = x.c.cols >= Tile.n && (x.b.copy != k_tile_copy::words || x.c.cols % b_items == 0) &&
                            (x.c.cols % x.word == 0 || (!x.c_in_words && (x.splits == 1 || x.whole > 0)));
    row = moves_up ? min(own_row, x.c.rows - Tile.m) : own_row;
    col = moves_left ? min(own_col, x.c.cols - Tile.n) : own_col;
    others_rows = static_cast<int>(own_row - row);
    others_cols = static_cast<int>(own_col - col);
  }
};

/// from[0] + from[stride] + ... of all splits. In order, but many at a time on their way: a small C has few threads that
/// could hide how long each takes.
template <class A>
PMPP_HOST_DEVICE A sum_of_splits(const A* from, std::int64_t stride, std::int64_t splits) {
  A sum = from[0];
  auto left = static_cast<int>(splits) - 1;
  const auto add = [&]<int Most>(std::integral_constant<int, Most>, int count) {
    A next[Most];
    for (int e = 0; e < Most; ++e) next[e] = e < count ? from[(e + 1) * stride] : A{};
    for (int e = 0; e < Most; ++e)
      if (e < count) sum += next[e];
    from += Most * stride;
    left -= Most;
  };
  while (left >= 32) add(std::integral_constant<int, 32>{}, 32);
  while (left >= 8) add(std::integral_constant<int, 8>{}, 8);
  if (left > 0) add(std::integral_constant<int, 7>{}, left);
  return sum;
}

/// Adds up the partial sums of the splits, one element of C a thread; of few elements with many splits, several lanes.
template <class TC, class A, class S, class Epilogue, class Originals = no_originals>
struct gemm_combine_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 128, min_blocks = 5;

  struct arguments {
    gemm_target<TC> c;
    const A* partials;
    std::int64_t row_length, splits, batch;
    gemm_result<S, Epilogue> result;
    Originals originals{};
    int log_lanes = 0;  ///< of an element's lanes: the splits of each are as far apart
    divisor row{min<std::int64_t>(row_length, INT32_MAX)}, matrix{min<std::int64_t>(c.rows * row_length, INT32_MAX)};
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    simt::previous_kernels_done();
    if (x.c.rows * x.row_length * x.batch < INT32_MAX)
      add_up<std::uint32_t>(block, x);  // dividing 64-bit numbers takes longer than all the rest
    else
      add_up<std::int64_t>(block, x);
  }

private:
  template <class Index, class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, const arguments& x) {
    const auto by = [](Index n, divisor d, std::int64_t m) { return sizeof n == 4 ? d.quotient(unsigned(n)) : n / m; };
    const std::int64_t matrix = x.c.rows * x.row_length, all = matrix * x.batch;
    const int lanes = 1 << x.log_lanes, at_once = threads >> x.log_lanes, lane = block.thread() & (lanes - 1);
    for (std::int64_t first = block.index() * at_once; first < all; first += block.count() * at_once) {
      const std::int64_t own = first + (block.thread() >> x.log_lanes), n = min(own, all - 1);
      const std::int64_t batch = by(static_cast<Index>(n), x.matrix, matrix);
      const auto in_batch = static_cast<Index>(n - batch * matrix);
      const std::int64_t row = by(in_batch, x.row, x.row_length), col = in_batch - row * x.row_length;
      A sum{};
      if (col < x.c.cols)
        sum = sum_of_splits(x.partials + (batch * x.splits + lane) * matrix + in_batch, lanes * matrix,
                            (x.splits - lane + lanes - 1) >> x.log_lanes);
      for (int bits = lanes / 2; bits > 0; bits /= 2) sum += block.shuffle_xor(sum, bits);
      if (lane != 0 || col >= x.c.cols || own >= all) continue;
      if constexpr (!std::is_empty_v<Originals>) sum = x.originals(sum, batch, row, col);
      TC* to = x.c.data + batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
      *to = x.result(sum, to, row, col);
    }
  }
};

/// Adds up the partial sums of the tiles whose k is split, where others are whole.
template <gemm_tile Tile>
struct gemm_combine_tiles_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 128, min_blocks = 8, items = 4;  ///< elements of a thread
  static constexpr int area = Tile.m * Tile.n, blocks_of_tile = ceil_div(area, threads*items);

  template <class Block, class Arguments>
  PMPP_HOST_DEVICE void operator()(Block& block, const Arguments& x) const {
    simt::previous_kernels_done();
    const auto index = static_cast<std::uint32_t>(block.index()), tile = index / blocks_of_tile;
    const tile_coord<Tile> at(x, x.order(static_cast<std::uint32_t>(x.whole) + tile));
    const auto* partials = x.partials + tile * x.splits * area;
    const int first = static_cast<int>(index % blocks_of_tile) * threads * items + block.thread();
    unrolled<items>([&](int e) {
      const int in_tile = first + e * threads, own_row = in_tile / Tile.n, own_col = in_tile % Tile.n;
      const std::int64_t row = at.row + own_row, col = at.col + own_col;
      if (in_tile >= area || own_row < at.others_rows || own_col < at.others_cols || row >= x.c.rows || col >= x.c.cols)
        return;
      auto* to = x.c.data + at.batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
      *to = x.result(sum_of_splits(partials + in_tile, area, x.splits), to, row, col);
    });
  }
};

/// Enqueues the second launch.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue, class Originals = no_originals>
void combine_splits(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const A* partials,
                    std::int64_t row_length, std::int64_t splits, const Originals& originals = {}) {
  using kernel = gemm_combine_kernel<TC, A, S, Epilogue, Originals>;
  const std::int64_t elements = x.batch * x.c.rows * row_length, processors = machine_of(where).multiprocessors;
  std::int64_t lanes = 1;  // of 32 splits each, while there are threads for them
  while (lanes < simt::warp_size && splits > 32 * lanes && elements * lanes < processors * kernel::threads) lanes *= 2;
  pmpp::launch(
      where, min(ceil_div(elements * lanes, std::int64_t(kernel::threads)), processors * 16), kernel{},
      typename kernel::arguments{x.c, partials, row_length, splits, x.batch, x.result, originals, floor_log2(lanes)});
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
