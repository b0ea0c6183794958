// SPDX-License-Identifier: Apache-2.0
//
// How a matrix is cut into tiles whose sides are powers of two, and the tiles of a triangle.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The position of a tile.
struct tile_position {
  std::uint32_t y, x;
};

/// The extents of the matrix, and the tiles that it is cut into: 2^log_width x 2^log_height elements each.
struct tiling {
  std::uint32_t height, width;
  int log_height, log_width;
  std::int64_t tiles_y, tiles_x;
  divisor by;  ///< tiles_y; for a triangle tiles_x | 1

  /// Tiles of 2^log_area elements, nearly square where the matrix allows that; each extent at least 2^least elements.
  tiling(std::int64_t rows, std::int64_t cols, int log_area, int least)
      : height(static_cast<std::uint32_t>(rows)), width(static_cast<std::uint32_t>(cols)) {
    const int most = log_area - least;
    log_width = max(min((log_area + 1) / 2, ceil_log2(cols)), least);
    log_width = min(max(log_width, log_area - ceil_log2(rows)), most);
    set(log_area - log_width);
    by = divisor(tiles_y);
  }
  /// Square tiles of at most 2^log_area elements, for a square matrix.
  tiling(std::int64_t rows, int log_area)
      : height(static_cast<std::uint32_t>(rows)), width(static_cast<std::uint32_t>(rows)), log_width(log_area / 2) {
    set(log_width);
    by = divisor(tiles_x | 1);
  }

  PMPP_HOST_DEVICE std::uint32_t first_y(std::uint32_t tile) const { return tile << log_height; }
  PMPP_HOST_DEVICE std::uint32_t first_x(std::uint32_t tile) const { return tile << log_width; }
  /// The elements of a tile that exist.
  PMPP_HOST_DEVICE unsigned height_of(tile_position at) const {
    return min(height - first_y(at.y), std::uint32_t(1) << log_height);
  }
  PMPP_HOST_DEVICE unsigned width_of(tile_position at) const {
    return min(width - first_x(at.x), std::uint32_t(1) << log_width);
  }
  std::int64_t tiles() const { return tiles_y * tiles_x; }
  /// The tile of a block, down first: blocks that run together write adjacent parts of the rows of B.
  PMPP_HOST_DEVICE tile_position tile_of(std::int64_t block) const {
    const auto i = static_cast<std::uint32_t>(block), x = by.quotient(i);
    return {i - x * by.value(), x};
  }

private:
  void set(int log_rows) {
    log_height = log_rows;
    tiles_y = ceil_div(std::int64_t(height), std::int64_t(1) << log_height);
    tiles_x = ceil_div(std::int64_t(width), std::int64_t(1) << log_width);
  }
};

/// Tile `index` of the upper triangle of tiles x tiles, diagonal included: a row of it and the row that it fills up to a
/// full one stand side by side. by: divides by tiles | 1.
PMPP_HOST_DEVICE inline tile_position tile_in_triangle(std::uint32_t index, std::uint32_t tiles, divisor by) {
  const std::uint32_t row = by.quotient(index), col = index - row * by.value();
  if (col < tiles - row) return {row, row + col};
  const std::uint32_t other = tiles - row - (tiles % 2 == 0 ? 1 : 0);
  return {other, other + col - (tiles - row)};
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
