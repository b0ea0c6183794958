// SPDX-License-Identifier: Apache-2.0
//
// Particles that fly through a box. After each step those that have left are removed in place; their number stays on
// the device, where the next step reads it: the host waits once, at the end.
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

// [particle]
struct particle {
  float x, y, z;     // in the unit box
  float vx, vy, vz;  // per step
  int id;
};

struct move {
  PMPP_HOST_DEVICE particle operator()(particle p) const {
    p.x += p.vx;
    p.y += p.vy;
    p.z += p.vz;
    return p;
  }
};
struct has_left {
  PMPP_HOST_DEVICE bool operator()(const particle& p) const {
    return p.x < 0 || p.x > 1 || p.y < 0 || p.y > 1 || p.z < 0 || p.z > 1;
  }
};
// [end]

int main() {
  const int n = 100'000, steps = 10;
  std::vector<particle> start(n);
  unsigned state = 1;
  const auto random = [&] {  // in [-1, 1), in multiples of 2^-23, so that sums are exact
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int>(state) >> 8) * 0x1p-23f;
  };
  for (int i = 0; i < n; ++i) start[i] = {0.5f, 0.5f, 0.5f, random() / 8, random() / 8, random() / 8, i};

  // [steps]
  pmpp::device_buffer<particle> particles{start};
  pmpp::device_buffer<int> alive{std::vector<int>{n}};
  pmpp::workspace scratch;
  const auto where = pmpp::device.with(scratch);
  for (int step = 0; step < steps; ++step) {  // nothing here waits
    const pmpp::device_count count{alive.data(), n};
    pmpp::transform(where, particles.begin(), count, particles, move{});
    pmpp::remove_if_into(where, particles.begin(), count, particles, alive, has_left{});
  }
  // [end]

  // The same on the host, one particle after the other.
  std::vector<int> wanted;
  for (particle p : start) {
    bool left = false;
    for (int step = 0; step < steps && !left; ++step) {
      p = move{}(p);
      left = has_left{}(p);
    }
    if (!left) wanted.push_back(p.id);
  }

  pmpp::synchronize(where);
  const int still = pmpp::to_host(alive)[0];
  const auto all = pmpp::to_host(particles);
  std::vector<int> got;
  for (int i = 0; i < still; ++i) got.push_back(all[i].id);
  std::printf("%d of %d particles are still in the box after %d steps\n", still, n, steps);
  return got == wanted ? 0 : 1;
}
