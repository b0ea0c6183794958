// SPDX-License-Identifier: Apache-2.0
//
// gemm, gemv.
#include <pmpp/gemm.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_gemm(const inputs& in, table& out) {
  out.begin("gemm: rows against rows");  // of a picture: which look alike
  for (const picture& p : in.pictures) {
    const std::int64_t length = std::int64_t(p.width) * p.channels, most = std::min(p.height, 64);
    on_each_policy(out, p.name, most * length, [&](const auto& at) {
      const std::int64_t rows = std::max<std::int64_t>(1, at.n / length);
      const std::vector<std::uint8_t> part(p.samples.begin(), p.samples.begin() + rows * length);
      const place whole{at.where, rows * length};
      const auto x = whole.put(part);
      auto y = at.template room<std::uint32_t>(rows * rows);
      // [calls]
      const pmpp::matrix_view<const std::uint8_t> picture(x.data(), rows, length);
      const pmpp::matrix_view<std::uint32_t> likeness(y.data(), rows, rows);
      const double seconds = at.seconds([&] { pmpp::gemm(at.where, 1, picture, transposed(picture), 0, likeness); });
      // [end]
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < rows; j += 7) {
          std::uint32_t sum = 0;
          for (std::int64_t k = 0; k < length; ++k)
            sum += std::uint32_t(part[std::size_t(i * length + k)]) * part[std::size_t(j * length + k)];
          ok = ok && got[std::size_t(i * rows + j)] == sum;
        }
      return outcome{seconds, 2.0 * double(rows * length) + 4.0 * double(rows * rows), ok};
    });
  }

  out.begin("gemv: sums of columns");
  for (const picture& p : in.pictures) {
    const std::int64_t length = std::int64_t(p.width) * p.channels;
    on_each_policy(out, p.name, p.height * length, [&](const auto& at) {
      const std::int64_t rows = std::max<std::int64_t>(1, at.n / length);
      const std::vector<std::uint8_t> part(p.samples.begin(), p.samples.begin() + rows * length);
      const place whole{at.where, rows * length};
      const auto x = whole.put(part), ones = whole.put(std::vector<std::uint8_t>(part.size(), 1));
      auto y = at.template room<std::uint32_t>(length);
      const pmpp::matrix_view<const std::uint8_t> picture(x.data(), rows, length);
      const double seconds = at.seconds([&] { pmpp::gemv(at.where, 1, transposed(picture), ones, 0, y); });
      std::vector<std::uint32_t> wanted(static_cast<std::size_t>(length));
      for (std::int64_t i = 0; i < rows * length; ++i) wanted[std::size_t(i % length)] += part[std::size_t(i)];
      return outcome{seconds, double(rows * length), pmpp::to_host(y) == wanted};
    });
  }
}

}  // namespace demo
