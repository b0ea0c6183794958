// SPDX-License-Identifier: Apache-2.0
//
// Radix select: a threshold such that at least k keys do not lie after it, and few more.
//
// Keys are numbers, read as unsigned codes of the same order (sort/radix.hpp). A pass counts the digits (8 bits, from the
// highest) of all keys that agree with the digits known so far; its last block finds the digit in which key number k
// lies. As soon as there are no more than twice k keys up to the end of that digit, the rest is not needed: the
// passes that follow end at once. Random keys take one or two passes. (PMPP ch. 9 and 13; Alabi et al., 2012.)
#pragma once

#include <cstdint>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/radix.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What the passes find out.
struct key_threshold {
  std::uint64_t known;  ///< the digits of key number k that are known, as a number
  std::uint64_t code;   ///< if found: no key with a greater code is among the first k
  std::int64_t before;  ///< keys with lower digits
  bool found;
};
/// In zeroed state: keys with each digit, and how many blocks have counted.
struct digit_counts {
  std::uint64_t count[block::radix_digits];
  unsigned blocks_done;
};

template <class Code, class In>
struct count_digits_kernel {
  static constexpr int threads = 512, items = 8, tile = threads * items, min_blocks = 2;

  struct shared {
    unsigned count[block::radix_digits];
    bool last;
  };
  struct arguments {
    In in;
    item_count count;
    std::int64_t k;
    int pass;
    digit_counts* counts;
    key_threshold* threshold;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    if (a.pass > 0 && a.threshold->found) return;
    const std::int64_t n = a.count.get();
    const std::uint64_t known = a.pass > 0 ? a.threshold->known : 0;
    const int shift = Code::width - 8 * (a.pass + 1);
    for (int d = block.thread(); d < block::radix_digits; d += threads) memory.count[d] = 0;
    block.sync();
    for (std::int64_t first = block.index() * tile; first < n; first += block.count() * tile) {
      std::uint64_t code[items];
      for (int k = 0; k < items; ++k) {
        const std::int64_t i = first + k * threads + block.thread();
        code[k] = i < n ? std::uint64_t(Code::encode(static_cast<typename Code::key>(a.in[i]))) : 0;
      }
      for (int k = 0; k < items; ++k)
        if (first + k * threads + block.thread() < n && (a.pass == 0 || code[k] >> (shift + 8) == known))
          simt::atomic_add(&memory.count[code[k] >> shift & 255], 1u);
    }
    block.sync();
    for (int d = block.thread(); d < block::radix_digits; d += threads)
      if (memory.count[d] != 0) simt::add_global(&a.counts->count[d], memory.count[d]);
    block.sync();
    if (block.thread() == 0) {
      const unsigned others = static_cast<unsigned>(block.count()) - 1;
      memory.last = simt::atomic_increment_wrap<simt::order::acq_rel>(&a.counts->blocks_done, others) == others;
    }
    block.sync();
    if (memory.last && block.warp() == 0) choose(block, a, n, known, shift);
  }

private:
  /// The digit of key number k; leaves the counts zero. By one warp.
  template <class Block>
  PMPP_HOST_DEVICE static void choose(Block& block, const arguments& a, std::int64_t n, std::uint64_t known,
                                      int shift) {
    constexpr int of_lane = block::radix_digits / simt::warp_size;
    std::int64_t count[of_lane], sum = 0;
    for (int j = 0; j < of_lane; ++j) {
      std::uint64_t* const from = &a.counts->count[block.lane() * of_lane + j];
      count[j] = static_cast<std::int64_t>(simt::load(from));
      simt::store(from, 0u);
      sum += count[j];
    }
    std::int64_t before = block::warp_inclusive_scan(block, sum, plus{}) - sum;
    if (a.pass > 0) before += a.threshold->before;
    block.sync_warp();  // all have read what one of them writes
    if (n <= a.k) {
      if (block.lane() == 0) *a.threshold = {0, ~std::uint64_t(0), 0, true};
      return;
    }
    for (int j = 0; j < of_lane; ++j) {
      if (before < a.k && before + count[j] >= a.k) {
        const std::uint64_t digits = known << 8 | static_cast<unsigned>(block.lane() * of_lane + j);
        const bool enough = before + count[j] <= 2 * a.k || shift == 0;
        *a.threshold = {digits, (digits << shift) + ((std::uint64_t(1) << shift) - 1), before, enough};
      }
      before += count[j];
    }
  }
};

/// Whether a key does not lie after the threshold; for elements that are pairs of a key and an index.
template <class Code>
struct up_to_threshold {
  const key_threshold* threshold;
  template <class Element>
  PMPP_HOST_DEVICE bool operator()(const Element& x) const {
    return std::uint64_t(Code::encode(static_cast<typename Code::key>(x.first))) <= threshold->code;
  }
};

/// Enqueues the search. state: a digit_counts, zero.
template <class Code, class P, class In>
void find_threshold(const P& where, const In& in, const item_count& count, std::int64_t k, digit_counts* state,
                    key_threshold* threshold) {
  using kernel = count_digits_kernel<Code, In>;
  const std::int64_t blocks = min(ceil_div(count.bound, std::int64_t(kernel::tile)),
                                  std::int64_t(2 * kernel::min_blocks) * machine_of(where).multiprocessors);
  for (int pass = 0; pass < Code::width / 8; ++pass)
    launch(where, blocks, kernel{}, typename kernel::arguments{in, count, k, pass, state, threshold});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
