// SPDX-License-Identifier: Apache-2.0
//
// Transposition element by element: of views whose elements are not adjacent, and where the rows of B are a few elements.
//
// A warp touches elements side by side along the rows of A when it reads and along those of B when it writes; between them
// they lie in a tile in shared memory with one place left out after each 32, so that a column meets all banks.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiling.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Calls f(r, place, row, at) for a thread's places in a tile, r = 0 ... Items - 1: every `Threads`-th along rows of 2^log_row places.
/// `at` goes with them from `first` on: places are `along` elements apart in memory, rows `across`. Short: no row has more places than
/// there are threads.
template <int Threads, int Items, bool Short, class Element, class F>
PMPP_HOST_DEVICE void for_each_place(int thread, int log_row, Element* first, std::int64_t along, std::int64_t across,
                                     F f) {
  const unsigned t = static_cast<unsigned>(thread), mask = (1u << log_row) - 1, rows = unsigned(Threads) >> log_row;
  if (Short || rows != 0) {  // whole rows at a time: no multiplication a step
    const unsigned place = t & mask, row = t >> log_row;
    const std::int64_t step = rows * across;
    Element* at = first + (place * along + row * across);
    for (int r = 0; r < Items; ++r, at += step) f(r, place, row + unsigned(r) * rows, at);
  } else {
    for (int r = 0; r < Items; ++r) {
      const unsigned i = t + unsigned(r * Threads), place = i & mask, row = i >> log_row;
      f(r, place, row, first + (place * along + row * across));
    }
  }
}

/// Moves tiles element by element.
template <class T, transpose_tuning Tuning>
struct element_tile {
  using cell = bytes_of<sizeof(T), alignof(T)>;
  static constexpr int threads =  // of large elements so few that 48 KB hold two tiles
      sizeof(T) <= 128 ? min(Tuning.threads, 256) : min(32, 1 << floor_log2(max(1, int(22 * 1024 / sizeof(T)))));
  static constexpr int items = sizeof(T) == 4    ? 2 * Tuning.items
                               : sizeof(T) < 4   ? Tuning.items
                               : sizeof(T) <= 32 ? min(Tuning.items, 4)
                                                 : 1;
  static constexpr bool has_few = items <= 4;  // then all that counts is how short the code is
  static constexpr int log_area = floor_log2(threads * items), least = has_few ? floor_log2(items) : 0;
  /// A place is left out after each 32 elements, so that a column meets all banks.
  struct memory {
    cell element[threads * items * 33 / 32 + 1];
    PMPP_HOST_DEVICE static unsigned place_of(unsigned i) { return i + i / 32; }
  };

  /// What a thread has read of a tile.
  struct part {
    cell value[items];
  };

  template <class Block>
  PMPP_HOST_DEVICE static part load(Block& block, memory&, const plane<const T>& a, const tiling& cut,
                                    tile_position at) {
    const T* first = a.at(cut.first_y(at.y), cut.first_x(at.x));
    const unsigned height = cut.height_of(at), width = cut.width_of(at);
    part to;
    for_each_place<threads, items, has_few>(block.thread(), cut.log_width, first, a.step, a.pitch,
                                            [&](int r, unsigned x, unsigned y, const T* from) {
                                              if (y < height && x < width) copy_element<T>(to.value + r, from);
                                            });
    return to;
  }
  /// Ends a load.
  template <class Block>
  PMPP_HOST_DEVICE static void arrive(Block& block, memory& tile, const part& x) {
    const auto thread = static_cast<unsigned>(block.thread());
    if constexpr (threads % 32 == 0) {
      cell* const to = tile.element + memory::place_of(thread);
      for (int r = 0; r < items; ++r) to[r * (threads + threads / 32)] = x.value[r];
    } else {
      for (int r = 0; r < items; ++r) tile.element[memory::place_of(thread + unsigned(r * threads))] = x.value[r];
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                     tile_position at) {
    T* first = b.at(cut.first_y(at.y), cut.first_x(at.x));
    const unsigned height = cut.height_of(at), width = cut.width_of(at);
    cell value[items];
    const auto for_each = [&](auto f) {
      for_each_place<threads, items, has_few>(block.thread(), cut.log_height, first, b.pitch, b.step, f);
    };
    for_each([&](int r, unsigned y, unsigned x, T*) {
      value[r] = tile.element[memory::place_of((y << cut.log_width) + x)];
    });
    for_each([&](int r, unsigned y, unsigned x, T* to) {
      if (y < height && x < width) copy_element<T>(to, value + r);
    });
  }
};

template <class T, class Tile>
struct transpose_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tile::threads,
                       min_blocks = max(1, min(32, 768 / threads));  // of 80 registers a thread
  struct shared {
    typename Tile::memory tile;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const plane<const T>& a, const plane<T>& b,
                                   const tiling& cut) const {
    simt::previous_kernels_done();
    const tile_position at = cut.tile_of(block.index());
    Tile::arrive(block, memory.tile, Tile::load(block, memory.tile, a, cut, at));
    block.sync();
    Tile::store(block, memory.tile, b, cut, at);
  }
};

/// Two tiles on either side of the diagonal change places.
template <class T, class Tile>
struct transpose_in_place_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tile::threads;
  struct shared {
    typename Tile::memory tile[2];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const plane<const T>& a, const plane<T>& b,
                                   const tiling& cut) const {
    simt::previous_kernels_done();
    const auto i = static_cast<std::uint32_t>(block.index()), tiles = static_cast<std::uint32_t>(cut.tiles_x);
    const tile_position upper = tile_in_triangle(i, tiles, cut.by), lower{upper.x, upper.y};
    if constexpr (Tile::has_few) {  // on the diagonal both are the same: to write it twice is shorter code
      const auto side = [&](int s) { return s == 0 ? upper : lower; };
      typename Tile::part part[2];
      for (int s = 0; s < 2; ++s) part[s] = Tile::load(block, memory.tile[s], a, cut, side(s));
      for (int s = 0; s < 2; ++s) Tile::arrive(block, memory.tile[s], part[s]);
      block.sync();
      for (int s = 0; s < 2; ++s) Tile::store(block, memory.tile[s], b, cut, side(s));
    } else {
      const bool has_two = upper.y != upper.x;
      typename Tile::part second{};
      const auto first = Tile::load(block, memory.tile[0], a, cut, upper);
      if (has_two) second = Tile::load(block, memory.tile[1], a, cut, lower);
      Tile::arrive(block, memory.tile[0], first);
      if (has_two) Tile::arrive(block, memory.tile[1], second);
      block.sync();
      Tile::store(block, memory.tile[0], b, cut, upper);
      if (has_two) Tile::store(block, memory.tile[1], b, cut, lower);
    }
  }
};

template <class Tile, class P, class T>
void launch_tiles(const P& where, const transposition<T>& t) {
  const tiling cut(t.height, t.width, Tile::log_area, Tile::least);
  pmpp::launch(where, cut.tiles(), transpose_kernel<T, Tile>{}, t.a, t.b, cut);
}
template <class Tile, class P, class T>
void launch_in_place(const P& where, const transposition<T>& t) {
  const tiling cut(t.width, Tile::log_area);
  pmpp::launch(where, cut.tiles_x * (cut.tiles_x + 1) / 2, transpose_in_place_kernel<T, Tile>{}, t.a, t.b, cut);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
