// SPDX-License-Identifier: Apache-2.0
//
// gemm of floats with the tiles that it is made with. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/captured_graph.hpp"
#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::device;
using pmpp::matrix_view;
using test::layout, test::matrix, test::random_layout, test::random_of, test::try_product;

TEST_ALL_PLACES("gemm: the tiles that it is made with") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      if (!where::on_device && ta != tb) continue;  // `seq` and `host` have no tiles; gemm.cpp tries their layouts
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(129, 131, 37, {ta}, {tb}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 64, {ta, 4}, {tb, 4}, {ta != tb}, 2, 1);
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(200, 300, 100, {ta}, {tb}, {});  // words, edges
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(100, 120, 36, {ta}, {tb, 8}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(130, 257, 100, {ta, 1, 1}, {tb, 3, 2}, {false, 1});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 72, {ta, 1}, {tb}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 72, {ta}, {tb, 1}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 260, 50, {ta, 0, 0, 2}, {tb}, {});
    }
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{5, 300, 500}, {300, 4, 500}, {300, 5, 500}, {16, 16, 3000}, {300, 200, 40}})
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {}, {}, {}, 1, 0);
}

TEST_ALL_PLACES("gemm: a few rows or columns, in strips") {
  for (int i = 0; i < test::turns(where::on_device ? 60 : 20); ++i) {
    const auto some = random_of<std::int64_t>({2, 3, 4, 5, 8, 9}),
               many = random_of<std::int64_t>({127, 128, 131, 256, 300});
    const auto k = random_of<std::int64_t>({0, 1, 31, 32, 33, 64, 67, 200, 260});
    const bool turned = i % 2 == 0;
    const auto way = [] {  // mostly rows or columns that begin at multiples of 16 bytes
      return random_of<layout>({{false}, {true}, {false, 4}, {true, 8}, {false, 0, 4}, {true, 1}, {false, 0, 1}});
    };
    // Whole words lie one after another only where extents are multiples of four.
    const auto whole = [&](std::int64_t n) { return i % 3 == 0 ? n : (n + 3) / 4 * 4; };
    const double alpha = random_of({1.0, -0.5}), beta = random_of({0.0, 0.5});
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(turned ? whole(many) : 4 * some,
                                                                 turned ? 4 * some : whole(many), whole(k), way(),
                                                                 way(), random_layout(), alpha, beta);
  }
  for (const bool b : {false, true}) {
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(15, 260, 3000, {b}, {b}, {});  // splits of k
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(517, 29, 900, {b}, {!b}, {b}, 1, 1);
  }
}

TEST_ALL_PLACES("gemm: k of a few, outer products") {
  for (int i = 0; i < test::turns(where::on_device ? 60 : 20); ++i) {
    const auto size = [] { return random_of<std::int64_t>({2, 3, 4, 7, 32, 65, 128, 260, 513}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 2, 3, 4, 5, 8, 17, 31, 32});
    const double alpha = random_of({1.0, -0.5}), beta = random_of({0.0, 0.5});
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, random_layout(), random_layout(),
                                                                 random_layout(), alpha, beta);
  }
}

TEST_ALL_PLACES("gemm: a small C and a long k, at any size and in any layout") {
  constexpr pmpp::gemm_tuning tuning = [] {
    auto t = pmpp::gemm_tuning_for<float>();
    t.direct = false;
    return t;
  }();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 1500}, {100, 70, 900}, {33, 130, 700}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {ta}, {tb}, {ta}, 0.5, 2);
        if constexpr (where::on_device)
          try_product<where, tuning, float, float, float>(m, n, k, {ta, 4}, {tb, 8}, random_layout());
      }
  try_product<where, pmpp::gemm_tuning{}, float, float, float>(64, 64, 1500, {}, {}, {}, 0, 2);  // not multiplied
}

#if PMPP_CUDA
TEST_CASE("gemm: large enough for many waves of blocks and every edge") {
  using where = test::device_place;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{513, 1025, 257}, {1024, 1024, 512}, {64, 64, 20000}, {2051, 2050, 40}}) {
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {false}, {false}, {false});
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {true, 1}, {true, 4}, {true, 3}, 0.5, 2);
  }
}

TEST_CASE("gemm in a graph, replayed on changed data, in another stream") {
  using where = test::device_place;
  const std::int64_t m = 40, n = 50, k = 3000;  // k is split
  matrix<where, float> a(m, k), b(k, n), c(m, n), x(k, 1), y(m, 1);
  pmpp::stream s;
  pmpp::workspace scratch;
  const auto policy = device.on(s).with(scratch);
  const auto calls = [&] {
    pmpp::gemm(policy, 1, a.input(), b.input(), 0, c.view());
    pmpp::gemv(policy, 1, a.input(), x.memory, 0, y.memory);
  };
  calls();
  s.synchronize();
  const test::captured_graph replayed(s, calls);
  for (int i = 0; i < 3; ++i) {
    a.initial = test::random_values<float>(std::int64_t(a.initial.size()));
    pmpp::copy(a.initial, a.memory);
    replayed.replay();
    s.synchronize();
    check_product<float>(a, b, c, 1, 0, double(std::numeric_limits<float>::epsilon()));
    check_product<float>(a, x, y, 1, 0, double(std::numeric_limits<float>::epsilon()));
  }
}

TEST_CASE("gemm: elements past 2^32 of a matrix") {
  using where = test::device_place;
  const std::int64_t pitch = std::int64_t(1) << 28, rows = 17;  // 17 GiB apart in all
  std::size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  if (free_bytes < (std::size_t(20) << 30)) {
    MESSAGE("skipped: less than 20 GiB of memory are free");
    return;
  }
  pmpp::device_buffer<float> memory(rows * pitch);
  const matrix<where, float> a(rows, 8), b(8, 64);
  matrix<where, float> small(rows, 64), back(rows, rows);
  const matrix_view<float> wide(memory.data() + 5, rows, 64, pitch);
  pmpp::gemm(device, 1, a.input(), b.input(), 0, wide);
  pmpp::gemm(device, 1, a.input(), b.input(), 0, small.view());
  pmpp::gemm(device, 1, wide, pmpp::transposed(wide), 0, back.view());
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<float> row(64), wanted(64);
    pmpp::copy(std::span<const float>(&wide(i, 0), 64), row);
    pmpp::copy(std::span<const float>(small.memory.data() + i * 64, 64), wanted);
    CHECK(row == wanted);
  }
  small.initial = where::get(small.memory);
  const matrix<where, float> turned(64, rows, {true}, small.initial);
  check_product<float>(small, turned, back, 1, 0, double(std::numeric_limits<float>::epsilon()));
}
#endif
