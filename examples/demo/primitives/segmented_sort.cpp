// SPDX-License-Identifier: Apache-2.0
//
// segmented_sort, segmented_sort_by_key.
#include <pmpp/segmented_sort.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The order of sort: -0.0 in front of +0.0.
bool precedes(double x, double y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); }

}  // namespace

void show_segmented_sort(const inputs& in, table& out) {
  out.begin("segmented_sort: rows by value");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      const std::int64_t nonzeros = m.offsets[std::size_t(at.n)];
      const place all{at.where, nonzeros};
      const place ends{at.where, at.n + 1};
      auto values = all.put(m.values);
      auto columns = all.put(m.columns);
      const auto rows = ends.put(m.offsets);
      // [rows]
      pmpp::segmented_sort_by_key(at.where, values, columns, rows);
      // [end]
      const auto got_values = pmpp::to_host(values);
      const auto got_columns = pmpp::to_host(columns);
      const double seconds = at.seconds([&] { pmpp::segmented_sort_by_key(at.where, values, columns, rows); });
      bool ok = true;
      for (std::int64_t r = 0; r < at.n; ++r) {
        const auto first = std::size_t(m.offsets[std::size_t(r)]), last = std::size_t(m.offsets[std::size_t(r + 1)]);
        std::vector<std::size_t> order(last - first);
        std::iota(order.begin(), order.end(), first);
        std::stable_sort(order.begin(), order.end(),
                         [&](auto i, auto j) { return precedes(m.values[i], m.values[j]); });
        for (std::size_t i = 0; i < order.size(); ++i)
          ok = ok && got_values[first + i] == m.values[order[i]] && got_columns[first + i] == m.columns[order[i]];
      }
      return outcome{seconds, 2.0 * (sizeof(int) + sizeof(double)) * double(nonzeros) + sizeof(int) * double(at.n + 1),
                     ok};
    });
}

}  // namespace demo
