// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of rearrange.hpp, on every policy: arrays are rearranged as by std, for every size and part of it, also
// of elements that are no numbers, and nothing beside them is touched; lengths that only the device knows; bad input throws.
#include <pmpp/rearrange.hpp>

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

std::vector<int> counted(std::int64_t n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}
struct is_third {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 3 == 1; }
};

}  // namespace

TEST_ALL_PLACES("reverse") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 5)) {
    const std::vector<int> v = counted(n);
    auto wanted = v;
    std::reverse(wanted.begin(), wanted.end());
    const auto x = where::input(v);
    auto in_place = where::put(v), copy = where::put(v);
    pmpp::reverse(policy, in_place);
    CHECK(where::get(in_place) == wanted);
    CHECK(pmpp::reverse_copy(policy, x, copy) == copy.end());
    CHECK(where::get(copy) == wanted);
  }
  std::vector<test::record<12, 4>> v;
  for (int i = 0; i < 777; ++i) v.push_back(test::element<test::record<12, 4>>(i % 50, unsigned(i)));
  auto x = where::put(v);
  pmpp::reverse(policy, x.begin() + 1, x.end() - 1);
  std::reverse(v.begin() + 1, v.end() - 1);
  CHECK(where::get(x) == v);
}

template <class where, class T>
void reverse_anywhere() {
  std::vector<T> v;
  for (int i = 0; i < 9000; ++i) v.push_back(test::element<T>(i * 7919 % 251, unsigned(i)));
  const auto x = where::put(v);
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 15, 16, 33, 100, 2000, 8900}))
    for (const std::int64_t from : {0, 1, 4, 8, 15}) {
      const std::int64_t to = test::random_values<int>(1)[0] & 15;
      CAPTURE(n);
      CAPTURE(from);
      CAPTURE(to);
      auto wanted = v;
      std::reverse_copy(v.begin() + from, v.begin() + from + n, wanted.begin() + to);
      auto y = where::put(v);
      pmpp::reverse_copy(typename where::policy{}, x.begin() + from, x.begin() + from + n, y.begin() + to);
      CHECK(where::get(y) == wanted);
    }
}
TEST_ALL_PLACES("reverse_copy of elements of any size, from and to anywhere") {
  reverse_anywhere<where, std::uint8_t>();
  reverse_anywhere<where, std::int16_t>();
  reverse_anywhere<where, test::record<12, 4>>();
}

/// 1 KB, so that few are many bytes.
struct wide_element {
  int number, rest[255];
};
TEST_ALL_PLACES("shifts of many bytes, by parts") {
  const typename where::policy policy{};
  std::vector<wide_element> v(9000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i].number = v[i].rest[254] = int(i);
  for (const std::int64_t k : {2200, 4000, 4600}) {
    CAPTURE(k);
    auto left = where::put(v), right = where::put(v);
    pmpp::shift_left(policy, left, k);
    pmpp::shift_right(policy, right, k);
    const auto l = where::get(left), r = where::get(right);
    bool moved = true;
    for (std::size_t i = 0; i < v.size() - std::size_t(k); ++i) {
      const auto& x = l[i];
      const auto& y = r[i + std::size_t(k)];
      moved = moved && x.number == int(i + std::size_t(k)) && x.rest[254] == x.number && y.number == int(i) &&
              y.rest[254] == y.number;
    }
    CHECK(moved);
  }
}

TEST_ALL_PLACES("rotate and shift") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 33, 1000, 2 * tile + 7}))
    for (const std::int64_t k : {std::int64_t(0), std::int64_t(1), n / 20, n / 3, n - n / 3, n - 1, n}) {
      if (k < 0 || k > n) continue;
      CAPTURE(n);
      CAPTURE(k);
      const std::vector<int> v = counted(n);
      auto wanted = v;
      std::rotate(wanted.begin(), wanted.begin() + k, wanted.end());
      const auto input = where::input(v);
      auto x = where::put(v), copy = where::put(std::vector<int>(v.size(), -1));
      CHECK(pmpp::rotate(policy, x, x.begin() + k) - x.begin() == n - k);
      CHECK(where::get(x) == wanted);
      CHECK(pmpp::rotate_copy(policy, input, input.begin() + k, copy) == copy.end());
      CHECK(where::get(copy) == wanted);
      auto left = where::put(v), right = where::put(v);
      CHECK(pmpp::shift_left(policy, left, k) - left.begin() == n - k);
      const auto shifted = where::get(left);
      CHECK(std::vector<int>(shifted.begin(), shifted.end() - k) == std::vector<int>(v.begin() + k, v.end()));
      CHECK(pmpp::shift_right(policy, right, k) - right.begin() == k);
      const auto moved = where::get(right);
      CHECK(std::vector<int>(moved.begin() + k, moved.end()) == std::vector<int>(v.begin(), v.end() - k));
    }
}

TEST_ALL_PLACES("rotate: more than goes to scratch whole, from anywhere") {
  const typename where::policy policy{};
  const std::int64_t n = (std::int64_t(4) << 20) + 1003;
  for (const std::int64_t k : {n / 20, n / 2 - 1, n - n / 3}) {
    CAPTURE(k);
    std::vector<unsigned char> v(static_cast<std::size_t>(n) + 3);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<unsigned char>(i * 31 + i / 251);
    auto x = where::put(v);
    std::rotate(v.begin() + 1, v.begin() + 1 + k, v.end() - 2);
    CHECK(pmpp::rotate(policy, x.begin() + 1, x.begin() + 1 + k, x.end() - 2) - x.begin() == 1 + n - k);
    CHECK(where::get(x) == v);
  }
}

TEST_ALL_PLACES("swap_ranges") {
  const typename where::policy policy{};
  const std::vector<int> v = counted(5000), w = test::random_values<int>(5000);
  auto a = where::put(v), b = where::put(w);
  CHECK(pmpp::swap_ranges(policy, a.begin() + 3, a.end(), b.begin()) - b.begin() == 4997);
  CHECK(where::get(a)[3] == w[0]);
  CHECK(where::get(a)[4999] == w[4996]);
  CHECK(where::get(b)[0] == 3);
  CHECK(where::get(b)[4997] == w[4997]);
}

template <class where, class T>
void swap_anywhere() {
  const std::int64_t of_block = 4096 / int(sizeof(T)), most = 8 * of_block;
  std::vector<T> v, w;
  for (int i = 0; i < most + 16; ++i) {
    v.push_back(test::element<T>(i * 7919 % 251, unsigned(i)));
    w.push_back(test::element<T>(i * 7907 % 241, unsigned(i) + 9));
  }
  auto a = where::put(v), b = where::put(w);
  for (const std::int64_t n : test::sizes(of_block, 5 * of_block + 43))
    for (const std::int64_t first : {0, 1, 13})
      for (const std::int64_t second : {0, 5, 13}) {
        CAPTURE(n);
        CAPTURE(first);
        CAPTURE(second);
        CHECK(
            pmpp::swap_ranges(typename where::policy{}, a.begin() + first, a.begin() + first + n, b.begin() + second) -
                b.begin() ==
            second + n);
        std::swap_ranges(v.begin() + first, v.begin() + first + n, w.begin() + second);
        CHECK(where::get(a) == v);
        CHECK(where::get(b) == w);
      }
}
TEST_ALL_PLACES("swap_ranges: both from anywhere, elements of any size") {
  swap_anywhere<where, unsigned char>();
  swap_anywhere<where, short>();
  swap_anywhere<where, float>();
  swap_anywhere<where, double>();
  swap_anywhere<where, test::record<3, 1>>();
  swap_anywhere<where, test::record<12, 4>>();
  swap_anywhere<where, test::record<32, 16>>();
}

TEST_ALL_PLACES("swap_ranges: elements of two types, and an array from its end on") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 5)) {
    auto v = counted(n), w = test::random_values<int>(n);
    auto a = where::put(v), b = where::put(v);
    auto wide = where::put(std::vector<std::int64_t>(w.begin(), w.end()));
    pmpp::swap_ranges(policy, a, wide);
    CHECK(where::get(a) == w);
    CHECK(where::get(wide) == std::vector<std::int64_t>(v.begin(), v.end()));
    pmpp::swap_ranges(policy, pmpp::reverse_iterator(a.end()), pmpp::reverse_iterator(a.begin()), b.begin());
    std::reverse(v.begin(), v.end());
    std::reverse(w.begin(), w.end());
    CHECK(where::get(a) == v);
    CHECK(where::get(b) == w);
  }
}

TEST_ALL_PLACES("partition") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 20 * tile + 5)) {
    const std::vector<int> v = test::random_values<int>(n);
    auto wanted = v;
    const auto kept = std::stable_partition(wanted.begin(), wanted.end(), is_third{}) - wanted.begin();
    auto x = where::put(v), y = where::put(v);
    CHECK(pmpp::stable_partition(policy, x, is_third{}) - x.begin() == kept);
    CHECK(where::get(x) == wanted);
    auto count = where::put(std::vector<int>{-1});
    pmpp::stable_partition_into(policy, y, count, is_third{});
    pmpp::synchronize(policy);
    CHECK(where::get(count)[0] == kept);
    CHECK(where::get(y) == wanted);
    auto z = where::put(v);
    pmpp::partition_into(policy, z.begin(), z.end(), count, is_third{});
    pmpp::synchronize(policy);
    CHECK(where::get(count)[0] == kept);
    CHECK(where::get(z) == wanted);
  }
}

TEST_ALL_PLACES("inplace_merge") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 100, 5000}))
    for (const std::int64_t m : {std::int64_t(0), n / 3, n}) {
      auto v = test::random_values<int>(n);
      std::sort(v.begin(), v.begin() + m);
      std::sort(v.begin() + m, v.end());
      auto x = where::put(v);
      pmpp::inplace_merge(policy, x.begin(), x.begin() + m, x.end());
      std::sort(v.begin(), v.end());
      CHECK(where::get(x) == v);
    }
}

TEST_CASE("rearrange: lengths on the device") {
  const pmpp::device_buffer<int> n(std::vector<int>{5});
  const pmpp::device_count count{n.data(), 8};
  pmpp::device_buffer<int> x(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}), kept(1);
  pmpp::reverse(device, x.begin(), count);
  CHECK(pmpp::to_host(x) == std::vector<int>{4, 3, 2, 1, 0, 5, 6, 7});
  pmpp::stable_partition_into(device, x.begin(), count, kept, is_third{});
  CHECK(pmpp::to_host(x) == std::vector<int>{4, 1, 3, 2, 0, 5, 6, 7});
  CHECK(pmpp::to_host(kept)[0] == 2);
}

TEST_CASE("rearrange: a graph, with a length on the device, replayed on another") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::int64_t most = 9000, m = 1000, k = 37;
  pmpp::device_buffer<int> n(1, 0);
  std::vector<pmpp::device_buffer<int>> x;
  for (int i = 0; i < 7; ++i) x.emplace_back(most);
  const pmpp::device_count count{n.data(), most};
  const test::repeated again(stream, [&] {
    pmpp::reverse(policy, x[0].begin(), count);
    pmpp::rotate(policy, x[1].begin(), x[1].begin() + m, count);
    pmpp::shift_left(policy, x[2].begin(), count, k);
    pmpp::shift_right(policy, x[3].begin(), count, k);
    pmpp::inplace_merge(policy, x[4].begin(), x[4].begin() + m, count);
    pmpp::swap_ranges(policy, x[5].begin(), count, x[6]);
  });
  for (const int length : {9000, 4321, 1000, 999, 30}) {
    CAPTURE(length);
    std::vector<std::vector<int>> v;
    for (std::size_t i = 0; i < x.size(); ++i) {
      v.push_back(test::random_values<int>(most));
      if (i == 4) std::sort(v[i].begin(), v[i].begin() + std::min<std::int64_t>(m, length));
      if (i == 4 && length > m) std::sort(v[i].begin() + m, v[i].begin() + length);
      pmpp::copy(stream, v[i], x[i]);
    }
    pmpp::copy(stream, std::vector<int>{length}, n);
    again();
    std::reverse(v[0].begin(), v[0].begin() + length);
    if (length > m) std::rotate(v[1].begin(), v[1].begin() + m, v[1].begin() + length);
    if (length > k) {
      std::move(v[2].begin() + k, v[2].begin() + length, v[2].begin());
      std::move_backward(v[3].begin(), v[3].begin() + length - k, v[3].begin() + length);
    }
    std::sort(v[4].begin(), v[4].begin() + length);
    std::swap_ranges(v[5].begin(), v[5].begin() + length, v[6].begin());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(i);
      CHECK(pmpp::to_host(x[i]) == v[i]);
    }
  }
}

TEST_ALL_PLACES("rearrange: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3});
  auto two = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::rotate(policy, x.begin(), x.end() + 1, x.end()),
                       doctest::Contains("rotate: middle is 4 after the first of 3"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::shift_left(policy, x, -2), doctest::Contains("must not be negative, got -2"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::swap_ranges(policy, x, two), doctest::Contains("has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_AS(pmpp::swap_ranges(policy, x.begin(), x.end() - 1, x.begin() + 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::reverse_copy(policy, x, x), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::inplace_merge(policy, x.begin(), x.begin() - 1, x.end()), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
  CHECK(where::get(two) == std::vector<int>{5, 5});
}
