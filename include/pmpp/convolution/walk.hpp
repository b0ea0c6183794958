// SPDX-License-Identifier: Apache-2.0
//
// The kernel of convolve_separable for masks of up to 16 taps each: the results wait in registers, so that only rows of the
// input go through shared memory. A block walks down a strip of 512 columns:
//
//   row r of the input --mask_x--> sum of row r, times tap 0 of mask_y --> result r + 2
//                                                          1           --> result r + 1
//                                                          ...
//                                               of 5 taps, 4           --> result r - 2: complete, written
//
// A thread makes four adjacent columns, from two rows at a time, so that a tap is read once for eight products. Registers
// have no addresses: the results move along by their names, in a loop of `steps` rows unrolled, and taps stand in `Slots`
// slots, four a group; groups that the mask has no taps for are skipped. The first slots have no tap where the mask's size
// is no multiple of four: adding 0 * x would spread infinite elements.
// A strip is cut to sections, for as many blocks as there is room for.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/pixel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where the taps of a mask stand.
struct tap_slots {
  int taps, groups, absent;  ///< groups of four slots; slots in front that have no tap

  PMPP_HOST_DEVICE explicit tap_slots(std::int64_t n)
      : taps(static_cast<int>(n)), groups(static_cast<int>((n + 3) / 4)), absent(4 * groups - taps) {}

  /// Calls f(g) for the groups that there are, constants.
  template <int Slots, class F>
  PMPP_HOST_DEVICE void for_each_group(const F& f) const {
    for_each_constant<Slots / 4>([&](auto group) {
      constexpr int g = decltype(group)::value;
      if (g == 0 || g < groups) f(group);
    });
  }
  PMPP_HOST_DEVICE bool has_tap(int slot) const { return slot >= 3 || slot >= absent; }
};

/// What a launch works on: strips of sections.
template <class In, class Out>
struct walk_task {
  volume<const In> in;
  volume<Out> out;
  border::rule outside;
  bool out_fours;
  std::int64_t strips, section;  ///< rows of a section
};

template <class In, class TapY, class TapX, class Out, int Slots>
struct walk_kernel {
  static constexpr bool moves = std::is_same_v<In, float>;              ///< without registers on the way
  static constexpr int threads = 128, min_blocks = Slots < 16 ? 4 : 3;  // registers
  static constexpr int width = 4 * threads, pitch = (width + Slots) / 4, steps = 8;
  static constexpr int ahead = 4;             ///< rows that are on their way
  static constexpr int ring = moves ? 8 : 4;  ///< rows in shared memory
  // Bytes are made by the arithmetic of simt/pixel.hpp.
  static constexpr bool pixels = std::is_same_v<In, std::uint8_t> && std::is_same_v<Out, std::uint8_t>;
  static constexpr float start = pixels ? simt::half_a_pixel : 0.0f, unit = pixels ? 1.0f / 256 : 1.0f;

  struct shared {
    four<float> row[ring][pitch];
    four<float> tap_y[Slots / 4], tap_x[Slots / 4];  ///< from slot to slot; of mask_y the last tap first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const walk_task<In, Out>& task,
                                   const mask_argument<TapY, Slots>& mask_y,
                                   const mask_argument<TapX, Slots>& mask_x) const {
    const volume<const In>& in = task.in;
    const tap_slots rows(mask_y.taps.width), columns(mask_x.taps.width);
    const int thread = block.thread();
    place_taps(thread, memory, mask_y, mask_x);
    const auto strip = static_cast<std::uint32_t>(block.index()) % static_cast<std::uint32_t>(task.strips);
    const auto section = static_cast<std::uint32_t>(block.index()) / static_cast<std::uint32_t>(task.strips);
    const int x = static_cast<int>(strip) * width, first = static_cast<int>(section * task.section);
    const int last = static_cast<int>(min(first + task.section, task.out.height));

    // A thread brings every 128th element of a row, the first ones one more. A bit of `missing`: there is no such column.
    const int own = thread < Slots ? 5 : 4;
    std::uint32_t column[5], missing = 0;
    for (int j = 0; j < 5; ++j) {
      const std::int64_t from =
          position_in(x - columns.taps / 2 - columns.absent + threads * j + thread, in.width, task.outside.what);
      column[j] = static_cast<std::uint32_t>(max(from, std::int64_t(0)) * in.step);
      missing |= from < 0 ? 1u << j : 0u;
    }
    In coming[moves ? 1 : ahead][5]{};
    const auto load = [&](std::int64_t offset, bool lost, four<float>* to, In(&raw)[5]) {
      const In* const from = in.data + offset;
      if constexpr (moves) {
        float* const line = reinterpret_cast<float*>(to) + thread;
        for (int j = 0; j < 5; ++j)
          if (j < own) {
            if (lost || (missing >> j & 1) != 0)
              line[threads * j] = static_cast<float>(task.outside.value);
            else
              simt::copy_async<4>(line + threads * j, from + column[j]);
          }
        simt::copy_async_commit();
      } else {
        for (int j = 0; j < 5; ++j)
          if (j < own) raw[j] = from[column[j]];
      }
    };
    // Each lane looks up one of the next rows: where it begins, and in a bit of `lost` whether it is none of the input's.
    int row = first - rows.taps / 2;
    std::int64_t offset = 0;
    std::uint32_t lost = 0;
    const auto look_up = [&] {
      const std::int64_t place = position_in(row + block.lane(), in.height, task.outside.what);
      offset = max(place, std::int64_t(0)) * in.pitch;
      lost = block.ballot(place < 0);
    };
    look_up();
    for_each_constant<ahead>([&](auto step) {
      constexpr int k = decltype(step)::value;
      load(block.shuffle(offset, k), (lost >> k & 1) != 0, memory.row[k % ring], coming[moves ? 0 : k]);
    });

    const int delay = 4 * rows.groups - 1 - rows.taps / 2;  // rows from a result to the one that completes it
    Out* to = task.out.data + first * task.out.pitch + (x + 4 * thread) * task.out.step;
    const std::int64_t room = task.out.width - x - 4 * thread;  // columns that the thread may write
    float sum[Slots + steps - 1][4];  // of result r where sum[k] has got all but row r + delay
    for (int i = 0; i < Slots + steps - 1; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] = start;
    for (; row < last + delay; row += steps) {
      look_up();
      for_each_constant<steps / 2>([&](auto step) {
        constexpr int k = 2 * decltype(step)::value;
        if constexpr (moves)
          simt::copy_async_wait<ahead - 2>();
        else
          for_each_constant<2>([&](auto which) {
            constexpr int r = k + decltype(which)::value;
            put(coming[r % ahead], own, lost >> r & 1 ? ~0u : missing, task.outside,
                reinterpret_cast<float*>(memory.row[r % ring]) + thread);
          });
        block.sync();
        for_each_constant<2>([&](auto which) {
          constexpr int r = k + ahead + decltype(which)::value;
          load(block.shuffle(offset, r), (lost >> r & 1) != 0, memory.row[r % ring], coming[moves ? 0 : r % ahead]);
        });
        add_rows(memory, memory.row[k % ring] + thread, rows, columns, sum + k);
        for_each_constant<2>([&](auto which) {
          constexpr int r = k + decltype(which)::value;
          if (row + r >= first + delay && row + r < last + delay) {
            write(task, to, room, sum[r]);
            to += task.out.pitch;
          }
        });
      });
      for (int i = 0; i < Slots + steps - 1; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = i < Slots - 1 ? sum[i + steps][j] : start;
    }
    if constexpr (moves) simt::copy_async_wait<0>();
  }

private:
  PMPP_HOST_DEVICE static void place_taps(int thread, shared& memory, const mask_argument<TapY, Slots>& mask_y,
                                          const mask_argument<TapX, Slots>& mask_x) {
    const tap_slots rows(mask_y.taps.width), columns(mask_x.taps.width);
    const int y = 4 * rows.groups - 1 - thread, x = thread - columns.absent;
    if (y >= 0 && y < rows.taps) memory.tap_y[thread / 4].item[thread % 4] = unit * mask_y.template tap<float>(0, 0, y);
    if (x >= 0 && x < columns.taps) memory.tap_x[thread / 4].item[thread % 4] = mask_x.template tap<float>(0, 0, x);
  }

  /// Elements on their way to a row; those with a bit of `missing` are the border's constant.
  PMPP_HOST_DEVICE static void put(const In (&raw)[5], int own, std::uint32_t missing, const border::rule& outside,
                                   float* line) {
    for (int j = 0; j < 5; ++j)
      if (j < own)
        line[threads * j] =
            missing != 0 && (missing >> j & 1) != 0 ? static_cast<float>(outside.value) : converted<float>(raw[j]);
  }

  /// Adds what two rows give, of which a thread meets the elements from `line` on: slot i of the first is that of sum[i].
  PMPP_HOST_DEVICE static void add_rows(const shared& memory, const four<float>* line, const tap_slots& rows,
                                        const tap_slots& columns, float (*sum)[4]) {
    float total[2][4] = {};
    four<float> window[2][2];
    for (int r = 0; r < 2; ++r) window[r][0] = line[r * pitch];
    columns.for_each_group<Slots>([&](auto group) {
      constexpr int g = decltype(group)::value, next = (g + 1) % 2;
      for (int r = 0; r < 2; ++r) window[r][next] = line[r * pitch + g + 1];
      const four<float> tap = memory.tap_x[g];
      for (int i = 0; i < 4; ++i)
        if (columns.has_tap(4 * g + i))
          for (int r = 0; r < 2; ++r)
            for (int j = 0; j < 4; ++j) total[r][j] += tap.item[i] * window[r][(g + (i + j) / 4) % 2].item[(i + j) % 4];
    });
    rows.for_each_group<Slots>([&](auto group) {
      constexpr int g = decltype(group)::value;
      const four<float> tap = memory.tap_y[g];
      for (int i = 0; i < 4; ++i)
        if (rows.has_tap(4 * g + i))
          for (int r = 0; r < 2; ++r)
            for (int j = 0; j < 4; ++j) sum[4 * g + i + r][j] += tap.item[i] * total[r][j];
    });
  }

  /// Writes four results of a row, as far as there is room.
  PMPP_HOST_DEVICE static void write(const walk_task<In, Out>& task, Out* to, std::int64_t room,
                                     const float (&sum)[4]) {
    if constexpr (pixels) {
      const words_of<1> result{simt::pixels_of(sum[0], sum[1], sum[2], sum[3])};
      if (task.out_fours && room >= 4) return store_words<1>(to, result);
      for (int j = 0; j < 4; ++j)
        if (j < room) to[j * task.out.step] = static_cast<std::uint8_t>(result.word[0] >> 8 * j);
    } else {
      store_four(task.out, to, task.out_fours, room, sum);
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
