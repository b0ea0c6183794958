// SPDX-License-Identifier: Apache-2.0
//
// In debug mode columns outside of the matrix are a std::out_of_range, before anything is written; on a GPU
// they are a trap, which is not tried here. A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/spmm.hpp>

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
  const auto values = where::put(std::vector<float>{1, 2, 4}), b = where::put(std::vector<float>{1, 10, 2, 20, 3, 30});
  auto c = where::put(std::vector<float>(6, 77.0f));
  const pmpp::matrix_view B{b.data(), 3, 2};
  const pmpp::matrix_view C{c.data(), 3, 2};
  for (const int wrong : {-1, 3}) {
    const auto columns = where::put(std::vector<int>{0, 2, wrong});
    const pmpp::csr_view A{3, 3, offsets.data(), columns.data(), values.data()};
    CHECK_THROWS_AS(pmpp::spmm(policy, 1, A, B, 0, C), std::out_of_range);
    CHECK(where::get(c) == std::vector<float>(6, 77.0f));
  }
  const auto columns = where::put(std::vector<int>{0, 2, 1});
  pmpp::spmm(policy, 1, pmpp::csr_view{3, 3, offsets.data(), columns.data(), values.data()}, B, 0, C);
  pmpp::synchronize(policy);
  CHECK(where::get(c) == std::vector<float>{7, 70, 0, 0, 8, 80});
}
