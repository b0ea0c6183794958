// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: a tile with its halo in shared memory (PMPP, 4th edition, section 8.3). A block of 8 x 8 x 8 threads loads a
// cube of as many elements, of which the 6 x 6 x 6 inner ones become results: each element comes once for a block. But
// the tile is small, since a block has at most 1024 threads: 512 loads for 216 results, in rows of 8 elements that begin
// anywhere in the sectors of 32 bytes. The halo eats what the tile saves.
#pragma once

#include "1_basic.hpp"

struct tiled_stencil {
  static constexpr int in_side = 8, out_side = in_side - 2;

  struct shared {
    float tile[in_side][in_side][in_side];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* cube, float* out,
                                   const seven_points& s) const {
    const auto in = pmpp::simt::watch(block, cube, "in");
    const auto m = pmpp::simt::watch(block, memory.tile, "tile");
    const auto t = block.thread_position(), tile = block.position();
    const std::int64_t x = std::int64_t(tile.x) * out_side + t.x - 1, y = std::int64_t(tile.y) * out_side + t.y - 1;
    const std::int64_t z = std::int64_t(tile.z) * out_side + t.z - 1;
    const bool exists = x >= 0 && x < s.n && y >= 0 && y < s.n && z >= 0 && z < s.n;
    m[t.z][t.y][t.x] = exists ? in[s.at(z, y, x)] : 0.0f;
    block.sync();
    const auto inner = [](unsigned i) { return i >= 1 && i <= out_side; };
    if (!exists || !inner(t.x) || !inner(t.y) || !inner(t.z)) return;
    float result = m[t.z][t.y][t.x];
    if (s.inside(x) && s.inside(y) && s.inside(z))
      result = s.own * result + s.next * (m[t.z][t.y][t.x - 1] + m[t.z][t.y][t.x + 1] + m[t.z][t.y - 1][t.x] +
                                          m[t.z][t.y + 1][t.x] + m[t.z - 1][t.y][t.x] + m[t.z + 1][t.y][t.x]);
    out[s.at(z, y, x)] = result;
  }
};

template <class Policy>
void tiled(const Policy& where, const float* in, float* out, const seven_points& s) {
  const std::int64_t tiles = pmpp::ceil_div(s.n, std::int64_t(tiled_stencil::out_side));
  pmpp::launch(where, pmpp::grid{{tiles, tiles, tiles}, {8, 8, 8}}, tiled_stencil{}, in, out, s);
}
