// SPDX-License-Identifier: Apache-2.0
//
// Many pairs of sequences, one warp a pair (alignment.hpp).
//
//   A warp takes the next pair by ticket, so that long and short ones are shared out evenly, and walks the strips of its table from the
//   top down (wavefront/walk.hpp). It keeps the last row of a strip for the next one in scratch of its own, which no other warp touches; a
//   pair whose sequence of a has up to 128 letters is one strip and needs none.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/alignment/packed.hpp>
#include <pmpp/alignment/rules.hpp>
#include <pmpp/block/last_block.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/wavefront.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Pair p: [a_offsets[p], a_offsets[p + 1]) of a, and the same of b, or all of b.
template <class X, class Y, class J, class I, class Rules, class Out>
struct alignment_pairs {
  using cell = typename Rules::cell;
  using table = wave<cell, aligned<X, Y, Rules>, edge_of<Rules>>;
  using written = std::remove_cvref_t<decltype(*std::declval<const Out&>())>;
  static constexpr bool table_is_local = Rules::is_local, packs = packs_letters<X, Y, Rules>;
  template <int Rows>
  using packed = packed_tables<Rules, Rows, X, Y>;

  const X* a;
  const J* a_offsets;
  const Y* b;
  const I* b_offsets;  ///< null: one b for all
  std::int64_t a_size, b_size, count;
  Rules rules;
  Out out;

  PMPP_HOST_DEVICE std::int64_t b_begin(std::int64_t p) const {
    return b_offsets == nullptr ? 0 : static_cast<std::int64_t>(b_offsets[p]);
  }
  PMPP_HOST_DEVICE table of(std::int64_t p) const {
    const auto first = static_cast<std::int64_t>(a_offsets[p]), last = static_cast<std::int64_t>(a_offsets[p + 1]);
    const std::int64_t begin = b_begin(p);
    const std::int64_t end = b_offsets == nullptr ? b_size : static_cast<std::int64_t>(b_offsets[p + 1]);
    return {last - first, end - begin, {a + first, b + begin, rules}, {rules}};
  }
  PMPP_HOST_DEVICE table none() const { return {0, 0, {a, b, rules}, {rules}}; }
};

/// The row above a strip and its last row, in memory of the warp's own.
template <class Wave>
struct own_row {
  using T = typename Wave::value_type;

  const Wave& p;
  T* row;
  bool is_first, is_last;

  PMPP_HOST_DEVICE void ask(std::int64_t) const {}
  template <class Block>
  PMPP_HOST_DEVICE T take(Block&, std::int64_t j) const {
    if (j >= p.cols) return T{};
    return is_first ? p.border(-1, j) : row[j];
  }
  PMPP_HOST_DEVICE void put(std::int64_t j, const T& cell) const {
    if (!is_last) row[j] = cell;
  }
};

template <class Pairs, int Rows>
struct pairs_kernel {
  static constexpr int threads = simt::warp_size, most_together = 4;
  using T = typename Pairs::cell;

  struct arguments {
    Pairs pairs;
    std::uint64_t* tickets;  ///< zero; pairs taken
    unsigned* left;          ///< zero; blocks that have ended
    T* rows;                 ///< for the pairs, by letters of b; with one b for all, for the blocks
    int together;            ///< pairs that a ticket stands for: 1, or most_together
    bool packed;             ///< where scores fit
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    for (;;) {
      std::uint64_t ticket = 0;
      if (block.lane() == 0) ticket = simt::atomic_add(a.tickets, std::uint64_t(1));
      const std::int64_t first = static_cast<std::int64_t>(block.shuffle(ticket, 0)) * a.together;
      if (first >= a.pairs.count) break;
      if constexpr (Pairs::packs)
        if (a.together > 1 && align_together(block, a, first)) continue;
      for (std::int64_t pair = first; pair < min(first + a.together, a.pairs.count); ++pair) align(block, a, pair);
    }
    if (block.lane() == 0 && block::comes_last(a.left, block.count())) simt::store(a.tickets, std::uint64_t(0));
  }

private:
  PMPP_HOST_DEVICE static T* row_of(const arguments& a, std::int64_t block, std::int64_t pair) {
    return a.rows + (a.pairs.b_offsets == nullptr ? block * a.pairs.b_size : a.pairs.b_begin(pair));
  }
  /// By two 16-bit scores a register, where they fit.
  template <class Block>
  PMPP_HOST_DEVICE static bool align_packed(Block& block, const arguments& a, std::int64_t pair,
                                            const typename Pairs::table& table) {
    if (!fits(a, table)) return false;
    auto* const row = reinterpret_cast<unsigned*>(row_of(a, block.index(), pair));
    if (table.rows <= Pairs::template packed<2>::strip_rows(simt::warp_size))
      align_groups<2>(block, a, pair, table, simt::warp_size, row);
    else
      align_groups<8>(block, a, pair, table, simt::warp_size, row);
    return true;
  }
  /// Pairs of at most 128 letters of a, four at a time, or of at most 256, two at a time. False: there are others.
  template <class Block>
  PMPP_HOST_DEVICE static bool align_together(Block& block, const arguments& a, std::int64_t first) {
    for (int lanes = simt::warp_size / most_together; lanes < simt::warp_size; lanes *= 2) {
      const auto longest = Pairs::template packed<8>::strip_rows(lanes);
      const std::int64_t last = min(first + most_together, a.pairs.count), at_once = simt::warp_size / lanes;
      bool all = true;
      for (std::int64_t pair = first; pair < last; ++pair) {
        const auto table = a.pairs.of(pair);
        all = all && table.rows <= longest && fits(a, table);
      }
      if (!all) continue;
      for (std::int64_t pair = first + block.lane() / lanes, turn = first; turn < last;
           turn += at_once, pair += at_once)
        align_groups<8>(block, a, pair, pair < last ? a.pairs.of(pair) : a.pairs.none(), lanes, nullptr);
      return true;
    }
    return false;
  }
  PMPP_HOST_DEVICE static bool fits(const arguments& a, const typename Pairs::table& table) {
    using rules = packed_rules<std::remove_cvref_t<decltype(a.pairs.rules)>>;
    static_assert(sizeof(T) >= sizeof(unsigned) && alignof(T) >= alignof(unsigned));
    return !table.empty() && rules(a.pairs.rules).fits(table.rows, table.cols);
  }
  /// A pair for each group of lanes.
  template <int PackedRows, class Block>
  PMPP_HOST_DEVICE static void align_groups(Block& block, const arguments& a, std::int64_t pair,
                                            const typename Pairs::table& table, int lanes, unsigned* row) {
    using packed = typename Pairs::template packed<PackedRows>;
    typename packed::best_type best(lower_score{});
    const packed tables{table.f.a, table.f.b, table.rows, table.cols, typename packed::packed(a.pairs.rules),
                        lanes,     row};
    [[maybe_unused]] const int last = tables.walk(block, best);
    if (table.empty() || (block.lane() & (lanes - 1)) != 0) return;
    if constexpr (Pairs::table_is_local)
      a.pairs.out[pair] = static_cast<typename Pairs::written>(tell_end{}(best.cell));
    else
      a.pairs.out[pair] = static_cast<typename Pairs::written>(last);
  }
  template <class Block, class Visitor>
  PMPP_HOST_DEVICE static void walk(Block& block, const arguments& a, std::int64_t pair,
                                    const typename Pairs::table& table, Visitor& visitor) {
    if (table.empty()) return;
    const std::int64_t strips = ceil_div(table.rows, std::int64_t(threads * Rows));
    T* const row = row_of(a, block.index(), pair);
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      own_row<typename Pairs::table> hand{table, row, strip == 0, strip == strips - 1};
      detail::walk_strip<Rows>(block, table, strip, hand, visitor);
      block.sync_warp();  // the next strip reads what this one has written
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void align(Block& block, const arguments& a, std::int64_t pair) {
    const auto table = a.pairs.of(pair);
    if constexpr (Pairs::packs)
      if (a.packed && align_packed(block, a, pair, table)) return;
    no_staging none;
    if constexpr (Pairs::table_is_local) {
      using output = best_output<T, const no_staging*, lower_score, tell_end>;
      typename output::template visitor<Rows> visitor({nullptr, {}, {}, nullptr}, none);
      walk(block, a, pair, table, visitor);
      output::fold(block, visitor.best);
      if (block.lane() == 0) a.pairs.out[pair] = static_cast<typename Pairs::written>(tell_end{}(visitor.best.cell));
    } else {
      using target = decltype(a.pairs.out + pair);
      using output = last_cell_output<T, target, tell_all>;
      const output last{a.pairs.out + pair, table.rows - 1, table.cols - 1, {}};
      typename output::template visitor<Rows> visitor(last, none);
      walk(block, a, pair, table, visitor);
      last.finish(block, table);
    }
  }
};

template <wavefront_tuning Tuning, class P, class Pairs>
void pairs_on_blocks(const P& where, const Pairs& pairs) {
  using kernel = pairs_kernel<Pairs, Tuning.rows>;
  using T = typename Pairs::cell;
  const machine& on = machine_of(where);
  const std::int64_t most = std::int64_t(Tuning.blocks_per_processor) * on.multiprocessors;
  const bool packed = Pairs::packs && on.architecture >= 90;  // others have no such instructions
  // A warp takes several short pairs at once, if all warps have enough of them.
  const bool shared = packed && pairs.count >= most * 4 * kernel::most_together && pairs.a_size <= pairs.count * 256;
  const std::int64_t blocks = min(most, pairs.count);
  const std::int64_t rows = pairs.b_offsets == nullptr ? blocks : 1;
  (void)checked_bytes(pairs.b_size, sizeof(T) * std::size_t(rows), "alignment");
  scratch memory(where, std::size_t(pairs.b_size * rows) * sizeof(T), 16);
  unsigned* const state = memory.state();
  pmpp::launch(where, blocks, kernel{},
               typename kernel::arguments{pairs, reinterpret_cast<std::uint64_t*>(state), state + 2,
                                          memory.template take<T>(pairs.b_size * rows),
                                          shared ? kernel::most_together : 1, packed});
}

/// One pair on the calling thread.
template <class Pairs>
void align_on_host(const Pairs& pairs, std::int64_t pair) {
  const auto table = pairs.of(pair);
  using written = typename Pairs::written;
  written result{};
  if constexpr (Pairs::table_is_local)
    detail::write_best<wavefront_tuning{}>(seq, table, &result, lower_score{}, tell_end{}, completion{});
  else
    detail::write_last<wavefront_tuning{}>(seq, table, &result, tell_all{}, completion{});
  pairs.out[pair] = result;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
