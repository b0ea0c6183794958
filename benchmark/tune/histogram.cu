// SPDX-License-Identifier: Apache-2.0
//
// Candidates of histogram_tuning, on 256 and 4096 bins.
#include "tune.hpp"

#include <pmpp/histogram.hpp>

using tuning = pmpp::histogram_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(4))
    for (const int bins : {256, 4096}) {
      const auto in = b.data<T>(n);
      pmpp::device_buffer<std::uint32_t> counts(bins);
      const T high = T(std::int64_t(1) << 31 >> (sizeof(T) == 4 ? 1 : 0));
      sweep.add([&]<tuning Candidate> { pmpp::histogram_even<Candidate>(b.device(), in, counts, T(0), high); });
    }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.threads = 512}, tuning{.threads = 768}, tuning{.rows = 2}, tuning{.rows = 4},
              tuning{.threads = 1024, .rows = 3, .shared_bytes = 96 * 1024}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("histogram_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("rows", t.rows) + ", " +
           tune::field("shared_bytes", t.shared_bytes);
  });
}
