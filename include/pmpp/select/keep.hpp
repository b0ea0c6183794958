// SPDX-License-Identifier: Apache-2.0
//
// What a selection keeps of a range, and where it leaves how much that is.
#pragma once

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/selection.hpp>
#include <pmpp/core/stored.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

// `test` judges an input element, `element` is what of it goes to the output; where `neighbours`, test also sees the element before, or
// what `compared` takes of it. second_later: elements are pairs whose second parts nothing asks for until they are written.

template <class Pred, bool Wanted>
struct keep_where {
  static constexpr bool neighbours = false;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return require_marked<OnGpu, Pred>() && require_predicate<Pred, T>();
  }
  Pred pred;
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& x) const {
    return static_cast<bool>(pred(value_of_stored(x))) == Wanted;
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

/// Of pairs of element and flag.
struct keep_flagged {
  static constexpr bool neighbours = false;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return true;
  }
  template <class T, class Flag>
  PMPP_HOST_DEVICE static bool test(const pair<T, Flag>& x) {
    return static_cast<bool>(x.second);
  }
  template <class T, class Flag>
  PMPP_HOST_DEVICE static const T& element(const pair<T, Flag>& x) {
    return x.first;
  }
};

/// The first of each run of equals.
template <class Eq>
struct keep_first {
  static constexpr bool neighbours = true;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return require_marked<OnGpu, Eq>() && require_equivalence<Eq, T>();
  }
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE static const T& compared(const T& x) {
    return x;
  }
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& before, const T& x) const {
    return !static_cast<bool>(eq(value_of_stored(before), value_of_stored(x)));
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

/// Where a kernel leaves what it has found: all of it, or the number kept, converted to the type of an output.
struct store_selection {
  selection* out;
  PMPP_HOST_DEVICE void operator()(const selection& s) const { *out = s; }
};
template <class Out>
struct store_kept {
  Out out;
  PMPP_HOST_DEVICE void operator()(const selection& s) const { *out = static_cast<value_of<Out>>(s.kept); }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
