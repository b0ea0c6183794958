// SPDX-License-Identifier: Apache-2.0
//
// philox: random numbers by number. Word i of a stream is a function of (seed, stream, i) and of nothing before it, so that any
// thread of any machine can make it, and a stream may be cut anywhere.
//
//   philox{7}(i)              word i of seed 7: 32 random bits
//   philox{7, 3}(i)           ... of stream 3 of that seed: another sequence, of 2^64 words as each
//   philox{7}.block(b)        words 4 b to 4 b + 3, which are made together
//
// Philox4x32-10: ten rounds of two 32-bit multiplications on a counter of 128 bits, {block, stream}, with the seed as key (Salmon,
// Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The same words as
//   curand          curand_init(seed, stream, i, &state), then curand(&state), for curandStatePhilox4_32_10_t
//   C++26           std::philox4x32(seed) for a seed below 2^32 and stream 0; with set_counter({stream >> 32, stream, 0, 0}) for others
// It passes the tests of TestU01. It is no cipher.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/packed.hpp>

namespace pmpp::inline PMPP_BACKEND {

struct philox {
  using words = packed<std::uint32_t, 4>;

  constexpr philox() : philox(0) {}
  /// A number is a generator too: a seed.
  PMPP_HOST_DEVICE constexpr philox(std::uint64_t seed, std::uint64_t stream = 0) : stream_(stream) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      keys_.item[2 * round] = low(seed) + round * 0x9e3779b9u;       // the golden ratio
      keys_.item[2 * round + 1] = high(seed) + round * 0xbb67ae85u;  // the root of 3, less 1
    }
  }

  PMPP_HOST_DEVICE constexpr std::uint64_t seed() const {
    return keys_.item[0] | static_cast<std::uint64_t>(keys_.item[1]) << 32;
  }
  PMPP_HOST_DEVICE constexpr std::uint64_t stream() const { return stream_; }

  /// Word i: 32 bits, each as likely 0 as 1.
  PMPP_HOST_DEVICE constexpr std::uint32_t operator()(std::uint64_t i) const { return block(i / 4).item[i % 4]; }

  /// Words 4 b to 4 b + 3. Blocks from 2^62 on belong to no word: they are there for those who need more than one word a number.
  PMPP_HOST_DEVICE constexpr words block(std::uint64_t b) const {
    std::uint32_t c0 = low(b), c1 = high(b), c2 = low(stream_), c3 = high(stream_);
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t p0 = std::uint64_t(0xd2511f53u) * c0, p1 = std::uint64_t(0xcd9e8d57u) * c2;
      c0 = high(p1) ^ c1 ^ keys_.item[2 * round];
      c1 = low(p1);
      c2 = high(p0) ^ c3 ^ keys_.item[2 * round + 1];
      c3 = low(p0);
    }
    return {{c0, c1, c2, c3}};
  }

private:
  static constexpr int rounds = 10;
  PMPP_HOST_DEVICE static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  PMPP_HOST_DEVICE static constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

  std::uint64_t stream_;
  packed<std::uint32_t, 2 * rounds>
      keys_{};  ///< of each round: a kernel finds them among its arguments, and need not add them up
};

}  // namespace pmpp::inline PMPP_BACKEND
