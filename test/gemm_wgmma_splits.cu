// SPDX-License-Identifier: Apache-2.0
//
// Products on the tensor cores of sm_90a whose k is split. See gemm_wgmma.cu.
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE("wgmma: k is split: into any number of k_tiles, any layout, batches, an epilogue; the same bits again") {
  if (!available()) return;
  const auto try_type = [](auto type, auto result) {
    using T = decltype(type);
    using TC = decltype(result);
    constexpr std::int64_t depth = 128 / sizeof(T);
    for (const std::int64_t batch : {1, 3})
      for (const bool a_major : {false, true})
        for (const bool b_major : {false, true})
          for (const int split_k_tiles : {1, 2, 7}) {
            if (sizeof(T) == 1 && (a_major || !b_major || batch > 1)) continue;
            if (std::is_same_v<T, float> && !b_major) continue;
            CAPTURE(batch);
            CAPTURE(a_major);
            CAPTURE(b_major);
            CAPTURE(split_k_tiles);
            const std::int64_t k = 9 * depth + 1;
            const std::int64_t gap = sizeof(T) == 1 ? 8 : 0;  // words of 16 bytes
            const matrix<T> a(130, k, a_major, batch, gap), b(k, 70, b_major, batch, gap);
            matrix<TC> c(130, 70, a_major, batch);
            const pmpp::detail::wgmma_plan plan{1, (10 + split_k_tiles - 1) / split_k_tiles, split_k_tiles};
            const auto x = problem(a, b, c, 2, 1, add_place{});
            CHECK(pmpp::detail::gemm_in_splits(device, x, !a_major, b_major, plan));
            check_product(a, b, c, 2, 1, add_place{});
            const auto first = pmpp::to_host(c.memory);
            c.memory = pmpp::device_buffer<TC>(c.initial);
            CHECK(pmpp::detail::gemm_in_splits(device, problem(a, b, c, 2, 1, add_place{}), !a_major, b_major, plan));
            CHECK(std::memcmp(pmpp::to_host(c.memory).data(), first.data(), first.size() * sizeof(TC)) == 0);
          }
  };
  try_type(__nv_bfloat16{}, float{});
  try_type(__half{}, __half{});
  try_type(float{}, float{});
  try_type(std::int8_t{}, std::int32_t{});
  for (const std::int64_t k_tiles : test::some_of({1, 2, 63, 64, 65, 1000}))
    for (const std::int64_t m : {1, 128, 500, 5000}) {
      const auto plan = pmpp::detail::plan_wgmma(4, m, 300, k_tiles, 1, pmpp::machine{});
      CAPTURE(k_tiles);
      CAPTURE(m);
      CHECK(std::int64_t(plan.splits) * plan.split_k_tiles >= k_tiles);
      CHECK(std::int64_t(plan.splits - 1) * plan.split_k_tiles < k_tiles);  // no split is empty
    }
}
