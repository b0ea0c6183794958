// SPDX-License-Identifier: Apache-2.0
//
// Rung 6: the whole GPU, by three kernels (PMPP, section 11.6: segmented scan; scan-then-propagate).
//
//   1. Each block scans a section of its own and writes down the sum of it.
//   2. One block scans these sums.
//   3. Each block adds to its section the sum of all sections before.
//
// Between blocks there is no barrier but the end of a kernel: hence three. Step 3 reads and writes everything again, so
// that four accesses to memory an element take the place of two.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>

#include "3_coarsened.hpp"

struct scan_sections {
  static constexpr int threads = coarsened_section::threads;
  using shared = coarsened_section::shared;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n,
                                   int* sums) const {
    const std::int64_t first = block.index() * coarsened_section::size;
    const int sum = coarsened_section::scan(block, memory, in + first, n - first);
    coarsened_section::write(block, memory, out + first, n - first, 0);
    if (block.thread() == 0) sums[block.index()] = sum;
  }
};

struct add_sums_before {
  static constexpr int threads = coarsened_section::threads;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* out, std::int64_t n, const int* sums) const {
    const std::int64_t section = block.index() + 1;  // the first one has nothing before it
    const int before = sums[section - 1];
    for (int k = block.thread(); k < coarsened_section::size; k += threads)
      if (section * coarsened_section::size + k < n) out[section * coarsened_section::size + k] += before;
  }
};

/// \pre sums has room for one number a section
template <class Policy>
void scan_by_three_kernels(const Policy& where, const int* in, int* out, std::int64_t n, int* sums) {
  const std::int64_t sections = pmpp::ceil_div(n, std::int64_t(coarsened_section::size));
  if (sections == 0) return;
  pmpp::launch(where, sections, scan_sections{}, in, out, n, sums);
  pmpp::launch(where, 1, coarsened{}, sums, sums, sections);  // in place: a section is read before it is written
  pmpp::launch(where, sections - 1, add_sums_before{}, out, n, sums);
}
