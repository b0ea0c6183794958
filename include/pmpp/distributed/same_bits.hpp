// SPDX-License-Identifier: Apache-2.0
//
// gpus.same_bits(): who adds what is fixed by the index in the whole alone, as under same_bits{op} on one device
// (reduce/same_bits.hpp). So reduce and transform_reduce give the bits of one device, for any number of ranks and any blocks.
//
//   1. A chunk, 2048 floats or 1024 doubles, belongs to the rank that has its last element. What of it lies in front of the block of
//      that rank is sent there: less than a chunk, from the rank before or, where blocks are smaller than chunks, from several.
//   2. Each rank folds its chunks: the first one, where it was completed, in an array beside the block, the others in place.
//   3. The results of all chunks are gathered: n / 2048 of them; each process reduces these, by the same grouping, on one rank.
//
// Price: less than a chunk and n / 2048 results (floats; doubles n / 1024) more than reduce sends, and a second launch on each rank.
// (PMPP ch. 10 and 20.)
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/reduce.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// f(c) for each chunk, on a CPU.
template <class P, class F>
void for_each_chunk(const P& where, std::int64_t chunks, const F& f) {
  if constexpr (std::is_same_v<P, seq_policy>)
    for (std::int64_t c = 0; c < chunks; ++c) f(c);
  else
    host_loop::parallel_for(where, chunks, f);
}

/// The sink of a level that is not the last: it gets nothing.
struct chunk_results {
  template <class A>
  PMPP_HOST_DEVICE void operator()(const A&) const {}
};

/// The first level of reduce_same_bits alone: the result of each chunk of n > 0 elements, to `out`.
template <class P, class In, class A, class Op>
void fold_chunks(const P& where, const In& in, std::int64_t n, A* out, const Op& op) {
  constexpr std::int64_t chunk = grouping<In>::chunk;
  const std::int64_t chunks = ceil_div(n, chunk);
  if constexpr (kernel_execution<P>) {
    using kernel = same_bits_kernel<In, A, Op, chunk_results>;
    const bool aligned = block::access<In>::template lead<grouping<In>::items>(in) == 0;
    pmpp::launch(where, ceil_div(chunks, std::int64_t(kernel::warps)), kernel{},
                 typename kernel::arguments{in, {n}, 0, 0, aligned, false, out, A{}, false, op, {}, {}});
  } else {
    detail::for_each_chunk(where, chunks, [&](std::int64_t c) {
      const A result = detail::fold_chunk<A>(in, c * chunk, static_cast<int>(min(chunk, n - c * chunk)), op);
      new (static_cast<void*>(out + c)) A(result);
    });
  }
}

/// The chunks of a rank: numbers first to end - 1.
struct chunks_of_rank {
  std::int64_t first, end;
  std::int64_t missing;  ///< elements of the first one that lie on ranks before it
};
template <class T>
chunks_of_rank chunks_at(const distributed_buffer<T>& x, int rank, std::int64_t chunk) {
  const std::int64_t begin = x.offset(rank), end = x.offset(rank + 1), first = begin / chunk;
  if (begin == end) return {first, first, 0};
  const std::int64_t last = end == x.size() ? ceil_div(end, chunk) : end / chunk;
  return {first, max(first, last), last > first ? begin % chunk : 0};
}

/// Step 1: the first chunks of ranks that lack some of it, completed. \param missing  elements that each rank gets from those before it
template <class P, class C, class T>
std::vector<rank_array<T>> completed_chunks(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                            std::int64_t chunk, const std::vector<std::int64_t>& missing) {
  const auto group = gpus.group();
  const auto own = [&](int rank) { return min(chunk - missing[std::size_t(rank)], x.size_of(rank)); };
  auto chunks = detail::arrays_of<T>(*group, [&](int i) {
    const std::int64_t received = missing[std::size_t(gpus.rank(i))];
    return received == 0 ? 0 : received + own(gpus.rank(i));
  });
  gpus.together([&](int i, C& link, stream_handle s) {
    const int self = gpus.rank(i);
    // Of the block of `from` what lies in the first chunk of `to`, which has it not.
    const auto move = [&](int from, int to, auto use) {
      const std::int64_t end = x.offset(to), begin = end - missing[std::size_t(to)];
      const std::int64_t lo = max(begin, x.offset(from)), hi = min(end, x.offset(from + 1));
      if (lo < hi) use(lo - x.offset(from), lo - begin, static_cast<std::size_t>(hi - lo) * sizeof(T));
    };
    for (int to = self + 1; to < gpus.size(); ++to)
      move(self, to, [&](std::int64_t in_block, std::int64_t, std::size_t bytes) {
        link.send(x.part(i).data() + in_block, bytes, to, s);
      });
    for (int from = 0; from < self; ++from)
      move(from, self, [&](std::int64_t, std::int64_t in_chunk, std::size_t bytes) {
        link.receive(chunks[std::size_t(i)].data() + in_chunk, bytes, from, s);
      });
  });
  gpus.each([&](int i, const P&) {
    const int rank = gpus.rank(i);
    const std::int64_t received = missing[std::size_t(rank)];
    if (received != 0)
      detail::copy_on_rank(group->places[std::size_t(i)], chunks[std::size_t(i)].data() + received, x.part(i).data(),
                           static_cast<std::size_t>(own(rank)) * sizeof(T));
  });
  return chunks;
}

/// \param input_of  a span of each buffer -> the elements that are reduced. \param x, others  buffers of the same blocks
template <class A, class P, class C, class Op, class InputOf, class T, class... Others>
A reduce_same_bits_of_ranks(const devices<P, C>& gpus, const initial_value<A>& init, const Op& op, InputOf input_of,
                            const distributed_buffer<T>& x, const distributed_buffer<Others>&... others) {
  detail::require_same_call<T, Others..., A, Op>(gpus, "reduce (same bits)", {x.size()});
  if (x.size() == 0) return init.value;
  const auto stored = [&](std::span<const T> of_x, std::span<const Others>... of_others) {
    return detail::stored_for<A>(input_of(of_x, of_others...));
  };
  using In = std::remove_const_t<decltype(stored({}, std::span<const Others>{}...).first)>;
  constexpr std::int64_t chunk = grouping<In>::chunk;
  const auto group = gpus.group();
  std::vector<int> ranks;
  std::vector<std::int64_t> offsets{0}, missing;
  for (int r = 0; r < gpus.size(); ++r) {
    const auto [first, end, before] = detail::chunks_at(x, r, chunk);
    missing.push_back(before);
    if (first == end) continue;
    ranks.push_back(r);
    offsets.push_back(end);
  }
  const std::tuple<std::vector<rank_array<T>>, std::vector<rank_array<Others>>...> completed{
      detail::completed_chunks(gpus, x, chunk, missing), detail::completed_chunks(gpus, others, chunk, missing)...};
  const std::int64_t count = offsets.back();
  const auto results = detail::arrays_of<A>(*group, [&](int) { return count; });
  const auto fold = detail::folding<gpu_execution<P>, A, value_of<In>>(op);
  gpus.each([&](int i, const P& where) {
    const int rank = gpus.rank(i);
    auto [first, end, before] = detail::chunks_at(x, rank, chunk);
    if (first == end) return;
    std::int64_t begin = 0;  // of chunk `first`, in the block
    const auto fold_from = [&](const In& in, std::int64_t n, std::int64_t number) {
      detail::fold_chunks(where, in, n, results[std::size_t(i)].data() + number, fold);
    };
    if (before != 0) {
      std::apply(
          [&](const auto& of_x, const auto&... of_others) {
            const auto& complete = of_x[std::size_t(i)];
            fold_from(stored(complete.span(), of_others[std::size_t(i)].span()...).first, complete.size(), first++);
          },
          completed);
      begin = chunk - before;
    }
    if (first == end) return;
    fold_from(stored(x.part(i), others.part(i)...).first + begin, min((end - first) * chunk, x.size_of(rank) - begin),
              first);
  });
  detail::gather_pieces(gpus, ranks, offsets, results);
  A total = init.value;
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    const std::span<const A> all = results[0].span();
    total = detail::reduce_and_wait<tuned<reduce_tuning>>("reduce", where, detail::input_of("reduce", all), init,
                                                          same_bits<Op>{op});
  });
  return total;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
