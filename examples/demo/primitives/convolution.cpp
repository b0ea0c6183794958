// SPDX-License-Identifier: Apache-2.0
//
// convolve.
#include <pmpp/convolution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

std::int64_t clamped(std::int64_t i, std::int64_t n) { return std::clamp(i, std::int64_t(0), n - 1); }

/// The rows of a picture that the items give, blurred by a mask of k x k equal taps; judged at a hundred places.
template <class Place>
outcome blurred(const Place& at, const picture& p, int k) {
  const std::int64_t cols = std::int64_t(p.width) * p.channels, rows = at.n / cols;
  if (rows == 0) return {0, 0, true};
  const auto a = at.put(p.samples);
  auto b = at.template room<std::uint8_t>(at.n);
  const std::vector<float> taps(std::size_t(k * k), 1.0f / float(k * k));
  const pmpp::matrix_view<const std::uint8_t> from(a.data(), rows, cols);
  const pmpp::matrix_view<std::uint8_t> to(b.data(), rows, cols);
  const double seconds = at.seconds(
      [&] { pmpp::convolve(at.where, from, pmpp::matrix_view(taps.data(), k, k), to, pmpp::border::clamp); });
  const auto got = pmpp::to_host(b);
  bool ok = true;
  for (std::int64_t place = 0; place < 100; ++place) {
    const std::int64_t i = rows * cols * place / 100, y = i / cols, x = i % cols;
    double sum = 0;
    for (std::int64_t t = 0; t < k * k; ++t)
      sum += p.samples[std::size_t(clamped(y + t / k - k / 2, rows) * cols + clamped(x + t % k - k / 2, cols))];
    ok = ok && std::abs(got[std::size_t(i)] - sum / (k * k)) <= 0.501;
  }
  return {seconds, 2.0 * double(rows * cols), ok};
}

}  // namespace

void show_convolution(const inputs& in, table& out) {
  for (const int k : {3, 9, 15}) {
    out.begin("convolve: " + std::to_string(k) + " x " + std::to_string(k) + " taps");
    for (const picture& p : in.pictures)
      on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) { return blurred(at, p, k); });
  }
}

}  // namespace demo
