// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/projected.hpp and of sorts by a projection, on every policy: members and functions of elements, of
// small elements (by digits) and large ones (merged); several members, in one word and in two, with NaN and zeros of both signs;
// equals keep their order; argsort, sort_by_key; extremes, bounds, merge, unique_copy, nth_element and top_k by a projection, and by
// a projected comparator.
#include <pmpp/sort.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <pmpp/merge.hpp>
#include <pmpp/nth_element.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/search.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort_copy.hpp>
#include <pmpp/top_k.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::greater;
using pmpp::less;
using pmpp::members;

namespace {

struct point {
  float x;
  std::int16_t cell;
  std::uint16_t place;
  std::int64_t time;
};
struct large {
  int key;
  float rest[7];
};
struct remainder_of_ten {
  template <class T>
  PMPP_HOST_DEVICE int operator()(const T& p) const {
    return p.place % 10;
  }
};

std::vector<point> points(std::int64_t n) {
  const auto a = test::random_values<int>(n), b = test::random_values<int>(n);
  std::vector<point> v;
  for (std::int64_t i = 0; i < n; ++i) {
    const int k = a[std::size_t(i)], m = b[std::size_t(i)];
    const float x = k % 7 == 0 ? std::numeric_limits<float>::quiet_NaN() : k % 7 == 1 ? -0.0f : float(k % 5);
    v.push_back({x, std::int16_t(m % 6 - 3), std::uint16_t(i % 65536), (k % 3 - 1) * (std::int64_t(1) << 40)});
  }
  return v;
}
/// The order of numbers that sort promises.
int rank(float a, float b) {
  const auto place = [](float x) { return std::isnan(x) ? 2 : 1; };
  if (place(a) != place(b)) return place(a) - place(b);
  if (std::isnan(a)) return 0;
  if (a != b) return a < b ? -1 : 1;
  return int(std::signbit(b)) - int(std::signbit(a));
}
std::vector<int> places_of(const std::vector<point>& v) {
  std::vector<int> p;
  for (const point& x : v) p.push_back(x.place);
  return p;
}

enum class calls { both, sort, argsort };

template <class where, calls Which, class Comp, class Proj, class Before>
void check_sorted(std::int64_t n, Comp comp, Proj proj, Before before) {
  CAPTURE(n);
  const typename where::policy policy{};
  auto v = points(n);
  const auto unsorted = v;
  std::stable_sort(v.begin(), v.end(), before);
  if constexpr (Which != calls::sort) {
    auto index = where::put(std::vector<int>(v.size()));
    pmpp::argsort(policy, where::input(unsorted), index, comp, proj);
    CHECK(where::get(index) == places_of(v));
  }
  if constexpr (Which != calls::argsort) {
    auto x = where::put(unsorted);
    pmpp::sort(policy, x, comp, proj);
    CHECK(places_of(where::get(x)) == places_of(v));
  }
}

}  // namespace

TEST_ALL_PLACES("sort by a projection") {
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 100, 3000, 40000})) {
    check_sorted<where, calls::sort>(n, less{}, &point::x,
                                     [](const point& a, const point& b) { return rank(a.x, b.x) < 0; });
    check_sorted<where, calls::sort>(n, greater{}, &point::cell,
                                     [](const point& a, const point& b) { return a.cell > b.cell; });
    check_sorted<where, calls::argsort>(n, less{}, remainder_of_ten{},
                                        [](const point& a, const point& b) { return a.place % 10 < b.place % 10; });
  }
}

TEST_ALL_PLACES("sort by members") {
  const auto both = [](const point& a, const point& b) {
    return a.cell != b.cell ? a.cell < b.cell : rank(a.x, b.x) < 0;
  };
  const auto three = [=](const point& a, const point& b) { return a.time != b.time ? a.time < b.time : both(a, b); };
  for (const std::int64_t n : test::some_of<std::int64_t>({1, 100, 3000, 40000})) {
    check_sorted<where, calls::argsort>(n, less{}, members<&point::cell, &point::x>{}, both);
    check_sorted<where, calls::both>(n, greater{}, members<&point::time, &point::cell, &point::x>{},
                                     [=](const point& a, const point& b) { return three(b, a); });
  }
}

TEST_ALL_PLACES("projections of other calls") {
  const typename where::policy policy{};
  std::vector<large> v(static_cast<std::size_t>(test::up_to(3001)));
  const auto n = std::int64_t(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = {int(i * 7919 % v.size() / 3), {float(i)}};
  auto sorted = v;
  const auto before = [](const large& a, const large& b) { return a.key < b.key; };
  std::stable_sort(sorted.begin(), sorted.end(), before);
  const auto numbers = [](const std::vector<large>& x) {  // which elements these are
    std::vector<float> f;
    for (const large& e : x) f.push_back(e.rest[0]);
    return f;
  };
  const auto given = where::input(v);
  const auto index_of = [&](const auto& it) { return it - given.begin(); };

  const auto least = std::min_element(v.begin(), v.end(), before), most = std::max_element(v.begin(), v.end(), before);
  CHECK(index_of(pmpp::min_element(policy, given, less{}, &large::key)) == least - v.begin());
  CHECK(index_of(pmpp::max_element(policy, given.begin(), given.end(), less{}, &large::key)) == most - v.begin());
  CHECK(index_of(pmpp::minmax_element(policy, given, greater{}, &large::key).second) == least - v.begin());
  auto place = where::put(std::vector<int>{-1});
  pmpp::max_element_into(policy, given, place, less{}, &large::key);
  CHECK(where::get(place)[0] == most - v.begin());

  auto half = where::put(v);
  const auto copy = where::input(sorted);
  CHECK(pmpp::is_sorted(policy, copy, less{}, &large::key));
  CHECK(!pmpp::is_sorted(policy, given, less{}, &large::key));
  pmpp::nth_element(policy, half, half.begin() + n / 2, less{}, &large::key);
  CHECK(where::get(half)[std::size_t(n / 2)].key == sorted[std::size_t(n / 2)].key);

  // Values are of the projection's type, which is another than the elements'.
  std::vector<int> sought(100), wanted;
  for (std::size_t i = 0; i < sought.size(); ++i) {
    sought[i] = int(i * 37 % 1500) - 10;
    wanted.push_back(
        int(std::partition_point(sorted.begin(), sorted.end(), [&](const large& x) { return x.key < sought[i]; }) -
            sorted.begin()));
  }
  auto places = where::put(std::vector<int>(sought.size()));
  CHECK(pmpp::lower_bound(policy, copy, where::input(sought), places, less{}, &large::key) == places.end());
  CHECK(where::get(places) == wanted);

  auto merged = where::put(std::vector<large>(2 * v.size()));
  CHECK(pmpp::merge(policy, copy, copy, merged, less{}, &large::key) == merged.end());
  auto twice = sorted;
  twice.insert(twice.end(), sorted.begin(), sorted.end());
  std::stable_sort(twice.begin(), twice.end(), before);
  CHECK(numbers(where::get(merged)) == numbers(twice));

  auto first = where::put(v);
  const auto kept = pmpp::unique_copy(policy, merged, first, pmpp::equal_to{}, &large::key) - first.begin();
  sorted.erase(std::unique(sorted.begin(), sorted.end(), [](const large& a, const large& b) { return a.key == b.key; }),
               sorted.end());
  auto got = numbers(where::get(first));
  got.resize(static_cast<std::size_t>(kept));
  CHECK(got == numbers(sorted));
}

TEST_ALL_PLACES("sort_copy and top_k by a projection") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({1, 100, 30000})) {
    const auto v = points(n);
    const std::int64_t k = std::min<std::int64_t>(n, 20);
    auto sorted = v;
    std::stable_sort(sorted.begin(), sorted.end(), [](const point& a, const point& b) { return a.cell > b.cell; });
    sorted.resize(static_cast<std::size_t>(k));
    auto best = where::put(std::vector<point>(sorted.size()));
    auto index = where::put(std::vector<int>(sorted.size()));
    const auto given = where::input(v);
    auto copy = where::put(v);
    CHECK(pmpp::sort_copy(policy, given, copy, greater{}, &point::cell) == copy.end());
    auto first = places_of(where::get(copy));
    first.resize(sorted.size());
    CHECK(first == places_of(sorted));
    pmpp::top_k(policy, given, k, best, index, greater{}, &point::cell);
    CHECK(places_of(where::get(best)) == places_of(sorted));
    CHECK(where::get(index) == places_of(sorted));
  }
}

TEST_ALL_PLACES("projected comparators elsewhere") {
  const typename where::policy policy{};
  std::vector<large> v(3000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = {int(i * 7919 % 3001), {float(i)}};
  const pmpp::projected by_key{less{}, &large::key};
  auto x = where::put(v);
  const auto given = where::input(v);
  CHECK(pmpp::min_element(policy, given, by_key) - given.begin() == 0);
  CHECK(!pmpp::is_sorted(policy, given, by_key));
  pmpp::nth_element(policy, x, x.begin() + 100, by_key);
  pmpp::sort(policy, x, less{}, &large::key);
  CHECK(pmpp::is_sorted(policy, x, by_key));
  std::stable_sort(v.begin(), v.end(), [](const large& a, const large& b) { return a.key < b.key; });
  const auto got = where::get(x);
  CHECK(std::equal(v.begin(), v.end(), got.begin(), [](const large& a, const large& b) { return a.key == b.key; }));
  auto place = where::put(std::vector<int>{-1});
  pmpp::lower_bound(policy, x, where::input(std::vector<large>{v[77]}), place, by_key);
  CHECK(where::get(place)[0] == 77);
  auto keys = where::put(v), values = where::put(v);
  pmpp::sort_by_key(policy, keys, values, greater{}, &large::key);
  CHECK(where::get(values)[0].key == v.back().key);
}
