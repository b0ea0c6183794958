// SPDX-License-Identifier: Apache-2.0
//
// Moves within one array: reverse, reverse_copy, rotate, rotate_copy, shift_left, shift_right, swap_ranges, stable_partition,
// partition, inplace_merge.
//
//   reverse           each element is read once and written once, by the thread that has its mirror image too
//   reverse_copy      transform, from an iterator that turns words round in registers
//   rotate            the shorter part goes to scratch while the longer one is shifted; small arrays go there whole, and back
//   swap_ranges       by words of both arrays, wherever they begin (rearrange/swap.hpp)
//   shift             by k of n: parts of k elements, one launch each, that overlap nothing they read; more than 8 such parts, or
//                     few bytes of more than two, go by way of scratch
//   stable_partition  partition_copy (select.hpp) in place, with the second part in scratch, and a copy back
//   inplace_merge     merge (merge.hpp) to scratch, and a copy back
//
// Everything keeps its order, and is the same on every run. (PMPP ch. 2, 11, 12.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/room.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/rearrange/swap.hpp>
#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Elements with their mirror images, of the first half of a range.
template <class It>
struct mirrored_iterator : iterator_arithmetic<mirrored_iterator<It>> {
  using value_type = pair<value_of<It>, value_of<It>>;
  using reference = value_type;
  using pointer = void;

  It base;
  item_count count;
  std::int64_t place = 0;

  PMPP_HOST_DEVICE mirrored_iterator(const It& first, const item_count& n) : base(first), count(n) {}
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t n) const {
    const std::int64_t here = place + n,
                       last = max(count.get(), here + 1) - 1;  // more may be asked than the half of few
    return {base[here], base[max(here, last - here)]};
  }
  PMPP_HOST_DEVICE mirrored_iterator& operator+=(std::ptrdiff_t n) {
    place += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const mirrored_iterator& a, const mirrored_iterator& b) {
    return a.place - b.place;
  }
};
template <class It>
struct write_mirrored {
  It base;
  item_count count;
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const pair<T, T>& x) const {
    const std::int64_t n = count.get();
    if (2 * i + 1 >= n) return;
    base[i] = x.second;
    base[n - 1 - i] = x.first;
  }
};
/// An array from its end on, of which kernels read words (below).
template <class T>
struct array_from_end : reverse_iterator<T*> {
  PMPP_HOST_DEVICE explicit array_from_end(T* end) : reverse_iterator<T*>(end) {}
};
/// A range from its element m on, then what lies before that; as it is where it has no more than m.
template <class It>
struct rotated_iterator : iterator_arithmetic<rotated_iterator<It>> {
  using value_type = value_of<It>;
  using reference = value_type;
  using pointer = void;

  It base;
  item_count count;
  std::int64_t m;
  std::int64_t place = 0;

  PMPP_HOST_DEVICE rotated_iterator(const It& first, const item_count& n, std::int64_t middle)
      : base(first), count(n), m(middle) {}
  /// Where element i comes from, if the range has n.
  PMPP_HOST_DEVICE std::int64_t source(std::int64_t i, std::int64_t n) const {
    return n <= m ? i : i < n - m ? i + m : i - (n - m);
  }
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t i) const { return base[source(place + i, count.get())]; }
  PMPP_HOST_DEVICE rotated_iterator& operator+=(std::ptrdiff_t n) {
    place += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const rotated_iterator& a, const rotated_iterator& b) {
    return a.place - b.place;
  }
};
/// Writes the elements after those kept, of which the device knows the number.
template <class Out, class Count>
struct write_after {
  Out out;
  Count kept;
  item_count n;
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const T& x) const {
    const auto at = static_cast<std::int64_t>(*kept) + i;
    if (at < n.get()) out[at] = x;
  }
};

template <class P, class In, class F>
void give_to(const P& where, const input<In>& in, const F& f) {
  detail::copy_elements<tuned<transform_tuning>>(where, in, tabulate_output_iterator<value_of<In>, F>(f));
}
template <class P, class It, class Out>
void copy_part(const P& where, const It& from, std::int64_t n, const Out& to) {
  if (n > 0) detail::copy_elements<tuned<transform_tuning>>(where, input<It>{from, {n}}, to);
}

struct write_rest {
  item_count count;
  std::int64_t m;
  std::int64_t* rest;
  PMPP_HOST_DEVICE void operator()(std::int64_t) const { *rest = max(std::int64_t(0), count.get() - m); }
};
/// Calls f(the number of elements after the first m, as kernels learn it).
template <class P, class F>
void with_rest(const char* function, const P& where, const item_count& count, std::int64_t m, const F& f) {
  const std::int64_t bound = count.bound - m;
  if (count.pointer == nullptr) return f(item_count{bound});
  detail::with_room<std::int64_t>(function, where, 1, [&](std::int64_t* rest) {
    const counting_iterator<std::int64_t> once(0);
    pmpp::for_each(where, once, once + 1, write_rest{count, m, rest});
    f(item_count{bound, rest, true});
  });
}
/// The first m of a range: as many as there are.
template <class It>
input<It> first_part(const input<It>& in, std::int64_t m) {
  return {in.first, {m, in.count.pointer, in.count.eight_bytes}};
}

template <class P, class It>
void reverse_elements(const P& where, const input<It>& in) {
  using mirrored = mirrored_iterator<It>;
  const input<mirrored> half{mirrored(in.first, in.count), {in.count.bound / 2}};
  detail::give_to(where, half, write_mirrored<It>{in.first, in.count});
}

/// Whether `parts` launches take less time than two, by way of scratch, which read and write each of the bytes once more: a launch
/// takes as long as that of about 4 MB (H100, H200).
constexpr bool shifts_by_parts(std::int64_t parts, std::int64_t bytes) {
  return parts <= 2 || (parts <= 8 && bytes >= (parts - 2) << 22);
}

/// Moves all elements but k from `from` on to `to`, of which one is 0 and the other k: parts of k elements overlap nothing. Of a
/// length that the device knows alone they go by way of scratch.
template <class P, class It>
void shift_elements(const char* function, const P& where, const input<It>& in, std::int64_t from, std::int64_t to) {
  const It& data = in.first;
  const std::int64_t k = from < to ? to - from : from - to, n = in.count.bound - k;
  if (n <= 0 || k == 0) return;
  if (in.count.pointer != nullptr) {
    using T = value_of<It>;
    detail::with_rest(function, where, in.count, k, [&](const item_count& rest) {
      detail::with_room<T>(function, where, n, [&](T* room) {
        detail::copy_elements<tuned<transform_tuning>>(where, input<It>{data + from, rest}, room);
        detail::copy_elements<tuned<transform_tuning>>(where, input<const T*>{room, rest}, data + to);
      });
    });
    return;
  }
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = from < to ? n - 1 - i : i;
      data[to + at] = data[from + at];
    }
  } else if (detail::shifts_by_parts(ceil_div(n, k), n * std::int64_t(sizeof(value_of<It>)))) {
    for (std::int64_t done = 0; done < n; done += k) {
      const std::int64_t part = min(k, n - done), at = from < to ? n - done - part : done;
      detail::copy_part(where, data + (from + at), part, data + (to + at));
    }
  } else {
    using T = value_of<It>;
    detail::with_room<T>(function, where, n, [&](T* room) {
      detail::copy_part(where, data + from, n, room);
      detail::copy_part(where, static_cast<const T*>(room), n, data + to);
    });
  }
}

/// So many bytes go to scratch whole and back, which are two launches: more have the time for others.
inline constexpr std::int64_t rotated_whole = 4 << 20;

/// Rotates n elements by m, which lies between; the shorter part waits in scratch while the longer one is shifted.
template <class P, class It>
void rotate_elements(const char* function, const P& where, const input<It>& in, std::int64_t m) {
  using T = value_of<It>;
  const std::int64_t n = in.count.bound, back = n - m;
  const bool whole = in.count.pointer != nullptr || n <= rotated_whole / std::int64_t(sizeof(T));
  detail::with_room<T>(function, where, whole ? n : min(m, back), [&](T* room) {
    const T* const held = room;
    if (whole) {
      using rotated = rotated_iterator<It>;
      detail::copy_elements<tuned<transform_tuning>>(where, input<rotated>{rotated(in.first, in.count, m), in.count},
                                                     room);
      detail::copy_elements<tuned<transform_tuning>>(where, input<const T*>{held, in.count}, in.first);
    } else if (m <= back) {
      detail::copy_part(where, in.first, m, room);
      detail::shift_elements(function, where, in, m, 0);
      detail::copy_part(where, held, m, in.first + back);
    } else {
      detail::copy_part(where, in.first + m, back, room);
      detail::shift_elements(function, where, in, 0, back);
      detail::copy_part(where, held, back, in.first);
    }
  });
}

/// \return the input, checked, as its elements can be held; k lies in [0, n].
template <class It, class End>
auto shifted_input(const char* function, const It& first, const End& last, std::int64_t k) {
  detail::require_writable<It>();
  const auto in = detail::with_stored(detail::input_of<true>(function, first, last));
  require(k >= 0, [&] {
    return detail::text("pmpp::") + function + ": the distance must not be negative, got " + detail::text::of(k);
  });
  return in;
}
inline void require_middle(const char* function, std::int64_t middle, std::int64_t n) {
  require(middle >= 0 && middle <= n, [&] {
    return detail::text("pmpp::") + function + ": middle is " + detail::text::of(middle) + " after the first of " +
           detail::text::of(n) + " elements";
  });
}

/// Partitions `in`; leaves the number of those that pred is true for in *count.
template <class P, class In, class Pred, class Count>
void partition_elements(const char* function, const P& where, const input<In>& in, const Pred& pred,
                        const Count& count) {
  using T = value_of<In>;
  detail::with_room<T>(function, where, in.count.bound, [&](T* others) {
    const keep_where<Pred, true> select{pred};
    const store_kept<Count> sink{count};
    if constexpr (kernel_execution<P>)
      detail::select_on_blocks<tuned<select_tuning>>(function, where, in, in.first, others, sink, select, completion{});
    else
      sink(detail::select_on_host(where, in, in.first, others, select));
    detail::give_to(where, input<const T*>{others, in.count}, write_after<In, Count>{in.first, count, in.count});
  });
}

}  // namespace detail

namespace block {

/// Item i + k is item Items - 1 - k of the vector of the array that ends i before its end.
template <class T>
struct access<pmpp::detail::array_from_end<T>> {
  using array = access<T*>;
  using iterator = pmpp::detail::array_from_end<T>;
  static constexpr int items = array::items;
  static constexpr bool always = array::always;

  template <int Items>
  static std::int64_t lead(const iterator& it) {
    for (std::int64_t lead = 0; lead < Items; ++lead)
      if (array::template lead<Items>(it.end - lead) == 0) return lead;
    return -1;
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const iterator& it, std::int64_t i) {
    return array::template load<Items>(it.end - Items, -i);
  }
  PMPP_HOST_DEVICE static auto value(const iterator&, const vector<value_of<T*>, 1>& raw, int) { return raw.item[0]; }
  template <int Items>
  PMPP_HOST_DEVICE static auto value(const iterator&, const detail::vector_words<value_of<T*>, Items>& raw, int k) {
    return raw[Items - 1 - k];
  }
};
template <class T>
struct access_anywhere<pmpp::detail::array_from_end<T>> {
  static constexpr bool possible = true, pays = access_anywhere<T*>::pays;
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const pmpp::detail::array_from_end<T>& it, std::int64_t i) {
    return access_anywhere<T*>::template load<Items>(it.end - Items, -i);
  }
};

}  // namespace block

/// Reverses r in place.
///
/// \param r  a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements read, n written; one launch.
/// \throws std::invalid_argument for a null or reversed input; cuda_error. Example: test/rearrange.cpp, reverse.
template <execution_policy P, range_for<P> R>
void reverse(const P& where, R&& r) {
  const auto in = detail::input_of<true>("reverse", r);
  if constexpr (detail::require_writable<std::remove_const_t<decltype(in.first)>>())
    detail::reverse_elements(where, detail::with_stored(in));
}

/// Writes r backwards to out, which must not overlap it; as transform. \param r  a range or two iterators.
template <execution_policy P, range_for<P> R, output_for<P> O>
auto reverse_copy(const P& where, R&& r, O&& out) {
  const auto in = detail::input_of("reverse_copy", r);
  detail::check_output("reverse_copy", "out", out, in.count.bound, in);
  const auto from = detail::with_stored(in.first);
  const auto to = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  using iterator = std::remove_const_t<decltype(from)>;
  const std::int64_t n = in.count.bound;
  // A warp reads whole words where elements are words (H100, u32: 1 to 4 % faster so).
  if constexpr (std::is_pointer_v<iterator> && sizeof(value_of<iterator>) < 4)
    detail::copy_part(where, detail::array_from_end<std::remove_pointer_t<iterator>>(from + n), n, to);
  else
    detail::copy_part(where, reverse_iterator<iterator>(from + n), n, to);
  return detail::begin_of(out) + in.count.bound;
}

/// Rotates r in place: the element at `middle` becomes the first. \return where the first one has gone.
///
/// \param r       a range, or its ends, or an iterator and a device_count: then the place where the first one goes counts from the
///                upper bound, and nothing is rotated if the range ends in front of middle.
/// \param middle  an iterator of r.
/// Asynchronous on a GPU; may be captured. Scratch, from the workspace or in one allocation in stream order: up to 4 MB, or with a
/// device_count, n elements, which are written there and copied back (two launches); else the elements of the shorter part, and what the
/// longer one takes to be shifted (shift_left). Cost there: n elements read and written, those of the shorter part twice.
/// \throws as reverse; std::invalid_argument if middle does not lie in r; out_of_memory. Example: test/rearrange.cpp, rotate.
template <execution_policy P, random_access It, end_of<It> End>
requires reachable_by<It, P> It rotate(const P& where, It first, It middle, End last) {
  const auto in = detail::shifted_input("rotate", first, last, 0);
  const std::int64_t n = in.count.bound, m = middle - first;
  detail::require_middle("rotate", m, n);
  if (m > 0 && m < n) detail::rotate_elements("rotate", where, in, m);
  return first + (n - m);
}
template <execution_policy P, range_for<P> R>
auto rotate(const P& where, R&& r, decltype(std::begin(r)) middle) {
  return pmpp::rotate(where, std::begin(r), middle, std::end(r));
}

/// Writes r, rotated so that the element at `middle` comes first, to out, which must not overlap it.
/// \return the iterator past the last element written. Cost: n elements read, n written; two launches. \throws as rotate.
template <execution_policy P, random_access It, output_for<P> O>
requires reachable_by<It, P>
auto rotate_copy(const P& where, It first, It middle, It last, O&& out) {
  const char* const function = "rotate_copy";
  const auto in = detail::input_of(function, first, last);
  const std::int64_t n = in.count.bound, m = middle - first;
  detail::require_middle(function, m, n);
  detail::check_output(function, "out", out, n, in);
  const auto from = detail::with_stored(in.first);
  const auto to = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  detail::copy_part(where, from + m, n - m, to);
  detail::copy_part(where, from, m, to + (n - m));
  return detail::begin_of(out) + n;
}
template <execution_policy P, range_for<P> R, output_for<P> O>
auto rotate_copy(const P& where, R&& r, decltype(std::begin(r)) middle, O&& out) {
  return pmpp::rotate_copy(where, std::begin(r), middle, std::end(r), out);
}

/// Moves the elements of [first, last) k places to the front; the first k are lost. \return the iterator past the last that was
/// moved; what lies after it keeps some old value. With k of n or more nothing happens. last may be a device_count: the iterator
/// counts from its upper bound then, and there is always scratch.
///
/// Asynchronous on a GPU; may be captured. Scratch: none for k of n / 3 or more, nor of more than 24 MB for k of n / 9 or more; else n - k
/// elements from the workspace or one allocation in stream order. Cost: n - k elements read and written, twice where there is
/// scratch; up to 8 launches.
/// \throws as reverse; std::invalid_argument for a negative k. Example: test/rearrange.cpp, shift.
template <execution_policy P, random_access It, end_of<It> End>
requires reachable_by<It, P> It shift_left(const P& where, It first, End last, std::int64_t k) {
  const auto in = detail::shifted_input("shift_left", first, last, k);
  const std::int64_t n = in.count.bound;
  if (k >= n) return first;
  detail::shift_elements("shift_left", where, in, k, 0);
  return first + (n - k);
}
template <execution_policy P, range_for<P> R>
auto shift_left(const P& where, R&& r, std::int64_t k) {
  return pmpp::shift_left(where, std::begin(r), std::end(r), k);
}
/// Moves the elements of [first, last) k places to the back; the last k are lost. \return the iterator to the first that was
/// moved. As shift_left.
template <execution_policy P, random_access It, end_of<It> End>
requires reachable_by<It, P> It shift_right(const P& where, It first, End last, std::int64_t k) {
  const auto in = detail::shifted_input("shift_right", first, last, k);
  const std::int64_t n = in.count.bound;
  if (k >= n) return first + n;
  detail::shift_elements("shift_right", where, in, 0, k);
  return first + k;
}
template <execution_policy P, range_for<P> R>
auto shift_right(const P& where, R&& r, std::int64_t k) {
  return pmpp::shift_right(where, std::begin(r), std::end(r), k);
}

/// Swaps the elements of r and s, place by place.
///
/// \param r  a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param s  an iterator, or a range as long; visible to `where`; apart from r.
/// \return the iterator past the last element of s. Asynchronous on a GPU; no allocation; may be captured. Cost: n elements
/// of both read and written; one launch. \throws as reverse; std::length_error if s is shorter; std::invalid_argument if they overlap.
template <execution_policy P, range_for<P> R, output_for<P> S>
auto swap_ranges(const P& where, R&& r, S&& s) {
  const auto in = detail::input_of<true>("swap_ranges", r);
  detail::check_output("swap_ranges", "the second range", s, in.count.bound, in);
  if constexpr (detail::require_writable<std::remove_const_t<decltype(in.first)>>()) {
    const auto a = detail::with_stored(in.first);
    const auto b = detail::with_stored(detail::unwrap(detail::begin_of(s)));
    using first = std::remove_const_t<decltype(a)>;
    using second = std::remove_const_t<decltype(b)>;
    using both = zip_iterator<first, second>;
    detail::check_reachable(where, "swap_ranges", both(a, b));
    if constexpr (kernel_execution<P> && std::is_pointer_v<first> && std::is_same_v<first, second>)
      detail::swap_arrays(where, a, b, in.count);
    else
      detail::copy_elements<tuned<transform_tuning>>(where, detail::input<both>{both(a, b), in.count},
                                                     zip_output_iterator<second, first>(b, a));
  }
  return detail::begin_of(s) + in.count.bound;
}

/// Moves the elements that pred is true for in front of all others; both keep their order.
///
/// \param r     a range or two iterators; visible to `where`. Elements are trivially copyable.
/// \param pred  callable on `where`'s machine; called once for each element.
/// \return the iterator past the last element that pred is true for.
/// Waits for the policy's stream; stable_partition_into does not, and leaves their number in *count_out (so it may be captured, and
/// takes a device_count, whose pointer count_out must not be). Scratch: n elements, from the workspace or one allocation in stream order. Cost: n elements read, n
/// written, and those that pred is false for once more; two launches.
/// \throws as copy_if. Source: PMPP ch. 11. Example: test/rearrange.cpp, partition.
template <execution_policy P, range_for<P> R, output_for<P> C, class Pred>
void stable_partition_into(const P& where, R&& r, C&& count_out, Pred pred) {
  const char* const function = "stable_partition_into";
  const auto in = detail::input_of<true>(function, r);
  detail::check_output(function, "count_out", count_out, 1);
  const auto count = detail::unwrap(detail::begin_of(count_out));
  if constexpr (detail::require_writable<std::remove_const_t<decltype(in.first)>>() &&
                detail::keep_where<Pred, true>::template allowed<gpu_execution<P>, element_value<R>>())
    detail::partition_elements(function, where, detail::with_stored(in), pred, count);
}
template <execution_policy P, range_for<P> R, class Pred>
auto stable_partition(const P& where, R&& r, Pred pred) {
  const char* const function = "stable_partition";
  const auto in = detail::with_stored(detail::input_of<true>(function, r));
  using iterator = std::remove_const_t<decltype(in.first)>;
  std::int64_t kept = 0;
  if constexpr (detail::require_writable<decltype(detail::unwrap(std::begin(r)))>() &&
                detail::keep_where<Pred, true>::template allowed<gpu_execution<P>, element_value<R>>()) {
    using T = value_of<iterator>;
    const auto partition_by = [&](T* others) {
      kept = detail::select_and_wait<tuned<select_tuning>>(function, where, in, in.first, others,
                                                           detail::keep_where<Pred, true>{pred})
                 .kept;
      detail::copy_part(where, static_cast<const T*>(others), in.count.bound - kept, in.first + kept);
    };
    detail::with_room<T>(function, where, in.count.bound, partition_by);
  }
  return std::begin(r) + kept;
}
/// The same; partition is stable already.
template <execution_policy P, range_for<P> R, class Pred>
auto partition(const P& where, R&& r, Pred pred) {
  return pmpp::stable_partition(where, r, pred);
}
template <execution_policy P, range_for<P> R, output_for<P> C, class Pred>
void partition_into(const P& where, R&& r, C&& count_out, Pred pred) {
  pmpp::stable_partition_into(where, r, count_out, pred);
}

/// Merges the sorted parts [first, middle) and [middle, last) into one sorted range, in their place. Stable, as merge. last may be a
/// device_count: a launch and 8 bytes of scratch more.
///
/// Asynchronous on a GPU; may be captured. Scratch: n elements, and what merge takes, from the workspace or one allocation each in
/// stream order. Cost: n elements read and written twice; two or three launches. \throws as merge; std::invalid_argument if
/// middle does not lie in the range. Example: test/rearrange.cpp, inplace_merge.
template <execution_policy P, random_access It, end_of<It> End, class Comp = less>
requires reachable_by<It, P>
void inplace_merge(const P& where, It first, It middle, End last, Comp comp = {}) {
  const char* const function = "inplace_merge";
  const auto in = detail::shifted_input(function, first, last, 0);
  const std::int64_t n = in.count.bound, m = middle - first;
  detail::require_middle(function, m, n);
  if constexpr (detail::require_marked<gpu_execution<P>, Comp>() && detail::require_order<Comp, value_of<It>>()) {
    using iterator = std::remove_const_t<decltype(in.first)>;
    using T = value_of<iterator>;
    const auto by = detail::on_values<value_of<It>>(comp);
    if (n > 0)
      detail::with_rest(function, where, in.count, m, [&](const detail::item_count& rest) {
        detail::with_room<T>(function, where, n, [&](T* room) {
          detail::merge_inputs<tuned<merge_tuning>>(function, where, detail::first_part(in, m),
                                                    detail::input<iterator>{in.first + m, rest}, room, by);
          detail::copy_elements<tuned<transform_tuning>>(where, detail::input<const T*>{room, in.count}, in.first);
        });
      });
  }
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End> requires reachable_by<It, P>
void reverse(const P& where, It first, End last) { reverse(where, subrange{first, last}); }
template <execution_policy P, random_access It, output_for<P> O> requires reachable_by<It, P>
auto reverse_copy(const P& where, It first, It last, O&& out) { return reverse_copy(where, subrange{first, last}, out); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> S> requires reachable_by<It, P>
auto swap_ranges(const P& where, It first, End last, S&& s) { return swap_ranges(where, subrange{first, last}, s); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> C, class Pred> requires reachable_by<It, P>
void stable_partition_into(const P& where, It first, End last, C&& count_out, Pred pred) { stable_partition_into(where, subrange{first, last}, count_out, pred); }
template <execution_policy P, random_access It, class Pred> requires reachable_by<It, P>
It stable_partition(const P& where, It first, It last, Pred pred) { return stable_partition(where, subrange{first, last}, pred); }
template <execution_policy P, random_access It, class Pred> requires reachable_by<It, P>
It partition(const P& where, It first, It last, Pred pred) { return stable_partition(where, subrange{first, last}, pred); }
template <execution_policy P, random_access It, end_of<It> End, output_for<P> C, class Pred> requires reachable_by<It, P>
void partition_into(const P& where, It first, End last, C&& count_out, Pred pred) { stable_partition_into(where, subrange{first, last}, count_out, pred); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
