// SPDX-License-Identifier: Apache-2.0
//
// Properties of workspaces and of scratch:
//   a workspace only grows, at least by doubling, and a failed growth changes nothing
//   scratch is aligned, its arrays do not overlap, its state is zero; calls inside calls get memory of their own
//   the emulator shows reads of uninitialised scratch and state that was not left zero
//   on a GPU: a warm workspace hands out the same memory again; memory from before a growth stays valid; scratch can be
//   captured into a graph, with a workspace (even one that must grow meanwhile) and without, and replayed
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/occupancy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using pmpp::workspace;
using pmpp::detail::scratch;
using pmpp::detail::scratch_bytes;

static_assert(!std::is_copy_constructible_v<workspace> && std::is_nothrow_move_constructible_v<workspace>);
static_assert(std::is_nothrow_move_assignable_v<workspace> && std::is_nothrow_destructible_v<workspace>);
static_assert(!std::is_copy_constructible_v<scratch> && std::is_nothrow_destructible_v<scratch>);
static_assert(scratch_bytes({}) == 0);
static_assert(scratch_bytes({0}) == 0);
static_assert(scratch_bytes({1, 256, 257}) == 256 + 256 + 512);

namespace {

constexpr std::size_t state_words = pmpp::detail::usual_state / sizeof(unsigned);

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 256 == 0; }

/// Whether the device sees zeros in all of the state.
template <class Policy>
bool state_is_zero(const Policy& where, const scratch& s) {
  const auto words = pmpp::to_host(where, std::span<const unsigned>(s.state(), state_words));
  return std::all_of(words.begin(), words.end(), [](unsigned w) { return w == 0; });
}

}  // namespace

TEST_CASE("a workspace starts empty and only grows") {
  workspace w;
  CHECK(w.capacity() == 0);
  w.reserve(0);
  CHECK(w.capacity() == 0);
  w.reserve(1);
  const std::size_t first = w.capacity();
  CHECK(first >= 1);
  w.reserve(first);
  CHECK(w.capacity() == first);
  w.reserve(1);
  CHECK(w.capacity() == first);
  w.reserve(100000);
  CHECK(w.capacity() >= 100000);
  CHECK(workspace{5000}.capacity() >= 5000);
  CHECK(workspace{5000}.capacity() < 6000);
}

TEST_CASE("growing little by little at least doubles, so that all blocks are at most twice the largest") {
  workspace w{1000};
  std::size_t sum = w.capacity();
  for (int step = 0; step < 8; ++step) {
    const std::size_t before = w.capacity();
    w.reserve(before + 1);
    CHECK(w.capacity() >= 2 * before);
    sum += w.capacity();
  }
  CHECK(sum <= 2 * w.capacity());
}

TEST_CASE("a workspace moves, and a moved-from one is empty and usable") {
  workspace a{1000};
  const std::size_t capacity = a.capacity();
  workspace b = std::move(a);
  CHECK(b.capacity() == capacity);
  CHECK(a.capacity() == 0);
  a.reserve(10);
  CHECK(a.capacity() >= 10);
  workspace& same = b;
  b = std::move(same);
  CHECK(b.capacity() == capacity);
  a = std::move(b);
  CHECK(a.capacity() == capacity);
  scratch s(pmpp::device.with(b), 100);
  CHECK(s.data() != nullptr);
}

TEST_CASE("a growth that fails changes nothing") {
  workspace w{1000};
  const std::size_t capacity = w.capacity();
  CHECK_THROWS_AS(w.reserve(SIZE_MAX), std::length_error);
  CHECK_THROWS_AS(w.reserve(SIZE_MAX - 4095), std::length_error);
  CHECK_THROWS_AS(scratch(pmpp::device.with(w), SIZE_MAX / 2), std::length_error);
  CHECK(w.capacity() == capacity);
#if PMPP_CUDA
  CHECK_THROWS_AS(w.reserve(2 * pmpp::device_info().memory_bytes), pmpp::out_of_memory);
  CHECK_THROWS_AS(scratch(pmpp::device, 2 * pmpp::device_info().memory_bytes), pmpp::out_of_memory);
  CHECK(cudaGetLastError() == cudaSuccess);
  // Doubling does not fit, the need alone does.
  const std::size_t most = pmpp::device_info().free_memory_bytes / 10 * 4;
  workspace large{most};
  large.reserve(most + most / 10);
  CHECK(large.capacity() >= most + most / 10);
#endif
  CHECK(w.capacity() == capacity);
  scratch s(pmpp::device.with(w), 1000);
  CHECK(state_is_zero(pmpp::device, s));
}

TEST_CASE("scratch is aligned, its arrays are disjoint and hold what is written") {
  workspace w;
  pmpp::stream stream;
  for (const bool with_workspace : {false, true}) {
    const auto where = with_workspace ? pmpp::device.on(stream).with(w) : pmpp::device.on(stream);
    for (const int n : {1, 31, 255, 256, 257, 5000}) {
      scratch s(where, scratch_bytes({n * sizeof(int), n * sizeof(char), n * sizeof(double)}));
      int* a = s.take<int>(n);
      char* b = s.take<char>(n);
      double* c = s.take<double>(n);
      CHECK(static_cast<void*>(a) == s.data());
      CHECK(aligned(a));
      CHECK(aligned(b));
      CHECK(aligned(c));
      CHECK_THROWS_AS(s.take<char>(1), std::logic_error);
      CHECK_THROWS_AS(s.take<char>(-1), std::length_error);
      CHECK_NOTHROW(s.take<char>(0));

      const auto size = static_cast<std::size_t>(n);
      const std::vector<int> va(size, n);
      const std::vector<char> vb(size, 'b');
      const std::vector<double> vc(size, 0.5);
      pmpp::copy(where, va, std::span(a, size));
      pmpp::copy(where, vb, std::span(b, size));
      pmpp::copy(where, vc, std::span(c, size));
      CHECK(pmpp::to_host(where, std::span(a, size)) == va);
      CHECK(pmpp::to_host(where, std::span(b, size)) == vb);
      CHECK(pmpp::to_host(where, std::span(c, size)) == vc);
      CHECK(state_is_zero(where, s));
    }
    CHECK((w.capacity() > 0) == with_workspace);
  }
}

TEST_CASE("nothing asked for, nothing given") {
  workspace w;
  for (const auto where : {pmpp::device, pmpp::device.with(w)}) {
    scratch nothing(where, 0, 0);
    CHECK(nothing.data() == nullptr);
    CHECK(nothing.state() == nullptr);
    CHECK_NOTHROW(nothing.take<int>(0));
    CHECK_THROWS_AS(nothing.take<int>(1), std::logic_error);
    CHECK(w.capacity() == 0);
    scratch no_state(where, 10, 0);
    CHECK(no_state.data() != nullptr);
    CHECK(no_state.state() == nullptr);
  }
  scratch only_state(pmpp::device, 0);
  CHECK(only_state.data() == nullptr);
  CHECK(state_is_zero(pmpp::device, only_state));
  workspace fresh;
  scratch only_state_too(pmpp::device.with(fresh), 0);
  CHECK(only_state_too.data() == nullptr);
  CHECK(state_is_zero(pmpp::device, only_state_too));
  // More state than usual: the workspace takes a block that has it, zeroed, and keeps it.
  const std::size_t wanted = 3 * pmpp::detail::usual_state + 4;
  for (int i = 0; i < 2; ++i) {
    const std::size_t before = fresh.capacity();
    scratch large(pmpp::device.with(fresh), 100, wanted);
    const auto words = pmpp::to_host(pmpp::device, std::span<const unsigned>(large.state(), wanted / sizeof(unsigned)));
    CHECK(std::all_of(words.begin(), words.end(), [](unsigned w) { return w == 0; }));
    CHECK((i == 0 || fresh.capacity() == before));
  }
}

TEST_CASE("a call inside a call has scratch of its own, also when the workspace grows for it") {
  workspace w{1024};
  pmpp::stream stream;
  const auto where = pmpp::device.on(stream).with(w);
  for (const int inner_size : {256, 100000}) {
    scratch outer(where, 512);
    const std::vector<char> o(512, 'o');
    char* a = outer.take<char>(512);
    pmpp::copy(where, o, std::span(a, 512));
    {
      const auto size = static_cast<std::size_t>(inner_size);
      scratch inner(where, size);
      const std::vector<char> i(size, 'i');
      char* b = inner.take<char>(inner_size);
      CHECK((b + inner_size <= a || a + 512 <= b));
      pmpp::copy(where, i, std::span(b, size));
      CHECK(pmpp::to_host(where, std::span(b, size)) == i);
    }
    CHECK(pmpp::to_host(where, std::span(a, 512)) == o);
    const std::size_t capacity = w.capacity();
    { scratch again(where, static_cast<std::size_t>(inner_size)); }
    CHECK(w.capacity() == capacity);
  }
}

#if PMPP_WITH_EMULATOR
TEST_CASE("the emulator fills scratch with 0xCD") {
  workspace w;
  for (const auto where : {pmpp::emulated, pmpp::emulated.with(w)}) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      scratch s(where, 1000);
      unsigned char* bytes = s.take<unsigned char>(1000);
      CHECK(std::count(bytes, bytes + 1000, 0xCD) == 1000);
      std::fill(bytes, bytes + 1000, static_cast<unsigned char>(0));
    }
  }
}

TEST_CASE("the emulator reports state that a call did not leave zero, once, at the next call") {
  workspace w;
  for (const auto where : {pmpp::emulated, pmpp::emulated.with(w)}) {
    {
      scratch s(where, 8);
      s.state()[3] = 1;
    }
    try {
      scratch s(where, 8);
      FAIL("the dirty state was not noticed");
    } catch (const pmpp::kernel_fault& e) {
      CHECK(std::string(e.what()).find("word 3") != std::string::npos);
    }
    scratch s(where, 8);
    CHECK(state_is_zero(pmpp::emulated, s));
    s.state()[0] = 5;
    s.state()[0] = 0;  // left zero: fine
  }
  // A call that throws leaves the state as it is; that is not a second fault.
  try {
    scratch s(pmpp::emulated, 8);
    s.state()[3] = 1;
    throw std::runtime_error("a kernel failed");
  } catch (const std::runtime_error&) {
  }
  CHECK_NOTHROW(scratch(pmpp::emulated, 8));
}
#endif

#if PMPP_CUDA
TEST_CASE("a warm workspace hands out the same memory, and its state is zeroed only once") {
  workspace w{1 << 20};
  pmpp::stream stream;
  const auto where = pmpp::device.on(stream).with(w);
  void* first = nullptr;
  {
    scratch s(where, 1000);
    first = s.data();
    pmpp::copy(where, std::vector{7u}, std::span(s.state(), 1));
  }
  scratch again(where, 1 << 20);
  CHECK(again.data() == first);
  CHECK(pmpp::to_host(where, std::span(again.state(), 1)) == std::vector{7u});  // no hidden memset
}

TEST_CASE("memory from before a growth stays valid until the end") {
  workspace w;
  pmpp::stream stream;
  const auto where = pmpp::device.on(stream).with(w);
  std::vector<int*> old;
  for (int round = 0; round < 6; ++round) {
    const std::size_t count = std::size_t{1000} << round;
    scratch s(where, count * sizeof(int));
    old.push_back(s.take<int>(static_cast<std::int64_t>(count)));
    pmpp::copy(where, std::vector<int>(count, round), std::span(old.back(), count));
  }
  for (int round = 0; round < 6; ++round) {
    const std::size_t count = std::size_t{1000} << round;
    CHECK(pmpp::to_host(where, std::span(old[static_cast<std::size_t>(round)], count)) ==
          std::vector<int>(count, round));
  }
}

TEST_CASE("scratch is captured into graphs, with and without a workspace, and replays on changed data") {
  workspace w;  // must grow during the capture
  pmpp::stream stream;
  constexpr std::size_t count = 10000;
  pmpp::pinned_buffer<int> in{count, 1}, out{count, 0};
  for (const auto where : {pmpp::device.on(stream), pmpp::device.on(stream).with(w)}) {
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    {
      scratch s(where, count * sizeof(int));
      int* temporary = s.take<int>(count);
      pmpp::copy(where, in, std::span(temporary, count));
      pmpp::copy(where, std::span(temporary, count), out);
    }
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int value = 2; value < 5; ++value) {
      w.reserve(2 * w.capacity() + 1);  // the graph keeps pointing at the old block
      std::fill(in.begin(), in.end(), value);
      pmpp::check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");  // says so where others took the memory
      stream.synchronize();
      CHECK(pmpp::to_host(stream, out) == std::vector<int>(count, value));
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("scratch without a workspace is freed") {
  const std::size_t bytes = pmpp::device_info().free_memory_bytes / 5;
  pmpp::stream stream;
  for (int repeat = 0; repeat < 20; ++repeat) scratch s(pmpp::device.on(stream), bytes);
  stream.synchronize();
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a workspace is refused while another device is current, large enough or not") {
  int devices = 0;
  REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
  if (devices < 2) {
    MESSAGE("skipped: one device");
    return;
  }
  workspace w{100000};
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  for (const std::size_t bytes : {std::size_t(1), std::size_t(1000000)})
    CHECK_THROWS_WITH_AS(scratch(pmpp::device.with(w), bytes),
                         "pmpp::workspace: it belongs to device 0, the current one is device 1", std::invalid_argument);
  CHECK_THROWS_AS(w.reserve(2 * w.capacity()), std::invalid_argument);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK_NOTHROW(scratch(pmpp::device.with(w), 1000));
}
#endif
