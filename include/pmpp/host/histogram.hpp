// SPDX-License-Identifier: Apache-2.0
//
// Histograms on the CPU, by one thread or by all.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Counts in[begin, end) in a table of 4 (Spread) or 1 copies of `entries`. First the bins of a batch, in a loop that
/// compilers turn into SIMD for integers, then the counting.
template <class Layers, bool Spread, class In, class BinOf>
void count_on_host(In in, std::int64_t begin, std::int64_t end, BinOf bin_of, std::uint64_t* table,
                   std::int64_t entries) {
  using T = value_of<In>;
  constexpr int batch = 64;
  std::uint64_t* const copy[4] = {table, table + Spread * entries, table + Spread * 2 * entries,
                                  table + Spread * 3 * entries};
  const auto count = [&](std::int64_t i, std::uint32_t bin, std::uint64_t* to) {
    const auto channel = static_cast<int>(i % Layers::channels);
    if (channel < Layers::active) ++to[sizeof(T) == 1 ? channel * 256 + bin : Layers::slot(bin, bin_of.bins, channel)];
  };
  const auto bin_at = [&](std::int64_t i) -> std::uint32_t {
    if constexpr (sizeof(T) == 1)
      return __builtin_bit_cast(std::uint8_t, T(in[i]));
    else
      return bin_of(in[i]);
  };
  for (; begin + batch <= end; begin += batch) {
    if constexpr (sizeof(T) == 1) {
      for (int k = 0; k < batch; k += 4)
        for (int j = 0; j < 4; ++j) count(begin + k + j, bin_at(begin + k + j), copy[j]);
    } else {
      std::uint32_t bin[batch];
      const BinOf own = bin_of;  // a copy to which nothing else refers stays in registers
      for (int k = 0; k < batch; ++k) bin[k] = own(in[begin + k]);
      for (int k = 0; k < batch; k += 4)
        for (int j = 0; j < 4; ++j) count(begin + k + j, bin[k + j], copy[j]);
    }
  }
  for (; begin < end; ++begin) count(begin, bin_at(begin), table);
}

/// seq: one loop. host: every task has a table of its own; a small one in four copies, so that equal samples in a row do
/// not wait for each other.
template <class Layers, class P, class In, class Binning, class Output>
void histogram_on_host([[maybe_unused]] const P& where, const input<In>& in, const Binning& binning,
                       const Output& output, bool accumulate) {
  using Count = std::remove_cvref_t<decltype(output.counts[0])>;
  const auto& bin_of = binning.ready_on_host();
  const std::int64_t n = in.count.get(), slots = output.slots + Layers::active;
  const auto add = [&](std::int64_t slot, std::uint64_t samples) {
    if (slot < output.slots)
      output.counts[slot] = static_cast<Count>(static_cast<std::uint64_t>(output.counts[slot]) + samples);
    else if (output.rejected != nullptr)
      output.rejected[slot - output.slots] += samples;
  };
  if (!accumulate) {
    for (std::int64_t i = 0; i < output.slots; ++i) output.counts[i] = 0;
    for (int c = 0; c < Layers::active && output.rejected != nullptr; ++c) output.rejected[c] = 0;
  }
  if (std::is_same_v<P, seq_policy> || n < 2048) {  // a table does not pay
    for (std::int64_t i = 0; i < n; ++i) {
      const auto channel = static_cast<int>(i % Layers::channels);
      if (channel < Layers::active) add(Layers::slot(bin_of(in.first[i]), binning.bins, channel), 1);
    }
  } else if constexpr (!std::is_same_v<P, seq_policy>) {
    constexpr bool bytes = sizeof(value_of<In>) == 1;
    const std::int64_t entries = bytes ? 256 * Layers::active : slots, copies = entries <= 1024 ? 4 : 1;
    const std::int64_t table_size = round_up<std::int64_t>(entries * copies, 8);  // whole cache lines
    const std::int64_t worthwhile = n / max(host_loop::grain, 2 * table_size);
    const std::int64_t tasks = max<std::int64_t>(1, min(host_loop::part_count(where), worthwhile));
    host_loop::task_results<std::uint64_t> tables(tasks * table_size);
    host_loop::parallel_parts(where, tasks, [&](std::int64_t t) {
      const std::int64_t end = n / tasks * (t + 1) + (t == tasks - 1 ? n % tasks : 0);
      const auto run = [&](auto spread) {
        count_on_host<Layers, decltype(spread)::value>(in.first, n / tasks * t, end, bin_of,
                                                       tables.data() + t * table_size, entries);
      };
      if (copies == 4)
        run(std::true_type{});
      else
        run(std::false_type{});
    });
    for (std::int64_t e = 0; e < entries; ++e) {
      std::uint64_t sum = 0;
      for (std::int64_t t = 0; t < tasks; ++t)
        for (std::int64_t c = 0; c < copies; ++c) sum += tables[t * table_size + c * entries + e];
      if (sum == 0) continue;
      if constexpr (bytes) {
        const auto value = __builtin_bit_cast(value_of<In>, static_cast<std::uint8_t>(e));
        add(Layers::slot(bin_of(value), binning.bins, static_cast<int>(e / 256)), sum);
      } else {
        add(e, sum);
      }
    }
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
