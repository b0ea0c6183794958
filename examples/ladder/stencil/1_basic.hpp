// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: one thread a point (PMPP, 4th edition, section 8.2). Seven loads and thirteen operations a point; the six
// neighbours are those of six other threads, and only caches keep each element from coming from memory seven times.
// As in the book the points on the faces of the cube stay as they are.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

/// Weights of a point and of its neighbours, and the size of the cube.
struct seven_points {
  float own, next;
  std::int64_t n;

  PMPP_HOST_DEVICE bool inside(std::int64_t i) const { return i >= 1 && i < n - 1; }
  PMPP_HOST_DEVICE std::int64_t at(std::int64_t z, std::int64_t y, std::int64_t x) const { return (z * n + y) * n + x; }
};

struct basic_stencil {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* cube, float* out, const seven_points& s) const {
    const auto in = pmpp::simt::watch(block, cube, "in");
    const auto t = block.thread_position(), tile = block.position(), size = block.shape();
    const std::int64_t x = std::int64_t(tile.x) * size.x + t.x, y = std::int64_t(tile.y) * size.y + t.y;
    const std::int64_t z = std::int64_t(tile.z) * size.z + t.z;
    if (x >= s.n || y >= s.n || z >= s.n) return;
    const std::int64_t p = s.at(z, y, x), plane = s.n * s.n;
    float result = in[p];
    if (s.inside(x) && s.inside(y) && s.inside(z))
      result =
          s.own * result + s.next * (in[p - 1] + in[p + 1] + in[p - s.n] + in[p + s.n] + in[p - plane] + in[p + plane]);
    out[p] = result;
  }
};

template <class Policy>
void basic(const Policy& where, const float* in, float* out, const seven_points& s) {
  const std::int64_t tiles = pmpp::ceil_div(s.n, std::int64_t(8));
  pmpp::launch(where, pmpp::grid{{tiles, tiles, tiles}, {8, 8, 8}}, basic_stencil{}, in, out, s);
}
