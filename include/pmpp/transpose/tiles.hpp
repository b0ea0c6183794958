// SPDX-License-Identifier: Apache-2.0
//
// Transposition of matrices whose rows are adjacent elements, in A and in B: elements of any size, rows that begin anywhere.
//
//   A   ..|....aaaa|aaaaaaaa|aaaa....|..     a row of a tile is covered by aligned words: each is copied to shared memory
//                                            by one asynchronous copy, as it stands
//   B   ....|....bbbb|bbbbbbbb|bbbb....|     a column of a tile is the part of a row of B between two boundaries of
//                                            sectors of memory: it is written by vectors of 16 bytes that do not straddle any
//
// Columns of a tile so begin at different rows of A, up to a sector apart; the few rows around are read by two tiles, the
// second time from the cache. Only the ends of the rows of B are written in parts.
//
// An element is some units of 1 to 16 bytes, which never part. A thread makes a vector of B by as many reads from shared
// memory as it has units, down a column. Rows in shared memory have a gap after them, so that the rows of neighbouring vectors
// begin 64 bytes further in the banks (units of four bytes and more: 32): the two lanes (four) that write side by side along
// a row of B, and those of the columns beside it, meet different banks wherever the rows of B begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiling.hpp>
#include <pmpp/transpose/turn.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Rows of bytes, `pitch` bytes apart.
template <class Byte>
struct byte_rows {
  Byte* data;
  std::int64_t pitch;
  PMPP_HOST_DEVICE Byte* at(std::int64_t row, std::int64_t byte) const { return data + row * pitch + byte; }
};

/// How a matrix is cut into tiles; sizes in bytes unless named.
struct cover {
  std::int64_t height, width;  ///< of A, in elements
  std::int64_t tiles_y, tiles_x;
  int columns;      ///< of A in a tile
  int advance;      ///< of a row of B from tile to tile
  int log_vectors;  ///< 2^log_vectors vectors cover what a tile has of a row of B
  int log_words;    ///< 2^log_words words cover what it has of a row of A
  int pitch;        ///< of a row in shared memory
  int boundary;     ///< a tile's part of a row of B begins before a multiple of this
  int before;       ///< at most so far before the place where it would begin otherwise
  bool exact;       ///< it begins and ends there instead: tiles do not share rows of A
  bool as_one_row;  ///< a tile's rows are adjacent in A, and read as one
  divisor by;       ///< tiles_y; in place tiles_x | 1

  std::int64_t tiles() const { return tiles_y * tiles_x; }
};

template <int Size, int Unit>
struct tile_of {
  static constexpr int parts = Size / Unit, items = 16 / Unit;
  static constexpr int word = Unit < 4 ? 4 * Unit : Unit;         // of a copy to shared memory
  static constexpr bool has_phases = word > Unit;                 // rows begin within a word
  static constexpr int side = parts == 1 ? max(1, 4 / Unit) : 1;  // columns of four bytes, which a thread takes in turn
  static constexpr int boundary = 32;                             // of sectors
  static constexpr int log_lanes = Unit < 4 ? 1 : 2;              // that write side by side along a row of B
  static constexpr int gap = Unit < 4 ? word : 2 * word;          // between rows in shared memory, see above
  static_assert(Size % Unit == 0 && is_power_of_two(Unit) && Unit <= 16);

  /// Bytes of a row of A that words of this many bytes cover wherever it begins.
  static constexpr int covered(int bytes) { return bytes - (has_phases ? word - Unit : 0); }

  /// Rows of A that a tile reads at most.
  static int rows_of(const cover& cut) { return ceil_div(cut.advance + cut.before, Size) + 1; }
  static std::size_t shared_bytes(const cover& cut) {
    return round_up(static_cast<std::size_t>(rows_of(cut)) * static_cast<std::size_t>(cut.pitch) + 2 * word,
                    std::size_t(16));
  }

  /// A tile in a kernel.
  struct part {
    std::int64_t y, x;  ///< its first row, which may not exist, and column
    int height, width;  ///< of A, in elements
    int first;          ///< bytes from row y to where the part of a row of B begins that begins at a boundary
    int low, high;      ///< bytes from there to the first one of a row of B that is the tile's, and past the last

    PMPP_HOST_DEVICE part(const cover& cut, tile_position at) : x(std::int64_t(at.x) * cut.columns) {
      const std::int64_t begin = std::int64_t(at.y) * cut.advance, end = begin + cut.advance, all = cut.height * Size;
      y = (begin - cut.before + Size * std::int64_t(1 << 20)) / Size - (1 << 20);  // rounds down
      first = static_cast<int>(begin - y * Size);
      height = static_cast<int>(min(ceil_div(end, std::int64_t(Size)), cut.height) - y);
      width = static_cast<int>(min(std::int64_t(cut.columns), cut.width - x));
      low = at.y == 0 || cut.exact ? 0 : -cut.before;
      high = static_cast<int>(min(std::int64_t(cut.advance), all - begin));
    }
  };

  /// How far an address is into its word, given its lowest bits.
  PMPP_HOST_DEVICE static int phase_of(unsigned low_bits) {
    return has_phases ? static_cast<int>(low_bits & (word - 1)) : 0;
  }
  PMPP_HOST_DEVICE static int phase_at(const std::byte* p) {
    return phase_of(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p)));
  }

  /// Starts the copies of a tile.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, std::byte* tile, const byte_rows<const std::byte>& a,
                                    const cover& cut, const part& p) {
    const int threads = block.threads(), log_threads = floor_log2(threads);
    const int log_row = cut.as_one_row ? log_threads : min(cut.log_words, log_threads);
    const int missing = static_cast<int>(max(std::int64_t(0), -p.y));  // rows, in front of the matrix
    const int row_bytes = cut.as_one_row ? p.height * cut.pitch : p.width * Size, step = threads >> log_row;
    const int rows = cut.as_one_row ? 1 : p.height, skipped = cut.as_one_row ? missing * cut.pitch : 0;
    const int first = (cut.as_one_row ? 0 : missing) + (block.thread() >> log_row);
    const std::int64_t stride = step * a.pitch;
    const bool apart = has_phases && cut.exact;  // a row's first word may begin with bytes that another block writes
    if (apart) load_first_words(block, tile, a, cut, p);
    for (int at = ((block.thread() & ((1 << log_row) - 1)) + (apart ? 1 : 0)) * word;
         at < row_bytes + (has_phases ? word - Unit : 0); at += word << log_row) {
      const std::byte* from = a.at(p.y + first, p.x * Size) + at;
      if (at + word <= row_bytes && at >= skipped) {
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
        for (int row = first; row < rows; row += step, from += stride)
          simt::copy_async<word>(tile + row * cut.pitch + at, from - phase_at(from));
      } else {
        for (int row = first; row < rows; row += step, from += stride) {
          const int phase = phase_at(from), left = row_bytes + phase - at;
          if (left > 0 && at + word > skipped + phase)
            simt::copy_async<word>(tile + row * cut.pitch + at, from - phase, min(left, word));
        }
      }
    }
    simt::copy_async_commit();
  }

  /// Writes a tile to B.
  template <class Block>
  PMPP_HOST_DEVICE static void store(Block& block, const std::byte* tile, const byte_rows<const std::byte>& a,
                                     const byte_rows<std::byte>& b, const cover& cut, const part& p) {
    const int log_low = min(log_lanes, cut.log_vectors), log_high = cut.log_vectors - log_low;
    const int low = block.lane() & ((1 << log_low) - 1), warps = block.warps(), at_once = min(warps, 1 << log_high);
    const int first = block.warp() / at_once << (5 - log_low) | block.lane() >> log_low;
    const int step = (warps / at_once << (5 - log_low)) * side;
    const unsigned bits_of_a = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(a.at(p.y, p.x * Size)));
    const unsigned step_of_a = cut.as_one_row ? 0 : static_cast<unsigned>(a.pitch);
    const auto whole = static_cast<unsigned>(max(0, p.high - 15 - p.low));  // places where a vector may begin
    for (int high = block.warp() % at_once; high < 1 << log_high; high += at_once) {
      const int place = 16 * (high << log_low | low);
      std::byte* row = b.at(p.x + first * side, p.y * Size + p.first);
#if defined(__CUDA_ARCH__) && defined(__NVCC__)
#pragma unroll(side > 1 ? 1 : 4)
#endif
      for (int x0 = first * side; x0 < p.width; x0 += step, row += (step - side) * b.pitch)
        for (int x = x0; x < x0 + side; ++x, row += b.pitch) {
          if (x >= p.width) continue;
          const auto bits = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row));
          const int begin = place - static_cast<int>(bits & static_cast<unsigned>(cut.boundary - 1));
          const column from{tile + x * Size, cut, bits_of_a, step_of_a, p.first + begin};
          if (static_cast<unsigned>(begin - p.low) < whole)
            write_vector(from, row + begin);
          else if (begin < p.high && begin + 16 > p.low)
            write_part(from, row + begin, p.low - begin, p.high - begin);
        }
    }
  }

private:
  /// A column in shared memory, from a byte of it on.
  struct column {
    const std::byte* data;
    const cover& cut;
    unsigned bits, step;  ///< the lowest bits of where row 0 begins in A, and from there to the next one's
    int begin;

    PMPP_HOST_DEVICE int phase_of(int row) const { return tile_of::phase_of(bits + static_cast<unsigned>(row) * step); }
    /// Unit k.
    PMPP_HOST_DEVICE const bytes_of<Unit>* at(int k) const {
      const int unit = begin / Unit + k, row = unit / parts;
      return reinterpret_cast<const bytes_of<Unit>*>(data + row * cut.pitch + phase_of(row) +
                                                     (unit - row * parts) * Unit);
    }
    /// The units of a vector.
    PMPP_HOST_DEVICE void read(bytes_of<Unit> (&in)[items]) const {
      if constexpr (parts > 1) {
        for (int k = 0; k < items; ++k) in[k] = *at(k);
      } else {
        constexpr int phases = has_phases ? word / Unit : 1;  // after so many rows they repeat
        const int row = begin / Unit;
        const std::byte* start[phases];
        for (int k = 0; k < phases; ++k) start[k] = data + row * cut.pitch + phase_of(row + k);
        for (int k = 0; k < items; ++k)
          in[k] = *reinterpret_cast<const bytes_of<Unit>*>(start[k % phases] + k * cut.pitch);
      }
    }
  };

  /// What is the tile's of the first word of each row, a unit by each of some neighbouring threads.
  template <class Block>
  PMPP_HOST_DEVICE static void load_first_words(Block& block, std::byte* tile, const byte_rows<const std::byte>& a,
                                                const cover& cut, const part& p) {
    for (int i = block.thread(); i < p.height * (word / Unit); i += block.threads()) {
      const int row = i / (word / Unit), k = i % (word / Unit) * Unit;
      const std::byte* from = a.at(p.y + row, p.x * Size);
      const int at = k - phase_at(from);
      if (at >= 0 && at < p.width * Size)
        *reinterpret_cast<bytes_of<Unit>*>(tile + row * cut.pitch + k) =
            *reinterpret_cast<const bytes_of<Unit>*>(from + at);
    }
  }

  PMPP_HOST_DEVICE static void write_vector(const column& from, std::byte* to) {
    bytes_of<Unit> in[items];
    bytes_of<16> out[1];
    from.read(in);
    turner<Unit, 1>::turn(in, out);
    *reinterpret_cast<bytes_of<16>*>(to) = out[0];
  }

  /// The part [low, high) of a vector, in words of four bytes where they are whole.
  PMPP_HOST_DEVICE static void write_part(const column& from, std::byte* to, int low, int high) {
    constexpr int piece = max(Unit, 4), units = piece / Unit;
    for (int i = 0; i < 16; i += piece)
      if (units > 1 && i >= low && i + piece <= high) {
        std::uint32_t joined = 0;
        for (int k = 0; k < units; ++k) joined |= std::uint32_t(from.at(i / Unit + k)->part[0]) << 8 * Unit * k;
        *reinterpret_cast<bytes_of<4>*>(to + i) = {{joined}};
      } else {
        for (int k = i; k < i + piece; k += Unit)
          if (k >= low && k < high) *reinterpret_cast<bytes_of<Unit>*>(to + k) = *from.at(k / Unit);
      }
  }
};

template <class Tile, int Threads>
struct transpose_tiles_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Threads, min_blocks = max(1, min(32, 768 / Threads));  // of 80 registers a thread

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const byte_rows<const std::byte>& a, const byte_rows<std::byte>& b,
                                   const cover& cut) const {
    simt::previous_kernels_done();
    // Down first: blocks that run together write adjacent parts of the rows of B. Blocks are fewer than 2^31.
    const auto i = static_cast<std::uint32_t>(block.index()), x = cut.by.quotient(i);
    const typename Tile::part part(cut, {i - x * cut.by.value(), x});
    Tile::load(block, block.dynamic_shared(), a, cut, part);
    simt::copy_async_wait<0>();
    block.sync();
    Tile::store(block, block.dynamic_shared(), a, b, cut, part);
  }
};

/// Two tiles on either side of the diagonal change places.
template <class Tile, int Threads>
struct exchange_tiles_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Threads, min_blocks = max(1, min(32, 768 / Threads));

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const byte_rows<const std::byte>& a, const byte_rows<std::byte>& b,
                                   const cover& cut, int tile_bytes) const {
    simt::previous_kernels_done();
    const tile_position at =
        tile_in_triangle(static_cast<std::uint32_t>(block.index()), static_cast<std::uint32_t>(cut.tiles_x), cut.by);
    const typename Tile::part upper(cut, at), lower(cut, {at.x, at.y});
    std::byte *const first = block.dynamic_shared(), *const second = first + tile_bytes;
    Tile::load(block, first, a, cut, upper);
    if (at.y != at.x) Tile::load(block, second, a, cut, lower);
    simt::copy_async_wait<0>();
    block.sync();
    Tile::store(block, first, a, b, cut, upper);
    if (at.y != at.x) Tile::store(block, second, a, b, cut, lower);
  }
};

/// Tiles of about `bytes` bytes, nearly square where the matrix allows that.
template <class Tile, int Size, int Unit>
cover cover_of(std::int64_t height, std::int64_t width, const byte_rows<const std::byte>& a,
               const byte_rows<std::byte>& b, int bytes) {
  cover cut{};
  cut.height = height;
  cut.width = width;
  const bool apart =
      ((reinterpret_cast<std::uintptr_t>(b.data) | static_cast<std::uintptr_t>(b.pitch)) & (Tile::boundary - 1)) != 0;
  cut.boundary = apart ? Tile::boundary : 1;
  cut.before = apart ? Tile::boundary - Unit : 0;
  const auto columns_of = [](int words) { return Tile::covered(Tile::word << words) / Size; };
  const auto need = [&](std::int64_t bytes_wanted, auto enough, int from) {
    int log = from;
    while (log < 24 && enough(log) < bytes_wanted) ++log;
    return log;
  };
  const int most_words = need(width, columns_of, 0), least_words = need(1, columns_of, 0);
  const int most_vectors = need(
      height * Size + cut.before, [](int log) { return std::int64_t(16) << log; }, 0);
  const int log_area = floor_log2(bytes * Size), log_word = floor_log2(Tile::word);
  cut.log_words = min(log_area / 2 - log_word, most_words);
  cut.log_vectors = min(log_area - cut.log_words - log_word - 4, most_vectors);
  cut.log_words = max(least_words, min(log_area - cut.log_vectors - 4 - log_word, most_words));
  cut.log_vectors = max(0, min(log_area - cut.log_words - log_word - 4, most_vectors));
  cut.columns = static_cast<int>(min(std::int64_t(columns_of(cut.log_words)), width));
  cut.pitch = (Tile::word << cut.log_words) + Tile::gap;
  cut.advance = 16 << cut.log_vectors;
  cut.as_one_row = cut.columns == width && a.pitch == width * Size && a.pitch < 128 && a.pitch % 16 != 0;
  if (cut.as_one_row) {
    cut.pitch = static_cast<int>(a.pitch);
    cut.log_vectors = max(0, min(floor_log2(bytes / cut.pitch * Size) - 4, most_vectors));
    cut.advance = 16 << cut.log_vectors;
  }
  cut.tiles_x = ceil_div(width, std::int64_t(cut.columns));
  cut.tiles_y = ceil_div(height * Size + cut.before, std::int64_t(cut.advance));
  cut.by = divisor(cut.tiles_y);
  return cut;
}

/// Square tiles of at most `bytes` bytes, for a square matrix in place: tiles must not share elements.
template <class Tile, int Size, int Unit>
cover cover_in_place(std::int64_t width, const byte_rows<std::byte>& b, int bytes) {
  cover cut{};
  cut.height = cut.width = width;
  const bool apart =
      16 % Size != 0 || ((reinterpret_cast<std::uintptr_t>(b.data) | static_cast<std::uintptr_t>(b.pitch)) & 15) != 0;
  cut.exact = true;
  cut.boundary = apart ? 16 : 1;
  const auto fits = [&](int log) {  // a side that 2^log vectors cover
    return static_cast<int>(((std::int64_t(16) << log) - (apart ? 16 - Unit : 0)) / Size);
  };
  int log = 0;
  while (fits(log) < 1) ++log;
  while (log < 20 && fits(log) < width && std::int64_t(fits(log + 1)) * fits(log + 1) * Size <= bytes) ++log;
  cut.log_vectors = log;
  cut.columns = static_cast<int>(min(std::int64_t(fits(log)), max(std::int64_t(1), width)));
  cut.advance = cut.columns * Size;
  while (Tile::covered(Tile::word << cut.log_words) < cut.columns * Size) ++cut.log_words;
  cut.pitch = (Tile::word << cut.log_words) + Tile::gap;
  cut.tiles_x = cut.tiles_y = ceil_div(width, std::int64_t(cut.columns));
  cut.by = divisor(cut.tiles_x | 1);
  return cut;
}

template <class T, int Unit, transpose_tuning Tuning, class P>
void transpose_by_tiles(const P& where, const transposition<T>& t) {
  constexpr int size = sizeof(T), bytes = Tuning.threads * Tuning.vectors * 16;
  using tile = tile_of<size, Unit>;
  const byte_rows<const std::byte> a{reinterpret_cast<const std::byte*>(t.a.data), t.a.pitch * size};
  const byte_rows<std::byte> b{reinterpret_cast<std::byte*>(t.b.data), t.b.step * size};
  if constexpr (size < 4) {
    if (t.in_place) {
      const int most = machine_of(where).shared_per_block / 2 * 3 / 4;  // rows in shared memory have room to spare
      const cover cut = cover_in_place<tile, size, Unit>(t.width, b, min(bytes, most));
      const auto tile_bytes = tile::shared_bytes(cut);
      launch_kernel<Tuning.threads>(where, grid{cut.tiles_x * (cut.tiles_x + 1) / 2, Tuning.threads, 2 * tile_bytes},
                                    exchange_tiles_kernel<tile, Tuning.threads>{}, a, b, cut,
                                    static_cast<int>(tile_bytes));
      return;
    }
  }
  // Smaller tiles of a small matrix: two for each multiprocessor.
  const std::int64_t share = t.height * t.width * size / (2 * machine_of(where).multiprocessors);
  const int of_tile = share >= bytes ? bytes : max(min(bytes, 2048), 1 << floor_log2(max(1, static_cast<int>(share))));
  const cover cut = cover_of<tile, size, Unit>(t.height, t.width, a, b, of_tile);
  launch_kernel<Tuning.threads>(where, grid{cut.tiles(), Tuning.threads, tile::shared_bytes(cut)},
                                transpose_tiles_kernel<tile, Tuning.threads>{}, a, b, cut);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
