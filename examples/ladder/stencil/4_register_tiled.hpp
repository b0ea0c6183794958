// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: register tiling (PMPP, 4th edition, section 8.5). The elements above and below a point are used by one thread
// only, so they need not be shared: they are in its registers, and shared memory holds one plane instead of three.
#pragma once

#include "1_basic.hpp"

struct register_tiled_stencil {
  static constexpr int in_side = 32, out_side = in_side - 2, planes = 32;

  struct shared {
    float plane[in_side][in_side];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* cube, float* out,
                                   const seven_points& s) const {
    const auto in = pmpp::simt::watch(block, cube, "in");
    const auto m = pmpp::simt::watch(block, memory.plane, "plane");
    const auto t = block.thread_position(), tile = block.position();
    const std::int64_t x = std::int64_t(tile.x) * out_side + t.x - 1, y = std::int64_t(tile.y) * out_side + t.y - 1;
    const std::int64_t first = std::int64_t(tile.z) * planes;
    const bool exists = x >= 0 && x < s.n && y >= 0 && y < s.n;
    const bool makes = exists && t.x >= 1 && t.x <= out_side && t.y >= 1 && t.y <= out_side;
    const auto element = [&](const auto& from, std::int64_t z) {
      return exists && z >= 0 && z < s.n ? float(from[s.at(z, y, x)]) : 0.0f;
    };
    float above = element(in, first - 1), here = element(in, first);
    for (std::int64_t z = first; z < first + planes && z < s.n; ++z) {
      const float below = element(in, z + 1);
      m[t.y][t.x] = here;
      block.sync();
      if (makes) {
        float result = here;
        if (s.inside(x) && s.inside(y) && s.inside(z))
          result = s.own * here +
                   s.next * (m[t.y][t.x - 1] + m[t.y][t.x + 1] + m[t.y - 1][t.x] + m[t.y + 1][t.x] + above + below);
        out[s.at(z, y, x)] = result;
      }
      block.sync();
      above = here;
      here = below;
    }
  }
};

template <class Policy>
void register_tiled(const Policy& where, const float* in, float* out, const seven_points& s) {
  const std::int64_t tiles = pmpp::ceil_div(s.n, std::int64_t(register_tiled_stencil::out_side));
  const std::int64_t sections = pmpp::ceil_div(s.n, std::int64_t(register_tiled_stencil::planes));
  pmpp::launch(where, pmpp::grid{{tiles, tiles, sections}, {32, 32}}, register_tiled_stencil{}, in, out, s);
}
