// SPDX-License-Identifier: Apache-2.0
//
// How rows of the input come to shared memory, with what stands outside around them. Kernels see rows that go on for ever.
//
//   load_tile          a block brings a tile at once, as sums                                              direct.hpp
//   row_of_groups      threads bring a row, 16 bytes at a time, while the one before is used               marching.hpp
//   rows_of_elements   a block brings rows one element a thread, so that they may begin at any column      marching.hpp
//   bring_rows         a warp brings its own rows, as they are in memory; widen_rows makes sums of them    separable.hpp
//
// Floats are copied without registers on the way; other elements are converted in registers. Groups of four between the
// edges of a row come whole where rows begin at multiples of four, all else element by element.
// (Planes of volumes: planes.hpp. Pictures that come to registers straight: pixels.hpp.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/unrolled.hpp>
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

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
