// SPDX-License-Identifier: Apache-2.0
//
// A sweep: cases of one family drawn at random, each timed beside the best public call of its peers.
//
//   bench_sweep_reduce --seconds=120 --seed=1 --json=reduce.jsonl      as many cases as two minutes allow
//   bench_sweep_reduce --seed=1 --case=17                              one of them alone
//
// A case is a function of the seed and its number, so that it can be run alone. What it draws: the kind (function, types,
// operator, iterator: compiled, listed by each family), the size (log-uniform), how many elements after a boundary each
// array begins, the data, and whether a call is timed alone or in the middle of others, back to back.
//
//   1. pmpp and each peer run once, on the same input, into arrays of their own that were spoiled; the results are compared.
//   2. They take turns, one sample each; the figure is the median. A sample lies between two events on the stream: one
//      call on an idle stream, or several back to back, whose time is divided.
//   3. Successive calls get successive slots of the data, together four times the last cache, unless one slot is less than
//      a sixteenth of it.
//   4. What a call needs before it (an unsorted copy for a sort in place) is made before the first event.
//   5. The processor's time of a call: by its clock, calls that find the stream idle and do not wait.
//
// Scratch of peers is there beforehand, pmpp's is a warm workspace. Nothing is tuned to the cases.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "data.hpp"
#include "dice.hpp"

namespace sweep {

/// Thrown where a case takes more memory than there is: it is left out, and counted.
struct does_not_fit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One block of memory that every case takes its arrays from.
class arena {
public:
  arena() {
    std::size_t free = 0, total = 0;
    pmpp::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    bytes_ = std::min(free / 4 * 3, std::size_t(24) << 30);
    pmpp::check(cudaMalloc(&memory_, bytes_), "cudaMalloc");
  }
  ~arena() { cudaFree(memory_); }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  std::size_t bytes() const { return bytes_; }
  void clear() { used_ = 0; }
  void* take(std::size_t bytes) {
    const std::size_t begin = (used_ + 511) / 512 * 512;
    if (begin + bytes > bytes_) throw does_not_fit("more memory than this GPU has for a case");
    used_ = begin + bytes;
    return static_cast<char*>(memory_) + begin;
  }

private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
};

/// What all cases share.
struct session {
  pmpp::stream stream;
  pmpp::workspace scratch;
  arena memory;
  double cache = 0, copy_rate = 0;  ///< bytes, GB/s
};
inline session& here() {
  static session s;
  return s;
}
inline cudaStream_t stream() { return here().stream; }
inline auto device() { return pmpp::device.on(here().stream).with(here().scratch); }

/// An array of several slots that begin at the same place relative to a boundary.
template <class T>
struct slots {
  T* first = nullptr;
  i64 pitch = 0;
  int count = 1;
  T* operator()(int slot) const { return first + (slot % count) * pitch; }
};

struct contender {
  std::string name;
  std::function<void(int slot)> call;
  std::function<void(int slot)> prepare;  ///< not timed
};

/// One case; its kind fills it in.
class trial {
public:
  explicit trial(std::uint64_t seed) : draw(seed) {}

  dice draw;
  std::string what;
  i64 n = 0;
  double bytes = 0;  ///< that a call has to read and write
  bool back_to_back = false;
  int slot_count = 1;
  contender own;
  std::vector<contender> peers;
  std::function<std::string()> fault;  ///< what differs between the results of both; empty: nothing

  /// Draws the size: at most `most`, and what fits memory at `room` bytes an element in all.
  void draw_size(double room, i64 most = 400'000'000) {
    const double limit = double(here().memory.bytes()) * 0.8 / room;
    n = draw.log_uniform(1, std::min<i64>(most, i64(limit)));
    back_to_back = n <= 3'000'000 && draw.chance(0.5);
    add(" n=" + std::to_string(n));
  }
  /// Elements after each line of a matrix, below 20; in a large one no more than a line has, so that it fits.
  i64 draw_gap(double share_without, i64 lines, i64 length) {
    const i64 gap = draw.chance(share_without) ? 0 : draw.below(20);
    return lines > 1'000'000 ? std::min(gap, length) : gap;
  }
  /// Says what a call moves; `in_place`: it needs a fresh copy for each of the calls back to back.
  void set_bytes(double moved, bool in_place = false) {
    bytes = moved;
    slot_count = moved < here().cache / 16 ? 1 : int(std::clamp(std::ceil(4 * here().cache / moved), 1.0, 64.0));
    if (in_place && back_to_back) slot_count = std::max(slot_count, calls());
  }
  int calls() const { return back_to_back ? 16 : 1; }
  void add(const std::string& text) { what += text; }

  /// An array for `count` elements a slot, which begins 0 to 15 elements after a boundary. Half of the arrays begin at it.
  template <class T>
  slots<T> array(i64 count, int slot_number = 1) {
    const i64 shift = draw.chance(0.5) ? 0 : draw.below(16);
    if (shift > 0) add(" +" + std::to_string(shift));
    return array_at<T>(count, slot_number, shift);
  }
  /// One as another begins.
  template <class T>
  slots<T> array_at(i64 count, int slot_number, i64 shift) {
    const i64 pitch = pmpp::ceil_div(count + shift + 1, i64(16)) * 16;
    auto* const memory = static_cast<T*>(here().memory.take(std::size_t(pitch * slot_number) * sizeof(T)));
    pmpp::check(cudaMemsetAsync(memory, 0xA5, std::size_t(pitch * slot_number) * sizeof(T), stream()),
                "cudaMemsetAsync");
    return {memory + shift, pitch, slot_number};
  }
  /// Where an output of pmpp's and one of a peer's begin alike.
  template <class T>
  std::pair<T*, T*> outputs(i64 count) {
    const i64 shift = draw.chance(0.5) ? 0 : draw.below(16);
    if (shift > 0) add(" out +" + std::to_string(shift));
    return {array_at<T>(count, 1, shift).first, array_at<T>(count, 1, shift).first};
  }

  pattern draw_pattern() {
    return draw.one_of({pattern::random, pattern::random, pattern::sorted, pattern::reversed, pattern::few_values,
                        pattern::zipf, pattern::runs, pattern::text});
  }
  /// An input of `count` elements in every slot.
  template <class T>
  slots<T> input(i64 count, pattern kind) {
    add(std::string(" ") + name_of(kind));
    keys k{kind, std::max<i64>(count, 1), 1, draw.bits()};
    if (kind == pattern::runs) {
      k.run = draw.log_uniform(2, 10000);
      add(" of " + std::to_string(k.run));
    }
    const auto a = array<T>(count, slot_count);
    for (int s = 0; s < slot_count; ++s, k.seed += u64(count)) {
      if (count > 0) fill_with_keys<<<1024, 256, 0, stream()>>>(a(s), count, k);
      pmpp::check(cudaGetLastError(), "fill_with_keys");
    }
    return a;
  }
  template <class T>
  slots<T> input(i64 count) {
    return input<T>(count, draw_pattern());
  }
  /// An array whose element i is f(i), in one slot.
  template <class T, class F>
  T* computed(i64 count, F f) {
    T* const a = array_at<T>(count, 1, 0).first;
    if (count > 0) fill_by_index<<<1024, 256, 0, stream()>>>(a, count, f);
    pmpp::check(cudaGetLastError(), "fill_by_index");
    return a;
  }

  /// A peer in CUB's manner: call(storage, bytes, slot), which is asked for its storage first.
  template <class F>
  void add_peer(const std::string& name, F call, std::function<void(int)> prepare = {}) {
    std::size_t needed = 0;
    pmpp::check(call(nullptr, needed, 0), "a peer's query");
    void* const storage = here().memory.take(needed + 1);
    peers.push_back({name,
                     [=](int slot) {
                       std::size_t has = needed;
                       pmpp::check(call(storage, has, slot), "a peer's call");
                     },
                     std::move(prepare)});
  }
};

/// What a kind of case is called, and what fills in a trial.
struct kind {
  std::string name;
  void (*fill)(trial&);
};

struct row {
  i64 number = 0, n = 0;
  std::string what, peer;
  double bytes = 0, own_us = 0, peer_us = 0, host_us = 0, peer_host_us = 0;
  double ratio() const { return peer_us / own_us; }
};

namespace detail {

using clock = std::chrono::steady_clock;
inline double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}
inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Microseconds a call, by events.
inline double device_time(const trial& t, const contender& c, int& next) {
  static pmpp::event start, stop;
  const int calls = t.calls();
  for (int i = 0; c.prepare && i < calls; ++i) c.prepare(next + i);
  here().stream.synchronize();
  start.record(here().stream);
  for (int i = 0; i < calls; ++i) c.call(next + i);
  stop.record(here().stream);
  next += calls;
  return 1000 * pmpp::event::elapsed_ms(start, stop) / calls;
}
/// Microseconds of the processor's a call.
inline double host_time(const contender& c, int& next) {
  if (c.prepare) c.prepare(next);
  here().stream.synchronize();
  const auto begin = clock::now();
  c.call(next);
  const double time = 1e6 * seconds_since(begin);
  ++next;
  return time;
}

/// Checks a case and times it. \throws std::runtime_error for a wrong result
inline row measure(const trial& t) {
  const auto named = [](const contender& c, const auto& f) {
    try {
      return f();
    } catch (const std::exception& error) {
      throw std::runtime_error(c.name + ": " + error.what());
    }
  };
  const auto run = [&](const contender& c) {
    named(c, [&] {
      if (c.prepare) c.prepare(0);
      c.call(0);
      here().stream.synchronize();
    });
  };
  run(t.own);
  for (const contender& peer : t.peers) {
    run(peer);
    if (const std::string fault = t.fault(); !fault.empty())
      throw std::runtime_error("WRONG, against " + peer.name + ": " + fault);
  }
  std::vector<const contender*> all{&t.own};
  for (const contender& peer : t.peers) all.push_back(&peer);
  std::vector<std::vector<double>> device(all.size()), host(all.size());
  const auto begin = clock::now();
  for (int round = -2, next = 1; round < 25; ++round) {
    if (round >= 5 && seconds_since(begin) > 0.1) break;
    for (std::size_t c = 0; c < all.size(); ++c) {
      const double time = named(*all[c], [&] { return device_time(t, *all[c], next); });
      if (round >= 0) device[c].push_back(time);
    }
  }
  for (int round = 0, next = 1; round < 9; ++round)
    for (std::size_t c = 0; c < all.size(); ++c)
      if (device[c][0] < 1000) host[c].push_back(named(*all[c], [&] { return host_time(*all[c], next); }));
  row r{0, t.n, t.what, "", t.bytes, median(device[0]), 0, median(host[0]), 0};
  for (std::size_t c = 1; c < all.size(); ++c) {
    const double time = median(device[c]);
    if (r.peer.empty() || time < r.peer_us) {
      r.peer = all[c]->name;
      r.peer_us = time;
      r.peer_host_us = median(host[c]);
    }
  }
  return r;
}

inline void measure_limits() {
  session& s = here();
  int device = 0, cache = 0;
  pmpp::check(cudaGetDevice(&device), "cudaGetDevice");
  pmpp::check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  s.cache = double(cache);
  const std::size_t bytes = std::min(std::size_t(1) << 30, s.memory.bytes() / 2);
  s.memory.clear();
  void *const from = s.memory.take(bytes), *const to = s.memory.take(bytes);
  std::vector<double> times;
  pmpp::event start, stop;
  for (int i = 0; i < 7; ++i) {
    start.record(s.stream);
    pmpp::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s.stream), "cudaMemcpyAsync");
    stop.record(s.stream);
    times.push_back(pmpp::event::elapsed_ms(start, stop));
  }
  s.copy_rate = 2e-6 * double(bytes) / median(times);
}

inline void write_json(std::FILE* file, const std::string& family, std::uint64_t seed, const row& r) {
  std::fprintf(file,
               "{\"family\": \"%s\", \"seed\": %llu, \"case\": %lld, \"what\": \"%s\", \"n\": %lld, \"bytes\": %.0f, "
               "\"own_us\": %.3f, \"peer\": \"%s\", \"peer_us\": %.3f, \"ratio\": %.4f, \"copy_share\": %.4f, "
               "\"host_us\": %.3f, \"peer_host_us\": %.3f}\n",
               family.c_str(), static_cast<unsigned long long>(seed), static_cast<long long>(r.number), r.what.c_str(),
               static_cast<long long>(r.n), r.bytes, r.own_us, r.peer.c_str(), r.peer_us, r.ratio(),
               r.bytes / r.own_us * 1e-3 / here().copy_rate, r.host_us, r.peer_host_us);
  std::fflush(file);
}

inline void print_row(const row& r) {
  std::printf("%6.2f  %9.1f us  %9.1f us  %5.1f %%  %5.2f us  %s  (%s)", r.ratio(), r.own_us, r.peer_us,
              100 * r.bytes / r.own_us * 1e-3 / here().copy_rate, r.host_us, r.what.c_str(), r.peer.c_str());
}

/// The summary: a line, the worst cases and how to run each alone.
inline void print_summary(const std::string& program, const std::string& family, std::uint64_t seed,
                          std::vector<row> rows, i64 failed, i64 left_out) {
  if (rows.empty()) return;
  double logs = 0;
  i64 below = 0, far_below = 0;
  std::vector<double> host, peer_host;
  for (const row& r : rows) {
    logs += std::log(r.ratio());
    below += r.ratio() < 0.95;
    far_below += r.ratio() < 0.85;
    if (r.host_us > 0) host.push_back(r.host_us), peer_host.push_back(r.peer_host_us);
  }
  std::sort(rows.begin(), rows.end(), [](const row& a, const row& b) { return a.ratio() < b.ratio(); });
  std::printf("\nworst of %s: peer/pmpp, pmpp, peer, share of a copy, processor's time of a call\n", family.c_str());
  for (std::size_t i = 0; i < std::min<std::size_t>(20, rows.size()); ++i) {
    print_row(rows[i]);
    std::printf("\n        %s --seed=%llu --case=%lld\n", program.c_str(), static_cast<unsigned long long>(seed),
                static_cast<long long>(rows[i].number));
  }
  const double cases = double(rows.size());
  std::printf(
      "\n%s: %zu cases, geometric mean %.3f, below 0.95 %.1f %%, below 0.85 %.1f %%, worst %.2f; "
      "processor's time of a call %.2f us (peer %.2f); wrong or failed: %lld, too large: %lld\n",
      family.c_str(), rows.size(), std::exp(logs / cases), 100 * double(below) / cases, 100 * double(far_below) / cases,
      rows[0].ratio(), median(host), median(peer_host), static_cast<long long>(failed),
      static_cast<long long>(left_out));
}

}  // namespace detail

/// main of a family.
inline int run(const std::string& family, int argc, char** argv, const std::vector<kind>& kinds) {
  double seconds = 120;
  std::uint64_t seed = 1;
  i64 only = -1;
  std::FILE* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    const char* const equals = std::strchr(argv[i], '=');
    const std::string key(argv[i], equals == nullptr ? std::strlen(argv[i]) : std::size_t(equals - argv[i]));
    const char* const value = equals == nullptr ? "" : equals + 1;
    if (key == "--seconds")
      seconds = std::atof(value);
    else if (key == "--seed")
      seed = std::strtoull(value, nullptr, 10);
    else if (key == "--case")
      only = std::atoll(value);
    else if (key == "--json")
      json = std::fopen(value, "w");
    else
      return std::fprintf(stderr, "usage: %s [--seconds=120] [--seed=1] [--case=NUMBER] [--json=FILE]\n", argv[0]), 2;
  }
  std::vector<row> rows;
  i64 failed = 0, left_out = 0;
  try {
    detail::measure_limits();
    std::printf("%s: seed %llu, copy %.0f GB/s\n", family.c_str(), static_cast<unsigned long long>(seed),
                here().copy_rate);
    const auto begin = detail::clock::now();
    for (i64 number = std::max<i64>(only, 0); only < 0 ? detail::seconds_since(begin) < seconds : number == only;
         ++number) {
      here().memory.clear();
      trial t(bits_of(seed) + u64(number) * 0x10001);
      const kind& k = kinds[std::size_t(t.draw.below(i64(kinds.size())))];
      t.add(k.name);
      try {
        k.fill(t);
        t.add(t.back_to_back ? ", back to back" : "");
        row r = detail::measure(t);
        r.number = number;
        if (json != nullptr) detail::write_json(json, family, seed, r);
        if (only >= 0) detail::print_row(r), std::printf("\n");
        rows.push_back(r);
      } catch (const does_not_fit& error) {
        ++left_out;
        std::printf("case %lld, %s: left out: %s\n", static_cast<long long>(number), t.what.c_str(), error.what());
      } catch (const std::exception& error) {
        ++failed;
        std::printf("case %lld, %s: %s\n", static_cast<long long>(number), t.what.c_str(), error.what());
        if (cudaDeviceSynchronize() != cudaSuccess) throw;  // nothing runs after that
      }
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
  if (only < 0) detail::print_summary(argv[0], family, seed, rows, failed, left_out);
  if (json != nullptr) std::fclose(json);
  return failed > 0 || rows.empty();
}

}  // namespace sweep
