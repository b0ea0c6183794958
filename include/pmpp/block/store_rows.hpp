// SPDX-License-Identifier: Apache-2.0
//
// Results that leave by way of shared memory: as vectors of the output where these begin at the same elements as those that were
// loaded, else an element a lane. What is loaded moves in vectors either way.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// As with_access (block/load_store.hpp) for an input and where its results go: vectors are the input's own wherever it has such,
/// and f gets as third argument how many elements lie before the first boundary of the output, or -1.
/// All: what else is read with the input, which has to be part of it.
template <class All, class In, class Out, class F>
void with_input_access(const In& in, const Out& out, F f) {
  using from = access<All>;
  using to = access<Out>;
  constexpr int both = access<zip_iterator<All, Out>>::items;
  // Results may be much wider than what they are made of: such vectors would take too much shared memory.
  constexpr bool alone = both == 1 && from::items * max(sizeof(value_of<All>), sizeof(value_of<Out>)) <= 256;
  constexpr int items = both == 0 ? 4 : alone ? max(1, from::items) : both;
  std::int64_t lead = access<In>::template lead<items>(in), lead_of_output = -1;
  if constexpr (to::items > 1 && items > 1) lead_of_output = to::template lead<items>(out);
  if (from::items == 0) lead = max(lead_of_output, std::int64_t(0));
  if constexpr (!access<In>::always) {
    if (lead < 0) return f(std::integral_constant<int, 1>{}, std::int64_t(0), std::int64_t(-1));
  }
  f(std::integral_constant<int, items>{}, lead, lead_of_output);
}

/// A lead with which vectors of `items`, and so a warp's rows of them, begin at a line of 128 bytes, at most `room` elements in front of
/// the array; else as it is. Rows that begin within a line ask for a quarter more of them. Vectors stay the same elements, as others
/// are read or written with them.
template <class It>
std::int64_t lead_of_line(const It& it, std::int64_t lead, std::int64_t room, int items) {
  if constexpr (std::is_pointer_v<It>) {
    constexpr std::uintptr_t size = sizeof(*it);
    const auto address = reinterpret_cast<std::uintptr_t>(it);
    if (128 % size != 0 || address % size != 0) return lead;
    const auto in_front = static_cast<std::int64_t>(address % 128 / size);
    if (in_front <= room && (lead + in_front) % items == 0) return -in_front;
  }
  return lead;
}

/// Writes results of a warp's share that lie in shared memory, `vectors` of each lane, in rows of the warp: at(c) is one of
/// them, index(c) its vector of the share. Aligned: the output's vectors begin where the share's do; else a lane writes an
/// element. All lanes call, after a barrier of the warp. Wanted(i): whether element i of the output is to be written. Adjacent: at(0), if
/// at(c) are adjacent[c] and their vectors of the share c; then elements are found in fewer instructions.
template <class Block, class Out, int Items, bool Inside, class Index, class At, class Wanted>
PMPP_HOST_DEVICE void store_rows(
    Block& block, const Out& out, const vector_range<Items, Inside>& mine, int vectors, bool aligned,
    const Index& index, const At& at, const Wanted& wanted,
    [[maybe_unused]] const std::remove_cvref_t<decltype(std::declval<const At&>()(0))>* adjacent = nullptr) {
  using results = std::remove_cvref_t<decltype(at(0))>;
  constexpr int lanes = simt::warp_size, words = words_of<Out, results, Items>;
  if constexpr (Items > 1 && access<Out>::items > 1) {
    if (aligned) {
      for (int row = 0; row < vectors * words; ++row) {
        const int word = row * lanes + block.lane(), c = word / words, v = index(c);
        if (!mine.has(v)) continue;
        const std::int64_t i = mine.element(v);
        if (Inside || (mine.whole(v) && wanted(i) && wanted(i + Items - 1))) {
          store_word<Items>(out, i, at(c), word % words);
        } else if (word % words == 0) {
          mine.for_each_item(v, [&](int k) {
            if (wanted(i + k)) out[i + k] = at(c).item[k];
          });
        }
      }
      return;
    }
  }
  const int shift = vectors * lanes == mine.count ? pmpp::detail::before_row(out, mine.first) : 0;
  const auto end = static_cast<unsigned>(vectors * Items * lanes);
  const auto place_of = [&](unsigned item) {
    const auto c = static_cast<int>(item / Items);
    return static_cast<int>(item) + (index(c) - c) * Items;
  };
  const auto value = [&](unsigned item) { return at(static_cast<int>(item / Items)).item[item % Items]; };
  const auto store_if_wanted = [&](unsigned item) {
    const int place = place_of(item);
    const std::int64_t i = mine.first + place;
    if (Inside || (place >= mine.begin && place < mine.end && wanted(i))) out[i] = value(item);
  };
  if (block.lane() >= shift) store_if_wanted(static_cast<unsigned>(block.lane() - shift));
  auto item = static_cast<unsigned>(block.lane() - shift + lanes);
  if constexpr (Inside) {  // some rows are read at a time, so that they are not waited for one by one
    constexpr unsigned group = 4;
    using element = std::remove_cvref_t<decltype(value(item))>;
    const auto* const elements = reinterpret_cast<const element*>(adjacent);
    for (; elements != nullptr && item + (group - 1) * lanes < end; item += group * lanes) {
      element x[group];
      for (unsigned g = 0; g < group; ++g) x[g] = elements[item + g * lanes];
      for (unsigned g = 0; g < group; ++g) out[mine.first + item + g * lanes] = x[g];
    }
    for (; item + (group - 1) * lanes < end; item += group * lanes) {
      element x[group];
      for (unsigned g = 0; g < group; ++g) x[g] = value(item + g * lanes);
      for (unsigned g = 0; g < group; ++g) out[mine.first + place_of(item + g * lanes)] = x[g];
    }
  }
#if defined(__CUDA_ARCH__)
  constexpr int at_once = Inside ? 1 : 4;  // few are left over inside
#pragma unroll at_once
#endif
  for (; item < end; item += lanes) store_if_wanted(item);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
