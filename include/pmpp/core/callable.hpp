// SPDX-License-Identifier: Apache-2.0
//
// What algorithms ask of the functions and the initial values that they are given, in sentences. A call that is refused goes
// no further: each function below says, as a constant, whether its caller may go on, so that the sentence is not followed
// by what the compiler has to say of kernels.
//
// Not asked of a __device__ lambda: nvcc gives the host a stand-in for it that cannot be called. Nor can it be asked here
// whether a function object runs on the device; nvcc says that itself, of a call that has no PMPP_HOST_DEVICE.
#pragma once

#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The result of a call that has been refused.
struct anything {
  template <class T>
  PMPP_HOST_DEVICE operator T() const;
};
/// Stands for a function that has been refused.
struct refused {
  template <class... T>
  PMPP_HOST_DEVICE anything operator()(const T&...) const;
};

template <class F>
inline constexpr bool is_opaque =
#if defined(__CUDACC_EXTENDED_LAMBDA__)
    __nv_is_extended_device_lambda_closure_type(F);
#else
    false;
#endif

template <class F>
inline constexpr bool is_opaque<apply_to_pair<F>> = is_opaque<F>;
template <class F>
inline constexpr bool is_opaque<spread_function<F>> = is_opaque<F>;
template <class Op, class Rest>
inline constexpr bool is_opaque<columns_operator<Op, Rest>> = is_opaque<Op> || is_opaque<Rest>;

/// Whether F is a lambda that nvcc cannot put into a kernel; told from its name, as nvcc writes it.
template <class F>
constexpr bool find_unmarked_lambda() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  if (__nv_is_extended_device_lambda_closure_type(F) || __nv_is_extended_host_device_lambda_closure_type(F))
    return false;
#endif
#if defined(__CUDACC__)
  const char* const words = "F = lambda [";
  for (const char* name = __PRETTY_FUNCTION__; *name != 0; ++name) {
    int same = 0;
    while (words[same] != 0 && name[same] == words[same]) ++same;
    if (words[same] == 0) return true;
  }
#endif
  return false;
}
template <class F>
inline constexpr bool is_unmarked_lambda = find_unmarked_lambda<F>();
template <class F>
inline constexpr bool is_unmarked_lambda<apply_to_pair<F>> = is_unmarked_lambda<F>;
template <class F>
inline constexpr bool is_unmarked_lambda<spread_function<F>> = is_unmarked_lambda<F>;
template <class Op, class Rest>
inline constexpr bool is_unmarked_lambda<columns_operator<Op, Rest>> =
    is_unmarked_lambda<Op> || is_unmarked_lambda<Rest>;

/// Refuses a lambda that would have to run on a GPU, if `OnGpu`.
template <bool OnGpu, class F>
constexpr bool require_marked() {
  constexpr bool has_mark = !OnGpu || !is_unmarked_lambda<F>;
  static_assert(has_mark,
                "pmpp: a lambda for kernels is marked: [] PMPP_HOST_DEVICE (int x) {...}; nvcc needs "
                "--extended-lambda for it");
  return has_mark;
}

template <class Op, class A>
inline constexpr bool combines = is_opaque<Op> || requires(const Op& op, const A& a) {
  static_cast<A>(op(a, a));
};
template <class Comp, class T>
inline constexpr bool compares = is_opaque<Comp> || requires(const Comp& comp, const T& x) {
  static_cast<bool>(comp(x, x));
};
template <class Pred, class T>
inline constexpr bool judges = is_opaque<Pred> || requires(const Pred& pred, const T& x) {
  static_cast<bool>(pred(x));
};
template <class To, class F, class... T>
inline constexpr bool maps = is_opaque<F> || requires(const F& f, const T&... x) {
  static_cast<To>(f(x...));
}
|| requires(const F& f, T&... x) { static_cast<To>(f(x...)); };

// A bool is what && and || fold to, of elements of any type.
template <class A, class T, class Op>
inline constexpr bool cuts_off =
    std::is_integral_v<A>&& has_nan<T> && !(std::is_same_v<A, bool> && !std::is_same_v<Op, plus>);
template <class A, class T, class Op>
inline constexpr bool overflows = std::is_integral_v<A>&& std::is_integral_v<T> && (sizeof(A) < sizeof(T)) &&
                                  !(std::is_same_v<A, bool> && !std::is_same_v<Op, plus>);

/// For accumulators of type A, the type of the initial value, and elements of type T. `InitFirst`: as the caller writes it.
template <class A, class T, class Op, bool InitFirst = true>
constexpr bool require_fold() {
  constexpr bool can_combine = combines<Op, A>, swapped = !can_combine && combines<A, Op>;
  static_assert(!(swapped && InitFirst), "pmpp: the operator stands where the initial value belongs: init, then op");
  static_assert(!(swapped && !InitFirst), "pmpp: the initial value stands where the operator belongs: op, then init");
  static_assert(can_combine || swapped,
                "pmpp: op(a, b) cannot be called with two values of the accumulator's type when op is const, or its "
                "result does not convert to that type");
  constexpr bool cuts = cuts_off<A, T, Op>, narrow = overflows<A, T, Op>;
  static_assert(!cuts,
                "pmpp: an integer as init would cut floating-point elements off, as its type is the "
                "accumulator's: write 0.0f or 0.0, or leave it out");
  static_assert(!narrow,
                "pmpp: an init that is narrower than the elements would overflow, as its type is the "
                "accumulator's: write std::int64_t{0}, or leave it out");
  return can_combine && !cuts && !narrow;
}

/// What f makes of T..., as far as that is known; else A.
template <class A, class F, class... T>
auto result_of() {
  if constexpr (is_opaque<F> || !maps<A, F, T...>)
    return std::type_identity<A>{};
  else if constexpr (requires(const F& f, const T&... x) { f(x...); })
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<const T&>()...))>>{};
  else
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<T&>()...))>>{};
}

template <class Comp, class T>
constexpr bool require_order() {
  constexpr bool has_less = compares<Comp, T>;
  static_assert(has_less,
                "pmpp: the comparator, when const, cannot be called with two elements: comp(x, y); the default "
                "needs operator<");
  return has_less;
}

template <class Eq, class T>
constexpr bool require_equivalence() {
  constexpr bool can_compare = compares<Eq, T>;
  static_assert(can_compare,
                "pmpp: eq(x, y), when const, cannot be called with two elements; the default needs operator==");
  return can_compare;
}

/// For operations by key, which take op, then eq: Thrust has them in the other order, and both take two numbers.
template <class Op, class A, class Eq, class K>
constexpr bool require_op_then_eq() {
  constexpr bool swapped = !std::is_same_v<A, bool> && requires(const Op& op, const A& a, const Eq& eq, const K& k) {
    requires std::is_same_v<decltype(op(a, a)), bool> && !std::is_same_v<decltype(eq(k, k)), bool>;
  };
  static_assert(!swapped, "pmpp: eq, which compares keys, stands where the operator belongs: op, then eq");
  return !swapped;
}

template <class Pred, class T>
constexpr bool require_predicate() {
  constexpr bool can_judge = judges<Pred, T>;
  static_assert(can_judge,
                "pmpp: the predicate, when const, cannot be called with an element, or its result is no bool: "
                "pred(x)");
  return can_judge;
}

template <class To, class F, class... T>
constexpr bool require_function() {
  constexpr bool can_map = maps<To, F, T...>;
  static_assert(can_map,
                "pmpp: the function, when const, cannot be called with an element of each input, or its result "
                "does not convert to what is needed: f(x), f(x, y)");
  return can_map;
}

/// The elements of `in` after f, as values of an accumulator's type A; refused, when it compiles, where A cannot hold them.
template <class A, class Op, class In, class F>
auto mapped_to(const input<In>& in, const F& f) {
  using T = value_of<In>;
  if constexpr (require_function<A, F, T>() && require_fold<A, typename decltype(result_of<A, F, T>())::type, Op>())
    return mapped<A>(in, f);
  else
    return mapped<A>(in, refused{});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
