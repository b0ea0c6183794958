// SPDX-License-Identifier: Apache-2.0
//
// Blurs a grey picture with a small mask and finds its edges with two more (Sobel). Reads a binary PGM file of 8 bits;
// without one it makes a disc.
// usage: 17_edges_of_a_picture [picture.pgm [edges.pgm]]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

#include <pmpp/convolution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

struct picture {
  int width = 400, height = 300;
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

struct length {  // of the gradient, as a pixel
  PMPP_HOST_DEVICE std::uint8_t operator()(float x, float y) const {
    const float squared = x * x + y * y;
    return squared >= 255.0f * 255.0f ? 255 : static_cast<std::uint8_t>(sqrtf(squared));
  }
};

int main(int argc, char** argv) {
  picture p;
  if (argc > 1 && !read(argv[1], p)) return std::printf("%s is no binary PGM file of 8 bits\n", argv[1]), 1;
  for (int i = 0; argc < 2 && i < p.width * p.height; ++i)
    p.samples.push_back(std::hypot(i % p.width - 200, i / p.width - 150) < 100 ? 200 : 40);
  const std::size_t pixels = p.samples.size();
  const pmpp::device_buffer<std::uint8_t> in{p.samples};
  pmpp::device_buffer<std::uint8_t> blurred(pixels), edges(pixels);
  pmpp::device_buffer<float> across(pixels), down(pixels);
  // [edges]
  const float blur[] = {1 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 4 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 1 / 16.f};
  const float sobel_x[] = {-1, 0, 1, -2, 0, 2, -1, 0, 1}, sobel_y[] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};
  const auto view = [&](auto& buffer) { return pmpp::matrix_view(buffer.data(), p.height, p.width); };
  const auto mask = [](const float* taps) { return pmpp::matrix_view(taps, 3, 3); };
  pmpp::convolve(pmpp::device, view(in), mask(blur), view(blurred), pmpp::border::clamp);
  pmpp::convolve(pmpp::device, view(blurred), mask(sobel_x), view(across), pmpp::border::clamp);
  pmpp::convolve(pmpp::device, view(blurred), mask(sobel_y), view(down), pmpp::border::clamp);
  pmpp::transform(pmpp::device, across, down, edges, length{});
  // [end]
  const std::vector<std::uint8_t> got = pmpp::to_host(edges);
  long bright = 0;
  for (const std::uint8_t x : got) bright += x >= 128;
  std::printf("%d x %d pixels, %ld on edges\n", p.width, p.height, bright);
  if (argc > 2) {
    std::ofstream file(argv[2], std::ios::binary);
    file << "P5\n" << p.width << ' ' << p.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(got.data()), std::streamsize(got.size()));
    if (!file) return 1;
  }
  return argc > 1 || (bright > 628 && bright < 4 * 628) ? 0 : 1;  // the disc's edge is 628 pixels long
}
