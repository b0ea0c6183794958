// SPDX-License-Identifier: Apache-2.0
//
// Candidates of transform_tuning, on sums of two arrays of 4- and 8-byte elements.
#include "tune.hpp"

#include <pmpp/transform.hpp>

using tuning = pmpp::transform_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6)) {
    const auto x = b.data<T>(n), y = b.data<T>(n);
    pmpp::device_buffer<T> out(n);
    sweep.add([&]<tuning Candidate> { pmpp::transform<Candidate>(b.device(), x, y, out, pmpp::plus{}); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.threads = 128}, tuning{.threads = 512}, tuning{.vectors_per_thread = 2},
              tuning{.vectors_per_thread = 4}, tuning{.threads = 512, .vectors_per_thread = 2},
              tuning{.threads = 128, .vectors_per_thread = 2}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("transform_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("vectors_per_thread", t.vectors_per_thread);
  });
}
