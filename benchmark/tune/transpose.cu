// SPDX-License-Identifier: Apache-2.0
//
// Candidates of transpose_tuning, on matrices of 4- and 8-byte elements of any shape.
#include "tune.hpp"

#include <pmpp/transpose.hpp>

using tuning = pmpp::transpose_tuning;

template <class T, class Sweep>
void add_cases(tune::bench& b, Sweep& sweep) {
  for (const std::int64_t n : b.sizes(6, 16, 27)) {
    const auto rows = static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution<double>(4, 14)(b.random)));
    const std::int64_t cols = n / rows + 1;
    const auto in = b.data<T>(rows * cols);
    pmpp::device_buffer<T> out(rows * cols);
    const pmpp::matrix_view<const T> from(in.data(), rows, cols);
    const pmpp::matrix_view<T> to(out.data(), cols, rows);
    sweep.add([&]<tuning Candidate> { pmpp::transpose<Candidate>(b.device(), from, to); });
  }
}

int main(int argc, char** argv) {
  tune::bench b(argc, argv);
  tune::sweep<tuning, tuning{}, tuning{.vectors = 4}, tuning{.threads = 128}, tuning{.threads = 512, .vectors = 4},
              tuning{.items = 4}, tuning{.items = 16}>
      sweep{b};
  add_cases<std::int32_t>(b, sweep);
  add_cases<std::int64_t>(b, sweep);
  sweep.finish("transpose_tuning", [](const tuning& t) {
    return tune::field("threads", t.threads) + ", " + tune::field("vectors", t.vectors) + ", " +
           tune::field("items", t.items);
  });
}
