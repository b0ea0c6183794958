// SPDX-License-Identifier: Apache-2.0
//
// What the rungs have in common: the 25-point stencil of the book, as a kernel of one thread a point on the planes of one rank. It asks
// for planes by their number on the rank; those below 0 and from the rank's last on are its neighbours', and where they lie is what
// the rungs differ in.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

inline constexpr int reach = 4;  // planes, rows and columns

/// The sizes of the whole, and weights of a point and of those 1 to 4 away on the axes. Zeros stand outside.
struct star_points {
  std::int64_t depth, height, width;
  float weight[reach + 1];
};

/// Planes in one piece of memory, halos around the rank's own.
struct planes_with_halo {
  const float* own;                  // the rank's first plane
  std::int64_t plane, first, depth;  // elements of one, the rank's first in the whole, planes of the whole

  PMPP_HOST_DEVICE const float* at(std::int64_t z) const {
    return first + z < 0 || first + z >= depth ? nullptr : own + z * plane;
  }
};

/// Writes `count` planes of the rank, from `begin` on, to out.
template <class Planes>
struct star_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const Planes& in, float* out, std::int64_t begin, std::int64_t count,
                                   const star_points& s) const {
    const std::int64_t plane = s.height * s.width, i = block.index() * threads + block.thread();
    if (i >= count * plane) return;
    const std::int64_t z = begin + i / plane, y = i % plane / s.width, x = i % s.width, place = y * s.width + x;
    const auto up = [&](std::int64_t dz) {
      const float* const from = in.at(z + dz);
      return from == nullptr ? 0 : from[place];
    };
    const float* const here = in.at(z) + place;
    const auto down = [&](std::int64_t dy) { return y + dy < 0 || y + dy >= s.height ? 0 : here[dy * s.width]; };
    const auto right = [&](std::int64_t dx) { return x + dx < 0 || x + dx >= s.width ? 0 : here[dx]; };
    float sum = s.weight[0] * *here;
    for (int k = 1; k <= reach; ++k)
      sum += s.weight[k] * ((up(-k) + up(k)) + ((down(-k) + down(k)) + (right(-k) + right(k))));
    out[z * plane + place] = sum;
  }
};

template <class Policy, class Planes>
void make_planes(const Policy& where, const Planes& in, float* out, std::int64_t begin, std::int64_t count,
                 const star_points& s) {
  const std::int64_t points = count * s.height * s.width;
  pmpp::launch(where, pmpp::ceil_div(points, std::int64_t(star_kernel<Planes>::threads)), star_kernel<Planes>{}, in,
               out, begin, count, s);
}
