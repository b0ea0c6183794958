// SPDX-License-Identifier: Apache-2.0
//
// Reduction with types and operators of your own: a bounding box, mean and variance in one pass, an argmax.
// An operator has to be associative; it need not commute, and it needs no identity.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>

struct point {
  float x, y, z;
};

// [box]
struct box {
  point low, high;
};
struct box_of_point {
  PMPP_HOST_DEVICE box operator()(const point& p) const { return {p, p}; }
};
struct join_boxes {
  PMPP_HOST_DEVICE box operator()(const box& a, const box& b) const {
    const pmpp::minimum least;
    const pmpp::maximum most;
    return {{least(a.low.x, b.low.x), least(a.low.y, b.low.y), least(a.low.z, b.low.z)},
            {most(a.high.x, b.high.x), most(a.high.y, b.high.y), most(a.high.z, b.high.z)}};
  }
};
// [end]

// [moments]
/// Number, mean and sum of squared deviations of some values; merged as Chan, Golub and LeVeque do (1979).
struct moments {
  double count, mean, squares;
};
struct moments_of_height {
  PMPP_HOST_DEVICE moments operator()(const point& p) const { return {1, p.z, 0}; }
};
struct merge_moments {
  PMPP_HOST_DEVICE moments operator()(const moments& a, const moments& b) const {
    const double n = a.count + b.count, d = b.mean - a.mean;
    if (n == 0) return a;
    return {n, a.mean + d * b.count / n, a.squares + b.squares + d * d * a.count * b.count / n};
  }
};
// [end]

struct nearer_to_origin {  // as a comparison: does a come before b?
  PMPP_HOST_DEVICE static float square(const point& p) { return p.x * p.x + p.y * p.y + p.z * p.z; }
  PMPP_HOST_DEVICE bool operator()(const point& a, const point& b) const { return square(a) < square(b); }
};

int main() {
  const int n = 1'000'000;
  std::vector<point> points(n);  // a helix of heights 1 ... n, and one point far out
  for (int i = 0; i < n; ++i) points[i] = {std::cos(0.001f * i), std::sin(0.001f * i), float(i + 1)};
  points[123'456] = {-2e6f, 3.0f, 123'457.0f};
  const pmpp::device_buffer<point> data{points};
  const float inf = std::numeric_limits<float>::infinity();
  // [box_call]
  const box nothing{{inf, inf, inf}, {-inf, -inf, -inf}};
  const box b = pmpp::transform_reduce(pmpp::device, data, nothing, join_boxes{}, box_of_point{});
  // [end]
  std::printf("box      z from %.0f to %.0f, x from %.0f to %.0f\n", b.low.z, b.high.z, b.low.x, b.high.x);
  const moments m = pmpp::transform_reduce(pmpp::device, data, moments{}, merge_moments{}, moments_of_height{});
  std::printf("heights  mean %.1f, variance %.6e\n", m.mean, m.squares / m.count);

  const auto farthest = pmpp::max_element(pmpp::device, data, nearer_to_origin{}) - data.begin();
  std::printf("farthest point %lld\n", static_cast<long long>(farthest));

  const double variance = (double(n) * n - 1) / 12;  // of 1 ... n
  const bool right = b.low.z == 1 && b.high.z == n && b.low.x == -2e6f && b.high.y == 3 && farthest == 123'456 &&
                     std::abs(m.mean - (n + 1) / 2.0) < 1e-6 && std::abs(m.squares / m.count / variance - 1) < 1e-12;
  return right ? 0 : 1;
}
// Output: box z from 1 to 1000000, x from -2000000 to 1; mean 500000.5, variance 8.333333e+10; farthest point 123456
