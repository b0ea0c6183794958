// SPDX-License-Identifier: Apache-2.0
//
// Runs a task on several ranks: all GPUs of the machine, or four ranks that share one, or, without a GPU, four emulated ones.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>

#include "run.hpp"
#include "table.hpp"

namespace demo {

inline pmpp::devices<> several_ranks() {
  const pmpp::devices<> all;
  return all.size() > 1 ? all : pmpp::ranks_on_one_device(4);
}

/// The least time of several calls, each from the call to its end.
inline double seconds_on(const pmpp::devices<>& gpus, const std::function<void()>& call) {
  using clock = std::chrono::steady_clock;
  double best = 1e9, sum = 0;
  for (int i = 0; i < 2 || (i < 20 && sum < 0.05); ++i) {
    const auto start = clock::now();
    call();
    gpus.synchronize();
    const double s = std::chrono::duration<double>(clock::now() - start).count();
    best = std::min(best, s);
    sum += s;
  }
  return best;
}

/// Calls task(gpus, items) -> outcome; the emulator gets a prefix.
inline void on_several_ranks(table& out, const std::string& input, std::int64_t n,
                             const std::function<outcome(const pmpp::devices<>&, std::int64_t)>& task) {
  const pmpp::devices<> gpus = several_ranks();
  const std::string policy = std::to_string(gpus.size()) + " ranks";
  out.progress(input, policy);
  const std::int64_t items = PMPP_CUDA ? n : std::min(n, emulator_items);
  outcome o{0, 0, false};
  try {
    o = task(gpus, items);
  } catch (const std::exception& e) {
    std::printf("%s, %s: %s\n", input.c_str(), policy.c_str(), e.what());
  }
  out.add({input, policy, items, n, o.seconds, o.bytes, o.ok});
}

}  // namespace demo
