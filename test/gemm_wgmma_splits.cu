// SPDX-License-Identifier: Apache-2.0
//
// Products on the tensor cores of sm_90a whose tiles several blocks share. See gemm_wgmma.cu.
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE(
    "wgmma: tiles that blocks share: any number of parts, any layout, batches, an epilogue; the same bits again") {
  if (!available()) return;
  const auto try_type = [](auto type, auto result) {
    using T = decltype(type);
    using TC = decltype(result);
    test::only_each fifth(5);
    constexpr std::int64_t depth = 128 / sizeof(T);
    for (const std::int64_t batch : {1, 3})
      for (const bool a_major : {false, true})
        for (const bool b_major : {false, true})
          for (const int splits : {1, 2, 3, 5, 7, 30, 132}) {
            if (sizeof(T) == 1 && (a_major || !b_major || batch > 1)) continue;
            if (std::is_same_v<T, float> && !b_major) continue;
            if (fifth.leaves_out()) continue;
            CAPTURE(batch);
            CAPTURE(a_major);
            CAPTURE(b_major);
            CAPTURE(splits);
            const std::int64_t k = 9 * depth + 1;
            const std::int64_t gap = sizeof(T) == 1 ? 8 : 0;  // words of 16 bytes
            const matrix<T> a(130, k, a_major, batch, gap), b(k, 70, b_major, batch, gap);
            matrix<TC> c(130, 70, a_major, batch);
            const pmpp::detail::wgmma_plan plan{1, splits};
            const auto x = problem(a, b, c, 2, 1, add_place{});
            CHECK(pmpp::detail::gemm_as_planned(device, x, !a_major, b_major, plan));
            check_product(a, b, c, 2, 1, add_place{});
            const auto first = pmpp::to_host(c.memory);
            c.memory = pmpp::device_buffer<TC>(c.initial);
            CHECK(pmpp::detail::gemm_as_planned(device, problem(a, b, c, 2, 1, add_place{}), !a_major, b_major, plan));
            CHECK(std::memcmp(pmpp::to_host(c.memory).data(), first.data(), first.size() * sizeof(TC)) == 0);
          }
  };
  try_type(__nv_bfloat16{}, float{});
  try_type(__half{}, __half{});
  try_type(float{}, float{});
  try_type(std::int8_t{}, std::int32_t{});
}
