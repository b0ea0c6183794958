// SPDX-License-Identifier: Apache-2.0
//
// What pmpp::launch costs beside <<<>>>: the host's time for each call that only enqueues, and the device's time of an
// empty kernel between two events. A kernel with 8 bytes of arguments and one with 256.
#include <string>

#include <pmpp/launch.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject, bench::timer;

struct large {
  std::int64_t words[32];
};

/// Does nothing, in a way that the compiler cannot know.
struct idle_kernel {
  static constexpr int threads = 256;
  template <class Block, class Args>
  PMPP_HOST_DEVICE void operator()(Block&, int* out, const Args&) const {
    if (out != nullptr) *out = 1;
  }
};
template <class Args>
__global__ void idle_function(int* out, Args) {
  if (out != nullptr) *out = 1;
}

template <class Args>
void add_launches(const std::string& name, unsigned blocks, timer clock) {
  bench::add(name, blocks, 0, [=](int) {
    const Args args{};
    int* const none = nullptr;
    subject s;
    s.contenders = {
        {"pmpp", [=](int) { pmpp::launch(bench::device(), std::int64_t(blocks), idle_kernel{}, none, args); }},
        {"<<<>>>", [=](int) { idle_function<<<blocks, 256, 0, bench::here().stream>>>(none, args); }},
        {"pmpp::launch of a __global__", [=](int) {
           pmpp::launch(bench::device(), pmpp::grid{blocks, 256}, idle_function<Args>, none, args);
         }}};
    s.clock = clock;
    if (clock == timer::host) s.batch = 64;
    return s;
  });
}

void add_cases() {
  for (const unsigned blocks : {1u, 132u, 1056u}) {
    add_launches<int>("launch/between events", blocks, timer::events);
    add_launches<int>("launch/host, small arguments", blocks, timer::host);
  }
  add_launches<large>("launch/host, 256 bytes of arguments", 132, timer::host);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
