// SPDX-License-Identifier: Apache-2.0
//
// Properties of core/operators.hpp: the least and the greatest of two are the first of equals, and a NaN loses to any
// number, whichever side it stands on; in two bytes too. Functors of std, cuda::std and Thrust are known by their names.
#include <pmpp/core/config.hpp>
#include <pmpp/core/named_functors.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <limits>

#if PMPP_CUDA
#include <cuda/std/functional>
#include <thrust/functional.h>

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

namespace {
struct less {};  // of a user's own
template <class T>
struct greater {};
template <class Comp, class K>
constexpr int direction = !pmpp::detail::radix_order<Comp, K>::known       ? 0
                          : pmpp::detail::radix_order<Comp, K>::descending ? -1
                                                                           : 1;
template <class Op, class A>
using own = decltype(pmpp::detail::own_operator<A>(Op{}));
}  // namespace

TEST_CASE("functors of others") {
  static_assert(direction<std::less<>, int> == 1 && direction<std::less<float>, float> == 1);
  static_assert(direction<std::ranges::less, int> == 1 && direction<std::ranges::greater, half> == -1);
  static_assert(direction<std::greater<int>, int> == -1 && direction<pmpp::greater, double> == -1);
  static_assert(direction<std::less<int>, float> == 0 && direction<std::less_equal<>, int> == 0);
  static_assert(direction<less, int> == 0 && direction<greater<int>, int> == 0);
  static_assert(std::is_same_v<own<std::plus<>, float>, pmpp::plus> &&
                std::is_same_v<own<std::plus<int>, int>, pmpp::plus>);
  static_assert(std::is_same_v<own<std::plus<int>, long>, std::plus<int>>);
  static_assert(std::is_same_v<own<std::bit_xor<>, unsigned>, pmpp::bit_xor> && std::is_same_v<own<less, int>, less>);
#if PMPP_CUDA
  static_assert(direction<thrust::less<int>, int> == 1 && direction<thrust::greater<>, float> == -1);
  static_assert(direction<cuda::std::less<>, int> == 1 && direction<cuda::std::ranges::greater, int> == -1);
  static_assert(std::is_same_v<own<thrust::plus<int>, int>, pmpp::plus>);
  static_assert(std::is_same_v<own<thrust::maximum<int>, int>, pmpp::maximum>);
  static_assert(std::is_same_v<own<thrust::maximum<float>, float>, thrust::maximum<float>>);
#endif
}
