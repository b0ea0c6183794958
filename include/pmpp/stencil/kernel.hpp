// SPDX-License-Identifier: Apache-2.0
//
// The kernel of stencil.hpp, and how a function sees the elements around one.
//
// Every task is a volume here: a matrix has its rows as planes of height 1, a span is one row. A thread stands on a few
// adjacent columns of a row and walks from plane to plane (2.5-D streaming). What it has read of a plane stays in its
// registers until the plane is behind it:
//
//        z - 1       z        z + 1      z + 2
//       +----+     +----+     +----+     +----+
//       |    |     |    |     |    |     | .. |   on its way while the results of plane z are made
//       +----+     +----+     +----+     +----+
//
// so that an element comes once from memory. Rows and columns next to a thread's own are those of its neighbours in the
// block, which have just brought them to the first cache: there is no shared memory, no barrier, and no rim of a tile to
// be filled. Only what the function asks for is read, since the compiler drops the rest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct stencil_tuning {
  int threads = 256;  ///< of a block
  int blocks = 3;     ///< of a multiprocessor; at most 2 where much stays in registers
  int ahead = 1;      ///< planes that are on their way while results are made
};

namespace detail {

/// Elements of a row that a thread reads at once.
template <class T>
inline constexpr int pack_size = sizeof(T) <= 4   ? 4
                                 : sizeof(T) <= 8 ? 2
                                                  : 1;

/// The greatest power of two that divides `bytes`, at most 16.
constexpr std::size_t alignment_of_bytes(std::size_t bytes) { return (bytes & -bytes) < 16 ? bytes & -bytes : 16; }

/// Elements that move at once.
template <class T, int N>
struct alignas(larger(alignof(T), alignment_of_bytes(N * sizeof(T)))) stencil_pack {
  T item[N];
};

/// Whether a volume consists of packs of N elements that may move at once.
template <int N, class T>
bool in_packs(const volume<T>& v) {
  constexpr std::size_t align = alignof(stencil_pack<T, N>);
  const auto fits = [](std::int64_t step) { return static_cast<std::size_t>(step) * sizeof(T) % align == 0; };
  return v.width % N == 0 && v.step == 1 && (v.height == 1 || fits(v.pitch)) && (v.depth == 1 || fits(v.slice)) &&
         reinterpret_cast<std::uintptr_t>(v.data) % align == 0;
}

/// The elements around one, as a stencil's function sees them: n(dz, dy, dx) is the element so many planes below, rows
/// below and columns to the right.
template <int Dimensions, int Radius, class Source>
class neighbourhood {
public:
  static constexpr int dimensions = Dimensions, radius = Radius;

  PMPP_HOST_DEVICE explicit neighbourhood(const Source& source) : source_(source) {}

  PMPP_HOST_DEVICE auto operator()(int dz, int dy, int dx) const requires(Dimensions == 3) { return at(dz, dy, dx); }
  PMPP_HOST_DEVICE auto operator()(int dy, int dx) const requires(Dimensions == 2) { return at(dy, 0, dx); }
  PMPP_HOST_DEVICE auto operator()(int dx) const requires(Dimensions == 1) { return at(0, 0, dx); }

private:
  PMPP_HOST_DEVICE auto at(int dz, int dy, int dx) const {
    check_index(dz + Radius, 2 * Radius + 1, "stencil offset");
    check_index(dy + Radius, 2 * Radius + 1, "stencil offset");
    check_index(dx + Radius, 2 * Radius + 1, "stencil offset");
    return source_.at(dz, dy, dx);
  }

  const Source& source_;
};

/// Where the positions just outside of an axis of n elements are read: -1 - k at before[k], n + k at after[k]; -1:
/// nowhere, the constant stands there. Found out before the launch, since it takes divisions.
template <int Reach>
struct stencil_rim {
  std::int64_t before[Reach], after[Reach];

  stencil_rim(std::int64_t n, border::kind outside) {
    for (int k = 0; k < Reach; ++k) {
      before[k] = position_in(-1 - k, n, outside);
      after[k] = position_in(n + k, n, outside);
    }
  }
  PMPP_HOST_DEVICE std::int64_t position(std::int64_t i, std::int64_t n) const {
    return i < 0 ? before[-1 - i] : i < n ? i : after[i - n];
  }
};

/// What a launch works on. A block's threads make tile_packs x tile_rows packs of results of a plane, both powers of
/// two; threads that are left walk other sections of the planes.
template <class In, class Out, int Reach>
struct stencil_task {
  volume<const In> in;
  volume<Out> out;
  stencil_rim<Reach> planes, rows, columns;
  In constant;  ///< what stands outside, of border::kind::constant
  int tile_packs, tile_rows;
  std::int64_t tiles_x, tiles_y, section;  ///< planes
};

/// Whether f says that it asks for elements of another plane and another row or column at once.
template <class F>
inline constexpr bool has_corners = false;
template <class F>
requires requires { F::corners; }
inline constexpr bool has_corners<F> = F::corners;

/// What of a plane stays in registers until the plane is out of sight: a thread's own columns, or all that f may ask for.
/// The rest is read when the plane is in the middle. In a matrix, where planes are rows, the rest is next to nothing.
template <class F, int Dimensions, int Radius>
inline constexpr bool keeps_all = Radius == 1 && (Dimensions < 3 || has_corners<F>);

/// The tuning as the registers allow it.
template <class F, int Dimensions, int Radius>
constexpr stencil_tuning fitting(stencil_tuning t) {
  if (Radius > 2) {  // 160 registers; more threads would need memory of their own
    t.threads = smaller(t.threads, 128);
    t.blocks = smaller(t.blocks, 3);
    t.ahead = 0;
  } else if (Radius > 1 || (Dimensions == 3 && has_corners<F>)) {
    t.blocks = smaller(t.blocks, 2);
    t.ahead = smaller(t.ahead, 1);
  }
  return t;
}

/// What a thread sees of a few planes, `Columns` of a row its own. It moves down by one plane at a time.
template <class In, int Columns, int Radius, int Ahead, bool KeepsAll, class Task>
class stencil_window {
public:
  static constexpr int planes = 2 * Radius + 1 + Ahead, rows = 2 * Radius + 1, width = Columns + 2 * Radius;

  /// Sees plane z after `planes` steps.
  PMPP_HOST_DEVICE stencil_window(const Task& task, std::int64_t z, std::int64_t y, std::int64_t x)
      : task_(task),
        own_(y * task.in.pitch + x * task.in.step),
        next_(z - Radius - 1),
        next_place_(task.in.data + own_ + next_ * task.in.slice),
        place_(next_place_ - (Radius + Ahead) * task.in.slice) {
    for (int r = 0; r < rows; ++r) {
      const std::int64_t from = task.rows.position(y + r - Radius, task.in.height);
      rows_outside_ |= from < 0 ? 1u << r : 0;
      to_row_[r] = from < 0 ? 0 : (from - y) * task.in.pitch;
    }
    for (int i = 0; i < 2 * Radius; ++i) {
      const std::int64_t at = x + (i < Radius ? i - Radius : Columns + i - Radius);
      const std::int64_t from = task.columns.position(at, task.in.width);
      sides_outside_ |= from < 0 ? 1u << i : 0;
      to_side_[i] = from < 0 ? 0 : (from - x) * task.in.step;
    }
  }

  /// Reads the plane that comes into sight, in place of the one that is out of it; `Slot` counts the steps modulo
  /// `planes`. Nothing moves from register to register: that would wait for elements which are still on their way.
  template <int Slot>
  PMPP_HOST_DEVICE void step() {
    ++next_;
    next_place_ += task_.in.slice;
    place_ += task_.in.slice;
    const In* from = next_place_;
    bool outside = false;
    if (static_cast<std::uint64_t>(next_) >= static_cast<std::uint64_t>(task_.in.depth)) {
      const std::int64_t z = task_.planes.position(next_, task_.in.depth);
      outside = z < 0;
      from = task_.in.data + own_ + (outside ? 0 : z) * task_.in.slice;
    }
    for_each_constant<rows>([&](auto row) {
      constexpr int r = decltype(row)::value;
      if constexpr (stays(r, Radius)) {
        const line read = read_row(from, r, outside);
        for_each_constant<width>([&](auto column) {
          constexpr int i = decltype(column)::value;
          if constexpr (stays(r, i)) plane_[Slot].item[r][i] = read.item[i];
        });
      }
    });
  }

  /// Reads what is seen of the plane in the middle only. \pre it is inside.
  PMPP_HOST_DEVICE void look_aside() {
    for_each_constant<rows>([&](auto row) {
      constexpr int r = decltype(row)::value;
      if constexpr (!(stays(r, 0) && stays(r, Radius))) beside_[r] = read_row(place_, r, false);
    });
  }

  /// The element dz planes and dy rows from the thread's own, in column i of its pack. The last step was of `Slot`.
  template <int Slot>
  PMPP_HOST_DEVICE In at(int dz, int dy, int i) const {
    const int r = dy + Radius;
    if (stays(r, i + Radius)) return plane_[(Slot + 1 + dz + Radius) % planes].item[r][i + Radius];
    if (dz == 0) return beside_[r].item[i + Radius];
    return far(dz, r, i);
  }

private:
  struct line {
    In item[width];
  };
  struct plane {
    In item[rows][width];
  };

  /// Whether column i of row r stays in registers from plane to plane.
  PMPP_HOST_DEVICE static constexpr bool stays(int r, int i) {
    return KeepsAll || (r == Radius && i >= Radius && i < Radius + Columns);
  }

  /// An element that is neither kept nor in the plane in the middle.
  PMPP_HOST_DEVICE In far(int dz, int r, int i) const {
    const std::int64_t z = task_.planes.position(next_ - (Radius + Ahead) + dz, task_.in.depth);
    const int side = i < 0 ? i + Radius : i - Columns + Radius;
    const bool is_own = i >= 0 && i < Columns;
    if (z < 0 || (rows_outside_ >> r & 1) != 0 || (!is_own && (sides_outside_ >> side & 1) != 0)) return task_.constant;
    return task_.in.data[own_ + z * task_.in.slice + to_row_[r] + (is_own ? i : to_side_[side])];
  }

  /// A thread's columns of row r of a plane, with those at their sides; `from` is its own place there.
  PMPP_HOST_DEVICE line read_row(const In* from, int r, bool outside) const {
    const In* const row = r == Radius ? from : from + to_row_[r];
    if (r != Radius) outside = outside || (rows_outside_ >> r & 1) != 0;
    line read;
    const auto own = *reinterpret_cast<const stencil_pack<In, Columns>*>(row);
    for_each_constant<Columns>([&](auto number) {
      constexpr int i = decltype(number)::value;
      read.item[Radius + i] = outside ? task_.constant : own.item[i];
    });
    for_each_constant<2 * Radius>([&](auto number) {
      constexpr int i = decltype(number)::value;
      const In element = row[to_side_[i]];
      read.item[i < Radius ? i : i + Columns] = outside || (sides_outside_ >> i & 1) ? task_.constant : element;
    });
    return read;
  }

  const Task& task_;
  const std::int64_t own_;                           ///< the thread's place in a plane
  std::int64_t next_;                                ///< the newest plane
  const In *next_place_, *place_;                    ///< the thread's place there, and in the plane in the middle
  std::int64_t to_row_[rows], to_side_[2 * Radius];  ///< elements from its place to other rows, columns
  unsigned rows_outside_ = 0, sides_outside_ = 0;    ///< bit by bit, where the constant stands
  plane plane_[planes];                              ///< what stays, a ring
  line beside_[rows];                                ///< the rest of the plane in the middle
};

/// One column of a thread's pack.
template <class Window, int Slot>
struct column_of_window {
  const Window& window;
  int i;

  PMPP_HOST_DEVICE auto at(int dz, int dy, int dx) const { return window.template at<Slot>(dz, dy, i + dx); }
};

/// A thread makes `Columns` adjacent results of a row; more than one where all views consist of packs of so many.
template <class In, class Out, int Columns, int Dimensions, int Radius, class F, stencil_tuning Tuning>
struct stencil_kernel {
  static constexpr stencil_tuning tuning = fitting<F, Dimensions, Radius>(Tuning);
  static constexpr int threads = tuning.threads, min_blocks = tuning.blocks;
  using task_type = stencil_task<In, Out, Radius + tuning.ahead>;
  using window = stencil_window<In, Columns, Radius, tuning.ahead, keeps_all<F, Dimensions, Radius>, task_type>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const task_type& task, const F& f) const {
    const int tile = task.tile_packs * task.tile_rows, thread = block.thread();
    const auto index = static_cast<std::uint32_t>(block.index()), tiles_x = static_cast<std::uint32_t>(task.tiles_x);
    const auto tiles_y = static_cast<std::uint32_t>(task.tiles_y);
    const std::int64_t x = (std::int64_t(index % tiles_x) * task.tile_packs + thread % task.tile_packs) * Columns;
    const std::int64_t y =
        std::int64_t(index / tiles_x % tiles_y) * task.tile_rows + thread / task.tile_packs % task.tile_rows;
    const std::int64_t section = std::int64_t(index / tiles_x / tiles_y) * (threads / tile) + thread / tile;
    const std::int64_t begin = section * task.section, end = smaller(begin + task.section, task.out.depth);
    if (x >= task.out.width || y >= task.out.height || begin >= end) return;

    window seen(task, begin, y, x);
    constexpr int planes = window::planes;
    for_each_constant<planes - 1>([&](auto slot) { seen.template step<decltype(slot)::value>(); });
    Out* to = task.out.at(begin, y, x);
    std::int64_t z = begin;
    const auto make_plane = [&](auto number) {
      constexpr int slot = (decltype(number)::value + planes - 1) % planes;
      if (z >= end) return;
      seen.template step<slot>();
      seen.look_aside();
      stencil_pack<Out, Columns> result;
      for_each_constant<Columns>([&](auto column) {
        constexpr int i = decltype(column)::value;
        using source = column_of_window<window, slot>;
        const source elements{seen, i};
        result.item[i] = static_cast<Out>(f(neighbourhood<Dimensions, Radius, source>(elements)));
      });
      *reinterpret_cast<stencil_pack<Out, Columns>*>(to) = result;
      to += task.out.slice;
      ++z;
    };
    while (z < end) for_each_constant<planes>(make_plane);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
