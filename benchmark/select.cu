// SPDX-License-Identifier: Apache-2.0
//
// Stream compaction beside CUB's.
//
// copy_if, flagged, unique, partition    pmpp enqueues with a workspace, CUB with storage of its own: device time
// value                                  a call that returns the end of its output, by the host's clock
//
// Declared bytes: every input read once, what is kept written once. CUB's partition writes the other elements after
// the kept ones and in reverse; pmpp writes them to an output of their own, in order.
#include <memory>
#include <string>

#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>

#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::contender, bench::subject, bench::timer;

/// Powers of two.
std::vector<std::int64_t> sizes(int first, int last, int step) {
  std::vector<std::int64_t> result;
  for (int power = first; power <= last; power += step) result.push_back(std::int64_t(1) << power);
  return result;
}

/// Numbers spread over all of their type, and a predicate that is true for `share` of 2^16 of them.
template <class T>
struct spread {
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const { return static_cast<T>(bench::random_bits(i)); }
};
template <class T>
struct is_kept {
  std::uint32_t share;
  PMPP_HOST_DEVICE bool operator()(T x) const {
    return sizeof(T) == 1 ? static_cast<std::uint32_t>(x) * 256u < share
                          : (static_cast<std::uint32_t>(x) & 0xffffu) < share;
  }
};
/// Runs of four equal elements on average.
struct in_runs {
  PMPP_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    return static_cast<std::uint32_t>(bench::random_bits(i / 16) >> (i / 4 % 4 * 8));
  }
};
struct flag_of {
  std::uint32_t share;
  PMPP_HOST_DEVICE std::uint8_t operator()(std::int64_t i) const {
    return (bench::random_bits(i) & 0xffffu) < share ? 1 : 0;
  }
};

/// n values of f(first), f(first + 1), ...
template <class T, class F>
bench::shared_array<T> values(std::int64_t n, F f, std::int64_t first = 0) {
  auto a = bench::array<T>(n);
  const pmpp::counting_iterator<std::int64_t> i(first);
  pmpp::transform(bench::device(), i, i + n, a->data(), f);
  return a;
}

/// What is wrong with the kept elements of window 0; empty: nothing.
template <class T>
std::string difference(const bench::shared_array<T>& out, const bench::shared_array<std::int64_t>& count,
                       const std::vector<T>& wanted) {
  const std::int64_t n = bench::first_of(count);
  if (n != std::int64_t(wanted.size()))
    return "kept " + std::to_string(n) + " instead of " + std::to_string(wanted.size());
  std::vector<T> got(wanted.size());
  if (n > 0) pmpp::copy(bench::here().stream, std::span<const T>(out->data(), got.size()), std::span<T>(got));
  bench::here().stream.synchronize();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted[i]) return "another element at " + std::to_string(i);
  return "";
}

/// A case: pmpp(in, flags, n, out, others, count) beside cub(storage, bytes, in, flags, n, out, count, stream), on
/// elements f(i) with flags g(i); `keep(i)` says whether the host keeps element i of window 0.
template <class T, class F, class G, class Keep, class Pmpp, class Cub>
void add_selection(const std::string& name, std::int64_t n, double bytes, bool with_flags, bool with_others, F f, G g,
                   Keep keep, Pmpp own, Cub peer) {
  bench::add(name, n, bytes, [=](int windows) {
    const auto in = values<T>(windows * n, f);
    const auto flags = with_flags ? values<std::uint8_t>(windows * n, g, bench::second) : bench::array<std::uint8_t>(1);
    const auto out = bench::array<T>(n), others = bench::array<T>(with_others ? n : 1);
    const auto count = bench::array<std::int64_t>(1);
    const auto in_of = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    const auto flags_of = [=](int w) {
      return static_cast<const std::uint8_t*>(flags->data()) + (with_flags ? w * n : 0);
    };
    std::vector<T> wanted;
    for (std::int64_t i = 0; i < n; ++i)
      if (keep(i)) wanted.push_back(f(i));
    subject s;
    s.contenders = {{"pmpp", [=](int w) { own(in_of(w), flags_of(w), n, out->data(), others->data(), count->data()); }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& size, int w) {
                       return peer(storage, size, in_of(w), flags_of(w), n, out->data(), count->data(),
                                   bench::here().stream);
                     })}};
    s.spoil = [=] {
      bench::spoil(out);
      bench::spoil(count);
    };
    s.fault = [=, expected = std::make_shared<std::vector<T>>(std::move(wanted))] {
      return difference(out, count, *expected);
    };
    return s;
  });
}

/// copy_if of numbers, `share` of 2^16 of which are kept.
template <class T, pmpp::select_tuning Tuning = pmpp::select_tuning{}>
void add_copy_if(const std::string& name, std::int64_t n, std::uint32_t share) {
  const is_kept<T> pred{share};
  add_selection<T>(
      name, n, double(n) * sizeof(T) * (1 + share / 65536.0), false, false, spread<T>{}, flag_of{0},
      [=](std::int64_t i) { return pred(spread<T>{}(i)); },
      [=](const T* in, const std::uint8_t*, std::int64_t m, T* out, T*, std::int64_t* count) {
        pmpp::copy_if_into<Tuning>(bench::device(), in, in + m, out, count, pred);
      },
      [=](void* storage, std::size_t& bytes, const T* in, const std::uint8_t*, std::int64_t m, T* out,
          std::int64_t* count,
          cudaStream_t stream) { return cub::DeviceSelect::If(storage, bytes, in, out, count, m, pred, stream); });
}

void add_flagged(std::int64_t n, std::uint32_t share) {
  using T = std::uint32_t;
  add_selection<T>(
      "copy_flagged/u32", n, double(n) * (sizeof(T) * (1 + share / 65536.0) + 1), true, false, spread<T>{},
      flag_of{share}, [=](std::int64_t i) { return flag_of{share}(bench::second + i) != 0; },
      [](const T* in, const std::uint8_t* flags, std::int64_t m, T* out, T*, std::int64_t* count) {
        pmpp::copy_flagged_into(bench::device(), in, in + m, flags, out, count);
      },
      [](void* storage, std::size_t& bytes, const T* in, const std::uint8_t* flags, std::int64_t m, T* out,
         std::int64_t* count,
         cudaStream_t stream) { return cub::DeviceSelect::Flagged(storage, bytes, in, flags, out, count, m, stream); });
}

void add_unique(std::int64_t n) {
  using T = std::uint32_t;
  add_selection<T>(
      "unique_copy/u32", n, double(n) * sizeof(T) * 1.25, false, false, in_runs{}, flag_of{0},
      [](std::int64_t i) { return i == 0 || in_runs{}(i) != in_runs{}(i - 1); },
      [](const T* in, const std::uint8_t*, std::int64_t m, T* out, T*, std::int64_t* count) {
        pmpp::unique_copy_into(bench::device(), in, in + m, out, count);
      },
      [](void* storage, std::size_t& bytes, const T* in, const std::uint8_t*, std::int64_t m, T* out,
         std::int64_t* count,
         cudaStream_t stream) { return cub::DeviceSelect::Unique(storage, bytes, in, out, count, m, stream); });
}

void add_partition(std::int64_t n) {
  using T = std::uint32_t;
  const is_kept<T> pred{32768};
  add_selection<T>(
      "partition_copy/u32", n, double(n) * sizeof(T) * 2, false, true, spread<T>{}, flag_of{0},
      [=](std::int64_t i) { return pred(spread<T>{}(i)); },
      [=](const T* in, const std::uint8_t*, std::int64_t m, T* out, T* others, std::int64_t* count) {
        pmpp::partition_copy_into(bench::device(), in, in + m, out, others, count, pred);
      },
      [=](void* storage, std::size_t& bytes, const T* in, const std::uint8_t*, std::int64_t m, T* out,
          std::int64_t* count,
          cudaStream_t stream) { return cub::DevicePartition::If(storage, bytes, in, out, count, m, pred, stream); });
}

/// As users call it: no stream, no workspace, no storage.
void add_value(std::int64_t n) {
  using T = std::uint32_t;
  bench::add("value/copy_if/u32", n, double(n) * sizeof(T) * 1.5, [=](int windows) {
    const auto in = values<T>(windows * n, spread<T>{});
    const auto out = bench::array<T>(n);
    bench::here().stream.synchronize();  // the calls use the default stream
    const auto got = std::make_shared<std::int64_t>();
    const is_kept<T> pred{32768};
    std::int64_t wanted = 0;
    for (std::int64_t i = 0; i < n; ++i) wanted += pred(spread<T>{}(i));
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       const T* first = in->data() + w * n;
                       *got = pmpp::copy_if(pmpp::device, first, first + n, out->data(), pred) - out->data();
                     }},
                    {"thrust", [=](int w) {
                       const T* first = in->data() + w * n;
                       *got = thrust::copy_if(thrust::device, first, first + n, out->data(), pred) - out->data();
                     }}};
    s.spoil = [=] { *got = -1; };
    s.fault = [=] { return *got == wanted ? "" : "kept " + std::to_string(*got); };
    s.clock = timer::host;
    return s;
  });
}

#ifdef PMPP_BENCH_SWEEP
template <int Threads, int Rows, int Blocks>
void add_tuning() {
  constexpr pmpp::select_tuning tuning{Threads, Rows, Blocks};
  const std::string name = "sweep/copy_if/u32/threads:" + std::to_string(Threads) + "/rows:" + std::to_string(Rows) +
                           "/blocks:" + std::to_string(Blocks);
  for (const std::int64_t n : sizes(20, 28, 4)) add_copy_if<std::uint32_t, tuning>(name, n, 32768);
}
#endif

void add_cases() {
  using std::uint32_t;
  for (const std::int64_t n : sizes(10, 28, 2)) add_copy_if<uint32_t>("copy_if/u32/50%", n, 32768);
  for (const std::int64_t n : sizes(20, 28, 8)) {
    add_copy_if<uint32_t>("copy_if/u32/1%", n, 655);
    add_copy_if<uint32_t>("copy_if/u32/99%", n, 64881);
  }
  add_copy_if<std::uint8_t>("copy_if/u8/50%", 1 << 28, 32768);
  add_copy_if<std::int64_t>("copy_if/i64/50%", 1 << 26, 32768);
  for (const std::int64_t n : sizes(20, 28, 8)) {
    add_flagged(n, 32768);
    add_unique(n);
    add_partition(n);
  }
  for (const std::int64_t n : sizes(10, 20, 10)) add_value(n);
#ifdef PMPP_BENCH_SWEEP
  add_tuning<128, 8, 6>();
  add_tuning<256, 4, 4>();
  add_tuning<256, 4, 5>();
  add_tuning<256, 8, 2>();
  add_tuning<256, 8, 4>();
  add_tuning<384, 8, 2>();
  add_tuning<512, 4, 2>();
  add_tuning<512, 4, 3>();
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
