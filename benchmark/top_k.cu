// SPDX-License-Identifier: Apache-2.0
//
// top_k of one row and batched_top_k of several, beside CUB: its top-k, and the one of batches, where its CCCL has them (3.4 and
// 3.5; -DPMPP_CCCL_DIR=), which promise neither order nor which of equals come, and take no more than 2^21 elements a row; for
// k = 1 its argmax; else its radix sort of keys with their indices, of rows by segments.
//
//   u32, float            random
//   rising, falling, equal, eight values    orders and ties that selections do not like
//
// Declared bytes: the keys, read once, and 8 for each result. All results of the first window are compared with the
// host's.
#include <memory>
#include <string>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#if __has_include(<cub/device/device_batched_topk.cuh>)
#include <cub/device/device_batched_topk.cuh>
#include <cub/device/device_topk.cuh>

#include <cuda/argument>
#include <cuda/execution>
#include <cuda/stream>
#endif

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

struct falling {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    return static_cast<T>(~static_cast<u32>(i));
  }
};
struct equal {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t) {
    return T(5);
  }
};

/// CUB's call for the same, after which keys and indices of the k first lie anywhere.
template <class T>
struct peer {
  std::int64_t rows, length, k;
  bench::shared_array<u32> iota, sorted_indices;
  bench::shared_array<T> sorted;
  std::shared_ptr<pmpp::device_buffer<int>> offsets;
#if __has_include(<cub/device/device_batched_topk.cuh>)
  static const char* name() { return "cub top-k"; }
  /// Row r of an array; of the places of a row each time the same.
  template <class U>
  struct row_of {
    U* first;
    std::int64_t length;
    __host__ __device__ U* operator()(std::int64_t row) const { return first + row * length; }
  };
  template <class U>
  static auto rows_of(U* first, std::int64_t length) {
    return cuda::make_transform_iterator(cuda::counting_iterator<std::int64_t>(0), row_of<U>{first, length});
  }
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in) const {
    namespace execution = cuda::execution;
    const auto stream = cuda::stream_ref{bench::here().stream.handle()};
    const auto wanted =
        execution::require(execution::determinism::not_guaranteed, execution::output_ordering::unsorted);
    if (rows == 1)
      return cub::DeviceTopK::MaxPairs(storage, bytes, in, sorted->data(), iota->data(), sorted_indices->data(), length,
                                       k, cuda::std::execution::env{stream, wanted});
    const auto batched = execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                                            execution::output_ordering::unsorted);
    return cub::DeviceBatchedTopK::MaxPairs(storage, bytes, rows_of(in, length), rows_of(sorted->data(), k),
                                            rows_of(iota->data(), 0), rows_of(sorted_indices->data(), k),
                                            cuda::args::immediate{length, cuda::args::bounds<1, 1 << 20>()},
                                            cuda::args::immediate{k, cuda::args::bounds<1, 4096>()},
                                            cuda::args::immediate{rows}, cuda::std::execution::env{stream, batched});
  }
#else
  static const char* name() { return "cub radix sort"; }
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in) const {
    const auto stream = bench::here().stream.handle();
    if (rows == 1)
      return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in, sorted->data(), iota->data(),
                                                       sorted_indices->data(), length, 0, int(8 * sizeof(T)), stream);
    return cub::DeviceSegmentedRadixSort::SortPairsDescending(
        storage, bytes, in, sorted->data(), iota->data(), sorted_indices->data(), rows * length, rows, offsets->data(),
        offsets->data() + 1, 0, int(8 * sizeof(T)), stream);
  }
#endif
};

/// k of each of `rows` rows of `length` elements.
template <class T, class Kind = any_bits>
void add_top_k(const std::string& name, std::int64_t rows, std::int64_t length, std::int64_t k) {
  const std::string full = name + "/k " + std::to_string(k) + (rows > 1 ? ", rows " + std::to_string(rows) : "");
  const std::int64_t n = rows * length;
  bench::add(full, n, double(n) * sizeof(T) + double(rows * k) * (4 + sizeof(T)), [=](int windows) {
    const auto in = bench::numbers<T, Kind>(windows * n);
    const auto values = bench::array<T>(rows * k);
    const auto indices = bench::array<u32>(rows * k);
    std::vector<int> ends(static_cast<std::size_t>(rows) + 1);
    for (std::size_t r = 0; r < ends.size(); ++r) ends[r] = static_cast<int>(length * static_cast<std::int64_t>(r));
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    const std::vector<T> host_keys = bench::on_host(window(0), n);
    std::vector<T> host_values(static_cast<std::size_t>(rows * k));
    auto wanted = std::make_shared<std::vector<u32>>(static_cast<std::size_t>(rows * k));
    pmpp::batched_top_k(pmpp::host, host_keys, length, k, host_values, *wanted);
    const peer<T> cub_call{rows,
                           length,
                           k,
                           bench::array<u32>(n),
                           bench::array<u32>(n),
                           bench::array<T>(n),
                           std::make_shared<pmpp::device_buffer<int>>(ends)};
    pmpp::iota(bench::device(), *cub_call.iota, u32(0));
    auto by_cub = std::make_shared<bool>(false);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       *by_cub = false;
                       pmpp::batched_top_k(bench::device(), window(w), window(w) + n, length, k, values->data(),
                                           indices->data());
                     }},
                    {peer<T>::name(), bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       *by_cub = true;
                       return cub_call(storage, bytes, window(w));
                     })}};
    if (rows == 1 && k == 1)
      s.contenders.push_back({"cub argmax", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                *by_cub = true;
                                return cub::DeviceReduce::ArgMax(
                                    storage, bytes, window(w), cub_call.sorted->data(),
                                    reinterpret_cast<std::int64_t*>(cub_call.sorted_indices->data()), length,
                                    bench::here().stream.handle());
                              })});
    s.spoil = [=] {
      bench::spoil(values);
      bench::spoil(indices);
    };
    s.fault = [=]() -> std::string {
      if (*by_cub) return "";  // its indices are those of the array, or in no order; the comparison is of time alone
      return bench::on_host(static_cast<const u32*>(indices->data()), rows * k) == *wanted ? "" : "other elements";
    };
    return s;
  });
}

void add_cases() {
  constexpr std::int64_t large = std::int64_t(1) << 27;
  for (const std::int64_t n : {std::int64_t(1) << 16, std::int64_t(1'000'000), std::int64_t(1) << 24, large})
    for (const std::int64_t k : {1, 10, 100, 1000, 2000}) add_top_k<u32>("top_k/u32", 1, n, k);
  add_top_k<float>("top_k/float", 1, large, 1);
  for (const std::int64_t k : {10, 1000}) {
    add_top_k<float>("top_k/float", 1, large, k);
    add_top_k<u32, rising>("top_k/u32 rising", 1, large, k);
    add_top_k<u32, falling>("top_k/u32 falling", 1, large, k);
    add_top_k<u32, equal>("top_k/u32 equal", 1, large, k);
    add_top_k<u32, few_values>("top_k/u32 eight values", 1, large, k);
  }
  add_top_k<float>("top_k/float", 1, 5'000'000, 100);
  add_top_k<float>("top_k/float", 1, 100'000'000, 5000);
  for (const std::int64_t k : {10000, 1 << 20}) add_top_k<u32>("top_k/u32", 1, large, k);
  for (const std::int64_t rows : {8, 64, 512})
    for (const std::int64_t length : {8192, 65536, 1'000'000})
      for (const std::int64_t k : {1, 8, 64, 512, 2048})
        add_top_k<float>("batched/float " + std::to_string(length), rows, length, k);
  for (const std::int64_t rows : {4096, 1 << 18}) add_top_k<float>("batched/float", rows, (1 << 26) / rows, 10);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
