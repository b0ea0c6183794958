// SPDX-License-Identifier: Apache-2.0
//
// Products of any shape, alignment and type by plain loads: where C or k is small, or rows begin anywhere, what counts is how
// soon the first product begins and how C is written, not how few instructions a product takes.
//
//   1. A block owns a tile of C, and all of k or one of several splits of it. Each thread loads its elements of the next k-tile
//      to registers, zeros beyond the edges, while the block multiplies this one from shared memory: along k or along m (n),
//      whichever lies in one piece. There are no other cases.
//   2. The lanes of a warp own neighbouring columns, each of them all rows of the warp: a row of C is written in one piece
//      wherever it begins, and where C is read (beta) all of it is on its way at once. Where C is small, warps divide each k-tile
//      instead, and add up what they have. In tiles of floats that are not flat a thread multiplies words of A and B
//      (gemm/math_fma.hpp), and sums go to their owners through shared memory.
//      Half, bfloat16 and 8-bit integers are multiplied by tensor cores where k is not very small: a k-tile lies in shared memory as it
//      does in global memory (of bytes, along k), and sums go to their owners through it.
//   3. Splits leave their sums in scratch memory. The block that arrives last at a tile adds them up, in order, in the same
//      launch: the same bits on every run.
//
// One barrier a k-tile, one launch. (PMPP ch. 5 and 6.)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/sums_by_rows.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its tile.
struct direct_tile {
  int warps = 0;   ///< along m
  int warp_m = 0;  ///< rows of C of a warp: 1, 2 or a multiple of 4
  int lane_n = 0;  ///< columns of a lane, 32 apart
  int k = 0;       ///< of a k-tile, for sums of 4 bytes; a power of two
  int blocks = 0;  ///< of a multiprocessor
  int slices = 1;  ///< groups of those warps, which divide each k-tile
  int mma_m = 0,
      mma_n = 0;  ///< of C, that a warp multiplies on tensor cores, a slice of the k-tile for each; multiples of 16
  int thread_m = 0, thread_n = 0, lanes_m = 0;  ///< on ordinary units, as of a gemm_tile (gemm/math_fma.hpp)

  /// Of a multiprocessor, where a sum has so many bytes: wide ones take registers.
  constexpr int blocks_of(std::size_t bytes) const {
    return bytes <= 4 ? blocks : bytes <= 8 ? (blocks + 1) / 2 : (blocks + 3) / 4;
  }
  constexpr int m() const { return warps * warp_m; }
  constexpr int n() const { return lane_n * simt::warp_size; }
  constexpr int threads() const { return warps * slices * simt::warp_size; }
  friend constexpr bool operator==(const direct_tile&, const direct_tile&) = default;
};

namespace detail {

/// From many elements of a thread to few: 32 x 128, 64 x 64, 8 x 64 and 4 x 128 elements of C. What a C of few elements waits for is
/// k, which all warps of the third share.
inline constexpr direct_tile direct_tiles[] = {
    {.warps = 4, .warp_m = 8, .lane_n = 4, .k = 16, .blocks = 4},
    {.warps = 8, .warp_m = 8, .lane_n = 2, .k = 16, .blocks = 3},
    {.warps = 1, .warp_m = 8, .lane_n = 2, .k = 64, .blocks = 4, .slices = 8},
    {.warps = 4, .warp_m = 1, .lane_n = 4, .k = 16, .blocks = 8}};

/// Clocks of an H200: of a k-tile that a block has to itself; of copying an element, for each k; of a block; of each element of a
/// thread; of each split of k; and of a call.
struct direct_cost {
  double latency, copy, finish, store, part, call;
};
inline constexpr direct_cost direct_costs[] = {{1490, 0.330, 1360, 49.4, 1080, 5060},
                                               {481, 0.577, 1440, 45.3, 633, 5190},
                                               {1170, 0.242, 1850, 28.9, 93.2, 4740},
                                               {579, 0.285, 1020, 85.5, 124, 5270}};

/// For sums of 4 bytes also 32 x 32, whose warps share k, 64 x 64, 128 x 32 and 128 x 64 elements, of which a thread multiplies 8 x 4
/// or 8 x 8.
inline constexpr direct_tile direct_word_tiles[] = {
    direct_tiles[0],
    direct_tiles[1],
    direct_tiles[2],
    direct_tiles[3],
    {.warps = 4, .warp_m = 8, .lane_n = 1, .k = 32, .blocks = 4, .thread_m = 8, .thread_n = 4, .lanes_m = 4},
    {.warps = 4, .warp_m = 16, .lane_n = 2, .k = 16, .blocks = 4, .thread_m = 8, .thread_n = 4, .lanes_m = 4},
    {.warps = 4, .warp_m = 32, .lane_n = 1, .k = 16, .blocks = 4, .thread_m = 8, .thread_n = 4, .lanes_m = 4},
    {.warps = 4, .warp_m = 32, .lane_n = 2, .k = 16, .blocks = 3, .thread_m = 8, .thread_n = 8, .lanes_m = 8}};
inline constexpr direct_cost direct_word_costs[] = {
    {2020, 0.171, 625, 19.3, 1090, 5350},  {1160, 0.244, 1440, 18.4, 761, 5020},  {1550, 0.17, 1620, 21.3, 51.4, 4740},
    {1610, 0.194, 1730, 22.4, 134, 4030},  {1250, 0.15, 1480, 36.6, 249, 5300},   {1790, 0.143, 1420, 20.4, 999, 5010},
    {1740, 0.121, 2250, 15.5, 1180, 7110}, {2730, 0.0859, 2110, 22.6, 2550, 6390}};

/// With tensor cores: those of them that are for a very small k, and 64 x 64 and 16 x 32 elements of C.
inline constexpr direct_tile direct_mma_tiles[] = {
    direct_tiles[0],
    direct_tiles[1],
    direct_tiles[3],
    {.warps = 8, .warp_m = 8, .lane_n = 2, .k = 64, .blocks = 2, .mma_m = 32, .mma_n = 32},
    {.warps = 8, .warp_m = 2, .lane_n = 1, .k = 128, .blocks = 3, .mma_m = 16, .mma_n = 16}};
inline constexpr direct_cost direct_mma_costs[] = {{1620, 0.229, 1400, 47.8, 759, 6840},
                                                   {1590, 0.379, 2500, 47.6, 346, 5950},
                                                   {907, 0.13, 2310, 86.1, 157, 6020},
                                                   {1760, 0.11, 1380, 31.4, 791, 6990},
                                                   {1820, 0.103, 1200, 307, 65.8, 4640}};
/// The same of 8-bit integers.
inline constexpr direct_cost direct_byte_costs[] = {{1530, 0.265, 1450, 35.9, 759, 7370},
                                                    {1780, 0.347, 2990, 32.3, 346, 5470},
                                                    {1180, 0.117, 2430, 128, 113, 5940},
                                                    {2040, 0.131, 944, 42.8, 432, 6660},
                                                    {1340, 0.155, 1010, 111, 55.7, 6990}};

template <class TA, class TB>
inline constexpr bool is_direct_by_mma = std::is_same_v<TA, TB> &&
                                         sizeof(TA) <= 2 && mma_type_of<TA> != simt::mma_type::none;
/// Sums of 4 bytes on ordinary units.
template <class TA, class TB>
inline constexpr bool is_direct_by_words = !is_direct_by_mma<TA, TB> && sizeof(TA) <= 4 && sizeof(TB) <= 4;
/// The tiles for operands of these types.
template <class TA, class TB>
constexpr const auto& direct_tiles_of() {
  if constexpr (is_direct_by_mma<TA, TB>)
    return direct_mma_tiles;
  else if constexpr (is_direct_by_words<TA, TB>)
    return direct_word_tiles;
  else
    return direct_tiles;
}
template <class TA, class TB>
constexpr const direct_cost& direct_cost_of(int tile) {
  if constexpr (is_direct_by_mma<TA, TB>)
    return sizeof(TA) == 1 ? direct_byte_costs[tile] : direct_mma_costs[tile];
  else if constexpr (is_direct_by_words<TA, TB>)
    return direct_word_costs[tile];
  else
    return direct_costs[tile];
}

template <class TA, class TB, class TC, class A, class S, class Epilogue, direct_tile Tile>
struct gemm_direct_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks_of(sizeof(A));
  static constexpr int rows = Tile.m(), cols = Tile.n(), depth = sizeof(A) > 4 ? Tile.k / 2 : Tile.k,
                       items = Tile.warp_m * Tile.lane_n;
  static constexpr int word = min(Tile.warp_m, int(16 / sizeof(A)));  ///< elements that a lane reads of A at once
  static constexpr bool by_mma = Tile.mma_m > 0, by_words = Tile.thread_m > 0;
  static constexpr int row_a = rows + int(16 / sizeof(A)),
                       row_b = cols + (by_words ? int(16 / sizeof(A)) : 1);  ///< other banks for the next k
  /// Elements of k-tiles in shared memory; how many a thread copies at once where they lie in words, and space between rows.
  using element_a = std::conditional_t<by_mma, TA, A>;
  using element_b = std::conditional_t<by_mma, TB, A>;
  static constexpr bool can_be_wide =
      by_mma || (by_words && sizeof(A) == 4 && std::is_same_v<TA, A> && std::is_same_v<TB, A>);
  static constexpr int wide = can_be_wide ? 16 / int(sizeof(TA)) : 1, row_k = depth + wide,
                       row_sum = cols + (by_mma ? 8 : 4);
  static constexpr int mma_warps_n = by_mma ? cols / Tile.mma_n : 1,
                       mma_warps = by_mma ? rows / Tile.mma_m * mma_warps_n : 1,
                       parts = by_mma     ? Tile.warps / mma_warps
                               : by_words ? threads * Tile.thread_m * Tile.thread_n / (rows * cols)
                                          : Tile.slices;  ///< of a k-tile
  static constexpr int own_rows = Tile.warp_m / Tile.slices,
                       own_items = own_rows * Tile.lane_n;  ///< of a thread, at the end
  static_assert(is_power_of_two(threads) && is_power_of_two(depth) && Tile.warp_m % word == 0 &&
                Tile.warp_m % Tile.slices == 0 && depth % Tile.slices == 0);

  template <int Extent, int Row>
  static constexpr int room = by_mma ? max(Extent* row_k, depth*(Extent + wide))
                                     : depth* Row;  ///< of a k-tile's elements
  static constexpr int room_a = room<rows, row_a> * int(sizeof(element_a)),
                       room_b = room<cols, row_b> * int(sizeof(element_b));
  struct shared {
    alignas(16) std::byte memory[max(2 * (room_a + room_b),
                                     int(sizeof(A)) * (by_mma || by_words ? parts * rows * row_sum
                                                       : Tile.slices > 1  ? items * threads
                                                                          : 0))];  ///< k-tiles, or the parts' sums
    bool is_last;

    PMPP_HOST_DEVICE element_a* a(int now) { return reinterpret_cast<element_a*>(memory + now * room_a); }
    PMPP_HOST_DEVICE element_b* b(int now) { return reinterpret_cast<element_b*>(memory + 2 * room_a + now * room_b); }
    PMPP_HOST_DEVICE A* sums() { return reinterpret_cast<A*>(memory); }
  };

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k, split_k;
    divisor tiles_m, tiles_n, splits;
    A* partials;         ///< of each split of each tile
    unsigned* arrivals;  ///< at each tile: zero
    gemm_result<S, Epilogue> result;
    bool in_words = false;  ///< A and B are copied in words of 16 bytes
    A one = A(1);           ///< see each_word_of_sums (gemm/sums_by_rows.hpp)
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    simt::previous_kernels_done();
    const auto index = static_cast<std::uint32_t>(block.index());
    const std::uint32_t tile = x.splits.quotient(index), split = index - tile * x.splits.value(),
                        row_of_tiles = x.tiles_n.quotient(tile), batch = x.tiles_m.quotient(row_of_tiles);
    const std::int64_t first_row = std::int64_t(row_of_tiles - batch * x.tiles_m.value()) * rows,
                       first_col = std::int64_t(tile - row_of_tiles * x.tiles_n.value()) * cols;
    const int warp = block.warp() % Tile.warps, slice = block.warp() / Tile.warps;
    products of_thread(block, x);
    const std::int64_t k_begin = split * x.split_k, k_end = min(x.k, k_begin + x.split_k);
    if (k_begin < k_end) {
      if (wide > 1 && x.in_words)
        multiply<wide>(block, memory, x, batch, first_row, first_col, k_begin, k_end, of_thread);
      else
        multiply<1>(block, memory, x, batch, first_row, first_col, k_begin, k_end, of_thread);
    }
    A sum[own_items] = {};
    of_thread.hand_over(block, memory, x, sum);
    if (x.splits.value() > 1 && !add_up(block, memory, x, tile, split, sum)) return;
    write(x, batch, first_row + warp * Tile.warp_m + slice * own_rows, first_col + block.lane(), sum);
  }

private:
  /// What a thread copies of each k-tile of an operand, pieces of Items elements: of consecutive rows (columns of B), or of
  /// consecutive k.
  template <int Extent, class T, class E, int Items>
  class operand_part {
    static constexpr int pieces = Extent * depth / Items, count = max(1, pieces / threads);

  public:
    template <class Block>
    PMPP_HOST_DEVICE operand_part(Block& block, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                                  std::int64_t k)
        : along_k_(x.k_stride == 1) {
      // Divisions by powers of two, of which the compiler would not know that they are.
      constexpr int near_k = floor_log2(depth / Items), near_i = floor_log2(max(1, Extent / Items));
      const int near = along_k_ ? near_k : near_i, t = block.thread();
      const int high = t >> near, low = (t & ((1 << near) - 1)) * Items;
      across_bits_ = max(0, floor_log2(threads) - near);
      across_ = 1 << across_bits_;
      i_ = along_k_ ? high : low;
      p_ = along_k_ ? low : high;
      i_left_ = t < pieces ? static_cast<int>(min(std::int64_t(Extent), x.extent - first)) - i_ : 0;
      constexpr std::int64_t size = sizeof(T);
      from_ = reinterpret_cast<const std::byte*>(x.data + (batch * x.batch_stride + first * x.stride + k * x.k_stride) +
                                                 (i_ * x.stride + p_ * x.k_stride));
      step_ = across_ * (along_k_ ? x.stride : x.k_stride) * size;
      next_ = depth * x.k_stride * size;
    }
    /// Loads the next k-tile, of which `left` numbers of k are there, or more.
    PMPP_HOST_DEVICE void load(std::int64_t left) {
      const int k_left = static_cast<int>(min(std::int64_t(depth), left)) - p_;
      const int near = along_k_ ? k_left : i_left_, far = along_k_ ? i_left_ : k_left;
      const int there = near > 0 ? (far + across_ - 1) >> across_bits_ : 0;
      const std::byte* from = from_;
      unrolled<count>([&](int q) {
        value_[q] = q < there ? *reinterpret_cast<const packed<T, Items>*>(from) : packed<T, Items>{};
        from = simt::address_made_here(from + step_);
      });
      from_ += next_;
    }
    /// Element (i, p) goes to to[i * step_i + p * step_p].
    PMPP_HOST_DEVICE void store(E* to, int step_i, int step_p) const {
      if (pieces < threads && (i_ >= Extent || p_ >= depth)) return;
      to += p_ * step_p + i_ * step_i;
      const int step = across_ * (along_k_ ? step_i : step_p);
      unrolled<count>([&](int q) {
        if (by_words && Items > 1 && along_k_)
          for (int e = 0; e < Items; ++e) to[q * step + e * step_p] = static_cast<E>(value_[q].item[e]);
        else if constexpr (Items > 1)
          *reinterpret_cast<packed<E, Items>*>(to + q * step) = value_[q];
        else
          to[q * step] = static_cast<E>(value_[q].item[0]);
      });
    }

  private:
    const std::byte* from_;
    std::int64_t step_, next_;          // in bytes
    int i_, p_, across_, across_bits_;  // the thread's first piece; from one to the next
    int i_left_;                        // of the operand from that piece on
    bool along_k_;
    packed<T, Items> value_[count];
  };

  /// Whether rows of a k-tile in shared memory are along k: on tensor cores as they are in global memory, but for bytes.
  template <class T>
  PMPP_HOST_DEVICE static bool along_k_in_shared(const gemm_operand<T>& x) {
    return by_mma && (sizeof(T) == 1 || x.k_stride == 1);
  }

  /// Sums of a thread, of a slice of each k-tile, on ordinary units.
  struct ordinary_products {
    int row, col = 0, slice;  ///< of the tile; of the k-tile
    A sum[Tile.warp_m][Tile.lane_n] = {};

    template <class Block>
    PMPP_HOST_DEVICE ordinary_products(Block& block, const arguments&)
        : row(block.warp() % Tile.warps * Tile.warp_m), slice(block.warp() / Tile.warps) {}

    /// Adds those of a k-tile, of which `there` numbers of k are there.
    template <class Block>
    PMPP_HOST_DEVICE void add(Block& block, const A* a, const A* b, int there) {
      const A* const from_a = a + row;
      const A* const from_b = b + block.lane();
      constexpr int share = depth / Tile.slices, at_once = min(share, 8);
      for (int p0 = slice * share; p0 < min(there, (slice + 1) * share); p0 += at_once)
        unrolled<at_once>([&](int q) {
          const int p = p0 + q;
          A y[Tile.lane_n];
          for (int j = 0; j < Tile.lane_n; ++j) y[j] = from_b[p * row_b + j * simt::warp_size];
          for (int i = 0; i < Tile.warp_m; i += word) {
            const auto z = *reinterpret_cast<const packed<A, word>*>(from_a + p * row_a + i);
            for (int e = 0; e < word; ++e)
              for (int j = 0; j < Tile.lane_n; ++j) sum[i + e][j] = multiply_add(sum[i + e][j], z.item[e], y[j]);
          }
        });
    }

    template <class Block>
    PMPP_HOST_DEVICE void hand_over(Block& block, shared& memory, const arguments&, A (&own)[own_items]) const {
      if constexpr (Tile.slices == 1) {
        unrolled<items>([&](int e) { own[e] = sum[e / Tile.lane_n][e % Tile.lane_n]; });
      } else {  // each slice adds up some of the rows
        constexpr int slice_threads = threads / Tile.slices;
        A* const all = memory.sums() + block.thread() % slice_threads;
        block.sync();  // the last k-tile has been read
        unrolled<items>(
            [&](int e) { all[(slice * items + e) * slice_threads] = sum[e / Tile.lane_n][e % Tile.lane_n]; });
        block.sync();
        unrolled<own_items>([&](int e) {
          for (int s = 0; s < Tile.slices; ++s) own[e] += all[(s * items + slice * own_items + e) * slice_threads];
        });
      }
    }
  };

  /// The same on tensor cores.
  struct tensor_products {
    static constexpr auto type = mma_type_of<TA>;
    static constexpr int tiles_m = max(1, Tile.mma_m / 16),
                         blocks_n = max(2, Tile.mma_n / 8);  ///< small matrices of a warp
    int row, col, slice;
    bool a_along_k, b_along_k;
    A sum[tiles_m][blocks_n][4] = {};

    template <class Block>
    PMPP_HOST_DEVICE tensor_products(Block& block, const arguments& x)
        : row(block.warp() % mma_warps / mma_warps_n * Tile.mma_m),
          col(block.warp() % mma_warps_n * Tile.mma_n),
          slice(block.warp() / mma_warps),
          a_along_k(along_k_in_shared(x.a)),
          b_along_k(along_k_in_shared(x.b)) {}

    template <class Block>
    PMPP_HOST_DEVICE void add(Block& block, const TA* a, const TB* b, int) {
      constexpr int k = simt::mma<type>::k, steps = depth / k / parts;
      const int matrix = block.lane() / 8, line = block.lane() % 8, near = matrix % 2, far = matrix / 2;
      const auto load = [&](const TA* from, bool along_k, int extent, int i, int p, std::uint32_t(&to)[4]) {
        if (along_k)
          simt::load_matrices<false>(block, to, from + (i + line) * row_k + p);
        else
          simt::load_matrices<true>(block, to, from + (p + line) * (extent + wide) + i);
      };
      unrolled<steps>([&](int step) {
        const int p = (slice * steps + step) * k;
        std::uint32_t of_a[tiles_m][4], of_b[blocks_n / 2][4];
        unrolled<tiles_m>([&](int i) { load(a, a_along_k, rows, row + i * 16 + near * 8, p + far * wide, of_a[i]); });
        unrolled<blocks_n / 2>(
            [&](int j) { load(b, b_along_k, cols, col + j * 16 + far * 8, p + near * wide, of_b[j]); });
        unrolled<blocks_n>([&](int j) {
          const std::uint32_t factor[2] = {of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]};
          unrolled<tiles_m>([&](int i) { simt::multiply_add<type>(block, sum[i][j], of_a[i], factor); });
        });
      });
    }

    template <class Block>
    PMPP_HOST_DEVICE void hand_over(Block& block, shared& memory, const arguments&, A (&own)[own_items]) const {
      A* const to = memory.sums() + (slice * rows + row + block.lane() / 4) * row_sum + col + block.lane() % 4 * 2;
      block.sync();  // the last k-tile has been read
      unrolled<2 * tiles_m>([&](int i) {
        unrolled<blocks_n>([&](int j) {
          const A* const pair = &sum[i / 2][j][i % 2 * 2];
          *reinterpret_cast<packed<A, 2>*>(to + i * 8 * row_sum + j * 8) = {pair[0], pair[1]};
        });
      });
      block.sync();
      take_over(block, memory, own);
    }
  };

  /// The elements of C that a thread owns, from the sums of all.
  template <class Block>
  PMPP_HOST_DEVICE static void take_over(Block& block, shared& memory, A (&own)[own_items]) {
    unrolled<own_items>([&](int e) {
      const int from = (block.warp() * Tile.warp_m + e / Tile.lane_n) * row_sum + block.lane() + e % Tile.lane_n * 32;
      for (int s = 0; s < parts; ++s) own[e] += memory.sums()[s * rows * row_sum + from];
    });
  }

  /// The same on ordinary units, words of A and of B at a time.
  struct word_products {
    static constexpr gemm_tile tile{.m = rows,
                                    .n = cols,
                                    .thread_m = max(16 / int(sizeof(A)), Tile.thread_m),
                                    .thread_n = max(16 / int(sizeof(A)), Tile.thread_n),
                                    .lanes_m = Tile.lanes_m};
    using math = fma_math<A, tile>;
    int row, col, slice;
    typename math::sums sum = {};

    template <class Block>
    PMPP_HOST_DEVICE word_products(Block& block, const arguments&) {
      const typename math::thread_coord at(block.lane(), block.warp());
      row = at.thread_row, col = at.thread_col, slice = at.slice;
    }

    template <class Block>
    PMPP_HOST_DEVICE void add(Block&, const A* a, const A* b, int there) {
      constexpr int share = depth / parts, at_once = min(share, 8);
      const int begin = slice * share, end = min(there, begin + share);
      const auto load = [&](int p, typename math::operands& to) {
        math::load(a + row + p * row_a, b + col + p * row_b, to);
      };
      if (begin >= end) return;
      typename math::operands now[2];
      load(begin, now[0]);
      for (int p = begin; p < end; p += at_once) {
        const int next = p + at_once < end ? p + at_once : begin;
        unrolled<at_once>([&](int q) {
          load(q + 1 < at_once ? p + q + 1 : next, now[(q + 1) % 2]);
          math::add_products(now[q % 2], sum);
        });
      }
    }

    template <class Block>
    PMPP_HOST_DEVICE void hand_over(Block& block, shared& memory, const arguments& x, A (&own)[own_items]) const {
      A* const to = memory.sums() + (slice * rows + row) * row_sum + col;
      block.sync();  // the last k-tile has been read
      each_word_of_sums<math>(sum, x.one, [&](int i, int j, const auto& y) {
        *reinterpret_cast<typename math::shared_word*>(to + i * row_sum + j) = y;
      });
      block.sync();
      take_over(block, memory, own);
    }
  };
  using products =
      std::conditional_t<by_mma, tensor_products, std::conditional_t<by_words, word_products, ordinary_products>>;

  template <int Items, class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, std::int64_t batch,
                                        std::int64_t first_row, std::int64_t first_col, std::int64_t k_begin,
                                        std::int64_t k_end, products& sum) {
    operand_part<rows, TA, element_a, Items> a(block, x.a, batch, first_row, k_begin);
    operand_part<cols, TB, element_b, Items> b(block, x.b, batch, first_col, k_begin);
    const bool a_along_k = along_k_in_shared(x.a), b_along_k = along_k_in_shared(x.b);
    const bool is_needed = first_row + sum.row < x.c.rows && first_col + sum.col < x.c.cols;
    std::int64_t left = k_end - k_begin;
    a.load(left);
    b.load(left);
    for (int now = 0; left > 0; left -= depth, now = 1 - now) {
      a.store(memory.a(now), a_along_k ? row_k : 1, a_along_k ? 1 : by_mma ? rows + wide : row_a);
      b.store(memory.b(now), b_along_k ? row_k : 1, b_along_k ? 1 : by_mma ? cols + wide : row_b);
      block.sync();  // this k-tile is there; the last one but one has been read
      if (left > depth) {
        a.load(left - depth);
        b.load(left - depth);
      }
      if (is_needed) sum.add(block, memory.a(now), memory.b(now), static_cast<int>(min(left, std::int64_t(depth))));
    }
  }

  /// Publishes the sums of a split. The last block of a tile adds up those of all, in order, and is told so.
  template <class Block>
  PMPP_HOST_DEVICE static bool add_up(Block& block, shared& memory, const arguments& x, std::uint32_t tile,
                                      std::uint32_t split, A (&sum)[own_items]) {
    const auto splits = static_cast<int>(x.splits.value());
    A* const first = x.partials + std::int64_t(tile) * splits * (own_items * threads) + block.thread();
    unrolled<own_items>([&](int e) { first[(std::int64_t(split) * own_items + e) * threads] = sum[e]; });
    simt::fence();
    block.sync();
    if (block.thread() == 0) {
      memory.is_last = simt::atomic_add(x.arrivals + tile, 1u) == static_cast<unsigned>(splits - 1);
      if (memory.is_last) simt::store(x.arrivals + tile, 0u);
    }
    block.sync();
    if (!memory.is_last) return false;
    simt::fence();
    unrolled<own_items>([&](int e) { sum[e] = first[e * threads]; });
    // Sums on their way to a thread: of several splits.
    constexpr int on_way = own_items > 16 ? 16 : 32, most = max(1, on_way / own_items), count = min(on_way, own_items);
    for (int s = 1; s < splits; s += most)
      unrolled<own_items / count>([&](int group) {
        A part[most][count];
        for (int q = 0; q < most; ++q)
          for (int e = 0; e < count; ++e)
            part[q][e] = s + q < splits ? first[(std::int64_t(s + q) * own_items + group * count + e) * threads] : A{};
        for (int q = 0; q < most; ++q)
          for (int e = 0; e < count; ++e)
            if (s + q < splits) sum[group * count + e] += part[q][e];
      });
    return true;
  }

  PMPP_HOST_DEVICE static void write(const arguments& x, std::int64_t batch, std::int64_t row, std::int64_t col,
                                     const A (&sum)[own_items]) {
    TC* const c = x.c.data + batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
    const bool reads = x.result.beta != S{};
    constexpr int at_once = max(1, min(own_rows, 16 / Tile.lane_n));  // rows of which C is on its way
    const auto rows_there = static_cast<int>(min<std::int64_t>(x.c.rows - row, own_rows)),
               cols_there = static_cast<int>(min<std::int64_t>(x.c.cols - col, cols));
    const auto is_inside = [&](int i, int j) { return i < rows_there && j * simt::warp_size < cols_there; };
    const auto place = [&](int i, int j) { return c + i * x.c.row_stride + j * (simt::warp_size * x.c.col_stride); };
    unrolled<own_rows / at_once>([&](int group) {
      TC y[at_once][Tile.lane_n] = {};
      if (reads)
        for (int i = 0; i < at_once; ++i)
          for (int j = 0; j < Tile.lane_n; ++j)
            if (is_inside(group * at_once + i, j)) y[i][j] = *place(group * at_once + i, j);
      for (int i = 0; i < at_once; ++i)
        for (int j = 0; j < Tile.lane_n; ++j) {
          const int own = group * at_once + i;
          if (is_inside(own, j))
            *place(own, j) = x.result(sum[own * Tile.lane_n + j], &y[i][j], row + own, col + j * simt::warp_size);
        }
    });
  }
};

/// How k is split, by which tile, whether rows and columns of C are exchanged, and how many clocks that takes, about.
struct direct_plan {
  std::int64_t splits = 1, split_k = 0;
  double clocks = never;
  int tile = 0;
  bool exchanged = false;
};

/// Calls f with the number of each tile, a constant.
template <class TA, class TB, class F>
void each_direct_tile(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, int(sizeof(direct_tiles_of<TA, TB>()) / sizeof(direct_tile))>{});
}

/// Products of type A that ordinary units of a multiprocessor work out.
template <class A>
double products_in_a_clock(const machine& on) {
  if constexpr (complex_number<A>)
    return products_in_a_clock<typename A::value_type>(on) / 4;
  else
    return sizeof(A) > 4 ? on.double_rate() : on.float_rate();
}

/// What a tile takes. `bytes`: of an element of A or B; `memory`: the clocks that memory needs. Fitted to times of random shapes on an
/// H200 (benchmark/gemm_sweep): 4700 of half and bfloat16, 1600 of 8-bit integers and
/// 2000 of floats, single calls and others, 1780 of doubles and complex numbers.
template <direct_tile Tile, class A, bool Words>
direct_plan plan_of_direct_tile(const direct_cost& cost, std::int64_t m, std::int64_t n, std::int64_t k,
                                std::int64_t batch, double bytes, double memory, bool reads_c, bool in_words,
                                const machine& on) {
  constexpr int depth = sizeof(A) > 4 ? Tile.k / 2 : Tile.k, word = min(Tile.warp_m, int(16 / sizeof(A))),
                items = Tile.warp_m * Tile.lane_n, together = Tile.blocks_of(sizeof(A));
  constexpr bool by_mma = Tile.mma_m > 0, by_words = Tile.thread_m > 0;
  constexpr double meeting = 2200;  // of splits
  // Of a k of a block: products, or words from shared memory.
  constexpr double words = Tile.warps * (Tile.warp_m / word + Tile.lane_n * int(sizeof(A)) / 4.0);
  const double products = double(Tile.m()) * Tile.n() / products_in_a_clock<A>(on);
  const double used = double(min<std::int64_t>(round_up(m, std::int64_t(Tile.warp_m)), Tile.m())) / Tile.m();
  const double of_products = by_mma     ? (bytes < 2 ? 1.15 : 0.755) * Tile.m() * Tile.n() / on.tensor_rate(2)
                             : by_words ? 1.01 * products
                                        : max(products, words) * used;
  const double of_k_tile = (of_products + cost.copy * (Tile.m() + Tile.n()) /
                                              (!in_words  ? 1
                                               : by_mma   ? (bytes < 2 ? 1.28 : 1.5)
                                               : by_words ? 1.16
                                                          : 1)) *
                           depth;
  const double store = cost.store * items * (reads_c ? 2 : 1), of_block = cost.finish + store;
  const std::int64_t tiles = ceil_div(m, std::int64_t(Tile.m())) * ceil_div(n, std::int64_t(Tile.n())) * batch;
  const std::int64_t processors = on.multiprocessors, places = processors * together;
  const double row_bytes = double(min<std::int64_t>(m, Tile.m()) + min<std::int64_t>(n, Tile.n())) * bytes;
  direct_plan best;
  const auto consider = [&](std::int64_t wanted) {
    const std::int64_t split_k = round_up(ceil_div(max<std::int64_t>(1, k), wanted), std::int64_t(depth));
    const std::int64_t splits = max<std::int64_t>(1, ceil_div(k, split_k)), blocks = tiles * splits;
    const double own_k = double(min(k, split_k)), k_tiles = std::ceil(own_k / depth);
    const std::int64_t rounds = blocks / places, rest = blocks - rounds * places;
    const auto round = [&](double blocks_together) {
      return k_tiles * max(cost.latency, blocks_together * of_k_tile) +
             (by_mma ? max(cost.latency + of_block, 1.37 * blocks_together * of_block)
                     : cost.finish + (Words ? blocks_together : 1) * store);  // words of all blocks, one after another
    };
    double clocks = double(rounds) * round(together) + (rest > 0 ? round(double(ceil_div(rest, processors))) : 0);
    if (!by_mma) clocks = max(clocks, double(blocks) * own_k * row_bytes / (0.67 * on.l2_rate()));
    clocks = cost.call + max(clocks, memory) + (Words ? 0.15 : 0.25) * min(clocks, memory);
    if (splits > 1) clocks += meeting + cost.part * double(splits);
    if (clocks < best.clocks) best = {splits, split_k, clocks};
  };
  consider(1);
  for (const std::int64_t blocks : {places / 2, places, 2 * places})
    if (blocks / tiles > 1 && k > 2 * depth) consider(blocks / tiles);
  for (const int k_tiles : {1, 2, 4, 8, 16})
    if (by_mma && k > k_tiles * depth) consider(ceil_div(k, std::int64_t(k_tiles * depth)));
  return best;
}

/// Whether operands of tensor cores are copied in words of 16 bytes.
template <class TA, class TB, class TC, class S, class Epilogue>
bool reads_words(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  const auto in_words = [&](const auto& y) {
    const bool along_k = y.k_stride == 1;
    return (along_k || sizeof(TA) > 1) && (along_k ? x.k : y.extent) % std::int64_t(16 / sizeof(TA)) == 0 &&
           is_read_by_words(y, along_k, x.batch);
  };
  return in_words(x.a) && in_words(x.b);
}

/// The best tile by plain loads.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
direct_plan plan_directly(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  return remembered(shape_of(x, on), [&] {
    const std::int64_t m = x.c.rows, n = x.c.cols;
    const bool reads_c = x.result.reads();
    const double of_c = double(m) * double(n) * double(x.batch) * (reads_c ? 2 : 1), memory = clocks_of_memory(x, on);
    // Lanes that own neighbouring rows of C write a sector each.
    const double by_columns = (sizeof(A) > 4 ? 1.35 : 0.727) * of_c *
                              double(min<std::int64_t>(32, n * std::int64_t(sizeof(TC)))) / on.l2_rate();
    direct_plan best;
    each_direct_tile<TA, TB>([&](auto tile) {
      constexpr direct_tile Tile = direct_tiles_of<TA, TB>()[tile];
      for (const bool exchanged : {false, true}) {
        const std::int64_t rows = exchanged ? n : m, cols = exchanged ? m : n;
        if (Tile.m() == Tile.n() || Tile.thread_m > 0 ? exchanged : rows > 8 * Tile.m() && (exchanged || Tile.m() <= 8))
          continue;
        direct_plan plan = plan_of_direct_tile<Tile, A, is_direct_by_words<TA, TB>>(
            direct_cost_of<TA, TB>(tile), rows, cols, x.k, x.batch, sizeof(TA), memory, reads_c, reads_words(x), on);
        if (exchanged) plan.clocks += by_columns;
        if (complex_number<A> && sizeof(A) == 16) plan.clocks *= 1.15;
        plan.tile = tile;
        plan.exchanged = exchanged;
        if (plan.clocks < best.clocks) best = plan;
      }
    });
    return best;
  });
}

/// Enqueues a product, or runs it in the emulator, cut up as planned.
template <direct_tile Tile, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_directly(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const direct_plan& plan) {
  using kernel = gemm_direct_kernel<TA, TB, TC, A, S, Epilogue, Tile>;
  const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(Tile.m())),
                     tiles_n = ceil_div(x.c.cols, std::int64_t(Tile.n())), tiles = tiles_m * tiles_n * x.batch;
  const std::int64_t blocks = tiles * plan.splits;
  const bool splits = plan.splits > 1;
  scratch memory(where, splits ? checked_bytes(blocks * (Tile.m() * Tile.n()), sizeof(A), "gemm") : 0,
                 splits ? checked_bytes(tiles, sizeof(unsigned), "gemm") : 0);
  const typename kernel::arguments y{x.a,
                                     x.b,
                                     x.c,
                                     x.k,
                                     splits ? plan.split_k : x.k,
                                     divisor(tiles_m),
                                     divisor(tiles_n),
                                     divisor(plan.splits),
                                     static_cast<A*>(memory.data()),
                                     memory.state(),
                                     x.result,
                                     kernel::wide > 1 && reads_words(x)};
  launch(where, blocks, kernel{}, y);
}

/// The same by the tile of the plan.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_directly(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const direct_plan& plan) {
  const auto run = [&](const auto& y) {
    each_direct_tile<TA, TB>([&](auto tile) {
      if (plan.tile == tile) gemm_directly<direct_tiles_of<TA, TB>()[tile], A>(where, y, plan);
    });
  };
  if constexpr (std::is_same_v<TA, TB>) {
    run(plan.exchanged ? x.exchanged() : x);
  } else {
    plan.exchanged ? run(x.exchanged()) : run(x);
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
