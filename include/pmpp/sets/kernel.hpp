// SPDX-License-Identifier: Apache-2.0
//
// The merge of two sorted sequences as the input of a selection: each element with whether a set operation keeps it.
//
//   1. A warp copies its part of the merge to shared memory: what of a and of b belongs to it, side by side, the element in front of
//      either and the one of b behind.
//   2. A lane searches there for where its elements begin, and walks on. The counterpart of an element that is the r-th of its
//      equals is the r-th of them in the other sequence, counted from where the walk stands there.
//   3. Where runs of equals reach out of the part, the ranks of the first elements and counterparts come from memory.
//
//      a  ... 3 | 3 5 5 | 8           b  ... 4 | 5 7 8 | 9          | the part      shared memory:  3 3 5 5   4 5 7 8 9
//
// An odd number of elements a lane puts the accesses of neighbours into different banks. Elements of more than 24 bytes, of which
// shared memory would hold few, are read from memory along the walk.
#pragma once

#include <cstdint>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

enum class set_operation { of_union, of_intersection, of_difference, of_symmetric_difference };

/// Two sorted sequences, and what is kept of their merge.
template <class A, class B, class Comp, set_operation Operation>
struct set_of_two {
  static constexpr set_operation operation = Operation;

  A a;
  B b;
  item_count count_a, count_b;
  Comp comp;

  /// Whether an element of a, or one of b, is kept that has a counterpart or has not.
  PMPP_HOST_DEVICE static constexpr bool keeps(bool of_a, bool has_counterpart) {
    if constexpr (Operation == set_operation::of_union) return of_a || !has_counterpart;
    if constexpr (Operation == set_operation::of_symmetric_difference) return !has_counterpart;
    return of_a && has_counterpart == (Operation == set_operation::of_intersection);
  }

  PMPP_HOST_DEVICE bool precedes(const auto& x, const auto& y) const { return static_cast<bool>(comp(x, y)); }

  /// How many equals stand in front of element i of a sequence.
  template <class It>
  PMPP_HOST_DEVICE std::int64_t rank(const It& it, std::int64_t i) const {
    const auto x = it[i];
    if (i == 0 || precedes(it[i - 1], x)) return 0;
    return i - detail::partition_point(std::int64_t(0), i, [&](std::int64_t k) { return precedes(it[k], x); });
  }

  /// Walks over elements [begin, end) of the merge, of which `of_a` of those before begin are a's: take(k, x, keep) for each.
  template <class Take>
  PMPP_HOST_DEVICE void walk(std::int64_t begin, std::int64_t end, std::int64_t of_a, const Take& take) const {
    using T = value_of<A>;
    const std::int64_t n = count_a.get(), m = count_b.get();
    std::int64_t i = of_a, j = begin - of_a;
    std::int64_t rank_a = -1, rank_b = -1;  // of the elements at hand; not known yet
    for (std::int64_t k = begin; k < end; ++k) {
      if (j >= m || (i < n && !precedes(b[j], a[i]))) {
        const T x = a[i];
        bool keep = true;
        if constexpr (Operation != set_operation::of_union) {
          if (rank_a < 0) rank_a = rank(a, i);
          const bool has_counterpart = j + rank_a < m && !precedes(x, b[j + rank_a]);
          keep = has_counterpart == (Operation == set_operation::of_intersection);
        }
        take(k, x, keep);
        ++i;
        if (rank_a >= 0) rank_a = i < n && !precedes(x, a[i]) ? rank_a + 1 : 0;
      } else {
        const T x = b[j];
        bool keep = false;
        if constexpr (Operation == set_operation::of_union || Operation == set_operation::of_symmetric_difference) {
          if (rank_b < 0) rank_b = rank(b, j);
          keep = i - 1 - rank_b < 0 || precedes(a[i - 1 - rank_b], x);
        }
        take(k, x, keep);
        ++j;
        if (rank_b >= 0) rank_b = j < m && !precedes(x, b[j]) ? rank_b + 1 : 0;
      }
    }
  }
};

/// A warp's part of both sequences in shared memory: slots [0, end_a) are a's, and those up to `slots` b's. The part itself begins
/// with begin_a and begin_b and ends in front of end_a and end_b.
template <class T>
struct alignas(16) staged_part {
  std::int64_t first_a, first_b;  ///< the elements in slots 0 and end_a
  int begin_a, end_a, begin_b, end_b, slots;

  PMPP_HOST_DEVICE T* slot() { return reinterpret_cast<T*>(this + 1); }
  PMPP_HOST_DEVICE const T* slot() const { return reinterpret_cast<const T*>(this + 1); }
};

/// The walk in shared memory.
template <class Sets, class T>
struct staged_walk {
  static constexpr bool asks_of_a = Sets::operation != set_operation::of_union,
                        asks_of_b = Sets::operation == set_operation::of_union ||
                                    Sets::operation == set_operation::of_symmetric_difference;

  const Sets& sets;
  const staged_part<T>& part;

  /// The rank of the element in slot i; slot `low` holds element `first` of its sequence.
  template <class It>
  PMPP_HOST_DEVICE std::int64_t rank(const It& it, std::int64_t first, int low, int i) const {
    const T* const s = part.slot();
    const T x = s[i];
    if (i == low || sets.precedes(s[i - 1], x)) return 0;  // only the first element of all begins in slot `low`
    if (first == 0 || sets.precedes(s[low], x))
      return i - detail::partition_point(low, i, [&](int k) { return sets.precedes(s[k], x); });
    return sets.rank(it, first + (i - low));
  }
  /// The same for the walk: a rank that leads out of shared memory may be any that does.
  template <class It>
  PMPP_HOST_DEVICE int near_rank(const It& it, std::int64_t first, int low, int i) const {
    return static_cast<int>(min(std::int64_t(1) << 30, rank(it, first, low, i)));
  }
  /// Whether the element in slot i of a, where slot j is the next of b, has a counterpart, which lies in memory; and the reverse.
  PMPP_HOST_DEVICE bool has_far_counterpart(bool of_a, int i, int j) const {
    const std::int64_t in_a = part.first_a + i, in_b = part.first_b + (j - part.end_a);
    if (of_a) {
      const std::int64_t other = in_b + rank(sets.a, part.first_a, 0, i);
      return other < sets.count_b.get() && !sets.precedes(part.slot()[i], T(sets.b[other]));
    }
    const std::int64_t other = in_a - 1 - rank(sets.b, part.first_b, part.end_a, j);
    return other >= 0 && !sets.precedes(T(sets.a[other]), part.slot()[j]);
  }

  /// How many of the first `place` elements of the part are a's.
  PMPP_HOST_DEVICE int elements_of_a(int place) const {
    const T* const s = part.slot();
    return pmpp::co_rank(place, s + part.begin_a, part.end_a - part.begin_a, s + part.begin_b,
                         part.end_b - part.begin_b, sets.comp);
  }
  /// Whether the next element is of a, where those in slots i and j, x_a and x_b, are the next of each.
  PMPP_HOST_DEVICE static bool next_is_a(const Sets& sets, int i, int end_a, const T& x_a, int j, int end_b,
                                         const T& x_b) {
    const bool b_first = sets.precedes(x_b, x_a);  // asked in any case: there is no branch then
    return j >= end_b || (i < end_a && !b_first);
  }

  /// Walks over elements [from, from + count) of the part. Returns which are kept, a bit each.
  template <int Items>
  PMPP_HOST_DEVICE unsigned operator()(int from, int count, T (&item)[Items]) const {
    const T* const s = part.slot();
    const int end_a = part.end_a, end_b = part.end_b, slots = part.slots, last = slots - 1;
    int i = elements_of_a(from) + part.begin_a;
    const int sum = part.begin_a + part.begin_b + from;  // of i and j
    int j = sum - i, rank_a = 0, rank_b = 0;
    T x_a = s[min(i, last)], x_b = s[min(j, last)],
      last_a = s[max(i - 1, 0)];  // the next of each, and the one of a before
    if constexpr (asks_of_a)
      if (i < end_a) rank_a = near_rank(sets.a, part.first_a, 0, i);
    if constexpr (asks_of_b)
      if (j < end_b) rank_b = near_rank(sets.b, part.first_b, end_a, j);
    unsigned kept = 0, far = 0;
    // Behind the end of a sequence its next element is some other one, which nobody looks at; and behind the last element of all,
    // where count is less than Items, nobody asks what is kept.
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < Items; ++k) {
      const bool is_a = next_is_a(sets, i, end_a, x_a, j, end_b, x_b);
      const T x = is_a ? x_a : x_b;
      const int rank = is_a ? rank_a : rank_b;
      bool has = false;
      if constexpr (asks_of_a) {
        const bool is_less = sets.precedes(x_a, x_b);
        has = is_a && j < slots && !is_less;
      }
      if constexpr (asks_of_b) {
        const bool is_less = sets.precedes(last_a, x_b);
        has = has || (!is_a && i > 0 && !is_less);
      }
      if (rank != 0) {
        const int place = is_a ? j + rank : i - 1 - rank;
        has = false;
        if (place >= 0 && place < slots)
          has = is_a ? !sets.precedes(x, s[place]) : !sets.precedes(s[place], x);
        else
          far |= 1u << k;
      }
      item[k] = x;
      if (Sets::keeps(is_a, has)) kept |= 1u << k;
      i += is_a;
      j = sum + (k + 1) - i;
      const T y = s[min(is_a ? i : j, last)];
      const bool equal = !sets.precedes(x, y);
      if (is_a) {
        last_a = x;
        x_a = y;
        if constexpr (asks_of_a) rank_a = equal ? rank + 1 : 0;
      } else {
        x_b = y;
        if constexpr (asks_of_b) rank_b = equal ? rank + 1 : 0;
      }
    }
    kept &= ~far;
    for (far &= (1u << count) - 1; far != 0; far &= far - 1) {
      const int k = simt::trailing_zeros(far), place = from + k, before = elements_of_a(place);
      i = part.begin_a + before;
      j = part.begin_b + (place - before);
      const bool is_a = next_is_a(sets, i, end_a, s[min(i, last)], j, end_b, s[min(j, last)]);
      if (Sets::keeps(is_a, has_far_counterpart(is_a, i, j))) kept |= 1u << k;
    }
    return kept;
  }
};

/// The merge of a set_of_two as an input: pairs of an element and whether it is kept. Made only as kernels load it.
template <class Sets, class T>
struct set_merge_iterator : iterator_arithmetic<set_merge_iterator<Sets, T>> {
  using value_type = pair<T, bool>;
  using reference = value_type;
  using pointer = void;
  /// Elements of a lane; whether by way of shared memory; elements between cuts.
  static constexpr bool by_rows = sizeof(T) <= 24;
  static constexpr int items = sizeof(T) <= 4 ? 15 : sizeof(T) <= 8 ? 7 : by_rows ? 3 : sizeof(T) <= 32 ? 4 : 1;
  static constexpr bool reads_output = false;
  static constexpr std::int64_t part = by_rows ? items * simt::warp_size : 512;

  Sets sets;
  const std::int64_t* cuts;  ///< how many elements of a lie in front of each part

  /// How many of the first `place` elements of the merge are a's.
  PMPP_HOST_DEVICE std::int64_t elements_of_a(std::int64_t place) const {
    const std::int64_t of_part = place / part, n = sets.count_a.get(), m = sets.count_b.get();
    const std::int64_t from = cuts[of_part], to = cuts[of_part + 1], b_from = of_part * part - from,
                       b_to = min(n + m, (of_part + 1) * part) - to;
    const std::int64_t low = max(from, place - b_to), high = min(to, place - b_from);
    return detail::partition_point(low, high,
                                   [&](std::int64_t i) { return !sets.precedes(sets.b[place - 1 - i], sets.a[i]); });
  }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t place) const {
    value_type result{};
    sets.walk(place, place + 1, elements_of_a(place), [&](std::int64_t, const T& x, bool keep) {
      result = value_type{x, keep};
    });
    return result;
  }
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE set_merge_iterator& operator+=(std::ptrdiff_t) = delete;
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const set_merge_iterator&, const set_merge_iterator&) { return 0; }
};

}  // namespace detail

namespace block {

/// Some elements at a time, one walk.
template <class Sets, class T>
struct access<pmpp::detail::set_merge_iterator<Sets, T>> {
  using iterator = pmpp::detail::set_merge_iterator<Sets, T>;
  using part_of_warp = pmpp::detail::staged_part<T>;
  static constexpr int items = iterator::items;
  static constexpr bool always = true, by_rows = iterator::by_rows;

  template <int Items>
  struct raw {
    T item[Items];
    unsigned kept;
  };
  template <int>
  static std::int64_t lead(const iterator&) {
    return 0;
  }
  template <int Items>
  PMPP_HOST_DEVICE static raw<Items> load_part(const iterator& it, std::int64_t i, int from, int to) {
    raw<Items> x{};
    const std::int64_t begin = i + from;
    it.sets.walk(begin, i + to, it.elements_of_a(begin), [&](std::int64_t place, const T& element, bool keep) {
      x.item[place - i] = element;
      x.kept |= unsigned(keep) << (place - i);
    });
    return x;
  }
  template <int Items>
  PMPP_HOST_DEVICE static raw<Items> load(const iterator& it, std::int64_t i) {
    return load_part<Items>(it, i, 0, Items);
  }
  template <int Items>
  PMPP_HOST_DEVICE static void load_async(const iterator& it, std::int64_t i, raw<Items>& slot) {
    slot.kept = 0;
    it.sets.walk(i, i + Items, it.elements_of_a(i), [&](std::int64_t place, const T& element, bool keep) {
      slot.item[place - i] = element;
      slot.kept |= unsigned(keep) << (place - i);
    });
  }

  /// Starts copying the part that begins with element i of the merge. In front of its first elements lies one more where there is
  /// one, so that ranks and counterparts rarely need memory.
  template <class Block, class Slot>
  PMPP_HOST_DEVICE static void stage_row(Block& block, const iterator& it, std::int64_t i, int count, Slot* room) {
    static_assert(sizeof(part_of_warp) + (iterator::part + 3) * sizeof(T) <= simt::warp_size * sizeof(Slot));
    const auto& sets = it.sets;
    const std::int64_t* const cuts = it.cuts + i / iterator::part;
    const std::int64_t a = cuts[0], b = i - a;
    // Under a comparator that contradicts itself the cuts may not be in order.
    const int of_a = static_cast<int>(min(max(std::int64_t(0), cuts[1] - a), std::int64_t(count))), of_b = count - of_a;
    part_of_warp part;
    part.begin_a = a > 0;
    part.end_a = part.begin_a + of_a;
    part.begin_b = part.end_a + (b > 0);
    part.end_b = part.begin_b + of_b;
    part.slots = part.end_b + (b + of_b < sets.count_b.get());
    part.first_a = a - (a > 0);
    part.first_b = b - (b > 0);
    auto& staged = *reinterpret_cast<part_of_warp*>(room);
    if (block.lane() == 0) staged = part;
    T* const slot = staged.slot();
    for (int k = block.lane(); k < part.end_a; k += simt::warp_size)
      detail::copy_element(sets.a, part.first_a + k, slot + k);
    for (int k = block.lane(); k < part.slots - part.end_a; k += simt::warp_size)
      detail::copy_element(sets.b, part.first_b + k, slot + (part.end_a + k));
  }
  template <int Items, class Slot>
  PMPP_HOST_DEVICE static void from_row(const iterator& it, const Slot* room, int from, int count, raw<Items>& x) {
    const auto& part = *reinterpret_cast<const part_of_warp*>(room);
    x.kept = pmpp::detail::staged_walk<Sets, T>{it.sets, part}(from, count, x.item);
  }

  template <class Raw>
  PMPP_HOST_DEVICE static pair<T, bool> value(const iterator&, const Raw& x, int k) {
    return {x.item[k], (x.kept >> k & 1) != 0};
  }
};

}  // namespace block
}  // namespace pmpp::inline PMPP_BACKEND
