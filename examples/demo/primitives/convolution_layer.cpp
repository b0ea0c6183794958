// SPDX-License-Identifier: Apache-2.0
//
// convolution_layer.
#include <pmpp/convolution_layer.hpp>

#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_convolution_layer(const inputs& in, table& out) {
  out.begin("convolution_layer: 16 filters of 3 x 3 taps");
  for (const picture& p : in.pictures) {
    const std::int64_t line = std::int64_t(p.width) * p.channels;
    on_each_policy(out, p.name, std::min<std::int64_t>(p.height, 512) * line, [&](const auto& at) {
      const std::int64_t rows = at.n / line, filters = 16, channels = p.channels, taps = 9 * channels;
      if (rows == 0) return outcome{0, 0, true};
      const std::vector<float> samples(p.samples.begin(), p.samples.begin() + rows * line);
      std::vector<float> weights;
      for (std::int64_t i = 0; i < filters * taps; ++i) weights.push_back(float(i * i % 7) - 3);
      const auto a = place{at.where, rows * line}.put(samples);
      const auto w = place{at.where, filters * taps}.put(weights);
      auto b = at.template room<float>(rows * p.width * filters);
      const double seconds = at.seconds([&] {
        pmpp::convolution_layer(at.where, pmpp::nhwc(a.data(), 1, rows, p.width, channels),
                                pmpp::nhwc(w.data(), filters, 3, 3, channels),
                                pmpp::nhwc(b.data(), 1, rows, p.width, filters), {.padding_y = 1, .padding_x = 1});
      });
      const auto got = pmpp::to_host(b);
      bool ok = true;
      for (std::int64_t i = 0; i < rows * p.width; i += 1 + rows * p.width / 100) {
        const std::int64_t y = i / p.width, x = i % p.width, f = i % filters;
        double sum = 0;
        for (std::int64_t k = 0; k < taps; ++k) {
          const std::int64_t from_y = y + k / channels / 3 - 1, from_x = x + k / channels % 3 - 1;
          if (from_y < 0 || from_y >= rows || from_x < 0 || from_x >= p.width) continue;
          sum += double(weights[std::size_t(f * taps + k)]) *
                 double(samples[std::size_t(from_y * line + from_x * channels + k % channels)]);
        }
        ok =
            ok && std::abs(double(got[std::size_t(i * filters + f)]) - sum) < 0.01;  // integers: exact but for rounding
      }
      return outcome{seconds, 4.0 * double(rows * p.width) * double(channels + filters), ok};
    });
  }
}

}  // namespace demo
