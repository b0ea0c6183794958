// SPDX-License-Identifier: Apache-2.0
//
// What a block works out of a product (gemm/schedule.hpp): a raster visits each tile once, and tiles that follow each other lie in
// few rows and columns; shares of stream-K cover all k-tiles once, none is longer than another by more than one, and where
// blocks are more than tiles each comes after the first block of one tile at most.
#include <pmpp/gemm.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "support/data.hpp"

TEST_CASE("gemm: a raster visits each tile of each matrix once, those that follow each other in few rows and columns") {
  for (const std::int64_t rows : {1, 3, 7, 8, 9, 16, 21})
    for (const std::int64_t cols : {1, 2, 5, 40}) {
      CAPTURE(rows);
      CAPTURE(cols);
      std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
      const pmpp::detail::raster<8> order(rows, cols);
      const pmpp::detail::raster<8, pmpp::detail::division> in_kernel(rows, cols);
      for (std::int64_t tile = 0; tile < 3 * rows * cols; ++tile) {
        const auto number = static_cast<std::uint32_t>(tile);
        const auto at = order(number), other = in_kernel(number);
        CHECK((at.matrix == other.matrix && at.row == other.row && at.col == other.col));
        CHECK(at.matrix == tile / (rows * cols));
        CHECK((at.row < rows && at.col < cols));
        seen.insert({at.matrix, at.row, at.col});
      }
      CHECK(seen.size() == static_cast<std::size_t>(3 * rows * cols));
    }
  // Sixty-four tiles at a time are a square of eight by eight.
  for (std::uint32_t tile = 0; tile < 64; ++tile) {
    const auto at = pmpp::detail::raster<8>(100, 100)(tile);
    CHECK((at.row < 8 && at.col < 8));
  }
}

TEST_CASE("divisor: a quotient of any number below 2^31 is that of a division") {
  int wrong = 0;
  const auto check = [&](std::uint32_t n, std::uint32_t d) { wrong += pmpp::divisor(d).quotient(n) != n / d; };
  const std::uint32_t last = 0x7fffffff;
  for (const std::uint32_t d : {1u, 2u, 3u, 7u, 0x3fffffffu, 0x40000000u, 0x40000001u, last - 1, last})
    for (const std::uint32_t n : {0u, 1u, d - 1, d, last / d * d - 1, last / d * d, last - 1, last})
      if (n <= last) check(n, d);
  const auto random = test::random_values<std::uint32_t>(40'000);
  for (std::size_t i = 0; i + 1 < random.size(); i += 2) {
    const std::uint32_t d = 1 + (random[i] >> 1 >> random[i + 1] % 31) % last, n = random[i + 1] >> 1,
                        below = n / d * d;
    check(n, d);
    check(below, d);
    if (below > 0) check(below - 1, d);
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm: shares of k-tiles cover all of them, evenly, and a block leaves sums of one tile at most") {
  for (int i = 0; i < test::turns(300); ++i) {
    const auto any = [](unsigned most) {
      return static_cast<int>(1 + test::random_values<std::uint32_t>(1)[0] % most);
    };
    const int tiles = any(30), k_tiles = any(50), blocks = any(140), all = tiles * k_tiles;
    CAPTURE(tiles);
    CAPTURE(k_tiles);
    CAPTURE(blocks);
    const pmpp::detail::block_shares<int> shares(tiles, k_tiles, blocks);
    CHECK(shares.first_k_tile(0) == 0);
    CHECK(shares.first_k_tile(blocks) == all);
    std::vector<std::set<int>> owners(static_cast<std::size_t>(tiles));
    int wrong = 0;
    for (int block = 0; block < blocks; ++block) {
      const int begin = shares.first_k_tile(block), end = shares.first_k_tile(block + 1);
      wrong += end - begin < all / blocks || end - begin > pmpp::ceil_div(all, blocks);
      for (int p = begin; p < end; ++p) {
        wrong += shares.block_of(p) != block;
        owners[static_cast<std::size_t>(p / k_tiles)].insert(block);
      }
    }
    std::vector<int> left(static_cast<std::size_t>(blocks));  // tiles that another block has the beginning of
    for (int tile = 0; tile < tiles; ++tile) {
      const std::set<int>& own = owners[static_cast<std::size_t>(tile)];
      wrong += shares.first_block(tile) != *own.begin();
      wrong += shares.parts(tile) != static_cast<int>(own.size());
      wrong += shares.parts(tile) != *own.rbegin() - *own.begin() + 1;
      for (const int block : own) left[static_cast<std::size_t>(block)] += block != *own.begin();
    }
    const int most_left = *std::max_element(left.begin(), left.end());
    wrong += tiles < blocks && most_left > 1;
    CHECK(wrong == 0);
  }
}
