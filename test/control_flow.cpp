// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of control_flow.hpp, on every policy: a loop makes as many turns as its flag says, none, one and many, for
// flags of any integer type, also those that are computed; most_turns ends it, and the flag and the number of turns tell; loops
// and branches nest; a branch is chosen by what the flag was before; a captured graph does its work again on other data; what a
// body throws comes out and the next call works; bodies that wait, allocate or lack a workspace are refused in words; bad input
// throws and touches nothing. On a GPU a body is called once, streams may be captured, and a spoilt capture is an error.
#include <pmpp/control_flow.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

struct less_one {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(x - 1);
  }
};
struct plus_one {
  PMPP_HOST_DEVICE int operator()(int x) const { return x + 1; }
};
struct is_above {
  double limit;
  PMPP_HOST_DEVICE bool operator()(double x) const { return x > limit; }
};
struct half {
  PMPP_HOST_DEVICE double operator()(double x) const { return x / 2; }
};
/// One step towards 1: n / 2, or 3 n + 1.
struct collatz {
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t n) const { return n == 1 ? 1 : n % 2 == 0 ? n / 2 : 3 * n + 1; }
};
struct is_not_one {
  PMPP_HOST_DEVICE int operator()(std::int64_t n) const { return n != 1 ? 1 : 0; }
};

template <class P>
P with([[maybe_unused]] pmpp::workspace& w) {
  if constexpr (pmpp::kernel_execution<P>)
    return P{}.with(w);
  else
    return P{};
}

/// Whether bodies are called once, for any number of turns.
template <class where>
constexpr bool captures = where::on_device&& PMPP_CUDA != 0;

template <class where, class T>
T only(const auto& container) {
  pmpp::synchronize(typename where::policy{});
  return where::get(container)[0];
}

/// Turns of a loop whose flag begins at `start`, of type T, and is one less after each.
template <class where, class T>
void check_turns(T start, std::int64_t expected) {
  using P = typename where::policy;
  CAPTURE(expected);
  auto flag = where::put(std::vector<T>{start, 77});
  auto done = where::put(std::vector<int>{0});
  auto turns = where::put(std::vector<std::int64_t>{12345});
  int calls = 0;
  pmpp::repeat_while(P{}, flag.begin(),
                     [&](const P& on) {
                       ++calls;
                       pmpp::transform(on, flag.begin(), flag.begin() + 1, flag.begin(), less_one{});
                       pmpp::transform(on, done, done, plus_one{});
                     },
                     {.turns = turns.data()});
  CHECK(only<where, T>(flag) == T{});
  CHECK(where::get(flag)[1] == T{77});
  CHECK(only<where, int>(done) == expected);
  CHECK(only<where, std::int64_t>(turns) == expected);
  CHECK(calls == (captures<where> ? 1 : expected));
}

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was thrown";
}
bool has(const std::string& text, const char* part) {
  CAPTURE(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_ALL_PLACES("turns") {
  for (const int n : {0, 1, 2, test::turns(100)}) check_turns<where, int>(n, n);
  check_turns<where, std::uint8_t>(5, 5);
  check_turns<where, std::uint64_t>(3, 3);
}

TEST_ALL_PLACES("flags: a bool, one of which only high bits are set, one that is computed, a range") {
  using P = typename where::policy;
  const auto data = std::vector<double>{1000};
  auto x = where::put(data);
  using above = pmpp::transform_iterator<const double*, is_above, bool>;
  pmpp::repeat_while(P{}, above(x.data(), is_above{1}), [&](const P& on) { pmpp::transform(on, x, x, half{}); });
  CHECK(only<where, double>(x) == 1000.0 / 1024);

  auto high = where::put(std::vector<std::int64_t>{std::int64_t(1) << 40});
  pmpp::repeat_while(P{}, high, [&](const P& on) { pmpp::fill(on, high, 0); });
  CHECK(only<where, std::int64_t>(high) == 0);

  const bool both[] = {true, false};
  for (const bool start : both) {
    pmpp::device_buffer<bool> flag{1, start};  // the host's memory where there is no CUDA
    auto seen = where::put(std::vector<int>{0});
    pmpp::repeat_while(P{}, flag.data(), [&](const P& on) {
      pmpp::fill(on, seen, 1);
      pmpp::fill(on, flag, false);
    });
    CHECK(only<where, int>(seen) == int(start));
  }
}

TEST_ALL_PLACES("most_turns") {
  using P = typename where::policy;
  for (const std::int64_t most : {0, 1, 4, 9, 10, 11}) {
    CAPTURE(most);
    for (const bool told : {false, true}) {
      auto flag = where::put(std::vector<int>{10});
      auto turns = where::put(std::vector<std::int64_t>{12345});
      pmpp::repeat_while(P{}, flag, [&](const P& on) { pmpp::transform(on, flag, flag, less_one{}); },
                         {.most_turns = most, .turns = told ? turns.data() : nullptr});
      const auto expected = most < 10 ? most : 10;
      CHECK(only<where, int>(flag) == 10 - expected);  // still true where most_turns ended it
      CHECK(only<where, std::int64_t>(turns) == (told ? expected : 12345));
    }
  }
}

TEST_ALL_PLACES("loops in loops") {
  using P = typename where::policy;
  pmpp::workspace w;
  auto rows = where::put(std::vector<int>{4});
  auto cols = where::put(std::vector<int>{0});
  auto cells = where::put(std::vector<int>{0});
  pmpp::repeat_while(with<P>(w), rows, [&](const P& outer) {
    pmpp::transform(outer, rows, cols, less_one{});  // 3, 2, 1, 0
    pmpp::repeat_while(outer, cols,
                       [&](const P& inner) {
                         pmpp::transform(inner, cols, cols, less_one{});
                         pmpp::if_then(inner, cols,
                                       [&](const P& on) { pmpp::transform(on, cells, cells, plus_one{}); });
                       },
                       {.most_turns = 50});
    pmpp::transform(outer, rows, rows, less_one{});
  });
  CHECK(only<where, int>(rows) == 0);
  CHECK(only<where, int>(cells) == 2 + 1);  // all but the last of each row
}

TEST_ALL_PLACES("branches") {
  using P = typename where::policy;
  for (const int start : {0, 1, -3}) {
    CAPTURE(start);
    auto flag = where::put(std::vector<int>{start});
    auto path = where::put(std::vector<int>{0});
    int calls = 0, others = 0;
    pmpp::if_then(
        P{}, flag,
        [&](const P& on) {
          ++calls;
          pmpp::fill(on, flag, 0);  // which does not make the other branch be taken too
          pmpp::fill(on, path, 1);
        },
        [&](const P& on) {
          ++others;
          pmpp::fill(on, flag, 5);
          pmpp::fill(on, path, 2);
        });
    CHECK(only<where, int>(path) == (start != 0 ? 1 : 2));
    CHECK(only<where, int>(flag) == (start != 0 ? 0 : 5));
    CHECK(calls == (captures<where> || start != 0));
    CHECK(others == (captures<where> || start == 0));
    pmpp::if_then(P{}, flag, [&](const P& on) { pmpp::fill(on, path, 3); });
    CHECK(only<where, int>(path) == (start != 0 ? 1 : 3));
  }
}

TEST_ALL_PLACES("an algorithm whose flag is a reduction, with scratch from a workspace") {
  using P = typename where::policy;
  pmpp::workspace w;
  const auto n = static_cast<std::size_t>(test::up_to(20000));
  std::vector<std::int64_t> numbers(n);
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    numbers[i] = 1 + static_cast<std::int64_t>(test::generator()() % 1000);
    std::int64_t steps = 0;
    for (std::int64_t x = numbers[i]; x != 1; x = collatz{}(x)) ++steps;
    longest = std::max(longest, steps);
  }
  auto x = where::put(numbers);
  auto left = where::put(std::vector<int>{1});
  auto turns = where::put(std::vector<std::int64_t>{0});
  pmpp::repeat_while(with<P>(w), left,
                     [&](const P& on) {
                       pmpp::transform(on, x, x, collatz{});
                       pmpp::transform_reduce_into(on, x, left, 0, pmpp::plus{}, is_not_one{});
                     },
                     {.turns = turns.data()});
  CHECK(only<where, std::int64_t>(turns) == std::max<std::int64_t>(longest, 1));
  CHECK(where::get(x) == std::vector<std::int64_t>(n, 1));
}

TEST_ALL_PLACES("what a body throws comes out, and the next call works") {
  using P = typename where::policy;
  auto flag = where::put(std::vector<int>{3});
  auto cells = where::put(std::vector<int>{0});
  const auto fails = [&](const P& on) {
    pmpp::transform(on, cells, cells, plus_one{});
    throw std::runtime_error("of the body");
  };
  const auto counts_down = [&](const P& on) { pmpp::transform(on, flag, flag, less_one{}); };
  CHECK_THROWS_WITH_AS(pmpp::repeat_while(P{}, flag, fails), "of the body", std::runtime_error);
  CHECK(only<where, int>(cells) == (captures<where> ? 0 : 1));  // on a GPU nothing has run
  CHECK_THROWS_AS(pmpp::if_then(P{}, flag, fails, counts_down), std::runtime_error);
  CHECK_THROWS_AS(pmpp::repeat_while(P{}, flag, [&](const P& on) { pmpp::repeat_while(on, flag, fails); }),
                  std::runtime_error);
#if PMPP_CUDA
  if constexpr (captures<where>)  // a body may pass over it, but half a loop does not run
    CHECK_THROWS_AS(
        pmpp::repeat_while(
            P{}, flag, [&](const P& on) { CHECK_THROWS_AS(pmpp::repeat_while(on, flag, fails), std::runtime_error); }),
        pmpp::cuda_error);
#endif
  CHECK(only<where, int>(flag) == 3);
  pmpp::repeat_while(P{}, flag, counts_down);
  CHECK(only<where, int>(flag) == 0);
}

TEST_ALL_PLACES("bad input") {
  using P = typename where::policy;
  auto flag = where::put(std::vector<int>{3});
  int calls = 0;
  const auto body = [&](const P&) { ++calls; };
  const int* const null = nullptr;
  has(message([&] { pmpp::repeat_while(P{}, null, body); }), "pmpp::repeat_while: flag is null");
  has(message([&] { pmpp::if_then(P{}, null, body); }), "pmpp::if_then: flag is null");
  has(message([&] { pmpp::repeat_while(P{}, flag, body, {.most_turns = -2}); }), "most_turns is -2");
  const auto none = where::put(std::vector<int>{});
  CHECK_THROWS_AS(pmpp::repeat_while(P{}, none, body), std::length_error);
  CHECK(calls == 0);
  CHECK(only<where, int>(flag) == 3);
}

TEST_CASE("bodies that cannot be repeated are refused in words") {
  using P = pmpp::device_policy;
  pmpp::workspace w;
  pmpp::device_buffer<int> flag{1, 1}, x{100000, 5}, sum{1, 0};
  const auto refused = [&](const char* part, auto body) {
    CAPTURE(part);
    has(message([&] { pmpp::repeat_while(device.with(w), flag, body, {.most_turns = 2}); }), part);
    has(message([&] { pmpp::captured_graph{device.with(w), body}(); }), part);
  };
  refused("use its twin that ends in _into", [&](const P& on) { return pmpp::reduce(on, x); });
  refused("device.with(w)", [&](const P&) { pmpp::reduce_into(device, x, sum); });
  refused("make the buffer before", [](const P&) { const pmpp::device_buffer<int> b{3}; });
  refused("may not wait", [](const P& on) { pmpp::synchronize(on); });
  refused("may not wait", [](const P& on) { pmpp::synchronize(on.stream); });
  refused("may not wait", [&](const P& on) { return pmpp::to_host(on, x); });
  has(message([&] {
        pmpp::repeat_while(device, flag,
                           [&](const P& on) { pmpp::repeat_while(on, flag, [](const P&) {}, {.most_turns = 3}); });
      }),
      "device.with(w)");
  // All of that is allowed outside of a body, and after one that was refused.
  CHECK(pmpp::reduce(device, x) == 500000);
  pmpp::repeat_while(device.with(w), flag, [&](const P& on) {
    pmpp::reduce_into(on, x, sum);
    pmpp::fill(on, flag, 0);
  });
  pmpp::synchronize(device);
  CHECK(pmpp::to_host(sum)[0] == 500000);
}

TEST_CASE("a captured graph does its work again, on other data and another stream") {
  using P = pmpp::device_policy;
  const pmpp::stream s, other;
  pmpp::workspace w;
  pmpp::device_buffer<int> n{1, 1}, left{1}, steps{1};
  int calls = 0;
  // [graph]
  const auto turn = [&](const P& on) {
    pmpp::transform(on, left, left, less_one{});
    pmpp::transform(on, steps, steps, plus_one{});
  };
  const auto work = [&](const P& on) {
    ++calls;
    pmpp::fill(on, steps, 0);
    pmpp::transform(on, n, left, pmpp::identity{});
    pmpp::repeat_while(on, left, turn, {.most_turns = 20});
  };
  pmpp::captured_graph count_down{device.on(s).with(w), work};
  count_down();  // and again, with another n: one launch each
  // [end]
  CHECK(calls == 1);
  const int starts[] = {3, 0, 17, 100};
  for (const int start : starts) {
    CAPTURE(start);
    pmpp::copy(s, std::vector<int>{start}, n);
    s.synchronize();
    const pmpp::stream& on = start == 17 ? other : s;
    if (start == 17)
      count_down(device.on(other));
    else
      count_down();
    CHECK(pmpp::to_host(on, steps)[0] == std::min(start, 20));
  }
  CHECK(calls == (PMPP_CUDA != 0 ? 1 : 5));

  auto moved = std::move(count_down);
  pmpp::copy(s, std::vector<int>{5}, n);
  moved();
  CHECK(pmpp::to_host(s, steps)[0] == 5);

  // In a loop, which captures it anew.
  pmpp::device_buffer<int> turns{1, 2};
  pmpp::repeat_while(device.on(s).with(w), turns, [&](const P& on) {
    moved(on);
    pmpp::transform(on, steps, n, plus_one{});
    pmpp::transform(on, turns, turns, less_one{});
  });
  CHECK(pmpp::to_host(s, steps)[0] == 6);
}

#if PMPP_CUDA
TEST_CASE("on a stream that is being captured") {
  using P = pmpp::device_policy;
  const pmpp::stream s;
  pmpp::workspace w;
  pmpp::device_buffer<int> n{1}, steps{1, 0};
  const auto where = device.on(s).with(w);
  const auto counts_down = [&](const P& on) {
    pmpp::transform(on, n, n, less_one{});
    pmpp::transform(on, steps, steps, plus_one{});
  };
  const test::captured_graph graph(s, [&] {
    pmpp::fill(where, steps, 0);
    pmpp::repeat_while(where, n, counts_down, {.most_turns = 1000});
    pmpp::transform(where, steps, steps, plus_one{});  // after the loop
  });
  for (const int start : {5, 0, 200}) {
    pmpp::copy(s, std::vector<int>{start}, n);
    graph.replay();
    CHECK(pmpp::to_host(s, steps)[0] == start + 1);
  }

  // An exception leaves no half of a loop in the caller's graph.
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK_THROWS_AS(pmpp::repeat_while(where, n,
                                     [&](const P& on) {
                                       counts_down(on);
                                       throw std::runtime_error("of the body");
                                     }),
                  std::runtime_error);
  cudaGraph_t spoilt = nullptr;
  CHECK(cudaStreamEndCapture(s, &spoilt) != cudaSuccess);
  CHECK(spoilt == nullptr);
  cudaGetLastError();
  pmpp::copy(s, std::vector<int>{2}, n);
  pmpp::repeat_while(where, n, counts_down);
  CHECK(pmpp::to_host(s, n)[0] == 0);
}

TEST_CASE("calls of CUDA's own in a body: what cannot be repeated") {
  using P = pmpp::device_policy;
  const pmpp::stream s;
  pmpp::device_buffer<int> flag{1, 1};
  // Some of them CUDA itself may refuse, in its words.
  const auto refused = [&](auto body) {
    std::string told;
    try {
      pmpp::repeat_while(device.on(s), flag, body, {.most_turns = 3});
    } catch (const std::exception& e) {
      told = e.what();
    }
    CHECK(!told.empty());
    CHECK(cudaGetLastError() == cudaSuccess);
    return told;
  };
  const char* const captured = "pmpp::repeat_while: the body cannot be captured";
  has(refused([](const P& on) { cudaStreamSynchronize(on.stream); }), captured);
  has(refused([](const P& on) { pmpp::check(cudaStreamSynchronize(on.stream), "cudaStreamSynchronize"); }), captured);
  refused([](const P& on) {
    pmpp::check(cudaLaunchHostFunc(
                    on.stream, [](void*) {}, nullptr),
                "cudaLaunchHostFunc");
  });
  refused([](const P& on) {
    void* p = nullptr;
    pmpp::check(cudaMallocAsync(&p, 256, on.stream), "cudaMallocAsync");
    pmpp::check(cudaFreeAsync(p, on.stream), "cudaFreeAsync");
  });
  const std::vector<int> pageable{0};
  refused([&](const P& on) { pmpp::copy(on, pageable, flag); });
  pmpp::repeat_while(device.on(s), flag, [&](const P& on) { pmpp::fill(on, flag, 0); });
  CHECK(pmpp::to_host(s, flag)[0] == 0);
}

TEST_CASE("a loop may be enqueued and forgotten: nothing waits, and its graph lives until it has ended") {
  using P = pmpp::device_policy;
  const pmpp::stream s;
  pmpp::device_buffer<int> n{1, 0};
  pmpp::workspace w(1 << 20);
  const auto counts_down = [&](const P& on) { pmpp::transform(on, n, n, less_one{}); };
  for (int i = 0; i < 20; ++i) {
    pmpp::fill(device.on(s), n, 500);
    pmpp::captured_graph{device.on(s).with(w), [&](const P& on) { pmpp::repeat_while(on, n, counts_down); }}();
    pmpp::fill(device.on(s), n, 500);
    pmpp::repeat_while(device.on(s), n, counts_down);
  }
  CHECK(pmpp::to_host(s, n)[0] == 0);
}
#endif
