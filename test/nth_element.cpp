// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of nth_element.hpp, on every policy: the element of a sort is at its place and nothing is on the wrong
// side, none is lost, for every size, place and distribution, also where the sample was made to mislead; numbers are in the order of
// sort (NaN last); other elements and comparators; lengths that only the device knows; a graph; bad input throws.
#include <pmpp/nth_element.hpp>
#include <pmpp/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <pmpp/find.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/transform.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr pmpp::nth_element_tuning small = {.sort_up_to = 25, .sort_up_to_host = 100, .sample = 256};

struct by_tens {
  PMPP_HOST_DEVICE bool operator()(int x, int y) const { return x / 10 < y / 10; }
};
struct by_first_word {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x.words[0] < y.words[0];
  }
};

/// Whether `found` has the elements of `given` in an order that is right around place nth.
template <class T, class Comp, class All>
void check_nth(std::vector<T> found, std::vector<T> given, std::int64_t nth, Comp comp, All all) {
  REQUIRE(found.size() == given.size());
  std::stable_sort(given.begin(), given.end(), comp);
  const auto at = found.begin() + nth;
  if (at != found.end()) {
    const T wanted = given[std::size_t(nth)], x = *at;
    CHECK(!comp(x, wanted));
    CHECK(!comp(wanted, x));
    CHECK(std::none_of(found.begin(), at, [&](const T& y) { return comp(x, y); }));
    CHECK(std::none_of(at, found.end(), [&](const T& y) { return comp(y, x); }));
  }
  std::sort(found.begin(), found.end(), all);
  std::sort(given.begin(), given.end(), all);
  CHECK(found == given);
}

std::vector<int> data_of(int kind, std::int64_t n) {
  std::vector<int> v = test::random_values<int>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    int& x = v[std::size_t(i)];
    if (kind == 1) x = 7;
    if (kind == 2) x &= 1;
    if (kind == 3) x = int(i);
    if (kind == 4) x = int(n - i);
    if (kind == 5) x = int(std::min(i, n - i));
  }
  return v;
}

}  // namespace

TEST_ALL_PLACES("nth_element") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 33, 101, 3000, 20011}))
    for (int kind = 0; kind < 6; ++kind)
      for (const std::int64_t nth : {std::int64_t(0), n / 50, n / 3, n / 2, n - 1, n}) {
        if (nth < 0) continue;
        CAPTURE(n);
        CAPTURE(kind);
        CAPTURE(nth);
        const auto v = data_of(kind, n);
        auto x = where::put(v);
        pmpp::nth_element<small>(policy, x, x.begin() + nth);
        check_nth(where::get(x), v, nth, std::less<>{}, std::less<>{});
      }
}

TEST_ALL_PLACES("nth_element: a sample that misleads") {
  const typename where::policy policy{};
  const std::int64_t n = 9000;
  for (const int sampled : {-1, 1})
    for (const std::int64_t nth : {std::int64_t(0), n / 5, n / 2, n - 1}) {
      std::vector<int> v(std::size_t(n), 0), places(std::size_t(n), 0);
      std::iota(places.begin(), places.end(), 0);
      for (std::int64_t i = 0; i < n; ++i) v[std::size_t(i)] = int(i * 7919 % n);
      const pmpp::detail::take_sample<const int*> sample{places.data(), {n}, small.sample};
      for (std::int64_t i = 0; i < small.sample; ++i) v[std::size_t(sample(i))] += sampled * 100000;
      auto x = where::put(v);
      pmpp::nth_element<small>(policy, x.begin(), x.begin() + nth, x.end());
      check_nth(where::get(x), v, nth, std::less<>{}, std::less<>{});
    }
}

TEST_ALL_PLACES("nth_element: other elements and comparators") {
  const typename where::policy policy{};
  const std::int64_t n = 4000;
  const auto v = test::random_values<int>(n);
  std::vector<float> f = test::random_values<float>(n);
  for (std::size_t i = 0; i < f.size(); i += 7) f[i] = i % 2 == 0 ? -0.0f : std::numeric_limits<float>::quiet_NaN();
  std::vector<test::record<12, 4>> r;
  for (int i = 0; i < n; ++i) r.push_back(test::element<test::record<12, 4>>(i * 31 % 50, unsigned(i)));
  for (const std::int64_t nth : {std::int64_t(70), n / 2, n - 1}) {
    auto x = where::put(v);
    pmpp::nth_element<small>(policy, x, x.begin() + nth, by_tens{});
    check_nth(where::get(x), v, nth, by_tens{}, std::less<>{});
    auto y = where::put(f);
    pmpp::nth_element<small>(policy, y.begin() + 1, y.begin() + nth, y.end(), pmpp::greater{});
    auto got = where::get(y);
    const auto last = [](float a, float b) { return std::isnan(a) ? false : std::isnan(b) ? true : a > b; };
    CHECK(std::none_of(got.begin() + 1, got.begin() + nth, [&](float a) { return last(got[std::size_t(nth)], a); }));
    CHECK(std::none_of(got.begin() + nth, got.end(), [&](float a) { return last(a, got[std::size_t(nth)]); }));
    CHECK(std::count_if(got.begin(), got.end(), [](float a) { return std::isnan(a); }) ==
          std::count_if(f.begin(), f.end(), [](float a) { return std::isnan(a); }));
    auto z = where::put(r);
    pmpp::nth_element<small>(policy, z, z.begin() + nth, by_first_word{});
    check_nth(where::get(z), r, nth, by_first_word{}, [](const auto& a, const auto& b) {
      return std::lexicographical_compare(a.words, a.words + 3, b.words, b.words + 3);
    });
  }
}

TEST_ALL_PLACES("partial_sort") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 50, 1000, 20011}))
    for (const std::int64_t middle : {std::int64_t(0), n / 50, n / 2, n - n / 10, n}) {
      const auto v = test::random_values<int>(n);
      auto wanted = v;
      std::sort(wanted.begin(), wanted.end());
      auto x = where::put(v);
      pmpp::partial_sort<small>(policy, x, x.begin() + middle);
      auto got = where::get(x);
      CHECK(std::equal(got.begin(), got.begin() + middle, wanted.begin()));
      std::sort(got.begin(), got.end());
      CHECK(got == wanted);
      auto y = where::put(v);
      pmpp::partial_sort<small>(policy, y.begin(), y.begin() + middle, y.end(), by_tens{});
      got = where::get(y);
      for (std::int64_t i = 0; i < middle; ++i) CHECK(got[std::size_t(i)] / 10 == wanted[std::size_t(i)] / 10);
    }
}

TEST_CASE("nth_element, partial_sort: lengths on the device, and a graph") {
  const std::int64_t n = 5000, bound = 8000;
  const auto v = test::random_values<int>(bound);
  const pmpp::device_buffer<std::int64_t> length(std::vector<std::int64_t>{n});
  const pmpp::device_count count{length.data(), bound};
  const auto check = [&](const pmpp::device_buffer<int>& x, std::int64_t nth) {
    const auto got = pmpp::to_host(x);
    CHECK(std::equal(got.begin() + n, got.end(), v.begin() + n));
    check_nth(std::vector<int>(got.begin(), got.begin() + n), std::vector<int>(v.begin(), v.begin() + n), nth,
              std::less<>{}, std::less<>{});
  };
  for (const std::int64_t nth : {std::int64_t(5), n / 2, n - 1}) {
    pmpp::device_buffer<int> x(v), y(v);
    pmpp::nth_element<small>(device, x.begin(), x.begin() + nth, count);
    check(x, nth);
    pmpp::partial_sort<small>(device, y.begin(), y.begin() + nth, count);
    const auto got = pmpp::to_host(y);
    CHECK(std::is_sorted(got.begin(), got.begin() + nth));
    check(y, nth);
  }
#if PMPP_CUDA
  const pmpp::stream stream;
  pmpp::workspace memory;
  const auto where = device.on(stream).with(memory);
  pmpp::device_buffer<int> x(v);
  pmpp::nth_element<small>(where, x.begin(), x.begin() + 9, count);  // the workspace grows
  const test::captured_graph graph(stream,
                                   [&] { pmpp::nth_element<small>(where, x.begin(), x.begin() + n / 2, count); });
  for (int turn = 0; turn < 2; ++turn) {
    pmpp::copy(stream, v, x);
    graph.replay();
    stream.synchronize();
    check(x, n / 2);
  }
#endif
}

#if PMPP_CUDA
namespace {
struct scrambled {
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const {
    return static_cast<int>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u >> 34);
  }
};
struct exceeds {
  int x;
  PMPP_HOST_DEVICE bool operator()(int y) const { return y > x; }
};
}  // namespace

TEST_CASE("past 2^31 elements") {
  const std::int64_t n = (std::int64_t(1) << 31) + 12345, nth = (std::int64_t(1) << 31) + 77;
  pmpp::device_buffer<int> x(n);
  pmpp::transform(device, pmpp::counting_iterator<std::int64_t>(0), pmpp::counting_iterator<std::int64_t>(n), x.data(),
                  scrambled{});
  const auto sum = pmpp::reduce(device, x, std::int64_t{0});
  pmpp::nth_element(device, x, x.begin() + nth);
  int wanted = 0;
  pmpp::check(cudaMemcpy(&wanted, x.data() + nth, sizeof(int), cudaMemcpyDefault), "cudaMemcpy");
  CHECK(pmpp::count_if(device, x, exceeds{wanted}) <= n - 1 - nth);
  CHECK(!pmpp::any_of(device, x.data(), x.data() + nth, exceeds{wanted}));
  CHECK(!pmpp::any_of(device, x.data() + nth, x.data() + n, [wanted] PMPP_HOST_DEVICE(int y) { return y < wanted; }));
  CHECK(pmpp::reduce(device, x, std::int64_t{0}) == sum);
}
#endif

TEST_ALL_PLACES("nth_element, partial_sort: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{3, 1, 2});
  CHECK_THROWS_WITH_AS(pmpp::nth_element(policy, x.begin(), x.begin() + 4, x.end()),
                       doctest::Contains("nth_element: nth is 4 after the first of 3 elements"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::partial_sort(policy, x.begin() + 1, x.begin(), x.end()),
                       doctest::Contains("partial_sort: middle is -1 after the first of 2 elements"),
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::nth_element(policy, x.end(), x.begin(), x.begin()), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(x) == std::vector<int>{3, 1, 2});
}
