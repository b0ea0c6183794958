// SPDX-License-Identifier: Apache-2.0
//
// same_bits{op}, as the operator of reduce, transform_reduce and their twins: the same bits on every policy and every machine,
// however many multiprocessors it has and however the data is aligned. Who adds what is fixed by places alone:
//
//   1. A chunk is 16 rows of 32 vectors, as wide as loads of these elements are (128 floats a row, 64 doubles). Element j of a row joins
//      those of the rows before it in column j.
//   2. The columns of one vector are joined from the left, those of the 32 vectors by a tree of neighbours.
//   3. The results of the chunks are elements of the next level, until there is one chunk. init joins on the left.
//
// A warp takes a chunk: no barriers. One launch a level: up to 2048 floats one, up to 4 million two, then three. The host does the same
// in plain loops. A sum is rounded at most 16 + items + 5 times a level. op must be associative but for rounding, and commutative:
// columns skip over each other.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/exact.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/raw_array.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// An operator that reduce groups in the same way everywhere. Not an operator itself: algorithms without that promise refuse it.
template <class Op = plus>
struct same_bits {
  Op op{};
};
template <class Op>
same_bits(Op) -> same_bits<Op>;

namespace detail {

template <class Op>
inline constexpr bool is_same_bits = false;
template <class Op>
inline constexpr bool is_same_bits<same_bits<Op>> = true;

template <class Op>
struct operator_within {
  using type = Op;
};
template <class Op>
struct operator_within<same_bits<Op>> {
  using type = Op;
};
template <class Op>
using plain_operator = typename operator_within<Op>::type;
template <class Op>
const Op& plain(const Op& op) {
  return op;
}
template <class Op>
const Op& plain(const same_bits<Op>& same) {
  return same.op;
}

/// op, where a sum of floating-point numbers is never fused with a product before it.
template <class A, class Op>
PMPP_HOST_DEVICE A joined(const Op& op, const A& a, const A& b) {
  if constexpr (std::is_same_v<Op, plus> && (std::is_same_v<A, float> || std::is_same_v<A, double>))
    return rounded_sum(a, b);
  else
    return static_cast<A>(op(a, b));
}
template <class Op>
struct join_rounded {
  Op op;
  template <class A>
  PMPP_HOST_DEVICE A operator()(const A& a, const A& b) const {
    return detail::joined(op, a, b);
  }
};

/// How elements of an iterator are grouped.
template <class In>
struct grouping {
  static constexpr int items = block::access<In>::items == 0 ? 4 : block::access<In>::items, lanes = simt::warp_size,
                       columns = items * lanes, rows = 16, chunk = rows * columns;
};

template <class A, class In>
PMPP_HOST_DEVICE A element_settled(const In&, const value_of<In>& x) {
  if constexpr (std::is_pointer_v<In>)
    return static_cast<A>(x);
  else
    return detail::settled(static_cast<A>(x));  // it may be a product
}

/// One level: each warp reduces a chunk. The last level has one, whose result `sink` gets.
template <class In, class A, class Op, class Sink>
struct same_bits_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, warps = threads / simt::warp_size;
  using group = grouping<In>;
  static constexpr int items = group::items, in_flight = 8;
  static_assert(group::rows % in_flight == 0);

  struct arguments {
    In in;
    item_count count;          ///< of the elements of the first level
    std::int64_t first_chunk;  ///< of the first level, in elements; 0: this is the first
    int levels_between;        ///< levels like this one before it
    bool aligned;              ///< vectors of items begin at 16-byte boundaries
    bool last;
    A* partials;
    A init;
    bool has_init;
    Op op;
    Sink sink;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    std::int64_t n = a.count.get();
    if (a.first_chunk != 0) n = ceil_div(n, a.first_chunk);
    for (int k = 0; k < a.levels_between; ++k) n = ceil_div(n, std::int64_t(group::chunk));
    const std::int64_t chunk = block.index() * warps + block.warp(), begin = chunk * group::chunk;
    if (begin >= n && !(a.last && chunk == 0)) return;
    const A result = n == 0 ? A{} : fold(block, a, begin, static_cast<int>(min(n - begin, std::int64_t(group::chunk))));
    if (block.lane() != 0) return;
    if (a.last) {
      a.sink(n == 0 ? a.init : a.has_init ? detail::joined(a.op, a.init, result) : result);
      a.done.signal();
    } else {
      a.partials[chunk] = result;
    }
  }

private:
  /// Lane 0 gets the result of elements [begin, begin + length), length > 0.
  template <class Block>
  PMPP_HOST_DEVICE static A fold(Block& block, const arguments& a, std::int64_t begin, int length) {
    using access = block::access<In>;
    A column[items]{};
    const int mine = block.lane() * items;  // the first of this lane's columns
    for (int row = 0; row < group::rows; row += in_flight) {
      block::raw_items<In, items> x[in_flight]{};
      int has[in_flight];
      unrolled<in_flight>([&](int r) {
        const int at = (row + r) * group::columns + mine;
        has[r] = max(0, min(length - at, items));
        if (has[r] == items && a.aligned)
          x[r] = access::template load<items>(a.in, begin + at);
        else if (has[r] > 0)
          x[r] = access::template load_part<items>(a.in, begin + at, 0, has[r]);
      });
      unrolled<in_flight>([&](int r) {
        unrolled<items>([&](int k) {
          if (k >= has[r]) return;
          const A y = detail::element_settled<A>(a.in, access::value(a.in, x[r], k));
          column[k] = row + r == 0 ? y : detail::joined(a.op, column[k], y);
        });
      });
    }
    const int lanes_with_data = min(ceil_div(length, items), group::lanes);
    A value = column[0];
    unrolled<items>([&](int k) {
      if (k > 0 && mine + k < length) value = detail::joined(a.op, value, column[k]);
    });
    return block::warp_reduce(block, value, join_rounded<Op>{a.op}, lanes_with_data);
  }
};

/// The same on a CPU.
template <class A, class In, class Op>
A fold_chunk(const In& in, std::int64_t begin, int length, const Op& op) {
  using group = grouping<In>;
  A column[group::columns];
  const int filled = min(length, group::columns);
  for (int j = 0; j < filled; ++j) column[j] = detail::element_settled<A>(in, in[begin + j]);
  for (int row = group::columns; row < length; row += group::columns) {
    const int end = min(length - row, group::columns);
    for (int j = 0; j < end; ++j)
      column[j] = detail::joined(op, column[j], detail::element_settled<A>(in, in[begin + row + j]));
  }
  const int lanes = ceil_div(filled, group::items);
  for (int l = 0; l < lanes; ++l)
    for (int k = 1; k < group::items && l * group::items + k < filled; ++k)
      column[l * group::items] = detail::joined(op, column[l * group::items], column[l * group::items + k]);
  for (int d = 1; d < lanes; d *= 2)
    for (int l = 0; l + d < lanes; l += 2 * d)
      column[l * group::items] = detail::joined(op, column[l * group::items], column[(l + d) * group::items]);
  return column[0];
}
template <class A, class P, class In, class Op>
A same_bits_on_host(const P& where, const In& in, std::int64_t n, const Op& op) {
  constexpr std::int64_t chunk = grouping<In>::chunk;
  if (n <= chunk) return detail::fold_chunk<A>(in, 0, static_cast<int>(n), op);
  const std::int64_t chunks = ceil_div(n, chunk);
  raw_array<A> partials(chunks);
  A* const out = partials.data();
  const auto fold = [&](std::int64_t c) {
    A result = detail::fold_chunk<A>(in, c * chunk, static_cast<int>(min(chunk, n - c * chunk)), op);
    new (static_cast<void*>(out + c)) A(result);
  };
  if constexpr (std::is_same_v<P, seq_policy>)
    for (std::int64_t c = 0; c < chunks; ++c) fold(c);
  else
    host_loop::parallel_for(where, chunks, fold);
  return detail::same_bits_on_host<A>(where, static_cast<const A*>(out), chunks, op);
}

template <class P, class In, class A, class Op, class Sink>
void launch_same_bits(const P& where, const In& in, std::int64_t bound, const item_count& count,
                      std::int64_t first_chunk, int levels_between, A* room, const A& init, bool has_init, const Op& op,
                      const Sink& sink, completion done) {
  using kernel = same_bits_kernel<In, A, Op, Sink>;
  const std::int64_t chunks = max(std::int64_t(1), ceil_div(bound, std::int64_t(grouping<In>::chunk)));
  const bool aligned = block::access<In>::template lead<grouping<In>::items>(in) == 0, last = chunks == 1;
  pmpp::launch(where, ceil_div(chunks, std::int64_t(kernel::warps)), kernel{},
               typename kernel::arguments{in, count, first_chunk, levels_between, aligned, last, room, init, has_init,
                                          op, sink, done});
  if (last) return;
  detail::launch_same_bits<P, const A*>(
      where, room, chunks, count, first_chunk == 0 ? grouping<In>::chunk : first_chunk,
      first_chunk == 0 ? 0 : levels_between + 1, room + chunks, init, has_init, op, sink, done);
}

/// Reduces `in` by the grouping above; `sink` gets the result.
template <class P, class In, class A, class Op, class Sink>
void reduce_same_bits(const P& where, const input<In>& in, const A& init, bool has_init, const Op& op, const Sink& sink,
                      completion done) {
  static_assert(std::is_trivially_copyable_v<A>, "pmpp: the accumulator must be trivially copyable");
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "reduce", in.first);
    std::int64_t partials = 0;  // of all levels
    for (std::int64_t n = ceil_div(in.count.bound, std::int64_t(grouping<In>::chunk)); n > 1;
         n = ceil_div(n, std::int64_t(grouping<const A*>::chunk)))
      partials += n;
    scratch memory(where, checked_bytes(partials, sizeof(A), "reduce"), 0);
    detail::launch_same_bits(where, in.first, in.count.bound, in.count, std::int64_t(0), 0,
                             static_cast<A*>(memory.data()), init, has_init, op, sink, done);
  } else {
    const std::int64_t n = in.count.get();
    if (n == 0) return sink(init);
    const A result = detail::same_bits_on_host<A>(where, in.first, n, op);
    sink(has_init ? detail::joined(op, init, result) : result);
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
