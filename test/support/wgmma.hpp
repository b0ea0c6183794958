// SPDX-License-Identifier: Apache-2.0
//
// Products by gemm/wgmma.hpp, compared with their definition.
//
// What is instantiated takes a second or two of compile time each, and a type with an epilogue by all tiles and layouts is
// a dozen of kernels:
//
//   gemm_wgmma.cu            single tiles, with and without C
//   gemm_wgmma_half.cu       half; repacking
//   gemm_wgmma_bfloat16.cu   bfloat16, an epilogue, batches, a graph
//   gemm_wgmma_splits.cu     k in parts
//   gemm_wgmma_double.cu     double
//   gemm_wgmma_others.cu     tf32, integers of 1 byte
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pmpp/gemm.hpp>
#include <pmpp/memory/stream.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

namespace test::wgmma {

inline constexpr pmpp::detail::wgmma_tile large = pmpp::detail::wgmma_tiles[0], middle = pmpp::detail::wgmma_tiles[1],
                                          wide = pmpp::detail::wgmma_tiles[2], small = pmpp::detail::wgmma_tiles[3];

inline bool available() {
  if (pmpp::detail::wgmma_available()) return true;
  MESSAGE("skipped: not a GPU of sm_90a, or not compiled for it (CMAKE_CUDA_ARCHITECTURES=90a)");
  return false;
}

/// A matrix among elements that do not belong to it, `batch` times. Rows, or columns, begin at multiples of 16 bytes.
template <class T>
struct matrix {
  std::int64_t rows, cols, batch, line, step;
  bool column_major;
  std::vector<T> initial;
  pmpp::device_buffer<T> memory;

  matrix(std::int64_t rows_, std::int64_t cols_, bool column_major_ = false, std::int64_t batch_ = 1,
         std::int64_t gap = 0)
      : rows(rows_),
        cols(cols_),
        batch(batch_),
        line(pmpp::round_up(column_major_ ? rows_ : cols_, std::int64_t(8)) + gap),
        step(line * (column_major_ ? cols_ : rows_) + 8),
        column_major(column_major_) {
    for (const float x : random_values<float>(step * batch))
      if constexpr (sizeof(T) == 1)
        initial.push_back(static_cast<T>(static_cast<int>(x * 100)));
      else
        initial.push_back(T(x));
    memory = pmpp::device_buffer<T>(initial);
  }
  std::int64_t row_stride() const { return column_major ? 1 : line; }
  std::int64_t col_stride() const { return column_major ? line : 1; }
  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t b = 0) const {
    return b * step + i * row_stride() + j * col_stride();
  }
  double value(std::int64_t i, std::int64_t j, std::int64_t b) const {
    return static_cast<double>(static_cast<float>(initial[static_cast<std::size_t>(at(i, j, b))]));
  }
};

/// Adds 1000 i + j, so that a place that is wrong shows.
struct add_place {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T value, std::int64_t i, std::int64_t j) const {
    return value + static_cast<T>(i % 8 * 16 + j % 16);
  }
};

template <class T, class TC, class Epilogue = pmpp::no_epilogue>
auto problem(const matrix<T>& a, const matrix<T>& b, matrix<TC>& c, float alpha, float beta, Epilogue f = {}) {
  const auto stride = [](const matrix<T>& x) { return x.batch > 1 ? x.step : 0; };
  return pmpp::detail::gemm_problem<T, T, TC, std::conditional_t<std::is_same_v<T, double>, double, float>, Epilogue>{
      {a.memory.data(), a.rows, a.row_stride(), a.col_stride(), stride(a)},
      {b.memory.data(), b.cols, b.col_stride(), b.row_stride(), stride(b)},
      {c.memory.data(), c.rows, c.cols, c.row_stride(), c.col_stride(), c.step},
      a.cols,
      c.batch,
      {alpha, beta, f, false}};
}

/// How much of a product is lost: floats keep 11 bits as tf32, and tensor cores cut off what others round.
template <class T>
inline constexpr double of_product = std::is_same_v<T, float> ? 0x1p-9 : 0;

template <class T, class TC, class Epilogue = pmpp::no_epilogue>
void check_product(const matrix<T>& a, const matrix<T>& b, const matrix<TC>& c, double alpha, double beta,
                   Epilogue f = {}) {
  const auto got = pmpp::to_host(c.memory);
  auto wanted = c.initial;
  int wrong = 0;
  const double half_a_bit = sizeof(TC) == 8              ? 0x1p-52
                            : sizeof(TC) == 4            ? 0x1p-24
                            : std::is_same_v<TC, __half> ? 0x1p-11
                                                         : 0x1p-8;
  for (std::int64_t batch = 0; batch < c.batch; ++batch)
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.cols; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t p = 0; p < a.cols; ++p) {
          const double x = a.value(i, p, a.batch > 1 ? batch : 0) * b.value(p, j, b.batch > 1 ? batch : 0);
          sum += x;
          size += std::abs(x);
        }
        double exact = alpha * sum + (beta == 0 ? 0 : beta * c.value(i, j, batch));
        if constexpr (!std::is_same_v<Epilogue, pmpp::no_epilogue>) exact += double(f(0, i, j));
        const auto place = static_cast<std::size_t>(c.at(i, j, batch));
        using readable = std::conditional_t<sizeof(TC) == 2, float, TC>;
        const double result = static_cast<double>(static_cast<readable>(got[place]));
        const double bound = sizeof(T) == 1 ? 0
                             : sizeof(T) == 8
                                 ? std::abs(alpha) * size * 0x1p-52 * double(a.cols + 4) + half_a_bit * std::abs(exact)
                                 : std::abs(alpha) * size * (of_product<T> + 0x1p-23 * (double(a.cols) / 8 + 4)) +
                                       half_a_bit * std::abs(exact) + 0x1p-20;
        if (!(std::abs(result - exact) <= bound) && wrong++ == 0) {
          CAPTURE(i);
          CAPTURE(j);
          CAPTURE(batch);
          CHECK(result == exact);
        }
        wanted[place] = got[place];
      }
  CHECK(wrong == 0);
  CHECK(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                    got.size() * sizeof(TC)) == 0);
}

struct shape {
  std::int64_t m, n, k;
};

template <pmpp::detail::wgmma_tile Tile, bool AlongMA, bool AlongNB, class T, class TC,
          class Epilogue = pmpp::no_epilogue>
void try_tile(const shape& s, float alpha, float beta, bool column_major = false, std::int64_t batch = 1,
              Epilogue f = {}, std::int64_t gap = 0) {
  CAPTURE(gap);
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  CAPTURE(Tile.n);
  const matrix<T> a(s.m, s.k, AlongMA, batch), b(s.k, s.n, !AlongNB, batch, 8);
  matrix<TC> c(s.m, s.n, column_major, batch, s.k % 3 * 8 + gap);
  using enum pmpp::detail::rows_along;
  constexpr auto of_a = AlongMA ? mn : k, of_b = AlongNB ? mn : k;
  const auto x = problem(a, b, c, alpha, beta, f);
  if constexpr (sizeof(T) == 2)
    REQUIRE(pmpp::detail::gemm_by_wgmma_tile<Tile, either, either>(pmpp::device, x, {}, pmpp::detail::no_windows{},
                                                                   of_a, of_b));
  else
    REQUIRE(pmpp::detail::gemm_by_wgmma_tile<Tile, of_a, of_b>(pmpp::device, x));
  check_product(a, b, c, alpha, beta, f);
}

/// Products of operands and of a C of which lines do not begin at multiples of 16 bytes.
template <class T>
void try_unaligned() {
  for (const bool a_major : {false, true})
    for (const bool b_major : {false, true})
      for (const int spoilt : {0, 1, 2, 3}) {
        CAPTURE(a_major);
        CAPTURE(b_major);
        CAPTURE(spoilt);
        const matrix<T> a(301, 100, a_major, 1, spoilt % 2), b(100, 552, b_major, 1, spoilt / 2);
        matrix<float> c(301, 552, false, 1, spoilt);
        CHECK(pmpp::detail::gemm_by_wgmma(pmpp::device, problem(a, b, c, 1, 0.5f)));
        check_product(a, b, c, 1, 0.5);
      }
}

}  // namespace test::wgmma
