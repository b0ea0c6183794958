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
  tune::sweep<tuning, tuning{}, tuning{.radix = {.items = 40}},
              tuning{.together = {.threads = 384}, .radix = {.threads = 384}},
              tuning{.together = {.threads = 256}, .radix = {.threads = 256, .items = 40, .short_items = 20}},
              tuning{.radix = {.items = 32, .short_items = 20}}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("sort_tuning", [](const tuning& t) {
    return ".together = {" + tune::field("threads", t.together.threads) + "}, .radix = {" +
           tune::field("threads", t.radix.threads) + ", " + tune::field("items", t.radix.items) + ", " +
           tune::field("short_items", t.radix.short_items) + "}";
  });
}
