// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm and gemm_batched: a product is made on every machine, also where the tiles, strips and shares of
// an H100 do not fit into shared memory; and on an H100 nothing is left out for want of it.
#include <pmpp/gemm.hpp>

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "support/machines.hpp"

using pmpp::matrix_view;

namespace {

constexpr pmpp::machine h100{};

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
// With all of a machine's multiprocessors, and with one, on which large tiles are best.
constexpr auto all_or_one = {1000, 1};

/// A product of small integers, which is exact, against the definition. With ta, tb that operand is stored transposed.
template <class TA, class TB, class TC, bool Batched = false>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, bool ta = false, bool tb = false,
              std::int64_t batch = 0) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto filled = [](auto zero, std::int64_t count) {
    std::vector<decltype(zero)> v(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<decltype(zero)>(static_cast<int>(i * 7 % 5) - 2);
    return v;
  };
  const std::int64_t count = batch > 0 ? batch : 1;
  const auto a = filled(TA{}, m * k * count);
  const auto b = filled(TB{}, k * n * count);
  std::vector<TC> got(static_cast<std::size_t>(m * n * count)), wanted(got);
  const auto view = [](auto& v, std::int64_t rows, std::int64_t cols, bool transposed) {
    using element = std::remove_pointer_t<decltype(v.data())>;
    return matrix_view<element>(v.data(), rows, cols, transposed ? std::int64_t(1) : cols,
                                transposed ? rows : std::int64_t(1));
  };
  const auto run = [&](const auto& where, std::vector<TC>& c) {
    if constexpr (Batched)
      pmpp::gemm_batched(where, 1, view(a, m, k, ta), m * k, view(b, k, n, tb), k * n, 0, view(c, m, n, false), m * n,
                         batch);
    else
      pmpp::gemm(where, 1, view(a, m, k, ta), view(b, k, n, tb), 0, view(c, m, n, false));
  };
  run(pmpp::seq, wanted);
  run(pmpp::device, got);
  CHECK(got == wanted);
}

TEST_CASE("floats, of a few rows and columns, with a long k, and large ones") {
  test::on_machines(
      [] {
        for (const std::int64_t rows : {2, 16, 17, 32}) {
          multiply<float, float, float>(rows, 132, 70);
          multiply<float, float, float>(rows, 256, 128, false, true);
          multiply<float, float, float>(132, rows, 64, true);
        }
        multiply<float, float, float>(64, 64, 1500);
        multiply<float, float, float>(100, 72, 900, true, true);
        multiply<float, float, float>(150, 260, 40);
      },
      all_or_one);
}

TEST_CASE("doubles, on tensor cores and, of two types, without; many small ones") {
  test::on_machines(
      [] {
        multiply<double, double, double>(256, 256, 32);
        multiply<double, double, double>(130, 70, 40, true, true);
        multiply<double, float, double>(100, 130, 20);
        multiply<double, float, double, true>(20, 24, 30, false, true, 40);
      },
      all_or_one);
}

TEST_CASE("8-bit integers and half on tensor cores") {
  test::on_machines(
      [] {
        multiply<std::int8_t, std::int8_t, std::int32_t>(150, 140, 160);
#if defined(__FLT16_MAX__)
        multiply<_Float16, _Float16, float>(150, 140, 70, false, true);
#endif
      },
      all_or_one);
}
#endif

TEST_CASE("on an H100 no candidate is left out, and as many blocks run as their launch bounds say") {
  const auto all = []<class A>(A) {
    constexpr pmpp::gemm_tuning t = pmpp::gemm_tuning_for<A>();
    const auto fits = [](const pmpp::gemm_tile& tile) {
      return tile.m == 0 || (h100.fits(tile.shared_bytes(sizeof(A))) &&
                             h100.resident_blocks(tile.threads(), tile.shared_bytes(sizeof(A)), 32) >= tile.blocks);
    };
    for (const auto& tile : {t.large, t.small}) CHECK(fits(tile));
    using pmpp::detail::large_complex_tile, pmpp::detail::small_complex_tile;
    for (const auto& tile :
         {t.mma_large, t.mma_small, pmpp::detail::small_tf32_tile, large_complex_tile, small_complex_tile}) {
      CHECK(h100.fits(tile.shared_bytes()));
      CHECK(h100.resident_blocks(tile.threads(), tile.shared_bytes(), 32) >= tile.blocks);
    }
    CHECK((t.thin.rows == 0 || h100.fits(t.thin.shared_bytes(sizeof(A)))));
  };
  all(0.0f);
  all(0.0);
}

}  // namespace
