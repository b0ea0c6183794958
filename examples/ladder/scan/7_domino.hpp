// SPDX-License-Identifier: Apache-2.0
//
// Rung 7: one pass, domino style (PMPP, section 11.7; Yan, Long and Zhang, StreamScan, 2013).
//
//   1. A block takes a number: the section it scans. Numbers are given out in the order in which blocks start, so that
//      a block only ever waits for blocks that run already. blockIdx promises no such order.
//   2. It scans the section in shared memory.
//   3. One thread waits until the block before has raised its flag, reads what that has published, adds the sum of its
//      own section, publishes the result and raises the next flag. One block after the other falls, as dominoes do.
//   4. The block adds what came before, and writes its section.
//
// Each element is read once and written once. The flag is raised with release and read with acquire, so that whoever
// sees the flag sees the sum. The row of dominoes is what is left of the sequential loop: it may set the pace.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transform.hpp>

#include "3_coarsened.hpp"

struct domino {
  static constexpr int threads = coarsened_section::threads;
  struct shared {
    coarsened_section::shared section;
    std::int64_t number;
    int before;
  };

  /// flags[0] counts the blocks that have started; flags[i + 1] says that sums[i], of sections 0 to i, is there.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n, int* sums,
                                   int* flags) const {
    if (block.thread() == 0) memory.number = pmpp::simt::atomic_add(&flags[0], 1);
    block.sync();
    const std::int64_t number = memory.number, first = number * coarsened_section::size;
    const int sum = coarsened_section::scan(block, memory.section, in + first, n - first);
    if (block.thread() == 0) {
      int before = 0;
      if (number > 0) {
        while (pmpp::simt::load<pmpp::simt::order::acquire>(&flags[number]) == 0) block.spin();
        before = pmpp::simt::load(&sums[number - 1]);
      }
      pmpp::simt::store(&sums[number], before + sum);
      pmpp::simt::store<pmpp::simt::order::release>(&flags[number + 1], 1);
      memory.before = before;
    }
    block.sync();
    coarsened_section::write(block, memory.section, out + first, n - first, memory.before);
  }
};

/// \pre sums has room for one number a section, flags for one more
template <class Policy>
void scan_by_dominoes(const Policy& where, const int* in, int* out, std::int64_t n, int* sums, int* flags) {
  const std::int64_t sections = pmpp::ceil_div(n, std::int64_t(coarsened_section::size));
  pmpp::fill(where, flags, flags + sections + 1, 0);
  pmpp::launch(where, sections, domino{}, in, out, n, sums, flags);
}
