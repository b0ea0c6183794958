// SPDX-License-Identifier: Apache-2.0
//
// Which kernels make a layer on a GPU: by its shape, its strides and the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/convolution_layer/channels_last.hpp>
#include <pmpp/convolution_layer/copied.hpp>
#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/convolution_layer/sliding.hpp>
#include <pmpp/convolution_layer/wgmma.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

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
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
