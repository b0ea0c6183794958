// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: three phases with thread coarsening (PMPP, section 11.5). A thread owns several adjacent elements:
//
//   1. it scans them by itself, one after the other;
//   2. Kogge-Stone over the sums of the threads, one element a thread;
//   3. each thread adds what the threads before it have summed up.
//
// Barriers and additions per element of phase 2 shrink by the number of elements a thread owns. The section comes and
// goes as whole lines, by way of shared memory, where each thread then finds its own elements side by side. An odd
// number of them puts the lanes of a warp in different banks of shared memory.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

/// The block's part, which the next rungs use too.
struct coarsened_section {
  static constexpr int threads = 256, items = 15, size = threads * items;
  struct shared {
    int element[size];
    int sum[2][threads];
  };

  /// Scans n elements, at most `size`, into shared memory; the rest of it repeats their sum, which is returned.
  template <class Block>
  PMPP_HOST_DEVICE static int scan(Block& block, shared& memory, const int* in, std::int64_t n) {
    const auto element = pmpp::simt::watch(block, memory.element, "element");
    const auto sums = pmpp::simt::watch(block, memory.sum, "sum");
    const int t = block.thread(), own = t * items;
    for (int k = t; k < size; k += threads) element[k] = k < n ? in[k] : 0;
    block.sync();
    for (int k = 1; k < items; ++k) element[own + k] = element[own + k] + element[own + k - 1];  // phase 1
    int now = 0;
    sums[now][t] = element[own + items - 1];
    block.sync();
    for (int distance = 1; distance < threads; distance *= 2) {  // phase 2
      const int sum = sums[now][t];
      sums[1 - now][t] = t >= distance ? sums[now][t - distance] + sum : sum;
      now = 1 - now;
      block.sync();
    }
    if (t > 0)
      for (int k = 0; k < items; ++k) element[own + k] = element[own + k] + sums[now][t - 1];  // phase 3
    block.sync();
    return sums[now][threads - 1];
  }

  /// Writes the scanned section after `carry`.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const shared& memory, int* out, std::int64_t n, int carry) {
    const auto element = pmpp::simt::watch(block, memory.element, "element");
    for (int k = block.thread(); k < size; k += threads)
      if (k < n) out[k] = carry + element[k];
  }
};

struct coarsened {
  static constexpr int threads = coarsened_section::threads;
  using shared = coarsened_section::shared;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const int* in, int* out, std::int64_t n) const {
    int carry = 0;  // sum of the sections before
    for (std::int64_t first = 0; first < n; first += coarsened_section::size) {
      const int sum = coarsened_section::scan(block, memory, in + first, n - first);
      coarsened_section::write(block, memory, out + first, n - first, carry);
      carry += sum;
      block.sync();  // the next section overwrites what the others may still read
    }
  }
};

template <class Policy>
void scan_coarsened(const Policy& where, const int* in, int* out, std::int64_t n) {
  pmpp::launch(where, 1, coarsened{}, in, out, n);
}
