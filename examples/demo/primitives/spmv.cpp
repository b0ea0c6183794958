// SPDX-License-Identifier: Apache-2.0
//
// spmv.
#include <pmpp/spmv.hpp>

#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_spmv(const inputs& in, table& out) {
  out.begin("spmv: matrix times vector");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {  // the first at.n rows
      const std::int64_t nonzeros = m.offsets[std::size_t(at.n)];
      std::vector<double> vector(std::size_t(m.cols));
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = 1 + double(i % 7);
      const place entries{at.where, nonzeros};
      const place ends{at.where, at.n + 1};
      const place all{at.where, m.cols};
      const auto offsets = ends.put(m.offsets), columns = entries.put(m.columns);
      const auto values = entries.put(m.values), x = all.put(vector);
      auto y = at.template room<double>(at.n);
      // [multiply]
      const pmpp::csr_view A{at.n, m.cols, offsets.data(), columns.data(), values.data()};
      const auto multiply = [&] { pmpp::spmv(at.where, 1.0, A, x, 0.0, y); };
      // [end]
      const double seconds = at.seconds(multiply);
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::size_t row = 0; row < got.size(); ++row) {
        long double exact = 0, magnitudes = 0;
        for (int i = m.offsets[row]; i < m.offsets[row + 1]; ++i) {
          const double p = m.values[std::size_t(i)] * vector[std::size_t(m.columns[std::size_t(i)])];
          exact += p;
          magnitudes += std::abs(p);
        }
        ok = ok && std::abs(got[row] - exact) <= (m.offsets[row + 1] - m.offsets[row] + 2) * 2.3e-16L * magnitudes;
      }
      return outcome{seconds, 12.0 * double(nonzeros) + 12.0 * double(at.n) + 8.0 * double(m.cols), ok};
    });
}

}  // namespace demo
