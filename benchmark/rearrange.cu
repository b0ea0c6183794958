// SPDX-License-Identifier: Apache-2.0
//
// Moves, scans by key and sets beside Thrust's and CUB's. Device time, but for sets, which return the end of their output: the
// host's clock.
//
// Declared bytes: every input read once, every output written once; sets: both inputs and the result.
#include <cub/device/device_scan.cuh>
#include <thrust/adjacent_difference.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/reverse.h>
#include <thrust/scatter.h>
#include <thrust/set_operations.h>

#include <pmpp/by_key.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/sets.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#include <string>

namespace {

using bench::subject, bench::timer;
using u32 = std::uint32_t;

auto thrust_policy() { return thrust::cuda::par_nosync.on(bench::here().stream); }

/// A permutation of [0, n), n a power of two: all places alike far apart, or each place itself.
struct place_of {
  std::int64_t n;
  bool any_order;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>((any_order ? static_cast<std::uint64_t>(i) * 0x9e3779b1u : static_cast<std::uint64_t>(i)) %
                            static_cast<std::uint64_t>(n));
  }
};
struct key_of {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>(bench::random_bits(i / 16) >> (i / 4 % 4 * 8));
  }
};
/// Sorted numbers with equals: two elements out of three are in both of two such sequences.
struct rising {
  std::int64_t n, salt;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    return static_cast<u32>(i % n * 3 + static_cast<std::int64_t>(bench::random_bits(i + salt) % 3));
  }
};
template <class F>
bench::shared_array<u32> values(std::int64_t n, F f) {
  auto a = bench::array<u32>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(bench::device(), i, i + n, a->data(), f);
  return a;
}

/// own(in, other, n, out) beside peer, whose results must be the same.
template <class Own, class Peer>
void add_move(const std::string& name, std::int64_t n, double bytes, auto other, const char* peer_name, Own own,
              Peer peer) {
  bench::add(name, n, bytes, [=](int windows) {
    const auto in = bench::random_array<u32>(windows * n);
    const auto second = values(windows * n, other);
    const auto out = bench::array<u32>(n);
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
      auto got = bench::on_host(static_cast<const u32*>(out->data()), n);
      if (wanted->empty())
        *wanted = std::move(got);
      else if (got != *wanted)
        return "another result than the contender's before";
      return "";
    };
    return s;
  });
}

template <class Own, class Peer>
void add_set(const std::string& name, std::int64_t n, Own own, Peer peer) {
  bench::add(name, 2 * n, double(2 * n) * 1.5 * sizeof(u32), [=](int windows) {
    const auto a = values(windows * n, rising{n, 0}), b = values(windows * n, rising{n, bench::second});
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

void add_moves(std::int64_t n) {
  const double two = 2.0 * double(n) * sizeof(u32), three = 3.0 * double(n) * sizeof(u32);
  const auto gather = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
    pmpp::gather(bench::device(), at, at + m, in, out);
  };
  const auto peer_gather = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
    thrust::gather(thrust_policy(), at, at + m, in, out);
  };
  const auto scatter = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
    pmpp::scatter(bench::device(), in, in + m, at, out);
  };
  const auto peer_scatter = [](const u32* in, const u32* at, std::int64_t m, u32* out) {
    thrust::scatter(thrust_policy(), in, in + m, at, out);
  };
  for (const bool any_order : {false, true}) {
    const std::string order = any_order ? ", any order" : ", in order";
    add_move("gather/u32" + order, n, three, place_of{n, any_order}, "thrust", gather, peer_gather);
    add_move("scatter/u32" + order, n, three, place_of{n, any_order}, "thrust", scatter, peer_scatter);
  }
  add_move(
      "reverse_copy/u32", n, two, key_of{}, "thrust",
      [](const u32* in, const u32*, std::int64_t m, u32* out) { pmpp::reverse_copy(bench::device(), in, in + m, out); },
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        thrust::reverse_copy(thrust_policy(), in, in + m, out);
      });
  add_move(
      "adjacent_difference/u32", n, two, key_of{}, "thrust",
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        pmpp::adjacent_difference(bench::device(), in, in + m, out);
      },
      [](const u32* in, const u32*, std::int64_t m, u32* out) {
        thrust::adjacent_difference(thrust_policy(), in, in + m, out);
      });
  auto storage = std::make_shared<pmpp::device_buffer<unsigned char>>();
  add_move(
      "inclusive_scan_by_key/u32", n, three, key_of{}, "cub",
      [](const u32* in, const u32* keys, std::int64_t m, u32* out) {
        pmpp::inclusive_scan_by_key(bench::device(), keys, keys + m, in, out);
      },
      [=](const u32* in, const u32* keys, std::int64_t m, u32* out) {
        std::size_t bytes = 0;
        const auto call = [&](void* at) {
          pmpp::check(cub::DeviceScan::InclusiveSumByKey(at, bytes, keys, in, out, m, cuda::std::equal_to<>{},
                                                         bench::here().stream),
                      "InclusiveSumByKey");
        };
        call(nullptr);
        if (storage->size() < bytes) *storage = pmpp::device_buffer<unsigned char>(bytes);
        call(storage->data());
      });
}

void add_cases() {
  for (const int power : {20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_moves(n);
    add_set(
        "set_intersection/u32", n,
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return pmpp::set_intersection(bench::device(), a, a + m, b, b + m, out) - out;
        },
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return thrust::set_intersection(thrust_policy(), a, a + m, b, b + m, out) - out;
        });
    add_set(
        "set_union/u32", n,
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return pmpp::set_union(bench::device(), a, a + m, b, b + m, out) - out;
        },
        [](const u32* a, const u32* b, std::int64_t m, u32* out) {
          return thrust::set_union(thrust_policy(), a, a + m, b, b + m, out) - out;
        });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
