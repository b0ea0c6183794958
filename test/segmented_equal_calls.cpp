// SPDX-License-Identifier: Apache-2.0
//
// equal_segments as the offsets of every function that takes some, by its usual kernels; what it refuses, and those functions where it does
// not fit the elements. Sums of all kinds: segmented_equal.cpp.
#include <pmpp/by_key.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_copy.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "support/rows.hpp"

using namespace test::rows;

TEST_ALL_PLACES("rows: the other functions that take offsets") {
  const typename where::policy policy{};
  const std::int64_t length = 12, rows = 50, n = length * rows, k = 2;
  const auto offsets = offsets_of<std::int64_t>(lengths(static_cast<std::size_t>(rows), length));
  const auto equal = pmpp::equal_segments(length, rows);
  const auto v = test::random_values<int>(n);
  const auto in = where::put(v);
  const std::vector<int> zeros(v.size());

  auto sums = where::put(test::copies<int>(rows, 7));
  pmpp::segmented_reduce(policy, in, equal, sums, 5);
  CHECK(where::get(sums) == sums_of(v, offsets, 5, pmpp::plus{}));

  auto out = where::put(zeros);
  pmpp::segmented_inclusive_scan(policy, in, equal, out);
  CHECK(where::get(out) == scans_of(v, offsets, zeros, pmpp::plus{}));

  std::vector<int> turned = v, sorted = v, best;
  for (std::int64_t s = 0; s < rows; ++s) {
    std::reverse(turned.begin() + s * length, turned.begin() + (s + 1) * length);
    std::sort(sorted.begin() + s * length, sorted.begin() + (s + 1) * length);
    for (std::int64_t i = 0; i < k; ++i) best.push_back(sorted[static_cast<std::size_t>((s + 1) * length - 1 - i)]);
  }
  pmpp::segmented_reverse(policy, in, equal, out);
  CHECK(where::get(out) == turned);
  auto inout = where::put(v);
  pmpp::segmented_sort(policy, inout, equal);
  CHECK(where::get(inout) == sorted);
  auto values = where::put(std::vector<int>(static_cast<std::size_t>(k * rows)));
  auto places = where::put(std::vector<int>(static_cast<std::size_t>(k * rows)));
  pmpp::segmented_top_k(policy, in, equal, k, values, places);
  CHECK(where::get(values) == best);
  pmpp::segmented_copy(policy, in, equal, out, pmpp::equal_segments(length, rows - 1));
  CHECK(where::get(out) == v);
}

TEST_ALL_PLACES("rows that the elements are too few for") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<int>(11, 1));
  auto out = where::put(std::vector<int>(12, 77));
  const char* const refusal = "pmpp::segmented_reduce: the input has room for 11 elements, needs 12";
  CHECK_THROWS_WITH_AS(pmpp::segmented_reduce(policy, in, pmpp::equal_segments(3, 4), out), refusal, std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_inclusive_scan(policy, in, pmpp::equal_segments(3, 4), out), std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_min_element(policy, in, pmpp::equal_segments(12, 1), out), std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_reverse(policy, in, pmpp::equal_segments(12, 1), out), std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_sort(policy, out, pmpp::equal_segments(1, 13)), std::length_error);
  pmpp::segmented_reduce(policy, in, pmpp::equal_segments(3, 0), out);
  pmpp::synchronize(policy);
  CHECK(where::get(out) == std::vector<int>(12, 77));
}
