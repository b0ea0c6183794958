// SPDX-License-Identifier: Apache-2.0
//
// spmm.
#include <pmpp/spmm.hpp>

#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_spmm(const inputs& in, table& out) {
  constexpr std::int64_t width = 4;
  out.begin("spmm: matrix times four columns");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {  // the first at.n rows
      const std::int64_t nonzeros = m.offsets[std::size_t(at.n)];
      std::vector<double> dense(std::size_t(m.cols * width));
      for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = 1 + double(i % 7);
      const place entries{at.where, nonzeros};
      const place ends{at.where, at.n + 1};
      const place all{at.where, m.cols * width};
      const auto offsets = ends.put(m.offsets), columns = entries.put(m.columns);
      const auto values = entries.put(m.values), b = all.put(dense);
      auto c = at.template room<double>(at.n * width);
      // [multiply]
      const pmpp::csr_view A{at.n, m.cols, offsets.data(), columns.data(), values.data()};
      const pmpp::matrix_view B{b.data(), m.cols, width};
      const pmpp::matrix_view C{c.data(), at.n, width};
      const auto multiply = [&] { pmpp::spmm(at.where, 1.0, A, B, 0.0, C); };
      // [end]
      const double seconds = at.seconds(multiply);
      const auto got = pmpp::to_host(c);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t row = i / width, column = i % width;
        long double exact = 0, magnitudes = 0;
        for (int k = m.offsets[row]; k < m.offsets[row + 1]; ++k) {
          const double p =
              m.values[std::size_t(k)] * dense[std::size_t(m.columns[std::size_t(k)]) * std::size_t(width) + column];
          exact += p;
          magnitudes += std::abs(p);
        }
        ok = ok && std::abs(got[i] - exact) <= (m.offsets[row + 1] - m.offsets[row] + 2) * 2.3e-16L * magnitudes;
      }
      return outcome{seconds, 12.0 * double(nonzeros) + 4.0 * double(at.n) + 8.0 * width * double(m.cols + at.n), ok};
    });
}

}  // namespace demo
