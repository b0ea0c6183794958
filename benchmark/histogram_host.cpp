// SPDX-License-Identifier: Apache-2.0
//
// Histograms on the cores of this machine: pmpp on `host`, beside a plain loop on one thread, and pmpp's maximum of the same
// data, which shows what their memory delivers.
#include <pmpp/histogram.hpp>
#include <pmpp/reduce.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

/// 256 bins; the samples lie in all of them.
template <class T>
void add_histogram(const std::string& type, std::int64_t n, bool alike) {
  const std::string name = "256 bins/" + type + (alike ? "/constant" : "/uniform");
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::array<T>(windows * n);
    for (std::int64_t i = 0; i < windows * n; ++i)
      in->data()[i] = static_cast<T>(alike ? 100 : bench::random_bits(i) >> 56);
    const auto counts = std::make_shared<std::vector<unsigned>>(256),
               wanted = std::make_shared<std::vector<unsigned>>(256);
    for (std::int64_t i = 0; i < n; ++i) ++(*wanted)[static_cast<std::size_t>(in->data()[i])];
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    using level = std::conditional_t<std::is_floating_point_v<T>, T, int>;
    bench::subject s;
    s.clock = bench::timer::host;
    s.contenders = {
        {"pmpp",
         [=](int w) { pmpp::histogram_even(pmpp::host, window(w), window(w) + n, *counts, level(0), level(256)); }},
        {"a loop",
         [=](int w) {
           std::fill(counts->begin(), counts->end(), 0u);
           for (const T* x = window(w); x != window(w) + n; ++x) ++(*counts)[static_cast<std::size_t>(*x)];
         }},
        {"pmpp's maximum", [=](int w) {
           const T most = pmpp::reduce(pmpp::host, window(w), window(w) + n, T(0), pmpp::maximum{});
           if (most > T(255)) std::abort();
           *counts = *wanted;
         }}};
    s.spoil = [=] { std::fill(counts->begin(), counts->end(), 77u); };
    s.fault = [=] { return std::string(*counts == *wanted ? "" : "the counts differ"); };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26})
    for (const bool alike : {false, true}) {
      add_histogram<std::uint8_t>("u8", std::int64_t(1) << power, alike);
      add_histogram<std::uint32_t>("u32", std::int64_t(1) << power, alike);
      add_histogram<float>("f32", std::int64_t(1) << power, alike);
    }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
