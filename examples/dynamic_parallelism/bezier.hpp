// SPDX-License-Identifier: Apache-2.0
//
// Bezier curves as lines of points, more of them where a curve bends more (PMPP, 4th edition, chapter 21): how many is known only
// when the curve has been looked at. Without dynamic parallelism the counts are added up first, and then one launch has a thread for
// each point of all curves, which looks for its curve: every lane works, however different the curves are.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

namespace bezier {

inline constexpr int most_points = 256;  // of a curve, and the room that each has

struct point {
  float x, y;
};
/// From a to c; b pulls.
struct curve {
  point a, b, c;

  PMPP_HOST_DEVICE point at(float t) const {
    const float s = 1 - t;
    return {s * s * a.x + 2 * s * t * b.x + t * t * c.x, s * s * a.y + 2 * s * t * b.y + t * t * c.y};
  }
  /// Point i of n, n at least 2.
  PMPP_HOST_DEVICE point at(int i, int n) const { return at(float(i) / float(n - 1)); }
};

/// How many points a curve gets: by the distance of b from the middle of a and c, in parts of theirs.
struct points_of {
  PMPP_HOST_DEVICE int operator()(const curve& k) const {
    const float dx = k.c.x - k.a.x, dy = k.c.y - k.a.y, mx = k.b.x - (k.a.x + k.c.x) / 2,
                my = k.b.y - (k.a.y + k.c.y) / 2;
    const float bend = 16 * sqrtf((mx * mx + my * my) / (dx * dx + dy * dy));
    return bend < 4 ? 4 : bend > most_points ? most_points : int(bend);
  }
};

struct draw_points {
  static constexpr int threads = 128;
  /// first[k]: the points of the curves before k; first[curves]: of all. lines: most_points for each curve.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const curve* curves, const int* first, int n, point* lines) const {
    const int i = int(block.index()) * threads + block.thread();
    if (i >= first[n]) return;
    int k = 0;  // the last curve with first[k] <= i
    for (int above = n; above - k > 1;) {
      const int middle = (k + above) / 2;
      (first[middle] <= i ? k : above) = middle;
    }
    lines[k * most_points + i - first[k]] = curves[k].at(i - first[k], first[k + 1] - first[k]);
  }
};

/// \param first room for n + 1 numbers
template <class Policy>
void draw_flat(const Policy& where, const curve* curves, int n, int* first, point* lines) {
  pmpp::fill(where, first, first + 1, 0);
  pmpp::transform(where, curves, curves + n, first + 1, points_of{});
  pmpp::inclusive_scan(where, first, first + n + 1, first);
  // The number of points is not brought to the host: the grid is large enough for any, and blocks beyond it end at once.
  pmpp::launch(where, pmpp::ceil_div<std::int64_t>(std::int64_t(n) * most_points, draw_points::threads), draw_points{},
               curves, first, n, lines);
}

/// Curves of all bends: most are nearly straight.
inline std::vector<curve> some_curves(int n) {
  std::vector<curve> curves;
  unsigned random = 1;
  const auto next = [&] { return float((random = random * 1664525u + 1013904223u) >> 8) / float(1 << 24); };
  for (int k = 0; k < n; ++k) {
    const float x = next(), y = next();
    curves.push_back({{x, y}, {x + 0.5f + 20 * std::pow(next(), 6.0f), y + next()}, {x + 1, y + next()}});
  }
  return curves;
}

/// How many points are not where a plain loop puts them.
inline int wrong_points(const std::vector<curve>& curves, const std::vector<point>& lines) {
  int wrong = 0;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const int n = points_of{}(curves[k]);
    for (int i = 0; i < n; ++i) {
      const double t = double(i) / (n - 1), s = 1 - t;
      const curve& c = curves[k];
      const point p = lines[k * most_points + std::size_t(i)];
      wrong +=
          !(std::fabs(s * s * double(c.a.x) + 2 * s * t * double(c.b.x) + t * t * double(c.c.x) - double(p.x)) <
            1e-4) ||
          !(std::fabs(s * s * double(c.a.y) + 2 * s * t * double(c.b.y) + t * t * double(c.c.y) - double(p.y)) < 1e-4);
    }
  }
  return wrong;
}

}  // namespace bezier
