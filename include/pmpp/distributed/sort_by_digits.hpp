// SPDX-License-Identifier: Apache-2.0
//
// Sorting numbers over ranks that reach into each other's memory: the first pass of a radix sort goes across them, so that each
// element moves once, in a pass that a local sort makes too, and nothing is merged.
//
//   1. Samples give the codes where the blocks of the ranks are to begin, roughly: the code with the most zeros at its end between two
//      samples, so that the highest bits are the same on a rank wherever that can be.
//   2. Each rank counts its keys by the rank they go to and by their lowest bits, 8 bits together: a digit of its own.
//   3. A pass by these digits (sort/radix.hpp) writes each key where it belongs, to its own memory and that of the others.
//   4. Each rank sorts what it has by the other bits.
//   5. What lies past the ends of its block, a few elements, goes to the ranks that are to have it.
//
//   code   rrr hhhhhhhhhhhhhhhhhhhhhhhh lllll      8 ranks: 5 low bits in the first pass, 24 in three others, and 3 that are the same
//
// Keys that no code divides so, as where many are equal, are left to the merges of sort.hpp. Stable. (PMPP ch. 13 and 20.)
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

inline constexpr int most_digit_ranks = 8;  ///< that reach into each other's memory

/// The digit of the first pass: the rank that a code goes to, and its lowest bits.
template <class Bits>
struct rank_digit {
  Bits last[most_digit_ranks];  ///< the greatest code of each rank; of the last one, and past it, the greatest of all
  int low;                      ///< bits

  PMPP_HOST_DEVICE unsigned operator()(Bits code) const {
    // By halves; indices that are not constant would bring the array to local memory.
    const bool four = code > last[3], two = code > (four ? last[5] : last[1]);
    const bool one = code > (two ? (four ? last[6] : last[2]) : (four ? last[4] : last[0]));
    const unsigned rank = (four ? 4 : 0) + (two ? 2 : 0) + (one ? 1 : 0);
    return rank << low | (static_cast<unsigned>(code) & ((1u << low) - 1));
  }
};
template <class Bits>
PMPP_HOST_DEVICE const rank_digit<Bits>& digit_of_pass(int, const rank_digit<Bits>& digit) {
  return digit;
}

/// Arrays of all ranks as one output: element i of rank r is at place(r, i).
template <class T>
struct arrays_of_ranks {
  static constexpr bool puts_tiles = true;
  static constexpr int index_bits = 48;
  static std::int64_t place(std::size_t rank, std::int64_t i) { return std::int64_t(rank) << index_bits | i; }

  T* const* array;

  /// Writes a tile of `count` elements, gathered by digit: each warp its part of it, run by run, and each of its stores covers whole lines
  /// of 128 bytes of a rank's array but for a run's ends. Links carry lines: rows of threads, which cut runs anywhere, take nearly twice
  /// as many. Some rows are read before one is written, and the next run is looked up meanwhile.
  template <class Block, class Memory, class Digit, class Element, class Finish>
  PMPP_HOST_DEVICE void put(Block& block, const Memory& memory, const Digit& digit, int count, Element element,
                            Finish finish) const {
    constexpr int warps = decltype(memory.rank)::warps, line = min(simt::warp_size, max(1, 128 / int(sizeof(T)))),
                  row = simt::warp_size / line * line, at_once = 4;
    const int each = ceil_div(count, warps), end = min(count, (block.warp() + 1) * each);
    int first = block.warp() * each;
    unsigned d = first < end ? digit(memory.keys[first]) : 0;
    while (first < end) {
      const std::int64_t place = memory.offset[d] + first, i = place & ((std::int64_t(1) << index_bits) - 1);
      const int stop = min(static_cast<int>(memory.rank.first[d] + memory.rank.total[d]), end);
      T* const out = array[place >> index_bits] + (i - first);
      if (stop < end) d = digit(memory.keys[stop]);
      for (int begin = first - static_cast<int>(i % line); begin < stop; begin += at_once * row) {
        decltype(element(0)) x[at_once]{};
        for (int u = 0; u < at_once; ++u) {
          const int k = begin + u * row + block.lane();
          if (block.lane() < row && k >= first && k < stop) x[u] = element(k);
        }
        for (int u = 0; u < at_once; ++u) {
          const int k = begin + u * row + block.lane();
          if (block.lane() < row && k >= first && k < stop) out[k] = finish(x[u]);
        }
      }
      first = stop;
    }
  }
};

/// Elements of the first pass: from a block to the arrays of all ranks.
template <class T>
struct homes_across {
  T* in;
  T* out[most_digit_ranks];

  template <class F>
  PMPP_HOST_DEVICE void read(radix_home, F f) const {
    f(in);
  }
  template <class F>
  PMPP_HOST_DEVICE void write(radix_home, F f) const {
    f(arrays_of_ranks<T>{out});
  }
};
template <>
struct homes_across<no_value> {};

template <class... V>
struct held_value {
  using type = no_value;
};
template <class V>
struct held_value<V> {
  using type = stored_as<V>;
};

/// Element i of so many, evenly spaced over the whole.
template <class T>
struct sample_of_whole {
  const T* block[most_digit_ranks];
  std::int64_t offset[most_digit_ranks], n, samples;
  int ranks;
  T* out;
  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t i = k * n / samples;
    int rank = 0;
    while (rank + 1 < ranks && offset[rank + 1] <= i) ++rank;
    out[k] = block[rank][i - offset[rank]];
  }
};

/// Steps 2 and 3 of one rank.
template <class P, class Code, class V>
class pass_across {
  static constexpr radix_tuning tuning = tuned<sort_tuning>.radix;
  using K = typename Code::key;
  using digit = rank_digit<typename Code::bits>;
  using keys = homes_across<K>;
  using values = homes_across<V>;
  template <int Threads, int Items, int Blocks>
  using kernel = radix_pass_kernel<Code, V, keys, values, radix_pass_shape{Threads, Items, Blocks, false, true}, digit>;
  using large = kernel<tuning.threads, radix_items<K, V>(tuning.items, tuning.threads), 1>;
  using small = kernel<256, radix_items<K, V>(tuning.items, 256, 32, 34 * 1024), 2>;
  using all_counts = radix_count_kernel<Code, K*, tuning.threads, false, digit>;
  using counts = radix_count_kernel<Code, K*, tuning.threads, !fit_everywhere<P, all_counts>, digit>;

public:
  pass_across(const P& where, const digit& by, const keys& from, const values& beside, std::int64_t n)
      : where_(where),
        by_(by),
        keys_(from),
        values_(beside),
        n_(n),
        is_large_(fit_everywhere<P, large> || all_fit<large>(machine_of(where))),
        tile_(is_large_ ? large::threads * large::items : small::threads * small::items),
        quads_(tiles() * block::radix_digits * std::int64_t(word_bytes() / 4) / 4),
        memory_(where, scratch_bytes({std::size_t(quads_) * sizeof(simt::quad), sizeof(radix_control)}),
                sizeof(radix_counts)),
        words_(memory_.template take<simt::quad>(quads_)),
        control_(memory_.template take<radix_control>(1)) {}

  /// Step 2. \return where each digit begins among the sorted ones, in the rank's memory: 256 places
  std::int64_t* count() {
    pmpp::launch(
        where_,
        min(max(std::int64_t(1), ceil_div(n_, std::int64_t(2 * counts::threads))),
            std::int64_t(counts::min_blocks) * machine_of(where_).multiprocessors),
        counts{},
        typename counts::arguments{
            keys_.in, {n_}, by_, 1, false, reinterpret_cast<radix_counts*>(memory_.state()), control_, words_, quads_});
    return control_->first[0];
  }
  /// Step 3, once these places are those where the digits go.
  void move() {
    if (n_ == 0) return;
    if constexpr (!fit_everywhere<P, large>)
      if (!is_large_) return move_by(small{});
    move_by(large{});
  }

private:
  std::int64_t tiles() const { return ceil_div(n_, std::int64_t(tile_)); }
  bool wide() const { return n_ >= tuning.wide_from; }
  std::size_t word_bytes() const { return wide() ? 8 : 4; }
  template <class Kernel>
  void move_by(Kernel pass) {
    pmpp::launch(
        where_, min(tiles(), std::int64_t(Kernel::min_blocks) * machine_of(where_).multiprocessors), pass,
        typename Kernel::arguments{keys_, values_, {n_}, by_, 0, Kernel::items, tiles(), wide(), words_, control_});
  }

  P where_;
  digit by_;
  keys keys_;
  values values_;
  std::int64_t n_;
  bool is_large_;
  int tile_;
  std::int64_t quads_;
  scratch memory_;
  simt::quad* words_;
  radix_control* control_;
};

/// Step 1: where the codes of each rank begin; none where samples find no such codes.
template <class Code, class P, class C, class K, class Comp>
bool find_rank_digit(const devices<P, C>& gpus, const distributed_buffer<K>& keys, const Comp& comp,
                     rank_digit<typename Code::bits>& by) {
  using bits = typename Code::bits;
  const int p = gpus.size();
  const std::int64_t n = keys.size(), samples = min(std::int64_t(p) * p << 14, n);
  by.low = block::radix_bits - static_cast<int>(std::bit_width(unsigned(p - 1)));
  for (bits& code : by.last) code = static_cast<bits>(~bits(0));
  const auto array = detail::arrays_of<K>(*gpus.group(), [&](int i) { return i == 0 ? samples : 0; });
  std::vector<K> ends;  // of rank r at 2 r - 2: a sample in front of its first one, and one behind
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    sample_of_whole<K> take{{}, {}, n, samples, p, array[0].data()};
    for (int k = 0; k < p; ++k) {
      take.block[gpus.rank(k)] = keys.part(k).data();
      take.offset[gpus.rank(k)] = keys.offset(gpus.rank(k));
    }
    const counting_iterator<std::int64_t> zero(0);
    pmpp::for_each(where, zero, zero + samples, take);
    pmpp::sort(where, array[0].span(), comp);
    const std::int64_t aside = samples / (64 * p) + 1;
    for (int r = 1; r < p; ++r)
      for (const std::int64_t k : {samples * r / p - aside, samples * r / p + aside}) {
        ends.emplace_back();
        detail::copy_on_rank(gpus.group()->places[0], &ends.back(),
                             array[0].data() + min(max(k, std::int64_t(0)), samples - 1), sizeof(K));
      }
  });
  gpus.synchronize(0);
  for (int r = 1; r < p; ++r) {
    const bits before = Code::encode(ends[std::size_t(2 * r - 2)]), behind = Code::encode(ends[std::size_t(2 * r - 1)]);
    if (before >= behind) return false;
    const int zeros = static_cast<int>(std::bit_width(static_cast<bits>(before ^ behind))) - 1;
    by.last[r - 1] = static_cast<bits>((behind >> zeros << zeros) - 1);
  }
  return true;
}

/// Where the elements of each rank go by their digits, and what each rank then has.
struct places_across {
  std::vector<std::vector<std::int64_t>> first;  ///< by rank, for each digit: of arrays_of_ranks
  std::vector<std::int64_t> begin{0};            ///< of what each rank then has, in the whole

  /// \param first_here  by rank: where each digit begins in its block, if that were sorted by digits; 256 of them and its size
  places_across(const std::vector<std::vector<std::int64_t>>& first_here, int low) : first(first_here) {
    for (int to = 0; to < static_cast<int>(first_here.size()); ++to) {
      std::int64_t i = 0;
      for (int d = to << low; d < (to + 1) << low; ++d)
        for (std::size_t from = 0; from < first_here.size(); ++from) {
          first[from][std::size_t(d)] = arrays_of_ranks<int>::place(std::size_t(to), i);
          i += first_here[from][std::size_t(d) + 1] - first_here[from][std::size_t(d)];
        }
      begin.push_back(begin.back() + i);
    }
  }
  std::int64_t end(std::size_t rank) const { return begin[rank + 1]; }
};

/// An array on its way: what comes to each rank, by number here, and the block of the result with room on both sides.
template <class T>
struct array_across {
  using held = stored_as<T>;
  distributed_buffer<T>& x;
  std::vector<rank_array<T>> arrived, sorted;

  array_across(distributed_buffer<T>& array, const rank_group& group, std::int64_t most)
      : x(array),
        arrived(detail::arrays_of<T>(group, [&](int) { return most; })),
        sorted(detail::arrays_of<T>(group, [&](int) { return most; })) {}
  static held* at(T* data) { return reinterpret_cast<held*>(data); }
  homes_across<held> homes(int i, const rank_group& group) const {
    homes_across<held> all{at(x.part(i).data()), {}};
    for (std::size_t k = 0; k < arrived.size(); ++k) all.out[group.places[k].rank] = at(arrived[k].data());
    return all;
  }
  held* from(int i) const { return at(arrived[std::size_t(i)].data()); }
  held* to(int i, std::int64_t first) const { return at(sorted[std::size_t(i)].data() + first); }
};

/// Radix sort of what a rank has by the bits from `low` on: of keys, or of keys and values.
template <class Code, class P, class K>
void sort_rest(const P& where, int low, std::int64_t n, K* from, K* to) {
  detail::radix_sort_by_passes<tuned<sort_tuning>.radix, Code, no_value, K>(where, from, to, item_count{n},
                                                                            key_bits{low, Code::width});
}
template <class Code, class P, class K, class V>
void sort_rest(const P& where, int low, std::int64_t n, K* from, K* to, V* values_from, V* values_to) {
  detail::radix_sort_by_passes<tuned<sort_tuning>.radix, Code, V, pair<K, V>>(
      where, zip_iterator{from, values_from}, zip_iterator{to, values_to}, item_count{n}, key_bits{low, Code::width});
}

/// Steps 2 to 5. \return false, and nothing has moved, where a rank were to have more than it has room for
template <class Code, class P, class C, class Digit, class K, class... V>
bool sort_across(const devices<P, C>& gpus, const Digit& by, const std::vector<std::int64_t>& blocks, std::int64_t room,
                 array_across<K>&& keys, array_across<V>&&... values) {
  using value = typename held_value<V...>::type;
  using pass = pass_across<P, Code, value>;
  const auto group = gpus.group();
  const auto p = static_cast<std::size_t>(gpus.size());
  const auto rank_of = [&](int i) { return std::size_t(gpus.rank(i)); };
  std::vector<std::unique_ptr<pass>> passes;
  std::vector<std::int64_t*> counted;
  gpus.each([&](int i, const P& where) {
    passes.push_back(std::make_unique<pass>(where, by, keys.homes(i, *group),
                                            homes_across<value>(values.homes(i, *group)...),
                                            keys.x.size_of(gpus.rank(i))));
    counted.push_back(passes.back()->count());
  });
  constexpr std::size_t bytes = block::radix_digits * sizeof(std::int64_t);
  std::vector<std::vector<std::int64_t>> first(p, std::vector<std::int64_t>(block::radix_digits + 1));
  gpus.each([&](int i, const P&) {  // once all are at work: such a copy waits for its rank
    first[rank_of(i)].back() = keys.x.size_of(gpus.rank(i));
    detail::copy_on_rank(group->places[std::size_t(i)], first[rank_of(i)].data(), counted[std::size_t(i)], bytes);
  });
  gpus.synchronize();
  const places_across places(first, by.low);

  std::vector<std::int64_t> offset{0}, shift;  // of each block in the whole; from there to a place in `sorted`
  for (std::size_t r = 0; r < p; ++r) {
    shift.push_back(room - offset[r]);
    offset.push_back(offset[r] + blocks[r]);
    if (places.begin[r] + shift[r] < 0 || places.end(r) + shift[r] > blocks[0] + 2 * room) return false;
  }
  gpus.each([&](int i, const P&) {
    detail::copy_on_rank(group->places[std::size_t(i)], counted[std::size_t(i)], places.first[rank_of(i)].data(),
                         bytes);
    passes[std::size_t(i)]->move();
  });
  passes.clear();
  gpus.join();  // all have written
  gpus.each([&](int i, const P& where) {
    const std::size_t r = rank_of(i);
    const std::int64_t n = places.end(r) - places.begin[r], at = places.begin[r] + shift[r];
    if (n != 0) sort_rest<Code>(where, by.low, n, keys.from(i), keys.to(i, at), values.from(i)..., values.to(i, at)...);
  });

  // Step 5: what rank `from` has of the block of `to`.
  const auto overlap = [&](std::size_t from, std::size_t to, auto f) {
    const std::int64_t lo = max(places.begin[from], offset[to]), hi = min(places.end(from), offset[to + 1]);
    if (lo < hi) f(lo, hi - lo);
  };
  gpus.together([&](int i, C& link, stream_handle s) {
    const std::size_t self = rank_of(i);
    const auto exchange_with = [&](std::size_t other, const auto& moved) {
      const std::size_t e = sizeof *moved.to(i, 0);
      overlap(self, other, [&](std::int64_t begin, std::int64_t n) {
        link.send(moved.to(i, begin + shift[self]), std::size_t(n) * e, static_cast<int>(other), s);
      });
      overlap(other, self, [&](std::int64_t begin, std::int64_t n) {
        link.receive(moved.to(i, begin + shift[self]), std::size_t(n) * e, static_cast<int>(other), s);
      });
    };
    for (std::size_t other = 0; other < p; ++other) {
      if (other == self) continue;
      exchange_with(other, keys);
      (exchange_with(other, values), ...);
    }
  });
  keys.x.become(group, blocks, std::move(keys.sorted), room);
  (values.x.become(group, blocks, std::move(values.sorted), room), ...);
  return true;
}

/// Sorts keys, and values with them, where there are any. \return false, and nothing has changed, where codes do not divide them evenly
template <class P, class C, class Comp, class K, class... V>
bool sort_by_digits(const devices<P, C>& gpus, const Comp& comp, distributed_buffer<K>& keys,
                    distributed_buffer<V>&... values) {
  using code = radix_code<K, radix_order<Comp, K>::descending>;
  gpus.join();  // the first rank reads all blocks, and all write to what each allocates
  rank_digit<typename code::bits> by{};
  if (!detail::find_rank_digit<code>(gpus, keys, comp, by)) return false;
  const std::vector<std::int64_t> blocks = detail::even_sizes(keys.size(), gpus.size());
  const std::int64_t room = round_up(blocks[0] / 32, std::int64_t(256)), most = blocks[0] + 2 * room;
  return detail::sort_across<code>(gpus, by, blocks, room, array_across<K>(keys, *gpus.group(), most),
                                   array_across<V>(values, *gpus.group(), most)...);
}

/// Whether elements are of this kind: numbers of 4 or 8 bytes, and values that go along in a pass.
template <class P, class K, class Comp, class V = no_value>
inline constexpr bool has_rank_digits = kernel_execution<P>&& radix_order<Comp, K>::known && sizeof(K) >= 4 &&
                                        sizeof(V) <= tuned<sort_tuning>.radix.value_bytes;

/// Whether there are enough of them, where all ranks reach them.
template <class P, class K, class... V>
bool sorts_by_digits(const distributed_buffer<K>& keys, const distributed_buffer<V>&... values) {
  constexpr std::int64_t least = gpu_execution<P> ? std::int64_t(1) << 19 : 512;  // of a block
  const rank_group& group = *keys.group();
  return group.reads_all && group.size > 1 && group.size <= most_digit_ranks && keys.size() / group.size >= least &&
         !(keys.refers() || ... || values.refers());
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
