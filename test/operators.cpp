// SPDX-License-Identifier: Apache-2.0
//
// Properties of core/operators.hpp: the least and the greatest of two are the first of equals, and a NaN loses to any
// number, whichever side it stands on; in two bytes too.
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>

#include <doctest/doctest.h>

#include <limits>

#if PMPP_CUDA
#include <cuda_fp16.h>
using half = __half;
#else
using half = _Float16;
#endif

TEST_CASE_TEMPLATE("a NaN loses to any number", T, half, float, double) {
  const T nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN()), one = static_cast<T>(1.0f),
          two = static_cast<T>(2.0f);
  const auto is = [](const T& a, float b) { return static_cast<float>(a) == b; };
  CHECK(is(pmpp::minimum{}(nan, one), 1));
  CHECK(is(pmpp::minimum{}(one, nan), 1));
  CHECK(is(pmpp::maximum{}(nan, one), 1));
  CHECK(is(pmpp::maximum{}(one, nan), 1));
  CHECK(is(pmpp::minimum{}(two, one), 1));
  CHECK(is(pmpp::maximum{}(one, two), 2));
  CHECK_FALSE(is(pmpp::minimum{}(nan, nan), static_cast<float>(pmpp::minimum{}(nan, nan))));
}

TEST_CASE("the first of equals") {
  struct item {
    int key, place;
    PMPP_HOST_DEVICE bool operator<(const item& other) const { return key < other.key; }
  };
  CHECK(pmpp::minimum{}(item{1, 0}, item{1, 1}).place == 0);
  CHECK(pmpp::maximum{}(item{1, 0}, item{1, 1}).place == 0);
}
