// SPDX-License-Identifier: Apache-2.0
//
// What a program can gain, and what memory can give, on paper: the sums that come before the first kernel.
//
//   amdahl(0.99, 100)                 50.3: a hundredth that stays as slow as it was halves the gain
//   gustafson(0.99, 100)              99: what the same time does of a job that grows with the machine
//   memory_channel{64, 2e9}           16 GB/s: 8 bytes, twice in each of 10^9 cycles
//   bank_utilisation(1, 20)           4.8 %: a bank that opens a row for 20 times as long as it then transfers
//   banks_to_saturate(20)             21: while one transfers, 20 others open rows
//   interleaving{4, 2, 8}.place_of(byte)   which channel and which bank hold a byte
//
// (occupancy.hpp has what one multiprocessor can do, and the roofline of both.)
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// How many times as fast a program becomes whose share `parallel` of the time runs `factor` times as fast.
/// \pre 0 <= parallel <= 1, factor > 0 (infinity too: then the limit 1 / (1 - parallel)). Source: Amdahl, 1967.
constexpr double amdahl(double parallel, double factor) { return 1 / (1 - parallel + parallel / factor); }

/// How many times the work a program does in the same time, if the share `parallel` of that time does `factor` times as
/// much. \pre as amdahl. Source: Gustafson, 1988.
constexpr double gustafson(double parallel, double factor) { return 1 - parallel + parallel * factor; }

/// A bus to memory.
struct memory_channel {
  int bits;                     ///< that are transferred at once
  double transfers_per_second;  ///< twice the clock for double data rate (DDR)

  /// Bytes per second, at most.
  constexpr double bandwidth() const { return bits / 8.0 * transfers_per_second; }
};

/// The share of a channel's bandwidth that `banks` banks on it deliver, if each opens a row for `latency` times as long as
/// it then transfers a burst, and the others go on meanwhile. \pre banks >= 1, latency >= 0.
constexpr double bank_utilisation(int banks, double latency) { return min(1.0, banks / (1 + latency)); }

/// The least number of banks that keep a channel busy: that of the burst, and as many as open rows meanwhile.
/// \pre latency >= 0, less than 2^31.
constexpr int banks_to_saturate(double latency) {
  const int whole = static_cast<int>(latency);
  return 1 + whole + (whole < latency ? 1 : 0);
}

/// How bytes are spread over memory: each burst in the next channel, after the last channel in the next bank of each.
struct interleaving {
  int channels, banks;  ///< banks: of a channel
  int burst_bytes;

  struct place {
    int channel, bank;
    std::int64_t burst;  ///< of the bank, from 0 on
    friend constexpr bool operator==(const place&, const place&) = default;
  };

  /// Where a byte lies. \pre byte >= 0.
  constexpr place place_of(std::int64_t byte) const {
    const std::int64_t burst = byte / burst_bytes;
    return {static_cast<int>(burst % channels), static_cast<int>(burst / channels % banks), burst / channels / banks};
  }
};

}  // namespace pmpp::inline PMPP_BACKEND
