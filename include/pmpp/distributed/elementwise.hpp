// SPDX-License-Identifier: Apache-2.0
//
// Element by element on several ranks: for_each, transform, fill, iota. Each rank does its own block; nothing is exchanged.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Calls f(x[i]) for every element, each on its rank. \param f  as for_each on one device wants it.
/// Asynchronous. Cost: one launch a rank. \throws std::invalid_argument if x lies on other devices; cuda_error.
/// Example: test/distributed.cpp, element by element.
template <class P, class C, class T, class F>
void for_each(const devices<P, C>& gpus, distributed_buffer<T>& x, F f) {
  detail::require_on("for_each", "x", gpus, x);
  gpus.each([&](int i, const P& where) { pmpp::for_each(where, x.part(i), f); });
}

/// Writes f(x[i]) to y[i]; y may be x. \param y  of the same blocks as x.
/// Asynchronous. Cost: n elements read, n written; one launch a rank.
/// \throws as for_each; std::length_error if the blocks differ.
template <class P, class C, class T, class U, class F>
void transform(const devices<P, C>& gpus, const distributed_buffer<T>& x, distributed_buffer<U>& y, F f) {
  detail::require_on("transform", "x", gpus, x);
  detail::require_on("transform", "out", gpus, y);
  detail::require_same_blocks("transform", "out", x, y);
  gpus.each([&](int i, const P& where) { pmpp::transform(where, x.part(i), y.part(i), f); });
}

/// Writes f(x[i], z[i]) to y[i]; y may be x or z. As above.
template <class P, class C, class T, class V, class U, class F>
void transform(const devices<P, C>& gpus, const distributed_buffer<T>& x, const distributed_buffer<V>& z,
               distributed_buffer<U>& y, F f) {
  detail::require_on("transform", "x", gpus, x);
  detail::require_on("transform", "the second input", gpus, z);
  detail::require_on("transform", "out", gpus, y);
  detail::require_same_blocks("transform", "the second input", x, z);
  detail::require_same_blocks("transform", "out", x, y);
  gpus.each([&](int i, const P& where) { pmpp::transform(where, x.part(i), z.part(i), y.part(i), f); });
}

/// Sets every element to `value`. Asynchronous. Cost: n elements written; one launch a rank. \throws as for_each
template <class P, class C, class T>
void fill(const devices<P, C>& gpus, distributed_buffer<T>& x, const std::type_identity_t<T>& value) {
  detail::require_on("fill", "x", gpus, x);
  gpus.each([&](int i, const P& where) { pmpp::fill(where, x.part(i), value); });
}

/// Sets element i of the whole to start + i. Asynchronous. Cost: n elements written; one launch a rank. \throws as for_each
template <class P, class C, class T>
void iota(const devices<P, C>& gpus, distributed_buffer<T>& x, std::type_identity_t<T> start) {
  detail::require_on("iota", "x", gpus, x);
  gpus.each([&](int i, const P& where) {
    pmpp::iota(where, x.part(i), static_cast<T>(start + static_cast<T>(x.offset(gpus.rank(i)))));
  });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
