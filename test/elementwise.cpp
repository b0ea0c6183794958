// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of elementwise.hpp, on every policy: each call does what a loop does, for every size and alignment and
// for elements of several sizes; what is not replaced or not transformed stays untouched, in place and elsewhere; every place
// of a table is visited once, for wide, narrow, flat and deep ones; lengths that only the device knows; bad input throws.
#include <pmpp/elementwise.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr std::int64_t tile = 256 * 4;

struct squared {
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return i * i; }
};
struct always_five {
  PMPP_HOST_DEVICE int operator()() const { return 5; }
};
struct is_odd {
  PMPP_HOST_DEVICE int operator()(int x) const { return x % 2 == 0 ? 0 : 4; }
};
template <class T>
struct is_given {
  T value;
  PMPP_HOST_DEVICE bool operator()(const T& x) const { return x == value; }
};
template <class T>
struct gives {
  T value;
  PMPP_HOST_DEVICE T operator()(const T&) const { return value; }
};
struct tripled {
  PMPP_HOST_DEVICE int operator()(int x) const { return 3 * x; }
};

}  // namespace

TEST_ALL_PLACES("tabulate and generate") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 5)) {
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) wanted[std::size_t(i)] = i * i;
    auto x = where::put(std::vector<std::int64_t>(std::size_t(n), -1));
    CHECK(pmpp::tabulate(policy, x, squared{}) == x.end());
    CHECK(where::get(x) == wanted);
  }
  auto y = where::put(std::vector<int>(100, 1));
  pmpp::generate(policy, y.begin() + 1, y.end(), always_five{});
  CHECK(where::get(y)[0] == 1);
  CHECK(where::get(y)[1] == 5);
  CHECK(where::get(y)[99] == 5);
}

TEST_ALL_PLACES("replace and transform_if: what is not meant stays") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 5)) {
    const std::vector<int> v = test::random_values<int>(n);
    auto in_place = where::put(v), copy = where::put(std::vector<int>(v.size(), 77));
    const auto x = where::input(v);
    auto wanted = v;
    std::replace_if(wanted.begin(), wanted.end(), is_odd{}, 1000);
    pmpp::replace_if(policy, in_place, is_odd{}, 1000);
    CHECK(where::get(in_place) == wanted);
    pmpp::replace_copy_if(policy, x, copy, is_odd{}, 1000);
    CHECK(where::get(copy) == wanted);
    std::replace(wanted.begin(), wanted.end(), 1000, -3);
    pmpp::replace(policy, in_place, 1000, -3);
    CHECK(where::get(in_place) == wanted);
    CHECK(pmpp::replace_copy(policy, copy, copy, 1000, -3) == copy.end());
    CHECK(where::get(copy) == wanted);
    for (std::size_t i = 0; i < v.size(); ++i) wanted[i] = is_odd{}(v[i]) ? 3 * v[i] : 77;
    pmpp::fill(policy, copy, 77);
    CHECK(pmpp::transform_if(policy, x, copy, tripled{}, is_odd{}) == copy.end());
    CHECK(where::get(copy) == wanted);
    pmpp::fill(policy, copy, 77);
    pmpp::transform_if(policy, x, x.begin(), copy, tripled{}, is_odd{});
    CHECK(where::get(copy) == wanted);
    pmpp::fill(policy, copy, 77);
    pmpp::transform_if(policy, x, x, copy, tripled{}, is_odd{});
    CHECK(where::get(copy) == wanted);
    pmpp::fill(policy, copy, 77);
    CHECK(pmpp::transform_if(policy, x.begin(), x.end(), x.begin(), copy, tripled{}, is_odd{}) == copy.end());
    CHECK(where::get(copy) == wanted);
  }
}

/// In place, from any element on, in part: few, most or none are meant, and nothing beside them is touched.
template <class where, class T>
void written_in_place() {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 15, 16, 33, 1000, 5 * tile + 3, 40000}))
    for (const std::int64_t begin : {0, 1, 2, 3, 5, 11})
      for (const unsigned one_of : {1u, 3u, 100u, 1u << 20}) {
        CAPTURE(n);
        CAPTURE(begin);
        CAPTURE(one_of);
        const T meant = test::element<T>(3, 3u), other = test::element<T>(5, 1u), next = test::element<T>(7, 2u);
        std::vector<T> v;
        for (std::int64_t i = 0; i < begin + n + 3; ++i)
          v.push_back(unsigned(i * 2654435761u >> 7) % one_of == 0 ? meant : other);
        auto wanted = v;
        std::replace(wanted.begin() + begin, wanted.begin() + begin + n, meant, next);
        auto x = where::put(v), y = where::put(v), z = where::put(v);
        pmpp::replace(policy, x.begin() + begin, x.begin() + begin + n, meant, next);
        CHECK(where::get(x) == wanted);
        pmpp::replace_if(policy, y.begin() + begin, y.begin() + begin + n, is_given<T>{meant}, next);
        CHECK(where::get(y) == wanted);
        pmpp::transform_if(policy, z.begin() + begin, z.begin() + begin + n, z.begin() + begin, gives<T>{next},
                           is_given<T>{meant});
        CHECK(where::get(z) == wanted);
      }
}
TEST_ALL_PLACES("replace and transform_if in place, of every size and alignment") {
  written_in_place<where, std::uint8_t>();
  written_in_place<where, std::uint16_t>();
  written_in_place<where, float>();
  written_in_place<where, std::int64_t>();
  written_in_place<where, test::record<12, 4>>();
}

TEST_ALL_PLACES("differences, of every alignment") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 5))
    for (const std::int64_t lead : {0, 1, 3}) {
      if (lead > n) continue;
      CAPTURE(n);
      CAPTURE(lead);
      const std::vector<int> v = test::random_values<int>(n);
      std::vector<int> wanted(std::size_t(n + 1), 77);
      std::adjacent_difference(v.begin() + lead, v.end(), wanted.begin());
      const auto x = where::input(v);
      auto out = where::put(std::vector<int>(std::size_t(n + 1), 77));
      CHECK(pmpp::adjacent_difference(policy, x.begin() + lead, x.end(), out.begin()) - out.begin() == n - lead);
      CHECK(where::get(out) == wanted);
      auto own = where::put(v);
      CHECK(pmpp::adjacent_difference(policy, own.begin() + lead, own.end(), own.begin() + lead) == own.end());
      std::vector<int> in_place = v;
      std::copy_n(wanted.begin(), n - lead, in_place.begin() + lead);
      CHECK(where::get(own) == in_place);
    }
  const auto wide = where::input(std::vector<double>{1, 4, 9, 16});
  auto out = where::put(std::vector<float>(4));
  pmpp::adjacent_difference(policy, wide, out, pmpp::plus{});
  CHECK(where::get(out) == std::vector<float>{1, 5, 13, 25});
}

TEST_ALL_PLACES("tables: every place once") {
  const typename where::policy policy{};
  const std::int64_t shapes[][3] = {{1, 1, 1},     {1, 3, 700},   {1, 700, 3}, {5, 7, 33},   {40, 1, 2},
                                    {3, 300, 1},   {1, 0, 5},     {0, 4, 4},   {3, 40, 333}, {1, 50001, 3},
                                    {50001, 3, 1}, {2, 1, 70000}, {7, 257, 51}};
  for (const auto& [depth, rows, cols] : shapes) {
    CAPTURE(depth);
    CAPTURE(rows);
    CAPTURE(cols);
    const std::int64_t n = depth * rows * cols, r = rows, c = cols;
    auto seen = where::put(std::vector<std::int64_t>(std::size_t(n), 0));
    auto* const p = seen.data();
    pmpp::for_each_index(policy, depth, rows, cols,
                         [=] PMPP_HOST_DEVICE(std::int64_t z, std::int64_t y, std::int64_t x) {
                           p[(z * r + y) * c + x] += 1 + 10 * x + 1000 * y + 1000000 * z;
                         });
    pmpp::synchronize(policy);
    const auto got = where::get(seen);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i)
      right = right && got[std::size_t(i)] == 1 + 10 * (i % c) + 1000 * (i / c % r) + 1000000 * (i / c / r);
    CHECK(right);
    if (depth != 1) continue;
    pmpp::for_each_index(policy, rows, cols,
                         [=] PMPP_HOST_DEVICE(std::int64_t y, std::int64_t x) { p[y * c + x] = y; });
    pmpp::synchronize(policy);
    const auto flat = where::get(seen);
    for (std::int64_t i = 0; i < n; ++i) right = right && flat[std::size_t(i)] == i / c;
    CHECK(right);
  }
}

template <class Index>
bool places_follow(Index rows, Index cols, Index step, Index first, int count) {
  const pmpp::detail::table_extents<Index> of(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols));
  const pmpp::detail::table_place<Index> by(step, of);
  pmpp::detail::table_place<Index> at(first, of);
  bool right = true;
  for (Index i = first; count > 0; i += step, --count, at.advance(by, of))
    right = right && at.col == i % cols && at.row == i / cols % rows && at.slice == i / cols / rows;
  return right;
}
TEST_CASE("tables: from place to place by sums, of more than 2^32 places too") {
  for (const unsigned cols : {1u, 2u, 3u, 255u, 256u, 257u, 40000u, 2147483647u})
    for (const unsigned rows : {1u, 2u, 7u, 255u, 70000u}) {
      CAPTURE(cols);
      CAPTURE(rows);
      CHECK(places_follow<std::uint32_t>(rows, cols, 256, 2000000000, 500));
      CHECK(places_follow<std::uint64_t>(rows, cols, 256, (std::uint64_t(1) << 40) + 77, 500));
      CHECK(places_follow<std::uint64_t>(cols, std::uint64_t(rows) << 20, 256, (std::uint64_t(1) << 52) + 3, 500));
    }
}

TEST_CASE("elementwise: lengths on the device") {
  const pmpp::device_buffer<int> n(std::vector<int>{3});
  const pmpp::device_count count{n.data(), 5};
  pmpp::device_buffer<int> x(std::vector<int>{1, 2, 3, 1, 1}), out(5, -1);
  pmpp::replace(device, x.begin(), count, 1, 9);
  CHECK(pmpp::to_host(x) == std::vector<int>{9, 2, 3, 1, 1});
  pmpp::device_buffer<int> y(std::vector<int>{9, 2, 3, 1, 1});
  pmpp::transform_if(device, y.begin(), count, y.begin(), tripled{}, is_odd{});
  CHECK(pmpp::to_host(y) == std::vector<int>{27, 2, 9, 1, 1});
  pmpp::adjacent_difference(device, x.begin(), count, out);
  CHECK(pmpp::to_host(out) == std::vector<int>{9, -7, 1, -1, -1});
  pmpp::tabulate(device, out.begin(), count, squared{});
  CHECK(pmpp::to_host(out) == std::vector<int>{0, 1, 4, -1, -1});
}

TEST_CASE("elementwise: a graph, replayed on other data") {
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream);
  pmpp::device_buffer<int> x(std::vector<int>{1, 1, 1, 1, 1}), out(5, -1), some(5, -1);
  const test::repeated again(stream, [&] {
    pmpp::adjacent_difference(policy, x, out);
    pmpp::transform_if(policy, x, some, tripled{}, is_odd{});
    pmpp::replace(policy, x, 1, 9);
  });
  pmpp::copy(stream, std::vector<int>{1, 4, 8, 1, 2}, x);
  again();
  CHECK(pmpp::to_host(out) == std::vector<int>{1, 3, 4, -7, 1});
  CHECK(pmpp::to_host(some) == std::vector<int>{3, 3, 3, 3, 3});
  CHECK(pmpp::to_host(x) == std::vector<int>{9, 4, 8, 9, 2});
}

TEST_ALL_PLACES("elementwise: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3});
  auto two = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::adjacent_difference(policy, x, two),
                       doctest::Contains("adjacent_difference: out has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::adjacent_difference(policy, x.begin(), x.end() - 1, x.begin() + 1),
                       doctest::Contains("out overlaps an input"), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transform_if(policy, x, two, tripled{}, is_odd{}), std::length_error);
  CHECK_THROWS_AS(pmpp::replace_copy(policy, x, two, 1, 2), std::length_error);
  CHECK_THROWS_AS(pmpp::replace(policy, x.end(), x.begin(), 1, 2), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::for_each_index(policy, -1, 4, [] PMPP_HOST_DEVICE(std::int64_t, std::int64_t) {}),
                       doctest::Contains("got 1 x -1 x 4"), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(two) == std::vector<int>{5, 5});
}
