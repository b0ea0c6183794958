// SPDX-License-Identifier: Apache-2.0
//
// top_k over several ranks.
//
//   1. Each rank finds the k of its block that come first, or all where it has fewer, and where they lie in the whole.
//   2. These are gathered, in the order of the ranks: at most p k candidates.
//   3. One rank of each process finds the k of them that come first. Of equals those in front win, which are those of smaller index.
//
// Traffic: n elements read, k elements and indices from each rank: for k that are small beside n / p. (PMPP ch. 13 and 20.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

struct add_offset {
  std::int64_t offset;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return offset + i; }
};
/// The index in the whole of the candidate that has come in some place.
struct index_of_candidate {
  const std::int64_t* indices;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t candidate) const { return indices[candidate]; }
};

}  // namespace detail

/// Writes the k elements of x that come first under comp, in order, and their indices in the whole; on every process.
///
/// \param k            0 <= k <= n, the same on every process.
/// \param values_out   a range of the host of k elements. \param indices_out  of k std::int64_t.
/// \param comp         as in top_k on one device: greater gives the largest; NaN comes last; of equals the smaller index comes first.
/// Waits. Cost: n elements read; k elements and indices from each rank to all others (all in one process: to one rank). Scratch: p k
/// elements and indices a rank, and what top_k takes on one device.
/// \throws std::invalid_argument if x lies on other devices or k lies outside of [0, n], std::length_error if an output has not k
/// places; communication_error; out_of_memory, cuda_error. Example: test/distributed_verbs.cpp, top_k.
template <class P, class C, class T, contiguous_data Values, contiguous_data Indices, class Comp = greater>
void top_k(const devices<P, C>& gpus, const distributed_buffer<T>& x, std::int64_t k, Values&& values_out,
           Indices&& indices_out, Comp comp = {}) {
  detail::require_on("top_k", "x", gpus, x);
  static_assert(std::is_same_v<element_of<std::remove_reference_t<Values>>, T> &&
                    std::is_same_v<element_of<std::remove_reference_t<Indices>>, std::int64_t>,
                "pmpp::top_k: on several ranks values_out has the elements' type and indices_out std::int64_t");
  detail::check_k("top_k", k, x.size());
  for (const std::size_t room : {std::size_t(std::size(values_out)), std::size_t(std::size(indices_out))})
    if (room != std::size_t(k))
      detail::throw_length_error("pmpp::top_k: an output has " + detail::text::of(room) + " places, k is " +
                                 detail::text::of(k));
  detail::require_same_call<T, Comp>(gpus, "top_k", {x.size(), k});
  if (k == 0) return;

  const auto group = gpus.group();
  const auto ranks = detail::ranks_with_elements(x);
  std::vector<std::int64_t> offsets{0}, begin(static_cast<std::size_t>(gpus.size()));
  for (const int r : ranks) {
    begin[std::size_t(r)] = offsets.back();
    offsets.push_back(offsets.back() + min(k, x.size_of(r)));
  }
  const std::int64_t candidates = offsets.back();
  const auto values = detail::arrays_of<T>(*group, [&](int) { return candidates; });
  const auto indices = detail::arrays_of<std::int64_t>(*group, [&](int) { return candidates; });
  gpus.each([&](int i, const P& where) {
    const auto block = x.part(i);
    if (block.empty()) return;
    const std::int64_t most = min(k, x.size_of(gpus.rank(i)));
    T* const first = values[std::size_t(i)].data() + begin[std::size_t(gpus.rank(i))];
    std::int64_t* const places = indices[std::size_t(i)].data() + begin[std::size_t(gpus.rank(i))];
    pmpp::top_k(where, block, most, first, places, comp);
    pmpp::transform(where, places, places + most, places, detail::add_offset{x.offset(gpus.rank(i))});
  });
  detail::gather_pieces(gpus, ranks, offsets, values);
  detail::gather_pieces(gpus, ranks, offsets, indices);

  const auto best = detail::arrays_of<T>(*group, [&](int i) { return i == 0 ? k : 0; });
  const auto places = detail::arrays_of<std::int64_t>(*group, [&](int i) { return i == 0 ? k : 0; });
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    std::int64_t* const at = places[0].data();
    pmpp::top_k(where, values[0].span(), k, best[0].data(), at, comp);
    pmpp::transform(where, at, at + k, at, detail::index_of_candidate{indices[0].data()});
    detail::copy_to_host(gpus, 0, std::data(values_out), best[0].data(), best[0].span().size_bytes());
    detail::copy_to_host(gpus, 0, std::data(indices_out), at, places[0].span().size_bytes());
  });
  gpus.synchronize(0);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
