// SPDX-License-Identifier: Apache-2.0
//
// Many pieces copied in one call, beside cub::DeviceMemcpy::Batched; three ways of a partition, beside cub::DevicePartition::If.
//
// Declared bytes: every piece read once and written once; every element read once and written once.
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_partition.cuh>

#include <pmpp/segmented_copy.hpp>
#include <pmpp/three_way_partition.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using bench::subject;
using u32 = std::uint32_t;
using byte = unsigned char;

/// Storage that CUB's calls ask for, which grows.
template <class Call>
void with_storage(pmpp::device_buffer<byte>& storage, const char* name, const Call& call) {
  std::size_t bytes = 0;
  pmpp::check(call(nullptr, bytes), name);
  if (storage.size() < bytes) storage = pmpp::device_buffer<byte>(bytes);
  pmpp::check(call(storage.data(), bytes), name);
}

enum class sizes { small, kilobytes, large, mixed };
/// The bytes of piece i, at most 2^24.
std::int64_t size_of(sizes kind, std::int64_t i) {
  const auto bits = static_cast<std::int64_t>(bench::random_bits(i) >> 1);
  switch (kind) {
    case sizes::small:
      return bits % 64;
    case sizes::kilobytes:
      return 512 + bits % 1024;
    case sizes::large:
      return (std::int64_t(1) << 23) + bits % 4096 * 1024;
    case sizes::mixed:
      return bits % 1000 == 0 ? std::int64_t(1) << 20 : bits % 100;
  }
  return 0;
}

/// Pieces of `total` bytes in all, next to each other: at any address, and in another place relative to words where `shift` is not 0.
void add_pieces(const std::string& name, sizes kind, std::int64_t total, std::int64_t shift) {
  std::vector<std::int64_t> begins;
  std::vector<u32> bytes;
  std::int64_t end = 0;
  for (std::int64_t i = 0; end < total; ++i) {
    begins.push_back(end);
    bytes.push_back(static_cast<u32>(std::min(total - end, size_of(kind, i))));
    end += bytes.back();
  }
  bench::add("copy_batched/" + name, std::int64_t(bytes.size()), 2.0 * double(total), [=](int windows) {
    const auto in = bench::random_array<byte>(windows * total + 16);
    const auto out = bench::array<byte>(total + 16);
    const auto pieces = std::int64_t(bytes.size());
    std::vector<const byte*> from;
    std::vector<byte*> to;
    for (int w = 0; w < windows; ++w)
      for (const std::int64_t begin : begins) from.push_back(in->data() + w * total + begin);
    for (const std::int64_t begin : begins) to.push_back(out->data() + shift + begin);
    const auto sources = std::make_shared<pmpp::device_buffer<const byte*>>(from);
    const auto targets = std::make_shared<pmpp::device_buffer<byte*>>(to);
    const auto lengths = std::make_shared<pmpp::device_buffer<u32>>(bytes);
    const auto storage = std::make_shared<pmpp::device_buffer<byte>>();
    const auto wanted = std::make_shared<std::vector<byte>>();
    subject s;
    s.contenders = {{"pmpp",
                     [=, keeps = in](int w) {  // what the pointers point into
                       const byte* const* const p = sources->data() + w * pieces;
                       pmpp::copy_batched(bench::device(), p, p + pieces, *targets, *lengths);
                     }},
                    {"cub", [=](int w) {
                       const auto call = [&](void* at, std::size_t& needed) {
                         return cub::DeviceMemcpy::Batched(at, needed, sources->data() + w * pieces, targets->data(),
                                                           lengths->data(), pieces, bench::here().stream);
                       };
                       with_storage(*storage, "DeviceMemcpy::Batched", call);
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      auto got = bench::on_host(static_cast<const byte*>(out->data() + shift), total);
      if (wanted->empty())
        *wanted = std::move(got);
      else if (got != *wanted)
        return "another result than the contender's before";
      return "";
    };
    return s;
  });
}

struct below {
  u32 limit;
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x < limit; }
};
struct above {
  u32 limit;
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x > limit; }
};
/// CUB writes what is left backwards.
void add_three_ways(std::int64_t n) {
  bench::add("three_way_partition/u32", n, 2.0 * double(n) * sizeof(u32), [=](int windows) {
    const auto in = bench::random_array<u32>(windows * n);
    const auto a = bench::array<u32>(n), b = bench::array<u32>(n), c = bench::array<u32>(n);
    const auto counts = bench::array<u32>(2);
    const auto storage = std::make_shared<pmpp::device_buffer<byte>>();
    const auto wanted = std::make_shared<std::vector<u32>>();
    const below low{u32(1) << 30};
    const above high{u32(3) << 30};
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       const u32* const x = in->data() + w * n;
                       pmpp::three_way_partition_copy_into(bench::device(), x, x + n, a->data(), b->data(), c->data(),
                                                           counts->data(), low, high);
                     }},
                    {"cub", [=](int w) {
                       const auto call = [&](void* at, std::size_t& needed) {
                         return cub::DevicePartition::If(at, needed, in->data() + w * n, a->data(), b->data(),
                                                         c->data(), counts->data(), n, low, high, bench::here().stream);
                       };
                       with_storage(*storage, "DevicePartition::If", call);
                     }}};
    s.spoil = [=] {
      bench::spoil(a);
      bench::spoil(b);
      bench::spoil(counts);
    };
    s.fault = [=]() -> std::string {
      const auto found = bench::on_host(static_cast<const u32*>(counts->data()), 2);
      if (std::int64_t(found[0]) + found[1] > n) return "more elements than there are";
      auto got = bench::on_host(static_cast<const u32*>(a->data()), found[0]);
      const auto more = bench::on_host(static_cast<const u32*>(b->data()), found[1]);
      got.insert(got.end(), more.begin(), more.end());
      if (wanted->empty())
        *wanted = std::move(got);
      else if (got != *wanted)
        return "another result than the contender's before";
      return "";
    };
    return s;
  });
}

void add_cases() {
  const std::int64_t total = std::int64_t(1) << 28;
  add_pieces("below 64 bytes", sizes::small, total / 8, 0);
  add_pieces("about 1 KiB", sizes::kilobytes, total, 0);
  add_pieces("about 1 KiB, shifted by 3", sizes::kilobytes, total, 3);
  add_pieces("about 10 MiB", sizes::large, total, 0);
  add_pieces("mixed", sizes::mixed, total, 0);
  for (const int power : {20, 26}) add_three_ways(std::int64_t(1) << power);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
