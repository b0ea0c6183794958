// SPDX-License-Identifier: Apache-2.0
//
// inclusive_scan, exclusive_scan.
#include <pmpp/scan.hpp>

#include <cmath>
#include <cstdint>

#include <pmpp/core/iterator.hpp>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

struct is_line_end {
  PMPP_HOST_DEVICE std::int64_t operator()(std::uint8_t c) const { return c == '\n' ? 1 : 0; }
};

}  // namespace

void show_scan(const inputs& in, table& out) {
  out.begin("exclusive_scan: line numbers");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<std::int64_t>(at.n);
      const auto first = pmpp::transform_iterator{x.data(), is_line_end{}};
      const double seconds = at.seconds([&] {  // the first line is line 1
        pmpp::exclusive_scan(at.where, first, first + at.n, y, std::int64_t(1));
      });
      const auto got = pmpp::to_host(y);
      bool ok = true;
      std::int64_t line = 1;
      for (std::size_t i = 0; i < got.size(); ++i) {
        ok = ok && got[i] == line;
        line += t.bytes[i] == 10;
      }
      return outcome{seconds, (1 + sizeof(std::int64_t)) * double(at.n), ok};
    });

  out.begin("exclusive_scan: row offsets");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      std::vector<int> lengths(std::size_t(m.rows));
      for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = m.offsets[i + 1] - m.offsets[i];
      const auto x = at.put(lengths);
      auto y = at.template room<int>(at.n);
      const int start = m.offsets[0];
      const auto lengths_to_offsets = [&] { pmpp::exclusive_scan(at.where, x, y, start); };
      const double seconds = at.seconds(lengths_to_offsets);
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) ok = ok && got[i] == m.offsets[i];
      return outcome{seconds, 2.0 * sizeof(int) * double(at.n), ok};
    });

  out.begin("inclusive_scan: sums of values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      auto y = at.template room<double>(at.n);
      const double seconds = at.seconds([&] { pmpp::inclusive_scan(at.where, x, y); });
      const auto got = pmpp::to_host(y);
      bool ok = true;
      long double exact = 0, magnitudes = 0;  // the bound for a sum of i + 1 doubles in any order
      for (std::size_t i = 0; i < got.size(); ++i) {
        exact += m.values[i];
        magnitudes += std::abs(m.values[i]);
        ok = ok && std::abs(got[i] - exact) <= double(i + 1) * 2.3e-16L * magnitudes;
      }
      return outcome{seconds, 2.0 * sizeof(double) * double(at.n), ok};
    });

  out.begin("inclusive_scan: brightest yet");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      auto y = at.template room<std::uint8_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::inclusive_scan(at.where, x, y, pmpp::maximum{}); });
      const auto got = pmpp::to_host(y);
      bool ok = true;
      std::uint8_t most = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (p.samples[i] > most) most = p.samples[i];
        ok = ok && got[i] == most;
      }
      return outcome{seconds, 2.0 * double(at.n), ok};
    });
}

}  // namespace demo
