// SPDX-License-Identifier: Apache-2.0
//
// Orders and parts of them in a sweep: argsort, top_k and partial_sort_copy of any k, nth_element and partial_sort, beside CUB's radix sort,
// and its top-k where its CCCL has it (3.4; -DPMPP_CCCL_DIR=), which promises no order.
#include <cub/device/device_radix_sort.cuh>
#if __has_include(<cub/device/device_topk.cuh>)
#include <cub/device/device_topk.cuh>

#include <cuda/execution>
#include <cuda/stream>
#endif

#include <pmpp/nth_element.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k.hpp>

#include "sweep.hpp"

#include <cstring>
#include <span>
#include <string>

namespace {

using namespace sweep;

template <class T>
constexpr int bits_of_type = int(8 * sizeof(T));

template <class T>
void sorted_places(trial& t) {
  t.draw_size(2 * sizeof(T) + 28, 200'000'000);
  const i64 n = t.n;
  t.set_bytes(double(n) * (sizeof(T) + 4));
  const auto in = t.input<T>(n);
  const u32* const iota = t.computed<u32>(n, pmpp::identity{});
  const auto [mine, theirs] = t.outputs<u32>(n);
  u32 *const a = mine, *const b = theirs;
  T* const keys = t.array_at<T>(n, 1, 0).first;
  t.own = {"pmpp", [=](int s) { pmpp::argsort(device(), in(s), in(s) + n, a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, in(s), keys, iota, b, n, 0, bits_of_type<T>, stream());
  });
  t.fault = [=] { return difference_of(stream(), "places", a, b, n); };
}

#if __has_include(<cub/device/device_topk.cuh>)
/// How CUB's top-k is to be called: on the stream, with nothing promised.
auto in_any_order() {
  namespace execution = cuda::execution;
  return cuda::std::execution::env{
      cuda::stream_ref{stream()},
      execution::require(execution::determinism::not_guaranteed, execution::output_ordering::unsorted)};
}
#endif

/// CUB's sort tells what is right: it is stable, as equals come by their places here.
template <class T>
void greatest(trial& t) {
  t.draw_size(4 * sizeof(T) + 40, 200'000'000);
  const i64 n = t.n, k = t.draw.log_uniform(1, n);
  t.add(" the first " + std::to_string(k));
  t.set_bytes(double(n) * sizeof(T) + double(k) * (4 + sizeof(T)));
  const auto in = t.input<T>(n);
  const u32* const iota = t.computed<u32>(n, pmpp::identity{});
  const auto [values_a, values_b] = t.outputs<T>(n);
  const auto [places_a, places_b] = t.outputs<u32>(n);
  T *const va = values_a, *const vb = values_b;
  u32 *const pa = places_a, *const pb = places_b;
  t.own = {"pmpp", [=](int s) { pmpp::top_k(device(), in(s), in(s) + n, k, va, pa); }, {}};
  t.add_peer("cub sort", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in(s), vb, iota, pb, n, 0, bits_of_type<T>,
                                                     stream());
  });
#if __has_include(<cub/device/device_topk.cuh>)
  T* const vc = t.array_at<T>(k, 1, 0).first;
  u32* const pc = t.array_at<u32>(k, 1, 0).first;
  t.add_peer("cub top-k", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceTopK::MaxPairs(storage, bytes, in(s), vc, iota, pc, n, k, in_any_order());
  });
#endif
  t.fault = [=] {
    const std::string text = difference_of(stream(), "values", va, vb, k);
    return text.empty() ? difference_of(stream(), "places", pa, pb, k) : text;
  };
}
template <class T>
void least(trial& t) {
  t.draw_size(5 * sizeof(T) + 8, 200'000'000);
  const i64 n = t.n, k = t.draw.log_uniform(1, n);
  t.add(" the first " + std::to_string(k));
  t.set_bytes(double(n + k) * sizeof(T));
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {
      "pmpp", [=](int s) { pmpp::partial_sort_copy(device(), in(s), in(s) + n, std::span<T>(a, std::size_t(k))); }, {}};
  t.add_peer("cub sort", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, in(s), b, n, 0, bits_of_type<T>, stream());
  });
#if __has_include(<cub/device/device_topk.cuh>)
  T* const c = t.array_at<T>(k, 1, 0).first;
  t.add_peer("cub top-k", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceTopK::MinKeys(storage, bytes, in(s), c, n, k, in_any_order());
  });
#endif
  t.fault = [=] { return difference_of(stream(), "elements", a, b, k); };
}

/// Of an array in which the element at a place is to be in order: how many lie on the wrong side of it, and a sum that is the same for the
/// same elements, in whatever order.
struct judgement {
  unsigned long long misplaced = 0, sum = 0;
};
template <class T>
__global__ void judge(const T* x, i64 n, i64 place, judgement* found) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  const T middle = x[place];
  judgement own;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads) {
    u64 bits = 0;
    memcpy(&bits, &x[i], sizeof(T));
    own.sum += bits_of(bits);
    own.misplaced += i < place ? middle < x[i] : x[i] < middle;
  }
  atomicAdd(&found->misplaced, own.misplaced);
  atomicAdd(&found->sum, own.sum);
}
template <class T>
judgement judged(const T* x, i64 n, i64 place) {
  pmpp::device_buffer<judgement> found(1, judgement{});
  judge<<<1024, 256, 0, stream()>>>(x, n, place, found.data());
  pmpp::check(cudaGetLastError(), "judge");
  return pmpp::to_host(stream(), found)[0];
}
/// nth_element, or partial_sort of all up to that place; each call gets a copy of the input. CUB has a sort alone.
template <class T, bool Sorts>
void parted(trial& t) {
  t.draw_size(5 * sizeof(T) + 8, 200'000'000);
  const i64 n = t.n, place = t.draw.chance(0.3) ? t.draw.log_uniform(1, n) - 1 : t.draw.below(n);
  t.add(" at " + std::to_string(place));
  t.set_bytes(2.0 * double(n) * sizeof(T));
  t.back_to_back = false;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int) {
             if constexpr (Sorts)
               pmpp::partial_sort(device(), a, a + (place + 1), a + n);
             else
               pmpp::nth_element(device(), a, a + place, a + n);
           },
           [=](int s) {
             pmpp::check(cudaMemcpyAsync(a, in(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
                         "cudaMemcpyAsync");
           }};
  t.add_peer("cub sort", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, in(s), b, n, 0, bits_of_type<T>, stream());
  });
  t.fault = [=]() -> std::string {
    const judgement own = judged<T>(a, n, place), peer = judged<T>(b, n, place);
    if (own.misplaced > 0) return std::to_string(own.misplaced) + " elements on the wrong side";
    if (own.sum != peer.sum) return "other elements than there were";
    const i64 first = Sorts ? 0 : place;
    return difference_of(stream(), "elements", a + first, b + first, place + 1 - first);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("order", argc, argv,
                    {{"argsort u32", sorted_places<u32>},
                     {"argsort f32", sorted_places<float>},
                     {"argsort u64", sorted_places<u64>},
                     {"top_k f32, any k", greatest<float>},
                     {"top_k u32, any k", greatest<u32>},
                     {"partial_sort_copy f32", least<float>},
                     {"partial_sort_copy u32", least<u32>},
                     {"nth_element u32", parted<u32, false>},
                     {"nth_element f32", parted<float, false>},
                     {"nth_element u64", parted<u64, false>},
                     {"partial_sort f32", parted<float, true>}});
}
