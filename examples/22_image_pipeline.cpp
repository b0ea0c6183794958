// SPDX-License-Identifier: Apache-2.0
//
// From a photograph to a drawing: decode, grey, equalise by histogram, blur, Sobel's edges, encode. Reads a PPM or PGM
// file; without one it makes a coloured ball. With a folder it writes each step there as a picture to look at.
// usage: 22_image_pipeline [photo.ppm [folder]]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <pmpp/convolution.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/image.hpp>
#include <pmpp/io/image.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

using byte = std::uint8_t;
using pixel = pmpp::rgb<byte>;

pmpp::image<pixel> ball() {
  pmpp::image<pixel> p{400, 300, {}};
  for (int i = 0; i < 400 * 300; ++i) {
    const double x = (i % 400 - 200) / 100.0, y = (i / 400 - 150) / 100.0, z = 1 - x * x - y * y;
    const double light = z > 0 ? 0.5 + 0.5 * std::sqrt(z) : (i % 400) / 1000.0;
    p.pixels.push_back({byte(200 * light), byte(150 * light), byte(90 * light)});
  }
  return p;
}

struct equalise {  // the part of all pixels that are not brighter becomes the brightness
  const unsigned* not_brighter;
  unsigned pixels;
  PMPP_HOST_DEVICE byte operator()(byte x) const { return byte(255ull * not_brighter[x] / pixels); }
};

struct ink {  // dark where the gradient is long
  PMPP_HOST_DEVICE byte operator()(float x, float y) const {
    const float length = 3 * sqrtf(x * x + y * y);
    return length >= 255 ? byte(0) : byte(255 - length);
  }
};

int main(int argc, char** argv) try {
  // [pipeline]
  const auto photo = argc > 1 ? pmpp::read_image<pixel>(argv[1]) : ball();
  const auto view = [&](auto& buffer) { return pmpp::matrix_view(buffer.data(), photo.height, photo.width); };
  const pmpp::device_buffer<pixel> colours{photo.pixels};
  pmpp::device_buffer<byte> gray(colours.size()), even(colours.size()), soft(colours.size()), drawing(colours.size());
  pmpp::rgb_to_gray(pmpp::device, view(colours), view(gray));
  pmpp::device_buffer<unsigned> counts(256), not_brighter(256);
  pmpp::histogram_even(pmpp::device, gray, counts, 0, 256);
  pmpp::inclusive_scan(pmpp::device, counts, not_brighter);
  pmpp::transform(pmpp::device, gray, even, equalise{not_brighter.data(), unsigned(gray.size())});
  pmpp::box_blur(pmpp::device, view(even), view(soft), 1);

  pmpp::device_buffer<float> across(colours.size()), down(colours.size());
  const float slope[] = {-1, 0, 1}, weight[] = {0.25f, 0.5f, 0.25f};  // Sobel's masks are products of these
  pmpp::convolve_separable(pmpp::device, view(soft), weight, slope, view(across), pmpp::border::clamp);
  pmpp::convolve_separable(pmpp::device, view(soft), slope, weight, view(down), pmpp::border::clamp);
  pmpp::transform(pmpp::device, across, down, drawing, ink{});
  // [end]
  const auto lines = pmpp::to_host(drawing);
  long dark = 0;
  for (const byte x : lines) dark += x < 128;
  std::printf("%ld x %ld pixels, %ld of them ink\n", long(photo.width), long(photo.height), dark);
  const auto save = [&](const char* name, const pmpp::device_buffer<byte>& step) {
    pmpp::write_image(std::string(argv[2]) + "/" + name,
                      pmpp::image<byte>{photo.width, photo.height, pmpp::to_host(step)});
  };
  if (argc > 2) save("1_gray.pgm", gray), save("2_equalised.pgm", even);
  if (argc > 2) save("3_soft.pgm", soft), save("4_drawing.pgm", drawing);
  return argc > 1 || (dark > 300 && dark < 6000) ? 0 : 1;  // the ball's outline is 628 pixels long
} catch (const std::exception& e) {
  return std::printf("%s\n", e.what()), 1;
}
// Output, without a file: 400 x 300 pixels, 1362 of them ink
