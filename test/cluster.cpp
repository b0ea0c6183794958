// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of clusters (simt/cluster.hpp): blocks know their rank, their cluster and its size in grids of one to
// three dimensions; what they write to their shared memory before cluster.sync() others of the cluster read and change after
// it, by loads, stores and atomics, in struct shared, also above 48 KB, and in dynamic shared memory, in any order of blocks
// and threads (under ThreadSanitizer a missing order is a fault); the barrier in two parts; sizes that no machine has, and
// blocks that make no whole clusters, are refused before anything runs. In the emulator also: every fault that
// simt/emulated_cluster.hpp promises.
#include <pmpp/launch.hpp>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/launch_together.hpp>
#include <pmpp/simt/atomic.hpp>
#include "support/policies.hpp"
#if !PMPP_CUDA
#include "support/faults.hpp"
#endif

using pmpp::device;
using pmpp::extent3;
using pmpp::grid;

namespace {

bool has_clusters() { return pmpp::machine_of(device).most_blocks_of_cluster() > 1; }

struct place {
  long long index, rank, size, cluster, clusters;
  friend bool operator==(const place&, const place&) = default;
};

struct write_places {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, place* out) const {
    const auto cluster = block.cluster();
    if (block.thread() == block.threads() - 1)
      out[block.index()] = {block.index(), cluster.rank(), cluster.size(), cluster.index(), cluster.count()};
  }
};

/// In each round a thread writes its word, reads that of the next block and adds to one of the block before.
template <int Words>
struct neighbours {
  struct shared {
    unsigned word[Words];
    unsigned sum;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int rounds, unsigned* wrong) const {
    auto cluster = block.cluster();
    auto* const extra = reinterpret_cast<unsigned*>(block.dynamic_shared());
    const int n = cluster.size(), next = (cluster.rank() + 1) % n, before = (cluster.rank() + n - 1) % n;
    const int t = block.thread(), last = Words - block.threads();
    unsigned faults = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto value = [&](int rank) { return static_cast<unsigned>(1000 * rank + 100000 * round + t); };
      memory.word[last + t] = value(cluster.rank());
      extra[t] = value(cluster.rank()) + 1;
      if (t == 0) memory.sum = 0;
      cluster.sync();
      const shared* const theirs = cluster.map_shared(&memory, next);
      const unsigned* const their_extra = cluster.map_shared(extra, next);
      faults += theirs->word[last + t] != value(next) || their_extra[t] != value(next) + 1;
      pmpp::simt::atomic_add(cluster.map_shared(&memory.sum, before), static_cast<unsigned>(cluster.rank() + t));
      cluster.sync();
      cluster.map_shared(memory.word, before)[t] = value(before) + 7;
      const int all = block.threads();
      faults += memory.sum != static_cast<unsigned>(next * all + all * (all - 1) / 2);
      cluster.sync();
      faults += memory.word[t] != value(cluster.rank()) + 7;
      cluster.sync();
    }
    if (faults != 0) pmpp::simt::atomic_add(wrong, faults);
  }
};

/// Between arrive() and wait() each block works on what is its own.
struct in_two_parts {
  static constexpr int threads = 64, cluster = 2, min_blocks = 2;
  struct shared {
    int given[threads], own[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int* out) const {
    auto pair = block.cluster();
    const int t = block.thread();
    memory.given[t] = static_cast<int>(block.index());
    pair.arrive();
    memory.own[t] = t;
    pair.wait();
    const int theirs = pair.map_shared(memory.given, 1 - pair.rank())[threads - 1 - t];
    pair.arrive();
    block.sync();
    out[block.index() * threads + t] = 1000 * theirs + memory.own[threads - 1 - t];
    pair.wait();
  }
};

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing thrown";
}

bool contains(const std::string& text, const char* part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("\"", text, "\" lacks \"", part, "\"");
  return found;
}

template <int Words>
unsigned faults_of_neighbours(int blocks, int cluster, int threads, int rounds) {
  pmpp::device_buffer<unsigned> wrong(1, 0u);
  const std::size_t extra = static_cast<std::size_t>(threads) * sizeof(unsigned);
  pmpp::launch(device, grid{blocks, threads, extra, cluster}, neighbours<Words>{}, rounds, wrong.data());
  return pmpp::to_host(wrong)[0];
}

}  // namespace

TEST_CASE("a block knows its rank, its cluster and its cluster's size") {
  if (!has_clusters()) return;
  struct shape {
    extent3 blocks, cluster;
  };
  for (const auto& [blocks, cluster] :
       {shape{5, 1}, shape{6, 2}, shape{24, 8}, shape{{6, 4}, {3, 2}}, shape{{2, 6}, {1, 3}},
        shape{{4, 2, 6}, {2, 1, 3}}, shape{{2, 4, 2}, {2, 2, 2}}}) {
    CAPTURE(blocks.x);
    pmpp::device_buffer<place> out(static_cast<std::size_t>(blocks.volume()), place{});
    pmpp::launch(device, grid{blocks, 40, 0, cluster}, write_places{}, out.data());
    std::vector<place> expected;
    const unsigned nx = blocks.x / cluster.x, ny = blocks.y / cluster.y;
    for (unsigned z = 0; z < blocks.z; ++z)
      for (unsigned y = 0; y < blocks.y; ++y)
        for (unsigned x = 0; x < blocks.x; ++x)
          expected.push_back({x + blocks.x * (y + blocks.y * z),
                              x % cluster.x + cluster.x * (y % cluster.y + cluster.y * (z % cluster.z)),
                              cluster.volume(), x / cluster.x + nx * (y / cluster.y + ny * (z / cluster.z)),
                              blocks.volume() / cluster.volume()});
    CHECK(pmpp::to_host(out) == expected);
  }
}

TEST_CASE("blocks read and change each other's shared memory") {
  if (!has_clusters()) return;
  for (const int cluster : {1, 2, 3, 8})
    for (const int threads : {1, 33, 64}) {
      CAPTURE(cluster);
      CAPTURE(threads);
      CHECK(faults_of_neighbours<64>(3 * cluster, cluster, threads, 3) == 0);
    }
  CHECK(faults_of_neighbours<16000>(4, 4, 64, 2) == 0);  // 64 KB: not a static array
  pmpp::device_buffer<int> out(4 * 64, 0);
  pmpp::launch(device, 4, in_two_parts{}, out.data());
  std::vector<int> expected;
  for (int i = 0; i < 4 * 64; ++i) expected.push_back(1000 * (i / 64 ^ 1) + 63 - i % 64);
  CHECK(pmpp::to_host(out) == expected);
  pmpp::device_buffer<int> together(4 * 64, 0);
  pmpp::launch_together(device, 4, in_two_parts{}, together.data());
  CHECK(pmpp::to_host(together) == expected);
}

TEST_CASE("clusters that no machine has, or that the blocks do not fill") {
  const auto refusal = [](extent3 blocks, extent3 cluster) {
    return refusal_of([&] { pmpp::launch(device, grid{blocks, 32, 0, cluster}, write_places{}, (place*)nullptr); });
  };
  if (has_clusters()) {
    CHECK(contains(refusal(16, 16), "write_places: blocks of a cluster: asked for 16, the limit is 8"));
    CHECK(contains(refusal({4, 4, 4}, {4, 2, 2}), "asked for 16, the limit is 8"));
    CHECK(contains(refusal(16, -1), "asked for 4294967295, the limit is 8"));
    CHECK(contains(refusal(16, 0), "asked for 0, the limit is 8"));
    CHECK(contains(refusal(6, 4), "cluster along x: asked for 4, of which 6 blocks are no multiple"));
    CHECK(contains(refusal({4, 3}, {1, 2}), "cluster along y: asked for 2, of which 3 blocks are no multiple"));
    CHECK(contains(refusal({4, 1, 5}, {1, 1, 2}), "cluster along z: asked for 2, of which 5 blocks are no multiple"));
    CHECK(contains(refusal_of([] { pmpp::launch(device, 3, in_two_parts{}, (int*)nullptr); }), "of which 3 blocks"));
    CHECK(refusal(0, 4) == "nothing thrown");
  } else {
    CHECK(contains(refusal(4, 4), "(of several from compute capability 9.0 on): asked for 4, the limit is 1"));
  }
}

#if PMPP_CUDA
__global__ void ranks(unsigned* out) {
  if (threadIdx.x == 0) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(out[blockIdx.x]));
}

TEST_CASE("a __global__ function of one's own in clusters") {
  if (!has_clusters()) return;
  pmpp::device_buffer<unsigned> out(8, 9u);
  pmpp::launch(device, grid{8, 32, 0, 4}, ranks, out.data());
  CHECK(pmpp::to_host(out) == std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(contains(refusal_of([&] { pmpp::launch(device, grid{6, 32, 0, 4}, ranks, out.data()); }), "of which 6 blocks"));
}
#else

using test::fault_of;
using test::has;

// Planted races are reported, and must not make the program fail by themselves.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

TEST_CASE("any order of blocks and threads") {
  if (!has_clusters()) return;
  for (const int threads : {1, 2})
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      pmpp::simt::emulator_options o;
      o.threads = threads;
      o.seed = seed;
      o.resident_blocks = seed == 3 ? 8 : 1;
      o.order = seed == 1   ? pmpp::simt::block_order::descending
                : seed == 2 ? pmpp::simt::block_order::shuffled
                            : pmpp::simt::block_order::ascending;
      const pmpp::simt::scoped_emulator_options scope(o);
      CAPTURE(threads);
      CAPTURE(seed);
      CHECK(faults_of_neighbours<64>(15, 3, 40, 2) == 0);
    }
}

namespace {

struct poll_in_pairs {
  struct shared {
    unsigned flag;
  };
  template <class Block>
  void operator()(Block& block, shared& memory, int* seen) const {
    auto cluster = block.cluster();
    if (block.thread() == 0) memory.flag = 0;
    cluster.sync();
    unsigned* const theirs = cluster.map_shared(&memory.flag, 1 - cluster.rank());
    if (block.thread() == 0) pmpp::simt::atomic_add(theirs, 1u);
    while (pmpp::simt::load(&memory.flag) == 0) block.spin();
    cluster.sync();
    if (block.thread() == 0) pmpp::simt::atomic_add(seen, 1);
  }
};

// What each `..._bug` does wrong, a block of 32 threads of a cluster of 2 must be told.
enum class bug {
  none,
  rank,
  pointer,
  before_sync,
  ended,
  ends_mapped,
  leaves,
  leaves_arrived,
  arrives_twice,
  waits_alone,
  places,
  one_waits,
  one_barrier_in_block
};

template <bug Bug>
struct planted {
  struct shared {
    int word[32];
  };
  template <class Block>
  void operator()(Block& block, shared& memory, int* out) const {
    auto cluster = block.cluster();
    const int t = block.thread(), rank = cluster.rank(), other = 1 - rank;
    memory.word[t] = t;
    if (Bug == bug::before_sync) out[t] = cluster.map_shared(memory.word, other)[t];
    if (Bug == bug::leaves && rank == 1 && t == 5) return;
    if (Bug == bug::places && rank == 1)
      cluster.sync();
    else
      cluster.sync();
    if (Bug == bug::rank) out[0] = *cluster.map_shared(memory.word, 2);
    if (Bug == bug::pointer) out[0] = *cluster.map_shared(out, other);
    if (Bug == bug::waits_alone) cluster.wait();
    if (Bug == bug::arrives_twice) {
      cluster.arrive();
      cluster.sync();
    }
    if (Bug == bug::one_waits && rank == 1) block.sync();
    if (Bug == bug::one_barrier_in_block && t < 16) block.sync();
    if (Bug == bug::ended) {
      if (rank == 0) return;
      out[t] = cluster.map_shared(memory.word, other)[t];
      return;
    }
    const int* const theirs = cluster.map_shared(memory.word, other);
    const int x = theirs[t];
    if (Bug != bug::ends_mapped) {
      if (Bug == bug::leaves_arrived && rank == 0) {
        cluster.arrive();
        return;
      }
      cluster.sync();
    }
    out[32 * block.index() + t] = x;
  }
};

template <bug Bug>
std::string fault_of_planted() {
  std::vector<int> out(4 * 32);
  return fault_of({{4}, {32}, 0, {2}}, planted<Bug>{}, out.data());
}

}  // namespace

TEST_CASE("what the emulator reports of clusters") {
  if (!has_clusters()) return;
  for (const std::uint64_t seed : {0, 5, 6}) {
    pmpp::simt::emulator_options o;
    o.threads = 1;
    o.seed = seed;
    const pmpp::simt::scoped_emulator_options scope(o);
    CAPTURE(seed);
    CHECK(fault_of_planted<bug::none>() == "");
    CHECK(has(fault_of_planted<bug::rank>(), "calls cluster.map_shared for rank 2 at "));
    CHECK(has(fault_of_planted<bug::rank>(), "cluster.cpp:"));
    CHECK(has(fault_of_planted<bug::rank>(), "but the cluster has 2 blocks"));
    CHECK(has(fault_of_planted<bug::pointer>(), "the pointer does not lead into the block's shared memory"));
    CHECK(has(fault_of_planted<bug::before_sync>(), "before a first cluster.sync(): that block may not have begun"));
    CHECK(has(fault_of_planted<bug::ended>(), "a cluster.sync() must lie between the two"));
    const std::string early = fault_of_planted<bug::ends_mapped>();
    CHECK(has(early, "a cluster.sync() must lie between the two"));
    const std::string left = fault_of_planted<bug::leaves>();
    CHECK((left.find("but not all threads of the cluster can come: block ") != std::string::npos ||
           left.find("left the kernel while others of its cluster wait for it: block ") != std::string::npos));
    CHECK(has(fault_of_planted<bug::leaves_arrived>(), "left the kernel without waiting for its cluster"));
    CHECK(has(fault_of_planted<bug::arrives_twice>(), "but has not waited since it arrived at "));
    CHECK(has(fault_of_planted<bug::waits_alone>(), "calls cluster.wait at "));
    CHECK(has(fault_of_planted<bug::places>(), "but others wait in another one"));
    CHECK(has(fault_of_planted<bug::one_barrier_in_block>(), "deadlock, no thread can go on: block "));
    CHECK(has(fault_of_planted<bug::one_barrier_in_block>(), "waits in cluster.sync at "));
    CHECK(fault_of_planted<bug::one_waits>() == "");  // a barrier of one block is its own business
    int seen = 0;
    CHECK(fault_of({{6}, {33}, 0, {2}}, poll_in_pairs{}, &seen) == "");
    CHECK(seen == 6);
  }
}

namespace {

enum class race { none, unordered, late };

/// Reads of another block's memory that a barrier orders after what that block writes, or not; and before its end, or not.
template <race Race>
struct reads_another {
  struct shared {
    int word[32];
  };
  template <class Block>
  void operator()(Block& block, shared& memory, int* out) const {
    auto cluster = block.cluster();
    const int t = block.thread();
    memory.word[t] = t;
    cluster.sync();
    const int* const theirs = cluster.map_shared(memory.word, 1 - cluster.rank());
    if (Race == race::unordered) memory.word[t] = t + 1;
    int x = theirs[t];
    cluster.sync();
    if (Race == race::late && cluster.rank() == 1) x += theirs[t];
    out[32 * block.index() + t] = x;
  }
};

}  // namespace

TEST_CASE("accesses that no barrier orders" * doctest::skip(!pmpp::simt::sanitizer::thread)) {
  std::vector<int> out(6 * 32);
  for (const std::uint64_t seed : {0, 1}) {
    pmpp::simt::emulator_options o;
    o.threads = 2;
    o.seed = seed;
    const pmpp::simt::scoped_emulator_options scope(o);
    CHECK(fault_of({{6}, {32}, 0, {2}}, reads_another<race::none>{}, out.data()) == "");
    CHECK(has(fault_of({{6}, {32}, 0, {2}}, reads_another<race::unordered>{}, out.data()), "data race on byte "));
    CHECK(has(fault_of({{6}, {32}, 0, {2}}, reads_another<race::late>{}, out.data()), "data race on byte "));
  }
}

TEST_CASE("a machine without clusters") {
  pmpp::machine old = pmpp::machine_of(device);
  old.architecture = 80;
  pmpp::simt::emulator_options o;
  o.plays = &old;
  const pmpp::simt::scoped_emulator_options scope(o);
  const auto launch = [](int cluster) {
    return refusal_of([=] { pmpp::launch(device, grid{4, 32, 0, cluster}, write_places{}, (place*)nullptr); });
  };
  CHECK(contains(launch(4), "(of several from compute capability 9.0 on): asked for 4, the limit is 1"));
}

#endif
