// SPDX-License-Identifier: Apache-2.0
//
// Doubles in the kernel of gemm/warp_specialised.hpp. There are no products of doubles for warpgroups: consumers multiply by those of
// simt/mma.hpp, from the same stages, and write C from registers.
//
// Each warp multiplies 64 x 32 elements by products of 16 x 8 with 8 of k (simt/mma.hpp). Which of the 8 numbers
// of k has which place does not matter as long as A and B agree; nor do rows and columns, as long as C is written so. All
// are placed so that the lanes that read at once do so from different banks, and so that what one read gives are
// neighbours in the registers of a product: words of 16 bytes where A is along m, or B along k beside such an A.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>

#include <pmpp/core/packed.hpp>
#include <pmpp/simt/mma.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class Kernel, class TC, bool AlongMA, bool AlongNB>
struct consumers_of_doubles {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  using shared = typename Kernel::shared;
  using arguments = typename Kernel::arguments;
  using coord = typename Kernel::coord;
  using position = typename Kernel::position;
  static constexpr int row_bytes = Kernel::row_bytes;

  /// The row of A that has place i of 16, and the column of B that has place i of 8.
  __device__ static constexpr int row_at(int i) {
    return AlongMA ? i % 8 * 2 + i / 8 : i / 8 * 8 + i % 4 * 2 + i % 8 / 4;
  }
  __device__ static constexpr int col_at(int i) {
    return AlongNB ? i : AlongMA ? i % 2 * 4 + i / 2 : i % 4 * 2 + i / 4;
  }
  /// The byte where elements of a k-tile lie: k = p, at `i` of an operand along k, or along m.
  __device__ static int along_k(int i, int p) { return i * row_bytes + ((p / 2) ^ (i % 8)) * 16 + p % 2 * 8; }
  __device__ static int along_m(int i, int p) {
    return i / 16 * 16 * row_bytes + p * row_bytes + ((i % 16 / 2) ^ (p % 8)) * 16 + i % 2 * 8;
  }
  using two_doubles = packed<double, 2>;
  static_assert(AlongMA || !AlongNB);

  /// Where a lane's parts lie in a k-tile, for the first 16 rows of its warp and the first 16 columns: those of other rows,
  /// columns and steps of k are this many bytes further for all lanes. Words are swizzled within eight rows, so that which
  /// k a lane reads is part of it for operands along k, and which columns for B along n.
  struct double_places {
    int a[4], b[4];

    __device__ double_places(int row, int col, int lane) {
      const int g = lane / 4, t = lane % 4;
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        a[v] = AlongMA ? along_m(row + g * 2, t * 2 + v % 2) : along_k(row + row_at(g), t + v * 4);
        b[v] = AlongNB   ? along_m(col + g + v / 2 * 8, t * 2 + v % 2)
               : AlongMA ? along_k(col + col_at(g), t * 2 + v % 2 * 8)
                         : along_k(col + col_at(g), t + v * 4);
        simt::keep_in_register(a[v]), simt::keep_in_register(b[v]);
      }
    }
    static constexpr int eight = 8 * row_bytes;  ///< from eight rows, columns or numbers of k to the next

    /// Of 16 rows of A and 8 numbers of k. `part`: where the rows begin.
    __device__ __forceinline__ void load_a(double (&to)[4], const unsigned char* part, int step) const {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if constexpr (AlongMA) {
          const auto y = *reinterpret_cast<const two_doubles*>(part + step * eight + a[e]);
          to[2 * e] = y.item[0], to[2 * e + 1] = y.item[1];
        } else {
#pragma unroll
          for (int h = 0; h < 2; ++h)
            to[2 * e + h] = *reinterpret_cast<const double*>(part + h * eight + a[step * 2 + e]);
        }
    }
    /// The same of 16 columns of B.
    __device__ __forceinline__ void load_b(double (&to)[2][2], const unsigned char* part, int step) const {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if constexpr (AlongMA && !AlongNB) {
          const auto y = *reinterpret_cast<const two_doubles*>(part + h * eight + b[step]);
          to[h][0] = y.item[0], to[h][1] = y.item[1];
        } else {
#pragma unroll
          for (int e = 0; e < 2; ++e)
            to[h][e] = *reinterpret_cast<const double*>(
                part + (AlongNB ? step * eight + b[h * 2 + e] : h * eight + b[step * 2 + e]));
        }
    }
  };

  template <class Block>
  __device__ static void consume(Block& block, shared& memory, const arguments& x) {
    const int lane = block.lane(), row0 = (block.warp() / 4 - 1) * 64, col0 = block.warp() % 4 * 32;
    const double_places places(row0, col0, lane);
    position next;
    int read = -1;                  // the stage before this one
    double a[4][4], b[2][2][2][2];  // b: of a step of k, in two halves
    const auto load = [&](int i, int step) __attribute__((always_inline)) {
      places.load_a(a[i], memory.stages[next.stage].a + i * 16 * row_bytes, step);
    };
    const auto load_half = [&](int half, int step) __attribute__((always_inline)) {
      places.load_b(b[step][half], memory.stages[next.stage].b + half * 16 * row_bytes, step);
    };
    // K-tiles of all tiles of this block, k not being split: loads go on into the next tile.
    std::int64_t left = (x.tiles - block.index() + block.count() - 1) / block.count() * x.k_tiles;
    memory.ring.wait(next);
    load(0, 0), load(1, 0), load(2, 0), load_half(0, 0), load_half(1, 0);
    Kernel::each_tile(
        block, x, [&](const coord& at) __attribute__((always_inline)) {
          double sum[4][4][4] = {};
          for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile) {
        // Two steps of k, of four times 16 rows each. What is multiplied three turns later is loaded first, so that
        // its latency is hidden; after the last k-tile that is anything.
#pragma unroll
            for (int turn = 0; turn < 8; ++turn) {
              const int step = turn / 4, i = turn % 4;
#pragma unroll
              for (int j = 0; j < 4; ++j) {
                simt::multiply_add<simt::mma_type::float64>(block, sum[i][j], a[i], b[step][j / 2][j % 2]);
                if (turn == 5 && j == 0) {
                  // All of this stage has been asked for; its last elements may wait behind what other warps store, and TMA
                  // would overtake them. Those of the stage before have been multiplied.
                  block.sync_warp();
                  if (lane == 0 && read >= 0) memory.ring.release(read);
                  read = next.stage;
                  next.advance();
                  if (--left > 0) memory.ring.wait(next);
                }
                if (j == 0) load((i + 3) % 4, (turn + 3) / 4 % 2);
                if (j == 1 && i >= 2) load_half(i - 2, 1 - step);
              }
            }
          }
          write(block, x, at, at.row + row0, at.col + col0, sum);
        });
  }

  /// Makes elements of C of a warp's sums, two at a time, which lie next to each other in memory where that can be: below
  /// each other where A is along m, or beside each other after lanes have exchanged one of them.
  template <class Block>
  __device__ __forceinline__ static void write(Block& block, const arguments& x, const coord& at, std::int64_t row0,
                                               std::int64_t col0, const double (&sum)[4][4][4]) {
    const int g = block.lane() / 4, t = block.lane() % 4;
    const bool across = Kernel::pairs_across && !x.down, odd = t % 2 != 0;
    const int below = across ? 0 : row_at(8) - row_at(0), beside = across ? 1 : 0;
    const std::int64_t step = below * x.c.row_stride + beside * x.c.col_stride;
    TC* const c = x.c.data + at.batch * x.c.batch_stride;
    struct pair {
      std::int64_t row, col;
      bool one, two;  // which of them lie in C
    };
    const auto pair_of = [&](int i, int j, int v) __attribute__((always_inline)) {
      std::int64_t row = row0 + i * 16 + row_at(g), col = col0 + j * 8 + col_at(t * 2 + v);
      if (across)  // this lane has columns t and t + 4 of a row, the one beside it t + 1 and t + 5, or t - 1 and t + 3
        row = row0 + i * 16 + row_at(g + 8 * v), col = col0 + j * 8 + t / 2 * 2 + odd * 4;
      return pair{row, col, row < x.c.rows && col < x.c.cols, row + below < x.c.rows && col + beside < x.c.cols};
    };
      // Where C is read, four pairs are on their way at once: registers have no room for more.
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      packed<TC, 2> z[4] = {};
      const int i = group / 2, j = group % 2 * 2;
      if (x.result.reads())
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          const pair at = pair_of(i, j + p / 2, p % 2);
          const TC* const from = c + at.row * x.c.row_stride + at.col * x.c.col_stride;
          for (int h = 0; h < 2; ++h)
            if (h == 0 ? at.one : at.two) z[p].item[h] = from[h * step];
        }
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int v = p % 2;
        const double(&own)[4] = sum[i][j + p / 2];
        double y[2] = {own[v], own[2 + v]};
        if (across) {
          const double other = block.shuffle(odd ? own[2 * v] : own[2 * v + 1], block.lane() ^ 1);
          y[0] = odd ? other : own[2 * v], y[1] = odd ? own[2 * v + 1] : other;
        }
        const pair at = pair_of(i, j + p / 2, v);
        TC* const to = c + at.row * x.c.row_stride + at.col * x.c.col_stride;
        for (int h = 0; h < 2; ++h)
          if (h == 0 ? at.one : at.two) {
            z[p].item[h] = x.result(y[h], &z[p].item[h], at.row + h * below, at.col + h * beside);
            if (!(at.two && x.c_by_tma)) to[h * step] = z[p].item[h];
          }
        if (at.two && x.c_by_tma) *reinterpret_cast<packed<TC, 2>*>(to) = z[p];
      }
    }
  }
#endif
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#endif
