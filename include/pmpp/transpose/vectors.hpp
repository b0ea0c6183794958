// SPDX-License-Identifier: Apache-2.0
//
// Transposition of matrices whose rows all begin at 16-byte boundaries, of elements of 1, 2, 4, 8 or 16 bytes.
//
//   1. A block takes a tile of 32 KB. Its threads read 16 bytes each along the rows of A, straight into shared
//      memory, all of them before the first is waited for.
//   2. A thread then takes one column of a few words, 16 bytes of a row of B, and writes them at once. Elements of one
//      or two bytes come four or two columns a word: such a thread turns a small block in its registers.
//   3. Reading down a column would meet one bank of shared memory again and again. Vector i of a tile therefore stands
//      at place i ^ (its row of vectors mod 8), so that eight lanes find eight places.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiling.hpp>
#include <pmpp/transpose/turn.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Moves tiles by vectors of 16 bytes. \pre sizeof(T) is 1, 2, 4, 8 or 16; rows of A and of B begin at 16-byte
/// boundaries; A has step 1, B has pitch 1.
template <class T, transpose_tuning Tuning>
struct vector_tile {
  static constexpr bool has_few = false;
  static constexpr int threads = Tuning.threads, vectors = Tuning.vectors;
  static constexpr int size = sizeof(T), items = 16 / size;         // elements of a vector
  static constexpr int word = max(size, 4), columns = word / size;  // bytes and elements of a word
  static constexpr int log_items = floor_log2(items), log_words = floor_log2(16 / word);
  static constexpr int log_area = floor_log2(threads * vectors) + log_items, least = log_items;
  struct memory {
    alignas(128) bytes_of<16> vector[threads * vectors];
  };

  struct part {};  ///< a thread reads straight into the tile

  template <class Block>
  PMPP_HOST_DEVICE static part load(Block& block, memory& tile, const plane<const T>& a, const tiling& cut,
                                    tile_position at) {
    if (is_whole(cut, at))
      load_vectors<true>(block, tile, a, cut, at);
    else
      load_vectors<false>(block, tile, a, cut, at);
    simt::copy_async_commit();
    return {};
  }
  /// Ends all loads.
  template <class Block>
  PMPP_HOST_DEVICE static void arrive(Block&, memory&, part) {
    simt::copy_async_wait<0>();
  }
  template <class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                     tile_position at) {
    if (is_whole(cut, at))
      store_vectors<true>(block, tile, b, cut, at);
    else
      store_vectors<false>(block, tile, b, cut, at);
  }

private:
  PMPP_HOST_DEVICE static bool is_whole(const tiling& cut, tile_position at) {
    return cut.first_y(at.y + 1) <= cut.height && cut.first_x(at.x + 1) <= cut.width &&
           cut.log_height + cut.log_width == log_area;
  }
  /// Where vector i of a tile stands.
  PMPP_HOST_DEVICE static int place(int i, const tiling& cut) { return i ^ (i >> max(3, cut.log_width) & 7); }

  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void load_vectors(Block& block, memory& tile, const plane<const T>& a, const tiling& cut,
                                            tile_position at) {
    const std::uint32_t y0 = cut.first_y(at.y), x0 = cut.first_x(at.x);
    const int log_row = cut.log_width - log_items;
    for (int r = 0; r < vectors; ++r) {
      const int i = block.thread() + r * threads;
      const unsigned y = unsigned(i) >> log_row, x = (unsigned(i) & ((1u << log_row) - 1)) << log_items;
      if (!Whole && y >> cut.log_height != 0) break;
      bytes_of<16>& slot = tile.vector[place(i, cut)];
      if (Whole || (y0 + y < cut.height && x0 + x + items <= cut.width)) {
        simt::copy_async<16>(&slot, a.at(y0 + y, x0 + x));
      } else if (y0 + y < cut.height) {
        for (int k = 0; k < items; ++k)
          if (x0 + x + k < cut.width) copy_element<T>(reinterpret_cast<T*>(&slot) + k, a.at(y0 + y, x0 + x + k));
      }
    }
  }

  /// Eight lanes make 128 bytes of a row of B, the next eight the same of the next word's.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void store_vectors(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                             tile_position at) {
    const std::uint32_t y0 = cut.first_y(at.y), x0 = cut.first_x(at.x);
    const int log_row = cut.log_width - log_items, log_col = cut.log_height - log_items, low = min(3, log_col);
    for (int r = 0; r < ceil_div(vectors, columns); ++r) {
      const int i = block.thread() + r * threads;
      const int q = (i & ((1 << low) - 1)) | ((i >> (low + log_words) & ((1 << (log_col - low)) - 1)) << low);
      const int part = i >> low & ((1 << log_words) - 1), column = i >> (log_col + log_words);
      if ((!Whole || vectors % columns != 0) && column >> log_row != 0) break;
      bytes_of<word> in[items];
      for (int k = 0; k < items; ++k) {
        const bytes_of<16>& v = tile.vector[place((((q << log_items) + k) << log_row) + column, cut)];
        in[k] = reinterpret_cast<const bytes_of<word>*>(&v)[part];
      }
      bytes_of<16> out[columns];
      turner<size, columns>::turn(in, out);
      const unsigned y = y0 + unsigned(q << log_items), x = x0 + unsigned((column << log_items) + part * columns);
      for (int g = 0; g < columns; ++g) {
        if (Whole || (y + items <= cut.height && x + g < cut.width)) {
          *reinterpret_cast<bytes_of<16>*>(b.at(y, x + g)) = out[g];
        } else if (x + g < cut.width) {
          for (int k = 0; k < items; ++k)
            if (y + k < cut.height) copy_element<T>(b.at(y + k, x + g), reinterpret_cast<const T*>(&out[g]) + k);
        }
      }
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
