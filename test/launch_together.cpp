// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of launch_together and of the barrier of a grid: all blocks run at once and wait for each other;
// what any thread wrote before the barrier every thread reads after it, in shared and global memory, in whatever order
// the emulator runs blocks and threads, on one OS thread or several (under ThreadSanitizer a missing order is a fault);
// thread 0 runs its two functions on the right sides; the last block to leave knows; a second launch finds the state
// clean; a grid that can never run at once, or on a machine that has no such launches, is refused, or launched with fewer
// blocks where the caller allows it.
#include <pmpp/launch_together.hpp>

#include <cstdint>
#include <stdexcept>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/sync_grid.hpp>

#include "support/orders.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

namespace {

struct barrier_state {
  unsigned words[2], left, sum[3];
};

/// Each round every thread writes a word and reads that of a thread of the next block; blocks count in turn.
struct neighbours {
  static constexpr int threads = 64;
  static constexpr int min_blocks = 2;
  struct shared {
    unsigned total;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int rounds, unsigned* words, unsigned* wrong,
                                   barrier_state* state) const {
    const std::int64_t all = block.count() * threads, me = block.index() * threads + block.thread();
    unsigned faults = 0;
    for (int round = 0; round < rounds; ++round) {
      unsigned* const half = words + (round % 2) * all;  // the other half is still being read
      half[me] = static_cast<unsigned>(round + me);
      unsigned* const sum = state->sum + round % 3;
      pmpp::block::sync_grid(
          block, state->words + round % 2, block.count(),
          [&] {
            pmpp::simt::atomic_add(sum, 1u);
            if (block.index() == 0) pmpp::simt::store(state->sum + (round + 1) % 3, 0);
          },
          [&] { memory.total = pmpp::simt::load(sum); });
      const std::int64_t other = (me + threads) % all;
      faults += half[other] != static_cast<unsigned>(round + other);
      faults += memory.total != static_cast<unsigned>(block.count());
    }
    if (faults != 0) pmpp::simt::atomic_add(wrong, faults);
    if (block.thread() == 0 && pmpp::block::comes_last(&state->left, block.count()))
      for (unsigned& sum : state->sum) sum = 0;
  }
};

struct tell_count {
  static constexpr int threads = 64;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::int64_t* blocks) const {
    if (block.index() == 0 && block.thread() == 0) *blocks = block.count();
  }
};

template <class where, class P>
void check_rounds(const P& policy, std::int64_t blocks, int rounds) {
  auto words = where::put(std::vector<unsigned>(static_cast<std::size_t>(2 * blocks * neighbours::threads)));
  auto wrong = where::put(std::vector<unsigned>(1));
  auto state = where::put(std::vector<barrier_state>(1));
  for (int launch = 0; launch < 2; ++launch) {
    pmpp::launch_together(policy, blocks, neighbours{}, rounds, words.data(), wrong.data(), state.data());
    pmpp::synchronize(policy);
    CHECK(where::get(wrong)[0] == 0);
    const barrier_state after = where::get(state)[0];
    CHECK(after.words[0] == 0);
    CHECK(after.words[1] == 0);
    CHECK(after.left == 0);
  }
}

}  // namespace

TEST_CASE("what is written before the barrier is read after it") {
  const std::int64_t fitting = pmpp::detail::resident_blocks<neighbours>(pmpp::machine_of(pmpp::device));
  for (const std::int64_t blocks : {1, 2, 3, 4})
    if (blocks <= fitting) check_rounds<test::device_place>(pmpp::device, blocks, 5);
}

TEST_CASE("no blocks") {
  pmpp::launch_together(pmpp::device, 0, neighbours{}, 1, static_cast<unsigned*>(nullptr),
                        static_cast<unsigned*>(nullptr), static_cast<barrier_state*>(nullptr));
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("any order of blocks and threads") {
  pmpp::machine three;
  three.multiprocessors = 3;
  test::for_each_order(4, [&](std::uint64_t) {
    pmpp::simt::emulator_options options = pmpp::simt::detail::options_of_this_launch();
    options.plays = &three;
    const pmpp::simt::scoped_emulator_options scope(options);
    check_rounds<test::device_place>(pmpp::device, 5, 7);
  });
}
#endif

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("a machine that launches no grid together") {
  pmpp::machine none;
  none.cooperative = false;
  pmpp::simt::emulator_options options = pmpp::simt::detail::options_of_this_launch();
  options.plays = &none;
  const pmpp::simt::scoped_emulator_options scope(options);
  std::int64_t blocks = 0;
  CHECK_FALSE(pmpp::detail::try_launch_together(pmpp::device, 1, tell_count{}, &blocks));
  CHECK_THROWS_AS(pmpp::launch_together(pmpp::device, 1, tell_count{}, &blocks), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::detail::launch_together_at_most(pmpp::device, 8, tell_count{}, &blocks), std::invalid_argument);
  CHECK(blocks == 0);  // nothing ran
}
#endif

TEST_CASE("a full machine, and one block too many") {
  const pmpp::machine& m = pmpp::machine_of(pmpp::device);
  check_rounds<test::device_place>(pmpp::device, pmpp::detail::resident_blocks<neighbours>(m),
                                   PMPP_CUDA ? test::turns(500) : 3);
  // A GPU runs more of them at once than the kernel asks the compiler for.
  const auto resident = std::int64_t(m.multiprocessors) * m.threads_per_multiprocessor / neighbours::threads;
  auto word = test::device_place::put(std::vector<unsigned>(1));
  auto state = test::device_place::put(std::vector<barrier_state>(1));
  CHECK_THROWS_AS(
      pmpp::launch_together(pmpp::device, resident + 1, neighbours{}, 1, word.data(), word.data(), state.data()),
      std::invalid_argument);
  CHECK(test::device_place::get(word)[0] == 0);  // nothing ran
}

TEST_CASE("as many blocks as run at once") {
  const pmpp::machine& m = pmpp::machine_of(pmpp::device);
  const auto resident = std::int64_t(m.multiprocessors) * m.threads_per_multiprocessor / neighbours::threads;
  auto blocks = test::device_place::put(std::vector<std::int64_t>(1));
  pmpp::detail::launch_together_at_most(pmpp::device, 5 * resident, tell_count{}, blocks.data());
  pmpp::synchronize(pmpp::device);
  const std::int64_t ran = test::device_place::get(blocks)[0];
  CHECK(ran >= 1);
  CHECK(ran <= resident);
  CHECK(2 * ran >= pmpp::detail::resident_blocks<tell_count>(m));
}
