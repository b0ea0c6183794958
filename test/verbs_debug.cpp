// SPDX-License-Identifier: Apache-2.0
//
// In debug mode indices outside of what they name are a std::out_of_range with the place and the index, and sequences that are
// not sorted a std::invalid_argument with the place, on seq, host and in the emulator, before anything is written; on a GPU they are a
// trap, which is not tried here because nothing else could run in this process afterwards. A program of its own: PMPP_DEBUG
// belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/find.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/search.hpp>
#include <pmpp/sets.hpp>

#include "support/policies.hpp"

#include <stdexcept>

static_assert(pmpp::debug_mode);

TEST_ALL_PLACES("what is right is taken") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{1, 2, 2, 5}), at = where::input(std::vector<int>{3, 0, 3, 1});
  auto out = where::put(std::vector<int>(4, 77));
  pmpp::gather(policy, at, x, out);
  CHECK(where::get(out) == std::vector<int>{5, 1, 5, 2});
  pmpp::lower_bound(policy, x, at, out);
  CHECK(where::get(out) == std::vector<int>{3, 0, 3, 0});
  CHECK(pmpp::set_intersection(policy, x, x, out) - out.begin() == 4);
  CHECK(pmpp::includes(policy, x, x));
}

#if !PMPP_CUDA
TEST_ALL_PLACES("what is wrong is refused") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{1, 2, 3, 4}), falls = where::input(std::vector<int>{1, 3, 2, 4});
  const auto at = where::input(std::vector<int>{3, 0, 4, -1}), none = where::input(std::vector<int>{1, 1, 0, 0});
  auto out = where::put(std::vector<int>(8, 77)), more = where::put(std::vector<int>(8, 77));
  CHECK_THROWS_WITH_AS(pmpp::gather(policy, at, x, out),
                       doctest::Contains("gather: index: number 2 is 4, outside [0, 4)"), std::out_of_range);
  CHECK_THROWS_WITH_AS(pmpp::scatter(policy, x, at, out),
                       doctest::Contains("scatter: index: number 3 is -1, outside [0, 8)"), std::out_of_range);
  CHECK_THROWS_WITH_AS(pmpp::lower_bound(policy, falls, x, out),
                       doctest::Contains("lower_bound: element 1 is not below or equal to the next one"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::set_union(policy, x, falls, out),
                       doctest::Contains("sets: the second input: element 1 is not below"), std::invalid_argument);
  CHECK_THROWS_AS((void)pmpp::includes(policy, falls, x), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::merge_by_key(policy, x, x, falls, x, out, more),
                       doctest::Contains("merge: the second input: element 1 is not below or equal to the next one"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::set_difference_by_key(policy, falls, x, x, x, out, more),
                       doctest::Contains("sets: the first input: element 1 is not below"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gather_if(policy, at, x, x, out),
                       doctest::Contains("index: number 2 is 4, outside [0, 4)"), std::out_of_range);
  CHECK(where::get(out) == std::vector<int>(8, 77));
  CHECK(where::get(more) == std::vector<int>(8, 77));
  pmpp::gather_if(policy, at, none, x, out);  // an index that is not used may be anything
  CHECK(where::get(out) == std::vector<int>{4, 1, 77, 77, 77, 77, 77, 77});
}
#endif
