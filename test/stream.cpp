// SPDX-License-Identifier: Apache-2.0
//
// Properties of streams and events:
//   moved-from streams and events are safe; converting to a handle keeps the stream
//   elapsed_ms measures the time between two points, waits for them, and refuses events that were never recorded
//   on a GPU: enqueuing does not wait; a stream is independent of the default stream unless it was asked not to be;
//   wait(event) orders work of two streams
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(!std::is_copy_constructible_v<pmpp::stream> && !std::is_copy_constructible_v<pmpp::event>);
static_assert(std::is_nothrow_move_constructible_v<pmpp::stream> && std::is_nothrow_move_assignable_v<pmpp::stream>);
static_assert(std::is_nothrow_move_constructible_v<pmpp::event> && std::is_nothrow_move_assignable_v<pmpp::event>);
static_assert(std::is_nothrow_destructible_v<pmpp::stream> && std::is_nothrow_destructible_v<pmpp::event>);
static_assert(std::is_convertible_v<pmpp::stream&, pmpp::stream_handle>);
static_assert(pmpp::stream_like<pmpp::stream> && pmpp::stream_like<pmpp::stream_handle>);
static_assert(!pmpp::stream_like<int> && !pmpp::stream_like<std::nullptr_t>);

namespace {

constexpr bool on_gpu = PMPP_CUDA != 0;

/// Work that keeps a GPU busy for tens of milliseconds.
struct long_work {
  pmpp::device_buffer<std::byte> from{on_gpu ? 256 << 20 : 1}, to{on_gpu ? 256 << 20 : 1};
  void enqueue(pmpp::stream_handle s) {
    for (int i = 0; i < 200; ++i) pmpp::copy(s, from, to);
  }
};

}  // namespace

TEST_CASE("streams move, and a moved-from one can be assigned to") {
  pmpp::stream a;
  const pmpp::stream_handle handle = a.handle();
  CHECK((handle != nullptr) == on_gpu);
  pmpp::stream b = std::move(a);
  CHECK(b.handle() == handle);
  CHECK(a.handle() == nullptr);
  pmpp::stream& same = b;
  b = std::move(same);
  CHECK(b.handle() == handle);
  a = std::move(b);
  CHECK(a.handle() == handle);
  b = pmpp::stream();
  a.synchronize();
  b.synchronize();
  const pmpp::stream_handle converted = a;
  CHECK(converted == handle);
  CHECK(pmpp::device.on(a).stream == handle);
  std::vector<pmpp::stream> several(3);
  several.emplace_back();
  for (const auto& s : several) s.synchronize();
}

TEST_CASE("synchronize takes handles and policies") {
  pmpp::stream s;
  pmpp::synchronize(s.handle());
  pmpp::synchronize(pmpp::device.on(s));
  pmpp::synchronize(pmpp::device);
  pmpp::synchronize(pmpp::seq);
  pmpp::synchronize(pmpp::host);
}

TEST_CASE("events move") {
  pmpp::stream s;
  pmpp::event a, b;
  a.record(s);
  pmpp::event c = std::move(a);
  b.record(s);
  CHECK(pmpp::event::elapsed_ms(c, b) >= 0);
  pmpp::event& same = c;
  c = std::move(same);
  CHECK(pmpp::event::elapsed_ms(c, b) >= 0);
  a = std::move(c);
  CHECK(pmpp::event::elapsed_ms(a, b) >= 0);
  c = pmpp::event();
  c.record();
  c.synchronize();
  CHECK(c.reached());
}

TEST_CASE("elapsed_ms refuses events that were never recorded, and nothing is left behind") {
  pmpp::event a, b;
  CHECK_THROWS_AS(pmpp::event::elapsed_ms(a, b), std::invalid_argument);
  a.record();
  CHECK_THROWS_AS(pmpp::event::elapsed_ms(a, b), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::event::elapsed_ms(b, a), std::invalid_argument);
  b.record();
  CHECK(pmpp::event::elapsed_ms(a, b) >= 0);
#if PMPP_CUDA
  CHECK(cudaGetLastError() == cudaSuccess);
#endif
}

TEST_CASE("elapsed_ms is the time between two points") {
  pmpp::stream s;
  pmpp::event first, last;
  first.record(s);
  s.synchronize();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  last.record(s);
  const double ms = pmpp::event::elapsed_ms(first, last);
  CHECK(ms >= 19);
  CHECK(ms < 20000);
  CHECK(pmpp::event::elapsed_ms(last, first) == doctest::Approx(-ms));
  CHECK(pmpp::event::elapsed_ms(first, first) == 0);
}

#if PMPP_CUDA
TEST_CASE("enqueuing does not wait, elapsed_ms does") {
  long_work work;
  pmpp::stream s;
  pmpp::event first, last;
  first.record(s);
  work.enqueue(s);
  last.record(s);
  CHECK_FALSE(last.reached());
  CHECK(pmpp::event::elapsed_ms(first, last) > 1);
  CHECK(last.reached());
}

TEST_CASE("a stream is independent of the default stream, unless made with ordered_with_default") {
  long_work work;
  pmpp::pinned_buffer<int> host{1, 1};
  pmpp::device_buffer<int> word{1};
  for (const bool ordered : {false, true}) {
    pmpp::stream s = ordered ? pmpp::stream::ordered_with_default() : pmpp::stream();
    pmpp::event done;
    work.enqueue(s);
    done.record(s);
    pmpp::copy(host, word);  // on the default stream, and waits for it
    CHECK(done.reached() == ordered);
    s.synchronize();
  }
}

TEST_CASE("wait orders the work of two streams") {
  long_work work;
  pmpp::stream writer, reader;
  pmpp::pinned_buffer<int> one{1, 1}, seen{1, 0};
  pmpp::device_buffer<int> word{1, 0};
  for (const bool waits : {true, false}) {
    seen[0] = -1;
    pmpp::copy(std::vector{0}, word);
    pmpp::event written;
    work.enqueue(writer);
    pmpp::copy(writer, one, word);
    written.record(writer);
    if (waits) reader.wait(written);
    pmpp::copy(reader, word, seen);
    reader.synchronize();
    CHECK(written.reached() == waits);
    CHECK(seen[0] == (waits ? 1 : 0));
    writer.synchronize();
  }
}
#endif
