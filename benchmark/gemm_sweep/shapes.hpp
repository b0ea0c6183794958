// SPDX-License-Identifier: Apache-2.0
//
// Products drawn at random, so that no tuning knows them: a seed and a number give the same one everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sweep {

/// C = A B, or a batch of such products, row-major or A' and B'. `pad_…`: elements from the end of a line to the next.
struct shape {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  int ta = 0, tb = 0;
  std::int64_t pad_a = 0, pad_b = 0, pad_c = 0;
  int beta = 0;          ///< C = A B + C / 2
  int back_to_back = 0;  ///< calls that follow each other; else one
  int share_b = 0;       ///< one B for all products

  std::int64_t lda() const { return (ta ? m : k) + pad_a; }
  std::int64_t ldb() const { return (tb ? k : n) + pad_b; }
  std::int64_t ldc() const { return n + pad_c; }
  std::int64_t a_size() const { return (ta ? k : m) * lda(); }
  std::int64_t b_size() const { return (tb ? n : k) * ldb(); }
  std::int64_t c_size() const { return m * ldc(); }
  double work() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
  double elements() const {
    return double(batch) * double(a_size() + c_size()) + double(share_b ? 1 : batch) * double(b_size());
  }

  /// What `--shape` takes.
  std::string text() const {
    char line[256];
    std::snprintf(line, sizeof line, "%lld,%lld,%lld,%lld,%d,%d,%lld,%lld,%lld,%d,%d,%d", (long long)m, (long long)n,
                  (long long)k, (long long)batch, ta, tb, (long long)pad_a, (long long)pad_b, (long long)pad_c, beta,
                  back_to_back, share_b);
    return line;
  }
  static bool parse(const char* text, shape& s) {
    long long m, n, k, batch, pa, pb, pc;
    if (std::sscanf(text, "%lld,%lld,%lld,%lld,%d,%d,%lld,%lld,%lld,%d,%d,%d", &m, &n, &k, &batch, &s.ta, &s.tb, &pa,
                    &pb, &pc, &s.beta, &s.back_to_back, &s.share_b) != 12)
      return false;
    s.m = m, s.n = n, s.k = k, s.batch = batch, s.pad_a = pa, s.pad_b = pb, s.pad_c = pc;
    return true;
  }
};

/// Numbers that a seed determines (splitmix64).
struct random_numbers {
  std::uint64_t state;
  std::uint64_t bits() {
    std::uint64_t x = (state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  double unit() { return double(bits() >> 11) * 0x1p-53; }
  bool chance(double share) { return unit() < share; }
  std::int64_t log_uniform(double from, double to) {
    return std::int64_t(std::floor(std::exp(std::log(from) + unit() * (std::log(to + 1) - std::log(from)))));
  }
};

/// m, n and k from 1 to 16384, up to 2 TFLOP and `most_elements` of an operand; half without multiples of 8, all of `granule`;
/// a quarter with lines that have gaps, a quarter batches, a quarter with beta, half back to back.
inline shape draw(std::uint64_t seed, std::int64_t number, double most_elements, std::int64_t granule) {
  random_numbers next{seed * 1000003 + std::uint64_t(number) * 7919};
  for (;;) {
    shape s;
    const bool odd = next.chance(0.5) && granule == 1;
    const std::int64_t step = std::max<std::int64_t>(granule, 8);
    const auto rounded = [&](std::int64_t x) {
      if (!odd) return x <= 4 ? std::max(x, granule) : (x + step - 1) / step * step;
      return x % 8 == 0 ? x - 1 : x;
    };
    s.m = rounded(next.log_uniform(1, 16384));
    s.n = rounded(next.log_uniform(1, 16384));
    s.k = rounded(next.log_uniform(1, 16384));
    s.ta = next.chance(0.5), s.tb = next.chance(0.5);
    if (next.chance(0.25)) s.batch = next.log_uniform(1, 10000);
    const bool gaps = next.chance(0.25);
    const auto gap = [&] { return gaps ? std::int64_t(odd ? 1 + next.bits() % 63 : step * (1 + next.bits() % 8)) : 0; };
    s.pad_a = gap(), s.pad_b = gap(), s.pad_c = gap();
    s.beta = next.chance(0.25);
    s.back_to_back = next.chance(0.5);
    s.share_b = s.batch > 1 && next.chance(0.25);
    if (granule == 16) s.ta = 0, s.tb = 1, s.batch = 1, s.share_b = 0;  // what cuBLAS can do of 8-bit floats
    const double a = double(s.a_size()), b = double(s.b_size()), c = double(s.c_size());
    if (s.work() <= 2e12 && double(s.batch) * std::max({a, s.share_b ? 0 : b, c}) <= most_elements &&
        b <= most_elements)
      return s;
  }
}

/// A layer of a language model: 1 to 512 tokens, weights stored as n x k.
inline shape draw_tokens(std::uint64_t seed, std::int64_t number) {
  random_numbers next{seed * 1000003 + std::uint64_t(number) * 7919 + 1};
  shape s;
  s.m = next.log_uniform(1, 512);
  s.n = next.log_uniform(2048, 16384) / 64 * 64;
  s.k = next.log_uniform(2048, 16384) / 64 * 64;
  s.tb = 1;
  s.back_to_back = next.chance(0.5);
  return s;
}

}  // namespace sweep
