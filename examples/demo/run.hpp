// SPDX-License-Identifier: Apache-2.0
//
// Runs a task on every policy: brings the data to where the policy sees them, measures, and hands the outcome to the
// table.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <pmpp/execution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "inputs.hpp"
#include "table.hpp"

namespace demo {

/// Items that the emulator gets: enough for many blocks, few enough for a fraction of a second.
inline constexpr std::int64_t emulator_items = 1 << 16;

/// Tells the compiler that other code may read and write the memory at p: what is measured is then done each time.
inline void anybody_may_use(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

/// A policy, and the data of one task where it sees them.
template <class Policy>
struct place {
  Policy where;
  std::int64_t n;  ///< items to work on

  /// A copy of the first n elements.
  template <class T>
  auto put(const std::vector<T>& all) const {
    const auto part = std::span(all).first(std::size_t(n));
    if constexpr (pmpp::kernel_execution<Policy>) {
      return pmpp::device_buffer<T>(part);
    } else {
      std::vector<T> copy(part.begin(), part.end());
      anybody_may_use(copy.data());
      return copy;
    }
  }
  /// Room for `count` results.
  template <class T>
  auto room(std::int64_t count) const {
    if constexpr (pmpp::kernel_execution<Policy>) {
      return pmpp::device_buffer<T>(count);
    } else {
      std::vector<T> results(static_cast<std::size_t>(count));
      anybody_may_use(results.data());
      return results;
    }
  }
  /// The least time of several calls, each from the call to its end; of one that takes half a second. Of one call, where
  /// DEMO_ONCE is set: who asks only whether results are right need not wait.
  template <class Call>
  double seconds(Call call) const {
    using clock = std::chrono::steady_clock;
    const int most = std::getenv("DEMO_ONCE") != nullptr ? 1 : 20;
    double best = 1e9, sum = 0;
    for (int i = 0; i < 1 || (i < std::min(most, 2) && sum < 0.5) || (i < most && sum < 0.05); ++i) {
      const auto start = clock::now();
      call();
      pmpp::synchronize(where);
      anybody_may_use(&call);
      const double s = std::chrono::duration<double>(clock::now() - start).count();
      best = std::min(best, s);
      sum += s;
    }
    return best;
  }
};

/// What a task returns.
struct outcome {
  double seconds;
  double bytes;  ///< read and written
  bool ok;
};

/// Calls task(place) -> outcome for seq, host and device (in a program without CUDA: the emulator, and a prefix).
template <class Task>
void on_each_policy(table& out, const std::string& input, std::int64_t n, Task task) {
  const auto run = [&](const auto& where, const char* policy, std::int64_t items) {
    out.progress(input, policy);
    outcome o{0, 0, false};
    try {
      o = task(place<std::remove_cvref_t<decltype(where)>>{where, items});
    } catch (const std::exception& e) {
      std::printf("%s, %s: %s\n", input.c_str(), policy, e.what());
    }
    out.add({input, policy, items, n, o.seconds, o.bytes, o.ok});
  };
  run(pmpp::seq, "seq", n);
  run(pmpp::host, "host", n);
  if (PMPP_CUDA)
    run(pmpp::device, "device", n);
  else
    run(pmpp::device, "emulator", std::min(n, emulator_items));
}

}  // namespace demo
