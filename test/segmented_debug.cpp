// SPDX-License-Identifier: Apache-2.0
//
// In debug mode offsets that decrease, or pass the end of the elements, are a std::out_of_range before anything is
// written; on a GPU they are a trap, which is not tried here. A program of its own: PMPP_DEBUG belongs to a whole
// program.
#define PMPP_DEBUG 1
#include <pmpp/segmented.hpp>

#include <stdexcept>
#include <vector>

#include "support/policies.hpp"

static_assert(pmpp::debug_mode);

#if PMPP_CUDA
#define TEST_CPU_PLACES(name) TEST_CASE_TEMPLATE(name, where, test::seq_place, test::host_place)
#else
#define TEST_CPU_PLACES(name) TEST_ALL_PLACES(name)
#endif

TEST_CPU_PLACES("offsets that decrease or pass the end") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<int>(100, 1));
  auto out = where::put(std::vector<int>(100, 77));
  const std::vector<int> bad[] = {{0, 5, 4, 100}, {0, 50, 101}, {-1, 5}, {101, 101}, {7, 3}};
  for (const std::vector<int>& offsets : bad) {
    const auto at = where::put(offsets);
    CHECK_THROWS_AS(pmpp::segmented_reduce(policy, in, at, out), std::out_of_range);
    CHECK_THROWS_AS(pmpp::segmented_inclusive_scan(policy, in, at, out), std::out_of_range);
  }
  CHECK_THROWS_WITH(pmpp::segmented_reduce(policy, in, where::put(bad[1]), out),
                    "pmpp::segment between two offsets: 51 from 50 on are not a part of [0, 100)");
  CHECK(where::get(out) == std::vector<int>(100, 77));
  const auto good = where::put(std::vector<int>{0, 0, 60, 60, 100, 100});
  pmpp::segmented_reduce(policy, in, good, out);
  pmpp::synchronize(policy);
  CHECK(where::get(out)[1] == 60);
  CHECK(where::get(out)[3] == 40);
}
