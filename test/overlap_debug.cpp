// SPDX-License-Identifier: Apache-2.0
//
// In debug mode an output that overlaps an input, other than by beginning where it begins, is a std::invalid_argument
// before anything is written. A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/policies.hpp"

static_assert(pmpp::debug_mode);

TEST_ALL_PLACES("outputs that overlap inputs") {
  const typename where::policy policy{};
  std::vector<int> start(100);
  std::iota(start.begin(), start.end(), 0);
  auto memory = where::put(start);
  const auto other = where::put(start);
  int* const p = memory.data();
  const int* const q = other.data();
  const pmpp::plus plus;
  const pmpp::identity same;

  for (const int shift : {-9, -1, 1, 9}) {
    CAPTURE(shift);
    int* const in = p + 40;
    int* const out = in + shift;
    CHECK_THROWS_AS(pmpp::inclusive_scan(policy, in, in + 10, out), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::exclusive_scan(policy, in, in + 10, out), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, in, in + 10, out, same), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, in, in + 10, q, out, plus), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, q, q + 10, in, out, plus), std::invalid_argument);
    CHECK_THROWS_AS(
        pmpp::transform(policy, pmpp::transform_iterator{in, same}, pmpp::transform_iterator{in + 10, same}, out, same),
        std::invalid_argument);
  }
  CHECK_THROWS_WITH(
      pmpp::transform(policy, p + 40, p + 50, p + 42, same),
      "pmpp::transform: out overlaps the input: of 10 elements each, out begins 8 bytes behind the input");
  CHECK(where::get(memory) == start);

  pmpp::inclusive_scan(policy, p, p + 10, p);  // in place
  pmpp::transform(policy, p + 10, p + 20, q, p + 10, plus);
  pmpp::transform(policy, q, q + 10, p + 20, p + 20, plus);
  pmpp::exclusive_scan(policy, p + 40, p + 50, p + 30);  // next to each other
  pmpp::transform(policy, p + 50, p + 60, p + 60, same);
  pmpp::transform(policy, p + 70, p + 70, p + 70, same);
  const auto got = where::get(memory);
  CHECK(got[9] == 45);
  CHECK(got[19] == 28);
  CHECK(got[29] == 38);
  CHECK(got[39] == 396);
  CHECK(got[69] == 59);
}
