// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a convolution layer with respect to its filters (network.hpp): for each tap, filter and channel a sum over
// all pixels of the output of their gradient times the element that lies under the tap.
//
//   A block has one tap, and four filters times four channels of a group. Its threads share the pixels out; a thread reads four
//   gradients and four elements for sixteen products. Shuffles and one pass through shared memory add up what threads have, in
//   one order: the same bits on every run. Where a layer has few filters and channels there are few blocks, and most of a GPU waits.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/reduce.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/network/pixels.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class T>
struct filter_gradient {
  channels_view<const T> in, of_out;
  channels_view<T> of_filters;
  layer_shape s;

  PMPP_HOST_DEVICE std::int64_t pixels() const { return of_out.images() * of_out.height() * of_out.width(); }
  PMPP_HOST_DEVICE std::int64_t group_filters() const { return of_filters.images() / s.groups; }

  /// Calls f(image, y, x of the output, y, x of the input) if pixel i has an element under the tap.
  template <class F>
  PMPP_HOST_DEVICE void at_pixel(std::int64_t i, std::int64_t tap_y, std::int64_t tap_x, const F& f) const {
    const std::int64_t w = of_out.width(), h = of_out.height(), n = i / (w * h), y = i / w % h, x = i % w;
    const std::int64_t v = y * s.stride_y - s.padding_y + tap_y * s.dilation_y;
    const std::int64_t u = x * s.stride_x - s.padding_x + tap_x * s.dilation_x;
    if (v >= 0 && v < in.height() && u >= 0 && u < in.width()) f(n, y, x, v, u);
  }
};

template <class T>
struct filter_gradient_kernel {
  static constexpr int threads = 256, side = 4;
  using A = network_sum<T>;

  struct shared {
    A warp[threads / simt::warp_size][side * side];
  };

  static std::int64_t blocks(const filter_gradient<T>& p) {
    return p.of_filters.height() * p.of_filters.width() * p.s.groups * ceil_div(p.group_filters(), std::int64_t(side)) *
           ceil_div(p.of_filters.channels(), std::int64_t(side));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const filter_gradient<T>& p) const {
    const std::int64_t channels = p.of_filters.channels(), filters = p.group_filters();
    const std::int64_t across = ceil_div(channels, std::int64_t(side)), down = ceil_div(filters, std::int64_t(side));
    std::int64_t rest = block.index();
    const std::int64_t c = rest % across * side;
    rest /= across;
    const std::int64_t f = rest % down * side;
    rest /= down;
    const std::int64_t group = rest % p.s.groups, tap = rest / p.s.groups;
    const std::int64_t tap_y = tap / p.of_filters.width(), tap_x = tap % p.of_filters.width();

    A sums[side][side]{};
    for (std::int64_t i = block.thread(); i < p.pixels(); i += threads)
      p.at_pixel(i, tap_y, tap_x, [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t v, std::int64_t u) {
        A element[side];
        for (int k = 0; k < side; ++k)
          element[k] = c + k < channels ? static_cast<A>(p.in(n, v, u, group * channels + c + k)) : A(0);
        for (int r = 0; r < side; ++r) {
          if (f + r >= filters) continue;
          const A gradient = static_cast<A>(p.of_out(n, y, x, group * filters + f + r));
          for (int k = 0; k < side; ++k) sums[r][k] += gradient * element[k];
        }
      });
    for (int r = 0; r < side; ++r)
      for (int k = 0; k < side; ++k) {
        const A of_warp = block::warp_reduce(block, sums[r][k], plus{});
        if (block.lane() == 0) memory.warp[block.warp()][r * side + k] = of_warp;
      }
    block.sync();
    if (block.thread() >= side * side) return;
    const int r = block.thread() / side, k = block.thread() % side;
    if (f + r >= filters || c + k >= channels) return;
    A sum = 0;
    for (int w = 0; w < threads / simt::warp_size; ++w) sum += memory.warp[w][block.thread()];
    p.of_filters(group * filters + f + r, tap_y, tap_x, c + k) = static_cast<T>(sum);
  }
};

/// All taps and channels of one filter, on the calling thread.
template <class T>
void make_filter_gradient(const filter_gradient<T>& p, std::int64_t filter) {
  using A = network_sum<T>;
  const std::int64_t channels = p.of_filters.channels(), group = filter / p.group_filters();
  for (std::int64_t v = 0; v < p.of_filters.height(); ++v)
    for (std::int64_t u = 0; u < p.of_filters.width(); ++u)
      for (std::int64_t c = 0; c < channels; ++c) {
        A sum = 0;
        for (std::int64_t i = 0; i < p.pixels(); ++i)
          p.at_pixel(i, v, u,
                     [&](std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t in_y, std::int64_t in_x) {
                       sum += static_cast<A>(p.of_out(n, y, x, filter)) *
                              static_cast<A>(p.in(n, in_y, in_x, group * channels + c));
                     });
        p.of_filters(filter, v, u, c) = static_cast<T>(sum);
      }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
