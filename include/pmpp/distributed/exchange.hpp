// SPDX-License-Identifier: Apache-2.0
//
// Elements that change ranks: exchange and rebalance.
//
//   exchange    the block of each rank is cut in p pieces; piece j goes to rank j, which then has the pieces of all ranks in the
//               order of the ranks: an all-to-all of unequal parts
//   rebalance   elements keep their order and become blocks that differ by one at most
//
// Each element moves once. What stays on its rank is copied there. (PMPP ch. 20.)
#pragma once

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

/// Moves pieces of blocks, that of rank number i here at block(i), to a buffer that is made for them.
/// \param pieces  the same on every process
template <class T, class P, class C, class Block>
distributed_buffer<T> exchanged(const devices<P, C>& gpus, Block block, const piece_table& pieces) {
  distributed_buffer<T> y;
  y.allocate(gpus.group(), pieces.sizes());
  gpus.together([&](int i, C& link, stream_handle s) {
    const auto sent = pieces.sent_by(gpus.rank(i), sizeof(T)), received = pieces.received_by(gpus.rank(i), sizeof(T));
    pmpp::all_to_all_v(link, block(i), sent.data(), y.part(i).data(), received.data(), s);
  });
  return y;
}

/// The pieces that make even blocks of blocks of these sizes, in order.
inline piece_table pieces_for_even_blocks(const std::vector<std::int64_t>& sizes) {
  const auto p = static_cast<int>(sizes.size());
  std::int64_t total = 0, first = 0;
  for (const std::int64_t size : sizes) total += size;
  const auto even = even_sizes(total, p);
  piece_table pieces(p);
  for (int from = 0; from < p; ++from) {
    const std::int64_t last = first + sizes[std::size_t(from)];
    std::int64_t begin = 0;
    for (int to = 0; to < p; ++to) {
      const std::int64_t end = begin + even[std::size_t(to)];
      pieces(from, to) = max(std::int64_t(0), min(last, end) - max(first, begin));
      begin = end;
    }
    first = last;
  }
  return pieces;
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
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < gpus.size(); ++r) sizes.push_back(x.size_of(r));
  if (sizes == detail::even_sizes(x.size(), gpus.size())) return;
  x = detail::exchanged<T>(
      gpus, [&](int i) { return x.part(i).data(); }, detail::pieces_for_even_blocks(sizes));
}

}  // namespace pmpp::inline PMPP_BACKEND
