// SPDX-License-Identifier: Apache-2.0
//
// Merge sorts and radix sorts beside CUB's: pmpp enqueues with a workspace, CUB with storage of its own; device time.
// The merge sort is given a comparator of which the library knows nothing. The whole result of the first window is
// compared with the host's.
//
// pmpp::sort works in place; so that every sample sorts the same unsorted data, what is timed here is the same call with
// another array as its input, beside CUB's functions that do likewise.
#include <memory>
#include <string>

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <cuda_fp16.h>

#include <pmpp/sort.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/numbers.hpp"
#include "support/report.hpp"

namespace {

using bench::any_bits;
using bench::few_values;
using bench::rising;
using bench::subject;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Twelve bytes, ordered by two of its numbers.
struct triple {
  u32 major, minor, tag;
  friend bool operator==(const triple&, const triple&) = default;
  /// One of a thousand majors.
  PMPP_HOST_DEVICE static triple of_bits(std::uint64_t bits, std::int64_t i) {
    return {static_cast<u32>(bits % 1000), static_cast<u32>(bits >> 32), static_cast<u32>(i)};
  }
};
struct by_both {
  PMPP_HOST_DEVICE bool operator()(const triple& x, const triple& y) const {
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
  }
};

/// As pmpp::less, under another name.
struct precedes {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x < y;
  }
};

/// The bits of three numbers that are set in all: far more zeros than ones, and 11.3 bits of entropy in 32.
struct skewed {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    return static_cast<T>(bench::random_bits(i) & bench::random_bits(i + (1ll << 40)) &
                          bench::random_bits(i + (1ll << 41)));
  }
};
/// Only the lowest 16 bits vary.
struct short_numbers {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    return static_cast<T>(bench::random_bits(i) % 65536);
  }
};

template <class T, class Kind = any_bits, pmpp::sort_tuning Tuning = pmpp::sort_tuning{}, class Comp = precedes>
void add_sort(const std::string& name, std::int64_t n, Comp comp = {}) {
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::numbers<T, Kind>(windows * n);
    const auto out = bench::array<T>(n);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    auto wanted = std::make_shared<std::vector<T>>(bench::on_host(window(0), n));
    pmpp::sort(pmpp::host, *wanted, comp);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       pmpp::detail::sort_elements<Tuning, T>("sort", bench::device(), window(w), out->data(),
                                                              pmpp::detail::item_count{n}, comp);
                     }}};
    if constexpr (std::is_same_v<Comp, pmpp::less>)
      s.contenders.push_back({"cub radix", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return cub::DeviceRadixSort::SortKeys(storage, bytes, window(w), out->data(), n, 0,
                                                                      int(8 * sizeof(T)), bench::here().stream);
                              })});
    else
      s.contenders.push_back({"cub merge", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return cub::DeviceMergeSort::SortKeysCopy(storage, bytes, window(w), out->data(), n,
                                                                          comp, bench::here().stream);
                              })});
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return bench::on_host(static_cast<const T*>(out->data()), n) == *wanted ? "" : "another sequence";
    };
    return s;
  });
}

template <class T, class Kind = any_bits, pmpp::sort_tuning Tuning = pmpp::sort_tuning{}>
void add_radix_sort(const std::string& name, std::int64_t n) {
  add_sort<T, Kind, Tuning>(name, n, pmpp::less{});
}

template <class K, class V, class Comp = precedes, pmpp::sort_tuning Tuning = pmpp::sort_tuning{}>
void add_pairs(const std::string& name, std::int64_t n) {
  bench::add(name, n, 2.0 * double(n) * (sizeof(K) + sizeof(V)), [=](int windows) {
    const auto in_keys = bench::numbers<K, any_bits>(windows * n);
    const auto in_values = bench::numbers<V, rising>(windows * n);
    const auto keys = bench::array<K>(n);
    const auto payload = bench::array<V>(n);
    auto wanted_keys = bench::on_host(static_cast<const K*>(in_keys->data()), n);
    auto wanted = std::make_shared<std::vector<V>>(bench::on_host(static_cast<const V*>(in_values->data()), n));
    pmpp::sort_by_key(pmpp::host, wanted_keys, *wanted, Comp{});
    subject s;
    s.contenders = {
        {"pmpp",
         [=](int w) {
           const pmpp::zip_iterator from{static_cast<const K*>(in_keys->data()) + w * n,
                                         static_cast<const V*>(in_values->data()) + w * n};
           const pmpp::zip_iterator to{keys->data(), payload->data()};
           pmpp::detail::sort_elements<Tuning, pmpp::pair<K, V>>(
               "sort_by_key", bench::device(), from, to, pmpp::detail::item_count{n}, pmpp::detail::by_first<Comp>{});
         }},
        {"cub radix", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
           return cub::DeviceRadixSort::SortPairs(storage, bytes, static_cast<const K*>(in_keys->data()) + w * n,
                                                  keys->data(), static_cast<const V*>(in_values->data()) + w * n,
                                                  payload->data(), n, 0, int(8 * sizeof(K)), bench::here().stream);
         })}};
    if constexpr (!std::is_same_v<Comp, pmpp::less>)
      // CUB merges pairs in place: its sample begins with copies, whose time is that of one pass.
      s.contenders.push_back({"cub merge + copy", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                const auto stream = bench::here().stream.handle();
                                if (storage != nullptr) {
                                  pmpp::copy(stream, std::span(in_keys->data() + w * n, std::size_t(n)),
                                             std::span(keys->data(), std::size_t(n)));
                                  pmpp::copy(stream, std::span(in_values->data() + w * n, std::size_t(n)),
                                             std::span(payload->data(), std::size_t(n)));
                                }
                                return cub::DeviceMergeSort::StableSortPairs(storage, bytes, keys->data(),
                                                                             payload->data(), n, pmpp::less{}, stream);
                              })});
    s.spoil = [=] {
      bench::spoil(keys);
      bench::spoil(payload);
    };
    s.fault = [=] {
      return bench::on_host(static_cast<const V*>(payload->data()), n) == *wanted ? "" : "another sequence";
    };
    return s;
  });
}

void add_cases() {
  const auto powers = [](int first, int last, int step) {
    std::vector<std::int64_t> result;
    for (int power = first; power <= last; power += step) result.push_back(std::int64_t(1) << power);
    return result;
  };
  for (const std::int64_t n : powers(10, 26, 2)) add_sort<u32>("merge sort/u32", n);
  add_sort<u32>("merge sort/u32", 1 << 27);
  for (const std::int64_t n : powers(20, 26, 6)) add_sort<u32, rising>("merge sort/u32 sorted", n);
  for (const std::int64_t n : powers(20, 26, 6)) add_sort<u32, few_values>("merge sort/u32 eight values", n);
  for (const std::int64_t n : powers(16, 26, 5)) add_sort<u64>("merge sort/u64", n);
  for (const std::int64_t n : powers(16, 24, 4))
    add_sort<triple, any_bits, pmpp::sort_tuning{}>("merge sort/12 bytes", n, by_both{});
  for (const std::int64_t n : powers(16, 26, 5)) add_pairs<u32, u32>("merge sort/pairs u32, u32", n);
  for (const std::int64_t n : powers(10, 28, 2)) add_radix_sort<u32>("radix sort/u32", n);
  for (const std::int64_t n : powers(20, 28, 8)) {
    add_radix_sort<u32, rising>("radix sort/u32 sorted", n);
    add_radix_sort<u32, skewed>("radix sort/u32 skewed", n);
    add_radix_sort<u32, few_values>("radix sort/u32 eight values", n);
    add_radix_sort<u32, short_numbers>("radix sort/u32 of 16 bits", n);
  }
  for (const std::int64_t n : powers(12, 28, 4)) add_radix_sort<u64>("radix sort/u64", n);
  for (const std::int64_t n : powers(20, 28, 4)) {
    add_radix_sort<std::uint8_t>("radix sort/u8", n);
    add_radix_sort<std::uint16_t>("radix sort/u16", n);
    add_radix_sort<float>("radix sort/float", n);
    add_radix_sort<double>("radix sort/double", n);
    add_radix_sort<__half>("radix sort/half", n);
  }
  for (const std::int64_t n : powers(12, 28, 4)) add_pairs<u32, u32, pmpp::less>("radix sort/pairs u32, u32", n);
  for (const std::int64_t n : powers(16, 26, 10)) add_pairs<u64, u64, pmpp::less>("radix sort/pairs u64, u64", n);
#ifdef PMPP_BENCH_SWEEP
  for (const std::int64_t n : {std::int64_t(1) << 16, std::int64_t(1) << 20, std::int64_t(1) << 27}) {
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.passes = {.threads = 256}}}>("sweep/merge 256 threads", n);
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.passes = {.bytes = 36}}}>("sweep/merge 9 items", n);
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.passes = {.resident = 1024}}}>(
        "sweep/merge 1024 threads at a time", n);
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.passes = {.four_way_from = 0}}}>("sweep/merge four runs", n);
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.tiles = {.threads = 256}}}>("sweep/tiles of 256 threads", n);
    add_sort<u32, any_bits, pmpp::sort_tuning{.merge = {.tiles = {.bytes = 36}}}>("sweep/tiles of 512 threads, 9 items",
                                                                                  n);
  }
  constexpr pmpp::sort_tuning radix_640{.radix = {.threads = 640, .items = 44}}, radix_44{.radix = {.items = 44}},
      tiles_32{.radix = {.min_tiles = 32}}, tiles_128{.radix = {.min_tiles = 128}};
  for (const std::int64_t n : powers(28, 28, 4)) {
    add_radix_sort<u32, any_bits, radix_640>("sweep/radix 640 threads, 44 items", n);
    add_radix_sort<u32, any_bits, radix_44>("sweep/radix 512 threads, 44 items", n);
  }
  for (const std::int64_t n : powers(14, 20, 2)) {
    add_radix_sort<u32, any_bits, tiles_32>("sweep/radix 32 tiles", n);
    add_radix_sort<u32, any_bits, tiles_128>("sweep/radix 128 tiles", n);
  }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
