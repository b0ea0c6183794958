// SPDX-License-Identifier: Apache-2.0
//
// Chance: arrays of random numbers, shuffles, samples. fill_random, shuffle, shuffle_copy, sample; random_iterator.
//
//   random/philox.hpp           philox{seed}(i): word i of a stream
//   random/distributions.hpp    random_bits, uniform, normal: numbers made of words
//   random/permutation.hpp      random_permutation{n, seed}(i): place i of a random order of [0, n)
//
// Everything is a function of a seed and a place. So every policy, every grid and every GPU gives the same bits, a long array can be
// filled in parts, and a functor of your own draws the numbers that it needs: uniform<float>{}(philox{seed}, i).
//
// fill_random  is transform with an input that computes: a thread makes the blocks of its vectors of 16 bytes, and stores these
// shuffle      is for_each of its places, by random_permutation: no keys to sort, nothing to compact; each element is read once
// sample       is the first k of that
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/room.hpp>
#include <pmpp/random/distributions.hpp>
#include <pmpp/random/permutation.hpp>
#include <pmpp/random/philox.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Value 0, 1, 2, ... of a distribution: an input of any algorithm.
template <class D>
struct random_iterator : detail::iterator_arithmetic<random_iterator<D>> {
  using value_type = typename D::value_type;
  using reference = value_type;
  using pointer = void;

  D distribution{};
  philox generator{};
  std::uint64_t index = 0;

  constexpr random_iterator() = default;
  PMPP_HOST_DEVICE constexpr random_iterator(const D& d, const philox& g, std::uint64_t first = 0)
      : distribution(d), generator(g), index(first) {}
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t n) const {
    return distribution(generator, index + static_cast<std::uint64_t>(n));
  }
  PMPP_HOST_DEVICE random_iterator& operator+=(std::ptrdiff_t n) {
    index += static_cast<std::uint64_t>(n);
    return *this;
  }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const random_iterator& a, const random_iterator& b) {
    return static_cast<std::ptrdiff_t>(a.index - b.index);
  }
};

namespace block {

/// Any number of values at any place; a block of words is made once for all its values in a vector.
template <class D>
struct access<random_iterator<D>> {
  static constexpr int items = 0;
  static constexpr bool always = true;
  using T = typename D::value_type;

  template <int>
  static std::int64_t lead(const random_iterator<D>&) {
    return 0;
  }
  template <int Items>
  PMPP_HOST_DEVICE static packed<T, Items> load(const random_iterator<D>& it, std::int64_t i) {
    constexpr int each = D::per_block, blocks = ceil_div(Items, each);
    const std::uint64_t first = it.index + static_cast<std::uint64_t>(i);
    const int before = static_cast<int>(first % each);  // values of the first block that lie in front of this vector
    T all[(blocks + 1) * each]{};
    const auto make = [&](int b) {
      const auto made = it.distribution.of_block(it.generator, first / each + static_cast<std::uint64_t>(b));
      unrolled<each>([&](int k) { all[b * each + k] = made.item[k]; });
    };
    unrolled<blocks>(make);
    packed<T, Items> x;
    unrolled<Items>([&](int k) { x.item[k] = all[k]; });
    if (before == 0) return x;  // as for all vectors of a launch, or for none
    if (before + Items > blocks * each) make(blocks);
    unrolled<Items>([&](int k) {
      unrolled<each>([&](int shift) {  // a place in a register is a constant
        if (before == shift) x.item[k] = all[k + shift];
      });
    });
    return x;
  }
  template <int Items>
  PMPP_HOST_DEVICE static packed<T, Items> load_part(const random_iterator<D>& it, std::int64_t i, int, int) {
    return load<Items>(it, i);
  }
  template <int Items>
  PMPP_HOST_DEVICE static void load_async(const random_iterator<D>& it, std::int64_t i, packed<T, Items>& slot) {
    slot = load<Items>(it, i);
  }
  template <class Raw>
  PMPP_HOST_DEVICE static T value(const random_iterator<D>&, const Raw& raw, int k) {
    return raw.item[k];
  }
};

}  // namespace block

namespace detail {

/// There is more to compute than there are loads in flight: of four vectors a thread the compiler would make loops, with arrays in
/// memory; of two it makes stores of 16 bytes.
inline constexpr transform_tuning random_tuning{.vectors_per_thread = 2};

template <class D>
concept random_distribution = requires(const D& d, const philox& g) {
  typename D::value_type;
  d.of_block(g, std::uint64_t(0)).item[D::per_block - 1];
};

// What distributions ask of their numbers.
template <class D>
void check_distribution(const char*, const D&) {}
template <class T>
void check_distribution(const char* function, const uniform<T>& d) {
  using F = std::conditional_t<is_two_byte_float<T>, float, T>;
  const F low = static_cast<F>(d.low), high = static_cast<F>(d.high);
  require(low <= high && (std::is_integral_v<T> || !(high - low > std::numeric_limits<F>::max())), [&] {
    return detail::text("pmpp::") + function + ": uniform: from " + detail::text::of(low) + " to " +
           detail::text::of(high) + " is no range";
  });
}
template <class T>
void check_distribution(const char* function, const normal<T>& d) {
  using F = std::conditional_t<is_two_byte_float<T>, float, T>;
  const F deviation = static_cast<F>(d.deviation);
  require(deviation >= 0, [&] {
    return detail::text("pmpp::") + function + ": normal: the deviation is " + detail::text::of(deviation);
  });
}

/// Writes values first ... of a distribution to [begin, end) of out, a block of words at a time.
template <class D, class Out>
void write_values(const random_iterator<D>& from, const Out& out, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t each = D::per_block;
  for (std::int64_t i = begin; i < end;) {
    const std::uint64_t place = from.index + static_cast<std::uint64_t>(i);
    const auto made = from.distribution.of_block(from.generator, place / each);
    for (auto k = static_cast<std::int64_t>(place % each); k < each && i < end; ++k, ++i)
      out[i] = static_cast<value_of<Out>>(made.item[k]);
  }
}

template <class In, class Out>
struct write_permuted {
  In in;
  Out out;
  random_permutation order;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = in[order(i)]; }
};
/// Writes the first k of the shuffled elements of in to out. A place takes long, so that each has a thread of its own.
template <class P, class In, class Out>
void copy_permuted(const P& where, const input<In>& in, std::int64_t k, const philox& generator, const Out& out) {
  if (k == 0) return;
  detail::check_reachable(where, "shuffle", zip_iterator{in.first, out});
  const counting_iterator<std::int64_t> places(0);
  pmpp::for_each(where, places, places + k,
                 write_permuted<In, Out>{in.first, out, random_permutation(in.count.bound, generator)});
}
template <class P, class In, class O>
void permute_to(const char* function, const P& where, const input<In>& in, O& out, std::int64_t k,
                const philox& generator) {
  detail::check_output(function, "out", out, k, in);
  const auto to = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  detail::copy_permuted(where, detail::with_stored(in), k, generator, to);
}

}  // namespace detail

/// Writes value offset + i of a distribution to r[i].
///
/// \param r             a range, or two iterators, or an iterator and a device_count; visible to `where`. Values are converted to
///                      its element type.
/// \param distribution  random_bits<T>{}, uniform{low, high}, normal{mean, deviation}, or one of your own: a value_type, per_block,
///                      and of_block(generator, b), which returns an array `item` of the values b * per_block and following.
/// \param generator     philox{seed}, philox{seed, stream}, or the seed alone.
/// \param offset        the number of the first value: fills of [0, m) and, with offset m, of [m, n) are the fill of [0, n).
/// \return the iterator past the last element (past the upper bound for a device_count).
/// The same bits on every policy, machine and run. Asynchronous on a GPU; no allocation; may be captured. Cost: n elements written,
/// ten rounds of Philox for 16 bytes of words; one launch. Twice the rounds where vectors of 16 bytes do not begin with a whole block:
/// where r's first 16-byte boundary lies at an element whose number, plus offset, is no multiple of per_block.
/// \throws std::invalid_argument for a null or reversed range, or a distribution without values (low > high, deviation < 0);
/// cuda_error. Source: random/philox.hpp, random/distributions.hpp. Example: test/random.cpp, fill_random.
template <transform_tuning Tuning = detail::random_tuning, execution_policy P, range_for<P> R,
          detail::random_distribution D>
auto fill_random(const P& where, R&& r, const D& distribution, const philox& generator, std::uint64_t offset = 0) {
  const auto in = detail::input_of<true>("fill_random", r);
  detail::check_distribution("fill_random", distribution);
  const random_iterator<D> source(distribution, generator, offset);
  constexpr bool fits = requires(element_value<R> & element, const typename D::value_type& value) { element = value; };
  static_assert(fits, "pmpp: the values of this distribution do not convert to the elements of the range");
  if constexpr (fits && detail::require_writable<std::remove_const_t<decltype(in.first)>>()) {
    if constexpr (std::is_same_v<P, seq_policy>)
      detail::write_values(source, in.first, 0, in.count.get());
    else if constexpr (std::is_same_v<P, host_policy>)
      host_loop::parallel_ranges(where, in.count.get(), [&](std::int64_t begin, std::int64_t end) {
        detail::write_values(source, in.first, begin, end);
      });
    else
      detail::copy_elements<Tuning>(where, detail::input<random_iterator<D>>{source, in.count}, in.first);
  }
  return std::begin(r) + in.count.bound;
}

/// Writes the elements of r to out in a random order: out[i] = r[random_permutation(n, generator)(i)].
///
/// \param r    a range or two iterators; visible to `where`.
/// \param out  an iterator, or a range with room for as many; visible to `where`; it must not overlap r.
/// \return the iterator past the last element written.
/// Each order is as likely as any other as far as 64 bits of seed can tell: of more than 20 elements there are more orders than seeds.
/// The same order on every policy and run. Asynchronous on a GPU; no allocation; may be captured. Cost: n elements read, each from
/// anywhere (a sector of 32 bytes of memory), n written; one launch. \throws std::invalid_argument for a null or reversed input or
/// overlap, std::length_error if out is too short; cuda_error. Source: random/permutation.hpp. Example: test/random.cpp, shuffle.
template <execution_policy P, range_for<P> R, output_for<P> O>
auto shuffle_copy(const P& where, R&& r, O&& out, const philox& generator) {
  const auto in = detail::input_of("shuffle_copy", r);
  detail::permute_to("shuffle_copy", where, in, out, in.count.bound, generator);
  return detail::begin_of(out) + in.count.bound;
}

/// Brings r into the order that shuffle_copy would write.
///
/// Asynchronous on a GPU; may be captured. Scratch: n elements, from the workspace or one allocation in stream order. Cost: as
/// shuffle_copy, and n elements read and written once more; two launches. \throws as shuffle_copy.
template <execution_policy P, range_for<P> R>
void shuffle(const P& where, R&& r, const philox& generator) {
  const auto in = detail::with_stored(detail::input_of<true>("shuffle", r));
  using iterator = std::remove_const_t<decltype(in.first)>;
  using T = value_of<iterator>;
  const std::int64_t n = in.count.bound;
  if constexpr (detail::require_writable<decltype(detail::unwrap(std::begin(r)))>())
    if (n > 0)
      detail::with_room<T>("shuffle", where, n, [&](T* room) {
        detail::copy_permuted(where, in, n, generator, room);
        detail::copy_elements<tuned<transform_tuning>>(where, detail::input<const T*>{room, {n}}, in.first);
      });
}

/// Writes k elements of r, at k different places, to out: the first k that shuffle_copy would write. So each choice of k places, and
/// each order of them, is as likely as any other; a longer sample with the same seed begins with the shorter one.
///
/// \param k  at most as many as r has.
/// \return the iterator past the last element written. Asynchronous on a GPU; no allocation; may be captured. Cost: k elements
/// read, each from anywhere, k written, however many r has; one launch. \throws as shuffle_copy; std::invalid_argument if k is
/// negative or more than r has. Example: test/random.cpp, sample.
template <execution_policy P, range_for<P> R, output_for<P> O>
auto sample(const P& where, R&& r, O&& out, std::int64_t k, const philox& generator) {
  const auto in = detail::input_of("sample", r);
  require(k >= 0 && k <= in.count.bound, [&] {
    return detail::text("pmpp::sample: ") + detail::text::of(k) + " different ones of " +
           detail::text::of(in.count.bound) + " elements";
  });
  detail::permute_to("sample", where, in, out, k, generator);
  return detail::begin_of(out) + k;
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <transform_tuning Tuning = detail::random_tuning, execution_policy P, random_access It, end_of<It> End, detail::random_distribution D> requires reachable_by<It, P>
It fill_random(const P& where, It first, End last, const D& distribution, const philox& generator, std::uint64_t offset = 0) {
  pmpp::fill_random<Tuning>(where, subrange{first, last}, distribution, generator, offset);
  return first + detail::input_of<true>("fill_random", first, last).count.bound;
}
template <execution_policy P, random_access It, output_for<P> O> requires reachable_by<It, P>
auto shuffle_copy(const P& where, It first, It last, O&& out, const philox& generator) { return pmpp::shuffle_copy(where, subrange{first, last}, out, generator); }
template <execution_policy P, random_access It> requires reachable_by<It, P>
void shuffle(const P& where, It first, It last, const philox& generator) { pmpp::shuffle(where, subrange{first, last}, generator); }
template <execution_policy P, random_access It, output_for<P> O> requires reachable_by<It, P>
auto sample(const P& where, It first, It last, O&& out, std::int64_t k, const philox& generator) { return pmpp::sample(where, subrange{first, last}, out, k, generator); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
