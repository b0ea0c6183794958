// SPDX-License-Identifier: Apache-2.0
//
// Properties of the buffers and of copy:
//   a buffer has the size asked for and the contents given, whatever the integer type, the value or the source
//   moving leaves the source empty and usable; clones are independent; nothing leaks and nothing is freed twice
//   a failed allocation says what it asked for and leaves the library usable
//   copy moves every element in every direction, or throws and writes nothing
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/occupancy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/data.hpp"

#if defined(__CUDACC__)
#include <thrust/device_vector.h>
#endif

namespace {

struct twelve_bytes {
  float x;
  std::int32_t i;
  std::int16_t a, b;
  friend bool operator==(const twelve_bytes&, const twelve_bytes&) = default;
};
static_assert(sizeof(twelve_bytes) == 12);

template <class T>
std::vector<T> numbers(std::size_t n) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(i * 7 + 1);
  return v;
}

/// std::length_error's text, or "" if `f` threw nothing.
template <class F>
std::string length_error_of(F f) {
  try {
    f();
  } catch (const std::length_error& e) {
    return e.what();
  }
  return "";
}

/// A pointer as Thrust has them: not a pointer, but get() gives one.
struct fancy_pointer {
  int* p;
  int* get() const { return p; }
};
struct fancy_range {
  std::vector<int>* v;
  fancy_pointer data() const { return {v->data()}; }
  std::size_t size() const { return v->size(); }
};

template <class B>
concept has_index = requires(B& b) {
  b[0];
};
template <class B, class... Args>
concept constructible = requires(Args&&... args) {
  B{std::forward<Args>(args)...};
};

}  // namespace

// What the types promise before anything runs.
static_assert(!std::is_copy_constructible_v<pmpp::device_buffer<int>>);
static_assert(!std::is_copy_assignable_v<pmpp::device_buffer<int>>);
static_assert(!constructible<pmpp::device_buffer<int>, pmpp::device_buffer<int>&>);
static_assert(std::is_nothrow_move_constructible_v<pmpp::device_buffer<int>>);
static_assert(std::is_nothrow_move_assignable_v<pmpp::device_buffer<int>>);
static_assert(std::is_nothrow_destructible_v<pmpp::device_buffer<int>>);
static_assert(std::is_nothrow_default_constructible_v<pmpp::device_buffer<int>>);
static_assert(has_index<pmpp::pinned_buffer<int>> && has_index<const pmpp::managed_buffer<int>>);
static_assert(std::ranges::contiguous_range<pmpp::device_buffer<int>>);
static_assert(std::ranges::sized_range<const pmpp::device_buffer<int>>);
static_assert(!std::is_convertible_v<int, pmpp::device_buffer<int>>, "a number is not a buffer");
static_assert(!constructible<pmpp::device_buffer<int>, std::vector<float>>, "element types must be equal");
static_assert(!constructible<pmpp::pinned_buffer<int>, int, pmpp::stream&>, "pinned memory has no stream order");
static_assert(std::is_same_v<decltype(std::declval<const pmpp::device_buffer<int>&>().data()), const int*>);
static_assert(std::is_same_v<decltype(pmpp::device_buffer{std::vector<float>{}}), pmpp::device_buffer<float>>);
static_assert(std::is_same_v<decltype(pmpp::device_buffer{3, 1.0}), pmpp::device_buffer<double>>);

TEST_CASE_TEMPLATE("an empty buffer has no memory and can be used", B, pmpp::device_buffer<int>,
                   pmpp::pinned_buffer<int>, pmpp::managed_buffer<int>) {
  B none, zero{0}, zero_filled{0, 5}, from_empty{std::vector<int>{}};
  for (B* b : {&none, &zero, &zero_filled, &from_empty}) {
    CHECK(b->size() == 0);
    CHECK(b->empty());
    CHECK(b->data() == nullptr);
    CHECK(b->begin() == b->end());
    CHECK(b->span().empty());
    CHECK(b->clone().empty());
    CHECK(pmpp::to_host(*b).empty());
  }
  none = B{3, 4};
  CHECK(pmpp::to_host(none) == std::vector{4, 4, 4});
}

TEST_CASE("any integer type is a size, and braces never make a list of values") {
  const int i = 5;
  const std::size_t u = 5;
  const std::int64_t l = 5;
  const std::uint8_t c = 5;
  CHECK(pmpp::device_buffer<float>{i}.size() == 5);
  CHECK(pmpp::device_buffer<float>{u}.size() == 5);
  CHECK(pmpp::device_buffer<float>{l}.size() == 5);
  CHECK(pmpp::device_buffer<float>{c}.size() == 5);
  CHECK(pmpp::to_host(pmpp::device_buffer<float>{5, 0}) == std::vector<float>(5, 0.0f));
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{2, 7}) == std::vector{7, 7});
}

TEST_CASE("n copies of a value, for every n around a doubling and values of equal and of different bytes") {
  const twelve_bytes value{1.5f, -7, 3, 4};
  for (const int n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 255, 257, 1000, 4096, 4097, 65537}) {
    const auto size = static_cast<std::size_t>(n);
    CHECK(pmpp::to_host(pmpp::device_buffer<twelve_bytes>{n, value}) == std::vector<twelve_bytes>(size, value));
    CHECK(pmpp::to_host(pmpp::device_buffer<int>{n, 0x01020304}) == std::vector<int>(size, 0x01020304));
    CHECK(pmpp::to_host(pmpp::device_buffer<int>{n, -1}) == std::vector<int>(size, -1));
    CHECK(pmpp::to_host(pmpp::device_buffer<double>{n, 2.5}) == std::vector<double>(size, 2.5));
    CHECK(pmpp::to_host(pmpp::device_buffer<char>{n, 'x'}) == std::vector<char>(size, 'x'));
    CHECK(pmpp::to_host(pmpp::device_buffer<bool>{n, true}) == std::vector<bool>(size, true));
    CHECK(pmpp::to_host(pmpp::pinned_buffer<twelve_bytes>{n, value}) == std::vector<twelve_bytes>(size, value));
    CHECK(pmpp::to_host(pmpp::managed_buffer<twelve_bytes>{n, value}) == std::vector<twelve_bytes>(size, value));
  }
}

TEST_CASE("a buffer copies any contiguous range of its type") {
  const std::vector<int> v = numbers<int>(1000);
  int c_array[] = {1, 2, 3};
  const pmpp::pinned_buffer<int> pinned{v};
  const pmpp::managed_buffer<int> managed{v};
  const pmpp::device_buffer<int> on_device{pinned};
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{v}) == v);
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{std::array{1, 2, 3}}) == std::vector{1, 2, 3});
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{c_array}) == std::vector{1, 2, 3});
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{c_array, c_array + 2}) == std::vector{1, 2});
  CHECK(pmpp::to_host(pmpp::pinned_buffer<int>(v.begin() + 10, v.end())) == std::vector<int>(v.begin() + 10, v.end()));
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{std::span(v).first(10)}) == std::vector<int>(v.begin(), v.begin() + 10));
  CHECK(pmpp::to_host(on_device) == v);
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{managed}) == v);
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{on_device.span()}) == v);
  CHECK(pmpp::to_host(pmpp::pinned_buffer<int>{on_device}) == v);
  CHECK(pmpp::to_host(pmpp::managed_buffer<int>{on_device}) == v);
  CHECK(pmpp::to_host(pmpp::device_buffer<char>{std::string("pmpp")}) == std::vector{'p', 'm', 'p', 'p'});
}

TEST_CASE_TEMPLATE("moves leave an empty, usable buffer", B, pmpp::device_buffer<int>, pmpp::pinned_buffer<int>,
                   pmpp::managed_buffer<int>) {
  const std::vector<int> v = numbers<int>(100);
  B a{v};
  const int* memory = a.data();
  B b{std::move(a)};
  CHECK(b.data() == memory);
  CHECK(a.empty());
  CHECK(a.capacity() == 0);
  CHECK(a.data() == nullptr);

  a = B{3, 4};  // a moved-from buffer can be assigned to,
  CHECK(pmpp::to_host(a) == std::vector{4, 4, 4});
  a = std::move(b);  // and assignment frees what was there
  CHECK(a.data() == memory);
  CHECK(b.empty());
  b.resize_discard(7);
  CHECK(b.size() == 7);

  B& same = a;
  a = std::move(same);
  CHECK(a.data() == memory);
  CHECK(pmpp::to_host(a) == v);

  std::vector<B> several;
  for (int n = 0; n < 10; ++n) several.emplace_back(n, n);
  for (std::size_t n = 0; n < 10; ++n) CHECK(pmpp::to_host(several[n]) == std::vector<int>(n, static_cast<int>(n)));
}

TEST_CASE_TEMPLATE("a clone is equal and independent", B, pmpp::device_buffer<int>, pmpp::pinned_buffer<int>,
                   pmpp::managed_buffer<int>) {
  const std::vector<int> v = numbers<int>(100);
  B a{v};
  B b = a.clone();
  CHECK(b.data() != a.data());
  CHECK(pmpp::to_host(b) == v);
  pmpp::copy(std::vector<int>(100, -1), a);
  CHECK(pmpp::to_host(b) == v);
}

TEST_CASE_TEMPLATE("resize_discard keeps the memory when it suffices", B, pmpp::device_buffer<int>,
                   pmpp::pinned_buffer<int>, pmpp::managed_buffer<int>) {
  B b{100};
  const int* memory = b.data();
  b.resize_discard(10);
  CHECK(b.size() == 10);
  CHECK(b.capacity() == 100);
  b.resize_discard(std::size_t{100});
  CHECK(b.size() == 100);
  CHECK(b.data() == memory);
  b.resize_discard(0);
  CHECK(b.empty());
  CHECK(b.capacity() == 100);
  b.resize_discard(101);
  CHECK(b.size() == 101);
  CHECK(b.capacity() == 101);
  pmpp::copy(std::vector<int>(101, 3), b);
  CHECK(pmpp::to_host(b) == std::vector<int>(101, 3));
  CHECK_THROWS_AS(b.resize_discard(-1), std::length_error);
  CHECK(b.size() == 101);  // a bad argument changes nothing
}

TEST_CASE("truncate keeps the first elements, and the memory") {
  pmpp::device_buffer<int> b(std::vector<int>{1, 2, 3});
  const int* const memory = b.data();
  b.truncate(2);
  CHECK(pmpp::to_host(b) == std::vector<int>{1, 2});
  CHECK(b.data() == memory);
  CHECK(b.capacity() == 3);
  CHECK_THROWS_AS(b.truncate(3), std::invalid_argument);
  CHECK_THROWS_AS(b.truncate(-1), std::length_error);
  b.truncate(0);
  CHECK(b.empty());
}

TEST_CASE("the host reads and writes elements of pinned and managed memory") {
  pmpp::pinned_buffer<int> p{10, 1};
  pmpp::managed_buffer<int> m{10, 1};
  for (int i = 0; i < 10; ++i) p[i] += i;
  for (std::size_t i = 0; i < 10; ++i) m[i] = p[i] * 2;
  const auto& view = m;
  for (int i = 0; i < 10; ++i) CHECK(view[i] == 2 * (i + 1));
  CHECK(std::accumulate(p.begin(), p.end(), 0) == 55);
}

TEST_CASE("too large for the machine is out_of_memory, and the next small allocation works") {
  const std::size_t too_much = 2 * pmpp::device_info().memory_bytes;
  for (int repeat = 0; repeat < 3; ++repeat) {
    try {
      pmpp::device_buffer<std::byte> b{too_much};
      FAIL("there was memory");
    } catch (const pmpp::out_of_memory& e) {
      CHECK(e.asked_bytes() == too_much);
      CHECK(e.free_bytes() < too_much);
      CHECK(std::string(e.what()).find(std::to_string(too_much)) != std::string::npos);
    }
    pmpp::stream s;
    CHECK_THROWS_AS((pmpp::device_buffer<std::byte>{too_much, s}), pmpp::out_of_memory);
    CHECK_THROWS_AS((pmpp::device_buffer<std::byte>{too_much, std::byte{1}}), pmpp::out_of_memory);
    CHECK_THROWS_AS((pmpp::device_buffer<std::byte>{too_much}), std::bad_alloc);
#if PMPP_CUDA
    CHECK(cudaGetLastError() == cudaSuccess);
#else
    CHECK_THROWS_AS((pmpp::pinned_buffer<std::byte>{too_much}), pmpp::out_of_memory);
    CHECK_THROWS_AS((pmpp::managed_buffer<std::byte>{too_much}), pmpp::out_of_memory);
#endif
    CHECK(pmpp::to_host(pmpp::device_buffer<int>{4, 9}) == std::vector{9, 9, 9, 9});
    CHECK(pmpp::to_host(s, pmpp::device_buffer<int>{4, 9, s}) == std::vector{9, 9, 9, 9});
  }

  pmpp::device_buffer<std::byte> b{10};
  CHECK_THROWS_AS(b.resize_discard(too_much), pmpp::out_of_memory);
  CHECK(b.empty());
  CHECK(b.capacity() == 0);
  b.resize_discard(10);
  CHECK(b.size() == 10);
}

TEST_CASE("sizes that overflow or are negative are length errors") {
  const std::uint64_t huge = UINT64_MAX, wraps_to_8 = (std::uint64_t{1} << 61) + 1;
  CHECK_THROWS_AS(pmpp::device_buffer<double>{huge}, std::length_error);
  CHECK_THROWS_AS(pmpp::device_buffer<double>{wraps_to_8}, std::length_error);
  CHECK_THROWS_AS(pmpp::device_buffer<std::int64_t>{INT64_MAX}, std::length_error);
  CHECK_THROWS_AS(pmpp::device_buffer<double>{-1}, std::length_error);
  CHECK_THROWS_AS(pmpp::pinned_buffer<double>{wraps_to_8}, std::length_error);
  CHECK_THROWS_AS(pmpp::managed_buffer<double>{wraps_to_8}, std::length_error);
  CHECK_THROWS_AS((pmpp::device_buffer<double>{wraps_to_8, 1.0}), std::length_error);
  const std::string text = length_error_of([] { pmpp::device_buffer<double> b{-3}; });
  CHECK(text.find("-3 elements of 8 bytes") != std::string::npos);
}

TEST_CASE("copy moves every element between all kinds of memory") {
  const std::vector<twelve_bytes> v = [] {
    std::vector<twelve_bytes> w(1001);
    for (int i = 0; i < 1001; ++i) w[static_cast<std::size_t>(i)] = {float(i), -i, std::int16_t(i), 5};
    return w;
  }();
  pmpp::device_buffer<twelve_bytes> d{v.size()}, d2{v.size()};
  pmpp::pinned_buffer<twelve_bytes> p{v.size()};
  pmpp::managed_buffer<twelve_bytes> m{v.size()};
  std::vector<twelve_bytes> back(v.size());
  pmpp::copy(v, d);
  pmpp::copy(d, p);
  pmpp::copy(p, m);
  pmpp::copy(m, d2);
  pmpp::copy(d2, back);
  CHECK(back == v);

  // Parts, through spans, rvalue or not; neighbours stay as they are.
  pmpp::device_buffer<int> x{10, 0};
  pmpp::copy(std::array{1, 2, 3}, x.span().subspan(4, 3));
  const std::span<int> tail = x.span().last(1);
  pmpp::copy(std::array{9}, tail);
  CHECK(pmpp::to_host(x) == std::vector{0, 0, 0, 0, 1, 2, 3, 0, 0, 9});
  CHECK(pmpp::to_host(x.span().subspan(4, 3)) == std::vector{1, 2, 3});
}

TEST_CASE("copy takes a stream, its handle or a policy, and then only that order counts") {
  const std::vector<int> v = numbers<int>(5000);
  pmpp::stream s;
  pmpp::pinned_buffer<int> in{v}, out{v.size(), 0};
  pmpp::device_buffer<int> d{v.size(), s};
  pmpp::copy(s, in, d);
  pmpp::copy(pmpp::device.on(s), d, out);
  s.synchronize();
  CHECK(std::equal(v.begin(), v.end(), out.begin()));
  CHECK(pmpp::to_host(s, d) == v);
  CHECK(pmpp::to_host(s.handle(), d) == v);
  CHECK(pmpp::to_host(pmpp::device.on(s), d) == v);
  const auto c = d.clone();  // in the order of s
  CHECK(pmpp::to_host(s, c) == v);

  std::vector<int> a(v.size()), b(v.size());
  pmpp::copy(pmpp::seq, v, a);
  pmpp::copy(pmpp::host, v, b);
  CHECK(a == v);
  CHECK(b == v);
  CHECK(pmpp::to_host(pmpp::seq, v) == v);
#if PMPP_WITH_EMULATOR
  CHECK(pmpp::to_host(pmpp::emulated, v) == v);
#endif
}

TEST_CASE("copies of different sizes name both and write nothing") {
  const std::vector<int> seven(7, 1);
  pmpp::device_buffer<int> d{5, 2};
  pmpp::stream s;
  for (int way = 0; way < 3; ++way) {
    const std::string text = length_error_of([&] {
      if (way == 0) pmpp::copy(seven, d);
      if (way == 1) pmpp::copy(s, seven, d);
      if (way == 2) pmpp::copy(pmpp::device, seven, d);
    });
    CHECK(text.find("the source has 7 elements, the target 5") != std::string::npos);
    CHECK(pmpp::to_host(d) == std::vector<int>(5, 2));
  }
  std::vector<int> target(6, 3);
  CHECK_THROWS_AS(pmpp::copy(d, target), std::length_error);
  CHECK_THROWS_AS(pmpp::copy(pmpp::seq, seven, target), std::length_error);
  CHECK_THROWS_AS(pmpp::copy(std::vector<int>{}, target), std::length_error);
  CHECK(target == std::vector<int>(6, 3));
}

TEST_CASE("overlapping copies are refused, adjacent and empty ones are not") {
  std::vector<int> v = numbers<int>(10);
  const std::vector<int> before = v;
  const std::span<int> all(v);
  CHECK_THROWS_AS(pmpp::copy(pmpp::seq, all.first(6), all.last(6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy(pmpp::seq, v, v), std::invalid_argument);
  CHECK(v == before);
  pmpp::copy(pmpp::seq, all.first(5), all.last(5));
  CHECK(v[5] == v[0]);
  pmpp::copy(all.first(0), all.first(0));
  pmpp::device_buffer<int> empty, also{0};
  pmpp::copy(empty, also);
  pmpp::copy(pmpp::stream{}, empty, also);
  pmpp::copy(std::vector<int>{}, empty);
}

TEST_CASE("ranges with fancy pointers are contiguous ranges") {
  std::vector<int> v = numbers<int>(20), w(20);
  pmpp::copy(fancy_range{&v}, fancy_range{&w});
  CHECK(w == v);
  CHECK(pmpp::to_host(pmpp::device_buffer<int>{fancy_range{&v}}) == v);
#if defined(__CUDACC__)
  thrust::device_vector<int> t(20);
  pmpp::copy(v, t);
  CHECK(pmpp::to_host(t) == v);
  pmpp::device_buffer<int> d{t};
  CHECK(pmpp::to_host(d) == v);
#endif
}

TEST_CASE("stream-ordered buffers") {
  const std::vector<int> v = numbers<int>(300);
  pmpp::stream s;
  for (int repeat = 0; repeat < 50; ++repeat) {  // memory goes round through the pool
    pmpp::device_buffer<int> a{v, s}, b{300, 0x12345678, s}, c{300, s};
    pmpp::copy(s, a, c);
    a = std::move(b);  // frees a's memory in stream order, after the copy
    CHECK(pmpp::to_host(s, c) == v);
    CHECK(pmpp::to_host(s, a) == std::vector<int>(300, 0x12345678));
    a.resize_discard(600);
    CHECK(a.size() == 600);
    CHECK(b.empty());
  }
  pmpp::device_buffer<int> none{0, s};
  CHECK(none.data() == nullptr);
  pmpp::device_buffer<float> on_default{4, 1.0f, pmpp::stream_handle{}};
  CHECK(pmpp::to_host(on_default) == std::vector<float>(4, 1.0f));
}

TEST_CASE("memory is given back") {
  // Each round takes a fifth of the machine's memory, which is never touched where memory is the host's; less under a sanitizer,
  // which has memory of its own for each byte and writes it.
#if defined(__SANITIZE_ADDRESS__)
  constexpr int share = 500;
#else
  const int share = test::only_small() ? 50 : 5;
#endif
  const std::size_t bytes = pmpp::device_info().free_memory_bytes / share;
  for (int repeat = 0; repeat < 20; ++repeat) {
    pmpp::device_buffer<std::byte> a{bytes};
    pmpp::device_buffer<std::byte> b = std::move(a);
    b = pmpp::device_buffer<std::byte>{bytes};
  }
  // What the pool keeps does not stand in the way of a plain allocation.
  {
    pmpp::stream s;
    { pmpp::device_buffer<std::byte> c{3 * bytes, s}; }
    s.synchronize();
  }
  pmpp::device_buffer<std::byte> d{3 * bytes};
  CHECK(d.size() == 3 * bytes);
}

#if PMPP_CUDA
TEST_CASE("one pool per device, however many threads ask first") {
  const int id = pmpp::detail::current_device();
  std::vector<cudaMemPool_t> pools(8);
  std::vector<std::thread> threads;
  for (auto& pool : pools) threads.emplace_back([&pool, id] { pool = pmpp::detail::memory_pool(id); });
  for (auto& t : threads) t.join();
  for (const auto& pool : pools) CHECK(pool == pools[0]);
  std::uint64_t threshold = 0;
  REQUIRE(cudaMemPoolGetAttribute(pools[0], cudaMemPoolAttrReleaseThreshold, &threshold) == cudaSuccess);
  CHECK(threshold == UINT64_MAX);
}

TEST_CASE("a buffer is freed on its own device and leaves the current one alone") {
  int devices = 0;
  REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
  if (devices < 2) return;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  {
    pmpp::stream s;
    pmpp::device_buffer<int> a{1000, 1}, b{1000, 2, s};
    s.synchronize();
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    cudaPointerAttributes attributes{};
    REQUIRE(cudaPointerGetAttributes(&attributes, a.data()) == cudaSuccess);
    CHECK(attributes.device == 1);
    a = pmpp::device_buffer<int>{};
    b = pmpp::device_buffer<int>{};
  }
  CHECK(pmpp::detail::current_device() == 0);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("allocating and freeing do not spoil a capture") {
  pmpp::stream s;
  pmpp::pinned_buffer<int> in{100, 1}, out{100, 0};
  pmpp::device_buffer<int> kept{100};
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  { pmpp::device_buffer<int> beside{1000}; }
  {
    pmpp::device_buffer<int> temporary{100, s};  // becomes a node of the graph
    pmpp::copy(s, in, temporary);
    pmpp::copy(s, temporary, kept);
    pmpp::copy(s, kept, out);
  }
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  for (const int value : {5, 6}) {
    std::fill(in.begin(), in.end(), value);
    REQUIRE(cudaGraphLaunch(exec, s) == cudaSuccess);
    s.synchronize();
    CHECK(pmpp::to_host(s, out) == std::vector<int>(100, value));
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
#endif
