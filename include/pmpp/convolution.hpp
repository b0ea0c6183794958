// SPDX-License-Identifier: Apache-2.0
//
// Convolution: each result is the sum of the elements around it, times the taps of a mask. As in the book the mask is not
// flipped (strictly speaking this is a correlation), and lies with its centre, tap size / 2, on the result:
//
//   out(y, x) = sum over (i, j) of mask(i, j) * in(y + i - mask.rows() / 2, x + j - mask.cols() / 2)
//
//   1. A block makes a tile of results. It brings the elements under it and around it to shared memory, 16 bytes at a
//      time; only tiles at the edges look up what stands outside. Pixels and halves become floats on the way.
//   2. Each thread makes a column of results, four or eight wide: an element that it has in registers serves all rows of
//      the mask; in one dimension, adjacent results (convolution/kernel.hpp).
//   3. The taps come as parameters of the kernel where they are in the host's memory, so that nothing is copied and
//      nothing waits; those of square masks of 3, 5, 7 and 9 taps a side are operands where they are. Blocks for square masks
//      of 11, 13 and 15 walk down strips of the matrix, with the results in registers (convolution/strip.hpp).
//   4. Masks too large for shared memory are used part by part. Small masks on volumes walk from plane to plane
//      (convolution/planes.hpp, convolution/volume.hpp).
//   5. convolve_separable walks down strips of the matrix, with the results of short masks in registers
//      (convolution/walk.hpp), with the sums along rows of longer ones in shared memory (convolution/separable.hpp).
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

#include <pmpp/convolution/direct.hpp>
#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/pixels.hpp>
#include <pmpp/convolution/planes.hpp>
#include <pmpp/convolution/separable.hpp>
#include <pmpp/convolution/strip.hpp>
#include <pmpp/convolution/volume.hpp>
#include <pmpp/convolution/walk.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct convolution_tuning {
  int warps = 8;   ///< of a block
  int rows = 4;    ///< of results that a thread makes
  int groups = 2;  ///< of four columns that a thread makes
  int blocks = 3;  ///< of a multiprocessor
  int part = 64;   ///< taps a side that are used at a time; a multiple of 4
  // In one dimension; a thread makes groups of four results, an odd number: so lanes meet in no bank of shared memory.
  int line_warps = 4, line_groups = 7, line_blocks = 5;
  // Square masks of 3, 5, 7 and 9 taps a side; a thread makes one group of columns.
  int small_warps = 4, small_rows = 8, small_blocks = 6;
  // convolve_separable: as above; half as many rows of doubles.
  int separable_warps = 4, separable_rows = 8, separable_blocks = 4, separable_part = 128;
  int pixel_rows = 2;  ///< of 16 bytes that a thread makes
  // Square masks of 11, 13 and 15 taps a side: blocks of a multiprocessor; sections of strips are at least this many
  // masks high, smaller matrices are made by tiles.
  int strip_blocks = 4, strip_least = 3;
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
      for (std::int64_t j = 0; j < c.mask.width; ++j) {
        const A tap = converted<A>(*c.mask.at(k, i, j)), *from = line.data() + j;
        A* to = sum.data();
        for (std::int64_t x = 0; x < width; ++x) to[x] += tap * from[x];
      }
    }
}

template <class A, class Out>
void store_row(const std::vector<A>& sum, const volume<Out>& out, std::int64_t z, std::int64_t y, std::int64_t x) {
  for (const A& s : sum) *out.at(z, y, x++) = stored<Out>(s);
}

template <class In, class Tap, class Out>
void convolve_on_host(const host_policy& where, const convolution<In, Tap, Out>& c) {
  using A = sum_of<In, Tap, Out>;
  const std::int64_t piece = 4096, pieces = ceil_div(c.out.width, piece);
  const std::int64_t rows = max(std::int64_t(1), piece / c.out.width);  // of a task
  const std::int64_t all = c.out.depth * c.out.height;
  host_loop::parallel_for(where, ceil_div(all, rows) * pieces, [&](std::int64_t task) {
    std::vector<A> line, sum;
    const std::int64_t begin = task / pieces * rows, first = task % pieces * piece;
    for (std::int64_t row = begin; row < min(begin + rows, all); ++row) {
      const std::int64_t z = row / c.out.height, y = row % c.out.height;
      sum_row(c, z, y, first, min(first + piece, c.out.width), line, sum);
      detail::store_row(sum, c.out, z, y, first);
    }
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
      for (std::int64_t x = 0; x < mask.width && i < Capacity; ++x) argument.value[i++] = *mask.at(z, y, x);
  return argument;
}

template <class C>
auto views_of(const C& c) {
  return convolution_views{c.in, c.out, c.outside, c.in.in_fours(), c.out.in_fours()};
}

template <class In, class Tap, class Out>
convolution_task<In, Out> task_of(const convolution<In, Tap, Out>& c, const convolution_shape& shape) {
  convolution_task<In, Out> task{views_of(c)};
  task.tiles_x = ceil_div(c.out.width, std::int64_t(shape.width()));
  task.tiles_y = ceil_div(c.out.height, std::int64_t(shape.height()));
  task.tiles = task.tiles_x * task.tiles_y * c.out.depth;
  return task;
}

/// By convolution_kernel; where its tile does not fit the machine, by that of half as many warps.
template <convolution_shape Shape, class P, class In, class Tap, class Out>
void launch_any(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  using kernel = convolution_kernel<In, Tap, Out, parameter_taps, Shape>;
  const machine& on = machine_of(where);
  if constexpr (kernel::shared_bytes(1, Shape.part) > least_shared_per_block<P> && Shape.warps_x * Shape.warps_y > 1) {
    constexpr convolution_shape half{
        ceil_div(Shape.warps_x, 2), ceil_div(Shape.warps_y, 2), Shape.groups, Shape.rows, Shape.blocks, Shape.part};
    if (!on.fits(kernel::shared_bytes(1, Shape.part))) return launch_any<half>(where, c, mask_in_place);
  }
  auto task = task_of(c, Shape);
  const std::int64_t columns = round_up(task.margin(c.mask.width) + c.mask.width, std::int64_t(4));
  task.columns = static_cast<int>(min(columns, std::int64_t(Shape.part)));
  task.rows = static_cast<int>(min(c.mask.height, std::int64_t(Shape.part)));
  // Two blocks of a multiprocessor at least, where that is possible.
  const auto fit = [&](std::size_t blocks) { return on.fits(blocks * kernel::shared_bytes(task.rows, task.columns)); };
  const int all = task.rows;
  while (task.rows > 1 && !fit(2)) task.rows = ceil_div(task.rows, 2);
  if (!fit(2)) task.rows = all;
  while (task.rows > 1 && !fit(1)) task.rows = ceil_div(task.rows, 2);
  pmpp::launch(where, grid{task.tiles, Shape.threads(), kernel::shared_bytes(task.rows, task.columns)}, kernel{}, task,
               argument_of<parameter_taps>(c.mask, mask_in_place));
}

template <int Size, convolution_tuning Tuning, class P, class In, class Tap, class Out>
void launch_small(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  constexpr int blocks = Size <= 5 ? Tuning.small_blocks : ceil_div(2 * Tuning.small_blocks, 3);
  constexpr convolution_shape shape{
      1, Tuning.small_warps, 1, Size == 9 ? ceil_div(3 * Tuning.small_rows, 4) : Tuning.small_rows, blocks, Size};
  const auto task = task_of(c, shape);
  const auto taps = argument_of<Size * Size>(c.mask, mask_in_place);
  if (mask_in_place)
    pmpp::launch(where, task.tiles, small_convolution_kernel<In, Tap, Out, Size, shape, false>{}, task, taps);
  else
    pmpp::launch(where, task.tiles, small_convolution_kernel<In, Tap, Out, Size, shape, true>{}, task, taps);
}

/// Whether positions fit into the 31 bits that kernels of strips count in.
template <class T>
bool fits_strips(const volume<T>& v) {
  const std::int64_t most = std::int64_t(1) << 30;
  return v.height < most && v.width < most && v.step >= 0 && v.width * v.step < most;
}

/// Makes the results by strip_kernel; returns false where it is not made for the matrix.
template <int Size, convolution_tuning Tuning, class P, class In, class Tap, class Out>
bool launch_strips(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  using kernel = strip_kernel<In, Tap, Out, Size, Tuning.strip_blocks>;
  const std::int64_t strips = ceil_div(c.out.width, std::int64_t(kernel::width));
  const std::int64_t rows = section_rows(c.out.height, 1, Size, strips, resident_blocks<kernel>(machine_of(where)));
  if (c.out.depth > 1 || !fits_strips(c.in) || rows < Tuning.strip_least * Size) return false;
  const std::int64_t section = round_up(rows + Size - 1, std::int64_t(kernel::rows)) - (Size - 1);
  const strip_task<In, Out> task{c.in, c.out, c.outside, c.in.in_fours(), c.out.in_fours(), strips, section};
  pmpp::launch(where, strips * ceil_div(c.out.height, section), kernel{}, task,
               argument_of<Size * Size>(c.mask, mask_in_place));
  return true;
}

/// Whether the kernel for pixels has the result: taps small enough that their multiples of 2^125 are numbers.
template <class Tap, class In, class Out>
bool fits_pixels(const convolution<In, Tap, Out>& c) {
  const auto byte = static_cast<std::uint8_t>(c.outside.value);
  bool fits = c.in.rows_begin_at(16) && c.out.rows_begin_at(16) &&
              (c.outside.what != border::kind::constant || static_cast<double>(byte) == c.outside.value);
  for (std::int64_t i = 0; i < c.mask.height; ++i)
    for (std::int64_t j = 0; j < c.mask.width; ++j) {
      const auto tap = converted<float>(*c.mask.at(0, i, j));
      fits = fits && tap > -4 && tap < 4;
    }
  return fits;
}

template <int Size, convolution_tuning Tuning, class P, class Tap>
void launch_pixels(const P& where, const convolution<std::uint8_t, Tap, std::uint8_t>& c) {
  using kernel = pixel_kernel<Size, Tuning.pixel_rows>;
  const std::int64_t tiles_x = ceil_div(c.out.width, std::int64_t(kernel::width));
  const std::int64_t tiles_y = ceil_div(c.out.height, std::int64_t(kernel::height));
  pixel_task<Size> task{c.in, c.out, c.outside.what, static_cast<std::uint8_t>(c.outside.value), tiles_x, {}};
  for (int i = 0; i < Size * Size; ++i)
    task.tap[i] = simt::scaled_tap(converted<float>(*c.mask.at(0, i / Size, i % Size)));
  launch(where, tiles_x * tiles_y, kernel{}, task);
}

template <class In, class Tap, class Out>
stencil_problem<In, Out> problem_of(const convolution<In, Tap, Out>& c) {
  return {c.in, c.out, c.outside, stored<In>(c.outside.value)};
}

/// Makes the results by volume_kernel; returns false where there is none for the mask, or the constant is no element.
template <int Width = 7, int Planes = 7, class P, class In, class Tap, class Out>
bool launch_volume(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  if constexpr (Width > 1)
    if (c.mask.width < Width) return launch_volume<Width - 2, Planes>(where, c, mask_in_place);
  if constexpr (Planes > 3)
    if (c.mask.depth < Planes - 1) return launch_volume<Width, Planes - 2>(where, c, mask_in_place);
  using kernel = volume_kernel<In, Tap, Out, Width, Planes>;
  const auto problem = problem_of(c);
  const bool is_element =
      c.outside.what != border::kind::constant || converted<double>(problem.constant) == c.outside.value;
  if (c.mask.width != Width || c.mask.height > kernel::most || c.mask.depth > Planes || c.mask.depth < Planes - 1 ||
      !is_element)
    return false;
  return launch_tiles<kernel, 3>(where, problem, c.in.in_fours(), c.mask.depth,
                                 argument_of<kernel::most * Planes * Width>(c.mask, mask_in_place));
}

/// The kernel for the task, which may have several planes if `Volumes`. Taps are used where they lie, or come as parameters.
template <convolution_tuning Tuning, bool Volumes, class P, class In, class Tap, class Out>
void choose_kernel(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  const volume<const Tap>& m = c.mask;
  if constexpr (std::is_same_v<sum_of<In, Tap, Out>, float>) {
    if constexpr (std::is_same_v<In, std::uint8_t> && std::is_same_v<Out, std::uint8_t>)
      if (m.height == m.width && (m.width == 3 || m.width == 5) && m.depth == 1 && c.out.depth == 1 && !mask_in_place &&
          fits_pixels(c))
        return m.width == 3 ? launch_pixels<3, Tuning>(where, c) : launch_pixels<5, Tuning>(where, c);
    if constexpr (Volumes && std::is_same_v<In, float>)
      if (m.depth == 3 && m.height == 3 && m.width == 3)
        if (launch_planes<3, 1, stencil_tuning{}>(where, problem_of(c),
                                                  volume_mask<Tap, Out>{argument_of<27>(c.mask, mask_in_place)}))
          return;
    if (m.height == m.width && m.depth == 1) {
      if (m.width == 3) return launch_small<3, Tuning>(where, c, mask_in_place);
      if (m.width == 5) return launch_small<5, Tuning>(where, c, mask_in_place);
      if (m.width == 7) return launch_small<7, Tuning>(where, c, mask_in_place);
      if (m.width == 9) return launch_small<9, Tuning>(where, c, mask_in_place);
      if (m.width == 11 && launch_strips<11, Tuning>(where, c, mask_in_place)) return;
      if (m.width == 13 && launch_strips<13, Tuning>(where, c, mask_in_place)) return;
      if (m.width == 15 && launch_strips<15, Tuning>(where, c, mask_in_place)) return;
    }
    if constexpr (Volumes)
      if (c.out.depth > 1 && launch_volume(where, c, mask_in_place)) return;
  }
  // What is converted on its way needs more registers, doubles need twice as many.
  constexpr int fewer = std::is_same_v<In, float> ? 0 : std::is_same_v<sum_of<In, Tap, Out>, float> ? 1 : 2;
  constexpr int blocks = max(1, Tuning.blocks - min(fewer, 1)), line_blocks = max(1, Tuning.line_blocks - fewer);
  if (c.out.height == 1 && m.height == 1)
    launch_any<convolution_shape{.warps_x = Tuning.line_warps,
                                 .warps_y = 1,
                                 .groups = Tuning.line_groups,
                                 .rows = 1,
                                 .blocks = line_blocks,
                                 .part = 4 * Tuning.part}>(where, c, mask_in_place);
  else
    launch_any<convolution_shape{.warps_x = 1,
                                 .warps_y = Tuning.warps,
                                 .groups = Tuning.groups,
                                 .rows = Tuning.rows,
                                 .blocks = blocks,
                                 .part = Tuning.part}>(where, c, mask_in_place);
}

/// Brings a large mask from the host's memory to `placed`, in pieces that travel as parameters: no copy has to wait, and
/// a graph keeps the taps.
template <class P, class Tap>
volume<const Tap> place_taps(const P& where, const volume<const Tap>& mask, Tap* placed) {
  mask_argument<Tap, parameter_taps> piece;
  int count = 0;
  std::int64_t done = 0;
  const auto place = [&] {
    pmpp::launch(where, 1, place_taps_kernel<Tap, parameter_taps>{}, piece, count, placed + done);
    done += count;
    count = 0;
  };
  for (std::int64_t z = 0; z < mask.depth; ++z)
    for (std::int64_t y = 0; y < mask.height; ++y)
      for (std::int64_t x = 0; x < mask.width; ++x) {
        piece.value[count++] = *mask.at(z, y, x);
        if (count == parameter_taps) place();
      }
  if (count > 0) place();
  return {placed, mask.depth, mask.height, mask.width, mask.height * mask.width, mask.width, 1};
}

template <convolution_tuning Tuning, bool Volumes, class P, class In, class Tap, class Out>
void convolve_on_device(const P& where, const convolution<In, Tap, Out>& c) {
  check_reachable(where, "convolve", c.in.data);
  check_reachable(where, "convolve", c.out.data);
  const std::int64_t taps = c.mask.depth * c.mask.height * c.mask.width;
  const bool in_place = detail::lives_on_device(where, c.mask.data);
  if (in_place || taps <= parameter_taps) return choose_kernel<Tuning, Volumes>(where, c, in_place);
  const scratch memory(where, static_cast<std::size_t>(taps) * sizeof(Tap), 0);
  auto with_placed = c;
  with_placed.mask = place_taps(where, c.mask, static_cast<Tap*>(memory.data()));
  choose_kernel<Tuning, Volumes>(where, with_placed, true);
}

/// Throws for bad input, in the name of `function`; returns whether there is a result to make.
template <class In, class Tap, class Out>
bool check_convolution(const char* function, const volume<const In>& in, const volume<const Tap>& mask,
                       const volume<Out>& out, bool overlap) {
  const auto is_shape = [](const auto& v) { return v.depth >= 0 && v.height >= 0 && v.width >= 0; };
  const auto say = [&](const std::string& what) { return "pmpp::" + std::string(function) + ": " + what; };
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

template <convolution_tuning Tuning, bool Volumes, class P, class In, class Tap, class Out>
void convolve_checked(const P& where, const convolution<In, Tap, Out>& c, bool overlap) {
  if (!check_convolution("convolve", c.in, c.mask, c.out, overlap)) return;
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t z = 0; z < c.out.depth; ++z)
      for (std::int64_t y = 0; y < c.out.height; ++y)
        for (std::int64_t x = 0; x < c.out.width; ++x)
          *c.out.at(z, y, x) = stored<Out>(sum_at<sum_of<In, Tap, Out>>(c, z, y, x));
  } else if constexpr (std::is_same_v<P, host_policy>) {
    convolve_on_host(where, c);
  } else {
    convolve_on_device<Tuning, Volumes>(where, c);
  }
}

template <class In, class TapY, class TapX, class Out>
struct separable_convolution {
  volume<const In> in;
  volume<const TapY> mask_y;  ///< of one row, as mask_x
  volume<const TapX> mask_x;
  volume<Out> out;
  border::rule outside;
};

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
    for (std::int64_t i = 0; i < taps; ++i) {
      const A tap = converted<A>(*c.mask_y.at(0, 0, i)), *from = rows.data() + (y - first_y + i) * width;
      A* to = sum.data();
      for (std::int64_t x = 0; x < width; ++x) to[x] += tap * from[x];
    }
    detail::store_row(sum, c.out, 0, y, first_x);
  }
}

/// Taps of a mask that walk_kernel has registers for.
inline constexpr int walk_taps = 16;

/// Whether walk_kernel has the result.
template <class In, class TapY, class TapX, class Out>
bool fits_walk(const separable_convolution<In, TapY, TapX, Out>& c) {
  return max(c.mask_y.width, c.mask_x.width) <= walk_taps && fits_strips(c.in);
}

template <int Slots, class P, class In, class TapY, class TapX, class Out>
void launch_walk(const P& where, const separable_convolution<In, TapY, TapX, Out>& c) {
  if constexpr (Slots > 8)
    if (max(c.mask_y.width, c.mask_x.width) <= Slots - 4) return launch_walk<Slots - 4>(where, c);
  using kernel = walk_kernel<In, TapY, TapX, Out, Slots>;
  const std::int64_t strips = ceil_div(c.out.width, std::int64_t(kernel::width));
  const std::int64_t slots = round_up(c.mask_y.width, std::int64_t(4));
  const std::int64_t rows = section_rows(c.out.height, 1, slots, strips, resident_blocks<kernel>(machine_of(where)));
  const std::int64_t section = round_up(rows + slots - 1, std::int64_t(kernel::steps)) - (slots - 1);
  const walk_task<In, Out> task{c.in, c.out, c.outside, c.out.in_fours(), strips, section};
  pmpp::launch(where, strips * ceil_div(c.out.height, section), kernel{}, task,
               argument_of<Slots>(c.mask_y, detail::lives_on_device(where, c.mask_y.data)),
               argument_of<Slots>(c.mask_x, detail::lives_on_device(where, c.mask_x.data)));
}

template <convolution_tuning Tuning, class P, class In, class TapY, class TapX, class Out>
void convolve_separable_on_device(const P& where, const separable_convolution<In, TapY, TapX, Out>& c) {
  check_reachable(where, "convolve_separable", c.in.data);
  check_reachable(where, "convolve_separable", c.out.data);
  using sum = sum_of<In, std::conditional_t<needs_double<TapY>, TapY, TapX>, Out>;
  if constexpr (std::is_same_v<sum, float>)
    if (fits_walk(c)) return launch_walk<walk_taps>(where, c);
  constexpr int rows = std::is_same_v<sum, float> ? Tuning.separable_rows : Tuning.separable_rows / 2;
  // What is converted on its way needs more registers.
  constexpr int blocks =
      max(1, Tuning.separable_blocks - (std::is_same_v<In, float> && rows == Tuning.separable_rows ? 0 : 1));
  constexpr separable_shape shape{
      .warps = Tuning.separable_warps, .rows = rows, .blocks = blocks, .part = Tuning.separable_part};
  using kernel = separable_kernel<In, TapY, TapX, Out, shape, true>;
  using far_kernel = separable_kernel<In, TapY, TapX, Out, shape, false>;
  const std::int64_t size_y = c.mask_y.width, size_x = c.mask_x.width;
  separable_task<In, Out> task{{views_of(c)}};
  task.tiles_x = ceil_div(c.out.width, std::int64_t(kernel::width));
  task.columns =
      static_cast<int>(min(round_up(task.margin(size_x) + size_x, std::int64_t(4)), std::int64_t(shape.part)));
  const machine& on = machine_of(where);
  while (task.columns > 4 && !on.fits(kernel::tile_bytes(task.columns))) task.columns = round_up(task.columns / 2, 4);
  const std::size_t tile = kernel::tile_bytes(task.columns), ring = kernel::ring_bytes(size_y);
  const bool far = !on.fits(tile + ring);
  const std::int64_t room = on.resident_blocks(shape.threads(), tile + (far ? 0 : ring), shape.blocks);
  task.section = section_rows(c.out.height, shape.height(), size_y, task.tiles_x, on.multiprocessors * room);
  task.tiles_y = ceil_div(c.out.height, task.section);
  task.tiles = task.tiles_x * task.tiles_y;
  const bool y_there = detail::lives_on_device(where, c.mask_y.data),
             x_there = detail::lives_on_device(where, c.mask_x.data);
  const bool place_y = !y_there && size_y > separable_taps, place_x = !x_there && size_x > separable_taps;
  const std::int64_t count_y = place_y ? size_y : 0, count_x = place_x ? size_x : 0;
  const std::int64_t rings = far ? task.tiles * static_cast<std::int64_t>(ring) : 0;
  const auto bytes = [](std::int64_t count, std::size_t size) {
    return checked_bytes(count, size, "convolve_separable");
  };
  scratch memory(where, scratch_bytes({bytes(count_y, sizeof(TapY)), bytes(count_x, sizeof(TapX)), bytes(rings, 1)}),
                 0);
  volume<const TapY> mask_y = c.mask_y;
  volume<const TapX> mask_x = c.mask_x;
  if (place_y) mask_y = detail::place_taps(where, mask_y, memory.take<TapY>(size_y));
  if (place_x) mask_x = detail::place_taps(where, mask_x, memory.take<TapX>(size_x));
  const auto taps_y = argument_of<separable_taps>(mask_y, y_there || place_y);
  const auto taps_x = argument_of<separable_taps>(mask_x, x_there || place_x);
  if (far) {
    task.rings = memory.take<std::byte>(rings);
    pmpp::launch(where, grid{task.tiles, shape.threads(), tile}, far_kernel{}, task, taps_y, taps_x);
  } else {
    pmpp::launch(where, grid{task.tiles, shape.threads(), tile + ring}, kernel{}, task, taps_y, taps_x);
  }
}

template <convolution_tuning Tuning, class P, class In, class TapY, class TapX, class Out>
void convolve_separable_checked(const P& where, const separable_convolution<In, TapY, TapX, Out>& c, bool overlap) {
  const bool fits_y = check_convolution("convolve_separable", c.in, c.mask_y, c.out, overlap);
  if (!check_convolution("convolve_separable", c.in, c.mask_x, c.out, overlap) || !fits_y) return;
  if constexpr (kernel_execution<P>) {
    convolve_separable_on_device<Tuning>(where, c);
  } else {
    const std::int64_t rows = max(std::int64_t(64), c.mask_y.width), cols = 1024;  // of a task
    const std::int64_t bands = ceil_div(c.out.height, rows), pieces = ceil_div(c.out.width, cols);
    const auto make = [&](std::int64_t task) {
      const std::int64_t y = task / pieces * rows, x = task % pieces * cols;
      using sum = sum_of<In, std::conditional_t<needs_double<TapY>, TapY, TapX>, Out>;
      convolve_band<sum>(c, y, min(y + rows, c.out.height), x, min(x + cols, c.out.width));
    };
    if constexpr (std::is_same_v<P, host_policy>)
      host_loop::parallel_for(where, bands * pieces, make);
    else
      for (std::int64_t task = 0; task < bands * pieces; ++task) make(task);
  }
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
  const bool overlap = !in.empty() && !out.empty() && detail::memory_of_view(in).may_meet(detail::memory_of_view(out));
  using element = std::remove_const_t<In>;
  using tap = std::remove_const_t<Tap>;
  detail::convolve_checked<Tuning, false>(
      where,
      detail::convolution<element, tap, Out>{detail::volume_of(matrix_view<const element>(in)),
                                             detail::volume_of(matrix_view<const tap>(mask)), detail::volume_of(out),
                                             outside},
      overlap);
}

/// The same in three dimensions; the mask reaches over planes too.
template <convolution_tuning Tuning = tuned<convolution_tuning>, execution_policy P, class In, class Tap, class Out>
void convolve(const P& where, const volume_view<In>& in, const volume_view<Tap>& mask, const volume_view<Out>& out,
              const border::rule& outside = border::zero) {
  const bool overlap = !in.empty() && !out.empty() && detail::memory_of_view(in).may_meet(detail::memory_of_view(out));
  using element = std::remove_const_t<In>;
  using tap = std::remove_const_t<Tap>;
  detail::convolve_checked<Tuning, true>(
      where,
      detail::convolution<element, tap, Out>{detail::volume_of(volume_view<const element>(in)),
                                             detail::volume_of(volume_view<const tap>(mask)), detail::volume_of(out),
                                             outside},
      overlap);
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
  const bool overlap = !in.empty() && !out.empty() && detail::memory_of_view(in).may_meet(detail::memory_of_view(out));
  using element = std::remove_const_t<In>;
  using tap_y = std::remove_const_t<element_of<const TapsY>>;
  using tap_x = std::remove_const_t<element_of<const TapsX>>;
  const auto taps_y = detail::as_span(mask_y);
  const auto taps_x = detail::as_span(mask_x);
  detail::convolve_separable_checked<Tuning>(
      where,
      detail::separable_convolution<element, tap_y, tap_x, Out>{
          detail::volume_of(matrix_view<const element>(in)),
          detail::volume_of(matrix_view<const tap_y>(taps_y.data(), 1, taps_y.size())),
          detail::volume_of(matrix_view<const tap_x>(taps_x.data(), 1, taps_x.size())), detail::volume_of(out),
          outside},
      overlap);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
