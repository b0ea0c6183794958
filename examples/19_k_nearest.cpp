// SPDX-License-Identifier: Apache-2.0
//
// The k points nearest to a place: the squared distances never lie in memory, top_k computes them as it reads the
// points. Then the same for many places at once, a row of distances for each: segmented_top_k.
// usage: 19_k_nearest [points, in thousands]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <pmpp/core/iterator.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transform.hpp>

struct point {
  float x, y, z;
};
PMPP_HOST_DEVICE float square_of_distance(const point& p, const point& q) {
  return (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y) + (p.z - q.z) * (p.z - q.z);
}
struct distance_to {
  point place;
  PMPP_HOST_DEVICE float operator()(const point& p) const { return square_of_distance(p, place); }
};
/// Distance number i: from place i / n to point i % n.
struct all_distances {
  const point *places, *points;
  std::int64_t n;
  PMPP_HOST_DEVICE float operator()(std::int64_t i) const { return square_of_distance(points[i % n], places[i / n]); }
};

int main(int argc, char** argv) {
  const std::int64_t n = 1000 * (argc > 1 ? std::atoll(argv[1]) : PMPP_CUDA ? 10000 : 20), k = 5, rows = 3;
  std::vector<point> cloud(static_cast<std::size_t>(n));
  std::uint32_t random = 1;
  const auto next = [&] { return static_cast<float>((random = random * 1664525 + 1013904223) >> 8) * 0x1p-24f; };
  for (point& p : cloud) p = {next(), next(), next()};

  // [nearest]
  const pmpp::device_buffer<point> points{cloud};
  const auto distances = pmpp::transform_iterator(points.data(), distance_to{{0.5f, 0.5f, 0.5f}});
  pmpp::device_buffer<float> squares(k);
  pmpp::device_buffer<std::int32_t> nearest(k);
  pmpp::top_k(pmpp::device, distances, distances + n, k, squares, nearest, pmpp::less{});
  // [end]

  const std::vector<point> corners{{0, 0, 0}, {1, 1, 1}, {0.5f, 0, 0.5f}};
  std::vector<std::int64_t> ends{0, n, 2 * n, 3 * n};
  // [rows]
  const pmpp::device_buffer<point> places{corners};
  const pmpp::device_buffer<std::int64_t> offsets{ends};
  const pmpp::transform_iterator table(pmpp::counting_iterator<std::int64_t>(0),
                                       all_distances{places.data(), points.data(), n});
  pmpp::device_buffer<float> row_squares(rows * k);
  pmpp::device_buffer<std::int32_t> row_nearest(rows * k);
  pmpp::segmented_top_k(pmpp::device, table, table + rows * n, offsets, k, row_squares, row_nearest, pmpp::less{});
  // [end]

  bool ok = true;
  const auto check = [&](const point& place, const std::int32_t* got) {
    std::vector<std::int32_t> order(cloud.size());
    std::iota(order.begin(), order.end(), 0);
    const auto far = [&](std::int32_t i) { return square_of_distance(cloud[std::size_t(i)], place); };
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](auto i, auto j) { return far(i) != far(j) ? far(i) < far(j) : i < j; });
    for (std::int64_t i = 0; i < k; ++i)  // a GPU rounds otherwise
      ok = ok && std::abs(far(got[i]) - far(order[std::size_t(i)])) <= 1e-6f;
  };
  const auto first = pmpp::to_host(nearest), of_rows = pmpp::to_host(row_nearest);
  check({0.5f, 0.5f, 0.5f}, first.data());
  for (std::size_t r = 0; r < corners.size(); ++r) check(corners[r], of_rows.data() + std::int64_t(r) * k);
  std::printf("%d points; nearest to the centre: point %d, square of distance %g\n", int(n), first[0],
              pmpp::to_host(squares)[0]);
  return ok ? 0 : 1;
}
