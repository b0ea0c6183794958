// SPDX-License-Identifier: Apache-2.0
//
// Scans on gpus.same_bits(): results are grouped by the index in the whole alone (scan_chunks.hpp), so that they
// are the same bits for any number of ranks, one too, and any blocks.
//
//   1. Each rank gets what lies, of the chunk of 1024 elements in which its block begins, in front of its block.
//   2. It computes the totals of the chunks whose last element it has; these are gathered by all ranks: n / 1024 of them.
//   3. Each rank scans the totals, and then its block, chunk by chunk: the first one beside the block, as it is not all its own.
//
// Price: less than a chunk a rank, and n / 1024 totals to each rank, where scan sends one; two launches more, and three for each level
// of totals. Nothing is waited for. (PMPP ch. 11 and 20.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_bits.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/scan_chunks.hpp>
#include <pmpp/scan.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Replaces n totals, the same on each rank, by their running totals, with init in front.
template <class P, class C, class A, class Op>
void scan_totals(const devices<P, C>& gpus, const std::vector<rank_array<A>>& totals, std::int64_t n,
                 const initial_value<A>& init, const Op& op) {
  using scan = chunk_scan<const A*, A, A*, Op>;
  const std::int64_t chunks = ceil_div(n, std::int64_t(scan::chunk));
  const auto next = detail::arrays_of<A>(*gpus.group(), [&](int) { return chunks > 1 ? chunks : 0; });
  const auto level = [&](int i, A* out) {
    return scan{totals[std::size_t(i)].data(), n, 0, next[std::size_t(i)].data(), init.value, init.present, out, op};
  };
  if (chunks > 1) {
    gpus.each(
        [&](int i, const P& where) { detail::scan_chunks<true, true>(where, level(i, next[std::size_t(i)].data())); });
    detail::scan_totals(gpus, next, chunks, init, op);
  }
  gpus.each(
      [&](int i, const P& where) { detail::scan_chunks<true, false>(where, level(i, totals[std::size_t(i)].data())); });
}

template <bool Inclusive, class P, class C, class T, class U, class A, class Op>
void scan_same_bits_of_ranks(const devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y,
                             const initial_value<A>& init, const Op& plain_op) {
  detail::require_same_call<T, U, A, Op>(gpus, Inclusive ? "inclusive_scan (same bits)" : "exclusive_scan (same bits)",
                                         {x.size()});
  if (x.size() == 0) return;
  const auto group = gpus.group();
  const auto op = detail::folding<gpu_execution<P>, A, T>(plain_op);
  const auto input_at = [&](std::span<const T> elements) {
    return detail::stored_for<A>(detail::input_of("scan", elements)).first;
  };
  using In = std::remove_const_t<decltype(input_at({}))>;
  constexpr std::int64_t chunk = chunk_scan<In, A, A*, std::remove_const_t<decltype(op)>>::chunk;
  std::vector<int> ranks;
  std::vector<std::int64_t> offsets{0}, missing;
  for (int r = 0; r < gpus.size(); ++r) {
    missing.push_back(x.size_of(r) == 0 ? 0 : x.offset(r) % chunk);
    const auto [first, end, before] = detail::chunks_at(x, r, chunk);
    if (first == end) continue;
    ranks.push_back(r);
    offsets.push_back(end);
  }
  const auto completed = detail::completed_chunks(gpus, x, chunk, missing);
  const auto totals = detail::arrays_of<A>(*group, [&](int) { return offsets.back(); });

  // visit(in, elements, number of the chunk, where in the block): the completed chunk, and the others.
  const auto parts_of = [&](int i, auto visit) {
    const int rank = gpus.rank(i);
    const std::int64_t size = x.size_of(rank), number = x.offset(rank) / chunk, before = missing[std::size_t(rank)];
    if (size == 0) return;
    if (before != 0)
      visit(input_at(completed[std::size_t(i)].span()), completed[std::size_t(i)].size(), number, -before);
    const std::int64_t begin = before == 0 ? 0 : chunk - before;
    if (begin < size) visit(input_at(x.part(i)) + begin, size - begin, number + (before == 0 ? 0 : 1), begin);
  };
  gpus.each([&](int i, const P& where) {
    const std::int64_t end = detail::chunks_at(x, gpus.rank(i), chunk).end;
    parts_of(i, [&](const auto& in, std::int64_t n, std::int64_t number, std::int64_t) {
      if (number >= end) return;  // its total is another rank's
      A* const out = totals[std::size_t(i)].data() + number;
      detail::scan_chunks<Inclusive, true>(
          where, chunk_scan<In, A, A*, std::remove_const_t<decltype(op)>>{in, min(n, (end - number) * chunk), number,
                                                                          nullptr, init.value, init.present, out, op});
    });
  });
  detail::gather_pieces(gpus, ranks, offsets, totals, true);
  detail::scan_totals(gpus, totals, offsets.back(), init, op);

  const auto beside = detail::arrays_of<U>(*group, [&](int i) { return completed[std::size_t(i)].size(); });
  gpus.each([&](int i, const P& where) {
    parts_of(i, [&](const auto& in, std::int64_t n, std::int64_t number, std::int64_t begin) {
      U* const block = y.part(i).data();
      U* const out = begin < 0 ? beside[std::size_t(i)].data() : block + begin;
      detail::scan_chunks<Inclusive, false>(
          where, chunk_scan<In, A, U*, std::remove_const_t<decltype(op)>>{in, n, number, totals[std::size_t(i)].data(),
                                                                          init.value, init.present, out, op});
      if (begin < 0)
        detail::copy_on_rank(group->places[std::size_t(i)], block, out - begin,
                             static_cast<std::size_t>(n + begin) * sizeof(U));
    });
  });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
