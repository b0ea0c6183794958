// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of top_k.hpp, on every policy: in any order the values and indices are the same set as in order, also for
// so many that they are parted; partial_sort_copy writes what a sort puts in front, for outputs shorter and longer than the input.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "support/candidates.hpp"

namespace {

constexpr pmpp::top_k_tuning parting = {.threads = 64,
                                        .large_threads = 64,
                                        .short_threads = 32,
                                        .loads = 1,
                                        .sample_part = 8,
                                        .short_row = 100,
                                        .one_block = 1100,
                                        .held = 0,
                                        .sorting = test::never_sorted,
                                        .parting = {.sort_up_to = 270, .sort_up_to_host = 270, .sample = 128}};

template <class where, class T>
void check_any_order() {
  const std::int64_t n = 12000;
  for (const int values : {5, 100000})
    for (const std::int64_t k : test::some_of<std::int64_t>({0, 10, 200, 300, 600, 5000, n})) {
      const auto v = test::elements<T>(n, [=](std::int64_t) { return test::draw_below(values); });
      const auto data = where::input(v);
      auto found = where::put(std::vector<T>(std::size_t(k) + 1, T(-5)));
      auto indices = where::put(std::vector<int>(std::size_t(k) + 1, -5));
      constexpr auto tuning = test::tuned<where>(parting);
      pmpp::top_k<tuning>(typename where::policy{}, data, k, found, indices, pmpp::greater{}, pmpp::any_order{});
      auto places = where::get(indices);
      const auto got = where::get(found);
      CAPTURE(sizeof(T));
      CAPTURE(values);
      CAPTURE(k);
      CHECK(places.back() == -5);
      places.pop_back();
      bool ok = true;
      for (std::size_t i = 0; i < places.size(); ++i) ok = ok && got[i] == v[std::size_t(places[i])];
      CHECK(ok);
      auto wanted = test::order_of(v, 0, n, std::greater<>{});
      wanted.resize(std::size_t(k));
      std::sort(wanted.begin(), wanted.end());
      std::sort(places.begin(), places.end());
      CHECK(std::equal(places.begin(), places.end(), wanted.begin(), wanted.end()));
    }
}

}  // namespace

TEST_ALL_PLACES("top_k in any order") { check_any_order<where, float>(); }

TEST_ALL_PLACES("partial_sort_copy") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(parting);
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 900, 9000}))
    for (const std::int64_t room : {std::int64_t(0), n / 20, n / 2, n, n + 3}) {
      const auto v = test::elements<float>(n, [](std::int64_t) { return test::draw_below(300); });
      const auto data = where::input(v);
      auto out = where::put(std::vector<float>(std::size_t(room), -5));
      auto wanted = v;
      std::sort(wanted.begin(), wanted.end());
      wanted.resize(std::size_t(room), -5);
      CHECK(pmpp::partial_sort_copy<tuning>(policy, data, out) - out.begin() == std::min(n, room));
      CHECK(where::get(out) == wanted);
      if (room > 0)
        CHECK_THROWS_WITH_AS(pmpp::partial_sort_copy<tuning>(policy, data.end(), data.end() - 1, out),
                             doctest::Contains("partial_sort_copy: the input ends before it begins"),
                             std::invalid_argument);
    }
}
