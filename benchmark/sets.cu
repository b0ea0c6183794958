// SPDX-License-Identifier: Apache-2.0
//
// Set operations beside Thrust's, by the host's clock, as both return the end of their output. n counts both inputs.
//
// Declared bytes: both inputs, and as much as one of them for the result.
#include <thrust/set_operations.h>

#include <pmpp/sets.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#include <string>

namespace {

using bench::subject, bench::timer, bench::u32;

/// Sorted numbers with equals: two elements out of three are in both of two such sequences.
struct rising {
  std::int64_t n, salt;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>(i % n * 3 + static_cast<std::int64_t>(bench::random_bits(i + salt) % 3));
  }
};
template <class Own, class Peer>
void add_set(const std::string& name, std::int64_t n, Own own, Peer peer) {
  bench::add(name, 2 * n, double(2 * n) * 1.5 * sizeof(u32), [=](int windows) {
    const auto a = bench::values(windows * n, rising{n, 0}), b = bench::values(windows * n, rising{n, bench::second});
    const auto out = bench::array<u32>(2 * n);
    const auto count = std::make_shared<std::int64_t>(), wanted = std::make_shared<std::int64_t>(-1);
    subject s;
    s.clock = timer::host;
    s.contenders = {{"pmpp", [=](int w) { *count = own(a->data() + w * n, b->data() + w * n, n, out->data()); }},
                    {"thrust", [=](int w) { *count = peer(a->data() + w * n, b->data() + w * n, n, out->data()); }}};
    s.spoil = [=] { *count = -1; };
    s.fault = [=]() -> std::string {
      if (*wanted < 0) *wanted = *count;
      return *count == *wanted ? "" : std::to_string(*count) + " elements instead of " + std::to_string(*wanted);
    };
    return s;
  });
}

void add_cases() {
  for (const int power : {15, 20, 23, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_set(
        "set_intersection/u32", n,
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return pmpp::set_intersection(bench::device(), a, a + m, b, b + m, out) - out;
        },
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return thrust::set_intersection(bench::thrust_policy(), a, a + m, b, b + m, out) - out;
        });
    add_set(
        "set_union/u32", n,
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return pmpp::set_union(bench::device(), a, a + m, b, b + m, out) - out;
        },
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return thrust::set_union(bench::thrust_policy(), a, a + m, b, b + m, out) - out;
        });
    if (power < 26) continue;
    add_set(
        "set_difference/u32", n,
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return pmpp::set_difference(bench::device(), a, a + m, b, b + m, out) - out;
        },
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return thrust::set_difference(bench::thrust_policy(), a, a + m, b, b + m, out) - out;
        });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
