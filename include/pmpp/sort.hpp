// SPDX-License-Identifier: Apache-2.0
//
// Sorting: sort, stable_sort, sort_by_key, stable_sort_by_key, argsort, is_sorted.
//
// Which way elements go, from few to many:
//
//                                     numbers under less or greater   everything else, by comparators
//   some thousand: all with all       sort/compare_all.hpp            sort/compare_all.hpp
//   more: in one launch, or two       sort/radix_together.hpp         sort/merge_sort.hpp: ranked
//   any number of them: by passes     sort/radix.hpp                  sort/merge_sort.hpp
//   many of one byte                  sort/counting.hpp
//   on the host                       sort/host.hpp                   sort/host.hpp
//
// Stable: equals keep their order, so that the result is unique and the same on every run. Values move along with their keys.
// (PMPP ch. 12 and 13.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/find/questions.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/sort/compare_all.hpp>
#include <pmpp/sort/counting.hpp>
#include <pmpp/sort/host.hpp>
#include <pmpp/sort/merge_sort.hpp>
#include <pmpp/sort/radix.hpp>
#include <pmpp/sort/radix_together.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How sort goes about it: a part for each way. Figures, here and in the parts, are what calls take with the values given, in
/// us on an H100; CUB's in brackets.
struct sort_tuning {
  int compare_all_limit = 8192;  ///< elements, at most: 2^13 numbers take 15.1 (54.0), by comparators 15.7 (22.7)
  radix_together_tuning together{};
  radix_tuning radix{};
  merge_sort_tuning merge{};
  counting_tuning counting{};
};

namespace detail {

/// By the digits of the keys: from `in` to `data`, which may be the same. Passes, which read their input twice, get source(in).
template <sort_tuning Tuning, class Code, class V, class T, class P, class In, class Data, class Source>
void radix_sort(const P& where, const In& in, const Data& data, const item_count& count, const key_bits& range,
                const Source& source) {
  if constexpr (kernel_execution<P>) {
    const compare_codes<T, Code> order{code_less<Code>(range).mask};
    if (detail::sort_by_comparing<T, Tuning.compare_all_limit>(where, in, data, count, order)) return;
    if (radix_sort_together<Tuning.together, Code, V, T>(where, in, data, count, range)) return;
    radix_sort_by_passes<Tuning.radix, Code, V, T>(where, source(in), data, count, range);
  } else {
    const std::int64_t n = count.get();
    raw_array<T> other(n);
    detail::radix_sort_on_host<Code>(where, in, data, other.data(), n, range);
  }
}

/// By comp.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp>
void merge_sort(const P& where, const In& in, const Data& data, const item_count& count, const Comp& comp) {
  if constexpr (kernel_execution<P>) {
    if constexpr (sizeof(T) <= 16) {
      const compare_elements<T, Comp> order{comp};
      if (detail::sort_by_comparing<T, Tuning.compare_all_limit>(where, in, data, count, order)) return;
      if (sort_by_ranking<Tuning.merge, T>(where, in, data, count, comp)) return;
    }
    constexpr auto bytes_of = [](auto tuning) {
      constexpr merge_runs_tuning passes = decltype(tuning)::value.passes;
      return max(sizeof(typename merge_runs_kernel<2, T, T*, T*, less, passes>::shared),
                 sizeof(typename merge_runs_kernel<4, T, T*, T*, less, passes>::shared));
    };
    with_fitting_tuning<merge_sort_tuning, Tuning.merge, Tuning.merge.least()>(
        "sort", sizeof(T), where, bytes_of,
        [&](auto tuning) { merge_sort_on_blocks<decltype(tuning)::value, T>(where, in, data, count, comp); });
  } else {
    detail::merge_sort_on_host<T>(where, in, data, count.get(), comp);
  }
}

/// How elements of type T are sorted under Comp: keys, and the values that go with them.
template <class T, class Comp>
struct sorted_parts {
  using key = T;
  using value = no_value;
  using order = radix_order<Comp, T>;
  template <class Less>
  static Less comparator(Less less_of_keys) {
    return less_of_keys;
  }
};
template <class K, class V, class Comp>
struct sorted_parts<pair<K, V>, by_first<Comp>> {
  using key = K;
  using value = V;
  using order = radix_order<Comp, K>;
  template <class Less>
  static by_first<Less> comparator(Less less_of_keys) {
    return {less_of_keys};
  }
};

/// The order of sort: of numbers by their codes, where less does not say how NaN and zeros lie.
template <class T, class Comp>
auto merging_order(const Comp& comp) {
  using parts = sorted_parts<T, Comp>;
  if constexpr (parts::order::known && is_radix_float<typename parts::key>) {
    using code = radix_code<typename parts::key, parts::order::descending>;
    return parts::comparator(code_less<code>(key_bits{0, code::width}));
  } else {
    return comp;
  }
}

inline void check_bits(const char* function, const key_bits& range, int width) {
  require(0 <= range.lo && range.lo <= range.hi && range.hi <= width, [&] {
    return detail::text("pmpp::") + function + ": key_bits{" + detail::text::of(range.lo) + ", " +
           detail::text::of(range.hi) + "} do not lie in a key of " + detail::text::of(width) + " bits";
  });
}

/// Refuses, when it compiles, elements that cannot be sorted.
template <class Comp, class T>
constexpr bool require_sortable() {
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: sorted elements must be trivially copyable");
  return std::is_trivially_copyable_v<T> && require_order<Comp, T>();
}

template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp, class Bits, class Source = identity>
void sort_stored(const char* function, const P& where, const In& in, const Data& data, const item_count& count,
                 const Comp& comp, const Bits& bits, const Source& source = {}) {
  using parts = sorted_parts<T, Comp>;
  constexpr bool by_digits = parts::order::known, some_bits = std::is_same_v<Bits, key_bits>;
  static_assert(!some_bits || (by_digits && std::is_integral_v<typename parts::key>),
                "pmpp: key_bits are for integer keys under less or greater");
  if constexpr (kernel_execution<P>) detail::check_reachable(where, function, zip_iterator{in, data});
  if constexpr (by_digits) {
    using K = typename parts::key;
    using code = radix_code<K, parts::order::descending>;
    key_bits range = {0, code::width};
    if constexpr (some_bits) range = bits;
    check_bits(function, range, code::width);
    if (count.bound == 0) return;
    using V = typename parts::value;
    if constexpr (kernel_execution<P> && !some_bits && code::width == 8 && !has_values<V>)
      if (Tuning.counting.counts(count.bound)) return counting_sort<Tuning.counting, code>(where, in, data, count);
    const auto by_codes = parts::comparator(code_less<code>(range));
    if constexpr (!kernel_execution<P>)
      if (count.get() <= 512) return merge_sort<Tuning, T>(where, in, data, count, by_codes);
    if constexpr (!kernel_execution<P> || sizeof(V) <= Tuning.radix.value_bytes)
      radix_sort<Tuning, code, V, T>(where, in, data, count, range, source);
    else
      merge_sort<Tuning, T>(where, in, data, count, by_codes);
  } else {
    if (count.bound > 0) merge_sort<Tuning, T>(where, in, data, count, comp);
  }
}

/// Elements that move along with a key of their own, which is found first: by the digits of that, word by word from the last.
template <sort_tuning Tuning, class T, class P, class Data, class Comp, class Proj>
void sort_by_projection(const char* function, const P& where, const Data& data, const item_count& count,
                        const projected<Comp, Proj>& comp) {
  using projection = project_word<Proj, projection_of<Proj, T>>;
  using word = projection_of<projection, T>;
  scratch memory(where, checked_bytes(count.bound, sizeof(word), function), 0);
  word* const keys = memory.take<word>(count.bound);
  for (int w = max(1, digit_words_of<projection_of<Proj, T>>) - 1; w >= 0; --w) {
    detail::copy_elements<tuned<transform_tuning>>(
        where, detail::mapped<word>(input<Data>{data, count}, projection{comp.proj, w}), keys);
    const zip_iterator both{keys, data};
    detail::sort_stored<Tuning, pair<word, T>>(function, where, both, both, count, by_first<Comp>{comp.comp},
                                               all_key_bits{});
  }
}

/// Whether elements of type T move along with numbers that Comp makes of them.
template <class T, class Comp>
inline constexpr bool has_digits = false;
template <class T, class Comp, class Proj>
inline constexpr bool has_digits<T, projected<Comp, Proj>> = [] {
  using K = projection_of<Proj, T>;
  return sizeof(T) <= tuned<sort_tuning>.radix.value_bytes && is_held<T> &&
         radix_order<Comp, std::conditional_t<(digit_words_of<K> > 0), std::uint64_t, K>>::known;
}();

/// Sorts `in` into `data`, which may be the same. `source`: as of radix_sort.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Comp, class Bits = all_key_bits,
          class Source = identity>
void sort_elements(const char* function, const P& where, const In& in, const Data& data, const item_count& count,
                   const Comp& comp, const Bits& bits = {}, const Source& source = {}) {
  if constexpr (!(require_marked<gpu_execution<P>, Comp>() && require_sortable<Comp, T>())) {
  } else if constexpr (kernel_execution<P> && has_digits<T, Comp>) {
    if (!detail::same_place(in, data))
      detail::copy_elements<tuned<transform_tuning>>(where, input<In>{in, count}, data);
    detail::sort_by_projection<Tuning, T>(function, where, data, count, comp);
  } else {
    sort_stored<Tuning, stored_as<T>>(function, where, with_stored(in), with_stored(data), count, on_values<T>(comp),
                                      bits, source);
  }
}

}  // namespace detail

/// Sorts r. Stable: elements that are equal under comp keep their order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. Elements are trivially
///              copyable, up to about 450 bytes.
/// \param comp  a strict weak order, callable on `where`'s machine: comp(x, y) says that x must precede y. Asked about
///              elements only. Where it contradicts itself elements may be missing or come twice, but nothing else is
///              read or written.
/// \param bits  key_bits{lo, hi}: look at these bits of the keys only, which must be integers under less or greater. Or a projection
///              (core/projected.hpp): the order is that of &T::member, f(x), or members<&T::first, &T::second>.
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured.
/// Integers, float, double, half and bfloat16 under less or greater (those of std, cuda::std and Thrust too) are sorted by digits of 8 bits, comp is
/// not called: -0.0 precedes +0.0 (under greater it follows), NaN comes last under both. Cost: n keys read, then 2n
/// elements of traffic for each byte that is not the same in all keys; a launch each. Scratch: n elements and 3 % (bytes:
/// 12 %), from the workspace or one allocation in stream order. Many keys of one byte are counted: 2n bytes of traffic,
/// two launches, no scratch. Up to 8192 keys for each multiprocessor (4-byte keys) take
/// one launch in all.
/// Elements of up to 16 bytes whose projection is such a number, or members, are sorted by its digits too: they are values of keys
/// in scratch, for each 8 bytes of members once. Other elements are merged. Cost: 2n elements of traffic for tiles of 8704 and for each factor of two from there to n, of
/// four from 2^24 elements on; as many launches, of four twice as many. Scratch: n elements and up to 2 %; none for one tile.
/// Of up to 16 bytes: up to 8192 (98,304 bytes) take n^2 comparisons in one launch without scratch, up to 65,536 two
/// launches.
/// \throws std::invalid_argument for a null or reversed range, bits outside of the key, or elements too large for a block's
/// shared memory; out_of_memory, cuda_error. Source: PMPP ch. 12, 13; Adinets, Merrill, 2022. Example: test/sort.cpp, sort.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Bits = all_key_bits>
void sort(const P& where, R&& r, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::input_of<true>("sort", r);
  if constexpr (detail::require_writable<decltype(in.first)>())
    detail::sort_elements<Tuning, element_value<R>>("sort", where, in.first, in.first, in.count,
                                                    detail::order_under<element_value<R>>(comp, bits),
                                                    detail::bits_under(bits));
}

/// The same; sort is stable already.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, class Comp = less,
          class Bits = all_key_bits>
void stable_sort(const P& where, R&& r, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::input_of<true>("stable_sort", r);
  if constexpr (detail::require_writable<decltype(in.first)>())
    detail::sort_elements<Tuning, element_value<R>>("stable_sort", where, in.first, in.first, in.count,
                                                    detail::order_under<element_value<R>>(comp, bits),
                                                    detail::bits_under(bits));
}

/// Sorts keys as sort does, and moves the value of each key along with it.
///
/// \param values  a range as long as keys, or an iterator; visible to `where`.
/// By digits where sort does, for values of up to 16 bytes. Scratch: n keys and n values. \throws as sort; std::length_error if the values are fewer than the keys.
/// Example: test/sort.cpp, sort_by_key.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> K, output_for<P> V,
          class Comp = less, class Bits = all_key_bits>
void sort_by_key(const P& where, K&& keys, V&& values, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::parts_apart("sort_by_key", "values", detail::pairs_of<true>("sort_by_key", keys, values));
  using T = value_of<std::remove_const_t<decltype(in.first)>>;
  const auto order = detail::order_under<element_value<K>>(comp, bits);
  detail::sort_elements<Tuning, T>("sort_by_key", where, in.first, in.first, in.count,
                                   detail::by_first<std::remove_const_t<decltype(order)>>{order},
                                   detail::bits_under(bits));
}

/// The same; sort_by_key is stable already.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> K, output_for<P> V,
          class Comp = less, class Bits = all_key_bits>
void stable_sort_by_key(const P& where, K&& keys, V&& values, Comp comp = {}, Bits bits = {}) {
  pmpp::sort_by_key<Tuning>(where, keys, values, comp, bits);
}

/// Writes the order in which keys are sorted: index_out[0] is the place of the least key, and so on. Equals in order.
///
/// \param keys       as r of sort; not changed.
/// \param index_out  an iterator, or a range with room for as many integers; visible to `where`.
/// \return the iterator past the last index written. Scratch: 2n keys and n indices. \throws as sort; std::length_error
/// if index_out is too short. Example: test/sort.cpp, argsort.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Comp = less, class Bits = all_key_bits>
auto argsort(const P& where, R&& keys, O&& index_out, Comp comp = {}, Bits bits = {}) {
  const auto in = detail::projected_input(detail::input_of("argsort", keys), bits);
  const std::int64_t n = in.count.bound;
  detail::check_output("argsort", "index_out", index_out, n, in);
  const auto first = detail::begin_of(index_out);
  const auto target = detail::unwrap(first);
  using K = value_of<std::remove_const_t<decltype(in.first)>>;
  using I = value_of<std::remove_const_t<decltype(target)>>;
  static_assert(std::is_integral_v<I>, "pmpp::argsort: index_out must take an integer");
  const zip_iterator source{in.first, counting_iterator<I>(I(0))};
  const auto sort_to = [&](K* sorted_keys) {
    detail::sort_elements<Tuning, pair<K, I>>("argsort", where, source, zip_iterator{sorted_keys, target}, in.count,
                                              detail::by_first<Comp>{comp}, detail::bits_under(bits));
  };
  if constexpr (kernel_execution<P>) {
    detail::scratch memory(where, detail::checked_bytes(n, sizeof(K), "argsort"), 0);
    sort_to(memory.take<K>(n));
  } else {
    detail::raw_array<K> sorted_keys(in.count.get());
    sort_to(sorted_keys.data());
  }
  return first + n;
}

/// Whether no element of r precedes the one in front of it, under comp, or by a projection. \param r a range or two iterators; visible
/// to `where`.
/// Waits for the policy's stream. Stops soon after the first one that does, as is_sorted_until (find.hpp). Cost: at most n elements read;
/// one launch, none for one element or none. \throws as sort; std::invalid_argument when the stream is being captured.
/// Example: test/sort.cpp, is_sorted.
template <execution_policy P, range_for<P> R, class Comp = less, class Proj = identity>
[[nodiscard]] bool is_sorted(const P& where, R&& r, Comp comp = {}, Proj proj = {}) {
  const auto order = detail::order_by<element_value<R>>(comp, proj);
  return detail::answer_of<bool, tuned<find_tuning>>(
      "is_sorted", where,
      detail::ask_neighbours<detail::out_of_order>("is_sorted", r, detail::ordered_in<gpu_execution<P>, R>(order),
                                                   detail::tell_whether<false>{}));
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Bits = all_key_bits>
void sort(const P& where, It first, End last, Comp comp = {}, Bits bits = {}) { sort<Tuning>(where, subrange{first, last}, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, class Comp = less, class Bits = all_key_bits>
void stable_sort(const P& where, It first, End last, Comp comp = {}, Bits bits = {}) { stable_sort<Tuning>(where, subrange{first, last}, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, class Comp = less, class Bits = all_key_bits>
void sort_by_key(const P& where, K first, End last, V&& values, Comp comp = {}, Bits bits = {}) { sort_by_key<Tuning>(where, subrange{first, last}, values, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, class Comp = less, class Bits = all_key_bits>
void stable_sort_by_key(const P& where, K first, End last, V&& values, Comp comp = {}, Bits bits = {}) { stable_sort_by_key<Tuning>(where, subrange{first, last}, values, comp, bits); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Comp = less, class Bits = all_key_bits>
auto argsort(const P& where, It first, End last, O&& index_out, Comp comp = {}, Bits bits = {}) { return argsort<Tuning>(where, subrange{first, last}, index_out, comp, bits); }

template <execution_policy P, random_access It, class Comp = less, class Proj = identity>
[[nodiscard]] bool is_sorted(const P& where, It first, It last, Comp comp = {}, Proj proj = {}) { return is_sorted(where, subrange{first, last}, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
