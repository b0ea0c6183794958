// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of everyday calls share: arrays of f(i), Thrust's policy on our stream, and a case with one output, where the
// contenders' results must be the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <thrust/execution_policy.h>

#include <pmpp/core/iterator.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"

namespace bench {

using u32 = std::uint32_t;

inline auto thrust_policy() { return thrust::cuda::par_nosync.on(here().stream); }

/// f(0) ... f(n - 1).
template <class F>
shared_array<u32> values(std::int64_t n, F f) {
  auto a = array<u32>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(device(), i, i + n, a->data(), f);
  return a;
}

/// own(in, other, n, out) beside peer; in: random numbers, other: windows of n values of `other`.
template <class Other, class Own, class Peer>
void add_move(const std::string& name, std::int64_t n, double bytes, Other other, const char* peer_name, Own own,
              Peer peer) {
  add(name, n, bytes, [=](int windows) {
    const auto in = random_array<u32>(windows * n);
    const auto second = values(windows * n, other);
    const auto out = array<u32>(n);
    const auto wanted = std::make_shared<std::vector<u32>>();
    subject s;
    const auto call = [=](auto f) {
      return [=](int w) {
        const u32 *x = in->data() + w * n, *y = second->data() + w * n;
        f(x, y, n, out->data());
      };
    };
    s.contenders = {{"pmpp", call(own)}, {peer_name, call(peer)}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      auto got = on_host(static_cast<const u32*>(out->data()), n);
      if (wanted->empty())
        *wanted = std::move(got);
      else if (got != *wanted)
        return "another result than the contender's before";
      return "";
    };
    return s;
  });
}

}  // namespace bench
