// SPDX-License-Identifier: Apache-2.0
//
// Sums of segments and of runs beside CUB's: pmpp enqueues with a workspace, CUB with storage of its own; device time.
//
// reduce/SHAPE     f32, offsets of 32 bits:
//   1xN            one segment of everything
//   Nx1            as many segments as elements
//   square         sqrt(n) segments of sqrt(n) elements
//   16             n / 16 segments of 16 elements
//   power law      segment s has about 1 / (s + 1) of a constant; all orders of length, the long ones first
//   empty, huge    n / 16 segments, 99 % of them empty, one with half of the elements
// scan/SHAPE       the same shapes; CUB has no such scan
// by key/RUNS, run lengths/RUNS   keys u32, values f32; runs of 1, 16 or 1000 elements, of everything, or growing (run j
//                  has 2 j + 1 elements)
//
// Declared bytes: every input read once, every output written once. Results of 64 segments or runs, the longest one
// among them, are compared with sums of the host's.
#include <functional>
#include <memory>
#include <string>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <pmpp/segmented.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

[[maybe_unused]] std::vector<std::int64_t> sizes(int first, int last, int step) {
  std::vector<std::int64_t> result;
  for (int power = first; power <= last; power += step) result.push_back(std::int64_t(1) << power);
  return result;
}

/// The offsets of n elements in segments whose lengths length(s) gives, as long as elements are left; what is left goes
/// to the last one.
template <class Length>
std::vector<std::int32_t> offsets_of(std::int64_t n, std::int64_t segments, Length length) {
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(segments) + 1);
  std::int64_t end = 0;
  for (std::int64_t s = 0; s < segments; ++s) {
    offsets[std::size_t(s)] = static_cast<std::int32_t>(end);
    end = std::min(n, end + length(s));
  }
  offsets[std::size_t(segments)] = static_cast<std::int32_t>(n);
  return offsets;
}

std::int64_t root_of(std::int64_t n) {
  auto r = static_cast<std::int64_t>(std::sqrt(double(n)));
  while (r * r > n) --r;
  while ((r + 1) * (r + 1) <= n) ++r;
  return r;
}

std::vector<std::int32_t> offsets_of(const std::string& shape, std::int64_t n) {
  const std::int64_t root = root_of(n);
  if (shape == "1xN") return {0, static_cast<std::int32_t>(n)};
  if (shape == "Nx1") return offsets_of(n, n, [](std::int64_t) { return 1; });
  if (shape == "square") return offsets_of(n, root, [=](std::int64_t) { return root; });
  if (shape == "16") return offsets_of(n, n / 16, [](std::int64_t) { return 16; });
  if (shape == "power law")
    return offsets_of(n, n / 16,
                      [=](std::int64_t s) { return static_cast<std::int64_t>(double(n) / 20 / double(s + 1)) + 4; });
  const std::int64_t huge = n / 32 + 1;  // "empty, huge"
  return offsets_of(n, n / 16, [=](std::int64_t s) {
    return s == huge ? n / 2 : s % 100 == 7 ? std::int64_t(800) : std::int64_t(0);
  });
}

float element(std::int64_t i) { return bench::random_element<float>{}(i); }

/// What the elements [begin, end) add up to.
long double sum_of(std::int64_t begin, std::int64_t end) {
  if (begin == end) return 0;
  return bench::fold(
      end - begin, 0.0f, [=](std::int64_t i) { return element(begin + i); }, pmpp::plus{});
}

/// Values at 64 places of a result, with what they add up.
struct places {
  struct one {
    std::int64_t at, begin, end;
    long double wanted;
  };
  std::vector<one> all;

  void add(std::int64_t at, std::int64_t begin, std::int64_t end) {
    all.push_back({at, begin, end, sum_of(begin, end)});
  }
  std::string fault(const bench::shared_array<float>& out) const {
    for (const one& p : all) {
      float got = 0;
      pmpp::copy(bench::here().stream, std::span<const float>(out->data() + p.at, 1), std::span<float>(&got, 1));
      bench::here().stream.synchronize();
      const auto text = bench::difference<float>(got, p.wanted, std::max<std::int64_t>(1, p.end - p.begin));
      if (!text.empty()) return "at " + std::to_string(p.at) + ": " + text;
    }
    return "";
  }
};

template <pmpp::segmented_tuning Tuning = pmpp::segmented_tuning{}>
void add_reduce(const std::string& name, const std::string& shape, std::int64_t n, bool with_peer = true) {
  const auto segments = static_cast<std::int64_t>(offsets_of(shape, n).size()) - 1;
  bench::add(name + "/f32/" + shape, n, 4.0 * double(n) + 8.0 * double(segments), [=](int windows) {
    const auto offsets = std::make_shared<std::vector<std::int32_t>>(offsets_of(shape, n));
    const auto in = bench::random_array<float>(windows * n);
    const auto at = std::make_shared<pmpp::device_buffer<std::int32_t>>(*offsets);
    const auto out = bench::array<float>(segments);
    const auto window = [=](int w) { return static_cast<const float*>(in->data()) + w * n; };
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       pmpp::segmented_reduce<Tuning>(bench::device(), window(w), window(w) + n, *at, out->data());
                     }}};
    if (with_peer)
      s.contenders.push_back({"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return cub::DeviceSegmentedReduce::Sum(storage, bytes, window(w), out->data(), segments,
                                                                       at->data(), at->data() + 1,
                                                                       bench::here().stream);
                              })});
    s.spoil = [=] { bench::spoil(out); };
    const auto length = [=](std::int64_t i) { return (*offsets)[std::size_t(i + 1)] - (*offsets)[std::size_t(i)]; };
    std::int64_t longest = 0;
    for (std::int64_t i = 1; i < segments; ++i)
      if (length(i) > length(longest)) longest = i;
    places checked;
    for (int i = 0; i < 64; ++i) {
      const std::int64_t segment = i == 0 ? longest : (segments - 1) * i / 63;
      checked.add(segment, (*offsets)[std::size_t(segment)], (*offsets)[std::size_t(segment + 1)]);
    }
    s.fault = [=] { return checked.fault(out); };
    return s;
  });
}

template <pmpp::segmented_tuning Tuning = pmpp::segmented_scan_tuning>
void add_scan(const std::string& name, const std::string& shape, std::int64_t n) {
  const auto segments = static_cast<std::int64_t>(offsets_of(shape, n).size()) - 1;
  bench::add(name + "/f32/" + shape, n, 8.0 * double(n) + 4.0 * double(segments), [=](int windows) {
    const std::vector<std::int32_t> offsets = offsets_of(shape, n);
    const auto in = bench::random_array<float>(windows * n);
    const auto at = std::make_shared<pmpp::device_buffer<std::int32_t>>(offsets);
    const auto out = bench::array<float>(n);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const float* const first = in->data() + w * n;
                       pmpp::segmented_inclusive_scan<Tuning>(bench::device(), first, first + n, *at, out->data());
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    places checked;
    for (int i = 0; i < 64; ++i) {
      const std::int64_t place = (n - 1) * i / 63;
      const auto after = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int32_t>(place));
      checked.add(place, *(after - 1), place + 1);
    }
    s.fault = [=] { return checked.fault(out); };
    return s;
  });
}

/// Run `run` of some kind begins at run * length, or at run^2.
struct runs {
  std::int64_t length;  ///< 0: growing
  PMPP_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    if (length > 0) return static_cast<std::uint32_t>(i / length);
    auto r = static_cast<std::int64_t>(sqrt(double(i)));
    while (r * r > i) --r;
    while ((r + 1) * (r + 1) <= i) ++r;
    return static_cast<std::uint32_t>(r);
  }
  std::int64_t begin(std::int64_t run) const { return length > 0 ? run * length : run * run; }
};

/// Keys of the first window; the same serve all windows.
bench::shared_array<std::uint32_t> keys_of(std::int64_t n, runs r) {
  auto keys = bench::array<std::uint32_t>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(bench::device(), i, i + n, keys->data(), r);
  return keys;
}

template <pmpp::segmented_tuning Tuning = pmpp::run_tuning>
void add_by_key(const std::string& name, std::int64_t n, runs r) {
  const std::int64_t count = std::int64_t(r(n - 1)) + 1;
  bench::add(name, n, 8.0 * double(n + count), [=](int windows) {
    const auto keys = keys_of(n, r);
    const auto in = bench::random_array<float>(windows * n);
    const auto keys_out = bench::array<std::uint32_t>(count);
    const auto out = bench::array<float>(count);
    const auto found = bench::array<std::int32_t>(1);
    const auto window = [=](int w) { return static_cast<const float*>(in->data()) + w * n; };
    const auto* const first = static_cast<const std::uint32_t*>(keys->data());
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       static_cast<void>(keys);
                       pmpp::reduce_by_key_into<Tuning>(bench::device(), first, first + n, window(w), keys_out->data(),
                                                        out->data(), found->data());
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceReduce::ReduceByKey(storage, bytes, first, keys_out->data(), window(w),
                                                             out->data(), found->data(), cuda::std::plus<>{}, int(n),
                                                             bench::here().stream);
                     })}};
    s.spoil = [=] {
      bench::spoil(out);
      bench::spoil(keys_out);
      bench::spoil(found);
    };
    places checked;
    for (int i = 0; i < 64; ++i) {
      const std::int64_t run = (count - 1) * i / 63;
      checked.add(run, r.begin(run), std::min(n, r.begin(run + 1)));
    }
    s.fault = [=] {
      if (const auto got = bench::first_of(found); got != count) return std::to_string(got) + " runs";
      if (bench::first_of(keys_out) != 0) return std::string("another key");
      return checked.fault(out);
    };
    return s;
  });
}

template <pmpp::segmented_tuning Tuning = pmpp::run_length_tuning>
void add_run_lengths(const std::string& name, std::int64_t n, runs r) {
  const std::int64_t count = std::int64_t(r(n - 1)) + 1;
  bench::add(name, n, 4.0 * double(n) + 8.0 * double(count), [=](int windows) {
    std::vector<bench::shared_array<std::uint32_t>> keys;
    for (int w = 0; w < windows; ++w) keys.push_back(keys_of(n, r));
    const auto keys_out = bench::array<std::uint32_t>(count);
    const auto out = bench::array<std::int32_t>(count), found = bench::array<std::int32_t>(1);
    const auto window = [=](int w) { return static_cast<const std::uint32_t*>(keys[std::size_t(w)]->data()); };
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::run_length_encode_into<Tuning>(bench::device(), window(w), window(w) + n, keys_out->data(),
                                                            out->data(), found->data());
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceRunLengthEncode::Encode(storage, bytes, window(w), keys_out->data(),
                                                                 out->data(), found->data(), int(n),
                                                                 bench::here().stream);
                     })}};
    s.spoil = [=] {
      bench::spoil(out);
      bench::spoil(keys_out);
      bench::spoil(found);
    };
    s.fault = [=] {
      if (const auto got = bench::first_of(found); got != count) return std::to_string(got) + " runs";
      std::vector<std::int32_t> lengths(static_cast<std::size_t>(count));
      pmpp::copy(bench::here().stream, std::span<const std::int32_t>(out->data(), lengths.size()),
                 std::span<std::int32_t>(lengths));
      bench::here().stream.synchronize();
      for (std::int64_t run = 0; run < count; ++run)
        if (lengths[std::size_t(run)] != std::min(n, r.begin(run + 1)) - r.begin(run))
          return "another length of run " + std::to_string(run);
      return std::string();
    };
    return s;
  });
}

#ifdef PMPP_BENCH_SWEEP
std::string sweep_name(const pmpp::segmented_tuning& t) {
  return "sweep/" + std::to_string(t.threads) + " threads/" + std::to_string(t.bytes) + " bytes/" +
         std::to_string(t.stages) + " stages/" + std::to_string(t.min_blocks) + " blocks/";
}
template <int Threads, int Bytes, int Stages, int Blocks>
void add_reduce_tuning() {
  constexpr pmpp::segmented_tuning tuning{Threads, Bytes, Stages, Blocks, 0, 0, 0};
  for (const char* const shape : {"1xN", "Nx1", "square", "16"})
    add_reduce<tuning>(sweep_name(tuning) + "reduce", shape, 1 << 28, false);
}
template <int Threads, int Bytes, int Blocks>
void add_run_tuning() {
  constexpr pmpp::segmented_tuning tuning{Threads, Bytes, 2, Blocks};
  for (const char* const shape : {"1xN", "16"}) add_scan<tuning>(sweep_name(tuning) + "scan", shape, 1 << 28);
  add_by_key<tuning>(sweep_name(tuning) + "by key/16", 1 << 27, runs{16});
  add_run_lengths<tuning>(sweep_name(tuning) + "run lengths/16", 1 << 28, runs{16});
}
#endif

void add_cases() {
#ifdef PMPP_BENCH_SWEEP
  add_reduce_tuning<256, 64, 2, 4>();
  add_reduce_tuning<256, 64, 3, 3>();
  add_reduce_tuning<256, 64, 4, 2>();
  add_reduce_tuning<256, 128, 2, 3>();
  add_reduce_tuning<256, 128, 3, 2>();
  add_reduce_tuning<512, 64, 2, 2>();
  add_reduce_tuning<128, 64, 3, 6>();
  add_reduce_tuning<128, 64, 4, 5>();
  add_reduce_tuning<128, 128, 3, 4>();
  add_run_tuning<352, 288, 1>();
  add_run_tuning<480, 192, 1>();
  add_run_tuning<544, 160, 1>();
  add_run_tuning<544, 192, 1>();
  add_run_tuning<736, 128, 1>();
  add_run_tuning<352, 128, 2>();
#else
  const std::vector<std::string> shapes{"1xN", "Nx1", "square", "16", "power law", "empty, huge"};
  for (const std::int64_t n : sizes(16, 28, 4))
    for (const std::string& shape : shapes) add_reduce("reduce", shape, n);
  for (const std::int64_t n : sizes(20, 28, 8))
    for (const std::string& shape : shapes) add_scan("scan", shape, n);
  const std::pair<const char*, std::int64_t> kinds[] = {
      {"1", 1}, {"16", 16}, {"1000", 1000}, {"everything", std::int64_t(1) << 40}, {"growing", 0}};
  for (const std::int64_t n : sizes(15, 27, 4))
    for (const auto& [kind, length] : kinds) add_by_key(std::string("by key/u32 f32/") + kind, n, runs{length});
  for (const std::int64_t n : sizes(16, 28, 4))
    for (const auto& [kind, length] : kinds) add_run_lengths(std::string("run lengths/u32/") + kind, n, runs{length});
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
