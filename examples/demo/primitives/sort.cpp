// SPDX-License-Identifier: Apache-2.0
//
// sort, sort_by_key, argsort, nth_element.
#include <pmpp/nth_element.hpp>
#include <pmpp/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_sort(const inputs& in, table& out) {
  out.begin("argsort: bytes of a text");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<std::int32_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::argsort(at.where, x, y); });
      const auto order = pmpp::to_host(y);
      bool ok = true;
      std::vector<std::uint8_t> seen(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto place = static_cast<std::size_t>(order[i]);
        ok = ok && place < seen.size() && seen[place]++ == 0;
        if (i == 0 || !ok) continue;
        const auto before = static_cast<std::size_t>(order[i - 1]);
        ok = t.bytes[before] < t.bytes[place] || (t.bytes[before] == t.bytes[place] && before < place);
      }
      return outcome{seconds, (1.0 + sizeof(std::int32_t)) * double(at.n), ok};
    });

  out.begin("sort: largest value first");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      auto data = at.put(m.values);
      // [sort]
      const auto largest_first = [&] { pmpp::sort(at.where, data, pmpp::greater{}); };
      // [end]
      const double seconds = at.seconds(largest_first);
      auto wanted = std::vector<double>(m.values.begin(), m.values.begin() + at.n);
      std::stable_sort(wanted.begin(), wanted.end(), std::greater<>());
      const auto got = pmpp::to_host(data);
      return outcome{seconds, 2.0 * sizeof(double) * double(at.n), std::equal(got.begin(), got.end(), wanted.begin())};
    });

  out.begin("nth_element: the median");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      auto data = at.put(m.values);
      const auto middle = data.begin() + at.n / 2;
      const double seconds = at.seconds([&] { pmpp::nth_element(at.where, data, middle, pmpp::greater{}); });
      auto wanted = std::vector<double>(m.values.begin(), m.values.begin() + at.n);
      std::nth_element(wanted.begin(), wanted.begin() + at.n / 2, wanted.end(), std::greater<>());
      const bool ok = pmpp::to_host(data)[std::size_t(at.n / 2)] == wanted[std::size_t(at.n / 2)];
      return outcome{seconds, 3.0 * sizeof(double) * double(at.n), ok};
    });

  out.begin("sort_by_key: entries by column");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.columns.size()), [&](const auto& at) {
      auto columns = at.put(m.columns);
      auto values = at.put(m.values);
      pmpp::sort_by_key(at.where, columns, values);
      const auto got_columns = pmpp::to_host(columns);
      const auto got_values = pmpp::to_host(values);
      const double seconds = at.seconds([&] { pmpp::sort_by_key(at.where, columns, values); });
      std::vector<std::size_t> order(std::size_t(at.n));
      std::iota(order.begin(), order.end(), std::size_t(0));
      std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return m.columns[i] < m.columns[j]; });
      bool ok = true;
      for (std::size_t i = 0; i < order.size(); ++i)
        ok = ok && got_columns[i] == m.columns[order[i]] && got_values[i] == m.values[order[i]];
      return outcome{seconds, 2.0 * (sizeof(int) + sizeof(double)) * double(at.n), ok};
    });
}

}  // namespace demo
