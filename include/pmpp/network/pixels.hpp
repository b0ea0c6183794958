// SPDX-License-Identifier: Apache-2.0
//
// Pooling and the gradients of a convolution layer with respect to its input (network.hpp): each result by itself, of what is
// around it. Gradients are gathered: an element asks each window that holds it, so that nothing is added by atomics and bits
// are the same on every run. A thread makes 16 bytes of adjacent channels where they lie so, else one element; neighbouring threads have
// neighbours in memory.
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
};

/// Whether V adjacent channels of any pixel can be read and written at once, V elements being 16 bytes.
template <int V, class T>
bool has_vectors(const channels_view<T>& v) {
  return v.channel_stride() == 1 && v.channels() % V == 0 && v.col_stride() % V == 0 && v.row_stride() % V == 0 &&
         v.image_stride() % V == 0 && reinterpret_cast<std::uintptr_t>(v.data()) % (V * sizeof(T)) == 0;
}
template <int V, class T>
struct alignas(V * sizeof(T)) channel_vector {
  T item[V];
};
/// Channels c, c + 1, ... of a pixel as numbers to compute with.
template <int V, class T>
PMPP_HOST_DEVICE channel_vector<V, network_sum<T>> channels_at(const channels_view<const T>& v, std::int64_t n,
                                                               std::int64_t y, std::int64_t x, std::int64_t c) {
  const auto from = *reinterpret_cast<const channel_vector<V, T>*>(&v(n, y, x, c));
  channel_vector<V, network_sum<T>> to;
  for (int k = 0; k < V; ++k) to.item[k] = static_cast<network_sum<T>>(from.item[k]);
  return to;
}

template <class T>
struct largest_of_window {
  pool_shape<T> pool;
  template <int V>
  bool has_vectors() const {
    return detail::has_vectors<V>(pool.in);
  }

  template <int V>
  PMPP_HOST_DEVICE channel_vector<V, T> make(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const index_range down = pool.rows(y), across = pool.cols(x);
    auto largest = detail::channels_at<V>(pool.in, n, down.first, across.first, c);
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u) {
        const auto value = detail::channels_at<V>(pool.in, n, v, u, c);
        for (int k = 0; k < V; ++k)
          if (value.item[k] > largest.item[k]) largest.item[k] = value.item[k];
      }
    channel_vector<V, T> out;
    for (int k = 0; k < V; ++k) out.item[k] = static_cast<T>(largest.item[k]);
    return out;
  }
};
template <class T>
struct mean_of_window {
  pool_shape<T> pool;
  template <int V>
  bool has_vectors() const {
    return detail::has_vectors<V>(pool.in);
  }

  template <int V>
  PMPP_HOST_DEVICE channel_vector<V, T> make(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const index_range down = pool.rows(y), across = pool.cols(x);
    A sum[V] = {};
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u) {
        const auto value = detail::channels_at<V>(pool.in, n, v, u, c);
        for (int k = 0; k < V; ++k) sum[k] += value.item[k];
      }
    const A count = static_cast<A>((down.last - down.first) * (across.last - across.first));
    channel_vector<V, T> out;
    for (int k = 0; k < V; ++k) out.item[k] = static_cast<T>(sum[k] / count);
    return out;
  }
};

/// What an element of a pool's input gets of the windows that hold it. Largest: of those whose first largest it is, all; else of
/// each an equal share.
template <class T, bool Largest>
struct pool_gradient {
  pool_shape<T> pool;  ///< `in` has a shape alone where it is not read
  channels_view<const T> of_windows;
  template <int V>
  bool has_vectors() const {
    return detail::has_vectors<V>(of_windows) && (!Largest || detail::has_vectors<V>(pool.in));
  }

  template <int V>
  PMPP_HOST_DEVICE channel_vector<V, T> make(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    using A = network_sum<T>;
    const pool_window& w = pool.window;
    const index_range down = detail::windows_of(y, of_windows.height(), w.size_y, w.stride_y, w.padding_y);
    const index_range across = detail::windows_of(x, of_windows.width(), w.size_x, w.stride_x, w.padding_x);
    A sum[V] = {};
    for (std::int64_t v = down.first; v < down.last; ++v)
      for (std::int64_t u = across.first; u < across.last; ++u) {
        const auto part = detail::channels_at<V>(of_windows, n, v, u, c);
        const index_range rows = pool.rows(v), cols = pool.cols(u);
        if constexpr (Largest) {
          auto largest = detail::channels_at<V>(pool.in, n, rows.first, cols.first, c);
          bool is_here[V];
          for (int k = 0; k < V; ++k) is_here[k] = rows.first == y && cols.first == x;
          for (std::int64_t q = rows.first; q < rows.last; ++q)
            for (std::int64_t p = cols.first; p < cols.last; ++p) {
              const auto value = detail::channels_at<V>(pool.in, n, q, p, c);
              for (int k = 0; k < V; ++k) {
                if (!(value.item[k] > largest.item[k])) continue;
                largest.item[k] = value.item[k];
                is_here[k] = q == y && p == x;
              }
            }
          for (int k = 0; k < V; ++k) sum[k] += is_here[k] ? part.item[k] : A(0);
        } else {
          const A count = static_cast<A>((rows.last - rows.first) * (cols.last - cols.first));
          for (int k = 0; k < V; ++k) sum[k] += part.item[k] / count;
        }
      }
    channel_vector<V, T> out;
    for (int k = 0; k < V; ++k) out.item[k] = static_cast<T>(sum[k]);
    return out;
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
  template <int V>
  PMPP_HOST_DEVICE channel_vector<V, T> make(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
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
    return {static_cast<T>(sum)};
  }
};

/// The places of vectors of V channels `first`, first + step, first + 2 step ... of all: four digits and their carries in place of
/// divisions. Channels are the fastest digit if they lie next to each other, else pixels.
template <int V>
class vector_walk {
public:
  template <class T>
  PMPP_HOST_DEVICE vector_walk(const channels_view<T>& v, std::int64_t first, std::int64_t step)
      : channels_last_(v.channel_stride() == 1),
        extent_{channels_last_ ? v.channels() / V : v.width(), channels_last_ ? v.width() : v.height(),
                channels_last_ ? v.height() : v.channels()} {
    split(first, at_);
    split(step, step_);
  }
  PMPP_HOST_DEVICE void next() {
    bool carry = false;
    for (int d = 0; d < 3; ++d) {
      at_[d] += step_[d] + carry;
      carry = at_[d] >= extent_[d];
      if (carry) at_[d] -= extent_[d];
    }
    at_[3] += step_[3] + carry;
  }
  /// out(n, y, x, c ...) = f.make(n, y, x, c).
  template <class T, class F>
  PMPP_HOST_DEVICE void make(const channels_view<T>& out, const F& f) const {
    const std::int64_t c = V * (channels_last_ ? at_[0] : at_[2]), x = channels_last_ ? at_[1] : at_[0],
                       y = channels_last_ ? at_[2] : at_[1];  // no index that is a variable: registers have none
    *reinterpret_cast<channel_vector<V, T>*>(&out(at_[3], y, x, c)) = f.template make<V>(at_[3], y, x, c);
  }

private:
  PMPP_HOST_DEVICE void split(std::int64_t i, std::int64_t (&digits)[4]) const {
    for (int d = 0; d < 3; ++d) {
      digits[d] = i % extent_[d];
      i /= extent_[d];
    }
    digits[3] = i;
  }
  bool channels_last_;
  std::int64_t extent_[3], at_[4], step_[4];
};

template <class T, class F, int V>
struct elements_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const channels_view<T>& out, const F& f) const {
    const std::int64_t n = out.images() * out.height() * out.width() * out.channels() / V,
                       step = block.count() * threads;
    const std::int64_t first = block.index() * threads + block.thread();
    vector_walk<V> walk(out, first, step);
    for (std::int64_t i = first; i < n; i += step, walk.next()) walk.make(out, f);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
