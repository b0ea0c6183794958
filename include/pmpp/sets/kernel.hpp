// SPDX-License-Identifier: Apache-2.0
//
// Set operations on parts of two sorted sequences, and the parts as the input of a selection: each element with whether it is kept.
//
// The k-th of equals in a and the k-th in b are a pair, of which the result has one or none. A walk that takes pairs at once needs no
// more than the next element of each sequence; and sequences that are cut between pairs are problems of their own:
//
//      a  1 2 2 | 2 5        b  2 2 | 3        pairs  2 2, 2 2        steps of the walk  1  22  22 | 2  3  5
//
//   1. A kernel cuts both sequences into parts of about as many elements: a cut of the merge (core/co_rank.hpp), in which equals of a
//      come first, moves back to where pairs in front of it hold as many elements (balanced path: Baxter, Modern GPU, 2013).
//   2. A warp copies its part to shared memory, a's elements and b's side by side, in words of 16 bytes. A lane searches there for where
//      its elements begin, moves that as above, and walks on.
//
// An odd number of elements a lane puts the accesses of neighbours into different banks. Elements of more than 24 bytes, of which
// shared memory would hold few, are read from memory along the walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/block/stage.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

enum class set_operation { of_union, of_intersection, of_difference, of_symmetric_difference };

/// How many elements of a and of b lie in front of a cut.
template <class Index>
struct set_cut {
  Index a, b;
};

/// Moves a cut of the merge that has elements of a in front of it and equal ones of b behind it: there it lies between pairs, with as
/// many elements in front of it, or one more.
template <class Index, class A, class B, class Comp>
PMPP_HOST_DEVICE set_cut<Index> cut_between_pairs(const set_cut<Index>& cut, const A& a, const B& b, Index count_b,
                                                  const Comp& comp) {
  if (cut.a == 0 || cut.b == count_b) return cut;
  const auto x = b[cut.b];
  if (static_cast<bool>(comp(a[cut.a - 1], x))) return cut;
  const auto first_equal = [&](const auto& it, Index i) {  // of a sequence of which elements [i, ...) equal x
    const auto equal = [&](Index k) { return !static_cast<bool>(comp(it[k], x)); };
    Index step = 1;  // runs are mostly short: by steps that double
    for (; step <= i && equal(i - step); step *= 2) i -= step;
    return detail::partition_point(step <= i ? i - step + 1 : Index(0), i, [&](Index k) { return !equal(k); });
  };
  const Index first_a = first_equal(a, cut.a - 1), first_b = first_equal(b, cut.b);
  const Index of_a = cut.a - first_a, equals = of_a + (cut.b - first_b), pairs = (equals + 1) / 2;
  if (of_a <= cut.b - first_b) return cut;  // only b has more of them
  const Index end = min(count_b, first_b + pairs);
  const Index of_b =
      detail::partition_point(cut.b + 1, end, [&](Index k) { return !static_cast<bool>(comp(x, b[k])); }) - first_b;
  return of_b == pairs ? set_cut<Index>{first_a + pairs, first_b + pairs}
                       : set_cut<Index>{first_a + (equals - of_b), first_b + of_b};
}

/// Two sorted sequences, and what is kept of their merge.
template <class A, class B, class Comp, set_operation Operation>
struct set_of_two {
  static constexpr bool keeps_b = Operation == set_operation::of_union ||
                                  Operation == set_operation::of_symmetric_difference;  ///< without a counterpart

  A a;
  B b;
  item_count count_a, count_b;
  Comp comp;

  /// Whether a step is kept that takes an element of a, one of b, or a pair; of a pair that is a's.
  PMPP_HOST_DEVICE static constexpr bool keeps(bool takes_a, bool takes_b) {
    if constexpr (Operation == set_operation::of_union) return takes_a | takes_b;
    if constexpr (Operation == set_operation::of_intersection) return takes_a & takes_b;
    if constexpr (Operation == set_operation::of_difference) return takes_a & !takes_b;
    return takes_a != takes_b;
  }
  PMPP_HOST_DEVICE bool precedes(const auto& x, const auto& y) const { return static_cast<bool>(comp(x, y)); }

  /// A cut between pairs, with `place` elements of a's first n and b's first m in front of it, or one more.
  template <class Index, class X, class Y>
  PMPP_HOST_DEVICE set_cut<Index> cut(Index place, const X& x, Index n, const Y& y, Index m) const {
    const Index i = pmpp::co_rank(place, x, n, y, m, comp);
    return detail::cut_between_pairs(set_cut<Index>{i, place - i}, x, y, m, comp);
  }
  /// Walks from a cut between pairs to the next one that has `end` elements in front of it, or one more: take(x, keep) for each step.
  template <class Take>
  PMPP_HOST_DEVICE void walk(set_cut<std::int64_t> at, std::int64_t end, std::int64_t n, std::int64_t m,
                             const Take& take) const {
    using T = value_of<A>;
    while (at.a + at.b < end) {
      const bool has_a = at.a < n, has_b = at.b < m;
      const bool takes_a = has_a && !(has_b && precedes(b[at.b], a[at.a])),
                 takes_b = !takes_a || (has_b && !precedes(a[at.a], b[at.b]));
      take(takes_a ? T(a[at.a]) : T(b[at.b]), keeps(takes_a, takes_b));
      at.a += takes_a;
      at.b += takes_b;
    }
  }
};

/// A warp's part of both sequences in shared memory: how many elements of a and of b, and their places. After both there is one
/// more of either.
template <class T>
struct alignas(16) staged_part {
  int of_a, of_b, a, b;

  PMPP_HOST_DEVICE T* slot() { return reinterpret_cast<T*>(this + 1); }
  PMPP_HOST_DEVICE const T* slot() const { return reinterpret_cast<const T*>(this + 1); }
};

/// The walk in shared memory over a lane's `Items` places of a part. Returns which steps are kept, a bit each. All lanes call.
template <class Block, class Sets, class T, int Items>
PMPP_HOST_DEVICE unsigned walk_staged(Block& block, const Sets& sets, const staged_part<T>& part, T (&item)[Items]) {
  const int n = part.of_a, m = part.of_b, all = n + m, lane = block.lane();
  if (all == 0) return 0;
  const T* const slot = part.slot();
  const set_cut<int> first = sets.cut(min(lane * Items, all), slot + part.a, n, slot + part.b, m);
  set_cut<int> next = block.shuffle_down(first, 1);
  if (lane == simt::warp_size - 1) next = {n, m};
  int i = part.a + first.a, j = part.b + first.b;
  const int end_i = part.a + next.a, end_j = part.b + next.b;
  T x = slot[i], y = slot[j];  // where a sequence has no more it is some other element, which is not used
  unsigned kept = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int k = 0; k < Items; ++k) {  // without a branch: all is asked in any case
    // Pairs shorten the walk: now and then the lanes ask whether all are through.
    if (k > Items / 2 && (k - Items / 2) % 3 == 1 && !block.any(i < end_i || j < end_j)) break;
    const bool x_less = sets.precedes(x, y), y_less = sets.precedes(y, x), has_x = i < end_i, has_y = j < end_j;
    const bool takes_x = has_x & !(has_y & y_less), takes_y = has_y & !(has_x & x_less);
    item[k] = Sets::keeps_b && !takes_x ? y : x;
    if (Sets::keeps(takes_x, takes_y)) kept |= 1u << k;
    i += takes_x;
    j += takes_y;
    if (takes_x) x = slot[i];
    if (takes_y) y = slot[j];
  }
  return kept;
}

/// Finds the cuts of all parts. A block has some neighbouring ones: two of its warps search both sequences for the first cut and for
/// the one after the last, and some lanes each find the others between these. A cut is told as the elements of a in front of it, times
/// two, and one if there is one element more in front of it than its place says.
template <class Sets>
struct set_cut_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 128, lanes = 4, cuts_of_block = threads / lanes;

  struct shared {
    std::int64_t of_a[2];
  };
  struct arguments {
    Sets sets;
    std::int64_t part, parts;
    std::int64_t* cuts;  ///< of parts 0 ... parts
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const Sets& sets = a.sets;
    const std::int64_t n = sets.count_a.get(), m = sets.count_b.get();
    const auto place_of = [&](std::int64_t k) { return min(k * a.part, n + m); };
    const std::int64_t first = block.index() * cuts_of_block, k = first + block.thread() / lanes, place = place_of(k);
    const std::int64_t begin = place_of(first), end = place_of(first + cuts_of_block);
    if (block.warp() < 2) {
      const std::int64_t found =
          block::rough_co_rank<1>(block, block.warp() == 0 ? begin : end, sets.a, n, sets.b, m, sets.comp);
      if (block.lane() == 0) memory.of_a[block.warp()] = found;
    }
    block.sync();
    const std::int64_t low = memory.of_a[0], between = max(std::int64_t(0), min(memory.of_a[1] - low, end - begin));
    const std::int64_t of_a =
        low + block::rough_co_rank<1, lanes>(block, place - begin, sets.a + low, between, sets.b + (begin - low),
                                             end - begin - between, sets.comp);
    if (block.thread() % lanes != 0 || k > a.parts) return;
    const auto cut = detail::cut_between_pairs(set_cut<std::int64_t>{of_a, place - of_a}, sets.a, sets.b, m, sets.comp);
    a.cuts[k] = 2 * cut.a + (cut.a + cut.b - place);
  }
};

/// The merge of a set_of_two as an input: for each place a pair of an element and whether it is kept. Made only as kernels load it.
template <class Sets, class T>
struct set_merge_iterator : iterator_arithmetic<set_merge_iterator<Sets, T>> {
  using value_type = pair<T, bool>;
  using reference = value_type;
  using pointer = void;
  /// Places of a lane; whether by way of shared memory; places between cuts.
  static constexpr bool by_rows = sizeof(T) <= 24;
  static constexpr int items = sizeof(T) <= 4 ? 31 : sizeof(T) <= 8 ? 15 : by_rows ? 5 : sizeof(T) <= 32 ? 4 : 1;
  static constexpr bool reads_output = false;
  static constexpr std::int64_t part = by_rows ? items * simt::warp_size : 512;

  Sets sets;
  const std::int64_t* cuts;

  /// The part that begins with `place`: the elements in front of it, and how many it has of both.
  struct part_of_both {
    set_cut<std::int64_t> first;
    int of_a, of_b;
  };
  PMPP_HOST_DEVICE part_of_both part_at(std::int64_t place) const {
    const std::int64_t* const cut = cuts + place / part;
    const std::int64_t end = min(place + part, sets.count_a.get() + sets.count_b.get());
    const std::int64_t a = cut[0] / 2, b = place + cut[0] % 2 - a, end_a = cut[1] / 2, end_b = end + cut[1] % 2 - end_a;
    // Under a comparator that contradicts itself the cuts may not be in order.
    const int of_a = static_cast<int>(max(std::int64_t(0), min(end_a - a, part + 1)));
    return {{a, b}, of_a, static_cast<int>(max(std::int64_t(0), min(end_b - b, part + 1 - of_a)))};
  }
  /// Walks over `count` places.
  template <class Take>
  PMPP_HOST_DEVICE void walk(std::int64_t place, int count, const Take& take) const {
    const std::int64_t first = place / part * part, from = place - first;
    const part_of_both p = part_at(first);
    const std::int64_t n = p.of_a, m = p.of_b, all = n + m;
    const Sets here{sets.a + p.first.a, sets.b + p.first.b, {n}, {m}, sets.comp};
    const bool is_last = from + count == min(part, sets.count_a.get() + sets.count_b.get() - first);
    here.walk(here.cut(min(from, all), here.a, n, here.b, m), is_last ? all : from + count, n, m, take);
  }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t place) const {
    value_type result{};
    walk(place, 1, [&](const T& x, bool keep) { result = value_type{x, keep}; });
    return result;
  }
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE set_merge_iterator& operator+=(std::ptrdiff_t) = delete;
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const set_merge_iterator&, const set_merge_iterator&) { return 0; }
};

}  // namespace detail

namespace block {

/// Some places at a time, one walk.
template <class Sets, class T>
struct access<pmpp::detail::set_merge_iterator<Sets, T>> {
  using iterator = pmpp::detail::set_merge_iterator<Sets, T>;
  using part_of_warp = pmpp::detail::staged_part<T>;
  static constexpr int items = iterator::items;
  static constexpr bool always = true, by_rows = iterator::by_rows;
  static constexpr int word_a = staged_word<decltype(Sets::a), T>, word_b = staged_word<decltype(Sets::b), T>;
  static constexpr int row_bytes =
      round_up(int(sizeof(part_of_warp)) + (int(iterator::part) + word_a + 2 * word_b) * int(sizeof(T)),
               max(16, int(alignof(T))));

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
    int k = from;
    it.walk(i + from, to - from, [&](const T& element, bool keep) {
      if (k >= to) return;  // under a comparator that contradicts itself there may be a step more
      x.item[k] = element;
      x.kept |= unsigned(keep) << k++;
    });
    return x;
  }
  template <int Items>
  PMPP_HOST_DEVICE static raw<Items> load(const iterator& it, std::int64_t i) {
    return load_part<Items>(it, i, 0, Items);
  }
  template <int Items>
  PMPP_HOST_DEVICE static void load_async(const iterator& it, std::int64_t i, raw<Items>& slot) {
    slot = load<Items>(it, i);
  }

  /// Starts copying the part that begins with place i.
  template <class Block>
  PMPP_HOST_DEVICE static void stage_row(Block& block, const iterator& it, std::int64_t i, std::byte* room) {
    const auto p = it.part_at(i);
    const auto &a = it.sets.a, &b = it.sets.b;
    auto& staged = *reinterpret_cast<part_of_warp*>(room);
    const int place_a = block::behind_word<word_a>(a, p.first.a),
              place_b = round_up(place_a + p.of_a + 1, word_b) + block::behind_word<word_b>(b, p.first.b);
    if (block.lane() == 0) staged = part_of_warp{p.of_a, p.of_b, place_a, place_b};
    T* const slot = staged.slot();
    block::stage_by_warp<word_a>(block, a, p.first.a, p.of_a, slot, place_a);
    block::stage_by_warp<word_b>(block, b, p.first.b, p.of_b, slot, place_b);
    if (block.lane() > 1) return;
    T* const after = slot + (block.lane() == 0 ? place_a + p.of_a : place_b + p.of_b);
    if (p.of_a > 0)
      detail::copy_element(a, p.first.a, after);
    else if (p.of_b > 0)
      detail::copy_element(b, p.first.b, after);
  }
  template <int Items, class Block>
  PMPP_HOST_DEVICE static void from_row(Block& block, const iterator& it, const std::byte* room, raw<Items>& x) {
    x.kept = pmpp::detail::walk_staged(block, it.sets, *reinterpret_cast<const part_of_warp*>(room), x.item);
  }

  template <class Raw>
  PMPP_HOST_DEVICE static pair<T, bool> value(const iterator&, const Raw& x, int k) {
    return {x.item[k], (x.kept >> k & 1) != 0};
  }
};

}  // namespace block
}  // namespace pmpp::inline PMPP_BACKEND
