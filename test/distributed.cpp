// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/, but for sorting: on 1, 2, 3, 5, 7 and 8 ranks, with even blocks, all elements on one rank,
// empty ones and random ones, each algorithm gives what a loop over the whole gives; elements keep their order where they change
// ranks; operators see elements in order and nothing else; bad input throws and touches nothing.
// On a GPU all ranks share it: their streams run side by side.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>

#include "support/distributed.hpp"
#include "support/monoids.hpp"

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 7, 1000, 12345};

struct twice {
  PMPP_HOST_DEVICE int operator()(int x) const { return 2 * x; }
};
struct add_one {
  PMPP_HOST_DEVICE void operator()(int& x) const { ++x; }
};
struct is_even {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 == 0; }
};

std::vector<int> numbers(std::int64_t n, int below, std::mt19937_64& random) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int& x : v) x = static_cast<int>(random() % std::uint64_t(below));
  return v;
}

}  // namespace

TEST_CASE("element by element") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers(n, 1000, random);
    auto x = test::put(gpus, v, how, random);
    auto y = pmpp::distributed_buffer<int>::with_sizes(gpus, [&] {
      std::vector<std::int64_t> blocks;
      for (int r = 0; r < gpus.size(); ++r) blocks.push_back(x.size_of(r));
      return blocks;
    }());
    pmpp::transform(gpus, x, y, twice{});
    pmpp::transform(gpus, x, y, y, pmpp::plus{});
    pmpp::for_each(gpus, y, add_one{});
    auto expected = v;
    for (int& e : expected) e = 3 * e + 1;
    CHECK(pmpp::to_host(gpus, y) == expected);
    CHECK(pmpp::to_host(gpus, x) == v);
    pmpp::fill(gpus, x, 7);
    CHECK(pmpp::to_host(gpus, x) == std::vector<int>(v.size(), 7));
    pmpp::iota(gpus, x, -5);
    std::iota(expected.begin(), expected.end(), -5);
    CHECK(pmpp::to_host(gpus, x) == expected);
  });
}

TEST_CASE("reductions") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers(n, 1000, random);
    const auto x = test::put(gpus, v, how, random);
    CHECK(pmpp::reduce(gpus, x, 5) == std::accumulate(v.begin(), v.end(), 5));
    CHECK(pmpp::transform_reduce(gpus, x, x, std::int64_t(-1), pmpp::plus{}, pmpp::multiplies{}) ==
          std::inner_product(v.begin(), v.end(), v.begin(), std::int64_t(-1)));
    CHECK(pmpp::transform_reduce(gpus, x, 1, pmpp::plus{}, twice{}) == 2 * std::accumulate(v.begin(), v.end(), 0) + 1);
  });
}

TEST_CASE("reductions: operands are adjacent and in order") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    std::vector<test::interval> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[std::size_t(i)] = {i, i + 1};
    const auto x = test::put(gpus, v, how, random);
    CHECK(pmpp::reduce(gpus, x, test::interval{-9, 0}, test::join{}) == test::interval{-9, n});
  });
}

TEST_CASE("extremal elements") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers(n, 50, random);  // with equals: the first counts
    const auto x = test::put(gpus, v, how, random);
    const auto least = std::min_element(v.begin(), v.end()) - v.begin(),
               most = std::max_element(v.begin(), v.end()) - v.begin();
    CHECK(pmpp::min_element(gpus, x) == least);
    CHECK(pmpp::max_element(gpus, x) == most);
    const auto both = pmpp::minmax_element(gpus, x);
    CHECK(both.first == least);
    CHECK(both.second == most);
  });
}

TEST_CASE("scans") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    std::vector<test::brackets> v(static_cast<std::size_t>(n)), expected = v;
    for (auto& b : v) b = {std::uint32_t(random() % 3), std::uint32_t(random() % 3)};
    const test::concatenate op;
    auto x = test::put(gpus, v, how, random);
    auto y = test::put(gpus, expected, how, random);
    if (how != test::layout::random) {  // y has other random blocks
      std::inclusive_scan(v.begin(), v.end(), expected.begin(), op);
      pmpp::inclusive_scan(gpus, x, y, op);
      CHECK(pmpp::to_host(gpus, y) == expected);
    }
    const test::brackets init{4, 2};
    std::exclusive_scan(v.begin(), v.end(), expected.begin(), init, op);
    pmpp::exclusive_scan(gpus, x, x, init, op);
    CHECK(pmpp::to_host(gpus, x) == expected);
  });
}

TEST_CASE("copy_if") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    auto v = numbers(n, 1000, random);
    if (n > 2) std::fill(v.begin() + n / 2, v.end(), 1);  // none of the second half
    const auto y = pmpp::copy_if(gpus, test::put(gpus, v, how, random), is_even{});
    std::vector<int> expected;
    std::copy_if(v.begin(), v.end(), std::back_inserter(expected), is_even{});
    CHECK(pmpp::to_host(gpus, y) == expected);
    CHECK(test::is_balanced(y, gpus.size()));
  });
}

TEST_CASE("histogram") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers(n, 120, random);
    std::vector<std::uint32_t> counts(10, 99), expected(10);
    for (const int x : v)
      if (x >= 10 && x < 110) ++expected[std::size_t(x - 10) / 10];
    pmpp::histogram_even(gpus, test::put(gpus, v, how, random), counts, 10, 110);
    CHECK(counts == expected);
  });
}

TEST_CASE("exchange") {
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers(n, 1000, random);
    auto x = test::put(gpus, v, how, random);
    const int p = gpus.size();
    std::vector<std::vector<std::int64_t>> cuts(static_cast<std::size_t>(p));
    std::vector<std::vector<int>> received(static_cast<std::size_t>(p));
    for (int r = 0; r < p; ++r) {
      auto& cut = cuts[std::size_t(r)];
      for (int j = 0; j < p - 1; ++j) cut.push_back(std::int64_t(random() % std::uint64_t(x.size_of(r) + 1)));
      cut.push_back(0);
      std::sort(cut.begin(), cut.end());
      cut.push_back(x.size_of(r));
      for (int j = 0; j < p; ++j)
        for (auto k = cut[std::size_t(j)]; k < cut[std::size_t(j) + 1]; ++k)
          received[std::size_t(j)].push_back(v[std::size_t(x.offset(r) + k)]);
    }
    const auto y = pmpp::exchange(gpus, x, cuts);
    std::vector<int> expected;
    for (int j = 0; j < p; ++j) {
      CHECK(y.size_of(j) == std::int64_t(received[std::size_t(j)].size()));
      expected.insert(expected.end(), received[std::size_t(j)].begin(), received[std::size_t(j)].end());
    }
    CHECK(pmpp::to_host(gpus, y) == expected);
    pmpp::rebalance(gpus, x);
    CHECK(pmpp::to_host(gpus, x) == v);
    CHECK(test::is_balanced(x, p));
  });
}

TEST_CASE("bad input") {
  const auto gpus = test::ranks(3);
  const auto others = test::ranks(3);
  pmpp::distributed_buffer<int> x{gpus, std::vector<int>(10, 1)}, longer{gpus, 11}, elsewhere{others, 10}, nowhere;
  auto uneven = pmpp::distributed_buffer<int>::with_sizes(gpus, {10, 0, 0});

  CHECK_THROWS_WITH_AS(pmpp::fill(gpus, elsewhere, 1), "pmpp::fill: x lies on other devices than those of the call",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(pmpp::reduce(gpus, nowhere, 0)),
                       "pmpp::reduce: x lies on other devices than those of the call, on none", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::transform(gpus, x, longer, twice{}),
                       "pmpp::transform: on rank 1 the first input has 3 elements, out has 4", std::length_error);
  CHECK_THROWS_AS(pmpp::inclusive_scan(gpus, x, uneven), std::length_error);
  CHECK_THROWS_AS(static_cast<void>(pmpp::exchange(gpus, x, {{0, 1, 2, 4}, {0, 2, 1, 3}, {0, 0, 0, 3}})),
                  std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::exchange(gpus, x, {{0, 1, 2, 4}})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::distributed_buffer<int>::with_sizes(gpus, {1, 2})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::distributed_buffer<int>::with_sizes(gpus, {1, 2, -1})), std::length_error);
  CHECK_THROWS_AS((pmpp::distributed_buffer<int>{gpus, -1}), std::length_error);
  CHECK_THROWS_AS(x.copy_from(std::vector<int>(9)), std::length_error);
  std::vector<int> counts(4, 3);
  CHECK_THROWS_AS(pmpp::histogram_even(gpus, x, counts, 5, 5), std::invalid_argument);
  CHECK(counts == std::vector<int>(4, 3));
  CHECK(pmpp::to_host(gpus, x) == std::vector<int>(10, 1));

  CHECK_THROWS_WITH_AS(
      (pmpp::devices{0, 0}),
      "pmpp::devices: device 0 is listed twice; pmpp::ranks_on_one_device(count) is for ranks that share a GPU",
      std::invalid_argument);
  CHECK_THROWS_AS((pmpp::devices{-1}), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::devices{12345}), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::devices{std::vector<int>{}}, std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::ranks_on_one_device(0)), std::invalid_argument);
}

TEST_CASE("all devices that this process sees") {
  pmpp::devices gpus;
  pmpp::distributed_buffer<int> x{gpus, 1000};
  pmpp::iota(gpus, x, 0);
  CHECK(pmpp::reduce(gpus, x, 0) == 999 * 500);
  pmpp::inclusive_scan(gpus, x, x);
  CHECK(pmpp::to_host(gpus, x).back() == 999 * 500);
}
