// SPDX-License-Identifier: Apache-2.0
//
// top_k as it is called without a tuning. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>

#include "support/candidates.hpp"
#include "support/captured_graph.hpp"

namespace {

using test::by_key;
using test::check_top_k;
using test::draw_below;
using test::elements;
using test::tagged;

}  // namespace

TEST_ALL_PLACES("the default tuning") {
  for (const std::int64_t n : test::some_of({100, 8191, 8192, 8193, 40000, 300001}))
    for (const std::int64_t k : test::some_of({1, 10, 100, 1024, 2048, 2049, 4096, 4097, 5000})) {
      if (k > n) continue;
      check_top_k<pmpp::top_k_tuning{}, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 22); }), k);
    }
  const auto v = elements<tagged>(50000, [](std::int64_t) { return draw_below(50); });
  check_top_k<pmpp::top_k_tuning{}, where>(v, 1000, by_key{});
}

#if PMPP_CUDA
namespace {
/// A permutation of the numbers below 2^33.
struct scattered {
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return i * 2654435761 & ((1ll << 33) - 1); }
};
}  // namespace

TEST_CASE("past 2^32 elements") {
  const std::int64_t n = (1ll << 32) + 5;
  std::int64_t inverse = 1;  // of 2654435761 modulo 2^33
  for (int i = 0; i < 6; ++i)
    inverse = static_cast<std::int64_t>(static_cast<std::uint64_t>(inverse) *
                                        (2 - 2654435761u * static_cast<std::uint64_t>(inverse)));
  const auto in = pmpp::transform_iterator(pmpp::counting_iterator<std::int64_t>(0), scattered{});
  for (const std::int64_t k : {20, 1000}) {
    pmpp::device_buffer<std::int64_t> values(k), places(k);
    pmpp::top_k(pmpp::device, in, in + n, k, values, places, pmpp::less{});
    const auto got_values = pmpp::to_host(values), got_places = pmpp::to_host(places);
    bool ok = true;
    std::size_t i = 0;
    for (std::int64_t value = 0; i < static_cast<std::size_t>(k); ++value) {
      const auto place =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(inverse)) &
          ((1ll << 33) - 1);
      if (place >= n) continue;
      ok = ok && got_values[i] == value && got_places[i] == place;
      ++i;
    }
    CHECK(ok);
  }
}

TEST_CASE("one workspace serves all calls, and a graph takes other data") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  const std::int64_t n = 300000, k = 50;
  auto v = elements<float>(n, [](std::int64_t) { return draw_below(1 << 22); });
  auto data = where::put(v);
  auto values = where::put(std::vector<float>(50));
  auto indices = where::put(std::vector<int>(50));
  memory.reserve(std::size_t(1) << 24);
  const test::captured_graph replayed(s, [&] { pmpp::top_k(policy, std::as_const(data), k, values, indices); });
  for (int round = 0; round < 3; ++round) {
    for (auto& x : v) x = static_cast<float>(draw_below(1 << 22));
    pmpp::copy(v, data);
    replayed.replay();
    s.synchronize();
    const auto order = test::order_of(v, 0, n, pmpp::greater{});
    CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin()));
  }
}
#endif
