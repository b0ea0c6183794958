// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: all GPUs of this machine, connected by copies between them, and, where the test was built with it, by NCCL,
// give what loops over the whole give; blocks of other sizes, and numbers that are many, too. With one GPU it is one rank. What other
// files of distributed/ test with more ranks than GPUs goes across GPUs as well, where there are several: test::ranks.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

#ifdef TEST_HAS_NCCL
#include <pmpp/distributed/nccl_communicator.hpp>
#endif

#include "support/distributed.hpp"
#include "support/distributed_algorithms.hpp"

namespace {

struct next {
  PMPP_HOST_DEVICE int operator()(int x) const { return x + 1; }
};

template <class G>
void check_all(const G& gpus) {
  const int large = static_cast<int>(test::up_to(1 << 22));
  test::check_algorithms(gpus, {0, 1, 3, 1000, 10007, large + 5}, [](bool right, const char* what) {
    CAPTURE(what);
    CHECK(right);
  });
  // All elements on one rank, then on all.
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(gpus.size()));
  sizes.back() = large;
  auto x = pmpp::distributed_buffer<int>::with_sizes(gpus, sizes);
  pmpp::iota(gpus, x, 0);
  pmpp::rebalance(gpus, x);
  CHECK(test::is_balanced(x, gpus.size()));
  std::vector<int> expected(static_cast<std::size_t>(large));
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(pmpp::to_host(gpus, x) == expected);
  // Many groups one after the other: what a rank sends is overwritten by work that comes later on its stream.
  pmpp::distributed_buffer<int> a{gpus, gpus.size()}, b{gpus, gpus.size()};
  pmpp::iota(gpus, a, 0);
  const int p = gpus.size(), rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    gpus.together([&](int i, auto& link, pmpp::stream_handle s) {
      link.send(a.part(i).data(), sizeof(int), (gpus.rank(i) + 1) % p, s);
      link.receive(b.part(i).data(), sizeof(int), (gpus.rank(i) + p - 1) % p, s);
    });
    pmpp::transform(gpus, b, a, next{});
  }
  std::vector<int> turned;
  for (int r = 0; r < p; ++r) turned.push_back(((r - rounds) % p + p) % p + rounds);
  CHECK(pmpp::to_host(gpus, a) == turned);
}

}  // namespace

TEST_CASE("copies between GPUs") { check_all(pmpp::devices<>{}); }

#ifdef TEST_HAS_NCCL
TEST_CASE("NCCL") {
  const auto ids = pmpp::detail::visible_devices();
  check_all(pmpp::devices{pmpp::device, pmpp::nccl_communicator::all(ids), ids});
}
TEST_CASE("NCCL: mistakes are exceptions") {
  const auto ids = pmpp::detail::visible_devices();
  CHECK_THROWS_AS(static_cast<void>(pmpp::nccl_communicator::all({12345})), pmpp::communication_error);
  auto links = pmpp::nccl_communicator::all(ids);
  const int none = static_cast<int>(ids.size());
  try {
    links[0].send(nullptr, 1, none, nullptr);
    CHECK(false);
  } catch (const pmpp::communication_error& error) {
    const std::string wanted =
        "rank 0 of " + std::to_string(none) + ", after ncclSend of 1 bytes to rank " + std::to_string(none);
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find(wanted) != std::string::npos);
  }
}
#endif
