// SPDX-License-Identifier: Apache-2.0
//
// What neighbouring ranks have to know of each other: the first and the last element of each block, side by side, and with them which
// blocks begin in the middle of a run of equals. Ranks without elements are left out. (PMPP ch. 20.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Sends pieces of arrays, that of ranks[k] from place offsets[k] on, to the same places of all others; to one rank where all are in this
/// process, which is enough for its host, unless `everyone` needs them.
template <class P, class C, class A>
void gather_pieces(const devices<P, C>& gpus, const std::vector<int>& ranks, const std::vector<std::int64_t>& offsets,
                   const std::vector<rank_array<A>>& arrays, bool everyone = false) {
  const bool to_one = gpus.all_here() && !everyone;
  gpus.together([&](int i, C& link, stream_handle s) {
    const int self = gpus.rank(i);
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      A* const place = arrays[std::size_t(i)].data() + offsets[k];
      const std::size_t bytes = static_cast<std::size_t>(offsets[k + 1] - offsets[k]) * sizeof(A);
      if (ranks[k] == self)
        for (int other = 0; other < (to_one ? 1 : gpus.size()); ++other) {
          if (other != self) link.send(place, bytes, other, s);
        }
      else if (!to_one || self == 0)
        link.receive(place, bytes, ranks[k], s);
    }
  });
}

template <class T>
std::vector<int> ranks_with_elements(const distributed_buffer<T>& x) {
  std::vector<int> ranks;
  for (int r = 0; r < x.group()->size; ++r)
    if (x.size_of(r) != 0) ranks.push_back(r);
  return ranks;
}

/// Two elements of a rank: bytes, for they may have no default.
template <class T>
struct two_ends {
  alignas(T) std::byte bytes[2 * sizeof(T)];
};

/// Number k: *first(i) and *last(i) of ranks[k], for rank number i here, in the memory of the first rank of each process.
template <class T, class P, class C, class First, class Last>
std::vector<rank_array<two_ends<T>>> gather_ends(const devices<P, C>& gpus, const std::vector<int>& ranks, First first,
                                                 Last last) {
  const auto group = gpus.group();
  const auto m = static_cast<std::int64_t>(ranks.size());
  auto all = detail::arrays_of<two_ends<T>>(*group, [&](int) { return m; });
  std::vector<std::int64_t> offsets;
  for (std::int64_t k = 0; k <= m; ++k) offsets.push_back(k);
  gpus.each([&](int i, const P&) {
    for (std::size_t k = 0; k < ranks.size(); ++k)
      if (ranks[k] == gpus.rank(i)) {
        std::byte* const place = all[std::size_t(i)].data()[k].bytes;
        detail::copy_on_rank(group->places[std::size_t(i)], place, first(i), sizeof(T));
        detail::copy_on_rank(group->places[std::size_t(i)], place + sizeof(T), last(i), sizeof(T));
      }
  });
  detail::gather_pieces(gpus, ranks, offsets, all);
  return all;
}
template <class P, class C, class T>
std::vector<rank_array<two_ends<T>>> ends_of_blocks(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                                    const std::vector<int>& ranks) {
  return detail::gather_ends<T>(
      gpus, ranks, [&](int i) { return x.part(i).data(); },
      [&](int i) { return x.part(i).data() + (x.part(i).size() - 1); });
}

/// Whether block k begins with what equals the end of the block before it.
template <class T, class Eq>
struct continue_run {
  const two_ends<T>* ends;
  int* continues;
  Eq eq;
  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    if (k == 0) return void(continues[0] = 0);
    const auto* const elements = reinterpret_cast<const T*>(ends);
    continues[k] = static_cast<bool>(eq(elements[2 * k - 1], elements[2 * k])) ? 1 : 0;
  }
};

/// For each of `ranks`, those of x with elements, whether its block continues a run of equals; on every process. Waits.
template <class P, class C, class T, class Eq>
std::vector<int> continued_blocks(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                  const std::vector<int>& ranks, const Eq& eq) {
  std::vector<int> result(ranks.size());
  if (ranks.size() < 2) return result;
  const auto ends = detail::ends_of_blocks(gpus, x, ranks);
  const auto m = static_cast<std::int64_t>(ranks.size());
  const auto flags = detail::arrays_of<int>(*gpus.group(), [&](int i) { return i == 0 ? m : 0; });
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    const counting_iterator<std::int64_t> zero(0);
    pmpp::for_each(where, zero, zero + m, continue_run<T, Eq>{ends[0].data(), flags[0].data(), eq});
    detail::copy_to_host(gpus, 0, result.data(), flags[0].data(), result.size() * sizeof(int));
  });
  gpus.synchronize(0);
  return result;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
