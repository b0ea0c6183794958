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
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The end of an input: an iterator of the same kind, or a device_count.
template <class E, class It>
concept end_of = std::is_same_v<std::decay_t<E>, It> || requires(const E& e) {
  e.pointer;
  e.upper_bound;
};

/// Anything with begin() and end() that can be indexed. Its end may be of a type of its own where it has a size(): std::ranges
/// views.
template <class R>
concept random_access_range = requires(R& r) {
  { std::begin(r) } -> random_access;
  std::end(r);
  requires end_of<decltype(std::end(r)), std::decay_t<decltype(std::begin(r))>> || requires {
    { std::size(r) } -> std::convertible_to<std::ptrdiff_t>;
  };
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
      return detail::text("pmpp::") + function + ": " + argument + " is null, but has " + detail::text::of(n) +
             " elements";
    });
}

/// Elements that are read alone are const, unless `Written`: T* and const T* are one kernel then.
template <bool Written, class It>
using element_iterator = std::conditional_t<std::is_pointer_v<It> && !Written, const std::remove_pointer_t<It>*, It>;

template <bool Written = false, class It>
auto input_of(const char* function, const It& first, std::int64_t n) {
  const element_iterator<Written, unwrapped<It>> p = unwrap(first);
  detail::require_not_null(function, "the input", p, n);
  return input<std::remove_const_t<decltype(p)>>{p, {n}};
}

template <bool Written = false, class It>
auto input_of(const char* function, const It& first, const It& last) {
  const auto n = static_cast<std::int64_t>(last - first);
  require(n >= 0, [&] {
    return detail::text("pmpp::") + function + ": the input ends before it begins: last - first is " +
           detail::text::of(n);
  });
  return detail::input_of<Written>(function, first, n);
}

template <bool Written = false, class It, class Integer>
auto input_of(const char* function, const It& first, const device_count<Integer>& count) {
  require(count.pointer != nullptr && count.upper_bound >= 0, [&] {
    return detail::text("pmpp::") + function + ": device_count needs a pointer and a bound that is not negative, got " +
           (count.pointer == nullptr ? "a null pointer, " : "") + detail::text::of(count.upper_bound);
  });
  auto in = detail::input_of<Written>(function, first, count.upper_bound);
  in.count = {count.upper_bound, count.pointer, sizeof(Integer) == 8};
  return in;
}

template <bool Written = false, random_access_range R>
auto input_of(const char* function, R& r) {
  if constexpr (contiguous_data<R>)
    return detail::input_of<Written>(function, raw_pointer(std::data(r)), static_cast<std::int64_t>(std::size(r)));
  else if constexpr (end_of<decltype(std::end(r)), std::decay_t<decltype(std::begin(r))>>)
    return detail::input_of<Written>(function, std::begin(r), std::end(r));
  else
    return detail::input_of<Written>(function, std::begin(r), static_cast<std::int64_t>(std::size(r)));
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

/// Two inputs as one input of pairs, as long as the first; the second may be an iterator. \throws std::length_error if it is a
/// range that is shorter
template <class R, class S>
auto zipped(const char* function, R& r, S& s, const char* second_name = "the second input") {
  const auto a = detail::input_of(function, r);
  const auto second = [&] {
    if constexpr (random_access_range<S>)
      return detail::input_of(function, s);
    else
      return detail::input_of(function, s, a.count.bound);
  };
  const auto b = second();
  require_room(function, second_name, b.count.bound, a.count.bound);
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
  detail::require_not_null(function, argument, detail::unwrap(begin_of(data)), n);
}

/// Calls f with each plain pointer that an iterator is made of, also in zips and under functions.
template <class It, class F>
constexpr void each_pointer(const It& it, const F& f) {
  if constexpr (std::is_pointer_v<It>) {
    f(it);
  } else if constexpr (is_zip<It>) {
    detail::each_pointer(it.a, f);
    detail::each_pointer(it.b, f);
  } else if constexpr (is_transform<It>) {
    detail::each_pointer(it.base, f);
  }
}

/// Throws std::invalid_argument if m elements from `out` on have memory in common with those of an input, other than by
/// beginning where it begins, if that is allowed. Known of plain pointers (each_pointer); not of a device_count, whose
/// array may be shorter.
template <bool InPlace = false, class In, class Out>
void check_apart(const char* function, const char* argument, const Out& out, std::int64_t m, const input<In>& in) {
  if (in.count.pointer != nullptr || in.count.bound <= 0 || m <= 0) return;
  detail::each_pointer(in.first, [&](const auto* p) {
    detail::each_pointer(out, [&](const auto* q) {
      const auto from = reinterpret_cast<std::uintptr_t>(p), to = reinterpret_cast<std::uintptr_t>(q);
      const auto in_end = from + static_cast<std::uintptr_t>(in.count.bound) * sizeof(*p);
      require((InPlace && from == to) || in_end <= to || to + static_cast<std::uintptr_t>(m) * sizeof(*q) <= from, [&] {
        return detail::text("pmpp::") + function + ": " + argument + " overlaps an input: " + detail::text::of(m) +
               " elements, which begin " + detail::text::of(static_cast<std::int64_t>(to - from)) +
               " bytes after the first of " + detail::text::of(in.count.bound);
      });
    });
  });
}
/// The same in debug mode alone, for as many elements of an output that may be in place.
template <class In, class Out>
void check_overlap([[maybe_unused]] const char* function, [[maybe_unused]] const input<In>& in,
                   [[maybe_unused]] const Out& out) {
  if constexpr (debug_mode) check_apart<true>(function, "out", out, in.count.bound, in);
}

/// A zip of which one part will be written and must not overlap the other.
template <class A, class B>
const input<zip_iterator<A, B>>& parts_apart(const char* function, const char* argument,
                                             const input<zip_iterator<A, B>>& both) {
  detail::check_apart(function, argument, both.first.b, both.count.bound, input<A>{both.first.a, both.count});
  return both;
}

/// As check_room for data that will be written, apart from these inputs. Where one has a device_count, of none is it known
/// how many elements there will be.
template <class O, class... Inputs>
void check_output(const char* function, const char* argument, O&& out, std::int64_t n, const Inputs&... inputs) {
  const auto first = detail::unwrap(begin_of(out));
  require_writable<std::remove_const_t<decltype(first)>>();
  check_room(function, argument, out, n);
  if ((... && (inputs.count.pointer == nullptr))) (check_apart(function, argument, first, n, inputs), ...);
}

/// Whether writing to `out` might change what `in` reads. True where that is not known.
template <class In, class Out>
bool may_overlap(const In& in, const Out& out, std::int64_t n) {
  if constexpr (requires { requires !In::reads_output; }) {
    return false;  // the caller has seen to it
  } else if constexpr (is_zip<In>) {
    return may_overlap(in.a, out, n) || may_overlap(in.b, out, n);
  } else if constexpr (is_transform<In>) {
    return may_overlap(in.base, out, n);
  } else if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>) {
    const auto a = reinterpret_cast<std::uintptr_t>(in), b = reinterpret_cast<std::uintptr_t>(out);
    return a < b + static_cast<std::uintptr_t>(n) * sizeof(*out) &&
           b < a + static_cast<std::uintptr_t>(n) * sizeof(*in);
  } else {
    return !requires { in.value; };
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
