// SPDX-License-Identifier: Apache-2.0
//
// Products of small integers, which are exact as sums of floats, rounded to a type of two bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <pmpp/gemm.hpp>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

namespace test {

template <class where, class T>
void check_rounded(float factor) {
  const auto values = [](std::int64_t n) {
    std::vector<T> v;
    for (const int x : random_values<int>(n)) v.push_back(T(static_cast<float>(x % 8)));
    return v;
  };
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{65, 130, 40}, {16, 300, 260}, {130, 1, 33}, {200, 200, 7}}) {
    const auto x = values(m * k), y = values(k * n);
    const matrix<where, T> a(m, k, {}, x), b(k, n, {}, y);
    matrix<where, T> c(m, n, {}, values(m * n));
    pmpp::gemm(typename where::policy{}, factor, a.input(), b.input(), 0, c.view());
    const auto got = where::get(c.memory);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += static_cast<float>(x[static_cast<std::size_t>(i * k + p)]) *
                 static_cast<float>(y[static_cast<std::size_t>(p * n + j)]);
        wrong += static_cast<float>(got[static_cast<std::size_t>(i * n + j)]) != static_cast<float>(T(sum * factor));
      }
    CHECK(wrong == 0);
  }
}

}  // namespace test
