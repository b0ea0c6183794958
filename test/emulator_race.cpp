// SPDX-License-Identifier: Apache-2.0
//
// Races: two threads, one word, at least one writes, and neither a barrier nor an atomic orders them. The emulator
// finds them in programs built with -fsanitize=thread; in other programs these tests are skipped. Each kernel `..._bug`
// is one barrier short of its twin. Silence is tested as hard as noise: the right twin must pass under every order.
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/emulated_block.hpp>
#include <pmpp/simt/memory.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/faults.hpp"

using pmpp::kernel_fault;
using pmpp::simt::block_order;
using pmpp::simt::emulate;
using pmpp::simt::emulator_options;
using pmpp::simt::scoped_emulator_options;
using test::fault_of;
using test::has;

// By default ThreadSanitizer reports a race once, and fails the program at its end.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

namespace {

constexpr bool without_thread_sanitizer = !pmpp::simt::sanitizer::thread;

template <class F>
void under_some_orders(F f) {
  for (int threads : {1, 2})
    for (std::uint64_t seed : {0, 1, 2}) {
      emulator_options o;
      o.threads = threads;
      o.seed = seed;
      o.resident_blocks = 2;
      o.order = seed == 2 ? block_order::shuffled : block_order::ascending;
      const scoped_emulator_options scope(o);
      CAPTURE(threads);
      CAPTURE(seed);
      f();
    }
}

enum class twin { right, bug };

/// Reads a neighbour's word of shared memory after it was written.
template <twin Twin>
struct read_after_write {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    memory.tile[b.thread()] = b.thread();
    if (Twin == twin::right) b.sync();
    out[b.index() * 64 + b.thread()] = memory.tile[(b.thread() + 1) % 64];
  }
};

TEST_CASE("a read that no barrier orders after the write" * doctest::skip(without_thread_sanitizer)) {
  std::vector<int> out(64 * 5);
  under_some_orders([&] {
    const std::string text = fault_of({{5}, {64}, 0}, read_after_write<twin::bug>{}, out.data());
    CHECK(has(text, "kernel the_kernel: data race on byte "));
    CHECK(has(text, " of struct shared (4 bytes): "));
    CHECK(has(text, "write by block "));
    CHECK(has(text, "read by block "));
    CHECK(has(text, "emulator_race.cpp:"));
    CHECK(fault_of({{5}, {64}, 0}, read_after_write<twin::right>{}, out.data()) == "");
  });
  emulator_options o;
  o.threads = 1;
  const scoped_emulator_options scope(o);
  const std::string text = fault_of({{1}, {64}, 0}, read_after_write<twin::bug>{}, out.data());
  CHECK(has(text, "data race on byte 4 of struct shared"));
  CHECK(has(text, "write by block 0, thread 1 at "));
  CHECK(has(text, "read by block 0, thread 0 at "));
}

/// Overwrites words that others may still read: the barrier at the end of the round is the one that is forgotten.
template <twin Twin>
struct write_after_read {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    for (int round = 0; round < 4; ++round) {
      memory.tile[b.thread()] = b.thread() + round;
      b.sync();
      out[b.index() * 64 + b.thread()] = memory.tile[63 - b.thread()];
      if (Twin == twin::right) b.sync();
    }
  }
};

/// Lanes of one warp exchange words; a shuffle orders no memory.
template <twin Twin>
struct within_a_warp {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    memory.tile[b.thread()] = b.thread();
    const int lane = b.shuffle_xor(b.lane(), 1);
    if (Twin == twin::right) b.sync_warp();
    out[b.index() * 64 + b.thread()] = memory.tile[b.thread() / 32 * 32 + lane];
  }
};

/// Warps exchange words; sync_warp orders only the lanes of one.
template <twin Twin>
struct between_warps {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    memory.tile[b.thread()] = b.thread();
    if (Twin == twin::right)
      b.sync();
    else
      b.sync_warp();
    out[b.index() * 64 + b.thread()] = memory.tile[(b.thread() + 32) % 64];
  }
};

/// Half a warp is synchronised, and reads what the other half wrote.
template <twin Twin>
struct between_groups {
  struct shared {
    int tile[64];
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    memory.tile[b.thread()] = b.thread();
    b.sync_warp(b.lane() < 16 ? 0xffffu : 0xffff0000u);
    if (Twin == twin::right)
      out[b.index() * 64 + b.thread()] = memory.tile[b.thread() ^ 15];
    else
      out[b.index() * 64 + b.thread()] = memory.tile[b.thread() ^ 16];
  }
};

/// In dynamic shared memory: two threads count in one word.
template <twin Twin>
struct counts {
  template <class Block>
  void operator()(Block& b, int* out) const {
    int& n = *reinterpret_cast<int*>(b.dynamic_shared());
    if (b.thread() == 0) n = 0;
    b.sync();
    if (Twin == twin::right)
      std::atomic_ref(n).fetch_add(1, std::memory_order_relaxed);
    else
      ++n;
    b.sync();
    out[b.index() * 64 + b.thread()] = n;
  }
};

/// No barrier at all, in global memory: each thread also writes its neighbour's word.
template <twin Twin>
struct in_global_memory {
  template <class Block>
  void operator()(Block& b, int* out) const {
    const auto i = b.index() * 64 + b.thread();
    out[i] = b.thread();
    if (Twin == twin::bug && b.thread() < 63) out[i + 1] = b.thread();
  }
};

/// Blocks write one word.
template <twin Twin>
struct between_blocks {
  template <class Block>
  void operator()(Block& b, int* out) const {
    b.sync();
    if (b.thread() == 0) out[Twin == twin::right ? b.index() : 0] = 1;
    b.sync();
  }
};

/// A chain of blocks that hand on plain data under an atomic flag; a relaxed flag publishes nothing.
template <twin Twin>
struct publishes {
  struct shared {
    int ticket;
  };
  template <class Block>
  void operator()(Block& b, shared& memory, int* out) const {
    constexpr auto store = Twin == twin::right ? std::memory_order_release : std::memory_order_relaxed;
    constexpr auto load = Twin == twin::right ? std::memory_order_acquire : std::memory_order_relaxed;
    int *next = out, *flags = out + 1, *data = out + 100;
    if (b.thread() == 0) memory.ticket = std::atomic_ref(*next).fetch_add(1, std::memory_order_relaxed);
    b.sync();
    const int t = memory.ticket;
    if (b.thread() == 5) {
      if (t > 0)
        while (std::atomic_ref(flags[t - 1]).load(load) == 0) b.spin();
      data[t] = (t > 0 ? data[t - 1] : 0) + 1;
      std::atomic_ref(flags[t]).store(1, store);
    }
  }
};

template <template <twin> class Kernel>
void red_and_green(std::size_t dynamic_bytes = 0) {
  std::vector<int> out(64 * 5);
  under_some_orders([&] {
    CHECK(has(fault_of({{5}, {64}, dynamic_bytes}, Kernel<twin::bug>{}, out.data()), "kernel the_kernel: data race"));
    out.assign(out.size(), 0);
    CHECK(fault_of({{5}, {64}, dynamic_bytes}, Kernel<twin::right>{}, out.data()) == "");
    out.assign(out.size(), 0);
  });
}

TEST_CASE("a write that no barrier orders after a read" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<write_after_read>();
}
TEST_CASE("lanes of a warp without sync_warp" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<within_a_warp>();
}
TEST_CASE("warps without a barrier" * doctest::skip(without_thread_sanitizer)) { red_and_green<between_warps>(); }
TEST_CASE("groups of lanes without a common mask" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<between_groups>();
}
TEST_CASE("counting without an atomic, in dynamic shared memory" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<counts>(16);
  std::vector<int> out(64);
  CHECK(has(fault_of({{1}, {64}, 16}, counts<twin::bug>{}, out.data()), "byte 0 of the dynamic shared memory"));
}
TEST_CASE("threads that never wait" * doctest::skip(without_thread_sanitizer)) { red_and_green<in_global_memory>(); }
TEST_CASE("blocks that write one word, on one OS thread or two" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<between_blocks>();
}
TEST_CASE("data after a flag that is only relaxed" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<publishes>();
}

/// How a block hands data to the next one by a relaxed word and fences, and what may be wrong with it.
enum class handing { right, no_release, no_acquire, written_behind, fence_of_another };

/// What block 1 needs of block 0: the data, a fence, the word; the word, a fence, the data. Quad: the word has 16 bytes.
template <handing How, bool Quad>
struct hands_on {
  template <class Block>
  void operator()(Block& b, unsigned* memory) const {
    using namespace pmpp::simt;
    auto* const quads = reinterpret_cast<quad*>(memory);
    unsigned* const data = memory + 32;
    const auto put = [&] { Quad ? store_quad(quads, quad{{7, 7, 7, 1}}) : store(memory, 1u); };
    const auto ready = [&] { return (Quad ? load_quad(quads).word[3] : load(memory)) != 0; };
    if (b.thread() != 0) {
      if (How == handing::fence_of_another && b.thread() == 1) fence();
      return;
    }
    if (b.index() == 0) {
      if (How != handing::written_behind) *data = 5;
      if (How != handing::no_release && How != handing::fence_of_another) fence();
      if (How == handing::written_behind) *data = 5;
      put();
    } else {
      while (!ready()) b.spin();
      if (How != handing::no_acquire) fence();
      memory[40] = *data + 1;
    }
  }
};

template <handing How, bool Quad>
std::string fault_of_hands_on() {
  alignas(16) unsigned memory[64] = {};
  const std::string text = fault_of({{2}, {64}, 0}, hands_on<How, Quad>{}, &memory[0]);
  if (text.empty()) CHECK(memory[40] == 6);
  return text;
}

template <bool Quad>
void fences_red_and_green() {
  under_some_orders([] {
    CHECK(fault_of_hands_on<handing::right, Quad>() == "");
    CHECK(has(fault_of_hands_on<handing::no_release, Quad>(), "data race"));
    CHECK(has(fault_of_hands_on<handing::no_acquire, Quad>(), "data race"));
    CHECK(has(fault_of_hands_on<handing::written_behind, Quad>(), "data race"));
    CHECK(has(fault_of_hands_on<handing::fence_of_another, Quad>(), "data race"));
  });
}

TEST_CASE("relaxed words order what fences on both sides say, and nothing else" *
          doctest::skip(without_thread_sanitizer)) {
  fences_red_and_green<false>();
}
TEST_CASE("a quad orders no more than any relaxed word" * doctest::skip(without_thread_sanitizer)) {
  fences_red_and_green<true>();
}

/// Both sides pass a fence, but the word that is read is not the one that is written after it.
template <twin Twin>
struct meets_by_one_word {
  template <class Block>
  void operator()(Block& b, int* out) const {
    using namespace pmpp::simt;
    int* const data = out + 100;
    if (b.thread() != 0 || b.index() > 1) return;
    if (b.index() == 0) {
      store(out, 1);
      *data = 1;
      fence();
      store(out + 1, 1);
    } else {
      while (load(out + (Twin == twin::right ? 1 : 0)) == 0) b.spin();
      fence();
      ++*data;
    }
  }
};
TEST_CASE("two fences meet only by one word" * doctest::skip(without_thread_sanitizer)) {
  red_and_green<meets_by_one_word>();
}

/// Blocks count in one word between two fences: who counts last has seen what the others did.
template <twin Twin>
struct counts_in {
  template <class Block>
  void operator()(Block& b, int* out) const {
    using namespace pmpp::simt;
    if (b.thread() != 0) return;
    out[100 + b.index()] = 1;
    if (Twin == twin::right) fence();
    if (atomic_add(out, 1) + 1 < int(b.count())) return;
    fence();
    int sum = 0;
    for (std::int64_t i = 0; i < b.count(); ++i) sum += out[100 + i];
    out[1] = sum;
  }
};
TEST_CASE("an atomic between fences" * doctest::skip(without_thread_sanitizer)) { red_and_green<counts_in>(); }

/// The usual block reduction, with as much reuse of shared memory as a kernel can have.
struct reduction {
  struct shared {
    float part[32];
    float total;
  };
  template <class Block>
  void operator()(Block& b, shared& memory, const float* in, float* out) const {
    for (int round = 0; round < 3; ++round) {
      float sum = in[b.index() * b.threads() + b.thread()];
      for (int d = 16; d; d /= 2) sum += b.shuffle_xor(sum, d);
      if (b.lane() == 0) memory.part[b.warp()] = sum;
      b.sync();
      if (b.warp() == 0) {
        sum = b.lane() < b.warps() ? memory.part[b.lane()] : 0;
        for (int d = 16; d; d /= 2) sum += b.shuffle_xor(sum, d);
        if (b.lane() == 0) memory.total = sum;
      }
      b.sync();
      if (b.thread() == b.threads() - 1) out[b.index()] = memory.total;
    }
  }
};

TEST_CASE("a block reduction by shuffles and barriers is silent") {
  for (int threads : {32, 256, 1024}) {
    std::vector<float> in(std::size_t(6 * threads), 1.0f), out(6);
    for (int os_threads : {1, 2}) {
      emulator_options o;
      o.threads = os_threads;
      o.seed = std::uint64_t(os_threads - 1);
      const scoped_emulator_options scope(o);
      CHECK(fault_of({{6}, {threads}, 0}, reduction{}, static_cast<const float*>(in.data()), out.data()) == "");
      CHECK(out == std::vector<float>(6, float(threads)));
    }
  }
}

}  // namespace
