// SPDX-License-Identifier: Apache-2.0
//
// Histograms of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_histogram.cuh>

#include <pmpp/histogram.hpp>

#include "sweep.hpp"

#include <string>

namespace {

using namespace sweep;

/// The range of all elements of a type, as levels of bins.
template <class T>
struct limits {
  using level = std::conditional_t<std::is_floating_point_v<T> || sizeof(T) == 8, T,
                                   std::conditional_t<sizeof(T) == 4, i64, int>>;
  static constexpr level least = std::is_floating_point_v<T> ? level(-1) : level(0);
  static constexpr level end =
      std::is_floating_point_v<T> ? level(1) : level(u64(1) << (8 * sizeof(T) < 64 ? 8 * sizeof(T) : 63));
};

/// A power of two of bins, or any number of them.
template <class T>
i64 draw_bins(trial& t) {
  i64 bins = t.draw.chance(0.5) ? i64(1) << t.draw.below(17) : t.draw.log_uniform(1, 100'000);
  if (t.draw.chance(0.3)) bins = 256;
  if constexpr (sizeof(T) <= 2) bins = std::min(bins, i64(1) << (8 * sizeof(T)));
  t.add(" bins " + std::to_string(bins));
  return bins;
}

/// Counts samples of [-1, 1) by definition: d = x + 1 as a double is a multiple of 2^-53, and floor(d * bins / 2) a product of
/// integers. A peer whose products are rounded may put those right beside level i on either side of it: beside[i] of them.
template <class T>
__global__ void count_by_definition(const T* in, i64 n, u32 bins, u32* counts, u32* beside) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  const u32 lane = threadIdx.x % 32;
  const u64 reach = u64(bins) << (sizeof(T) == 4 ? 42 : 13);  // four roundings of `bins`, where a bin is 2^64
  for (i64 row = i64(blockIdx.x) * blockDim.x + threadIdx.x - lane; row < n; row += threads) {
    const T x = row + lane < n ? in[row + lane] : T(1);
    u32 bin = bins;
    if (x >= -1 && x < 1) {
      const u64 d = pmpp::min(u64((double(x) + 1) * 0x1p53), (u64(1) << 54) - 1) << 10, rest = d * bins;
      bin = u32(__umul64hi(d, bins));
      if (rest < reach) atomicAdd(beside + bin, 1u);
      if (~rest < reach) atomicAdd(beside + bin + 1, 1u);
    }
    const u32 same = __match_any_sync(~0u, bin);
    if (bin < bins && u32(__ffs(int(same))) == lane + 1) atomicAdd(counts + bin, u32(__popc(same)));
  }
}
/// What is wrong with counts of [-1, 1): pmpp's have to be those of the definition, a peer's but for samples beside a level. Of
/// those just below 1 CUB makes a bin that does not exist, which it counts in any or none.
template <class T>
std::string fault_of_reals(const T* in, i64 n, const u32* own, const u32* peer, i64 bins) {
  pmpp::device_buffer<u32> counts(bins, 0u, stream()), beside(bins + 1, 0u, stream());
  count_by_definition<<<1024, 256, 0, stream()>>>(in, n, u32(bins), counts.data(), beside.data());
  pmpp::check(cudaGetLastError(), "count_by_definition");
  if (const std::string fault = difference_of(stream(), "counts", own, counts.data(), bins); !fault.empty())
    return fault;
  const auto right = pmpp::to_host(stream(), counts), near = pmpp::to_host(stream(), beside);
  const auto theirs = pmpp::to_host(stream(), std::span<const u32>(peer, std::size_t(bins)));
  i64 across = 0;  // samples that the peer has in bins before this level, and the definition has not
  for (std::size_t i = 0; i < right.size(); ++i) {
    across += i64(theirs[i]) - i64(right[i]);
    if (std::abs(across) > i64(near[i + 1]) + i64(near[right.size()]))
      return "the peer's counts: " + std::to_string(across) + " samples too many before level " + std::to_string(i + 1);
  }
  return "";
}

template <class T>
void even(trial& t) {
  t.draw_size(sizeof(T));
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(T));
  const i64 bins = draw_bins<T>(t);
  const auto in = t.input<T>(n);
  u32 *const a = t.array_at<u32>(bins, 1, 0).first, *const b = t.array_at<u32>(bins, 1, 0).first;
  using level = typename limits<T>::level;
  // The upper level is where all bins have one width, so that both count alike.
  const level least = limits<T>::least;
  const level width = std::is_floating_point_v<T> ? level(0) : level(std::max<level>(1, limits<T>::end / level(bins)));
  const level end = std::is_floating_point_v<T> ? limits<T>::end : level(width * level(bins));
  t.own = {
      "pmpp",
      [=](int s) { pmpp::histogram_even(device(), in(s), in(s) + n, std::span(a, std::size_t(bins)), least, end); },
      {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, static_cast<const T*>(in(s)), b, int(bins) + 1, least,
                                               end, int(n), stream());
  });
  t.fault = [=]() -> std::string {
    if constexpr (std::is_floating_point_v<T>) return fault_of_reals<T>(in(0), n, a, b, bins);
    return difference_of(stream(), "counts", a, b, bins);
  };
}
template <class T>
void range(trial& t) {
  t.draw_size(sizeof(T));
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(T));
  const i64 bins = std::min<i64>(draw_bins<T>(t), 4096);
  const auto in = t.input<T>(n);
  u32 *const a = t.array_at<u32>(bins, 1, 0).first, *const b = t.array_at<u32>(bins, 1, 0).first;
  const T* const levels =
      t.computed<T>(bins + 1, [=] __device__(i64 i) { return element_of<T>(u64(i) * (~u64(0) / u64(bins + 1)), 0); });
  t.own = {"pmpp",
           [=](int s) {
             pmpp::histogram_range(device(), in(s), in(s) + n, std::span(a, std::size_t(bins)),
                                   std::span(levels, std::size_t(bins + 1)));
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceHistogram::HistogramRange(storage, bytes, static_cast<const T*>(in(s)), b, int(bins) + 1, levels,
                                                int(n), stream());
  });
  t.fault = [=] { return difference_of(stream(), "counts", a, b, bins); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("histogram", argc, argv,
                    {{"even u8", even<u8>},
                     {"even u16", even<u16>},
                     {"even u32", even<u32>},
                     {"even f32", even<float>},
                     {"even f64", even<double>},
                     {"range u16", range<u16>},
                     {"range f32", range<float>}});
}
