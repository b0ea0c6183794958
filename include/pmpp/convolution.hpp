// SPDX-License-Identifier: Apache-2.0
//
// Convolution: each result is the sum of the elements around it, times the taps of a mask. As in the book the mask is not
// flipped (strictly speaking this is a correlation), and lies with its centre, tap size / 2, on the result:
//
//   out(y, x) = sum over (i, j) of mask(i, j) * in(y + i - mask.rows() / 2, x + j - mask.cols() / 2)
//
// convolution/plan.hpp says which kernel makes what, and launches it:
//
//   1. direct.hpp: a block makes a tile of results. It brings the elements under it and around it to shared memory, 16 bytes
//      at a time; only tiles at the edges look up what stands outside. Pixels and halves become floats on the way
//      (source.hpp). Each thread makes a column of results, four or eight wide: an element that it has in registers serves
//      all rows of the mask; in one dimension, adjacent results. Masks too large for shared memory are used part by part.
//   2. The taps come as parameters of the kernel where they are in the host's memory, so that nothing is copied and
//      nothing waits; those of square masks of 3, 5, 7 and 9 taps a side are operands where they are.
//   3. marching.hpp: blocks for square masks of 11, 13 and 15 taps a side, for short masks of convolve_separable and for
//      small masks on volumes march down strips, or from plane to plane, with the results in registers.
//   4. separable.hpp: longer masks of convolve_separable, with the sums along rows in shared memory.
//   5. pixels.hpp: small masks on bytes.
//
// Work n * taps; traffic: the input read once but for the rims of tiles, the output written once; one launch. Sums are
// floats, or doubles where input, mask or output are double or have integers of 32 bits or more; the order of the
// additions is fixed. (PMPP ch. 7: constant memory, tiling with halos.) In place is not possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/plan.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The task of matrices or of volumes.
template <template <class> class View, class In, class Tap, class Out>
auto convolution_of(const View<In>& in, const View<Tap>& mask, const View<Out>& out, const border::rule& outside) {
  using element = std::remove_const_t<In>;
  using tap = std::remove_const_t<Tap>;
  return convolution<element, tap, Out>{.in = detail::volume_of(View<const element>(in)),
                                        .mask = detail::volume_of(View<const tap>(mask)),
                                        .out = volume_of(out),
                                        .outside = outside};
}

/// Throws for bad input, in the name of `function`; returns whether there is a result to make.
template <class In, class Tap, class Out>
bool check_convolution(const char* function, const volume<const In>& in, const volume<const Tap>& mask,
                       const volume<Out>& out, bool overlap) {
  const auto is_shape = [](const auto& v) { return v.depth >= 0 && v.height >= 0 && v.width >= 0; };
  const auto say = [&](const detail::text& what) { return "pmpp::" + detail::text(function) + ": " + what; };
  require(is_shape(in) && in.depth == out.depth && in.height == out.height && in.width == out.width, [&] {
    return say("the input is " + shape_text(in) + ", so the output must be too, but is " + shape_text(out));
  });
  require(is_shape(mask) && mask.depth > 0 && mask.height > 0 && mask.width > 0,
          [&] { return say("the mask has no taps: it is " + shape_text(mask)); });
  if (out.depth == 0 || out.height == 0 || out.width == 0) return false;
  require(in.data != nullptr && mask.data != nullptr && out.data != nullptr, [&] {
    const bool is_mask = in.data != nullptr && mask.data == nullptr;
    return say(in.data == nullptr ? "the input is null" : is_mask ? "the mask is null" : "the output is null");
  });
  require(!overlap, [&] {
    return say("input and output (both " + shape_text(in) + ") overlap; there is no convolution in place");
  });
  return true;
}

/// On CPUs `seq` does the tasks of `host` one after the other.
template <class P, class F>
void for_each_task(const P& where, std::int64_t count, const F& f) {
  if constexpr (std::is_same_v<P, host_policy>)
    host_loop::parallel_for(where, count, f);
  else
    for (std::int64_t task = 0; task < count; ++task) f(task);
}

/// Adds a tap's products, one for each sum.
template <class A>
void add_tap(A tap, const A* from, std::vector<A>& sum) {
  A* const to = sum.data();
  const auto width = static_cast<std::int64_t>(sum.size());
  for (std::int64_t x = 0; x < width; ++x) to[x] += tap * from[x];
}

/// The sums first ... last - 1 of a row: a row of the input with its rims, then one tap after the other over all of it,
/// which compilers turn into vector instructions.
template <class A, class In, class Tap, class Out>
void sum_row(const convolution<In, Tap, Out>& c, std::int64_t z, std::int64_t y, std::int64_t first, std::int64_t last,
             std::vector<A>& line, std::vector<A>& sum) {
  const std::int64_t width = last - first;
  sum.assign(static_cast<std::size_t>(width), A(0));
  line.resize(static_cast<std::size_t>(width + c.mask.width));
  for (std::int64_t k = 0; k < c.mask.depth; ++k)
    for (std::int64_t i = 0; i < c.mask.height; ++i) {
      const std::int64_t from_z = position_in(z + k - c.mask.depth / 2, c.in.depth, c.outside.what);
      const std::int64_t from_y = position_in(y + i - c.mask.height / 2, c.in.height, c.outside.what);
      for (std::int64_t j = 0; j < width + c.mask.width - 1; ++j) {
        const std::int64_t from_x = position_in(first + j - c.mask.width / 2, c.in.width, c.outside.what);
        line[static_cast<std::size_t>(j)] = from_z < 0 || from_y < 0 || from_x < 0
                                                ? static_cast<A>(c.outside.value)
                                                : converted<A>(*c.in.at(from_z, from_y, from_x));
      }
      for (std::int64_t j = 0; j < c.mask.width; ++j) add_tap(converted<A>(*c.mask.at(k, i, j)), line.data() + j, sum);
    }
}

template <class A, class Out>
void store_row(const std::vector<A>& sum, const volume<Out>& out, std::int64_t z, std::int64_t y, std::int64_t x) {
  for (const A& s : sum) *out.at(z, y, x++) = stored<Out>(s);
}

template <class P, class In, class Tap, class Out>
void convolve_on_cpu(const P& where, const convolution<In, Tap, Out>& c) {
  using A = sum_of<In, Tap, Out>;
  const std::int64_t piece = 4096, pieces = ceil_div(c.out.width, piece);
  const std::int64_t rows = max(std::int64_t(1), piece / c.out.width);  // of a task
  const std::int64_t all = c.out.depth * c.out.height;
  for_each_task(where, ceil_div(all, rows) * pieces, [&](std::int64_t task) {
    std::vector<A> line, sum;
    const std::int64_t begin = task / pieces * rows, first = task % pieces * piece;
    for (std::int64_t row = begin; row < min(begin + rows, all); ++row) {
      const std::int64_t z = row / c.out.height, y = row % c.out.height;
      sum_row(c, z, y, first, min(first + piece, c.out.width), line, sum);
      detail::store_row(sum, c.out, z, y, first);
    }
  });
}

/// Results (first_y, first_x) ... (last_y - 1, last_x - 1): the sums along the rows that they need, then along columns.
template <class A, class In, class TapY, class TapX, class Out>
void convolve_band(const separable_convolution<In, TapY, TapX, Out>& c, std::int64_t first_y, std::int64_t last_y,
                   std::int64_t first_x, std::int64_t last_x) {
  const convolution<In, TapX, Out> along_x{c.in, c.mask_x, c.out, c.outside};
  const std::int64_t width = last_x - first_x, taps = c.mask_y.width;
  std::vector<A> line, sum, rows;
  rows.reserve(static_cast<std::size_t>(width * (last_y - first_y + taps - 1)));
  for (std::int64_t y = first_y; y < last_y + taps - 1; ++y) {
    detail::sum_row(along_x, 0, y - taps / 2, first_x, last_x, line, sum);
    rows.insert(rows.end(), sum.begin(), sum.end());
  }
  for (std::int64_t y = first_y; y < last_y; ++y) {
    sum.assign(static_cast<std::size_t>(width), A(0));
    for (std::int64_t i = 0; i < taps; ++i)
      add_tap(converted<A>(*c.mask_y.at(0, 0, i)), rows.data() + (y - first_y + i) * width, sum);
    detail::store_row(sum, c.out, 0, y, first_x);
  }
}

template <class P, class In, class TapY, class TapX, class Out>
void convolve_separable_on_cpu(const P& where, const separable_convolution<In, TapY, TapX, Out>& c) {
  using sum = separable_sum_of<In, TapY, TapX, Out>;
  const std::int64_t rows = max(std::int64_t(64), c.mask_y.width), cols = 1024;  // of a task
  const std::int64_t bands = ceil_div(c.out.height, rows), pieces = ceil_div(c.out.width, cols);
  for_each_task(where, bands * pieces, [&](std::int64_t task) {
    const std::int64_t y = task / pieces * rows, x = task % pieces * cols;
    convolve_band<sum>(c, y, min(y + rows, c.out.height), x, min(x + cols, c.out.width));
  });
}

template <convolution_tuning Tuning, bool Volumes, class P, class In, class Tap, class Out>
void convolve_checked(const P& where, const convolution<In, Tap, Out>& c, bool overlap) {
  if (!check_convolution("convolve", c.in, c.mask, c.out, overlap)) return;
  if constexpr (kernel_execution<P>)
    convolve_on_device<Tuning, Volumes>(where, c);
  else
    convolve_on_cpu(where, c);
}

template <convolution_tuning Tuning, class P, class In, class TapY, class TapX, class Out>
void convolve_separable_checked(const P& where, const separable_convolution<In, TapY, TapX, Out>& c, bool overlap) {
  const bool fits_y = check_convolution("convolve_separable", c.in, c.mask_y, c.out, overlap);
  if (!check_convolution("convolve_separable", c.in, c.mask_x, c.out, overlap) || !fits_y) return;
  if constexpr (kernel_execution<P>)
    convolve_separable_on_device<Tuning>(where, c);
  else
    convolve_separable_on_cpu(where, c);
}

}  // namespace detail

/// Writes to each element of `out` the sum of the elements of `in` around it, times the taps of `mask`.
///
/// \param in       rows x columns, any strides; visible to `where`. Numbers of 8 to 64 bits, half, bfloat16.
/// \param mask     any size, even sizes too: the centre is tap rows / 2, columns / 2. On a GPU in its memory, or in the
///                 host's: then it is read before the call returns.
/// \param out      as large as `in`; must not overlap it. Integers are rounded to the nearest and saturate.
/// \param outside  what stands outside of `in`: border::zero, clamp, reflect (edge elements twice), mirror (once), wrap,
///                 constant(v).
/// The same bits on every run. Asynchronous on a GPU; may be captured. Scratch: none, but for masks of more than 1152
/// taps in the host's memory. Cost: input read once, output written once, a multiplication and an addition a tap and
/// element; one launch.
/// \throws std::invalid_argument for shapes that do not fit, an empty mask, null pointers, overlap; cuda_error.
/// Source: PMPP ch. 7. Example: test/convolution.cpp.
template <convolution_tuning Tuning = tuned<convolution_tuning>, execution_policy P, class In, class Tap, class Out>
void convolve(const P& where, const matrix_view<In>& in, const matrix_view<Tap>& mask, const matrix_view<Out>& out,
              const border::rule& outside = border::zero) {
  if (in.col_major() && out.col_major() && !(in.row_major() && out.row_major()))
    return convolve<Tuning>(where, transposed(in), transposed(mask), transposed(out), outside);
  detail::convolve_checked<Tuning, false>(where, detail::convolution_of(in, mask, out, outside),
                                          detail::may_meet(in, out));
}

/// The same in three dimensions; the mask reaches over planes too.
template <convolution_tuning Tuning = tuned<convolution_tuning>, execution_policy P, class In, class Tap, class Out>
void convolve(const P& where, const volume_view<In>& in, const volume_view<Tap>& mask, const volume_view<Out>& out,
              const border::rule& outside = border::zero) {
  detail::convolve_checked<Tuning, true>(where, detail::convolution_of(in, mask, out, outside),
                                         detail::may_meet(in, out));
}

/// The same in one dimension, for contiguous ranges: buffers, spans, vectors. `out` has room for as many elements as
/// `in` has. \throws std::length_error if it has not.
template <convolution_tuning Tuning = tuned<convolution_tuning>, execution_policy P, contiguous_for<P> In,
          contiguous_data Tap, contiguous_for<P> Out>
void convolve(const P& where, const In& in, const Tap& mask, Out&& out, const border::rule& outside = border::zero) {
  const auto from = detail::as_span(in);
  const auto taps = detail::as_span(mask);
  const auto to = detail::as_span(out);
  require_room("convolve", "out", static_cast<std::int64_t>(to.size()), static_cast<std::int64_t>(from.size()));
  convolve<Tuning>(where, matrix_view<const element_of<const In>>(from.data(), 1, from.size()),
                   matrix_view<const element_of<const Tap>>(taps.data(), 1, taps.size()),
                   matrix_view<element_of<std::remove_reference_t<Out>>>(to.data(), 1, from.size()), outside);
}

/// convolve with the mask whose tap (i, j) is mask_y[i] * mask_x[j], in far fewer operations: the rows are convolved with
/// mask_x, the sums, kept in shared memory, with mask_y. Gaussian, box and Sobel masks are of this kind.
///
/// \param in, out  rows x columns, any strides, as convolve takes them.
/// \param mask_y   contiguous: buffer, span, vector, array; any size, in the memory that convolve's mask may be in.
/// \param mask_x   likewise.
/// \param outside  the same results as of convolve for every border, but for rounding: sums along rows are not rounded to
///                 the type of `out`.
/// The same bits on every run. Asynchronous on a GPU; may be captured. Scratch: none for masks of up to about 350 taps
/// down (in device memory, 512 in the host's) by 512 across. Cost: input read once, output written once, a
/// multiplication and an addition for each of the mask_y.size() + mask_x.size() taps and element; one launch.
/// \throws std::invalid_argument for shapes that do not fit, empty masks, null pointers, overlap; cuda_error.
/// Source: PMPP ch. 7. Example: test/convolution.cpp.
template <convolution_tuning Tuning = tuned<convolution_tuning>, execution_policy P, class In, contiguous_data TapsY,
          contiguous_data TapsX, class Out>
void convolve_separable(const P& where, const matrix_view<In>& in, const TapsY& mask_y, const TapsX& mask_x,
                        const matrix_view<Out>& out, const border::rule& outside = border::zero) {
  if (in.col_major() && out.col_major() && !(in.row_major() && out.row_major()))
    return convolve_separable<Tuning>(where, transposed(in), mask_x, mask_y, transposed(out), outside);
  const auto taps_y = detail::as_span(mask_y);
  const auto taps_x = detail::as_span(mask_x);
  using element = std::remove_const_t<In>;
  using tap_y = std::remove_const_t<element_of<const TapsY>>;
  using tap_x = std::remove_const_t<element_of<const TapsX>>;
  const detail::separable_convolution<element, tap_y, tap_x, Out> c{
      .in = detail::volume_of(matrix_view<const element>(in)),
      .mask_y = detail::volume_of(matrix_view<const tap_y>(taps_y.data(), 1, taps_y.size())),
      .mask_x = detail::volume_of(matrix_view<const tap_x>(taps_x.data(), 1, taps_x.size())),
      .out = detail::volume_of(out),
      .outside = outside};
  detail::convolve_separable_checked<Tuning>(where, c, detail::may_meet(in, out));
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
