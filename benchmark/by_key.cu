// SPDX-License-Identifier: Apache-2.0
//
// Scans by key and unique_by_key beside CUB's, on the device's clock; u32 keys and values, in runs of a few keys and of thousands.
//
// Declared bytes: keys and values read once, results written once; of unique_by_key, whose runs are of four, a quarter of both.
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <pmpp/by_key.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#include <memory>
#include <string>

namespace {

using bench::u32;

struct key_of {
  std::int64_t run;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const { return static_cast<u32>(bench::random_bits(i / run)); }
};

/// A call of CUB's, with storage that grows.
template <class Call>
void with_storage(pmpp::device_buffer<unsigned char>& storage, const char* name, const Call& call) {
  std::size_t bytes = 0;
  pmpp::check(call(nullptr, bytes), name);
  if (storage.size() < bytes) storage = pmpp::device_buffer<unsigned char>(bytes);
  pmpp::check(call(storage.data(), bytes), name);
}

void add_cases() {
  const auto storage = std::make_shared<pmpp::device_buffer<unsigned char>>();
  for (const int power : {16, 20, 26})
    for (const std::int64_t run : {4, 5000}) {
      const std::int64_t n = std::int64_t(1) << power;
      const double three = 3.0 * double(n) * sizeof(u32);
      const std::string length = run == 4 ? ", runs of 4" : ", runs of 5000";
      bench::add_move(
          "inclusive_scan_by_key/u32" + length, n, three, key_of{run}, "cub",
          [](const u32* in, const u32* keys, std::int64_t m, u32* out) {
            pmpp::inclusive_scan_by_key(bench::device(), keys, keys + m, in, out);
          },
          [=](const u32* in, const u32* keys, std::int64_t m, u32* out) {
            with_storage(*storage, "InclusiveSumByKey", [&](void* at, std::size_t& bytes) {
              return cub::DeviceScan::InclusiveSumByKey(at, bytes, keys, in, out, m, cuda::std::equal_to<>{},
                                                        bench::here().stream);
            });
          });
      bench::add_move(
          "exclusive_scan_by_key/u32" + length, n, three, key_of{run}, "cub",
          [](const u32* in, const u32* keys, std::int64_t m, u32* out) {
            pmpp::exclusive_scan_by_key(bench::device(), keys, keys + m, in, out);
          },
          [=](const u32* in, const u32* keys, std::int64_t m, u32* out) {
            with_storage(*storage, "ExclusiveSumByKey", [&](void* at, std::size_t& bytes) {
              return cub::DeviceScan::ExclusiveSumByKey(at, bytes, keys, in, out, m, cuda::std::equal_to<>{},
                                                        bench::here().stream);
            });
          });
    }
  for (const int power : {20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    const auto kept = bench::array<u32>(n);
    const auto count = bench::array<u32>(1);
    bench::add_move(
        "unique_by_key/u32, runs of 4", n, 2.5 * double(n) * sizeof(u32), key_of{4}, "cub",
        [=](const u32* in, const u32* keys, std::int64_t m, u32* out) {
          pmpp::unique_by_key_into(bench::device(), keys, keys + m, in, kept->data(), out, count->data());
        },
        [=](const u32* in, const u32* keys, std::int64_t m, u32* out) {
          with_storage(*storage, "UniqueByKey", [&](void* at, std::size_t& bytes) {
            return cub::DeviceSelect::UniqueByKey(at, bytes, keys, in, kept->data(), out, count->data(), m,
                                                  bench::here().stream);
          });
        });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
