// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/partition_by.hpp, and of buffers whose blocks are memory of the caller, or get other sizes: on
// 1, 2, 3, 5, 7 and 8 ranks, however elements lie on them, each comes to the rank that its function names, and those of a rank are in the
// order of the whole; a rank that there is not is an exception; blocks of the caller are read, written and sorted where they are, and
// never replaced.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/partition_by.hpp>
#include <pmpp/distributed/sort.hpp>

#include "support/distributed.hpp"

namespace {

/// A key, and where the element was: what stability is seen by.
struct record {
  std::int32_t key, place;
  friend bool operator==(const record&, const record&) = default;
};
struct rank_of_key {
  int ranks, skew;  ///< keys below `skew` go to the last rank
  PMPP_HOST_DEVICE int operator()(const record& r) const { return r.key < skew ? ranks - 1 : r.key % ranks; }
};
struct is_the_key {
  PMPP_HOST_DEVICE std::int64_t operator()(const record& r) const { return r.key; }
};

std::vector<std::int64_t> sizes_of(const auto& x, int ranks) {
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < ranks; ++r) sizes.push_back(x.size_of(r));
  return sizes;
}

}  // namespace

TEST_CASE("partition_by") {
  std::mt19937_64 random(test::seed());
  for (const int p : test::rank_counts) {
    const auto gpus = test::ranks(p);
    for (const std::int64_t n : {0, 1, 7, 1000, 20000})
      for (const test::layout how : test::layouts) {
        CAPTURE(p);
        CAPTURE(n);
        CAPTURE(int(how));
        const rank_of_key rank_of{p, n % 2 == 0 ? 0 : 800};
        std::vector<record> v(static_cast<std::size_t>(n)), expected;
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = {static_cast<std::int32_t>(random() % 1000), int(i)};
        const auto x = test::put(gpus, v, how, random);
        const auto y = pmpp::partition_by(gpus, x, rank_of);
        for (int r = 0; r < p; ++r) {
          CHECK(y.offset(r) == std::int64_t(expected.size()));
          std::copy_if(v.begin(), v.end(), std::back_inserter(expected),
                       [&](const record& e) { return rank_of(e) == r; });
        }
        CHECK(pmpp::to_host(gpus, y) == expected);
        CHECK(pmpp::to_host(gpus, x) == v);
      }
  }
}

TEST_CASE("partition_by: a rank that there is not") {
  const auto gpus = test::ranks(3);
  const pmpp::distributed_buffer<record> x{gpus, std::vector<record>{{0, 0}, {2, 1}, {1, 2}, {3, 3}, {-1, 4}, {7, 5}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(pmpp::partition_by(gpus, x, is_the_key{})),
                       "pmpp::partition_by: rank_of names no rank from 0 to 2 for 1 of the 2 elements of rank 1",
                       std::invalid_argument);
  const auto others = test::ranks(3);
  CHECK_THROWS_AS(static_cast<void>(pmpp::partition_by(others, x, is_the_key{})), std::invalid_argument);
}

TEST_CASE("parts of the caller") {
  const auto gpus = test::ranks(3);
  std::vector<int> v(10);
  std::iota(v.begin(), v.end(), 0);
  std::reverse(v.begin(), v.end());
  // Memory that somebody else owns: here another buffer, of which the first element of each block is left out.
  pmpp::distributed_buffer<int> owner{gpus, 13};
  const auto parts = [&](std::int64_t left_out) {
    std::vector<std::span<int>> all;
    for (int i = 0; i < gpus.local_size(); ++i) all.push_back(owner.part(i).subspan(std::size_t(left_out)));
    return all;
  };
  pmpp::fill(gpus, owner, -1);
  auto x = pmpp::distributed_buffer<int>::of_parts(gpus, parts(1));
  CHECK(x.size() == 10);
  CHECK(sizes_of(x, 3) == std::vector<std::int64_t>{4, 3, 3});
  x.copy_from(v);
  CHECK(pmpp::gather(gpus, x, 2) == v);
  pmpp::sort(gpus, x);  // its blocks are even: they stay where they are
  pmpp::rebalance(gpus, x);
  x.resize(gpus, {4, 3, 3});
  CHECK(x.part(0).data() == owner.part(0).data() + 1);
  CHECK(pmpp::to_host(gpus, owner) == std::vector<int>{-1, 0, 1, 2, 3, -1, 4, 5, 6, -1, 7, 8, 9});

  auto uneven = parts(1);
  uneven[0] = uneven[0].first(1);
  auto y = pmpp::distributed_buffer<int>::of_parts(gpus, uneven);
  CHECK_THROWS_WITH_AS(pmpp::sort(gpus, y),
                       "pmpp::sort: the block of rank 0 is memory of the caller of 1 elements; it would have to become "
                       "one of 3",
                       std::length_error);
  CHECK_THROWS_AS(pmpp::rebalance(gpus, y), std::length_error);
  CHECK_THROWS_AS(y.resize(gpus, {2, 3, 3}), std::length_error);
  CHECK_THROWS_AS(y.allocate(gpus.group(), {2, 3, 3}), std::length_error);
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>{0, 4, 5, 6, 7, 8, 9});

  using buffer = pmpp::distributed_buffer<int>;
  uneven.pop_back();
  CHECK_THROWS_AS(static_cast<void>(buffer::of_parts(gpus, uneven)), std::invalid_argument);
  uneven.push_back({static_cast<int*>(nullptr), 4});
  CHECK_THROWS_AS(static_cast<void>(buffer::of_parts(gpus, uneven)), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::gather(gpus, x, 3)), std::invalid_argument);
}

TEST_CASE("resize") {
  const auto gpus = test::ranks(3);
  pmpp::distributed_buffer<int> x{gpus, std::vector<int>{1, 2, 3, 4, 5, 6}};
  x.resize(gpus, {3, 0, 1});
  CHECK(sizes_of(x, 3) == std::vector<std::int64_t>{3, 0, 1});
  const auto got = pmpp::to_host(gpus, x);
  CHECK(got[0] == 1);
  CHECK(got[1] == 2);
  CHECK(got[3] == 5);
  CHECK_THROWS_AS(x.resize(gpus, {3, 0}), std::invalid_argument);
  CHECK_THROWS_AS(x.resize(test::ranks(3), {3, 0, 1}), std::invalid_argument);
}
