// SPDX-License-Identifier: Apache-2.0
//
// Lists of keys in global memory, where k is past what a block has room for: all keys of some rows, and the k first of sorted lists.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Writes all elements, in order. Of several rows the places of keys have the number of the row above the `place_bits` of that in
/// the row, if there are such.
template <class Source, class Output>
struct put_all_kernel {
  using keys = typename Source::keys;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, each = 4;
  struct arguments {
    Source source;
    equal_rows rows;
    int place_bits;
    Output output;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t n = a.rows.count.get(), length = a.rows.length;
    const bool narrow = n >> 32 == 0 && length >> 32 == 0;  // divisions of 64 bits are long
    for (std::int64_t own = block.index() * threads * each + block.thread(); own < n;
         own += block.count() * threads * each) {
      typename keys::code x[each]{};  // all loads at a time
      for (int u = 0; u < each; ++u)
        if (own + u * threads < n) x[u] = a.source.code(own + u * threads);
      for (int u = 0; u < each; ++u) {
        const std::int64_t i = own + u * threads;
        if (i >= n) break;
        const std::int64_t row =
                               narrow ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(length) : i / length,
                           place = i - row * length;
        a.output.put(row, place, keys::make(x[u], a.place_bits > 0 ? (row << a.place_bits) + place : place), 0);
      }
    }
  }
};

/// The k first of sorted lists, one for each part of a row: the rank of a key is its place in its own list and how many keys
/// of each other one come before it. Of numbers that are equal those of an earlier part do. Or the k first of each row, where one
/// list has the keys of several, one row after the other.
template <class Source, class Output>
struct join_lists_kernel {
  using keys = typename Source::keys;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256;
  struct arguments {
    equal_rows parts;
    key_list<keys> list;
    std::int64_t list_room, k;
    int row_shift;      ///< of the row in the places of keys; 0: the lists are parts of one row
    item_count listed;  ///< keys in the list of several rows
    Output output;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    const auto length = [&](std::int64_t part) { return min(a.k, a.parts.end(part) - a.parts.begin(part)); };
    for (std::int64_t at = block.index() * threads + block.thread(); at < a.parts.rows * a.k;
         at += block.count() * threads) {
      const std::int64_t part = at / a.k;
      std::int64_t rank = at % a.k;
      if (rank >= length(part)) continue;
      if (a.row_shift > 0) {
        const std::int64_t begin = detail::partition_point(std::int64_t(0), a.listed.get(), [&](std::int64_t i) {
          return keys::place_of(a.list[i]) >> a.row_shift < part;
        });
        a.output.put(part, rank, a.list[begin + rank], -(part << a.row_shift));
        continue;
      }
      const auto x = a.list[part * a.list_room + rank];
      for (std::int64_t other = 0; other < a.parts.rows; ++other) {
        if (other == part) continue;
        std::int64_t low = 0, high = length(other);
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          const auto c = keys::code_of(a.list[other * a.list_room + middle]);
          if (c < keys::code_of(x) || (c == keys::code_of(x) && other < part))
            low = middle + 1;
          else
            high = middle;
        }
        rank += low;
      }
      if (rank < a.k) a.output.put(0, rank, x, a.parts.begin(part));
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
