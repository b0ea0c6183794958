// SPDX-License-Identifier: Apache-2.0
//
// What counts as a contiguous range: anything with std::data and std::size. That is device_buffer and its relatives,
// std::vector, std::array, std::span, C arrays, std::string, and thrust::device_vector, whose data() is a fancy
// pointer with get(). Views with strides (matrix_view) have no size() and are therefore not contiguous ranges.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>  // also std::contiguous_iterator and the std::to_address that it is defined by
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class T>
constexpr T* raw_pointer(T* p) {
  return p;
}
template <class P>
requires(!std::is_pointer_v<P>) && requires(const P& p) { raw_pointer(p.get()); }
constexpr auto raw_pointer(const P& p) { return p.get(); }

}  // namespace detail

/// A range whose elements lie next to each other: `std::data(r)`, raw or fancy pointer, and `std::size(r)`.
template <class R>
concept contiguous_data = requires(R& r) {
  detail::raw_pointer(std::data(r));
  { std::size(r) } -> std::convertible_to<std::size_t>;
};

namespace detail {

/// The plain pointer behind an iterator over contiguous memory, else the iterator itself. That something has base()
/// says nothing: so have iterators that reverse or transform. A range, in an iterator's place, is refused: what is made of iterators has no
/// length, and may outlive a range that was made for the call. It gives a pointer, so that nothing more than that is said.
template <class It>
constexpr auto unwrap(const It& it) {
  static_assert(
      std::is_array_v<It> || !contiguous_data<const It>,  // an array stands for a pointer
      "pmpp: an iterator is made of iterators or pointers, not of a buffer or another range: write x.begin()");
  if constexpr (std::is_pointer_v<It>)
    return it;
  else if constexpr (contiguous_data<const It>)
    return const_cast<std::remove_cv_t<std::remove_pointer_t<decltype(raw_pointer(std::data(it)))>>*>(
        raw_pointer(std::data(it)));
  else if constexpr (std::contiguous_iterator<It>)
    return std::to_address(it);
  else if constexpr (requires { raw_pointer(it); })  // thrust::device_ptr
    return raw_pointer(it);
  else if constexpr (requires { try_unwrap_contiguous_iterator(it); })  // Thrust's own, for device_vector's iterators
    return try_unwrap_contiguous_iterator(it);
  else
    return it;
}

template <class It>
using unwrapped = decltype(unwrap(std::declval<const It&>()));

}  // namespace detail

/// The element type of a contiguous range, with its const.
template <contiguous_data R>
using element_of = std::remove_pointer_t<decltype(detail::raw_pointer(std::data(std::declval<R&>())))>;

/// A contiguous range whose elements are T, const or not.
template <class R, class T>
concept contiguous_data_of = contiguous_data<R> && std::same_as<std::remove_const_t<element_of<R>>, T>;

namespace detail {

/// A plain span over any contiguous range, fancy pointers included.
template <contiguous_data R>
constexpr std::span<element_of<R>> as_span(R& r) {
  return {raw_pointer(std::data(r)), static_cast<std::size_t>(std::size(r))};
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
