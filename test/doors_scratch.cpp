// SPDX-License-Identifier: Apache-2.0
//
// Properties of scratch that is not pmpp's own:
//   a workspace over memory of the program's never grows: a call that it suffices for is right, also when the memory is dirty and
//   used for other things in between; one byte less than measured throws, with both numbers
//   what is measured is what a call takes, to the byte; measuring launches nothing, writes nothing, allocates nothing
//   a workspace over a resource takes blocks of it, aligned, and gives each back as it was taken; all shapes of resources
//   the pool says what it holds, and gives it back
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/resource.hpp>
#include <pmpp/memory/scratch_bytes.hpp>
#include <pmpp/memory/trim.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/captured_graph.hpp"
#include "support/hostile.hpp"

using pmpp::device;
using pmpp::workspace;

namespace hostile {
struct resource {
  void* allocate(std::size_t n, std::size_t) { return pmpp::detail::allocate_device(n); }
  void deallocate(void* p, std::size_t, std::size_t) { pmpp::detail::free_device(p); }
};
struct stream {
  pmpp::stream_handle handle;
  pmpp::stream_handle get() const { return handle; }
};
}  // namespace hostile

namespace {

struct is_odd {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 != 0; }
};

std::vector<int> random_numbers(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<int> v(n);
  for (int& x : v) x = static_cast<int>(random() % 100000);
  return v;
}

/// Sorts, scans, selects and sums; everything only enqueues.
struct pipeline {
  std::vector<int> start;
  pmpp::device_buffer<int> x, sums, kept;
  pmpp::device_buffer<std::int64_t> count{1}, total{1};

  explicit pipeline(std::size_t n) : start(random_numbers(n)), x(start), sums(n), kept(n) {}
  template <class P>
  void run(const P& where) {
    pmpp::sort(where, x);
    pmpp::inclusive_scan(where, std::as_const(x), sums);
    pmpp::copy_if_into(where, std::as_const(x), kept, count, is_odd{});
    pmpp::reduce_into(where, std::as_const(x), total, std::int64_t(0));
  }
  void check() {
    std::vector<int> sorted = start, scanned(start.size());
    std::sort(sorted.begin(), sorted.end());
    std::partial_sum(sorted.begin(), sorted.end(), scanned.begin(),
                     [](int a, int b) { return int(unsigned(a) + unsigned(b)); });
    CHECK(pmpp::to_host(x) == sorted);
    CHECK(pmpp::to_host(sums) == scanned);
    CHECK(pmpp::to_host(count)[0] == std::count_if(sorted.begin(), sorted.end(), is_odd{}));
    CHECK(pmpp::to_host(total)[0] == std::accumulate(sorted.begin(), sorted.end(), std::int64_t(0)));
  }
};

/// A resource that counts; Shape is one of those that blocks_from knows.
enum class shape { sync, at_once, on_streams, async };
struct block {
  void* p;
  std::size_t bytes, alignment;
};
struct counts {
  std::vector<block> held;
  std::size_t taken = 0, wrong = 0, most = SIZE_MAX;

  void* take(std::size_t bytes, std::size_t alignment) {
    if (bytes > most) throw std::bad_alloc();
    ++taken;
    held.push_back({pmpp::detail::allocate_device(bytes), bytes, alignment});
    return held.back().p;
  }
  void give(void* p, std::size_t bytes, std::size_t alignment) {
    const auto found = std::find_if(held.begin(), held.end(), [&](const block& b) { return b.p == p; });
    if (found == held.end() || found->bytes != bytes || found->alignment != alignment || alignment != 256) {
      ++wrong;
      return;
    }
    pmpp::detail::free_device(p);
    held.erase(found);
  }
};
template <shape>
struct resource;
template <>
struct resource<shape::sync> : counts {
  void* allocate_sync(std::size_t n, std::size_t a) { return take(n, a); }
  void deallocate_sync(void* p, std::size_t n, std::size_t a) { give(p, n, a); }
  void* allocate(pmpp::stream_handle, std::size_t, std::size_t);  // not the first choice: no definition
  void deallocate(pmpp::stream_handle, void*, std::size_t, std::size_t);
};
template <>
struct resource<shape::at_once> : counts {
  void* allocate(std::size_t n, std::size_t a) { return take(n, a); }
  void deallocate(void* p, std::size_t n, std::size_t a) { give(p, n, a); }
};
template <>
struct resource<shape::on_streams> : counts {
  void* allocate(pmpp::stream_handle, std::size_t n, std::size_t a) { return take(n, a); }
  void deallocate(pmpp::stream_handle, void* p, std::size_t n, std::size_t a) { give(p, n, a); }
};
template <>
struct resource<shape::async> : counts {
  void* allocate_async(std::size_t n, std::size_t a, pmpp::stream_handle) { return take(n, a); }
  void deallocate_async(void* p, std::size_t n, std::size_t a, pmpp::stream_handle) { give(p, n, a); }
};
static_assert(pmpp::memory_resource<resource<shape::async>> && !pmpp::memory_resource<counts>);

}  // namespace

TEST_CASE("memory of the program's is enough where it has what was measured, dirty or not, and not with a byte less") {
  for (const std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(1000), std::size_t(100003)}) {
    CAPTURE(n);
    pipeline p(n);
    const auto call = [&](const auto& where) { p.run(where); };
    const std::size_t bytes = pmpp::scratch_bytes(device, call);
    CHECK(pmpp::to_host(p.x) == p.start);  // nothing has run
    pmpp::device_buffer<unsigned char> memory{bytes + 256, static_cast<unsigned char>(0xAB)};
    const pmpp::stream stream;
    workspace mine(memory.data(), bytes);
    CHECK(mine.capacity() == bytes);
    p.run(device.on(stream).with(mine));
    pmpp::synchronize(stream);
    p.check();
    pmpp::copy(p.start, p.x);
    pmpp::copy(std::vector<unsigned char>(bytes + 256, 0xCD), memory);  // used for other things in between
    p.run(device.on(stream).with(mine));
    pmpp::synchronize(stream);
    p.check();
    CHECK(pmpp::to_host(memory)[bytes] == 0xCD);
    if (bytes == 0) continue;
    workspace less(memory.data(), bytes - 1);
    CHECK_THROWS_WITH_AS(p.run(device.on(stream).with(less)),
                         ("pmpp::workspace: a call needs " + std::to_string(bytes) +
                          " bytes of scratch, the memory that the workspace was given has " + std::to_string(bytes - 1))
                             .c_str(),
                         std::length_error);
    CHECK_THROWS_AS(mine.reserve(bytes + 1), std::length_error);
    CHECK_NOTHROW(mine.reserve(bytes));
  }
}

TEST_CASE("a workspace that grows has all that was measured, and grows no more") {
  const pmpp::device_buffer<int> in{300000, 1};
  pmpp::device_buffer<int> out{300000};
  const auto call = [&](const auto& where) {
    pmpp::inclusive_scan(where, in, out);
    pmpp::detail::scratch state_of_many_tiles(where, 1000, 3 * pmpp::detail::usual_state);
  };
  const pmpp::scratch_need need = pmpp::needed_scratch(device, call);
  CHECK(need.state == 3 * pmpp::detail::usual_state);
  CHECK(need.bytes >= need.state + 1000);
  resource<shape::at_once> mr;
  workspace w{pmpp::blocks_from(mr)};
  w.reserve(need);
  CHECK(mr.taken == 1);
  call(device.with(w));
  CHECK(mr.taken == 1);
  w.reserve(need);
  CHECK(mr.taken == 1);
  pmpp::synchronize(device);
  CHECK(pmpp::to_host(out).back() == 300000);

  workspace with_little_state{pmpp::blocks_from(mr)};
  with_little_state.reserve(need.bytes);
  CHECK(mr.taken == 2);
  with_little_state.reserve(need);
  CHECK(mr.taken == 3);
  call(device.with(with_little_state));
  CHECK(mr.taken == 3);
}

TEST_CASE("measuring: several calls count as one after the other, wrong arguments throw, values are meaningless") {
  const std::size_t n = 50000;
  const pmpp::device_buffer<int> in{random_numbers(n)};
  pmpp::device_buffer<int> out{n}, few{3};
  pmpp::device_buffer<std::int64_t> count{1};
  const auto scan = [&](const auto& where) { pmpp::inclusive_scan(where, in, out); };
  const auto select = [&](const auto& where) { pmpp::copy_if_into(where, in, out, count, is_odd{}); };
  const auto both = [&](const auto& where) {
    scan(where);
    select(where);
  };
  CHECK(pmpp::scratch_bytes(device, both) ==
        std::max(pmpp::scratch_bytes(device, scan), pmpp::scratch_bytes(device, select)));
  CHECK(pmpp::scratch_bytes(device, [](const auto&) {}) == 0);
  CHECK_THROWS_AS(pmpp::scratch_bytes(device, [&](const auto& where) { pmpp::inclusive_scan(where, in, few); }),
                  std::length_error);
  std::int64_t kept = -1, sum = -1;
  const auto returns = [&](const auto& where) {
    kept = pmpp::copy_if(where, in, out, is_odd{}) - out.begin();
    sum = pmpp::reduce(where, in, std::int64_t(0));
    pmpp::copy(where, in, out);
    pmpp::synchronize(where);
  };
  pmpp::fill(device, out, -7);
  const std::size_t bytes = pmpp::scratch_bytes(device, returns);
  CHECK(pmpp::to_host(device, out) == std::vector(n, -7));
  pmpp::device_buffer<char> memory{bytes};
  workspace mine{memory.data(), bytes};
  returns(device.with(mine));
  const auto v = pmpp::to_host(in);
  CHECK(kept == std::count_if(v.begin(), v.end(), is_odd{}));
  CHECK(sum == std::accumulate(v.begin(), v.end(), std::int64_t(0)));
}

TEST_CASE("memory that is not aligned, or is not there, is refused") {
  alignas(256) static char bytes[512];
  CHECK_THROWS_WITH_AS(workspace(bytes + 8, 100), "pmpp::workspace: the memory begins 8 bytes past a multiple of 256",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(workspace(nullptr, 100), "pmpp::workspace: the memory is null, but has 100 bytes",
                       std::invalid_argument);
  workspace none(nullptr, 0);
  CHECK(none.capacity() == 0);
  CHECK_THROWS_AS(pmpp::detail::scratch(device.with(none), 1, 0), std::length_error);
  CHECK_THROWS_AS(pmpp::detail::scratch(device.with(none), SIZE_MAX / 2, 0), std::length_error);
  workspace moved = std::move(none);
  CHECK_THROWS_AS(pmpp::detail::scratch(device.with(moved), 1, 0), std::length_error);
  none.reserve(100);  // an ordinary one now
  CHECK(none.capacity() >= 100);
}

TEST_CASE("calls inside calls have memory of their own, and give it back") {
  pmpp::device_buffer<char> memory{4096};
  workspace mine(memory.data(), 2048);
  const auto where = device.with(mine);
  {
    pmpp::detail::scratch outer(where, 512, 300);  // 512 of state
    CHECK(outer.data() != outer.state());
    {
      pmpp::detail::scratch inner(where, 700, 0);
      CHECK(inner.data() != nullptr);
      CHECK_THROWS_WITH_AS(
          pmpp::detail::scratch(where, 257, 0),
          "pmpp::workspace: a call needs 2304 bytes of scratch, the memory that the workspace was given "
          "has 2048",
          std::length_error);
    }
    CHECK_NOTHROW(pmpp::detail::scratch(where, 1024, 0));
  }
  CHECK_NOTHROW(pmpp::detail::scratch(where, 2048, 0));
}

TEST_CASE_TEMPLATE_DEFINE("a workspace over a resource", Resource, over_a_resource) {
  Resource mr;
  {
    workspace w{pmpp::blocks_from(mr)};
    CHECK(mr.taken == 0);
    pipeline p(20000);
    for (int turn = 0; turn < 3; ++turn) {
      pmpp::copy(p.start, p.x);
      p.run(device.with(w));
      pmpp::synchronize(device);
      p.check();
    }
    CHECK(mr.taken > 0);
    const std::size_t taken = mr.taken;
    p.run(device.with(w));
    CHECK(mr.taken == taken);
    // Twice as much cannot be had: as much as is needed is taken.
    mr.most = w.capacity() * 3 / 2 + 100000;
    w.reserve(w.capacity() + 1000);
    CHECK(mr.taken == taken + 1);
    const std::size_t capacity = w.capacity();
    CHECK_THROWS_AS(w.reserve(mr.most + 1), std::bad_alloc);
    CHECK(w.capacity() == capacity);
    workspace other = std::move(w);
    p.run(device.with(other));
    pmpp::synchronize(device);
    CHECK(mr.held.size() == taken + 1);
  }
  CHECK(mr.held.empty());
  CHECK(mr.wrong == 0);
}
TEST_CASE_TEMPLATE_INVOKE(over_a_resource, resource<shape::sync>, resource<shape::at_once>, resource<shape::on_streams>,
                          resource<shape::async>);

TEST_CASE("resources, streams and elements of a namespace with greedy functions") {
  hostile::resource mr;
  workspace w{pmpp::blocks_from(mr)};
  const pmpp::stream own;
  const hostile::stream stream{own.handle()};
  const auto where = device.on(stream).with(w);
  pmpp::device_buffer<hostile::number> a{std::vector<hostile::number>{{3}, {1}, {2}}, stream};
  const auto call = [&](const auto& policy) { pmpp::sort(policy, a, hostile::precedes{}); };
  w.reserve(pmpp::needed_scratch(where, call));
  call(where);
  CHECK(pmpp::to_host(stream, a)[2] == hostile::number{3});
  pmpp::synchronize(stream);
}

TEST_CASE("the pool's bytes, and giving them back") {
  pmpp::set_pool_threshold(UINT64_MAX);
  pmpp::stream stream;
  { pmpp::device_buffer<char> b{1 << 26, stream}; }
  stream.synchronize();
  const auto before = pmpp::pool_use();
  CHECK(before.used <= before.held);
  pmpp::trim_pool();
  CHECK(pmpp::pool_use().held == 0);
#if PMPP_CUDA
  CHECK(before.held >= 1 << 26);
  pmpp::set_pool_threshold(0);
  { pmpp::device_buffer<char> b{1 << 26, stream}; }
  stream.synchronize();
  CHECK(pmpp::pool_use().held == 0);
  pmpp::set_pool_threshold(UINT64_MAX);
  pmpp::device_buffer<char> kept{1 << 26, stream};
  stream.synchronize();
  pmpp::trim_pool();
  CHECK(pmpp::pool_use().held >= 1 << 26);
#endif
}

#if PMPP_CUDA
TEST_CASE("calls with memory of the program's are captured, and replay on changed data and dirty memory") {
  pipeline p(100003);
  const std::size_t bytes = pmpp::scratch_bytes(device, [&](const auto& where) { p.run(where); });
  pmpp::device_buffer<unsigned char> memory{bytes, static_cast<unsigned char>(0xAB)};
  workspace mine(memory.data(), bytes);
  const pmpp::stream stream;
  test::captured_graph graph(stream, [&] { p.run(device.on(stream).with(mine)); });
  for (int turn = 0; turn < 3; ++turn) {
    std::shuffle(p.start.begin(), p.start.end(), std::mt19937(unsigned(turn)));
    pmpp::copy(stream, p.start, p.x);
    pmpp::copy(stream, std::vector<unsigned char>(bytes, static_cast<unsigned char>(turn + 1)), memory);
    graph.replay();
    stream.synchronize();
    p.check();
  }
}
#endif
