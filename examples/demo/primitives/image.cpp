// SPDX-License-Identifier: Apache-2.0
//
// rgb_to_gray, box_blur, gaussian_blur, scale.
#include <pmpp/image.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

using byte = std::uint8_t;

/// The mean of the samples around (y, x), not rounded.
double mean_around(const byte* p, std::int64_t rows, std::int64_t cols, std::int64_t y, std::int64_t x, int radius) {
  double sum = 0;
  int count = 0;
  for (std::int64_t i = std::max<std::int64_t>(0, y - radius); i <= std::min(rows - 1, y + radius); ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, x - radius); j <= std::min(cols - 1, x + radius); ++j, ++count)
      sum += p[i * cols + j];
  return sum / count;
}

/// A picture whose pixels are the first items, judged at a hundred places by wrong(y, x, got).
template <class Place, class Call, class Wrong>
outcome judged(const Place& at, std::int64_t rows, std::int64_t cols, double bytes, Call call, Wrong wrong) {
  auto out = at.template room<byte>(rows * cols);
  const pmpp::matrix_view<byte> to(out.data(), rows, cols);
  const double seconds = at.seconds([&] { call(to); });
  const auto got = pmpp::to_host(out);
  bool ok = true;
  for (std::int64_t place = 0; place < 100; ++place) {
    const std::int64_t i = rows * cols * place / 100;
    ok = ok && !wrong(i / cols, i % cols, got[std::size_t(i)]);
  }
  return {seconds, bytes, ok};
}

template <class Place>
outcome gray(const Place& at, const picture& p) {
  const std::int64_t cols = p.width, rows = at.n / (3 * cols);
  if (rows == 0) return {0, 0, true};
  const auto a = at.put(p.samples);
  const pmpp::matrix_view from(reinterpret_cast<const pmpp::rgb<byte>*>(a.data()), rows, cols);
  return judged(
      at, rows, cols, 4.0 * double(rows * cols), [&](const auto& to) { pmpp::rgb_to_gray(at.where, from, to); },
      [&](std::int64_t y, std::int64_t x, byte got) {
        const byte* c = p.samples.data() + 3 * (y * cols + x);
        return std::abs(got - (0.21 * c[0] + 0.71 * c[1] + 0.07 * c[2])) > 0.501;
      });
}

template <class Place>
outcome blurred(const Place& at, const picture& p, int radius) {
  const std::int64_t cols = std::int64_t(p.width) * p.channels, rows = at.n / cols;
  if (rows == 0) return {0, 0, true};
  const auto a = at.put(p.samples);
  const pmpp::matrix_view<const byte> from(a.data(), rows, cols);
  return judged(
      at, rows, cols, 2.0 * double(rows * cols), [&](const auto& to) { pmpp::box_blur(at.where, from, to, radius); },
      [&](std::int64_t y, std::int64_t x, byte got) {
        return std::abs(got - mean_around(p.samples.data(), rows, cols, y, x, radius)) > 0.501;
      });
}

/// Half as large: each pixel the mean of four.
template <class Place>
outcome halved(const Place& at, const picture& p) {
  const std::int64_t cols = std::int64_t(p.width) * p.channels / 2, rows = at.n / (4 * cols);
  if (rows == 0) return {0, 0, true};
  const std::int64_t pitch = std::int64_t(p.width) * p.channels;
  const auto a = at.put(p.samples);
  const pmpp::matrix_view<const byte> from(a.data(), 2 * rows, 2 * cols, pitch);
  return judged(
      at, rows, cols, 5.0 * double(rows * cols), [&](const auto& to) { pmpp::scale(at.where, from, to); },
      [&](std::int64_t y, std::int64_t x, byte got) {
        const byte* c = p.samples.data() + 2 * y * pitch + 2 * x;
        return std::abs(got - 0.25 * (c[0] + c[1] + c[pitch] + c[pitch + 1])) > 0.501;
      });
}

}  // namespace

void show_image(const inputs& in, table& out) {
  const auto each = [&](const char* title, auto f) {
    out.begin(title);
    for (const picture& p : in.pictures)
      on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) { return f(at, p); });
  };
  out.begin("rgb_to_gray");
  for (const picture& p : in.pictures)
    if (p.channels == 3)
      on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) { return gray(at, p); });
  each("box_blur: 3 x 3 pixels", [](const auto& at, const picture& p) { return blurred(at, p, 1); });
  each("box_blur: 31 x 31 pixels", [](const auto& at, const picture& p) { return blurred(at, p, 15); });
  each("scale: half as large", [](const auto& at, const picture& p) { return halved(at, p); });
}

}  // namespace demo
