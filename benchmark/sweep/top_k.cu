// SPDX-License-Identifier: Apache-2.0
//
// The k largest of each row in a sweep, with their places, in any order, beside CUB: its top-k, and the one of batches, where its CCCL
// has them (3.4 and 3.5; -DPMPP_CCCL_DIR=), which promise no order either, nor which of equals come, and take no more than 2^21 elements a row; else
// its radix sort of pairs, of rows by segments. For k = 1 of one row its argmax too.
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

#include <pmpp/segmented_sort.hpp>
#include <pmpp/top_k.hpp>

#include "sweep.hpp"

#include <functional>
#include <string>
#include <utility>

namespace {

using namespace sweep;

struct row_begin {
  i64 length;
  PMPP_HOST_DEVICE i32 operator()(i64 r) const { return i32(r * length); }
};
struct place {
  i64 length;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(i % length); }
};

#if __has_include(<cub/device/device_batched_topk.cuh>)
template <class U>
struct row_of {
  U* first;
  i64 length;
  __host__ __device__ U* operator()(i64 row) const { return first + row * length; }
};
template <class U>
auto rows_of(U* first, i64 length) {
  return cuda::make_transform_iterator(cuda::counting_iterator<i64>(0), row_of<U>{first, length});
}
#endif

template <class T>
void largest(trial& t) {
  t.draw_size(2 * sizeof(T) + 16, 200'000'000);
  const i64 rows = t.draw.chance(0.4) ? 1 : std::min<i64>(t.n, t.draw.log_uniform(2, 1024)), length = t.n / rows,
            k = std::min(length, t.draw.chance(0.15) ? 1 : t.draw.log_uniform(1, 4096)), n = rows * length,
            found = rows * k;
  t.add(" " + std::to_string(k) + " of " + std::to_string(length) + " in " + std::to_string(rows) + " rows");
  t.set_bytes(double(n) * sizeof(T) + double(found) * (4 + sizeof(T)));
  const auto in = t.input<T>(n);
  const auto [values_a, values_b] = t.outputs<T>(found);
  const auto [places_a, places_b] = t.outputs<u32>(found);
  T *const va = values_a, *const vb = values_b;
  u32* const pa = places_a;
  [[maybe_unused]] u32* const pb = places_b;
  std::function<void()> collect;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::batched_top_k(device(), in(s), in(s) + n, length, k, va, pa, pmpp::greater{}, pmpp::any_order{});
           },
           {}};
  const u32* const iota = t.computed<u32>(n, place{length});
#if __has_include(<cub/device/device_batched_topk.cuh>)
  namespace execution = cuda::execution;
  if (rows == 1)
    t.add_peer("cub top-k", [=](void* storage, std::size_t& bytes, int s) {
      const auto wanted =
          execution::require(execution::determinism::not_guaranteed, execution::output_ordering::unsorted);
      return cub::DeviceTopK::MaxPairs(storage, bytes, in(s), vb, iota, pb, length, k,
                                       cuda::std::execution::env{cuda::stream_ref{stream()}, wanted});
    });
  else if (length < 1 << 20)
    t.add_peer("cub batched top-k", [=](void* storage, std::size_t& bytes, int s) {
      const auto wanted = execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                                             execution::output_ordering::unsorted);
      return cub::DeviceBatchedTopK::MaxPairs(
          storage, bytes, rows_of(static_cast<const T*>(in(s)), length), rows_of(vb, k), rows_of(iota, 0),
          rows_of(pb, k), cuda::args::immediate{length, cuda::args::bounds<1, 1 << 20>()},
          cuda::args::immediate{k, cuda::args::bounds<1, 4096>()}, cuda::args::immediate{rows},
          cuda::std::execution::env{cuda::stream_ref{stream()}, wanted});
    });
  else
#endif
  {
    T* const sorted = t.array_at<T>(n, 1, 0).first;
    u32* const sorted_places = t.array_at<u32>(n, 1, 0).first;
    const i32* const begins = t.computed<i32>(rows + 1, row_begin{length});
    t.add_peer("cub sort", [=](void* storage, std::size_t& bytes, int s) {
      if (rows == 1)
        return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in(s), sorted, iota, sorted_places, n, 0,
                                                         int(8 * sizeof(T)), stream());
      return cub::DeviceSegmentedRadixSort::SortPairsDescending(storage, bytes, in(s), sorted, iota, sorted_places, n,
                                                                rows, begins, begins + 1, 0, int(8 * sizeof(T)),
                                                                stream());
    });
    collect = [=] {  // the first of each row are where they are wanted by then
      const std::size_t wanted = std::size_t(k) * sizeof(T);
      pmpp::check(cudaMemcpy2DAsync(vb, wanted, sorted, std::size_t(length) * sizeof(T), wanted, std::size_t(rows),
                                    cudaMemcpyDeviceToDevice, stream()),
                  "cudaMemcpy2DAsync");
    };
  }
  // Neither which of equals come nor their order need be the same: values are compared, sorted.
  const i32* const ends = t.computed<i32>(rows + 1, row_begin{k});
  T *const x = t.array_at<T>(found, 1, 0).first, *const y = t.array_at<T>(found, 1, 0).first;
  t.fault = [=] {
    if (collect) collect();
    const std::pair<T*, const T*> both[] = {{x, va}, {y, vb}};
    for (const auto& [to, from] : both) {
      pmpp::check(cudaMemcpyAsync(to, from, std::size_t(found) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
                  "cudaMemcpyAsync");
      pmpp::segmented_sort(device(), to, to + found, std::span<const i32>(ends, std::size_t(rows) + 1));
    }
    return difference_of(stream(), "values", x, y, found);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("top_k", argc, argv,
                    {{"top_k f32", largest<float>},
                     {"top_k u32", largest<u32>},
                     {"top_k u64", largest<u64>},
                     {"top_k f16", largest<__half>}});
}
