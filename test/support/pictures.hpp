// SPDX-License-Identifier: Apache-2.0
//
// Pictures of random pixels.
#pragma once

#include <cstdint>
#include <vector>

#include <pmpp/io/image.hpp>

#include "data.hpp"

namespace test {

template <class Pixel>
pmpp::image<Pixel> random_picture(std::int64_t width, std::int64_t height) {
  pmpp::image<Pixel> p{width, height, std::vector<Pixel>(static_cast<std::size_t>(width * height))};
  auto* bytes = reinterpret_cast<unsigned char*>(p.pixels.data());
  for (std::size_t i = 0; i < p.pixels.size() * sizeof(Pixel); ++i)
    bytes[i] = static_cast<unsigned char>(generator()() >> 33);
  return p;
}

}  // namespace test
