// SPDX-License-Identifier: Apache-2.0
//
// Masks of 3 x 3 x 3 taps. A block walks through the planes of a volume; each plane comes to shared memory once, two
// planes before it is used. A thread makes a column of results in each of three planes at once: a row that it has in
// registers serves all rows and planes of the mask that meet it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class In, class Tap, class Out, convolution_shape Shape>
struct volume_kernel {
  using sum = sum_of<In, Tap, Out>;
  static constexpr int threads = Shape.threads(), min_blocks = Shape.blocks;
  static constexpr int fours = Shape.width() / 4 + 2, rows = Shape.height() + 2, buffers = 3;
  static constexpr std::size_t tile_bytes = sizeof(four<sum>) * buffers * rows * fours;  ///< of dynamic shared memory

  struct shared {
    sum taps[27];
  };

  /// task.tiles counts tiles of a plane; each is made in sections of `section` planes.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const convolution_task<In, Out>& task,
                                   const mask_argument<Tap, 27>& mask, std::int64_t section) const {
    auto* const tiles = reinterpret_cast<four<sum>*>(block.dynamic_shared());
    const result_position at = first_result(block.index() % task.tiles, task, Shape);
    const std::int64_t begin = block.index() / task.tiles * section, end = smaller(begin + section, task.out.depth);
    for (int i = block.thread(); i < 27; i += threads) memory.taps[i] = mask.template tap<sum>(i / 9, i / 3 % 3, i % 3);
    const auto load = [&](std::int64_t z, int buffer) {
      if (z <= end)
        load_tile<threads>(block.thread(), task, tiles + buffer * (rows * fours), rows, fours, z, at.y - 1, at.x - 4);
      else
        simt::copy_async_batch();
    };
    load(begin - 1, 0);
    load(begin, 1);
    block.sync();
    sum tap[27];
    for_each_constant<27>([&](auto i) { tap[decltype(i)::value] = memory.taps[decltype(i)::value]; });
    const int column = block.warp() % Shape.warps_x * 32 + block.lane();  // in groups of four
    const int row = block.warp() / Shape.warps_x * Shape.rows;
    sum total[3][Shape.rows][4] = {};  // of three planes of results; each begins when the plane above it comes
    std::int64_t z = begin - 1;        // of the input
    const auto use_plane = [&](auto number) {
      constexpr int now = decltype(number)::value;
      if (z > end) return;
      simt::copy_async_wait<1>();
      block.sync();  // plane z is there, and nobody reads plane z - 1 any more
      load(z + 2, (now + 2) % 3);
      const four<sum>* const line = tiles + now * (rows * fours) + row * fours + column;
      for_each_constant<Shape.rows + 2>([&](auto in_tile) {
        constexpr int r = decltype(in_tile)::value;
        sum x[6] = {line[r * fours].item[3]};
        for (int j = 0; j < 4; ++j) x[1 + j] = line[r * fours + 1].item[j];
        x[5] = line[r * fours + 2].item[0];
        for (int plane = 0; plane < 3; ++plane)  // of the mask: that of results of plane z + 1 - plane
          for (int h = larger(0, r - 2); h <= smaller(r, Shape.rows - 1); ++h)
            for (int k = 0; k < 3; ++k)
              for (int j = 0; j < 4; ++j)
                total[(now + 3 - plane) % 3][h][j] += tap[9 * plane + 3 * (r - h) + k] * x[k + j];
      });
      sum(&done)[Shape.rows][4] = total[(now + 1) % 3];
      if (z > begin)
        store_column<Shape.rows>(task, z - 1, at.y + row, at.x + 4 * column,
                                 [&](auto h) -> const sum(&)[4] { return done[decltype(h)::value]; });
      for (int h = 0; h < Shape.rows; ++h)
        for (int j = 0; j < 4; ++j) done[h][j] = 0;
      ++z;
    };
    while (z <= end) for_each_constant<3>(use_plane);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
