// SPDX-License-Identifier: Apache-2.0
//
// histogram_even, histogram_range, histogram, histogram_even_channels.
#include <pmpp/histogram.hpp>

#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

struct itself {
  PMPP_HOST_DEVICE int operator()(int column) const { return column; }
};

}  // namespace

void show_histogram(const inputs& in, table& out) {
  out.begin("histogram_even: bytes of a text");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<unsigned>(256);
      const auto count_bytes = [&] { pmpp::histogram_even(at.where, x, y, 0, 256); };
      const double seconds = at.seconds(count_bytes);
      std::vector<unsigned> exact(256);
      for (std::int64_t i = 0; i < at.n; ++i) ++exact[t.bytes[std::size_t(i)]];
      return outcome{seconds, double(at.n), pmpp::to_host(y) == exact};
    });

  out.begin("histogram: entries of each column");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.columns.size()), [&](const auto& at) {
      const auto x = at.put(m.columns);
      auto y = at.template room<unsigned>(m.cols);
      const double seconds = at.seconds([&] { pmpp::histogram(at.where, x, y, itself{}); });
      std::vector<unsigned> exact(std::size_t(m.cols));
      for (std::int64_t i = 0; i < at.n; ++i) ++exact[std::size_t(m.columns[std::size_t(i)])];
      return outcome{seconds, sizeof(int) * double(at.n) + sizeof(unsigned) * double(m.cols),
                     pmpp::to_host(y) == exact};
    });

  out.begin("histogram_range: sizes of values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const std::vector<double> limits = {-1e300, -1e3, -1, -1e-3, 0, 1e-3, 1, 1e3, 1e300};
      const auto x = at.put(m.values);
      const place<std::remove_cvref_t<decltype(at.where)>> all{at.where, std::int64_t(limits.size())};
      const auto levels = all.put(limits);
      auto y = at.template room<unsigned>(std::int64_t(limits.size()) - 1);
      const double seconds = at.seconds([&] { pmpp::histogram_range(at.where, x, y, levels); });
      std::vector<unsigned> exact(limits.size() - 1);
      for (std::int64_t i = 0; i < at.n; ++i)
        for (std::size_t b = 0; b < exact.size(); ++b)
          exact[b] += limits[b] <= m.values[std::size_t(i)] && m.values[std::size_t(i)] < limits[b + 1];
      return outcome{seconds, sizeof(double) * double(at.n), pmpp::to_host(y) == exact};
    });

  out.begin("histogram_even_channels: red, green, blue");
  for (const picture& p : in.pictures) {
    if (p.channels != 3) continue;
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      auto y = at.template room<unsigned>(3 * 256);
      const std::int64_t whole = at.n / 3 * 3;
      const double seconds =
          at.seconds([&] { pmpp::histogram_even_channels<3>(at.where, x.begin(), x.begin() + whole, y, 0, 256); });
      std::vector<unsigned> exact(3 * 256);
      for (std::int64_t i = 0; i < whole; ++i) ++exact[std::size_t(i % 3 * 256 + p.samples[std::size_t(i)])];
      return outcome{seconds, double(whole), pmpp::to_host(y) == exact};
    });
  }
}

}  // namespace demo
