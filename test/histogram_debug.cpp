// SPDX-License-Identifier: Apache-2.0
//
// In debug mode levels that do not ascend are a std::invalid_argument on seq, host and in the emulator, before anything is
// counted; on a GPU they are a trap, which is not tried here because nothing else could run in this process afterwards.
// A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/histogram.hpp>

#include <cmath>
#include <stdexcept>

#include "support/policies.hpp"

static_assert(pmpp::debug_mode);

TEST_ALL_PLACES("levels that ascend are taken, equal neighbours too") {
  const typename where::policy policy{};
  auto counts = where::put(std::vector<unsigned>(3, 77));
  pmpp::histogram_range(policy, where::input(std::vector<float>{1, 2, 2, 5}), counts,
                        where::put(std::vector<float>{1, 2, 2, 4}));
  pmpp::synchronize(policy);
  CHECK(where::get(counts) == std::vector<unsigned>{1, 0, 2});
}

#if !PMPP_CUDA
TEST_ALL_PLACES("levels that do not ascend are refused") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<float>{1, 2, 3});
  auto counts = where::put(std::vector<unsigned>(3, 77));
  for (const auto& levels :
       {std::vector<float>{1, 3, 2, 4}, std::vector<float>{1, 2, 3, 2}, std::vector<float>{1, NAN, 3, 4},
        std::vector<float>{NAN, 2, 3, 4}, std::vector<float>{1, 2, 3, NAN}})
    CHECK_THROWS_AS(pmpp::histogram_range(policy, in, counts, where::put(levels)), std::invalid_argument);
  CHECK(where::get(counts) == std::vector<unsigned>(3, 77));
}
#endif
