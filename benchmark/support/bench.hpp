// SPDX-License-Identifier: Apache-2.0
//
// How every benchmark here measures. One Google Benchmark case compares pmpp with its peers on the same data and the
// same stream, in one run:
//
//   1. Each contender runs once on spoiled output and is compared with a reference; a wrong result ends the program.
//   2. After a warm-up the contenders take turns, one timed call each, so that clocks and neighbours hit all alike. A
//      call on a GPU lies between two events on an idle stream; what has to wait for its result is timed by the host.
//   3. The time of a case is the median of its samples; the spread is the range of the middle half, in per cent of it.
//   4. Each timed call gets the next of several windows of the data, together four times as large as the last cache.
//      Less than a sixteenth of that cache is left in it, for all contenders alike: such a case has `warm` in its name.
//   5. GB/s counts the bytes that the case declares: every input read once, every output written once.
//
// Nothing allocates while it is timed, except what is timed as its user calls it. At exit one Markdown table shows all
// cases; --benchmark_out=FILE writes them as JSON. Environment: PMPP_BENCH_QUICK=1 takes 21 samples instead of 201;
// PMPP_BENCH_SECONDS=n leaves out the cases that would begin later than that; PMPP_BENCH_QUEUED=1 keeps the stream busy
// while a call is enqueued, so that events see the device's time alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

namespace bench {

/// A call that is measured, on one window of the data.
struct contender {
  std::string name;  ///< "pmpp", or the peer's
  std::function<void(int window)> call;
};

enum class timer { events, host };

/// What a case compares; its closures own the data.
struct subject {
  std::vector<contender> contenders;
  std::function<void()> spoil = [] {};  ///< makes the output wrong
  std::function<std::string()> fault;   ///< what is wrong with the output of window 0; empty: nothing
  timer clock = timer::events;
  int batch = 1;  ///< calls in one sample; the host does not wait between them
};

struct statistic {
  double median = 0, spread = 0;  ///< microseconds, per cent
};

struct row {
  std::string name, contender;
  std::int64_t n;
  double bytes;
  statistic own, peer;  ///< median 0: there is none
};

/// The machine and the results so far.
struct session {
  pmpp::stream stream;
  pmpp::workspace scratch;
  bool quick = is_set("PMPP_BENCH_QUICK"), queued = is_set("PMPP_BENCH_QUEUED");
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::size_t cache = std::size_t(64) << 20;  ///< bytes of the last cache; a guess on the host
  double copy_rate = 0;                       ///< GB/s, read and written
  std::vector<row> rows;

  static bool is_set(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' && *text != '0';
  }
  bool is_over() const {
    const char* text = std::getenv("PMPP_BENCH_SECONDS");
    return text != nullptr && std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(std::atof(text));
  }
};
inline session& here() {
  static session s;
  return s;
}

/// The policy of pmpp's calls: the stream that peers get too, scratch that is there already.
inline auto device() { return pmpp::device.on(here().stream).with(here().scratch); }

#ifdef __CUDACC__
static __global__ void hold(long long clocks) {
  for (const long long start = clock64(); clock64() - start < clocks;) continue;
}

/// A CUB call: finds out how much temporary storage it takes and allocates it.
template <class F>
std::function<void(int)> with_storage(F call) {
  std::size_t bytes = 0;
  pmpp::check(call(nullptr, bytes, 0), "a peer's query");
  auto storage = std::make_shared<pmpp::device_buffer<unsigned char>>(bytes + 1);
  return [=](int window) mutable { pmpp::check(call(storage->data(), bytes, window), "a peer's call"); };
}
#endif

inline statistic statistic_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double part) { return samples[static_cast<std::size_t>(part * double(samples.size() - 1))]; };
  return {at(0.5), 100 * (at(0.75) - at(0.25)) / at(0.5)};
}

/// One sample of a contender, in microseconds a call.
inline double sample(const subject& s, const contender& c, int windows, int& next) {
  session& at = here();
  const auto call = [&] { c.call(next++ % windows); };
#ifdef __CUDACC__
  if (s.clock == timer::events) {
    static pmpp::event start, stop;
    if (at.queued) hold<<<1, 1, 0, at.stream>>>(60000);
    start.record(at.stream);
    call();
    stop.record(at.stream);
    return 1000 * pmpp::event::elapsed_ms(start, stop);
  }
#endif
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < s.batch; ++i) call();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  at.stream.synchronize();
  return time.count() / s.batch;
}

/// One statistic a contender.
inline std::vector<statistic> measure(const std::string& name, const subject& s, int windows) {
  const session& at = here();
  for (const contender& c : s.contenders) {
    s.spoil();
    c.call(0);
    at.stream.synchronize();
    if (const std::string fault = s.fault ? s.fault() : ""; !fault.empty()) {
      std::fprintf(stderr, "%s: wrong result of %s: %s\n", name.c_str(), c.name.c_str(), fault.c_str());
      std::exit(1);
    }
  }
  const int wanted = at.quick ? 21 : 201, least = 5, warm_up = 2;
  const std::chrono::duration<double> budget(at.quick ? 0.3 : 2.0);
  std::vector<std::vector<double>> samples(s.contenders.size());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = -warm_up, next = 1; round < wanted; ++round) {
    if (round >= least && std::chrono::steady_clock::now() - begin > budget) break;
    for (std::size_t c = 0; c < samples.size(); ++c) {
      const double time = sample(s, s.contenders[c], windows, next);
      if (round >= 0) samples[c].push_back(time);
    }
  }
  std::vector<statistic> result;
  for (const auto& of_one : samples) result.push_back(statistic_of(of_one));
  return result;
}

/// Notes the results, one row a peer; the first contender may be pmpp.
inline void note(const std::string& name, std::int64_t n, double bytes, const subject& s,
                 const std::vector<statistic>& results) {
  const std::size_t own = s.contenders[0].name == "pmpp" ? 1 : 0;
  if (own == s.contenders.size()) here().rows.push_back({name, "", n, bytes, results[0], {}});
  for (std::size_t c = own; c < results.size(); ++c)
    here().rows.push_back({name, s.contenders[c].name, n, bytes, own ? results[0] : statistic{}, results[c]});
}

/// Adds a case. `bytes`: read and written by one call. `make(windows)` returns its subject; data for that many windows.
template <class Make>
void add(std::string name, std::int64_t n, double bytes, Make make) {
  const double cache = double(here().cache);
  const bool warm = bytes > 0 && bytes < cache / 16;
  const int windows = warm || bytes == 0 ? 1 : int(std::max(1.0, std::ceil(4 * cache / bytes)));
  if (warm) name += "/warm";
  benchmark::RegisterBenchmark((name + "/" + std::to_string(n)).c_str(),
                               [=](benchmark::State& state) {
                                 if (here().is_over()) return state.SkipWithError("its time was over");
                                 for ([[maybe_unused]] auto once : state) {
                                   const subject s = make(windows);
                                   const auto results = measure(name + "/" + std::to_string(n), s, windows);
                                   note(name, n, bytes, s, results);
                                   state.SetIterationTime(results[0].median * 1e-6);
                                   state.SetLabel(s.contenders[0].name);  // whose time it is
                                   state.counters["spread_%"] = results[0].spread;
                                   if (bytes > 0) state.counters["GB/s"] = bytes / results[0].median * 1e-3;
                                   if (bytes > 0)
                                     state.counters["copy_%"] = bytes / results[0].median * 0.1 / here().copy_rate;
                                   for (std::size_t c = 1; c < results.size(); ++c) {
                                     state.counters[s.contenders[c].name + "_us"] = results[c].median;
                                     state.counters[s.contenders[c].name + "_ratio"] =
                                         results[c].median / results[0].median;
                                   }
                                 }
                               })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace bench
