// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of rows that blocks hold in shared memory (top_keys/held.hpp), by batched_top_k and top_k: for one block a row
// and for clusters, of elements of 1 to 8 bytes, wherever rows begin, for k from 2 to all, also one less, and data of every kind
// (constant, few values, sorted, equal but for one bit, NaN and zeros of both signs): in order, the places that a stable sort puts in
// front; in any order the same set, the same on every run, and nothing else is written. Rows just too long go other ways, whose results
// are the same. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "support/candidates.hpp"
#include "support/captured_graph.hpp"
#include "support/orders.hpp"

namespace {

using test::check_batched;
using test::check_lengths;
using test::draw_below;
using test::elements;
using test::kind_of_data;
using test::kinds;

constexpr pmpp::top_k_tuning usual{};
/// Small blocks, eight of them to a row of 200 elements where the machine has clusters.
constexpr pmpp::top_k_tuning clustered{.threads = 32,
                                       .large_threads = 64,
                                       .short_threads = 32,
                                       .loads = 2,
                                       .by_a_warp = 0,
                                       .one_block = 300,
                                       .held = 1 << 20,
                                       .held_slice = 24,
                                       .sorting = test::never_sorted};

}  // namespace

TEST_ALL_PLACES("rows that clusters hold, of elements of every size") {
  check_lengths<clustered, where, float>({33, 65, 200, 511, 512, 513, 1001});
  check_lengths<clustered, where, std::int64_t>({33, 64, 190, 250, 257, 1003});
  check_lengths<clustered, where, std::int16_t>({35, 127, 400, 515});
  check_lengths<clustered, where, std::uint8_t, pmpp::less>({40, 128, 513});
}

TEST_ALL_PLACES("every kind of data") {
  for (int kind = 0; kind < kinds; ++kind)
    for (const std::int64_t k : {3, 64, 299}) {
      check_batched<clustered, where>(kind_of_data<float>(kind, 903), 3, 300, k, 3);
      check_batched<clustered, where>(kind_of_data<std::int64_t>(kind, 601), 2, 300, k, 1);
    }
}

// Of elements of 2 and 8 bytes in top_k_spread.cpp, which has their kernels.
TEST_ALL_PLACES("rows that blocks hold, as they are called") {
  check_lengths<usual, where, float>({129, 704, 1145});
  for (const std::int64_t k : test::some_of<std::int64_t>({40, 1500, 4095}))
    check_batched<usual, where>(kind_of_data<float>(0, 2 * 9000 + 1), 2, 9000, k, 1);
  // More than one block of any machine holds, and than a cluster does.
  check_batched<usual, where>(kind_of_data<float>(0, 2 * 60'001 + 1), 2, 60'001, 300, 1);
}

TEST_ALL_PLACES("NaN, infinities and zeros of both signs in rows that are held") {
  test::check_special_floats<clustered, where>(300, {60, 120, 299});
}

TEST_ALL_PLACES("one row that is held, of a length that the device knows") {
  test::check_device_lengths<clustered, where>(900);
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(3, [&](std::uint64_t) {
    check_batched<clustered, test::device_place>(kind_of_data<float>(2, 600), 2, 300, 40);
    check_batched<clustered, test::device_place>(kind_of_data<std::int64_t>(0, 600), 2, 300, 40);
  });
}
#endif

#if PMPP_CUDA
// CUDA rounds a kernel's own shared memory up where dynamic memory follows: lengths up to the last that fits, and past it.
TEST_CASE("rows that fill a block's shared memory") {
  const pmpp::machine& m = pmpp::machine_of(pmpp::device);
  const std::int64_t rows = 9, blocks = m.most_blocks_of_cluster(), most = blocks * m.shared_per_block / 4;
  const pmpp::device_buffer<float> equal(static_cast<std::size_t>(rows * most), 0.0f);
  auto places = pmpp::device_buffer<int>(static_cast<std::size_t>(3 * rows));
  for (std::int64_t length = most - blocks * 2600; length <= most; length += blocks * 60) {
    pmpp::batched_top_k(pmpp::device, equal.begin(), equal.begin() + rows * length, length, 3, pmpp::discard_iterator{},
                        places);
    const auto got = pmpp::to_host(places);
    bool ok = true;
    for (std::size_t i = 0; i < got.size(); ++i) ok = ok && got[i] == static_cast<int>(i % 3);
    CAPTURE(length);
    CHECK(ok);
  }
}

TEST_CASE("a graph of rows that are held takes other data, without an allocation") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  for (const std::int64_t length : {2000, 30000}) {
    const std::int64_t k = 300, rows = 3;
    auto v = elements<float>(rows * length, [](std::int64_t) { return draw_below(1 << 22); });
    auto data = where::put(v);
    auto values = where::put(std::vector<float>(900));
    auto indices = where::put(std::vector<int>(900));
    const test::captured_graph replayed(
        s, [&] { pmpp::batched_top_k(policy, std::as_const(data), length, k, values, indices); });
    for (int round = 0; round < 2; ++round) {
      for (auto& x : v) x = static_cast<float>(draw_below(1 << 22));
      pmpp::copy(v, data);
      replayed.replay();
      s.synchronize();
      const auto order = test::order_of(v, length, 2 * length, pmpp::greater{});
      CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin() + k));
    }
  }
}
#endif
