// SPDX-License-Identifier: Apache-2.0
//
// Rung 7. More bins than the shared memory of a block has room for: 65,536 counters take 256 KB. Eight blocks of a cluster
// hold an eighth each, and a thread counts in the block whose bin it is, by an atomic on distributed shared memory. All
// copies but one a cluster are saved, and so are the atomics on global memory that rungs 1 and 2 wait for.
// (CUDA C++ programming guide, "Distributed shared memory".)
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>

namespace ladder {

inline constexpr int word_bins = 65536;

/// Words of 16 bits, each a bin of its own, counted in global memory as in rung 2.
struct words_global {
  static constexpr const char* name = "global atomics";
  static constexpr int threads = 256;
  static std::int64_t blocks(int processors) { return 8 * processors; }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const std::uint16_t* words, std::int64_t n, unsigned* counts) const {
    const std::int64_t stride = block.count() * threads;
    for (std::int64_t i = block.index() * threads + block.thread(); i < n; i += stride)
      pmpp::simt::atomic_add(counts + words[i], 1u);
  }
};

// [distributed]
struct words_distributed {
  static constexpr const char* name = "distributed";
  static constexpr int threads = 512, cluster = 8, bins_of_block = word_bins / cluster;
  static std::int64_t blocks(int processors) { return pmpp::round_up(2 * processors, cluster); }
  struct shared {
    unsigned count[bins_of_block];  // bins rank * bins_of_block and on
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const std::uint16_t* words, std::int64_t n,
                                   unsigned* counts) const {
    const auto all = block.cluster();
    for (int i = block.thread(); i < bins_of_block; i += threads) memory.count[i] = 0;
    all.sync();  // each block has begun, and its counters are zero
    const std::int64_t stride = block.count() * threads;
    for (std::int64_t i = block.index() * threads + block.thread(); i < n; i += stride) {
      const int bin = words[i];
      pmpp::simt::atomic_add(all.map_shared(memory.count, bin / bins_of_block) + bin % bins_of_block, 1u);
    }
    all.sync();  // no block counts here any more
    unsigned* const own = counts + all.rank() * bins_of_block;
    for (int i = block.thread(); i < bins_of_block; i += threads)
      if (memory.count[i] > 0) pmpp::simt::atomic_add(own + i, memory.count[i]);
  }
};
// [end]

}  // namespace ladder
