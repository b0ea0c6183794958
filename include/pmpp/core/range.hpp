// SPDX-License-Identifier: Apache-2.0
//
// How algorithms take their data. An input is a range (anything with begin() and end(): buffers, spans, std::vector,
// thrust::device_vector), or a pair of iterators, or an iterator and a device_count. An output is an iterator, or a
// range, whose room is then checked. Contiguous data is unwrapped to plain pointers here, once, so that kernels see
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>  // also std::contiguous_iterator and the std::to_address that it is defined by
#include <string>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Anything with begin() and end() that can be indexed.
template <class R>
concept random_access_range = requires(R& r) {
  { std::begin(r) } -> random_access;
  std::end(r);
};

/// The end of an input: an iterator of the same kind, or a device_count.
template <class E, class It>
concept end_of = std::is_same_v<std::decay_t<E>, It> || requires(const E& e) {
  e.pointer;
  e.upper_bound;
};

/// Two iterators, or an iterator and a device_count, as one range.
template <class It, class End>
struct subrange {
  It first;
  End last;
  It begin() const { return first; }
  End end() const { return last; }
};
template <class It, class End>
subrange(It, End) -> subrange<It, End>;

/// The element type of a range.
template <random_access_range R>
using element_value = value_of<decltype(std::begin(std::declval<R&>()))>;

/// Where results may go: an iterator or a range.
template <class O>
concept output = random_access<std::decay_t<O>> || random_access_range<O>;

namespace detail {

/// A checked input: where it starts and how long it is.
template <class It>
struct input {
  It first;
  item_count count;
};

template <class It>
void require_not_null(const char* function, const char* argument, const It& it, std::int64_t n) {
  if constexpr (std::is_pointer_v<It>)
    require(n == 0 || it != nullptr, [&] {
      return std::string("pmpp::") + function + ": " + argument + " is null, but has " + std::to_string(n) +
             " elements";
    });
}

template <class It>
auto input_of(const char* function, const It& first, std::int64_t n) {
  auto p = unwrap(first);
  require_not_null(function, "the input", p, n);
  return input<decltype(p)>{p, {n}};
}

template <class It>
auto input_of(const char* function, const It& first, const It& last) {
  const std::int64_t n = last - first;
  require(n >= 0, [&] {
    return std::string("pmpp::") + function + ": the input ends before it begins: last - first is " + std::to_string(n);
  });
  return input_of(function, first, n);
}

template <class It, class Integer>
auto input_of(const char* function, const It& first, const device_count<Integer>& count) {
  require(count.pointer != nullptr && count.upper_bound >= 0, [&] {
    return std::string("pmpp::") + function + ": device_count needs a pointer and a bound that is not negative, got " +
           (count.pointer == nullptr ? "a null pointer, " : "") + std::to_string(count.upper_bound);
  });
  auto in = input_of(function, first, count.upper_bound);
  in.count = {count.upper_bound, count.pointer, sizeof(Integer) == 8};
  return in;
}

template <random_access_range R>
auto input_of(const char* function, R& r) {
  if constexpr (contiguous_data<R>)
    return input_of(function, raw_pointer(std::data(r)), static_cast<std::int64_t>(std::size(r)));
  else
    return input_of(function, std::begin(r), std::end(r));
}

/// The elements of `in` after f, as values of type T.
template <class T, class It, class F>
auto mapped(const input<It>& in, F f) {
  using iterator = transform_iterator<It, F, T>;
  return input<iterator>{iterator(in.first, f), in.count};
}

/// The elements of `in` as values of type T: what kernels ask of inputs whose elements go to one place.
template <class T, class It>
auto converted(const input<It>& in) {
  if constexpr (std::is_same_v<value_of<It>, T>)
    return in;
  else
    return mapped<T>(in, convert_to<T>{});
}

/// Two inputs as one input of pairs, as long as the first. \throws std::length_error if the second is known to be
/// shorter
template <class R, class S>
auto zipped(const char* function, R& r, S& s) {
  const auto a = input_of(function, r);
  const auto b = input_of(function, s);
  require_room(function, "the second input", b.count.bound, a.count.bound);
  using iterator = zip_iterator<std::remove_const_t<decltype(a.first)>, std::remove_const_t<decltype(b.first)>>;
  return input<iterator>{iterator(a.first, b.first), a.count};
}
/// The same where only the start of the second input is known.
template <class It, class End, class It2>
auto zipped_with_start(const char* function, const It& first, const End& last, const It2& first2) {
  const auto a = input_of(function, first, last);
  const auto b = input_of(function, first2, a.count.bound);
  using iterator = zip_iterator<std::remove_const_t<decltype(a.first)>, std::remove_const_t<decltype(b.first)>>;
  return input<iterator>{iterator(a.first, b.first), a.count};
}

/// The iterator at which an output starts, as the caller spelt it.
template <class O>
auto begin_of(O&& out) {
  if constexpr (random_access<std::decay_t<O>>)
    return out;
  else
    return std::begin(out);
}

/// Refuses, when it compiles, an iterator through which elements cannot be written, or not by several threads at once.
template <class It>
constexpr bool require_writable() {
  using reference = decltype(std::declval<It>()[0]);
  constexpr bool is_lost = std::is_same_v<reference, value_of<It>>;
  constexpr bool is_const = std::is_const_v<std::remove_reference_t<reference>>;
  constexpr bool is_packed = std::is_same_v<value_of<It>, bool> && std::is_class_v<reference>;
  static_assert(!is_lost, "pmpp: what is written through this iterator would be lost: it gives its elements by value");
  static_assert(!is_const, "pmpp: the elements to write are const");
  static_assert(!is_packed,
                "pmpp: std::vector<bool> packs its elements, threads would overwrite each other's: take another "
                "container, as std::vector<char>");
  return !is_lost && !is_const && !is_packed;
}

/// Throws std::length_error if `data` is a range of fewer than n elements, std::invalid_argument if it is null.
template <class O>
void check_room(const char* function, const char* argument, O&& data, std::int64_t n) {
  if constexpr (!random_access<std::decay_t<O>>) require_room(function, argument, std::end(data) - std::begin(data), n);
  require_not_null(function, argument, unwrap(begin_of(data)), n);
}

/// The same for data that will be written.
template <class O>
void check_output(const char* function, const char* argument, O&& out, std::int64_t n) {
  require_writable<decltype(unwrap(begin_of(out)))>();
  check_room(function, argument, out, n);
}

/// In debug mode: std::invalid_argument if as many elements from `out` on overlap those of an input, other than by beginning
/// where it begins. Known of pointers, also in zips and under functions; not of a device_count, whose array may be shorter.
template <class In, class Out>
void check_overlap([[maybe_unused]] const char* function, [[maybe_unused]] const In& in,
                   [[maybe_unused]] const item_count& count, [[maybe_unused]] const Out& out) {
  if constexpr (!debug_mode) {
    return;
  } else if constexpr (requires { in.a, in.b; }) {
    check_overlap(function, in.a, count, out);
    check_overlap(function, in.b, count, out);
  } else if constexpr (requires { in.base, in.f; }) {
    check_overlap(function, in.base, count, out);
  } else if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>) {
    const auto from = reinterpret_cast<std::uintptr_t>(in), to = reinterpret_cast<std::uintptr_t>(out);
    const auto n = static_cast<std::uintptr_t>(count.bound);
    require(count.pointer != nullptr || from == to || from + n * sizeof(*in) <= to || to + n * sizeof(*out) <= from,
            [&] {
              return std::string("pmpp::") + function + ": out overlaps the input: of " + std::to_string(n) +
                     " elements each, out begins " + std::to_string(static_cast<std::int64_t>(to - from)) +
                     " bytes behind the input";
            });
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
