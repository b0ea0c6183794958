// SPDX-License-Identifier: Apache-2.0
//
// Merges beside CUB's and Thrust's: pmpp enqueues; CUB with storage of its own; Thrust with its own
// allocator in the same stream. Device time. The whole result of the first window is compared with the host's.
//
// `n` counts the elements of the result; both inputs have half of them, unless the name says otherwise. Keys rise by
// random steps, so that the inputs alternate at random; `apart`: all of b comes after a.
#include <memory>
#include <string>

#include <cub/device/device_merge.cuh>
#include <thrust/execution_policy.h>
#include <thrust/merge.h>

#include <pmpp/merge.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// Twelve bytes, ordered by two of its numbers.
struct triple {
  std::uint32_t major, minor, tag;
  friend bool operator==(const triple&, const triple&) = default;
};
struct by_both {
  PMPP_HOST_DEVICE bool operator()(const triple& x, const triple& y) const {
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
  }
};

/// The elements of windows of n sorted keys: key i lies in [i * gap, (i + 1) * gap), and `first` above that.
template <class T>
struct rising {
  std::int64_t n, gap, first, salt;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const {
    const std::uint64_t step = bench::random_bits(i + salt) % static_cast<std::uint64_t>(gap);
    const std::uint64_t key = static_cast<std::uint64_t>(first + i % n * gap) + step;
    if constexpr (std::is_same_v<T, triple>)
      return {static_cast<std::uint32_t>(key / 8), static_cast<std::uint32_t>(key % 8), static_cast<std::uint32_t>(i)};
    else
      return static_cast<T>(key);
  }
};

template <class T>
bench::shared_array<T> values(std::int64_t count, rising<T> f) {
  auto a = bench::array<T>(pmpp::max(count, std::int64_t(1)));
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(bench::device(), i, i + count, a->data(), f);
  return a;
}

/// The inputs of a case, window after window.
template <class T>
struct inputs {
  std::int64_t count_a, count_b;
  bench::shared_array<T> a, b;

  inputs(int windows, std::int64_t n_a, std::int64_t n_b, bool apart) : count_a(n_a), count_b(n_b) {
    const auto gap = [&](std::int64_t n) {
      return (std::int64_t(1) << (apart ? 31 : 32)) / pmpp::max(n, std::int64_t(1));
    };
    a = values(windows * n_a, rising<T>{n_a, gap(n_a), 0, 0});
    b = values(windows * n_b, rising<T>{n_b, gap(n_b), apart ? std::int64_t(1) << 31 : 0, bench::second});
  }
  const T* a_of(int w) const { return a->data() + w * count_a; }
  const T* b_of(int w) const { return b->data() + w * count_b; }
};

template <class T, pmpp::merge_tuning Tuning = pmpp::merge_tuning{}, class Comp>
void add_merge(const std::string& name, std::int64_t n_a, std::int64_t n_b, Comp comp, bool apart = false) {
  const std::int64_t n = n_a + n_b;
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const inputs<T> in(windows, n_a, n_b, apart);
    const auto out = bench::array<T>(n);
    std::vector<T> wanted(static_cast<std::size_t>(n));
    const auto a = bench::on_host(in.a_of(0), n_a), b = bench::on_host(in.b_of(0), n_b);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin(), comp);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::merge<Tuning>(bench::device(), in.a_of(w), in.a_of(w) + n_a, in.b_of(w), in.b_of(w) + n_b,
                                           out->data(), comp);
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceMerge::MergeKeys(storage, bytes, in.a_of(w), n_a, in.b_of(w), n_b, out->data(),
                                                          comp, bench::here().stream);
                     })}};
    if (name == "keys/u32")
      s.contenders.push_back({"thrust", [=](int w) {
                                thrust::merge(thrust::cuda::par_nosync.on(bench::here().stream), in.a_of(w),
                                              in.a_of(w) + n_a, in.b_of(w), in.b_of(w) + n_b, out->data(), comp);
                              }});
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=, expected = std::make_shared<std::vector<T>>(std::move(wanted))] {
      return bench::on_host(static_cast<const T*>(out->data()), n) == *expected ? "" : "another sequence";
    };
    return s;
  });
}

template <class K, class V>
void add_pairs(const std::string& name, std::int64_t n_a) {
  const std::int64_t n = 2 * n_a;
  bench::add(name, n, 2.0 * double(n) * (sizeof(K) + sizeof(V)), [=](int windows) {
    const inputs<K> in(windows, n_a, n_a, false);
    const auto va = bench::random_array<V>(windows * n_a), vb = bench::random_array<V>(windows * n_a, bench::second);
    const auto keys = bench::array<K>(n);
    const auto payload = bench::array<V>(n);
    const auto ka = bench::on_host(in.a_of(0), n_a), kb = bench::on_host(in.b_of(0), n_a);
    const auto ha = bench::on_host(static_cast<const V*>(va->data()), n_a);
    const auto hb = bench::on_host(static_cast<const V*>(vb->data()), n_a);
    std::vector<V> wanted;
    for (std::size_t i = 0, j = 0; i + j < std::size_t(n);) {
      const bool of_b = i == ka.size() || (j < kb.size() && kb[j] < ka[i]);
      wanted.push_back(of_b ? hb[j++] : ha[i++]);
    }
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::merge_by_key(bench::device(), in.a_of(w), in.a_of(w) + n_a, va->data() + w * n_a,
                                          in.b_of(w), in.b_of(w) + n_a, vb->data() + w * n_a, keys->data(),
                                          payload->data());
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceMerge::MergePairs(storage, bytes, in.a_of(w), va->data() + w * n_a, n_a,
                                                           in.b_of(w), vb->data() + w * n_a, n_a, keys->data(),
                                                           payload->data(), pmpp::less{}, bench::here().stream);
                     })}};
    s.spoil = [=] {
      bench::spoil(keys);
      bench::spoil(payload);
    };
    s.fault = [=, expected = std::make_shared<std::vector<V>>(std::move(wanted))] {
      return bench::on_host(static_cast<const V*>(payload->data()), n) == *expected ? "" : "another sequence";
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
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const pmpp::less less;
  for (const std::int64_t n : powers(8, 26, 3)) add_merge<u32>("keys/u32", n, n, less);
  add_merge<u32>("keys/u32", 1 << 27, 1 << 27, less);
  for (const std::int64_t n : powers(20, 26, 6)) add_merge<u64>("keys/u64", n, n, less);
  for (const std::int64_t n : powers(20, 24, 4)) add_merge<triple>("keys/12 bytes", n, n, by_both{});
  for (const std::int64_t n : powers(20, 26, 6)) add_merge<u32>("keys/u32 apart", n, n, less, true);
  for (const std::int64_t n : powers(20, 26, 6)) add_merge<u32>("keys/u32 1:63", n / 32, 2 * n - n / 32, less);
  for (const std::int64_t n : powers(20, 26, 6)) add_pairs<u32, u32>("pairs/u32, u32", n);
#ifdef PMPP_BENCH_SWEEP
  for (const std::int64_t n : powers(20, 27, 7)) {
    add_merge<u32, pmpp::merge_tuning{.threads = 256}>("sweep/256 threads", n, n, less);
    add_merge<u32, pmpp::merge_tuning{.bytes = 68}>("sweep/17 items", n, n, less);
    add_merge<u32, pmpp::merge_tuning{.waves = 0}>("sweep/cuts first", n, n, less);
    add_merge<u32, pmpp::merge_tuning{.waves = 1000}>("sweep/cuts by blocks", n, n, less);
    add_merge<u32, pmpp::merge_tuning{.lanes = 2}>("sweep/cuts by two lanes", n, n, less);
  }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
