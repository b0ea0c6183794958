// SPDX-License-Identifier: Apache-2.0
//
// The kernels of convolution_layer.hpp.
//
// A layer is a matrix product in disguise: a row for each pixel of the output, a column for each filter, and k runs over
// the taps of a filter and its channels, channels fastest. The matrix of pixels is never made; a block looks its
// elements up in the images, wherever the tap at hand puts them:
//
//   1. A block owns a tile of pixels x filters. It notes once where each of its pixels begins in the images.
//   2. It goes through k k-tile by k-tile. A k-tile of pixels and one of filters go to shared memory, 16 bytes at a time
//      where channels lie next to each other, and several k-tiles are on their way at a time. What lies in the padding is
//      zero.
//   3. Half and bfloat16 are multiplied by the tensor cores (simt/mma.hpp), float and double by the ordinary units.
//   4. Where there are too few tiles, blocks share one: each adds up some k-tiles, and writes its sums for itself.
//   5. Groups of few filters have next to nothing to share: a thread makes a few elements of the output there, of four
//      filters at a time if channels are whole words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its share of a layer.
struct layer_tile {
  int pixels = 0, filters = 0;   ///< of the output, that a block makes; multiples of 32 for each warp
  int warps_m = 0, warps_n = 0;  ///< that share them
  int row_bytes = 0;             ///< of k in a k-tile, for each pixel and filter; a multiple of 32
  int stages = 0;                ///< k-tiles in shared memory
  int blocks = 0;                ///< of a multiprocessor

  constexpr int threads() const { return warps_m * warps_n * simt::warp_size; }
  /// Of a block: the k-tiles, with a word after rows shorter than 128 bytes, and where pixels are read and written.
  constexpr std::size_t shared_bytes() const {
    return std::size_t(stages) * std::size_t(pixels + filters) * std::size_t(row_bytes + (row_bytes == 128 ? 0 : 16)) +
           std::size_t(pixels) * 24;
  }
  /// The same tile with as many stages as `bytes` have room for.
  constexpr layer_tile within(std::size_t bytes) const {
    layer_tile fewer = *this;
    while (fewer.stages > 2 && fewer.shared_bytes() > bytes) --fewer.stages;
    return fewer;
  }
  friend constexpr bool operator==(const layer_tile&, const layer_tile&) = default;
};

namespace detail {

/// A layer as the kernels see it. The extents of a side are less than 2^30, k less than 2^31.
template <class T, class TC, class Epilogue>
struct layer {
  channels_view<const T> in, filters;
  channels_view<TC> out;
  int stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  std::int64_t groups;
  bool pairs;  ///< filters 2 i and 2 i + 1 of a pixel may be written at once
  Epilogue epilogue;

  PMPP_HOST_DEVICE std::int64_t pixels() const { return out.images() * out.height() * out.width(); }
  PMPP_HOST_DEVICE std::int64_t group_channels() const { return filters.channels(); }
  PMPP_HOST_DEVICE std::int64_t group_filters() const { return filters.images() / groups; }
  PMPP_HOST_DEVICE int k() const { return static_cast<int>(filters.height() * filters.width() * filters.channels()); }

  template <class A>
  PMPP_HOST_DEVICE TC result(const A& sum, std::int64_t filter) const {
    if constexpr (requires { epilogue(sum, filter); })
      return static_cast<TC>(epilogue(sum, filter));
    else
      return static_cast<TC>(epilogue(sum));
  }
};

/// Elements from pixel to pixel, whether in a row or from row to row; -1 if there is no such number.
template <class T>
std::int64_t pixel_stride(const channels_view<T>& v) {
  if (v.width() == 1) return v.row_stride();
  return v.height() == 1 || v.row_stride() == v.width() * v.col_stride() ? v.col_stride() : -1;
}

/// Whether each image of the output is the product of the filters and an image whose pixels follow each other.
template <class T, class TC, class Epilogue>
bool is_product(const layer<T, TC, Epilogue>& l) {
  return l.k() == l.in.channels() && l.stride_y == 1 && l.stride_x == 1 && l.padding_y == 0 && l.padding_x == 0 &&
         pixel_stride(l.in) == 1;
}

/// The epilogue of a layer for the part of the output that a gemm makes: its columns are filters from `first` on.
template <class Epilogue>
struct filter_epilogue {
  Epilogue epilogue;
  std::int64_t first;

  template <class A>
  PMPP_HOST_DEVICE auto operator()(const A& sum, std::int64_t, std::int64_t column) const {
    if constexpr (requires { epilogue(sum, column); })
      return epilogue(sum, first + column);
    else
      return epilogue(sum);
  }
};

/// Where the window of a pixel of the output begins: at (y, x) of its image, which may lie in the padding, `offset`
/// elements after the first of all images.
struct alignas(16) layer_window {
  std::int64_t offset;
  int y, x;
};

template <class T, class TC, class Epilogue>
PMPP_HOST_DEVICE layer_window window_of(const layer<T, TC, Epilogue>& l, std::int64_t image, std::int64_t y,
                                        std::int64_t x) {
  const int from_y = static_cast<int>(y * l.stride_y - l.padding_y);
  const int from_x = static_cast<int>(x * l.stride_x - l.padding_x);
  return {image * l.in.image_stride() + from_y * l.in.row_stride() + from_x * l.in.col_stride(), from_y, from_x};
}

/// Whether tap (dy, dx) pixels further is one of the image.
template <class T, class TC, class Epilogue>
PMPP_HOST_DEVICE bool is_inside(const layer<T, TC, Epilogue>& l, const layer_window& w, int dy, int dx) {
  const bool y_inside = static_cast<unsigned>(w.y + dy) < static_cast<unsigned>(l.in.height());
  const bool x_inside = static_cast<unsigned>(w.x + dx) < static_cast<unsigned>(l.in.width());
  return y_inside & x_inside;
}

/// The sums of `Filters` filters of a group, for `Count` pixels of the output next to each other, tap by tap. Those past
/// the end of the row, and of filters past the `own` ones, are anything.
template <class A, int Filters, int Count, class T, class TC, class Epilogue>
PMPP_HOST_DEVICE void add_windows(const layer<T, TC, Epilogue>& l, const layer_window& at, std::int64_t group,
                                  std::int64_t filter, int own, A (&sum)[Filters][Count]) {
  const T* in = l.in.data() + at.offset + group * l.group_channels() * l.in.channel_stride();
  const T* taps = l.filters.data() + filter * l.filters.image_stride();
  const std::int64_t step = l.stride_x * l.in.col_stride();
  for (int r = 0; r < static_cast<int>(l.filters.height()); ++r)
    for (int s = 0; s < static_cast<int>(l.filters.width()); ++s) {
      const int dy = r * l.dilation_y, dx = s * l.dilation_x;
      bool inside[Count];
      const bool y_inside = static_cast<unsigned>(at.y + dy) < static_cast<unsigned>(l.in.height());
      for (int e = 0; e < Count; ++e) {
        const std::int64_t x = at.x + dx + e * std::int64_t(l.stride_x);
        inside[e] = y_inside & (x >= 0) & (x < l.in.width());
      }
      const T* pixel = in + dy * l.in.row_stride() + dx * l.in.col_stride();
      const T* tap = taps + r * l.filters.row_stride() + s * l.filters.col_stride();
      for (std::int64_t c = 0; c < l.group_channels(); ++c) {
        A value[Count], factor[Filters];
        for (int e = 0; e < Count; ++e) value[e] = inside[e] ? static_cast<A>(pixel[e * step]) : A{};
        for (int f = 0; f < Filters; ++f)
          factor[f] = Filters == 1 || f < own ? static_cast<A>(tap[f * l.filters.image_stride()]) : A{};
        for (int f = 0; f < Filters; ++f)
          for (int e = 0; e < Count; ++e) sum[f][e] += value[e] * factor[f];
        pixel += l.in.channel_stride();
        tap += l.filters.channel_stride();
      }
    }
}

/// Element k of a filter: which channel of which tap.
struct layer_tap {
  int channel, s, r;

  template <class L>
  PMPP_HOST_DEVICE layer_tap(const L& l, int k) {
    const int channels = static_cast<int>(l.filters.channels()), width = static_cast<int>(l.filters.width());
    channel = k % channels;
    s = k / channels % width;
    r = k / channels / width;
  }

  /// Moves on by as many elements as lie before `step`.
  template <class L>
  PMPP_HOST_DEVICE void advance(const L& l, const layer_tap& step) {
    const int channels = static_cast<int>(l.filters.channels()), width = static_cast<int>(l.filters.width());
    channel += step.channel;
    s += step.s;
    r += step.r;
    if (channel >= channels) channel -= channels, ++s;
    if (s >= width) s -= width, ++r;
  }
};

/// How k is cut up: the blocks of each `tiles` make one part of the sums, of `k_tiles` k-tiles, `stride` elements of the
/// output after the part before.
struct layer_parts {
  std::int64_t tiles, stride;
  int k_tiles;
};

/// A tile of pixels x filters. `Vectors`: 16 bytes of channels lie next to each other, at addresses that are multiples
/// of 16, in images and filters, and belong to one tap. `Type`: what the tensor cores take T for, or none.
template <class T, class TC, class A, class Epilogue, layer_tile Tile, bool Vectors, simt::mma_type Type>
struct layer_kernel {
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  static constexpr int word = 16 / sizeof(T);               ///< elements of 16 bytes
  static constexpr int depth = Tile.row_bytes / sizeof(T);  ///< of a k-tile along k
  static constexpr bool on_tensor_cores = Type != simt::mma_type::none;
  static constexpr int warp_m = Tile.pixels / Tile.warps_m, warp_n = Tile.filters / Tile.warps_n;
  static_assert(warp_m % 32 == 0 && warp_n % 32 == 0 && Tile.row_bytes % 64 == 0 && Tile.stages >= 2);
  static_assert(threads % depth == 0);

  // Rows of shared memory. Eight rows that are read at once at the same k meet eight times four banks: words change
  // places within a row of 128 bytes, or a word is left out after each row.
  static constexpr bool turned = Tile.row_bytes == 128;
  static constexpr int row = turned ? depth : depth + word;
  PMPP_HOST_DEVICE static int offset_in_row(int r, int k) { return turned ? k ^ (r % 8 * word) : k; }
  PMPP_HOST_DEVICE static int offset_of(int r, int k) { return r * row + offset_in_row(r, k); }

  using arguments = layer<T, TC, Epilogue>;

  struct shared {
    alignas(16) T pixel[Tile.stages * Tile.pixels * row];
    alignas(16) T filter[Tile.stages * Tile.filters * row];
    layer_window window[Tile.pixels];
    std::int64_t target[Tile.pixels];  ///< elements of the output before the pixel; -1: no such pixel
  };
  static_assert(sizeof(shared) == Tile.shared_bytes());

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& l, const layer_tap& k_tile,
                                   const layer_parts& parts, std::int64_t first_block) const {
    const coord at(l, parts, first_block + block.index());
    note_windows(block, memory, l, at.pixel);
    block.sync();
    sums sum{};
    multiply(block, memory, l, k_tile, at, min(at.k_tile + parts.k_tiles, ceil_div(l.k(), depth)), sum);
    write(block, memory.target, l, at, sum);
  }

protected:
  /// Of a block.
  struct coord {
    std::int64_t pixel, filter;  ///< its first
    int filters;                 ///< how many it has
    std::int64_t channels;       ///< elements from the first channel of an image to the first of its group
    std::int64_t target;         ///< elements of the output before its part of the sums
    int k_tile;                  ///< its first

    PMPP_HOST_DEVICE coord(const arguments& l, const layer_parts& parts, std::int64_t number) {
      const std::int64_t part = number / parts.tiles, across = ceil_div(l.group_filters(), std::int64_t(Tile.filters));
      std::int64_t rest = number % parts.tiles;
      const std::int64_t column = rest % across;
      rest /= across;
      const std::int64_t group = rest % l.groups;
      pixel = rest / l.groups * Tile.pixels;
      filter = group * l.group_filters() + column * Tile.filters;
      filters = static_cast<int>(min(std::int64_t(Tile.filters), l.group_filters() - column * Tile.filters));
      channels = group * l.group_channels() * l.in.channel_stride();
      target = part * parts.stride;
      k_tile = static_cast<int>(part) * parts.k_tiles;
    }
  };

  // What a thread has of the tile of its warp: row lane_m of every eight and columns 2 lane_n and 2 lane_n + 1. Those are
  // g and t of lane 4 g + t where simt/mma.hpp wants it so. Else lanes 2 i and 2 i + 1 share their row, lanes 4 i and 4 i + 2
  // their columns: a warp's 16-byte loads from shared memory are served in halves then, not in quarters.
  template <class Block>
  PMPP_HOST_DEVICE static int lane_m(Block& block) {
    const int lane = block.lane();
    return on_tensor_cores ? lane / 4 : lane / 8 * 2 + lane / 2 % 2;
  }
  template <class Block>
  PMPP_HOST_DEVICE static int lane_n(Block& block) {
    const int lane = block.lane();
    return on_tensor_cores ? lane % 4 : lane / 4 % 2 * 2 + lane % 2;
  }
  static constexpr int own_m = warp_m / 8, own_n = warp_n / 4;
  struct sums {
    A part[own_m / 2][own_n / 2][4];
    PMPP_HOST_DEVICE A& at(int i, int j) { return part[i / 2][j / 2][i % 2 * 2 + j % 2]; }
    PMPP_HOST_DEVICE const A& at(int i, int j) const { return part[i / 2][j / 2][i % 2 * 2 + j % 2]; }
  };

  /// A thread's element (i, j) in the tile of its block.
  template <class Block>
  PMPP_HOST_DEVICE static int row_of(Block& block, int i) {
    return block.warp() / Tile.warps_n * warp_m + i * 8 + lane_m(block);
  }
  template <class Block>
  PMPP_HOST_DEVICE static int col_of(Block& block, int j) {
    return block.warp() % Tile.warps_n * warp_n + j / 2 * 8 + lane_n(block) * 2 + j % 2;
  }

  template <class Block>
  PMPP_HOST_DEVICE static void note_windows(Block& block, shared& memory, const arguments& l, std::int64_t first) {
    for (int i = block.thread(); i < Tile.pixels; i += threads) {
      const std::int64_t pixel = first + i;
      if (pixel >= l.pixels()) {
        memory.window[i] = {0, -(1 << 30) - (1 << 29), 0};  // no tap is that large
        memory.target[i] = -1;
        continue;
      }
      const std::int64_t line = pixel / l.out.width(), x = pixel % l.out.width();
      const std::int64_t image = line / l.out.height(), y = line % l.out.height();
      memory.window[i] = window_of(l, image, y, x);
      memory.target[i] = target_of(l, image, y, x);
    }
  }

  PMPP_HOST_DEVICE static std::int64_t target_of(const arguments& l, std::int64_t image, std::int64_t y,
                                                 std::int64_t x) {
    return image * l.out.image_stride() + y * l.out.row_stride() + x * l.out.col_stride();
  }

  /// Starts copying the k-tile that `tap` stands at; `k` is its number along k.
  template <class Block>
  PMPP_HOST_DEVICE static void fetch(Block& block, shared& memory, const arguments& l, const coord& at,
                                     const layer_tap& tap, int k, int stage) {
    constexpr int items = Vectors ? word : 1, pieces = depth / items, step = threads / pieces;
    const int column = block.thread() % pieces * items, first = block.thread() / pieces;
    const bool exists = k < l.k();
    const int dy = tap.r * l.dilation_y, dx = tap.s * l.dilation_x;
    const T* in = l.in.data() + at.channels + tap.channel * l.in.channel_stride() + dy * l.in.row_stride() +
                  dx * l.in.col_stride();
    // After eight rows, words change places alike: then a thread's places are one and constants.
    const auto slot = [&](int n) {
      return step % 8 == 0 ? offset_of(first, column) + n * step * row : offset_of(first + n * step, column);
    };
    T* pixel = memory.pixel + stage * Tile.pixels * row;
    const layer_window* window = memory.window + first;
    copy<items, Tile.pixels / step>([&](int n, auto copy_piece) {
      const layer_window w = window[n * step];
      copy_piece(pixel + slot(n), in + w.offset, exists & is_inside(l, w, dy, dx));
    });
    const T* from = l.filters.data() + (at.filter + first) * l.filters.image_stride() + tap.r * l.filters.row_stride() +
                    tap.s * l.filters.col_stride() + tap.channel * l.filters.channel_stride();
    const std::int64_t filter_step = step * l.filters.image_stride();
    T* filter = memory.filter + stage * Tile.filters * row;
    copy<items, Tile.filters / step>([&](int n, auto copy_piece) {
      copy_piece(filter + slot(n), from + n * filter_step, exists & (first + n * step < at.filters));
    });
  }

  /// Copies `Count` pieces of `Items` elements: piece(n, f) calls f(to, from, whether it exists).
  template <int Items, int Count, class F>
  PMPP_HOST_DEVICE static void copy(F piece) {
    if constexpr (Items * sizeof(T) >= 4) {
      unrolled<Count>([&](int n) {
        piece(n, [](T* to, const T* from, bool exists) {
          simt::copy_async<Items * sizeof(T)>(to, from, exists ? Items * int(sizeof(T)) : 0);
        });
      });
    } else {  // several loads are on their way before the first is waited for
      constexpr int batch = Count % 8 == 0 ? 8 : 1;
      for (int first = 0; first < Count; first += batch) {
        T value[batch];
        T* target[batch];
        unrolled<batch>([&](int n) {
          piece(first + n, [&](T* to, const T* from, bool exists) {
            value[n] = exists ? *from : T{};
            target[n] = to;
          });
        });
        unrolled<batch>([&](int n) { *target[n] = value[n]; });
      }
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& l, const layer_tap& k_tile,
                                        const coord& at, int end, sums& sum) {
    const int k_tiles = end - at.k_tile;
    int k = at.k_tile * depth + block.thread() % (Vectors ? depth / word : depth) * (Vectors ? word : 1);
    layer_tap tap(l, k);
    block::async_pipeline<Tile.stages> ring;
    const auto fetch_next = [&](int s, int stage) {
      if (s < k_tiles) {
        fetch(block, memory, l, at, tap, k, stage);
        k += depth;
        tap.advance(l, k_tile);
      }
    };
    ring.template begin<Tile.stages - 1>([&](int stage) { fetch_next(stage, stage); });
    for (int s = 0; s < k_tiles; ++s) {
      ring.template wait<Tile.stages - 2>(block);
      fetch_next(s + Tile.stages - 1, ring.acquire());
      ring.commit();
      const T* pixel = memory.pixel + ring.front() * Tile.pixels * row;
      const T* filter = memory.filter + ring.front() * Tile.filters * row;
      add_k_tile(block, pixel, filter, sum);
      ring.release();
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void add_k_tile(Block& block, const T* pixel, const T* filter, sums& sum) {
    if constexpr (on_tensor_cores)
      add_small_products(block, pixel, filter, sum);
    else
      add_products(block, pixel, filter, sum);
  }

  struct alignas(16) words {
    T item[word];
  };

  template <class Block>
  PMPP_HOST_DEVICE static void add_products(Block& block, const T* pixel, const T* filter, sums& sum) {
    // A thread's rows are eight apart, so that its words change places alike.
    const int i0 = row_of(block, 0), j0 = col_of(block, 0);
    pixel += i0 * row;
    filter += j0 * row;
    for (int k = 0; k < depth; k += word) {
      words a[own_m], b[own_n];
      const int in_a = offset_in_row(i0, k), in_b[2] = {offset_in_row(j0, k), offset_in_row(j0 + 1, k)};
      unrolled<own_m>([&](int i) { a[i] = *reinterpret_cast<const words*>(pixel + in_a + i * 8 * row); });
      unrolled<own_n>(
          [&](int j) { b[j] = *reinterpret_cast<const words*>(filter + in_b[j % 2] + (j / 2 * 8 + j % 2) * row); });
      unrolled<word>([&](int e) {
        unrolled<own_m>([&](int i) {
          for (int n = 0; n < own_n; ++n) {
            const int j = i % 2 == 0 ? n : own_n - 1 - n;  // the neighbour shares an operand
            sum.at(i, j) += static_cast<A>(a[i].item[e]) * static_cast<A>(b[j].item[e]);
          }
        });
      });
    }
  }

  /// The same by products of small matrices.
  template <class Block>
  PMPP_HOST_DEVICE static void add_small_products(Block& block, const T* pixel, const T* filter, sums& sum) {
    const int lane = block.lane(), r = lane % 8, second = lane / 8 % 2, third = lane / 16;
    pixel += (block.warp() / Tile.warps_n * warp_m + 8 * second + r) * row;
    filter += (block.warp() % Tile.warps_n * warp_n + 8 * third + r) * row;
    unrolled<depth / 16>([&](int unit) {
      const int in_a = offset_in_row(r, 16 * unit + 8 * third), in_b = offset_in_row(r, 16 * unit + 8 * second);
      std::uint32_t b[warp_n / 16][4];
      unrolled<warp_n / 16>([&](int j) { simt::load_matrices<false>(block, b[j], filter + in_b + 16 * j * row); });
      unrolled<warp_m / 16>([&](int i) {
        std::uint32_t a[4];
        simt::load_matrices<false>(block, a, pixel + in_a + 16 * i * row);
        unrolled<warp_n / 8>([&](int j) {
          const std::uint32_t factor[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
          simt::multiply_add<Type>(block, sum.part[i][j], a, factor);
        });
      });
    });
  }

  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const std::int64_t* targets, const arguments& l, const coord& at,
                                     const sums& sum) {
    unrolled<own_m>([&](int i) {
      const std::int64_t target = targets[row_of(block, i)];
      if (target < 0) return;
      TC* to = l.out.data() + at.target + target + at.filter * l.out.channel_stride();
      unrolled<own_n / 2>([&](int j) {
        const int filter = col_of(block, 2 * j);
        if (filter >= at.filters) return;
        const packed<TC, 2> pair{l.result(sum.at(i, 2 * j), at.filter + filter),
                                 l.result(sum.at(i, 2 * j + 1), at.filter + filter + 1)};
        if (l.pairs && filter + 1 < at.filters) {
          *reinterpret_cast<packed<TC, 2>*>(to + filter) = pair;
        } else {
          to[filter * l.out.channel_stride()] = pair.item[0];
          if (filter + 1 < at.filters) to[(filter + 1) * l.out.channel_stride()] = pair.item[1];
        }
      });
    });
  }
};

/// Four pixels of a row of the output a thread, for up to `Filters` filters of a group: a tap is loaded once for all four,
/// an element once for all filters. Neighbours are along the channels or, with `along_x`, along the rows.
template <class T, class TC, class A, class Epilogue, int Filters>
struct direct_layer_kernel {
  static constexpr int threads = 256, pixels = 4, filters = Filters;

  struct arguments {
    layer<T, TC, Epilogue> l;
    int group_filters;
    bool along_x;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    if (x.l.pixels() * x.l.out.channels() < (std::int64_t(1) << 32))
      make<std::uint32_t>(block, x);  // dividing 64-bit numbers takes longer than all the rest
    else
      make<std::uint64_t>(block, x);
  }

private:
  template <class Index, class Block>
  PMPP_HOST_DEVICE static void make(Block& block, const arguments& a) {
    const layer<T, TC, Epilogue>& l = a.l;
    const auto parts = static_cast<Index>(ceil_div(a.group_filters, filters));  // of the filters of a group
    const auto all_parts = parts * static_cast<Index>(l.groups), height = static_cast<Index>(l.out.height());
    const auto across = static_cast<Index>(ceil_div(l.out.width(), std::int64_t(pixels)));  // groups of pixels in a row
    const std::int64_t all = l.out.images() * l.out.height() * std::int64_t(across) * std::int64_t(all_parts);
    for (std::int64_t i = block.index() * threads + block.thread(); i < all; i += block.count() * threads) {
      Index rest = static_cast<Index>(i), pixel = 0, y = 0, part = 0;
      if (!a.along_x) part = rest % all_parts, rest /= all_parts;
      pixel = rest % across * pixels, rest /= across;
      y = rest % height, rest /= height;
      if (a.along_x) part = rest % all_parts, rest /= all_parts;
      const auto image = static_cast<std::int64_t>(rest), row = static_cast<std::int64_t>(y),
                 x = static_cast<std::int64_t>(pixel), group = static_cast<std::int64_t>(part / parts);
      const int first = static_cast<int>(part % parts) * filters, own = min(a.group_filters - first, filters);
      const std::int64_t filter = group * a.group_filters + first;
      A sum[filters][pixels] = {};
      detail::add_windows(l, window_of(l, image, row, x), group, filter, own, sum);
      unrolled<filters>([&](int f) {
        for (int e = 0; e < pixels; ++e)
          if (f < own && x + e < l.out.width()) l.out(image, row, x + e, filter + f) = l.result(sum[f][e], filter + f);
      });
    }
  }
};

/// A few elements on their way, not yet taken apart.
template <class T, int Items>
using raw_items = packed<std::uint32_t, Items* int(sizeof(T)) / 4>;

template <int Items, class T>
PMPP_HOST_DEVICE raw_items<T, Items> load_items(const T* from) {
  return __builtin_bit_cast(raw_items<T, Items>, *reinterpret_cast<const packed<T, Items>*>(from));
}

/// The same as numbers. Bfloat16 are the upper halves of floats, which takes one instruction each.
template <class T, class A, int Items>
PMPP_HOST_DEVICE void widen(const raw_items<T, Items>& raw, A (&to)[Items]) {
  if constexpr (std::is_same_v<T, bfloat16_type>) {
    for (int i = 0; i < Items; ++i)
      to[i] = __builtin_bit_cast(float, i % 2 == 0 ? raw.item[i / 2] << 16 : raw.item[i / 2] & 0xffff0000u);
  } else {
    const auto items = __builtin_bit_cast(packed<T, Items>, raw);
    for (int i = 0; i < Items; ++i) to[i] = static_cast<A>(items.item[i]);
  }
}

/// The same for whole words of `Items` channels, two or four, and up to as many filters of a group at a time. All filters
/// are in shared memory; groups are next to each other there, as neighbours read them.
template <class T, class TC, class A, class Epilogue, int Items>
struct grouped_layer_kernel {
  static constexpr int threads = 256, min_blocks = 3, pixels = 4, filters = Items, items = Items;
  using word = raw_items<T, items>;

  /// Whole: four filters may be written at once.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const layer<T, TC, Epilogue>& l, bool whole) const {
    auto* const taps = reinterpret_cast<word*>(block.dynamic_shared());
    const int groups = static_cast<int>(l.groups), own = static_cast<int>(l.group_filters()),
              words = static_cast<int>(l.group_channels()) / items, across = static_cast<int>(l.filters.width());
    for (int i = block.thread(); i < l.filters.images() * l.k() / items; i += threads) {
      const int f = i % groups * own + i / groups % own, rest = i / (groups * own), tap = rest / words;
      taps[i] = load_items<items>(&l.filters(f, tap / across, tap % across, rest % words * items));
    }
    block.sync();
    const auto strips = static_cast<std::uint32_t>(ceil_div(l.out.width(), std::int64_t(pixels))),
               height = static_cast<std::uint32_t>(l.out.height());
    const std::int64_t all = l.out.images() * l.out.height() * strips * groups;
    for (std::int64_t i = block.index() * threads + block.thread(); i < all; i += block.count() * threads) {
      std::uint32_t rest = static_cast<std::uint32_t>(i);
      const auto group = static_cast<int>(rest % static_cast<std::uint32_t>(groups));
      rest /= static_cast<std::uint32_t>(groups);
      const std::uint32_t x = rest % strips * pixels, line = rest / strips;
      for (int first = 0; first < own; first += filters)
        make(l, taps + first * groups + group, line / height, line % height, x, group, first, whole);
    }
  }

private:
  /// Filters from `first` on of a group, at (y, x) of an image and its neighbours in the row.
  PMPP_HOST_DEVICE static void make(const layer<T, TC, Epilogue>& l, const word* tap, std::int64_t image,
                                    std::int64_t y, std::int64_t x, int group, int first, bool whole) {
    const int groups = static_cast<int>(l.groups), own = static_cast<int>(l.group_filters()),
              words = static_cast<int>(l.group_channels()) / items;
    const layer_window at = window_of(l, image, y, x);
    const T* const in = l.in.data() + at.offset + group * l.group_channels();
    const std::int64_t step = l.stride_x * l.in.col_stride();
    A sum[pixels][filters] = {};
    for (int dy = 0; dy < static_cast<int>(l.filters.height()) * l.dilation_y; dy += l.dilation_y)
      for (int dx = 0; dx < static_cast<int>(l.filters.width()) * l.dilation_x; dx += l.dilation_x) {
        bool inside[pixels];
        unrolled<pixels>([&](int e) { inside[e] = is_inside(l, at, dy, dx + e * l.stride_x); });
        const T* from = in + dy * l.in.row_stride() + dx * l.in.col_stride();
        for (int c = 0; c < words; ++c, from += items, tap += own * groups) {
          word a[pixels];
          unrolled<pixels>([&](int e) {
            a[e] = word{};
            if (inside[e]) a[e] = load_items<items>(from + e * step);
          });
          A factor[filters][items];
          unrolled<filters>([&](int f) { widen<T>(first + f < own ? tap[f * groups] : word{}, factor[f]); });
          unrolled<pixels>([&](int e) {
            A value[items];
            widen<T>(a[e], value);
            for (int f = 0; f < filters; ++f)
              for (int k = 0; k < items; ++k) sum[e][f] += value[k] * factor[f][k];
          });
        }
      }
    const std::int64_t filter = std::int64_t(group) * own + first;
    unrolled<pixels>([&](int e) {
      if (x + e >= l.out.width()) return;
      TC* const to = &l.out(image, y, x + e, filter);
      packed<TC, filters> result;
      for (int f = 0; f < filters; ++f) result.item[f] = l.result(sum[e][f], filter + f);
      if (whole)
        *reinterpret_cast<packed<TC, filters>*>(to) = result;
      else
        for (int f = 0; f < filters; ++f)
          if (first + f < own) to[f * l.out.channel_stride()] = result.item[f];
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
