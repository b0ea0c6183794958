// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: cutoff. All rungs above do atoms x points; where charges screen each other, what is further away than a cutoff hardly
// counts, and the work need only grow with the atoms. Space is cut into bins of the cutoff's size; atoms are sorted by their bin,
// and a point reads those of the 27 bins around it. A factor (1 - (r / cutoff)^2)^2 takes what an atom gives down to zero there.
// (Rodrigues, Hardy, Stone, Schulten and Hwu, GPU acceleration of cutoff pair potentials, 2008.)
#pragma once

#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/search.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include "slice.hpp"

namespace ladder {

/// Bins of a box from (0, 0, 0) on; a bin is as wide as the cutoff.
struct bins {
  float cutoff;
  int nx, ny, nz;

  PMPP_HOST_DEVICE int count() const { return nx * ny * nz; }
  PMPP_HOST_DEVICE int along(float v, int n) const { return pmpp::min(pmpp::max(int(v / cutoff), 0), n - 1); }
  PMPP_HOST_DEVICE int number(int x, int y, int z) const { return (z * ny + y) * nx + x; }
  /// The bin of an atom.
  PMPP_HOST_DEVICE int operator()(const atom& a) const {
    return number(along(a.x, nx), along(a.y, ny), along(a.z, nz));
  }
};

PMPP_HOST_DEVICE inline float screened(const atom& a, float x, float across, float cutoff) {
  const float dx = x - a.x, square = dx * dx + across, left = 1 - square / (cutoff * cutoff);
  return left > 0 ? a.charge / sqrtf(square) * left * left : 0.0f;
}

struct within_cutoff {
  static constexpr int threads = block_threads;
  /// Atoms are sorted by bin; those of bin b are first[b] ... first[b + 1] - 1.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const atom* atoms, const int* first, bins space, slice s,
                                   float* potential) const {
    const std::int64_t point = block.index() * threads + block.thread();
    if (point >= s.points()) return;
    const float x = s.spacing * float(point % s.width), y = s.spacing * float(point / s.width);
    const int bx = space.along(x, space.nx), by = space.along(y, space.ny), bz = space.along(s.z, space.nz);
    float sum = 0;
    for (int z = pmpp::max(bz - 1, 0); z <= pmpp::min(bz + 1, space.nz - 1); ++z)
      for (int v = pmpp::max(by - 1, 0); v <= pmpp::min(by + 1, space.ny - 1); ++v) {
        // Bins beside each other in x have their atoms beside each other, too.
        const int left = space.number(pmpp::max(bx - 1, 0), v, z),
                  right = space.number(pmpp::min(bx + 1, space.nx - 1), v, z);
        for (int i = first[left]; i < first[right + 1]; ++i)
          sum += screened(atoms[i], x, across_of(atoms[i], y, s.z), space.cutoff);
      }
    potential[point] = sum;
  }
};

/// \pre bin_of has room for n numbers, first for one more than bins; the atoms change their order
template <class Policy>
void potential_by_bins(const Policy& where, atom* atoms, int n, bins space, slice s, int* bin_of, int* first,
                       float* potential) {
  pmpp::transform(where, atoms, atoms + n, bin_of, space);
  pmpp::sort_by_key(where, bin_of, bin_of + n, atoms);
  const pmpp::counting_iterator<int> bin{0};
  pmpp::lower_bound(where, bin_of, bin_of + n, bin, bin + (space.count() + 1), first);
  pmpp::launch(where, pmpp::ceil_div(s.points(), std::int64_t(block_threads)), within_cutoff{}, atoms, first, space, s,
               potential);
}

}  // namespace ladder
