// SPDX-License-Identifier: Apache-2.0
//
// Floats as tf32, and integers of one byte, on the tensor cores of sm_90a. See gemm_wgmma.cu.
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE("wgmma: what TMA cannot read is copied first, floats") {
  if (!available()) return;
  try_unaligned<float>();
}

TEST_CASE("wgmma: 8-bit integers are exact; those along m or n are copied first") {
  if (!available()) return;
  const auto try_type = [](auto type, std::int64_t k) {
    using T = decltype(type);
    for (const bool a_major : {false, true})
      for (const bool b_major : {false, true})
        for (const std::int64_t gap : {0, 3}) {
          const matrix<T> a(301, k, a_major, 1, gap), b(k, 550, b_major, 1, 8);
          matrix<std::int32_t> c(301, 550, false, 1, gap);
          CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 3, gap > 0)));
          check_product(a, b, c, 3, gap > 0);
        }
  };
  try_type(std::int8_t{}, 200);
  try_type(std::uint8_t{}, 77);
}
