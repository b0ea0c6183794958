// SPDX-License-Identifier: Apache-2.0
//
// copy_if over several ranks: each rank keeps those of its block, in order; how many there are is told to every process; then the
// result becomes blocks that differ by one at most. (PMPP ch. 11 and 20.)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// The elements x[i] for which pred(x[i]) is true, in order, in blocks that differ by one at most.
///
/// \param pred  as in copy_if on one device.
/// Waits for the numbers of elements; their moves are enqueued. Cost: n elements read, those that are kept written twice, and moved
/// once to their rank; a count from each rank. Allocates the result, and as many elements as each block has until the call ends.
/// \throws std::invalid_argument if x lies on other devices; communication_error; out_of_memory, cuda_error.
/// Example: test/distributed.cpp, copy_if.
template <class P, class C, class T, class Pred>
[[nodiscard]] distributed_buffer<T> copy_if(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  detail::require_on("copy_if", "x", gpus, x);
  const auto group = gpus.group();
  const auto kept = detail::arrays_of<T>(*group, [&](int i) { return x.size_of(gpus.rank(i)); });
  const auto counts = detail::arrays_of<std::int64_t>(*group, [](int) { return 1; });
  std::vector<std::int64_t> mine(kept.size());
  gpus.each([&](int i, const P& where) {
    const auto k = static_cast<std::size_t>(i);
    pmpp::copy_if_into(where, x.part(i), kept[k].span(), counts[k].span(), pred);
  });
  for (std::size_t k = 0; k < mine.size(); ++k)  // once all are at work: such a copy waits for its rank
    detail::copy_on_rank(group->places[k], &mine[k], counts[k].data(), sizeof(std::int64_t));
  gpus.synchronize();
  return detail::exchanged<T>(
      gpus, [&](int i) { return kept[std::size_t(i)].data(); },
      detail::pieces_for_even_blocks(detail::values_of_all(gpus, mine)));
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
