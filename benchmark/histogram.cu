// SPDX-License-Identifier: Apache-2.0
//
// Histograms beside CUB's: pmpp enqueues with a workspace, CUB with storage of its own; device time. The counts of the
// first window are compared with a count by the host.
//
// The samples are numbers below the number of bins: uniform; all alike; of two values; after Zipf's law (bin k as often
// as 1 / k); in sorted order. CUB counts samples in 32 bits here, its faster way; pmpp in 64.
#include <string>

#include <cub/device/device_histogram.cuh>
#include <cuda/std/array>

#include <pmpp/histogram.hpp>
#include <pmpp/transform.hpp>

#include "../examples/ladder/histogram/7_distributed.hpp"
#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

enum class law { uniform, constant, two_values, zipf, sorted };
const char* name_of(law l) {
  const char* const names[] = {"uniform", "constant", "two values", "zipf", "sorted"};
  return names[static_cast<int>(l)];
}

/// Sample i of n, below `bins`.
template <class T>
struct sample {
  law kind;
  std::int64_t n;
  double bins;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const {
    const double r = static_cast<double>(bench::random_bits(i) >> 11) * 0x1p-53;
    double x = r * bins;
    if (kind == law::constant) x = bins / 2;
    if (kind == law::two_values) x = r < 0.5 ? 0 : bins - 1;
    if (kind == law::zipf) x = exp(r * log(bins)) - 1;
    if (kind == law::sorted) x = static_cast<double>(i % n) / static_cast<double>(n) * bins;
    return static_cast<T>(x);
  }
};

template <class T>
bench::shared_array<T> samples(law kind, std::int64_t n, std::int64_t windows, double bins) {
  auto a = bench::array<T>(n * windows);
  const pmpp::counting_iterator<std::int64_t> zero(0);
  pmpp::transform(bench::device(), zero, zero + n * windows, a->data(), sample<T>{kind, n, bins});
  return a;
}

/// What is wrong with the counts of the first n samples; empty: nothing.
template <class T, class BinOf>
std::string fault_of(const bench::shared_array<T>& in, std::int64_t n, const bench::shared_array<unsigned>& counts,
                     BinOf bin_of) {
  std::vector<T> v(static_cast<std::size_t>(n));
  std::vector<unsigned> got(counts->size()), wanted(counts->size());
  pmpp::copy(bench::here().stream, std::span<const T>(in->data(), v.size()), std::span(v));
  pmpp::copy(bench::here().stream, *counts, got);
  bench::here().stream.synchronize();
  pmpp::histogram(pmpp::host, v, wanted, bin_of);
  for (std::size_t b = 0; b < got.size(); ++b)
    if (got[b] != wanted[b])
      return "bin " + std::to_string(b) + " has " + std::to_string(got[b]) + ", not " + std::to_string(wanted[b]);
  return "";
}

struct whole_part {
  template <class T>
  PMPP_HOST_DEVICE std::int64_t operator()(T x) const {
    return static_cast<std::int64_t>(x);
  }
};

template <class T>
std::string type_name();
// clang-format off
template <> std::string type_name<std::uint8_t>() { return "u8"; }
template <> std::string type_name<std::uint16_t>() { return "u16"; }
template <> std::string type_name<std::uint32_t>() { return "u32"; }
template <> std::string type_name<std::uint64_t>() { return "u64"; }
template <> std::string type_name<float>() { return "f32"; }
template <> std::string type_name<double>() { return "f64"; }
// clang-format on

/// Bins of width one.
template <class T>
void add_even(law kind, int bins, std::int64_t n, bool with_peer = true) {
  const std::string name = "even/" + type_name<T>() + "/" + std::to_string(bins) + " bins/" + name_of(kind);
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto in = samples<T>(kind, n, windows, bins);
    const auto counts = bench::array<unsigned>(bins);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    using level = std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) == 8, T, int>>;
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       pmpp::histogram_even(bench::device(), window(w), window(w) + n, *counts, level(0), level(bins));
                     }}};
    if (with_peer)
      s.contenders.push_back({"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return cub::DeviceHistogram::HistogramEven(storage, bytes, window(w), counts->data(),
                                                                           bins + 1, level(0), level(bins), int(n),
                                                                           bench::here().stream);
                              })});
    s.spoil = [=] { bench::spoil(counts); };
    s.fault = [=] { return fault_of(in, n, counts, whole_part{}); };
    return s;
  });
}

/// Counters spread over a cluster, as in the ladder: what a histogram by distributed shared memory takes.
void add_cluster(law kind, std::int64_t n) {
  bench::add("cluster/u16/65536 bins/" + std::string(name_of(kind)), n, double(n) * 2, [=](int windows) {
    const auto in = samples<std::uint16_t>(kind, n, windows, ladder::word_bins);
    const auto counts = bench::array<unsigned>(ladder::word_bins);
    const auto window = [=](int w) { return static_cast<const std::uint16_t*>(in->data()) + w * n; };
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::histogram_even(bench::device(), window(w), window(w) + n, *counts, 0,
                                            int(ladder::word_bins));
                     }},
                    {"cluster", [=](int w) {
                       using kernel = ladder::words_distributed;
                       pmpp::fill(bench::device(), *counts, 0u);
                       pmpp::launch(bench::device(), kernel::blocks(pmpp::machine_of(bench::device()).multiprocessors),
                                    kernel{}, window(w), n, counts->data());
                     }}};
    s.spoil = [=] { bench::spoil(counts); };
    s.fault = [=] { return fault_of(in, n, counts, whole_part{}); };
    return s;
  });
}

/// Levels 0, 1, 2 ...
template <class T>
void add_range(law kind, int bins, std::int64_t n) {
  const std::string name = "range/" + type_name<T>() + "/" + std::to_string(bins) + " bins/" + name_of(kind);
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto in = samples<T>(kind, n, windows, bins);
    const auto counts = bench::array<unsigned>(bins);
    const auto levels = bench::array<T>(bins + 1);
    pmpp::iota(bench::device(), *levels, T(0));
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    subject s;
    s.contenders = {
        {"pmpp", [=](int w) { pmpp::histogram_range(bench::device(), window(w), window(w) + n, *counts, *levels); }},
        {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
           return cub::DeviceHistogram::HistogramRange(storage, bytes, window(w), counts->data(), bins + 1,
                                                       static_cast<const T*>(levels->data()), int(n),
                                                       bench::here().stream);
         })}};
    s.spoil = [=] { bench::spoil(counts); };
    s.fault = [=] { return fault_of(in, n, counts, whole_part{}); };
    return s;
  });
}

/// Pixels of Channels bytes, of which Active are counted, in 256 bins each.
template <int Channels, int Active>
void add_channels(law kind, std::int64_t pixels) {
  const std::string name =
      "channels/u8/" + std::to_string(Active) + " of " + std::to_string(Channels) + "/" + name_of(kind);
  const std::int64_t n = pixels * Channels;
  bench::add(name, n, double(n), [=](int windows) {
    const auto in = samples<std::uint8_t>(kind, n, windows, 256);
    const auto counts = bench::array<unsigned>(256 * Active);
    const auto window = [=](int w) { return static_cast<const std::uint8_t*>(in->data()) + w * n; };
    subject s;
    s.contenders = {
        {"pmpp",
         [=](int w) {
           pmpp::histogram_even_channels<Channels, Active>(bench::device(), window(w), window(w) + n, *counts, 0, 256);
         }},
        {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
           cuda::std::array<unsigned*, Active> of_channel{};
           cuda::std::array<int, Active> levels{}, lower{}, upper{};
           for (int c = 0; c < Active; ++c) {
             of_channel[c] = counts->data() + 256 * c;
             levels[c] = 257;
             upper[c] = 256;
           }
           return cub::DeviceHistogram::MultiHistogramEven<Channels, Active>(
               storage, bytes, window(w), of_channel, levels, lower, upper, int(pixels), bench::here().stream);
         })}};
    s.spoil = [=] { bench::spoil(counts); };
    s.fault = [=] {
      std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
      std::vector<unsigned> got(counts->size()), wanted(counts->size());
      pmpp::copy(bench::here().stream, std::span<const std::uint8_t>(in->data(), v.size()), std::span(v));
      pmpp::copy(bench::here().stream, *counts, got);
      bench::here().stream.synchronize();
      for (std::size_t i = 0; i < v.size(); ++i)
        if (i % Channels < Active) ++wanted[i % Channels * 256 + v[i]];
      return std::string(got == wanted ? "" : "the counts differ");
    };
    return s;
  });
}

#ifdef PMPP_BENCH_SWEEP
/// One tuning; the peer is the default one, so that a ratio above 1 would be an improvement.
template <class T, int Threads, int Rows, int MostRanges>
void add_tuning(int bins) {
  constexpr pmpp::histogram_tuning tuning{.threads = Threads, .rows = Rows, .most_ranges = MostRanges};
  const std::int64_t n = std::int64_t(1) << 28;
  const std::string name = "sweep/" + type_name<T>() + "/" + std::to_string(bins) +
                           " bins/threads:" + std::to_string(Threads) + "/rows:" + std::to_string(Rows) +
                           "/most_ranges:" + std::to_string(MostRanges);
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto in = samples<T>(law::uniform, n, windows, bins);
    const auto counts = bench::array<unsigned>(bins);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    subject s;
    s.contenders = {
        {"pmpp",
         [=](int w) { pmpp::histogram_even<tuning>(bench::device(), window(w), window(w) + n, *counts, 0, bins); }},
        {"default", [=](int w) { pmpp::histogram_even(bench::device(), window(w), window(w) + n, *counts, 0, bins); }}};
    s.spoil = [=] { bench::spoil(counts); };
    s.fault = [=] { return fault_of(in, n, counts, whole_part{}); };
    return s;
  });
}
template <class T, int Threads>
void add_tunings_of_threads(int bins) {
  add_tuning<T, Threads, 1, 12>(bins);
  add_tuning<T, Threads, 2, 12>(bins);
  add_tuning<T, Threads, 4, 12>(bins);
}
#endif

void add_cases() {
  const std::int64_t large = std::int64_t(1) << 28;
  for (const int power : {10, 16, 20, 24, 28}) add_even<std::uint8_t>(law::uniform, 256, std::int64_t(1) << power);
  for (const law kind : {law::constant, law::two_values, law::zipf, law::sorted})
    add_even<std::uint8_t>(kind, 256, large);
  for (const int power : {10, 16, 20, 24}) add_even<std::uint32_t>(law::uniform, 256, std::int64_t(1) << power);
  for (const int bins : {2, 64, 256, 2048, 32768, 56000, 65536, 131072, 262144, 524288, 1 << 20, 10000000})
    for (const law kind : {law::uniform, law::constant}) add_even<std::uint32_t>(kind, bins, large, bins < 10000000);
  for (const int bins : {256, 65536, 1 << 20})
    for (const law kind : {law::two_values, law::zipf, law::sorted})
      add_even<std::uint32_t>(kind, bins, large, bins < 10000000);
  add_even<std::uint16_t>(law::uniform, 65536, large, false);  // CUB's bounds are of the type of the samples
  for (const law kind : {law::uniform, law::constant, law::zipf}) add_cluster(kind, large);
  add_even<std::uint16_t>(law::uniform, 1024, large);
  add_even<float>(law::uniform, 256, large);
  add_even<float>(law::uniform, 65536, large);
  add_even<double>(law::uniform, 256, large / 2);
  add_even<std::uint64_t>(law::uniform, 256, large / 2);
  for (const int bins : {16, 256, 4096}) add_range<float>(law::uniform, bins, large);
  add_range<std::uint8_t>(law::uniform, 200, large);
  for (const law kind : {law::uniform, law::constant}) {
    add_channels<3, 3>(kind, large / 3 / 16 * 16);
    add_channels<4, 3>(kind, large / 4);
    add_channels<4, 4>(kind, large / 4);
  }
#ifdef PMPP_BENCH_SWEEP
  add_tunings_of_threads<std::uint8_t, 512>(256);
  add_tunings_of_threads<std::uint8_t, 1024>(256);
  add_tunings_of_threads<std::uint32_t, 512>(256);
  add_tunings_of_threads<std::uint32_t, 1024>(256);
  for (const int bins : {65536, 131072, 262144, 524288, 1 << 20, 2 << 20}) {
    add_tuning<std::uint32_t, 1024, 3, 0>(bins);   // through the cache
    add_tuning<std::uint32_t, 1024, 3, 64>(bins);  // by ranges
  }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
