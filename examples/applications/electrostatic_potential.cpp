// SPDX-License-Identifier: Apache-2.0
//
// The electrostatic potential in a slice of a salt crystal, by direct Coulomb summation (PMPP, 4th edition, chapter 18): a
// thread gathers from all ions for four grid points in a row, which share what does not depend on x. No atomics, no
// conflicts. The check is Madelung's constant of rock salt, 1.74756: a sodium ion lies at -1.74756 k e / d.
// usage: electrostatic_potential [slice.ppm]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

// [kernel]
struct ion {
  float x, y, z, charge;  // angstrom, elementary charges
};

struct potential_of_slice {
  static constexpr int threads = 128, points = 4;
  struct shared {
    ion tile[threads];
  };
  /// volt[row * width + column] = the potential at (column, row) * spacing + corner, in volt.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const ion* ions, int n, ion corner, float spacing,
                                   int width, int height, float* volt) const {
    const std::int64_t quads = (width + points - 1) / points, quad = block.index() * threads + block.thread();
    const int row = int(quad / quads), column = int(quad % quads) * points;
    const float x = corner.x + spacing * float(column), y = corner.y + spacing * float(row);
    float sum[points] = {};
    for (int first = 0; first < n; first += threads) {
      if (first + block.thread() < n) memory.tile[block.thread()] = ions[first + block.thread()];
      block.sync();
      for (int i = 0; i < threads && first + i < n; ++i) {
        const ion q = memory.tile[i];
        const float across = (y - q.y) * (y - q.y) + (corner.z - q.z) * (corner.z - q.z);
        for (int p = 0; p < points; ++p) {
          const float dx = x + spacing * float(p) - q.x;
          sum[p] += q.charge / sqrtf(dx * dx + across);
        }
      }
      block.sync();
    }
    for (int p = 0; p < points && row < height && column + p < width; ++p)
      volt[std::int64_t(row) * width + column + p] = 14.39964f * sum[p];  // e / (4 pi epsilon_0), in volt angstrom
  }
};
// [end]

int main(int argc, char** argv) {
  const int shells = PMPP_CUDA ? 10 : 5, width = PMPP_CUDA ? 1000 : 130, height = width * 3 / 4;
  const float d = 2.82f, spacing = 8 * d / float(width), above = 0.3f * d;  // d: from an ion to its neighbours
  std::vector<ion> ions;  // those on the outside count by the share of them that lies inside, so the cube is neutral
  for (int z = -shells; z <= shells; ++z)
    for (int y = -shells; y <= shells; ++y)
      for (int x = -shells; x <= shells; ++x) {
        const float share =
            std::ldexp(1.0f, -((std::abs(x) == shells) + (std::abs(y) == shells) + (std::abs(z) == shells)));
        ions.push_back({d * float(x), d * float(y), d * float(z), (x + y + z) % 2 == 0 ? share : -share});
      }
  const std::size_t centre = ions.size() / 2;  // sodium
  const auto slice = [&](ion corner, int columns, int rows, const std::vector<ion>& all) {
    const pmpp::device_buffer<ion> charges{all};
    pmpp::device_buffer<float> volt(std::int64_t(columns) * rows);
    pmpp::launch(pmpp::device, pmpp::ceil_div<std::int64_t>((columns + 3) / 4 * std::int64_t(rows), 128),
                 potential_of_slice{}, charges.data(), int(all.size()), corner, spacing, columns, rows, volt.data());
    return pmpp::to_host(volt);
  };
  std::vector<ion> others = ions;
  others.erase(others.begin() + std::ptrdiff_t(centre));
  const float at_sodium = slice({0, 0, 0, 0}, 1, 1, others)[0], madelung = -at_sodium * d / 14.39964f;
  const ion corner{-4 * d, -3 * d, above, 0};
  const std::vector<float> volt = slice(corner, width, height, ions);
  double worst = 0;
  for (std::size_t i = 0; i < volt.size(); i += volt.size() / 50) {
    double sum = 0;
    for (const ion& q : ions)
      sum += q.charge / std::hypot(corner.x + spacing * float(int(i) % width) - q.x,
                                   corner.y + spacing * float(int(i) / width) - q.y, above - q.z);
    worst = std::fmax(worst, std::fabs(14.39964 * sum - volt[i]));
  }
  std::printf("%zu ions, %d x %d points; Madelung's constant %.4f, largest error %.1g V\n", ions.size(), width, height,
              madelung, worst);
  if (argc > 1) {  // red: positive, blue: negative
    std::ofstream file(argv[1], std::ios::binary);
    file << "P6\n" << width << ' ' << height << "\n255\n";
    for (const float v : volt) {
      const int s = int(255 * std::tanh(std::fabs(v) / 4));
      for (const int c : {v > 0 ? 255 : 255 - s, 255 - s, v > 0 ? 255 - s : 255}) file.put(char(c));
    }
    if (!file) return 1;
  }
  return std::fabs(madelung - 1.74756f) < 2e-3f && worst < 2e-3 ? 0 : 1;
}
