// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/candidates.hpp) prove of top_k.hpp, on every policy: values and indices are what a stable sort puts in front (so ties
// go to the smaller index), for every k from none to all, every size, element type, comparator and kind of data, also
// such that every element is better than all before it; the input and what lies after the outputs are not touched; NaN
// comes last; lengths that only the device knows; rows of any lengths; a comparator that contradicts itself reads and
// writes nothing outside; bad input throws and touches nothing; a graph takes other data. In the emulator also under
// other orders of blocks and threads.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "support/candidates.hpp"
#include "support/orders.hpp"

namespace {

using test::by_key;
using test::check_rows;
using test::check_top_k;
using test::draw_below;
using test::elements;
using test::order_of;
using test::small;
using test::tagged;
using test::tiny;

}  // namespace

TEST_ALL_PLACES("every k and every size") {
  for (const std::int64_t n : test::some_of({1, 2, 31, 33, 64, 65, 200, 1000, 5000}))
    for (const std::int64_t k :
         test::some_of({std::int64_t(0), std::int64_t(1), std::int64_t(2), std::int64_t(10), std::int64_t(31),
                        std::int64_t(64), std::int64_t(65), std::int64_t(128), n / 2, n - 1, n})) {
      if (k > n) continue;
      const auto v = elements<tagged>(n, [=](std::int64_t) { return draw_below(n / 3 + 1); });
      check_top_k<tiny, where>(v, k, by_key{});
      check_top_k<small, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 20); }), k);
    }
}

TEST_ALL_PLACES("data of every kind") {
  const std::int64_t n = 3000;
  const std::vector<std::function<std::int64_t(std::int64_t)>> kinds{
      [](std::int64_t) { return 7; },
      [](std::int64_t i) { return i; },
      [](std::int64_t i) { return -i; },
      [](std::int64_t i) { return i % 2; },
      [](std::int64_t i) { return i % 97; },
      [](std::int64_t i) { return i == 2999 ? 5 : 0; },
      [](std::int64_t i) { return i < 1500 ? i : 3000 - i; },
  };
  for (const auto& kind : kinds)
    for (const std::int64_t k : test::some_of({1, 5, 60, 64, 700})) {
      check_top_k<tiny, where>(elements<tagged>(n, kind), k, by_key{});
      check_top_k<small, where>(elements<float>(n, kind), k);
    }
}

TEST_ALL_PLACES("NaN comes last, -0.0 after +0.0 under greater, infinities in their places") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> v;
  for (int i = 0; i < 300; ++i) v.push_back(std::vector<float>{nan, infinity, -0.0f, 0.0f, 1.0f, -infinity}[i % 6]);
  auto values = where::put(std::vector<float>(300));
  auto indices = where::put(std::vector<int>(300));
  for (const int k : {60, 300}) {
    const auto data = where::put(v);
    pmpp::top_k<test::tuned<where>(small)>(typename where::policy{}, data, k, values, indices);
    const auto places = where::get(indices);
    const int ranks[6] = {5, 0, 3, 2, 1, 4};
    std::vector<int> wanted(300);
    std::iota(wanted.begin(), wanted.end(), 0);
    std::stable_sort(wanted.begin(), wanted.end(), [&](int i, int j) { return ranks[i % 6] < ranks[j % 6]; });
    CHECK(std::equal(wanted.begin(), wanted.begin() + k, places.begin()));
  }
}

TEST_ALL_PLACES("segments") {
  std::vector<int> tiny_rows{3}, mixed{0, 5, 5, 2000, 2001, 2040, 2140, 2140, 4000};
  for (int i = 0; i < 200; ++i) tiny_rows.push_back(tiny_rows.back() + static_cast<int>(draw_below(9)));
  const std::vector<int> few{1, 4, 4, 5, 37, 70, 70, 300, 509};
  for (const auto& offsets :
       {tiny_rows, mixed, few, std::vector<int>{0, 3000}, std::vector<int>{2, 2}, std::vector<int>{0}})
    for (const std::int64_t k : test::some_of({0, 1, 3, 12, 40, 64, 100, 2500})) {
      const std::int64_t n = offsets.back() + 2;
      check_rows<tiny, where>(elements<tagged>(n, [](std::int64_t) { return draw_below(40); }), offsets, k, by_key{});
      check_rows<small, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 20); }), offsets, k);
    }
}

TEST_ALL_PLACES("segments of which some are long, of data of every kind") {
  for (int turn = 0; turn < test::turns(10); ++turn) {
    std::vector<int> offsets{static_cast<int>(draw_below(5))};
    const std::int64_t segments = 1 + draw_below(12), longest = turn % 3 == 0 ? 9000 : 2500;
    for (std::int64_t s = 0; s < segments; ++s)
      offsets.push_back(offsets.back() + static_cast<int>(draw_below(draw_below(3) == 0 ? longest : 50)));
    offsets.push_back(offsets.back() + 1200);  // past the longest that the first launch takes
    const auto v = test::kind_of_data<float>(turn % 7, offsets.back() + 3);
    for (const std::int64_t k : {std::int64_t(1), 1 + draw_below(30), 30 + draw_below(226)})
      check_rows<small, where>(v, offsets, k);
  }
}

TEST_ALL_PLACES("a length that the device knows") {
  const auto v = elements<float>(2000, [](std::int64_t) { return draw_below(1 << 20); });
  const auto data = where::put(v);
  for (const std::int64_t n : {0, 3, 900, 2000})
    for (const std::int64_t k : {4, 200}) {
      const auto length = where::put(std::vector<std::int64_t>{n});
      auto values = where::put(std::vector<float>(200, -1));
      auto indices = where::put(std::vector<int>(200, -1));
      pmpp::top_k<test::tuned<where>(small)>(typename where::policy{}, data.begin(),
                                             pmpp::device_count{length.data(), std::int64_t(2000)}, k, values, indices);
      const auto order = order_of(v, 0, n, pmpp::greater{});
      const auto got = where::get(indices);
      bool ok = true;
      for (std::size_t i = 0; i < 200; ++i)
        ok = ok && got[i] == (i < order.size() && static_cast<std::int64_t>(i) < k ? order[i] : -1);
      CAPTURE(n);
      CAPTURE(k);
      CHECK(ok);
    }
}

TEST_ALL_PLACES("bad input") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(small);
  const auto data = where::put(std::vector<float>{3, 2, 1});
  const auto offsets = where::put(std::vector<int>{0, 3}), none = where::put(std::vector<int>{});
  auto values = where::put(std::vector<float>{9, 9});
  auto indices = where::put(std::vector<int>{9, 9});
  CHECK_THROWS_AS(pmpp::top_k<tuning>(policy, data, 4, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k<tuning>(policy, data, -1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k<tuning>(policy, data, 3, values, indices), std::length_error);
  CHECK_THROWS_AS(pmpp::top_k<tuning>(policy, data.end(), data.begin(), 0, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k<tuning>(policy, data, 2, values, static_cast<int*>(nullptr)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k<tuning>(policy, data, none, 1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k<tuning>(policy, data, offsets, -1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k<tuning>(policy, data, offsets, 3, values, indices), std::length_error);
  CHECK(where::get(values) == std::vector<float>{9, 9});
  CHECK(where::get(indices) == std::vector<int>{9, 9});
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(4, [&](std::uint64_t) {
    const auto v = elements<tagged>(2000, [](std::int64_t) { return draw_below(40); });
    check_top_k<tiny, test::device_place>(v, 20, by_key{});
    check_rows<tiny, test::device_place>(v, {0, 100, 101, 1500, 2000}, 20, by_key{});
    const auto w = elements<float>(5500, [](std::int64_t) { return draw_below(4000); });
    for (const std::int64_t k : {1, 20}) check_rows<small, test::device_place>(w, {0, 100, 2101, 3500, 5500}, k);
  });
}
#endif
