// SPDX-License-Identifier: Apache-2.0
//
// Candidates of sort_tuning, its part for numbers, which go by digits.
#include "tune.hpp"

#include <pmpp/memory/copy.hpp>
#include <pmpp/sort.hpp>

using tuning = pmpp::sort_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(5)) {
    const auto in = b.data<T>(n);
    pmpp::device_buffer<T> keys(n);
    sweep.add([&]<tuning Candidate> {
      pmpp::copy(b.device(), in, keys);
      pmpp::sort<Candidate>(b.device(), keys);
    });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.radix_items = 40}, tuning{.radix_threads = 384},
              tuning{.radix_threads = 256, .radix_items = 40, .radix_small_items = 20},
              tuning{.radix_items = 32, .radix_small_items = 20}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("sort_tuning", [](const tuning& t) {
    return tune::field("radix_threads", t.radix_threads) + ", " + tune::field("radix_items", t.radix_items) + ", " +
           tune::field("radix_small_items", t.radix_small_items);
  });
}
