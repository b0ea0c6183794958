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
  // Floating-point samples next to a level may fall to either side of it.
  t.fault = [=]() -> std::string {
    if constexpr (!std::is_floating_point_v<T>) return difference_of(stream(), "counts", a, b, bins);
    const auto mine = pmpp::to_host(stream(), std::span<const u32>(a, std::size_t(bins)));
    const auto theirs = pmpp::to_host(stream(), std::span<const u32>(b, std::size_t(bins)));
    double apart = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) apart += std::abs(double(mine[i]) - double(theirs[i]));
    return apart <= 2 + 0.02 * double(n) ? "" : std::to_string(apart) + " counts are apart";
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
