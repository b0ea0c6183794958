// SPDX-License-Identifier: Apache-2.0
//
// Convolution: each result is the sum of the elements around it, times the taps of a mask. As in the book the mask is not
// flipped (strictly speaking this is a correlation), and lies with its centre, tap size / 2, on the result:
//
//   out(y, x) = sum over (i, j) of mask(i, j) * in(y + i - mask.rows() / 2, x + j - mask.cols() / 2)
//
//   1. A block makes a tile of results. It brings the elements under it and around it to shared memory, 16 bytes at a
//      time; only tiles at the edges look up what stands outside. Pixels and halves become floats on the way.
//   2. Each thread makes a column of results, four wide: an element that it has in registers serves all rows of the mask
//      (convolution/kernel.hpp).
//   3. The taps come as parameters of the kernel where they are in the host's memory, so that nothing is copied and
//      nothing waits; square masks of 3, 5, 7 and 9 taps a side stay in registers.
//   4. Masks too large for shared memory are used part by part.
//
// Work n * taps; traffic: the input read once but for the rims of tiles, the output written once; one launch. Sums are
// floats, or doubles where input, mask or output are double or have integers of 32 bits or more; the order of the
// additions is fixed. (PMPP ch. 7: constant memory, tiling with halos.) In place is not possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct convolution_tuning {
  int warps = 8;        ///< of a block
  int rows = 4;         ///< of results that a thread makes
  int groups = 2;       ///< of four columns that a thread makes
  int blocks = 3;       ///< of a multiprocessor
  int part = 64;        ///< taps a side that are used at a time; a multiple of 4
  int line_groups = 6;  ///< of four results that a thread makes in one dimension
  // Square masks of 3, 5, 7 and 9 taps a side; a thread makes one group of columns.
  int small_warps = 4, small_rows = 8, small_blocks = 6;
};

namespace detail {

/// Taps that travel as parameters of a kernel: masks of 33 x 33 and fewer.
inline constexpr int parameter_taps = 1152;

template <class In, class Tap, class Out>
struct convolution {
  volume<const In> in;
  volume<const Tap> mask;
  volume<Out> out;
  border::rule outside;
};

/// One result, tap by tap.
template <class A, class In, class Tap, class Out>
A sum_at(const convolution<In, Tap, Out>& c, std::int64_t z, std::int64_t y, std::int64_t x) {
  A sum = 0;
  for (std::int64_t k = 0; k < c.mask.depth; ++k)
    for (std::int64_t i = 0; i < c.mask.height; ++i)
      for (std::int64_t j = 0; j < c.mask.width; ++j) {
        const std::int64_t from_z = position_in(z + k - c.mask.depth / 2, c.in.depth, c.outside.what);
        const std::int64_t from_y = position_in(y + i - c.mask.height / 2, c.in.height, c.outside.what);
        const std::int64_t from_x = position_in(x + j - c.mask.width / 2, c.in.width, c.outside.what);
        const A element = from_z < 0 || from_y < 0 || from_x < 0 ? static_cast<A>(c.outside.value)
                                                                 : converted<A>(*c.in.at(from_z, from_y, from_x));
        sum += converted<A>(*c.mask.at(k, i, j)) * element;
      }
  return sum;
}

/// Results first ... last - 1 of a row: a row of the input with its rims, then one tap after the other over all of it,
/// which compilers turn into vector instructions.
template <class A, class In, class Tap, class Out>
void convolve_row(const convolution<In, Tap, Out>& c, std::int64_t z, std::int64_t y, std::int64_t first,
                  std::int64_t last, std::vector<A>& line, std::vector<A>& sum) {
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
      for (std::int64_t j = 0; j < c.mask.width; ++j) {
        const A tap = converted<A>(*c.mask.at(k, i, j)), *from = line.data() + j;
        A* to = sum.data();
        for (std::int64_t x = 0; x < width; ++x) to[x] += tap * from[x];
      }
    }
  for (std::int64_t x = 0; x < width; ++x) *c.out.at(z, y, first + x) = stored<Out>(sum[static_cast<std::size_t>(x)]);
}

template <class In, class Tap, class Out>
void convolve_on_host(const host_policy& where, const convolution<In, Tap, Out>& c) {
  using A = sum_of<In, Tap, Out>;
  const std::int64_t piece = 4096, pieces = ceil_div(c.out.width, piece);
  const std::int64_t rows = larger(std::int64_t(1), piece / c.out.width);  // of a task
  const std::int64_t all = c.out.depth * c.out.height;
  host_loop::parallel_for(where, ceil_div(all, rows) * pieces, [&](std::int64_t task) {
    std::vector<A> line, sum;
    const std::int64_t begin = task / pieces * rows, first = task % pieces * piece;
    for (std::int64_t row = begin; row < smaller(begin + rows, all); ++row)
      convolve_row(c, row / c.out.height, row % c.out.height, first, smaller(first + piece, c.out.width), line, sum);
  });
}

/// The mask as an argument: with `in_place`, the kernel reads it where it lies.
template <int Capacity, class Tap>
mask_argument<Tap, Capacity> argument_of(const volume<const Tap>& mask, bool in_place) {
  mask_argument<Tap, Capacity> argument;
  argument.taps = mask;
  if (in_place) return argument;
  argument.taps.data = nullptr;
  std::int64_t i = 0;
  for (std::int64_t z = 0; z < mask.depth; ++z)
    for (std::int64_t y = 0; y < mask.height; ++y)
      for (std::int64_t x = 0; x < mask.width; ++x) argument.value[i++] = *mask.at(z, y, x);
  return argument;
}

template <class In, class Tap, class Out>
convolution_task<In, Out> task_of(const convolution<In, Tap, Out>& c, const convolution_shape& shape) {
  const std::int64_t tiles_x = ceil_div(c.out.width, std::int64_t(shape.width()));
  const std::int64_t tiles_y = ceil_div(c.out.height, std::int64_t(shape.height()));
  return {c.in, c.out, c.outside, c.in.in_fours(), c.out.in_fours(), tiles_x, tiles_y, tiles_x * tiles_y * c.out.depth,
          0,    0,     2};
}

template <convolution_shape Shape, class P, class In, class Tap, class Out>
void launch_any(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  using kernel = convolution_kernel<In, Tap, Out, parameter_taps, Shape>;
  auto task = task_of(c, Shape);
  const std::int64_t columns = round_up(task.margin(c.mask.width) + c.mask.width, std::int64_t(4));
  task.columns = static_cast<int>(smaller(columns, std::int64_t(Shape.part)));
  task.rows = static_cast<int>(smaller(c.mask.height, std::int64_t(Shape.part)));
  const std::size_t most = shared_limit(where), fair = most / Shape.blocks - 1024;
  if (kernel::shared_bytes(task.rows, task.columns, 2) > fair) task.buffers = 1;
  while (kernel::shared_bytes(task.rows, task.columns, task.buffers) > most) task.rows = ceil_div(task.rows, 2);
  const std::int64_t blocks = smaller(task.tiles, std::int64_t(Shape.blocks) * processor_count(where));
  launch(where, grid{blocks, Shape.threads(), kernel::shared_bytes(task.rows, task.columns, task.buffers)}, kernel{},
         task, argument_of<parameter_taps>(c.mask, mask_in_place));
}

template <int Size, convolution_tuning Tuning, class P, class In, class Tap, class Out>
void launch_small(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  constexpr int blocks = Size <= 5 ? Tuning.small_blocks : ceil_div(2 * Tuning.small_blocks, 3);
  constexpr convolution_shape shape{
      1, Tuning.small_warps, 1, Size == 9 ? Tuning.small_rows / 2 : Tuning.small_rows, blocks, Size};
  const auto task = task_of(c, shape);
  launch(where, task.tiles, small_convolution_kernel<In, Tap, Out, Size, shape>{}, task,
         argument_of<Size * Size>(c.mask, mask_in_place));
}

/// The kernel for the task. Taps are used where they lie, or come as parameters.
template <convolution_tuning Tuning, class P, class In, class Tap, class Out>
void choose_kernel(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  const volume<const Tap>& m = c.mask;
  if constexpr (std::is_same_v<sum_of<In, Tap, Out>, float>)
    if (m.height == m.width && m.depth == 1 && c.out.depth == 1) {
      if (m.width == 3) return launch_small<3, Tuning>(where, c, mask_in_place);
      if (m.width == 5) return launch_small<5, Tuning>(where, c, mask_in_place);
      if (m.width == 7) return launch_small<7, Tuning>(where, c, mask_in_place);
      if (m.width == 9) return launch_small<9, Tuning>(where, c, mask_in_place);
    }
  // What is converted on its way needs more registers.
  constexpr int blocks = larger(1, Tuning.blocks - (std::is_same_v<In, float> ? 0 : 1));
  if (c.out.height == 1 && m.height == 1)
    launch_any<convolution_shape{Tuning.warps, 1, Tuning.line_groups, 1, 2, 4 * Tuning.part}>(where, c, mask_in_place);
  else
    launch_any<convolution_shape{1, Tuning.warps, Tuning.groups, Tuning.rows, blocks, Tuning.part}>(where, c,
                                                                                                    mask_in_place);
}

template <convolution_tuning Tuning, class P, class In, class Tap, class Out>
void convolve_on_device(const P& where, const convolution<In, Tap, Out>& c) {
  check_reachable(where, "convolve", c.in.data);
  check_reachable(where, "convolve", c.out.data);
  const std::int64_t taps = c.mask.depth * c.mask.height * c.mask.width;
  const bool in_place = lives_on_device(where, c.mask.data);
  if (in_place || taps <= parameter_taps) return choose_kernel<Tuning>(where, c, in_place);
  // A large mask in the host's memory travels in pieces: no copy has to wait, and a graph keeps the taps.
  const scratch memory(where, static_cast<std::size_t>(taps) * sizeof(Tap), 0);
  auto* placed = static_cast<Tap*>(memory.data());
  mask_argument<Tap, parameter_taps> piece;
  int count = 0;
  std::int64_t done = 0;
  const auto place = [&] {
    launch(where, 1, place_taps_kernel<Tap, parameter_taps>{}, piece, count, placed + done);
    done += count;
    count = 0;
  };
  for (std::int64_t z = 0; z < c.mask.depth; ++z)
    for (std::int64_t y = 0; y < c.mask.height; ++y)
      for (std::int64_t x = 0; x < c.mask.width; ++x) {
        piece.value[count++] = *c.mask.at(z, y, x);
        if (count == parameter_taps) place();
      }
  if (count > 0) place();
  auto with_placed = c;
  with_placed.mask = {placed, c.mask.depth, c.mask.height, c.mask.width, c.mask.height * c.mask.width, c.mask.width, 1};
  choose_kernel<Tuning>(where, with_placed, true);
}

template <class T>
std::string shape_text(const volume<T>& v) {
  return std::to_string(v.depth) + " x " + std::to_string(v.height) + " x " + std::to_string(v.width);
}

template <convolution_tuning Tuning, class P, class In, class Tap, class Out>
void convolve_checked(const P& where, const convolution<In, Tap, Out>& c, bool overlap) {
  const auto is_shape = [](const auto& v) { return v.depth >= 0 && v.height >= 0 && v.width >= 0; };
  require(is_shape(c.in) && c.in.depth == c.out.depth && c.in.height == c.out.height && c.in.width == c.out.width, [&] {
    return "pmpp::convolve: the input is " + shape_text(c.in) + ", so the output must be too, but is " +
           shape_text(c.out);
  });
  require(is_shape(c.mask) && c.mask.depth > 0 && c.mask.height > 0 && c.mask.width > 0,
          [&] { return "pmpp::convolve: the mask has no taps: it is " + shape_text(c.mask); });
  if (c.out.depth == 0 || c.out.height == 0 || c.out.width == 0) return;
  require(c.in.data != nullptr && c.mask.data != nullptr && c.out.data != nullptr, [&] {
    return std::string("pmpp::convolve: ") +
           (c.in.data == nullptr     ? "the input"
            : c.mask.data == nullptr ? "the mask"
                                     : "the output") +
           " is null";
  });
  require(!overlap, [&] {
    return "pmpp::convolve: input and output (both " + shape_text(c.in) + ") overlap; there is no convolution in place";
  });
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t z = 0; z < c.out.depth; ++z)
      for (std::int64_t y = 0; y < c.out.height; ++y)
        for (std::int64_t x = 0; x < c.out.width; ++x)
          *c.out.at(z, y, x) = stored<Out>(sum_at<sum_of<In, Tap, Out>>(c, z, y, x));
  } else if constexpr (std::is_same_v<P, host_policy>) {
    convolve_on_host(where, c);
  } else {
    convolve_on_device<Tuning>(where, c);
  }
}

template <class T>
volume<T> volume_of(const matrix_view<T>& v) {
  return {v.data(), 1, v.rows(), v.cols(), 0, v.row_stride(), v.cols() <= 1 ? 1 : v.col_stride()};
}
template <class T>
volume<T> volume_of(const volume_view<T>& v) {
  return {v.data(), v.depth(), v.height(), v.width(), v.slice_stride(), v.row_stride(), 1};
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
template <convolution_tuning Tuning = convolution_tuning{}, execution_policy P, class In, class Tap, class Out>
void convolve(const P& where, const matrix_view<In>& in, const matrix_view<Tap>& mask, const matrix_view<Out>& out,
              const border::rule& outside = border::zero) {
  if (in.col_major() && out.col_major() && !(in.row_major() && out.row_major()))
    return convolve<Tuning>(where, transposed(in), transposed(mask), transposed(out), outside);
  const bool overlap = !in.empty() && !out.empty() && detail::memory_of_view(in).may_meet(detail::memory_of_view(out));
  using element = std::remove_const_t<In>;
  using tap = std::remove_const_t<Tap>;
  detail::convolve_checked<Tuning>(
      where,
      detail::convolution<element, tap, Out>{detail::volume_of(matrix_view<const element>(in)),
                                             detail::volume_of(matrix_view<const tap>(mask)), detail::volume_of(out),
                                             outside},
      overlap);
}

/// The same in three dimensions; the mask reaches over planes too.
template <convolution_tuning Tuning = convolution_tuning{}, execution_policy P, class In, class Tap, class Out>
void convolve(const P& where, const volume_view<In>& in, const volume_view<Tap>& mask, const volume_view<Out>& out,
              const border::rule& outside = border::zero) {
  const bool overlap = !in.empty() && !out.empty() && detail::memory_of_view(in).may_meet(detail::memory_of_view(out));
  using element = std::remove_const_t<In>;
  using tap = std::remove_const_t<Tap>;
  detail::convolve_checked<Tuning>(
      where,
      detail::convolution<element, tap, Out>{detail::volume_of(volume_view<const element>(in)),
                                             detail::volume_of(volume_view<const tap>(mask)), detail::volume_of(out),
                                             outside},
      overlap);
}

/// The same in one dimension, for contiguous ranges: buffers, spans, vectors. `out` has room for as many elements as
/// `in` has. \throws std::length_error if it has not.
template <convolution_tuning Tuning = convolution_tuning{}, execution_policy P, contiguous_data In, contiguous_data Tap,
          class Out>
requires contiguous_data<std::remove_reference_t<Out>>
void convolve(const P& where, const In& in, const Tap& mask, Out&& out, const border::rule& outside = border::zero) {
  const auto from = detail::as_span(in);
  const auto taps = detail::as_span(mask);
  const auto to = detail::as_span(out);
  require_room("convolve", "out", static_cast<std::int64_t>(to.size()), static_cast<std::int64_t>(from.size()));
  convolve<Tuning>(where, matrix_view<const element_of<const In>>(from.data(), 1, from.size()),
                   matrix_view<const element_of<const Tap>>(taps.data(), 1, taps.size()),
                   matrix_view<element_of<std::remove_reference_t<Out>>>(to.data(), 1, from.size()), outside);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
