// SPDX-License-Identifier: Apache-2.0
//
// Makes a dull grey picture use all of its brightness: a histogram, an inclusive scan of it, and a table look-up. Reads
// a binary PGM file of 8 bits; without one it makes soft stripes.
// usage: 14_image_equalisation [picture.pgm [equalised.pgm]]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

#include <pmpp/histogram.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

// [lookup]
struct look_up {
  const unsigned* not_brighter;  // pixels of at most this brightness; the darkest of all become black
  unsigned darkest, pixels;
  PMPP_HOST_DEVICE std::uint8_t operator()(std::uint8_t x) const {
    if (pixels == darkest) return x;  // all alike
    return static_cast<std::uint8_t>((not_brighter[x] - darkest) * 255.0 / (pixels - darkest) + 0.5);
  }
};
// [end]

struct picture {
  int width = 640, height = 480;
  std::vector<std::uint8_t> samples;
};

bool read(const char* path, picture& p) {
  std::ifstream file(path, std::ios::binary);
  char magic[3] = {};
  int most = 0;
  file.read(magic, 2) >> p.width >> p.height >> most;
  if (!file || magic[0] != 'P' || magic[1] != '5' || most != 255 || p.width < 1 || p.height < 1) return false;
  file.get();
  p.samples.resize(std::size_t(p.width) * std::size_t(p.height));
  return bool(file.read(reinterpret_cast<char*>(p.samples.data()), std::streamsize(p.samples.size())));
}

int main(int argc, char** argv) {
  picture p;
  if (argc > 1 && !read(argv[1], p)) return std::printf("%s is no binary PGM file of 8 bits\n", argv[1]), 1;
  for (int i = 0; argc < 2 && i < p.width * p.height; ++i)
    p.samples.push_back(
        static_cast<std::uint8_t>(115 + 25 * std::sin(0.02 * (i % p.width)) * std::cos(0.013 * (i / p.width))));
  // [calls]
  const pmpp::device_buffer<std::uint8_t> in{p.samples};
  pmpp::device_buffer<std::uint8_t> out(in.size());
  pmpp::device_buffer<unsigned> counts(256), not_brighter(256);
  pmpp::histogram_even(pmpp::device, in, counts, 0, 256);
  pmpp::inclusive_scan(pmpp::device, counts, not_brighter);
  // [end]
  const std::vector<unsigned> before = pmpp::to_host(counts);
  int low = 0, high = 255;
  while (before[std::size_t(low)] == 0) ++low;
  while (before[std::size_t(high)] == 0) --high;
  pmpp::transform(pmpp::device, in, out, look_up{not_brighter.data(), before[std::size_t(low)], unsigned(in.size())});
  const std::vector<std::uint8_t> equalised = pmpp::to_host(out);
  std::vector<unsigned> wanted(256);
  bool ok = true;
  for (std::size_t i = 0; i < equalised.size(); ++i) {
    ++wanted[p.samples[i]];
    ok = ok &&
         (low == high || ((p.samples[i] != low || equalised[i] == 0) && (p.samples[i] != high || equalised[i] == 255)));
  }
  std::printf("%d x %d pixels; %d to %d becomes 0 to 255\n", p.width, p.height, low, high);
  if (argc > 2) {
    std::ofstream file(argv[2], std::ios::binary);
    file << "P5\n" << p.width << ' ' << p.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(equalised.data()), std::streamsize(equalised.size()));
    ok = ok && file;
  }
  return ok && before == wanted ? 0 : 1;
}
// Output, without a file: 640 x 480 pixels; 90 to 139 becomes 0 to 255
