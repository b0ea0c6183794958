// SPDX-License-Identifier: Apache-2.0
//
// What all rungs compute: the electrostatic potential at the points of a slice of space, the sum over all atoms of
// charge / distance (PMPP, chapter 18).
#pragma once

#include <cmath>
#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

struct atom {
  float x, y, z, charge;
};

/// Points (column, row) * spacing of the plane at height z.
struct slice {
  int width, height;
  float spacing, z;

  PMPP_HOST_DEVICE std::int64_t points() const { return std::int64_t(width) * height; }
};

inline constexpr int block_threads = 128;

/// What an atom gives at the point (x, y): `across` is the square of the distance in y and z, the same for a row of points.
PMPP_HOST_DEVICE inline float from_atom(const atom& a, float x, float across) {
  const float dx = x - a.x;
  return a.charge / sqrtf(dx * dx + across);
}
PMPP_HOST_DEVICE inline float across_of(const atom& a, float y, float z) {
  return (y - a.y) * (y - a.y) + (z - a.z) * (z - a.z);
}

}  // namespace ladder
