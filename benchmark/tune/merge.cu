// SPDX-License-Identifier: Apache-2.0
//
// Candidates of merge_tuning, on two sorted arrays of 4- and 8-byte elements.
#include "tune.hpp"

#include <pmpp/merge.hpp>
#include <pmpp/sort.hpp>

using tuning = pmpp::merge_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6)) {
    auto x = b.data<T>(n / 2), y = b.data<T>(n - n / 2);
    pmpp::sort(b.device(), x);
    pmpp::sort(b.device(), y);
    pmpp::device_buffer<T> out(n);
    sweep.add([&]<tuning Candidate> { pmpp::merge<Candidate>(b.device(), x, y, out); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.bytes = 100}, tuning{.bytes = 84}, tuning{.threads = 256},
              tuning{.threads = 256, .bytes = 100}, tuning{.threads = 256, .bytes = 68, .resident = 1024},
              tuning{.waves = 4}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("merge_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("bytes", t.bytes) + ", " +
           tune::field("resident", t.resident) + ", " + tune::field("waves", t.waves);
  });
}
