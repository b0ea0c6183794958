// SPDX-License-Identifier: Apache-2.0
//
// transpose.
#include <pmpp/transpose.hpp>

#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// A matrix of bytes with `cols` columns and as many rows as the items give, transposed.
template <class Place>
outcome transposed_bytes(const Place& at, const std::vector<std::uint8_t>& bytes, std::int64_t cols) {
  const std::int64_t rows = at.n / cols;
  const auto a = at.put(bytes);
  auto b = at.template room<std::uint8_t>(at.n);
  const pmpp::matrix_view<const std::uint8_t> from(a.data(), rows, cols);
  const pmpp::matrix_view<std::uint8_t> to(b.data(), cols, rows);
  const double seconds = at.seconds([&] { pmpp::transpose(at.where, from, to); });
  const auto got = pmpp::to_host(b);
  bool ok = true;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      ok = ok && got[std::size_t(j * rows + i)] == bytes[std::size_t(i * cols + j)];
  return {seconds, 2.0 * double(rows * cols), ok};
}

}  // namespace

void show_transpose(const inputs& in, table& out) {
  out.begin("transpose: pixels to planes");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()),
                   [&](const auto& at) { return transposed_bytes(at, p.samples, p.channels); });
  out.begin("transpose: pictures on their side");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()),
                   [&](const auto& at) { return transposed_bytes(at, p.samples, std::int64_t(p.width) * p.channels); });
}

}  // namespace demo
