// SPDX-License-Identifier: Apache-2.0
//
// Masks on volumes, whose planes come to shared memory one by one: see convolution/planes.hpp. Masks of 3 x 3 x 3 taps are
// functions of the elements around one. Others, of up to seven taps a side, are limited by multiplications; all results
// that a plane reaches wait in registers:
//
//   plane z of the input --plane 4 of the mask--> results of plane z - 2: complete, written
//                                3             --> results of plane z - 1
//                                ...
//                                0             --> results of plane z + 2
//
// A thread makes four adjacent columns of four rows: a tap that it reads serves 16 products, an element up to as many as
// a plane of the mask has taps.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/planes.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The sum of a float's neighbours, times the taps.
template <class Out>
struct volume_sum {
  float tap[27];

  template <class N>
  PMPP_HOST_DEVICE Out operator()(const N& n) const {
    float sum = 0;
    for_each_constant<27>([&](auto number) {
      constexpr int i = decltype(number)::value;
      sum += tap[i] * n(i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1);
    });
    return stored<Out>(sum);
  }
};

template <class Tap, class Out>
struct volume_mask {
  static constexpr bool corners = true;
  mask_argument<Tap, 27> mask;

  /// The taps are the same for all threads: the compiler keeps them in uniform registers.
  PMPP_HOST_DEVICE volume_sum<Out> ready() const {
    volume_sum<Out> sum;
    for (int i = 0; i < 27; ++i) sum.tap[i] = mask.template tap<float>(i / 9, i / 3 % 3, i % 3);
    return sum;
  }
};

/// Tiles of 64 x 32 columns, as stencil_tile knows them.
struct volume_shape {
  static constexpr int up = 3, tall = 3, side = 1, threads = 128, rows = 4;
  static constexpr int ahead = 2, slots = ahead + 1;  ///< planes on their way; in shared memory
  static constexpr int widest = 16, narrowest = 16;   ///< packs of a row

  PMPP_HOST_DEVICE static constexpr int width(int tile_packs) { return 4 * tile_packs; }
  PMPP_HOST_DEVICE static constexpr int height(int tile_packs) { return threads / tile_packs * rows; }
  PMPP_HOST_DEVICE static constexpr int line(int tile_packs) { return tile_packs + 2 * side; }
  PMPP_HOST_DEVICE static constexpr int count(int tile_packs) {
    return line(tile_packs) * (height(tile_packs) + 2 * tall);
  }
  static constexpr int most() { return count(widest); }
};

/// Masks of Width columns, an odd number, of Planes planes or one less, and of up to seven rows.
template <class In, class Tap, class Out, int Width, int Planes>
struct volume_kernel {
  using shape = volume_shape;
  using pack = four<In>;
  using task_type = stencil_task<In, Out, 3>;
  static constexpr int most = 7;  ///< rows of a mask
  static constexpr int threads = shape::threads, min_blocks = Planes == 3 ? 4 : Planes == 5 ? 3 : 2;
  static constexpr int columns = 4, rows = shape::rows, pitch = shape::line(shape::widest);
  static constexpr int groups = ceil_div(Width, 4);  ///< of four taps in a row
  // A thread meets this many packs of a row, from its own or the one before on; of the first, `margin` elements meet no tap.
  static constexpr int window = Width > 1 ? 3 : 1, first_pack = Width > 1 ? 0 : 1,
                       margin = Width > 1 ? 4 - Width / 2 : 0;

  struct shared {
    four<float> tap[most][Planes][groups];  ///< row by row of the mask; there plane by plane, the last one first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const task_type& task,
                                   const mask_argument<Tap, most * Planes * Width>& mask) const {
    const auto index = static_cast<std::uint32_t>(block.index()), tiles_x = static_cast<std::uint32_t>(task.tiles_x);
    const auto tiles_y = static_cast<std::uint32_t>(task.tiles_y);
    const std::int64_t tile_x = std::int64_t(index % tiles_x) * shape::width(shape::widest);
    const std::int64_t tile_y = std::int64_t(index / tiles_x % tiles_y) * shape::height(shape::widest);
    const std::int64_t first = std::int64_t(index / tiles_x / tiles_y) * task.section;
    const std::int64_t last = min(first + task.section, task.out.depth);
    const int depth = static_cast<int>(mask.taps.depth), high = static_cast<int>(mask.taps.height);
    for (int i = block.thread(); i < depth * high * Width; i += threads) {
      const int z = i / Width / high, y = i / Width % high, x = i % Width;
      memory.tap[y][depth - 1 - z][x / 4].item[x % 4] = mask.template tap<float>(z, y, x);
    }
    stencil_tile<In, 4, 3, shape, task_type> tile(task, reinterpret_cast<pack*>(block.dynamic_shared()), block.thread(),
                                                  tile_y, tile_x);
    std::int64_t z = first - depth / 2;
    const std::int64_t delay = depth - 1 - depth / 2, end = last + delay;
    int slot = 0, next = 0;
    const auto next_of = [](int i) { return i + 1 < shape::slots ? i + 1 : 0; };
    const auto fetch = [&](std::int64_t from) {
      if (from < end) tile.fetch(from, next);
      simt::copy_async_commit();
      next = next_of(next);
    };
    for (int i = 0; i < shape::ahead; ++i) fetch(z + i);
    const int column = block.thread() % shape::widest, row = block.thread() / shape::widest * rows;
    const std::int64_t y = tile_y + row, x = tile_x + 4 * column;
    const int own = (row + shape::tall - high / 2) * pitch + column + first_pack;
    const bool fours = task.out.in_fours();
    Out* to = task.out.at(first, y, x);
    float sum[Planes][rows][4] = {};  // sum[k] is of plane z - delay + k
    for (; z < end; ++z) {
      simt::copy_async_wait<shape::ahead - 1>();
      block.sync();  // plane z is there, and no thread reads what the next one is written over
      fetch(z + shape::ahead);
      add_plane(memory, tile.plane(slot) + own, depth, high, sum);
      slot = next_of(slot);
      if (z >= first + delay) {
        for (int h = 0; h < rows; ++h)
          if (y + h < task.out.height)
            detail::store_four(task.out, to + h * task.out.pitch, fours, task.out.width - x, sum[0][h]);
        to += task.out.slice;
      }
      for (int k = 0; k < Planes; ++k)
        for (int h = 0; h < rows; ++h)
          for (int j = 0; j < 4; ++j) sum[k][h][j] = k + 1 < Planes ? sum[k + 1][h][j] : 0.0f;
    }
    simt::copy_async_wait<0>();
  }

private:
  /// Adds the products of a plane, of which a thread meets the packs from `line` on, to the results that it reaches.
  PMPP_HOST_DEVICE static void add_plane(const shared& memory, const pack* line, int depth, int high,
                                         float (&sum)[Planes][rows][4]) {
    for (int i = 0; i < high; ++i, line += pitch) {  // row of the mask
      float x[rows][4 * window];
      for (int h = 0; h < rows; ++h)
        for (int g = 0; g < window; ++g) {
          const auto part = widened<float>(pack(line[h * pitch + g]));
          for (int j = 0; j < 4; ++j) x[h][4 * g + j] = part.item[j];
        }
      four<float> tap[2][groups];  // of plane k at k % 2: those of the next one are on their way
      for (int g = 0; g < groups; ++g) tap[0][g] = memory.tap[i][0][g];
      for_each_constant<Planes>([&](auto number) {
        constexpr int k = decltype(number)::value;
        if (k == Planes - 1 && k >= depth) return;
        if (k + 1 < Planes)
          for (int g = 0; g < groups; ++g) tap[(k + 1) % 2][g] = memory.tap[i][k + 1][g];
        for (int j = 0; j < Width; ++j)
          for (int h = 0; h < rows; ++h)
            for (int e = 0; e < 4; ++e) sum[k][h][e] += tap[k % 2][j / 4].item[j % 4] * x[h][margin + j + e];
      });
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
