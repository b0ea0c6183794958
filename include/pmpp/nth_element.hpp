// SPDX-License-Identifier: Apache-2.0
//
// Parts of an order: nth_element, partial_sort.
//
//   nth_element    the element that a sort would put at a place, at that place; what precedes it in front, what follows behind
//   partial_sort   the elements that a sort would put in front of a place, sorted, in front of it
//
//   1. A sample is sorted. Of 65,536 elements, each a random one of its part of the array, it says of two elements that the wanted
//      one lies between them, so that 2 % of all do; wrong once in 10^6 arrays.
//   2. One pass (select.hpp) keeps what lies in front of both, in place, and moves the others to scratch.
//   3. A second pass over the others keeps those between, and writes those behind both to the end of the array.
//   4. Those between are sorted and come into the gap. If the sample was wrong the wanted element lies in front or behind: then that
//      part is sorted in their place. Which part that is, and how long, the device decides: no data lead to a wrong result, and
//      none to more than a sort besides.
//
//   data    | in front | scratch: others            |     | in front | gap | behind (backwards) |   scratch: | between |
//
// In the first third of an array the two ends change roles, as what goes to scratch moves twice: so 2 n to 3.3 n elements of traffic;
// a sort of 4-byte numbers has 9 n.
// The same on every run. (Floyd and Rivest, 1975; PMPP ch. 11, 13.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
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
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct nth_element_tuning {
  /// Elements that are sorted altogether: the ways here have 15 launches, 110 us on an H200. Of numbers 16 times as many bytes:
  /// 3,787,525 of 4 bytes take 116 us here.
  std::int64_t sort_up_to = 1 << 20;
  std::int64_t sort_up_to_host = 16384;  ///< the same on a processor
  std::int64_t sample = 65536;           ///< elements, no more than a 16th of all
};

namespace detail {

/// Elements that move from one place to another.
struct part_move {
  std::int64_t count, from, to;
};

/// What the device finds out on the way.
template <class T>
struct nth_plan {
  T low, high;  ///< the wanted element lies between these
  std::int64_t near, others;
  part_move end;      ///< from the front of the array to its end
  part_move between;  ///< from scratch to the gap, where these need no sort
  part_move wrong;    ///< to scratch: the part to be sorted, where that is another one
  part_move sorted;   ///< from scratch: the part that has been sorted
};

/// Element i of a sample.
template <class In>
struct take_sample {
  In in;
  item_count count;
  std::int64_t size;

  PMPP_HOST_DEVICE value_of<In> operator()(std::int64_t i) const {
    const std::int64_t n = count.get(), part = max(std::int64_t(1), n / size);
    unsigned h = static_cast<unsigned>(i) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca77u;
    h ^= h >> 13;
    // Parts begin n / size apart, rounded down: without overflow.
    const std::int64_t begin = i * part + i * (n - part * size) / size;
    return in[min(max(std::int64_t(0), n - 1), max(std::int64_t(0), begin) + h % part)];
  }
};

/// Takes the two elements between which number nth lies from a sorted sample.
template <class T>
struct choose_limits {
  const T* sample;
  item_count size, count;
  std::int64_t nth;
  nth_plan<T>* plan;

  PMPP_HOST_DEVICE void operator()(std::int64_t, std::int64_t) const {
    const std::int64_t found = size.get(), n = count.get();
    if (found == 0) return;
    const double mean = double(min(nth, n)) / double(n) * double(found);
    const double variance = mean * (double(found) - mean) / double(found);
    std::int64_t root = 1;
    while (double(root * root) < variance) ++root;
    const std::int64_t rank = static_cast<std::int64_t>(mean), spread = 5 * root + 4;
    plan->low = sample[max(std::int64_t(0), min(rank - spread, found - 1))];
    plan->high = sample[min(rank + spread, found - 1)];
  }
};

/// Whether an element lies beyond a limit: in front of it, or behind.
template <class T, class Comp>
struct lies_beyond {
  const T* limit;
  Comp comp;
  bool behind;

  template <class X>
  PMPP_HOST_DEVICE bool operator()(const X& x) const {
    return behind ? static_cast<bool>(comp(*limit, x)) : static_cast<bool>(comp(x, *limit));
  }
};

/// The end of the first pass. From the back: those near go to the end of the array, and those far come to its front.
template <class T>
struct note_near {
  nth_plan<T>* plan;
  bool from_back;
  PMPP_HOST_DEVICE void operator()(const selection& s) const {
    plan->near = s.kept;
    plan->others = s.n - s.kept;
    const std::int64_t moved = from_back ? min(plan->near, plan->others) : 0;
    plan->end = {moved, 0, s.n - moved};
  }
};
/// The end of the second: which part has to be sorted.
template <class T, class Comp>
struct note_between {
  nth_plan<T>* plan;
  Comp comp;
  std::int64_t nth;
  bool from_back;
  PMPP_HOST_DEVICE void operator()(const selection& s) const {
    const std::int64_t between = s.kept, n = plan->near + s.n, gap = from_back ? s.n - between : plan->near;
    const bool inside = gap <= nth && nth < gap + between;
    const bool equal = !static_cast<bool>(comp(plan->low, plan->high));
    const std::int64_t begin = inside ? gap : nth < gap ? 0 : gap + between;
    std::int64_t size = inside ? between : nth < gap ? gap : n - begin;
    if (inside && equal) size = 0;
    plan->between = {inside && !equal ? 0 : between, 0, gap};
    plan->wrong = {inside ? 0 : size, begin, 0};
    plan->sorted = {size, 0, begin};
  }
};
/// Writes the elements that the second pass does not keep.
template <class It>
struct write_far {
  It data;
  item_count count;
  bool from_back;
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const T& x) const {
    block::assign(data, from_back ? i : count.get() - 1 - i, x);
  }
};

template <class From, class To>
struct move_part_kernel {
  static constexpr int threads = 256, items = 8, tile = threads * items;
  struct arguments {
    From from;
    To to;
    const part_move* move;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const part_move m = *a.move;
    const auto from = a.from + m.from;
    const auto to = a.to + m.to;
    for (std::int64_t first = block.index() * tile + block.thread(); first < m.count; first += block.count() * tile) {
      value_of<From> x[items]{};  // all are read before the first is written, which might be one of them
      for (int k = 0; k < items; ++k)
        if (first + k * threads < m.count) x[k] = from[first + k * threads];
      for (int k = 0; k < items; ++k)
        if (first + k * threads < m.count) block::assign(to, first + k * threads, x[k]);
    }
  }
};
/// Moves what *move says, which the device has written; n: at most so many. The places are apart.
template <class P, class From, class To>
void move_part(const P& where, const From& from, const To& to, const part_move* move, std::int64_t n) {
  if constexpr (kernel_execution<P>) {
    using kernel = move_part_kernel<From, To>;
    const std::int64_t blocks =
        min(ceil_div(n, std::int64_t(kernel::tile)), std::int64_t(8) * machine_of(where).multiprocessors);
    pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{from, to, move});
  } else {
    detail::copy_part(where, from + move->from, move->count, to + move->to);
  }
}

/// Keeps the elements of `in` that lie beyond a limit, or those that do not, in place, and writes the others.
template <bool Beyond, class P, class In, class Others, class T, class Comp, class Sink>
void select_beyond(const char* function, const P& where, const input<In>& in, const Others& others,
                   const lies_beyond<T, Comp>& test, const Sink& sink) {
  const keep_where<lies_beyond<T, Comp>, Beyond> select{test};
  if constexpr (kernel_execution<P>)
    detail::select_on_blocks<tuned<select_tuning>>(function, where, in, in.first, others, sink, select, completion{});
  else
    sink(detail::select_on_host(where, in, in.first, others, select));
}

/// Whether a sort takes elements of stored type T by their digits: in as many passes, however many they are.
template <class T, class Comp>
inline constexpr bool is_sorted_by_digits = sorted_parts<T, Comp>::order::known;

/// Elements of stored type T, up to which they are sorted altogether.
template <nth_element_tuning Tuning, class P, class T, class Comp>
inline constexpr std::int64_t most_sorted =
    !kernel_execution<P>           ? Tuning.sort_up_to_host
    : is_sorted_by_digits<T, Comp> ? 16 * Tuning.sort_up_to / std::int64_t(sizeof(T))
                                   : Tuning.sort_up_to;

/// The elements [0, n) of `data`, of stored type T: number nth at its place under comp.
template <nth_element_tuning Tuning, class T, class P, class It, class Comp>
void place_nth(const char* function, const P& where, const It& data, const item_count& count, std::int64_t nth,
               const Comp& comp) {
  const std::int64_t n = count.bound;
  const auto sort_part = [&](const auto& part, const item_count& length) {
    detail::sort_stored<tuned<sort_tuning>, T>(function, where, part, part, length, comp, all_key_bits{});
  };
  if (n <= detail::most_sorted<Tuning, P, T, Comp>) return sort_part(data, count);
  const auto by = detail::merging_order<T>(comp);
  using order = std::remove_const_t<decltype(by)>;
  using beyond = lies_beyond<T, order>;
  // What goes to scratch moves twice: from the front of an array fewer do if those are kept that follow.
  const bool from_back = nth < n / 3;
  detail::with_room<T>(function, where, n, [&](T* room) {
    detail::with_room<nth_plan<T>>(function, where, 1, [&](nth_plan<T>* plan) {
      const item_count size{max(std::int64_t(1), min(Tuning.sample, n / 16)), count.pointer, count.eight_bytes};
      using places = counting_iterator<std::int64_t>;
      detail::copy_elements<tuned<transform_tuning>>(
          where, mapped<T>(input<places>{places(0), size}, take_sample<It>{data, count, size.bound}), room);
      sort_part(room, size);
      detail::give_to(where, input<places>{places(0), {1}}, choose_limits<T>{room, size, count, nth, plan});

      const T *const low = __builtin_addressof(plan->low), *const high = __builtin_addressof(plan->high);
      detail::select_beyond<true>(function, where, input<It>{data, count}, room,
                                  beyond{from_back ? high : low, by, from_back}, note_near<T>{plan, from_back});
      if (from_back) detail::move_part(where, data, data, &plan->end, n);
      using far = write_far<It>;
      detail::select_beyond<false>(function, where, input<T*>{room, {n, &plan->others, true}},
                                   tabulate_output_iterator<T, far>(far{data, count, from_back}),
                                   beyond{from_back ? low : high, by, !from_back},
                                   note_between<T, order>{plan, by, nth, from_back});
      detail::move_part(where, room, data, &plan->between, n);
      detail::move_part(where, data, room, &plan->wrong, n);
      sort_part(room, item_count{n, &plan->sorted.count, true});
      detail::move_part(where, room, data, &plan->sorted, n);
    });
  });
}

/// An input and the number of elements in front of a place in it, checked.
template <class It, class R>
std::int64_t place_in(const char* function, const char* argument, const It& place, R& r, std::int64_t n) {
  const std::int64_t before = place - std::begin(r);
  require(before >= 0 && before <= n, [&] {
    return detail::text("pmpp::") + function + ": " + argument + " is " + detail::text::of(before) +
           " after the first of " + detail::text::of(n) + " elements";
  });
  return before;
}

}  // namespace detail

/// Puts the element that a sort under comp would put at place nth there, what is not greater in front of it, and what is not less
/// behind it.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. Elements are trivially
///              copyable, up to about 450 bytes.
/// \param nth   an iterator of r; its end: nothing happens. (Behind a device_count: nothing is said of the order.)
/// \param comp  as of sort, whose order of numbers this is. Asked about elements only.
/// \param proj  a projection (core/projected.hpp), as &T::member: the order is that of what it gives.
/// In which order elements lie on both sides is not said, but is the same on every run. Asynchronous on a GPU; may be captured.
/// Cost, past 2^20 elements: 2n elements of traffic for nth at an end of r, 3.3 n at a third, 3 n in the middle, and what sorting
/// 2 % of them costs; 15 to 20 launches. Up to there, as sort. Where the sample misleads, as seldom as chance allows, a sort of the
/// part that nth lies in comes on top. Scratch: 2n elements and 3 %, from the workspace or allocations in stream order.
/// \throws std::invalid_argument for a null or reversed range, or nth outside of it; out_of_memory, cuda_error.
/// Source: Floyd and Rivest, 1975. Example: test/nth_element.cpp, nth_element.
template <nth_element_tuning Tuning = tuned<nth_element_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Proj = identity>
void nth_element(const P& where, R&& r, decltype(std::begin(r)) nth, Comp comp = {}, Proj proj = {}) {
  const char* const function = "nth_element";
  const auto in = detail::input_of<true>(function, r);
  const std::int64_t n = in.count.bound, place = detail::place_in(function, "nth", nth, r, n);
  using T = element_value<R>;
  const auto order = detail::order_by<T>(comp, proj);
  using Order = std::remove_const_t<decltype(order)>;
  if constexpr (detail::require_writable<std::remove_const_t<decltype(in.first)>>() &&
                detail::require_marked<gpu_execution<P>, Order>() && detail::require_sortable<Order, T>()) {
    const auto data = detail::with_stored(in.first);
    if constexpr (kernel_execution<P>) detail::check_reachable(where, function, data);
    if (place < n)
      detail::place_nth<Tuning, detail::stored_as<T>>(function, where, data, in.count, place,
                                                      detail::on_values<T>(order));
  }
}

/// Puts the elements that a sort under comp would put in front of `middle` there, sorted; the others behind.
///
/// \param middle  an iterator of r.
/// As nth_element, and a sort of the first part; where that is more than two thirds of r (of numbers a third), a sort of r alone.
/// Stable it is not. Example: test/nth_element.cpp, partial_sort.
template <nth_element_tuning Tuning = tuned<nth_element_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Proj = identity>
void partial_sort(const P& where, R&& r, decltype(std::begin(r)) middle, Comp comp = {}, Proj proj = {}) {
  const char* const function = "partial_sort";
  const auto in = detail::input_of<true>(function, r);
  const std::int64_t n = in.count.bound, first = detail::place_in(function, "middle", middle, r, n);
  using T = element_value<R>;
  const auto order = detail::order_by<T>(comp, proj);
  using Order = std::remove_const_t<decltype(order)>;
  if constexpr (detail::require_writable<std::remove_const_t<decltype(in.first)>>() &&
                detail::require_marked<gpu_execution<P>, Order>() && detail::require_sortable<Order, T>()) {
    using stored = detail::stored_as<T>;
    const auto data = detail::with_stored(in.first);
    const auto by = detail::on_values<T>(order);
    if constexpr (kernel_execution<P>) detail::check_reachable(where, function, data);
    using Less = std::remove_const_t<decltype(by)>;
    const bool all = first > n / 3 * (detail::is_sorted_by_digits<stored, Less> ? 1 : 2) ||
                     n <= detail::most_sorted<Tuning, P, stored, Less>;
    if (first == 0) return;
    if (!all) detail::place_nth<Tuning, stored>(function, where, data, in.count, first, by);
    const detail::item_count sorted{all ? n : first, in.count.pointer, in.count.eight_bytes};
    detail::sort_stored<tuned<sort_tuning>, stored>(function, where, data, data, sorted, by, all_key_bits{});
  }
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <nth_element_tuning Tuning = tuned<nth_element_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Proj = identity> requires reachable_by<It, P>
void nth_element(const P& where, It first, It nth, End last, Comp comp = {}, Proj proj = {}) { pmpp::nth_element<Tuning>(where, subrange{first, last}, nth, comp, proj); }
template <nth_element_tuning Tuning = tuned<nth_element_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Proj = identity> requires reachable_by<It, P>
void partial_sort(const P& where, It first, It middle, End last, Comp comp = {}, Proj proj = {}) { pmpp::partial_sort<Tuning>(where, subrange{first, last}, middle, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
