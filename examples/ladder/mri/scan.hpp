// SPDX-License-Identifier: Apache-2.0
//
// What all rungs compute: F^H d, the image that a scanner's samples d stand for, where sample m was taken at (kx, ky) of k-space
// (PMPP, 4th edition, chapter 17): image(v) = sum over m of d(m) exp(2 pi i k(m) x(v)).
#pragma once

#include <cmath>
#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

/// A complex number.
struct pair {
  float re, im;
};
/// kx, ky: cycles a field of view. d: what was received.
struct sample {
  float kx, ky;
  pair d;
};

inline constexpr int block_threads = 128;
inline constexpr float full_turn = 6.2831853f;

/// Where the voxels of a square picture are, in [-1/2, 1/2)^2; voxel v is in row v / side.
struct voxels {
  int side;
  PMPP_HOST_DEVICE int count() const { return side * side; }
  PMPP_HOST_DEVICE float x(int v) const { return float(v % side) / float(side) - 0.5f; }
  PMPP_HOST_DEVICE float y(int v) const { return float(v / side) / float(side) - 0.5f; }
};

/// sum += d exp(i angle), given the angle's cosine and sine.
PMPP_HOST_DEVICE inline void add_turned(pair& sum, pair d, float cosine, float sine) {
  sum.re += d.re * cosine - d.im * sine;
  sum.im += d.im * cosine + d.re * sine;
}

}  // namespace ladder
