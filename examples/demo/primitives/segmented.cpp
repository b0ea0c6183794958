// SPDX-License-Identifier: Apache-2.0
//
// segmented_reduce, segmented_inclusive_scan, reduce_by_key, run_length_encode.
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The first `count` elements.
template <class Buffer>
auto first_of(const Buffer& buffer, std::int64_t count) {
  auto all = pmpp::to_host(buffer);
  all.resize(std::size_t(count));
  return all;
}

}  // namespace

void show_segmented(const inputs& in, table& out) {
  out.begin("segmented_reduce: sums of rows");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      const place all{at.where, std::int64_t(m.values.size())};
      const place ends{at.where, at.n + 1};
      const auto x = all.put(m.values);
      const auto rows = ends.put(m.offsets);
      auto y = at.template room<double>(at.n);
      const auto sums_of_rows = [&] { pmpp::segmented_reduce(at.where, x, rows, y); };
      const double seconds = at.seconds(sums_of_rows);
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) {
        double sum = 0, size = 0;
        for (auto k = std::size_t(m.offsets[i]); k < std::size_t(m.offsets[i + 1]); ++k) {
          sum += m.values[k];
          size += std::abs(m.values[k]);
        }
        ok = ok && std::abs(got[i] - sum) <= 1e-12 * size;
      }
      const double elements = double(m.offsets[std::size_t(at.n)] - m.offsets[0]);
      return outcome{seconds, sizeof(double) * (elements + double(at.n)) + sizeof(int) * double(at.n + 1), ok};
    });

  out.begin("segmented_inclusive_scan: columns in rows");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      const std::int64_t nonzeros = m.offsets[std::size_t(at.n)];
      const place all{at.where, nonzeros};
      const place ends{at.where, at.n + 1};
      const auto x = all.put(m.columns);
      const auto rows = ends.put(m.offsets);
      auto y = at.template room<int>(nonzeros);
      const double seconds = at.seconds([&] { pmpp::segmented_inclusive_scan(at.where, x, rows, y, pmpp::maximum{}); });
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::size_t i = 0; i < std::size_t(at.n); ++i) {
        int most = 0;
        for (auto k = std::size_t(m.offsets[i]); k < std::size_t(m.offsets[i + 1]); ++k) {
          most = std::max(most, m.columns[k]);
          ok = ok && got[k] == most;
        }
      }
      return outcome{seconds, sizeof(int) * (2.0 * double(nonzeros) + double(at.n)), ok};
    });

  out.begin("reduce_by_key: areas of brightness");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      std::vector<std::uint8_t> bright(p.samples.size());
      for (std::size_t i = 0; i < bright.size(); ++i) bright[i] = p.samples[i] >= 128;
      const auto keys = at.put(bright);
      const auto x = at.put(p.samples);
      auto key = at.template room<std::uint8_t>(at.n);
      auto y = at.template room<std::int64_t>(at.n);
      std::int64_t runs = 0;
      const double seconds =
          at.seconds([&] { runs = pmpp::reduce_by_key(at.where, keys, x, key, y).second - y.begin(); });
      std::vector<std::uint8_t> exact_keys;
      std::vector<std::int64_t> exact;
      for (std::size_t i = 0; i < std::size_t(at.n); ++i) {
        if (i == 0 || bright[i] != bright[i - 1]) {
          exact_keys.push_back(bright[i]);
          exact.push_back(0);
        }
        exact.back() += p.samples[i];
      }
      return outcome{seconds, 2.0 * double(at.n) + 9.0 * double(exact.size()),
                     first_of(key, runs) == exact_keys && first_of(y, runs) == exact};
    });

  out.begin("run_length_encode: text");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto symbols = at.template room<std::uint8_t>(at.n);
      auto times = at.template room<std::int32_t>(at.n);
      std::int64_t runs = 0;
      const double seconds =
          at.seconds([&] { runs = pmpp::run_length_encode(at.where, x, symbols, times).first - symbols.begin(); });
      const auto symbol = first_of(symbols, runs);
      const auto count = first_of(times, runs);
      std::vector<std::uint8_t> decoded;
      for (std::size_t i = 0; i < symbol.size(); ++i) decoded.insert(decoded.end(), std::size_t(count[i]), symbol[i]);
      const bool ok = decoded == std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      return outcome{seconds, double(at.n) + 5.0 * double(runs), ok};
    });
}

}  // namespace demo
