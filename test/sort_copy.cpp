// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sort_copy.hpp, on every policy: the output is the input, sorted and stable, of every length up to
// several tiles, by digits and by a comparator; the input is left as it is; bad input throws.
#include <pmpp/sort_copy.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

namespace {

struct by_tens {
  PMPP_HOST_DEVICE bool operator()(int x, int y) const { return x / 10 < y / 10; }
};

}  // namespace

TEST_ALL_PLACES("sort_copy and sort_by_key_copy") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 33, 3000, 70001})) {
    CAPTURE(n);
    const auto keys = test::random_values<int>(n);
    std::vector<int> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    const auto k = where::input(keys), v = where::input(order);
    auto out = where::put(std::vector<int>(keys.size() + 1, -7)),
         places = where::put(std::vector<int>(keys.size() + 1, -7));
    auto wanted = keys;
    wanted.push_back(-7);
    std::sort(wanted.begin(), wanted.end() - 1);
    CHECK(pmpp::sort_copy(policy, k, out) - out.begin() == n);
    CHECK(where::get(out) == wanted);
    pmpp::sort_by_key_copy(policy, k, v, out, places, by_tens{});
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return by_tens{}(keys[std::size_t(a)], keys[std::size_t(b)]); });
    order.push_back(-7);
    CHECK(where::get(places) == order);
    CHECK(where::get(k) == keys);
  }
}

TEST_CASE("sort_copy: a graph, replayed on other data") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream).with(scratch);
  pmpp::device_buffer<int> keys(30000, 0), sorted(30000, -1);
  const test::repeated again(stream, [&] { pmpp::sort_copy(policy, keys, sorted); });
  for (int round = 0; round < 2; ++round) {
    auto v = test::random_values<int>(30000);
    pmpp::copy(stream, v, keys);
    again();
    std::sort(v.begin(), v.end());
    CHECK(pmpp::to_host(sorted) == v);
  }
}

TEST_ALL_PLACES("sort_copy: bad input throws") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{3, 2, 1}), two = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::sort_copy(policy, x, two), doctest::Contains("out has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_AS(pmpp::sort_copy(policy, x, x), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sort_by_key_copy(policy, x, two, x, x), std::length_error);
  CHECK(where::get(x) == std::vector<int>{3, 2, 1});
}
