// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on tensor cores, by products of small matrices that a warp holds in registers (simt/mma.hpp): of doubles, complex
// doubles, half, bfloat16, 8-bit integers, floats taken as tf32 and parts of floats, on every GPU from sm_80 on.
//
//   1. A block owns a tile of C, and all of k or one of several splits of it, as in gemm/multistage.hpp. It goes through k k-tile
//      by k-tile; several k-tiles of A and B are on their way to shared memory at a time. A k-tile is 128 bytes deep in k.
//   2. A k-tile lies in shared memory in words of 16 bytes, which run along k or along m (n) as they do in global memory.
//      Words are exchanged within groups of eight so that those which a warp reads at once lie in different banks.
//   3. A lane reads whole words. A word along k holds its elements of one row; in which order the numbers of k enter a
//      sum does not matter, as long as A and B agree. A word along m holds elements of neighbouring rows; these belong to
//      rows 8 apart of the small matrices, so that C comes out with its rows in another order.
//   4. Sums become rows of C by way of shared memory (gemm/rows_of_c.hpp), wherever these begin, but for elements of 16 bytes.
//   5. Splits write partial sums, which a second launch adds up in order: the same bits on every run.
//
// Edges are filled with zeros on the way to shared memory: the loop over k has no cases. Of operands whose rows begin anywhere, elements
// of 4 and 8 bytes are copied one by one; others are copied first to where words can be read (gemm/repack.hpp).
// (PMPP ch. 5 and 6; the parts of a lane are those of the PTX ISA.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/complex_numbers.hpp>
#include <pmpp/gemm/parts.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/rows_of_c.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its share of a product on tensor cores.
struct mma_tile {
  int m = 0, n = 0;            ///< elements of C that a block works out
  int warp_m = 0, warp_n = 0;  ///< that a warp works out; multiples of 16 and of 32
  int stages = 0;              ///< k-tiles in shared memory
  int blocks = 0;              ///< of a multiprocessor

  constexpr int threads() const { return m / warp_m * (n / warp_n) * simt::warp_size; }
  constexpr std::size_t shared_bytes() const { return std::size_t(stages) * std::size_t(m + n) * 128; }  ///< of a block
  /// The same tile with as many stages as `bytes` have room for.
  constexpr mma_tile within(std::size_t bytes) const {
    mma_tile fewer = *this;
    while (fewer.stages > 2 && fewer.shared_bytes() > bytes) --fewer.stages;
    return fewer;
  }
  friend constexpr bool operator==(const mma_tile&, const mma_tile&) = default;
};

namespace detail {

/// The tiles for doubles, unless a tuning has others.
inline constexpr mma_tile large_double_tile{.m = 64, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 4, .blocks = 3},
    small_double_tile{.m = 32, .n = 64, .warp_m = 16, .warp_n = 32, .stages = 4, .blocks = 4};
/// And for complex doubles. At the rate of tensor cores they ask the last cache for 24 and 40 bytes in a clock of a multiprocessor; up to
/// 27 have come (H200). Of 64 x 64 elements, which ask for 16, large products took 1.03 times as long.
inline constexpr mma_tile large_complex_tile{.m = 64, .n = 32, .warp_m = 32, .warp_n = 16, .stages = 4, .blocks = 3},
    small_complex_tile{.m = 64, .n = 16, .warp_m = 16, .warp_n = 16, .stages = 4, .blocks = 4};

/// The small tile for floats taken as tf32: where it is best, k is long.
inline constexpr mma_tile small_tf32_tile{.m = 32, .n = 64, .warp_m = 16, .warp_n = 32, .stages = 4, .blocks = 4};

/// Whether large tiles of such elements are for machines without wgmma alone: of half, bfloat16, bytes, and floats taken as tf32. (Without
/// them 254 random shapes of bfloat16 take as long on an H200, 1301 of tf32 0.02 % longer.)
template <class T, class TC>
inline constexpr bool large_is_elsewhere = sizeof(T) <= 4 && sizeof(TC) >= 2 && sizeof(TC) <= 8;

/// T: the elements of A and B. AlongK: an operand's k-tile consists of words along k. Elsewhere: code for sm_90a, where wgmma is
/// faster, is empty.
template <simt::mma_type Type, class T, class TC, class S, class Epilogue, mma_tile Tile, bool AlongKA, bool AlongKB,
          bool Elsewhere = false>
struct mma_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  using mma = mma_of<Type, T>;
  using word = typename mma::word;
  using sum_type = typename mma::sum;
  static constexpr int items = 16 / sizeof(T);  ///< of 16 bytes
  static constexpr int row_words = 8;           ///< of a row of a k-tile along k
  static constexpr int k_tile_k = row_words * items;
  static constexpr int steps = k_tile_k / mma::k;   ///< of a k-tile
  static constexpr int tiles_m = Tile.warp_m / 16;  ///< small matrices of a warp
  static constexpr int blocks_n = Tile.warp_n / 8;
  static constexpr int group = sizeof(T) == 16 ? 1 : 2;  ///< of the latter that are loaded together
  static constexpr int groups = blocks_n / group;
  /// Copies and loads of A stand between the products, piece by piece; else together, which leaves more registers.
  static constexpr bool spread = mma::is_double;
  /// Elements are parts of floats: each k-tile is multiplied six times, its parts with each other (gemm/parts.hpp).
  static constexpr bool in_parts = std::is_same_v<T, bfloat16_part>;
  static constexpr int products = in_parts ? part_products : 1;
  static constexpr bool by_elements = sizeof(T) == 4 || sizeof(T) == 8;  ///< an operand may be copied
  static constexpr int slot_k = 4 * mma::items;                          ///< numbers of k of a word of all lanes
  static_assert(steps % 2 == 0 && groups % 2 == 0 && Tile.stages >= 2);
  static_assert((sizeof(T) > 1 && !in_parts) || (AlongKA && AlongKB));
  static_assert(!in_parts || k_tile_k == part_k_tile);
  using originals = std::conditional_t<in_parts, float_originals, no_originals>;

  struct shared {
    alignas(128) std::byte a[Tile.stages][Tile.m * row_words * 16];
    alignas(128) std::byte b[Tile.stages][Tile.n * row_words * 16];
  };
  using rows_of_tile = rows_of_c<sum_type, TC, Tile.m, Tile.n, threads>;  ///< in place of the k-tiles, at the end
  static_assert(sizeof(shared) == Tile.shared_bytes() && rows_of_tile::bytes <= sizeof(shared));

  struct arguments {
    gemm_operand<T> a, b;
    gemm_target<TC> c;
    std::int64_t k;
    raster<8> order;
    divisor splits;        ///< of k
    std::int64_t split_k;  ///< how long one is, a multiple of the depth of a k-tile
    sum_type* partials;    ///< of all splits: for each a rows x partial_row matrix
    std::int64_t partial_row;
    gemm_result<S, Epilogue> result;
    bool a_in_words, b_in_words;  ///< words may be read
    originals of_parts{};
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    if constexpr (!Elsewhere)
#endif
      make_tile(block, memory, x, x.order(static_cast<std::uint32_t>(block.index())));
  }

  /// A tile of the caller's choice.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x, const tile_place& tile) const {
    make_tile(block, memory, x, tile);
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void make_tile(Block& block, shared& memory, const arguments& x, const tile_place& tile) {
    simt::previous_kernels_done();
    const coord at(block, x, tile);
    sum_type sum[tiles_m][blocks_n][4] = {};
    multiply(block, memory, x, at, sum);
    if constexpr (in_parts)
      if (x.splits.value() == 1)
        x.of_parts.template repair<2 * tiles_m, 2 * blocks_n>(
            at.batch, [&](int r) { return at.row + at.warp_row + r * 8 + at.g; },
            [&](int c) { return at.col + at.warp_col + c / 2 * 8 + at.t * 2 + c % 2; },
            [&](int r, int c) -> float& { return sum[r / 2][c / 2][r % 2 * 2 + c % 2]; });
    write(block, memory, x, at, sum);
  }

  /// Which part of the product this block and this thread work out.
  struct coord {
    std::int64_t row, col;        ///< of C, where the tile begins
    std::int64_t k_begin, k_end;  ///< of the split
    std::int64_t split, batch;
    int warp_row, warp_col;  ///< in the tile
    int g, t;                ///< the lane, as simt/mma.hpp counts

    template <class Block>
    PMPP_HOST_DEVICE coord(Block& block, const arguments& x, const tile_place& tile) {
      const std::uint32_t product = x.splits.quotient(tile.matrix);
      split = tile.matrix - product * x.splits.value();
      batch = product;
      row = std::int64_t(tile.row) * Tile.m;
      col = std::int64_t(tile.col) * Tile.n;
      k_begin = split * x.split_k;
      k_end = min(x.k, k_begin + x.split_k);
      constexpr int warps_n = Tile.n / Tile.warp_n;
      warp_row = block.warp() / warps_n * Tile.warp_m;
      warp_col = block.warp() % warps_n * Tile.warp_n;
      g = block.lane() / 4;
      t = block.lane() % 4;
    }
  };

  /// Word w of row r of a k-tile (or of k = r, for words along m) lies at place w ^ turn_of(r): what a warp reads at once
  /// lies in different banks. turn_of(r + s) is turn_of(r) ^ turn_of(s) where r and s have no bit in common.
  template <bool AlongK, int Extent>
  PMPP_HOST_DEVICE static constexpr int turn_of(int r) {
    const int turn = (AlongK ? sizeof(T) < 8 : sizeof(T) < 4) ? r & 7
                     : AlongK && sizeof(T) == 16              ? 4 * (r & 1)
                                                              : 2 * (r & 3);
    return turn & ((AlongK ? row_words : Extent / items) - 1);
  }
  /// Bytes from the k-tile's first.
  template <bool AlongK, int Extent>
  PMPP_HOST_DEVICE static int offset_of(int r, int w) {
    return (r * (AlongK ? row_words : Extent / items) + (w ^ turn_of<AlongK, Extent>(r))) * 16;
  }

  /// Copies one operand k-tile by k-tile, and a k-tile in several pieces a thread, between which other work may stand: words,
  /// or as many elements where rows begin anywhere. What it keeps in registers is little: they are scarce.
  template <bool IsA, int Extent, bool AlongK>
  class tile_iterator {
    static constexpr int length = AlongK ? row_words : Extent / items;  ///< words of a row
    static constexpr int lines = AlongK ? Extent : k_tile_k;
    template <int Width>
    static constexpr int deep = threads* Width / (length * items);  ///< rows that all threads copy at once
    static_assert(threads % length == 0 && lines % deep<items> == 0 && is_power_of_two(deep<items>));

  public:
    static constexpr int pieces = lines / deep<items>;

    template <class Block>
    PMPP_HOST_DEVICE tile_iterator(Block& block, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                                   std::int64_t k_begin, bool in_words)
        : in_words_(!by_elements || in_words) {
      const int width = in_words_ ? items : 1, across = length * items / width;
      const int line = block.thread() / across, item = block.thread() % across * width;
      const int i = AlongK ? line : item, p = AlongK ? item : line;
      from_ = x.data + batch * x.batch_stride + (first + i) * x.stride + (k_begin + p) * x.k_stride;
      to_ = offset_of<AlongK, Extent>(line, item / items) + item % items * int(sizeof(T));
      rows_ = static_cast<int>(min(std::int64_t(Extent), x.extent - first)) - i;
      k_ = p;
      if constexpr (in_parts) from_ += part_of(0) * x.extent * x.stride;
    }

    /// Starts copying piece l = 0, 1, ... pieces - 1 of a k-tile, of which `depth` numbers of k lie in the operand; zeros
    /// where there are none.
    PMPP_HOST_DEVICE void copy(const gemm_operand<T>& x, std::byte* to, int l, int depth) {
      if (in_words_)
        copy_items<items>(x, to, l, depth);
      else if constexpr (by_elements)
        for (int e = 0; e < items; ++e) copy_items<1>(x, to, l * items + e, depth);
      if (l + 1 < pieces) return;
      if constexpr (in_parts) {
        const int before = part_of(product_);
        product_ = product_ + 1 < products ? product_ + 1 : 0;
        from_ +=
            (part_of(product_) - before) * x.extent * x.stride + (product_ == 0 ? k_tile_k : 0) - Extent * x.stride;
      } else {
        from_ += (AlongK ? k_tile_k * x.k_stride - Extent * x.stride : 0);
      }
    }

  private:
    const T* from_;  // this thread's next piece
    int to_;         // the k-tile's first piece there
    int rows_, k_;   // of the operand from that piece on; numbers of k before it
    bool in_words_;
    [[maybe_unused]] int product_ = 0;  // of parts

    PMPP_HOST_DEVICE static int part_of(int product) { return IsA ? part_of_a(product) : part_of_b(product); }

    /// The first Width elements, number l of the k-tile's.
    template <int Width>
    PMPP_HOST_DEVICE void copy_items(const gemm_operand<T>& x, std::byte* to, int l, int depth) {
      const int row = l * deep<Width>;
      const int lines_left = AlongK ? rows_ : depth - k_, items_left = AlongK ? depth - k_ : rows_;
      const int there = row < lines_left ? max(0, min(Width, items_left)) : 0;
      simt::copy_async<Width* int(sizeof(T))>(to + ((to_ ^ turn_of<AlongK, Extent>(row) * 16) + row * length * 16),
                                              from_, there * int(sizeof(T)));
      from_ += (AlongK ? x.stride : x.k_stride) * deep<Width>;
    }
  };

  /// The parts of a lane of an operand's small matrices. IsA: 16 rows, else `group` times 8 columns.
  template <bool IsA, bool AlongK, int Extent>
  struct reader {
    static constexpr int count = (IsA ? 2 : group) * mma::words;
    static constexpr bool by_matrices = sizeof(word) == 4 && (AlongK || sizeof(T) == 2);
    static constexpr int row_bytes = Extent * int(sizeof(T));
    int base;  ///< bytes from the k-tile's first; the rest of an address is a constant, added or combined by exclusive or

    template <class Block>
    PMPP_HOST_DEVICE reader(Block& block, int first) {
      const int lane = block.lane(), g = lane / 4, t = lane % 4;
      if constexpr (by_matrices) {
        const int matrix = lane / 8, b = IsA ? matrix % 2 : matrix / 2, w = IsA ? matrix / 2 : matrix % 2;
        base = AlongK ? offset_of<AlongK, Extent>(first + 8 * b + lane % 8, w)
                      : offset_of<AlongK, Extent>(w * slot_k + lane % 8, first / items + b);
      } else if constexpr (AlongK) {
        base = offset_of<AlongK, Extent>(first + g, t / items) + t % items * int(sizeof(T));
      } else {
        base = offset_of<AlongK, Extent>(t, (first + g) / items) + g % items * int(sizeof(T));
      }
    }

    /// Those from block `first` of the warp on, of a step.
    template <class Block>
    PMPP_HOST_DEVICE void load(Block& block, const std::byte* k_tile, int first, int step, word (&to)[count]) const {
      if constexpr (by_matrices) {
        simt::load_matrices<!AlongK>(block, to,
                                     k_tile + (AlongK ? (base ^ (step * mma::words * 16)) + first * 8 * row_words * 16
                                                      : (base ^ (first * 16)) + step * mma::k * row_bytes));
      } else {
        unrolled<count>([&](int i) {
          const int b = first + (IsA ? i % 2 : i / mma::words), w = step * mma::words + (IsA ? i / 2 : i % mma::words);
          constexpr int slot_bytes = slot_k * sizeof(T);
          to[i] = *reinterpret_cast<const word*>(
              k_tile + (AlongK ? (base ^ (w * slot_bytes % 128)) + w * slot_bytes / 128 * 128 + b * 8 * row_words * 16
                               : (base ^ (b * 8 * int(sizeof(T)))) + w * slot_k * row_bytes));
        });
      }
    }
  };

  PMPP_HOST_DEVICE static void round([[maybe_unused]] word& x) {
    if constexpr (Type == simt::mma_type::tf32) x = simt::round_to_tf32(x);
  }

  /// Adds the products of a thread's elements over the k of the split.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const coord& at,
                                        sum_type (&sum)[tiles_m][blocks_n][4]) {
    const std::int64_t depth = max(std::int64_t(0), at.k_end - at.k_begin) * products;
    const int k_tiles = static_cast<int>(ceil_div(depth, std::int64_t(k_tile_k)));
    if (k_tiles == 0) return;
    tile_iterator<true, Tile.m, AlongKA> iterator_a(block, x.a, at.batch, at.row, at.k_begin, x.a_in_words);
    tile_iterator<false, Tile.n, AlongKB> iterator_b(block, x.b, at.batch, at.col, at.k_begin, x.b_in_words);
    std::int64_t left = depth;  // to be copied
    // Pieces of both operands, spread over `slots` between which other work stands.
    block::async_pipeline<Tile.stages> ring;
    const auto copy = [&](int stage, int slot, int slots) {
      if (slots == 1 && left <= 0) return;  // a whole k-tile beyond k, which nobody multiplies
      constexpr int of_a = iterator_a.pieces, all = of_a + iterator_b.pieces;
      const int there = static_cast<int>(max(std::int64_t(0), min(left, std::int64_t(k_tile_k))));
      for (int p = all * slot / slots; p < all * (slot + 1) / slots; ++p)
        if (p < of_a)
          iterator_a.copy(x.a, memory.a[stage], p, there);
        else
          iterator_b.copy(x.b, memory.b[stage], p - of_a, there);
      if (slot + 1 == slots) left -= k_tile_k;
    };
    constexpr int ahead = spread ? Tile.stages - 1 : Tile.stages;
    ring.template begin<ahead>([&](int stage) { copy(stage, 0, 1); });
    const reader<true, AlongKA, Tile.m> from_a(block, at.warp_row);
    const reader<false, AlongKB, Tile.n> from_b(block, at.warp_col);
    word a[2][tiles_m][from_a.count], b[2][from_b.count];
    const auto load_a = [&](int step, int into, int slot, int slots) {
      for (int i = tiles_m * slot / slots; i < tiles_m * (slot + 1) / slots; ++i)
        from_a.load(block, memory.a[ring.front()], 2 * i, step, a[into][i]);
    };
    const auto load_b = [&](int step, int g) { from_b.load(block, memory.b[ring.front()], g * group, step, b[g % 2]); };
    ring.template wait<ahead - 1>(block);
    load_a(0, 0, 0, 1);
    load_b(0, 0);
    int free = Tile.stages - 1;  // the stage to be filled next
    // What is multiplied next is loaded first, so that its latency is hidden. `there`: numbers of k of the k-tile, or more.
    const auto multiply_k_tile = [&](std::int64_t there) {
      unrolled<steps>([&](int step) {
        const int now = step % 2;
        const bool is_zero = !spread && !in_parts && step > 0 && step * mma::k >= there;
        unrolled<groups>([&](int g) {
          if (spread) {
            copy(free, step * groups + g, steps * groups);
            if (step * groups + g + 1 == steps * groups) ring.commit();
          }
          if (step + 1 < steps && (spread || g + 1 == groups) && !is_zero)
            load_a(step + 1, 1 - now, spread ? g : 0, spread ? groups : 1);
          if (g + 1 < groups) {
            if (!is_zero) load_b(step, g + 1);
          } else if (step + 1 < steps) {
            if (!is_zero) load_b(step + 1, 0);
          } else {
            free = ring.release();
            ring.template wait<Tile.stages - 2>(block);
            load_a(0, 1 - now, 0, 1);
            load_b(0, 0);
            if (!spread) {
              copy(free, 0, 1);
              ring.commit();
            }
          }
          if (is_zero) return;
          if (g == 0)
            unrolled<tiles_m>([&](int i) {
              for (word& y : a[now][i]) round(y);
            });
          for (word& y : b[g % 2]) round(y);
          unrolled<group>([&](int j) {
            word factor[mma::words];
            for (int w = 0; w < mma::words; ++w) factor[w] = b[g % 2][j * mma::words + w];
            unrolled<tiles_m>(
                [&](int i) { detail::multiply_small<Type>(block, sum[i][g * group + j], a[now][i], factor); });
          });
        });
      });
    };
    if constexpr (in_parts) {
      sum_type total[tiles_m][blocks_n][4] = {};
      const auto each = [&](auto f) {
        unrolled<tiles_m>([&](int i) {
          unrolled<blocks_n>([&](int j) {
            for (int e = 0; e < 4; ++e) f(sum[i][j][e], total[i][j][e]);
          });
        });
      };
      for (int s = 0; s < k_tiles; s += products) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int p = 0; p < products; ++p) {
          multiply_k_tile(k_tile_k);
          if (ends_scale(p)) each([](float& y, float&) { y *= 1 / scale_of_part; });
        }
        each([](float& y, float& all) { all += y, y = 0; });
      }
      each([](float& y, float& all) { y = all; });
    } else {
      for (int s = 0; s < k_tiles; ++s) multiply_k_tile(depth - std::int64_t(s) * k_tile_k);
    }
  }

  /// Writes C, by way of shared memory unless its elements are words, or the partial sums of a split.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, shared& memory, const arguments& x, const coord& at,
                                     const sum_type (&sum)[tiles_m][blocks_n][4]) {
    const int first_row = at.warp_row + at.g, first_col = at.warp_col + at.t * 2;  // of the tile, of this lane
    const std::int64_t row = at.row + first_row, col = at.col + first_col;
    if (x.splits.value() > 1) {
      sum_type* const to =
          x.partials + ((at.batch * x.splits.value() + at.split) * x.c.rows + row) * x.partial_row + col;
      unrolled<2 * tiles_m>([&](int i) {
        if (row + i * 8 < x.c.rows)
          unrolled<2 * blocks_n>([&](int j) {
            const int c = j / 2 * 8 + j % 2;
            if (col + c < x.c.cols) to[i * 8 * x.partial_row + c] = sum[i / 2][j / 2][i % 2 * 2 + j % 2];
          });
      });
      return;
    }
    if constexpr (sizeof(TC) >= 16) {  // an element is a word. Where C is read, those of a row are on their way at once
      unrolled<2 * tiles_m>([&](int i) {
        if (row + i * 8 >= x.c.rows) return;
        TC* const to = x.c.data + at.batch * x.c.batch_stride + (row + i * 8) * x.c.row_stride + col * x.c.col_stride;
        const auto each = [&](auto f) {
          unrolled<2 * blocks_n>([&](int j) {
            const int c = j / 2 * 8 + j % 2;
            if (col + c < x.c.cols) f(j, c, to + c * x.c.col_stride);
          });
        };
        TC old[2 * blocks_n] = {};
        if (x.result.reads()) each([&](int j, int, const TC* from) { old[j] = *from; });
        each([&](int j, int c, TC* place) {
          *place = x.result(sum[i / 2][j / 2][i % 2 * 2 + j % 2], &old[j], row + i * 8, col + c);
        });
      });
      return;
    }
    const rows_of_tile tile(reinterpret_cast<std::byte*>(&memory), x.c, at.batch, at.row, at.col);
    block::async_pipeline<Tile.stages>::drain();
    block.sync();  // k-tiles have been read
    tile.put([&](auto place) {
      unrolled<2 * tiles_m>([&](int i) {
        unrolled<2 * blocks_n>([&](int j) {
          place(first_row + i * 8, first_col + j / 2 * 8 + j % 2) = sum[i / 2][j / 2][i % 2 * 2 + j % 2];
        });
      });
    });
    block.sync();
    tile.write(block, x.result);
  }
};

/// Products of elements of type T that tensor cores work out in a clock of a multiprocessor.
template <class T>
constexpr double tensor_products(const machine& on) {
  return sizeof(T) == 16 ? on.tensor_rate(sizeof(double)) / 4.0 : on.tensor_rate(sizeof(T));
}

/// What a tile costs on tensor cores.
template <simt::mma_type Type, class T, mma_tile Tile>
constexpr gemm_cost mma_cost_of(const machine& on) {
  constexpr double measured = sizeof(T) >= 8 ? 115.0 / 128 : 125.0 / 128;  // of the rate, on an H100
  constexpr double besides = 1 + 8.0 / (Tile.m + Tile.n);                  // small tiles read more
  constexpr std::size_t shared = Tile.shared_bytes();
  const int blocks = on.resident_blocks(Tile.threads(), shared, Tile.blocks);
  // A multiprocessor that has all of its blocks is busy, with however many warps.
  return {Tile.m,          Tile.n,
          128 / sizeof(T), blocks,
          24 / blocks,     Tile.m * Tile.n * besides / (measured * tensor_products<T>(on)),
          sizeof(T),       sizeof(typename mma_of<Type, T>::sum),
          on.fits(shared)};
}

/// Enqueues a product on tensor cores, cut up as planned. Elsewhere: see mma_kernel.
template <simt::mma_type Type, mma_tile Tile, bool AlongKA, bool AlongKB, bool Elsewhere = false, class P, class T,
          class TC, class S, class Epilogue, class Originals = no_originals>
void launch_mma(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x, const gemm_plan& plan,
                const Originals& originals = {}) {
  using kernel = mma_kernel<Type, T, TC, S, Epilogue, Tile, AlongKA, AlongKB, Elsewhere>;
  using sum = typename kernel::sum_type;
  const std::int64_t row_length = round_up(x.c.cols, std::int64_t(16 / sizeof(sum)));
  const std::int64_t partials = plan.splits > 1 ? x.batch * plan.splits * x.c.rows * row_length : 0;
  scratch memory(where, checked_bytes(partials, sizeof(sum), "gemm"), 0);
  auto* const sums = static_cast<sum*>(memory.data());
  pmpp::launch(
      where, plan.tiles_m * plan.tiles_n * plan.splits * x.batch, kernel{},
      typename kernel::arguments{x.a, x.b, x.c, x.k, raster<8>(plan.tiles_m, plan.tiles_n), divisor(plan.splits),
                                 plan.split_k, sums, row_length, x.result, is_read_by_words(x.a, AlongKA, x.batch),
                                 is_read_by_words(x.b, AlongKB, x.batch), originals});
  if (plan.splits > 1) detail::combine_splits(where, x, sums, row_length, plan.splits, originals);
}

/// Whether an operand is taken along k.
template <class T>
bool mma_takes_along_k(const gemm_operand<T>& y, std::int64_t batch) {
  return sizeof(T) == 1 || y.stride != 1 || is_read_by_words(y, true, batch);
}

/// Whether an operand is copied first, whose elements are multiplied by `products` others: it cannot be read by words, and reading it
/// by elements is not possible, or slow. Doubles wait for their products rather, and a short k takes no longer than a launch.
template <class T>
bool mma_copies_first(const gemm_operand<T>& y, std::int64_t products, std::int64_t k, std::int64_t batch) {
  if (sizeof(T) == 16) return false;  // an element is a word
  const bool by_elements = sizeof(T) >= 4 && (y.stride == 1 || y.k_stride == 1) &&
                           (sizeof(T) == 8 || products < 1024 || k <= std::int64_t(256 / sizeof(T)));
  return !by_elements && !is_read_by_words(y, mma_takes_along_k(y, batch), batch);
}

/// The same, for any operands: one that cannot be read by words is copied first.
template <simt::mma_type Type, mma_tile Tile, bool Elsewhere = false, class P, class T, class TC, class S,
          class Epilogue>
void gemm_by_mma(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x, const gemm_plan& plan) {
  const bool a = mma_takes_along_k(x.a, x.batch), b = mma_takes_along_k(x.b, x.batch);
  const copy_wish of_a{mma_copies_first(x.a, x.c.cols, x.k, x.batch), a},
      of_b{mma_copies_first(x.b, x.c.rows, x.k, x.batch), b};
  const auto multiply = [&](const auto& y) {
    const auto by = [&]<bool AlongKA, bool AlongKB>() {
      launch_mma<Type, Tile, AlongKA, AlongKB, Elsewhere>(where, y, plan);
    };
    if constexpr (sizeof(T) == 1)
      by.template operator()<true, true>();
    else if (a)
      b ? by.template operator()<true, true>() : by.template operator()<true, false>();
    else
      b ? by.template operator()<false, true>() : by.template operator()<false, false>();
  };
  if constexpr (sizeof(T) == 16)
    multiply(x);
  else
    multiply_copies(where, x, of_a, of_b, multiply);
}

/// How a product on tensor cores is cut up, whether rows and columns of C are exchanged, and all that it takes, with copies of
/// operands and writing C.
struct mma_plan {
  bool large = false, exchanged = false;
  gemm_plan cut{};
  double clocks = never;
};

/// Clocks of an H200: of a call; before a block's products; of a k-tile that a block has to itself; of each element that is copied by
/// itself, of a k-tile and of each k; of each element of C of a thread; the share of the rate that products reach. Fitted to times of random
/// shapes, half of them of a short k (benchmark/gemm_sweep): 900 to 1680 of each of bfloat16, floats and doubles, 1200 of complex doubles,
/// single calls and others, which count as single ones; of large tiles of two bytes and one to single calls. (Small tiles of two bytes:
/// longer than measured, as formulas of other ways say more than they take.)
struct mma_cost {
  double call, begin, latency, of_row, of_element, store, share;
};
template <class T>
constexpr mma_cost mma_cost_of_tile(bool large) {
  if (sizeof(T) == 16)
    return large ? mma_cost{5950, 636, 677, 0, 0, 129, 1.01} : mma_cost{5950, 800, 305, 0, 0, 200, 0.92};
  if (sizeof(T) == 8)
    return large ? mma_cost{5950, 1040, 795, 0, 0.0223, 39.1, 1.1}
                 : mma_cost{5950, 1330, 569, 0.202, 0.0345, 48.5, 0.808};
  if (sizeof(T) == 4)
    return large ? mma_cost{7260, 60, 1500, 0, 0.0411, 20, 0.47} : mma_cost{7260, 60, 1150, 0, 0.0411, 36.2, 0.27};
  if (large) return {5950, 2260, 1355, 0, 0, 20, 0.96};
  return {11400, 1970, 431, 0, 0, 10.8, sizeof(T) == 1 ? 0.5 : 0.514};
}

/// The same of C and of partial sums: how much a block waits for others of a multiprocessor that write C; how much longer it takes where C is
/// read, and where its lines begin within words, and memory for parts of sectors; of a second launch; the share of memory's rate that
/// partial sums reach.
struct mma_cost_of_c {
  double together, reads, askew, of_parts, second_launch, sums;
};
template <class TC>
constexpr mma_cost_of_c mma_cost_of_element() {
  if (sizeof(TC) == 16) return {0.26, 1.35, 1.38, 1.53, 3200, 0.6};  // lanes write elements, which are words
  return {1, 1.7, 1, sizeof(TC) < 4 ? 1.88 : sizeof(TC) == 4 ? 1.75 : 1.45, 2300, 0.3};
}

/// How a product is best cut up by a tile.
template <simt::mma_type Type, mma_tile Tile, class T, class TC, class S, class Epilogue>
mma_plan plan_mma_tile(const gemm_problem<T, T, TC, S, Epilogue>& x, bool large, const machine& on) {
  constexpr std::int64_t depth = 128 / sizeof(T);
  constexpr double sum_bytes = sizeof(typename mma_of<Type, T>::sum);
  constexpr mma_cost_of_c of_element = mma_cost_of_element<TC>();
  const mma_cost cost = mma_cost_of_tile<T>(large);
  const double m = double(x.c.rows), n = double(x.c.cols), batch = double(x.batch);
  const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(Tile.m)),
                     tiles_n = ceil_div(x.c.cols, std::int64_t(Tile.n)), tiles = tiles_m * tiles_n * x.batch,
                     processors = on.multiprocessors;
  mma_plan best{large};
  const auto is_word = [](const T* p) { return sizeof(T) < 16 || reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (!on.fits(Tile.shared_bytes()) || !is_word(x.a.data) || !is_word(x.b.data)) return best;
  const std::int64_t together = on.resident_blocks(Tile.threads(), Tile.shared_bytes(), Tile.blocks);
  constexpr std::int64_t items = max(1, int(16 / sizeof(TC)));
  const bool in_words =
      items == 1 ? x.c.row_stride == 1 : x.c.is_written_by(items) || x.exchanged().c.is_written_by(items);
  const double writes = in_words ? 1 : of_element.of_parts, beta = x.result.reads() ? 2 : 1;
  const double k_bytes = double(x.k) * batch * sizeof(T),
               from_l2 = (m * double(tiles_n) + n * double(tiles_m)) * k_bytes;
  const double memory = max(((m + n) * k_bytes + m * n * batch * beta * writes * sizeof(TC)) / on.memory_rate(),
                            from_l2 / (2.8 * on.l2_rate()));
  const auto by_elements = [&](const gemm_operand<T>& y, std::int64_t products, int rows) {
    const bool by_words = sizeof(T) == 16 || is_read_by_words(y, mma_takes_along_k(y, x.batch), x.batch) ||
                          mma_copies_first(y, products, x.k, x.batch);
    return by_words ? 0 : rows;
  };
  const double elements = by_elements(x.a, x.c.cols, Tile.m) + by_elements(x.b, x.c.rows, Tile.n);
  const double of_k_tile =
      depth * (double(Tile.m * Tile.n) / (cost.share * tensor_products<T>(on)) + elements * cost.of_element);
  const double of_c = double(Tile.m * Tile.n) / Tile.threads() * cost.store *
                      (x.result.reads() ? of_element.reads : 1) * (in_words ? 1 : of_element.askew);
  const auto consider = [&](std::int64_t wanted) {
    const std::int64_t split_k = round_up(ceil_div(max<std::int64_t>(1, x.k), wanted), depth);
    const std::int64_t splits = max<std::int64_t>(1, ceil_div(x.k, split_k)), blocks = tiles * splits;
    const std::int64_t rounds = blocks / (together * processors), rest = blocks - rounds * together * processors;
    const auto round = [&](double of_processor) {
      return cost.begin + of_c * (1 + of_element.together * (of_processor - 1)) +
             double(ceil_div(min(x.k, split_k), depth)) *
                 max(cost.latency + elements * cost.of_row, of_processor * of_k_tile);
    };
    double clocks =
        double(rounds) * round(double(together)) + (rest > 0 ? round(double(ceil_div(rest, processors))) : 0);
    clocks = cost.call + max(clocks, memory) + 0.3 * min(clocks, memory);
    if (splits > 1)
      clocks += of_element.second_launch +
                m * n * batch * sum_bytes * double(splits + 1) / (of_element.sums * on.memory_rate());
    if (clocks < best.clocks) best = {large, false, {tiles_m, tiles_n, splits, split_k, clocks}, clocks};
  };
  consider(1);
  // Rounds of large tiles are long: more of them, which are shorter, leave less of the last one idle.
  const std::int64_t most = (sizeof(T) == 16 ? 4 : 2) * together;
  for (std::int64_t each = 1; each <= most; ++each)
    if (each * processors / tiles > 1 && x.k > depth) consider(each * processors / tiles);
  return best;
}

/// The best of the tiles.
template <simt::mma_type Type, mma_tile Large, mma_tile Small, class T, class TC, class S, class Epilogue>
mma_plan plan_mma(const gemm_problem<T, T, TC, S, Epilogue>& x, const machine& on) {
  return remembered(shape_of(x, on), [&] {
    mma_plan best;
    best.cut.clocks = never;
    const auto weigh = [&](mma_plan plan, bool exchanged) {
      plan.exchanged = exchanged;
      if (plan.clocks < best.clocks) best = plan;
    };
    for (const bool exchanged : {false, true}) {
      const auto y = exchanged ? x.exchanged() : x;
      if (!large_is_elsewhere<T, TC> || !wgmma_available()) weigh(plan_mma_tile<Type, Large>(y, true, on), exchanged);
      weigh(plan_mma_tile<Type, Small>(y, false, on), exchanged);
    }
    const auto copies = [&](const gemm_operand<T>& y, std::int64_t products) {
      const double clocks = clocks_of_repack(y, mma_takes_along_k(y, x.batch), x.k, x.batch, on);
      return mma_copies_first(y, products, x.k, x.batch) ? clocks : 0;
    };
    best.clocks += copies(x.a, x.c.cols) + copies(x.b, x.c.rows);
    return best;
  });
}

/// Enqueues a product on tensor cores as planned; where no tile fits, by the small one with fewer stages.
template <simt::mma_type Type, mma_tile Large, mma_tile Small, class P, class T, class TC, class S, class Epilogue>
void gemm_on_tensor_cores(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x, const mma_plan& plan) {
  constexpr mma_tile least = Small.within(least_shared_per_block<P>);
  const auto y = plan.exchanged ? x.exchanged() : x;
  if constexpr (least != Small) {
    const machine& on = machine_of(where);
    const auto cost = mma_cost_of<Type, T, least>(on);
    if (plan.cut.clocks == never)
      return gemm_by_mma<Type, least>(where, x, plan_gemm(cost, x.c.rows, x.c.cols, x.k, x.batch, on));
  }
  plan.large ? gemm_by_mma<Type, Large, large_is_elsewhere<T, TC>>(where, y, plan.cut)
             : gemm_by_mma<Type, Small>(where, y, plan.cut);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
