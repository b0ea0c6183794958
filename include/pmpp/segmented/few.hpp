// SPDX-License-Identifier: Apache-2.0
//
// Sums and scans of segments of few elements, where latency is all: little code, and two rounds of loads that wait for each other.
//
//   Sums: a warp folds a segment, each lane adjacent elements, and then the lanes by a tree. No shared memory, no barrier.
//   Scans: one block has all elements in registers, a thread a few adjacent ones. Threads mark where segments begin, a byte an
//   element; they scan from mark to mark, and what they end with is joined (block/segmented_scan.hpp). Three barriers.
#pragma once

#include <cstdint>

#include <pmpp/block/reduce.hpp>
#include <pmpp/block/segmented_scan.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
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
    const auto n = static_cast<int>(static_cast<std::int64_t>(a.offsets[s + 1]) - begin);
    const int share = max(1, ceil_div(n, simt::warp_size)), first = block.lane() * share, end = min(n, first + share);
    A sum{};
    for (int i = first; i < end; i += batch) {
      A x[batch]{};
      for (int k = 0; k < batch; ++k)
        if (i + k < end) x[k] = static_cast<A>(a.in[begin + i + k]);
      for (int k = 0; k < batch; ++k)
        if (i + k < end) sum = i + k == first ? x[k] : static_cast<A>(a.op(sum, x[k]));
    }
    sum = block::warp_reduce(block, sum, a.op, max(1, ceil_div(n, share)));
    if (block.lane() == 0) a.out[s] = static_cast<value_of<Out>>(n > 0 ? static_cast<A>(a.op(a.init, sum)) : a.init);
  }
};

template <class In, class Offsets, class Out, class Op, class A, bool Exclusive>
struct few_segmented_scan_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  /// Elements of a thread at most; threads of a block, and elements, at most.
  static constexpr int items = max(1, min(8, 32 / int(sizeof(A)))), most_threads = 1024, tile = most_threads * items,
                       threads = most_threads;

  struct shared {
    std::uint8_t marks[tile];
    block::parts_memory<A> parts;
  };
  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;  ///< of an exclusive scan
  };

  /// Threads for so many elements and offsets: one for each of few; more have several, so that fewer warps are to be joined.
  static int threads_for(std::int64_t elements, std::int64_t offsets) {
    const std::int64_t wanted =
        max(ceil_div(max(elements, offsets), std::int64_t(items)), min(elements, std::int64_t(256)));
    return static_cast<int>(min(std::int64_t(most_threads), round_up(wanted, std::int64_t(simt::warp_size))));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const int n = static_cast<int>(a.count.get()), offsets = static_cast<int>(a.offset_count.get());
    const int each = ceil_div(n, block.threads()), first = block.thread() * each;
    const auto offset = [&](int s) { return static_cast<int>(a.offsets[s]); };
    A y[items]{};
    for (int k = 0; k < items; ++k)
      if (k < each && first + k < n) y[k] = static_cast<A>(a.in[first + k]);
    const int from = offsets > 0 ? offset(0) : 0, to = offsets > 0 ? offset(offsets - 1) : 0;
    for (int i = block.thread(); i < n; i += block.threads()) memory.marks[i] = 0;
    block.sync();
    constexpr int batch = 4;
    for (int next = block.thread(); next + 1 < offsets; next += batch * block.threads()) {
      int begin[batch], end[batch];
      for (int k = 0; k < batch; ++k) {
        const int s = min(next + k * block.threads(), offsets - 2);
        begin[k] = offset(s);
        end[k] = offset(s + 1);
      }
      for (int k = 0; k < batch; ++k)
        if (begin[k] < end[k] && next + k * block.threads() + 1 < offsets) memory.marks[begin[k]] = 1;
    }
    block.sync();
    const auto item = [&](int i) { return min(max(i - first, 0), each); };
    const int begin = item(from), end = item(to);
    unsigned heads = 0;
    for (int k = 0; k < items; ++k)
      if (k >= begin && k < end && memory.marks[first + k] != 0) {
        heads |= 1u << k;
        if (Exclusive) y[k] = static_cast<A>(a.op(a.init, y[k]));
      }
    const segment_part<A> own = block::scan_items(y, heads, begin, end, a.op);
    const segment_part<A> before =
        block::join_before<false>(block, memory.parts, own, segment_part<A>{}, join_parts<A, Op>{a.op});
    block::join_items(y, before, heads, begin, end, a.op);
    for (int k = 0; k < items; ++k)
      if (k >= begin && k < end) {
        const A& result = !Exclusive              ? y[k]
                          : (heads >> k & 1) != 0 ? a.init
                          : k == begin            ? before.value
                                                  : y[max(k - 1, 0)];
        a.out[first + k] = static_cast<value_of<Out>>(result);
      }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
