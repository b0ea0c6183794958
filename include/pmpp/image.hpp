// SPDX-License-Identifier: Apache-2.0
//
// Pictures: a picture is a matrix_view of samples (grey) or of rgb<T> pixels (core/rgb.hpp), with any strides.
//
//   rgb_to_gray(where, rgb, gray)               0.21 r + 0.71 g + 0.07 b
//   box_blur(where, in, out, radius)            the mean of the pixels at most `radius` away that exist
//   gaussian_blur(where, in, out, sigma)        convolve_separable with the bell curve
//   scale(where, in, out)                       the same picture in another size
//
//   1. rgb_to_gray: three bytes a pixel fit no vector. A warp copies 1536 bytes to shared memory, 16 at a time, and reads
//      them back as 48 adjacent ones a lane: 16 pixels, which are written at once.
//   2. box_blur of bytes, up to radius 7: a thread holds the rows of the window of 16 columns in registers. Sums of
//      columns slide down; a sum of those slides along the row; a multiplication divides it.
//   3. Wider windows of bytes, up to radius 127, slide in both directions: down in registers, along rows in shared memory.
//      Other types are the separable convolution with equal taps, zeros outside. Pixels near the edges, whose windows have
//      fewer pixels, are corrected after it (fractions), or sums are divided in a second pass (integers).
//   4. scale: a thread makes four columns. A smaller picture has the means of areas, a larger one is interpolated.
//
// Traffic of 1 and 2: every picture once; one launch. The same bits on every run; pixels of integers have the same on all
// policies, but where Limits of docs/image.md says otherwise. (PMPP ch. 3: colour to grey and blur; ch. 7.)
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/convolution.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/image/kernel.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct image_tuning {
  int gray_pieces = 1;  ///< of 48 bytes that a thread of rgb_to_gray reads before it writes
  int blur_rows = 4;    ///< of 16 pixels that a thread of box_blur makes; twice as many past radius 1
};

namespace detail {

/// Throws for bad input, in the name of `function`; returns whether there is a pixel to make.
template <class In, class Out>
bool check_pictures(const char* function, const matrix_view<In>& in, const matrix_view<Out>& out, bool same_size) {
  const auto shape = [](const auto& v) { return detail::text::of(v.rows()) + " x " + detail::text::of(v.cols()); };
  const auto say = [&](const detail::text& what) { return "pmpp::" + detail::text(function) + ": " + what; };
  require(in.rows() >= 0 && in.cols() >= 0 && out.rows() >= 0 && out.cols() >= 0,
          [&] { return say("the input is " + shape(in) + ", the output " + shape(out)); });
  require(!same_size || (in.rows() == out.rows() && in.cols() == out.cols()),
          [&] { return say("the input is " + shape(in) + ", so the output must be too, but is " + shape(out)); });
  if (out.empty()) return false;
  require(!in.empty(), [&] { return say("the input is " + shape(in) + ", but the output " + shape(out)); });
  require(in.data() != nullptr && out.data() != nullptr, [&] {
    return say(in.data() == nullptr ? "the input is null, but " + shape(in) : "the output is null, but " + shape(out));
  });
  require(!memory_of_view(in).may_meet(memory_of_view(out)),
          [&] { return say("input (" + shape(in) + ") and output (" + shape(out) + ") overlap"); });
  return true;
}

/// Both views have their rows along their columns: the picture may as well be turned.
template <class In, class Out>
bool lie_by_columns(const matrix_view<In>& in, const matrix_view<Out>& out) {
  return in.col_major() && out.col_major() && !(in.row_major() && out.row_major());
}

/// Calls f(y) for the rows of a picture, on seq or host.
template <class P, class F>
void for_each_row([[maybe_unused]] const P& where, std::int64_t rows, std::int64_t cols, F f) {
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t y = 0; y < rows; ++y) f(y);
  } else {
    const std::int64_t few = max(std::int64_t(1), host_loop::grain / cols);  // rows of a task
    host_loop::parallel_for(where, ceil_div(rows, few), [&](std::int64_t task) {
      for (std::int64_t y = task * few; y < min(rows, (task + 1) * few); ++y) f(y);
    });
  }
}

template <image_tuning Tuning, class P, class T, class Out>
void gray_on_device(const P& where, volume<const rgb<T>> in, volume<Out> out) {
  if (in.step == 1 && out.step == 1 && in.pitch == in.width && out.pitch == out.width) {  // one long row
    in.width = in.pitch = out.width = out.pitch = in.width * in.height;
    in.height = out.height = 1;
  }
  using kernel = gray_kernel<T, Out, Tuning.gray_pieces>;
  const std::int64_t pieces = ceil_div(out.width, std::int64_t(kernel::piece * Tuning.gray_pieces));
  pmpp::launch(where, ceil_div(out.height * pieces, std::int64_t(kernel::warps)), kernel{}, in, out, pieces,
               in.rows_begin_at(16) && out.rows_begin_at(16));
}

/// Windows of integers on a processor: sums of columns slide down a band of rows, a sum of those along each row.
template <class T>
void blur_band(const volume<const T>& in, const volume<T>& out, std::int64_t first, std::int64_t last,
               std::int64_t radius_y, std::int64_t radius_x) {
  std::vector<std::int64_t> column(static_cast<std::size_t>(in.width));
  const auto add = [&](std::int64_t y, std::int64_t sign) {
    if (y < 0 || y >= in.height) return;
    for (std::int64_t x = 0; x < in.width; ++x)
      column[static_cast<std::size_t>(x)] += sign * static_cast<std::int64_t>(*in.at(0, y, x));
  };
  for (std::int64_t y = first - radius_y; y < first + radius_y; ++y) add(y, 1);
  for (std::int64_t y = first; y < last; ++y) {
    add(y + radius_y, 1);
    const std::int64_t high = neighbours(y, in.height, radius_y);
    std::int64_t sum = 0;
    for (std::int64_t x = 0; x < min(radius_x, in.width); ++x) sum += column[static_cast<std::size_t>(x)];
    for (std::int64_t x = 0; x < in.width; ++x) {
      if (x + radius_x < in.width) sum += column[static_cast<std::size_t>(x + radius_x)];
      *out.at(0, y, x) = static_cast<T>(rounded_mean(sum, high * neighbours(x, in.width, radius_x)));
      if (x >= radius_x) sum -= column[static_cast<std::size_t>(x - radius_x)];
    }
    add(y - radius_y, -1);
  }
}

/// One window, pixel by pixel.
template <class T>
T mean_around(const volume<const T>& in, std::int64_t y, std::int64_t x, std::int64_t radius_y, std::int64_t radius_x) {
  using A = std::conditional_t<std::is_integral_v<T>, std::int64_t, sum_of<T, T, T>>;
  A sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = max(y - radius_y, std::int64_t(0)); i <= min(y + radius_y, in.height - 1); ++i)
    for (std::int64_t j = max(x - radius_x, std::int64_t(0)); j <= min(x + radius_x, in.width - 1); ++j, ++count)
      sum += converted<A>(*in.at(0, i, j));
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(rounded_mean(sum, count));
  else
    return stored<T>(sum / static_cast<A>(count));
}

template <int Radius, image_tuning Tuning, class P>
void launch_box(const P& where, const volume<const std::uint8_t>& in, const volume<std::uint8_t>& out,
                std::int64_t radius) {
  if constexpr (Radius > 1)
    if (radius < Radius) return launch_box<Radius - 1, Tuning>(where, in, out, radius);
  // Windows of several rows: longer columns begin with fewer rows that give no result.
  constexpr int rows = Radius <= 1 ? Tuning.blur_rows : 2 * Tuning.blur_rows;
  using kernel = box_kernel<Radius, rows>;
  const std::int64_t tiles_x = ceil_div(out.width, std::int64_t(kernel::width));
  const std::int64_t tiles_y = ceil_div(out.height, std::int64_t(kernel::height));
  launch(where, tiles_x * tiles_y, kernel{}, in, out, tiles_x, in.rows_begin_at(16) && out.rows_begin_at(16));
}

template <class P>
void launch_wide_box(const P& where, const volume<const std::uint8_t>& in, const volume<std::uint8_t>& out,
                     std::int64_t radius_y, std::int64_t radius_x) {
  using kernel = wide_box_kernel;
  const std::int64_t tiles_x = ceil_div(out.width, std::int64_t(kernel::inner(static_cast<int>(radius_x))));
  const std::int64_t room = resident_blocks<kernel>(machine_of(where)) * kernel::warps;
  const std::int64_t section = section_rows(out.height, 1, 2 * radius_y + 1, tiles_x, room);
  const std::int64_t tasks = tiles_x * ceil_div(out.height, section);
  launch(where, ceil_div(tasks, std::int64_t(kernel::warps)), kernel{}, in, out, tiles_x, section,
         static_cast<int>(radius_y), static_cast<int>(radius_x), in.rows_begin_at(16) && out.rows_begin_at(16));
}

/// The mean of windows as a convolution with equal taps.
template <class P, class T, class U>
void blur_by_convolution(const P& where, const matrix_view<const T>& in, const matrix_view<U>& out,
                         std::int64_t radius_y, std::int64_t radius_x) {
  const std::int64_t rows = in.rows(), cols = in.cols();
  if constexpr (std::is_integral_v<T>) {
    // Sums of bytes are exact as floats up to radius 127.
    using sum = std::conditional_t<sizeof(T) == 1, float, double>;
    scratch memory(where, checked_bytes(rows * cols, sizeof(sum), "box_blur"), 0);
    const matrix_view<sum> sums(memory.template take<sum>(rows * cols), rows, cols);
    const std::vector<sum> ones_y(static_cast<std::size_t>(2 * radius_y + 1), sum(1));
    const std::vector<sum> ones_x(static_cast<std::size_t>(2 * radius_x + 1), sum(1));
    convolve_separable(where, in, ones_y, ones_x, sums);
    using kernel = average_kernel<sum, T>;
    const std::int64_t tiles_x = ceil_div(cols, std::int64_t(kernel::threads));
    launch(where, tiles_x * ceil_div(rows, std::int64_t(kernel::rows)), kernel{},
           volume_of(matrix_view<const sum>(sums)), volume_of(out), tiles_x, radius_y, radius_x);
  } else {
    using tap = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto taps = [](std::int64_t radius) {
      return std::vector<tap>(static_cast<std::size_t>(2 * radius + 1), tap(1) / static_cast<tap>(2 * radius + 1));
    };
    pmpp::convolve_separable(where, in, taps(radius_y), taps(radius_x), out);
    const rim edge{rows, cols, radius_y, radius_x};
    const volume<T> to = volume_of(out);
    if constexpr (kernel_execution<P>)
      pmpp::launch(where, ceil_div(edge.count(), std::int64_t(rim_kernel<T>::threads)), rim_kernel<T>{}, to, edge);
    else
      for (std::int64_t i = 0; i < edge.count(); ++i) edge.correct(to, i);
  }
}

template <image_tuning Tuning, class P, class T>
void blur(const P& where, const matrix_view<const T>& in, const matrix_view<T>& out, std::int64_t radius) {
  // A window that reaches over both edges holds all of the axis.
  const std::int64_t radius_y = min(radius, in.rows() - 1), radius_x = min(radius, in.cols() - 1);
  const volume<const T> from = volume_of(in);
  const volume<T> to = volume_of(out);
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t y = 0; y < in.rows(); ++y)
      for (std::int64_t x = 0; x < in.cols(); ++x) out(y, x) = mean_around(from, y, x, radius_y, radius_x);
  } else if constexpr (std::is_same_v<P, host_policy>) {
    if constexpr (std::is_integral_v<T>) {
      const std::int64_t band = max(std::int64_t(64), 2 * radius_y);
      host_loop::parallel_for(where, ceil_div(in.rows(), band), [&](std::int64_t i) {
        blur_band(from, to, i * band, min(in.rows(), (i + 1) * band), radius_y, radius_x);
      });
    } else {
      blur_by_convolution(where, in, out, radius_y, radius_x);
    }
  } else {
    detail::check_reachable(where, "box_blur", in.data());
    detail::check_reachable(where, "box_blur", out.data());
    if constexpr (std::is_same_v<T, std::uint8_t>)
      if (from.step == 1 && to.step == 1) {
        if (radius >= 1 && radius <= 7) return launch_box<7, Tuning>(where, from, to, radius);
        if (radius_y <= 127 && radius_x <= 127) return launch_wide_box(where, from, to, radius_y, radius_x);
      }
    blur_by_convolution(where, in, out, radius_y, radius_x);
  }
}

/// A new pixel has parts of at most `Taps` old ones along a row; 0: of any number.
template <int Taps, class P, class T>
void launch_scale(const P& where, const volume<const T>& in, const volume<T>& out) {
  using kernel = scale_kernel<T, Taps>;
  const std::int64_t tiles_x = ceil_div(out.width, std::int64_t(kernel::width));
  pmpp::launch(where, tiles_x * ceil_div(out.height, std::int64_t(kernel::height)), kernel{}, in, out, tiles_x,
               out.in_fours());
}

/// The taps of a bell curve whose standard deviation is `sigma`, to three of them on either side; their sum is 1.
template <class Tap>
std::vector<Tap> bell_curve(double sigma) {
  const auto radius = static_cast<std::int64_t>(std::ceil(3 * sigma));
  const auto height = [&](std::int64_t i) {
    return sigma == 0 ? 1 : std::exp(-0.5 * static_cast<double>(i * i) / (sigma * sigma));
  };
  double sum = 0;
  for (std::int64_t i = -radius; i <= radius; ++i) sum += height(i);
  std::vector<Tap> taps;
  for (std::int64_t i = -radius; i <= radius; ++i) taps.push_back(static_cast<Tap>(height(i) / sum));
  return taps;
}

}  // namespace detail

/// Makes a grey picture of a coloured one: 0.21 r + 0.71 g + 0.07 b.
///
/// \param in   rows x columns pixels, any strides; visible to `where`. Samples of 8 to 64 bits, half, bfloat16.
/// \param out  as large; must not overlap `in`. Of another type than the samples of `in`: the same number, rounded to the
///             nearest and saturated if it is an integer; not scaled to another range.
/// Pixels of 8 and 16 bits have the exact sum, rounded to the nearest; as the weights add up to 0.99, white becomes 252.
/// Asynchronous on a GPU; no scratch, no allocation; may be captured. Cost: input read once, output written once; one
/// launch. \throws std::invalid_argument for shapes that do not fit, null pointers, overlap; cuda_error.
/// Source: PMPP ch. 3. Example: test/image.cpp.
template <image_tuning Tuning = tuned<image_tuning>, execution_policy P, class Pixel, class Out>
requires detail::is_rgb<std::remove_const_t<Pixel>>
void rgb_to_gray(const P& where, const matrix_view<Pixel>& in, const matrix_view<Out>& out) {
  if (detail::lie_by_columns(in, out)) return rgb_to_gray<Tuning>(where, transposed(in), transposed(out));
  if (!detail::check_pictures("rgb_to_gray", in, out, true)) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "rgb_to_gray", in.data());
    detail::check_reachable(where, "rgb_to_gray", out.data());
    detail::gray_on_device<Tuning>(where, detail::volume_of(matrix_view<const std::remove_const_t<Pixel>>(in)),
                                   detail::volume_of(out));
  } else {
    detail::for_each_row(where, in.rows(), in.cols(), [&](std::int64_t y) {
      for (std::int64_t x = 0; x < in.cols(); ++x) out(y, x) = detail::gray_of<Out>(in(y, x));
    });
  }
}

/// Gives each pixel the mean of the pixels at most `radius` rows and columns away. Near the edges of the picture these
/// are fewer: nothing stands outside.
///
/// \param in      rows x columns samples or rgb pixels, any strides; visible to `where`.
/// \param out     as large, of the same type; must not overlap `in`. Integers are rounded to the nearest, halves away
///                from zero.
/// \param radius  0 and more; past the size of the picture too.
/// Grey pictures of bytes, radius 1 to 127: no scratch, one launch, input read once, output written once. Else as
/// convolve_separable with 2 radius + 1 taps each way, and one launch more; of integers scratch of 4 bytes a pixel (bytes)
/// or 8. The three colours of rgb pixels are blurred one after the other, in that way.
/// Asynchronous on a GPU; may be captured. \throws std::invalid_argument for shapes that do not fit, a negative radius,
/// null pointers, overlap; cuda_error. Source: PMPP ch. 3 (image blur). Example: test/image.cpp.
template <image_tuning Tuning = tuned<image_tuning>, execution_policy P, class In, class Out>
requires(std::is_same_v<std::remove_const_t<In>, Out>) void box_blur(const P& where, const matrix_view<In>& in,
                                                                     const matrix_view<Out>& out, std::int64_t radius) {
  require(radius >= 0, [&] { return "pmpp::box_blur: the radius is " + detail::text::of(radius) + ", below 0"; });
  if (!detail::check_pictures("box_blur", in, out, true)) return;
  if constexpr (detail::is_rgb<Out>) {
    for (int c = 0; c < 3; ++c)
      detail::blur<Tuning>(where, pmpp::channel(matrix_view<const Out>(in), c), channel(out, c), radius);
  } else if (detail::lie_by_columns(in, out)) {
    detail::blur<Tuning>(where, transposed(matrix_view<const Out>(in)), transposed(out), radius);
  } else {
    detail::blur<Tuning>(where, matrix_view<const Out>(in), out, radius);
  }
}

/// Blurs a picture with a bell curve, up to three standard deviations away.
///
/// \param in       rows x columns samples or rgb pixels, any strides; visible to `where`.
/// \param out      as large; must not overlap `in`. Integers are rounded to the nearest and saturate.
/// \param sigma    the standard deviation, in pixels; 0: the picture stays as it is.
/// \param outside  what stands outside of `in`.
/// Cost and promises as of convolve_separable with 2 * ceil(3 sigma) + 1 taps each way, once for each colour.
/// \throws std::invalid_argument as convolve_separable; also for a sigma that is negative, not a number, or so large that
/// the taps reach 2^20 pixels.
template <execution_policy P, class In, class Out>
void gaussian_blur(const P& where, const matrix_view<In>& in, const matrix_view<Out>& out, double sigma,
                   const border::rule& outside = border::reflect) {
  require(sigma >= 0 && sigma * 3 < (1 << 20),
          [&] { return "pmpp::gaussian_blur: sigma is " + detail::text::of(sigma) + ", outside of [0, 2^20 / 3)"; });
  if (!detail::check_pictures("gaussian_blur", in, out, true)) return;
  using element = std::remove_const_t<In>;
  if constexpr (detail::is_rgb<element>) {
    for (int c = 0; c < 3; ++c)
      pmpp::gaussian_blur(where, pmpp::channel(matrix_view<const element>(in), c), channel(out, c), sigma, outside);
  } else {
    const auto taps = detail::bell_curve<std::conditional_t<std::is_same_v<element, double>, double, float>>(sigma);
    convolve_separable(where, in, taps, taps, out, outside);
  }
}

/// Makes the picture `in` as large as `out` is. Along each axis: where it shrinks, a new pixel is the mean of the old
/// ones that it covers, parts counted as parts; where it grows, a new pixel lies between the centres of two old ones and
/// is interpolated linearly.
///
/// \param in   rows x columns samples or rgb pixels, any strides; visible to `where`.
/// \param out  of the same type, any size; must not overlap `in`. Integers are rounded to the nearest.
/// Asynchronous on a GPU; no scratch, no allocation; may be captured. Cost: input read once by areas, or four pixels for
/// each of a larger output; one launch, three for rgb pixels. \throws std::invalid_argument for an empty input with an
/// output that is not, an extent of 2^31 or more, null pointers, overlap; cuda_error.
template <execution_policy P, class In, class Out>
requires(std::is_same_v<std::remove_const_t<In>, Out>) void scale(const P& where, const matrix_view<In>& in,
                                                                  const matrix_view<Out>& out) {
  if (!detail::check_pictures("scale", in, out, false)) return;
  const std::int64_t longest = max(max(in.rows(), in.cols()), max(out.rows(), out.cols()));
  require(longest < std::int64_t(1) << 31,
          [&] { return "pmpp::scale: an extent is " + detail::text::of(longest) + ", the limit is 2147483647"; });
  if constexpr (detail::is_rgb<Out>) {
    for (int c = 0; c < 3; ++c) scale(where, channel(matrix_view<const Out>(in), c), channel(out, c));
  } else {
    const detail::volume<const Out> from = detail::volume_of(matrix_view<const Out>(in));
    const detail::volume<Out> to = detail::volume_of(out);
    if constexpr (kernel_execution<P>) {
      detail::check_reachable(where, "scale", in.data());
      detail::check_reachable(where, "scale", out.data());
      if constexpr (std::is_same_v<Out, std::uint8_t>)
        if (from.in_fours() && from.width % 4 == 0) {
          if (from.width <= to.width || from.width == 2 * to.width) return detail::launch_scale<2>(where, from, to);
          if (from.width <= 3 * to.width) return detail::launch_scale<4>(where, from, to);
        }
      detail::launch_scale<0>(where, from, to);
    } else {
      using sum = detail::sum_of<Out, Out, Out>;
      const detail::scaled_axis rows{in.rows(), out.rows()}, cols{in.cols(), out.cols()};
      std::vector<detail::share<sum>> across;
      for (std::int64_t x = 0; x < out.cols(); ++x) across.push_back(cols.of<sum>(x));
      detail::for_each_row(where, out.rows(), out.cols(), [&](std::int64_t y) {
        const auto down = rows.of<sum>(y);
        for (std::int64_t x = 0; x < out.cols(); ++x)
          out(y, x) = detail::scaled_pixel(from, down, across[static_cast<std::size_t>(x)]);
      });
    }
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
