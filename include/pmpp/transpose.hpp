// SPDX-License-Identifier: Apache-2.0
//
// transpose: rows become columns. B(j, i) = A(i, j) for strided views of any shape.
//
//   1. A block takes a tile of 32 KB. Its threads read 16 bytes each along the rows of A, straight into shared
//      memory, all of them before the first is waited for.
//   2. A thread then takes one column of a few words, 16 bytes of a row of B, and writes them at once. Elements of one
//      or two bytes come four or two columns a word: such a thread turns a small block in its registers.
//   3. Reading down a column would meet one bank of shared memory again and again. Vector i of a tile therefore stands
//      at place i ^ (its row of vectors mod 8), so that eight lanes find eight places.
//   4. Rows that do not begin at 16-byte boundaries, elements whose size is no power of two, and views without adjacent
//      elements pass element by element; a warp still touches adjacent ones on both sides.
//   5. Tiles of a matrix with few columns are as narrow, and longer; a small matrix is cut into smaller tiles.
//   6. In place, a block reads two tiles that change places before it writes them.
//
// If A or B is itself a transposed view, elements that are adjacent in A may be adjacent in B: that is a copy, without
// shared memory. Work n; traffic: A read once, B written once; one launch, one barrier. (PMPP ch. 5 and 6: tiling,
// corner turning.) Transposing in place takes a square matrix; there is no rectangular one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct transpose_tuning {
  int threads = 256;  ///< of a block, a power of two
  int vectors =
      8;          ///< of 16 bytes that a thread moves; a power of two. H200, 8192 x 8192 floats: 4 -> 8, 137 -> 133 us
  int items = 8;  ///< elements that a thread moves one by one, twice as many of four bytes; a power of two

  /// The same with a part of the vectors.
  constexpr transpose_tuning divided_by(int part) const {
    return {.threads = threads, .vectors = max(1, vectors / part), .items = items};
  }
};

namespace detail {

/// A matrix as the kernels see it: element (y, x) lies at data[y * pitch + x * step]. x is the direction along which A
/// is adjacent, or nearly so; y the one along which B is.
template <class T>
struct plane {
  T* data;
  std::int64_t pitch, step;
  PMPP_HOST_DEVICE T* at(std::int64_t y, std::int64_t x) const { return data + y * pitch + x * step; }
};

/// The position of a tile.
struct tile_position {
  std::int64_t y, x;
};

/// The extents of the matrix, and the tiles that it is cut into: 2^log_width x 2^log_height elements each.
struct tiling {
  std::int64_t height, width;
  int log_height, log_width;
  std::int64_t tiles_y, tiles_x;

  /// Tiles of 2^log_area elements, nearly square where the matrix allows that; each extent at least 2^least elements.
  tiling(std::int64_t rows, std::int64_t cols, int log_area, int least) : height(rows), width(cols) {
    const int most = log_area - least;
    log_width = max(min((log_area + 1) / 2, ceil_log2(cols)), least);
    log_width = min(max(log_width, log_area - ceil_log2(rows)), most);
    set(log_area - log_width);
  }
  /// Square tiles of at most 2^log_area elements, for a square matrix.
  tiling(std::int64_t rows, int log_area) : height(rows), width(rows), log_width(log_area / 2) { set(log_width); }

  PMPP_HOST_DEVICE std::int64_t first_y(std::int64_t tile) const { return tile << log_height; }
  PMPP_HOST_DEVICE std::int64_t first_x(std::int64_t tile) const { return tile << log_width; }
  /// The elements of a tile that exist.
  PMPP_HOST_DEVICE int height_of(tile_position at) const {
    return static_cast<int>(min(height - first_y(at.y), std::int64_t(1) << log_height));
  }
  PMPP_HOST_DEVICE int width_of(tile_position at) const {
    return static_cast<int>(min(width - first_x(at.x), std::int64_t(1) << log_width));
  }
  std::int64_t tiles() const { return tiles_y * tiles_x; }

private:
  void set(int log_rows) {
    log_height = log_rows;
    tiles_y = ceil_div(height, std::int64_t(1) << log_height);
    tiles_x = ceil_div(width, std::int64_t(1) << log_width);
  }
};

/// Tile `index` of the upper triangle of tiles x tiles, diagonal included: a row of it and the row that it fills up to a
/// full one stand side by side.
PMPP_HOST_DEVICE inline tile_position tile_in_triangle(std::int64_t index, std::int64_t tiles) {
  const std::int64_t row = index / (tiles | 1), col = index % (tiles | 1);
  if (col < tiles - row) return {row, row + col};
  const std::int64_t other = tiles - row - (tiles % 2 == 0 ? 1 : 0);
  return {other, other + col - (tiles - row)};
}

/// Memory of this many bytes, whatever is in it, as the widest words that its alignment allows.
template <int Bytes, int Alignment = Bytes>
struct [[gnu::may_alias]] alignas(Alignment) bytes_of {
  using word = std::conditional_t<Alignment % 4 == 0, std::uint32_t,
                                  std::conditional_t<Alignment % 2 == 0, std::uint16_t, std::uint8_t>>;
  word part[Bytes / sizeof(word)];
};

/// Copies one element.
template <class T, class Target, class Source>
PMPP_HOST_DEVICE void copy_element(Target* to, const Source* from) {
  using cell = bytes_of<sizeof(T), alignof(T)>;
  *reinterpret_cast<cell*>(to) = *reinterpret_cast<const cell*>(from);
}

/// Calls f(r, place, row, offset) for a thread's places in a tile, r = 0 ... Items - 1: every `Threads`-th along rows of
/// 2^log_row places, which are `along` elements apart in memory; rows are `across` elements apart.
template <int Threads, int Items, class F>
PMPP_HOST_DEVICE void for_each_place(int thread, int log_row, std::int64_t along, std::int64_t across, F f) {
  const int place = thread & ((1 << log_row) - 1), row = thread >> log_row, rows = Threads >> log_row;
  if (rows != 0) {  // whole rows at a time: no multiplication a step
    const std::int64_t step = rows * across;
    std::int64_t offset = place * along + row * across;
    for (int r = 0; r < Items; ++r, offset += step) f(r, place, row + r * rows, offset);
  } else {
    for (int r = 0; r < Items; ++r) {
      const int i = thread + r * Threads, to = i & ((1 << log_row) - 1), in = i >> log_row;
      f(r, to, in, to * along + in * across);
    }
  }
}

/// Moves tiles element by element.
template <class T, transpose_tuning Tuning>
struct element_tile {
  using cell = bytes_of<sizeof(T), alignof(T)>;
  static constexpr int threads =  // of large elements so few that 48 KB hold two tiles
      sizeof(T) <= 128 ? min(Tuning.threads, 256) : min(32, 1 << floor_log2(max(1, int(22 * 1024 / sizeof(T)))));
  static constexpr int items = sizeof(T) == 4    ? 2 * Tuning.items
                               : sizeof(T) < 4   ? Tuning.items
                               : sizeof(T) <= 32 ? min(Tuning.items, 4)
                                                 : 1;
  static constexpr int log_area = floor_log2(threads * items), least = 0;
  /// A place is left out after each 32 elements, so that a column meets all banks.
  struct memory {
    cell element[threads * items * 33 / 32 + 1];
  };

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, memory& tile, const plane<const T>& a, const tiling& cut,
                                    tile_position at) {
    const T* first = a.at(cut.first_y(at.y), cut.first_x(at.x));
    const int height = cut.height_of(at), width = cut.width_of(at);
    cell value[items];
    for_each_place<threads, items>(block.thread(), cut.log_width, a.step, a.pitch,
                                   [&](int r, int x, int y, std::int64_t offset) {
                                     if (y < height && x < width) copy_element<T>(value + r, first + offset);
                                   });
    for (int r = 0; r < items; ++r) {
      const int to = block.thread() + r * threads;
      tile.element[to + to / 32] = value[r];
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                     tile_position at) {
    T* first = b.at(cut.first_y(at.y), cut.first_x(at.x));
    const int height = cut.height_of(at), width = cut.width_of(at);
    cell value[items];
    for (int r = 0; r < items; ++r) {
      const int i = block.thread() + r * threads;
      const int from = ((i & ((1 << cut.log_height) - 1)) << cut.log_width) + (i >> cut.log_height);
      value[r] = tile.element[from + from / 32];
    }
    for_each_place<threads, items>(block.thread(), cut.log_height, b.pitch, b.step,
                                   [&](int r, int y, int x, std::int64_t offset) {
                                     if (y < height && x < width) copy_element<T>(first + offset, value + r);
                                   });
  }
};

/// Moves tiles by vectors of 16 bytes. \pre sizeof(T) is 1, 2, 4, 8 or 16; rows of A and of B begin at 16-byte
/// boundaries; A has step 1, B has pitch 1.
template <class T, transpose_tuning Tuning>
struct vector_tile {
  static constexpr int threads = Tuning.threads, vectors = Tuning.vectors;
  static constexpr int size = sizeof(T), items = 16 / size;         // elements of a vector
  static constexpr int word = max(size, 4), columns = word / size;  // bytes and elements of a word
  static constexpr int log_items = floor_log2(items), log_words = floor_log2(16 / word);
  static constexpr int log_area = floor_log2(threads * vectors) + log_items, least = log_items;
  struct memory {
    alignas(128) bytes_of<16> vector[threads * vectors];
  };

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, memory& tile, const plane<const T>& a, const tiling& cut,
                                    tile_position at) {
    if (is_whole(cut, at))
      load_vectors<true>(block, tile, a, cut, at);
    else
      load_vectors<false>(block, tile, a, cut, at);
    simt::copy_async_commit();
    simt::copy_async_wait<0>();
  }
  template <class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                     tile_position at) {
    if (is_whole(cut, at))
      store_vectors<true>(block, tile, b, cut, at);
    else
      store_vectors<false>(block, tile, b, cut, at);
  }

  /// The `columns` columns of `items` words: vector g holds the g-th element of each word.
  PMPP_HOST_DEVICE static void turn(const bytes_of<word> (&in)[items], bytes_of<16> (&out)[columns]) {
    for (int g = 0; g < columns; ++g)
      for (int j = 0; j < 4; ++j) {
        if constexpr (size >= 4) {
          out[g].part[j] = in[j / (size / 4)].part[j % (size / 4)];
        } else {
          constexpr int bits = 8 * size;
          std::uint32_t joined = 0;
          for (int k = 0; k < columns; ++k)
            joined |= (in[j * columns + k].part[0] >> g * bits & ((1u << bits) - 1)) << k * bits;
          out[g].part[j] = joined;
        }
      }
  }

private:
  PMPP_HOST_DEVICE static bool is_whole(const tiling& cut, tile_position at) {
    return cut.first_y(at.y + 1) <= cut.height && cut.first_x(at.x + 1) <= cut.width &&
           cut.log_height + cut.log_width == log_area;
  }
  /// Where vector i of a tile stands.
  PMPP_HOST_DEVICE static int place(int i, const tiling& cut) { return i ^ (i >> max(3, cut.log_width) & 7); }

  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void load_vectors(Block& block, memory& tile, const plane<const T>& a, const tiling& cut,
                                            tile_position at) {
    const std::int64_t y0 = cut.first_y(at.y), x0 = cut.first_x(at.x);
    const int log_row = cut.log_width - log_items;
    for (int r = 0; r < vectors; ++r) {
      const int i = block.thread() + r * threads, y = i >> log_row, x = (i & ((1 << log_row) - 1)) << log_items;
      if (!Whole && y >> cut.log_height != 0) break;
      bytes_of<16>& slot = tile.vector[place(i, cut)];
      if (Whole || (y0 + y < cut.height && x0 + x + items <= cut.width)) {
        simt::copy_async<16>(&slot, a.at(y0 + y, x0 + x));
      } else if (y0 + y < cut.height) {
        for (int k = 0; k < items; ++k)
          if (x0 + x + k < cut.width) copy_element<T>(reinterpret_cast<T*>(&slot) + k, a.at(y0 + y, x0 + x + k));
      }
    }
  }

  /// Eight lanes make 128 bytes of a row of B, the next eight the same of the next word's.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void store_vectors(Block& block, const memory& tile, const plane<T>& b, const tiling& cut,
                                             tile_position at) {
    const std::int64_t y0 = cut.first_y(at.y), x0 = cut.first_x(at.x);
    const int log_row = cut.log_width - log_items, log_col = cut.log_height - log_items, low = min(3, log_col);
    for (int r = 0; r < ceil_div(vectors, columns); ++r) {
      const int i = block.thread() + r * threads;
      const int q = (i & ((1 << low) - 1)) | ((i >> (low + log_words) & ((1 << (log_col - low)) - 1)) << low);
      const int part = i >> low & ((1 << log_words) - 1), column = i >> (log_col + log_words);
      if ((!Whole || vectors % columns != 0) && column >> log_row != 0) break;
      bytes_of<word> in[items];
      for (int k = 0; k < items; ++k) {
        const bytes_of<16>& v = tile.vector[place((((q << log_items) + k) << log_row) + column, cut)];
        in[k] = reinterpret_cast<const bytes_of<word>*>(&v)[part];
      }
      bytes_of<16> out[columns];
      turn(in, out);
      const std::int64_t y = y0 + (q << log_items), x = x0 + (column << log_items) + part * columns;
      for (int g = 0; g < columns; ++g) {
        if (Whole || (y + items <= cut.height && x + g < cut.width)) {
          *reinterpret_cast<bytes_of<16>*>(b.at(y, x + g)) = out[g];
        } else if (x + g < cut.width) {
          for (int k = 0; k < items; ++k)
            if (y + k < cut.height) copy_element<T>(b.at(y + k, x + g), reinterpret_cast<const T*>(&out[g]) + k);
        }
      }
    }
  }
};

template <class T, class Tile>
struct transpose_kernel {
  static constexpr int threads = Tile::threads,
                       min_blocks = max(1, min(32, 768 / threads));  // of 80 registers a thread
  struct shared {
    typename Tile::memory tile;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const plane<const T>& a, const plane<T>& b,
                                   const tiling& cut) const {
    // Down first: blocks that run together write adjacent parts of the rows of B. Blocks are fewer than 2^31.
    const auto i = static_cast<std::uint32_t>(block.index()), tiles_y = static_cast<std::uint32_t>(cut.tiles_y);
    const tile_position at{i % tiles_y, i / tiles_y};
    Tile::load(block, memory.tile, a, cut, at);
    block.sync();
    Tile::store(block, memory.tile, b, cut, at);
  }
};

/// Two tiles on either side of the diagonal change places.
template <class T, class Tile>
struct transpose_in_place_kernel {
  static constexpr int threads = Tile::threads;
  struct shared {
    typename Tile::memory upper, lower;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const plane<const T>& a, const plane<T>& b,
                                   const tiling& cut) const {
    const tile_position upper = tile_in_triangle(block.index(), cut.tiles_x), lower{upper.x, upper.y};
    Tile::load(block, memory.upper, a, cut, upper);
    if (upper.y != upper.x) Tile::load(block, memory.lower, a, cut, lower);
    block.sync();
    Tile::store(block, memory.upper, b, cut, upper);
    if (upper.y != upper.x) Tile::store(block, memory.lower, b, cut, lower);
  }
};

/// Copies rows of words. Pitches and steps are in bytes; the last word of a row may be cut off.
template <class Word, transpose_tuning Tuning>
struct copy_rows_kernel {
  static constexpr int threads = Tuning.threads, items = Tuning.vectors;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const plane<const unsigned char>& a, const plane<unsigned char>& b,
                                   const tiling& cut, std::int64_t row_bytes) const {
    constexpr std::int64_t size = sizeof(Word);
    const auto i = static_cast<std::uint32_t>(block.index()), tiles_x = static_cast<std::uint32_t>(cut.tiles_x);
    const tile_position at{i / tiles_x, i % tiles_x};
    Word value[items];
    for (int r = 0; r < items; ++r) {
      const tile_position p = element(block, cut, at, r);
      if (p.y < cut.height && (p.x + 1) * size <= row_bytes) value[r] = *reinterpret_cast<const Word*>(a.at(p.y, p.x));
    }
    for (int r = 0; r < items; ++r) {
      const tile_position p = element(block, cut, at, r);
      if (p.y >= cut.height) break;
      if ((p.x + 1) * size <= row_bytes)
        *reinterpret_cast<Word*>(b.at(p.y, p.x)) = value[r];
      else
        for (std::int64_t k = 0; k < row_bytes - p.x * size; ++k) b.at(p.y, p.x)[k] = a.at(p.y, p.x)[k];
    }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static tile_position element(Block& block, const tiling& cut, tile_position at, int r) {
    const int i = block.thread() + r * threads;
    return {cut.first_y(at.y) + (i >> cut.log_width), cut.first_x(at.x) + (i & ((1 << cut.log_width) - 1))};
  }
};

/// A task in normal form: x is the axis along which A is adjacent, or more so than along y.
template <class T>
struct transposition {
  plane<const T> a;
  plane<T> b;
  std::int64_t height, width;
  bool copies, in_place;  ///< x is the axis along which B is adjacent too; A and B are the same memory

  transposition(const matrix_view<const T>& from, const matrix_view<T>& to)
      : a{from.data(), from.row_stride(), from.col_stride()},
        b{to.data(), to.col_stride(), to.row_stride()},
        height(from.rows()),
        width(from.cols()) {
    in_place = a.data == b.data && height == width && a.pitch == b.step && a.step == b.pitch && a.pitch != a.step;
    if (width == 1 || (height > 1 && size_of(a.pitch) < size_of(a.step))) {
      a = {a.data, a.step, a.pitch};
      b = {b.data, b.step, b.pitch};
      const std::int64_t rows = height;
      height = width;
      width = rows;
    }
    copies = height == 1 || size_of(b.step) < size_of(b.pitch);
  }

  /// Every element would be copied to where it stands.
  bool nothing_to_do() const {
    return a.data == b.data && (a.pitch == b.pitch || height == 1) && (a.step == b.step || width == 1);
  }
  /// Rows of A and of B are adjacent elements.
  bool copies_rows() const { return copies && (width == 1 || (a.step == 1 && b.step == 1)); }
  /// All elements are adjacent, in the same order.
  bool copies_all() const { return copies_rows() && (height == 1 || (a.pitch == width && b.pitch == width)); }
  /// Rows of A and of B are adjacent elements and begin at 16-byte boundaries.
  bool in_vectors() const {
    constexpr std::int64_t size = sizeof(T);
    return a.step == 1 && b.pitch == 1 && a.pitch * size % 16 == 0 && b.step * size % 16 == 0 &&
           reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0 && reinterpret_cast<std::uintptr_t>(b.data) % 16 == 0;
  }

private:
  static std::int64_t size_of(std::int64_t stride) { return stride < 0 ? -stride : stride; }
};

/// Calls f(bytes_of<W>) with the widest word that all these numbers of bytes are multiples of.
template <int Bytes = 16, class F>
void with_widest_word(std::uintptr_t numbers, F f) {
  if constexpr (Bytes == 1) {
    f(bytes_of<1>{});
  } else {
    if (numbers % Bytes == 0) return f(bytes_of<Bytes>{});
    with_widest_word<Bytes / 2>(numbers, f);
  }
}

template <class Word, transpose_tuning Tuning, class P, class T>
void launch_copy(const P& where, const transposition<T>& t, std::int64_t step_a, std::int64_t step_b,
                 std::int64_t row_bytes) {
  constexpr std::int64_t size = sizeof(T);
  using kernel = copy_rows_kernel<Word, Tuning>;
  const tiling cut(t.height, ceil_div(row_bytes, std::int64_t(sizeof(Word))),
                   floor_log2(kernel::threads * kernel::items), 0);
  launch(where, cut.tiles(), kernel{},
         plane<const unsigned char>{reinterpret_cast<const unsigned char*>(t.a.data), t.a.pitch * size, step_a},
         plane<unsigned char>{reinterpret_cast<unsigned char*>(t.b.data), t.b.pitch * size, step_b}, cut, row_bytes);
}

/// Copies rows that are adjacent in A and in B, or less so.
template <transpose_tuning Tuning, class P, class T>
void copy_on_device(const P& where, const transposition<T>& t) {
  constexpr std::int64_t size = sizeof(T);
  if (t.copies_rows())
    with_widest_word(
        reinterpret_cast<std::uintptr_t>(t.a.data) | reinterpret_cast<std::uintptr_t>(t.b.data) |
            static_cast<std::uintptr_t>((t.a.pitch | t.b.pitch) * size),
        [&](auto word) { launch_copy<decltype(word), Tuning>(where, t, sizeof word, sizeof word, t.width * size); });
  else
    launch_copy<bytes_of<size, alignof(T)>, Tuning>(where, t, t.a.step * size, t.b.step * size, t.width * size);
}

template <class Tile, class P, class T>
void launch_tiles(const P& where, const transposition<T>& t) {
  const tiling cut(t.height, t.width, Tile::log_area, Tile::least);
  pmpp::launch(where, cut.tiles(), transpose_kernel<T, Tile>{}, t.a, t.b, cut);
}
template <class Tile, class P, class T>
void launch_in_place(const P& where, const transposition<T>& t) {
  const tiling cut(t.width, Tile::log_area);
  pmpp::launch(where, cut.tiles_x * (cut.tiles_x + 1) / 2, transpose_in_place_kernel<T, Tile>{}, t.a, t.b, cut);
}

template <transpose_tuning Tuning, class P, class T>
void transpose_on_device(const P& where, const transposition<T>& t) {
  if constexpr (sizeof(T) <= 16 && is_power_of_two(sizeof(T))) {
    using tile = vector_tile<T, Tuning>;
    if (t.in_vectors()) {
      if (t.in_place) return launch_in_place<vector_tile<T, Tuning.divided_by(2)>>(where, t);
      if (t.height * t.width >> tile::log_area >= 2 * machine_of(where).multiprocessors)
        return launch_tiles<tile>(where, t);
      return launch_tiles<vector_tile<T, Tuning.divided_by(4)>>(where, t);
    }
  }
  if (t.in_place) return launch_in_place<element_tile<T, Tuning>>(where, t);
  launch_tiles<element_tile<T, Tuning>>(where, t);
}

/// The side of a square tile of the host, in elements: rows of whole lines of the cache, and at most 16 KB.
template <class T>
constexpr int host_side = sizeof(T) == 1    ? 128
                          : sizeof(T) <= 4  ? 64
                          : sizeof(T) <= 16 ? 32
                                            : 8;

/// One tile, through a buffer whose rows do not fall on the same lines of the cache.
template <class T>
void transpose_tile(const transposition<T>& t, std::int64_t y0, std::int64_t x0) {
  constexpr int side = host_side<T>, size = sizeof(T);
  unsigned char row[side][side * size + 16];
  const int height = static_cast<int>(min<std::int64_t>(side, t.height - y0));
  const int width = static_cast<int>(min<std::int64_t>(side, t.width - x0));
  for (int y = 0; y < height; ++y)
    if (t.a.step == 1)
      memcpy(row[y], static_cast<const void*>(t.a.at(y0 + y, x0)), static_cast<std::size_t>(width * size));
    else
      for (int x = 0; x < width; ++x) memcpy(row[y] + x * size, static_cast<const void*>(t.a.at(y0 + y, x0 + x)), size);
  int x = 0;
  if constexpr (size <= 8 && is_power_of_two(size)) {
    using turner = vector_tile<T, transpose_tuning{}>;
    for (; t.b.pitch == 1 && x + turner::columns <= width; x += turner::columns) {
      int y = 0;
      for (; y + turner::items <= height; y += turner::items) {
        bytes_of<turner::word> in[turner::items];
        bytes_of<16> out[turner::columns];
        for (int k = 0; k < turner::items; ++k) memcpy(&in[k], row[y + k] + x * size, turner::word);
        turner::turn(in, out);
        for (int g = 0; g < turner::columns; ++g) memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x + g)), &out[g], 16);
      }
      for (; y < height; ++y)
        for (int g = 0; g < turner::columns; ++g)
          memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x + g)), row[y] + (x + g) * size, size);
    }
  }
  for (; x < width; ++x)
    for (int y = 0; y < height; ++y) memcpy(static_cast<void*>(t.b.at(y0 + y, x0 + x)), row[y] + x * size, size);
}

/// The elements of two tiles on either side of the diagonal change places, one by one.
template <class T>
void swap_tiles(const transposition<T>& t, std::int64_t y0, std::int64_t x0) {
  const std::int64_t side = host_side<T>;
  for (std::int64_t y = y0; y < min(y0 + side, t.height); ++y)
    for (std::int64_t x = max(x0, y + 1); x < min(x0 + side, t.width); ++x) {
      using cell = bytes_of<sizeof(T), alignof(T)>;
      auto &upper = *reinterpret_cast<cell*>(t.b.at(y, x)), &lower = *reinterpret_cast<cell*>(t.b.at(x, y));
      const cell from_above = upper;
      upper = lower;
      lower = from_above;
    }
}

template <class T>
void transpose_on_host(const host_policy& where, const transposition<T>& t) {
  const std::int64_t side = host_side<T>, tiles_x = ceil_div(t.width, side), tiles_y = ceil_div(t.height, side);
  if (t.in_place) {
    host_loop::parallel_for(where, tiles_x * (tiles_x + 1) / 2, [&](std::int64_t i) {
      const tile_position at = tile_in_triangle(i, tiles_x);
      swap_tiles(t, at.y * side, at.x * side);
    });
  } else if (t.copies_rows() && t.width >= 64) {
    const std::int64_t grain = host_loop::grain, pieces = ceil_div(t.width, grain);
    host_loop::parallel_for(where, t.height * pieces, [&](std::int64_t i) {
      const std::int64_t y = i / pieces, x = i % pieces * grain;
      memcpy(static_cast<void*>(t.b.at(y, x)), static_cast<const void*>(t.a.at(y, x)),
             static_cast<std::size_t>(min(grain, t.width - x)) * sizeof(T));
    });
  } else {
    host_loop::parallel_for(where, tiles_y * tiles_x,
                            [&](std::int64_t i) { transpose_tile(t, i / tiles_x * side, i % tiles_x * side); });
  }
}

template <class T>
void check_transposition(const matrix_view<const T>& a, const matrix_view<T>& b, const transposition<T>& t) {
  const auto shape = [](const auto& v) { return std::to_string(v.rows()) + " x " + std::to_string(v.cols()); };
  require(a.rows() >= 0 && a.cols() >= 0 && a.rows() == b.cols() && a.cols() == b.rows(), [&] {
    return "pmpp::transpose: A is " + shape(a) + ", so B must be " + std::to_string(a.cols()) + " x " +
           std::to_string(a.rows()) + ", but is " + shape(b);
  });
  if (a.empty()) return;
  require(a.data() != nullptr && b.data() != nullptr, [&] {
    return std::string("pmpp::transpose: ") +
           (a.data() == nullptr ? "A is null, but is " + shape(a) : "B is null, but is " + shape(b));
  });
  require((b.row_stride() != 0 || b.rows() == 1) && (b.col_stride() != 0 || b.cols() == 1), [&] {
    return "pmpp::transpose: B is " + shape(b) + ", but several of its elements are the same: a stride is 0";
  });
  require(t.in_place || t.nothing_to_do() || !memory_of_view(a).may_meet(memory_of_view(b)), [&] {
    return "pmpp::transpose: A (" + shape(a) + ") and B (" + shape(b) +
           ") overlap; only a square matrix is transposed in place, with B == A";
  });
}

}  // namespace detail

/// Writes the transpose of A to B: B(j, i) = A(i, j).
///
/// \param a  any strides; visible to `where`. May itself be transposed(v), as B may: then it is a copy.
/// \param b  a.cols() x a.rows() elements; visible to `where`. What lies between its rows stays untouched.
/// In place: a square matrix, where B is the same view as A. Other overlaps are refused; parts of one matrix side by
/// side do not overlap.
/// Elements are trivially copyable, of up to 3 KB. The same result on every policy. Asynchronous on a GPU; no scratch,
/// no allocation; may be captured. Cost: A read once, B written once; one launch.
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap; cuda_error. Source: PMPP ch. 5
/// and 6. Example: test/transpose.cpp, all shapes.
template <transpose_tuning Tuning = tuned<transpose_tuning>, execution_policy P, class T, class U>
requires(std::is_same_v<std::remove_const_t<T>, U>) void transpose(const P& where, const matrix_view<T>& a,
                                                                   const matrix_view<U>& b) {
  static_assert(std::is_trivially_copyable_v<U>, "pmpp::transpose: the elements must be trivially copyable");
  static_assert(sizeof(U) <= 3072, "pmpp::transpose: an element may have 3 KB at most");
  const detail::transposition<U> t(a, b);
  detail::check_transposition<U>(a, b, t);
  if (a.empty() || t.nothing_to_do()) return;
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0; i < a.rows(); ++i)
      for (std::int64_t j = t.in_place ? i + 1 : 0; j < a.cols(); ++j) {
        const U upper = a(i, j);
        if (t.in_place) b(i, j) = b(j, i);
        b(j, i) = upper;
      }
  } else if constexpr (std::is_same_v<P, host_policy>) {
    detail::transpose_on_host(where, t);
  } else {
    detail::check_reachable(where, "transpose", a.data());
    detail::check_reachable(where, "transpose", b.data());
    if (t.copies_all())
      transform(where, t.a.data, t.a.data + t.height * t.width, t.b.data, identity{});
    else if (t.copies)
      detail::copy_on_device<Tuning>(where, t);
    else
      detail::transpose_on_device<Tuning>(where, t);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
