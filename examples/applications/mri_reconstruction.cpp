// SPDX-License-Identifier: Apache-2.0
//
// An image from a magnetic resonance scan whose samples do not lie on a grid (PMPP, 4th edition, chapter 17): F^H d, a sum
// over all samples for each voxel. The head is three ellipses, whose Fourier transform is known; it is sampled along
// spokes through the centre of k-space, and each sample counts by the area it stands for.
// usage: mri_reconstruction [image.pgm]
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

// [kernel]
struct sample {
  float kx, ky;  // cycles a field of view
  float real, imaginary;
};

struct adjoint_transform {
  static constexpr int threads = 256;
  struct shared {
    sample tile[threads];
  };
  /// image[v] = sum over samples of d exp(2 pi i k x), x the place of voxel v in [-1/2, 1/2)^2: gathered, voxel by voxel.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const sample* samples, int n, int side, float* real,
                                   float* imaginary) const {
    const int v = int(block.index()) * threads + block.thread();
    const float x = float(v % side) / float(side) - 0.5f, y = float(v / side) / float(side) - 0.5f;
    float re = 0, im = 0;
    for (int first = 0; first < n; first += threads) {
      if (first + block.thread() < n) memory.tile[block.thread()] = samples[first + block.thread()];
      block.sync();
      for (int i = 0; i < threads && first + i < n; ++i) {
        const sample s = memory.tile[i];
        const float phase = 6.2831853f * (s.kx * x + s.ky * y), c = cosf(phase), q = sinf(phase);
        re += s.real * c - s.imaginary * q;
        im += s.imaginary * c + s.real * q;
      }
      block.sync();
    }
    if (v < side * side) real[v] = re, imaginary[v] = im;
  }
};
// [end]

struct ellipse {
  double x, y, a, b, density;
  bool holds(double px, double py) const { return std::hypot((px - x) / a, (py - y) / b) < 1; }
  std::complex<double> transform(double kx, double ky) const {
    const double pi = std::numbers::pi, r = 2 * pi * std::hypot(a * kx, b * ky);
    const double size = 2 * pi * a * b * density * (r < 1e-9 ? 0.5 : std::cyl_bessel_j(1, r) / r);
    return std::polar(size, -2 * pi * (kx * x + ky * y));
  }
};

int main(int argc, char** argv) {
  const int side = PMPP_CUDA ? 256 : 64, spokes = side * 3 / 2, along = 2 * side;  // samples half a cycle apart
  const ellipse head[] = {{0, 0, 0.35, 0.45, 1}, {-0.12, 0.05, 0.08, 0.16, -0.6}, {0.14, -0.1, 0.1, 0.1, 0.8}};
  std::vector<sample> scan;
  for (int i = 0; i < spokes; ++i)
    for (int j = 0; j < along; ++j) {
      const double k = 0.5 * (j - along / 2) + 0.25, angle = std::numbers::pi * i / spokes;
      std::complex<double> d = 0;
      for (const ellipse& e : head) d += e.transform(k * std::cos(angle), k * std::sin(angle));
      d *= std::fabs(k) * 0.5 * std::numbers::pi / spokes * std::pow(std::cos(std::numbers::pi * k / side), 2);  // Hann
      scan.push_back({float(k * std::cos(angle)), float(k * std::sin(angle)), float(d.real()), float(d.imag())});
    }
  const pmpp::device_buffer<sample> samples{scan};
  pmpp::device_buffer<float> real(side * side), imaginary(side * side);
  pmpp::launch(pmpp::device, pmpp::ceil_div<std::int64_t>(side * side, 256), adjoint_transform{}, samples.data(),
               int(scan.size()), side, real.data(), imaginary.data());
  const std::vector<float> image = pmpp::to_host(real), rest = pmpp::to_host(imaginary);

  double worst = 0, difference = 0, weight = 0;
  for (int v = 0; v < side * side; ++v) {
    const double x = double(v % side) / side - 0.5, y = double(v / side) / side - 0.5;
    double wanted = 0;
    for (const ellipse& e : head) wanted += e.holds(x, y) * e.density;
    difference += std::pow(image[std::size_t(v)] - wanted, 2), weight += wanted * wanted;
    if (v % (side * side / 37) != 0) continue;
    std::complex<double> sum = 0;
    for (const sample& s : scan)
      sum += std::complex<double>(s.real, s.imaginary) *
             std::polar(1.0, 2 * std::numbers::pi * (double(s.kx) * x + double(s.ky) * y));
    worst = std::fmax(worst, std::abs(sum - std::complex<double>(image[std::size_t(v)], rest[std::size_t(v)])));
  }
  const double error = std::sqrt(difference / weight);
  std::printf("%zu samples, %d x %d voxels: %.1f %% from the head, %.1g from the direct sum\n", scan.size(), side, side,
              100 * error, worst);
  if (argc > 1) {
    std::ofstream file(argv[1], std::ios::binary);
    file << "P5\n" << side << ' ' << side << "\n255\n";
    for (const float v : image) file.put(char(std::fmin(std::fmax(140 * v, 0), 255)));
    if (!file) return 1;
  }
  return worst < 1e-3 && error < 0.25 ? 0 : 1;
}
