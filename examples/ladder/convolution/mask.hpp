// SPDX-License-Identifier: Apache-2.0
//
// What all rungs share: a mask of 5 x 5 taps, a picture of floats with zeros around it.
#pragma once

#include <cstdint>

#include <pmpp/core/constant_table.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

inline constexpr int radius = 2, side = 2 * radius + 1;

/// The taps, row by row; as an argument they travel with the launch.
using mask_taps = pmpp::constant_table<float, side * side>;

struct picture_size {
  std::int64_t rows, cols;
  PMPP_HOST_DEVICE bool has(std::int64_t y, std::int64_t x) const { return y >= 0 && y < rows && x >= 0 && x < cols; }
};

/// As many square blocks of results as cover a picture.
inline pmpp::extent3 blocks_of(const picture_size& size, int tile) {
  return {pmpp::ceil_div(size.cols, std::int64_t(tile)), pmpp::ceil_div(size.rows, std::int64_t(tile))};
}
