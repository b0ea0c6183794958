// SPDX-License-Identifier: Apache-2.0
//
// Products of CUDA's 8-bit floats, into half and bfloat16. See gemm_scaled.cpp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "support/scaled_products.hpp"

// Half of the last bit of the result, beside what sums may lose. (Integers up to 2^11, or 2^8, would be exact; these sums are larger.)
TEST_CASE("gemm_scaled: e4m3 of CUDA into bfloat16") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>(40, 0x1p-8);
}
// Sums of products of random integers from -3 to 3 stay below 2^11 for at most 3000 numbers of k, and nothing is cut off. Of others,
// each of 94 steps cuts off 33 * 2^-13 of its largest number, a sum of random signs: far less than S / 62.
TEST_CASE("gemm_scaled: fast accumulation") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>(
      40, 0x1p-8, pmpp::gemm_options{.precision = pmpp::fast_accumulation{}});
}
TEST_CASE("gemm_scaled: e4m3 and e5m2 of CUDA into half") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e5m2, __half>(40, 0x1p-11);
}
TEST_CASE("fp8: the same bits as CUDA's") {
  for (int code = 0; code < 256; ++code) {
    __nv_fp8_e4m3 x;
    __nv_fp8_e5m2 y;
    x.__x = y.__x = static_cast<unsigned char>(code);
    pmpp::fp8_e4m3 own_x;
    pmpp::fp8_e5m2 own_y;
    own_x.bits = own_y.bits = static_cast<unsigned char>(code);
    const float a = static_cast<float>(x), b = static_cast<float>(own_x), c = static_cast<float>(y),
                d = static_cast<float>(own_y);
    CHECK((a == b || (a != a && b != b)));
    CHECK((c == d || (c != c && d != d)));
  }
  for (const float f : test::random_values<float>(10000)) {
    const float x = f * 1e-3f;
    CHECK(int(__nv_fp8_e4m3(x).__x) == int(pmpp::fp8_e4m3(x).bits));
    CHECK(int(__nv_fp8_e5m2(x).__x) == int(pmpp::fp8_e5m2(x).bits));
  }
}
