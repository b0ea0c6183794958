// SPDX-License-Identifier: Apache-2.0
//
// Copies an operand whose elements cannot be read 16 bytes at a time to memory where they can: each line (a row, or a
// column) lies in whole words of 16 bytes, with zeros after its end. Reads and writes the operand once, which takes
// less time than products of its elements one by one would lose. On an H100 also one whose lines TMA reads
// slowly, as they do not begin at multiples of 128 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Whether an operand's words of 16 bytes may be read; along k, or along m or n.
template <class T>
PMPP_HOST_DEVICE bool is_read_by_words(const gemm_operand<T>& x, bool along_k, std::int64_t batch) {
  constexpr std::int64_t items = 16 / sizeof(T);
  const std::int64_t unit = along_k ? x.k_stride : x.stride, pitch = along_k ? x.stride : x.k_stride;
  return unit == 1 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && pitch % items == 0 &&
         (batch == 1 || x.batch_stride % items == 0);
}

/// An operand as kernels that copy it see it: lines, along k or along m or n, in tiles of 32 lines x 128 items. An item is one element,
/// or several that are copied at once.
template <class Item>
struct operand_in_lines {
  static constexpr int lines_of_tile = simt::warp_size, items_of_tile = 128;

  const Item* from;
  std::int64_t lines, length, pitch;  ///< of a matrix; of a line: items, in the copy from one to the next
  std::int64_t line_stride, item_stride, batch_stride;  ///< of `from`
  divisor tiles_down, tiles_along;                      ///< of a matrix
  std::int64_t tiles = 0;                               ///< of all
  bool across;                                          ///< neighbours read neighbouring lines, else items of a line

  operand_in_lines() = default;
  template <class T>
  operand_in_lines(const gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch, std::int64_t pitch_) {
    constexpr std::int64_t elements = sizeof(Item) / sizeof(T);
    from = reinterpret_cast<const Item*>(x.data);
    lines = along_k ? x.extent : k;
    length = (along_k ? k : x.extent) / elements;
    pitch = pitch_ / elements;
    line_stride = (along_k ? x.stride : x.k_stride) / elements;
    item_stride = along_k ? x.k_stride : x.stride;
    batch_stride = x.batch_stride / elements;
    tiles_down = divisor(ceil_div(lines, std::int64_t(lines_of_tile)));
    tiles_along = divisor(ceil_div(pitch, std::int64_t(items_of_tile)));
    tiles = std::int64_t(tiles_down.value()) * tiles_along.value() * (x.batch_stride == 0 ? 1 : batch);
    across = line_stride == 1 && item_stride != 1;
  }
};

/// Copies one operand, or two. 16 items of a thread are on their way at a time.
template <class T>
struct repack_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = 4, lines = operand_in_lines<T>::lines_of_tile,
                       items = operand_in_lines<T>::items_of_tile, warps = threads / lines;
  struct shared {
    T tile[items][lines + 1];
  };

  struct operand : operand_in_lines<T> {
    T* to;
  };
  struct arguments {
    operand first, second;  ///< the second may have no tiles
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& both) const {
    simt::previous_kernels_done();
    const int lane = block.lane(), warp = block.warp();
    for (std::int64_t i = block.index(); i < both.first.tiles + both.second.tiles; i += block.count()) {
      const operand& x = i < both.first.tiles ? both.first : both.second;
      const auto tile = static_cast<std::uint32_t>(i < both.first.tiles ? i : i - both.first.tiles);
      const std::uint32_t row = x.tiles_along.quotient(tile), batch = x.tiles_down.quotient(row);
      const std::int64_t line0 = std::int64_t(row - batch * x.tiles_down.value()) * lines,
                         item0 = std::int64_t(tile - row * x.tiles_along.value()) * items;
      const T* from = x.from + batch * x.batch_stride + line0 * x.line_stride + item0 * x.item_stride;
      T* to = x.to + (batch * x.lines + line0) * x.pitch + item0;
      const int down = static_cast<int>(min<std::int64_t>(x.lines - line0, lines)),
                along = static_cast<int>(min<std::int64_t>(x.length - item0, items)),
                room = static_cast<int>(min<std::int64_t>(x.pitch - item0, items));
      T value[lines * items / threads];
      if (x.across) {
        unrolled<items / warps>([&](int u) {
          const int item = warp + u * warps;
          value[u] = lane < down && item < along ? from[lane * x.line_stride + item * x.item_stride] : T{};
        });
        unrolled<items / warps>([&](int u) { memory.tile[warp + u * warps][lane] = value[u]; });
        block.sync();
      }
      unrolled<lines * items / threads>([&](int u) {
        const int line = warp + u % (lines / warps) * warps, item = lane + u / (lines / warps) * lines;
        value[u] = x.across                      ? memory.tile[item][line]
                   : line < down && item < along ? from[line * x.line_stride + item * x.item_stride]
                                                 : T{};
      });
      unrolled<lines * items / threads>([&](int u) {
        const int line = warp + u % (lines / warps) * warps, item = lane + u / (lines / warps) * lines;
        if (line < down && item < room) to[line * x.pitch + item] = value[u];
      });
      if (x.across) block.sync();
    }
  }
};

/// Elements from a line of a copy to the next. Where lines are long they begin at multiples of 128 bytes, which is what
/// TMA reads fast.
template <class T>
constexpr std::int64_t repacked_pitch(std::int64_t length) {
  return round_up(length, std::int64_t((length * sizeof(T) < 1024 ? 16 : 128) / sizeof(T)));
}

/// Whether rows of 128 bytes of such an operand lie in two lines of the cache, and those of a copy do not.
template <class T>
bool straddles_lines(const gemm_operand<T>& x, bool along_k, std::int64_t k) {
  const std::int64_t length = along_k ? k : x.extent, pitch = along_k ? x.stride : x.k_stride;
  const bool begins = reinterpret_cast<std::uintptr_t>(x.data) % 128 == 0 && pitch * sizeof(T) % 128 == 0;
  return !begins && repacked_pitch<T>(length) * sizeof(T) % 128 == 0;
}

/// Bytes that the copy of an operand takes, of `batch` matrices with k columns. along_k: lines run along k.
template <class T>
std::int64_t repacked_bytes(const gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch) {
  const std::int64_t lines = along_k ? x.extent : k, length = along_k ? k : x.extent;
  return (x.batch_stride == 0 ? 1 : batch) * lines * repacked_pitch<T>(length) * std::int64_t(sizeof(T));
}

inline constexpr double repack_launch = 2.5e-6;  ///< seconds

/// What a kernel has to know to copy x to `to`; x is the copy then.
template <class Item, class T>
typename repack_kernel<Item>::operand describe_copy(gemm_operand<T>& x, bool along_k, std::int64_t k,
                                                    std::int64_t batch, void* to) {
  const std::int64_t pitch = repacked_pitch<T>(along_k ? k : x.extent);
  const typename repack_kernel<Item>::operand y{{x, along_k, k, batch, pitch}, static_cast<Item*>(to)};
  x = gemm_operand<T>(static_cast<const T*>(to), x.extent, along_k ? pitch : 1, along_k ? 1 : pitch,
                      x.batch_stride == 0 ? 0 : y.lines * pitch);
  return y;
}

/// Enqueues copies of one operand, or of two.
template <class P, class T>
void launch_copies(const P& where, const repack_kernel<T>& kernel, const typename repack_kernel<T>::operand& first,
                   const typename repack_kernel<T>::operand& second = {}) {
  launch(where, min(first.tiles + second.tiles, std::int64_t(1) << 30), kernel,
         typename repack_kernel<T>::arguments{first, second});
}

/// Whether all lines begin and end at multiples of so many bytes, and elements of a line are neighbours.
template <class T>
bool is_copied_by(std::size_t bytes, const gemm_operand<T>& x, bool along_k, std::int64_t k) {
  const std::uint64_t places =
      reinterpret_cast<std::uintptr_t>(x.data) |
      sizeof(T) * std::uint64_t((along_k ? k : x.extent) | (along_k ? x.stride : x.k_stride) | x.batch_stride);
  return (along_k ? x.k_stride : x.stride) == 1 && places % bytes == 0;
}

/// Bytes of an item: 8 or 4 where lines allow it, else of an element.
template <class T>
int bytes_of_item(const gemm_operand<T>& x, bool along_k, std::int64_t k) {
  return sizeof(T) < 8 && is_copied_by(8, x, along_k, k)   ? 8
         : sizeof(T) < 4 && is_copied_by(4, x, along_k, k) ? 4
                                                           : int(sizeof(T));
}
/// How many clocks it takes, with its launch.
template <class T>
double clocks_of_repack(const gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch, const machine& on) {
  using lines_of = operand_in_lines<T>;
  const std::int64_t lines = along_k ? x.extent : k, length = along_k ? k : x.extent,
                     tiles = ceil_div(lines, std::int64_t(lines_of::lines_of_tile)) *
                             ceil_div(length, std::int64_t(lines_of::items_of_tile)) *
                             (x.batch_stride == 0 ? 1 : batch);
  constexpr double of_tile =
      0.6 * lines_of::lines_of_tile * lines_of::items_of_tile * sizeof(T);  // however few are there
  const double rate = bytes_of_item(x, along_k, k) == 1 ? 0.18 : 0.36;      // bytes go one by one where lines cross
  return on.clocks_of(repack_launch) +
         max(double(repacked_bytes(x, along_k, k, batch)), of_tile * double(tiles)) / (rate * on.memory_rate());
}

/// Calls f with an item of so many bytes.
template <class T, class F>
void with_item(int bytes, F f) {
  if constexpr (sizeof(T) < 8)
    if (bytes == 8) return f(std::uint64_t{});
  if constexpr (sizeof(T) < 4)
    if (bytes == 4) return f(std::uint32_t{});
  f(T{});
}

/// Enqueues the copy; x is the copy then.
template <class P, class T>
void repack(const P& where, gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch, void* to) {
  with_item<T>(bytes_of_item(x, along_k, k), [&]<class Item>(Item) {
    launch_copies(where, repack_kernel<Item>{}, describe_copy<Item>(x, along_k, k, batch, to));
  });
}

/// Whether two copies are made by one launch: of items of the same size, or of so few bytes that the launch is what they take.
template <class T>
bool is_one_copy(const gemm_operand<T>& a, bool a_along_k, const gemm_operand<T>& b, bool b_along_k, std::int64_t k,
                 std::int64_t batch) {
  return bytes_of_item(a, a_along_k, k) == bytes_of_item(b, b_along_k, k) || sizeof(T) >= 4 ||
         repacked_bytes(a, a_along_k, k, batch) + repacked_bytes(b, b_along_k, k, batch) < std::int64_t(8) << 20;
}

/// Whether an operand is copied first, and whether lines of the copy run along k.
struct copy_wish {
  bool is_made, along_k = false;
};

/// Multiplies copies of A and B, of which those are made that are asked for: f(problem), whose result it returns.
template <class P, class Problem, class F>
auto multiply_copies(const P& where, Problem x, copy_wish of_a, copy_wish of_b, F f) {
  const auto bytes = [&](const auto& y, copy_wish of) {
    return of.is_made ? checked_bytes(repacked_bytes(y, of.along_k, x.k, x.batch), 1, "gemm") : 0;
  };
  const std::size_t a_bytes = bytes(x.a, of_a), b_bytes = bytes(x.b, of_b);
  scratch memory(where, scratch_bytes({a_bytes, b_bytes}), 0);
  void* const to_a = memory.template take<std::byte>(a_bytes);
  void* const to_b = memory.template take<std::byte>(b_bytes);
  using T = typename Problem::type_a;
  if constexpr (std::is_same_v<T, typename Problem::type_b>)
    if (a_bytes > 0 && b_bytes > 0 && is_one_copy(x.a, of_a.along_k, x.b, of_b.along_k, x.k, x.batch)) {
      with_item<T>(min(bytes_of_item(x.a, of_a.along_k, x.k), bytes_of_item(x.b, of_b.along_k, x.k)),
                   [&]<class Item>(Item) {
                     const auto first = describe_copy<Item>(x.a, of_a.along_k, x.k, x.batch, to_a),
                                second = describe_copy<Item>(x.b, of_b.along_k, x.k, x.batch, to_b);
                     launch_copies(where, repack_kernel<Item>{}, first, second);
                   });
      return f(x);
    }
  if (a_bytes > 0) repack(where, x.a, of_a.along_k, x.k, x.batch, to_a);
  if (b_bytes > 0) repack(where, x.b, of_b.along_k, x.k, x.batch, to_b);
  return f(x);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
