// SPDX-License-Identifier: Apache-2.0
//
// Which kernel makes a convolution on a GPU, and how it is launched. The first row that has the task:
//
//   convolve                     mask                                       sums    kernel
//   bytes to bytes, a matrix     3 x 3, 5 x 5, in the host's memory (1)     float   pixel_kernel               pixels.hpp
//   a volume of floats           3 x 3 x 3                                  float   stencil_kernel (2)         stencil/kernel.hpp
//   any                          square, 3, 5, 7, 9 taps a side             float   small_convolution_kernel   direct.hpp
//   a matrix                     square, 11, 13, 15 taps a side             float   strip_kernel (3)           marching.hpp
//   a volume                     1, 3, 5, 7 columns, up to 7 x 7 others     float   volume_kernel (4)          marching.hpp
//   one row                      one row                                    any     convolution_kernel, wide   direct.hpp
//   any                          any                                        any     convolution_kernel         direct.hpp
//
//   convolve_separable           up to 16 + 16 taps                         float   walk_kernel (5)            marching.hpp
//                                any                                        any     separable_kernel (6)       separable.hpp
//
//   (1) with taps between -4 and 4, and rows that begin at multiples of 16 bytes      (2) where its tiles fit the machine
//   (3) where sections are strip_least masks high, and positions have 31 bits         (5) where positions have 31 bits
//   (4) where its tiles fit, and the border's constant is an element                  (6) its ring in scratch if too large
//
// The taps come as parameters of the kernel where they are in the host's memory: nothing is copied, nothing waits, and a graph
// keeps them. Where they are too many they are brought to scratch first, in pieces that travel likewise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/direct.hpp>
#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/marching.hpp>
#include <pmpp/convolution/pixels.hpp>
#include <pmpp/convolution/separable.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/stencil/kernel.hpp>

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

/// Calls f(tap) for all taps, row by row.
template <class Tap, class F>
void for_each_tap(const volume<const Tap>& mask, const F& f) {
  for (std::int64_t z = 0; z < mask.depth; ++z)
    for (std::int64_t y = 0; y < mask.height; ++y)
      for (std::int64_t x = 0; x < mask.width; ++x) f(*mask.at(z, y, x));
}

/// The mask as an argument: with `in_place`, the kernel reads it where it lies.
template <int Capacity, class Tap>
mask_argument<Tap, Capacity> argument_of(const volume<const Tap>& mask, bool in_place) {
  mask_argument<Tap, Capacity> argument;
  argument.taps = mask;
  if (in_place) return argument;
  argument.taps.data = nullptr;
  int i = 0;
  detail::for_each_tap(mask, [&](const Tap& tap) {
    if (i < Capacity) argument.value[i++] = tap;
  });
  return argument;
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
  detail::for_each_tap(mask, [&](const Tap& tap) {
    piece.value[count++] = tap;
    if (count == parameter_taps) place();
  });
  if (count > 0) place();
  return {placed, mask.depth, mask.height, mask.width, mask.height * mask.width, mask.width, 1};
}

// -- tiles ------------------------------------------------------------------------------------------------------------

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
    constexpr convolution_shape half{.warps_x = ceil_div(Shape.warps_x, 2),
                                     .warps_y = ceil_div(Shape.warps_y, 2),
                                     .groups = Shape.groups,
                                     .rows = Shape.rows,
                                     .blocks = Shape.blocks,
                                     .part = Shape.part};
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
  constexpr convolution_shape shape{.warps_x = 1,
                                    .warps_y = Tuning.small_warps,
                                    .groups = 1,
                                    .rows = Size == 9 ? ceil_div(3 * Tuning.small_rows, 4) : Tuning.small_rows,
                                    .blocks = Size <= 5 ? Tuning.small_blocks : ceil_div(2 * Tuning.small_blocks, 3),
                                    .part = Size};
  const auto task = task_of(c, shape);
  const auto taps = argument_of<Size * Size>(c.mask, mask_in_place);
  if (mask_in_place)
    pmpp::launch(where, task.tiles, small_convolution_kernel<In, Tap, Out, Size, shape, false>{}, task, taps);
  else
    pmpp::launch(where, task.tiles, small_convolution_kernel<In, Tap, Out, Size, shape, true>{}, task, taps);
}

/// Whether the kernel for pixels has the result: taps small enough that their multiples of 2^125 are numbers.
template <class Tap, class In, class Out>
bool fits_pixels(const convolution<In, Tap, Out>& c) {
  const auto byte = static_cast<std::uint8_t>(c.outside.value);
  bool fits = c.in.rows_begin_at(16) && c.out.rows_begin_at(16) &&
              (c.outside.what != border::kind::constant || static_cast<double>(byte) == c.outside.value);
  for_each_tap(c.mask, [&](const Tap& tap) { fits = fits && converted<float>(tap) > -4 && converted<float>(tap) < 4; });
  return fits;
}

template <int Size, convolution_tuning Tuning, class P, class Tap>
void launch_pixels(const P& where, const convolution<std::uint8_t, Tap, std::uint8_t>& c) {
  using kernel = pixel_kernel<Size, Tuning.pixel_rows>;
  const std::int64_t tiles_x = ceil_div(c.out.width, std::int64_t(kernel::width));
  const std::int64_t tiles_y = ceil_div(c.out.height, std::int64_t(kernel::height));
  pixel_task<Size> task{.in = c.in,
                        .out = c.out,
                        .outside = c.outside.what,
                        .constant = static_cast<std::uint8_t>(c.outside.value),
                        .tiles_x = tiles_x,
                        .tap = {}};
  for (int i = 0; i < Size * Size; ++i)
    task.tap[i] = simt::scaled_tap(converted<float>(*c.mask.at(0, i / Size, i % Size)));
  launch(where, tiles_x * tiles_y, kernel{}, task);
}

// -- marches ----------------------------------------------------------------------------------------------------------

/// Whether positions fit into the 31 bits that kernels of strips count in.
template <class T>
bool fits_strips(const volume<T>& v) {
  const std::int64_t most = std::int64_t(1) << 30;
  return v.height < most && v.width < most && v.step >= 0 && v.width * v.step < most;
}

/// Rows of a section for masks of `taps` rows.
template <class Kernel, class P, class Out>
std::int64_t march_rows(const P& where, const volume<Out>& out, std::int64_t taps) {
  const std::int64_t strips = ceil_div(out.width, std::int64_t(Kernel::width));
  return section_rows(out.height, 1, taps, strips, resident_blocks<Kernel>(machine_of(where)));
}

/// Launches a kernel that marches down strips, in sections of `rows` rows or a few more: so that it makes whole steps.
template <class Kernel, class P, class In, class Out, class... Mask>
void launch_march(const P& where, const convolution_views<In, Out>& views, std::int64_t taps, std::int64_t rows,
                  const Mask&... masks) {
  march_task<In, Out> task{views};
  task.strips = ceil_div(views.out.width, std::int64_t(Kernel::width));
  task.section = round_up(rows + taps - 1, std::int64_t(Kernel::steps)) - (taps - 1);
  pmpp::launch(where, task.strips * ceil_div(views.out.height, task.section), Kernel{}, task, masks...);
}

/// Makes the results by strip_kernel; returns false where it is not made for the matrix.
template <int Size, convolution_tuning Tuning, class P, class In, class Tap, class Out>
bool launch_strips(const P& where, const convolution<In, Tap, Out>& c, bool mask_in_place) {
  using kernel = strip_kernel<In, Tap, Out, Size, Tuning.strip_blocks>;
  if (c.out.depth > 1 || !fits_strips(c.in)) return false;
  const std::int64_t rows = march_rows<kernel>(where, c.out, Size);
  if (rows < Tuning.strip_least * Size) return false;
  launch_march<kernel>(where, views_of(c), Size, rows, argument_of<Size * Size>(c.mask, mask_in_place));
  return true;
}

/// Taps of a mask that walk_kernel has registers for.
inline constexpr int walk_taps = 16;

template <int Slots, class P, class In, class TapY, class TapX, class Out>
void launch_walk(const P& where, const separable_convolution<In, TapY, TapX, Out>& c) {
  if constexpr (Slots > 8)
    if (max(c.mask_y.width, c.mask_x.width) <= Slots - 4) return launch_walk<Slots - 4>(where, c);
  using kernel = walk_kernel<In, TapY, TapX, Out, Slots>;
  const std::int64_t taps = round_up(c.mask_y.width, std::int64_t(4));
  launch_march<kernel>(where, views_of(c), taps, march_rows<kernel>(where, c.out, taps),
                       argument_of<Slots>(c.mask_y, detail::lives_on_device(where, c.mask_y.data)),
                       argument_of<Slots>(c.mask_x, detail::lives_on_device(where, c.mask_x.data)));
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

// -- convolve ---------------------------------------------------------------------------------------------------------

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

// -- convolve_separable -----------------------------------------------------------------------------------------------

template <convolution_tuning Tuning, class P, class In, class TapY, class TapX, class Out>
void convolve_separable_on_device(const P& where, const separable_convolution<In, TapY, TapX, Out>& c) {
  check_reachable(where, "convolve_separable", c.in.data);
  check_reachable(where, "convolve_separable", c.out.data);
  using sum = separable_sum_of<In, TapY, TapX, Out>;
  if constexpr (std::is_same_v<sum, float>)
    if (max(c.mask_y.width, c.mask_x.width) <= walk_taps && fits_strips(c.in)) return launch_walk<walk_taps>(where, c);
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

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
