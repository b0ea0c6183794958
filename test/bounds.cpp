// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of search.hpp, on every policy: places are those of std::lower_bound and its kin, for every size of
// both inputs, values in order, in parts in order and in none, runs of equals, few and many distinct values, windows that fit
// shared memory and others; values of another type than elements; NaN among values; places of any integer type; in place;
// lengths that only the device knows; computed inputs; bad input throws and touches nothing.
#include <pmpp/search.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

using pmpp::device;

namespace {

constexpr pmpp::search_tuning tiny{.threads = 64, .values = 2, .blocks = 1, .sample_bytes = 256};
constexpr pmpp::search_tuning few{.threads = 64, .values = 4, .blocks = 1, .sample_bytes = 256};  // or 1
constexpr std::int64_t tile = 128;

std::vector<int> some_values(std::int64_t n, int range) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<int>(test::generator()() % static_cast<unsigned>(range));
  return v;
}
std::vector<int> in_order(std::vector<int> v) {
  std::sort(v.begin(), v.end());
  return v;
}

template <class where>
void check(const std::vector<int>& sequence, const std::vector<int>& values) {
  const typename where::policy policy{};
  CAPTURE(sequence.size());
  CAPTURE(values.size());
  const std::size_t m = values.size();
  std::vector<int> lower(m), upper(m), is_there(m);
  for (std::size_t j = 0; j < m; ++j) {
    const auto range = std::equal_range(sequence.begin(), sequence.end(), values[j]);
    lower[j] = static_cast<int>(range.first - sequence.begin());
    upper[j] = static_cast<int>(range.second - sequence.begin());
    is_there[j] = lower[j] < upper[j];
  }
  constexpr auto tuning = test::tuned<where>(tiny);
  const auto x = where::input(sequence), v = where::input(values);
  auto a = where::put(std::vector<int>(m, -1)), b = where::put(std::vector<int>(m, -1));
  CHECK(pmpp::lower_bound<tuning>(policy, x, v, a) == a.end());
  CHECK(where::get(a) == lower);
  CHECK(pmpp::upper_bound<tuning>(policy, x, v, b) == b.end());
  CHECK(where::get(b) == upper);
  auto c = where::put(std::vector<int>(m, -1)), d = where::put(std::vector<int>(m, -1));
  CHECK(pmpp::equal_range<tuning>(policy, x, v, c, d).second == d.end());
  CHECK(where::get(c) == lower);
  CHECK(where::get(d) == upper);
  pmpp::binary_search<tuning>(policy, x, v, c);
  CHECK(where::get(c) == is_there);
}

}  // namespace

TEST_ALL_PLACES("more values than all blocks hold at a time: what one tile has copied serves others, or does not") {
  const auto sequence = in_order(some_values(5000, 20000));
  auto values = some_values(test::up_to(400'000), 22000);
  const auto part = static_cast<std::ptrdiff_t>(values.size() / 3);
  std::sort(values.begin() + part, values.begin() + 2 * part);
  check<where>(sequence, values);
}

TEST_ALL_PLACES("bounds: every size, values in any order and in order") {
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 63, 64, 65, 1000, 5000}))
    for (const std::int64_t m : test::some_of<std::int64_t>({0, 1, 33, tile - 1, tile, tile + 1, 3 * tile + 7}))
      for (const int range : {3, 1000000}) {
        const auto sequence = in_order(some_values(n, range)), values = some_values(m, range + 2);
        check<where>(sequence, values);
        check<where>(sequence, in_order(values));
      }
}

TEST_ALL_PLACES("bounds: few values, one a thread, and more") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(few);
  for (const int n : {50, 3000})  // all in shared memory, or not
    for (const std::int64_t m : {1, 60, 100, 128, 17000})
      for (const bool rises : {false, true}) {
        CAPTURE(n);
        CAPTURE(m);
        const auto sequence = in_order(some_values(n, 10000));
        auto values = some_values(test::up_to(m), 11000);
        if (rises) values = in_order(values);
        std::vector<int> wanted;
        for (const int v : values)
          wanted.push_back(int(std::lower_bound(sequence.begin(), sequence.end(), v) - sequence.begin()));
        wanted.push_back(-1);
        auto out = where::put(std::vector<int>(values.size() + 1, -1));
        pmpp::lower_bound<tuning>(policy, where::input(sequence), where::input(values), out);
        CHECK(where::get(out) == wanted);
      }
}

TEST_ALL_PLACES("bounds: the default tuning, parts in order") {
  const typename where::policy policy{};
  const auto sequence = in_order(some_values(test::up_to(60000), 1 << 20));
  auto values = in_order(some_values(test::up_to(9000), 1 << 20));
  for (std::size_t i = 3000; i < values.size(); i += 977) std::swap(values[i], values[i - 3]);
  std::vector<std::int64_t> wanted;
  for (const int v : values) wanted.push_back(std::lower_bound(sequence.begin(), sequence.end(), v) - sequence.begin());
  const auto x = where::input(sequence), v = where::input(values);
  auto out = where::put(std::vector<std::int64_t>(values.size()));
  pmpp::lower_bound(policy, x, v, out);
  CHECK(where::get(out) == wanted);
  pmpp::lower_bound(policy, x.begin(), x.end(), v.begin(), v.end(), out.begin());
  CHECK(where::get(out) == wanted);
  auto inout = where::put(values);
  pmpp::lower_bound(policy, x, inout, inout);
  CHECK(where::get(inout) == std::vector<int>(wanted.begin(), wanted.end()));
}

TEST_ALL_PLACES("values of another type, NaN among them, a comparator") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{9, 7, 7, 4, 0});
  const auto v = where::input(std::vector<double>{8, 7, NAN, 7.5, 4, -1});
  auto out = where::put(std::vector<unsigned char>(6, 99));
  pmpp::lower_bound(policy, x, v, out, pmpp::greater{});
  CHECK(where::get(out) == std::vector<unsigned char>{1, 1, 0, 1, 3, 5});
  const auto rising = where::input(std::vector<double>{1, 2, 3, 4, 5});
  const auto values = where::input(std::vector<double>{4.5, NAN, 0.5, NAN});
  pmpp::lower_bound(policy, rising, values, out);
  CHECK(where::get(out) == std::vector<unsigned char>{4, 0, 0, 0, 3, 5});
}

TEST_CASE("lengths on the device, computed inputs") {
  const pmpp::device_buffer<int> n(std::vector<int>{100}), m(std::vector<int>{3}),
      values(std::vector<int>{50, 99, 700, 1});
  pmpp::device_buffer<int> out(4, -1);
  const pmpp::counting_iterator<int> numbers(0);
  pmpp::upper_bound(device, numbers, pmpp::device_count{n.data(), 1000}, values.begin(),
                    pmpp::device_count{m.data(), 4}, out);
  CHECK(pmpp::to_host(out) == std::vector<int>{51, 100, 100, -1});
}

TEST_CASE("bounds: a graph, replayed on other data; past 2^31") {
  const pmpp::stream stream;
  const auto policy = device.on(stream);
  const std::int64_t far = std::int64_t(1) << 33;
  pmpp::device_buffer<std::int64_t> values(3, 0), low(3), high(3);
  const pmpp::counting_iterator<std::int64_t> all(0);
  const test::repeated again(stream, [&] {
    pmpp::lower_bound(policy, all, all + far, values.begin(), values.end(), low);
    pmpp::upper_bound(policy, all, all + far, values.begin(), values.end(), high);
  });
  for (const auto& v :
       {std::vector<std::int64_t>{1, far - 7, 5}, std::vector<std::int64_t>{far / 2, far / 2 + 1, far - 1}}) {
    pmpp::copy(stream, v, values);
    again();
    CHECK(pmpp::to_host(low) == v);
    CHECK(pmpp::to_host(high) == std::vector<std::int64_t>{v[0] + 1, v[1] + 1, v[2] + 1});
  }
}

TEST_ALL_PLACES("bounds: one value") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(tiny);
  for (const std::int64_t n : test::sizes(tile, 3000)) {
    const auto sequence = in_order(some_values(n, 500));
    const auto x = where::input(sequence);
    for (const int value : {-1, 0, 7, 250, 499, 1000}) {
      CAPTURE(n);
      CAPTURE(value);
      const auto wanted = std::equal_range(sequence.begin(), sequence.end(), value);
      const auto lower = wanted.first - sequence.begin(), upper = wanted.second - sequence.begin();
      CHECK(pmpp::lower_bound<tuning>(policy, x, value) - x.begin() == lower);
      CHECK(pmpp::upper_bound<tuning>(policy, x.begin(), x.end(), value) - x.begin() == upper);
      const auto both = pmpp::equal_range<tuning>(policy, x, value);
      CHECK(both.first - x.begin() == lower);
      CHECK(both.second - x.begin() == upper);
      CHECK(pmpp::binary_search<tuning>(policy, x.begin(), x.end(), value) == (lower < upper));
      auto places = where::put(std::vector<std::int64_t>(3, -1));
      auto pairs = where::put(std::vector<pmpp::pair<std::int64_t, std::int64_t>>(1));
      pmpp::lower_bound_into<tuning>(policy, x, places, value);
      pmpp::upper_bound_into<tuning>(policy, x, places.begin() + 1, value);
      pmpp::binary_search_into<tuning>(policy, x.begin(), x.end(), places.begin() + 2, value);
      pmpp::equal_range_into<tuning>(policy, x, pairs, value);
      CHECK(where::get(places) == std::vector<std::int64_t>{lower, upper, lower < upper});
      CHECK(where::get(pairs)[0].first == lower);
      CHECK(where::get(pairs)[0].second == upper);
    }
  }
  const auto falls = where::input(std::vector<double>{9, 5, 5, 1});
  CHECK(pmpp::lower_bound(policy, falls, 5, pmpp::greater{}) - falls.begin() == 1);
  CHECK(pmpp::upper_bound(policy, falls, 5.0f, pmpp::greater{}) - falls.begin() == 3);
}

TEST_ALL_PLACES("bounds: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3});
  auto out = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::lower_bound(policy, x, x, out), doctest::Contains("out has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::lower_bound(policy, x, out, x), doctest::Contains("out overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::upper_bound(policy, x.end(), x.begin(), out.begin(), out.end(), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::equal_range(policy, x, out, out, out), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::lower_bound(policy, x.end(), x.begin(), 1)), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(out) == std::vector<int>{5, 5});
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
}
