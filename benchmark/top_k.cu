// SPDX-License-Identifier: Apache-2.0
//
// top_k beside a sort of everything: CUB's radix sort of keys with their indices, descending. (CUB has had a top-k of its
// own since CUDA 13.1.) Rows: segmented_top_k beside CUB's sort of segments.
//
//   u32, float      random
//   rising          every element is better than all before it: the worst order for a search by a threshold
//   eight values    all but a few equal to the threshold
//
// Declared bytes: the keys, read once, and 8 for each result. All results of the first window are compared with the
// host's.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>

#include <pmpp/top_k.hpp>

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

/// n elements in rows; k of each.
template <class T, class Kind = any_bits, pmpp::top_k_tuning Tuning = pmpp::top_k_tuning{}>
void add_top_k(const std::string& name, std::int64_t rows, std::int64_t n, std::int64_t k) {
  const std::string full = name + "/k " + std::to_string(k) + (rows > 1 ? ", rows " + std::to_string(rows) : "");
  bench::add(full, n, double(n) * sizeof(T) + double(rows * k) * (4 + sizeof(T)), [=](int windows) {
    const auto in = bench::numbers<T, Kind>(windows * n);
    const auto values = bench::array<T>(rows * k);
    const auto indices = bench::array<u32>(rows * k);
    std::vector<int> ends(static_cast<std::size_t>(rows) + 1);
    for (std::size_t r = 0; r < ends.size(); ++r) ends[r] = static_cast<int>(n / rows * static_cast<std::int64_t>(r));
    const auto offsets = std::make_shared<pmpp::device_buffer<int>>(ends);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    const std::vector<T> host_keys = bench::on_host(window(0), n);
    std::vector<T> host_values(static_cast<std::size_t>(rows * k));
    auto wanted = std::make_shared<std::vector<u32>>(static_cast<std::size_t>(rows * k));
    pmpp::segmented_top_k(pmpp::host, host_keys, ends, k, host_values, *wanted);
    const auto all_indices = bench::array<u32>(n), sorted_indices = bench::array<u32>(n);
    const auto sorted = bench::array<T>(n);
    pmpp::iota(bench::device(), *all_indices, u32(0));
    auto by_sort = std::make_shared<bool>(false);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       *by_sort = false;
                       if (rows == 1)
                         pmpp::top_k<Tuning>(bench::device(), window(w), window(w) + n, k, values->data(),
                                             indices->data());
                       else
                         pmpp::segmented_top_k<Tuning>(bench::device(), window(w), window(w) + n, *offsets, k,
                                                       values->data(), indices->data());
                     }},
                    {"cub radix sort", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       *by_sort = true;
                       const auto stream = bench::here().stream.handle();
                       if (rows == 1)
                         return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, window(w), sorted->data(),
                                                                          all_indices->data(), sorted_indices->data(),
                                                                          n, 0, int(8 * sizeof(T)), stream);
                       return cub::DeviceSegmentedRadixSort::SortPairsDescending(
                           storage, bytes, window(w), sorted->data(), all_indices->data(), sorted_indices->data(), n,
                           rows, offsets->data(), offsets->data() + 1, 0, int(8 * sizeof(T)), stream);
                     })}};
    s.spoil = [=] {
      bench::spoil(values);
      bench::spoil(indices);
    };
    s.fault = [=]() -> std::string {
      if (*by_sort) return "";  // its indices are those of the array; the comparison is of time alone
      return bench::on_host(static_cast<const u32*>(indices->data()), rows * k) == *wanted ? "" : "other elements";
    };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 24, 27})
    for (const std::int64_t k : {1, 10, 100, 1000, 2000}) add_top_k<u32>("top_k/u32", 1, std::int64_t(1) << power, k);
  for (const std::int64_t k : {10, 1000}) {
    add_top_k<float>("top_k/float", 1, 1 << 27, k);
    add_top_k<u32, rising>("top_k/u32 rising", 1, 1 << 27, k);
    add_top_k<u32, few_values>("top_k/u32 eight values", 1, 1 << 27, k);
  }
  for (const std::int64_t k : {10000, 1 << 20}) add_top_k<u32>("top_k/u32", 1, 1 << 27, k);
  for (const std::int64_t rows : {100, 4096, 1 << 18}) add_top_k<float>("top_k/float", rows, 1 << 26, 10);
#ifdef PMPP_BENCH_SWEEP
  constexpr pmpp::top_k_tuning loads_16{.loads = 16}, room_512{.candidates = 512}, room_2048{.candidates = 2048},
      threads_256{.threads = 256};
  for (const std::int64_t k : {10, 1000})
    for (const int power : {20, 27}) {
      add_top_k<u32, any_bits, loads_16>("sweep/16 loads", 1, std::int64_t(1) << power, k);
      add_top_k<u32, any_bits, room_512>("sweep/room 512", 1, std::int64_t(1) << power, k);
      add_top_k<u32, any_bits, room_2048>("sweep/room 2048", 1, std::int64_t(1) << power, k);
      add_top_k<u32, any_bits, threads_256>("sweep/256 threads", 1, std::int64_t(1) << power, k);
    }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
