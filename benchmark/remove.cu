// SPDX-License-Identifier: Apache-2.0
//
// remove_copy, remove, unique and unique_count beside Thrust's, by the host's clock: each call returns what it has kept. What works in
// place gets a fresh copy of its input each time, which both contenders' times contain.
//
// Declared bytes: every input read once, what is kept written once; of a copy both.
#include <memory>
#include <string>
#include <vector>

#include <thrust/remove.h>
#include <thrust/unique.h>

#include <pmpp/remove.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

namespace {

using bench::subject;
using bench::u32;

/// Numbers below eight, in runs of four on average.
struct few {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>(bench::random_bits(i / 16) >> (i / 4 % 4 * 8)) % 8;
  }
};

/// Own and peer: (input of window w, the copy of it or an output) -> how many are kept there.
template <class Own, class Peer>
void add_call(const std::string& name, std::int64_t n, bool in_place, double kept, Own own, Peer peer) {
  const double bytes = double(n) * sizeof(u32) * (in_place ? 3 + kept : 1 + kept);
  bench::add(name, n, bytes, [=](int windows) {
    const auto in = bench::values(windows * n, few{});
    const auto out = bench::array<u32>(n);
    const auto count = std::make_shared<std::int64_t>(0);
    const auto wanted = std::make_shared<std::vector<u32>>();
    const auto call = [=](auto f) {
      return [=](int w) {
        const u32* const from = in->data() + w * n;
        if (in_place)
          pmpp::copy(bench::here().stream, std::span<const u32>(from, std::size_t(n)), std::span<u32>(*out));
        *count = f(from, out->data());
      };
    };
    subject s;
    s.contenders = {{"pmpp", call(own)}, {"thrust", call(peer)}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      auto got = kept > 0 ? bench::on_host(static_cast<const u32*>(out->data()), *count)
                          : std::vector<u32>{static_cast<u32>(*count)};
      if (wanted->empty())
        *wanted = std::move(got);
      else if (got != *wanted)
        return "another result than the contender's before";
      return "";
    };
    s.clock = bench::timer::host;
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    const auto on = [] { return bench::device(); };
    const auto thrust_on = [] { return thrust::cuda::par.on(bench::here().stream); };
    add_call(
        "remove_copy/u32, one in eight", n, false, 0.875,
        [=](const u32* in, u32* out) { return pmpp::remove_copy(on(), in, in + n, out, 3u) - out; },
        [=](const u32* in, u32* out) { return thrust::remove_copy(thrust_on(), in, in + n, out, 3u) - out; });
    add_call(
        "remove/u32, one in eight, with a copy", n, true, 0.875,
        [=](const u32*, u32* x) { return pmpp::remove(on(), x, x + n, 3u) - x; },
        [=](const u32*, u32* x) { return thrust::remove(thrust_on(), x, x + n, 3u) - x; });
    add_call(
        "unique/u32, runs of four, with a copy", n, true, 0.25,
        [=](const u32*, u32* x) { return pmpp::unique(on(), x, x + n) - x; },
        [=](const u32*, u32* x) { return thrust::unique(thrust_on(), x, x + n) - x; });
    add_call(
        "unique_count/u32, runs of four", n, false, 0,
        [=](const u32* in, u32*) { return pmpp::unique_count(on(), in, in + n); },
        [=](const u32* in, u32*) { return std::int64_t(thrust::unique_count(thrust_on(), in, in + n)); });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
