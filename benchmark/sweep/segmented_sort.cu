// SPDX-License-Identifier: Apache-2.0
//
// Sorts of segments in a sweep: pmpp's public calls, in place, beside CUB's into another array. The copy that a sort in
// place begins with is not timed.
#include <cub/device/device_segmented_sort.cuh>

#include <pmpp/segmented_sort.hpp>

#include "segments.hpp"
#include "sweep.hpp"

namespace {

using namespace sweep;

template <class T>
void copy(slots<T> from, slots<T> to, i64 n, int s) {
  pmpp::check(cudaMemcpyAsync(to(s), from(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
              "a copy");
}

template <class T>
void sorted_keys(trial& t) {
  t.draw_size(5 * sizeof(T) + 4, 100'000'000);
  const segments_of segments(t);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * sizeof(T) + 4.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n);
  const auto work = t.array_at<T>(n, t.calls(), 0);
  T* const out = t.array_at<T>(n, 1, 0).first;
  t.own = {"pmpp", [=](int s) { pmpp::segmented_sort(device(), work(s), work(s) + n, offsets, offsets + count + 1); },
           [=](int s) { copy(in, work, n, s); }};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedSort::SortKeys(storage, bytes, static_cast<const T*>(in(s)), out, n, count, offsets,
                                              offsets + 1, stream());
  });
  t.fault = [=] {
    return difference_of(stream(), "sorted", static_cast<const T*>(work(0)), static_cast<const T*>(out), n);
  };
}
template <class K, class V>
void pairs(trial& t) {
  t.draw_size(5 * (sizeof(K) + sizeof(V)) + 4, 100'000'000);
  const segments_of segments(t);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * (sizeof(K) + sizeof(V)) + 4.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<K>(n);
  const auto values = t.input<V>(n, pattern::random);
  const auto work = t.array_at<K>(n, t.calls(), 0);
  const auto work_values = t.array_at<V>(n, t.calls(), 0);
  K* const out = t.array_at<K>(n, 1, 0).first;
  V* const values_out = t.array_at<V>(n, 1, 0).first;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::segmented_sort_by_key(device(), work(s), work(s) + n, work_values(s),
                                         std::span(offsets, std::size_t(count + 1)));
           },
           [=](int s) {
             copy(in, work, n, s);
             copy(values, work_values, n, s);
           }};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedSort::StableSortPairs(storage, bytes, static_cast<const K*>(in(s)), out,
                                                     static_cast<const V*>(values(s)), values_out, n, count, offsets,
                                                     offsets + 1, stream());
  });
  t.fault = [=] {
    const auto text = difference_of(stream(), "keys", static_cast<const K*>(work(0)), static_cast<const K*>(out), n);
    return text.empty() ? difference_of(stream(), "values", static_cast<const V*>(work_values(0)),
                                        static_cast<const V*>(values_out), n)
                        : text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("segmented_sort", argc, argv,
                    {{"u32", sorted_keys<u32>},
                     {"f32", sorted_keys<float>},
                     {"u64", sorted_keys<u64>},
                     {"u32, u32", pairs<u32, u32>}});
}
