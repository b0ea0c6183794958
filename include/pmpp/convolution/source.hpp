// SPDX-License-Identifier: Apache-2.0
//
// How rows of the input come to shared memory, with what stands outside around them: kernels see rows that go on for ever.
//
//   load_tile          a block brings a tile at once, as sums                                              direct.hpp
//   row_of_groups      threads bring a row, 16 bytes at a time, while the one before is used               marching.hpp
//   rows_of_elements   a block brings rows one element a thread, so that they may begin at any column      marching.hpp
//   bring_rows         a warp brings its own rows, as they are in memory; widen_rows makes sums of them    separable.hpp
//
// All tell inside from outside by groups_inside (columns) and rows_of_lanes (rows), or by position_in alone where that is
// seldom done. Floats are copied without registers on the way; other elements are converted in registers.
// (Planes of volumes: stencil/kernel.hpp. Pictures that come to registers straight: pixels.hpp.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Elements that become sums of type A without registers on the way.
template <class In, class A>
inline constexpr bool moves = std::is_same_v<In, A> && sizeof(A) == 4;

/// Begins to bring an element, or four that begin at a multiple of four.
template <class A, class In>
PMPP_HOST_DEVICE void bring(A* to, const In* from) {
  if constexpr (moves<In, A>)
    simt::copy_async<4>(to, from);
  else
    *to = converted<A>(*from);
}
template <class A, class In>
PMPP_HOST_DEVICE void bring(four<A>* to, const In* from) {
  if constexpr (moves<In, A>)
    simt::copy_async_near(to, from);
  else
    *to = widened<A>(*reinterpret_cast<const four<In>*>(from));
}

template <class A>
PMPP_HOST_DEVICE four<A> four_times(A x) {
  return {{x, x, x, x}};
}

/// Of the `fours` groups of a row that begins at column x, a multiple of four: those that lie inside of the input; none
/// unless groups may be moved at once.
struct groups_inside {
  int begin, end;

  PMPP_HOST_DEVICE groups_inside(bool at_once, int fours, std::int64_t x, std::int64_t width) {
    const std::int64_t before = x < 0 ? (3 - x) / 4 : 0, whole = (width - x) / 4;
    begin = !at_once || before > fours ? fours : static_cast<int>(before);
    end = whole < begin ? begin : whole < fours ? static_cast<int>(whole) : fours;
  }
  PMPP_HOST_DEVICE int count() const { return end - begin; }
};

/// Brings a tile to shared memory, `fours` groups of four columns and `rows` rows from (y, x) of plane z on; x is a
/// multiple of four; `Threads` threads do it together. Complete after simt::copy_async_wait and their barrier.
template <int Threads, class A, class In, class Out>
PMPP_HOST_DEVICE void load_tile(int thread, const convolution_views<In, Out>& views, four<A>* tile, int rows, int fours,
                                std::int64_t z, std::int64_t y, std::int64_t x) {
  const volume<const In>& in = views.in;
  const border::kind outside = views.outside.what;
  const A constant = static_cast<A>(views.outside.value);
  const std::int64_t plane = position_in(z, in.depth, outside);
  const bool inside = plane >= 0 && y >= 0 && y + rows <= in.height && x >= 0 && x + 4 * fours <= in.width;
  if (inside && views.in_fours) {
    int row = thread / fours, group = thread % fours;
    const int step_row = Threads / fours, step_group = Threads % fours;
    four<A>* to = tile + thread;
    const In* from = in.at(plane, y + row, x + 4 * group);
    const std::int64_t step = step_row * in.pitch + 4 * step_group, wrap = in.pitch - 4 * fours;
    const auto advance = [&] {
      row += step_row;
      group += step_group;
      from += step;
      to += Threads;
      if (group >= fours) group -= fours, ++row, from += wrap;
    };
    if constexpr (moves<In, A>) {
      while (row < rows) {
        bring(to, from);
        advance();
      }
    } else {
      constexpr int batch = 4;  // loads on their way at once
      while (row < rows) {
        four<In> raw[batch]{};  // those that are not there stay zero
        four<A>* const first = to;
        int count = 0;
        for (int k = 0; k < batch; ++k) {
          if (row < rows) {
            raw[k] = *reinterpret_cast<const four<In>*>(from);
            count = k + 1;
          }
          advance();
        }
        for (int k = 0; k < batch; ++k)
          if (k < count) first[k * Threads] = widened<A>(raw[k]);
      }
    }
  } else {
    // The groups that lie between the edges of a row, then those that do not, which are few: all of them at once.
    const groups_inside whole(views.in_fours && plane >= 0, fours, x, in.width);
    const int between = max(whole.count(), 1), step_row = Threads / between, step_group = Threads % between;
    int row = whole.count() == 0 ? rows : thread / between, group = whole.begin + thread % between;
    while (row < rows) {
      const std::int64_t from_y = inside ? y + row : position_in(y + row, in.height, outside);
      four<A>* const to = tile + row * fours + group;
      const In* const from = in.data + plane * in.slice + from_y * in.pitch + x + 4 * group;
      if (from_y < 0)
        *to = four_times(constant);
      else
        bring(to, from);
      row += step_row;
      group += step_group;
      if (group >= whole.end) group -= between, ++row;
    }
    const int others = fours - whole.count();
    for (int i = thread; i < rows * others; i += Threads) {
      const int other_row = i / others, edge = i % others < whole.begin ? i % others : i % others + whole.count();
      const std::int64_t from_y = position_in(y + other_row, in.height, outside);
      four<A>* const to = tile + other_row * fours + edge;
      for (int j = 0; j < 4; ++j) {
        const std::int64_t from_x = position_in(x + 4 * edge + j, in.width, outside);
        const In* const from = in.at(plane, from_y, from_x);
        if (plane < 0 || from_y < 0 || from_x < 0)
          to->item[j] = constant;
        else
          bring(&to->item[j], from);
      }
    }
  }
  simt::copy_async_commit();
}

/// Rows y ... y + 31 of the input, one a lane: looked up at once, since that may take divisions.
struct rows_of_lanes {
  std::int64_t offset;  ///< where the lane's row begins
  std::uint32_t lost;   ///< a bit: the row is none of the input's, the constant stands there

  template <class Block, class In, class Out>
  PMPP_HOST_DEVICE rows_of_lanes(Block& block, const convolution_views<In, Out>& views, std::int64_t y) {
    const std::int64_t place = position_in(y + block.lane(), views.in.height, views.outside.what);
    offset = max(place, std::int64_t(0)) * views.in.pitch;
    lost = block.ballot(place < 0);
  }
  PMPP_HOST_DEVICE bool is_lost(int k) const { return (lost >> k & 1) != 0; }
};

/// A row of `Groups` groups of four floats that begins `Reach` columns, a multiple of four, in front of a strip, and ends at
/// most `Past` after the input. `Threads` threads bring it: each every Threads-th group that lies inside, and an element at an
/// edge.
template <class In, class Out, int Groups, int Threads, int Reach, int Past>
class row_of_groups {
public:
  /// `x`: the strip's first column; `number`: of the thread among those that bring the row.
  PMPP_HOST_DEVICE row_of_groups(const convolution_views<In, Out>& views, int x, int number)
      : views_(views), number_(number), inside_(true, Groups, x - Reach, views.in.width) {
    const int n = static_cast<int>(views.in.width), left = x - Reach;
    columns_ = views.in.data + left * views.in.step;
    const int column = (number < Reach ? 0 : n / 4 * 4) + number - Reach;
    edge_ = column - left;
    const bool needed = edge_ >= 0 && edge_ < 4 * Groups && column < n + Past;
    from_edge_ = needed ? static_cast<int>(position_in(column, n, views.outside.what)) : -1;
  }
  /// Begins to bring row y to `to`.
  PMPP_HOST_DEVICE void start(int y, four<float>* to) {
    const volume<const In>& in = views_.in;
    const auto from_y = position_in(y, static_cast<int>(in.height), views_.outside.what);
    is_there_ = from_y >= 0;
    if (!is_there_) {
      for (int i = number_; i < Groups; i += Threads) to[i] = four_times(static_cast<float>(views_.outside.value));
      return;
    }
    const In* const from = columns_ + from_y * in.pitch;
    float* const elements = reinterpret_cast<float*>(to);
    if (views_.in_fours) {
      for_each_constant<parts>([&](auto number) {
        constexpr int i = decltype(number)::value;
        if (!has_group(i)) return;
        const In* const group = from + 4 * (number_ + Threads * i);
        if constexpr (moves<In, float>)
          bring(to + number_ + Threads * i, group);
        else
          raw_[i] = *reinterpret_cast<const four<In>*>(group);
      });
    } else {
      for (int i = 4 * inside_.begin + number_; i < 4 * inside_.end; i += Threads)
        bring(elements + i, from + i * in.step);
    }
    if (from_edge_ >= 0) bring(elements + edge_, in.data + from_y * in.pitch + from_edge_ * in.step);
    simt::copy_async_commit();
  }
  /// Puts there what is not on its way by itself.
  PMPP_HOST_DEVICE void finish(four<float>* to) const {
    if constexpr (!moves<In, float>)
      if (is_there_ && views_.in_fours)
        for_each_constant<parts>([&](auto number) {
          constexpr int i = decltype(number)::value;
          if (has_group(i)) to[number_ + Threads * i] = widened<float>(raw_[i]);
        });
  }

private:
  static constexpr int parts = ceil_div(Groups, Threads);
  PMPP_HOST_DEVICE bool has_group(int i) const {
    return number_ + Threads * i >= inside_.begin && number_ + Threads * i < inside_.end;
  }

  const convolution_views<In, Out>& views_;
  const In* columns_;
  int number_;
  groups_inside inside_;
  int edge_, from_edge_;   ///< the element at an edge: place in the row, column or -1
  bool is_there_ = false;  ///< the row, or else the constant stands there
  four<In> raw_[moves<In, float> ? 1 : parts]{};
};

/// Rows of `Columns` floats that `Threads` threads bring: each every Threads-th element, from column x on, which may be any.
/// Rows count from y on; `Ahead` of them are on their way. `Columns` is no multiple of `Threads`.
template <class In, class Out, int Columns, int Threads, int Ahead>
class rows_of_elements {
public:
  template <class Block>
  PMPP_HOST_DEVICE rows_of_elements(Block& block, const convolution_views<In, Out>& views, int y, int x)
      : views_(views),
        outside_(static_cast<float>(views.outside.value)),
        thread_(block.thread()),
        own_(thread_ < Columns % Threads ? parts : parts - 1),
        rows_(block, views, y) {
    for (int j = 0; j < parts; ++j) {
      const std::int64_t from = position_in(x + Threads * j + thread_, views.in.width, views.outside.what);
      column_[j] = static_cast<std::uint32_t>(max(from, std::int64_t(0)) * views.in.step);
      missing_ |= from < 0 ? 1u << j : 0u;
    }
  }
  /// Counts rows from y on.
  template <class Block>
  PMPP_HOST_DEVICE void look_up(Block& block, int y) {
    rows_ = rows_of_lanes(block, views_, y);
  }
  /// Begins to bring row K, to `to`.
  template <int K, class Block>
  PMPP_HOST_DEVICE void start(Block& block, four<float>* to) {
    const In* const from = views_.in.data + block.shuffle(rows_.offset, K);
    const bool lost = rows_.is_lost(K);
    if constexpr (moves<In, float>) {
      float* const line = reinterpret_cast<float*>(to) + thread_;
      for (int j = 0; j < parts; ++j)
        if (j < own_) {
          if (lost || (missing_ >> j & 1) != 0)
            line[Threads * j] = outside_;
          else
            bring(line + Threads * j, from + column_[j]);
        }
      simt::copy_async_commit();
    } else {
      for (int j = 0; j < parts; ++j)
        if (j < own_) raw_[K % Ahead][j] = from[column_[j]];
    }
  }
  /// Puts row K there, where it is not on its way by itself.
  template <int K>
  PMPP_HOST_DEVICE void finish(four<float>* to) const {
    if constexpr (!moves<In, float>) {
      float* const line = reinterpret_cast<float*>(to) + thread_;
      const std::uint32_t missing = rows_.is_lost(K) ? ~0u : missing_;
      for (int j = 0; j < parts; ++j)
        if (j < own_)
          line[Threads * j] = missing != 0 && (missing >> j & 1) != 0 ? outside_ : converted<float>(raw_[K % Ahead][j]);
    }
  }

private:
  static constexpr int parts = ceil_div(Columns, Threads);

  const convolution_views<In, Out>& views_;
  const float outside_;
  const int thread_, own_;                     ///< elements that the thread brings
  std::uint32_t column_[parts], missing_ = 0;  ///< where they begin; a bit of `missing_`: there is no such column
  rows_of_lanes rows_;
  In raw_[moves<In, float> ? 1 : Ahead][parts]{};
};

/// Begins to copy four elements past the first cache: masks of 31 + 31 take 265 us, not 305 (8192 x 8192 floats, H100).
template <class T>
PMPP_HOST_DEVICE void copy_group(four<T>* to, const T* from) {
  if constexpr (sizeof(*to) < 16)
    simt::copy_async<sizeof(*to)>(to, from);
  else
    for (int i = 0; i < 4; i += 16 / static_cast<int>(sizeof(T))) simt::copy_async<16>(to->item + i, from + i);
}

/// A warp begins to bring `Rows` rows of `fours` groups of four from (y, x) on, as they are in memory; x is a multiple of
/// four.
template <int Rows, class Block, class In, class Out>
PMPP_HOST_DEVICE void bring_rows(Block& block, const convolution_views<In, Out>& views, four<In>* to, int fours,
                                 std::int64_t y, std::int64_t x) {
  const volume<const In>& in = views.in;
  const In constant = static_cast<In>(views.outside.value);
  const rows_of_lanes found(block, views, y);
  const In* from[Rows];
  for (int i = 0; i < Rows; ++i) from[i] = in.data + block.shuffle(found.offset, i);
  // The groups of four that lie between the edges come whole, the columns of others one by one.
  const groups_inside whole(views.in_fours, fours, x, in.width);
  for (int g = whole.begin + block.lane(); g < whole.end; g += 32)
    if (found.lost << (32 - Rows) == 0)
      for (int i = 0; i < Rows; ++i) copy_group(to + i * fours + g, from[i] + x + 4 * g);
    else
      for (int i = 0; i < Rows; ++i) {
        if (found.is_lost(i))
          to[i * fours + g] = four_times(constant);
        else
          copy_group(to + i * fours + g, from[i] + x + 4 * g);
      }
  for (int c = block.lane(); c < 4 * (fours - whole.count()); c += 32) {
    const int column = c < 4 * whole.begin ? c : c + 4 * whole.count();
    const std::int64_t from_x = position_in(x + column, in.width, views.outside.what), skip = from_x * in.step;
    for (int i = 0; i < Rows; ++i) {
      In* const item = to[i * fours + column / 4].item + column % 4;
      if (from_x < 0 || found.is_lost(i))
        *item = constant;
      else if constexpr (sizeof(In) >= 4)
        simt::copy_async<sizeof(In)>(item, from[i] + skip);
      else
        *item = from[i][skip];
    }
  }
  simt::copy_async_commit();
}
/// Makes sums of such rows; the constant of the border may be no value of In.
template <int Rows, class Sum, class In, class Out>
PMPP_HOST_DEVICE void widen_rows(int lane, const convolution_views<In, Out>& views, const four<In>* raw,
                                 four<Sum>* tile, int fours, std::int64_t y, std::int64_t x) {
  for (int i = lane; i < Rows * fours; i += 32) tile[i] = widened<Sum>(raw[i]);
  const volume<const In>& in = views.in;
  const bool inside = y >= 0 && y + Rows <= in.height && x >= 0 && x + 4 * fours <= in.width;
  if (inside || views.outside.what != border::kind::constant) return;
  for (int i = lane; i < Rows * fours; i += 32)
    for (int j = 0; j < 4; ++j) {
      const std::int64_t row = y + i / fours, column = x + i % fours * 4 + j;
      if (row < 0 || row >= in.height || column < 0 || column >= in.width)
        tile[i].item[j] = static_cast<Sum>(views.outside.value);
    }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
