// SPDX-License-Identifier: Apache-2.0
//
// A convolution layer of a neural network: each filter gives one channel of the output, as the sum over a window of taps
// and over all channels of the input (of its group).
//
//   out(n, y, x, f) = sum over (r, s, c) of filters(f, r, s, c) *
//                     in(n, y * stride_y + r * dilation_y - padding_y, x * stride_x + s * dilation_x - padding_x,
//                        f / (filters of a group) * (channels of a group) + c)
//
//   pmpp::convolution_layer(device, nhwc(in, 32, 56, 56, 64), nhwc(w, 64, 3, 3, 64), nhwc(out, 32, 56, 56, 64),
//                           {.padding_y = 1, .padding_x = 1});
//
//   1. It is a product of the matrix of windows (a row for each pixel of the output) with the matrix of filters. On a
//      GPU the windows are looked up in the images tile by tile and never stored: an implicit gemm
//      (convolution_layer/kernel.hpp). Half and bfloat16 go to the tensor cores. sm_90a has TMA, which does the
//      looking up, for them (convolution_layer/wgmma.hpp) and for floats (convolution_layer/copied.hpp).
//   2. Channels that cannot be read 16 bytes at a time are copied first (convolution_layer/channels_last.hpp), but for 1 x 1
//      on sm_90a. Few tiles are cut along k into parts, which are added up, in order.
//   3. Groups of few filters, down to one each (depthwise), share nothing: there a thread makes a strip of pixels
//      (convolution_layer/sliding.hpp).
//   4. host makes the windows of some rows of an image at a time, which stay in its cache, and calls gemm.
//
// Images and filters lie as their views say: channels last (nhwc) or first (nchw), padded, cut out of larger ones.
// Windows outside the image read zeros. As in all such networks the filter is not flipped. Work 2 * out * taps * channels
// of a group; one launch, up to three where 2 applies. (PMPP ch. 16; Chetlur et al., 2014.) Gradients: network.hpp. No Winograd transform.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/convolution_layer/ways.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// What a layer does besides. The epilogue is a callable for host and device, f(sum) or f(sum, filter), called once an
/// element before it is stored: a bias, an activation.
template <class Epilogue = no_epilogue>
struct layer_options {
  std::int64_t stride_y = 1, stride_x = 1;      ///< pixels of the input from window to window
  std::int64_t padding_y = 0, padding_x = 0;    ///< rows and columns of zeros on each side of the input
  std::int64_t dilation_y = 1, dilation_x = 1;  ///< pixels from tap to tap
  std::int64_t groups = 1;                      ///< of channels and filters, which know nothing of each other
  Epilogue epilogue{};
};

namespace detail {

inline text shape_of(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t channels) {
  return detail::text::of(images) + " x " + detail::text::of(height) + " x " + detail::text::of(width) + " x " +
         detail::text::of(channels);
}
template <class T>
text shape_of(const channels_view<T>& v) {
  return shape_of(v.images(), v.height(), v.width(), v.channels());
}

template <class T>
void require_channels(const char* name, const channels_view<T>& v) {
  require(v.images() >= 0 && v.height() >= 0 && v.width() >= 0 && v.channels() >= 0 && v.image_stride() >= 0 &&
              v.row_stride() >= 0 && v.col_stride() >= 0 && v.channel_stride() >= 0,
          [&] {
            return detail::text("pmpp::convolution_layer: ") + name + " is " + shape_of(v) + ", with strides " +
                   shape_of(v.image_stride(), v.row_stride(), v.col_stride(), v.channel_stride()) +
                   ": none may be negative";
          });
  require(v.empty() || v.data() != nullptr,
          [&] { return detail::text("pmpp::convolution_layer: ") + name + " is null, but " + shape_of(v); });
  const std::int64_t most = (std::int64_t(1) << 30) - 1;
  require(v.height() <= most && v.width() <= most, [&] {
    return detail::text("pmpp::convolution_layer: ") + name + " is " + shape_of(v) + ", a side may have " +
           detail::text::of(most);
  });
}

/// How many windows fit into `extent` pixels; 0 if none does.
inline std::int64_t windows_in(std::int64_t extent, std::int64_t padding, std::int64_t taps, std::int64_t dilation,
                               std::int64_t stride) {
  const std::int64_t last = extent + 2 * padding - dilation * (taps - 1) - 1;  // where the last may begin
  return last < 0 ? 0 : last / stride + 1;
}

template <class T, class TC, class Epilogue>
void check_layer(const channels_view<const T>& in, const channels_view<const T>& filters, const channels_view<TC>& out,
                 const layer_options<Epilogue>& o) {
  const auto say = [](const detail::text& what) { return "pmpp::convolution_layer: " + what; };
  const auto pair = [](std::int64_t y, std::int64_t x) { return detail::text::of(y) + " x " + detail::text::of(x); };
  require_channels("the input", in);
  require_channels("the set of filters", filters);
  require_channels("the output", out);
  require(filters.height() >= 1 && filters.width() >= 1, [&] {
    return say("filters have " + pair(filters.height(), filters.width()) + " taps, at least 1 x 1 wanted");
  });
  const std::int64_t most = (std::int64_t(1) << 30) - 1;
  const auto in_range = [&](std::int64_t x, std::int64_t least) { return x >= least && x <= most; };
  require(in_range(o.stride_y, 1) && in_range(o.stride_x, 1),
          [&] { return say("the stride is " + pair(o.stride_y, o.stride_x) + ", at least 1 wanted, below 2^30"); });
  require(in_range(o.padding_y, 0) && in_range(o.padding_x, 0),
          [&] { return say("the padding is " + pair(o.padding_y, o.padding_x) + ", at least 0 wanted, below 2^30"); });
  require(in_range(o.dilation_y, 1) && in_range(o.dilation_x, 1) &&
              in_range(o.dilation_y * (filters.height() - 1), 0) && in_range(o.dilation_x * (filters.width() - 1), 0),
          [&] {
            return say("the dilation is " + pair(o.dilation_y, o.dilation_x) + " for " +
                       pair(filters.height(), filters.width()) + " taps, at least 1 wanted, windows below 2^30");
          });
  require(o.groups >= 1 && in.channels() % o.groups == 0 && filters.images() % o.groups == 0, [&] {
    return say("groups is " + detail::text::of(o.groups) + ", the input has " + detail::text::of(in.channels()) +
               " channels, there are " + detail::text::of(filters.images()) + " filters: it must divide both");
  });
  require(filters.channels() == in.channels() / o.groups, [&] {
    return say("filters have " + detail::text::of(filters.channels()) + " channels, a group of the input has " +
               detail::text::of(in.channels() / o.groups));
  });
  const std::int64_t taps = filters.height() * filters.width();
  require(filters.channels() == 0 || taps <= (std::int64_t(1) << 31) / filters.channels() - 1, [&] {
    return say("a filter has " + pair(filters.height(), filters.width()) + " x " +
               detail::text::of(filters.channels()) + " elements, fewer than 2^31 wanted");
  });
  const std::int64_t height = windows_in(in.height(), o.padding_y, filters.height(), o.dilation_y, o.stride_y);
  const std::int64_t width = windows_in(in.width(), o.padding_x, filters.width(), o.dilation_x, o.stride_x);
  require(out.images() == in.images() && out.height() == height && out.width() == width &&
              out.channels() == filters.images(),
          [&] {
            return say("the output is " + shape_of(out) + " (images, height, width, channels), wanted is " +
                       shape_of(in.images(), height, width, filters.images()));
          });
  const auto apart = [&](std::int64_t stride, std::int64_t extent) { return stride != 0 || extent <= 1; };
  require(out.empty() || (apart(out.image_stride(), out.images()) && apart(out.row_stride(), out.height()) &&
                          apart(out.col_stride(), out.width()) && apart(out.channel_stride(), out.channels())),
          [&] { return say("elements of the output share memory, a stride is 0"); });
  require(!detail::may_meet(out, in) && !detail::may_meet(out, filters),
          [&] { return say("the output overlaps the input or the filters"); });
}

template <class A, class T, class TC, class Epilogue>
void layer_by_definition(const layer<T, TC, Epilogue>& l) {
  for (std::int64_t n = 0; n < l.out.images(); ++n)
    for (std::int64_t y = 0; y < l.out.height(); ++y)
      for (std::int64_t x = 0; x < l.out.width(); ++x)
        for (std::int64_t f = 0; f < l.out.channels(); ++f) {
          A sum[1][1] = {};
          detail::add_windows(l, window_of(l, n, y, x), f / l.group_filters(), f, 1, sum);
          l.out(n, y, x, f) = l.result(sum[0][0], f);
        }
}

/// The windows of some pixels of a row of the output, as rows of a matrix, for one group.
template <class T, class TC, class Epilogue>
void gather_windows(const layer<T, TC, Epilogue>& l, std::int64_t image, std::int64_t y, std::int64_t x,
                    std::int64_t count, std::int64_t first_channel, std::vector<T>& windows) {
  const std::int64_t channels = l.group_channels();
  windows.assign(static_cast<std::size_t>(count * l.k()), T{});
  T* to = windows.data();
  for (std::int64_t i = 0; i < count; ++i) {
    const layer_window at = window_of(l, image, y, x + i);
    for (int r = 0; r < static_cast<int>(l.filters.height()); ++r)
      for (int s = 0; s < static_cast<int>(l.filters.width()); ++s, to += channels) {
        const int from_y = at.y + r * l.dilation_y, from_x = at.x + s * l.dilation_x;
        if (from_y < 0 || from_y >= l.in.height() || from_x < 0 || from_x >= l.in.width()) continue;
        for (std::int64_t c = 0; c < channels; ++c) to[c] = l.in(image, from_y, from_x, first_channel + c);
      }
  }
}

/// Rows of the output in parallel: windows to a buffer, then a product with the filters.
template <class A, class T, class TC, class Epilogue>
void layer_on_cores(const host_policy& where, const layer<T, TC, Epilogue>& l) {
  // The filters with k contiguous in the order of the windows, a row for each.
  std::vector<T> rows(static_cast<std::size_t>(l.filters.images() * l.k()));
  T* to = rows.data();
  for (std::int64_t f = 0; f < l.filters.images(); ++f)
    for (std::int64_t r = 0; r < l.filters.height(); ++r)
      for (std::int64_t s = 0; s < l.filters.width(); ++s)
        for (std::int64_t c = 0; c < l.group_channels(); ++c) *to++ = l.filters(f, r, s, c);
  const std::int64_t filters = l.group_filters();
  const std::int64_t piece = min(l.out.width(), max(std::int64_t(16), std::int64_t(1 << 18) / max(l.k(), 1)));
  const std::int64_t pieces = ceil_div(l.out.width(), piece);
  host_loop::parallel_for(where, l.out.images() * l.out.height() * pieces, [&](std::int64_t task) {
    const std::int64_t line = task / pieces, x = task % pieces * piece, count = min(piece, l.out.width() - x);
    const std::int64_t image = line / l.out.height(), y = line % l.out.height();
    std::vector<T> windows;
    for (std::int64_t group = 0; group < l.groups; ++group) {
      gather_windows(l, image, y, x, count, group * l.group_channels(), windows);
      const matrix_view<const T> a(windows.data(), count, std::int64_t(l.k()));
      const matrix_view<const T> b(rows.data() + group * filters * l.k(), filters, std::int64_t(l.k()));
      const matrix_view<TC> c(&l.out(image, y, x, group * filters), count, filters, l.out.col_stride(),
                              l.out.channel_stride());
      pmpp::gemm(host_policy{1}, 1, a, transposed(b), 0, c,
                 gemm_options{filter_epilogue<Epilogue>{l.epilogue, group * filters}});
    }
  });
}

}  // namespace detail

/// A convolution layer, forward.
///
/// \param in       images x height x width x channels; any strides that are not negative, any alignment; visible to
///                 `where`. float, double, half or bfloat16.
/// \param filters  one "image" for each filter: filters x taps x taps x (channels / groups).
/// \param out      images x height x width x filters, where height = (in.height + 2 padding - dilation (taps - 1) - 1) /
///                 stride + 1, rounded down, and width likewise. Elements of `in`, or those that sums have.
/// \param options  strides, padding, dilation, groups, epilogue: see layer_options.
/// Sums are float for half and bfloat16, else of the type of the elements, rounded once at the end. NaN and infinity
/// spread, but padding is never multiplied by what it would stand beside: it is zero times a tap, as in the formula.
/// `out` overlaps neither input. The same bits on every run; on host also for any number of threads.
/// Asynchronous on a GPU; may be captured. host allocates the windows of a row for each task.
/// Scratch: none if channels lie next to each other in multiples of 16 bytes; else a copy of images and filters where they
/// do, if a group has that many. Where there are few tiles, a sum for each element of the output and each part of k.
/// Cost: 2 * pixels * filters * taps * channels / groups operations; one launch, one more for copies, one for parts.
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap; cuda_error.
/// Source: PMPP ch. 16; Chetlur et al., "cuDNN", 2014. Example: test/convolution_layer.cpp.
template <layer_tuning Tuning = tuned<layer_tuning>, execution_policy P, class TA, class TB, class TC,
          class Epilogue = no_epilogue>
requires std::is_same_v<std::remove_const_t<TA>, std::remove_const_t<TB>>
void convolution_layer(const P& where, const channels_view<TA>& in, const channels_view<TB>& filters,
                       const channels_view<TC>& out, const layer_options<Epilogue>& options = {}) {
  using T = std::remove_const_t<TA>;
  using A = detail::gemm_sum<T, T>;
  static_assert(std::is_floating_point_v<T> || detail::is_two_byte_float<T>,
                "pmpp::convolution_layer: elements are float, double, half or bfloat16");
  static_assert(!std::is_const_v<TC>, "pmpp::convolution_layer: the elements of the output are const");
  detail::check_layer<T, TC, Epilogue>(in, filters, out, options);
  if (out.empty()) return;
  const auto whole = [](std::int64_t x) { return static_cast<int>(x); };
  const detail::layer<T, TC, Epilogue> l{in,
                                         filters,
                                         out,
                                         whole(options.stride_y),
                                         whole(options.stride_x),
                                         whole(options.padding_y),
                                         whole(options.padding_x),
                                         whole(options.dilation_y),
                                         whole(options.dilation_x),
                                         options.groups,
                                         detail::channels_in_pairs(out) && (out.channels() / options.groups) % 2 == 0,
                                         options.epilogue};
  if constexpr (std::is_same_v<P, seq_policy>) {
    detail::layer_by_definition<A>(l);
  } else if constexpr (std::is_same_v<P, host_policy>) {
    detail::layer_on_cores<A>(where, l);
  } else {
    detail::check_reachable(where, "convolution_layer", in.data());
    detail::check_reachable(where, "convolution_layer", filters.data());
    detail::check_reachable(where, "convolution_layer", out.data());
    detail::layer_on_blocks<Tuning == layer_tuning{} ? layer_tuning_for<T>() : Tuning, A>(where, l);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
