// SPDX-License-Identifier: Apache-2.0
//
// Sorts of a sweep: pmpp's public calls, in place, beside CUB's radix sort into another array and its merge sort in
// place. The copy that a sort in place begins with is not timed.
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <pmpp/sort.hpp>

#include "sweep.hpp"

namespace {

using namespace sweep;

/// One copy of the input for each of the calls back to back.
template <class T>
slots<T> working_copies(trial& t, i64 n) {
  return t.array_at<T>(n, t.calls(), 0);
}
template <class T>
void copy(slots<T> from, slots<T> to, i64 n, int s) {
  pmpp::check(cudaMemcpyAsync(to(s), from(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
              "a copy");
}

template <class T>
void radix_keys(trial& t) {
  t.draw_size(5 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n);
  const auto work = working_copies<T>(t, n);
  T* const out = t.array_at<T>(n, 1, 0).first;
  t.own = {"pmpp", [=](int s) { pmpp::sort(device(), work(s), work(s) + n); }, [=](int s) { copy(in, work, n, s); }};
  t.add_peer("cub radix", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, static_cast<const T*>(in(s)), out, n, 0, int(8 * sizeof(T)),
                                          stream());
  });
  t.fault = [=] {
    return difference_of(stream(), "sorted", static_cast<const T*>(work(0)), static_cast<const T*>(out), n);
  };
}
template <class K, class V>
void radix_pairs(trial& t) {
  t.draw_size(5 * (sizeof(K) + sizeof(V)));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * (sizeof(K) + sizeof(V)));
  const auto keys = t.input<K>(n);
  const auto values = t.input<V>(n, pattern::random);
  const auto work_keys = working_copies<K>(t, n);
  const auto work_values = working_copies<V>(t, n);
  K* const keys_out = t.array_at<K>(n, 1, 0).first;
  V* const values_out = t.array_at<V>(n, 1, 0).first;
  t.own = {"pmpp", [=](int s) { pmpp::sort_by_key(device(), work_keys(s), work_keys(s) + n, work_values(s)); },
           [=](int s) {
             copy(keys, work_keys, n, s);
             copy(values, work_values, n, s);
           }};
  t.add_peer("cub radix", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, static_cast<const K*>(keys(s)), keys_out,
                                           static_cast<const V*>(values(s)), values_out, n, 0, int(8 * sizeof(K)),
                                           stream());
  });
  t.fault = [=] {
    const auto text =
        difference_of(stream(), "keys", static_cast<const K*>(work_keys(0)), static_cast<const K*>(keys_out), n);
    return text.empty() ? difference_of(stream(), "values", static_cast<const V*>(work_values(0)),
                                        static_cast<const V*>(values_out), n)
                        : text;
  };
}
template <class T, class Comp>
void compared(trial& t) {
  t.draw_size(6 * sizeof(T), 100'000'000);
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n);
  const auto work = working_copies<T>(t, n), work_of_peer = working_copies<T>(t, n);
  t.own = {"pmpp", [=](int s) { pmpp::sort(device(), work(s), work(s) + n, Comp{}); },
           [=](int s) { copy(in, work, n, s); }};
  t.add_peer(
      "cub merge",
      [=](void* storage, std::size_t& bytes, int s) {
        return cub::DeviceMergeSort::StableSortKeys(storage, bytes, work_of_peer(s), n, Comp{}, stream());
      },
      [=](int s) { copy(in, work_of_peer, n, s); });
  t.fault = [=] {
    return difference_of(stream(), "sorted", static_cast<const T*>(work(0)), static_cast<const T*>(work_of_peer(0)), n);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("sort", argc, argv,
                    {{"u8", radix_keys<u8>},
                     {"u16", radix_keys<u16>},
                     {"u32", radix_keys<u32>},
                     {"u64", radix_keys<u64>},
                     {"f32", radix_keys<float>},
                     {"u32, u32", radix_pairs<u32, u32>},
                     {"u64, u32", radix_pairs<u64, u32>},
                     {"u32 by a comparator", compared<u32, precedes>},
                     {"16 bytes by the first word", compared<words<4>, by_first_word>}});
}
