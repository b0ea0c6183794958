// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of remove.hpp, on every policy: remove, remove_copy, unique and unique_count give what std's loops give, of
// every size, of none, some and all elements; a projection; lengths and counts that stay on the device, replayed in a graph; bad
// input throws.
#include <pmpp/remove.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr std::int64_t tile = 640 * 4 * 10;

struct item {
  int key, number;
  friend bool operator==(const item&, const item&) = default;
};

/// The first elements, as many as there are in front of `end`.
template <class where, class Data, class End>
auto front(const Data& data, const End& end) {
  auto all = where::get(data);
  all.resize(static_cast<std::size_t>(end - data.begin()));
  return all;
}

}  // namespace

TEST_ALL_PLACES("remove, remove_copy, unique, unique_count") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 2 * tile + 5))
    for (const unsigned kinds : {1u, 3u}) {
      CAPTURE(n);
      CAPTURE(kinds);
      std::vector<int> v(static_cast<std::size_t>(n));
      for (int& x : v) x = static_cast<int>(test::generator()() % kinds);
      auto without = v, runs = v;
      without.erase(std::remove(without.begin(), without.end(), 0), without.end());
      runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
      const auto given = where::input(v);
      auto a = where::put(v), b = where::put(v), c = where::put(v);
      const auto end_a = pmpp::remove(policy, a, 0);
      CHECK(front<where>(a, end_a) == without);
      const auto end_b = pmpp::remove_copy(policy, given, b, 0);
      CHECK(front<where>(b, end_b) == without);
      const auto end_c = pmpp::unique(policy, c);
      CHECK(front<where>(c, end_c) == runs);
      CHECK(pmpp::unique_count(policy, given) == std::int64_t(runs.size()));
      CHECK(pmpp::unique_count(policy, given.begin(), given.end()) == std::int64_t(runs.size()));
    }
}

TEST_ALL_PLACES("unique by a projection") {
  const typename where::policy policy{};
  std::vector<item> v;
  for (int i = 0; i < 5000; ++i) v.push_back({i / 7, i});
  auto x = where::put(v);
  CHECK(pmpp::unique_count(policy, x, pmpp::equal_to{}, &item::key) == 715);
  const auto end = pmpp::unique(policy, x, pmpp::equal_to{}, &item::key);
  const auto got = front<where>(x, end);
  REQUIRE(got.size() == 715);
  for (int i = 0; i < 715; ++i) CHECK(got[std::size_t(i)] == item{i, 7 * i});
}

TEST_CASE("remove: counts on the device, a graph, replayed on other data") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::vector<int> first{5, 5, 1, 1, 5, 2}, second{1, 1, 1, 1, 1, 5};
  pmpp::device_buffer<int> data(first), copy(6, -1), length(std::vector<int>{6}), left(1), runs(1), kept(1);
  const test::repeated again(stream, [&] {
    pmpp::remove_copy_into(policy, data, copy, kept, 5);
    pmpp::unique_count_into(policy, data.begin(), pmpp::device_count{length.data(), 6}, runs);
    pmpp::remove_into(policy, data, left, 5);
    pmpp::unique_into(policy, data.begin(), pmpp::device_count{left.data(), 6}, left);
  });
  CHECK(pmpp::to_host(kept)[0] == 3);
  CHECK(pmpp::to_host(runs)[0] == 4);
  CHECK(pmpp::to_host(left)[0] == 2);
  pmpp::copy(stream, second, data);
  pmpp::copy(stream, std::vector<int>{5}, length);
  again();
  CHECK(pmpp::to_host(kept)[0] == 5);
  CHECK(pmpp::to_host(runs)[0] == 1);
  CHECK(pmpp::to_host(left)[0] == 1);
  CHECK(pmpp::to_host(data)[0] == 1);
}

TEST_ALL_PLACES("remove: bad input throws") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3}), none = where::put(std::vector<int>{});
  const int* const null = nullptr;
  CHECK_THROWS_AS(pmpp::remove_copy(policy, null, null + 3, x, 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::remove_into(policy, x, none, 1), std::length_error);
  CHECK_THROWS_AS(pmpp::unique_into(policy, x, none), std::length_error);
  CHECK_THROWS_AS((void)pmpp::unique_count(policy, x.end(), x.begin()), std::invalid_argument);
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
}
