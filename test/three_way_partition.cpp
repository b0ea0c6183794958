// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of three_way_partition.hpp, on every policy: all three outputs are those of a plain loop and nothing after
// them is touched, for every size, in elements of 1 to 12 bytes that begin anywhere; its twin with a length that only the device
// knows, captured in a graph; bad input throws and touches nothing.
#include <pmpp/three_way_partition.hpp>
#include <pmpp/transform.hpp>

#include <cstdint>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

struct small {
  int limit;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    return static_cast<int>(x) < limit;
  }
};
struct large {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    return static_cast<int>(x) > 30;
  }
};
/// A number and what is made of it, side by side.
struct wide {
  int value, twice, thrice;
  wide() = default;
  PMPP_HOST_DEVICE wide(int x) : value(x), twice(2 * x), thrice(3 * x) {}
  PMPP_HOST_DEVICE operator int() const { return thrice - twice; }
};
struct three {
  std::vector<int> first, second, rest;
  three(const std::vector<int>& in, int limit) {
    for (const int x : in) (x < limit ? first : x > 30 ? second : rest).push_back(x);
  }
};
std::vector<int> with_tail(std::vector<int> v, std::size_t n) {
  v.resize(n, -7);
  return v;
}

}  // namespace

TEST_ALL_PLACES("three ways") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 32, 1000, 5000, 30011}))
    for (const int limit : {10, 0, 100}) {
      CAPTURE(n);
      CAPTURE(limit);
      std::vector<int> in;
      for (std::int64_t i = 0; i < n; ++i) in.push_back(static_cast<int>(test::generator()() % 40));
      const three wanted(in, limit);
      const std::size_t size = in.size() + 1;
      auto a = where::put(std::vector<int>(size, -7)), b = where::put(std::vector<int>(size, -7)),
           c = where::put(std::vector<int>(size, -7));
      const auto ends = pmpp::three_way_partition_copy(policy, where::input(in), a, b, c, small{limit}, large{});
      CHECK(ends.first - a.begin() == std::int64_t(wanted.first.size()));
      CHECK(ends.second - b.begin() == std::int64_t(wanted.second.size()));
      CHECK(ends.rest - c.begin() == std::int64_t(wanted.rest.size()));
      CHECK(where::get(a) == with_tail(wanted.first, size));
      CHECK(where::get(b) == with_tail(wanted.second, size));
      CHECK(where::get(c) == with_tail(wanted.rest, size));
    }
}

template <class where, class T>
void check_elements() {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({33, 4099, 150001})) {
    CAPTURE(n);
    CAPTURE(sizeof(T));
    std::vector<int> in;
    for (std::int64_t i = 0; i < n; ++i) in.push_back(static_cast<int>(test::generator()() % 40));
    const auto x = where::put(std::vector<T>(in.begin(), in.end()));
    const std::vector<T> empty(in.size(), T(99));
    auto a = where::put(empty), b = where::put(empty), c = where::put(empty);
    const auto ends = pmpp::three_way_partition_copy(policy, x.begin() + 1, x.begin() + n, a.begin() + 1, b,
                                                     c.begin() + 1, small{10}, large{});
    const three wanted(std::vector<int>(in.begin() + 1, in.end()), 10);
    const auto got = [](const auto& out, std::int64_t first, std::int64_t last) {
      const std::vector<T> all = where::get(out);
      return std::vector<int>(all.begin() + first, all.begin() + last);
    };
    CHECK(got(a, 1, ends.first - a.begin()) == wanted.first);
    CHECK(got(b, 0, ends.second - b.begin()) == wanted.second);
    CHECK(got(c, 1, ends.rest - c.begin()) == wanted.rest);
    CHECK(got(a, 0, 1) == std::vector<int>{99});
    CHECK(got(b, ends.second - b.begin(), n) == std::vector<int>(std::size_t(n - (ends.second - b.begin())), 99));
  }
}
TEST_ALL_PLACES("elements of other sizes, anywhere") {
  check_elements<where, std::uint8_t>();
  check_elements<where, std::int16_t>();
  check_elements<where, double>();
  check_elements<where, wide>();
}

TEST_CASE("a graph of it, a length on the device") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  std::vector<int> data;
  for (int i = 0; i < 9000; ++i) data.push_back(static_cast<int>(test::generator()() % 40));
  const pmpp::device_buffer<int> in(data);
  pmpp::device_buffer<int> a(9001), b(9001), c(9001), counts(3, -7);
  pmpp::device_buffer<std::int64_t> n(1, 0);
  const auto enqueue = [&] {
    pmpp::three_way_partition_copy_into(policy, in.begin(), pmpp::device_count(n.data(), 9000), a, b, c, counts,
                                        small{10}, large{});
  };
  const test::repeated again(stream, enqueue);
  CHECK(pmpp::to_host(counts) == std::vector<int>{0, 0, -7});
  for (const std::int64_t length : {9000, 4096, 4097, 100}) {
    for (auto* buffer : {&a, &b, &c}) pmpp::fill(policy, *buffer, -7);
    pmpp::copy(stream, std::vector<std::int64_t>{length}, n);
    again();
    const three wanted(std::vector<int>(data.begin(), data.begin() + length), 10);
    CHECK(pmpp::to_host(counts) == std::vector<int>{int(wanted.first.size()), int(wanted.second.size()), -7});
    CHECK(pmpp::to_host(a) == with_tail(wanted.first, 9001));
    CHECK(pmpp::to_host(b) == with_tail(wanted.second, 9001));
    CHECK(pmpp::to_host(c) == with_tail(wanted.rest, 9001));
  }
}

TEST_ALL_PLACES("bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3}), y = where::put(std::vector<int>{1, 2, 3});
  int* const null = nullptr;
  CHECK_THROWS_WITH_AS(pmpp::three_way_partition_copy(policy, x, y, x, y, small{2}, large{}),
                       doctest::Contains("three_way_partition_copy: out_second overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::three_way_partition_copy(policy, x, y, y, null, small{2}, large{}),
                       doctest::Contains("out_rest is null"), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(y) == std::vector<int>{1, 2, 3});
}
