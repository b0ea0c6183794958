// SPDX-License-Identifier: Apache-2.0
//
// Dense matrices on the host, for tests of products on several ranks: small integers, also where they are doubles, so that no sum is
// rounded.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/devices.hpp>

namespace test {

/// Ranks that are cores of this machine.
inline auto host_ranks(int p) {
  const std::vector<int> ids(static_cast<std::size_t>(p));
  return pmpp::devices{pmpp::host, pmpp::emulated_communicator::all(ids), ids};
}

/// A matrix on the host, row by row.
template <class T>
struct dense {
  std::int64_t rows, cols;
  std::vector<T> values;
  dense(std::int64_t m, std::int64_t n, std::mt19937_64& random)
      : rows(m), cols(n), values(static_cast<std::size_t>(m * n)) {
    for (T& x : values) x = static_cast<T>(static_cast<int>(random() % 11) - 5);
  }
  T operator()(std::int64_t i, std::int64_t j) const { return values[std::size_t(i * cols + j)]; }
  pmpp::matrix_view<const T> view() const { return {values.data(), rows, cols}; }
};

/// alpha A B + beta C, in the type of the sums.
template <class S, class T, class TC>
std::vector<TC> product(S alpha, const dense<T>& a, const dense<T>& b, S beta, const dense<TC>& c) {
  std::vector<TC> result;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) {
      S sum{};
      for (std::int64_t k = 0; k < a.cols; ++k) sum += S(a(i, k)) * S(b(k, j));
      result.push_back(static_cast<TC>(alpha * sum + beta * S(c(i, j))));
    }
  return result;
}

}  // namespace test
