// SPDX-License-Identifier: Apache-2.0
//
// Floats as three bfloat16s each, whose products tensor cores multiply exactly: true fp32 from them.
//
//   1. a = p0 + p1 / 2^8 + p2 / 2^16, exactly for every finite float, the smallest and the largest too: each part is what is left,
//      times 2^8, rounded to 8 significant bits. Their exponents are those of floats: nothing leaves the range.
//   2. Of the nine products of parts, six count. They are added up from small to large, the sum divided by 2^8 between:
//        ((p0 q2 + p2 q0 + p1 q1) / 2^8 + p0 q1 + p1 q0) / 2^8 + p0 q0
//      What is left out is at most 2^-24 of a product, its mean 0, its root mean square 2^-27.
//   3. Tensor cores cut off what they add to a sum (Ootomo and Yokota). So their sums go on over 64 k only, a k-tile, and are
//      added to sums in registers then, rounded as floats are.
//   4. A sum that is not finite is worked out again from the floats themselves: infinities and NaN spread as the formula says,
//      and a sum is infinite only where that of floats is.
//
// Three products of two parts in tf32 take as long, lose 2^-22 of a product, and small floats to the range.
// (Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores", 2022; Henry, Tang and Heinecke, "Leveraging the
// bfloat16 datatype for higher-precision computations", 2019.)
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The bits of a bfloat16. (Its type is in a header that only those include who use it.)
using bfloat16_part = std::uint16_t;

inline constexpr int parts_of_float = 3, part_products = 6, part_k_tile = 64;

/// Which parts product 0 ... 5 multiplies, and whether the sum is divided by 2^8 after it.
PMPP_HOST_DEVICE constexpr int part_of_a(int product) { return product == 1 ? 2 : product == 2 || product == 4; }
PMPP_HOST_DEVICE constexpr int part_of_b(int product) { return product == 0 ? 2 : product == 2 || product == 3; }
PMPP_HOST_DEVICE constexpr bool ends_scale(int product) { return product == 2 || product == 4; }
inline constexpr float scale_of_part = 256;

PMPP_HOST_DEVICE constexpr bool is_finite(float x) {
  return (__builtin_bit_cast(std::uint32_t, x) & 0x7f800000u) != 0x7f800000u;
}

/// Rounded to nearest, ties to even; cut off where a finite number would become infinite.
PMPP_HOST_DEVICE constexpr bfloat16_part bfloat16_of(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  if (!is_finite(x)) return static_cast<bfloat16_part>(bits >> 16 | ((bits & 0xffffu) != 0 ? 0x40u : 0u));
  const std::uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  return static_cast<bfloat16_part>(((rounded & 0x7f800000u) == 0x7f800000u ? bits : rounded) >> 16);
}
PMPP_HOST_DEVICE constexpr float float_of(bfloat16_part x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16);
}

/// The parts of a float. Those of one that is not finite are itself and zeros.
PMPP_HOST_DEVICE constexpr void split_float(float x, bfloat16_part (&part)[parts_of_float]) {
  float left = x;
  for (int p = 0; p < parts_of_float; ++p) {
    part[p] = bfloat16_of(left);
    left = is_finite(x) ? (left - float_of(part[p])) * scale_of_part : 0.0f;
  }
}

/// The floats that parts were made of, for sums that are not finite.
struct float_originals {
  gemm_operand<float> a, b;
  std::int64_t k;

  /// The sum at (i, j) of C, worked out again if need be.
  PMPP_HOST_DEVICE float operator()(float sum, std::int64_t batch, std::int64_t i, std::int64_t j) const {
    return is_finite(sum) ? sum : sum_of(batch, i, j);
  }

  /// The same for the sums of a thread, Rows x Cols of them: sum(r, c) is the one at (row(r), col(c)), which may lie outside of C.
  template <int Rows, int Cols, class Row, class Col, class Sum>
  PMPP_HOST_DEVICE void repair(std::int64_t batch, Row row, Col col, Sum sum) const {
    static_assert(Rows * Cols <= 64);
    const auto each = [&](auto f) {
      unrolled<Cols>([&](int c) { unrolled<Rows>([&](int r) { f(c * Rows + r, sum(r, c)); }); });
    };
    std::uint64_t wrong = 0;  // a bit for each
    each([&](int i, float& y) { wrong |= static_cast<std::uint64_t>(!is_finite(y)) << i; });
    for (int next = 0; wrong != 0; ++next, wrong >>= 1) {
      if ((wrong & 1) == 0) continue;
      const float again = sum_of(batch, min(row(next % Rows), a.extent - 1), min(col(next / Rows), b.extent - 1));
      each([&](int i, float& y) { y = i == next ? again : y; });
    }
  }

private:
  PMPP_HOST_DEVICE float sum_of(std::int64_t batch, std::int64_t i, std::int64_t j) const {
    const float* from_a = a.data + batch * a.batch_stride + i * a.stride;
    const float* from_b = b.data + batch * b.batch_stride + j * b.stride;
    float sum = 0;
    for (std::int64_t p = 0; p < k; ++p) sum += from_a[p * a.k_stride] * from_b[p * b.k_stride];
    return sum;
  }
};

/// Writes the parts of A and of B, along k. 16 numbers of a thread are on their way at a time.
struct split_floats_kernel {
  static constexpr int threads = 256, min_blocks = 4, lines = operand_in_lines<float>::lines_of_tile,
                       items = operand_in_lines<float>::items_of_tile, warps = threads / lines;
  struct shared {
    float tile[items][lines + 1];
  };

  struct operand : operand_in_lines<float> {
    bfloat16_part* to;
    bool in_pairs;  ///< two elements are read at once
  };
  struct arguments {
    operand a, b;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    for (std::int64_t tile = block.index(); tile < x.a.tiles + x.b.tiles; tile += block.count())
      tile < x.a.tiles ? split(block, memory, x.a, static_cast<std::uint32_t>(tile))
                       : split(block, memory, x.b, static_cast<std::uint32_t>(tile - x.a.tiles));
  }

private:
  using floats = packed<float, 2>;
  using parts = packed<bfloat16_part, 2>;

  template <class Block>
  PMPP_HOST_DEVICE static void split(Block& block, shared& memory, const operand& x, std::uint32_t tile) {
    const int lane = block.lane(), warp = block.warp();
    const std::uint32_t row = x.tiles_along.quotient(tile), batch = x.tiles_down.quotient(row);
    const std::int64_t line0 = std::int64_t(row - batch * x.tiles_down.value()) * lines,
                       item0 = std::int64_t(tile - row * x.tiles_along.value()) * items;
    const float* from = x.from + batch * x.batch_stride + line0 * x.line_stride + item0 * x.item_stride;
    const int down = static_cast<int>(min<std::int64_t>(x.lines - line0, lines)),
              along = static_cast<int>(min<std::int64_t>(x.length - item0, items)),
              room = static_cast<int>(min<std::int64_t>(x.pitch - item0, items));
    if (x.across) {
      float value[items / warps];
      unrolled<items / warps>([&](int u) {
        const int item = warp + u * warps;
        value[u] = lane < down && item < along ? from[lane * x.line_stride + item * x.item_stride] : 0.0f;
      });
      unrolled<items / warps>([&](int u) { memory.tile[warp + u * warps][lane] = value[u]; });
      block.sync();
    }
    constexpr int pairs = lines * items / threads / 2;
    floats value[pairs];
    const auto line_of = [&](int u) { return warp + u / 2 * warps; };
    const auto item_of = [&](int u) { return lane * 2 + u % 2 * 2 * lines; };
    unrolled<pairs>([&](int u) {
      const int line = line_of(u), item = item_of(u);
      if (x.across) {
        value[u] = {memory.tile[item][line], memory.tile[item + 1][line]};
      } else if (x.in_pairs) {
        value[u] = line < down && item < along ? *reinterpret_cast<const floats*>(from + line * x.line_stride + item)
                                               : floats{};
      } else {
        for (int e = 0; e < 2; ++e)
          value[u].item[e] =
              line < down && item + e < along ? from[line * x.line_stride + (item + e) * x.item_stride] : 0.0f;
      }
    });
    bfloat16_part* to = x.to + (batch * parts_of_float * x.lines + line0) * x.pitch + item0;
    unrolled<pairs>([&](int u) {
      const int line = line_of(u), item = item_of(u);
      if (line >= down || item >= room) return;
      bfloat16_part first[parts_of_float], second[parts_of_float];
      split_float(value[u].item[0], first);
      split_float(value[u].item[1], second);
      for (int p = 0; p < parts_of_float; ++p)
        *reinterpret_cast<parts*>(to + (p * x.lines + line) * x.pitch + item) = parts{first[p], second[p]};
    });
    if (x.across) block.sync();
  }
};

/// Elements that the parts of an operand take, of `batch` matrices with k columns; k as far as parts go.
constexpr std::int64_t k_of_parts(std::int64_t k) { return round_up(k, std::int64_t(part_k_tile)); }
inline std::int64_t elements_of_parts(const gemm_operand<float>& x, std::int64_t k, std::int64_t batch) {
  return (x.batch_stride == 0 ? 1 : batch) * parts_of_float * x.extent * k_of_parts(k);
}

/// Clocks that splitting takes, with its launch.
inline double clocks_of_parts(std::int64_t elements, const machine& on) {
  constexpr double bytes = 10.0 / parts_of_float;  // read and written, for each part
  return on.clocks_of(2.5e-6) + bytes * double(elements) / (0.8 * on.memory_rate());
}

/// A problem of parts: part p of matrix t is matrix 3 t + p.
template <class TC, class S, class Epilogue>
using problem_of_parts = gemm_problem<bfloat16_part, bfloat16_part, TC, S, Epilogue>;

/// Enqueues the splitting of A and B; \return the problem with their parts.
template <class P, class TC, class S, class Epilogue>
problem_of_parts<TC, S, Epilogue> split_floats(const P& where, const gemm_problem<float, float, TC, S, Epilogue>& x,
                                               bfloat16_part* a, bfloat16_part* b) {
  using kernel = split_floats_kernel;
  const std::int64_t pitch = k_of_parts(x.k);
  const auto describe = [&](const gemm_operand<float>& y, bfloat16_part* to) {
    const bool pairs = y.k_stride == 1 && y.stride % 2 == 0 && y.batch_stride % 2 == 0 && x.k % 2 == 0 &&
                       reinterpret_cast<std::uintptr_t>(y.data) % sizeof(packed<float, 2>) == 0;
    return kernel::operand{{y, true, x.k, x.batch, pitch}, to, pairs};
  };
  const kernel::arguments arguments{describe(x.a, a), describe(x.b, b)};
  launch(where, min(arguments.a.tiles + arguments.b.tiles, std::int64_t(1) << 30), kernel{}, arguments);
  const auto parts = [&](const gemm_operand<float>& y, const bfloat16_part* from) {
    const bool one = y.batch_stride == 0 || x.batch == 1;
    return gemm_operand<bfloat16_part>(from, y.extent, pitch, 1, one ? 0 : parts_of_float * y.extent * pitch);
  };
  return {parts(x.a, a), parts(x.b, b), x.c, pitch, x.batch, x.result};
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
