// SPDX-License-Identifier: Apache-2.0
//
// top_k of one row that a sort in one launch takes, and segmented_top_k as it is called: many short segments, few long ones. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/candidates.hpp"

namespace {

using test::check_rows;
using test::check_top_k;
using test::draw_below;
using test::elements;

constexpr pmpp::top_k_tuning usual{};

}  // namespace

TEST_ALL_PLACES("one row: any length, k and beginning") {
  for (int turn = 0; turn < test::turns(12); ++turn) {
    const std::int64_t n = 2 + draw_below(turn % 3 == 0   ? 30000
                                          : turn % 3 == 1 ? 300
                                                          : 9000),
                       from = draw_below(4), k = 1 + draw_below(turn % 2 == 0 ? n : 1 + n / 16),
                       values = turn % 4 == 0 ? 7 : 1 << 22;
    const auto draw = [=](std::int64_t) { return draw_below(values); };
    check_top_k<usual, where>(elements<float>(n + from, draw), k, pmpp::greater{}, from);
    check_top_k<usual, where, std::int64_t>(elements<std::uint64_t>(n + from, draw), k, pmpp::less{}, from);
    check_top_k<usual, where, std::uint32_t>(elements<std::int16_t>(n + from, draw), k, pmpp::greater{}, from);
  }
}

TEST_ALL_PLACES("one row: a length that the device knows, less than k or more") {
  const auto v = elements<float>(20000, [](std::int64_t) { return draw_below(1 << 20); });
  const auto data = where::put(v);
  for (const std::int64_t bound : {5000, 20000})
    for (const std::int64_t n : {0, 3, 900, 4000})
      for (const std::int64_t k : {4, 2000}) {
        const auto length = where::put(std::vector<std::int64_t>{n});
        auto values = where::put(std::vector<float>(2000, -1));
        auto indices = where::put(std::vector<int>(2000, -1));
        pmpp::top_k(typename where::policy{}, data.begin(), pmpp::device_count{length.data(), bound}, k, values,
                    indices);
        const auto order = test::order_of(v, 0, n, pmpp::greater{});
        const auto got = where::get(indices);
        const auto got_values = where::get(values);
        bool ok = true;
        for (std::size_t i = 0; i < 2000; ++i) {
          const bool is_there = i < order.size() && static_cast<std::int64_t>(i) < k;
          ok = ok && got[i] == (is_there ? order[i] : -1) &&
               got_values[i] == (is_there ? v[static_cast<std::size_t>(order[i])] : -1.0f);
        }
        CAPTURE(bound);
        CAPTURE(n);
        CAPTURE(k);
        CHECK(ok);
      }
}

TEST_ALL_PLACES("many short segments, one of them long") {
  std::vector<int> offsets{0};
  for (int i = 0; i < 3000; ++i)
    offsets.push_back(offsets.back() + static_cast<int>(i == 70 ? 5000 : draw_below(i % 2 == 0 ? 3 : 40)));
  for (const std::int64_t k : test::some_of({1, 2, 9, 70}))
    check_rows<usual, where>(elements<float>(offsets.back() + 2, [](std::int64_t) { return draw_below(50); }), offsets,
                             k);
}

TEST_ALL_PLACES("few segments of few elements, as they are called: a warp for each") {
  const std::vector<int> offsets{1, 4, 4, 5, 37, 70, 70, 230, 254};
  for (const std::int64_t k : test::some_of({1, 3, 12, 31, 33, 300})) {
    const auto v = elements<std::int64_t>(256, [](std::int64_t) { return draw_below(50) - 25; });
    check_rows<usual, where>(v, offsets, k);
    check_rows<usual, where>(elements<float>(256, [](std::int64_t) { return draw_below(50); }), offsets, k);
    check_rows<usual, where>(v, std::vector<int>{0, 90}, k);
  }
}

TEST_ALL_PLACES("few segments of thousands, as they are called") {
  const std::vector<int> offsets{0, 6000, 12500, 30000, 30000, 30010, 49000};
  for (const std::int64_t k : test::some_of({2, 300, 1500}))
    check_rows<usual, where>(elements<float>(offsets.back(), [](std::int64_t) { return draw_below(1 << 12); }), offsets,
                             k);
}

TEST_ALL_PLACES("partial_sort_copy: so many that all are sorted, of a length that the device may know") {
  for (int turn = 0; turn < test::turns(6); ++turn) {
    const std::int64_t n = 5000 + draw_below(25000), room = 4090 + draw_below(n - 4090), there = draw_below(n + 1);
    auto v = elements<float>(n, [](std::int64_t) { return draw_below(1 << 16) - (1 << 15); });
    v[std::size_t(draw_below(n))] = -0.0f;
    const auto data = where::put(v);
    auto out = where::put(std::vector<float>(std::size_t(room) + 1, -7.5f));
    pmpp::partial_sort_copy(typename where::policy{}, data.begin() + 1, data.end(),
                            pmpp::subrange{out.begin(), out.begin() + room - 1}, pmpp::greater{});
    auto wanted = v;
    std::sort(wanted.begin() + 1, wanted.end(), std::greater<float>{});
    auto got = where::get(out);
    CAPTURE(n);
    CAPTURE(room);
    CHECK(std::equal(got.begin(), got.begin() + room - 1, wanted.begin() + 1));
    CHECK(got[std::size_t(room) - 1] == -7.5f);
    const auto length = where::put(std::vector<std::int64_t>{there});
    pmpp::top_k(typename where::policy{}, data.begin(), pmpp::device_count{length.data(), n}, room, out,
                pmpp::discard_iterator{}, pmpp::less{});
    std::sort(v.begin(), v.begin() + there);
    got = where::get(out);
    CHECK(std::equal(got.begin(), got.begin() + std::min(there, room), v.begin()));
  }
}
