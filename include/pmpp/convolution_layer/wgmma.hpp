// SPDX-License-Identifier: Apache-2.0
//
// Layers of half and bfloat16 on the tensor cores of sm_90a (H100, H200): the kernel of gemm/warp_specialised.hpp, in which the copy
// unit looks up the windows of a tile of pixels: a k-tile of k is one tap and 128 bytes of channels.
//
// Channels last: pixels are rows of the output, of all images. Channels first: filters are, and pixels of an image are
// columns. A 1 x 1 layer of channels first is a product of matrices as it is.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What the producer has to know of a layer. Exchanged: windows are columns of the output, filters rows. Depth: channels
/// of 128 bytes.
template <bool Exchanged, int Depth = 64>
struct layer_windows {
  int width, height;     ///< of the output
  int channels, taps_x;  ///< of a filter
  int stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  /// One tap and `Depth` channels, for the windows of a tile from (image, y, x) on, and for its filters.
  struct k_tile {
    int image, y, x, filter;
    int first_channel = 0;  ///< of the images
    int channel = 0, s = 0, r = 0, tap = 0;

    __device__ void copy(const layer_windows& l, const simt::tile_map& a, const simt::tile_map& b, void* to_a,
                         void* to_b, simt::transaction_barrier& done) const {
      simt::copy_windows(Exchanged ? to_b : to_a, Exchanged ? b : a, done, first_channel + channel, x, y, image,
                         s * l.dilation_x, r * l.dilation_y);
      simt::copy_tile(Exchanged ? to_a : to_b, Exchanged ? a : b, done, channel, filter, tap);
    }
    /// Moves on by `count` k-tiles from the first.
    __device__ void skip(const layer_windows& l, int count) {
      const int of_tap = ceil_div(l.channels, Depth);
      channel = count % of_tap * Depth, tap = count / of_tap;
      s = tap % l.taps_x, r = tap / l.taps_x;
    }
    __device__ void advance(const layer_windows& l) {
      channel += Depth;
      if (channel < l.channels) return;
      channel = 0, ++tap;
      if (++s == l.taps_x) s = 0, ++r;
    }
  };

  __device__ k_tile first_k_tile(int image, int row, int col) const {
    const int pixel = Exchanged ? col : row, line = pixel / width;
    return {image + line / height, line % height * stride_y - padding_y, pixel % width * stride_x - padding_x,
            Exchanged ? row : col};
  }
#endif
};

/// What a product has for the epilogue of a layer.
template <class Epilogue>
auto product_epilogue(const Epilogue& epilogue) {
  if constexpr (std::is_invocable_v<Epilogue, float, std::int64_t>)
    return filter_epilogue<Epilogue>{epilogue, 0};
  else
    return epilogue;
}

/// The output as a matrix: a row for each pixel of all images; or, exchanged, a column for each of an image.
template <class T, class TC, class Epilogue>
gemm_target<TC> product_target(const layer<T, TC, Epilogue>& l, bool exchanged) {
  const std::int64_t filters = l.out.channels();
  if (exchanged)
    return {l.out.data(), filters, l.out.height() * l.out.width(), l.out.channel_stride(), 1, l.out.image_stride()};
  return {l.out.data(), l.pixels(), filters, pixel_stride(l.out), 1, 0};
}

/// Describes images and filters to TMA, for tiles of this many pixels and filters; false if it cannot read them.
template <class T, class TC, class Epilogue>
bool describe_layer(simt::tile_map& images, simt::tile_map& filters, const layer<T, TC, Epilogue>& l, int tile_pixels,
                    int tile_filters) {
  const std::int64_t taps = l.filters.height() * l.filters.width();
  const simt::window_shape shape{
      l.in.channels(),
      {l.in.width(), l.in.height()},
      l.in.images(),
      {l.in.col_stride(), l.in.row_stride()},
      l.in.image_stride(),
      {l.padding_x, l.padding_y},
      {static_cast<int>(l.filters.width() - 1) * l.dilation_x, static_cast<int>(l.filters.height() - 1) * l.dilation_y},
      {l.stride_x, l.stride_y}};
  const bool taps_follow =
      l.filters.height() == 1 || l.filters.row_stride() == l.filters.width() * l.filters.col_stride();
  return taps_follow && simt::describe_windows(images, l.in.data(), shape, tile_pixels) &&
         simt::describe_tiles(filters, l.filters.data(), l.filters.channels(), l.filters.images(),
                              l.filters.image_stride(), taps, l.filters.col_stride(), tile_filters);
}

template <class Windows, class T, class TC, class Epilogue>
Windows windows_of(const layer<T, TC, Epilogue>& l) {
  const auto whole = [](std::int64_t x) { return static_cast<int>(x); };
  return {whole(l.out.width()),
          whole(l.out.height()),
          whole(l.filters.channels()),
          whole(l.filters.width()),
          l.stride_y,
          l.stride_x,
          l.padding_y,
          l.padding_x,
          l.dilation_y,
          l.dilation_x};
}

/// Starts a layer with a given tile; false, and nothing has happened, if TMA cannot read images or filters.
template <wgmma_tile Tile, bool Exchanged, class T, class TC, class Epilogue>
bool layer_by_wgmma_tile(const device_policy& where, const layer<T, TC, Epilogue>& l) {
  const auto epilogue = product_epilogue(l.epilogue);
  using kernel = gemm_wgmma_kernel<T, TC, float, std::remove_const_t<decltype(epilogue)>, Tile, rows_along::k,
                                   rows_along::k, c_written::either, layer_windows<Exchanged>>;
  const std::int64_t channels = l.in.channels(), taps = l.filters.height() * l.filters.width();
  typename kernel::arguments x;
  if (!describe_layer(Exchanged ? x.b : x.a, Exchanged ? x.a : x.b, l, Exchanged ? kernel::n : kernel::m,
                      Exchanged ? kernel::m : kernel::n))
    return false;
  const std::int64_t batch = Exchanged ? l.out.images() : 1;
  x.c = product_target(l, Exchanged);
  const std::int64_t tiles_m = ceil_div(x.c.rows, std::int64_t(kernel::m)),
                     tiles_n = ceil_div(x.c.cols, std::int64_t(kernel::n));
  x.order = raster<wgmma_group>(tiles_m, tiles_n);
  x.tiles = static_cast<int>(tiles_m * tiles_n * batch);
  x.k_tiles = static_cast<int>(taps * ceil_div(channels, std::int64_t(kernel::depth)));
  x.result = {1, 0, epilogue, Exchanged};
  x.down = false;
  x.c_by_tma = x.c.cols * sizeof(TC) % 16 == 0 &&  // TMA writes whole words
               simt::describe_tiles(x.to, x.c.data, x.c.cols, x.c.rows, x.c.row_stride, batch, x.c.batch_stride, 64);
  x.windows = windows_of<layer_windows<Exchanged>>(l);
  launch(where, min(x.tiles, machine_of(where).multiprocessors), kernel{}, x);
  return true;
}

/// A layer that is one: the filters times the pixels of an image, for each image.
template <wgmma_tile Tile, class T, class TC, class Epilogue>
bool layer_by_products(const device_policy& where, const layer<T, TC, Epilogue>& l) {
  const auto epilogue = product_epilogue(l.epilogue);
  const gemm_target<TC> c = product_target(l, true);
  return gemm_by_wgmma_tile<Tile, rows_along::k, rows_along::mn>(
      where, gemm_problem<T, T, TC, float, std::remove_const_t<decltype(epilogue)>>{
                 {l.filters.data(), c.rows, l.filters.image_stride(), l.filters.channel_stride(), 0},
                 {l.in.data(), c.cols, 1, l.in.channel_stride(), l.in.image_stride()},
                 c,
                 l.in.channels(),
                 l.in.images(),
                 {1, 0, epilogue, true}});
}

/// Whether pixels of the output are rows of a matrix, from image to image too; or columns, of a matrix for each image.
template <class T>
bool has_pixel_rows(const channels_view<T>& v) {
  return v.channel_stride() == 1 && pixel_stride(v) >= 0 &&
         (v.images() == 1 || v.image_stride() == v.height() * v.width() * pixel_stride(v));
}
template <class T>
bool has_pixel_columns(const channels_view<T>& v) {
  return v.channel_stride() != 1 && pixel_stride(v) == 1;
}

/// Enqueues a layer where this path can do it and pays; says whether it has.
template <class P, class T, class TC, class Epilogue>
bool layer_by_wgmma(const P& where, const layer<T, TC, Epilogue>& l) {
  if constexpr (gpu_execution<P> && sizeof(T) == 2 && sizeof(TC) >= 2 && sizeof(TC) <= 8) {
    constexpr std::int64_t most = std::int64_t(1) << 30;
    const bool columns = has_pixel_columns(l.out), products = columns && l.in.channel_stride() != 1;
    if (l.groups != 1 || l.filters.channel_stride() != 1 || !(columns || has_pixel_rows(l.out)) ||
        !(products ? is_product(l) : l.in.channel_stride() == 1) || l.pixels() >= most || l.out.channels() >= most ||
        !wgmma_available())
      return false;
    // What mma.sync takes with k in parts for all multiprocessors, which this path does not do.
    const machine& on = machine_of(where);
    const double others = 9000 + double(l.pixels()) * double(l.out.channels()) * l.k() / (on.multiprocessors * 300.0);
    const std::int64_t k_tiles = l.k() / l.in.channels() * ceil_div(l.in.channels(), std::int64_t(64));
    const gemm_target<TC> c = product_target(l, columns);
    const auto clocks = [&](int tile) {
      return wgmma_clocks(other_wgmma_cost, tile, c.rows, c.cols, k_tiles, columns ? l.out.images() : 1, on, {});
    };
    constexpr wgmma_tile wide = wgmma_tiles[1], narrow = wgmma_tiles[3];
    const double of_wide = clocks(1), of_narrow = clocks(3);
    if (min(of_wide, of_narrow) > others) return false;
    if (products) return layer_by_products<wide>(where, l);
    if (columns) return l.out.channels() > 64 && layer_by_wgmma_tile<wide, true>(where, l);
    return of_wide < of_narrow ? layer_by_wgmma_tile<wide, false>(where, l)
                               : layer_by_wgmma_tile<narrow, false>(where, l);
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

template <class P, class Layer>
bool layer_by_wgmma(const P&, const Layer&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
