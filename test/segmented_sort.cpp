// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/segments.hpp) prove of segmented_sort.hpp, on every policy: each segment is
// what std::stable_sort makes of it (so it is sorted, a permutation, and stable) for every law of lengths (all one, all
// empty but one, a giant among tiny ones, ends at the edges of windows and tiles), every element type, comparator and kind
// of data; what lies in no segment is not touched; offsets of any integer type, also such that only the device knows their
// number; values stay with their keys; NaN comes last; a comparator that contradicts itself reads and writes nothing
// outside; bad input throws and touches nothing; a workspace serves any number of calls, and a graph other data. In the
// emulator also under other orders of blocks and threads.
#include <pmpp/segmented_sort.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>

#include "support/monoids.hpp"
#include "support/orders.hpp"
#include "support/segments.hpp"

namespace {

using test::by_both;
using test::by_key;
using test::by_last_part;
using test::check_laws;
using test::check_segments;
using test::contradicting;
using test::draw;
using test::draw_below;
using test::elements;
using test::lengths;
using test::offsets_of;
using test::tagged;
using test::triple;

// A tile of 160 (576) elements of 4 bytes: several windows, passes and tiles of a pass take part at a few thousand elements.
// Arrays of up to `few` elements take one launch, others three, and `small` for all.
constexpr std::int64_t few = 8192;
constexpr pmpp::segmented_sort_tuning tiny{
    .ranked = 0, .short_limit = few, .windows = {.threads = 32, .bytes = 16}, .merges = {.threads = 32, .bytes = 16}};
constexpr pmpp::segmented_sort_tuning small{
    .ranked = 0, .short_limit = 0, .windows = {.threads = 64, .bytes = 32}, .merges = {.threads = 64, .bytes = 36}};
constexpr pmpp::segmented_sort_tuning four_warps{.ranked = 0, .windows = {.threads = 128}};

}  // namespace

TEST_ALL_PLACES("segments of all lengths are sorted stably") {
  constexpr int many = PMPP_CUDA ? 6000 : 2500;
  for (const std::int64_t n : test::some_of({1, 40, 127, 128, 129, 700, many})) {
    for (const std::int64_t after : {std::int64_t(0), few}) check_laws<tiny, where, tagged>(n, 5, by_key{}, after);
    check_laws<tiny, where, std::int32_t>(n, 1 << 20);
    check_laws<small, where, triple, std::uint32_t>(n, 100, by_both{});
  }
  for (const std::int64_t after : {std::int64_t(0), few}) {
    check_laws<tiny, where, std::int32_t>(many, 1 << 20, {}, after);
    check_laws<tiny, where, std::int16_t, std::uint64_t>(many, 1000, pmpp::greater{}, after);
    check_laws<tiny, where, std::uint8_t>(many, 200, {}, after);
    check_laws<tiny, where, double, std::int64_t>(many, 1000, {}, after);
  }
}

TEST_ALL_PLACES("data of every kind") {
  for (const std::int64_t n : {4000ll, few + 800ll}) {
    const std::vector<std::function<std::int64_t(std::int64_t)>> kinds{
        [](std::int64_t) { return 7; },
        [](std::int64_t i) { return i; },
        [](std::int64_t i) { return -i; },
        [](std::int64_t i) { return i % 2; },
        [n](std::int64_t i) { return i < n / 2 ? i : n - i; },
        [](std::int64_t i) { return i % 97; },
        [n](std::int64_t i) { return i == n - 1 ? -1 : i; },
    };
    test::only_each some(5, 3);
    for (const auto& kind : kinds)
      for (const lengths& law :
           {lengths{n}, lengths(40, n / 40), lengths{1000, 10, n - 2010, 1000}, lengths{1, n - 2, 1}}) {
        if (some.leaves_out()) continue;
        check_segments<tiny, where>(elements<tagged>(n, kind), offsets_of(law), by_key{});
        check_segments<tiny, where>(elements<std::int32_t>(n, kind), offsets_of(law));
      }
  }
}

TEST_ALL_PLACES("elements of 20 bytes") {
  for (const std::int64_t n : {std::int64_t(600), few + 600}) {
    std::vector<test::wide> w(static_cast<std::size_t>(n));
    for (auto& x : w)
      for (auto& p : x.part) p = static_cast<std::remove_reference_t<decltype(p)>>(draw() % 100);
    check_segments<tiny, where>(w, offsets_of({100, 0, 300, 1, 199}), by_last_part{});
    check_segments<tiny, where>(w, offsets_of({n}), by_last_part{});
  }
}

TEST_ALL_PLACES("NaN comes last and -0.0 before +0.0, as in sort") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  std::vector<double> v;
  for (int i = 0; i < 1000; ++i)
    v.push_back(std::vector<double>{nan, -nan, infinity, -infinity, 0.0, -0.0, 1.5, -2.5}[draw() % 8]);
  const auto offsets = offsets_of<std::int64_t>({500, 20, 0, 480});
  const typename where::policy policy{};
  auto data = where::put(v);
  const auto at = where::put(offsets);
  pmpp::segmented_sort<test::tuned<where>(tiny)>(policy, data, at);
  const auto a = where::get(data);
  auto b = v;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    pmpp::sort(pmpp::seq, b.begin() + offsets[s], b.begin() + offsets[s + 1]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::isnan(a[i]) == std::isnan(b[i]));
    if (!std::isnan(a[i])) CHECK(__builtin_bit_cast(std::uint64_t, a[i]) == __builtin_bit_cast(std::uint64_t, b[i]));
  }
}

TEST_ALL_PLACES("misaligned data and offsets known to the device only") {
  const typename where::policy policy{};
  for (const int from : {1, 3}) {
    const auto offsets = offsets_of({700, 5, 0, 1200, 9});
    const auto v = elements<std::int32_t>(offsets.back() + from, [](std::int64_t) { return draw_below(500); });
    auto wanted = v;
    for (std::size_t s = 0; s < 4; ++s)
      std::stable_sort(wanted.begin() + from + offsets[s], wanted.begin() + from + offsets[s + 1]);
    auto data = where::put(v);
    const auto at = where::put(offsets);
    const auto entries = where::put(std::vector<std::int64_t>{5});  // the last segment is left out
    pmpp::segmented_sort<test::tuned<where>(tiny)>(
        policy, data.begin() + from, data.end(), at.begin(),
        pmpp::device_count{entries.data(), static_cast<std::int64_t>(offsets.size())});
    CHECK(where::get(data) == wanted);
  }
}

TEST_ALL_PLACES("a comparator that contradicts itself") {
  const auto offsets = offsets_of({900, 0, 40, 3, 2000});
  const auto at = where::put(offsets);
  for (const std::int64_t after : {std::int64_t(9), few}) {
    const auto v = elements<std::uint32_t>(offsets.back() + after, [](std::int64_t) { return draw_below(1 << 30); });
    auto data = where::put(v);
    pmpp::segmented_sort<test::tuned<where>(tiny)>(typename where::policy{}, data, at, contradicting{});
    const auto got = where::get(data);
    CHECK(std::equal(got.end() - after, got.end(), v.end() - after));
  }
}

TEST_ALL_PLACES("bad input") {
  const typename where::policy policy{};
  auto data = where::put(std::vector<int>{3, 2, 1});
  const auto none = where::put(std::vector<int>{}), offsets = where::put(std::vector<int>{0, 3});
  constexpr auto tuning = test::tuned<where>(tiny);
  CHECK_THROWS_AS(pmpp::segmented_sort<tuning>(policy, data, none), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_sort<tuning>(policy, data.end(), data.begin(), offsets), std::invalid_argument);
  int* const null = nullptr;
  CHECK_THROWS_AS(pmpp::segmented_sort<tuning>(policy, null, null + 3, offsets), std::invalid_argument);
  CHECK(where::get(data) == std::vector<int>{3, 2, 1});
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(2, [&](std::uint64_t) {
    for (const lengths& law : {lengths{700, 3, 0, 90, 100, 111, 2000}, lengths(100, 20), lengths(1, 2500)}) {
      const auto offsets = offsets_of(law);
      for (const std::int64_t after : {std::int64_t(0), few})
        check_segments<tiny, test::device_place>(
            elements<tagged>(offsets.back() + after, [](std::int64_t) { return draw_below(40); }), offsets, by_key{});
      check_segments<four_warps, test::device_place>(
          elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1000); }), offsets);
    }
  });
}
#endif
