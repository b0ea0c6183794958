// SPDX-License-Identifier: Apache-2.0
//
// How sums of a tile on ordinary units (gemm/math_fma.hpp) get to C, or to scratch memory: by way of shared memory, from the threads
// that have them, each some rows and columns of the tile, to threads that own neighbouring columns of a row.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/math_fma.hpp>
#include <pmpp/gemm/problem.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Calls f(row, col, word) for the words of sums of a thread, counted from its first. Each sum is multiplied by `one`, which is
/// 1: sums that are written as they are would be kept in the registers of the words in which they are written, in which three
/// operands of many products come from the same bank. An H100 multiplies a twentieth slower then.
template <class Math, int Rows = Math::thread_m, class A, class F>
PMPP_HOST_DEVICE void each_word_of_sums(const typename Math::sums& sum, A one, F f, int first = 0) {
  unrolled<Rows>([&](int r) {
    const int i = first + r;
    for (int j = 0; j < Math::thread_n; j += Math::word) {
      typename Math::shared_word y;
      for (int e = 0; e < Math::word; ++e) y.item[e] = sum[i][j + e] * one;
      f(Math::row_of(i), Math::col_of(j), y);
    }
  });
}

/// The sums of a block's tile, on their way to C: they pass through shared memory, of which `Room` bytes are free, to threads that
/// own neighbouring columns. So rows are written in one piece wherever they begin, what C holds is read many elements at a time, and
/// sums of slices are added up.
template <class A, gemm_tile Tile, int Room>
struct sums_by_rows {
  using math = fma_math<A, Tile>;
  using word_type = typename math::shared_word;
  static constexpr int word = math::word, length = Tile.n + word, threads = Tile.threads(),
                       words = Tile.thread_m / word;
  static constexpr int warp_lines = Tile.lanes_m * word,
                       word_bytes =
                           Tile.m / words * Tile.slices * length * int(sizeof(A));  ///< of a word of each column
  /// Of a thread's words, those that pass at a time.
  static constexpr int at_once = words * word_bytes <= Room ? words : words / 2 * word_bytes <= Room ? words / 2 : 1;
  static constexpr int lines = Tile.m / words * at_once;  ///< of the tile
  static_assert(at_once * word_bytes <= Room && words % at_once == 0);

  int thread;  ///< of those that multiply
  A* memory;
  int first = 0;  ///< of a thread's words that have passed

  /// Calls f() whenever some lines of sums are there. `meet`: a barrier of the threads.
  template <class Own, class Meet, class F>
  PMPP_HOST_DEVICE void each_part(const Own& own, const typename math::sums& sum, A one, Meet meet, F f) {
    constexpr int warp_m = Tile.lanes_m * Tile.thread_m;
    A* const to =
        memory + own.thread_col +
        (own.slice * lines + own.thread_row / warp_m * (at_once * warp_lines) + own.thread_row % warp_m) * length;
    unrolled<words / at_once>([&](int part) {
      first = part * at_once;
      meet();  // what was here has been read
      each_word_of_sums<math, at_once * word>(
          sum, one,
          [&](int row, int col, const auto& y) {
            *reinterpret_cast<word_type*>(to + (row - first * warp_lines) * length + col) = y;
          },
          first * word);
      meet();
      f();
    });
  }

  /// Makes elements of C, which is `matrix` from the tile's batch on, of them, a word at a time or one by one.
  template <int Items, class TC, class Arguments, class Place>
  PMPP_HOST_DEVICE void write(const Arguments& x, const Place& at, TC* matrix) const {
    // Threads have columns of their own, so that what is asked of each row is little.
    constexpr int across = Tile.n / Items, abreast = max(1, across / threads), down = max(1, threads / across);
    constexpr int of_warp = at_once == words ? lines : at_once * warp_lines,  // lines whose rows follow each other
        on_way = max(1, min((Items > 1 ? 8 : 16) / abreast, of_warp / down));
    static_assert(lines % (on_way * down) == 0 && of_warp % (on_way * down) == 0);
    const int line = thread / across, col = thread % across * Items;
    const auto rows_there = static_cast<int>(min<std::int64_t>(x.c.rows - at.row, Tile.m)),
               cols_there = static_cast<int>(min<std::int64_t>(x.c.cols - at.col, Tile.n));
    const bool reads = x.result.reads();
    for (int begin = line; begin < lines; begin += on_way * down) {
      const int row = row_of(begin);
      TC* const to = matrix + (at.row + row) * x.c.row_stride + (at.col + col) * x.c.col_stride;
      packed<TC, Items> y[on_way][abreast] = {};
      const auto each = [&](auto f) {
        for (int q = 0; q < on_way; ++q)
          for (int j = 0; j < abreast; ++j) {
            const int i = row + q * down, own_col = col + j * (threads * Items);
            if (i >= at.others_rows && i < rows_there && own_col >= at.others_cols && own_col < cols_there)
              f(q, j,
                reinterpret_cast<packed<TC, Items>*>(to + q * (down * x.c.row_stride) +
                                                     j * (threads * Items * x.c.col_stride)));
          }
      };
      if (reads) each([&](int q, int j, const auto* from) { y[q][j] = *from; });
      each([&](int q, int j, auto* place) {
        const auto all = sum_at<Items>(begin + q * down, col + j * (threads * Items));
        for (int e = 0; e < Items; ++e)
          y[q][j].item[e] = x.result(all.item[e], &y[q][j].item[e], at.row + row + q * down,
                                     at.col + col + j * (threads * Items) + e);
        *place = y[q][j];
      });
    }
  }

  /// Leaves them in words: f(row, col) says where those of a row of the tile go, from a column on; null: nowhere.
  template <class F>
  PMPP_HOST_DEVICE void leave(F f) const {
    constexpr int across = Tile.n / word;
    for (int i = thread; i < lines * across; i += threads) {
      const int line = i / across, col = i % across * word;
      if (A* const to = f(row_of(line), col); to != nullptr)
        *reinterpret_cast<packed<A, word>*>(to) = sum_at<word>(line, col);
    }
  }

private:
  /// The row of the tile that a line in shared memory belongs to.
  PMPP_HOST_DEVICE int row_of(int line) const {
    constexpr int of_warp = at_once * warp_lines;
    return line / of_warp * (warp_lines * words) + line % of_warp + first * warp_lines;
  }
  template <int Items>
  PMPP_HOST_DEVICE packed<A, Items> sum_at(int line, int col) const {
    const auto part = [&](int slice) {
      return *reinterpret_cast<const packed<A, Items>*>(memory + (slice * lines + line) * length + col);
    };
    auto sum = part(0);
    for (int slice = 1; slice < Tile.slices; ++slice) {
      const auto next = part(slice);
      for (int e = 0; e < Items; ++e) sum.item[e] += next.item[e];
    }
    return sum;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
