// SPDX-License-Identifier: Apache-2.0
//
// reverse_copy and adjacent_difference beside Thrust's, on the device's clock.
//
// Declared bytes: every input read once, every output written once.
#include <thrust/adjacent_difference.h>
#include <thrust/reverse.h>

#include <pmpp/elementwise.hpp>
#include <pmpp/rearrange.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

namespace {

using bench::u32;

struct key_of {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>(bench::random_bits(i / 16) >> (i / 4 % 4 * 8));
  }
};
void add_moves(std::int64_t n) {
  const double two = 2.0 * double(n) * sizeof(u32);
  bench::add_move(
      "reverse_copy/u32", n, two, key_of{}, "thrust",
      [](const u32* in, const u32*, std::int64_t m, u32* out) { pmpp::reverse_copy(bench::device(), in, in + m, out); },
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        thrust::reverse_copy(bench::thrust_policy(), in, in + m, out);
      });
  bench::add_move(
      "adjacent_difference/u32", n, two, key_of{}, "thrust",
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        pmpp::adjacent_difference(bench::device(), in, in + m, out);
      },
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        thrust::adjacent_difference(bench::thrust_policy(), in, in + m, out);
      });
}

void add_cases() {
  for (const int power : {20, 26}) add_moves(std::int64_t(1) << power);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
