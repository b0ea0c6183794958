// SPDX-License-Identifier: Apache-2.0
//
// The tiles of kernel.hpp where sm_90a (H100, H200) has a unit that copies windows: one thread asks for 128 bytes of
// channels of a tap for all pixels and filters of a tile, and no thread works out addresses or tests for the padding.
// As soon as all have read a k-tile, its place is asked to be filled again: all stages but one are on their way at a time.
//
// For floats, and for half and bfloat16 where the output has channels first and few filters, or the layer has groups:
// what the kernel of convolution_layer/wgmma.hpp does not do. Channels first are written through shared memory, by words of
// pixels.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/convolution_layer/wgmma.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/mma.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class T, class TC, class A, class Epilogue, layer_tile Tile, simt::mma_type Type>
struct copied_layer_kernel : layer_kernel<T, TC, A, Epilogue, Tile, true, Type> {
  using base = layer_kernel<T, TC, A, Epilogue, Tile, true, Type>;
  using base::depth, base::threads;
  static_assert(Tile.row_bytes == 128);

  struct shared {
    struct alignas(1024) stage {  // the swizzle repeats every 1024 bytes
      T pixel[Tile.pixels * depth], filter[Tile.filters * depth];
    } stages[Tile.stages];
    std::int64_t target[Tile.pixels];
    simt::transaction_barrier full[Tile.stages];
  };

  struct arguments {
    simt::tile_map pixels, filters;
    layer<T, TC, Epilogue> l;
    layer_windows<false, depth> windows;
    layer_parts parts;
    int k_tiles;    ///< of k
    bool by_words;  ///< 16 bytes of pixels of a filter may be written at once
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    const typename base::coord at(x.l, x.parts, block.index());
    const int k_tiles = min(x.parts.k_tiles, x.k_tiles - at.k_tile);
    auto next = x.windows.first_k_tile(0, static_cast<int>(at.pixel), static_cast<int>(at.filter));
    const bool is_elected = block.thread() == 0;
    const auto fetch = [&](int stage) __attribute__((always_inline)) {
      memory.full[stage].arrive_expecting(sizeof memory.stages[stage]);
      next.copy(x.windows, x.pixels, x.filters, memory.stages[stage].pixel, memory.stages[stage].filter,
                memory.full[stage]);
      next.advance(x.windows);
    };
    if (is_elected) {
      for (int s = 0; s < Tile.stages; ++s) memory.full[s].init(1);
      simt::barriers_visible();
      next.first_channel = static_cast<int>(at.channels);
      next.skip(x.windows, at.k_tile);
      for (int s = 0; s < min(Tile.stages, k_tiles); ++s) fetch(s);
    }
    note_targets(block, memory, x.l, at.pixel);
    block.sync();
    typename base::sums sum{};
    block::stage_position<Tile.stages> now;
    for (int s = 0; s < k_tiles; ++s, now.advance()) {
      const int stage = now.stage;
      memory.full[stage].wait(now.odd);
      base::add_k_tile(block, memory.stages[stage].pixel, memory.stages[stage].filter, sum);
      block.sync();  // all have read the k-tile, whose place is taken
      if (is_elected && s + Tile.stages < k_tiles) fetch(stage);
    }
    if (x.by_words)
      write_words(block, memory, x.l, at, sum);
    else
      base::write(block, memory.target, x.l, at, sum);
#endif
  }

private:
  /// Writes pixels that lie next to each other: through shared memory, where k-tiles are not read any more.
  template <class Block, class Sums, class Place>
  PMPP_HOST_DEVICE static void write_words(Block& block, shared& memory, const layer<T, TC, Epilogue>& l,
                                           const Place& at, const Sums& sum) {
    constexpr int items = max(1, int(16 / sizeof(TC))), row = Tile.pixels + items;
    static_assert(sizeof(memory.stages) >= Tile.filters * row * sizeof(TC));
    TC* const tile = reinterpret_cast<TC*>(memory.stages);
    unrolled<base::own_m>([&](int i) {
      unrolled<base::own_n>([&](int j) {
        const int filter = base::col_of(block, j);
        if (filter < at.filters)
          tile[filter * row + base::row_of(block, i)] = l.result(sum.at(i, j), at.filter + filter);
      });
    });
    block.sync();
    constexpr int words = Tile.pixels / items, step = threads / words;
    const int word = block.thread() % words * items;
    const std::int64_t target = memory.target[word];
    if (target < 0) return;
    TC* const to = l.out.data() + at.target + target + at.filter * l.out.channel_stride();
    for (int filter = block.thread() / words; filter < at.filters; filter += step)
      *reinterpret_cast<packed<TC, items>*>(to + filter * l.out.channel_stride()) =
          *reinterpret_cast<const packed<TC, items>*>(tile + filter * row + word);
  }

  template <class Block>
  PMPP_HOST_DEVICE static void note_targets(Block& block, shared& memory, const layer<T, TC, Epilogue>& l,
                                            std::int64_t first) {
    const auto width = static_cast<std::uint32_t>(l.out.width()), height = static_cast<std::uint32_t>(l.out.height());
    for (int i = block.thread(); i < Tile.pixels; i += threads) {
      const auto pixel = static_cast<std::uint32_t>(first + i);
      const std::uint32_t line = pixel / width, x = pixel % width;
      memory.target[i] = pixel < l.pixels() ? base::target_of(l, line / height, line % height, x) : -1;
    }
  }
};

/// Whether 16 bytes of pixels of a filter may be written at once, whichever is the first of them.
template <class T>
bool writes_words(const channels_view<T>& v) {
  constexpr std::int64_t items = max(1, int(16 / sizeof(T)));
  const auto whole = [](std::int64_t x) { return x % items == 0; };
  return has_pixel_columns(v) && whole(v.height() * v.width()) && whole(v.channel_stride()) &&
         whole(v.image_stride()) && reinterpret_cast<std::uintptr_t>(v.data()) % 16 == 0;
}

/// Starts the tiles of a layer; false, and nothing has happened, if this path cannot.
template <layer_tile Tile, simt::mma_type Type, class A, class P, class T, class TC, class Epilogue>
bool layer_by_copied_tiles(const P& where, const layer<T, TC, Epilogue>& l, const layer_parts& parts) {
  if constexpr (gpu_execution<P> && sizeof(T) <= 4) {
    using kernel = copied_layer_kernel<T, TC, A, Epilogue, Tile, Type>;
    constexpr std::int64_t most = std::int64_t(1) << 30;
    const std::int64_t blocks =
        parts.tiles * ceil_div(ceil_div(std::int64_t(l.k()), std::int64_t(kernel::depth)), std::int64_t(parts.k_tiles));
    if (l.in.channel_stride() != 1 || l.filters.channel_stride() != 1 || l.group_channels() % kernel::depth != 0 ||
        l.pixels() >= most || l.in.channels() >= most || l.out.channels() >= most || blocks >= most ||
        !wgmma_available())
      return false;
    typename kernel::arguments x{{},
                                 {},
                                 l,
                                 windows_of<layer_windows<false, kernel::depth>>(l),
                                 parts,
                                 l.k() / kernel::depth,
                                 writes_words(l.out)};
    if (!describe_layer(x.pixels, x.filters, l, Tile.pixels, Tile.filters)) return false;
    launch(where, blocks, kernel{}, x);
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

template <auto Tile, auto Type, class A, class P, class Layer, class Parts>
bool layer_by_copied_tiles(const P&, const Layer&, const Parts&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
