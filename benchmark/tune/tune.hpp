// SPDX-License-Identifier: Apache-2.0
//
// What the programs of this folder share. Each sweeps the candidates of one tuning and prints a specialisation of
// pmpp::tuned for the GPU at hand:
//
//   1. Cases are drawn by a seed (the first argument): sizes log-uniform between 2^14 and 2^27 elements.
//   2. For each case all candidates take turns, the default first; a candidate's time is the median of its samples.
//   3. What counts is the geometric mean of default over candidate, over all cases. The best candidate is taken if it
//      gains 2 % and loses nowhere more than 5 %.
//
// The table of all candidates goes to stderr, the line for the header to stdout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

namespace tune {

/// Where calls run: a stream of its own, scratch that is there already.
struct bench {
  pmpp::stream stream;
  pmpp::workspace scratch;
  std::mt19937_64 random;

  bench(int argc, char** argv) : random(argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1) {}
  auto device() { return pmpp::device.on(stream).with(scratch); }

  /// Sizes of the cases, the largest last.
  std::vector<std::int64_t> sizes(int count, double least = 14, double most = 27) {
    std::uniform_real_distribution<double> exponent(least, most);
    std::vector<std::int64_t> all;
    for (int i = 0; i < count; ++i) all.push_back(static_cast<std::int64_t>(std::exp2(exponent(random))));
    std::sort(all.begin(), all.end());
    return all;
  }

  /// Random integers, as any element type.
  template <class T>
  pmpp::device_buffer<T> data(std::int64_t n) {
    std::vector<T> v(static_cast<std::size_t>(n));
    std::uint64_t state = random();
    for (T& x : v) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = static_cast<T>(state >> 33);
    }
    pmpp::device_buffer<T> on_device(v);
    pmpp::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return on_device;
  }

  /// Microseconds of one call, launch included.
  template <class F>
  double time(F f) {
    pmpp::event first, last;
    stream.synchronize();
    first.record(stream);
    f();
    last.record(stream);
    return 1e3 * pmpp::event::elapsed_ms(first, last);
  }
};

inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Times of all candidates on one case; `call` is a template of the tuning: call.template operator()<Candidate>().
template <auto... Candidates, class Call>
std::vector<double> times_of(bench& b, Call call) {
  constexpr int rounds = 15;
  std::vector<std::vector<double>> samples(sizeof...(Candidates));
  for (int round = -2; round < rounds; ++round) {  // two to warm up
    std::size_t i = 0;
    (..., [&] {
      const double t = b.time([&] { call.template operator()<Candidates>(); });
      if (round >= 0) samples[i].push_back(t);
      ++i;
    }());
  }
  std::vector<double> times;
  for (auto& s : samples) times.push_back(median(std::move(s)));
  return times;
}

/// Judges the candidates, the default first, and prints the best. text_of(candidate) lists its fields.
template <class Tuning, class TextOf>
void choose(const char* type, const std::vector<Tuning>& candidates, const std::vector<std::vector<double>>& cases,
            TextOf text_of) {
  std::size_t best = 0;
  double gain = 1.02;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    double logarithm = 0, worst = 1e9;
    for (const auto& times : cases) {
      logarithm += std::log(times[0] / times[c]);
      worst = std::min(worst, times[0] / times[c]);
    }
    const double mean = std::exp(logarithm / double(cases.size()));
    std::fprintf(stderr, "%-18s %-60s mean %.3f worst %.3f\n", type, text_of(candidates[c]).c_str(), mean, worst);
    if (mean > gain && worst >= 0.95) gain = mean, best = c;
  }
  if (best == 0)
    std::printf("// %s: the default is best\n", type);
  else
    std::printf(
        "struct %s;\ntemplate <>\nstruct tuning_values<%s> {  // %.3f of the default's speed\n"
        "  template <class T>\n  static constexpr T make() {\n    return {%s};\n  }\n};\n",
        type, type, gain, text_of(candidates[best]).c_str());
}

/// Sweeps: `cases` is a list of callables, each a case.
template <class Tuning, Tuning... Candidates>
struct sweep {
  bench& b;
  std::vector<std::vector<double>> times{};

  template <class Call>
  void add(Call call) {
    times.push_back(times_of<Candidates...>(b, call));
  }
  template <class TextOf>
  void finish(const char* type, TextOf text_of) const {
    choose(type, std::vector<Tuning>{Candidates...}, times, text_of);
  }
};

inline std::string field(const char* name, long long value) {
  return std::string(".") + name + " = " + std::to_string(value);
}

}  // namespace tune
