// SPDX-License-Identifier: Apache-2.0
//
// stencil.
#include <pmpp/stencil.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The magnitude of the gradient of a grey picture, at most 255: a function that no mask has.
struct gradient {
  template <class N>
  PMPP_HOST_DEVICE std::uint8_t operator()(const N& n) const {
    const float y = float(n(1, 0)) - float(n(-1, 0)), x = float(n(0, 1)) - float(n(0, -1));
    const float length = sqrtf(x * x + y * y);
    return static_cast<std::uint8_t>(length < 255 ? length : 255);
  }
};

std::int64_t clamped(std::int64_t i, std::int64_t n) { return std::clamp(i, std::int64_t(0), n - 1); }

/// The rows of a picture that the items give; judged at a hundred places.
template <class Place>
outcome gradients(const Place& at, const picture& p) {
  const std::int64_t cols = std::int64_t(p.width) * p.channels, rows = at.n / cols;
  if (rows == 0) return {0, 0, true};
  const auto a = at.put(p.samples);
  auto b = at.template room<std::uint8_t>(at.n);
  const pmpp::matrix_view<const std::uint8_t> from(a.data(), rows, cols);
  const pmpp::matrix_view<std::uint8_t> to(b.data(), rows, cols);
  const double seconds =
      at.seconds([&] { pmpp::stencil(at.where, from, to, pmpp::radius<1>, gradient{}, pmpp::border::clamp); });
  const auto got = pmpp::to_host(b);
  bool ok = true;
  for (std::int64_t place = 0; place < 100; ++place) {
    const std::int64_t i = rows * cols * place / 100, y = i / cols, x = i % cols;
    const auto sample = [&](std::int64_t row, std::int64_t col) {
      return double(p.samples[std::size_t(clamped(row, rows) * cols + clamped(col, cols))]);
    };
    const double length = std::hypot(sample(y + 1, x) - sample(y - 1, x), sample(y, x + 1) - sample(y, x - 1));
    ok = ok && std::abs(double(got[std::size_t(i)]) - std::floor(std::min(length, 255.0))) <= 1;
  }
  return {seconds, 2.0 * double(rows * cols), ok};
}

/// Numbers along a line, smoothed.
template <class Place>
outcome smoothed(const Place& at, const std::vector<std::uint8_t>& bytes) {
  const auto a = at.put(bytes);
  auto b = at.template room<float>(at.n);
  const pmpp::stencil_13<float> weights{{0.4f, 0.2f, 0.1f}};
  const double seconds =
      at.seconds([&] { pmpp::stencil(at.where, a, b, pmpp::radius<2>, weights, pmpp::border::reflect); });
  const auto got = pmpp::to_host(b);
  bool ok = true;
  for (std::int64_t i = 2; i < at.n - 2; i += 1 + at.n / 100) {
    const auto sample = [&](std::int64_t k) { return double(bytes[std::size_t(k)]); };
    const double wanted =
        0.4 * sample(i) + 0.2 * (sample(i - 1) + sample(i + 1)) + 0.1 * (sample(i - 2) + sample(i + 2));
    ok = ok && std::abs(double(got[std::size_t(i)]) - wanted) < 1e-3;
  }
  return {seconds, 5.0 * double(at.n), ok};
}

}  // namespace

void show_stencil(const inputs& in, table& out) {
  out.begin("stencil: gradients of a picture");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) { return gradients(at, p); });
  out.begin("stencil: the bytes of a text, smoothed");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) { return smoothed(at, t.bytes); });
}

}  // namespace demo
