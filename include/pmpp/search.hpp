// SPDX-License-Identifier: Apache-2.0
//
// Where many values belong in a sorted sequence, or one: lower_bound, upper_bound, equal_range, binary_search.
//
//   1. The sequence is cut into pieces of equal length. Each block copies the last element of each piece to shared memory: up to 16 KB
//      of them, and not many more than it has values. All blocks run at once and take what values there are in turns.
//   2. A warp has a tile of 128 values, four a lane (of few values 32). Each lane searches among the samples first, for its values
//      in step, and then in the piece that this leaves, for one value after the other.
//   3. Where the values of a tile rise, the warp searches for the first and the last of them; if they are near each other, the others
//      are searched for between them alone. So sorted values cost a read of what lies between them, as a merge does.
//
// Nearly half of the steps of a search are in shared memory then, where lanes that ask for different places hardly wait for each other;
// in the first cache they do. Values that are sorted in parts gain as much as sorted ones, and no hint is asked for.
// Work m log n for values in any order, n + m for sorted ones that are about as dense as the sequence; one launch, no scratch.
// The result is unique. (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Of random calls (as benchmark/sweep/search.cu draws them, 351) this had 1.16 times the speed of the better one of Thrust and CUB in the
/// geometric mean and 0.73 at the least on an H100; 3 blocks with 32 KB 1.14 and 0.50, 2 with 32 KB 1.16 and 0.61, 4 with 16 KB 1.14 and 0.55.
struct search_tuning {
  int threads = 512;         ///< of a block
  int values = 4;            ///< of a thread in a tile; one where blocks take no more than two such turns
  int blocks = 3;            ///< of a multiprocessor
  int sample_bytes = 16384;  ///< of the sequence that a block keeps in shared memory, at most
};

namespace detail {

// What is sought of a value: how many elements precede it, or also those that equal it.
template <class Comp>
struct elements_before {
  Comp comp;
  template <class T, class V>
  PMPP_HOST_DEVICE bool operator()(const T& x, const V& value) const {
    return static_cast<bool>(comp(value_of_stored(x), value_of_stored(value)));
  }
};
template <class Comp>
struct elements_up_to {
  Comp comp;
  template <class T, class V>
  PMPP_HOST_DEVICE bool operator()(const T& x, const V& value) const {
    return !static_cast<bool>(comp(value_of_stored(value), value_of_stored(x)));
  }
};

/// Pieces of equal length of a sequence, whose last elements are its samples: so many at most.
struct search_pieces {
  std::int64_t length;
  int samples;

  /// Of an odd length: places that many searches ask for would else lie in few sets of the first cache.
  PMPP_HOST_DEVICE search_pieces(std::int64_t n, int most)
      : length(n <= most ? 1 : (n / most + 1) | 1), samples(static_cast<int>(n / length)) {}
};

/// Writes tell(place of value j, value j) to out[j].
template <class In, class Values, class Out, class Before, class Comp, class Tell, search_tuning Tuning>
struct search_kernel {
  using T = value_of<In>;
  using V = value_of<Values>;
  static constexpr bool begins_early = simt::can_begin_early, leaves_first_cache = true;
  static constexpr int threads = Tuning.threads, each = Tuning.values, min_blocks = Tuning.blocks,
                       most_samples = max(1, Tuning.sample_bytes / int(sizeof(T))),
                       copied_at_once = max(1, min(min(4, 32 / int(sizeof(T))), most_samples / threads));

  struct shared {
    alignas(T) unsigned char samples[sizeof(T) * most_samples];
  };
  struct arguments {
    In in;
    item_count n;
    Values values;
    item_count m;
    search_pieces pieces;  ///< for a length that the host knows: divisions of 64 bits are long
    int samples;           ///< at most
    int rounds;            ///< values of a thread: `each`, or one
    Out out;
    Before before;
    Comp comp;
    Tell tell;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    if (a.rounds == 1)
      run<1>(block, memory, a);
    else
      run<each>(block, memory, a);
  }

private:
  /// What a thread knows of the sequence: the last elements of its pieces of equal length, in shared memory.
  struct sampled {
    const T* sample;
    int samples;
    std::int64_t piece, n;
  };
  template <int Count>
  static constexpr bool narrows = Count > 1 && sizeof(V) <= 8;

  template <int Count, class Block>
  PMPP_HOST_DEVICE static void run(Block& block, shared& memory, const arguments& a) {
    constexpr int lanes = simt::warp_size, tile = Count * lanes;
    const std::int64_t n = a.n.get(), m = a.m.get(), step = block.count() * block.warps() * tile;
    std::int64_t first = (block.index() * block.warps() + block.warp()) * tile;
    search_pieces pieces = a.pieces;
    if (a.n.pointer != nullptr) pieces = search_pieces(n, a.samples);
    const std::int64_t piece = pieces.length;
    const bool may_narrow = narrows<Count> && piece > 1;
    V next[Count]{};
    const auto load = [&](std::int64_t begin) {  // value r * lanes + lane of a tile: neighbours are read by neighbours
      if (begin >= m) return;
      const Values from = a.values + begin;
      const int last = static_cast<int>(min(m - begin, std::int64_t(tile))) - 1;
      for (int r = 0; r < Count; ++r)
        if (const int j = r * lanes + block.lane(); j <= last || may_narrow) next[r] = from[min(j, last)];
    };
    load(first);
    T* const sample = reinterpret_cast<T*>(memory.samples);
    const sampled in{sample, pieces.samples, piece, n};
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = block.thread(); k < in.samples; k += copied_at_once * threads) {
      T x[copied_at_once]{};
      In at = a.in + ((k + 1) * piece - 1);
      for (int r = 0; r < copied_at_once; ++r, at = at + threads * piece)
        if (k + r * threads < in.samples) x[r] = *at;
      for (int r = 0; r < copied_at_once; ++r)
        if (k + r * threads < in.samples) sample[k + r * threads] = x[r];
    }
    block.sync();
    for (; first < m; first += step) {
      V value[Count];
      for (int r = 0; r < Count; ++r) value[r] = next[r];
      load(first + step);
      std::int64_t low = 0, length = piece - 1;
      int after[Count]{};
      bool near = false;
      if constexpr (narrows<Count>) near = may_narrow && is_near<Count>(block, a, in, value, low, length);
      if (!near) count_samples<Count>(in, value, a.before, after);
      const int count = static_cast<int>(min(m - first, std::int64_t(tile)));
      for (int r = 0; r < Count; ++r) {
        const std::int64_t place = place_after(a, n, low + after[r] * piece, length, value[r]);
        if (const int j = r * lanes + block.lane(); j < count)
          a.out[first + j] = static_cast<value_of<Out>>(a.tell(place, value[r]));
      }
    }
  }

  /// How many samples precede each of some values: their searches take the same steps.
  template <int Count>
  PMPP_HOST_DEVICE static void count_samples(const sampled& in, const V (&value)[Count], const Before& before,
                                             int (&after)[Count]) {
    int length = in.samples;
    for (; length > 1; length -= length / 2)
      for (int r = 0; r < Count; ++r)
        if (before(in.sample[after[r] + length / 2 - 1], value[r])) after[r] += length / 2;
    for (int r = 0; r < Count; ++r)
      if (length == 1 && before(in.sample[after[r]], value[r])) ++after[r];
  }
  /// The place of a value, at most `length` after `place`. Lanes with the same length take the same steps.
  PMPP_HOST_DEVICE static std::int64_t place_after(const arguments& a, std::int64_t n, std::int64_t place,
                                                   std::int64_t length, const V& value) {
    for (; length >> 30 != 0; length -= length / 2)
      if (const std::int64_t i = place + length / 2; i <= n && a.before(T(a.in[i - 1]), value)) place = i;
    const In part = a.in + place;
    const int left = static_cast<int>(min(n - place, length));
    int more = 0;
    for (int rest = static_cast<int>(length); rest > 0; rest = rest > 1 ? rest - rest / 2 : 0)
      if (const int i = more + max(1, rest / 2); i <= left && a.before(T(part[i - 1]), value)) more = i;
    return place + more;
  }
  /// Whether the warp's values rise, and the last of them belongs less than a piece after the first: then where that is, and how far.
  template <int Count, class Block>
  PMPP_HOST_DEVICE static bool is_near(Block& block, const arguments& a, const sampled& in, const V (&value)[Count],
                                       std::int64_t& low, std::int64_t& length) {
    constexpr int last = simt::warp_size - 1;
    for (int r = 0; r < Count; ++r) {  // of values in any order the first row ends this
      const V left = block.shuffle_up(value[r], 1), above = block.shuffle(value[max(0, r - 1)], last);
      bool rises = (r == 0 && block.lane() == 0) || !a.comp(value[r], block.lane() > 0 ? left : above);
      if constexpr (has_nan<V>) rises = rises && value[r] == value[r];  // NaN rises nowhere
      if (!block.all(rises)) return false;
    }
    const V begin = block.shuffle(value[0], 0), end = block.shuffle(value[Count - 1], last);
    const V mine[1] = {block.lane() % 2 == 0 ? begin : end};
    int after[1]{};
    count_samples<1>(in, mine, a.before, after);
    const std::int64_t place = place_after(a, in.n, after[0] * in.piece, in.piece - 1, mine[0]);
    const std::int64_t begins = block.shuffle(place, 0), apart = block.shuffle(place, 1) - begins;
    if (apart >= in.piece) return false;
    low = begins;
    length = apart;
    return true;
  }
};

template <search_tuning Tuning, class P, class In, class Values, class Out, class Before, class Comp, class Tell>
void search_values(const char* function, const P& where, const input<In>& in, const input<Values>& values,
                   const Out& out, const Before& before, const Comp& comp, const Tell& tell) {
  detail::check_sorted(where, in, comp, function);
  if constexpr (kernel_execution<P>) {
    using kernel = search_kernel<In, Values, Out, Before, Comp, Tell, Tuning>;
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{values.first, out}});
    const std::int64_t m = values.count.bound, resident = detail::resident_blocks<kernel>(machine_of(where));
    const int rounds = m <= 2 * resident * kernel::threads ? 1 : kernel::each;
    const std::int64_t blocks = min(ceil_div(m, std::int64_t(kernel::threads) * rounds), resident);
    if (blocks == 0) return;
    // A sample costs about what a step of a search does, and twice as many samples save each value of a block one.
    const std::int64_t samples =
        min(std::int64_t(kernel::most_samples), max(ceil_div(m, blocks), std::int64_t(kernel::threads)));
    const int most = static_cast<int>(samples);
    pmpp::launch(
        where, blocks, kernel{},
        typename kernel::arguments{in.first, in.count, values.first, values.count, search_pieces(in.count.bound, most),
                                   most, rounds, out, before, comp, tell});
  } else {
    const std::int64_t n = in.count.get();
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        const auto value = values.first[j];
        const std::int64_t place =
            detail::partition_point(std::int64_t(0), n, [&](std::int64_t i) { return before(in.first[i], value); });
        out[j] = static_cast<value_of<Out>>(tell(place, value));
      }
    };
    if constexpr (std::is_same_v<P, seq_policy>)
      part(0, values.count.get());
    else
      host_loop::parallel_ranges(where, values.count.get(), part);
  }
}

struct place_itself {
  template <class V>
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t place, const V&) const {
    return place;
  }
};
/// Whether the value is at its place.
template <class In, class Comp>
struct is_at_place {
  input<In> in;
  Comp comp;
  template <class V>
  PMPP_HOST_DEVICE bool operator()(std::int64_t place, const V& value) const {
    return place < in.count.get() && !static_cast<bool>(comp(value_of_stored(value), value_of_stored(in.first[place])));
  }
};
/// {place, the place after all that equal the value}, found by steps that double: runs of equals are mostly short.
template <class In, class Comp>
struct place_and_end {
  input<In> in;
  Comp comp;
  template <class V>
  PMPP_HOST_DEVICE pair<std::int64_t, std::int64_t> operator()(std::int64_t place, const V& value) const {
    const std::int64_t n = in.count.get();
    const auto equals = [&](std::int64_t i) {
      return !static_cast<bool>(comp(value_of_stored(value), value_of_stored(in.first[i])));
    };
    std::int64_t low = place, step = 1;
    while (low + step <= n && equals(low + step - 1)) {
      low += step;
      step *= 2;
    }
    return {place, detail::partition_point(low, min(n, low + step), equals)};
  }
};
/// Writes a pair to two outputs.
template <class A, class B>
struct write_pair {
  A a;
  B b;
  template <class T>
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const T& x) const {
    a[i] = static_cast<value_of<A>>(x.first);
    b[i] = static_cast<value_of<B>>(x.second);
  }
};

/// Checks the arguments, and calls f(sequence, values, comparator), for a comparator of both types.
template <class P, class R, class V, class Comp, class Proj, class F>
std::int64_t with_search(const char* function, R& r, V& values, const Comp& comp, const Proj& proj, const F& f) {
  const auto in = detail::projected_input(detail::input_of(function, r), proj);
  const auto sought = detail::input_of(function, values);
  using T = value_of<std::remove_const_t<decltype(in.first)>>;
  if constexpr (require_marked<gpu_execution<P>, Comp>() && require_order<Comp, T>()) {
    static_assert(std::is_trivially_copyable_v<element_value<V>>, "pmpp: values must be trivially copyable");
    f(detail::with_stored(in), detail::with_stored(sought), on_values<T, element_value<V>>(comp));
  }
  return sought.count.bound;
}

// What is told of a value's place: it, whether the value is there, or also where its equals end.
struct ask_place {
  template <class In, class Comp>
  auto operator()(const input<In>&, const Comp&) const {
    return place_itself{};
  }
};
struct ask_presence {
  template <class In, class Comp>
  auto operator()(const input<In>& in, const Comp& comp) const {
    return is_at_place<In, Comp>{in, comp};
  }
};
struct ask_both {
  template <class In, class Comp>
  auto operator()(const input<In>& in, const Comp& comp) const {
    return place_and_end<In, Comp>{in, comp};
  }
};

/// Writes what is told of each value to out.
template <search_tuning Tuning, template <class> class Before, class Ask, class P, class R, class V, class O,
          class Comp, class Proj>
auto search_each(const char* function, const P& where, R& r, V& values, O& out, const Comp& comp, const Proj& proj) {
  const std::int64_t m =
      detail::with_search<P>(function, r, values, comp, proj, [&](const auto& in, const auto& sought, const auto& by) {
        detail::check_output(function, "out", out, sought.count.bound, in);
        using order = std::remove_cvref_t<decltype(by)>;
        detail::search_values<Tuning>(function, where, in, sought, detail::unwrap(detail::begin_of(out)),
                                      Before<order>{by}, by, Ask{}(in, by));
      });
  return detail::begin_of(out) + m;
}

template <class V, class P>
concept one_value = !range_for<V, P> && !random_access<V>;
template <class V>
auto as_values(const V& value) {
  const constant_iterator<V> first(value);
  return subrange{first, first + 1};
}
/// The result for one value, and the word that it is there.
template <class T>
struct tell_host {
  T* result;
  completion done;
  PMPP_HOST_DEVICE void operator()(std::int64_t, const T& x) const {
    *result = x;
    done.signal();
  }
};
/// The same for one value, whose result comes back.
template <class Result, search_tuning Tuning, template <class> class Before, class Ask, class P, class R, class V,
          class Comp, class Proj>
Result search_one(const char* function, const P& where, R& r, const V& value, const Comp& comp, const Proj& proj) {
  const auto values = detail::as_values(value);
  if constexpr (kernel_execution<P>) {
    reply<Result, P> answer(function, where);
    const auto out = tabulate_output<Result>(tell_host<Result>{answer.target(), answer.done()});
    detail::search_each<Tuning, Before, Ask>(function, answer.policy(), r, values, out, comp, proj);
    return answer.wait();
  } else {
    Result result{};
    const auto out = &result;
    detail::search_each<Tuning, Before, Ask>(function, where, r, values, out, comp, proj);
    return result;
  }
}

}  // namespace detail

/// Writes to out[j] how many elements of a sorted r precede values[j]: the first place where it may be inserted.
///
/// \param r       a range, or two iterators, or an iterator and a device_count; visible to `where`. \pre sorted by comp;
///                checked in debug mode.
/// \param values  as r, in any order; those that rise are found faster (see above).
/// \param out     an iterator, or a range with room for a place a value, of any integer type; visible to `where`. It may be
///                values, if the types are the same.
/// \param comp    a strict weak order of elements and values: called as comp(element, value), and as comp(value, value) to see
///                whether values rise. (Values of floating-point types may be NaN.)
/// \param proj    a projection (core/projected.hpp), as &T::member: it is what it gives of elements that is compared with values.
/// \return the iterator past the last place written (past the upper bound for a device_count).
/// Asynchronous on a GPU; may be captured; no allocation. Cost: values read, places written, and of r about log2(n) elements a
/// value, or what lies between values that rise; one launch.
/// \throws std::invalid_argument for a null or reversed input or for out in r, std::length_error if out is too short; cuda_error.
/// Source: PMPP ch. 12. Example: test/bounds.cpp, bounds.
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, range_for<P> V,
          output_for<P> O, class Comp = less, class Proj = identity>
auto lower_bound(const P& where, R&& r, V&& values, O&& out, Comp comp = {}, Proj proj = {}) {
  return detail::search_each<Tuning, detail::elements_before, detail::ask_place>("lower_bound", where, r, values, out,
                                                                                 comp, proj);
}

/// Writes to out[j] how many elements of r precede values[j] or equal it: the last place where it may be inserted. As
/// lower_bound; comp is also called as comp(value, element).
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, range_for<P> V,
          output_for<P> O, class Comp = less, class Proj = identity>
auto upper_bound(const P& where, R&& r, V&& values, O&& out, Comp comp = {}, Proj proj = {}) {
  return detail::search_each<Tuning, detail::elements_up_to, detail::ask_place>("upper_bound", where, r, values, out,
                                                                                comp, proj);
}

/// Writes to lower_out[j] and upper_out[j] where the elements of r that equal values[j] begin and end: what lower_bound and
/// upper_bound give, in one call. As upper_bound; \return both ends, as a pair.
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, range_for<P> V,
          output_for<P> Lower, output_for<P> Upper, class Comp = less, class Proj = identity>
auto equal_range(const P& where, R&& r, V&& values, Lower&& lower_out, Upper&& upper_out, Comp comp = {},
                 Proj proj = {}) {
  const char* const function = "equal_range";
  const std::int64_t m =
      detail::with_search<P>(function, r, values, comp, proj, [&](const auto& in, const auto& sought, const auto& by) {
        detail::check_output(function, "lower_out", lower_out, sought.count.bound, in, sought);
        detail::check_output(function, "upper_out", upper_out, sought.count.bound, in, sought);
        using order = std::remove_cvref_t<decltype(by)>;
        const auto lower = detail::unwrap(detail::begin_of(lower_out));
        const auto upper = detail::unwrap(detail::begin_of(upper_out));
        const detail::write_pair<std::remove_const_t<decltype(lower)>, std::remove_const_t<decltype(upper)>> write{
            lower, upper};
        detail::search_values<Tuning>(function, where, in, sought,
                                      tabulate_output<pair<std::int64_t, std::int64_t>>(write),
                                      detail::elements_before<order>{by}, by, detail::ask_both{}(in, by));
      });
  const auto lower_end = detail::begin_of(lower_out) + m;
  const auto upper_end = detail::begin_of(upper_out) + m;
  return pair<std::remove_const_t<decltype(lower_end)>, std::remove_const_t<decltype(upper_end)>>{lower_end, upper_end};
}

/// Writes to out[j], of a type that takes a bool, whether r has an element that equals values[j]. As upper_bound.
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, range_for<P> V,
          output_for<P> O, class Comp = less, class Proj = identity>
auto binary_search(const P& where, R&& r, V&& values, O&& out, Comp comp = {}, Proj proj = {}) {
  return detail::search_each<Tuning, detail::elements_before, detail::ask_presence>("binary_search", where, r, values,
                                                                                    out, comp, proj);
}

/// The first place of a sorted r where `value` may be inserted; upper_bound: the last one; equal_range: both, as a pair; binary_search:
/// whether an element equals it. As for many values, but each call waits for its answer. Its twin that ends in _into leaves the number of
/// elements before the place (a pair of them, a bool) in *out, does not wait and may be captured.
///
/// \param value  trivially copyable, of any type that comp takes; no range and no iterator.
/// \return an iterator, a pair of them or a bool. Example: test/bounds.cpp, one value.
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, detail::one_value<P> V,
          class Comp = less, class Proj = identity>
[[nodiscard]] auto lower_bound(const P& where, R&& r, const V& value, Comp comp = {}, Proj proj = {}) {
  return std::begin(r) + detail::search_one<std::int64_t, Tuning, detail::elements_before, detail::ask_place>(
                             "lower_bound", where, r, value, comp, proj);
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          detail::one_value<P> V, class Comp = less, class Proj = identity>
void lower_bound_into(const P& where, R&& r, O&& out, const V& value, Comp comp = {}, Proj proj = {}) {
  const auto values = detail::as_values(value);
  detail::search_each<Tuning, detail::elements_before, detail::ask_place>("lower_bound_into", where, r, values, out,
                                                                          comp, proj);
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, detail::one_value<P> V,
          class Comp = less, class Proj = identity>
[[nodiscard]] auto upper_bound(const P& where, R&& r, const V& value, Comp comp = {}, Proj proj = {}) {
  return std::begin(r) + detail::search_one<std::int64_t, Tuning, detail::elements_up_to, detail::ask_place>(
                             "upper_bound", where, r, value, comp, proj);
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          detail::one_value<P> V, class Comp = less, class Proj = identity>
void upper_bound_into(const P& where, R&& r, O&& out, const V& value, Comp comp = {}, Proj proj = {}) {
  const auto values = detail::as_values(value);
  detail::search_each<Tuning, detail::elements_up_to, detail::ask_place>("upper_bound_into", where, r, values, out,
                                                                         comp, proj);
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, detail::one_value<P> V,
          class Comp = less, class Proj = identity>
[[nodiscard]] auto equal_range(const P& where, R&& r, const V& value, Comp comp = {}, Proj proj = {}) {
  using places = pair<std::int64_t, std::int64_t>;
  const auto both = detail::search_one<places, Tuning, detail::elements_before, detail::ask_both>("equal_range", where,
                                                                                                  r, value, comp, proj);
  using iterator = std::remove_cvref_t<decltype(std::begin(r))>;
  return pair<iterator, iterator>{std::begin(r) + both.first, std::begin(r) + both.second};
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          detail::one_value<P> V, class Comp = less, class Proj = identity>
void equal_range_into(const P& where, R&& r, O&& out, const V& value, Comp comp = {}, Proj proj = {}) {
  const auto values = detail::as_values(value);
  detail::search_each<Tuning, detail::elements_before, detail::ask_both>("equal_range_into", where, r, values, out,
                                                                         comp, proj);
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, detail::one_value<P> V,
          class Comp = less, class Proj = identity>
[[nodiscard]] bool binary_search(const P& where, R&& r, const V& value, Comp comp = {}, Proj proj = {}) {
  // As a number: outputs of bool that are no pointers may be packed.
  return detail::search_one<int, Tuning, detail::elements_before, detail::ask_presence>("binary_search", where, r,
                                                                                        value, comp, proj) != 0;
}
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          detail::one_value<P> V, class Comp = less, class Proj = identity>
void binary_search_into(const P& where, R&& r, O&& out, const V& value, Comp comp = {}, Proj proj = {}) {
  const auto values = detail::as_values(value);
  detail::search_each<Tuning, detail::elements_before, detail::ask_presence>("binary_search_into", where, r, values,
                                                                             out, comp, proj);
}

// The same for two iterators each, or an iterator and a device_count each.
// clang-format off
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, random_access V, end_of<V> VEnd, output O, class Comp = less, class Proj = identity>
auto lower_bound(const P& where, It first, End last, V values, VEnd values_end, O&& out, Comp comp = {}, Proj proj = {}) { return lower_bound<Tuning>(where, subrange{first, last}, subrange{values, values_end}, out, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, random_access V, end_of<V> VEnd, output O, class Comp = less, class Proj = identity>
auto upper_bound(const P& where, It first, End last, V values, VEnd values_end, O&& out, Comp comp = {}, Proj proj = {}) { return upper_bound<Tuning>(where, subrange{first, last}, subrange{values, values_end}, out, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, random_access V, end_of<V> VEnd, output Lower, output Upper, class Comp = less, class Proj = identity>
auto equal_range(const P& where, It first, End last, V values, VEnd values_end, Lower&& lower_out, Upper&& upper_out, Comp comp = {}, Proj proj = {}) { return equal_range<Tuning>(where, subrange{first, last}, subrange{values, values_end}, lower_out, upper_out, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, random_access V, end_of<V> VEnd, output O, class Comp = less, class Proj = identity>
auto binary_search(const P& where, It first, End last, V values, VEnd values_end, O&& out, Comp comp = {}, Proj proj = {}) { return binary_search<Tuning>(where, subrange{first, last}, subrange{values, values_end}, out, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, detail::one_value<P> V, class Comp = less, class Proj = identity>
[[nodiscard]] auto lower_bound(const P& where, It first, End last, const V& value, Comp comp = {}, Proj proj = {}) { return pmpp::lower_bound<Tuning>(where, subrange{first, last}, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, detail::one_value<P> V, class Comp = less, class Proj = identity>
[[nodiscard]] auto upper_bound(const P& where, It first, End last, const V& value, Comp comp = {}, Proj proj = {}) { return pmpp::upper_bound<Tuning>(where, subrange{first, last}, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, detail::one_value<P> V, class Comp = less, class Proj = identity>
[[nodiscard]] auto equal_range(const P& where, It first, End last, const V& value, Comp comp = {}, Proj proj = {}) { return pmpp::equal_range<Tuning>(where, subrange{first, last}, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, detail::one_value<P> V, class Comp = less, class Proj = identity>
[[nodiscard]] auto binary_search(const P& where, It first, End last, const V& value, Comp comp = {}, Proj proj = {}) { return pmpp::binary_search<Tuning>(where, subrange{first, last}, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, detail::one_value<P> V, class Comp = less, class Proj = identity>
void lower_bound_into(const P& where, It first, End last, O&& out, const V& value, Comp comp = {}, Proj proj = {}) { pmpp::lower_bound_into<Tuning>(where, subrange{first, last}, out, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, detail::one_value<P> V, class Comp = less, class Proj = identity>
void upper_bound_into(const P& where, It first, End last, O&& out, const V& value, Comp comp = {}, Proj proj = {}) { pmpp::upper_bound_into<Tuning>(where, subrange{first, last}, out, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, detail::one_value<P> V, class Comp = less, class Proj = identity>
void equal_range_into(const P& where, It first, End last, O&& out, const V& value, Comp comp = {}, Proj proj = {}) { pmpp::equal_range_into<Tuning>(where, subrange{first, last}, out, value, comp, proj); }
template <search_tuning Tuning = tuned<search_tuning>, execution_policy P, random_access It, end_of<It> End, output_for<P> O, detail::one_value<P> V, class Comp = less, class Proj = identity>
void binary_search_into(const P& where, It first, End last, O&& out, const V& value, Comp comp = {}, Proj proj = {}) { pmpp::binary_search_into<Tuning>(where, subrange{first, last}, out, value, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
