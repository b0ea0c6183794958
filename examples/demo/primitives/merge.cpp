// SPDX-License-Identifier: Apache-2.0
//
// merge, merge_by_key.
#include <pmpp/merge.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_merge(const inputs& in, table& out) {
  out.begin("merge: two sorted halves");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto middle = bytes.begin() + at.n / 2;
      std::sort(bytes.begin(), middle);
      std::sort(middle, bytes.end());
      const auto x = at.put(bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      // [merge]
      const auto merge_halves = [&] {
        const auto half = x.begin() + at.n / 2;
        pmpp::merge(at.where, x.begin(), half, half, x.end(), y);
      };
      // [end]
      const double seconds = at.seconds(merge_halves);
      std::sort(bytes.begin(), bytes.end());
      const auto got = pmpp::to_host(y);
      return outcome{seconds, 2.0 * double(at.n), std::equal(got.begin(), got.end(), bytes.begin())};
    });

  out.begin("merge_by_key: two rows of a matrix");
  for (const matrix& m : in.matrices) {
    // The two longest rows that follow each other; their columns rise.
    std::int64_t row = 0;
    for (std::int64_t i = 0; i + 2 <= m.rows; ++i) {
      const auto length = [&](std::int64_t r) { return m.offsets[std::size_t(r) + 2] - m.offsets[std::size_t(r)]; };
      if (length(i) > length(row)) row = i;
    }
    if (m.rows < 2) continue;
    const int first = m.offsets[std::size_t(row)], between = m.offsets[std::size_t(row) + 1],
              last = m.offsets[std::size_t(row) + 2];
    const auto rises = [&](int from, int to) {
      return std::is_sorted(m.columns.begin() + from, m.columns.begin() + to);
    };
    if (!rises(first, between) || !rises(between, last)) continue;
    on_each_policy(out, m.name, last - first, [&](const auto& at) {
      const int end = first + int(at.n), cut = std::min(between, end);
      const auto part = [](const auto& v, int from, int to) {
        return std::remove_cvref_t<decltype(v)>(v.begin() + from, v.begin() + to);
      };
      const auto columns_a = part(m.columns, first, cut), columns_b = part(m.columns, cut, end);
      const auto values_a = part(m.values, first, cut), values_b = part(m.values, cut, end);
      const place of_a{at.where, std::int64_t(columns_a.size())}, of_b{at.where, std::int64_t(columns_b.size())};
      const auto ka = of_a.put(columns_a), kb = of_b.put(columns_b);
      const auto va = of_a.put(values_a), vb = of_b.put(values_b);
      auto columns = at.template room<int>(at.n);
      auto values = at.template room<double>(at.n);
      const double seconds = at.seconds([&] { pmpp::merge_by_key(at.where, ka, va, kb, vb, columns, values); });
      const auto got_columns = pmpp::to_host(columns);
      const auto got_values = pmpp::to_host(values);
      bool ok = true;
      for (std::size_t i = 0, j = 0; i + j < got_values.size();) {
        const std::size_t k = i + j;
        const bool of_second = i == columns_a.size() || (j < columns_b.size() && columns_b[j] < columns_a[i]);
        ok = ok && got_columns[k] == (of_second ? columns_b[j] : columns_a[i]) &&
             got_values[k] == (of_second ? values_b[j] : values_a[i]);
        (of_second ? j : i) += 1;
      }
      return outcome{seconds, 2.0 * (sizeof(int) + sizeof(double)) * double(at.n), ok};
    });
  }
}

}  // namespace demo
