// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of transform.hpp, on every policy: every element is written once with f of its own inputs and
// nothing outside is touched, for every size, type and alignment; in place works; computed inputs, two inputs of
// different alignment and width; lengths that only the device knows; fill and iota; bad input throws and touches
// nothing.
#include <pmpp/transform.hpp>

#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

namespace {

constexpr std::int64_t tile = 256 * 4;  // elements of a block that moves one vector a thread
constexpr pmpp::transform_tuning tiny{.threads = 32, .vectors_per_thread = 2};

struct saxpy {
  float a;
  PMPP_HOST_DEVICE float operator()(float x, float y) const { return a * x + y; }
};
struct triple {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(3 * x);
  }
};
struct add_one_to {
  template <class T>
  PMPP_HOST_DEVICE void operator()(T& x) const {
    x = static_cast<T>(x + 1);
  }
};
struct flip {
  PMPP_HOST_DEVICE test::affine operator()(test::affine a) const { return {a.shift, a.scale, a.length + 1}; }
};

}  // namespace

TEST_ALL_PLACES("saxpy, every size") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile)) {
    const auto x = test::random_values<float>(n), y = test::random_values<float>(n);
    const auto dx = where::put(x);
    auto dy = where::put(y);
    const auto end = pmpp::transform(policy, dx, dy, dy, saxpy{2});  // in place
    CHECK(end - dy.begin() == n);
    const auto got = where::get(dy);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != 2 * x[i] + y[i];
    CAPTURE(n);
    CHECK(wrong == 0);
  }
}

TEST_ALL_PLACES("nothing outside the output is touched, at any alignment of input and output") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(3000);
  const auto in = where::put(bytes);
  for (const int from : test::some_of({0, 1, 3, 15, 16}))
    for (const int to : test::some_of({0, 1, 2, 15, 17}))
      for (const int n : test::some_of({0, 1, 15, 16, 17, 100, 1025, 2900})) {
        auto out = where::put(std::vector<std::uint8_t>(3000, 0xAB));
        pmpp::transform<tiny>(policy, in.begin() + from, in.begin() + from + n, out.begin() + to, triple{});
        const auto got = where::get(out);
        int wrong = 0;
        for (int i = 0; i < 3000; ++i) {
          const bool inside = i >= to && i < to + n;
          const auto expected = inside ? static_cast<std::uint8_t>(3 * bytes[static_cast<std::size_t>(i - to + from)])
                                       : std::uint8_t(0xAB);
          wrong += got[static_cast<std::size_t>(i)] != expected;
        }
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(n);
        CHECK(wrong == 0);
      }
}

TEST_ALL_PLACES("types of other sizes: 2, 8 and 12 bytes, and conversions") {
  const typename where::policy policy{};
  const auto shorts = test::random_values<std::int16_t>(5001);
  auto doubles = where::put(std::vector<double>(5001));
  pmpp::transform(policy, where::put(shorts), doubles, triple{});
  const auto got = where::get(doubles);
  for (std::size_t i = 0; i < got.size(); i += 97) CHECK(got[i] == 3.0 * shorts[i]);

  std::vector<test::affine> structs(3001);
  for (std::size_t i = 0; i < structs.size(); ++i)
    structs[i] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(2 * i), 0};
  auto in = where::put(structs);
  pmpp::transform(policy, in.begin() + 1, in.end(), in.begin() + 1, flip{});
  const auto flipped = where::get(in);
  CHECK(flipped[0] == structs[0]);
  int wrong = 0;
  for (std::size_t i = 1; i < flipped.size(); ++i) wrong += flipped[i] != flip{}(structs[i]);
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("two inputs that lie differently, and a computed one") {
  const typename where::policy policy{};
  const auto x = test::random_values<float>(4000);
  const auto dx = where::put(x);
  auto out = where::put(std::vector<float>(4000));
  pmpp::transform(policy, dx.begin() + 1, dx.end(), dx.begin(), out.begin() + 2 - 2, saxpy{1});
  const pmpp::counting_iterator<int> zero(0);
  auto indices = where::put(std::vector<int>(777));
  pmpp::transform(policy, zero, zero + 777, indices, triple{});
  CHECK(where::get(indices)[776] == 3 * 776);
  CHECK(pmpp::transform(policy, indices, zero, indices, pmpp::plus{}) == indices.end());  // a range, and an iterator
  CHECK(where::get(indices)[776] == 4 * 776);
  pmpp::transform(policy, zero, zero + 777, indices, indices, pmpp::plus{});  // two iterators, and a range
  CHECK(where::get(indices)[776] == 5 * 776);
  const auto got = where::get(out);
  int wrong = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) wrong += got[i] != x[i + 1] + x[i];
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("arrays that all lie differently, of several types") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(9000);
  const auto in = where::put(bytes);
  std::vector<test::affine> structs(3000);
  for (std::size_t i = 0; i < structs.size(); ++i)
    structs[i] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(2 * i), 0};
  const auto twelve = where::put(structs);
  for (const int n : test::some_of({1, 40, 63, 64, 65, 1100, 2900}))
    for (const int a : test::some_of({0, 3, 6, 13})) {
      const int b = 7, to = 10;
      CAPTURE(n);
      CAPTURE(a);
      auto sums = where::put(std::vector<std::uint8_t>(3000, 0xAB));
      pmpp::transform(policy, in.begin() + a, in.begin() + a + n, in.begin() + b, sums.begin() + to, pmpp::plus{});
      auto wide = where::put(std::vector<float>(3000, -1.0f));
      pmpp::transform<tiny>(policy, in.begin() + a, in.begin() + a + n, wide.begin() + to, triple{});
      auto flipped = where::put(std::vector<test::affine>(3000));
      pmpp::transform(policy, twelve.begin() + a, twelve.begin() + a + n, flipped.begin() + to, flip{});
      const auto got = where::get(sums);
      const auto got_wide = where::get(wide);
      const auto got_flipped = where::get(flipped);
      int wrong = 0;
      for (int i = 0; i < 3000; ++i) {
        const auto k = static_cast<std::size_t>(i), from = static_cast<std::size_t>(i - to + a);
        const bool inside = i >= to && i < to + n;
        wrong += got[k] != (inside ? static_cast<std::uint8_t>(bytes[from] + bytes[from - a + b]) : 0xAB);
        wrong += got_wide[k] != (inside ? static_cast<float>(static_cast<std::uint8_t>(3 * bytes[from])) : -1.0f);
        wrong += got_flipped[k] != (inside ? flip{}(structs[from]) : test::affine{});
      }
      CHECK(wrong == 0);
    }
}

TEST_ALL_PLACES("for_each: every element once, wherever an array begins") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 31, 32, 257, 5000, 70001}))
    for (const std::int64_t begin : {0, 1, 2, 7, 31, 33}) {
      CAPTURE(n);
      CAPTURE(begin);
      std::vector<int> wanted(std::size_t(begin + n + 9), 0);
      auto x = where::put(wanted);
      for (std::int64_t i = begin; i < begin + n; ++i) ++wanted[std::size_t(i)];
      pmpp::for_each(policy, x.begin() + begin, x.begin() + begin + n, add_one_to{});
      CHECK(where::get(x) == wanted);
    }
}

TEST_ALL_PLACES("for_each changes elements in place") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({0, 1, 1000, 100003})) {
    auto data = where::put(std::vector<int>(static_cast<std::size_t>(n), 4));
    CHECK(pmpp::for_each(policy, data, add_one_to{}) == data.end());
    pmpp::for_each(policy, data.begin(), data.end(), add_one_to{});
    const auto got = where::get(data);
    CHECK(std::accumulate(got.begin(), got.end(), std::int64_t(0)) == 6 * n);
  }
}

TEST_ALL_PLACES("fill and iota") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 70001)) {
    auto ints = where::put(std::vector<int>(static_cast<std::size_t>(n) + 2, -1));
    CHECK(pmpp::iota(policy, ints.begin() + 1, ints.begin() + 1 + n, 5) - ints.begin() == n + 1);
    auto bytes = where::put(std::vector<std::uint8_t>(static_cast<std::size_t>(n)));
    pmpp::fill(policy, bytes, 7);
    const auto got = where::get(ints);
    const auto filled = where::get(bytes);
    auto steps = where::put(std::vector<double>(static_cast<std::size_t>(n) + 2, -1));
    CHECK(pmpp::iota(policy, steps.begin() + 1, steps.begin() + 1 + n, 0.5, -0.25) - steps.begin() == n + 1);
    const auto stepped = where::get(steps);
    int wrong = (got.front() != -1) + (got.back() != -1) + (stepped.front() != -1) + (stepped.back() != -1);
    for (std::int64_t i = 0; i < n; ++i)
      wrong += (got[static_cast<std::size_t>(i + 1)] != 5 + i) + (filled[static_cast<std::size_t>(i)] != 7) +
               (stepped[static_cast<std::size_t>(i + 1)] != 0.5 - 0.25 * static_cast<double>(i));
    CAPTURE(n);
    CHECK(wrong == 0);
  }
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<int>(10000, 2));
  for (const int n : test::some_of({0, 1, 999, 10000, 20000})) {
    auto out = where::put(std::vector<int>(10000, -1));
    const auto count = where::put(std::vector<int>{n});
    pmpp::transform(policy, in.begin(), pmpp::device_count{count.data(), 10000}, out, triple{});
    const auto got = where::get(out);
    const std::int64_t used = std::min(n, 10000);
    CHECK(std::accumulate(got.begin(), got.end(), std::int64_t(0)) == 6 * used - (10000 - used));
  }
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  auto a = where::put(std::vector<int>(10, 1));
  auto b = where::put(std::vector<int>(9, 2));
  const int* null = nullptr;
  CHECK_THROWS_AS(pmpp::transform(policy, a, b, triple{}), std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::transform(policy, a, b, triple{}),
                       "pmpp::transform: out has room for 9 elements, needs 10", std::length_error);
  CHECK_THROWS_AS(pmpp::transform(policy, a, b, a, pmpp::plus{}), std::length_error);  // second input too short
  CHECK_THROWS_AS(pmpp::transform(policy, a.begin(), a.end(), b, a, pmpp::plus{}), std::length_error);
  CHECK_THROWS_AS(pmpp::transform(policy, null, null + 3, a, triple{}), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transform(policy, a.end(), a.begin(), b.begin(), triple{}), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::fill(policy, a.end(), a.begin(), 3), std::invalid_argument);
  CHECK(where::get(b) == std::vector<int>(9, 2));
  CHECK(where::get(a) == std::vector<int>(10, 1));
  pmpp::transform(policy, null, null, a, triple{});  // nothing may be null
}
