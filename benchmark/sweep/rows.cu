// SPDX-License-Identifier: Apache-2.0
//
// By segment, in a sweep: segmented_exclusive_scan, segmented_min_element and _max_element, segmented_copy, segmented_reverse and
// segmented_top_k, beside CUB's. CCCL 3.3 has scans of segments, 3.5 the k greatest of each (-DPMPP_CCCL_DIR=); before that a scan by key
// with the keys there beforehand, and a sort of the segments.
#include <cub/device/device_copy.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>
#if CUB_VERSION >= 300300
#include <cub/device/device_segmented_scan.cuh>
#endif
#if __has_include(<cub/device/device_batched_topk.cuh>)
#include <cub/device/device_batched_topk.cuh>

#include <cuda/argument>
#include <cuda/execution>
#include <cuda/stream>
#endif
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <pmpp/by_key.hpp>
#include <pmpp/segmented_copy.hpp>
#include <pmpp/top_k.hpp>

#include "segments.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace {

using namespace sweep;

template <class T>
void scanned(trial& t) {
  t.draw_size(3 * sizeof(T) + 8);
  const segments_of segments(t);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * sizeof(T) + 4.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n);
  const T init = element_of<T>(u64(3) << 61, 0);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::segmented_exclusive_scan(device(), in(s), in(s) + n,
                                            std::span<const i32>(offsets, std::size_t(count + 1)), a, init);
           },
           {}};
#if CUB_VERSION >= 300300
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedScan::ExclusiveSegmentedScan(storage, bytes, in(s), b, offsets, offsets + 1, count,
                                                            cuda::std::plus<>{}, init, stream());
  });
#endif
  const i32* const keys = t.computed<i32>(n, segment_of_element{offsets, count});
  t.add_peer("cub, by key", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::ExclusiveScanByKey(storage, bytes, keys, in(s), b, cuda::std::plus<>{}, init, int(n),
                                               cuda::std::equal_to<>{}, stream());
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n, is_float<T> ? double(n) : 1); };
}

/// Where a segment's extreme is after CUB; of an empty one both say something else.
template <class Found>
struct place_of_extreme {
  const i32 *offsets, *own;
  const Found* found;
  PMPP_HOST_DEVICE i64 operator()(i64 s) const {
    return offsets[s] == offsets[s + 1] ? own[s] : offsets[s] + found[s].key;
  }
};
template <class T, bool Greatest>
void extreme(trial& t) {
  t.draw_size(8, 200'000'000);
  const segments_of segments(t, 20'000'000);
  const i64 count = segments.count, n = t.n;
  t.set_bytes(double(n) * sizeof(T) + 8.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n, pattern::random);
  using found_type = cub::KeyValuePair<int, T>;
  i32 *const a = t.array_at<i32>(count, 1, 0).first, *const b = t.array_at<i32>(count, 1, 0).first;
  found_type* const found = t.array_at<found_type>(count, 1, 0).first;
  t.own = {"pmpp",
           [=](int s) {
             const std::span<const i32> at(offsets, std::size_t(count + 1));
             if constexpr (Greatest)
               pmpp::segmented_max_element(device(), in(s), in(s) + n, at, a);
             else
               pmpp::segmented_min_element(device(), in(s), in(s) + n, at, a);
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    if constexpr (Greatest)
      return cub::DeviceSegmentedReduce::ArgMax(storage, bytes, in(s), found, count, offsets, offsets + 1, stream());
    else
      return cub::DeviceSegmentedReduce::ArgMin(storage, bytes, in(s), found, count, offsets, offsets + 1, stream());
  });
  t.fault = [=] {
    fill_by_index<<<1024, 256, 0, stream()>>>(b, count, place_of_extreme<found_type>{offsets, a, found});
    return difference_of(stream(), "places", a, b, count);
  };
}

// What CUB's batches are told of each segment, by functions of its number.
template <class T>
struct begin_of_segment {
  T* first;
  const i32* offsets;
  __host__ __device__ T* operator()(i64 s) const { return first + offsets[s]; }
};
template <class T>
struct end_of_segment {
  T* first;
  const i32* offsets;
  __host__ __device__ thrust::reverse_iterator<T*> operator()(i64 s) const {
    return thrust::reverse_iterator<T*>(first + offsets[s + 1]);
  }
};
struct size_of_segment {
  const i32* offsets;
  i32 each;
  __host__ __device__ i32 operator()(i64 s) const { return (offsets[s + 1] - offsets[s]) * each; }
};
template <class F>
auto of_segments(F f) {
  return thrust::make_transform_iterator(thrust::counting_iterator<i64>(0), f);
}

/// Where segment s goes: they lie in reverse order in the output.
struct reversed_order {
  const i32* offsets;
  i64 n;
  PMPP_HOST_DEVICE i64 operator()(i64 s) const { return n - offsets[s + 1]; }
};
template <class T>
void copied(trial& t) {
  t.draw_size(3 * sizeof(T) + 12, 400'000'000 / i64(sizeof(T)));  // sizes in bytes fit 31 bits
  const segments_of segments(t, 50'000'000);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * sizeof(T) + 8.0 * double(count));
  const i32* const offsets = segments.offsets;
  const i32* const targets = t.computed<i32>(count, reversed_order{offsets, n});
  const auto in = t.input<T>(n, pattern::random);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::segmented_copy(device(), in(s), in(s) + n, std::span<const i32>(offsets, std::size_t(count + 1)), a,
                                  targets);
           },
           {}};
  const auto to = of_segments(begin_of_segment<T>{b, targets});
  t.add_peer("cub copy", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceCopy::Batched(storage, bytes, of_segments(begin_of_segment<const T>{in(s), offsets}), to,
                                    of_segments(size_of_segment{offsets, 1}), u32(count), stream());
  });
  t.add_peer("cub memcpy", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceMemcpy::Batched(storage, bytes, of_segments(begin_of_segment<const T>{in(s), offsets}), to,
                                      of_segments(size_of_segment{offsets, i32(sizeof(T))}), u32(count), stream());
  });
  t.fault = [=] { return difference_of(stream(), "elements", a, b, n); };
}
template <class T>
void reversed(trial& t) {
  t.draw_size(3 * sizeof(T) + 8);
  const segments_of segments(t, 50'000'000);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * sizeof(T) + 4.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n, pattern::random);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::segmented_reverse(device(), in(s), in(s) + n, std::span<const i32>(offsets, std::size_t(count + 1)),
                                     a);
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceCopy::Batched(storage, bytes, of_segments(end_of_segment<const T>{in(s), offsets}),
                                    of_segments(begin_of_segment<T>{b, offsets}),
                                    of_segments(size_of_segment{offsets, 1}), u32(count), stream());
  });
  t.fault = [=] { return difference_of(stream(), "elements", a, b, n); };
}

/// The element of a sorted segment that belongs to place i of k elements a segment; what pmpp has where the segment is shorter.
template <class T>
struct sorted_place {
  const T *sorted, *own;
  const i32* offsets;
  i64 k;
  PMPP_HOST_DEVICE T operator()(i64 i) const {
    const i64 s = i / k, at = offsets[s] + i % k;
    return at < offsets[s + 1] ? sorted[at] : own[i];
  }
};
/// The element at a place that pmpp has told.
template <class T>
struct told_place {
  const T *in, *own;
  const u32* places;
  const i32* offsets;
  i64 k;
  PMPP_HOST_DEVICE T operator()(i64 i) const {
    const i64 s = i / k;
    return offsets[s] + i % k < offsets[s + 1] ? in[offsets[s] + places[i]] : own[i];
  }
};
template <class T>
struct row_of_outputs {
  T* first;
  i64 k;
  __host__ __device__ T* operator()(i64 s) const { return first + s * k; }
};
/// CUB's sort of segments, and where it can be told that none is long its k greatest of each, in any order.
template <class T>
void greatest_of_each(trial& t) {
  t.draw_size(6 * sizeof(T) + 24, 100'000'000);
  const segments_of segments(t, 20'000'000);
  const i64 n = t.n, count = segments.count, k = t.draw.log_uniform(1, std::min<i64>(4096, 2 * segments.mean)),
            all = count * k;
  t.add(" the first " + std::to_string(k));
  t.set_bytes(double(n) * sizeof(T) + 4.0 * double(count) + double(std::min(all, n)) * (4 + sizeof(T)));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n);
  const auto [values_a, values_b] = t.outputs<T>(all);
  const auto [places_a, places_b] = t.outputs<u32>(all);
  T *const va = values_a, *const wanted = values_b, *const sorted = t.array_at<T>(n, 1, 0).first;
  u32 *const pa = places_a, *const sorted_places = t.array_at<u32>(n, 1, 0).first;
  const u32* const iota = t.computed<u32>(n, pmpp::identity{});
  t.own = {"pmpp",
           [=](int s) {
             pmpp::segmented_top_k(device(), in(s), in(s) + n, std::span<const i32>(offsets, std::size_t(count + 1)), k,
                                   va, pa);
           },
           {}};
  t.add_peer("cub sort", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedSort::SortPairsDescending(storage, bytes, in(s), sorted, iota, sorted_places, n, count,
                                                         offsets, offsets + 1, stream());
  });
#if __has_include(<cub/device/device_batched_topk.cuh>)
  constexpr int longest = 1 << 20;
  const bool short_ones = segments.kind == lengths::equal || segments.kind == lengths::uniform;
  if (short_ones && 2 * segments.mean + count < longest) {
    T* const vb = t.array_at<T>(all, 1, 0).first;
    u32* const pb = places_b;
    t.add_peer("cub top-k", [=](void* storage, std::size_t& bytes, int s) {
      namespace execution = cuda::execution;
      const auto any = execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                                          execution::output_ordering::unsorted);
      const auto sizes = of_segments(size_of_segment{offsets, 1});
      return cub::DeviceBatchedTopK::MaxPairs(
          storage, bytes, of_segments(begin_of_segment<const T>{in(s), offsets}), of_segments(row_of_outputs<T>{vb, k}),
          of_segments(begin_of_segment<const u32>{iota, offsets}), of_segments(row_of_outputs<u32>{pb, k}),
          cuda::args::deferred_sequence{sizes, cuda::args::bounds<0, longest>()},
          cuda::args::immediate{k, cuda::args::bounds<1, 4096>()}, cuda::args::immediate{count},
          cuda::std::execution::env{cuda::stream_ref{stream()}, any});
    });
  }
#endif
  t.fault = [=] {
    fill_by_index<<<1024, 256, 0, stream()>>>(wanted, all, sorted_place<T>{sorted, va, offsets, k});
    const std::string text = difference_of(stream(), "values", va, wanted, all);
    if (!text.empty()) return text;
    fill_by_index<<<1024, 256, 0, stream()>>>(wanted, all, told_place<T>{in(0), va, pa, offsets, k});
    return difference_of(stream(), "elements at the places", va, wanted, all);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("rows", argc, argv,
                    {{"segmented_exclusive_scan u32", scanned<u32>},
                     {"segmented_exclusive_scan f32", scanned<float>},
                     {"segmented_max_element f32", extreme<float, true>},
                     {"segmented_min_element i32", extreme<i32, false>},
                     {"segmented_copy u32", copied<u32>},
                     {"segmented_copy u8", copied<u8>},
                     {"segmented_reverse u32", reversed<u32>},
                     {"segmented_reverse u64", reversed<u64>},
                     {"segmented_top_k f32", greatest_of_each<float>}});
}
