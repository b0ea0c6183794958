// SPDX-License-Identifier: Apache-2.0
//
// Stages in a ring (block/pipeline.hpp): what goes through them comes out in order, whatever order threads run in; and the
// emulator names a stage that is read too early, or filled too early. Each mistake is one line away from the right kernel.
#include <pmpp/block/pipeline.hpp>
#include <pmpp/simt/emulated_block.hpp>
#include <pmpp/simt/memory.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/faults.hpp"

using test::fault_of;
using test::has;

namespace {

enum class mistake { none, reads_before_waiting, waits_for_too_few, fills_what_is_read, forgets_to_release };

/// Adds up `rounds` tiles of 64 numbers, which each thread copies its own of and reads its neighbour's of.
template <int Stages, mistake Mistake>
struct sum_of_tiles {
  struct shared {
    int tile[Stages][64];
  };

  template <class Block>
  void operator()(Block& block, shared& memory, const int* from, int rounds, int* to) const {
    constexpr int newer = Mistake == mistake::waits_for_too_few ? Stages - 1 : Stages - 2;
    pmpp::block::async_pipeline<Stages> ring;
    int copied = 0, sum = 0;
    const auto copy = [&](int stage) {
      if (copied < rounds)
        pmpp::simt::copy_async<4>(&memory.tile[stage][block.thread()], from + copied * 64 + block.thread());
      ++copied;
    };
    ring.template begin<Stages - 1>(copy);
    if (Mistake == mistake::fills_what_is_read) copy(ring.acquire()), ring.commit();
    for (int i = 0; i < rounds; ++i) {
      if (Mistake == mistake::reads_before_waiting) sum += memory.tile[ring.front()][0];
      ring.template wait<newer>(block);
      copy(ring.acquire());
      ring.commit();
      sum += memory.tile[ring.front()][(block.thread() + 1) % 64];
      if (Mistake != mistake::forgets_to_release) ring.release();
    }
    ring.drain();
    to[block.thread()] = sum;
  }
};

template <int Stages, mistake Mistake>
std::string run(std::vector<int>& to, int rounds = 7) {
  std::vector<int> from(static_cast<std::size_t>(64 * rounds));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i * i % 1009);
  to.assign(64, -1);
  std::string fault =
      fault_of({1, 64}, sum_of_tiles<Stages, Mistake>{}, static_cast<const int*>(from.data()), rounds, to.data());
  if (!fault.empty()) return fault;
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int i = 0; i < rounds; ++i) sum += from[static_cast<std::size_t>(i * 64 + (t + 1) % 64)];
    CHECK(to[static_cast<std::size_t>(t)] == sum);
  }
  return fault;
}

}  // namespace

TEST_CASE("async_pipeline: tiles come out in order, for any number of stages and rounds") {
  std::vector<int> to;
  for (int rounds : {0, 1, 2, 3, 7, 20}) {
    CAPTURE(rounds);
    CHECK(run<2, mistake::none>(to, rounds).empty());
    CHECK(run<3, mistake::none>(to, rounds).empty());
    CHECK(run<6, mistake::none>(to, rounds).empty());
  }
}

TEST_CASE("async_pipeline: places are rows of the ring where stages have rows") {
  pmpp::block::async_pipeline<3, 8> ring;
  ring.begin<2>([](int) {});
  CHECK(ring.acquire() == 16);
  ring.commit();
  CHECK_THROWS_AS(ring.front(), pmpp::kernel_fault);    // none has arrived
  CHECK_THROWS_AS(ring.acquire(), pmpp::kernel_fault);  // none is released
}

TEST_CASE("async_pipeline: the emulator names a stage that is read before its bytes have arrived") {
  std::vector<int> to;
  const std::string early = run<3, mistake::reads_before_waiting>(to), few = run<3, mistake::waits_for_too_few>(to);
  CHECK(has(early, "async_pipeline: stage 0 of 3, in round 0, is read before its bytes have arrived"));
  CHECK(has(few, "async_pipeline: stage 0 of 3, in round 0, is read before its bytes have arrived"));
}

TEST_CASE("async_pipeline: the emulator names a stage that is filled before all threads have released it") {
  std::vector<int> to;
  const std::string full = run<3, mistake::fills_what_is_read>(to), kept = run<4, mistake::forgets_to_release>(to);
  CHECK(has(full, "async_pipeline: stage 0 of 3, in round 1, is filled before all threads have released it"));
  CHECK(has(kept, "async_pipeline: stage 0 of 4, in round 1, is filled before all threads have released it"));
}
