// SPDX-License-Identifier: Apache-2.0
//
// Bounds of many values beside Thrust's, on the device's clock; places of 4 bytes. (cub::DeviceFind is not in the toolkit's CUB.)
//
// sorted values   about as dense as the sequence, or less
// any values      in any order
//
// Declared bytes: sequence, values, places.
#include <thrust/binary_search.h>

#include <pmpp/search.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using bench::subject, bench::u32;

/// Numbers in any order.
struct any_number {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const { return static_cast<u32>(bench::random_bits(i)); }
};
/// n sorted numbers, window after window.
struct rising {
  std::int64_t n;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    const std::uint64_t gap = (std::uint64_t(1) << 32) / static_cast<std::uint64_t>(n);
    return static_cast<u32>(static_cast<std::uint64_t>(i % n) * gap + bench::random_bits(i) % gap);
  }
};

void add_lower_bound(const std::string& name, std::int64_t n, std::int64_t m, bool sorted) {
  bench::add(name, m, double(sizeof(u32)) * double(n + 2 * m), [=](int windows) {
    const auto in = bench::values(windows * n, rising{n});
    const auto v = sorted ? bench::values(windows * m, rising{m}) : bench::values(windows * m, any_number{});
    const auto out = bench::array<u32>(m);
    const auto x = bench::on_host(static_cast<const u32*>(in->data()), n),
               y = bench::on_host(static_cast<const u32*>(v->data()), m);
    std::vector<u32> wanted(std::size_t(pmpp::min(m, std::int64_t(1) << 16)));
    for (std::size_t j = 0; j < wanted.size(); ++j)
      wanted[j] = u32(std::lower_bound(x.begin(), x.end(), y[j]) - x.begin());
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       const u32 *a = in->data() + w * n, *b = v->data() + w * m;
                       pmpp::lower_bound(bench::device(), a, a + n, b, b + m, out->data());
                     }},
                    {"thrust", [=](int w) {
                       const u32 *a = in->data() + w * n, *b = v->data() + w * m;
                       thrust::lower_bound(bench::thrust_policy(), a, a + n, b, b + m, out->data());
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return bench::on_host(static_cast<const u32*>(out->data()), std::int64_t(wanted.size())) == wanted
                 ? ""
                 : "other places";
    };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_lower_bound("lower_bound/sorted values", n, n, true);
    add_lower_bound("lower_bound/any values", n, n, false);
  }
  add_lower_bound("lower_bound/sorted values, 2^26 elements", std::int64_t(1) << 26, 1 << 20, true);
  add_lower_bound("lower_bound/any values, 2^20 elements", 1 << 20, std::int64_t(1) << 26, false);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
