// SPDX-License-Identifier: Apache-2.0
//
// More that is done to each element by itself: tabulate, generate, replace, replace_if, replace_copy, replace_copy_if,
// transform_if, adjacent_difference, for_each_index.
//
// All but for_each_index are transform with another function (transform.hpp): vectors of 16 bytes, four a thread in flight, one
// launch, no scratch. What is replaced, or transformed under a condition, is written alone: where little is, the cost is a read of
// the input. In an array itself that is each vector in which something is another; elsewhere each element by itself, as what lies
// beside it is not known.
//
// for_each_index numbers places through. A thread divides once, to find its first place; from one place to the next, a block's
// threads further, are sums with carries. (PMPP ch. 2 and 3.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/room.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A function that takes nothing, for each place.
template <class F>
struct without_place {
  F f;
  PMPP_HOST_DEVICE auto operator()(std::int64_t) const { return f(); }
};
template <class T>
struct equals_given {
  T value;
  template <class X>
  PMPP_HOST_DEVICE bool operator()(const X& x) const {
    return static_cast<bool>(x == value);
  }
};
template <class Pred, class T>
struct replaced_where {
  Pred pred;
  T value;
  template <class X>
  PMPP_HOST_DEVICE written_element<T> operator()(const X& x) const {
    const bool replaced = static_cast<bool>(pred(value_of_stored(x)));
    return {replaced ? value : static_cast<T>(x), replaced};
  }
};
template <class F, class Pred, class T>
struct transformed_where {
  F f;
  Pred pred;
  template <class X>
  PMPP_HOST_DEVICE written_element<T> operator()(const X& x) const {
    if (static_cast<bool>(pred(x))) return {static_cast<T>(f(x)), true};
    return {static_cast<T>(x), false};
  }
};
/// The value where pred is true of an element, else the element.
template <class Pred, class T>
struct value_if {
  Pred pred;
  T value;
  template <class X>
  PMPP_HOST_DEVICE T operator()(const X& x) const {
    return static_cast<bool>(pred(x)) ? value : static_cast<T>(x);
  }
};
/// Writes f of an element where pred is true of it, or of its stencil.
template <class Out, class F, class Pred>
struct transform_where {
  Out out;
  F f;
  Pred pred;
  template <class X>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const X& x) const {
    if (static_cast<bool>(pred(x))) out[i] = static_cast<value_of<Out>>(f(x));
  }
};
template <class Out, class F, class Pred>
struct transform_where_stencil {
  Out out;
  F f;
  Pred pred;
  template <class X, class S>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const pair<X, S>& x) const {
    if (static_cast<bool>(pred(x.second))) out[i] = static_cast<value_of<Out>>(f(x.first));
  }
};
template <class Op>
struct from_before {
  Op op;
  template <class T>
  PMPP_HOST_DEVICE auto operator()(const neighbour_pair<T>& x) const {
    using R = std::remove_cvref_t<decltype(op(x.here, x.before))>;
    return x.has_before ? op(x.here, x.before) : static_cast<R>(x.here);
  }
};

/// Calls f(i, x[i]) for each element of an input.
template <class P, class In, class F>
void for_each_with_place(const P& where, const input<In>& in, const F& f) {
  detail::copy_elements<tuned<transform_tuning>>(where, in, tabulate_output_iterator<value_of<In>, F>(f));
}

/// Writes those of f(x[i]) to x[i] that are to be written.
template <class P, class It, class F>
void write_in_place(const P& where, const input<It>& in, const F& f) {
  detail::copy_elements<tuned<transform_tuning>>(where, detail::mapped<written_element<value_of<It>>>(in, f),
                                                 in_place_iterator<It>(in.first));
}

template <class P, class R, class Pred>
void replace_in(const char* function, const P& where, R& r, const Pred& pred, const element_value<R>& value) {
  const auto in = detail::input_of<true>(function, r);
  if constexpr (require_writable<std::remove_const_t<decltype(in.first)>>()) {
    const auto stored = detail::with_stored(in);
    using T = value_of<std::remove_const_t<decltype(stored.first)>>;
    detail::write_in_place(where, stored, replaced_where<Pred, T>{pred, T(value)});
  }
}

/// As divisor, for numbers of 64 bits.
class long_divisor {
public:
  explicit long_divisor(std::int64_t value) : value_(static_cast<std::uint64_t>(value)) {}
  PMPP_HOST_DEVICE std::uint64_t value() const { return value_; }
  PMPP_HOST_DEVICE std::uint64_t quotient(std::uint64_t n) const { return n / value_; }

private:
  std::uint64_t value_;
};
/// How many rows and columns a table has; Index: of 32 bits where the places' numbers fit twice, so that sums do.
template <class Index>
struct table_extents {
  std::conditional_t<sizeof(Index) == 4, divisor, long_divisor> rows, cols;

  table_extents(std::int64_t rows_, std::int64_t cols_) : rows(rows_), cols(cols_) {}
};
/// A place of a table, or a distance between two places numbered through: that many slices, rows and columns.
template <class Index>
struct table_place {
  Index slice, row, col;

  PMPP_HOST_DEVICE table_place(Index i, const table_extents<Index>& of) {
    const Index line = of.cols.quotient(i);
    slice = of.rows.quotient(line);
    row = line - slice * of.rows.value();
    col = i - line * of.cols.value();
  }
  PMPP_HOST_DEVICE void advance(const table_place& by, const table_extents<Index>& of) {
    col += by.col;
    row += by.row;
    slice += by.slice;
    if (col >= of.cols.value()) col -= of.cols.value(), ++row;
    if (row >= of.rows.value()) row -= of.rows.value(), ++slice;
  }
};
template <class Index, class F>
struct for_each_index_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, most_rounds = sizeof(Index) == 4 ? 8 : 32;  // divisions of 64 bits are long

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, Index all, const table_extents<Index>& of, table_place<Index> step,
                                   int rounds, const F& f) const {
    Index i =
        static_cast<Index>(block.index()) * static_cast<Index>(threads * rounds) + static_cast<Index>(block.thread());
    if (i >= all) return;
    table_place<Index> at(i, of);
    simt::previous_kernels_done();
    for (int r = 0; r < rounds && i < all; ++r, i += threads) {
      f(static_cast<std::int64_t>(at.slice), static_cast<std::int64_t>(at.row), static_cast<std::int64_t>(at.col));
      at.advance(step, of);
    }
  }
};
template <class F>
struct without_depth {
  F f;
  PMPP_HOST_DEVICE void operator()(std::int64_t, std::int64_t y, std::int64_t x) const { f(y, x); }
};
template <class P, class F>
void for_each_in_box(const P& where, std::int64_t depth, std::int64_t rows, std::int64_t cols, const F& f) {
  require(depth >= 0 && rows >= 0 && cols >= 0, [&] {
    return detail::text("pmpp::for_each_index: extents must not be negative, got ") + detail::text::of(depth) + " x " +
           detail::text::of(rows) + " x " + detail::text::of(cols);
  });
  std::int64_t lines = 0, all = 0;
  require(!__builtin_mul_overflow(depth, rows, &lines) && !__builtin_mul_overflow(lines, cols, &all), [&] {
    return detail::text("pmpp::for_each_index: ") + detail::text::of(depth) + " x " + detail::text::of(rows) + " x " +
           detail::text::of(cols) + " is more than 2^63 - 1";
  });
  if (all == 0) return;
  if constexpr (kernel_execution<P>) {
    const auto run = [&](auto index) {
      using Index = decltype(index);
      using kernel = for_each_index_kernel<Index, F>;
      const table_extents<Index> of(rows, cols);
      const std::int64_t tiles = ceil_div(all, std::int64_t(kernel::threads));
      const int rounds = detail::rounds_of(where, tiles, kernel::most_rounds);
      pmpp::launch(where, ceil_div(tiles, std::int64_t(rounds)), kernel{}, static_cast<Index>(all), of,
                   table_place<Index>(kernel::threads, of), rounds, f);
    };
    all >> 31 == 0 ? run(std::uint32_t()) : run(std::uint64_t());
  } else {
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      std::int64_t x = begin % cols, y = begin / cols % rows, z = begin / cols / rows;
      for (; begin < end; ++begin) {
        f(z, y, x);
        if (++x < cols) continue;
        x = 0;
        if (++y == rows) y = 0, ++z;
      }
    };
    if constexpr (std::is_same_v<P, seq_policy>)
      part(0, all);
    else
      host_loop::parallel_ranges(where, all, part);
  }
}

/// Writes f of an element where pred is true of what goes with it.
template <class P, class In, class O, class F, class Pred>
auto transform_pairs_if(const P& where, const input<In>& in, O& out, const F& f, const Pred& pred) {
  detail::check_output("transform_if", "out", out, in.count.bound);
  const auto target = detail::unwrap(detail::begin_of(out));
  using result = std::remove_const_t<decltype(target)>;
  using both = value_of<In>;
  using X = std::remove_cvref_t<decltype(std::declval<both>().first)>;
  using S = std::remove_cvref_t<decltype(std::declval<both>().second)>;
  if constexpr (require_marked<gpu_execution<P>, F>() && require_marked<gpu_execution<P>, Pred>() &&
                require_predicate<Pred, S>() && require_function<value_of<result>, F, X>())
    detail::for_each_with_place(where, in, transform_where_stencil<result, F, Pred>{target, f, pred});
  return detail::begin_of(out) + in.count.bound;
}

}  // namespace detail

/// Sets element i to f(i).
///
/// \param r  a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param f  callable with a std::int64_t on `where`'s machine.
/// \return the iterator past the last element.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements written; one launch.
/// \throws as transform. Example: test/elementwise.cpp, tabulate and generate.
template <execution_policy P, random_access It, end_of<It> End, class F>
It tabulate(const P& where, It first, End last, F f) {
  const auto in = detail::input_of<true>("tabulate", first, last);
  using T = value_of<It>;
  if constexpr (detail::require_writable<It>() && detail::require_marked<gpu_execution<P>, F>() &&
                detail::require_function<T, F, std::int64_t>()) {
    const detail::input<counting_iterator<std::int64_t>> places{counting_iterator<std::int64_t>(0), in.count};
    detail::copy_elements<tuned<transform_tuning>>(where, detail::mapped<T>(places, f), in.first);
  }
  return first + in.count.bound;
}
template <execution_policy P, range_for<P> R, class F>
auto tabulate(const P& where, R&& r, F f) {
  return tabulate(where, std::begin(r), std::end(r), f);
}

/// Sets each element to a value of f(), called for each by itself, in no particular order. As tabulate.
template <execution_policy P, random_access It, end_of<It> End, class F>
It generate(const P& where, It first, End last, F f) {
  if constexpr (detail::require_marked<gpu_execution<P>, F>() && detail::require_function<value_of<It>, F>())
    return tabulate(where, first, last, detail::without_place<F>{f});
  else
    return first;
}
template <execution_policy P, range_for<P> R, class F>
auto generate(const P& where, R&& r, F f) {
  return generate(where, std::begin(r), std::end(r), f);
}

/// Sets the elements that pred is true for to `value`, and leaves the others as they are.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param pred  callable on `where`'s machine; called once for each element.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements read, and the vectors of 16 bytes written in which one
/// is replaced; one launch.
/// \throws as transform. Example: test/elementwise.cpp, replace.
template <execution_policy P, range_for<P> R, class Pred>
void replace_if(const P& where, R&& r, Pred pred, const std::type_identity_t<element_value<R>>& value) {
  if constexpr (detail::require_marked<gpu_execution<P>, Pred>() && detail::require_predicate<Pred, element_value<R>>())
    detail::replace_in("replace_if", where, r, pred, value);
}
/// Sets the elements that equal `old` to `value`; as replace_if. Both are converted to the type of the elements.
template <execution_policy P, range_for<P> R>
void replace(const P& where, R&& r, const std::type_identity_t<element_value<R>>& old,
             const std::type_identity_t<element_value<R>>& value) {
  using T = element_value<R>;
  if constexpr (detail::require_equivalence<equal_to, T>())
    detail::replace_in("replace", where, r, detail::equals_given<T>{old}, value);
}

/// Writes r[i] to out[i], or `value` where pred(r[i]) is true. As transform, in place too.
/// \return the iterator past the last element written. Example: test/elementwise.cpp, replace.
template <execution_policy P, range_for<P> R, output_for<P> O, class Pred>
auto replace_copy_if(const P& where, R&& r, O&& out, Pred pred, const std::type_identity_t<element_value<R>>& value) {
  using T = element_value<R>;
  if constexpr (detail::require_marked<gpu_execution<P>, Pred>() && detail::require_predicate<Pred, T>())
    return detail::transform_input<tuned<transform_tuning>>(
        "replace_copy_if", where, detail::input_of("replace_copy_if", r), out, detail::value_if<Pred, T>{pred, value});
  else
    return detail::begin_of(out);
}
template <execution_policy P, range_for<P> R, output_for<P> O>
auto replace_copy(const P& where, R&& r, O&& out, const std::type_identity_t<element_value<R>>& old,
                  const std::type_identity_t<element_value<R>>& value) {
  using T = element_value<R>;
  detail::require_equivalence<equal_to, T>();
  return detail::transform_input<tuned<transform_tuning>>("replace_copy", where, detail::input_of("replace_copy", r),
                                                          out,
                                                          detail::value_if<detail::equals_given<T>, T>{{old}, value});
}

/// Writes f(r[i]) to out[i] where pred(r[i]) is true, and leaves out[i] as it is elsewhere. As transform, in place too.
///
/// \param pred  callable on `where`'s machine; called once for each element, f for those where it is true.
/// Cost: n elements read, those where pred is true written, in place with what shares their 16 bytes; one launch.
/// Example: test/elementwise.cpp, transform_if.
template <execution_policy P, range_for<P> R, output_for<P> O, class F, class Pred>
auto transform_if(const P& where, R&& r, O&& out, F f, Pred pred) {
  const auto in = detail::input_of("transform_if", r);
  detail::check_output("transform_if", "out", out, in.count.bound);
  const auto target = detail::unwrap(detail::begin_of(out));
  detail::check_overlap("transform_if", in, target);
  using result = std::remove_const_t<decltype(target)>;
  using X = element_value<R>;
  if constexpr (detail::require_marked<gpu_execution<P>, F>() && detail::require_marked<gpu_execution<P>, Pred>() &&
                detail::require_predicate<Pred, X>() && detail::require_function<value_of<result>, F, X>()) {
    bool in_place = false;
    if constexpr (std::is_same_v<result, X*> && detail::is_held<X> && std::is_pointer_v<decltype(in.first)>) {
      in_place = in.first == target;
      if (in_place)
        detail::write_in_place(where, detail::input<X*>{target, in.count},
                               detail::transformed_where<F, Pred, X>{f, pred});
    }
    if (!in_place) detail::for_each_with_place(where, in, detail::transform_where<result, F, Pred>{target, f, pred});
  }
  return detail::begin_of(out) + in.count.bound;
}
/// Writes f(r[i]) to out[i] where pred(stencil[i]) is true. \param stencil  an iterator, or a range as long as r.
template <execution_policy P, range_for<P> R, output_for<P> S, output_for<P> O, class F, class Pred>
auto transform_if(const P& where, R&& r, S&& stencil, O&& out, F f, Pred pred) {
  return detail::transform_pairs_if(where, detail::zipped("transform_if", r, stencil, "stencil"), out, f, pred);
}

/// Writes op(r[i], r[i - 1]) to out[i], and r[0] to out[0].
///
/// \param r    a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param out  an iterator, or a range with room for as many elements; visible to `where`. It may be r itself, not overlap it otherwise.
/// \param op   callable on `where`'s machine.
/// \return the iterator past the last element written. Asynchronous on a GPU; no allocation; may be captured. Cost: n elements
/// read, n written; one launch. In place: scratch for n elements, from the workspace or one allocation in stream order, read and written
/// once more; two launches. \throws as transform; std::invalid_argument for overlap. Example: test/elementwise.cpp, differences.
template <execution_policy P, range_for<P> R, output_for<P> O, class Op = minus>
auto adjacent_difference(const P& where, R&& r, O&& out, Op op = {}) {
  const char* const function = "adjacent_difference";
  const auto in = detail::input_of(function, r);
  const auto target = detail::unwrap(detail::begin_of(out));
  using T = value_of<std::remove_const_t<decltype(target)>>;
  using X = element_value<R>;
  if constexpr (detail::require_marked<gpu_execution<P>, Op>() && detail::require_function<T, Op, X, X>()) {
    const auto subtract = [&](auto first) {
      using iterator = detail::neighbours_iterator<decltype(first)>;
      detail::copy_elements<tuned<transform_tuning>>(
          where, detail::mapped<T>(detail::input<iterator>{iterator(first), in.count}, detail::from_before<Op>{op}),
          target);
    };
    if constexpr (std::is_pointer_v<std::remove_const_t<decltype(in.first)>> &&
                  std::is_same_v<T*, std::remove_const_t<decltype(target)>> && std::is_same_v<T, X>)
      if (in.first == target &&
          in.count.bound > 0) {  // others would find differences in front of theirs: a copy is read
        detail::check_output(function, "out", out, in.count.bound);
        detail::with_room<T>(function, where, in.count.bound, [&](T* room) {
          detail::copy_elements<tuned<transform_tuning>>(where, in, room);
          subtract(static_cast<const T*>(room));
        });
        return detail::begin_of(out) + in.count.bound;
      }
    detail::check_output(function, "out", out, in.count.bound, in);
    subtract(in.first);
  }
  return detail::begin_of(out) + in.count.bound;
}

/// Calls f(row, col) for every place of a table of rows x cols, or f(slice, row, col) for one of depth x rows x cols, in no
/// particular order. Neighbouring threads get neighbouring places, however narrow a table is.
///
/// \param f  callable with two (three) std::int64_t on `where`'s machine; its result is ignored.
/// Asynchronous on a GPU; no allocation; may be captured; one launch.
/// \throws std::invalid_argument for negative extents, or more than 2^63 - 1 places; cuda_error. Source: PMPP ch. 3.
/// Example: test/elementwise.cpp, tables.
template <execution_policy P, class F>
void for_each_index(const P& where, std::int64_t rows, std::int64_t cols, F f) {
  if constexpr (detail::require_marked<gpu_execution<P>, F>() &&
                detail::require_function<void, F, std::int64_t, std::int64_t>())
    detail::for_each_in_box(where, 1, rows, cols, detail::without_depth<F>{f});
}
template <execution_policy P, class F>
void for_each_index(const P& where, std::int64_t depth, std::int64_t rows, std::int64_t cols, F f) {
  if constexpr (detail::require_marked<gpu_execution<P>, F>() &&
                detail::require_function<void, F, std::int64_t, std::int64_t, std::int64_t>())
    detail::for_each_in_box(where, depth, rows, cols, f);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End, class Pred> requires reachable_by<It, P>
void replace_if(const P& where, It first, End last, Pred pred, const std::type_identity_t<value_of<It>>& value) { replace_if(where, subrange{first, last}, pred, value); }
template <execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
void replace(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& old, const std::type_identity_t<value_of<It>>& value) { replace(where, subrange{first, last}, old, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Pred> requires reachable_by<It, P>
auto replace_copy_if(const P& where, It first, End last, O&& out, Pred pred, const std::type_identity_t<value_of<It>>& value) { return replace_copy_if(where, subrange{first, last}, out, pred, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O> requires reachable_by<It, P>
auto replace_copy(const P& where, It first, End last, O&& out, const std::type_identity_t<value_of<It>>& old, const std::type_identity_t<value_of<It>>& value) { return replace_copy(where, subrange{first, last}, out, old, value); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O, class F, class Pred> requires reachable_by<It, P>
auto transform_if(const P& where, It first, End last, O&& out, F f, Pred pred) { return transform_if(where, subrange{first, last}, out, f, pred); }
template <execution_policy P, random_access It, end_of<It> End, random_access It2, output_for<P> O, class F, class Pred> requires reachable_by<It, P> && reachable_by<It2, P>
auto transform_if(const P& where, It first, End last, It2 stencil, O&& out, F f, Pred pred) { return detail::transform_pairs_if(where, detail::zipped_with_start("transform_if", first, last, stencil), out, f, pred); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> O, class Op = minus> requires reachable_by<It, P>
auto adjacent_difference(const P& where, It first, End last, O&& out, Op op = {}) { return adjacent_difference(where, subrange{first, last}, out, op); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
