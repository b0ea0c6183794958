// SPDX-License-Identifier: Apache-2.0
//
// Scans that are grouped by places alone, whatever the machine: what gpus.same_bits() scan with. A chunk is 32 rows of
// 32 elements:
//
//   1. A row is scanned by Kogge and Stone's steps; what stands in front of it in its chunk, the carry, joins on the left.
//   2. What stands in front of the chunk joins on the left of that. The totals of the chunks are scanned likewise, in levels, until
//      there is one chunk; an initial value joins on the left of the first chunk of each level's.
//
// scan_chunks does one level: it writes totals, or, given what stands in front of each chunk, results. A warp takes a chunk: no
// barriers. (PMPP ch. 11; Kogge and Stone, 1973.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/distributed/same_bits.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/reduce/same_bits.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// One level of a scan of `count` elements, which begin with chunk number `first` of the whole.
template <class In, class A, class Out, class Op>
struct chunk_scan {
  static constexpr int lanes = simt::warp_size, rows = 32, chunk = rows * lanes;

  In in;
  std::int64_t count, first;
  const A* totals_before;  ///< element c: of chunks 0 to c, with the initial value
  A init;                  ///< in front of chunk 0
  bool has_init;
  Out out;
  Op op;

  PMPP_HOST_DEVICE A join(const A& a, const A& b) const { return detail::joined(op, a, b); }
  PMPP_HOST_DEVICE A element(std::int64_t i) const { return detail::element_settled<A>(in, in[i]); }
  PMPP_HOST_DEVICE bool has_before(std::int64_t number) const { return number > 0 || has_init; }
  PMPP_HOST_DEVICE A before(std::int64_t number) const { return number > 0 ? totals_before[number - 1] : init; }
  /// The result of an element: `value` is that of its chunk up to it, where there is something.
  PMPP_HOST_DEVICE A result(bool present, const A& value, std::int64_t number, const A& in_front) const {
    if (!present) return in_front;
    return has_before(number) ? join(in_front, value) : value;
  }
};

template <bool Inclusive, bool Totals, class In, class A, class Out, class Op>
struct chunk_scan_kernel {
  using arguments = chunk_scan<In, A, Out, Op>;
  static constexpr int threads = 256, warps = threads / simt::warp_size, in_flight = 8;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const std::int64_t c = block.index() * warps + block.warp(), begin = c * arguments::chunk;
    if (begin >= a.count) return;
    const int length = static_cast<int>(min(a.count - begin, std::int64_t(arguments::chunk)));
    const A in_front = Totals ? a.init : a.before(a.first + c);
    A carry{};
    for (int row = 0; row < arguments::rows; row += in_flight) {
      A x[in_flight]{};
      unrolled<in_flight>([&](int r) {
        const int at = (row + r) * arguments::lanes + block.lane();
        if (at < length) x[r] = a.element(begin + at);
      });
      unrolled<in_flight>([&](int r) {
        const int at = (row + r) * arguments::lanes, in_row = min(length - at, arguments::lanes);
        if (in_row <= 0) return;  // of the whole warp
        const A scanned = block::warp_inclusive_scan(block, x[r], join_rounded<Op>{a.op}, in_row);
        if constexpr (!Totals) {
          const int lane = block.lane();
          const A left = block.shuffle_up(scanned, 1);
          const bool with_lanes = Inclusive || lane > 0;
          A value = Inclusive ? scanned : left;
          if (at > 0) value = with_lanes ? a.join(carry, value) : carry;
          if (lane < in_row)
            a.out[begin + at + lane] =
                static_cast<value_of<Out>>(a.result(with_lanes || at > 0, value, a.first + c, in_front));
        }
        const A total = block.shuffle(scanned, in_row - 1);
        carry = at > 0 ? a.join(carry, total) : total;
      });
    }
    if constexpr (Totals)
      if (block.lane() == 0) a.out[c] = carry;
  }
};

/// The same on a CPU, for one chunk.
template <bool Inclusive, bool Totals, class In, class A, class Out, class Op>
void scan_chunk_on_host(const chunk_scan<In, A, Out, Op>& a, std::int64_t c) {
  using scan = chunk_scan<In, A, Out, Op>;
  const std::int64_t begin = c * scan::chunk;
  const int length = static_cast<int>(min(a.count - begin, std::int64_t(scan::chunk)));
  const A in_front = Totals ? a.init : a.before(a.first + c);
  A carry = a.init;
  for (int at = 0; at < length; at += scan::lanes) {
    const int in_row = min(length - at, scan::lanes);
    A row[scan::lanes];
    for (int l = 0; l < in_row; ++l) row[l] = a.element(begin + at + l);
    for (int d = 1; d < scan::lanes; d *= 2)
      for (int l = in_row - 1; l >= d; --l) row[l] = a.join(row[l - d], row[l]);
    if constexpr (!Totals)
      for (int l = 0; l < in_row; ++l) {
        const bool with_lanes = Inclusive || l > 0;
        A value = row[Inclusive ? l : max(l - 1, 0)];
        if (at > 0) value = with_lanes ? a.join(carry, value) : carry;
        a.out[begin + at + l] =
            static_cast<value_of<Out>>(a.result(with_lanes || at > 0, value, a.first + c, in_front));
      }
    carry = at > 0 ? a.join(carry, row[in_row - 1]) : row[in_row - 1];
  }
  if constexpr (Totals) a.out[c] = carry;
}

template <bool Inclusive, bool Totals, class P, class In, class A, class Out, class Op>
void scan_chunks(const P& where, const chunk_scan<In, A, Out, Op>& a) {
  static_assert(std::is_trivially_copyable_v<A>, "pmpp: the accumulator must be trivially copyable");
  const std::int64_t chunks = ceil_div(a.count, std::int64_t(chunk_scan<In, A, Out, Op>::chunk));
  if (chunks == 0) return;
  if constexpr (kernel_execution<P>) {
    using kernel = chunk_scan_kernel<Inclusive, Totals, In, A, Out, Op>;
    pmpp::launch(where, ceil_div(chunks, std::int64_t(kernel::warps)), kernel{}, a);
  } else {
    const auto scan = [&](std::int64_t c) { detail::scan_chunk_on_host<Inclusive, Totals>(a, c); };
    detail::for_each_chunk(where, chunks, scan);
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
