// SPDX-License-Identifier: Apache-2.0
//
// Transposition on the host: tiles through a buffer of each core.
#pragma once

#include <cstdint>
#include <cstring>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiling.hpp>
#include <pmpp/transpose/turn.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The side of a square tile of the host, in elements: rows of whole lines of the cache, and at most 16 KB.
template <class T>
inline constexpr int host_side = sizeof(T) == 1    ? 128
                                 : sizeof(T) <= 4  ? 64
                                 : sizeof(T) <= 16 ? 32
                                                   : 8;

/// One tile, through a buffer whose rows do not fall on the same lines of the cache.
template <class T>
void transpose_tile(const transposition<T>& t, std::int64_t y0, std::int64_t x0) {
  constexpr int side = host_side<T>, size = sizeof(T);
  unsigned char row[side][side * size + 16];
  const int height = static_cast<int>(min<std::int64_t>(side, t.height - y0));
  const int width = static_cast<int>(min<std::int64_t>(side, t.width - x0));
  for (int y = 0; y < height; ++y)
    if (t.a.step == 1)
      memcpy(row[y], static_cast<const void*>(t.a.at(y0 + y, x0)), static_cast<std::size_t>(width * size));
    else
      for (int x = 0; x < width; ++x) memcpy(row[y] + x * size, static_cast<const void*>(t.a.at(y0 + y, x0 + x)), size);
  int x = 0;
  if constexpr (size <= 8 && is_power_of_two(size)) {
    using turner = detail::turner<size, max(1, 4 / size)>;
    for (; t.b.pitch == 1 && x + turner::columns <= width; x += turner::columns) {
      int y = 0;
      for (; y + turner::items <= height; y += turner::items) {
        bytes_of<turner::word> in[turner::items];
        bytes_of<16> out[turner::columns];
        for (int k = 0; k < turner::items; ++k) memcpy(&in[k], row[y + k] + x * size, turner::word);
        turner::turn(in, out);
        for (int g = 0; g < turner::columns; ++g) memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x + g)), &out[g], 16);
      }
      for (; y < height; ++y)
        for (int g = 0; g < turner::columns; ++g)
          memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x + g)), row[y] + (x + g) * size, size);
    }
  }
  for (; x < width; ++x)
    for (int y = 0; y < height; ++y) memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x)), row[y] + x * size, size);
}

/// The elements of two tiles on either side of the diagonal change places, one by one.
template <class T>
void swap_tiles(const transposition<T>& t, std::int64_t y0, std::int64_t x0) {
  const std::int64_t side = host_side<T>;
  for (std::int64_t y = y0; y < min(y0 + side, t.height); ++y)
    for (std::int64_t x = max(x0, y + 1); x < min(x0 + side, t.width); ++x) {
      using cell = bytes_of<sizeof(T), alignof(T)>;
      auto &upper = *reinterpret_cast<cell*>(t.b.at(y, x)), &lower = *reinterpret_cast<cell*>(t.b.at(x, y));
      const cell from_above = upper;
      upper = lower;
      lower = from_above;
    }
}

template <class T>
void transpose_on_host(const host_policy& where, const transposition<T>& t) {
  const std::int64_t side = host_side<T>, tiles_x = ceil_div(t.width, side), tiles_y = ceil_div(t.height, side);
  if (t.in_place) {
    host_loop::parallel_for(where, tiles_x * (tiles_x + 1) / 2, [&](std::int64_t i) {
      const auto tiles = static_cast<std::uint32_t>(tiles_x);
      const tile_position at = tile_in_triangle(static_cast<std::uint32_t>(i), tiles, divisor(tiles | 1));
      swap_tiles(t, at.y * side, at.x * side);
    });
  } else if (t.copies_rows() && t.width >= 64) {
    const std::int64_t grain = host_loop::grain, pieces = ceil_div(t.width, grain);
    host_loop::parallel_for(where, t.height * pieces, [&](std::int64_t i) {
      const std::int64_t y = i / pieces, x = i % pieces * grain;
      memcpy(static_cast<void*>(t.b.at(y, x)), static_cast<const void*>(t.a.at(y, x)),
             static_cast<std::size_t>(min(grain, t.width - x)) * sizeof(T));
    });
  } else {
    host_loop::parallel_for(where, tiles_y * tiles_x,
                            [&](std::int64_t i) { transpose_tile(t, i / tiles_x * side, i % tiles_x * side); });
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
