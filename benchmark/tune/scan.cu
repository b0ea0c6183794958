// SPDX-License-Identifier: Apache-2.0
//
// Candidates of scan_tuning, on sums of 4- and 8-byte elements.
#include "tune.hpp"

#include <pmpp/scan.hpp>

using tuning = pmpp::scan_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6)) {
    const auto in = b.data<T>(n);
    pmpp::device_buffer<T> out(n);
    sweep.add([&]<tuning Candidate> { pmpp::inclusive_scan<Candidate>(b.device(), in, out); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.threads = 256, .vectors = 17}, tuning{.threads = 512, .vectors = 13},
              tuning{.threads = 384, .vectors = 13}, tuning{.threads = 384, .vectors = 9, .blocks = 2},
              tuning{.threads = 256, .vectors = 11, .blocks = 2}, tuning{.threads = 256, .vectors = 7, .blocks = 3}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("scan_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("vectors", t.vectors) + ", " +
           tune::field("blocks", t.blocks);
  });
}
