// SPDX-License-Identifier: Apache-2.0
//
// segmented_reduce, segmented_min_element and segmented_max_element of segments that are short: of random lengths, 0.3 to 3 elements on
// average, with a few among them that a warp folds, that span tiles, or that span blocks; operators that show order and grouping; elements
// and offsets of many types, which begin anywhere; lengths that only the device knows. See segmented.cpp.
#include <pmpp/by_key.hpp>
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cstdint>

#include "support/orders.hpp"
#include "support/rows.hpp"

using namespace test::rows;

namespace {

// Two blocks of each multiprocessor, with many tiles of 128 elements of four bytes. A thread looks at four segments at a time.
constexpr pmpp::segmented_tuning many_tiles{
    .threads = 32, .bytes = 16, .min_blocks = 2, .few_to_reduce = 0, .short_input = 0, .long_average = 0};
// As it is by default, but for every size.
constexpr pmpp::segmented_tuning by_tiles{.few_to_reduce = 0, .short_input = 0, .long_average = 0};

/// About `count` segments; at random places one of each of the longer lengths.
lengths short_ones(std::size_t count, double mean) {
  auto& g = test::generator();
  lengths l(count, 0);
  for (auto& x : l)
    while (static_cast<double>(g() % 1000) < 1000 * mean / (1 + mean)) ++x;
  for (const int longer : {15, 16, 17, 31, 33, 40, 127, 129, 300, 2500}) l[g() % count] = longer;
  return l;
}

template <pmpp::segmented_tuning Tuning, class where, class T, class I, class Op>
void check_sums(const std::vector<T>& all, int from, const std::vector<I>& offsets, T init, Op op) {
  const typename where::policy policy{};
  const std::vector<T> v(all.begin() + from, all.end());
  const auto in = where::put(all);
  const auto at = where::put(offsets);
  const auto wanted = sums_of(v, offsets, init, op);
  auto out = where::put(std::vector<T>(wanted.size(), T{}));
  pmpp::segmented_reduce<test::tuned<where>(Tuning)>(policy, in.begin() + from, in.end(), at, out, init, op);
  CHECK(where::get(out) == wanted);
}

/// Calls check(offsets) for short segments, for each mean; `first` elements lie in front of them.
template <class I, class F>
void for_short_segments(std::int64_t first, std::size_t count, F check) {
  for (const double mean : {0.3, 1.0, 3.0}) {
    CAPTURE(mean);
    CAPTURE(test::seed());
    check(offsets_of<I>(short_ones(static_cast<std::size_t>(test::up_to(std::int64_t(count), 1500)), mean), first));
  }
}

}  // namespace

TEST_ALL_PLACES("short segments: elements that begin anywhere") {
  for (const int from : test::some_of({0, 1, 3})) {
    CAPTURE(from);
    for_short_segments<int>(5, 9000, [&](const std::vector<int>& offsets) {
      const auto v = test::random_values<int>(offsets.back() + from + 2);
      check_sums<many_tiles, where>(v, from, offsets, 5, pmpp::plus{});
      check_sums<by_tiles, where>(v, from, offsets, -1000, pmpp::maximum{});
    });
  }
}

TEST_ALL_PLACES("short segments: operators that show order and grouping") {
  for_short_segments<std::uint32_t>(1, 7000, [&](const std::vector<std::uint32_t>& offsets) {
    check_sums<many_tiles, where>(random_affines(offsets.back()), 0, offsets, test::affine{3, 4, 0}, test::compose{});
  });
  for_short_segments<std::int64_t>(70, 7000, [&](const std::vector<std::int64_t>& offsets) {
    check_sums<many_tiles, where>(positions(offsets.back()), 0, offsets, test::interval{-7, -7}, join_behind{});
  });
}

TEST_ALL_PLACES("short segments: elements and offsets of many types") {
  for_short_segments<std::uint64_t>(0, 30000, [&](const std::vector<std::uint64_t>& offsets) {
    check_sums<by_tiles, where>(test::random_values<std::uint8_t>(static_cast<std::int64_t>(offsets.back())), 0,
                                offsets, std::uint8_t(3), pmpp::maximum{});
  });
  for_short_segments<std::uint16_t>(33, 4000, [&](const std::vector<std::uint16_t>& offsets) {
    std::vector<test::wide> w(offsets.back());
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t k = 0; k < 5; ++k) w[i].part[k] = static_cast<std::int64_t>(scrambled(5 * i + k) % 1000);
    check_sums<many_tiles, where>(w, 0, offsets, test::wide{}, test::add_wide{});
  });
}

TEST_ALL_PLACES("short segments: where they are many, few and many again") {
  for (const std::int64_t length : {17, 40, 700, 30000}) {
    CAPTURE(length);
    lengths l(5000, 0);
    for (std::size_t s = 0; s < l.size(); s += 2) l[s] = 1;
    for (std::int64_t sum = 0; sum < 9000; sum += length) l.push_back(length);
    l.insert(l.end(), 3000, 1);
    const auto offsets = offsets_of(l);
    check_sums<many_tiles, where>(test::random_values<int>(offsets.back()), 0, offsets, 5, pmpp::plus{});
  }
}

TEST_ALL_PLACES("short segments: lengths that are known on the device only") {
  const typename where::policy policy{};
  for_short_segments<int>(0, 5000, [&](const std::vector<int>& offsets) {
    const auto v = test::random_values<int>(offsets.back());
    const auto in = where::put(v);
    const auto at = where::put(offsets);
    const auto used = where::put(std::vector<int>{offsets[1200], 1201});
    auto sums = where::put(test::copies<int>(offsets.size() - 1, -1));
    pmpp::segmented_reduce<test::tuned<where>(many_tiles)>(
        policy, in.begin(), pmpp::device_count{used.data(), offsets.back()}, at.begin(),
        pmpp::device_count{used.data() + 1, static_cast<std::int64_t>(offsets.size())}, sums, 5);
    auto wanted = sums_of(v, std::vector<int>(offsets.begin(), offsets.begin() + 1201), 5, pmpp::plus{});
    wanted.resize(offsets.size() - 1, -1);
    CHECK(where::get(sums) == wanted);
  });
}

TEST_ALL_PLACES("short segments: the first of their extremes") {
  const typename where::policy policy{};
  for_short_segments<int>(2, 9000, [&](const std::vector<int>& offsets) {
    std::vector<float> v;
    for (int i = 0; i < offsets.back(); ++i) v.push_back(static_cast<float>(test::generator()() % 5));
    std::vector<int> least, most;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto b = v.begin() + offsets[s], e = v.begin() + offsets[s + 1];
      least.push_back(b == e ? -1 : static_cast<int>(std::min_element(b, e) - v.begin()));
      most.push_back(b == e ? -1 : static_cast<int>(std::max_element(b, e) - v.begin()));
    }
    const auto in = where::put(v);
    const auto at = where::put(offsets);
    auto index = where::put(test::copies<int>(least.size(), 7));
    pmpp::segmented_min_element<test::tuned<where>(many_tiles)>(policy, in, at, index);
    CHECK(where::get(index) == least);
    pmpp::segmented_max_element<test::tuned<where>(by_tiles)>(policy, in, at, index);
    CHECK(where::get(index) == most);
  });
}

#if !PMPP_CUDA
TEST_CASE("short segments: blocks and threads in any order") {
  const auto offsets = offsets_of<std::uint32_t>(short_ones(1500, 1), 1);
  const auto v = random_affines(offsets.back());
  test::for_each_order(4, [&](std::uint64_t) {
    check_sums<many_tiles, test::device_place>(v, 0, offsets, test::affine{3, 4, 0}, test::compose{});
  });
}
#endif
