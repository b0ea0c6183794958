// SPDX-License-Identifier: Apache-2.0
//
// Pairs of sequences whose scores fit 16 bits (alignment/pairs.hpp): two cells in a register.
//
//   The low half of a lane's words has the rows of one virtual lane, the high half those of the next one, which is a column
//   behind: 64 virtual lanes a warp, which walk a strip as the lanes of wavefront/walk.hpp do. The cell above the low half comes from
//   the lane above by a shuffle, the one above the high half is the lane's own of the step before: a shift joins both.
//   Letters of b travel down the lanes likewise. Four short pairs, or two, have a group of lanes each.
//
//   A cell is a score of at least 0. What a gap costs is added where letters are compared and taken off the result: so
//   nothing becomes negative, and no half borrows from the other.
//
//       along_b = max(along_b - extend, left)                      along_a = max(along_a - extend, upper)
//       cell    = max(max(diagonal + worth + open, open), along_b, along_a) - open
//
//   Cells that do not exist have letters that equal no others: what they get is 0, or no more than what they come from. So no
//   step asks whether its cells exist. A lane looks for the place of a score only where it is greater than its own best and
//   not less than the best of its pair, of which it hears now and then.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <pmpp/alignment/rules.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/min_max.hpp>
#include <pmpp/wavefront/outputs.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

PMPP_HOST_DEVICE constexpr unsigned in_both_halves(int x) { return (static_cast<unsigned>(x) & 0xffffu) * 0x10001u; }
PMPP_HOST_DEVICE constexpr int half_of(unsigned two, int half) {
  return static_cast<int>(two >> (16 * half) & 0xffffu);
}

/// Letters that equal no letter of a byte, nor each other.
inline constexpr unsigned no_row = 0x1000, no_column = 0x2000;
template <class X>
PMPP_HOST_DEVICE unsigned letter_code(const X& x) {
  return static_cast<unsigned>(static_cast<int>(x)) & 0x3ffu;  // -1 and 255 are not equal
}

/// How rules make two cells at once. fits(rows, cols): no score of such a table needs more than 15 bits.
template <class Rules>
struct packed_rules {
  static constexpr bool exist = false;
};

template <>
struct packed_rules<edit_rules> {
  static constexpr bool exist = true, has_gaps = false;
  static constexpr unsigned far = in_both_halves(0x7f00);  ///< in front of the table

  PMPP_HOST_DEVICE explicit packed_rules(const edit_rules&) {}
  PMPP_HOST_DEVICE bool fits(std::int64_t rows, std::int64_t cols) const { return max(rows, cols) <= 31000; }
  PMPP_HOST_DEVICE unsigned cell(unsigned left, unsigned upper, unsigned diagonal, unsigned unlike, unsigned&,
                                 unsigned&) const {
    return simt::add_min_pairs(simt::min_pairs(left, upper), in_both_halves(1), diagonal + unlike);
  }
};

template <bool Affine>
struct packed_local_rules {
  static constexpr bool exist = true, has_gaps = Affine;
  static constexpr unsigned far = 0;
  int match, mismatch, open, extend;
  unsigned like, unlike, lift, further;

  PMPP_HOST_DEVICE packed_local_rules(const match_scores& s, int first, int next)
      : match(s.match),
        mismatch(s.mismatch),
        open(first),
        extend(next),
        like(in_both_halves(s.match + first)),
        unlike(in_both_halves(s.mismatch + first)),
        lift(in_both_halves(first)),
        further(in_both_halves(-next)) {}
  PMPP_HOST_DEVICE bool fits(std::int64_t rows, std::int64_t cols) const {
    constexpr int most = 4096;
    return 0 <= match && match <= most && mismatch <= 0 && -most <= mismatch && 0 <= open && open <= most &&
           0 <= extend && extend <= most && cols < (std::int64_t(1) << 30) &&
           match * min(rows, cols) <= 32000 - 3 * most;
  }
  /// differs: 1 in the halves whose letters are not equal.
  PMPP_HOST_DEVICE unsigned cell(unsigned left, unsigned upper, unsigned diagonal, unsigned differs, unsigned& along_b,
                                 unsigned& along_a) const {
    const unsigned mask = differs * 0xffffu, worth = (mask & unlike) | (~mask & like);
    if constexpr (Affine) {
      along_b = simt::add_max_pairs(along_b, further, left);
      along_a = simt::add_max_pairs(along_a, further, upper);
    } else {
      along_b = left;
      along_a = upper;
    }
    return simt::max3_pairs(simt::add_max_pairs(diagonal, worth, lift), along_b, along_a) - lift;
  }
};
template <>
struct packed_rules<linear_rules<match_scores>> : packed_local_rules<false> {
  PMPP_HOST_DEVICE explicit packed_rules(const linear_rules<match_scores>& r)
      : packed_local_rules(r.score, r.gap, r.gap) {}
};
template <>
struct packed_rules<affine_rules<match_scores>> : packed_local_rules<true> {
  PMPP_HOST_DEVICE explicit packed_rules(const affine_rules<match_scores>& r)
      : packed_local_rules(r.score, r.open, r.extend) {}
};

template <class X, class Y, class Rules>
inline constexpr bool packs_letters = packed_rules<Rules>::exist&& std::integral<X> &&
                                      sizeof(X) == 1 && std::integral<Y> && sizeof(Y) == 1;

/// A table for each group of `lanes` adjacent lanes of a warp, side by side. A group of all 32 may have any number of rows, in
/// strips; a smaller one at most strip_rows().
template <class Rules, int Rows, class X, class Y>
struct packed_tables {
  using packed = packed_rules<Rules>;
  /// Tables whose first column cannot be told from what lies in front of it begin a column earlier.
  static constexpr int first_column = Rules::is_local ? 0 : -1;
  using best_type = best_so_far<int, lower_score>;

  const X* a;
  const Y* b;
  std::int64_t rows, cols;  ///< 0: the group has no table
  packed rules;
  int lanes;      ///< a power of two
  unsigned* row;  ///< a word for each column, for what strips hand on

  PMPP_HOST_DEVICE static constexpr int strip_rows(int lanes) { return 2 * lanes * Rows; }

  /// The last cell (not of local rules), or the lane's best and its place, for all lanes of the group.
  template <class Block>
  PMPP_HOST_DEVICE int walk(Block& block, best_type& best) const {
    int last = 0, most = 0;
    const std::int64_t strips = lanes < simt::warp_size ? 1 : ceil_div(rows, std::int64_t(strip_rows(lanes)));
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      last = walk_strip(block, strip * strip_rows(lanes), best, most);
      block.sync_warp();  // the next strip reads what this one has written
    }
    if constexpr (Rules::is_local)
      for (int distance = lanes / 2; distance > 0; distance /= 2) best.take(block.shuffle_xor(best.cell, distance));
    return last;
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE int greatest_of_group(Block& block, int x, int size) const {
    for (int distance = size / 2; distance > 0; distance /= 2) x = max(x, block.shuffle_xor(x, distance));
    return x;
  }
  /// The cell above column j, and what leads along a to it.
  PMPP_HOST_DEVICE unsigned above(std::int64_t first, int j) const {
    if (first > 0 && j >= 0) return j < cols ? row[j] : 0;
    return Rules::is_local ? 0 : static_cast<unsigned>(first > 0 ? first : j + 1);
  }

  template <class Block>
  PMPP_HOST_DEVICE int walk_strip(Block& block, std::int64_t first, best_type& best, int& most) const {
    const int lane = block.lane() & (lanes - 1), group = block.lane() - lane;
    const bool is_last = lanes < simt::warp_size || first + strip_rows(lanes) >= rows;
    const int end_lane = is_last ? static_cast<int>((rows - 1 - first) / Rows) : 2 * lanes - 1;  // virtual
    const int own_steps = static_cast<int>(cols) - first_column + end_lane;
    const int steps = greatest_of_group(block, own_steps, simt::warp_size);

    unsigned cell[Rows], along[Rows], letter[Rows];
    for (int k = 0; k < Rows; ++k) {
      const std::int64_t low = first + 2 * lane * Rows + k, high = low + Rows;
      letter[k] = (low < rows ? letter_code(a[low]) : no_row) | (high < rows ? letter_code(a[high]) : no_row) << 16;
      cell[k] = packed::far;
      along[k] = 0;
    }
    unsigned column = no_column * 0x10001u, corner = packed::far, bottom = packed::far, bottom_along = 0;
    unsigned limit = in_both_halves(max(0, most - 1)), values = 0, at_row = 0;  // of halves
    int at_low = 0, at_high = 0, last = 0;

    for (int begin = 0; begin < steps; begin += lanes) {
      const int mine = begin + lane + first_column;
      const unsigned coming = mine >= 0 && mine < cols ? letter_code(b[mine]) : no_column;
      const unsigned handed = above(first, mine);
      const int count = min(lanes, steps - begin);
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
      for (int s = 0; s < count; ++s) {
        unsigned upper = block.shuffle_up(bottom, 1), letters = block.shuffle_up(column, 1), along_a = 0;
        if constexpr (packed::has_gaps) along_a = block.shuffle_up(bottom_along, 1);
        const unsigned next = block.shuffle(coming, group + s);
        unsigned top = 0;
        if (!Rules::is_local || first > 0) top = block.shuffle(handed, group + s);
        if (lane == 0) {
          letters = next << 16;
          upper = top << 16;
          along_a = top;  // the high half
        }
        upper = upper >> 16 | bottom << 16;
        column = letters >> 16 | column << 16;
        if constexpr (packed::has_gaps) along_a = along_a >> 16 | bottom_along << 16;
        unsigned diagonal = corner, greatest = 0;
        corner = upper;
        for (int k = 0; k < Rows; ++k) {
          const unsigned differs = simt::min_unsigned_pairs(letter[k] ^ column, in_both_halves(1));
          const unsigned here = rules.cell(cell[k], upper, diagonal, differs, along[k], along_a);
          diagonal = cell[k];
          cell[k] = upper = here;
          if constexpr (Rules::is_local)
            if (k % 2 == 1) greatest = simt::max3_pairs(greatest, cell[k - 1], here);
        }
        bottom = cell[Rows - 1];
        if constexpr (packed::has_gaps) bottom_along = along_a;
        const int j = begin + s + first_column - 2 * lane;  // of the low half
        if (!is_last && lane == lanes - 1 && j > 0 && j - 1 < cols)
          row[j - 1] = bottom >> 16 | (bottom_along & 0xffff0000u);
        if constexpr (Rules::is_local) {
          const unsigned risen = simt::max_pairs(greatest, limit);
          if (risen == limit) continue;  // nearly always
          const unsigned rises = differ(risen, limit);
          unsigned place = 0;
          for (int k = Rows - 1; k >= 0; --k) place = choose(differ(cell[k], greatest), place, in_both_halves(k));
          at_row = choose(rises, place, at_row);
          values = choose(rises, greatest, values);
          if ((rises & 1) != 0) at_low = j;
          if (rises >> 16 != 0) at_high = j - 1;
          limit = risen;
        } else if (begin + s == own_steps - 1) {
          for (int k = 0; k < Rows; ++k)
            if (k == (rows - 1 - first) % Rows) last = half_of(cell[k], end_lane % 2);
        }
      }
      if constexpr (Rules::is_local) {
        most = greatest_of_group(block, max(most, max(half_of(values, 0), half_of(values, 1))), lanes);
        limit = simt::max_pairs(limit, in_both_halves(max(0, most - 1)));
      }
    }
    if constexpr (Rules::is_local) {
      const std::int64_t low = first + 2 * lane * Rows;
      if (half_of(values, 0) > 0) best.take({half_of(values, 0), low + half_of(at_row, 0), at_low});
      if (half_of(values, 1) > 0) best.take({half_of(values, 1), low + Rows + half_of(at_row, 1), at_high});
      return 0;
    } else {
      return block.shuffle(last, group + end_lane / 2);
    }
  }
  /// All bits of the halves that are not equal.
  PMPP_HOST_DEVICE static unsigned differ(unsigned x, unsigned y) {
    return simt::min_unsigned_pairs(x ^ y, in_both_halves(1)) * 0xffffu;
  }
  PMPP_HOST_DEVICE static unsigned choose(unsigned mask, unsigned x, unsigned y) { return (mask & x) | (~mask & y); }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
