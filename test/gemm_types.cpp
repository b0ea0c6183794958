// SPDX-License-Identifier: Apache-2.0
//
// gemm of small tiles: integers exactly, double, types that differ. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <cstdint>

#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using test::other, test::random_layout, test::random_of, test::tiny, test::try_product;

TEST_ALL_PLACES("gemm: double, all layouts, any shape") {
  for (int i = 0; i < test::turns(150); ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}); };
    const double alpha = random_of({1.0, -0.5, 2.0}), beta = random_of({0.0, 0.0, 1.0, -0.75});
    try_product<where, other, double, double, double>(size(), size(), size(), random_layout(), random_layout(),
                                                      random_layout(), alpha, beta);
  }
}

TEST_ALL_PLACES("gemm: small integers are exact, whatever the types") {
  for (int i = 0; i < test::turns(12); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 5, 16, 33, 80}); };
    const auto m = size(), n = size(), k = size();
    try_product<where, tiny, std::uint8_t, std::int8_t, std::int32_t>(m, n, k, random_layout(), random_layout(),
                                                                      random_layout(), 1, 0);
    try_product<where, tiny, std::int16_t, std::int32_t, std::int64_t>(m, n, k, random_layout(), random_layout(),
                                                                       random_layout(), -1, 2);
    try_product<where, tiny, std::int8_t, std::int8_t, float>(m, n, k, random_layout(), random_layout(),
                                                              random_layout(), 0.5, 0.25);
    try_product<where, tiny, float, double, double>(m, n, k, random_layout(), random_layout(), random_layout(), 2, 1);
  }
}
