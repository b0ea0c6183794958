// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of launch.hpp: kernels run on every thread of 1-D, 2-D and 3-D grids with the positions that
// the table in simt/block.hpp promises; shared memory, static, dynamic and above 48 KB; warp operations; which block is
// the last to come (block/last_block.hpp); a grid of no blocks is a no-op; a shape that cannot run throws, naming the limit, and launches nothing. On a GPU also: __global__
// functions, another stream, a stream of another device, code that fails.
#include <pmpp/launch.hpp>

#include <cstdint>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <pmpp/block/last_block.hpp>
#include <pmpp/core/constant_table.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/shared_parts.hpp>
#include "support/policies.hpp"

using pmpp::device;
using pmpp::extent3;
using pmpp::grid;

namespace {

struct write_positions {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, long long* out) const {
    const extent3 b = block.position(), t = block.thread_position(), s = block.shape(), g = block.grid_shape();
    const auto block_rank = b.x + g.x * (b.y + static_cast<long long>(g.y) * b.z);
    const auto rank = t.x + s.x * (t.y + s.y * t.z);
    const bool agree = block_rank == block.index() && static_cast<int>(rank) == block.thread() &&
                       block.threads() == s.volume() && block.count() == g.volume() &&
                       block.lane() == block.thread() % 32 && block.warp() == block.thread() / 32 &&
                       block.warps() == (block.threads() + 31) / 32;
    out[block.index() * block.threads() + block.thread()] = agree ? block.index() * 10000 + block.thread() : -1;
  }
};

struct reverse_block {
  static constexpr int threads = 128;
  struct shared {
    int item[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int* data) const {
    memory.item[block.thread()] = data[block.index() * threads + block.thread()];
    block.sync();
    data[block.index() * threads + block.thread()] = memory.item[threads - 1 - block.thread()];
  }
};

struct of_aligned_stages {
  struct shared {
    struct alignas(1024) stage {
      char bytes[20 * 1024];
    } stages[3];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, unsigned* rest) const {
    if (block.thread() == 0)
      rest[block.index()] = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&memory) % 1024);
  }
};

/// Some static shared memory, and what the launch asks for, the last word of which is written.
struct nearly_large {
  static constexpr int threads = 64;
  struct shared {
    int item[1936];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int words, int* out) const {
    int* const extra = reinterpret_cast<int*>(block.dynamic_shared());
    for (int i = block.thread(); i < 1936; i += threads) memory.item[i] = 1;
    for (int i = block.thread(); i < words; i += threads) extra[i] = 2;
    block.sync();
    if (block.thread() == 0) *out = memory.item[1935] + extra[words - 1];
  }
};

struct large_shared {
  static constexpr int threads = 64;
  struct shared {
    int item[15000];  // 60 KB
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int* out) const {
    int* extra = reinterpret_cast<int*>(block.dynamic_shared());
    for (int i = block.thread(); i < 15000; i += threads) memory.item[i] = i;
    extra[block.thread()] = block.thread();
    block.sync();
    if (block.thread() == 0) {
      int sum = 0;
      for (int i = 0; i < 15000; ++i) sum += memory.item[i] == i;
      for (int i = 0; i < threads; ++i) sum += extra[i] == i;
      *out = sum;
    }
  }
};

/// Dynamic shared memory as three arrays; each thread puts its number into one and takes it back from another's.
struct of_three_parts {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int n, int* failures) const {
    std::byte* next = block.dynamic_shared();
    short* const a = pmpp::simt::take_part<short>(next, n);
    double* const b = pmpp::simt::take_part<double>(next, n);
    char* const c = pmpp::simt::take_part<char>(next, n);
    const int t = block.thread(), other = n - 1 - t;
    a[t] = static_cast<short>(t);
    b[t] = 0.5 * t;
    c[t] = static_cast<char>(t % 100);
    block.sync();
    const bool right = a[other] == other && b[other] == 0.5 * other && c[other] == other % 100 &&
                       reinterpret_cast<std::uintptr_t>(b) % alignof(double) == 0;
    if (!right) pmpp::simt::atomic_add(failures, 1);
  }
};

struct twelve_bytes {
  int a, b, c;
};

struct warp_operations {
  static constexpr int threads = 64;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* failures) const {
    const int lane = block.lane();
    int bad = 0;
    bad += block.shuffle(lane * 2, 5) != 10;
    bad += block.shuffle_up(lane, 3) != (lane < 3 ? lane : lane - 3);
    bad += block.shuffle_down(lane, 4) != (lane + 4 > 31 ? lane : lane + 4);
    bad += block.shuffle_xor(lane, 1) != (lane ^ 1);
    const twelve_bytes moved = block.shuffle(twelve_bytes{lane, -lane, 7}, (lane + 1) % 32);
    bad += moved.a != (lane + 1) % 32 || moved.b != -((lane + 1) % 32) || moved.c != 7;
    bad += block.shuffle(1.5 * lane, 3) != 4.5;
    bad += block.ballot(lane < 4) != 0xfu;
    bad += block.any(lane == 9) != true || block.all(lane < 31) != false;
    bad += block.match_any(lane / 8) != 0xffu << lane / 8 * 8;
    bad += block.warp_add(lane) != 31 * 16 || block.warp_min(lane - 3) != -3 || block.warp_max(lane) != 31;
    bad +=
        block.warp_or(1u << lane) != 0xffffffffu || block.warp_and(lane | 64) != 64 || block.warp_xor(1 << lane) != -1;
    if (lane < 8) {  // part of a warp
      bad += block.ballot(lane % 2 == 0, 0xffu) != 0x55u;
      bad += block.shuffle(lane, 7, 0xffu) != 7;
      block.sync_warp(0xffu);
    }
    bad += block.sync_count(block.thread() < 10) != 10;
    bad += block.sync_or(block.thread() == 63) != true || block.sync_and(block.thread() != 63) != false;
    pmpp::simt::atomic_add(failures, bad);
  }
};

template <pmpp::simt::scope Scope>
struct atomics {
  static constexpr int threads = 96;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* u, long long* l, double* d, float* f) const {
    using namespace pmpp::simt;
    constexpr order relaxed = order::relaxed;
    const auto rank = static_cast<unsigned>(block.index() * threads + block.thread());
    atomic_add<relaxed, Scope>(u, 1u);
    atomic_max<relaxed, Scope>(u + 1, rank);
    atomic_min<relaxed, Scope>(u + 2, rank);
    atomic_or<relaxed, Scope>(u + 3, 1u << rank % 32);
    atomic_and<relaxed, Scope>(u + 4, ~(1u << rank % 16));
    atomic_xor<relaxed, Scope>(u + 5, rank);
    atomic_increment_wrap<relaxed, Scope>(u + 6, 9u);
    atomic_decrement_wrap<relaxed, Scope>(u + 10, 9u);
    atomic_add<relaxed, Scope>(l, static_cast<long long>(rank));
    atomic_min<relaxed, Scope>(l + 1, -static_cast<long long>(rank));
    atomic_add<relaxed, Scope>(d, 0.5);
    atomic_add<relaxed, Scope>(f, 0.25f);
    if (rank == 7) atomic_exchange<relaxed, Scope>(u + 7, 70u);
    if (rank == 9) atomic_exchange<relaxed, Scope>(d + 1, -0.0);
    for (float seen = load(f + 1), old;; seen = old)
      if ((old = atomic_compare_exchange<relaxed, Scope>(f + 1, seen, seen + 1)) == seen) break;
    while (atomic_compare_exchange<order::acquire, Scope>(u + 8, 0u, 1u) != 0u) block.spin();  // a lock
    const unsigned seen = load(u + 9);
    store(u + 9, seen + 1);
    fence<Scope>();
    atomic_exchange<order::release, Scope>(u + 8, 0u);
  }
};

template <pmpp::simt::scope Scope>
void check_atomics(unsigned blocks) {
  const unsigned n = blocks * 96;
  pmpp::device_buffer<unsigned> u(std::vector<unsigned>{0, 0, ~0u, 0, ~0u, 0, 0, 0, 0, 0, 0});
  pmpp::device_buffer<long long> l(2, 0);
  pmpp::device_buffer<double> d(2, 0.0);
  pmpp::device_buffer<float> f(2, 0.0f);
  pmpp::launch(device, blocks, atomics<Scope>{}, u.data(), l.data(), d.data(), f.data());
  const auto got = pmpp::to_host(u);
  unsigned parity = 0;
  for (unsigned i = 0; i < n; ++i) parity ^= i;
  CHECK(got == std::vector<unsigned>{n, n - 1, 0, ~0u, 0xffff0000u, parity, n % 10, 70, 0, n, (10 - n % 10) % 10});
  CHECK(pmpp::to_host(l) == std::vector<long long>{n * (n - 1) / 2, -int(n - 1)});
  CHECK(pmpp::to_host(d)[0] == 0.5 * n);
  CHECK(std::signbit(pmpp::to_host(d)[1]));
  CHECK(pmpp::to_host(f) == std::vector<float>{0.25f * float(n), float(n)});
}

/// One block writes quads of four equal words, the other one reads them.
struct quads {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, pmpp::simt::quad* q, unsigned last, unsigned* torn) const {
    using namespace pmpp::simt;
    if (block.thread() != 0) return;
    if (block.index() == 0) {
      while (load(torn + 1) == 0) block.spin();  // until it is read
      for (unsigned i = 1; i <= last; ++i) store_quad(q, {{i, i, i, i}});
    } else {
      store(torn + 1, 1u);
      for (quad x{}; x.word[3] < last; block.spin()) {
        x = load_quad(q);
        if (x.word[0] != x.word[3] || x.word[1] != x.word[3] || x.word[2] != x.word[3]) atomic_add(torn, 1u);
      }
    }
  }
};

/// The last block adds up what the threads of all blocks have written.
struct add_up_last {
  static constexpr int threads = 64;
  struct shared {
    bool last;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, unsigned* parts, unsigned* word, unsigned* sum) const {
    parts[block.index() * threads + block.thread()] = static_cast<unsigned>(block.index() + block.thread());
    if (block.thread() == 5 && pmpp::block::comes_last<pmpp::simt::order::relaxed>(word + 1, block.count()))
      pmpp::simt::atomic_add(sum + 1, 1u);
    if (!pmpp::block::is_last_block(block, word, block.count(), memory.last)) return;
    unsigned found = 0;
    for (std::int64_t i = block.thread(); i < block.count() * threads; i += threads) found += parts[i];
    pmpp::simt::atomic_add(sum, found);
  }
};

template <class H>
H half_of(float x) {
  if constexpr (sizeof(H) == 2)
    return H(x);
  else
    return H(x, x / 2);  // a pair
}

// Sums in every other element: what lies between is as it was. (Pairs are not trivially copyable: they travel as bits.)
template <class H>
struct half_sums {
  static constexpr int threads = 96;
  template <class Block, class Bits>
  PMPP_HOST_DEVICE void operator()(Block& block, Bits* bits, const Bits* addend) const {
    using namespace pmpp::simt;
    if (block.index() * threads + block.thread() >= 200) return;
    auto* const h = reinterpret_cast<H*>(bits);
    const H x = *reinterpret_cast<const H*>(addend);
    atomic_add(h + 1, x);
    if (block.index() == 0) atomic_add<order::relaxed, scope::block>(h + 3, x);
    atomic_add<order::acq_rel, scope::system>(h + 5, x);
  }
};

template <class H>
void check_half_sums() {
  using bits = std::conditional_t<sizeof(H) == 2, std::uint16_t, std::uint32_t>;
  const auto bits_of = [](float x) {
    const H h = half_of<H>(x);
    bits b;
    std::memcpy(&b, &h, sizeof b);
    return b;
  };
  const bits between = bits_of(7), none = bits_of(0), some = bits_of(96), all = bits_of(200);
  pmpp::device_buffer<bits> h(std::vector<bits>{between, none, between, none, between, none, between, bits_of(1)});
  pmpp::launch(device, 3, half_sums<H>{}, h.data(), static_cast<const bits*>(h.data() + 7));
  CHECK(pmpp::to_host(h) == std::vector<bits>{between, all, between, some, between, all, between, bits_of(1)});
}

}  // namespace

TEST_CASE("every thread of a grid runs once and knows where it is") {
  for (const grid shape : {grid{1, 1}, grid{7, 33}, grid{{3, 2}, {8, 4}}, grid{{2, 3, 2}, {5, 3, 4}}, grid{2, 1024}}) {
    const auto n = shape.blocks.volume() * shape.threads.volume();
    pmpp::device_buffer<long long> out(static_cast<std::size_t>(n), -2);
    pmpp::launch(device, shape, write_positions{}, out.data());
    const auto got = pmpp::to_host(out);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      wrong += got[static_cast<std::size_t>(i)] != i / shape.threads.volume() * 10000 + i % shape.threads.volume();
    CHECK(wrong == 0);
  }
}

TEST_CASE("a row of any number of threads") {
  for (const int blocks : {0, 1, 7})
    for (const int threads : {1, 33, 1024}) {
      pmpp::device_buffer<long long> out(static_cast<std::size_t>(blocks * threads), 0);
      pmpp::launch(device, blocks, threads, write_positions{}, out.data());
      std::vector<long long> expected;
      for (int b = 0; b < blocks; ++b)
        for (int t = 0; t < threads; ++t) expected.push_back(b * 10000 + t);
      CHECK(pmpp::to_host(out) == expected);
    }
  CHECK_THROWS_AS(pmpp::launch(device, 1, 0, write_positions{}, static_cast<long long*>(nullptr)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::launch(device, 1, -1, write_positions{}, static_cast<long long*>(nullptr)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::launch(device, 1, 1025, write_positions{}, static_cast<long long*>(nullptr)),
                  std::invalid_argument);
}

TEST_CASE("shared memory that asks to be aligned") {
  if (!pmpp::machine_of(device).fits(sizeof(of_aligned_stages::shared) + 16)) return;
  pmpp::device_buffer<unsigned> rest(3, 77u);
  pmpp::launch(device, grid{3, 32, 16}, of_aligned_stages{}, rest.data());
  CHECK(pmpp::to_host(rest) == std::vector<unsigned>(3, 0u));
}

TEST_CASE("shared memory: static, above 48 KB, dynamic") {
  std::vector<int> v(128 * 5);
  std::iota(v.begin(), v.end(), 0);
  pmpp::device_buffer<int> data(v);
  pmpp::launch(device, 5, reverse_block{}, data.data());
  const auto got = pmpp::to_host(data);
  int wrong = 0;
  for (int i = 0; i < 640; ++i) wrong += got[static_cast<std::size_t>(i)] != i / 128 * 128 + 127 - i % 128;
  CHECK(wrong == 0);

  if (!pmpp::machine_of(device).fits(sizeof(large_shared::shared) + 64 * sizeof(int))) return;
  pmpp::device_buffer<int> sum(1, 0);
  pmpp::launch(device, grid{1, 64, 64 * sizeof(int)}, large_shared{}, sum.data());
  CHECK(pmpp::to_host(sum)[0] == 15064);
}

TEST_CASE(
    "shared memory: static and dynamic about 48 KB, where another kernel of the file has it aligned to 1024 bytes") {
  const std::size_t most = 48 * 1024 - sizeof(nearly_large::shared);
  for (const std::size_t bytes : {most - 1024, most - 368, most - 16, most}) {
    CAPTURE(bytes);
    pmpp::device_buffer<int> out(1, 0);
    pmpp::launch(device, grid{1, 64, bytes}, nearly_large{}, static_cast<int>(bytes / sizeof(int)), out.data());
    CHECK(pmpp::to_host(out)[0] == 3);
  }
}

TEST_CASE("dynamic shared memory in parts of several types") {
  CHECK(pmpp::simt::bytes_of_parts<short, double, char>(3, 2, 5) == 8 + 16 + 5);
  CHECK(pmpp::simt::bytes_of_parts<char>(0) == 0);
  pmpp::device_buffer<int> failures(1, 0);
  for (const int n : {1, 3, 64, 125})
    pmpp::launch(device, grid{2, n, pmpp::simt::bytes_of_parts<short, double, char>(n, n, n)}, of_three_parts{}, n,
                 failures.data());
  CHECK(pmpp::to_host(failures)[0] == 0);
}

TEST_CASE("warp operations mean what CUDA's mean") {
  pmpp::device_buffer<int> failures(1, 0);
  pmpp::launch(device, 3, warp_operations{}, failures.data());
  CHECK(pmpp::to_host(failures)[0] == 0);
}

TEST_CASE("atomics") {
  check_atomics<pmpp::simt::scope::block>(1);
  check_atomics<pmpp::simt::scope::device>(4);
  check_atomics<pmpp::simt::scope::system>(4);
}

TEST_CASE("a quad moves in one piece") {
#if PMPP_CUDA
  constexpr unsigned times = 1u << 20;
#else
  constexpr unsigned times = pmpp::simt::sanitizer::thread ? 1u << 14 : 1u << 24;
  pmpp::simt::emulator_options options;
  options.threads = 2;
  const pmpp::simt::scoped_emulator_options scope(options);
#endif
  pmpp::device_buffer<pmpp::simt::quad> q(1, pmpp::simt::quad{});
  pmpp::device_buffer<unsigned> torn(2, 0u);
  pmpp::launch(device, 2, quads{}, q.data(), times, torn.data());
  CHECK(pmpp::to_host(torn)[0] == 0);
}

TEST_CASE("one block is the last, sees what all have written, and leaves zeros") {
  for (const std::int64_t blocks : {1, 2, 300}) {
    pmpp::device_buffer<unsigned> parts(static_cast<std::size_t>(blocks * add_up_last::threads), 0u), words(2, 0u);
    for (int launch = 0; launch < 2; ++launch) {
      pmpp::device_buffer<unsigned> sum(2, 0u);
      pmpp::launch(device, blocks, add_up_last{}, parts.data(), words.data(), sum.data());
      const auto all = static_cast<unsigned>(blocks * add_up_last::threads * (blocks + add_up_last::threads - 2) / 2);
      CHECK(pmpp::to_host(sum) == std::vector<unsigned>{all, 1});
      CHECK(pmpp::to_host(words) == std::vector<unsigned>{0, 0});
    }
  }
}

TEST_CASE("sums of half and bfloat16 and their pairs leave their neighbours alone") {
#if PMPP_CUDA
  check_half_sums<__half>();
  check_half_sums<__half2>();
  check_half_sums<__nv_bfloat16>();
  check_half_sums<__nv_bfloat162>();
#else
  check_half_sums<_Float16>();
#endif
}

// [table]
struct polynomial {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const pmpp::constant_table<float, 4>& factors, float* x,
                                   std::int64_t n) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= n) return;
    float y = 0;
    for (int k = factors.size(); k-- > 0;) y = y * x[i] + factors[k];
    x[i] = y;
  }
};
// [end]

TEST_CASE("a table in constant memory") {
  const std::int64_t n = 1000;
  std::vector<float> in, expected;
  for (int i = 0; i < n; ++i) {
    in.push_back(static_cast<float>(i % 16));
    expected.push_back(5 + in.back() * (-1 + in.back() * (2 + 3 * in.back())));
  }
  const pmpp::constant_table<float, 4> of_array({5, -1, 2, 3}), of_vector(std::vector<float>{5, -1, 2, 3});
  for (const auto& table : {of_array, of_vector}) {
    pmpp::device_buffer<float> x(in);
    pmpp::launch(device, 4, polynomial{}, table, x.data(), n);
    CHECK(pmpp::to_host(x) == expected);
  }
  pmpp::constant_table<int, 3> zeros;
  zeros[1] = 7;
  CHECK(std::vector<int>(zeros.begin(), zeros.end()) == std::vector<int>{0, 7, 0});
  CHECK_THROWS_WITH_AS((pmpp::constant_table<float, 4>(std::vector<float>(3))),
                       "pmpp::constant_table: 3 elements for a table of 4", std::invalid_argument);
}

TEST_CASE("no blocks: nothing happens") {
  pmpp::device_buffer<int> data(1, 5);
  pmpp::launch(device, 0, reverse_block{}, data.data());
  pmpp::launch(device, grid{{3, 0, 2}, 32}, write_positions{}, static_cast<long long*>(nullptr));
  CHECK(pmpp::to_host(data)[0] == 5);
}

TEST_CASE("a shape that cannot run throws and names the limit") {
  int* null = nullptr;
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing thrown";
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string threads = message([&] { pmpp::launch(device, grid{1, 129}, reverse_block{}, null); });
  CHECK(contains(threads, "reverse_block"));
  CHECK(contains(threads, "threads of a block: asked for 129, the limit is 128"));
  CHECK(contains(message([&] {
                   pmpp::launch(device, grid{1, {32, 64}}, write_positions{}, (long long*)nullptr);
                 }),
                 "asked for 2048, the limit is 1024"));
  CHECK(contains(message([&] {
                   pmpp::launch(device, grid{1, 0}, write_positions{}, (long long*)nullptr);
                 }),
                 "at least 1"));
  CHECK(contains(message([&] {
                   pmpp::launch(device, grid{{1, 65536}, 1}, write_positions{}, (long long*)nullptr);
                 }),
                 "blocks along y: asked for 65536, the limit is 65535"));
  CHECK(contains(message([&] { pmpp::launch(device, 1ll << 31, reverse_block{}, null); }), "blocks along x"));
  CHECK(contains(message([&] { pmpp::launch(device, -1, reverse_block{}, null); }), "blocks along x"));
  CHECK(contains(message([&] {
                   pmpp::launch(device, grid{1, 128, 300000}, reverse_block{}, null);
                 }),
                 "bytes of shared memory of a block: asked for 300512, the limit is"));
}

#if PMPP_CUDA
__global__ void add_to(int* data, int n, int x) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += x;
}
__global__ void dynamic_bytes(int* out) {
  extern __shared__ int memory[];
  memory[threadIdx.x + 20000] = 3;
  __syncthreads();
  if (threadIdx.x == 0) *out = memory[20000 + blockDim.x - 1];
}

TEST_CASE("__global__ functions of one's own") {
  pmpp::device_buffer<int> data(1000, 1);
  pmpp::stream s;
  pmpp::launch(device.on(s), grid{4, 256}, add_to, data.data(), 1000, 41);
  s.synchronize();
  CHECK(pmpp::to_host(data) == std::vector<int>(1000, 42));
  CHECK_THROWS_AS(pmpp::launch(device, grid{1, 1025}, add_to, data.data(), 1, 1), std::invalid_argument);
  pmpp::launch(device, grid{1, 64, 100000}, dynamic_bytes, data.data());
  CHECK(pmpp::to_host(data)[0] == 3);
}

TEST_CASE("what a program has asked of its own kernel is never lowered") {
  const int own = 150 * 1024;
  REQUIRE(cudaFuncSetAttribute(dynamic_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, own) == cudaSuccess);
  pmpp::device_buffer<int> out(2);
  const auto launch = [&](std::size_t bytes, int at) {
    for (int i = 0; i < 50; ++i) pmpp::launch(device, grid{1, 64, bytes}, dynamic_bytes, out.data() + at);
  };
  std::thread other([&] { launch(140000, 1); });
  launch(90000, 0);
  other.join();
  pmpp::synchronize(device);
  CHECK(pmpp::to_host(out) == std::vector<int>{3, 3});
  cudaFuncAttributes attributes;
  REQUIRE(cudaFuncGetAttributes(&attributes, dynamic_bytes) == cudaSuccess);
  CHECK(attributes.maxDynamicSharedSizeBytes >= own);
}

TEST_CASE("a stream of another device is refused") {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) {
    MESSAGE("skipped: needs two devices");
    return;
  }
  cudaSetDevice(1);
  pmpp::stream other;
  cudaSetDevice(0);
  CHECK_THROWS_AS(pmpp::launch(device.on(other), 1, reverse_block{}, static_cast<int*>(nullptr)),
                  std::invalid_argument);
}
#endif
