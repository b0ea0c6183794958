// SPDX-License-Identifier: Apache-2.0
//
// What stands around the algorithms in a program: streams, events, a workspace, errors.
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

int main() {
  const int n = 1 << 20;
  bool right = true;

  // [streams]
  // Two pieces of work that do not wait for each other, and one that waits for both.
  const pmpp::stream left, right_hand;
  pmpp::device_buffer<int> a{n, left}, b{n, right_hand};  // memory in the order of a stream, from a pool
  pmpp::fill(pmpp::device.on(left), a, 3);
  pmpp::fill(pmpp::device.on(right_hand), b, 4);
  pmpp::event b_is_filled;
  b_is_filled.record(right_hand);
  left.wait(b_is_filled);  // work enqueued on `left` from here on; the host does not wait
  pmpp::transform(pmpp::device.on(left), a, b, a, pmpp::multiplies{});
  // [end]

  // [workspace]
  // Scratch from a workspace: the first call takes memory, the others find it there.
  pmpp::workspace memory;
  const auto where = pmpp::device.on(left).with(memory);
  pmpp::device_buffer<long long> sums{3};
  pmpp::event start, stop;
  start.record(left);
  for (int i = 0; i < 3; ++i) pmpp::reduce_into(where, a, sums.begin() + i, 0LL);  // only enqueues
  stop.record(left);
  const std::vector<long long> on_host = pmpp::to_host(left, sums);  // waits for `left`, and for nothing else
  const double milliseconds = pmpp::event::elapsed_ms(start, stop);
  // [end]
  for (const long long sum : on_host) right = right && sum == 12LL * n;
  std::fprintf(stderr, "three sums of %d elements: %.3f ms\n", n, milliseconds);

  // [errors]
  // A call that is wrong throws before anything runs, and says what it was given.
  std::vector<long long> too_short(2);
  try {
    pmpp::transform(pmpp::host, on_host, too_short, pmpp::identity{});
  } catch (const std::length_error& e) {
    std::printf("%s\n", e.what());
  }
  // Memory that is not there: the library stays usable.
  try {
    const pmpp::device_buffer<char> all{std::numeric_limits<long>::max() / 2};
  } catch (const pmpp::out_of_memory& e) {
    std::printf("asked for %zu bytes, which are not there\n", e.asked_bytes());
  }
  // [end]
  right = right && pmpp::reduce(where, b) == 4 * n;
  return right ? 0 : 1;
}
// Output:
//   pmpp::transform: out has room for 2 elements, needs 3
//   asked for 4611686018427387903 bytes, which are not there
