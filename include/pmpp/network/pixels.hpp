// SPDX-License-Identifier: Apache-2.0
//
// Pooling and the gradients of a convolution layer with respect to its input (network.hpp): each result by itself, of what is
// around it. Gradients are gathered: an element asks each window that holds it, so that nothing is added by atomics and bits
// are the same on every run. A thread makes one element; neighbouring threads have neighbours in memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/network/rows.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// The windows of a pool. Padding has no elements: it never is the largest, and is not counted by an average.
struct pool_window {
  std::int64_t size_y = 2, size_x = 2;
  std::int64_t stride_y = 2, stride_x = 2;    ///< from window to window
  std::int64_t padding_y = 0, padding_x = 0;  ///< rows and columns on each side; less than the size
};

namespace detail {

/// Indices [first, last).
struct index_range {
  std::int64_t first, last;
};
/// The pixels of window w, along one axis.
PMPP_HOST_DEVICE inline index_range pixels_of(std::int64_t w, std::int64_t extent, std::int64_t size,
                                              std::int64_t stride, std::int64_t padding) {
  const std::int64_t begin = w * stride - padding;
  return {max(std::int64_t(0), begin), min(extent, begin + size)};
}
/// The windows that hold pixel p.
PMPP_HOST_DEVICE inline index_range windows_of(std::int64_t p, std::int64_t windows, std::int64_t size,
                                               std::int64_t stride, std::int64_t padding) {
  const std::int64_t before = p + padding - size;  // the last window that ends before p begins here, or earlier
  return {before < 0 ? 0 : before / stride + 1, min(windows, (p + padding) / stride + 1)};
}

/// A pool of `in`.
template <class T>
struct pool_shape {
  channels_view<const T> in;
  pool_window window;

  PMPP_HOST_DEVICE index_range rows(std::int64_t y) const {
    return detail::pixels_of(y, in.height(), window.size_y, window.stride_y, window.padding_y);
  }
  PMPP_HOST_DEVICE index_range cols(std::int64_t x) const {
    return detail::pixels_of(x, in.width(), window.size_x, window.stride_x, window.padding_x);
  }
  /// The first of the largest elements of a window: y * width + x.
  PMPP_HOST_DEVICE std::int64_t place_of_largest(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const index_range down = rows(y), across = cols(x);
    std::int64_t place = down.first * in.width() + across.first;
    A largest = static_cast<A>(in(n, down.first, across.first, c));
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u)
        if (const A value = static_cast<A>(in(n, v, u, c)); value > largest) {
          largest = value;
          place = v * in.width() + u;
        }
    return place;
  }
};

template <class T>
struct largest_of_window {
  pool_shape<T> pool;
  PMPP_HOST_DEVICE T operator()(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t place = pool.place_of_largest(n, y, x, c);
    return pool.in(n, place / pool.in.width(), place % pool.in.width(), c);
  }
};
template <class T>
struct mean_of_window {
  pool_shape<T> pool;
  PMPP_HOST_DEVICE T operator()(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const index_range down = pool.rows(y), across = pool.cols(x);
    A sum = 0;
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u) sum += static_cast<A>(pool.in(n, v, u, c));
    return static_cast<T>(sum / static_cast<A>((down.last - down.first) * (across.last - across.first)));
  }
};

/// What an element of a pool's input gets of the windows that hold it. Largest: of those whose largest it is, all; else of
/// each an equal share.
template <class T, bool Largest>
struct pool_gradient {
  pool_shape<T> pool;  ///< `in` has a shape alone where it is not read
  channels_view<const T> of_windows;
  PMPP_HOST_DEVICE T operator()(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const pool_window& w = pool.window;
    const index_range down = detail::windows_of(y, of_windows.height(), w.size_y, w.stride_y, w.padding_y);
    const index_range across = detail::windows_of(x, of_windows.width(), w.size_x, w.stride_x, w.padding_x);
    A sum = 0;
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u) {
        const A part = static_cast<A>(of_windows(n, v, u, c));
        if constexpr (Largest) {
          if (pool.place_of_largest(n, v, u, c) == y * pool.in.width() + x) sum += part;
        } else {
          const index_range rows = pool.rows(v), cols = pool.cols(u);
          sum += part / static_cast<A>((rows.last - rows.first) * (cols.last - cols.first));
        }
      }
    return static_cast<T>(sum);
  }
};

/// The shape of a convolution layer.
struct layer_shape {
  std::int64_t stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x, groups;
};

/// What an element of a layer's input gets: of each window, by the tap that it lies under there, of all filters of its group.
template <class T>
struct layer_input_gradient {
  channels_view<const T> of_out, filters;
  layer_shape s;
  PMPP_HOST_DEVICE T operator()(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const std::int64_t channels = filters.channels(), of_group = filters.images() / s.groups, group = c / channels;
    A sum = 0;
    for (std::int64_t v = 0; v < filters.height(); ++v) {
      const std::int64_t down = y + s.padding_y - v * s.dilation_y;
      if (down < 0 || down % s.stride_y != 0 || down / s.stride_y >= of_out.height()) continue;
      for (std::int64_t u = 0; u < filters.width(); ++u) {
        const std::int64_t across = x + s.padding_x - u * s.dilation_x;
        if (across < 0 || across % s.stride_x != 0 || across / s.stride_x >= of_out.width()) continue;
        for (std::int64_t f = group * of_group; f < (group + 1) * of_group; ++f)
          sum += static_cast<A>(of_out(n, down / s.stride_y, across / s.stride_x, f)) *
                 static_cast<A>(filters(f, v, u, c - group * channels));
      }
    }
    return static_cast<T>(sum);
  }
};

/// out(n, y, x, c) = f(n, y, x, c), element `i` of all: channels fastest if they lie next to each other, else pixels.
template <class T, class F>
PMPP_HOST_DEVICE void make_element(const channels_view<T>& out, const F& f, std::int64_t i) {
  const std::int64_t h = out.height(), w = out.width(), c = out.channels();
  if (out.channel_stride() == 1)
    out(i / (h * w * c), i / (w * c) % h, i / c % w, i % c) = f(i / (h * w * c), i / (w * c) % h, i / c % w, i % c);
  else
    out(i / (h * w * c), i / w % h, i % w, i / (h * w) % c) = f(i / (h * w * c), i / w % h, i % w, i / (h * w) % c);
}

template <class T, class F>
struct elements_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const channels_view<T>& out, const F& f) const {
    const std::int64_t n = out.images() * out.height() * out.width() * out.channels(), step = block.count() * threads;
    for (std::int64_t i = block.index() * threads + block.thread(); i < n; i += step) detail::make_element(out, f, i);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
