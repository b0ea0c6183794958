// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of simt/groups.hpp: tiles of every size know their lanes, and shuffle, vote and reduce among them
// alone, in order, with the same bits in each lane; lanes of a branch make a group, whatever its size; aggregated_increment
// gives each calling lane a number of its own, in lanes that are together and in lanes that are not. Of the emulator: lanes
// at the same place are together, those at others are not, and a seed may split them. And that a kernel prints by printf.
#include <pmpp/launch.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include <pmpp/simt/groups.hpp>
#include "support/policies.hpp"
#if !PMPP_CUDA
#include <unistd.h>
#endif

using pmpp::device;
using pmpp::grid;

namespace {

/// x * y of 2 x 2 matrices: associative, and not commutative.
struct matrix {
  unsigned a, b, c, d;
  friend PMPP_HOST_DEVICE bool operator==(const matrix& x, const matrix& y) {
    return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d;
  }
};
struct product {
  PMPP_HOST_DEVICE matrix operator()(const matrix& x, const matrix& y) const {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};
PMPP_HOST_DEVICE matrix matrix_of(int lane) {
  const auto n = static_cast<unsigned>(lane);
  return {n + 1, n * n, 1, 2 * n + 3};
}

struct tiles {
  template <int Size, class Block>
  PMPP_HOST_DEVICE static int faults_of(Block& block) {
    const auto tile = pmpp::simt::tiled_partition<Size>(block);
    const int lane = block.lane(), r = tile.rank(), first = lane - r;
    int bad = 0;
    bad += r != lane % Size || tile.size() != Size || tile.index() != block.thread() / Size;
    bad += tile.count() != block.threads() / Size;
    bad += tile.mask() != static_cast<unsigned>(((1ull << Size) - 1) << first);
    tile.sync();
    bad += tile.shuffle(lane, 3) != first + 3 % Size;
    bad += tile.shuffle_up(lane, 1) != (r == 0 ? lane : lane - 1);
    bad += tile.shuffle_down(lane, 2) != (r + 2 >= Size ? lane : lane + 2);
    bad += tile.shuffle_xor(lane, 1) != ((r ^ 1) >= Size ? lane : lane ^ 1);
    bad += tile.ballot(r % 3 == 0) != static_cast<unsigned>(0x49249249u & ((1ull << Size) - 1));
    bad += tile.any(lane == 17) != (first <= 17 && 17 < first + Size);
    bad += tile.all(lane != 17) != !(first <= 17 && 17 < first + Size);
    matrix expected = matrix_of(first);
    for (int i = 1; i < Size; ++i) expected = product{}(expected, matrix_of(first + i));
    bad += !(tile.reduce(matrix_of(lane), product{}) == expected);
    return bad;
  }
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* failures) const {
    const int bad = faults_of<1>(block) + faults_of<2>(block) + faults_of<4>(block) + faults_of<8>(block) +
                    faults_of<16>(block) + faults_of<32>(block);
    if (bad != 0) pmpp::simt::atomic_add(failures, bad);
  }
};

/// Lanes of each branch work by themselves; whatever group they find, it must be consistent.
struct branches {
  template <class Block>
  PMPP_HOST_DEVICE static int faults_of(Block& block, bool mine) {
    if (!mine) return 0;
    const auto lanes = pmpp::simt::coalesced_threads(block);
    const int n = lanes.size(), r = lanes.rank();
    int bad = 0;
    bad += !(lanes.mask() >> block.lane() & 1u) || r < 0 || r >= n;
    lanes.sync();
    const int of_rank = lanes.shuffle(r, n - 1);
    bad += of_rank != n - 1;
    bad += lanes.ballot(r % 2 == 0) != (0x55555555u & (0xffffffffu >> (32 - n)));
    bad += lanes.any(r == n - 1) != true || lanes.all(r < n) != true;
    matrix expected{1, 0, 0, 1};
    for (int i = 0; i < 32; ++i)
      if (lanes.mask() >> i & 1u) expected = product{}(expected, matrix_of(i));
    bad += !(lanes.reduce(matrix_of(block.lane()), product{}) == expected);
    return bad;
  }
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* failures) const {
    int bad = 0;
    for (int k = 1; k < 8; ++k) bad += faults_of(block, block.lane() % k == 0);
    if (block.lane() < 11)
      bad += faults_of(block, true);
    else
      bad += faults_of(block, block.lane() != 20);
    if (bad != 0) pmpp::simt::atomic_add(failures, bad);
  }
};

struct take_numbers {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int every, unsigned* counter, int* taken) const {
    if (block.thread() % every == 0)
      pmpp::simt::atomic_add(taken + pmpp::simt::aggregated_increment(block, counter), 1);
  }
};

}  // namespace

TEST_CASE("tiles of a warp") {
  pmpp::device_buffer<int> failures(1, 0);
  for (const int threads : {32, 96, 1024}) pmpp::launch(device, grid{2, threads}, tiles{}, failures.data());
  CHECK(pmpp::to_host(failures)[0] == 0);
}

TEST_CASE("lanes that are here together") {
  pmpp::device_buffer<int> failures(1, 0);
  for (const int threads : {1, 20, 64}) pmpp::launch(device, grid{2, threads}, branches{}, failures.data());
  CHECK(pmpp::to_host(failures)[0] == 0);
  for (const int every : {1, 2, 7, 33}) {
    CAPTURE(every);
    pmpp::device_buffer<unsigned> counter(1, 0u);
    pmpp::device_buffer<int> taken(500, 0);
    pmpp::launch(device, grid{3, 100}, take_numbers{}, every, counter.data(), taken.data());
    const unsigned n = 3u * unsigned((100 + every - 1) / every);
    CHECK(pmpp::to_host(counter)[0] == n);
    std::vector<int> expected(500, 0);
    for (unsigned i = 0; i < n; ++i) expected[i] = 1;
    CHECK(pmpp::to_host(taken) == expected);
  }
}

#if !PMPP_CUDA
namespace {

struct groups_of_branches {
  template <class Block>
  void operator()(Block& block, unsigned* masks) const {
    const int lane = block.lane();
    if (lane >= 24) return;
    if (lane < 5)
      masks[lane] = block.active_lanes();
    else if (lane % 2 == 0)
      masks[lane] = block.active_lanes();
    else
      block.sync_warp(0x00aaaaa0u);
  }
};

struct different_counters_bug {
  template <class Block>
  void operator()(Block& block, unsigned* counters) const {
    pmpp::simt::aggregated_increment(block, counters + block.lane() % 2);
  }
};

struct prints {
  template <class Block>
  void operator()(Block& block) const {
    if (block.thread() % 16 == 3) std::printf("block %d, thread %d\n", int(block.index()), block.thread());
  }
};

}  // namespace

TEST_CASE("which lanes the emulator takes for active") {
  unsigned masks[32] = {};
  pmpp::simt::emulator_options o;
  o.threads = 1;
  {
    const pmpp::simt::scoped_emulator_options scope(o);
    pmpp::launch(device, grid{1, 32}, groups_of_branches{}, +masks);
    for (int lane = 0; lane < 24; ++lane) CHECK(masks[lane] == (lane < 5 ? 0x1fu : lane % 2 == 0 ? 0x00555540u : 0u));
  }
  bool split = false, whole = false;
  for (o.seed = 1; o.seed < 20; ++o.seed) {
    const pmpp::simt::scoped_emulator_options scope(o);
    pmpp::launch(device, grid{1, 32}, groups_of_branches{}, +masks);
    for (int lane = 0; lane < 5; ++lane) {
      CHECK((masks[lane] & ~0x1fu) == 0);
      CHECK((masks[lane] >> lane & 1u) == 1);
      (masks[lane] == 0x1f ? whole : split) = true;
    }
    pmpp::device_buffer<int> failures(1, 0);
    pmpp::launch(device, grid{2, 64}, branches{}, failures.data());
    CHECK(pmpp::to_host(failures)[0] == 0);
  }
  CHECK(split);
  CHECK(whole);
  unsigned counters[2] = {};
  CHECK_THROWS_AS(pmpp::launch(device, grid{1, 32}, different_counters_bug{}, +counters), pmpp::kernel_fault);
}

TEST_CASE("a kernel prints by printf") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stdout);
  const int kept = ::dup(1);
  ::dup2(::fileno(file), 1);
  {
    pmpp::simt::emulator_options o;
    o.threads = 1;
    const pmpp::simt::scoped_emulator_options scope(o);
    pmpp::launch(device, grid{2, 32}, prints{});
  }
  std::fflush(stdout);
  ::dup2(kept, 1);
  ::close(kept);
  std::rewind(file);
  char text[256] = {};
  const std::size_t bytes = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  CHECK(std::string(text, bytes) == "block 0, thread 3\nblock 0, thread 19\nblock 1, thread 3\nblock 1, thread 19\n");
}
#endif
