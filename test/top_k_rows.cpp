// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of the selection of numbers in top_k.hpp, with small tunings so that every way is taken: rows of equal
// length (batched_top_k) at every k, also one element and none; rows that begin at any address; every way of one row: one
// block, several, a list that is sorted, all sorted, parts of a row that is too long for its keys; data against a sample:
// sorted either way, constant, few values, keys with the same first digits, and data that hide the best elements from the
// sample, so that the last launch reads the row again; elements through a transform_iterator; bad input throws. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "support/candidates.hpp"
#include "support/orders.hpp"

namespace {

using test::draw_below;
using test::elements;
using test::order_of;
using test::small;
using test::tiny;

/// Rows of `length` elements, from element `from` of an array on.
template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_batch(const std::vector<T>& v, std::int64_t length, std::int64_t k, Comp comp = {}, std::int64_t from = 0) {
  const auto data = where::put(v);
  const std::int64_t rows = length == 0 ? 0 : (static_cast<std::int64_t>(v.size()) - from) / length;
  const auto places = static_cast<std::size_t>(rows * k);
  auto values = where::put(test::copies(places, T{}));
  using index = std::conditional_t<sizeof(T) == 8, std::int64_t, int>;
  auto indices = where::put(std::vector<index>(places, -7));
  pmpp::batched_top_k<test::tuned<where>(Tuning)>(typename where::policy{}, data.begin() + from, data.end(), length, k,
                                                  values, indices, comp);
  const auto got = where::get(values);
  const auto got_places = where::get(indices);
  bool ok = true;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto order = order_of(v, from + row * length, from + (row + 1) * length, comp);
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::size_t>(row * k + i);
      const auto place = order[static_cast<std::size_t>(i)];
      ok = ok && got_places[at] == place && got[at] == v[static_cast<std::size_t>(from + row * length + place)];
    }
  }
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(k);
  CAPTURE(from);
  CAPTURE(test::seed());
  CHECK(ok);
}

}  // namespace

TEST_ALL_PLACES("rows of equal length") {
  for (const std::int64_t length : test::some_of({1, 2, 31, 64, 65, 256, 257, 301, 999, 1501}))
    for (const std::int64_t rows : {1, 3, 7})
      for (const std::int64_t k :
           test::some_of({std::int64_t(0), std::int64_t(1), std::int64_t(2), std::int64_t(7), std::int64_t(64),
                          std::int64_t(65), std::int64_t(128), std::int64_t(129), length / 4, length / 2, length})) {
        if (k > length) continue;
        const std::int64_t from = draw_below(4), n = rows * length + from;
        check_batch<tiny, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 20); }), length, k,
                                 pmpp::greater{}, from);
        check_batch<tiny, where>(elements<std::uint8_t>(n, [](std::int64_t) { return draw_below(200); }), length, k,
                                 pmpp::less{}, from);
        check_batch<tiny, where>(elements<std::int64_t>(n, [](std::int64_t) { return draw_below(60) - 30; }), length, k,
                                 pmpp::less{}, from);
      }
  check_batch<tiny, where>(std::vector<float>{}, 0, 0);
  check_batch<tiny, where>(elements<test::tagged>(700, [](std::int64_t) { return draw_below(20); }), 100, 9,
                           test::by_key{});
}

TEST_ALL_PLACES("short rows, few and many: a warp for each") {
  const std::int64_t many = 8 * (PMPP_CUDA ? 132 : 8) + 3;  // for each multiprocessor more than eight
  for (const std::int64_t rows : {std::int64_t(5), many})
    for (const std::int64_t length : test::some_of({1, 8, 32, 33, 100, 256, 257, 512, 513}))
      for (const std::int64_t k : test::some_of<std::int64_t>({1, 2, 16, 17, 33, 64, 65})) {
        if (k > length || (rows == many && length > 256 && k > 2)) continue;
        const std::int64_t from = draw_below(4), n = rows * length + from;
        const auto few_values = [](std::int64_t) { return draw_below(20); };
        check_batch<pmpp::top_k_tuning{}, where>(elements<float>(n, few_values), length, k, pmpp::greater{}, from);
        if (rows == many && length > 33) continue;
        check_batch<pmpp::top_k_tuning{}, where>(elements<std::uint64_t>(n, few_values), length, k, pmpp::less{}, from);
        check_batch<pmpp::top_k_tuning{}, where>(
            elements<std::uint8_t>(n, [](std::int64_t) { return 250 + draw_below(6); }), length, k, pmpp::less{}, from);
      }
}

TEST_ALL_PLACES("the first of equals, wherever rows begin") {
  for (const std::int64_t from : {0, 1, 3})
    for (const std::int64_t length : {1001, 3000}) {
      const auto equal = [](std::int64_t) { return std::int64_t(7); };
      check_batch<tiny, where>(elements<float>(3 * length + from, equal), length, 1, pmpp::greater{}, from);
      check_batch<tiny, where>(elements<std::uint8_t>(length + from, equal), length, 1, pmpp::less{}, from);
      check_batch<tiny, where>(elements<std::int64_t>(2 * length + from, equal), length, 1, pmpp::less{}, from);
    }
}

TEST_ALL_PLACES("every way of one row, and data against a sample") {
  const std::int64_t n = 7001;
  const std::vector<std::function<std::int64_t(std::int64_t)>> kinds{
      [](std::int64_t) { return draw_below(1 << 20); },
      [](std::int64_t) { return 7; },
      [](std::int64_t i) { return i; },
      [](std::int64_t i) { return -i; },
      [](std::int64_t i) { return i % 8; },
      [](std::int64_t i) { return i == 2999 ? 5 : 0; },
      [](std::int64_t) { return (1 << 20) + draw_below(16); },
      [](std::int64_t i) { return i < 3500 ? i : 7000 - i; },
  };
  for (const auto& kind : kinds)
    for (const std::int64_t k : test::some_of({1, 2, 30, 64, 65, 128, 129, 256, 257, 400, 2400, 5000, 7001})) {
      const auto v = elements<float>(n, kind);
      test::check_top_k<tiny, where>(v, k);
      const std::int64_t from = draw_below(5);
      if (k <= n - from) test::check_top_k<small, where>(v, k, pmpp::greater{}, from);
    }
}

TEST_ALL_PLACES("the worst codes there are") {
  for (const std::int64_t k : {1, 5, 40})
    for (const std::int64_t n : {64, 1700}) {
      test::check_top_k<tiny, where>(std::vector<std::uint8_t>(static_cast<std::size_t>(n), std::uint8_t(255)), k,
                                     pmpp::less{});
      test::check_top_k<tiny, where>(
          std::vector<std::int64_t>(static_cast<std::size_t>(n), std::numeric_limits<std::int64_t>::max()), k,
          pmpp::less{});
    }
}

namespace {
struct halved {
  PMPP_HOST_DEVICE float operator()(int x) const { return static_cast<float>(x / 2); }
};
}  // namespace

TEST_ALL_PLACES("elements that are computed") {
  const auto v = elements<int>(3000, [](std::int64_t) { return draw_below(1 << 12); });
  const auto data = where::put(v);
  const auto halves = elements<float>(3000, [&](std::int64_t i) { return v[static_cast<std::size_t>(i)] / 2; });
  for (const std::int64_t k : {1, 20, 300}) {
    auto values = where::put(std::vector<float>(300));
    auto indices = where::put(std::vector<int>(300));
    const auto in = pmpp::transform_iterator(data.begin() + 1, halved{});
    pmpp::top_k<test::tuned<where>(tiny)>(typename where::policy{}, in, in + 2999, k, values, indices, pmpp::less{});
    const auto order = order_of(halves, 1, 3000, pmpp::less{});
    CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin()));
  }
}

TEST_ALL_PLACES("a batch that cannot be") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(tiny);
  const auto data = where::put(std::vector<float>{3, 2, 1, 4});
  auto values = where::put(std::vector<float>{9, 9});
  auto indices = where::put(std::vector<int>{9, 9});
  CHECK_THROWS_AS(pmpp::batched_top_k<tuning>(policy, data, 3, 1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::batched_top_k<tuning>(policy, data, 0, 0, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::batched_top_k<tuning>(policy, data, -2, 1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::batched_top_k<tuning>(policy, data, 2, 3, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::batched_top_k<tuning>(policy, data, 2, 2, values, indices), std::length_error);
  CHECK(where::get(indices) == std::vector<int>{9, 9});
}

// The sample reads the places that sample_plan says. Here these hold the best elements of all, or the worst: so many
// elements come after the limit that there are too few, or hardly any.
template <pmpp::top_k_tuning Tuning>
void check_against_sample(std::int64_t n, int clusters, int better = 1 << 20) {
  for (const int sampled : {1000, -1000}) {
    auto v = elements<float>(n, [](std::int64_t) { return draw_below(500); });
    const pmpp::detail::sample_plan plan(n, 20, clusters, clusters, clusters, 8);
    for (int c = 0; c < std::min(better, clusters); ++c)
      for (int j = 0; j < (sampled > 0 ? 1 : plan.width); ++j)
        v[static_cast<std::size_t>(plan.place(c) + j)] = static_cast<float>(sampled + c % 10);
    for (const std::int64_t k : {2, 9, 31, 100, 187}) test::check_top_k<Tuning, test::device_place>(v, k);
    if (n > Tuning.longest_row) continue;
    // Past the room of a block: the row alone, and between others, in the list of all three of which it alone has too few.
    for (const std::int64_t k : {300, 420}) {
      test::check_top_k<Tuning, test::device_place>(v, k);
      auto rows = elements<float>(3 * n, [](std::int64_t) { return draw_below(500); });
      std::copy(v.begin(), v.end(), rows.begin() + n);
      check_batch<Tuning, test::device_place>(rows, n, k);
    }
  }
}
TEST_CASE("data made against the sample") {
  for (const int clusters : {32, 64, 128, 256, 512, 1024}) check_against_sample<tiny>(3000 + 8, clusters);
  for (const int clusters : {64, 128, 256, 512, 1024}) check_against_sample<small>(10000, clusters);
  check_against_sample<small>(1000, 128);  // by one block
  for (const int clusters : {32, 64, 128, 256}) check_against_sample<tiny>(1990, clusters);
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(4, [&](std::uint64_t) {
    const auto v = elements<float>(3000, [](std::int64_t) { return draw_below(40); });
    for (const std::int64_t k : {1, 20, 100}) test::check_top_k<tiny, test::device_place>(v, k);
    check_batch<tiny, test::device_place>(v, 500, 20);
    check_batch<tiny, test::device_place>(v, 500, 1);
  });
}
#endif
