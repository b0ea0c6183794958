// SPDX-License-Identifier: Apache-2.0
//
// splitters: where to cut the sorted blocks of p ranks, so that piece j of all of them together is block j of the whole when sorted.
// The cuts are exact: the blocks differ by one element at most, whatever the keys are. Elements that are equal are ordered by their
// rank and place, so that no two are the same and sorting by these cuts is stable.
//
// Cut j of rank q lies in an interval [lo, hi) of its block, at first all of it. A round:
//   1. Each rank takes samples of its interval of each cut, evenly spaced, and all ranks gather them.
//   2. For each sample the places of the samples of all ranks bound, from below and from above, how many elements of all intervals
//      precede it. A sample that surely is in front of the cut moves lo behind itself, one that surely is not moves hi to itself.
// Runs that lie on several ranks, as the two of merge, are cut in the same way.
// Every rank computes all intervals from the same samples, so they stay equal without being sent. Elements in doubt become fewer by
// a factor of about samples / 4 in each round: 2^29 in five rounds. An interval that fits its samples is settled in one.
//
// Traffic of a round: p (p - 1) samples to each rank; a thread makes about p log2(samples)^2 comparisons. (Varman, Scheufler, Iyer and
// Ricard, Merging multiple lists on hierarchical-memory multiprocessors, 1991; Harsh, Kale and Solomonik, Histogram sort with sampling,
// 2019.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The order that sort uses, as a comparator: of numbers under less or greater that of their codes, where NaN comes last.
template <bool OnGpu, class T, class Comp>
auto order_of_sort(const Comp& comp) {
  if constexpr (radix_order<Comp, T>::known) {
    using code = radix_code<T, radix_order<Comp, T>::descending>;
    return code_less<code>(key_bits{0, code::width});
  } else {
    return detail::ordered_by<OnGpu, T>(comp);
  }
}

/// Where the cuts may be: [lo, hi) for cut j of run q, and how it is sampled. The runs of sort are the blocks of the ranks.
struct cut_intervals {
  std::int64_t* bounds;  ///< lo and hi of cut j and run q at 2 (j runs + q)
  int runs, samples;

  PMPP_HOST_DEVICE std::int64_t& lo(int j, int q) const { return bounds[2 * (j * std::int64_t(runs) + q)]; }
  PMPP_HOST_DEVICE std::int64_t& hi(int j, int q) const { return bounds[2 * (j * std::int64_t(runs) + q) + 1]; }
  PMPP_HOST_DEVICE std::int64_t width(int j, int q) const { return hi(j, q) - lo(j, q); }
  PMPP_HOST_DEVICE int samples_of(int j, int q) const {
    return static_cast<int>(min(std::int64_t(samples), width(j, q)));
  }
  /// Where sample k lies behind lo; ascends with k, sample 0 at 0. No overflow for widths below 2^54.
  PMPP_HOST_DEVICE std::int64_t place(int j, int q, int k) const { return width(j, q) * k / samples_of(j, q); }
};

/// Step 1, for one cut and one sample of the rank `self`.
template <class Keys, class K>
struct take_splitter_sample {
  cut_intervals now;
  Keys keys;
  K* out;
  int self;
  PMPP_HOST_DEVICE void operator()(std::int64_t at) const {
    const int j = static_cast<int>(at / now.samples), k = static_cast<int>(at % now.samples);
    if (k < now.samples_of(j, self)) out[at] = keys[now.lo(j, self) + now.place(j, self, k)];
  }
};

/// Step 2, for one cut and one run.
template <class K, class Comp>
struct narrow_interval {
  cut_intervals now, next;
  int cuts;
  const K* all;                 ///< samples of run q, cut j at (q cuts + j) samples
  const std::int64_t* targets;  ///< elements in front of each cut
  Comp comp;

  PMPP_HOST_DEVICE const K* samples(int j, int q) const { return all + (q * std::int64_t(cuts) + j) * now.samples; }
  struct bounds {
    std::int64_t least, most;
  };
  /// How many elements of the intervals of cut j precede sample k of run q.
  PMPP_HOST_DEVICE bounds preceding(int j, int q, int k) const {
    const K& key = samples(j, q)[k];
    bounds sum{now.place(j, q, k), now.place(j, q, k)};
    for (int r = 0; r < now.runs; ++r) {
      if (r == q) continue;
      const int count = now.samples_of(j, r);
      const K* const others = samples(j, r);
      const int m = detail::partition_point(0, count, [&](int i) {
        return r < q ? !static_cast<bool>(comp(key, others[i])) : static_cast<bool>(comp(others[i], key));
      });
      sum.least += m > 0 ? now.place(j, r, m - 1) + 1 : 0;
      sum.most += m < count ? now.place(j, r, m) : now.width(j, r);
    }
    return sum;
  }
  PMPP_HOST_DEVICE void operator()(std::int64_t at) const {
    const int j = static_cast<int>(at / now.runs), q = static_cast<int>(at % now.runs);
    std::int64_t wanted = targets[j];
    for (int r = 0; r < now.runs; ++r) wanted -= now.lo(j, r);
    const int count = now.samples_of(j, q);
    const int in_front = detail::partition_point(0, count, [&](int k) { return preceding(j, q, k).most < wanted; });
    const int behind =
        detail::partition_point(in_front, count, [&](int k) { return preceding(j, q, k).least < wanted; });
    const std::int64_t lo = now.lo(j, q);
    next.lo(j, q) = in_front > 0 ? lo + now.place(j, q, in_front - 1) + 1 : lo;
    next.hi(j, q) = behind < count ? lo + now.place(j, q, behind) : now.hi(j, q);
  }
};

/// The cuts of sorted runs, of which equals are ordered by the numbers of the runs: at position q of list j cut j of run q; targets[j]
/// elements are in front of cut j. \param take  enqueues step 1: (intervals, all) by number of a rank here, as narrow_interval has them
/// \param alone  step 2 is made on the first rank here only, which is the only one to get samples
template <class K, class P, class C, class Comp, class Take>
std::vector<std::vector<std::int64_t>> cuts_of_runs(const devices<P, C>& gpus, const std::vector<std::int64_t>& lengths,
                                                    const std::vector<std::int64_t>& targets, int samples,
                                                    const Comp& comp, Take take, bool alone = false) {
  const auto runs = static_cast<int>(lengths.size()), cuts = static_cast<int>(targets.size());
  const auto group = gpus.group();
  const std::int64_t pairs = std::int64_t(cuts) * runs;
  const auto all = detail::arrays_of<K>(*group, [&](int) { return pairs * samples; });
  const auto wanted = detail::arrays_of<std::int64_t>(*group, [&](int) { return cuts; });
  auto now = detail::arrays_of<std::int64_t>(*group, [&](int) { return 2 * pairs; });
  auto next = detail::arrays_of<std::int64_t>(*group, [&](int) { return 2 * pairs; });

  std::vector<std::int64_t> bounds(static_cast<std::size_t>(2 * pairs));
  const cut_intervals on_host{bounds.data(), runs, samples};
  std::int64_t left = 0;  // elements in doubt
  for (int j = 0; j < cuts; ++j)
    for (int q = 0; q < runs; ++q) {
      on_host.lo(j, q) = 0;
      on_host.hi(j, q) = lengths[std::size_t(q)];
      left += lengths[std::size_t(q)];
    }
  for (std::size_t i = 0; i < group->places.size(); ++i) {
    const rank_guard guard(group->places[i].device);
    detail::copy_on_rank(group->places[i], wanted[i].data(), targets.data(), targets.size() * sizeof(std::int64_t));
    detail::copy_on_rank(group->places[i], now[i].data(), bounds.data(), bounds.size() * sizeof(std::int64_t));
  }

  const counting_iterator<std::int64_t> zero(0);
  const auto no_order = [] {
    return "pmpp: the blocks of several ranks cannot be cut: they are not sorted under comp, or comp is no strict weak "
           "order";
  };
  while (left > 0) {  // fewer in each round, where there is an order
    take([&](int i) { return cut_intervals{now[std::size_t(i)].data(), runs, samples}; }, all);
    gpus.each([&](int i, const P& where) {
      if (alone && i != 0) return;
      const auto k = static_cast<std::size_t>(i);
      pmpp::for_each(where, zero, zero + pairs,
                     narrow_interval<K, Comp>{{now[k].data(), runs, samples},
                                              {next[k].data(), runs, samples},
                                              cuts,
                                              all[k].data(),
                                              wanted[k].data(),
                                              comp});
    });
    std::swap(now, next);
    detail::copy_to_host(gpus, 0, bounds.data(), now[0].data(), bounds.size() * sizeof(std::int64_t));
    gpus.synchronize(0);
    const std::int64_t before = std::exchange(left, 0);
    for (int j = 0; j < cuts; ++j)
      for (int q = 0; q < runs; ++q) {
        const std::int64_t first = j == 0 ? 0 : on_host.lo(j - 1, q), width = on_host.width(j, q);
        require(width >= 0 && (left + width > 0 || first <= on_host.lo(j, q)), no_order);
        left += width;
      }
    require(left < before, no_order);
  }

  std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(cuts));
  for (int j = 0; j < cuts; ++j)
    for (int q = 0; q < runs; ++q) found[std::size_t(j)].push_back(on_host.lo(j, q));
  return found;
}

/// The samples of an interval in each round.
inline int samples_for(int ranks) { return ranks <= 16 ? 256 : 64; }

/// Cuts of sorted blocks, at position q of list j for rank q: targets[j] elements are in front of cut j.
template <class P, class C, class T, class Comp>
std::vector<std::vector<std::int64_t>> exact_cuts(const devices<P, C>& gpus, const distributed_buffer<T>& x,
                                                  const std::vector<std::int64_t>& targets, const Comp& comp) {
  using K = stored_as<T>;
  const std::int64_t count = static_cast<std::int64_t>(targets.size()) * detail::samples_for(gpus.size());
  const bool direct = gpus.group()->reads_all && !x.refers();
  const auto mine = detail::arrays_of<K>(*gpus.group(), [&](int) { return direct ? 0 : count; });
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < gpus.size(); ++r) sizes.push_back(x.size_of(r));
  const counting_iterator<std::int64_t> zero(0);
  const auto sample_block = [&](const P& where, int i, const cut_intervals& now, K* to) {
    const auto block = x.part(i);
    const auto in = detail::with_stored(detail::input_of("splitters", block));
    pmpp::for_each(where, zero, zero + count,
                   take_splitter_sample<std::remove_const_t<decltype(in.first)>, K>{now, in.first, to, gpus.rank(i)});
  };
  if (direct) gpus.join();
  const auto take = [&](auto intervals, const std::vector<rank_array<K>>& all) {
    if (direct) {  // the first rank takes the samples of all, from where they are: no message in a round
      gpus.each([&](int i, const P& where) {
        for (int other = 0; i == 0 && other < gpus.size(); ++other)
          sample_block(where, other, intervals(0), all[0].data() + gpus.rank(other) * count);
      });
      return;
    }
    gpus.each([&](int i, const P& where) { sample_block(where, i, intervals(i), mine[std::size_t(i)].data()); });
    gpus.together([&](int i, C& link, stream_handle s) {
      pmpp::all_gather(link, mine[std::size_t(i)].data(), all[std::size_t(i)].data(),
                       mine[std::size_t(i)].span().size_bytes(), s);
    });
  };
  return detail::cuts_of_runs<K>(gpus, sizes, targets, detail::samples_for(gpus.size()), comp, take, direct);
}

/// Where blocks that differ by one at most begin, but for the first.
inline std::vector<std::int64_t> even_targets(std::int64_t n, int p) {
  std::vector<std::int64_t> targets;
  std::int64_t begin = 0;
  for (const std::int64_t size : detail::even_sizes(n, p)) {
    begin += size;
    targets.push_back(begin);
  }
  targets.pop_back();
  return targets;
}

}  // namespace detail

/// Cuts of the sorted blocks of x for exchange: after it each rank has the elements of its block of the sorted whole, as sorted runs in
/// the order of the ranks; the blocks differ by one at most.
///
/// \param x     \pre each block is sorted under comp, as sort does it.
/// \param comp  a strict weak order; numbers under less or greater are taken in the order of sort, NaN last.
/// \return for each rank number i of this process p + 1 positions in x.part(i), from 0 to its size.
/// Waits. Each process computes the same cuts. Cost: a few rounds of samples, see above. Scratch: 512 p^2 elements a rank (128 p^2 for
/// more than 16 ranks). \throws std::invalid_argument if x lies on other devices; communication_error; out_of_memory, cuda_error.
/// Example: test/distributed.cpp, splitters.
template <class P, class C, class T, class Comp = less>
[[nodiscard]] std::vector<std::vector<std::int64_t>> splitters(const devices<P, C>& gpus,
                                                               const distributed_buffer<T>& x, Comp comp = {}) {
  detail::require_on("splitters", "x", gpus, x);
  std::vector<std::vector<std::int64_t>> cuts;
  if (gpus.size() > 1)
    cuts = detail::exact_cuts(gpus, x, detail::even_targets(x.size(), gpus.size()),
                              detail::order_of_sort<gpu_execution<P>, T>(comp));
  std::vector<std::vector<std::int64_t>> mine;
  for (int i = 0; i < gpus.local_size(); ++i) {
    mine.push_back({0});
    for (const auto& cut : cuts) mine.back().push_back(cut[std::size_t(gpus.rank(i))]);
    mine.back().push_back(x.size_of(gpus.rank(i)));
  }
  return mine;
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
