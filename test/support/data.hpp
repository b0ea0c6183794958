// SPDX-License-Identifier: Apache-2.0
//
// Sizes and random data for tests. Every random seed comes from PMPP_TEST_SEED (default 1) and is shown when a check
// fails, through INFO in the caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <vector>

#include <pmpp/core/config.hpp>

namespace test {

inline std::uint64_t seed() {
  const char* text = std::getenv("PMPP_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

inline std::mt19937_64& generator() {
  static std::mt19937_64 g(seed());
  return g;
}

/// Whether little is to be done of everything: racecheck takes a hundred to a thousand times as long. What remains is a few
/// tiles of each kernel, so that several blocks take part and look back at each other, and some edges.
inline bool only_small() { return std::getenv("PMPP_TEST_SMALL") != nullptr; }

/// n elements, or as many as fill a few tiles.
inline std::int64_t up_to(std::int64_t n, std::int64_t few = 6000) { return only_small() ? std::min(n, few) : n; }

/// n turns of something random, or a few.
inline int turns(int n) { return only_small() ? std::min(n, 4) : n; }

/// Whether a turn of loops that try all of one thing with all of others is left out: where little is to be done, all but each
/// `period`-th, on a CPU all but each `of_cpu`-th. (A period that no loop's length is a multiple of meets every value of each.)
class only_each {
public:
  explicit only_each(int period, int of_cpu = 1) : period_(only_small() ? period : PMPP_CUDA ? 1 : of_cpu) {}
  bool leaves_out() { return turn_++ % period_ != 0; }

private:
  int period_, turn_ = 0;
};

/// These sizes, or four of them that a few tiles hold: from the first to the last.
template <class T>
std::vector<T> some_of(std::initializer_list<T> sizes) {
  if (!only_small()) return sizes;
  std::vector<T> few, chosen;
  for (const T& size : sizes)
    if (static_cast<std::int64_t>(size) <= up_to(size) || few.empty()) few.push_back(size);
  const std::size_t most = std::min<std::size_t>(few.size(), 4);
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(few[most == 1 ? 0 : i * (few.size() - 1) / (most - 1)]);
  return chosen;
}

/// Every size below `dense`, and each `step`-th up to `most`; or about twenty of them.
inline std::vector<std::int64_t> every_size(std::int64_t dense, std::int64_t most, std::int64_t step) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 0; n <= most; n += n < dense ? 1 : step) all.push_back(n);
  if (!only_small()) return all;
  std::vector<std::int64_t> few;
  for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 20) few.push_back(all[i]);
  return few;
}

/// The battery of sizes: nothing, one, around a warp, around a tile and a few of them, and one large prime-ish size: several times
/// what all blocks hold that run at once.
inline std::vector<std::int64_t> sizes(std::int64_t tile, std::int64_t large = (1 << (PMPP_CUDA ? 20 : 18)) + 3) {
  if (only_small()) return {0, 1, 33, tile - 1, tile + 1, 3 * tile + 7};
  std::vector<std::int64_t> all = {0, 1, 2, 3, 31, 32, 33, 63, 127, tile - 1, tile, tile + 1, 3 * tile + 7, large};
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
