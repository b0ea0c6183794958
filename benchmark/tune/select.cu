// SPDX-License-Identifier: Apache-2.0
//
// Candidates of select_tuning, on copies of half of the elements, of 4 and 8 bytes.
#include "tune.hpp"

#include <pmpp/select.hpp>

using tuning = pmpp::select_tuning;

struct is_odd {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    return x % 2 != 0;
  }
};

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6)) {
    const auto in = b.data<T>(n);
    pmpp::device_buffer<T> out(n);
    pmpp::device_buffer<std::int64_t> count(1);
    sweep.add([&]<tuning Candidate> { pmpp::copy_if_into<Candidate>(b.device(), in, out, count, is_odd{}); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.threads = 384, .rows = 16}, tuning{.threads = 512, .rows = 12},
              tuning{.threads = 384, .rows = 8, .blocks = 2}, tuning{.threads = 320, .rows = 10, .blocks = 2},
              tuning{.threads = 256, .rows = 8, .blocks = 3}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("select_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("rows", t.rows) + ", " +
           tune::field("blocks", t.blocks);
  });
}
