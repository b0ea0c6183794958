// SPDX-License-Identifier: Apache-2.0
//
// How a call of one device whose results depend on planes around them is made on slabs: what stencil and convolve have in common.
//
//   1. Halos are exchanged; beside that each rank makes the planes that need none of its neighbours': its interior.
//   2. Each rank makes the planes at its two edges.
//
// A slab of at most twice the reach has no interior and is made in one call, after the exchange; one that is the whole needs none. The
// borders are those of the whole: a call sees planes beyond an edge where there are any, and applies its border where there are none,
// as halos are at least as wide as what is read. (PMPP ch. 20.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/halo.hpp>
#include <pmpp/distributed/slabs.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Results [begin, end) of rank number i here, of whose input planes [first, last) are there; all counted from its own first one.
struct plane_window {
  int i;
  std::int64_t begin, end, first, last;
};

/// Throws for bad input, in the name of `function`.
template <class P, class C, class In, class Out, int D>
void check_slabs(const char* function, const devices<P, C>& gpus, const slabs<In, D>& in, const slabs<Out, D>& out,
                 std::int64_t reach) {
  detail::require_on(function, "in", gpus, in);
  detail::require_on(function, "out", gpus, out);
  const auto say = [&](const text& what) { return text("pmpp::") + function + ": " + what; };
  for (std::size_t axis = 0; axis < std::size_t(D); ++axis)
    require(in.extents()[axis] == out.extents()[axis], [&] {
      return say("axis " + text::of(axis) + " of the input has " + text::of(in.extents()[axis]) +
                 " indices, of the output " + text::of(out.extents()[axis]));
    });
  for (int r = 0; r < gpus.size(); ++r)
    require(in.size_of(r) == out.size_of(r), [&] {
      return say("on rank " + text::of(r) + " the input has " + text::of(in.size_of(r)) + " planes, the output " +
                 text::of(out.size_of(r)));
    });
  require(in.halo() >= reach && out.halo() >= reach, [&] {
    return say("results reach " + text::of(reach) + " planes; the halo of the input has " + text::of(in.halo()) +
               ", of the output " + text::of(out.halo()));
  });
  require(static_cast<const void*>(&in) != static_cast<const void*>(&out),
          [&] { return say("input and output are the same; it is not done in place"); });
}

/// Calls make(where, window) for windows that cover all results, each once; `whole` is a call of one device, make_whole(where, i), for
/// a rank that needs no neighbour.
template <class P, class C, class In, class Out, int D, class Whole, class Make>
void for_each_window(const char* function, const devices<P, C>& gpus, slabs<In, D>& in, slabs<Out, D>& out,
                     std::int64_t reach, const border::rule& outside, Whole make_whole, Make make) {
  detail::check_slabs(function, gpus, in, out, reach);
  bool alone = reach == 0;
  for (int r = 0; r < gpus.size(); ++r) alone = alone || in.size_of(r) == in.planes();
  if (in.plane_size() == 0) return;
  if (alone)
    return gpus.each([&](int i, const P& where) {
      if (in.size_of(gpus.rank(i)) != 0) make_whole(where, i);
    });

  const bool wraps = outside.what == border::kind::wrap;
  const auto has_interior = [&](int rank) { return in.size_of(rank) > 2 * reach; };
  // How far the planes reach that are there in front of a rank's own and behind them.
  const auto in_front = [&](int rank) { return wraps ? reach : min(reach, in.offset(rank)); };
  const auto behind = [&](int rank) { return wraps ? reach : min(reach, in.planes() - in.offset(rank + 1)); };
  detail::exchange_planes(gpus, in, reach, wraps, [&](int i, const P& where) {
    const int r = gpus.rank(i);
    const std::int64_t n = in.size_of(r), begin = in_front(r) == 0 ? 0 : reach, end = behind(r) == 0 ? n : n - reach;
    if (has_interior(r)) make(where, plane_window{i, begin, end, 0, n});
  });
  gpus.each([&](int i, const P& where) {
    const int r = gpus.rank(i);
    const std::int64_t n = in.size_of(r), first = -in_front(r), last = n + behind(r);
    if (n != 0 && !has_interior(r)) make(where, plane_window{i, 0, n, first, last});
    if (has_interior(r) && first < 0) make(where, plane_window{i, 0, reach, first, last});
    if (has_interior(r) && last > n) make(where, plane_window{i, n - reach, n, first, last});
  });
}

/// Makes a window by a call of one device, call(where, in, out), that has as many results as input: the planes that the results of the
/// window need come along, and what it makes of these is not looked at. It is overwritten later, or the results go by way of scratch.
template <class P, class C, class In, class Out, int D, class Call>
void make_by_call(const devices<P, C>& gpus, const P& where, const slabs<In, D>& in, slabs<Out, D>& out,
                  const plane_window& w, std::int64_t reach, const Call& call) {
  const std::int64_t n = in.size_of(gpus.rank(w.i)), plane = in.plane_size();
  const std::int64_t first = max(w.first, w.begin - reach), last = min(w.last, w.end + reach);
  const auto from = detail::view_of_planes<const In>(in.at(w.i, first), last - first, in.extents());
  if ((w.begin == 0 && w.end == n) ||
      (w.first == 0 && w.last == n)) {  // all results, or the interior: edges come later
    call(where, from, detail::view_of_planes(out.at(w.i, first), last - first, out.extents()));
    return;
  }
  const rank_group::place& place = gpus.group()->places[std::size_t(w.i)];
  const rank_array<Out> results(place, (last - first) * plane);
  call(where, from, detail::view_of_planes(results.data(), last - first, out.extents()));
  detail::copy_on_rank(place, out.at(w.i, w.begin), results.data() + (w.begin - first) * plane,
                       static_cast<std::size_t>((w.end - w.begin) * plane) * sizeof(Out));
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
