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

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/convolution_layer/channels_last.hpp>
#include <pmpp/convolution_layer/copied.hpp>
#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/convolution_layer/sliding.hpp>
#include <pmpp/convolution_layer/wgmma.hpp>
#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

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

struct layer_tuning {
  layer_tile large{}, small{};
  int few_filters = 8;    ///< groups with fewer are not worth a tile
  int least_k_tiles = 6;  ///< of a part of k
  int part_blocks = 2;    ///< a multiprocessor, that k is cut up for
  bool halves = false;    ///< large tiles of half of k rather than small ones of all: those wait for shared memory

  friend constexpr bool operator==(const layer_tuning&, const layer_tuning&) = default;
};

// clang-format off
/// The tiles for elements of type T, measured on an H100. A machine that they do not fit has the small one with fewer stages.
template <class T>
constexpr layer_tuning layer_tuning_for() {
  constexpr layer_tile long_rows{.pixels = 128, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 128, .stages = 3, .blocks = 3},
      short_rows{.pixels = 128, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 64, .stages = 3, .blocks = 2};
  if (sizeof(T) == 2)
    return {.large = long_rows,
            .small = {.pixels = 64, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 128, .stages = 4, .blocks = 3}};
  return {.large = sizeof(T) == 4 ? long_rows : short_rows,
          .small = {.pixels = 64, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 64, .stages = 3, .blocks = 3},
          .halves = true};  // 32 images of 256 channels, 14 x 14, in 194 instead of 242 us
}
// clang-format on

namespace detail {

/// What the tensor cores take an element for: the two-byte types have no other units that are fast.
template <class T>
inline constexpr simt::mma_type layer_mma = is_two_byte_float<T> ? mma_type_of<T> : simt::mma_type::none;

/// The bytes that a view spans.
struct span_of_view {
  std::uintptr_t begin, end;

  template <class T>
  explicit span_of_view(const channels_view<T>& v) : begin(reinterpret_cast<std::uintptr_t>(v.data())), end(begin) {
    if (v.empty()) return;
    end = reinterpret_cast<std::uintptr_t>(&v(v.images() - 1, v.height() - 1, v.width() - 1, v.channels() - 1) + 1);
  }
  bool meets(const span_of_view& other) const { return begin < other.end && other.begin < end; }
};

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
  const span_of_view target(out);
  require(!target.meets(span_of_view(in)) && !target.meets(span_of_view(filters)),
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

/// Channels of a pixel or filter may be read `Items` at a time, usually 16 bytes.
template <int Items = 0, class T>
bool channels_in_vectors(const channels_view<T>& v, std::int64_t group_channels) {
  constexpr std::int64_t items = Items > 0 ? Items : 16 / sizeof(T);
  const auto whole = [](std::int64_t stride, std::int64_t extent) { return extent == 1 || stride % items == 0; };
  return v.channel_stride() == 1 && group_channels % items == 0 && whole(v.col_stride(), v.width()) &&
         whole(v.row_stride(), v.height()) && whole(v.image_stride(), v.images()) &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (items * sizeof(T)) == 0;
}

/// Two neighbours along the channels may be written at once.
template <class T>
bool channels_in_pairs(const channels_view<T>& v) {
  return v.channel_stride() == 1 && v.col_stride() % 2 == 0 && v.row_stride() % 2 == 0 && v.image_stride() % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (2 * sizeof(T)) == 0;
}

template <layer_tile Tile, class T, class TC, class Epilogue>
std::int64_t tiles_of(const layer<T, TC, Epilogue>& l) {
  return ceil_div(l.pixels(), std::int64_t(Tile.pixels)) * l.groups *
         ceil_div(l.group_filters(), std::int64_t(Tile.filters));
}

/// The launches of a kernel for all tiles and parts of k.
template <layer_tile Tile, bool Vectors, class A, class P, class T, class TC, class Epilogue>
void layer_by_tiles(const P& where, const layer<T, TC, Epilogue>& l, const layer_parts& parts) {
  if constexpr (Vectors && Tile.row_bytes == 128)
    if (layer_by_copied_tiles<Tile, layer_mma<T>, A>(where, l, parts)) return;
  using kernel = layer_kernel<T, TC, A, Epilogue, Tile, Vectors, layer_mma<T>>;
  const std::int64_t most = std::int64_t(1) << 30;
  const std::int64_t blocks = parts.tiles * ceil_div(ceil_div(l.k(), kernel::depth), parts.k_tiles);
  for (std::int64_t first = 0; first < blocks; first += most)
    pmpp::launch(where, min(most, blocks - first), kernel{}, l, layer_tap(l, kernel::depth), parts, first);
}

/// Parts of the sums to scratch, `k_tiles` k-tiles of k each, then one sum of them for each element of the output.
template <layer_tile Tile, class A, class P, class T, class TC, class Epilogue>
void layer_by_parts(const P& where, const layer<T, TC, Epilogue>& l, int k_tiles, std::int64_t parts, A* sums) {
  const channels_view<TC>& o = l.out;
  const std::int64_t pixels = o.height() * o.width(), part = pixels * o.channels();
  const channels_view<A> out(sums, o.images(), o.height(), o.width(), o.channels(), parts * part,
                             o.width() * o.channels(), o.channels(), 1);
  const layer<T, A, no_epilogue> partial{l.in,
                                         l.filters,
                                         out,
                                         l.stride_y,
                                         l.stride_x,
                                         l.padding_y,
                                         l.padding_x,
                                         l.dilation_y,
                                         l.dilation_x,
                                         l.groups,
                                         channels_in_pairs(out) && l.group_filters() % 2 == 0,
                                         no_epilogue{}};
  layer_by_tiles<Tile, true, A>(where, partial, {tiles_of<Tile>(l), part, k_tiles});
  using kernel = gemm_combine_kernel<TC, A, A, filter_epilogue<Epilogue>>;
  pmpp::launch(where,
               min(ceil_div(o.images() * part, std::int64_t(kernel::threads)),
                   std::int64_t(machine_of(where).multiprocessors) * 16),
               kernel{},
               typename kernel::arguments{
                   {o.data(), pixels, o.channels(), pixel_stride(o), o.channel_stride(), o.image_stride()},
                   sums,
                   o.channels(),
                   parts,
                   o.images(),
                   {A(1), A(0), {l.epilogue, 0}, false}});
}

/// Whether rows are words of `Items` pixels, at addresses that are multiples of their size.
template <int Items, class T>
bool rows_in_words(const channels_view<T>& v) {
  return v.col_stride() == 1 && v.width() % Items == 0 && v.row_stride() % Items == 0 &&
         v.channel_stride() % Items == 0 && v.image_stride() % Items == 0 &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (Items * sizeof(T)) == 0;
}

template <int Taps, int Stride, sliding_strip Strip, class A, class P, class T, class TC, class Epilogue>
void layer_by_strips(const P& where, const layer<T, TC, Epilogue>& l) {
  using kernel = sliding_layer_kernel<T, TC, A, Epilogue, Taps, Stride, Strip>;
  constexpr std::int64_t cols = kernel::cols, most = std::int64_t(1) << 30;
  const std::int64_t groups = l.out.channels() / kernel::filters, across = ceil_div(l.out.width(), cols);
  // Strips so long that the multiprocessors are done soonest: they take turns of as many as they have room for.
  const std::int64_t room = kernel::threads * resident_blocks<kernel>(machine_of(where));
  std::int64_t rows = 0, least = 0;
  for (std::int64_t down = 1; down <= ceil_div(l.out.height(), std::int64_t(4)); ++down) {
    const std::int64_t own = ceil_div(l.out.height(), down),
                       turns = ceil_div(l.out.images() * across * groups * down, room);
    const std::int64_t cost = turns * ((own - 1) * Stride + Taps);  // rows of the input
    if (rows == 0 || cost < least) rows = own, least = cost;
  }
  const std::int64_t down = ceil_div(l.out.height(), rows), strips = l.out.images() * across * groups * down;
  const typename kernel::arguments x{l,
                                     strips,
                                     groups,
                                     static_cast<int>(across),
                                     static_cast<int>(down),
                                     static_cast<int>(rows),
                                     static_cast<int>(l.in.col_stride()),
                                     static_cast<int>(l.out.col_stride()),
                                     l.out.channel_stride() != 1,
                                     rows_in_words<cols>(l.out)};
  const std::int64_t blocks = ceil_div(strips, std::int64_t(kernel::threads));
  for (std::int64_t first = 0; first < blocks; first += most)
    pmpp::launch(where, min(most, blocks - first), kernel{}, x, first);
}

/// One channel a filter, windows of Taps x Taps. As many results a thread, and as many rows on their way, as registers hold.
template <int Taps, int Stride, class A, class P, class T, class TC, class Epilogue>
void layer_by_channels(const P& where, const layer<T, TC, Epilogue>& l) {
  constexpr bool small = sizeof(T) == 2;
  constexpr int blocks = Taps == 3 ? 8 : Taps == 5 ? 5 : 3;  // of a multiprocessor
  if constexpr (sizeof(T) <= 4)
    if (l.padding_x == Taps / 2 && rows_in_words<4>(l.in)) {
      constexpr sliding_strip words{.cols = small && Taps > 3 ? 8 : 4,
                                    .items = 4,
                                    .ahead = small && Taps == 3 && Stride == 1 ? 3 : 1,
                                    .blocks = small && Taps == 3 ? 6 : blocks};
      return layer_by_strips<Taps, Stride, words, A>(where, l);
    }
  if constexpr (small && Taps < 7)
    if (l.groups == l.out.channels() && l.groups % 2 == 0 && channels_in_pairs(l.in) && channels_in_pairs(l.out))
      return layer_by_strips<Taps, Stride, sliding_strip{.cols = 4, .filters = 2, .blocks = Taps == 3 ? 6 : 4}, A>(
          where, l);
  if (sizeof(T) <= 4 && l.in.col_stride() != 1)
    return layer_by_strips<Taps, Stride, sliding_strip{.cols = 4, .blocks = blocks}, A>(where, l);
  layer_by_strips<Taps, Stride, sliding_strip{.cols = 2, .blocks = blocks}, A>(where, l);
}

/// Whether an int tells how far the pixels of a strip are from its first.
template <class T>
bool steps_are_small(const channels_view<T>& v) {
  return v.col_stride() < std::int64_t(1) << 24;
}

/// Groups with words of channels; false if they have none, or the filters are too many.
template <class A, int Items, class P, class T, class TC, class Epilogue>
bool layer_by_groups(const P& where, const layer<T, TC, Epilogue>& l) {
  if constexpr (sizeof(T) <= 4) {
    using kernel = grouped_layer_kernel<T, TC, A, Epilogue, Items>;
    // Of the filters: this many leave an H100 room for three blocks.
    const machine& on = machine_of(where);
    const std::int64_t most_bytes = min(64 << 10, on.shared_per_block);
    const std::int64_t bytes = l.filters.images() * l.k() * std::int64_t(sizeof(T)),
                       strips = l.out.images() * l.out.height() * ceil_div(l.out.width(), std::int64_t(kernel::pixels));
    if (l.k() == 0 || bytes > most_bytes || strips * l.groups >= std::int64_t(1) << 32 ||
        !channels_in_vectors<kernel::items>(l.in, l.group_channels()) ||
        !channels_in_vectors<kernel::items>(l.filters, l.group_channels()))
      return false;
    const std::int64_t blocks = ceil_div(strips * l.groups, std::int64_t(kernel::threads)),
                       room = on.resident_blocks(kernel::threads, std::size_t(bytes), kernel::min_blocks);
    pmpp::launch(where, grid{min(blocks, on.multiprocessors * room), kernel::threads, static_cast<std::size_t>(bytes)},
                 kernel{}, l, channels_in_vectors<kernel::filters>(l.out, l.group_filters()));
    return true;
  }
  return false;
}

template <int Filters, class A, class P, class T, class TC, class Epilogue>
void layer_directly(const P& where, const layer<T, TC, Epilogue>& l) {
  using kernel = direct_layer_kernel<T, TC, A, Epilogue, Filters>;
  const std::int64_t strips = l.out.images() * l.out.height() * ceil_div(l.out.width(), std::int64_t(kernel::pixels));
  const std::int64_t parts = l.groups * ceil_div(l.group_filters(), std::int64_t(kernel::filters));
  const std::int64_t blocks = ceil_div(strips * parts, std::int64_t(kernel::threads));
  pmpp::launch(where, min(blocks, std::int64_t(1) << 20), kernel{},
               typename kernel::arguments{l, static_cast<int>(l.group_filters()), l.out.channel_stride() != 1});
}

/// Groups of few filters.
template <class A, class P, class T, class TC, class Epilogue>
void layer_by_pixels(const P& where, const layer<T, TC, Epilogue>& l) {
  const std::int64_t taps = l.filters.height();
  if (l.group_channels() == 1 && l.filters.width() == taps && l.stride_y == l.stride_x && l.stride_x <= 2 &&
      l.dilation_y == 1 && l.dilation_x == 1 && steps_are_small(l.in) && steps_are_small(l.out)) {
    const auto slide = [&]<int Taps>(std::integral_constant<int, Taps>) {
      l.stride_x == 1 ? layer_by_channels<Taps, 1, A>(where, l) : layer_by_channels<Taps, 2, A>(where, l);
    };
    if (taps == 3) return slide(std::integral_constant<int, 3>{});
    if (taps == 5) return slide(std::integral_constant<int, 5>{});
    if (taps == 7) return slide(std::integral_constant<int, 7>{});
  }
  if (l.group_filters() == 1) return layer_directly<1, A>(where, l);
  l.group_filters() == 2 ? layer_directly<2, A>(where, l) : layer_directly<4, A>(where, l);
}

template <layer_tuning Tuning, class A, class P, class T, class TC, class Epilogue>
void layer_on_blocks(const P& where, layer<T, TC, Epilogue> l) {
  const machine& on = machine_of(where);
  constexpr std::size_t least = least_shared_per_block<P>;
  constexpr layer_tile small_tile = Tuning.small.within(least);
  if constexpr (small_tile != Tuning.small) {
    constexpr layer_tuning tuning{small_tile, small_tile, Tuning.few_filters, Tuning.least_k_tiles, Tuning.part_blocks};
    if (!on.fits(Tuning.small.shared_bytes())) return layer_on_blocks<tuning, A>(where, l);
  }
  constexpr bool large_always_fits = Tuning.large.shared_bytes() <= least;
  const bool large_fits = large_always_fits || on.fits(Tuning.large.shared_bytes());
  const bool few = l.group_filters() < Tuning.few_filters;
  if (few || max(l.group_channels(), l.group_filters()) <= Tuning.few_filters)
    if (layer_by_groups<A, 4>(where, l) || layer_by_groups<A, 2>(where, l)) return;
  if (few || l.k() == 0) return layer_by_pixels<A>(where, l);
  if (detail::is_product(l) && l.in.channel_stride() != 1 && detail::layer_by_wgmma(where, l)) return;
  constexpr std::int64_t items = 16 / sizeof(T);
  const std::int64_t channels = l.group_channels(), whole = round_up(channels, items);
  // What cannot be read in words is copied first, unless it is less than a word.
  const bool in_ready = channels_in_vectors(l.in, channels), filters_ready = channels_in_vectors(l.filters, channels);
  const bool copies = !(in_ready && filters_ready) && channels >= items && (whole == channels || l.groups == 1) &&
                      l.k() / channels * whole < std::int64_t(1) << 31;
  channels_copy<T> in{l.in}, filters{l.filters};
  const std::int64_t in_size = copies && !(in_ready && whole == channels) ? in.elements() : 0;
  const std::int64_t filters_size = copies && !(filters_ready && whole == channels) ? filters.elements() : 0;
  // Where there are too few tiles for all multiprocessors, parts of k.
  const std::int64_t large = tiles_of<Tuning.large>(l), small = tiles_of<Tuning.small>(l);
  const bool vectors = copies || (in_ready && filters_ready);
  const auto k_tiles_of = [&](const layer_tile& tile) {
    return ceil_div(l.k() / channels * (copies ? whole : channels), std::int64_t(tile.row_bytes / sizeof(T)));
  };
  const std::int64_t processors = on.multiprocessors, most_parts = k_tiles_of(Tuning.small) / Tuning.least_k_tiles;
  const bool may_part = vectors && pixel_stride(l.out) >= 0;
  std::int64_t parts = may_part ? min(processors * Tuning.part_blocks / small, most_parts) : 1;
  const bool halves = Tuning.halves && large_fits && may_part && parts <= 1 && most_parts >= 2 && large >= processors &&
                      large < 2 * processors;
  if (halves) parts = 2;
  const std::int64_t k_tiles = k_tiles_of(halves ? Tuning.large : Tuning.small);
  const int part_k_tiles = static_cast<int>(ceil_div(k_tiles, max(parts, std::int64_t(1))));
  parts = ceil_div(k_tiles, std::int64_t(part_k_tiles));
  const std::int64_t sums_size = parts > 1 ? parts * l.pixels() * l.out.channels() : 0;
  scratch memory(where,
                 scratch_bytes({checked_bytes(in_size, sizeof(T), "a copy of the input"),
                                checked_bytes(filters_size, sizeof(T), "a copy of the filters"),
                                checked_bytes(sums_size, sizeof(A), "parts of sums")}),
                 0);
  if (in_size > 0) {
    in.to = memory.template take<T>(in_size);
    l.in = in.copy();
  }
  if (filters_size > 0) {
    filters.to = memory.template take<T>(filters_size);
    l.filters = filters.copy();
  }
  launch(where, filters.tiles() + in.tiles(), channels_last_kernel<T>{}, filters, in);
  if (vectors && detail::layer_by_wgmma(where, l)) return;
  if (parts > 1) {
    A* sums = memory.template take<A>(sums_size);
    return halves ? layer_by_parts<Tuning.large, A>(where, l, part_k_tiles, parts, sums)
                  : layer_by_parts<Tuning.small, A>(where, l, part_k_tiles, parts, sums);
  }
  const layer_parts whole_large{large, 0, l.k()}, whole_small{small, 0, l.k()};
  if (!vectors && large_fits)
    layer_by_tiles<Tuning.large, false, A>(where, l, whole_large);
  else if (!vectors)
    layer_by_tiles<large_always_fits ? Tuning.large : Tuning.small, false, A>(where, l, whole_small);
  else if (large_fits && large >= 2 * processors)
    layer_by_tiles<Tuning.large, true, A>(where, l, whole_large);
  else
    layer_by_tiles<Tuning.small, true, A>(where, l, whole_small);
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
