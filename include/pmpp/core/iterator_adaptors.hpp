// SPDX-License-Identifier: Apache-2.0
//
// Iterators made of other iterators, and outputs that compute.
//
//   permutation_iterator{data, index}     data[index[0]], data[index[1]], ...       read or written
//   reverse_iterator{end}                 end[-1], end[-2], ...                     read or written
//   strided_iterator{data, 3}             data[0], data[3], data[6], ...            read or written
//   tabulated(f)                          f(0), f(1), f(2), ...                     read
//   transform_output_iterator{out, f}     it[i] = x writes f(x) to out[i]; transform_output<T>(out, f) where f takes a T
//   tabulate_output<T>(f)                 it[i] = x, x of type T, calls f(i, x)
//   discard_iterator{}                    it[i] = x does nothing
//
//   zip(a, b, c)                          pair{a[0], pair{b[0], c[0]}}, ...               read; of any number of iterators
//   zip_output(a, b, c)                   it[i] = pairs(x, y, z) writes x to a[i], y to b[i], z to c[i]
//   spread(f)                             f(x, y, z) for what a zip gives
//   columns(plus{}, minimum{}, maximum{})   an operator for such elements: each part by its own
//
// Beside those that are only written kernels read the input as if it stood alone; what calls a function for each element gets
// one of each lane from transform. Permuted, reversed and strided elements move one by one. They nest, and with those of core/iterator.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/packed.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// data[index[0]], data[index[1]], ... \pre every index that is used lies in data; not checked.
template <class It, class Index>
struct permutation_iterator : detail::iterator_arithmetic<permutation_iterator<It, Index>> {
  using value_type = value_of<It>;
  using reference = decltype(std::declval<const It&>()[0]);
  using pointer = void;

  It data{};
  Index index{};

  constexpr permutation_iterator() = default;
  PMPP_HOST_DEVICE constexpr permutation_iterator(It elements, Index places) : data(elements), index(places) {}
  template <class WrappedA, class WrappedB>
  requires(!(std::is_same_v<WrappedA, It> &&
             std::is_same_v<WrappedB, Index>)&&std::is_same_v<detail::unwrapped<WrappedA>, It> &&
           std::is_same_v<detail::unwrapped<WrappedB>, Index>) constexpr permutation_iterator(const WrappedA& elements,
                                                                                              const WrappedB& places)
      : data(detail::unwrap(elements)), index(detail::unwrap(places)) {}
  PMPP_HOST_DEVICE constexpr reference operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr reference operator[](std::ptrdiff_t n) const {
    return data[static_cast<std::ptrdiff_t>(index[n])];
  }
  PMPP_HOST_DEVICE constexpr permutation_iterator& operator+=(std::ptrdiff_t n) {
    index = index + n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const permutation_iterator& a,
                                                             const permutation_iterator& b) {
    return a.index - b.index;
  }
};
template <class It, class Index>
permutation_iterator(It, Index) -> permutation_iterator<detail::unwrapped<It>, detail::unwrapped<Index>>;

/// end[-1], end[-2], ...: a range backwards, from the iterator past its last element.
template <class It>
struct reverse_iterator : detail::iterator_arithmetic<reverse_iterator<It>> {
  using value_type = value_of<It>;
  using reference = decltype(std::declval<const It&>()[0]);
  using pointer = void;

  It end{};
  std::ptrdiff_t passed = 0;

  constexpr reverse_iterator() = default;
  PMPP_HOST_DEVICE constexpr explicit reverse_iterator(It past_the_last) : end(past_the_last) {}
  template <class Wrapped>
  requires(
      !std::is_same_v<Wrapped, reverse_iterator> && !std::is_same_v<Wrapped, It> &&
      std::is_same_v<detail::unwrapped<Wrapped>, It>) constexpr explicit reverse_iterator(const Wrapped& past_the_last)
      : end(detail::unwrap(past_the_last)) {}
  PMPP_HOST_DEVICE constexpr reference operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr reference operator[](std::ptrdiff_t n) const { return end[-1 - passed - n]; }
  PMPP_HOST_DEVICE constexpr reverse_iterator& operator+=(std::ptrdiff_t n) {
    passed += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const reverse_iterator& a, const reverse_iterator& b) {
    return (b.end - a.end) + (a.passed - b.passed);
  }
};
template <class It>
reverse_iterator(It) -> reverse_iterator<detail::unwrapped<It>>;

/// data[0], data[stride], data[2 * stride], ...; the stride may be negative.
template <class It>
struct strided_iterator : detail::iterator_arithmetic<strided_iterator<It>> {
  using value_type = value_of<It>;
  using reference = decltype(std::declval<const It&>()[0]);
  using pointer = void;

  It data{};
  std::ptrdiff_t stride = 1, index = 0;

  constexpr strided_iterator() = default;
  PMPP_HOST_DEVICE constexpr strided_iterator(It first, std::ptrdiff_t step) : data(first), stride(step) {}
  template <class Wrapped>
  requires(!std::is_same_v<Wrapped, It> &&
           std::is_same_v<detail::unwrapped<Wrapped>, It>) constexpr strided_iterator(const Wrapped& first,
                                                                                      std::ptrdiff_t step)
      : data(detail::unwrap(first)), stride(step) {}
  PMPP_HOST_DEVICE constexpr reference operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr reference operator[](std::ptrdiff_t n) const { return data[(index + n) * stride]; }
  PMPP_HOST_DEVICE constexpr strided_iterator& operator+=(std::ptrdiff_t n) {
    index += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const strided_iterator& a, const strided_iterator& b) {
    return a.index - b.index;
  }
};
template <class It>
strided_iterator(It, std::ptrdiff_t) -> strided_iterator<detail::unwrapped<It>>;

/// f(start), f(start + 1), ... as values of type T, which must be named where f can be called on the device only.
template <class T = void, class F>
constexpr auto tabulated(F f, std::int64_t start = 0) {
  using counting = counting_iterator<std::int64_t>;
  if constexpr (std::is_void_v<T>)
    return transform_iterator<counting, F>(counting(start), f);
  else
    return transform_iterator<counting, F, T>(counting(start), f);
}

/// An output that calls f(i, x) where x is written to place i. T: the type that x is converted to. f may write anywhere, from
/// many threads at once, and is called once for each element.
template <class T, class F>
struct tabulate_output_iterator : detail::iterator_arithmetic<tabulate_output_iterator<T, F>> {
  struct reference {
    const F& f;
    std::int64_t place;
    PMPP_HOST_DEVICE const reference& operator=(const T& x) const {
      f(place, x);
      return *this;
    }
  };
  using value_type = T;
  using pointer = void;

  F f{};
  std::int64_t index = 0;

  constexpr tabulate_output_iterator() = default;
  PMPP_HOST_DEVICE constexpr explicit tabulate_output_iterator(F function) : f(function) {}
  PMPP_HOST_DEVICE constexpr reference operator*() const { return {f, index}; }
  PMPP_HOST_DEVICE constexpr reference operator[](std::ptrdiff_t n) const { return {f, index + n}; }
  PMPP_HOST_DEVICE constexpr tabulate_output_iterator& operator+=(std::ptrdiff_t n) {
    index += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const tabulate_output_iterator& a,
                                                             const tabulate_output_iterator& b) {
    return a.index - b.index;
  }
};
template <class T, class F>
constexpr auto tabulate_output(F f) {
  return tabulate_output_iterator<T, F>(f);
}

namespace detail {

/// An element to come, and whether it is to be written.
template <class T>
struct written_element {
  T value;
  bool written;
};
/// An output in place: elements that are not to be written are the old ones.
template <class It>
struct in_place_iterator : iterator_arithmetic<in_place_iterator<It>> {
  using value_type = written_element<value_of<It>>;
  struct reference {
    const It& base;
    std::ptrdiff_t place;
    PMPP_HOST_DEVICE const reference& operator=(const value_type& x) const {
      if (x.written) base[place] = x.value;
      return *this;
    }
  };
  using pointer = void;

  It base;

  PMPP_HOST_DEVICE explicit in_place_iterator(const It& it) : base(it) {}
  PMPP_HOST_DEVICE reference operator*() const { return {base, 0}; }
  PMPP_HOST_DEVICE reference operator[](std::ptrdiff_t n) const { return {base, n}; }
  PMPP_HOST_DEVICE in_place_iterator& operator+=(std::ptrdiff_t n) {
    detail::move_by(base, n);
    return *this;
  }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const in_place_iterator& a, const in_place_iterator& b) {
    return a.base - b.base;
  }
};

/// A pair that other pairs convert to, member by member.
template <class A, class B>
struct parts {
  A first;
  B second;
  parts() = default;
  template <class X, class Y>
  PMPP_HOST_DEVICE constexpr parts(const pair<X, Y>& x)
      : first(static_cast<A>(x.first)), second(static_cast<B>(x.second)) {}
};

}  // namespace detail

/// Parts of one element, each to an output of its own: it[i] = pair{x, y} writes x to a[i] and y to b[i], converted to their
/// types. Kernels store each part in vectors of 16 bytes.
template <class A, class B>
struct zip_output_iterator : detail::iterator_arithmetic<zip_output_iterator<A, B>> {
  struct reference {
    decltype(std::declval<const A&>()[0]) first;
    decltype(std::declval<const B&>()[0]) second;
    PMPP_HOST_DEVICE const reference& operator=(const detail::parts<value_of<A>, value_of<B>>& x) const {
      first = x.first;
      second = x.second;
      return *this;
    }
  };
  using value_type = detail::parts<value_of<A>, value_of<B>>;
  using pointer = void;

  A a{};
  B b{};

  constexpr zip_output_iterator() = default;
  PMPP_HOST_DEVICE constexpr zip_output_iterator(A first, B second) : a(first), b(second) {}
  PMPP_HOST_DEVICE constexpr reference operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr reference operator[](std::ptrdiff_t n) const { return {a[n], b[n]}; }
  PMPP_HOST_DEVICE constexpr zip_output_iterator& operator+=(std::ptrdiff_t n) {
    detail::move_by(a, n);
    detail::move_by(b, n);
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const zip_output_iterator& x,
                                                             const zip_output_iterator& y) {
    return x.a - y.a;
  }
};

/// An output that writes the parts of an element to these iterators, two or more: x, y, z of pairs(x, y, z). As long as the
/// shortest; what unique_copy and others keep of a zip goes through it too.
template <class A, class B, class... More>
constexpr auto zip_output(A&& a, B&& b, More&&... more) {
  const auto first = detail::unwrap<std::decay_t<A>>(a);
  using iterator = std::remove_const_t<decltype(first)>;
  if constexpr (sizeof...(More) == 0)
    return zip_output_iterator<iterator, detail::unwrapped<std::decay_t<B>>>(first, detail::unwrap<std::decay_t<B>>(b));
  else
    return zip_output_iterator<iterator, decltype(pmpp::zip_output(b, more...))>(first, pmpp::zip_output(b, more...));
}
/// The elements of two or more iterators side by side: a function of them is spread(f).
template <class A, class B, class... More>
constexpr auto zip(A&& a, B&& b, More&&... more) {
  if constexpr (sizeof...(More) == 0)
    return zip_iterator(a, b);
  else
    return zip_iterator(a, pmpp::zip(b, more...));
}
/// What a zip_output takes of its outputs' elements, and what a zip gives.
template <class A, class B, class... More>
PMPP_HOST_DEVICE constexpr auto pairs(const A& a, const B& b, const More&... more) {
  if constexpr (sizeof...(More) == 0)
    return pair<A, B>{a, b};
  else
    return pair<A, decltype(pmpp::pairs(b, more...))>{a, pmpp::pairs(b, more...)};
}
/// A function of the elements of a zip: f(x, y, z) for pair{x, pair{y, z}}. (If the last element is a pair itself, of its members.)
template <class F>
constexpr auto spread(F f) {
  return detail::spread_function<F>{f};
}
/// An operator that combines the elements of zips part by part, each by its own operator: a reduction or scan of several columns in one
/// pass. It is associative, or commutes, where all of them do.
template <class A, class B, class... More>
constexpr auto columns(A a, B b, More... more) {
  if constexpr (sizeof...(More) == 0)
    return detail::columns_operator<A, B>{a, b};
  else
    return detail::columns_operator<A, decltype(pmpp::columns(b, more...))>{a, pmpp::columns(b, more...)};
}

namespace detail {

template <class A, class B>
inline constexpr bool is_zip<zip_output_iterator<A, B>> = true;

template <class Out, class F>
struct write_transformed {
  Out out;
  F f;
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const T& x) const {
    out[i] = static_cast<value_of<Out>>(f(x));
  }
};
struct write_nothing {
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t, const T&) const {}
};
/// What any value converts to.
struct discarded {
  discarded() = default;
  template <class T>
  requires(!std::is_same_v<T, discarded>) PMPP_HOST_DEVICE constexpr discarded(const T&) {}
};

}  // namespace detail

/// An output that writes f(x) to out[i] where x is written to place i. T: the type that x is converted to before f.
template <class Out, class F, class T = value_of<Out>>
struct transform_output_iterator : tabulate_output_iterator<T, detail::write_transformed<Out, F>> {
  using base = tabulate_output_iterator<T, detail::write_transformed<Out, F>>;
  constexpr transform_output_iterator() = default;
  template <class Wrapped>
  requires std::is_same_v<detail::unwrapped<Wrapped>, Out>
  constexpr transform_output_iterator(const Wrapped& out, F function) : base({detail::unwrap(out), function}) {}
  PMPP_HOST_DEVICE friend constexpr transform_output_iterator operator+(transform_output_iterator it,
                                                                        std::ptrdiff_t n) {
    it.index += n;
    return it;
  }
};
template <class Out, class F>
transform_output_iterator(Out, F) -> transform_output_iterator<detail::unwrapped<Out>, F>;
/// The same for a T that is named, where f takes another type than out has: transform_output<pair<int, int>>(out, spread(f)).
template <class T, class Out, class F>
constexpr auto transform_output(Out&& out, F f) {
  return transform_output_iterator<detail::unwrapped<std::decay_t<Out>>, F, T>(out, f);
}

/// An output that forgets what is written to it.
struct discard_iterator : tabulate_output_iterator<detail::discarded, detail::write_nothing> {
  PMPP_HOST_DEVICE friend constexpr discard_iterator operator+(discard_iterator it, std::ptrdiff_t n) {
    it.index += n;
    return it;
  }
};

namespace detail {

/// An element and the one in front of it, if there is one; else twice the same.
template <class T>
struct neighbour_pair {
  T before, here;
  bool has_before;
};
/// The elements of a range with their neighbours.
template <class It>
struct neighbours_iterator : iterator_arithmetic<neighbours_iterator<It>> {
  using value_type = neighbour_pair<value_of<It>>;
  using reference = value_type;
  using pointer = void;

  It base{};
  std::int64_t place = 0;

  constexpr neighbours_iterator() = default;
  PMPP_HOST_DEVICE constexpr explicit neighbours_iterator(It first) : base(first) {}
  PMPP_HOST_DEVICE constexpr value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr value_type operator[](std::ptrdiff_t n) const {
    const bool has_before = place + n > 0;
    return {base[has_before ? n - 1 : n], base[n], has_before};
  }
  PMPP_HOST_DEVICE constexpr neighbours_iterator& operator+=(std::ptrdiff_t n) {
    detail::move_by(base, n);
    place += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const neighbours_iterator& a,
                                                             const neighbours_iterator& b) {
    return a.place - b.place;
  }
};

}  // namespace detail

// How kernels move them (block/load_store.hpp).
namespace block {

template <class It>
struct access;

/// Any number of elements at any place: each is written by itself.
template <class T, class F>
struct access<tabulate_output_iterator<T, F>> {
  using iterator = tabulate_output_iterator<T, F>;
  static constexpr int items = 0;
  static constexpr bool always = true;

  template <int>
  static std::int64_t lead(const iterator&) {
    return 0;
  }
  template <int Items, class Vector>
  PMPP_HOST_DEVICE static void store(const iterator& it, std::int64_t i, const Vector& v) {
    for (int k = 0; k < Items; ++k) it[i + k] = v.item[k];
  }
};
/// A vector of an array is written where any of its elements is to be: bytes alone would take a store each. Of others each element by
/// itself.
template <class It>
struct access<pmpp::detail::in_place_iterator<It>> {
  using iterator = pmpp::detail::in_place_iterator<It>;
  static constexpr bool array = std::is_pointer_v<It>;
  static constexpr int items = array ? access<It>::items : 0;
  static constexpr bool always = !array || access<It>::always;

  template <int Items>
  static std::int64_t lead(const iterator& it) {
    if constexpr (array)
      return access<It>::template lead<Items>(it.base);
    else
      return 0;
  }
  static std::int64_t lead_to_line(const iterator& it) {
    if constexpr (array)
      return access<It>::lead_to_line(it.base);
    else
      return 0;
  }
  template <int Items, class Vector>
  PMPP_HOST_DEVICE static void store(const iterator& it, std::int64_t i, const Vector& v) {
    if constexpr (array) {
      packed<value_of<It>, Items, alignof(value_of<It>)> values;
      bool any = false;
      for (int k = 0; k < Items; ++k) {
        values.item[k] = v.item[k].value;
        any = any || v.item[k].written;
      }
      if (any) access<It>::template store<Items>(it.base, i, values);
    } else {
      for (int k = 0; k < Items; ++k) it[i + k] = v.item[k];
    }
  }
};
/// Vectors as wide as those of all outputs, where their boundaries lie at the same elements.
template <class A, class B>
struct access<zip_output_iterator<A, B>> {
  using both = access<zip_iterator<A, B>>;
  static constexpr int items = both::items;
  static constexpr bool always = both::always;

  template <int Items>
  static std::int64_t lead(const zip_output_iterator<A, B>& it) {
    return both::template lead<Items>({it.a, it.b});
  }
  static std::int64_t lead_to_line(const zip_output_iterator<A, B>& it) {
    if constexpr (std::is_pointer_v<A>)
      return access<A>::lead_to_line(it.a);
    else
      return 0;
  }
  template <int Items, class Vector>
  PMPP_HOST_DEVICE static void store(const zip_output_iterator<A, B>& it, std::int64_t i, const Vector& v) {
    packed<value_of<A>, Items, alignof(value_of<A>)> first;
    packed<value_of<B>, Items, alignof(value_of<B>)> second;
    for (int k = 0; k < Items; ++k) {
      first.item[k] = v.item[k].first;
      second.item[k] = v.item[k].second;
    }
    access<A>::template store<Items>(it.a, i, first);
    access<B>::template store<Items>(it.b, i, second);
  }
};
template <class Out, class F, class T>
struct access<transform_output_iterator<Out, F, T>>
    : access<tabulate_output_iterator<T, pmpp::detail::write_transformed<Out, F>>> {};
template <>
struct access<discard_iterator>
    : access<tabulate_output_iterator<pmpp::detail::discarded, pmpp::detail::write_nothing>> {};

/// A vector, and the element in front of it, which the vector before has in the same line of the cache.
template <class It>
struct access<pmpp::detail::neighbours_iterator<It>> {
  using base = access<It>;
  using iterator = pmpp::detail::neighbours_iterator<It>;
  using value_type = typename iterator::value_type;
  static constexpr int items = base::items;
  static constexpr bool always = base::always;

  template <class Vector, class One>
  struct raw_neighbours {
    Vector here;
    One before;
    bool has_before;  ///< the first item that is there
    int from;         ///< which that is
  };
  template <int Items>
  static auto raw_type(const iterator& it) {
    const auto here = base::template load<Items>(it.base, 0);
    const auto before = base::template load<1>(it.base, 0);
    return raw_neighbours<std::remove_const_t<decltype(here)>, std::remove_const_t<decltype(before)>>{};
  }
  template <int Items>
  using raw = decltype(raw_type<Items>(std::declval<const iterator&>()));

  template <int Items>
  static std::int64_t lead(const iterator& it) {
    return base::template lead<Items>(it.base);
  }
  template <int Items>
  PMPP_HOST_DEVICE static raw<Items> load(const iterator& it, std::int64_t i) {
    const bool has = it.place + i > 0;
    return {base::template load<Items>(it.base, i), base::template load<1>(it.base, has ? i - 1 : i), has, 0};
  }
  template <int Items>
  PMPP_HOST_DEVICE static raw<Items> load_part(const iterator& it, std::int64_t i, int from, int to) {
    const std::int64_t first = i + from;
    const bool has = it.place + first > 0;
    return {base::template load_part<Items>(it.base, i, from, to),
            base::template load<1>(it.base, has ? first - 1 : first), has, from};
  }
  template <int Items>
  PMPP_HOST_DEVICE static void load_async(const iterator& it, std::int64_t i, raw<Items>& slot) {
    slot.has_before = it.place + i > 0;
    slot.from = 0;
    base::template load_async<Items>(it.base, i, slot.here);
    base::template load_async<1>(it.base, slot.has_before ? i - 1 : i, slot.before);
  }
  template <class Raw>
  PMPP_HOST_DEVICE static value_type value(const iterator& it, const Raw& x, int k) {
    const auto here = base::value(it.base, x.here, k);
    if (k == 0 || k <= x.from) return {base::value(it.base, x.before, 0), here, x.has_before};
    return {base::value(it.base, x.here, k - 1), here, true};
  }
};

}  // namespace block
}  // namespace pmpp::inline PMPP_BACKEND
