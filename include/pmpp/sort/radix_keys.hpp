// SPDX-License-Identifier: Apache-2.0
//
// What the sorts share: where elements lie; digits of codes (core/number_code.hpp), and the passes over them; and a tile of a
// radix sort, which a block loads to registers, ranks by a digit (block/radix_rank.hpp), and gathers by that digit in shared
// memory. A warp takes some rows of 32 neighbours of a tile, a lane one element of each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/radix_rank.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Digit `shift` ... of a code.
struct radix_digit {
  int shift;
  unsigned mask;

  template <class Bits>
  PMPP_HOST_DEVICE unsigned operator()(Bits code) const {
    return static_cast<unsigned>(code >> shift) & mask;
  }
};
/// That of pass `pass` over these bits; past their end it is always 0.
PMPP_HOST_DEVICE inline radix_digit digit_of_pass(int pass, const key_bits& range) {
  const int from = range.lo + pass * block::radix_bits, width = min(block::radix_bits, range.hi - from);
  return width > 0 ? radix_digit{from, (1u << width) - 1} : radix_digit{0, 0};
}

/// Passes over the bits of a range, at least one.
inline int radix_passes(const key_bits& range) { return max(1, ceil_div(range.hi - range.lo, block::radix_bits)); }

/// Keys without values.
struct no_value {};
template <class V>
inline constexpr bool has_values = !std::is_same_v<V, no_value>;

/// The key of an element that is sorted.
template <class K, class V>
PMPP_HOST_DEVICE const K& radix_key_of(const pair<K, V>& x) {
  return x.first;
}
template <class K>
requires is_radix_key<K> PMPP_HOST_DEVICE const K& radix_key_of(const K& x) { return x; }

/// Where elements lie before a pass, and where they go.
enum class radix_home : int { nowhere, input, data, other };

/// A pass, as the first kernel has decided. Between the first and the last one keys lie in memory as their codes.
struct radix_pass {
  radix_home source, target;
  int epoch;  ///< 0 and 1 in turn
  bool is_first, is_last;
};

inline constexpr int most_radix_passes = 8;

/// Decides on the passes: those `needed`; in place an even number, so that the last one ends in the data, otherwise one at least.
PMPP_HOST_DEVICE inline void plan_radix_passes(int passes, bool in_place, const bool* needed, radix_pass* pass) {
  int count = 0, spare = -1;
  for (int p = 0; p < passes; ++p) {
    if (needed[p])
      ++count;
    else
      spare = p;
  }
  if (spare >= 0 && (in_place ? count % 2 == 1 : count == 0))
    ++count;
  else
    spare = -1;
  radix_home source = in_place ? radix_home::data : radix_home::input;
  for (int p = 0, k = 0; p < passes; ++p) {
    pass[p] = {};
    if (!needed[p] && p != spare) continue;
    const radix_home target = (count - 1 - k) % 2 == 0 ? radix_home::data : radix_home::other;
    pass[p] = {source, target, k % 2, k == 0, k == count - 1};
    source = target;
    ++k;
  }
}

template <class In, class Data, class T>
struct radix_homes {
  In in;
  Data data;
  T* other;

  /// Calls f with what elements are read from.
  template <class F>
  PMPP_HOST_DEVICE void read(radix_home home, F f) const {
    constexpr bool plain = std::is_same_v<Data, T*>, plain_input = std::is_same_v<std::remove_const_t<In>, const T*> ||
                                                                   std::is_same_v<std::remove_const_t<In>, T*>;
    if constexpr (plain && plain_input) {
      const T* from = home == radix_home::other ? other : data;
      if (home == radix_home::input) from = in;
      f(from);
    } else if (home == radix_home::input) {
      f(in);
    } else {
      write(home, f);
    }
  }
  /// Calls f with what elements are written to.
  template <class F>
  PMPP_HOST_DEVICE void write(radix_home home, F f) const {
    if constexpr (std::is_same_v<Data, T*>)
      f(home == radix_home::other ? other : data);
    else if (home == radix_home::other)
      f(other);
    else
      f(data);
  }
};

/// Whether both are the same array.
template <class In, class Data>
bool same_place(const In& in, const Data& data) {
  if constexpr (std::is_same_v<In, Data>)
    return in - data == 0;
  else
    return false;
}

/// Where elements of type T that are sorted by way of `scratch` have their second home.
template <class T>
struct second_home {
  using iterator = T*;
  static constexpr std::size_t bytes(std::int64_t n) { return checked_bytes(n, sizeof(T), "sort"); }
  static iterator of(scratch& memory, std::int64_t n) { return memory.take<T>(n); }
};
template <class K, class V>
struct second_home<pair<K, V>> {
  using iterator = zip_iterator<K*, V*>;
  static constexpr std::size_t bytes(std::int64_t n) {
    return round_up(checked_bytes(n, sizeof(K), "sort"), allocation_alignment) + checked_bytes(n, sizeof(V), "sort");
  }
  static iterator of(scratch& memory, std::int64_t n) {
    K* const keys = memory.take<K>(n);
    return {keys, memory.take<V>(n)};
  }
};

/// The homes of keys, and of values where there are any.
template <class In, class Data, class T>
radix_homes<In, Data, T> homes_of_keys(const In& in, const Data& data, T* other) {
  return {in, data, other};
}
template <class In, class Data, class T>
radix_homes<no_value*, no_value*, no_value> homes_of_values(const In&, const Data&, T*) {
  return {};
}
template <class InK, class InV, class DataK, class DataV, class K, class V>
radix_homes<InK, DataK, K> homes_of_keys(const zip_iterator<InK, InV>& in, const zip_iterator<DataK, DataV>& data,
                                         const zip_iterator<K*, V*>& other) {
  return {in.a, data.a, other.a};
}
template <class InK, class InV, class DataK, class DataV, class K, class V>
radix_homes<InV, DataV, V> homes_of_values(const zip_iterator<InK, InV>& in, const zip_iterator<DataK, DataV>& data,
                                           const zip_iterator<K*, V*>& other) {
  return {in.b, data.b, other.b};
}

/// Elements of a thread, so that `resident` threads fit: in registers, of which they need `others` too, and in `bytes_of_all` shared.
template <class K, class V>
constexpr int radix_items(int most, int resident, int others = 32, int bytes_of_all = 144 * 1024) {
  const int value = has_values<V> ? int(sizeof(V)) : 0, bytes = int(sizeof(K)) + value;
  const int registers = max(4, int(sizeof(K))) + (has_values<V> ? max(4, value) : 0);  // in bytes
  return max(1, min(most, min(4 * (65536 / resident - others) / registers, bytes_of_all / resident / bytes)));
}

template <class Code, class V, int Threads, int Items>
struct radix_tile {
  using bits = typename Code::bits;
  static constexpr int threads = Threads, items = Items, size = threads * items, lanes = simt::warp_size;

  struct memory {
    block::radix_rank_memory<threads> rank;
    alignas(16) bits keys[size];
    alignas(max(16, int(alignof(V)))) unsigned char bytes[has_values<V> ? size * sizeof(V) : 16];

    PMPP_HOST_DEVICE V* values() { return reinterpret_cast<V*>(bytes); }
  };

  bits x[items];
  [[maybe_unused]] V v[has_values<V> ? items : 1];

  /// Loads `count` elements, from `first` on: keys, or their codes if that is what lies there; those that are missing rank last.
  /// Keys wait for encode, so that nothing waits for them before.
  template <class Block, class Keys, class Values>
  PMPP_HOST_DEVICE void load(Block& block, const Keys& keys, const Values& values, radix_home home, std::int64_t first,
                             int count, int rows, bool are_codes = false) {
    using K = typename Code::key;
    bits missing = static_cast<bits>(~bits(0));
    if constexpr (!Code::is_identity)
      if (!are_codes) missing = __builtin_bit_cast(bits, Code::decode(missing));
    const int mine = block.warp() * rows * lanes, found = min(count - mine, rows * lanes) - block.lane();
    first += mine + block.lane();
    keys.read(home, [&](const auto& all) {
      const auto from = all + first;
      for (int k = 0; k < items; ++k)
        x[k] = k * lanes < found ? __builtin_bit_cast(bits, static_cast<K>(from[k * lanes])) : missing;
    });
    if constexpr (has_values<V>)
      values.read(home, [&](const auto& all) {
        const auto from = all + first;
        for (int k = 0; k < items; ++k)
          if (k * lanes < found) v[k] = static_cast<V>(from[k * lanes]);
      });
  }

  /// Makes codes of keys.
  PMPP_HOST_DEVICE void encode() {
    if constexpr (!Code::is_identity)
      for (int k = 0; k < items; ++k) x[k] = Code::encode(__builtin_bit_cast(typename Code::key, x[k]));
  }

  /// Calls f(digit, total) with the number of keys of each digit, and gathers the elements by digit in shared memory. `again`
  /// is `digit`, to be read once more after that: the digits of all keys, known already, would take registers.
  template <class Block, class Digit, class F>
  PMPP_HOST_DEVICE void gather(Block& block, memory& of_tile, int rows, const Digit& digit, const Digit& again,
                               F f) const {
    block::count_in_warp<items>(block, of_tile.rank, rows, [&](int k) { return digit(x[k]); });
    block::place_digits(block, of_tile.rank, f);
    const Digit of_rank = again;
    block::for_each_ranked<items>(
        block, of_tile.rank, rows, [&](int k) { return of_rank(x[k]); },
        [&](int k, int to) {
          of_tile.keys[to] = x[k];
          if constexpr (has_values<V>) of_tile.values()[to] = v[k];
        });
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
