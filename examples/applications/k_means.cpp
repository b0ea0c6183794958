// SPDX-License-Identifier: Apache-2.0
//
// Finds the colours of a noisy photograph, by k-means (Lloyd's algorithm), from calls of the library alone: transform
// names the nearest centre of each pixel, sort_by_key brings the pixels of a centre together, reduce_by_key adds them up.
// The first centres are found by max_element: each is the pixel furthest from those before it.
// usage: k_means [before.ppm after.ppm]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <vector>

#include <pmpp/core/iterator.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

// [functors]
/// A colour, or the sum of several: linear red, green and blue from 0 to 1.
struct colour {
  float r, g, b, count = 1;
};
struct add_colours {
  PMPP_HOST_DEVICE colour operator()(const colour& x, const colour& y) const {
    return {x.r + y.r, x.g + y.g, x.b + y.b, x.count + y.count};
  }
};
PMPP_HOST_DEVICE float square_of_distance(const colour& x, const colour& y) {
  return (x.r - y.r) * (x.r - y.r) + (x.g - y.g) * (x.g - y.g) + (x.b - y.b) * (x.b - y.b);
}
struct nearest {  // the number of the nearest centre
  const colour* centres;
  int k;
  PMPP_HOST_DEVICE std::uint8_t operator()(const colour& x) const {
    int best = 0;
    for (int i = 1; i < k; ++i)
      if (square_of_distance(x, centres[i]) < square_of_distance(x, centres[best])) best = i;
    return static_cast<std::uint8_t>(best);
  }
};
struct square_to_nearest {
  nearest to;
  PMPP_HOST_DEVICE float operator()(const colour& x) const { return square_of_distance(x, to.centres[to(x)]); }
};
// [end]

/// What the camera saw: sky, sun, sea, sand and a sail, by number, with noise on the way.
struct photograph {
  int width = PMPP_CUDA ? 1600 : 240, height = width * 3 / 4;
  std::vector<colour> things{
      {0.45f, 0.65f, 0.95f}, {1, 0.85f, 0.3f}, {0.05f, 0.25f, 0.5f}, {0.85f, 0.7f, 0.45f}, {0.95f, 0.95f, 0.95f}};
  std::vector<std::uint8_t> thing;
  std::vector<colour> pixels;

  photograph() {
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0, 0.05f);
    for (int i = 0; i < width * height; ++i) {
      const double x = double(i % width) / width, y = double(i / width) / width;
      const bool sail = x > 0.25 && y > 0.12 && y < 0.44 && x < 0.25 + 0.6 * (y - 0.12);
      const int what = sail ? 4 : std::hypot(x - 0.75, y - 0.18) < 0.1 ? 1 : y < 0.4 ? 0 : y < 0.55 + 0.1 * x ? 2 : 3;
      thing.push_back(std::uint8_t(what));
      const colour& c = things[std::size_t(what)];
      pixels.push_back({c.r + noise(random), c.g + noise(random), c.b + noise(random)});
    }
  }
  void write(const char* path, const std::vector<colour>& shown) const {
    std::ofstream file(path, std::ios::binary);
    file << "P6\n" << width << ' ' << height << "\n255\n";
    for (const colour& c : shown)
      for (const float v : {c.r, c.g, c.b}) file.put(char(int(std::clamp(255 * v + 0.5f, 0.0f, 255.0f))));
  }
};

int main(int argc, char** argv) {
  const photograph photo;
  const int k = int(photo.things.size());
  const auto n = std::int64_t(photo.pixels.size());
  // [k-means]
  using pmpp::device;
  pmpp::device_buffer<colour> pixels{photo.pixels};
  std::vector<colour> centres{photo.pixels[0]};
  while (int(centres.size()) < k) {
    const pmpp::device_buffer<colour> so_far{centres};
    const auto distances =
        pmpp::transform_iterator(pixels.data(), square_to_nearest{{so_far.data(), int(centres.size())}});
    const std::int64_t furthest = pmpp::max_element(device, distances, distances + n) - distances;
    centres.push_back(photo.pixels[std::size_t(furthest)]);
  }

  pmpp::device_buffer<std::uint8_t> label(n), labels_met(k);
  pmpp::device_buffer<colour> sums(k);
  std::vector<double> spread;  // the sum of squares that k-means makes small, before each step
  bool moved = true;
  while (moved && spread.size() < 100) {
    const pmpp::device_buffer<colour> now{centres};
    const nearest to_now{now.data(), k};
    spread.push_back(pmpp::transform_reduce(device, pixels, 0.0, pmpp::plus{}, square_to_nearest{to_now}));
    pmpp::transform(device, pixels, label, to_now);
    pmpp::sort_by_key(device, label, pixels);  // in which order the pixels lie does not matter
    const auto end = pmpp::reduce_by_key(device, label, pixels, labels_met, sums, add_colours{}).first;
    const std::vector<std::uint8_t> met = pmpp::to_host(labels_met);
    const std::vector<colour> total = pmpp::to_host(sums);
    moved = false;
    for (std::size_t i = 0; i < std::size_t(end - labels_met.begin()); ++i) {
      const colour mean{total[i].r / total[i].count, total[i].g / total[i].count, total[i].b / total[i].count};
      moved = moved || square_of_distance(mean, centres[met[i]]) > 1e-10f;
      centres[met[i]] = mean;
    }
  }
  // [end]
  const pmpp::device_buffer<colour> found{centres}, in_order{photo.pixels};
  pmpp::transform(device, in_order, label, nearest{found.data(), k});
  const std::vector<std::uint8_t> labels = pmpp::to_host(label);

  std::vector<int> meaning;  // of each centre: the thing with the nearest colour
  double furthest = 0;
  for (const colour& c : centres) {
    meaning.push_back(nearest{photo.things.data(), k}(c));
    furthest = std::max(furthest, double(square_of_distance(c, photo.things[std::size_t(meaning.back())])));
  }
  std::int64_t wrong = 0;
  std::vector<colour> shown;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    wrong += meaning[labels[i]] != photo.thing[i];
    shown.push_back(centres[labels[i]]);
  }
  bool falls = true;
  for (std::size_t i = 1; i < spread.size(); ++i) falls = falls && spread[i] <= spread[i - 1] * (1 + 1e-6);
  std::printf(
      "%d x %d pixels, %zu steps: spread %.1f to %.1f; centres within %.4f of the colours, %.3f %% of pixels wrong\n",
      photo.width, photo.height, spread.size(), spread.front(), spread.back(), std::sqrt(furthest),
      100 * double(wrong) / double(n));
  if (argc > 2) photo.write(argv[1], photo.pixels), photo.write(argv[2], shown);
  return falls && spread.size() < 100 && furthest < 0.01 * 0.01 && double(wrong) < 0.01 * double(n) ? 0 : 1;
}
