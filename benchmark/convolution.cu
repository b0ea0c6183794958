// SPDX-License-Identifier: Apache-2.0
//
// Convolution with masks that come from the host's memory. The last column of the table says how near a case comes to a
// copy; a second table how many operations it does: with many taps arithmetic is the limit, not memory.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <pmpp/convolution.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// Multiplications and additions of a case, by its name.
std::map<std::string, double> operations;

template <class T>
double number(std::int64_t i) {
  return static_cast<double>(bench::random_element<T>{}(i));
}

struct extents {
  std::int64_t depth, height, width;
  std::int64_t count() const { return depth * height * width; }
};

template <class T, pmpp::convolution_tuning Tuning = pmpp::convolution_tuning{}>
void add_convolution(std::string name, extents size, extents mask, pmpp::border::rule outside = pmpp::border::zero,
                     int gap = 0, bool mask_on_device = false) {
  const std::int64_t n = size.count(), pitch = size.width + gap;
  for (const std::int64_t k : {mask.depth, mask.height, mask.width})
    if (k > 1 || (size.height == 1 && k != 1)) name += (name.back() == ' ' ? "" : "x") + std::to_string(k);
  operations[name] = operations[name + "/warm"] = 2.0 * double(n) * double(mask.count());
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const std::int64_t room = size.depth * size.height * pitch;
    const auto in = bench::random_array<T>(windows * room);
    const auto out = bench::array<T>(room);
    std::vector<float> taps;
    for (std::int64_t i = 0; i < mask.count(); ++i)
      taps.push_back(static_cast<float>(number<float>(bench::second + i) / double(mask.count())));
    const auto device_taps = std::make_shared<pmpp::device_buffer<float>>(taps);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const auto view = [&](auto* p) {
                         return pmpp::volume_view(p, size.depth, size.height, size.width, pitch, pitch * size.height);
                       };
                       const float* m = mask_on_device ? device_taps->data() : taps.data();
                       const pmpp::volume_view<const T> from(view(in->data() + w * room));
                       const pmpp::volume_view<T> to(view(out->data()));
                       const pmpp::volume_view<const float> with(m, mask.depth, mask.height, mask.width);
                       if (size.depth > 1)
                         pmpp::convolve<Tuning>(bench::device(), from, with, to, outside);
                       else
                         pmpp::convolve<Tuning>(bench::device(), from.slice(0), with.slice(0), to.slice(0), outside);
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      for (std::int64_t place = 0; place < 64; ++place) {
        const std::int64_t i = place < 4 ? (n - 1) * (place / 2) : bench::random_bits(place) % std::uint64_t(n);
        const std::int64_t z = i / (size.height * size.width), y = i / size.width % size.height, x = i % size.width;
        double sum = 0;
        for (std::int64_t k = 0; k < mask.count(); ++k) {
          const std::int64_t from_z = z + k / (mask.height * mask.width) - mask.depth / 2;
          const std::int64_t from_y = y + k / mask.width % mask.height - mask.height / 2;
          const std::int64_t from_x = x + k % mask.width - mask.width / 2;
          const bool inside = from_z >= 0 && from_z < size.depth && from_y >= 0 && from_y < size.height &&
                              from_x >= 0 && from_x < size.width;
          if (!inside && outside.what != pmpp::border::zero.what) return "";
          if (inside) sum += double(taps[std::size_t(k)]) * number<T>((from_z * size.height + from_y) * pitch + from_x);
        }
        T got;
        pmpp::copy(bench::here().stream, std::span<const T>(out->data() + (z * size.height + y) * pitch + x, 1),
                   std::span<T>(&got, 1));
        bench::here().stream.synchronize();
        const double wanted = std::is_integral_v<T> ? std::min(255.0, std::max(0.0, std::round(sum))) : sum;
        const double bound = std::is_integral_v<T> ? 1 : 1e-5;
        if (std::abs(double(got) - wanted) > bound)
          return "at " + std::to_string(i) + ": " + std::to_string(got) + " instead of " + std::to_string(wanted);
      }
      return "";
    };
    return s;
  });
}

template <pmpp::convolution_tuning Tuning = pmpp::convolution_tuning{}>
void add_separable(std::string name, std::int64_t height, std::int64_t width, std::int64_t taps) {
  const std::int64_t n = height * width;
  name += std::to_string(taps) + " + " + std::to_string(taps);
  operations[name] = operations[name + "/warm"] = 4.0 * double(n) * double(taps);
  bench::add(name, n, 2.0 * double(n) * sizeof(float), [=](int windows) {
    const auto in = bench::random_array<float>(windows * n);
    const auto out = bench::array<float>(n);
    std::vector<float> mask_y, mask_x;
    for (std::int64_t i = 0; i < taps; ++i) {
      mask_y.push_back(static_cast<float>(number<float>(bench::second + i) / double(taps)));
      mask_x.push_back(static_cast<float>(number<float>(bench::second + taps + i) / double(taps)));
    }
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       pmpp::convolve_separable<Tuning>(
                           bench::device(), pmpp::matrix_view<const float>(in->data() + w * n, height, width), mask_y,
                           mask_x, pmpp::matrix_view<float>(out->data(), height, width));
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      for (std::int64_t place = 0; place < 64; ++place) {
        const std::int64_t i = place < 4 ? (n - 1) * (place / 2) : bench::random_bits(place) % std::uint64_t(n);
        double sum = 0;
        for (std::int64_t k = 0; k < taps * taps; ++k) {
          const std::int64_t y = i / width + k / taps - taps / 2, x = i % width + k % taps - taps / 2;
          if (y >= 0 && y < height && x >= 0 && x < width)
            sum += double(mask_y[std::size_t(k / taps)]) * double(mask_x[std::size_t(k % taps)]) *
                   number<float>(y * width + x);
        }
        float got;
        pmpp::copy(bench::here().stream, std::span<const float>(out->data() + i, 1), std::span<float>(&got, 1));
        bench::here().stream.synchronize();
        if (std::abs(double(got) - sum) > 1e-5)
          return "at " + std::to_string(i) + ": " + std::to_string(got) + " instead of " + std::to_string(sum);
      }
      return "";
    };
    return s;
  });
}

void add_cases() {
  const extents picture{1, 8192, 8192}, line{1, 1, 1 << 26}, cube{512, 512, 512};
  for (const std::int64_t k : {3, 5, 7, 9, 11, 15, 31}) add_convolution<float>("f32 8192 x 8192, ", picture, {1, k, k});
  add_convolution<float>("f32 8192 x 8192, 1 by ", picture, {1, 1, 31});
  add_convolution<float>("f32 8192 x 8192, by 1 ", picture, {1, 31, 1});
  add_convolution<float>("f32 8192 x 8192, mask on device, ", picture, {1, 7, 7}, pmpp::border::zero, 0, true);
  add_convolution<float>("f32 8192 x 8192, reflect, ", picture, {1, 5, 5}, pmpp::border::reflect);
  add_convolution<float>("f32 8191 x 8191, ", {1, 8191, 8191}, {1, 5, 5});
  add_convolution<float>("f32 8191 x 8192, rows 5 apart, ", {1, 8192, 8191}, {1, 5, 5}, pmpp::border::zero, 5);
  add_convolution<float>("f32 1024 x 1024, ", {1, 1024, 1024}, {1, 5, 5});
  add_convolution<float>("f32 1024 x 1024, ", {1, 1024, 1024}, {1, 15, 15});
  for (const std::int64_t k : {3, 5, 7, 15})
    add_convolution<std::uint8_t>("u8 16384 x 16384, ", {1, 16384, 16384}, {1, k, k});
  for (const std::int64_t k : {3, 9, 31, 63}) add_separable("f32 8192 x 8192, separable, ", 8192, 8192, k);
  add_separable("f32 1024 x 1024, separable, ", 1024, 1024, 31);
  for (const std::int64_t k : {5, 9, 17, 33, 129}) add_convolution<float>("f32 line, ", line, {1, 1, k});
  for (const extents& mask : {extents{3, 3, 3}, {3, 5, 5}, {5, 5, 5}, {7, 7, 7}})
    add_convolution<float>("f32 512^3, ", cube, mask);
#if PMPP_BENCH_SWEEP
  using tuning = pmpp::convolution_tuning;
  for (const std::int64_t k : {3, 7, 9})
    add_convolution<float, tuning{.small_warps = 8, .small_blocks = 3}>("f32 8 small warps, ", picture, {1, k, k});
  add_convolution<float, tuning{.small_rows = 16, .small_blocks = 3}>("f32 16 small rows, ", picture, {1, 9, 9});
  add_separable<tuning{.separable_warps = 8, .separable_rows = 4, .separable_blocks = 3}>("f32 8 warps of 4 rows, ",
                                                                                          8192, 8192, 31);
  add_separable<tuning{.separable_warps = 8, .separable_blocks = 2}>("f32 8 warps of 8 rows, ", 8192, 8192, 31);
  for (const std::int64_t k : {15, 31})
    add_convolution<float, tuning{.rows = 6, .blocks = 2}>("f32 6 rows, ", picture, {1, k, k});
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int status = bench::run(argc, argv, add_cases);
  std::printf("\n| case | TFLOP/s |\n| --- | ---: |\n");
  for (const bench::row& r : bench::here().rows)
    if (const auto found = operations.find(r.name); found != operations.end())
      std::printf("| %s | %.2f |\n", r.name.c_str(), found->second / r.own.median * 1e-6);
  return status;
}
