// SPDX-License-Identifier: Apache-2.0
//
// Runs of equal keys in a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>

#include <pmpp/segmented.hpp>

#include "sweep.hpp"

#include <string>

namespace {

using namespace sweep;

template <class T>
slots<T> keys_in_runs(trial& t, i64 n) {
  return t.input<T>(n, t.draw.one_of({pattern::runs, pattern::runs, pattern::runs, pattern::sorted, pattern::few_values,
                                      pattern::random}));
}

template <class K, class V>
void by_key(trial& t) {
  t.draw_size(3 * (sizeof(K) + sizeof(V)));
  const i64 n = t.n;
  t.set_bytes(1.1 * double(n) * (sizeof(K) + sizeof(V)));
  const auto keys = keys_in_runs<K>(t, n);
  const auto values = t.input<V>(n, pattern::random);
  const auto [keys_a, keys_b] = t.outputs<K>(n);
  const auto [values_a, values_b] = t.outputs<V>(n);
  i64 *const count_a = t.array_at<i64>(1, 1, 0).first, *const count_b = t.array_at<i64>(1, 1, 0).first;
  K *const ka = keys_a, *const kb = keys_b;
  V *const va = values_a, *const vb = values_b;
  t.own = {
      "pmpp", [=](int s) { pmpp::reduce_by_key_into(device(), keys(s), keys(s) + n, values(s), ka, va, count_a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceReduce::ReduceByKey(storage, bytes, keys(s), kb, values(s), vb, count_b, cuda::std::plus<>{}, n,
                                          stream());
  });
  t.fault = [=]() -> std::string {
    i64 runs = 0;
    std::string text = difference_of_counts(stream(), "numbers of runs", count_a, count_b, runs);
    if (text.empty()) text = difference_of(stream(), "keys", ka, kb, runs);
    if (text.empty()) text = difference_of(stream(), "sums", va, vb, runs, is_float<V> ? double(n) : 1);
    return text;
  };
}
template <class T>
void run_lengths(trial& t) {
  t.draw_size(3 * sizeof(T) + 8);
  const i64 n = t.n;
  t.set_bytes(1.1 * double(n) * sizeof(T));
  const auto in = keys_in_runs<T>(t, n);
  const auto [mine, theirs] = t.outputs<T>(n);
  const auto [lengths_a, lengths_b] = t.outputs<i32>(n);
  i64 *const count_a = t.array_at<i64>(1, 1, 0).first, *const count_b = t.array_at<i64>(1, 1, 0).first;
  T *const a = mine, *const b = theirs;
  i32 *const la = lengths_a, *const lb = lengths_b;
  t.own = {"pmpp", [=](int s) { pmpp::run_length_encode_into(device(), in(s), in(s) + n, a, la, count_a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceRunLengthEncode::Encode(storage, bytes, in(s), b, lb, count_b, int(n), stream());
  });
  t.fault = [=]() -> std::string {
    i64 runs = 0;
    std::string text = difference_of_counts(stream(), "numbers of runs", count_a, count_b, runs);
    if (text.empty()) text = difference_of(stream(), "values", a, b, runs);
    if (text.empty()) text = difference_of(stream(), "lengths", la, lb, runs);
    return text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("runs", argc, argv,
                    {{"reduce_by_key u32, f32", by_key<u32, float>},
                     {"reduce_by_key u64, f64", by_key<u64, double>},
                     {"reduce_by_key i32, i32", by_key<i32, i32>},
                     {"reduce_by_key u8, u32", by_key<u8, u32>},
                     {"reduce_by_key u64, u32", by_key<u64, u32>},
                     {"run_length_encode u8", run_lengths<u8>},
                     {"run_length_encode u32", run_lengths<u32>},
                     {"run_length_encode u64", run_lengths<u64>}});
}
