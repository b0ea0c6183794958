// SPDX-License-Identifier: Apache-2.0
//
// The pixels of a colour picture lie red, green, blue, red, green, blue; many algorithms want a plane of each colour.
// As a matrix the picture has a row for each pixel and three columns; its transpose has the planes for rows.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transpose.hpp>

int main() {
  const int width = 300, height = 200, pixels = width * height;
  std::vector<std::uint8_t> picture;
  for (int i = 0; i < pixels; ++i) {
    picture.push_back(static_cast<std::uint8_t>(i % width));      // red grows to the right
    picture.push_back(static_cast<std::uint8_t>(i / width));      // green grows downwards
    picture.push_back(static_cast<std::uint8_t>(i % 256 ^ 255));  // blue
  }
  // [planes]
  const pmpp::device_buffer<std::uint8_t> interleaved{picture};
  pmpp::device_buffer<std::uint8_t> planes(interleaved.size());
  pmpp::transpose(pmpp::device, pmpp::matrix_view<const std::uint8_t>(interleaved.data(), pixels, 3),
                  pmpp::matrix_view<std::uint8_t>(planes.data(), 3, pixels));
  // [end]
  // [turned]
  // The green plane turned on its side: another view of the same memory says where it lies.
  const pmpp::matrix_view<const std::uint8_t> green(planes.data() + pixels, height, width);
  pmpp::device_buffer<std::uint8_t> turned(pixels);
  pmpp::transpose(pmpp::device, green, pmpp::matrix_view<std::uint8_t>(turned.data(), width, height));
  // [end]
  const auto got = pmpp::to_host(planes), side = pmpp::to_host(turned);
  int wrong = 0;
  for (int i = 0; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) wrong += got[std::size_t(c * pixels + i)] != picture[std::size_t(3 * i + c)];
    wrong += side[std::size_t(i % width * height + i / width)] != picture[std::size_t(3 * i + 1)];
  }
  std::printf("%d pixels in 3 planes, %d wrong\n", pixels, wrong);
  return wrong != 0;
}
// Output: 60000 pixels in 3 planes, 0 wrong
