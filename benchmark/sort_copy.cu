// SPDX-License-Identifier: Apache-2.0
//
// sort_copy and sort_by_key_copy beside CUB's radix sorts, which leave their input as it is too: pmpp enqueues with a workspace, CUB
// with storage of its own; device time. The whole result of the first window is compared with the host's.
#include <memory>
#include <string>

#include <cub/device/device_radix_sort.cuh>

#include <pmpp/sort_copy.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/numbers.hpp"
#include "support/report.hpp"

namespace {

using bench::any_bits;
using bench::rising;
using bench::subject;
using u32 = std::uint32_t;

template <class T>
void add_sort(const std::string& name, std::int64_t n) {
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::numbers<T, any_bits>(windows * n);
    const auto out = bench::array<T>(n);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    const auto wanted = std::make_shared<std::vector<T>>(bench::on_host(window(0), n));
    pmpp::sort(pmpp::host, *wanted);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { pmpp::sort_copy(bench::device(), window(w), window(w) + n, out->data()); }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceRadixSort::SortKeys(storage, bytes, window(w), out->data(), n, 0,
                                                             int(8 * sizeof(T)), bench::here().stream);
                     })}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return bench::on_host(static_cast<const T*>(out->data()), n) == *wanted ? "" : "another sequence";
    };
    return s;
  });
}

template <class K>
void add_pairs(const std::string& name, std::int64_t n) {
  bench::add(name, n, 2.0 * double(n) * (sizeof(K) + sizeof(u32)), [=](int windows) {
    const auto keys = bench::numbers<K, any_bits>(windows * n);
    const auto values = bench::numbers<u32, rising>(windows * n);
    const auto keys_out = bench::array<K>(n);
    const auto values_out = bench::array<u32>(n);
    const auto window = [=](int w) { return static_cast<const K*>(keys->data()) + w * n; };
    const auto with = [=](int w) { return static_cast<const u32*>(values->data()) + w * n; };
    auto wanted_keys = bench::on_host(window(0), n);
    const auto wanted = std::make_shared<std::vector<u32>>(bench::on_host(with(0), n));
    pmpp::sort_by_key(pmpp::host, wanted_keys, *wanted);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::sort_by_key_copy(bench::device(), window(w), window(w) + n, with(w), keys_out->data(),
                                              values_out->data());
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceRadixSort::SortPairs(storage, bytes, window(w), keys_out->data(), with(w),
                                                              values_out->data(), n, 0, int(8 * sizeof(K)),
                                                              bench::here().stream);
                     })}};
    s.spoil = [=] { bench::spoil(values_out); };
    s.fault = [=] {
      return bench::on_host(static_cast<const u32*>(values_out->data()), n) == *wanted ? "" : "another sequence";
    };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_sort<u32>("sort_copy/u32", n);
    add_sort<double>("sort_copy/f64", n);
    add_pairs<u32>("sort_by_key_copy/u32+u32", n);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
