// SPDX-License-Identifier: Apache-2.0
//
// top_k of elements and indices of other sizes. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <cstdint>

#include "support/candidates.hpp"

namespace {

using test::check_rows;
using test::check_top_k;
using test::contradicting;
using test::draw_below;
using test::elements;
using test::small;
using test::tiny;

}  // namespace

TEST_ALL_PLACES("elements of 1, 2 and 8 bytes, indices of 1, 4 and 8") {
  for (const std::int64_t n : test::some_of({1, 2, 31, 33, 64, 65, 200, 1000, 5000}))
    for (const std::int64_t k :
         test::some_of({std::int64_t(0), std::int64_t(1), std::int64_t(2), std::int64_t(10), std::int64_t(31),
                        std::int64_t(64), std::int64_t(65), std::int64_t(128), n / 2, n - 1, n})) {
      if (k > n) continue;
      check_top_k<small, where, std::int64_t>(elements<std::int16_t>(n, [](std::int64_t) { return draw_below(90); }), k,
                                              pmpp::less{});
      check_top_k<tiny, where, std::uint32_t>(elements<double>(n, [](std::int64_t) { return draw_below(90); }), k,
                                              pmpp::less{}, (n - k) / 7);
      if (n > 7) check_top_k<tiny, where, std::uint8_t>(elements<std::uint8_t>(200, [](auto i) { return i; }), k % 60);
    }
}

TEST_ALL_PLACES("segments of 8-byte elements, some of them long") {
  for (int kind = 0; kind < 7; ++kind)
    for (const std::int64_t k : test::some_of({1, 7, 100}))
      check_rows<tiny, where>(test::kind_of_data<double>(kind, 9000), {0, 3000, 3001, 3001, 3300, 8999}, k,
                              pmpp::less{});
}

TEST_ALL_PLACES("a comparator that contradicts itself") {
  const auto v = elements<std::uint32_t>(3000, [](std::int64_t) { return draw_below(1 << 30); });
  const auto data = where::put(v);
  for (const int k : {1, 50, 1000}) {
    auto values = where::put(std::vector<std::uint32_t>(static_cast<std::size_t>(k) + 1, 5u));
    auto indices = where::put(std::vector<int>(static_cast<std::size_t>(k) + 1, -5));
    pmpp::top_k<test::tuned<where>(tiny)>(typename where::policy{}, data, k, values, indices, contradicting{});
    CHECK(where::get(values).back() == 5u);
    CHECK(where::get(indices).back() == -5);
  }
}
