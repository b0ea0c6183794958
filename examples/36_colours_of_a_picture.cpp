// SPDX-License-Identifier: Apache-2.0
//
// k-means: the 8 colours that stand best for all of a picture. Each pixel joins the nearest colour, each colour moves to the
// middle of its pixels, until none moves: a loop on the device, with two kernels of our own. Sums of bytes are exact, so the
// colours are the same on every machine. The picture is made up: 8 colours, each pixel a little off one of them.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/control_flow.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/simt/atomic.hpp>

using pixel = pmpp::rgb<std::uint8_t>;
using number = unsigned long long;
constexpr int colours = 8;

/// Adds each pixel to the sums of its nearest colour, {red, green, blue, pixels}: first to those of the block.
struct join_nearest {
  static constexpr int threads = 256, per_block = 4096;
  struct shared {
    unsigned sum[4 * colours];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const pixel* in, std::int64_t n, const pixel* colour,
                                   number* sum) const {
    for (int i = block.thread(); i < 4 * colours; i += threads) memory.sum[i] = 0;
    block.sync();
    const std::int64_t first = block.index() * per_block, end = first + per_block < n ? first + per_block : n;
    for (std::int64_t i = first + block.thread(); i < end; i += threads) {
      int nearest = 0, least = 1 << 30;
      for (int c = 0; c < colours; ++c) {
        const int r = in[i].r - colour[c].r, g = in[i].g - colour[c].g, b = in[i].b - colour[c].b;
        const int distance = r * r + g * g + b * b;
        if (distance < least) nearest = c, least = distance;
      }
      const unsigned part[] = {in[i].r, in[i].g, in[i].b, 1};
      for (int k = 0; k < 4; ++k) pmpp::simt::atomic_add(&memory.sum[4 * nearest + k], part[k]);
    }
    block.sync();
    for (int i = block.thread(); i < 4 * colours; i += threads) pmpp::simt::atomic_add(&sum[i], number(memory.sum[i]));
  }
};

/// Moves each colour to the middle of its pixels, empties the sums, and says whether a colour has moved.
struct move_colours {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, number* sum, pixel* colour, int* moved) const {
    bool other = false;
    if (const int c = block.thread(); c < colours) {
      number* const s = sum + 4 * c;
      const auto mean = [&](int k) { return std::uint8_t((s[k] + s[3] / 2) / s[3]); };
      const pixel middle = s[3] == 0 ? colour[c] : pixel{mean(0), mean(1), mean(2)};
      other = !(middle == colour[c]);
      colour[c] = middle;
      for (int k = 0; k < 4; ++k) s[k] = 0;
    }
    other = block.any(other);
    if (block.thread() == 0) *moved = other;
  }
};

int main() {
  const std::int64_t n = 100'000;
  std::vector<pixel> picture(n), start(colours);
  unsigned random = 1;
  for (pixel& p : picture) {
    random = random * 1664525u + 1013904223u;
    const unsigned c = random >> 29, off = random >> 20 & 15;  // the corners of a cube
    p = {std::uint8_t(c % 2 * 200 + off), std::uint8_t(c / 2 % 2 * 200 + off), std::uint8_t(c / 4 * 200 + off)};
  }
  for (unsigned c = 0; c < colours; ++c)
    start[c] = {std::uint8_t(60 + c % 2 * 90), std::uint8_t(60 + c / 2 % 2 * 90), std::uint8_t(60 + c / 4 * 90)};

  const pmpp::device_buffer<pixel> in{picture};
  pmpp::device_buffer<pixel> colour{start};
  pmpp::device_buffer<number> sum{4 * colours, 0};
  pmpp::device_buffer<int> moved{1, 1};
  // [means]
  const std::int64_t blocks = (n + join_nearest::per_block - 1) / join_nearest::per_block;
  pmpp::repeat_while(pmpp::device, moved, [&](auto on) {
    pmpp::launch(on, blocks, join_nearest{}, in.data(), n, colour.data(), sum.data());
    pmpp::launch(on, 1, move_colours{}, sum.data(), colour.data(), moved.data());
  });
  // [end]
  bool right = true;
  for (const pixel& p : pmpp::to_host(colour)) {
    std::printf("%3d %3d %3d\n", p.r, p.g, p.b);
    for (const int x : {p.r, p.g, p.b}) right = right && (x == 7 || x == 8 || x == 207 || x == 208);
  }
  return right ? 0 : 1;
}
