// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/packed_pair.hpp: pairs of halves and bfloat16s are elements of every family of algorithms, as a program's
// own __half2 too.
#include <pmpp/core/packed_pair.hpp>
#include <pmpp/find.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/reduce_columns.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sets.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <doctest/doctest.h>

#include <vector>

using pmpp::device;

namespace {

struct times {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& a, const T& b) const {
    return a * b;
  }
};
/// By the first number.
struct by_low {
  template <class Pair>
  PMPP_HOST_DEVICE bool operator()(const pmpp::packed_pair<Pair>& a, const pmpp::packed_pair<Pair>& b) const {
    return __low2float(Pair(a)) < __low2float(Pair(b));
  }
};
struct add_halves {  // written for the pair itself
  PMPP_HOST_DEVICE __half2 operator()(const __half2& a, const __half2& b) const { return __hadd2(a, b); }
};

}  // namespace

TEST_CASE("half2 and bfloat162: elements of every family") {
  using half2 = pmpp::packed_pair<__half2>;
  using bfloat162 = pmpp::packed_pair<__nv_bfloat162>;
  const half2 one_half = __floats2half2_rn(1, 0.5f);
  const std::vector<half2> v(1000, one_half);
  pmpp::device_buffer<half2> x(v), out(v);
  const pmpp::device_buffer<bfloat162> y(std::vector<bfloat162>(100, bfloat162(__floats2bfloat162_rn(1, 0.5f))));
  const half2 sum = pmpp::reduce(device, x);
  CHECK(__low2float(sum) == 1000);
  CHECK(__high2float(sum) == 500);
  CHECK(__low2float(pmpp::reduce(device, y)) == 100);
  CHECK(__high2float(pmpp::transform_reduce(device, y, y, bfloat162{}, pmpp::plus{}, times{})) == 25);
  pmpp::inclusive_scan(device, x, out);
  CHECK(__high2float(pmpp::to_host(out)[9]) == 5);
  pmpp::transform(device, x, x, out, times{});
  CHECK(__high2float(pmpp::to_host(out)[9]) == 0.25f);
  pmpp::transform(device, x, x, out, add_halves{});
  CHECK(__low2float(pmpp::to_host(out)[999]) == 2);

  // 0 ... 999 and its negative, as __half2 of a program's own.
  std::vector<half2> w;
  for (int i = 0; i < 1000; ++i) w.push_back(__floats2half2_rn(float(i * 7 % 1000), -float(i * 7 % 1000)));
  pmpp::device_buffer<half2> z(w);
  const auto* const own = reinterpret_cast<const __half2*>(z.data());
  const auto* const first = pmpp::as_packed(own);
  const half2 least = pmpp::reduce(device, first, first + 1000, w[0], pmpp::minimum{}),
              most = pmpp::reduce(device, first, first + 1000, w[0], pmpp::maximum{});
  CHECK(__low2float(least) == 0);
  CHECK(__high2float(least) == -999);
  CHECK(__low2float(most) == 999);
  CHECK(__high2float(most) == 0);
  CHECK(pmpp::find(device, z, w[321]) - z.begin() == 321);
  CHECK(pmpp::count(device, x, one_half) == 1000);
  CHECK(pmpp::unique_copy(device, x, out) - out.begin() == 1);
  CHECK(__low2float(*pmpp::to_host(device, out).begin()) == 1);
  CHECK(pmpp::max_element(device, z, by_low{}) - z.begin() == 857);
  pmpp::sort(device, z, by_low{});
  CHECK(__high2float(pmpp::to_host(z)[123]) == -123);
  pmpp::device_buffer<half2> both(2000);
  pmpp::merge(device, z, z, both, by_low{});
  CHECK(__low2float(pmpp::to_host(both)[1001]) == 500);
  pmpp::set_union(device, z, z, both, by_low{});
  CHECK(__low2float(pmpp::to_host(both)[999]) == 999);
  pmpp::device_buffer<half2> sums(10);
  pmpp::segmented_reduce(device, x, pmpp::device_buffer<int>(std::vector<int>{0, 100, 1000}), sums);
  CHECK(__low2float(pmpp::to_host(sums)[1]) == 900);
  pmpp::device_buffer<half2> of_columns(10);
  pmpp::reduce_columns(device, pmpp::matrix_view(std::as_const(x).data(), 100, 10), of_columns);
  CHECK(__high2float(pmpp::to_host(of_columns)[3]) == 50);
}
