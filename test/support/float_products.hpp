// SPDX-License-Identifier: Apache-2.0
//
// Products of floats by parts (gemm/parts.hpp), compared with their definition, and their errors with those of sums of floats.
// Multiply: multiply(problem) has a gemm_problem multiplied on the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <pmpp/gemm.hpp>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

namespace test {

using floats = matrix<device_place, float>;

struct plus_place {
  PMPP_HOST_DEVICE float operator()(float v, std::int64_t i, std::int64_t j) const {
    return v + static_cast<float>(i % 8 * 16 + j % 16);
  }
};

template <class Epilogue = pmpp::no_epilogue>
auto problem_of(const floats& a, const floats& b, floats& c, float alpha, float beta, Epilogue f = {}) {
  const auto x = a.input(), y = b.input();
  const auto z = c.view();
  return pmpp::detail::gemm_problem<float, float, float, float, Epilogue>{
      {x.data(), x.rows(), x.row_stride(), x.col_stride(), 0},
      {y.data(), y.cols(), y.col_stride(), y.row_stride(), 0},
      {z.data(), z.rows(), z.cols(), z.row_stride(), z.col_stride(), 0},
      x.cols(),
      1,
      {alpha, beta, f, false}};
}

/// Any shape and layout, alpha and beta; what lies around C stays.
template <class Multiply>
void try_any_floats(int times, Multiply multiply) {
  for (int i = 0; i < turns(times); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 2, 7, 31, 32, 33, 64, 65, PMPP_CUDA ? 130 : 5}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 5, 32, 63, 64, 65, 128, 200});
    const float alpha = random_of({1.0f, -2.0f}), beta = random_of({0.0f, 0.5f});
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(alpha);
    CAPTURE(beta);
    const floats a(m, k, random_layout()), b(k, n, random_layout());
    floats c(m, n, random_layout());
    multiply(problem_of(a, b, c, alpha, beta));
    check_product<float>(a, b, c, alpha, beta, 0x1p-24);
  }
}

/// The greatest error of the elements of C = A B, as a share of the sum of |a b| of each.
inline double greatest_error(const floats& a, const floats& b, const floats& c) {
  const auto got = device_place::get(c.memory);
  const auto result = c.view_of(got.data());
  double greatest = 0;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) {
      long double sum = 0, size = 0;
      for (std::int64_t p = 0; p < a.cols; ++p) {
        const long double x = static_cast<long double>(a.value(i, p)) * static_cast<long double>(b.value(p, j));
        sum += x, size += std::abs(x);
      }
      if (size > 0)
        greatest =
            std::max(greatest, static_cast<double>(std::abs(static_cast<long double>(result(i, j)) - sum) / size));
    }
  return greatest;
}

/// The error is at most that of sums of floats (one after another, by pmpp::seq), whatever the exponents, and where sums cancel.
template <class Multiply>
void try_errors(std::int64_t m, std::int64_t n, std::int64_t k, Multiply multiply) {
  const auto values = [](std::int64_t count, int least, int most) {  // exponents from least to most
    std::vector<float> v(static_cast<std::size_t>(count));
    for (float& x : v) {
      const int exponent = least + static_cast<int>(generator()() % static_cast<unsigned>(most - least + 1));
      x = std::ldexp(1 + static_cast<float>(generator()() % (1u << 23)) * 0x1p-23f, exponent);
      if (generator()() % 2 == 0) x = -x;
    }
    return v;
  };
  enum kind { unit, positive, wide, small_and_large, cancelling };
  for (const kind what : {unit, positive, wide, small_and_large, cancelling}) {
    CAPTURE(static_cast<int>(what));
    CAPTURE(k);
    const int spread = what == wide ? 30 : 0, apart = what == small_and_large ? 120 : 0;
    auto of_a = values(m * k, -spread - apart - (what == small_and_large ? 28 : 0), spread - apart),
         of_b = values(k * n, -spread + apart, spread + apart);
    if (what == positive)
      for (auto* v : {&of_a, &of_b})
        for (float& x : *v) x = std::abs(x);
    if (what == cancelling)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t p = k / 2; p < k; ++p)
          of_a[static_cast<std::size_t>(i * k + p)] =
              -of_a[static_cast<std::size_t>(i * k + p - k / 2)] * (1 + 0x1p-20f);
    if (what == cancelling)
      for (std::int64_t p = k / 2; p < k; ++p)
        for (std::int64_t j = 0; j < n; ++j)
          of_b[static_cast<std::size_t>(p * n + j)] = of_b[static_cast<std::size_t>((p - k / 2) * n + j)];
    of_a.resize(static_cast<std::size_t>(floats::room(m, k, {})));
    of_b.resize(static_cast<std::size_t>(floats::room(k, n, {})));
    const floats a(m, k, {}, of_a), b(k, n, {}, of_b);
    floats c(m, n), plain(m, n);
    multiply(problem_of(a, b, c, 1, 0));
    std::vector<float> sums(plain.initial.size());
    pmpp::gemm(pmpp::seq, 1, a.view_of(a.initial.data()), b.view_of(b.initial.data()), 0, plain.view_of(sums.data()));
    plain.memory = device_place::put(sums);
    const double own = greatest_error(a, b, c), of_floats = greatest_error(a, b, plain);
    CAPTURE(own * 0x1p24);
    CAPTURE(of_floats * 0x1p24);
    CHECK(own <= 0x1p-21);  // for any k
    // Where single products outweigh the others, tensor cores may cut off the result up to four times, which rounding would halve.
    if (!PMPP_CUDA || what != wide) CHECK(own <= of_floats);
    if (PMPP_CUDA)
      MESSAGE("kind ", static_cast<int>(what), ", k ", k, ": ", own * 0x1p24, " x 2^-24, floats one after another ",
              of_floats * 0x1p24);
  }
}

/// Infinities, NaN, the largest and the smallest floats: as sums of floats have them.
template <class Multiply>
void try_special_floats(Multiply multiply) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN(),
                  largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  constexpr std::int64_t m = 40, n = 70, k = 70;
  std::vector<float> of_a(static_cast<std::size_t>(floats::room(m, k, {}))),
      of_b(static_cast<std::size_t>(floats::room(k, n, {})));
  // Row i of A has one element, or two; column j of B is one number, so that each result is known.
  const auto at_a = [&](std::int64_t i, std::int64_t p) -> float& { return of_a[static_cast<std::size_t>(i * k + p)]; };
  at_a(0, 3) = inf;
  at_a(1, 69) = nan;
  at_a(2, 5) = inf, at_a(2, 6) = -inf;
  at_a(3, 0) = largest;
  at_a(4, 1) = -largest;
  at_a(5, 2) = 5 * least;
  at_a(6, 3) = 0x1.fffffep-126f;
  at_a(7, 4) = 0x1.234566p-120f;
  at_a(8, 5) = largest, at_a(8, 6) = largest;
  at_a(9, 7) = 0x1.ff7fp127f;  // rounds up to what bfloat16 does not have
  at_a(10, 8) = 0x1.abcdeep0f;
  at_a(12, 9) = 0x1.fffffep0f;
  const std::vector<float> factors{1, 0.5f, 0x1p100f, -1, 0x1.fffffep-1f, 0, 2, inf, 0x1.000002p-126f, 3 * least};
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t j = 0; j < n; ++j)
      of_b[static_cast<std::size_t>(p * n + j)] = factors[static_cast<std::size_t>(j) % factors.size()];
  const floats a(m, k, {}, of_a), b(k, n, {}, of_b);
  floats c(m, n, {},
           std::vector<float>(static_cast<std::size_t>(floats::room(m, n, {})), nan));  // beta = 0 does not read C
  multiply(problem_of(a, b, c, 1, 0));
  const auto got = device_place::get(c.memory);
  const auto result = c.view_of(got.data());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      // A denormal counts to within its last place.
      float sum = 0, other = 0;
      for (std::int64_t p = 0; p < k; ++p) other = std::max(other, std::abs(i == 5 ? b.value(p, j) : a.value(i, p)));
      const bool is_denormal = i == 5 || j % 10 == 9;
      for (std::int64_t p = 0; p < k; ++p) sum += a.value(i, p) * b.value(p, j);
      const float is = result(i, j);
      const bool right = std::isnan(sum)   ? std::isnan(is)
                         : std::isinf(sum) ? is == sum
                                           : std::abs(is - sum) <=
                                                 0x1p-23f * std::abs(sum) + least + (is_denormal ? other * least : 0);
      CAPTURE(i);
      CAPTURE(j);
      CAPTURE(is);
      CAPTURE(sum);
      if (!right) CHECK(right);
    }
}

}  // namespace test
