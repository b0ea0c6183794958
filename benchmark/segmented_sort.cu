// SPDX-License-Identifier: Apache-2.0
//
// Sorts of segments beside CUB's: pmpp enqueues with a workspace, CUB with storage of its own; device time.
//
//   LENGTH      segments of as many elements
//   any to M    lengths from 0 to M
//   power law   segment s has about 1 / (s + 1) of a constant; all orders of length, the long ones first
//   1xN         one segment of everything
//   huge, tiny  one segment with half of the elements among segments of 0 to 8
//
// pmpp::segmented_sort works in place; so that every sample sorts the same unsorted data, what is timed here is the same
// call with another array as its input, as CUB's function has it. The whole result of the first window is compared with
// the host's.
#include <memory>
#include <string>

#include <cub/device/device_segmented_sort.cuh>

#include <pmpp/segmented_sort.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;
using u32 = std::uint32_t;

/// Offsets of n elements whose segments have lengths length(s); the last one has what is left.
template <class Length>
std::vector<std::int32_t> offsets_of(std::int64_t n, Length length) {
  std::vector<std::int32_t> offsets{0};
  for (std::int64_t s = 0, end = 0; end < n; ++s) {
    end = std::min<std::int64_t>(n, end + length(s));
    offsets.push_back(static_cast<std::int32_t>(end));
  }
  return offsets;
}

std::vector<std::int32_t> offsets_of(const std::string& shape, std::int64_t n) {
  const auto below = [](std::int64_t s, std::int64_t m) {
    return static_cast<std::int64_t>(bench::random_bits(s) % static_cast<std::uint64_t>(m));
  };
  if (shape == "1xN") return {0, static_cast<std::int32_t>(n)};
  if (shape == "power law")
    return offsets_of(n, [=](std::int64_t s) { return static_cast<std::int64_t>(double(n) / 20 / double(s + 1)) + 4; });
  if (shape == "huge, tiny") return offsets_of(n, [=](std::int64_t s) { return s == n / 16 ? n / 2 : below(s, 9); });
  if (shape.starts_with("any to ")) {
    const std::int64_t most = std::stoll(shape.substr(7));
    return offsets_of(n, [=](std::int64_t s) { return below(s, most + 1); });
  }
  const std::int64_t length = std::stoll(shape);
  return offsets_of(n, [=](std::int64_t) { return length; });
}

struct any_bits {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const { return static_cast<u32>(bench::random_bits(i)); }
};

template <pmpp::segmented_sort_tuning Tuning = pmpp::segmented_sort_tuning{}, class Comp = pmpp::less>
void add_sort(const std::string& name, const std::string& shape, std::int64_t n, Comp comp = {}, bool by_key = false) {
  const double bytes = 8.0 * double(n) * (by_key ? 2 : 1) + 4.0 * double(offsets_of(shape, n).size());
  bench::add(name + "/" + shape, n, bytes, [=](int windows) {
    const auto offsets = std::make_shared<std::vector<std::int32_t>>(offsets_of(shape, n));
    const auto at = std::make_shared<pmpp::device_buffer<std::int32_t>>(*offsets);
    const auto segments = static_cast<std::int64_t>(offsets->size()) - 1;
    const auto in = bench::array<u32>(windows * n), out = bench::array<u32>(n);
    const auto values = bench::array<u32>(by_key ? n : 1), values_out = bench::array<u32>(by_key ? n : 1);
    const pmpp::counting_iterator<std::int64_t> i(0);
    pmpp::transform(bench::device(), i, i + windows * n, in->data(), any_bits{});
    if (by_key) pmpp::iota(bench::device(), *values, u32(0));
    const auto window = [=](int w) { return static_cast<const u32*>(in->data()) + w * n; };
    auto wanted = std::make_shared<std::vector<u32>>(bench::on_host(window(0), n));
    pmpp::segmented_sort(pmpp::host, *wanted, *offsets);
    const auto places = pmpp::detail::input_of("segmented_sort", *at);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       if (by_key)
                         pmpp::detail::segmented_sort_on_blocks<Tuning, pmpp::pair<u32, u32>>(
                             bench::device(), pmpp::zip_iterator{window(w), static_cast<const u32*>(values->data())},
                             pmpp::zip_iterator{out->data(), values_out->data()}, pmpp::detail::item_count{n}, places,
                             pmpp::detail::by_first<Comp>{comp});
                       else
                         pmpp::detail::segmented_sort_on_blocks<Tuning, u32>(bench::device(), window(w), out->data(),
                                                                             pmpp::detail::item_count{n}, places, comp);
                     }}};
    s.contenders.push_back({"cub", bench::with_storage([=](void* storage, std::size_t& bytes_needed, int w) {
                              const auto stream = bench::here().stream.handle();
                              if (by_key)
                                return cub::DeviceSegmentedSort::StableSortPairs(
                                    storage, bytes_needed, window(w), out->data(), values->data(), values_out->data(),
                                    n, segments, at->data(), at->data() + 1, stream);
                              return cub::DeviceSegmentedSort::SortKeys(storage, bytes_needed, window(w), out->data(),
                                                                        n, segments, at->data(), at->data() + 1,
                                                                        stream);
                            })});
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return bench::on_host(out->data(), n) == *wanted ? "" : "another sequence"; };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    for (const char* shape : {"4", "16", "64", "256", "1000", "4096", "16384", "262144", "any to 32", "any to 100",
                              "any to 2000", "power law", "1xN", "huge, tiny"})
      add_sort("segmented sort/u32", shape, n);
  }
  for (const char* shape : {"16", "64", "256", "4096", "any to 100", "any to 2000", "power law", "1xN", "huge, tiny"})
    add_sort("segmented sort/pairs u32, u32", shape, std::int64_t(1) << 26, pmpp::less{}, true);
#ifdef PMPP_BENCH_SWEEP
  constexpr pmpp::segmented_sort_tuning threads_256{.windows = {.threads = 256}}, bytes_32{.windows = {.bytes = 32}},
      threads_256_32{.windows = {.threads = 256, .bytes = 32}}, threads_1024{.windows = {.threads = 1024}};
  for (const char* shape : {"16", "64", "1000", "16384", "power law"}) {
    const std::int64_t n = std::int64_t(1) << 26;
    add_sort<threads_256>("sweep/256 threads", shape, n);
    add_sort<bytes_32>("sweep/8 items", shape, n);
    add_sort<threads_256_32>("sweep/256 threads, 8 items", shape, n);
    add_sort<threads_1024>("sweep/1024 threads", shape, n);
  }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
