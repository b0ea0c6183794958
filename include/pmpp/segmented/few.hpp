// SPDX-License-Identifier: Apache-2.0
//
// Sums of segments of few elements, where latency is all: little code, and two rounds of loads that wait for each other. A warp
// folds a segment, each lane adjacent elements, and then the lanes by a tree. No shared memory, no barrier. Also what the kernels of
// other short inputs have in common (direct.hpp, direct_scan.hpp).
#pragma once

#include <cstdint>

#include <pmpp/block/reduce.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// One of `warps` warps, for its share of get(0) ... get(n - 1) in order: adjacent rows, Rows at a time. Lane 0 gets the result. The first
/// ceil_div(n, share_of_rows(n, warps)) warps have a share.
PMPP_HOST_DEVICE constexpr int share_of_rows(int n, int warps) {
  return max(1, ceil_div(n, simt::warp_size * warps)) * simt::warp_size;
}
template <class A, int Rows, class Block, class Op, class Get>
PMPP_HOST_DEVICE A fold_rows(Block& block, const Op& op, int n, int warp, int warps, const Get& get) {
  constexpr int lanes = simt::warp_size;
  const int share = share_of_rows(n, warps), first = warp * share, end = min(n, first + share);
  A sum{};
  const auto add = [&](int i, const A& x) { sum = i == first ? x : static_cast<A>(op(sum, x)); };
  for (int i = first; i < end; i += Rows * lanes) {
    A x[Rows]{};
    for (int k = 0; k < Rows; ++k)
      if (const int j = i + k * lanes + block.lane(); j < end) x[k] = static_cast<A>(get(j));
    if (end - i >= Rows * lanes) {
      add(i, block::warp_reduce_rows(block, x, op));
      continue;
    }
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // else a kernel would have twice the code
#endif
    for (int j = i; j < end; j += lanes) {
      add(j, block::warp_reduce(block, x[0], op, min(lanes, end - j)));
      for (int k = 0; k + 1 < Rows; ++k) x[k] = x[k + 1];
    }
  }
  return sum;
}

/// Segments that threads of one warp take side by side, 2^so many: where segments are many, their offsets, elements and results are to
/// be in few sectors of memory; where they are few, neighbours, which may all be long, had better go to different blocks.
PMPP_HOST_DEVICE constexpr int log_neighbours(std::int64_t segments) {
  return max(0, min(3, ceil_log2(segments) - 15));
}

/// Which segment, and its elements [begin, end).
struct numbered_segment {
  std::int64_t index, begin, end;
  PMPP_HOST_DEVICE std::int64_t length() const { return end - begin; }
};

/// The segment of an element, by a warp, as block::warp_search, of which the offsets that are seen are kept. It is as good as none, an empty
/// one, if those left together have no more than `alone` elements: where lengths are even, after a step or two.
template <class Block, class Offsets>
PMPP_HOST_DEVICE numbered_segment crossing_segment(Block& block, const Offsets& offsets, std::int64_t segments,
                                                   std::int64_t element, std::int64_t alone) {
  constexpr int lanes = simt::warp_size;
  value_of<Offsets> begin = offsets[0], end{};  // of those left, if they are known to end
  std::int64_t index = 0;
  bool ends = false;
  const auto length = [&] { return static_cast<std::int64_t>(end) - static_cast<std::int64_t>(begin); };
  for (std::int64_t after = segments; after > index;) {
    const std::int64_t piece = (after - index + (lanes - 1)) >> floor_log2(lanes);
    const std::int64_t last = index + (block.lane() + 1) * piece - 1;  // of the lane's piece
    value_of<Offsets> seen{};
    if (last < after) seen = offsets[last + 1];
    const int pieces = block.warp_add(last < after && static_cast<std::int64_t>(seen) <= element ? 1 : 0);
    if (pieces > 0) begin = block.shuffle(seen, pieces - 1);
    index += pieces * piece;
    if (after > index + piece - 1) {
      after = index + piece - 1;
      end = block.shuffle(seen, min(pieces, lanes - 1));
      ends = true;
    }
    if (ends && length() <= alone) break;
  }
  const bool found = index < segments && length() > alone;
  return {index, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(found ? end : begin)};
}

template <class In, class Offsets, class Out, class Op, class A>
struct few_segmented_reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, warps = threads / simt::warp_size, batch = 8;

  struct arguments {
    In in;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t s = block.index() * warps + block.warp();
    if (s >= a.offset_count.get() - 1) return;
    const auto begin = static_cast<std::int64_t>(a.offsets[s]);
    const auto n = static_cast<unsigned>(static_cast<std::int64_t>(a.offsets[s + 1]) - begin);
    const int share = max(1, static_cast<int>((n + simt::warp_size - 1) / simt::warp_size)),
              first = block.lane() * share, end = min(static_cast<int>(n), first + share);
    A sum{};
    for (int i = first; i < end; i += batch) {
      A x[batch]{};
      for (int k = 0; k < batch; ++k)
        if (i + k < end) x[k] = static_cast<A>(a.in[begin + i + k]);
      for (int k = 0; k < batch; ++k)
        if (i + k < end) sum = i + k == first ? x[k] : static_cast<A>(a.op(sum, x[k]));
    }
    const unsigned busy = block.ballot(first < end);
    sum = block::warp_reduce(block, sum, a.op, max(1, static_cast<int>(simt::count_bits(busy))));
    if (block.lane() == 0) a.out[s] = static_cast<value_of<Out>>(n > 0 ? static_cast<A>(a.op(a.init, sum)) : a.init);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
