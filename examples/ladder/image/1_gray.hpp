// SPDX-License-Identifier: Apache-2.0
//
// Rungs 1 and 2: colour to grey, 0.21 r + 0.71 g + 0.07 b (PMPP, section 3.2), or other weights. A pixel is three bytes in a row.
// With a pixel a thread (rung 1) each of the three reads of a warp touches the same 96 bytes and takes a third of them. With
// four pixels a thread (rung 2) a thread reads three words of four bytes and writes one: a quarter of the requests, for
// the same pixels. Lanes three words apart still touch all sectors three times over, which the cache absorbs.
// The picture begins at a multiple of four bytes.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

/// Weights of the colours in hundredths, 100 together at most. The default is the library's (rgb_to_gray), which leaves white at 252;
/// 30, 59, 11 are those of television.
struct gray_weights {
  unsigned red = 21, green = 71, blue = 7;
  PMPP_HOST_DEVICE std::uint8_t operator()(unsigned r, unsigned g, unsigned b) const {
    return static_cast<std::uint8_t>((r * red + g * green + b * blue + 50) / 100);
  }
};

struct gray_a_pixel {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const std::uint8_t* colours, std::uint8_t* greys, std::int64_t n,
                                   const gray_weights& luminance) const {
    const auto rgb = pmpp::simt::watch(block, colours, "rgb");
    const auto grey = pmpp::simt::watch(block, greys, "grey");
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < n) grey[i] = luminance(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
  }
};

struct gray_four_pixels {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const std::uint8_t* colours, std::uint8_t* greys, std::int64_t n,
                                   const gray_weights& luminance) const {
    const auto rgb = pmpp::simt::watch(block, reinterpret_cast<const std::uint32_t*>(colours), "rgb");
    const auto grey = pmpp::simt::watch(block, reinterpret_cast<std::uint32_t*>(greys), "grey");
    const std::int64_t i = block.index() * threads + block.thread();
    if (4 * i + 4 <= n) {
      const std::uint32_t x = rgb[3 * i], y = rgb[3 * i + 1], z = rgb[3 * i + 2];  // r g b r, g b r g, b r g b
      grey[i] = luminance(x & 255, x >> 8 & 255, x >> 16 & 255) |
                std::uint32_t(luminance(x >> 24, y & 255, y >> 8 & 255)) << 8 |
                std::uint32_t(luminance(y >> 16 & 255, y >> 24, z & 255)) << 16 |
                std::uint32_t(luminance(z >> 8 & 255, z >> 16 & 255, z >> 24)) << 24;
    } else {
      for (std::int64_t p = 4 * i; p < n; ++p)
        greys[p] = luminance(colours[3 * p], colours[3 * p + 1], colours[3 * p + 2]);
    }
  }
};
