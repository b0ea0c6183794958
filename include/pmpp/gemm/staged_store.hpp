// SPDX-License-Identifier: Apache-2.0
//
// How consumers of gemm/warp_specialised.hpp write C: by way of shared memory and TMA.
//
// Elements are made of the sums of a warpgroup a slice of 128 bytes a row at a time, and left in shared memory, from where TMA
// writes one slice while the next is made. Where C is read (beta), it comes through the stages too, after the last k-tile: it is
// there when the sums are. What TMA cannot write, the lanes do: eight of them a row of a slice, by whole words of 16 bytes wherever the
// row begins, and element by element before and after these.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_covering.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// How C, which is not read, is written by TMA: along its rows, or down its columns. Otherwise: it is read, or TMA cannot write it.
/// Either: the arguments say. (Kernels that know run tiles of a short k up to a tenth faster: a multiprocessor keeps few instructions.)
enum class c_written { across, down, otherwise, either };

/// Of a kernel whose elements of C are TC, sums sum_type, epilogue Epilogue.
template <class Kernel, class TC, class S, class Epilogue>
struct staged_store {
  static constexpr int n = Kernel::n, row_bytes = Kernel::row_bytes, consumers = Kernel::consumers;
  /// A slice of C, of a consumer: 64 lines of 128 bytes. Of the last one only a part may be there, which lines are columns then.
  static constexpr int width = row_bytes / sizeof(TC), slices = ceil_div(n, width), slice_bytes = 64 * row_bytes;
  /// Lines that TMA moves at once.
  template <bool Down>
  static constexpr int box_lines = Down ? min(width, 32) : 64;
  /// TMA writes C, and it is not read: what is nearly always the case. Known before, or found out.
  static constexpr bool is_straight = Kernel::way == c_written::across || Kernel::way == c_written::down,
                        may_be_straight = Kernel::way != c_written::otherwise;
  static constexpr int slices_in_stage = (Kernel::m + n) * row_bytes / (consumers * slice_bytes);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  using shared = typename Kernel::shared;
  using arguments = typename Kernel::arguments;
  using coord = typename Kernel::coord;
  using position = typename Kernel::position;
  using sum_type = typename Kernel::sum_type;

  /// Whether C comes through the stages, after the last k-tile: then it is there when the products are.
  __device__ static bool fetches(const arguments& x, const coord& at) {
    return !is_straight && at.c_by_tma && at.is_whole && x.result.reads();
  }

  /// Where a stage holds C.
  __device__ static unsigned char* slice_in_stage(shared& memory, int stage, int slice, int group) {
    return reinterpret_cast<unsigned char*>(&memory.stages[stage]) +
           (slice % slices_in_stage * consumers + group) * slice_bytes;
  }

  /// Calls f(byte, x, y) for each box of a slice, which TMA moves at once.
  template <bool Down, class F>
  __device__ __forceinline__ static void each_box(const coord& at, int slice, int group, F f) {
    const int row = at.row + group * 64, col = at.col + slice * width;
    if constexpr (Down)
      for (int i = 0; i < 64; i += width)
        for (int j = 0; j < width; j += box_lines<Down>) f((i + j) * row_bytes, row + i, col + j);
    else
      f(0, col, row);
  }

  template <bool Down>
  __device__ static void fetch(shared& memory, const arguments& x, const coord& at, position& next) {
    for (int first = 0; first < slices; first += slices_in_stage, next.advance()) {
      const int count = min(slices - first, slices_in_stage);
      auto& full = memory.ring.acquire(next, count * consumers * slice_bytes);
      for (int i = 0; i < count * consumers; ++i) {
        const int slice = first + i / consumers, group = i % consumers;
        unsigned char* to = slice_in_stage(memory, next.stage, slice, group);
        each_box<Down>(at, slice, group, [&](int byte, int column, int line) {
          simt::copy_tile(to + byte, x.to, full, column, line, at.batch_c);
        });
      }
    }
  }

  /// Makes elements of C of the sums of a warpgroup, slice by slice, and leaves them in shared memory, from where the copy
  /// unit writes them, or the lanes do where it cannot. Down: elements of a column lie next to each other there, else
  /// those of a row; 64 lines of 128 bytes, whose 16-byte words are swizzled as TMA wants them.
  template <bool Down, class Block>
  __device__ __forceinline__ static void write(Block& block, shared& memory, const arguments& x, const coord& at,
                                               position& next, int& turn, const std::uint32_t (&sum)[n / 2]) {
    constexpr int size = sizeof(TC);
    static_assert(Down || n % width == 0);
    // Whether column u / 4 * 8 of slice s is one of the tile's: all are, unless the last slice is a part of one.
    const auto is_there = [](int s, int u) { return s * width + u / 4 * 8 < n; };
    const bool reads = !is_straight && x.result.reads(), fetched = fetches(x, at);
    const int warp = block.warp() % 4, group = block.warp() / 4 - 1, lane = block.lane();
    const std::int64_t first = at.row + group * 64;
    if (first >= at.end_row && !fetched) return;
    const int rows = static_cast<int>(min<std::int64_t>(at.end_row - first, 64)),
              cols = static_cast<int>(min<std::int64_t>(x.c.cols - at.col, n));  // that are inside C
    const auto row_of = [&](int h) {
      return Kernel::a_in_registers ? Kernel::row_from_registers(warp, lane / 4 + h * 8) : warp * 16 + lane / 4 + h * 8;
    };
    const auto byte_of = [](int line, int item) {
      return line * row_bytes + (((item * size / 16) ^ (line % 8)) * 16) + item * size % 16;
    };
    // Where element e of a lane's pair u lies in a slice.
    const auto offset_of = [&](int u, int e) {
      const int row = row_of(u % 2), col = u / 2 * 8 + lane % 4 * 2 + e;
      return Down ? byte_of(row / width * width + col, row % width) : byte_of(row, col);
    };
    const bool is_elected = block.thread() % 128 == 0;
    // An epilogue without state does no harm outside C, where TMA writes nothing.
    constexpr bool stateless = std::is_empty_v<Epilogue> && !epilogue_uses_index<Epilogue, S>;
    const bool everywhere = stateless || (rows == 64 && cols == n);
    // Makes elements of a slice of sums alone.
    const auto plain = x.result.of_sums();
    const auto make = [&](int s, packed<TC, 2>(&y)[width / 8][2]) __attribute__((always_inline)) {
#pragma unroll
      for (int u = 0; u < width / 2; ++u) {
        const int row = row_of(u / 2 % 2), col = s * width + u / 4 * 8 + lane % 4 * 2 + u % 2;
        TC& value = y[u / 4][u / 2 % 2].item[u % 2];
        if (is_there(s, u) && (!is_straight || stateless || (row < rows && col < cols)))
          value = plain(__builtin_bit_cast(sum_type, sum[s * (width / 2) + u]), &value, first + row, at.col + col);
      }
    };
    const auto put = [&](unsigned char* slice, const packed<TC, 2>(&y)[width / 8][2]) __attribute__((always_inline)) {
#pragma unroll
      for (int u = 0; u < width / 4; ++u) {
        const auto& value = y[u / 2][u % 2];
        if constexpr (Down) {
          for (int e = 0; e < 2; ++e) *reinterpret_cast<TC*>(slice + offset_of(u, e)) = value.item[e];
        } else {
          *reinterpret_cast<packed<TC, 2>*>(slice + offset_of(u, 0)) = value;
        }
      }
    };
    const auto copy = [&](int s, const unsigned char* slice) __attribute__((always_inline)) {
      each_box<Down>(at, s, group, [&](int byte, int column, int line) {
        if (!Down || line < at.col + n) simt::copy_tile(x.to, slice + byte, column, line, at.batch_c);
      });
      simt::copies_end();
    };
    // What is nearly always the case has code of its own, without a jump: a multiprocessor that begins a product waits for each
    // instruction that it has not met yet, and most where it jumps to them.
    if (is_straight || (may_be_straight && everywhere && !reads && at.c_by_tma)) {
#pragma unroll
      for (int s = 0; s < slices; ++s) {
        packed<TC, 2> y[width / 8][2];
        make(s, y);
        unsigned char* slice = memory.slices[group][turn];
        put(slice, y);
        simt::visible_to_copies();
        if (is_elected) simt::copies_have_read<Kernel::staged_slices - 2>();
        simt::warpgroup_sync(group);  // this slice is written, the next may be
        if (is_elected) copy(s, slice);
        turn = turn + 1 == Kernel::staged_slices ? 0 : turn + 1;
      }
      return;
    }
    if constexpr (!is_straight) {
      TC* c = x.c.data + at.batch_c * x.c.batch_stride + first * x.c.row_stride + at.col * x.c.col_stride;
      const auto result = x.result;
#pragma unroll
      for (int s = 0; s < slices; ++s) {
        packed<TC, 2> y[width / 8][2];
        if (everywhere && !reads) {
          make(s, y);
        } else {
          if (fetched) {
            if (s % slices_in_stage == 0) memory.ring.wait(next);
            const unsigned char* old = slice_in_stage(memory, next.stage, s, group);
#pragma unroll
            for (int u = 0; u < width / 4; ++u)
              if constexpr (Down) {
                for (int e = 0; e < 2; ++e)
                  y[u / 2][u % 2].item[e] = *reinterpret_cast<const TC*>(old + offset_of(u, e));
              } else {
                y[u / 2][u % 2] = *reinterpret_cast<const packed<TC, 2>*>(old + offset_of(u, 0));
              }
          } else if (reads) {
            // What C holds: outside of it, some other element. Without branches, so that all are on their way at once.
#pragma unroll
            for (int u = 0; u < width / 2; ++u)
              y[u / 4][u / 2 % 2].item[u % 2] =
                  c[min(row_of(u / 2 % 2), rows - 1) * x.c.row_stride +
                    min(s * width + u / 4 * 8 + lane % 4 * 2 + u % 2, cols - 1) * x.c.col_stride];
          }
#pragma unroll
          for (int u = 0; u < width / 2; ++u) {
            const int row = row_of(u / 2 % 2), col = s * width + u / 4 * 8 + lane % 4 * 2 + u % 2;
            TC& value = y[u / 4][u / 2 % 2].item[u % 2];
            if (is_there(s, u) && (everywhere || (row < rows && col < cols)))
              value = result(__builtin_bit_cast(sum_type, sum[s * (width / 2) + u]), &value, first + row, at.col + col);
          }
        }
        unsigned char* slice = memory.slices[group][turn];
        put(slice, y);
        if (at.c_by_tma) simt::visible_to_copies();
        if (Kernel::is_grouped && is_elected && !at.c_by_tma)
          simt::copies_have_read<0>();  // of the tile before, which TMA wrote: no slices of this one are counted
        if (is_elected) simt::copies_have_read<Kernel::staged_slices - 2>();
        simt::warpgroup_sync(group);  // this slice is written, the next may be
        if (fetched && ((s + 1) % slices_in_stage == 0 || s + 1 == slices)) {
          Kernel::release(block, memory, next.stage);
          next.advance();
        }
        if (!at.c_by_tma) {
          constexpr int items = 16 / size, abreast = row_bytes / 16;  // elements of a word; words, and lanes, of a line
          const std::int64_t stride = Down ? x.c.row_stride : x.c.col_stride;
          const bool in_words = stride == 1 && reinterpret_cast<std::uintptr_t>(c) % size == 0;
          const int own = lane % abreast;
#pragma unroll 1
          for (int line = warp * 16 + lane / abreast; line < warp * 16 + 16; line += simt::warp_size / abreast) {
            const int row = Down ? line / width * width : line, col = s * width + (Down ? line % width : 0);
            const int there = row < rows && col < cols ? min(Down ? rows - row : cols - col, width) : 0;
            TC* const to = c + row * x.c.row_stride + col * x.c.col_stride;
            const auto write_item = [&](int item) {
              to[item * stride] = *reinterpret_cast<const TC*>(slice + byte_of(line, item));
            };
            if (!in_words) {
              for (int item = own; item < there; item += abreast) write_item(item);
              continue;
            }
            const int before = static_cast<int>(-reinterpret_cast<std::uintptr_t>(to) % 16) / size,  // the first word
                word = before + own * items, after = before + max(0, there - before) / items * items + own;
            if (own < min(before, there)) write_item(own);
            if (word + items <= there) {
              std::uint32_t both[8];  // the words of the slice in which it lies; where it is one, anything follows
#pragma unroll
              for (int half = 0; half < 2; ++half) {
                const auto y =
                    *reinterpret_cast<const simt::quad*>(slice + byte_of(line, (own + half) % abreast * items));
#pragma unroll
                for (int e = 0; e < 4; ++e) both[half * 4 + e] = y.word[e];
              }
              simt::quad whole;
              block::shift_words<size>(whole.word, both, static_cast<unsigned>(before * size));
              *reinterpret_cast<simt::quad*>(to + word) = whole;
            }
            if (after < there) write_item(after);
          }
        } else if (is_elected) {
          copy(s, slice);
        }
        turn = turn + 1 == Kernel::staged_slices ? 0 : turn + 1;
      }
    }
  }
#endif
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#endif
