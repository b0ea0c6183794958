// SPDX-License-Identifier: Apache-2.0
//
// Square masks of 11, 13 and 15 taps a side on a matrix of floats, halves or small integers. Multiplications limit these, so
// all else is kept away from them: the results wait in registers, and only rows of the input go through shared memory. A
// block walks down a strip of 512 columns, two rows at a time:
//
//   rows r and r + 1 of the input --row 14 of the mask--> results r - 7 and r - 6: complete, written
//                                       13           --> results r - 6 and r - 5
//                                       ...
//                                        0           --> results r + 7 and r + 8
//
// A thread makes four adjacent columns, so that a tap that it reads serves eight products, and an element as many as the
// mask is high. Half the threads bring the next one of the rows, half the one after. A strip is cut to sections, for as many
// blocks as there is room for.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a launch works on: strips of sections.
template <class In, class Out>
struct strip_task {
  volume<const In> in;
  volume<Out> out;
  border::rule outside;
  bool in_fours, out_fours;
  std::int64_t strips, section;  ///< rows of a section
};

template <class In, class Tap, class Out, int Size, int Blocks>
struct strip_kernel {
  static constexpr int threads = 128, min_blocks = Blocks;
  static constexpr int rows = 2, bringers = threads / rows;  ///< rows of a step; threads that bring one
  static constexpr int width = 4 * threads;                  ///< of a strip
  // A row begins at a multiple of four columns, so the first `margin` of them meet no tap.
  static constexpr int reach = round_up(Size / 2, 4), margin = reach - Size / 2;
  static constexpr int groups = ceil_div(margin + Size, 4);  ///< of four columns of taps
  static constexpr int pitch = threads + groups;             ///< groups of four elements in a row
  static constexpr bool moves = std::is_same_v<In, float>;   ///< without registers on the way

  struct shared {
    four<float> row[2][rows][pitch];
    four<float> tap[4 * groups][ceil_div(Size, 4)];  ///< from column to column; the last row first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const strip_task<In, Out>& task,
                                   const mask_argument<Tap, Size * Size>& mask) const {
    const auto strip = static_cast<std::uint32_t>(block.index()) % static_cast<std::uint32_t>(task.strips);
    const auto section = static_cast<std::uint32_t>(block.index()) / static_cast<std::uint32_t>(task.strips);
    const int x = static_cast<int>(strip) * width, first = static_cast<int>(section * task.section);
    const int last = static_cast<int>(min(first + task.section, task.out.height));
    for (int i = block.thread(); i < Size * Size; i += threads) {
      const int row = Size - 1 - i / Size;
      memory.tap[margin + i % Size][row / 4].item[row % 4] = mask.template tap<float>(0, i / Size, i % Size);
    }
    const float outside = static_cast<float>(task.outside.value);
    four<float>* const slots = memory.row[0][0];
    for (int i = block.thread(); i < 2 * rows * pitch; i += threads) slots[i] = {{outside, outside, outside, outside}};
    block.sync();

    const int own = block.thread() / bringers;  // the row of a step that the thread helps to bring
    row_source source(task, x, block.thread() % bringers);
    int row = first - Size / 2, half = 0;
    source.start(row + own, memory.row[half][own]);
    source.finish(memory.row[half][own]);
    constexpr int delay = Size - 1 - Size / 2;  // rows from a result to the one that completes it
    Out* to = task.out.data + first * task.out.pitch + (x + 4 * block.thread()) * task.out.step;
    const int columns = static_cast<int>(min(task.out.width - x - 4 * block.thread(), std::int64_t(4)));
    float sum[Size + rows - 1][4];  // of result r where sum[k] has got all but row r + delay
    for (int i = 0; i < Size + rows - 1; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] = 0;
    for (; row < last + delay; row += rows, half = 1 - half) {
      for (int i = 0; i < Size + rows - 1; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = i < Size - 1 ? sum[i + rows][j] : 0.0f;
      simt::copy_async_wait<0>();
      block.sync();
      source.start(row + rows + own, memory.row[1 - half][own]);
      add_rows(memory, memory.row[half][0] + block.thread(), sum);
      source.finish(memory.row[1 - half][own]);
      for_each_constant<rows>([&](auto which) {
        constexpr int r = decltype(which)::value;
        if (row + r >= first + delay && row + r < last + delay) {
          detail::store_four(task.out, to, task.out_fours, columns, sum[r]);
          to += task.out.pitch;
        }
      });
    }
    simt::copy_async_wait<0>();
  }

private:
  /// What a thread brings of a row: every 64th group of four that lies inside, and an element at an edge.
  class row_source {
  public:
    PMPP_HOST_DEVICE row_source(const strip_task<In, Out>& task, int x, int number) : task_(task), number_(number) {
      const int n = static_cast<int>(task.in.width), whole = n / 4 * 4, left = x - reach;
      columns_ = task.in.data + left * task.in.step;
      begin_ = left < 0 ? -left / 4 : 0;
      end_ = min(pitch, (whole - left) / 4);
      const int column = number < reach ? number - reach : whole + number - reach;
      edge_ = column - left;
      const bool needed = edge_ >= 0 && edge_ < 4 * pitch && column < n + Size / 2;
      from_edge_ = needed ? static_cast<int>(position_in(column, n, task.outside.what)) : -1;
    }
    /// Begins to bring row y to `to`.
    PMPP_HOST_DEVICE void start(int y, four<float>* to) {
      const volume<const In>& in = task_.in;
      const int height = static_cast<int>(in.height);
      const auto from_y = position_in(y, height, task_.outside.what);
      is_there_ = from_y >= 0;
      if (!is_there_) {
        const float outside = static_cast<float>(task_.outside.value);
        for (int i = number_; i < pitch; i += bringers) to[i] = {{outside, outside, outside, outside}};
        return;
      }
      const In* const from = columns_ + from_y * in.pitch;
      float* const elements = reinterpret_cast<float*>(to);
      if (task_.in_fours) {
        for_each_constant<parts>([&](auto number) {
          constexpr int i = decltype(number)::value;
          if (!has_group(i)) return;
          if constexpr (moves)
            simt::copy_async_near(to + number_ + bringers * i, from + 4 * (number_ + bringers * i));
          else
            raw_[i] = *reinterpret_cast<const four<In>*>(from + 4 * (number_ + bringers * i));
        });
      } else {
        for (int i = 4 * begin_ + number_; i < 4 * end_; i += bringers) bring(elements + i, from + i * in.step);
      }
      if (from_edge_ >= 0) bring(elements + edge_, in.data + from_y * in.pitch + from_edge_ * in.step);
      simt::copy_async_commit();
    }
    /// Puts there what is not on its way by itself.
    PMPP_HOST_DEVICE void finish(four<float>* to) const {
      if constexpr (!moves)
        if (is_there_ && task_.in_fours)
          for_each_constant<parts>([&](auto number) {
            constexpr int i = decltype(number)::value;
            if (has_group(i)) to[number_ + bringers * i] = widened<float>(raw_[i]);
          });
    }

  private:
    static constexpr int parts = ceil_div(pitch, bringers);
    PMPP_HOST_DEVICE bool has_group(int i) const {
      return number_ + bringers * i >= begin_ && number_ + bringers * i < end_;
    }
    PMPP_HOST_DEVICE static void bring(float* to, const In* from) {
      if constexpr (moves)
        simt::copy_async<4>(to, from);
      else
        *to = converted<float>(*from);
    }

    const strip_task<In, Out>& task_;
    const In* columns_;
    int number_;             ///< of the thread among those that bring the row
    int begin_, end_;        ///< of the groups that lie inside
    int edge_, from_edge_;   ///< the element at an edge: place in the row, column or -1
    bool is_there_ = false;  ///< the row, or else the constant stands there
    four<In> raw_[moves ? 1 : parts]{};
  };

  /// Adds the products of rows of which a thread meets the elements from `line` on.
  PMPP_HOST_DEVICE static void add_rows(const shared& memory, const four<float>* line,
                                        float (&sum)[Size + rows - 1][4]) {
    for_each_constant<Size>([&](auto number) {
      constexpr int k = margin + decltype(number)::value;  // the column of the mask's slots
      four<float> x[rows][2];
      for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 2; ++i) x[r][i] = line[r * pitch + k / 4 + i];
      for_each_constant<ceil_div(Size, 4)>([&](auto group) {
        constexpr int q = decltype(group)::value;
        const four<float> tap = memory.tap[k][q];
        for (int i = 0; i < min(4, Size - 4 * q); ++i)
          for (int r = 0; r < rows; ++r)
            for (int j = 0; j < 4; ++j)
              sum[4 * q + i + r][j] += tap.item[i] * x[r][(k % 4 + j) / 4].item[(k % 4 + j) % 4];
      });
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
