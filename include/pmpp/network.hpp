// SPDX-License-Identifier: Apache-2.0
//
// What a network is trained with besides products and convolution layers.
//
//   softmax(device, in, out), log_softmax(device, in, out)             // of each row of a matrix
//   cross_entropy(device, logits, labels, losses)                      // of each row, and its gradient
//   cross_entropy_gradient(device, logits, labels, gradient, scale)
//   max_pool(device, in, out, window), average_pool(...)               // of images, and their gradients
//   max_pool_gradient(device, in, of_out, of_in, window), average_pool_gradient(device, of_out, of_in, window)
//   layer_input_gradient(device, of_out, filters, of_in, options)      // the gradients of convolution_layer
//   layer_filter_gradient(device, in, of_out, of_filters, options)
//
// Rows are read once, and written from registers (network/rows.hpp). Gradients are gathered, not
// scattered: no atomics, the same bits on every run (network/pixels.hpp, network/filters.hpp). Sums are float for half and bfloat16,
// double for double. One launch each, no scratch, asynchronous on a GPU, may be captured.
//
// The gradients of layers are plain loops with a few sums in registers: for small networks and as a reference, not at the
// rate of tensor cores. (PMPP ch. 16, 5th edition ch. 19.)
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <pmpp/convolution_layer.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/network/filters.hpp>
#include <pmpp/network/pixels.hpp>
#include <pmpp/network/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Calls task(i) for i below `count`, in order or on the cores.
template <class P, class Task>
void on_host([[maybe_unused]] const P& where, std::int64_t count, const Task& task) {
  if constexpr (std::is_same_v<P, seq_policy>)
    for (std::int64_t i = 0; i < count; ++i) task(i);
  else
    host_loop::parallel_for(where, count, task);
}
/// Blocks of a grid whose blocks take `count` shares in turn.
template <class P>
std::int64_t blocks_for(const P& where, std::int64_t count) {
  return min(count, std::int64_t(16) * machine_of(where).multiprocessors);
}

template <class T>
inline constexpr bool is_network_element = std::is_floating_point_v<T> || is_two_byte_float<T>;

template <class P, class T, class Writer>
void write_rows(const char* function, const P& where, const matrix_view<const T>& in, const Writer& writer) {
  static_assert(is_network_element<T>, "pmpp: elements of a network are float, double, half or bfloat16");
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, in.data());
    using by_warp = rows_kernel<T, Writer, simt::warp_size>;
    using by_block = rows_kernel<T, Writer, 512>;
    if (in.cols() <= by_warp::at_once)
      pmpp::launch(where, detail::blocks_for(where, ceil_div(in.rows(), std::int64_t(by_warp::rows))), by_warp{}, in,
                   writer);
    else
      pmpp::launch(where, detail::blocks_for(where, in.rows()), by_block{}, in, writer);
  } else {
    detail::on_host(where, in.rows(), [&](std::int64_t i) { detail::write_row(in, writer, i); });
  }
}

inline text in_call(const char* function, const char* what) { return detail::text("pmpp::") + function + ": " + what; }

/// Throws unless both have the same shape and are there; whether there is something to do.
template <class T, class U>
bool check_rows(const char* function, const matrix_view<const T>& in, const matrix_view<U>& out, bool may_be_same) {
  require(in.rows() == out.rows() && in.cols() == out.cols(), [&] {
    return detail::in_call(function, "the input is ") + detail::text::of(in.rows()) + " x " +
           detail::text::of(in.cols()) + ", so the output must be too, but is " + detail::text::of(out.rows()) + " x " +
           detail::text::of(out.cols());
  });
  if (in.empty()) return false;
  require(in.data() != nullptr && out.data() != nullptr,
          [&] { return detail::in_call(function, in.data() == nullptr ? "the input is null" : "the output is null"); });
  const bool same = in.data() == out.data() && in.row_stride() == out.row_stride() &&
                    in.col_stride() == out.col_stride() && may_be_same;
  require(same || !detail::may_meet(in, matrix_view<const U>(out)),
          [&] { return detail::in_call(function, "input and output overlap"); });
  return true;
}
template <class L>
void check_labels(const char* function, std::int64_t rows, std::int64_t labels) {
  static_assert(std::is_integral_v<L>, "pmpp: labels are integers");
  require_room(function, "labels", labels, rows);
}

/// out(n, y, x, c) = f.make(n, y, x, c) for all elements.
template <class P, class T, class F>
void make_elements(const P& where, const channels_view<T>& out, const F& f) {
  const std::int64_t count = out.images() * out.height() * out.width() * out.channels();
  if constexpr (kernel_execution<P>) {
    constexpr int wide = 16 / sizeof(T);
    const auto with = [&]<int V>(std::integral_constant<int, V>) {
      using kernel = elements_kernel<T, F, V>;
      const std::int64_t blocks = ceil_div(count / V, std::int64_t(kernel::threads));
      pmpp::launch(where, detail::blocks_for(where, blocks), kernel{}, out, f);
    };
    if constexpr (!std::is_same_v<F, layer_input_gradient<T>>)
      if (detail::has_vectors<wide>(out) && f.template has_vectors<wide>())
        return with(std::integral_constant<int, wide>{});
    with(std::integral_constant<int, 1>{});
  } else {
    const std::int64_t piece = 4096;
    detail::on_host(where, ceil_div(count, piece), [&](std::int64_t task) {
      vector_walk<1> walk(out, task * piece, 1);
      for (std::int64_t i = task * piece; i < min(count, (task + 1) * piece); ++i, walk.next()) walk.make(out, f);
    });
  }
}

template <class T>
bool same_shape(const channels_view<const T>& a, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
  return a.images() == n && a.height() == h && a.width() == w && a.channels() == c;
}

/// Throws for bad windows, a pooled batch of another shape than `pooled` should have, null pointers, overlap with what is written.
template <class T, class U>
void check_pool(const char* function, const channels_view<const T>& in, const channels_view<const T>& pooled,
                const channels_view<U>& written, const channels_view<const T>& read, const pool_window& w) {
  require(w.size_y >= 1 && w.size_x >= 1 && w.stride_y >= 1 && w.stride_x >= 1 && w.padding_y >= 0 &&
              w.padding_x >= 0 && w.padding_y < w.size_y && w.padding_x < w.size_x,
          [&] {
            return detail::in_call(function, "a window of ") + detail::text::of(w.size_y) + " x " +
                   detail::text::of(w.size_x) + " at a stride of " + detail::text::of(w.stride_y) + " x " +
                   detail::text::of(w.stride_x) + " with a padding of " + detail::text::of(w.padding_y) + " x " +
                   detail::text::of(w.padding_x) +
                   "; sizes and strides are at least 1, a padding is less than the size";
          });
  const std::int64_t height = detail::windows_in(in.height(), w.padding_y, w.size_y, 1, w.stride_y);
  const std::int64_t width = detail::windows_in(in.width(), w.padding_x, w.size_x, 1, w.stride_x);
  require(detail::same_shape(pooled, in.images(), height, width, in.channels()), [&] {
    return detail::in_call(function, "the windows are ") + detail::shape_of(pooled) +
           " (images, height, width, channels), wanted is " +
           detail::shape_of(in.images(), height, width, in.channels());
  });
  require(written.empty() || (written.data() != nullptr && (read.empty() || read.data() != nullptr)), [&] {
    return detail::in_call(function, written.data() == nullptr ? "the output is null" : "an input is null");
  });
  require(!detail::may_meet(written, read), [&] { return detail::in_call(function, "input and output overlap"); });
}

template <class Epilogue>
layer_shape shape_of_layer(const layer_options<Epilogue>& o) {
  static_assert(std::is_same_v<Epilogue, no_epilogue>, "pmpp: the gradient of a layer's epilogue is the caller's");
  return {o.stride_y, o.stride_x, o.padding_y, o.padding_x, o.dilation_y, o.dilation_x, o.groups};
}

template <class T>
using read_only = channels_view<const std::remove_const_t<T>>;

}  // namespace detail

/// Softmax of each row: out(i, j) = exp(in(i, j)) / the sum of exp(in(i, ...)), without overflow.
///
/// \param in   rows x cols, any strides; float, double, half or bfloat16; visible to `where`
/// \param out  as large; of any of these types; in place (the same view) or apart
/// A row of -infinity alone or with a NaN gives NaN; +infinity does in its place. The same bits on every run. Asynchronous on a GPU; may be captured.
/// No scratch. Cost: in read once from memory, out written once; one launch.
/// \throws std::invalid_argument for shapes that differ, null pointers, overlap; cuda_error.
/// Source: PMPP, 5th edition, ch. 19. Example: test/network.cpp.
template <execution_policy P, class TI, class TO>
void softmax(const P& where, const matrix_view<TI>& in, const matrix_view<TO>& out) {
  using T = std::remove_const_t<TI>;
  const matrix_view<const T> from(in);
  if (!detail::check_rows("softmax", from, out, sizeof(T) == sizeof(TO))) return;
  detail::write_rows("softmax", where, from, detail::write_softmax<TO>{out});
}

/// The logarithm of softmax: out(i, j) = in(i, j) - log(sum of exp(in(i, ...))). All else as softmax.
template <execution_policy P, class TI, class TO>
void log_softmax(const P& where, const matrix_view<TI>& in, const matrix_view<TO>& out) {
  using T = std::remove_const_t<TI>;
  const matrix_view<const T> from(in);
  if (!detail::check_rows("log_softmax", from, out, sizeof(T) == sizeof(TO))) return;
  detail::write_rows("log_softmax", where, from, detail::write_log_softmax<TO>{out});
}

/// How surprising each label is: losses[i] = -log_softmax(logits)(i, labels[i]).
///
/// \param logits  rows x classes, as for softmax
/// \param labels  a contiguous range of integers, one a row; a row whose label is no class is left out: its loss is 0
/// \param losses  a contiguous range of float (of double for doubles), one a row; none of the above
/// All else as softmax. \throws std::length_error if labels or losses are too few.
template <execution_policy P, class TI, contiguous_for<P> Labels, contiguous_for<P> Losses>
void cross_entropy(const P& where, const matrix_view<TI>& logits, const Labels& labels, Losses&& losses) {
  using T = std::remove_const_t<TI>;
  using L = std::remove_const_t<element_of<const Labels>>;
  const auto of = detail::as_span(labels);
  const auto out = detail::as_span(losses);
  static_assert(std::is_same_v<element_of<std::remove_reference_t<Losses>>, detail::network_sum<T>>,
                "pmpp: losses are float, of doubles double");
  detail::check_labels<L>("cross_entropy", logits.rows(), static_cast<std::int64_t>(of.size()));
  require_room("cross_entropy", "losses", static_cast<std::int64_t>(out.size()), logits.rows());
  if (logits.rows() == 0) return;
  const matrix_view<const T> in(logits);
  require(in.data() != nullptr || in.empty(), [] { return detail::in_call("cross_entropy", "the logits are null"); });
  detail::write_rows("cross_entropy", where, in, detail::write_loss<T, L>{in, of.data(), out.data()});
}

/// The gradient of scale * (sum of the losses) with respect to the logits: (softmax - 1 at the label) * scale; zero for rows
/// that are left out. For the mean of n losses scale is 1.0 / n. In place (the same view) or apart. All else as cross_entropy.
template <execution_policy P, class TI, contiguous_for<P> Labels, class TO>
void cross_entropy_gradient(const P& where, const matrix_view<TI>& logits, const Labels& labels,
                            const matrix_view<TO>& gradient, double scale = 1) {
  using T = std::remove_const_t<TI>;
  using L = std::remove_const_t<element_of<const Labels>>;
  const auto of = detail::as_span(labels);
  detail::check_labels<L>("cross_entropy_gradient", logits.rows(), static_cast<std::int64_t>(of.size()));
  const matrix_view<const T> in(logits);
  if (!detail::check_rows("cross_entropy_gradient", in, gradient, sizeof(T) == sizeof(TO))) return;
  static_assert(std::is_same_v<T, TO>, "pmpp: a gradient has elements of the type of what it is of");
  detail::write_rows(
      "cross_entropy_gradient", where, in,
      detail::write_loss_gradient<T, L>{of.data(), gradient, static_cast<detail::network_sum<T>>(scale)});
}

/// The largest element of each window of each channel of each image.
///
/// \param in      images x height x width x channels, any strides that are not negative; visible to `where`
/// \param out     images x windows down x windows across x channels, where windows = (extent + 2 padding - size) / stride + 1
/// \param window  size, stride and padding
/// A NaN is not larger than anything. Asynchronous on a GPU; may be captured. No scratch. Cost: in read once for each window that
/// holds it, mostly from caches; out written once; one launch.
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap; cuda_error.
/// Source: PMPP, 5th edition, ch. 19. Example: test/network.cpp.
template <execution_policy P, class TI, class TO>
void max_pool(const P& where, const channels_view<TI>& in, const channels_view<TO>& out,
              const pool_window& window = {}) {
  const detail::read_only<TI> from(in);
  detail::check_pool("max_pool", from, detail::read_only<TO>(out), out, from, window);
  if (!out.empty()) detail::make_elements(where, out, detail::largest_of_window<TO>{{from, window}});
}
/// The mean of the elements of each window; what lies in the padding is not counted. All else as max_pool.
template <execution_policy P, class TI, class TO>
void average_pool(const P& where, const channels_view<TI>& in, const channels_view<TO>& out,
                  const pool_window& window = {}) {
  const detail::read_only<TI> from(in);
  detail::check_pool("average_pool", from, detail::read_only<TO>(out), out, from, window);
  if (!out.empty()) detail::make_elements(where, out, detail::mean_of_window<TO>{{from, window}});
}

/// The gradient of max_pool: each window's gradient goes to the first, by rows, of its largest elements.
/// \param in      what max_pool was given, \param of_out the gradient of what it gave, \param of_in written, as large as `in`
/// All else as max_pool.
template <execution_policy P, class TI, class TG, class TO>
void max_pool_gradient(const P& where, const channels_view<TI>& in, const channels_view<TG>& of_out,
                       const channels_view<TO>& of_in, const pool_window& window = {}) {
  const detail::read_only<TI> from(in);
  const detail::read_only<TG> gradient(of_out);
  detail::check_pool("max_pool_gradient", detail::read_only<TO>(of_in), gradient, of_in, gradient, window);
  detail::check_pool("max_pool_gradient", from, gradient, of_in, from, window);
  require(detail::same_shape(from, of_in.images(), of_in.height(), of_in.width(), of_in.channels()), [&] {
    return detail::in_call("max_pool_gradient", "the input is ") + detail::shape_of(from) + ", its gradient " +
           detail::shape_of(of_in);
  });
  if (!of_in.empty()) detail::make_elements(where, of_in, detail::pool_gradient<TO, true>{{from, window}, gradient});
}
/// The gradient of average_pool: each element of a window gets an equal share. All else as max_pool.
template <execution_policy P, class TG, class TO>
void average_pool_gradient(const P& where, const channels_view<TG>& of_out, const channels_view<TO>& of_in,
                           const pool_window& window = {}) {
  const detail::read_only<TG> gradient(of_out);
  const detail::read_only<TO> shape(of_in);
  detail::check_pool("average_pool_gradient", shape, gradient, of_in, gradient, window);
  if (!of_in.empty()) detail::make_elements(where, of_in, detail::pool_gradient<TO, false>{{shape, window}, gradient});
}

/// The gradient of a convolution_layer with respect to its input.
///
/// \param of_out   the gradient of its output: images x height x width x filters
/// \param filters  as for convolution_layer
/// \param of_in    written: images x height x width x channels, the shape of the input
/// \param options  those of the layer, without an epilogue: the gradient of that is the caller's
/// The same bits on every run. Asynchronous on a GPU; may be captured. No scratch; one launch. A thread makes one element.
/// \throws as convolution_layer. Source: PMPP ch. 16. Example: test/network.cpp.
template <execution_policy P, class TG, class TB, class T>
void layer_input_gradient(const P& where, const channels_view<TG>& of_out, const channels_view<TB>& filters,
                          const channels_view<T>& of_in, const layer_options<>& options = {}) {
  const detail::read_only<TG> gradient(of_out);
  const detail::read_only<TB> taps(filters);
  detail::check_layer<T, TG, no_epilogue>(channels_view<const T>(of_in), taps, of_out, options);
  require(!detail::may_meet(of_in, taps),
          [] { return detail::in_call("layer_input_gradient", "the gradient overlaps the filters"); });
  if (of_in.empty()) return;
  detail::make_elements(where, of_in, detail::layer_input_gradient<T>{gradient, taps, detail::shape_of_layer(options)});
}

/// The gradient of a convolution_layer with respect to its filters: summed over all images.
/// \param in  the layer's input, \param of_out the gradient of its output, \param of_filters written, of the filters' shape
/// All else as layer_input_gradient. A block makes four filters times four channels of a tap.
template <execution_policy P, class TA, class TG, class T>
void layer_filter_gradient(const P& where, const channels_view<TA>& in, const channels_view<TG>& of_out,
                           const channels_view<T>& of_filters, const layer_options<>& options = {}) {
  const detail::read_only<TA> from(in);
  const detail::read_only<TG> gradient(of_out);
  detail::check_layer<T, TG, no_epilogue>(from, channels_view<const T>(of_filters), of_out, options);
  require(!detail::may_meet(of_filters, from),
          [] { return detail::in_call("layer_filter_gradient", "the gradient overlaps the input"); });
  if (of_filters.empty()) return;
  const detail::filter_gradient<T> p{from, gradient, of_filters, detail::shape_of_layer(options)};
  if constexpr (kernel_execution<P>) {
    using kernel = detail::filter_gradient_kernel<T>;
    pmpp::launch(where, kernel::blocks(p), kernel{}, p);
  } else {
    detail::on_host(where, of_filters.images(), [&](std::int64_t f) { detail::make_filter_gradient(p, f); });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
