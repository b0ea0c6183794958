// SPDX-License-Identifier: Apache-2.0
//
// nth_element and partial_sort beside CUB's radix sort, as CUB and Thrust have neither; device time. pmpp works in place, with a
// workspace, on data that the sample before has put in order around the same place: it reads a sample and all elements again, whatever
// their order.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <cub/device/device_radix_sort.cuh>

#include <pmpp/nth_element.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// own(first, middle, last) beside a sort of as many; the element before the middle is checked.
template <class T, class Own>
void add_part(const std::string& name, std::int64_t n, std::int64_t middle, Own own) {
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * n), data = bench::random_array<T>(windows * n);
    const auto out = bench::array<T>(n);
    auto host = bench::on_host(static_cast<const T*>(in->data()), n);
    std::nth_element(host.begin(), host.begin() + middle, host.end());
    const T wanted = host[std::size_t(middle)];
    const auto found = std::make_shared<const T*>();
    const auto storage = std::make_shared<pmpp::device_buffer<unsigned char>>();
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       T* const first = data->data() + w * n;
                       own(first, first + middle, first + n);
                       *found = data->data();
                     }},
                    {"cub", [=](int w) {
                       std::size_t bytes = 0;
                       const auto call = [&](void* at) {
                         pmpp::check(cub::DeviceRadixSort::SortKeys(at, bytes, in->data() + w * n, out->data(), n, 0,
                                                                    8 * int(sizeof(T)), bench::here().stream),
                                     "SortKeys");
                       };
                       call(nullptr);
                       if (storage->size() < bytes) *storage = pmpp::device_buffer<unsigned char>(bytes);
                       call(storage->data());
                       *found = out->data();
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      const T got = bench::on_host(*found + middle, 1)[0];
      return got == wanted ? "" : "another element at the place asked for";
    };
    return s;
  });
}

template <class T>
void add_type(const std::string& type) {
  for (const int power : {20, 24, 28}) {
    const std::int64_t n = std::int64_t(1) << power;
    const auto nth = [](T* first, T* middle, T* last) { pmpp::nth_element(bench::device(), first, middle, last); };
    add_part<T>("nth_element/" + type + ", first", n, 0, nth);
    add_part<T>("nth_element/" + type + ", third", n, n / 3, nth);
    add_part<T>("nth_element/" + type + ", middle", n, n / 2, nth);
    add_part<T>("nth_element/" + type + ", last", n, n - 1, nth);
    for (const std::int64_t part : {n / 100, n / 10})
      add_part<T>("partial_sort/" + type + ", 1 of " + std::to_string(n / part), n, part - 1,
                  [](T* first, T* middle, T* last) { pmpp::partial_sort(bench::device(), first, middle + 1, last); });
  }
}

void add_cases() {
  add_type<float>("f32");
  add_type<std::uint64_t>("u64");
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
