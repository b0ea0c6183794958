// SPDX-License-Identifier: Apache-2.0
//
// Elements that change ranks: exchange and rebalance; and what becomes of results whose size is known at the end only.
//
//   exchange    the block of each rank is cut in p pieces; piece j goes to rank j, which then has the pieces of all ranks in the
//               order of the ranks: an all-to-all of unequal parts
//   rebalance   elements keep their order and become blocks that differ by one at most
//   result_blocks::even, ::in_place   an argument of copy_if and its like: the result is rebalanced, or stays where it was made
//
// Each element moves once. What stays on its rank is copied there. (PMPP ch. 20.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Where the elements of a result lie whose size its input decides.
enum class result_blocks {
  even,     ///< in blocks that differ by one element at most, the larger ones in front
  in_place  ///< on the rank that made them: none moves
};

namespace detail {

/// How many elements each rank sends to each.
class piece_table {
public:
  explicit piece_table(int ranks) : ranks_(ranks), counts_(std::size_t(ranks) * std::size_t(ranks)) {}

  std::int64_t& operator()(int from, int to) {
    return counts_[std::size_t(from) * std::size_t(ranks_) + std::size_t(to)];
  }
  std::int64_t operator()(int from, int to) const { return const_cast<piece_table&>(*this)(from, to); }

  /// What each rank has afterwards.
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to) sums[std::size_t(to)] += (*this)(from, to);
    return sums;
  }
  /// Where the piece for each rank begins in the block of `rank`, in bytes.
  std::vector<std::size_t> sent_by(int rank, std::size_t element_bytes) const {
    return offsets(element_bytes, [&](int other) { return (*this)(rank, other); });
  }
  /// Where the piece of each rank begins in what `rank` receives, in bytes.
  std::vector<std::size_t> received_by(int rank, std::size_t element_bytes) const {
    return offsets(element_bytes, [&](int other) { return (*this)(other, rank); });
  }

private:
  template <class Count>
  std::vector<std::size_t> offsets(std::size_t element_bytes, Count count) const {
    std::vector<std::size_t> at{0};
    for (int r = 0; r < ranks_; ++r) at.push_back(at.back() + static_cast<std::size_t>(count(r)) * element_bytes);
    return at;
  }

  int ranks_;
  std::vector<std::int64_t> counts_;
};

/// Moves pieces of blocks, that of rank number i here at block(i), to target(i), in the order of the ranks. What stays on its rank is
/// copied there while the others are on their way.
/// \param pieces  the same on every process
template <class T, class P, class C, class Block, class Target>
void exchange_to(const devices<P, C>& gpus, Block block, const piece_table& pieces, Target target) {
  const auto group = gpus.group();
  struct end {
    std::byte* data;
    std::vector<std::size_t> offsets;  ///< of the piece of each rank
    std::byte* piece(int rank) const { return data + offsets[std::size_t(rank)]; }
    std::size_t bytes(int rank) const { return offsets[std::size_t(rank) + 1] - offsets[std::size_t(rank)]; }
  };
  std::vector<end> from, to;
  for (int i = 0; i < gpus.local_size(); ++i) {
    from.push_back({reinterpret_cast<std::byte*>(const_cast<T*>(block(i))), pieces.sent_by(gpus.rank(i), sizeof(T))});
    to.push_back({reinterpret_cast<std::byte*>(target(i)), pieces.received_by(gpus.rank(i), sizeof(T))});
  }
  gpus.beside(
      [&](int i, C& link, stream_handle s) {
        const end &out = from[std::size_t(i)], &in = to[std::size_t(i)];
        for (int other = 0; other < gpus.size(); ++other) {
          if (other == gpus.rank(i)) continue;
          if (out.bytes(other) != 0) link.send(out.piece(other), out.bytes(other), other, s);
          if (in.bytes(other) != 0) link.receive(in.piece(other), in.bytes(other), other, s);
        }
      },
      [&](int i, const P&) {
        const int self = gpus.rank(i);
        const end &out = from[std::size_t(i)], &in = to[std::size_t(i)];
        if (out.bytes(self) != 0)
          detail::copy_on_rank(group->places[std::size_t(i)], in.piece(self), out.piece(self), out.bytes(self));
      });
}
/// The same, to a buffer that is made for them.
template <class T, class P, class C, class Block>
distributed_buffer<T> exchanged(const devices<P, C>& gpus, Block block, const piece_table& pieces) {
  distributed_buffer<T> y;
  y.allocate(gpus.group(), pieces.sizes());
  detail::exchange_to<T>(gpus, block, pieces, [&](int i) { return y.part(i).data(); });
  return y;
}

/// The pieces that make blocks of the sizes `wanted` of blocks of these sizes, in order.
inline piece_table pieces_for_blocks(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& wanted) {
  const auto p = static_cast<int>(sizes.size());
  std::int64_t first = 0;
  piece_table pieces(p);
  for (int from = 0; from < p; ++from) {
    const std::int64_t last = first + sizes[std::size_t(from)];
    std::int64_t begin = 0;
    for (int to = 0; to < p; ++to) {
      const std::int64_t end = begin + wanted[std::size_t(to)];
      pieces(from, to) = max(std::int64_t(0), min(last, end) - max(first, begin));
      begin = end;
    }
    first = last;
  }
  return pieces;
}
inline piece_table pieces_for_result(const std::vector<std::int64_t>& sizes, result_blocks blocks) {
  if (blocks == result_blocks::in_place) return detail::pieces_for_blocks(sizes, sizes);
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  return detail::pieces_for_blocks(sizes, detail::even_sizes(total, static_cast<int>(sizes.size())));
}
template <class T>
std::vector<std::int64_t> sizes_of(const distributed_buffer<T>& x) {
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < x.group()->size; ++r) sizes.push_back(x.size_of(r));
  return sizes;
}

}  // namespace detail

/// Sends elements [cuts[i][j], cuts[i][j + 1]) of x.part(i) to rank j, for each rank number i of this process.
///
/// \param cuts  for each rank here p + 1 positions that ascend from 0 to the size of its block, as splitters gives them.
/// \return a buffer in which each rank has the pieces that it received, those of rank 0 first; x stays as it is.
/// Waits for the numbers of elements where other processes take part, not for the elements. Cost: p^2 counts to each process; each
/// element sent and received once. Allocates the result.
/// \throws std::invalid_argument if x lies on other devices or cuts do not ascend so; communication_error; out_of_memory, cuda_error.
/// Example: test/distributed.cpp, exchange.
template <class P, class C, class T>
[[nodiscard]] distributed_buffer<T> exchange(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                             const std::vector<std::vector<std::int64_t>>& cuts) {
  detail::require_on("exchange", "x", gpus, x);
  const int p = gpus.size();
  require(cuts.size() == std::size_t(gpus.local_size()), [&] {
    return "pmpp::exchange: cuts has " + detail::text::of(cuts.size()) + " lists, this process drives " +
           detail::text::of(gpus.local_size()) + " ranks";
  });
  std::vector<std::int64_t> mine;
  for (int i = 0; i < gpus.local_size(); ++i) {
    const std::vector<std::int64_t>& cut = cuts[std::size_t(i)];
    bool ascends = cut.size() == std::size_t(p) + 1 && cut.front() == 0 && cut.back() == x.size_of(gpus.rank(i));
    for (std::size_t j = 0; ascends && j < std::size_t(p); ++j) {
      ascends = cut[j] <= cut[j + 1];
      mine.push_back(cut[j + 1] - cut[j]);
    }
    require(ascends, [&] {
      return "pmpp::exchange: cuts of rank " + detail::text::of(gpus.rank(i)) + " are not " + detail::text::of(p + 1) +
             " positions that ascend from 0 to " + detail::text::of(x.size_of(gpus.rank(i)));
    });
  }
  const auto all = detail::values_of_all(gpus, mine, p);
  detail::piece_table pieces(p);
  for (int from = 0; from < p; ++from)
    for (int to = 0; to < p; ++to) pieces(from, to) = all[std::size_t(from) * std::size_t(p) + std::size_t(to)];
  return detail::exchanged<T>(
      gpus, [&](int i) { return x.part(i).data(); }, pieces);
}

/// Makes the blocks of x differ by one element at most, the larger ones in front; elements keep their order in the whole.
/// Enqueued. Cost: nothing where the blocks are so already; else each element moves once, within its rank or to another.
/// Views of parts are then no longer valid. \throws std::invalid_argument if x lies on other devices; communication_error;
/// out_of_memory, cuda_error. Example: test/distributed.cpp, exchange.
template <class P, class C, class T>
void rebalance(const devices<P, C>& gpus, distributed_buffer<T>& x) {
  detail::require_on("rebalance", "x", gpus, x);
  const auto sizes = detail::sizes_of(x), even = detail::even_sizes(x.size(), gpus.size());
  if (sizes == even) return;
  x.require_blocks("rebalance", even);
  x = detail::exchanged<T>(
      gpus, [&](int i) { return x.part(i).data(); }, detail::pieces_for_result(sizes, result_blocks::even));
}

}  // namespace pmpp::inline PMPP_BACKEND
