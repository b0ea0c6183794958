// SPDX-License-Identifier: Apache-2.0
//
// The kernel of stencil.hpp, and of masks of 3 x 3 x 3 taps; how a function sees the elements around one.
//
// Every task is a volume here: a matrix is one plane, a span one row. A block makes a tile of a plane and walks from plane
// to plane (2.5-D streaming). A plane's tile, with what is seen around it, comes to shared memory by copies that need no
// register on their way; the next ones are on their way while results are made:
//
//        z - 1       z        z + 1      z + 2      z + 3
//       +----+     +----+     +----+     +----+     +----+
//       | r  |     | s  |     | s  |     | .. |     | .. |    r: registers, s: shared memory, ..: on its way
//       +----+     +----+     +----+     +----+     +----+
//
// A thread makes a few adjacent columns of a few rows, so that what it reads from shared memory serves several results.
// What it sees of other planes stays in its registers. Only what the function asks for is read, since the compiler drops
// the rest. What stands outside of the input is put into the tile around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/border.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct stencil_tuning {
  int threads = 128;  ///< of a block; in three dimensions two or four times as many
  int blocks = 6;     ///< of a multiprocessor; in three dimensions one or two
  int ahead = 2;      ///< planes that are on their way while results are made, at least 1; two more of radius 2 to 4
};

namespace detail {

/// Elements of a row that a thread reads at once.
template <class T>
inline constexpr int pack_size = sizeof(T) <= 4   ? 4
                                 : sizeof(T) <= 8 ? 2
                                                  : 1;

/// Whether a volume consists of packs of N elements that may move at once.
template <int N, class T>
bool in_packs(const volume<T>& v) {
  return v.width % N == 0 && v.rows_begin_at(alignof(packed<T, N>));
}

/// The elements around one, as a stencil's function sees them: n(dz, dy, dx) is the element this many planes below, rows
/// below and columns to the right.
template <int Dimensions, int Radius, class Source>
class neighbourhood {
public:
  static constexpr int dimensions = Dimensions, radius = Radius;

  PMPP_HOST_DEVICE explicit neighbourhood(const Source& source) : source_(source) {}

  PMPP_HOST_DEVICE auto operator()(int dz, int dy, int dx) const requires(Dimensions == 3) { return at(dz, dy, dx); }
  PMPP_HOST_DEVICE auto operator()(int dy, int dx) const requires(Dimensions == 2) { return at(0, dy, dx); }
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

/// No plane: where one is asked for there, the constant stands.
inline constexpr std::int64_t no_plane = INT64_MIN;

template <class In, class Out>
struct stencil_problem {
  volume<const In> in;
  volume<Out> out;
  border::rule outside;
  In constant;  ///< the rule's value as an element
  /// Planes that are there, counted from that of the first result: a part of a larger input has some in front and behind.
  std::int64_t first_plane = 0, end_plane = in.depth;

  /// Where plane z is read, which may be in front of in.data.
  PMPP_HOST_DEVICE std::int64_t plane(std::int64_t z) const {
    if (z >= first_plane && z < end_plane) return z;
    const std::int64_t from = position_in(z - first_plane, end_plane - first_plane, outside.what);
    return from < 0 ? no_plane : from + first_plane;
  }
  template <int Radius>
  border_rim<Radius> planes() const {
    border_rim<Radius> rim(in.depth, outside.what);
    for (int k = 0; k < Radius; ++k) {
      rim.before[k] = plane(-1 - k);
      rim.after[k] = plane(in.depth + k);
    }
    return rim;
  }
};

/// What a launch works on. A block's threads stand in rows of tile_packs, a power of two; a tile with what is seen around
/// it has slot_packs.
template <class In, class Out, int Radius>
struct stencil_task {
  volume<const In> in;
  volume<Out> out;
  border_rim<Radius> planes, rows, columns;
  border::kind outside;
  In constant;    ///< what stands outside, of border::kind::constant
  bool in_packs;  ///< packs that begin at a multiple of their size in a row may move at once
  int tile_packs, slot_packs;
  std::int64_t tiles_x, tiles_y, section;  ///< planes
};

/// Whether f says that it asks for elements of another plane and another row or column at once.
template <class F>
inline constexpr bool has_corners = false;
template <class F>
requires requires { F::corners; }
inline constexpr bool has_corners<F> = F::corners;

/// What a thread does, as the registers allow it.
template <class In, int Columns, int Dimensions, int Radius, class F, stencil_tuning Tuning>
struct stencil_shape {
  static constexpr bool is_span = Dimensions == 1;
  static constexpr int up = Dimensions == 3 ? Radius : 0;   ///< planes that a result reaches
  static constexpr int tall = Dimensions > 1 ? Radius : 0;  ///< rows
  static constexpr int side = ceil_div(Radius, Columns);    ///< packs of Columns elements
  static constexpr int planes = 2 * up + 1;
  /// All that is seen of a plane stays in registers until it is out of sight; else the thread's own columns do, and the
  /// rest is read when the plane is in the middle.
  static constexpr bool keeps_all = up == 0 || (Radius == 1 && has_corners<F>);
  static constexpr int threads = (up == 0 ? 1 : up <= 2 ? 4 : 2) * Tuning.threads;
  static constexpr int blocks = up == 0 ? Tuning.blocks : up == 3 || up == 4 ? 2 : 1;
  static constexpr int ahead = up == 0 ? 1 : max(1, up > 1 && up <= 4 ? Tuning.ahead + 2 : Tuning.ahead);
  static constexpr int rows = up == 0 ? 4 : up == 1 ? 2 : 1;  ///< that a thread makes of a plane
  static constexpr int slots = up == 0 ? 1 : keeps_all ? ahead + 1 : ahead + up + 1;  ///< planes in shared memory
  static constexpr int widest = is_span ? threads : min(threads, Radius > 2 ? 16 : 64);
  static constexpr int narrowest = min(widest, is_span ? threads : 8);

  /// Of a tile whose threads stand in rows of tile_packs: results along x and y, packs from a thread's row to its next
  /// one, packs of a row with its sides, of all rows. The rows of a span lie one after another, in one.
  PMPP_HOST_DEVICE static constexpr int width(int tile_packs) { return tile_packs * Columns * (is_span ? rows : 1); }
  PMPP_HOST_DEVICE static constexpr int height(int tile_packs) { return threads / tile_packs * (is_span ? 1 : rows); }
  PMPP_HOST_DEVICE static constexpr int step(int tile_packs) { return is_span ? tile_packs : line(tile_packs); }
  PMPP_HOST_DEVICE static constexpr int line(int tile_packs) { return width(tile_packs) / Columns + 2 * side; }
  PMPP_HOST_DEVICE static constexpr int count(int tile_packs) {
    return line(tile_packs) * (height(tile_packs) + 2 * tall);
  }
  static constexpr int most() {
    int n = 0;
    for (int packs = narrowest; packs <= widest; packs *= 2) n = max(n, count(packs));
    return n;
  }
  static constexpr std::size_t most_bytes() { return std::size_t(slots * most()) * sizeof(packed<In, Columns>); }
};

/// A block's tile of the planes around the one that is made, in shared memory.
template <class In, int Columns, int Radius, class Shape, class Task>
class stencil_tile {
public:
  using pack = packed<In, Columns>;

  PMPP_HOST_DEVICE stencil_tile(const Task& task, pack* packs, int thread, std::int64_t y, std::int64_t x)
      : task_(task), packs_(packs), thread_(thread), y_(y), x_(x) {
    for_each_constant<fills>([&](auto number) {
      constexpr int k = decltype(number)::value;
      const int i = thread + k * Shape::threads;
      const spot at = spot_of(i);
      slot_place_[k] = at.row * line() + at.column + Shape::side;
      place_[k] = place_of(at);
      if (place_[k] == pieces && first_in_pieces_ == none) first_in_pieces_ = i;
      if (place_[k] == nowhere && i < count())  // once for all planes
        for (int slot = 0; slot < Shape::slots; ++slot)
          for (int j = 0; j < Columns; ++j) packs_[slot * count() + slot_place_[k]].item[j] = task.constant;
    });
  }

  PMPP_HOST_DEVICE const pack* plane(int slot) const { return packs_ + slot * count(); }

  /// Starts copying what the block sees of plane z.
  PMPP_HOST_DEVICE void fetch(std::int64_t z, int slot) {
    const std::int64_t from_z = task_.planes.position(z, task_.in.depth);
    if (from_z == no_plane || first_in_pieces_ != none) fetch_edges(*this, from_z, slot);
    if (from_z == no_plane) return;
    pack* const to = packs_ + slot * count();
    const In* const from = task_.in.data + from_z * task_.in.slice;
    for_each_constant<fills>([&](auto number) {
      constexpr int k = decltype(number)::value;
      if (place_[k] >= 0) copy(to + slot_place_[k], reinterpret_cast<const pack*>(from + place_[k]));
    });
  }

private:
  static constexpr int fills = ceil_div(Shape::most(), Shape::threads);
  /// Registers are scarce where they are kept for many planes: places past 2^31 are found anew then.
  using place_type = std::conditional_t<Shape::up == 0, std::int64_t, std::int32_t>;
  static constexpr std::int64_t most = Shape::up == 0 ? INT64_MAX : INT32_MAX;
  static constexpr place_type nowhere = -1, pieces = -2;
  static constexpr int none = -1;

  /// A pack's place in the tile; negative columns are at its left side.
  struct spot {
    int row, column;
  };

  PMPP_HOST_DEVICE int line() const { return Shape::line(task_.tile_packs); }
  PMPP_HOST_DEVICE int count() const { return task_.slot_packs; }

  /// Rows without their sides come first, so that warps copy whole lines of the cache.
  PMPP_HOST_DEVICE spot spot_of(int i) const {
    constexpr int sides = 2 * Shape::side;
    const int width = line() - sides, beside = i - count() / line() * width, k = beside % sides;
    if (beside < 0) return {i / width, i % width};
    return {beside / sides, k < Shape::side ? k - Shape::side : k - Shape::side + width};
  }
  /// Where a pack of the tile lies in a plane. `nowhere`: outside, or nothing of it is asked for; `pieces`: its elements
  /// are not together.
  PMPP_HOST_DEVICE place_type place_of(spot at) const {
    const std::int64_t y = y_ + at.row - Shape::tall, width = task_.in.width;
    std::int64_t x = x_ + at.column * Columns;
    if (y >= task_.in.height + Shape::tall || x >= width + Radius || at.row >= count() / line()) return nowhere;
    const std::int64_t row = task_.rows.position(y, task_.in.height);
    if (task_.outside == border::kind::wrap) x += x < 0 ? width : x >= width ? -width : 0;  // packs remain whole
    const bool whole = x >= 0 && x + Columns <= width, outside = x + Columns <= 0 || x >= width;
    if (row < 0 || (outside && task_.outside == border::kind::constant)) return nowhere;
    const std::int64_t place = row * task_.in.pitch + x * task_.in.step;
    return whole && task_.in_packs && place % Columns == 0 && place <= most ? static_cast<place_type>(place) : pieces;
  }
  /// What is not copied by packs, of the plane that lies at z, or of no_plane. Seldom done: apart, it does not get in the
  /// way of the rest.
  PMPP_HOST_DEVICE static void fetch_edges(const stencil_tile& tile, std::int64_t z, int slot) {
    const Task& task = tile.task_;
    const bool lost = z == no_plane;
    for (int i = lost ? tile.thread_ : tile.first_in_pieces_; i < tile.count(); i += Shape::threads) {
      const spot at = tile.spot_of(i);
      if (!lost && tile.place_of(at) != pieces) continue;
      pack& to = tile.packs_[slot * tile.count() + at.row * tile.line() + at.column + Shape::side];
      const std::int64_t y = lost ? -1 : task.rows.position(tile.y_ + at.row - Shape::tall, task.in.height);
      for (int j = 0; j < Columns; ++j) {
        const std::int64_t x = tile.x_ + at.column * Columns + j;
        if (x < -Radius || x >= task.in.width + Radius) continue;
        const std::int64_t from_x = task.columns.position(x, task.in.width);
        if (y < 0 || from_x < 0)
          to.item[j] = task.constant;
        else
          copy(to.item + j, task.in.at(z, y, from_x));
      }
    }
  }
  template <class T>
  PMPP_HOST_DEVICE static void copy(T* to, const T* from) {
    constexpr int piece = min(int(alignof(T)), 16);
    if constexpr (piece == 16 && sizeof(T) == 16)
      simt::copy_async_near(to, from);
    else if constexpr (piece >= 4)
      for (int i = 0; i < int(sizeof(T)); i += piece)
        simt::copy_async<piece>(reinterpret_cast<char*>(to) + i, reinterpret_cast<const char*>(from) + i);
    else
      *to = *from;
  }

  const Task& task_;
  pack* const packs_;
  const int thread_;
  const std::int64_t y_, x_;    ///< of the tile
  place_type place_[fills];     ///< of the packs that this thread fetches, in a plane
  int slot_place_[fills];       ///< in a slot
  int first_in_pieces_ = none;  ///< the first of these packs whose elements are not together
};

/// What a thread sees of a few planes: `Columns` of `Shape::rows` rows are its own.
template <class In, int Columns, int Radius, class Shape, class Task>
class stencil_window {
public:
  using pack = packed<In, Columns>;

  PMPP_HOST_DEVICE stencil_window(const Task& task, std::int64_t z, std::int64_t y, std::int64_t x)
      : task_(task), z_(z), y_(y), x_(x) {}

  /// Reads what stays of the newest plane, in place of the oldest. `Slot` counts planes modulo Shape::planes: nothing
  /// moves from register to register. `from` is the thread's first pack there, in rows of `pitch` packs.
  template <int Slot>
  PMPP_HOST_DEVICE void see(const pack* from, int pitch) {
    for_each_constant<kept_rows>([&](auto number) {
      constexpr int r = decltype(number)::value;
      const line read = line_at(from + (r - (Shape::keeps_all ? Shape::tall : 0)) * pitch);
      for (int i = 0; i < kept_columns; ++i) plane_[Slot].item[r][i] = read.item[i + (Shape::keeps_all ? 0 : Radius)];
    });
  }
  /// Reads the rest of the plane in the middle, z.
  PMPP_HOST_DEVICE void look_aside(const pack* from, int pitch, std::int64_t z) {
    z_ = z;
    if constexpr (!Shape::keeps_all)
      for_each_constant<lines>([&](auto number) {
        constexpr int r = decltype(number)::value;
        beside_[r] = line_at(from + (r - Shape::tall) * pitch);
      });
  }

  /// The element dz planes and dy rows from the thread's own row h, in column i of its pack. `Slot` is the newest plane's.
  template <int Slot>
  PMPP_HOST_DEVICE In at(int dz, int h, int dy, int i) const {
    const int r = h + dy;
    const bool is_own = r >= 0 && r < Shape::rows && i >= 0 && i < Columns;
    constexpr int planes = Shape::planes;
    if (Shape::keeps_all) return plane_[(Slot + 1 + dz + Shape::up) % planes].item[r + Shape::tall][i + Radius];
    if (is_own) return plane_[(Slot + 1 + dz + Shape::up) % planes].item[r][i];
    if (dz == 0) return beside_[r + Shape::tall].item[i + Radius];
    return far(z_ + dz, y_ + r, x_ + i);
  }

private:
  static constexpr int lines = Shape::rows + 2 * Shape::tall;
  static constexpr int kept_rows = Shape::keeps_all ? lines : Shape::rows;
  static constexpr int kept_columns = Shape::keeps_all ? Columns + 2 * Radius : Columns;
  struct line {
    In item[Columns + 2 * Radius];
  };
  struct plane {
    In item[kept_rows][kept_columns];
  };

  /// A pack of shared memory with the elements at its sides.
  PMPP_HOST_DEVICE static line line_at(const pack* own) {
    constexpr int side = Shape::side;
    pack part[2 * side + 1];
    for_each_constant<2 * side + 1>([&](auto i) { part[decltype(i)::value] = own[decltype(i)::value - side]; });
    line read;
    for_each_constant<Columns + 2 * Radius>([&](auto number) {
      constexpr int i = decltype(number)::value + side * Columns - Radius;
      read.item[decltype(number)::value] = part[i / Columns].item[i % Columns];
    });
    return read;
  }

  /// An element that is neither kept nor in the plane in the middle.
  PMPP_HOST_DEVICE In far(std::int64_t z, std::int64_t y, std::int64_t x) const {
    const std::int64_t from_z = task_.planes.position(z, task_.in.depth);
    const std::int64_t from_y = task_.rows.position(y, task_.in.height);
    const std::int64_t from_x = task_.columns.position(x, task_.in.width);
    return from_z == no_plane || from_y < 0 || from_x < 0 ? task_.constant : *task_.in.at(from_z, from_y, from_x);
  }

  const Task& task_;
  std::int64_t z_, y_, x_;      ///< of the first own element
  plane plane_[Shape::planes];  ///< what stays, a ring
  line beside_[lines];          ///< the rest of the plane in the middle
};

/// One element of a thread's own.
template <class Window, int Slot>
struct place_in_window {
  const Window& window;
  int h, i;

  PMPP_HOST_DEVICE auto at(int dz, int dy, int dx) const { return window.template at<Slot>(dz, h, dy, i + dx); }
};

/// What a thread calls: f, or what f.ready() makes of it, once.
template <class F>
PMPP_HOST_DEVICE decltype(auto) ready_function(const F& f) {
  if constexpr (requires { f.ready(); })
    return f.ready();
  else
    return (f);
}

/// A thread makes `Columns` adjacent results of a few rows; more than one column where all views consist of packs of so
/// many. The rows of a span are `tile_packs` packs apart.
template <class In, class Out, int Columns, int Dimensions, int Radius, class F, stencil_tuning Tuning>
struct stencil_kernel {
  using shape = stencil_shape<In, Columns, Dimensions, Radius, F, Tuning>;
  static constexpr int threads = shape::threads, min_blocks = shape::blocks, columns = Columns;
  using task_type = stencil_task<In, Out, Radius>;
  using pack = packed<In, Columns>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const task_type& task, const F& f) const {
    constexpr int up = shape::up, rows = shape::rows, ahead = shape::ahead;
    const auto& function = ready_function(f);
    const auto index = static_cast<std::uint32_t>(block.index()), tiles_x = static_cast<std::uint32_t>(task.tiles_x);
    const auto tiles_y = static_cast<std::uint32_t>(task.tiles_y);
    constexpr bool is_span = shape::is_span;
    constexpr int down = is_span ? 0 : 1;
    const int across = is_span ? task.tile_packs * Columns : 0;  // from row to row of a thread
    const std::int64_t first_x = std::int64_t(index % tiles_x) * shape::width(task.tile_packs);
    const std::int64_t first_y = std::int64_t(index / tiles_x % tiles_y) * shape::height(task.tile_packs);
    const std::int64_t begin = std::int64_t(index / tiles_x / tiles_y) * task.section;
    const std::int64_t end = min(begin + task.section, task.out.depth);
    const int column = block.thread() % task.tile_packs, row = block.thread() / task.tile_packs;
    const std::int64_t x = first_x + column * Columns, y = first_y + row * (rows * down);
    const int pitch = shape::step(task.tile_packs);
    const int own = (row * (rows * down) + shape::tall) * pitch + column + shape::side;  // the thread's first pack

    using window = stencil_window<In, Columns, Radius, shape, task_type>;
    window seen(task, begin, y, x);
    stencil_tile<In, Columns, Radius, shape, task_type> tile(task, reinterpret_cast<pack*>(block.dynamic_shared()),
                                                             block.thread(), first_y, first_x);
    const auto next_of = [](int slot) { return slot + 1 < shape::slots ? slot + 1 : 0; };
    int next = 0, newest = 0, middle = up % shape::slots;  // slots
    const auto fetch = [&](std::int64_t z) {
      if (z < end + up) tile.fetch(z, next);
      simt::copy_async_commit();
      next = next_of(next);
    };
    for (int i = 0; i < ahead; ++i) fetch(begin - up + i);
    std::int64_t z = begin - up;  // the newest plane
    Out* to = task.out.at(begin, y, x);
    const std::int64_t step = is_span ? across : task.out.pitch;
    const auto make_plane = [&](auto number) {
      constexpr int slot = decltype(number)::value;
      if (z >= end + up) return;
      simt::copy_async_wait<ahead - 1>();
      block.sync();  // plane z is there, and no thread reads what the next one is written over
      if constexpr (up > 0) fetch(z + ahead);
      seen.template see<slot>(tile.plane(newest) + own, pitch);
      newest = next_of(newest);
      if (z++ < begin + up) return;  // plane z - up is not of this section
      seen.look_aside(tile.plane(middle) + own, pitch, z - 1 - up);
      middle = next_of(middle);
      for_each_constant<rows>([&](auto which) {
        constexpr int h = decltype(which)::value;
        if (y + h * down >= task.out.height || x + h * across >= task.out.width) return;
        packed<Out, Columns> result;
        for_each_constant<Columns>([&](auto which_column) {
          using source = place_in_window<window, slot>;
          const source elements{seen, h, decltype(which_column)::value};
          result.item[decltype(which_column)::value] =
              static_cast<Out>(function(neighbourhood<Dimensions, Radius, source>(elements)));
        });
        *reinterpret_cast<packed<Out, Columns>*>(to + h * step) = result;
      });
      to += task.out.slice;
    };
    while (z < end + up) for_each_constant<shape::planes>(make_plane);
  }
};

/// Launches a kernel whose results reach `Radius` elements, and over `reach` planes; false if no tile fits the machine.
template <class Kernel, int Radius, class P, class In, class Out, class F>
bool launch_tiles(const P& where, const stencil_problem<In, Out>& s, bool in_packs, std::int64_t reach, const F& f) {
  using shape = typename Kernel::shape;
  using rims = border_rim<Radius>;
  static_assert(is_power_of_two(Kernel::threads) && Kernel::threads >= 32);
  const border::kind outside = s.outside.what;
  const std::int64_t packs = ceil_div(s.out.width, std::int64_t(Kernel::columns));
  int tile_packs = shape::narrowest;
  while (tile_packs < packs && tile_packs < shape::widest) tile_packs *= 2;
  const machine& on = machine_of(where);
  const auto bytes_of = [](int n) {
    return sizeof(typename Kernel::pack) * static_cast<std::size_t>(shape::slots * shape::count(n));
  };
  const auto fits = [&](int n) { return on.fits(bytes_of(n), simt::detail::shared_bytes_of<Kernel>); };
  if (!fits(tile_packs))
    for (tile_packs = shape::widest; !fits(tile_packs); tile_packs /= 2)
      if (tile_packs == shape::narrowest) return false;
  const std::int64_t tiles_x = ceil_div(s.out.width, std::int64_t(shape::width(tile_packs)));
  const std::int64_t tiles_y = ceil_div(s.out.height, std::int64_t(shape::height(tile_packs)));
  const std::size_t bytes = bytes_of(tile_packs);
  const std::int64_t room =
      std::int64_t(on.multiprocessors) *
      on.resident_blocks(Kernel::threads, bytes + simt::detail::shared_bytes_of<Kernel>, Kernel::min_blocks);
  const std::int64_t section = section_rows(s.out.depth, 1, reach, tiles_x * tiles_y, room);
  const stencil_task<In, Out, Radius> task{.in = s.in,
                                           .out = s.out,
                                           .planes = s.template planes<Radius>(),
                                           .rows = rims(s.in.height, outside),
                                           .columns = rims(s.in.width, outside),
                                           .outside = outside,
                                           .constant = s.constant,
                                           .in_packs = in_packs,
                                           .tile_packs = tile_packs,
                                           .slot_packs = shape::count(tile_packs),
                                           .tiles_x = tiles_x,
                                           .tiles_y = tiles_y,
                                           .section = section};
  pmpp::launch(where, grid{tiles_x * tiles_y * ceil_div(s.out.depth, section), Kernel::threads, bytes}, Kernel{}, task,
               f);
  return true;
}

/// Launches the kernel whose threads make `Columns` results of a row; false if it does not fit the machine.
template <int Columns, int Dimensions, int Radius, stencil_tuning Tuning, class P, class In, class Out, class F>
bool launch_stencil(const P& where, const stencil_problem<In, Out>& s, const F& f) {
  using kernel = stencil_kernel<In, Out, Columns, Dimensions, Radius, F, Tuning>;
  return launch_tiles<kernel, Radius>(where, s, true, kernel::shape::planes, f);
}

/// Launches the kernel for the strides of the views; false if it does not fit the machine.
template <int Dimensions, int Radius, stencil_tuning Tuning, class P, class In, class Out, class F>
bool launch_planes(const P& where, const stencil_problem<In, Out>& s, const F& f) {
  constexpr int columns = pack_size<In>;
  if constexpr (columns > 1)
    if (in_packs<columns>(s.in) && in_packs<columns>(s.out))
      return launch_stencil<columns, Dimensions, Radius, Tuning>(where, s, f);
  return launch_stencil<1, Dimensions, Radius, Tuning>(where, s, f);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
