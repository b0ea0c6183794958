// SPDX-License-Identifier: Apache-2.0
//
// Tells plus signs, crosses, corners and squares apart, wherever they stand in a noisy picture, by two layers of a
// convolutional network. The first finds strokes in four directions; the filters of the second are the strokes of a
// shape, as the first layer sees it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <random>
#include <vector>

#include <pmpp/convolution_layer.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

constexpr int shapes = 4, shape_side = 9, side = 24, pictures = 64, directions = 4;

bool has_ink(int shape, int y, int x) {
  const int last = shape_side - 1, middle = last / 2;
  return shape == 0   ? y == middle || x == middle
         : shape == 1 ? y == x || y == last - x
         : shape == 2 ? y == last || x == 0
                      : y == 0 || y == last || x == 0 || x == last;
}

// [epilogue]
struct rectifier {
  float threshold;
  PMPP_HOST_DEVICE float operator()(float sum) const { return sum > threshold ? sum - threshold : 0; }
};
// [end]

/// The first layer: of pictures with one channel, the strokes in four directions.
std::vector<float> strokes(const std::vector<float>& picture, int count, int width) {
  const pmpp::device_buffer<float> in(picture), filters(std::vector<float>{-1, -1, -1, 2,  2, 2,  -1, -1, -1,  //
                                                                           -1, 2,  -1, -1, 2, -1, -1, 2,  -1,  //
                                                                           2,  -1, -1, -1, 2, -1, -1, -1, 2,   //
                                                                           -1, -1, 2,  -1, 2, -1, 2,  -1, -1});
  pmpp::device_buffer<float> out(std::int64_t(count) * width * width * directions);
  // [first]
  pmpp::convolution_layer(pmpp::device, pmpp::nhwc(in.data(), count, width, width, 1),
                          pmpp::nhwc(filters.data(), directions, 3, 3, 1),
                          pmpp::nhwc(out.data(), count, width, width, directions),
                          pmpp::layer_options<rectifier>{.padding_y = 1, .padding_x = 1, .epilogue = {1.5f}});
  // [end]
  return pmpp::to_host(out);
}

int main() try {
  std::vector<float> clean;
  for (int shape = 0; shape < shapes; ++shape)
    for (int i = 0; i < shape_side * shape_side; ++i) clean.push_back(has_ink(shape, i / shape_side, i % shape_side));
  std::mt19937 random(1);
  std::vector<float> picture(pictures * side * side);
  for (float& x : picture) x = float(random() % 1000) / 4000;
  for (int p = 0; p < pictures; ++p) {
    const int top = int(random() % (side - shape_side)), left = int(random() % (side - shape_side));
    for (int i = 0; i < shape_side * shape_side; ++i)
      if (has_ink(p % shapes, i / shape_side, i % shape_side))
        picture[std::size_t((p * side + top + i / shape_side) * side + left + i % shape_side)] += 0.75f;
  }
  const pmpp::device_buffer<float> in(strokes(picture, pictures, side)), second(strokes(clean, shapes, shape_side));
  constexpr int places = side - shape_side + 1;
  pmpp::device_buffer<float> out(std::int64_t(pictures) * places * places * shapes);
  // [second]
  pmpp::convolution_layer(pmpp::device, pmpp::nhwc(in.data(), pictures, side, side, directions),
                          pmpp::nhwc(second.data(), shapes, shape_side, shape_side, directions),
                          pmpp::nhwc(out.data(), pictures, places, places, shapes));
  // [end]
  const std::vector<float> score = pmpp::to_host(out);
  int right = 0;
  for (int p = 0; p < pictures; ++p) {
    const auto first = score.begin() + p * places * places * shapes;
    right += (std::max_element(first, first + places * places * shapes) - first) % shapes == p % shapes;
  }
  std::printf("%d of %d pictures recognised\n", right, pictures);
  return right >= pictures * 9 / 10 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
