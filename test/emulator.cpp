// SPDX-License-Identifier: Apache-2.0
//
// The emulator: it computes what a GPU would, under every order of threads and blocks, and it catches each kind of bug
// that it promises to catch. Every kernel named `..._bug` has one planted.
//
// Races are tested in emulator_race.cpp, which needs -fsanitize=thread to see them.
#include <pmpp/simt/emulated_block.hpp>

#include <pmpp/block/load_store.hpp>
#include <pmpp/simt/memory.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/faults.hpp"

using pmpp::extent3;
using pmpp::kernel_fault;
using pmpp::simt::block_order;
using pmpp::simt::emulate;
using pmpp::simt::emulator_options;
using pmpp::simt::scoped_emulator_options;
using test::fault_of;
using test::has;

// Some planted bugs are races as well. Reports alone must not make the program fail; those that the test does not
// expect do, as kernel_fault.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "exitcode=0"; }

namespace {

constexpr bool asan = pmpp::simt::sanitizer::address, tsan = pmpp::simt::sanitizer::thread;

emulator_options with(int threads, std::uint64_t seed = 0, block_order order = block_order::ascending) {
  emulator_options o;
  o.threads = threads;
  o.seed = seed;
  o.order = order;
  return o;
}

/// All settings under which a correct kernel must give the same result; ThreadSanitizer, a thousand times slower, sees
/// races in any of them.
template <class F>
void under_all_orders(F f) {
  for (int threads : {1, 2, 3})
    for (std::uint64_t seed : {0, 1, 2, 3})
      for (block_order order : {block_order::ascending, block_order::descending, block_order::shuffled}) {
        if (tsan && (threads != 2 || seed > 1 || order == block_order::ascending)) continue;
        const scoped_emulator_options scope(with(threads, seed, order));
        CAPTURE(threads);
        CAPTURE(seed);
        CAPTURE(int(order));
        f();
      }
}

// ---- What it computes ----------------------------------------------------------------------------------------------

struct seen {
  extent3 thread, shape, block, grid;
  std::int64_t index, count;
  int lane, warp, warps, threads, calls;
};

struct look_around {
  template <class Block>
  void operator()(Block& b, seen* out) const {
    seen& s = out[b.index() * b.threads() + b.thread()];
    const int calls = s.calls + 1;
    s = {b.thread_position(), b.shape(),   b.position(), b.grid_shape(), b.index(), b.count(), b.lane(), b.warp(),
         b.warps(),           b.threads(), calls};
  }
};

TEST_CASE("each thread of each block runs once and knows where it is") {
  const std::vector<pmpp::simt::launch_shape> shapes{
      {{1}, {1}, 0},         {{5}, {31}, 0},       {{3}, {32}, 0},
      {{2}, {33}, 0},        {{7, 3}, {4, 5}, 0},  {{2, 3, 4}, {3, 2, 7}, 0},
      {{1}, {1024}, 0},      {{2}, {8, 8, 16}, 0}, {{1, 1, 9}, {1, 100}, 0},
      {{100}, {1, 1, 64}, 0}};
  for (const auto& shape : shapes) {
    const auto n = std::size_t(shape.blocks.volume() * shape.threads.volume());
    under_all_orders([&] {
      std::vector<seen> all(n);
      emulate(shape, "look_around", look_around{}, all.data());
      bool right = true;
      std::size_t i = 0;
      std::int64_t index = 0;
      for (unsigned bz = 0; bz < shape.blocks.z; ++bz)
        for (unsigned by = 0; by < shape.blocks.y; ++by)
          for (unsigned bx = 0; bx < shape.blocks.x; ++bx, ++index) {
            int rank = 0;
            for (unsigned z = 0; z < shape.threads.z; ++z)
              for (unsigned y = 0; y < shape.threads.y; ++y)
                for (unsigned x = 0; x < shape.threads.x; ++x, ++i, ++rank) {
                  const seen& s = all[i];
                  const int threads = int(shape.threads.volume());
                  right = right && s.calls == 1 && s.index == index && s.count == shape.blocks.volume() &&
                          s.thread == extent3{x, y, z} && s.shape == shape.threads && s.block == extent3{bx, by, bz} &&
                          s.grid == shape.blocks && s.lane == rank % 32 && s.warp == rank / 32 &&
                          s.warps == (threads + 31) / 32 && s.threads == threads;
                }
          }
      CHECK(right);
    });
  }
}

TEST_CASE("a grid without blocks runs nothing") {
  emulate({{0}, {32}, 0}, "look_around", look_around{}, static_cast<seen*>(nullptr));
  emulate({{4, 0}, {32}, 0}, "look_around", look_around{}, static_cast<seen*>(nullptr));
}

/// Sums a block by shuffles and shared memory, twice, so that the shared memory is reused.
struct block_sum {
  struct shared {
    int part[32];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, const int* in, int* out) const {
    int total = 0;
    for (int round = 0; round < 2; ++round) {
      int sum = in[b.index() * b.threads() + b.thread()];
      for (int d = 16; d; d /= 2) {
        const int other = b.shuffle_down(sum, d);
        if (b.lane() + d < 32 && b.thread() + d < b.threads()) sum += other;
      }
      if (b.lane() == 0) memory.part[b.warp()] = sum;
      b.sync();
      total = 0;
      for (int w = 0; w < b.warps(); ++w) total += memory.part[w];
      b.sync();
    }
    if (b.thread() == 0) out[b.index()] = total;
  }
};

TEST_CASE("barriers and shuffles: a block sums its elements for any size and order") {
  for (int threads : {1, 2, 31, 32, 33, 63, 64, 100, 257, 1000, 1024}) {
    if (tsan && threads > 257) continue;
    const int blocks = tsan || threads > 257 ? 3 : 9;
    std::vector<int> in(std::size_t(blocks * threads));
    std::iota(in.begin(), in.end(), 1);
    CAPTURE(threads);
    under_all_orders([&] {
      std::vector<int> out(std::size_t(blocks), -1), want;
      for (int b = 0; b < blocks; ++b)
        want.push_back(std::accumulate(in.begin() + b * threads, in.begin() + (b + 1) * threads, 0));
      emulate({{blocks}, {threads}, 0}, "block_sum", block_sum{}, in.data(), out.data());
      CHECK(out == want);
    });
  }
}

struct twelve_bytes {
  int a;
  float b;
  char c[4];
  bool operator==(const twelve_bytes&) const = default;
};

/// Checks every warp collective against a loop over the lanes' known operands.
struct collectives {
  unsigned lanes_that_take_part;

  static int value(int lane) { return (lane * 37 + 11) % 23 - 9; }

  template <class Block>
  void operator()(Block& b, int* wrong) const {
    const int lane = b.lane(), in_warp = std::min(32, b.threads() - b.warp() * 32);
    const unsigned exists = 0xffffffffu >> (32 - in_warp), mask = lanes_that_take_part & exists;
    if (!(mask >> lane & 1u)) return;
    const bool everybody = mask == exists;
    auto expect = [&](bool right) { std::atomic_ref(*wrong).fetch_add(!right); };
    auto member = [&](int l) { return l >= 0 && l < 32 && (mask >> l & 1u); };
    const int v = value(lane);

    auto expect_from = [&](int got, int source) {
      if (source < 0 || source > 31) source = lane;
      if (member(source)) expect(got == value(source));
      if (!member(source)) expect(got == int(0xcdcdcdcdu));  // undefined in CUDA, visibly wrong here
    };
    for (int d = 0; d < 32; ++d) {
      expect_from(b.shuffle(v, d, mask), d);
      expect_from(b.shuffle(v, (lane * 5 + d) % 32, mask), (lane * 5 + d) % 32);
      expect_from(b.shuffle_up(v, d, mask), lane - d);
      expect_from(b.shuffle_down(v, d, mask), lane + d);
      expect_from(b.shuffle_xor(v, d, mask), lane ^ d);
    }
    const twelve_bytes t{lane, float(lane) + 0.5f, {char(lane), 'b', 'c', 'd'}};
    const int next = member(lane + 1) ? lane + 1 : lane;
    expect(b.shuffle(t, next, mask) == twelve_bytes{next, float(next) + 0.5f, {char(next), 'b', 'c', 'd'}});
    expect(b.shuffle(double(lane) / 3, next, mask) == double(next) / 3);

    unsigned odd = 0, same = 0;
    int sum = 0, smallest = 1000, largest = -1000;
    unsigned all_bits = ~0u, any_bits = 0, parity = 0, least = ~0u, most = 0;
    bool any_negative = false, all_negative = true;
    for (int l = 0; l < 32; ++l) {
      if (!member(l)) continue;
      const int x = value(l);
      odd |= unsigned(x & 1) << l;
      if (x == v) same |= 1u << l;
      sum += x;
      smallest = std::min(smallest, x);
      largest = std::max(largest, x);
      least = std::min(least, unsigned(x));  // a negative x is large
      most = std::max(most, unsigned(x));
      all_bits &= unsigned(x);
      any_bits |= unsigned(x);
      parity ^= unsigned(x);
      any_negative = any_negative || x < 0;
      all_negative = all_negative && x < 0;
    }
    expect(b.ballot(v & 1, mask) == odd);
    expect(b.any(v < 0, mask) == any_negative);
    expect(b.all(v < 0, mask) == all_negative);
    expect(b.match_any(v, mask) == same);
    expect(b.match_any(double(v), mask) == same);
    expect(b.warp_add(v, mask) == sum);
    expect(b.warp_min(v, mask) == smallest);
    expect(b.warp_max(v, mask) == largest);
    expect(b.warp_min(unsigned(v), mask) == least);
    expect(b.warp_max(unsigned(v), mask) == most);
    expect(b.warp_and(unsigned(v), mask) == all_bits);
    expect(b.warp_or(unsigned(v), mask) == any_bits);
    expect(b.warp_xor(unsigned(v), mask) == parity);
    b.sync_warp(mask);
    if (everybody) {  // without a mask: all lanes that exist
      expect(b.ballot(true) == exists);
      expect(b.any(v < 0) == any_negative);
      expect(b.all(v < 0) == all_negative);
      expect(b.match_any(v) == same);
      expect(b.warp_add(v) == sum);
      expect(b.warp_min(v) == smallest);
      expect(b.warp_max(v) == largest);
      expect(b.warp_and(unsigned(v)) == all_bits);
      expect(b.warp_or(unsigned(v)) == any_bits);
      expect(b.warp_xor(unsigned(v)) == parity);
      expect_from(b.shuffle(v, 3), 3);
      expect_from(b.shuffle_up(v, 3), lane - 3);
      expect_from(b.shuffle_down(v, 3), lane + 3);
      expect_from(b.shuffle_xor(v, 3), lane ^ 3);
      b.sync_warp();
    }
  }
};

TEST_CASE("warp collectives agree with a loop over the lanes") {
  for (int threads : {1, 20, 32, 48, 128})
    for (unsigned mask : {0xffffffffu, 1u, 0x5u, 0x0000ffffu, 0xf0f0f0f1u, 0x80000001u})
      for (std::uint64_t seed : {0, 5, 6}) {
        CAPTURE(threads);
        CAPTURE(mask);
        CAPTURE(seed);
        const scoped_emulator_options scope(with(1, seed));
        int wrong = 0;
        emulate({{2}, {threads}, 0}, "collectives", collectives{mask}, &wrong);
        CHECK(wrong == 0);
      }
}

/// Groups of lanes of one warp that work apart, each at its own pace.
struct separate_groups {
  template <class Block>
  void operator()(Block& b, int* wrong) const {
    const int group = b.lane() / 8;
    const unsigned mask = 0xffu << group * 8;
    for (int i = 0; i < 10 * (group + 1); ++i)
      if (b.warp_add(i + b.lane() % 8, mask) != 8 * i + 28) std::atomic_ref(*wrong).fetch_add(1);
    if (group < 2) {
      if (b.ballot(true, 0xffffu) != 0xffffu) std::atomic_ref(*wrong).fetch_add(1);
    } else {
      if (b.any(false, 0xffff0000u)) std::atomic_ref(*wrong).fetch_add(1);
    }
    b.sync();
    if (b.ballot(b.lane() < 4) != 15u) std::atomic_ref(*wrong).fetch_add(1);
  }
};

TEST_CASE("lanes of one warp may work in separate groups") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const scoped_emulator_options scope(with(1, seed));
    int wrong = 0;
    emulate({{2}, {64}, 0}, "separate_groups", separate_groups{}, &wrong);
    CHECK(wrong == 0);
  }
}

struct voting {
  template <class Block>
  void operator()(Block& b, int* wrong) const {
    for (int round = 0; round <= b.threads(); ++round) {
      const bool mine = b.thread() < round;
      bool right = b.sync_count(mine) == round;
      right = (b.sync_or(mine) == (round > 0)) && right;
      right = (b.sync_and(mine) == (round == b.threads())) && right;
      if (!right) std::atomic_ref(*wrong).fetch_add(1);
    }
  }
};

TEST_CASE("barriers that count votes") {
  for (int threads : {1, 5, 32, 70})
    for (std::uint64_t seed : {0, 7}) {
      const scoped_emulator_options scope(with(2, seed));
      int wrong = 0;
      emulate({{4}, {threads}, 0}, "voting", voting{}, &wrong);
      CHECK(wrong == 0);
    }
}

struct own_arguments {
  template <class Block>
  void operator()(Block& b, int x, int* out) const {
    x += b.thread();  // on a GPU each thread has its own parameters
    b.sync();
    out[b.thread()] = x;
  }
};

TEST_CASE("each thread has its own copy of the arguments") {
  std::vector<int> out(64);
  emulate({{1}, {64}, 0}, "own_arguments", own_arguments{}, 100, out.data());
  for (int i = 0; i < 64; ++i) CHECK(out[std::size_t(i)] == 100 + i);
}

struct wide_shared {
  struct alignas(256) shared {
    char c[3];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* wrong, std::size_t bytes) const {
    bool right = reinterpret_cast<std::uintptr_t>(&memory) % 256 == 0;
    std::byte* d = b.dynamic_shared();
    right = right && reinterpret_cast<std::uintptr_t>(d) % 16 == 0;
    for (auto i = std::size_t(b.thread()); i < bytes; i += std::size_t(b.threads())) d[i] = std::byte(i);
    b.sync();
    for (std::size_t i = 0; i < bytes; ++i) right = right && d[i] == std::byte(i);
    if (!right) std::atomic_ref(*wrong).fetch_add(1);
  }
};

struct empty_shared {
  struct shared {};
  template <class Block>
  void operator()(Block& b, shared&, int* calls) const {
    b.sync();
    std::atomic_ref(*calls).fetch_add(1);
  }
};

TEST_CASE("shared memory: any alignment, dynamic, empty") {
  for (std::size_t bytes : {0, 1, 16, 1000, 200000}) {
    int wrong = 0;
    emulate({{3}, {40}, bytes}, "wide_shared", wide_shared{}, &wrong, bytes);
    CHECK(wrong == 0);
  }
  int calls = 0;
  emulate({{3}, {40}, 0}, "empty_shared", empty_shared{}, &calls);
  CHECK(calls == 120);
}

struct nested {
  template <class Block>
  void operator()(Block& b, const int* in, int* out) const {
    b.sync();
    emulate({{1}, {64}, 0}, "block_sum", block_sum{}, in, out + b.index());
    b.sync();
  }
};

TEST_CASE("a kernel may launch a grid of its own") {
  std::vector<int> in(64, 1), out(3);
  emulate({{3}, {1}, 0}, "nested", nested{}, in.data(), out.data());
  CHECK(out == std::vector<int>{64, 64, 64});
}

TEST_CASE("several host threads may launch at once") {
  std::vector<int> in(256, 1);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> hosts;
    for (int i = 0; i < 4; ++i)
      hosts.emplace_back([&] {
        for (int repeat = 0; repeat < 10; ++repeat) {
          std::vector<int> out(4);
          emulate({{4}, {64}, 0}, "block_sum", block_sum{}, static_cast<const int*>(in.data()), out.data());
          right += out == std::vector<int>{64, 64, 64, 64};
        }
      });
  }
  CHECK(right == 40);
}

// ---- Exceptions ----------------------------------------------------------------------------------------------------

struct counted {
  int* alive;
  explicit counted(int* a) : alive(a) { std::atomic_ref(*alive).fetch_add(1); }
  ~counted() { std::atomic_ref(*alive).fetch_sub(1); }
  counted(const counted&) = delete;
};

struct throws {
  template <class Block>
  void operator()(Block& b, int* alive, int* threw) const {
    const counted here(alive);
    const std::vector<int> heap(100, b.thread());  // leaks unless the thread is unwound
    b.sync();
    const counted there(alive);
    if (b.index() == 3 && b.thread() % 16 == 5) {
      std::atomic_ref(*threw).fetch_add(1);
      throw std::runtime_error("thrown by the kernel");
    }
    b.sync();
    try {
      b.sync_warp();
    } catch (...) {  // a kernel that swallows everything does not stop the end
    }
    b.sync();
  }
};

TEST_CASE("an exception ends the launch, is thrown once, and unwinds every thread") {
  under_all_orders([] {
    int alive = 0, threw = 0;
    CHECK_THROWS_WITH_AS(emulate({{20}, {64}, 0}, "throws", throws{}, &alive, &threw), "thrown by the kernel",
                         std::runtime_error);
    CHECK(alive == 0);
    CHECK(threw == 1);
  });
  int calls = 0;  // the emulator works as before
  emulate({{3}, {40}, 0}, "empty_shared", empty_shared{}, &calls);
  CHECK(calls == 120);
}

struct throws_again {
  template <class Block>
  void operator()(Block& b) const {
    try {
      if (b.thread() == 3) throw std::runtime_error("the first");
      b.sync();
    } catch (...) {
      if (b.thread() == 3) throw;
      throw std::runtime_error("a later one");
    }
  }
};

TEST_CASE("of several exceptions the first is thrown") {
  const scoped_emulator_options scope(with(1));
  CHECK_THROWS_WITH_AS(emulate({{4}, {64}, 0}, "throws_again", throws_again{}), "the first", std::runtime_error);
}

struct waits_while_unwinding {
  template <class Block>
  void operator()(Block& b, int* caught) const {
    struct syncs {
      Block& b;
      bool& right;
      ~syncs() {
        b.sync();
        right = std::uncaught_exceptions() == 1;
      }
    };
    bool right = false;
    try {
      const syncs s{b, right};
      throw b.thread();
    } catch (int t) {
      right = right && std::uncaught_exceptions() == 0;
      b.sync();
      right = right && std::uncaught_exceptions() == 0 && std::current_exception() != nullptr;
      if (t == b.thread() && right) std::atomic_ref(*caught).fetch_add(1);
    }
  }
};

TEST_CASE("threads may wait while they handle exceptions of their own") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const scoped_emulator_options scope(with(1, seed));
    int caught = 0;
    emulate({{2}, {64}, 0}, "waits_while_unwinding", waits_while_unwinding{}, &caught);
    CHECK(caught == 128);
  }
}

// ---- Barriers ------------------------------------------------------------------------------------------------------

struct skips_a_barrier_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.thread() != 37) b.sync();
    b.sync();
  }
};

struct leaves_early_bug {
  int who = 37;
  template <class Block>
  void operator()(Block& b) const {
    if (b.thread() == who) return;
    b.sync();
  }
};

struct skips_the_last_round_bug {
  template <class Block>
  void operator()(Block& b) const {
    for (int i = 0; i < (b.thread() == 37 ? 4 : 5); ++i) b.sync();
  }
};

struct two_barriers_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.thread() < 37)
      b.sync();
    else
      b.sync();
  }
};

struct two_kinds_bug {
  template <class Block>
  void operator()(Block& b) const {
    b.thread() < 37 ? b.sync_and(true) : b.sync_or(true);
  }
};

TEST_CASE("a thread that leaves before, between and after those that wait") {
  const scoped_emulator_options scope(with(1));
  CHECK(has(fault_of({{1}, {64}, 0}, leaves_early_bug{0}), "block 0, thread 1: waits in sync at "));
  CHECK(has(fault_of({{1}, {64}, 0}, leaves_early_bug{0}),
            "but not all threads of the block can come: thread 0: left the kernel"));
  for (int who : {1, 37, 63})
    CHECK(has(fault_of({{1}, {64}, 0}, leaves_early_bug{who}),
              "block 0, thread " + std::to_string(who) + ": left the kernel while others wait for it"));
}

TEST_CASE("barriers that not all threads of the block reach") {
  for (std::uint64_t seed : {0, 1, 2}) {
    const scoped_emulator_options scope(with(2, seed));
    std::string text = fault_of({{3}, {64}, 0}, skips_a_barrier_bug{});
    CHECK(has(text, "kernel the_kernel, block "));
    CHECK(has(text, "waits in sync at "));
    CHECK(has(text, "emulator.cpp:"));
    CHECK(has(text, "others wait in another barrier"));
    if (seed == 0) CHECK(has(text, ", thread 37: "));

    text = fault_of({{3}, {64}, 0}, leaves_early_bug{});
    CHECK(has(text, "kernel the_kernel, block "));
    CHECK((text.find("left the kernel while others wait for it") != std::string::npos ||
           text.find("but not all threads of the block can come") != std::string::npos));
    CHECK(has(text, "thread 37: left the kernel"));
    CHECK(has(text, "waits in sync at "));

    text = fault_of({{3}, {64}, 0}, skips_the_last_round_bug{});
    CHECK(has(text, "thread 37: left the kernel"));

    CHECK(has(fault_of({{3}, {64}, 0}, two_barriers_bug{}), "others wait in another barrier"));
    text = fault_of({{3}, {64}, 0}, two_kinds_bug{});
    CHECK(has(text, "others wait in another barrier"));
    CHECK(has(text, "sync_and"));
    CHECK(has(text, "sync_or"));
  }
}

struct mixed_up_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.thread() < 16)
      b.sync_warp();  // waits for lanes 16 to 31, which wait below for these
    else
      b.sync();
  }
};

TEST_CASE("a deadlock says who waits where") {
  for (std::uint64_t seed : {0, 1}) {
    const scoped_emulator_options scope(with(2, seed));
    const std::string text = fault_of({{2}, {64}, 0}, mixed_up_bug{});
    CHECK(has(text, "deadlock"));
    CHECK(has(text, "threads 0-15: waits in sync_warp with mask 0xffffffff at "));
    CHECK(has(text, "threads 16-63: waits in sync at "));
  }
}

// ---- Warp collectives ----------------------------------------------------------------------------------------------

struct unnamed_caller_bug {
  template <class Block>
  void operator()(Block& b) const {
    b.ballot(true, 0xfffffffeu);
  }
};
struct missing_lane_bug {
  template <class Block>
  void operator()(Block& b) const {
    b.shuffle_xor(1.0f, 1, 0xffffffffu);
  }
};
struct lane_has_left_bug {
  int who = 9;
  template <class Block>
  void operator()(Block& b) const {
    if (b.lane() == who) return;
    b.warp_add(1, 0xffffffffu);
  }
};
struct masks_differ_bug {
  template <class Block>
  void operator()(Block& b) const {
    b.any(true, b.lane() != 31 ? 0xffffffffu : 0xfffffffeu);
  }
};
struct narrow_mask_bug {
  template <class Block>
  void operator()(Block& b) const {
    b.any(true, b.lane() < 16 ? 0xffffffffu : 0xffff0000u);  // the upper half never joins the lower
  }
};
struct operations_differ_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.lane() == 9)
      b.any(true);
    else
      b.all(true);
  }
};
struct places_differ_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.lane() < 9)
      b.ballot(true);
    else
      b.ballot(true);
  }
};
struct sizes_differ_bug {
  template <class Block, class T>
  static void shuffle(Block& b, T v) {
    b.shuffle(v, 0);
  }
  template <class Block>
  void operator()(Block& b) const {
    b.lane() < 9 ? shuffle(b, 1.0f) : shuffle(b, 1.0);
  }
};
struct meets_sync_warp_bug {
  template <class Block>
  void operator()(Block& b) const {
    if (b.lane() < 9)
      b.ballot(true);
    else
      b.sync_warp();
  }
};
struct places_of_sync_warp {
  template <class Block>
  void operator()(Block& b) const {
    if (b.lane() < 9)  // CUDA allows it for __syncwarp
      b.sync_warp();
    else
      b.sync_warp();
  }
};

TEST_CASE("warp collectives whose lanes do not agree") {
  for (std::uint64_t seed : {0, 1, 2}) {
    const scoped_emulator_options scope(with(1, seed));
    CHECK(
        has(fault_of({{1}, {32}, 0}, unnamed_caller_bug{}), "block 0, thread 0: waits in ballot with mask 0xfffffffe"));
    CHECK(has(fault_of({{1}, {32}, 0}, unnamed_caller_bug{}), "does not name the calling lane"));
    CHECK(has(fault_of({{1}, {48}, 0}, missing_lane_bug{}), "names lanes that do not exist, the warp has 16 threads"));
    CHECK(fault_of({{1}, {64}, 0}, missing_lane_bug{}).empty());
    const std::string left = fault_of({{1}, {32}, 0}, lane_has_left_bug{});
    CHECK((left.find("lanes that have left the kernel") != std::string::npos ||
           left.find("left the kernel while lanes of its warp wait for it") != std::string::npos));
    CHECK(has(left, "thread 9: left the kernel"));
    const std::string narrow = fault_of({{1}, {32}, 0}, narrow_mask_bug{});
    CHECK((narrow.find("lanes that have left the kernel") != std::string::npos ||
           narrow.find("left the kernel while lanes of its warp wait for it") != std::string::npos));
    for (const std::string& text :
         {fault_of({{1}, {32}, 0}, masks_differ_bug{}), fault_of({{1}, {32}, 0}, operations_differ_bug{}),
          fault_of({{1}, {32}, 0}, places_differ_bug{}), fault_of({{1}, {32}, 0}, sizes_differ_bug{}),
          fault_of({{1}, {32}, 0}, meets_sync_warp_bug{})}) {
      CHECK(has(text, "kernel the_kernel, block 0, thread "));
      CHECK(has(text, "lanes of its warp disagree: thread "));
      CHECK(has(text, "emulator.cpp:"));
    }
    CHECK(fault_of({{1}, {32}, 0}, places_of_sync_warp{}).empty());
  }
  const scoped_emulator_options scope(with(1));
  CHECK(has(fault_of({{1}, {32}, 0}, lane_has_left_bug{0}), "thread 1: waits in warp_add with mask 0xffffffff at "));
  CHECK(has(fault_of({{1}, {32}, 0}, lane_has_left_bug{0}), "the mask names lanes that have left the kernel"));
  CHECK(has(fault_of({{1}, {32}, 0}, lane_has_left_bug{31}),
            "thread 31: left the kernel while lanes of its warp wait for it"));
}

// ---- Shared memory -------------------------------------------------------------------------------------------------

struct out_of_bounds_bug {
  struct shared {
    float tile[32];
  };
  int offset, culprit;
  template <class Block>
  void operator()(Block& b, shared& memory) const {
    volatile float* tile = memory.tile;
    tile[b.thread()] = 0;
    b.sync();
    if (b.thread() == culprit) tile[offset] = 1;
    b.sync();
  }
};

struct dynamic_out_of_bounds_bug {
  template <class Block>
  void operator()(Block& b, int offset) const {
    volatile std::byte* p = b.dynamic_shared();
    if (b.thread() == 3) p[offset] = std::byte(7);
  }
};

TEST_CASE("writes outside the shared memory") {
  if (asan) {
    MESSAGE("AddressSanitizer stops the program at the write: see the next test");
    return;
  }
  for (int offset : {-1, -32, 32, 33, 47, 100}) {
    CAPTURE(offset);
    const std::string text = fault_of({{2}, {32}, 0}, out_of_bounds_bug{offset, 7});
    CHECK(has(text, "kernel the_kernel, block "));
    CHECK(has(text, ", thread 7: shared memory was written "));
    CHECK(has(text, offset < 0 ? std::to_string(-4 * offset) + " bytes before struct shared"
                               : std::to_string(4 * (offset - 32)) + " bytes past the end of struct shared"));
    CHECK(has(text, "reached the barrier at "));
    CHECK(has(text, "since the barrier at "));
  }
  CHECK(fault_of({{2}, {32}, 0}, out_of_bounds_bug{31, 7}).empty());
  std::string text = fault_of({{2}, {32}, 50}, dynamic_out_of_bounds_bug{}, 50);
  CHECK(has(text, "thread 3: shared memory was written 0 bytes past the end of the dynamic shared memory (50 bytes)"));
  CHECK(has(text, "left the kernel"));
  CHECK(fault_of({{2}, {32}, 50}, dynamic_out_of_bounds_bug{}, 49).empty());
  CHECK(!fault_of({{2}, {32}, 50}, dynamic_out_of_bounds_bug{}, -1).empty());
}

/// True if f ends the program, in a child process.
template <class F>
bool dies(F f) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr)) std::_Exit(0);
    const scoped_emulator_options scope(with(1));
    f();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

struct reads_out_of_bounds_bug {
  struct shared {
    char bytes[13];
  };
  template <class Block>
  void operator()(Block&, shared& memory, int offset) const {
    volatile char* p = memory.bytes;
    static_cast<void>(p[offset]);
  }
};

TEST_CASE("AddressSanitizer sees the bounds of shared memory") {
  if (!asan) return;
  for (int offset : {-1, 13, 14, 100})
    CHECK(dies([&] { emulate({{1}, {1}, 0}, "reads", reads_out_of_bounds_bug{}, offset); }));
  CHECK(dies([] { emulate({{1}, {32}, 50}, "writes", dynamic_out_of_bounds_bug{}, 50); }));
  CHECK(dies([] { emulate({{1}, {32}, 0}, "writes", out_of_bounds_bug{32, 7}); }));
  CHECK(!dies([] { emulate({{1}, {1}, 0}, "reads", reads_out_of_bounds_bug{}, 12); }));
}

struct misaligned_bug {
  struct shared {
    alignas(16) char bytes[64];
  };
  template <class Block>
  void operator()(Block&, shared& memory, const char* from, int way) const {
    if (way == 0) pmpp::simt::copy_async<16>(memory.bytes, from);
    if (way == 1) pmpp::simt::copy_async<8>(memory.bytes, from, 3);
    if (way == 2) pmpp::simt::copy_async<4>(memory.bytes + 2, from - 4);
    if (way == 3) pmpp::simt::copy_async_near(memory.bytes + 8, from - 4);
    if (way == 4) pmpp::simt::load_quad(reinterpret_cast<const pmpp::simt::quad*>(from));
    if (way == 5) pmpp::block::access<const int*>::load<4>(reinterpret_cast<const int*>(from), 0);
    if (way == 6) pmpp::simt::copy_async<4>(memory.bytes + 4, from);
  }
};

TEST_CASE("a wide access at an address that a GPU refuses") {
  alignas(16) static const char bytes[64] = {};
  const auto fault = [](int way) { return fault_of({{1}, {1}, 0}, misaligned_bug{}, &bytes[4], way); };
  CHECK(has(fault(0), "misaligned address: an access of 16 bytes begins 4 after a multiple of them"));
  CHECK(has(fault(1), "misaligned address: an access of 8 bytes begins 4 after"));
  CHECK(has(fault(2), "misaligned address: an access of 4 bytes begins 2 after"));
  CHECK(has(fault(3), "misaligned address: an access of 16 bytes begins 8 after"));
  CHECK(has(fault(4), "misaligned address: an access of 16 bytes begins 4 after"));
  CHECK(has(fault(5), "misaligned address: an access of 16 bytes begins 4 after"));
  CHECK(fault(6).empty());
}

struct recurses_bug {
  static int deep(volatile int* n) {
    volatile char room[1000];
    room[0] = char(*n);
    *n = *n + 1;
    return *n * 1000 > 70000 ? 0 : deep(n) + room[0];  // a little more than the stack
  }
  template <class Block>
  void operator()(Block& b) const {
    volatile int n = 0;
    b.sync();
    if (b.thread() == 3) deep(&n);
  }
};

TEST_CASE("a thread that overruns its stack stops the program, not its neighbour") {
  if (asan || tsan) return;
  CHECK(dies([] { emulate({{1}, {64}, 0}, "recurses", recurses_bug{}); }));
}

struct reads_before_writing_bug {
  struct shared {
    unsigned words[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, unsigned* out, unsigned* dynamic_out) const {
    auto* d = reinterpret_cast<unsigned*>(b.dynamic_shared());
    const auto i = std::size_t(b.index() * 64 + b.thread());
    out[i] = memory.words[b.thread()];
    dynamic_out[i] = d[b.thread()];
    memory.words[b.thread()] = 5;  // the next block must not find it
    d[b.thread()] = 5;
  }
};

TEST_CASE("shared memory starts as 0xcd in every block") {
  under_all_orders([] {
    std::vector<unsigned> out(64 * 6), dynamic_out(64 * 6);
    emulate({{6}, {64}, 256}, "reads_before_writing", reads_before_writing_bug{}, out.data(), dynamic_out.data());
    CHECK(std::set<unsigned>(out.begin(), out.end()) == std::set<unsigned>{0xcdcdcdcdu});
    CHECK(std::set<unsigned>(dynamic_out.begin(), dynamic_out.end()) == std::set<unsigned>{0xcdcdcdcdu});
  });
}

// ---- Orders --------------------------------------------------------------------------------------------------------

/// Reverses each block's elements through shared memory.
template <bool Bug>
struct reverse {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* data) const {
    int& mine = data[b.index() * 64 + b.thread()];
    memory.tile[63 - b.thread()] = mine;
    if constexpr (!Bug) b.sync();
    mine = memory.tile[b.thread()];
  }
};

/// Each warp sums in shared memory; the bug is in the second phase: it overwrites what slower warps still read.
template <bool Bug>
struct rotate {
  struct shared {
    int tile[128];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* data) const {
    memory.tile[b.thread()] = b.thread();
    b.sync();
    for (int round = 0; round < 3; ++round) {
      const int next = memory.tile[(b.thread() + 32) % 128];  // of the next warp
      if constexpr (Bug)
        b.sync_warp();  // orders the lanes of one warp only
      else
        b.sync();
      memory.tile[b.thread()] = next;
      b.sync();
    }
    data[b.index() * 128 + b.thread()] = memory.tile[b.thread()];
  }
};

/// How many of 20 seeds show that the kernel is wrong.
template <class Kernel>
int red_seeds(int threads, int blocks, int (*want)(int thread)) {
  int red = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const scoped_emulator_options scope(with(1, seed));
    std::vector<int> data(std::size_t(blocks * threads));
    for (int i = 0; i < blocks * threads; ++i) data[std::size_t(i)] = i % threads;
    bool right = true;
    try {
      emulate({{blocks}, {threads}, 0}, "kernel", Kernel{}, data.data());
      for (int i = 0; i < blocks * threads; ++i) right = right && data[std::size_t(i)] == want(i % threads);
    } catch (const kernel_fault&) {  // ThreadSanitizer calls the same bug a race
      right = false;
    }
    red += !right;
  }
  return red;
}

TEST_CASE("a missing barrier shows under some seed, a right kernel is right under all") {
  auto reversed = +[](int t) { return 63 - t; };
  auto rotated = +[](int t) { return (t + 96) % 128; };
  CHECK(red_seeds<reverse<true>>(64, 1, reversed) > 0);
  CHECK(red_seeds<reverse<false>>(64, 5, reversed) == 0);
  CHECK(red_seeds<rotate<true>>(128, 1, rotated) > 0);
  CHECK(red_seeds<rotate<false>>(128, 5, rotated) == 0);
}

struct order_of_threads {
  template <class Block>
  void operator()(Block& b, int* next, int* order) const {
    const int base = int(b.index()) * 3 * b.threads();
    for (int i = 0; i < 3; ++i) {
      order[base + std::atomic_ref(next[b.index()]).fetch_add(1, std::memory_order_relaxed)] = b.thread();
      b.sync();
    }
  }
};

TEST_CASE("threads run in their order, or in one that depends on seed and block alone") {
  const std::size_t blocks = 8, threads = 70;
  auto run = [&](int os_threads, std::uint64_t seed, block_order order) {
    const scoped_emulator_options scope(with(os_threads, seed, order));
    std::vector<int> next(blocks), out(blocks * threads * 3);
    emulate({{int(blocks)}, {int(threads)}, 0}, "order_of_threads", order_of_threads{}, next.data(), out.data());
    return out;
  };
  const auto straight = run(1, 0, block_order::ascending);
  for (std::size_t i = 0; i < straight.size(); ++i) CHECK(straight[i] == int(i % threads));
  std::set<std::vector<int>> different;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto once = run(1, seed, block_order::ascending);
    CHECK(once == run(1, seed, block_order::ascending));
    CHECK(once == run(3, seed, block_order::descending));
    CHECK(once == run(2, seed, block_order::shuffled));
    different.insert(once);
  }
  CHECK(different.size() == 5);
}

struct order_of_blocks {
  template <class Block>
  void operator()(Block& b, std::int64_t* next, std::int64_t* order) const {
    if (b.thread() == 0) order[std::atomic_ref(*next).fetch_add(1)] = b.index();
  }
};

TEST_CASE("blocks start in the order that the options ask for") {
  for (std::int64_t blocks : {1, 2, 3, 7, 64, 1000})
    for (std::uint64_t seed : {0, 1, 2, 3}) {
      auto run = [&](block_order order) {
        const scoped_emulator_options scope(with(1, seed, order));
        std::int64_t next = 0;
        std::vector<std::int64_t> out(std::size_t(blocks), -1);
        emulate({{blocks}, {2}, 0}, "order_of_blocks", order_of_blocks{}, &next, out.data());
        return out;
      };
      std::vector<std::int64_t> up(std::size_t(blocks), 0);
      std::iota(up.begin(), up.end(), 0);
      CHECK(run(block_order::ascending) == up);
      CHECK(run(block_order::descending) == std::vector<std::int64_t>(up.rbegin(), up.rend()));
      auto mixed = run(block_order::shuffled);
      if (blocks >= 64) CHECK(mixed != up);
      std::sort(mixed.begin(), mixed.end());
      CHECK(mixed == up);
    }
}

/// Each block adds to the sum of the block before it, which it takes as given.
struct trusts_block_order_bug {
  template <class Block>
  void operator()(Block& b, int* sums) const {
    const auto i = b.index();
    if (b.thread() == 0) sums[i] = (i ? sums[i - 1] : 0) + 1;
  }
};

TEST_CASE("code that trusts the order of blocks is wrong when they start otherwise") {
  auto run = [](block_order order) {
    const scoped_emulator_options scope(with(1, 0, order));
    std::vector<int> sums(50);
    emulate({{50}, {32}, 0}, "trusts_block_order", trusts_block_order_bug{}, sums.data());
    return sums.back();
  };
  if (!tsan) CHECK(run(block_order::ascending) == 50);  // it happens to work
  auto is_red = [&](block_order order) {
    try {
      return run(order) != 50;
    } catch (const kernel_fault&) {
      return true;
    }
  };
  CHECK(is_red(block_order::descending));
  CHECK(is_red(block_order::shuffled));
}

/// A chained scan: blocks take tickets, and poll for the sum of the block with the ticket before theirs.
struct look_back {
  struct shared {
    int ticket, before;
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* next, long long* sums, long long* out) const {
    if (b.thread() == 0) memory.ticket = std::atomic_ref(*next).fetch_add(1);
    b.sync();
    const int t = memory.ticket;
    if (b.thread() == 0) {
      long long before = 0;
      if (t > 0)
        while ((before = std::atomic_ref(sums[t - 1]).load(std::memory_order_acquire)) == 0) b.spin();
      memory.before = int(before);
      std::atomic_ref(sums[t]).store(before + t + 1, std::memory_order_release);
    }
    b.sync();
    if (b.thread() == 1) out[t] = memory.before;
  }
};

TEST_CASE("blocks that wait for earlier tickets get through in every order") {
  for (std::size_t blocks : {1, 2, 50})
    under_all_orders([&] {
      int next = 0;
      std::vector<long long> sums(blocks), out(blocks);
      emulate({{int(blocks)}, {64}, 0}, "look_back", look_back{}, &next, sums.data(), out.data());
      for (std::size_t t = 0; t < blocks; ++t) CHECK(out[t] == (long long)(t * (t + 1) / 2));
    });
}

// ---- Progress ------------------------------------------------------------------------------------------------------

/// All blocks wait for all others.
struct grid_barrier {
  template <class Block>
  void operator()(Block& b, int* arrived, int rounds) const {
    for (int round = 1; round <= rounds; ++round) {
      b.sync();
      if (b.thread() == 0) {
        std::atomic_ref word(*arrived);
        word.fetch_add(1);
        while (word.load() < round * int(b.count())) b.spin();
      }
      b.sync();
    }
  }
};

TEST_CASE("blocks that wait for all others need to be resident") {
  for (int threads : {1, 2}) {
    emulator_options o = with(threads);
    o.resident_blocks = 12;
    o.deadlock_seconds = 5;
    const scoped_emulator_options scope(o);
    int arrived = 0;
    CHECK(fault_of({{12}, {40}, 0}, grid_barrier{}, &arrived, 10) == "");
    CHECK(arrived == 120);
  }
  emulator_options o = with(2);
  o.deadlock_seconds = 0.3;
  const scoped_emulator_options scope(o);
  int arrived = 0;
  const std::string text = fault_of({{12}, {40}, 0}, grid_barrier{}, &arrived, 10);
  CHECK(has(text, "kernel the_kernel, block "));
  CHECK(has(text, "deadlock, for 0.3"));
  CHECK(has(text, "thread 0: polls in spin at "));
  CHECK(has(text, "threads 1-39: waits in sync at "));
}

/// Threads of one block that poll each other's words; nothing moves unless spin() lets the others run.
struct relay {
  struct shared {
    int turn;
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    if (b.thread() == 0) memory.turn = b.threads() - 1;
    b.sync();
    std::atomic_ref turn(memory.turn);
    while (turn.load() != b.thread()) b.spin();
    if (b.thread() == 0) *out = 1;
    turn.store(b.thread() - 1);
  }
};

TEST_CASE("polling threads let the others of their block run") {
  for (std::uint64_t seed : {0, 1, 2}) {
    const scoped_emulator_options scope(with(1, seed));
    int out = 0;
    emulate({{1}, {100}, 0}, "relay", relay{}, &out);
    CHECK(out == 1);
  }
}

/// Polls for something that a slow block does late: no deadlock, although nothing else moves meanwhile.
struct slow_block {
  template <class Block>
  void operator()(Block& b, int* done) const {
    if (b.thread() != 0) return;
    if (b.index() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      std::atomic_ref(*done).store(1);
    } else {
      while (std::atomic_ref(*done).load() == 0) b.spin();
    }
  }
};

TEST_CASE("a block that computes for long is no deadlock for those who wait for it") {
  emulator_options o = with(2);
  o.deadlock_seconds = 0.2;
  const scoped_emulator_options scope(o);
  int done = 0;
  CHECK(fault_of({{2}, {32}, 0}, slow_block{}, &done) == "");
}

// ---- Options -------------------------------------------------------------------------------------------------------

TEST_CASE("the environment sets order, seed and threads of each launch") {
  auto first_block = [] {
    std::int64_t next = 0;
    std::vector<std::int64_t> out(10);
    emulate({{10}, {1}, 0}, "order_of_blocks", order_of_blocks{}, &next, out.data());
    return out[0];
  };
  auto thread_order = [] {
    int next = 0;
    std::vector<int> out(3 * 64);
    emulate({{1}, {64}, 0}, "order_of_threads", order_of_threads{}, &next, out.data());
    return out;
  };
  setenv("PMPP_EMULATOR_THREADS", "1", 1);
  CHECK(first_block() == 0);
  setenv("PMPP_EMULATOR_ORDER", "descending", 1);
  CHECK(first_block() == 9);
  setenv("PMPP_EMULATOR_ORDER", "ascending", 1);
  CHECK(first_block() == 0);
  setenv("PMPP_EMULATOR_ORDER", "sideways", 1);
  CHECK_THROWS_AS(first_block(), std::invalid_argument);
  unsetenv("PMPP_EMULATOR_ORDER");
  const auto straight = thread_order();
  setenv("PMPP_EMULATOR_SEED", "12", 1);
  CHECK(thread_order() != straight);
  setenv("PMPP_EMULATOR_SEED", "twelve", 1);
  CHECK_THROWS_AS(thread_order(), std::invalid_argument);
  {
    const scoped_emulator_options scope(with(1));
    CHECK(thread_order() == straight);  // the scope wins
  }
  unsetenv("PMPP_EMULATOR_SEED");
  unsetenv("PMPP_EMULATOR_THREADS");
}

struct which_os_thread {
  template <class Block>
  void operator()(Block& b, std::thread::id* ids, int* arrived) const {
    ids[b.index()] = std::this_thread::get_id();
    std::atomic_ref(*arrived).fetch_add(1);
    while (std::atomic_ref(*arrived).load() < int(b.count())) b.spin();
  }
};

TEST_CASE("blocks run on as many OS threads as asked for") {
  for (int threads : {2, 3}) {
    const scoped_emulator_options scope(with(threads));
    std::vector<std::thread::id> ids(std::size_t(threads), std::thread::id{});
    int arrived = 0;
    emulate({{threads}, {1}, 0}, "which_os_thread", which_os_thread{}, ids.data(), &arrived);
    CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == std::size_t(threads));
  }
}

}  // namespace
