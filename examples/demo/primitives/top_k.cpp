// SPDX-License-Identifier: Apache-2.0
//
// top_k, segmented_top_k.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The order of sort under greater: +0.0 in front of -0.0.
bool precedes(double x, double y) { return x > y || (x == y && std::signbit(y) && !std::signbit(x)); }

/// Places first ... last - 1, those of the greatest values in front; equals in order.
std::vector<std::size_t> by_value(const std::vector<double>& values, std::size_t first, std::size_t last) {
  std::vector<std::size_t> order(last - first);
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return precedes(values[i], values[j]); });
  return order;
}

}  // namespace

void show_top_k(const inputs& in, table& out) {
  out.begin("top_k: ten largest values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      const std::int64_t k = std::min<std::int64_t>(10, at.n);
      auto values = at.template room<double>(k);
      auto places = at.template room<std::int32_t>(k);
      // [largest]
      const auto largest = [&] { pmpp::top_k(at.where, x, k, values, places); };
      // [end]
      const double seconds = at.seconds(largest);
      const auto order = by_value(m.values, 0, std::size_t(at.n));
      const auto got = pmpp::to_host(places);
      bool ok = true;
      for (std::size_t i = 0; i < std::size_t(k); ++i) ok = ok && std::size_t(got[i]) == order[i];
      return outcome{seconds, sizeof(double) * double(at.n), ok};
    });

  out.begin("segmented_top_k: largest of rows");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      const std::int64_t nonzeros = m.offsets[std::size_t(at.n)];
      const place all{at.where, nonzeros};
      const place ends{at.where, at.n + 1};
      const auto x = all.put(m.values);
      const auto rows = ends.put(m.offsets);
      auto values = at.template room<double>(at.n);
      auto places = at.template room<std::int32_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::segmented_top_k(at.where, x, rows, 1, values, places); });
      const auto got = pmpp::to_host(places);
      bool ok = true;
      for (std::size_t r = 0; r < std::size_t(at.n); ++r) {
        const auto first = std::size_t(m.offsets[r]), last = std::size_t(m.offsets[r + 1]);
        if (first < last) ok = ok && first + std::size_t(got[r]) == by_value(m.values, first, last)[0];
      }
      return outcome{seconds, sizeof(double) * double(nonzeros) + sizeof(int) * double(at.n + 1), ok};
    });
}

}  // namespace demo
