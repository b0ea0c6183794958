// SPDX-License-Identifier: Apache-2.0
//
// Products on the ordinary arithmetic units: which elements of a tile of C a thread owns, and how it multiplies.
//
// K-tiles of A and B lie in shared memory with k as the slow index. Then a thread reads what it needs for one k as whole
// 16-byte words, and its neighbours read the same words or other banks. It owns thread_m x thread_n elements in registers: 8 x 16
// floats make 128 multiplications of 6 loads. (Volkov and Demmel, 2008; Nath, Tomov and Dongarra, 2010.)
#pragma once

#include <cstddef>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its share of a product.
struct gemm_tile {
  int m = 0, n = 0;                ///< elements of C that a block works out
  int k = 0;                       ///< of a k-tile; a multiple of 8
  int stages = 0;                  ///< k-tiles in shared memory
  int thread_m = 0, thread_n = 0;  ///< elements of C that a thread works out; whole 16-byte words of either operand
  int lanes_m = 0;                 ///< of a warp, along m; 32 / lanes_m along n
  int blocks = 0;                  ///< of a multiprocessor
  int unrolled_k = 4;              ///< even: more need more of the instruction cache
  int slices = 1;                  ///< groups of warps that each multiply their part of a k-tile; added up at the end

  constexpr int lanes_n() const { return simt::warp_size / lanes_m; }
  constexpr int warps_m() const { return m / (thread_m * lanes_m); }
  constexpr int warps_n() const { return n / (thread_n * lanes_n()); }
  constexpr int threads() const { return warps_m() * warps_n() * slices * simt::warp_size; }
  /// Of a block, for sums of `size` bytes: the k-tiles, and a 16-byte word after each of their rows.
  constexpr std::size_t shared_bytes(std::size_t size) const {
    return std::size_t(stages) * std::size_t(k) * (std::size_t(m + n) * size + 32);
  }
  friend constexpr bool operator==(const gemm_tile&, const gemm_tile&) = default;
};

namespace detail {

template <class A, gemm_tile Tile>
struct fma_math {
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word of shared memory
  static constexpr int thread_m = Tile.thread_m, thread_n = Tile.thread_n;
  static constexpr int lanes_n = Tile.lanes_n(), warps_n = Tile.warps_n(), slice_warps = Tile.warps_m() * warps_n;
  static_assert(Tile.m == Tile.warps_m() * Tile.lanes_m * thread_m && thread_m % word == 0);
  static_assert(Tile.n == warps_n * lanes_n * thread_n && thread_n % word == 0 && lanes_n >= 2);
  using shared_word = packed<A, word>;
  using sums = A[thread_m][thread_n];

  /// Where in a tile a thread's first words are.
  struct thread_coord {
    int thread_row, thread_col;
    int slice;  ///< which of those of each k-tile the thread multiplies

    // Lanes 2i and 2i + 1 share their words of A, lanes 4i and 4i + 2 theirs of B: a warp's 16-byte loads from shared
    // memory are served in halves then, not in quarters.
    PMPP_HOST_DEVICE thread_coord(int lane, int warp_of_block) {
      const int lane_n = (lane & 1) | ((lane / (2 * pair_m) % max(1, lanes_n / 2)) << 1);
      const int lane_m = lane / 2 % pair_m + lane / (pair_m * lanes_n) * pair_m;
      const int warp = warp_of_block % slice_warps;
      slice = warp_of_block / slice_warps;
      thread_row = warp / warps_n * Tile.lanes_m * thread_m + lane_m * word;
      thread_col = warp % warps_n * lanes_n * thread_n + lane_n * word;
    }
    static constexpr int pair_m = min(2, Tile.lanes_m);
  };

  /// Row i of those that a thread works out, from its first; and column j.
  PMPP_HOST_DEVICE static constexpr int row_of(int i) { return i / word * Tile.lanes_m * word + i % word; }
  PMPP_HOST_DEVICE static constexpr int col_of(int j) { return j / word * lanes_n * word + j % word; }

  /// A thread's operands of one k.
  struct operands {
    A a[thread_m], b[thread_n];
  };

  /// From the rows of k-tiles of A and B, at the thread's first word.
  PMPP_HOST_DEVICE static void load(const A* a, const A* b, operands& to) {
    for (int i = 0; i < thread_m; i += word) {
      const auto x = *reinterpret_cast<const shared_word*>(a + row_of(i));
      for (int e = 0; e < word; ++e) to.a[i + e] = x.item[e];
    }
    for (int j = 0; j < thread_n; j += word) {
      const auto x = *reinterpret_cast<const shared_word*>(b + col_of(j));
      for (int e = 0; e < word; ++e) to.b[j + e] = x.item[e];
    }
  }

  /// Adds the products of one k.
  PMPP_HOST_DEVICE static void add_products(const operands& y, sums& sum) {
    for (int i = 0; i < thread_m; ++i)
      for (int j = 0; j < thread_n; ++j) {
        const int serpentine = i % 2 == 0 ? j : thread_n - 1 - j;  // the neighbour shares an operand
        sum[i][serpentine] += y.a[i] * y.b[serpentine];
      }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
