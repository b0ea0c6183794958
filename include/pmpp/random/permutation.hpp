// SPDX-License-Identifier: Apache-2.0
//
// random_permutation{n, seed}: a random order of [0, n), of which any place can be asked for by itself: no memory, no passes.
//
//   1. A number below a * b is two digits, left below a and right below b; a is the even number next to the root of n, b as small
//      as can be, so that a * b is little more than n.
//   2. A round adds, to one digit, a number drawn by a hash of the other digit and of the round's key. Whatever the hash, that
//      can be undone, so that no two numbers become one: a Feistel network, with sums in place of exclusive or.
//   3. What comes out at n or above goes in again until it is below: as rare as one number out of a.
//
// Rounds by turns to left and right. a is even because sums modulo an odd number alone would reach no odd permutation. (Black and
// Rogaway, "Ciphers with arbitrary finite domains", 2002; for shuffles Mitchell, Stokes, Frank and Holmes, "Bandwidth-optimal
// random shuffling for GPUs", 2021, who take a power of two for a * b and remove what is too much by a scan.)
#pragma once

#include <cmath>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/random/philox.hpp>

namespace pmpp::inline PMPP_BACKEND {

class random_permutation {
public:
  constexpr random_permutation() = default;
  /// Of [0, n), by a seed or a stream of one. Made on the host; used anywhere.
  random_permutation(std::int64_t n, const philox& generator)
      : n_(static_cast<std::uint64_t>(n)),
        left_(max(2u, 2 * static_cast<std::uint32_t>((std::sqrt(static_cast<double>(n_)) + 1) / 2))),
        right_(static_cast<std::uint32_t>(max(std::uint64_t(1), ceil_div(n_, std::uint64_t(left_))))) {
    // Keys from blocks that belong to no word, so that a fill with the same seed has nothing in common with the order.
    for (int r = 0; r < rounds; ++r)
      key_[r] = generator.block(key_blocks + static_cast<std::uint64_t>(r) / 4).item[r % 4];
  }

  /// The number at place i. \pre 0 <= i < n
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const {
    auto x = static_cast<std::uint64_t>(i);
    do x = mixed(x);
    while (x >= n_);
    return static_cast<std::int64_t>(x);
  }

private:
  static constexpr int rounds =
      24;  // 16 leave orders of 8 elements a little uneven; all orders of up to 8 were counted
  static constexpr std::uint64_t key_blocks = std::uint64_t(1) << 62;

  PMPP_HOST_DEVICE std::uint64_t mixed(std::uint64_t x) const {
    const bool narrow = x >> 32 == 0;  // a division of 32 bits takes a quarter of one of 64
    auto l = narrow ? static_cast<std::uint32_t>(x) / right_ : static_cast<std::uint32_t>(x / right_);
    auto r = static_cast<std::uint32_t>(x) - l * right_;
    for (int k = 0; k < rounds; k += 2) {
      l = sum(l, drawn(r, key_[k], left_), left_);
      r = sum(r, drawn(l, key_[k + 1], right_), right_);
    }
    return std::uint64_t(l) * right_ + r;
  }
  /// A number below `range`: the upper part of a product with a hash.
  PMPP_HOST_DEVICE static std::uint32_t drawn(std::uint32_t digit, std::uint32_t key, std::uint32_t range) {
    std::uint32_t h = (digit ^ key) * 0x21f0aaadu;
    h ^= h >> 15;
    h *= 0x735a2d97u;
    h ^= h >> 15;
    h *= 0x9e3779b9u;
    return static_cast<std::uint32_t>(std::uint64_t(h) * range >> 32);
  }
  /// a + b modulo `range`, both below it.
  PMPP_HOST_DEVICE static std::uint32_t sum(std::uint32_t a, std::uint32_t b, std::uint32_t range) {
    return a >= range - b ? a - (range - b) : a + b;
  }

  std::uint64_t n_ = 1;
  std::uint32_t left_ = 2, right_ = 1;
  std::uint32_t key_[rounds]{};
};

}  // namespace pmpp::inline PMPP_BACKEND
