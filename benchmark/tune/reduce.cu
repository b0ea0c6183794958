// SPDX-License-Identifier: Apache-2.0
//
// Candidates of reduce_tuning, on sums of 4- and 8-byte elements.
#include "tune.hpp"

#include <pmpp/reduce.hpp>

using tuning = pmpp::reduce_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6)) {
    const auto in = b.data<T>(n);
    pmpp::device_buffer<std::int64_t> out(1);
    sweep.add([&]<tuning Candidate> { pmpp::reduce_into<Candidate>(b.device(), in, out, std::int64_t(0)); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.blocks_per_processor = 8},
              tuning{.threads = 512, .blocks_per_processor = 2, .min_blocks = 2},
              tuning{.rows_in_flight = 4, .blocks_per_processor = 6},
              tuning{.rows_in_flight = 12, .blocks_per_processor = 3},
              tuning{.threads = 128, .blocks_per_processor = 8, .min_blocks = 8}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("reduce_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("rows_in_flight", t.rows_in_flight) + ", " +
           tune::field("blocks_per_processor", t.blocks_per_processor) + ", " + tune::field("min_blocks", t.min_blocks);
  });
}
