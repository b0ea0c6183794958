// SPDX-License-Identifier: Apache-2.0
//
// In debug mode columns outside of the matrix are a std::out_of_range, before anything is written; on a GPU
// they are a trap, which is not tried here. A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/spmv.hpp>

#include <stdexcept>
#include <vector>

#include "support/policies.hpp"

static_assert(pmpp::debug_mode);

#if PMPP_CUDA
#define TEST_CPU_PLACES(name) TEST_CASE_TEMPLATE(name, where, test::seq_place, test::host_place)
#else
#define TEST_CPU_PLACES(name) TEST_ALL_PLACES(name)
#endif

TEST_CPU_PLACES("columns outside of the matrix") {
  const typename where::policy policy{};
  const auto offsets = where::put(std::vector<int>{0, 2, 2, 3});
  const auto values = where::put(std::vector<float>{1, 2, 4}), x = where::put(std::vector<float>{1, 2, 3});
  auto y = where::put(std::vector<float>(3, 77.0f));
  for (const int wrong : {-1, 3}) {
    const auto columns = where::put(std::vector<int>{0, 2, wrong});
    const pmpp::csr_view A{3, 3, offsets.data(), columns.data(), values.data()};
    CHECK_THROWS_AS(pmpp::spmv(policy, 1, A, x, 0, y), std::out_of_range);
    CHECK(where::get(y) == std::vector<float>(3, 77.0f));
  }
  const auto columns = where::put(std::vector<int>{0, 2, 1});
  pmpp::spmv(policy, 1, pmpp::csr_view{3, 3, offsets.data(), columns.data(), values.data()}, x, 0, y);
  pmpp::synchronize(policy);
  CHECK(where::get(y) == std::vector<float>{7, 0, 8});
}
