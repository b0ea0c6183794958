// SPDX-License-Identifier: Apache-2.0
//
// constant_table<T, N>: a table that all threads of a kernel read, as one of its arguments.
//
//   const pmpp::constant_table<float, 25> taps(weights);      // copies: from an array or any range of N elements
//   pmpp::launch(device, blocks, kernel{}, taps, in, out);
//   ... operator()(Block& block, const pmpp::constant_table<float, 25>& taps, ...)   sum += taps[k] * ...
//
// Arguments of a kernel lie in constant memory, as a __constant__ array does, and are read through its cache: one element
// for all lanes of a warp in one access, if all ask for the same one at the same time; lanes that ask for different ones
// wait for each other, and such tables belong in shared memory. What a __constant__ array needs besides, a table does
// without: a name for the whole program, a copy before the launch, a wait before the next copy. Two launches may have two
// tables, a graph keeps its own, and in the emulator it is the same text.
//
// A kernel takes it by reference, as above: a copy that is indexed by a variable would lie in local memory.
#pragma once

#include <cstddef>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// N elements of T, at most 32,000 bytes: what CUDA allows for all arguments of a kernel is 32,764 (4,096 before CUDA 12.1).
template <class T, int N>
class constant_table {
  static_assert(N > 0, "pmpp: a constant_table has at least one element");
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of a constant_table are trivially copyable");
  static_assert(sizeof(T) * N <= 32000, "pmpp: a constant_table has at most 32,000 bytes; larger tables are buffers");

public:
  constexpr constant_table() = default;  ///< of zeros
  constexpr constant_table(const T (&elements)[N]) {
    for (int i = 0; i < N; ++i) element_[i] = elements[i];
  }
  /// Copies a range of the host. \throws std::invalid_argument unless it has N elements.
  template <class R>
  requires requires(const R& r) {
    r.begin();
    r.size();
  }
  constexpr explicit constant_table(const R& r) {
    if (r.size() != std::size_t(N))
      detail::throw_invalid_argument("pmpp::constant_table: " + detail::text::of(r.size()) +
                                     " elements for a table of " + detail::text::of(N));
    auto it = r.begin();
    for (int i = 0; i < N; ++i, ++it) element_[i] = *it;
  }

  PMPP_HOST_DEVICE constexpr const T& operator[](int i) const { return element_[i]; }
  PMPP_HOST_DEVICE constexpr T& operator[](int i) { return element_[i]; }
  PMPP_HOST_DEVICE static constexpr int size() { return N; }
  PMPP_HOST_DEVICE constexpr const T* data() const { return element_; }
  PMPP_HOST_DEVICE constexpr const T* begin() const { return element_; }
  PMPP_HOST_DEVICE constexpr const T* end() const { return element_ + N; }

private:
  T element_[N] = {};
};

}  // namespace pmpp::inline PMPP_BACKEND
