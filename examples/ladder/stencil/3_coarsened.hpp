// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: coarsened along z (PMPP, 4th edition, section 8.4). A block of 32 x 32 threads walks down 32 planes, with
// three of them in shared memory: 1024 loads for 900 results a plane, and rows of 32 elements.
#pragma once

#include "1_basic.hpp"

struct coarsened_stencil {
  static constexpr int in_side = 32, out_side = in_side - 2, planes = 32;

  struct shared {
    float plane[3][in_side][in_side];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* cube, float* out,
                                   const seven_points& s) const {
    const auto in = pmpp::simt::watch(block, cube, "in");
    const auto plane = pmpp::simt::watch(block, memory.plane, "plane");
    const auto t = block.thread_position(), tile = block.position();
    const std::int64_t x = std::int64_t(tile.x) * out_side + t.x - 1, y = std::int64_t(tile.y) * out_side + t.y - 1;
    const std::int64_t first = std::int64_t(tile.z) * planes;
    const bool exists = x >= 0 && x < s.n && y >= 0 && y < s.n;
    const bool makes = exists && t.x >= 1 && t.x <= out_side && t.y >= 1 && t.y <= out_side;
    const auto load = [&](const auto& from, const auto& to, std::int64_t z) {
      to[(z + 3) % 3][t.y][t.x] = exists && z >= 0 && z < s.n ? from[s.at(z, y, x)] : 0.0f;
    };
    load(in, plane, first - 1);
    load(in, plane, first);
    for (std::int64_t z = first; z < first + planes && z < s.n; ++z) {
      load(in, plane, z + 1);
      block.sync();
      const auto above = plane[(z + 2) % 3], here = plane[z % 3], below = plane[(z + 1) % 3];
      if (makes) {
        float result = here[t.y][t.x];
        if (s.inside(x) && s.inside(y) && s.inside(z))
          result = s.own * result + s.next * (here[t.y][t.x - 1] + here[t.y][t.x + 1] + here[t.y - 1][t.x] +
                                              here[t.y + 1][t.x] + above[t.y][t.x] + below[t.y][t.x]);
        out[s.at(z, y, x)] = result;
      }
      block.sync();
    }
  }
};

template <class Policy>
void coarsened(const Policy& where, const float* in, float* out, const seven_points& s) {
  const std::int64_t tiles = pmpp::ceil_div(s.n, std::int64_t(coarsened_stencil::out_side));
  const std::int64_t sections = pmpp::ceil_div(s.n, std::int64_t(coarsened_stencil::planes));
  pmpp::launch(where, pmpp::grid{{tiles, tiles, sections}, {32, 32}}, coarsened_stencil{}, in, out, s);
}
