// SPDX-License-Identifier: Apache-2.0
//
// Questions about all elements of several ranks: count, count_if, find, find_if, all_of, any_of, none_of. Each rank asks its block at
// the same time; a number from each rank is gathered. A rank that finds nothing reads all of its block, whatever others have found.
// (PMPP ch. 10 and 20.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/find.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// ask(where, block, answer) for each rank: a number from each, by rank, on every process. Waits.
template <class P, class C, class T, class Ask>
std::vector<std::int64_t> numbers_of_ranks(const char* function, const devices<P, C>& gpus,
                                           const distributed_buffer<T>& x, Ask ask) {
  detail::require_on(function, "x", gpus, x);
  detail::require_same_call<T, Ask>(gpus, function, {x.size()});
  const auto numbers = detail::arrays_of<std::int64_t>(*gpus.group(), [](int) { return 1; });
  gpus.each([&](int i, const P& where) { ask(where, x.part(i), numbers[std::size_t(i)].span()); });
  return detail::firsts_of_all(gpus, numbers);
}
inline std::int64_t total_of(const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}
/// The first place over all, of places in the blocks; the size of a block, or of x, where there is none.
template <class T>
std::int64_t first_place(const distributed_buffer<T>& x, const std::vector<std::int64_t>& places) {
  for (int r = 0; r < static_cast<int>(places.size()); ++r)
    if (places[std::size_t(r)] < x.size_of(r)) return x.offset(r) + places[std::size_t(r)];
  return x.size();
}

}  // namespace detail

/// How many elements equal `value`, or pred is true for; on every process.
///
/// \param pred  as in count_if on one device.
/// Waits. Cost: n elements read; one number from each rank. \throws std::invalid_argument if x lies on other devices;
/// communication_error; cuda_error. Example: test/distributed_verbs.cpp, questions.
template <class P, class C, class T>
[[nodiscard]] std::int64_t count(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                 const std::type_identity_t<T>& value) {
  return detail::total_of(detail::numbers_of_ranks("count", gpus, x, [&](const P& where, auto block, auto answer) {
    pmpp::count_into(where, block, answer, value);
  }));
}
template <class P, class C, class T, class Pred>
[[nodiscard]] std::int64_t count_if(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  return detail::total_of(detail::numbers_of_ranks("count_if", gpus, x, [&](const P& where, auto block, auto answer) {
    pmpp::count_if_into(where, block, answer, pred);
  }));
}

/// The index in the whole of the first element that equals `value`, or that pred is true for; the size of x if there is none. On every
/// process. As count_if; a rank stops soon after the first such element of its block.
template <class P, class C, class T>
[[nodiscard]] std::int64_t find(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                const std::type_identity_t<T>& value) {
  return detail::first_place(x, detail::numbers_of_ranks("find", gpus, x, [&](const P& where, auto block, auto answer) {
                               pmpp::find_into(where, block, answer, value);
                             }));
}
template <class P, class C, class T, class Pred>
[[nodiscard]] std::int64_t find_if(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  return detail::first_place(x,
                             detail::numbers_of_ranks("find_if", gpus, x, [&](const P& where, auto block, auto answer) {
                               pmpp::find_if_into(where, block, answer, pred);
                             }));
}

/// Whether pred is true for all elements, for any, for none; of none it is true for all. As find_if.
template <class P, class C, class T, class Pred>
[[nodiscard]] bool all_of(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  return detail::first_place(x,
                             detail::numbers_of_ranks("all_of", gpus, x, [&](const P& where, auto block, auto answer) {
                               pmpp::find_if_not_into(where, block, answer, pred);
                             })) == x.size();
}
template <class P, class C, class T, class Pred>
[[nodiscard]] bool any_of(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  return pmpp::find_if(gpus, x, pred) != x.size();
}
template <class P, class C, class T, class Pred>
[[nodiscard]] bool none_of(const devices<P, C>& gpus, const distributed_buffer<T>& x, Pred pred) {
  return pmpp::find_if(gpus, x, pred) == x.size();
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
