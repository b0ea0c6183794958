// SPDX-License-Identifier: Apache-2.0
//
// gather and scatter beside Thrust's, on the device's clock.
//
// in order     index i is i; any order: indices far apart, of a table as long as the output
// small table  any order, of 2^14 elements that the first caches hold
//
// Declared bytes: every index and every element read once, every output written once; of a small table, indices and outputs.
#include <thrust/gather.h>
#include <thrust/scatter.h>

#include <pmpp/gather.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#include <string>

namespace {

using bench::u32;

/// A permutation of [0, n), n a power of two: all places alike far apart, or each place itself.
struct place_of {
  std::int64_t n;
  bool any_order;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>((any_order ? static_cast<std::uint64_t>(i) * 0x9e3779b1u : static_cast<std::uint64_t>(i)) %
                            static_cast<std::uint64_t>(n));
  }
};

const auto gather = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
  pmpp::gather(bench::device(), at, at + m, in, out);
};
const auto peer_gather = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
  thrust::gather(bench::thrust_policy(), at, at + m, in, out);
};
const auto scatter = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
  pmpp::scatter(bench::device(), in, in + m, at, out);
};
const auto peer_scatter = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
  thrust::scatter(bench::thrust_policy(), in, in + m, at, out);
};

void add_cases() {
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    const double two = 2.0 * double(n) * sizeof(u32), three = 3.0 * double(n) * sizeof(u32);
    for (const bool any_order : {false, true}) {
      const std::string order = any_order ? ", any order" : ", in order";
      const place_of place{n, any_order};
      bench::add_move("gather/u32" + order, n, three, place, "thrust", gather, peer_gather);
      bench::add_move("scatter/u32" + order, n, three, place, "thrust", scatter, peer_scatter);
    }
    bench::add_move("gather/u32, small table", n, two, place_of{1 << 14, true}, "thrust", gather, peer_gather);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
