// SPDX-License-Identifier: Apache-2.0
//
// Sizes and random data for tests. Every random seed comes from PMPP_TEST_SEED (default 1) and is shown when a check
// fails, through INFO in the caller.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace test {

inline std::uint64_t seed() {
  const char* text = std::getenv("PMPP_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

inline std::mt19937_64& generator() {
  static std::mt19937_64 g(seed());
  return g;
}

/// Whether the large sizes are left out: a sanitizer takes a hundred times as long.
inline bool only_small() { return std::getenv("PMPP_TEST_SMALL") != nullptr; }

/// The battery of sizes: nothing, one, around a warp, around a tile and a few of them, and one large prime-ish size.
inline std::vector<std::int64_t> sizes(std::int64_t tile, std::int64_t large = (1 << 20) + 3) {
  std::vector<std::int64_t> all = {0, 1, 2, 3, 31, 32, 33, 63, 127, tile - 1, tile, tile + 1, 3 * tile + 7};
  if (!only_small()) all.push_back(large);
  for (int i = 0; i < 4; ++i)
    all.push_back(static_cast<std::int64_t>(generator()() % static_cast<std::uint64_t>(8 * tile)));
  return all;
}

/// n random values: integers from the whole of a small range around zero, floating point in (-1, 1).
template <class T>
std::vector<T> random_values(std::int64_t n) {
  std::vector<T> v(static_cast<std::size_t>(n));
  auto& g = generator();
  for (auto& x : v) {
    const std::uint64_t r = g();
    if constexpr (std::is_floating_point_v<T>)
      x = static_cast<T>(static_cast<double>(r >> 11) * 0x1p-52 - 1);
    else
      x = static_cast<T>(static_cast<std::int64_t>(r % 201) - 100);
  }
  return v;
}

/// n times the same. Not inline: GCC 12 at -O3 takes the memory of a vector of 2-byte elements made in place for another.
template <class T>
[[gnu::noinline]] std::vector<T> copies(std::size_t n, const T& value) {
  return std::vector<T>(n, value);
}

}  // namespace test
