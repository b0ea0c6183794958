// SPDX-License-Identifier: Apache-2.0
//
// Pictures. What a picture can reach is the copy's rate, in the last column of the table; the peer is the kernel that
// a first version is written: one thread a pixel, as in PMPP ch. 3.
#include <pmpp/image.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;
using pmpp::matrix_view;
using pmpp::rgb;
using byte = std::uint8_t;

}  // namespace

template <class T>
struct bench::random_element<rgb<T>> {
  PMPP_HOST_DEVICE rgb<T> operator()(std::int64_t i) const {
    const bench::random_element<T> sample{};
    return {sample(3 * i), sample(3 * i + 1), sample(3 * i + 2)};
  }
};

namespace {

template <class T>
__global__ void plain_gray(matrix_view<const rgb<T>> in, matrix_view<T> out) {
  const std::int64_t x = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t y = std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
  if (x >= in.cols() || y >= in.rows()) return;
  const rgb<T> p = in(y, x);
  out(y, x) = pmpp::detail::gray_of<T>(p);
}

template <class T>
__global__ void plain_box(matrix_view<const T> in, matrix_view<T> out, int radius) {
  const std::int64_t x = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t y = std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y;
  if (x >= in.cols() || y >= in.rows()) return;
  std::conditional_t<std::is_integral_v<T>, int, float> sum = 0;
  int count = 0;
  for (int i = -radius; i <= radius; ++i)
    for (int j = -radius; j <= radius; ++j)
      if (y + i >= 0 && y + i < in.rows() && x + j >= 0 && x + j < in.cols()) sum += in(y + i, x + j), ++count;
  if constexpr (std::is_integral_v<T>)
    out(y, x) = static_cast<T>((sum + count / 2) / count);
  else
    out(y, x) = sum / static_cast<float>(count);
}

struct extent {
  std::int64_t rows, cols;
  int gap = 0, shift = 0;  ///< pixels after a row, and in front of the first
  std::int64_t pitch() const { return cols + gap; }
  std::int64_t room() const { return rows * pitch() + shift; }
  std::string text() const {
    return " " + std::to_string(rows) + " x " + std::to_string(cols) +
           (gap > 0 ? ", rows " + std::to_string(gap) + " apart" : "") + (shift > 0 ? ", shifted" : "");
  }
  template <class T>
  matrix_view<T> at(T* p) const {
    return {p + shift, rows, cols, pitch()};
  }
};

dim3 blocks_of(const extent& size) {
  return {static_cast<unsigned>(pmpp::ceil_div(size.cols, std::int64_t(32))),
          static_cast<unsigned>(pmpp::ceil_div(size.rows, std::int64_t(8)))};
}

/// Calls wrong(y, x, got) at the edges and at a hundred places; says where it is true.
template <class T, class Wrong>
std::string first_fault(const T* out, const extent& size, Wrong wrong) {
  for (std::int64_t place = 0; place < 120; ++place) {
    std::int64_t y = bench::random_bits(2 * place) % std::uint64_t(size.rows);
    std::int64_t x = bench::random_bits(2 * place + 1) % std::uint64_t(size.cols);
    if (place % 4 == 0) y = place % 8 == 0 ? 0 : size.rows - 1;
    if (place % 4 == 1) x = place % 8 == 1 ? 0 : size.cols - 1;
    if (wrong(y, x, bench::on_host(out + size.shift + y * size.pitch() + x, 1)[0]))
      return "pixel (" + std::to_string(y) + ", " + std::to_string(x) + ")";
  }
  return "";
}

template <class T, pmpp::image_tuning Tuning = pmpp::image_tuning{}>
void add_gray(const std::string& name, const extent& size) {
  const std::int64_t n = size.rows * size.cols;
  bench::add(name + size.text(), n, 4.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<rgb<T>>(windows * size.room());
    const auto out = bench::array<T>(size.room());
    const auto from = [=](int w) {
      const rgb<T>* p = in->data() + w * size.room();
      return size.at(p);
    };
    subject s;
    s.contenders = {{"pmpp", [=](int w) { pmpp::rgb_to_gray<Tuning>(bench::device(), from(w), size.at(out->data())); }},
                    {"plain", [=](int w) {
                       plain_gray<T>
                           <<<blocks_of(size), dim3(32, 8), 0, bench::here().stream>>>(from(w), size.at(out->data()));
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return first_fault<T>(out->data(), size, [&](std::int64_t y, std::int64_t x, T got) {
        const auto p = bench::random_element<rgb<T>>{}(size.shift + y * size.pitch() + x);
        const double wanted = 0.21 * double(p.r) + 0.71 * double(p.g) + 0.07 * double(p.b);
        return std::abs(double(got) - wanted) > (std::is_integral_v<T> ? 0.501 : 1e-5);
      });
    };
    return s;
  });
}

template <class T, pmpp::image_tuning Tuning = pmpp::image_tuning{}>
void add_box(const std::string& name, const extent& size, int radius) {
  const std::int64_t n = size.rows * size.cols;
  bench::add(
      name + " radius " + std::to_string(radius) + size.text(), n, 2.0 * double(n) * sizeof(T), [=](int windows) {
        const auto in = bench::random_array<T>(windows * size.room());
        const auto out = bench::array<T>(size.room());
        const auto from = [=](int w) {
          const T* p = in->data() + w * size.room();
          return size.at(p);
        };
        subject s;
        s.contenders = {
            {"pmpp", [=](int w) { pmpp::box_blur<Tuning>(bench::device(), from(w), size.at(out->data()), radius); }},
            {"plain", [=](int w) {
               plain_box<T>
                   <<<blocks_of(size), dim3(32, 8), 0, bench::here().stream>>>(from(w), size.at(out->data()), radius);
             }}};
        s.spoil = [=] { bench::spoil(out); };
        s.fault = [=] {
          return first_fault<T>(out->data(), size, [&](std::int64_t y, std::int64_t x, T got) {
            double sum = 0;
            int count = 0;
            for (std::int64_t i = std::max<std::int64_t>(0, y - radius); i <= std::min(size.rows - 1, y + radius); ++i)
              for (std::int64_t j = std::max<std::int64_t>(0, x - radius); j <= std::min(size.cols - 1, x + radius);
                   ++j, ++count)
                sum += double(bench::random_element<T>{}(size.shift + i * size.pitch() + j));
            return std::abs(double(got) - sum / count) > (std::is_integral_v<T> ? 0.5 : 1e-5);
          });
        };
        return s;
      });
}

template <class T>
void add_gaussian(const std::string& name, const extent& size, double sigma) {
  const std::int64_t n = size.rows * size.cols;
  bench::add(name + size.text(), n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * size.room());
    const auto out = bench::array<T>(size.room());
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const T* p = in->data() + w * size.room();
                       pmpp::gaussian_blur(bench::device(), size.at(p), size.at(out->data()), sigma);
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return first_fault<T>(out->data(), size, [&](std::int64_t y, std::int64_t x, T got) {
        const auto reflected = [](std::int64_t i, std::int64_t end) {
          return i < 0 ? -1 - i : i < end ? i : 2 * end - 1 - i;
        };
        const auto reach = static_cast<std::int64_t>(std::ceil(3 * sigma));
        double sum = 0, weights = 0;
        for (std::int64_t i = -reach; i <= reach; ++i)
          for (std::int64_t j = -reach; j <= reach; ++j) {
            const double weight = std::exp(-double(i * i + j * j) / (2 * sigma * sigma));
            const std::int64_t row = reflected(y + i, size.rows), col = reflected(x + j, size.cols);
            sum += weight * double(bench::random_element<T>{}(size.shift + row * size.pitch() + col));
            weights += weight;
          }
        return std::abs(double(got) - sum / weights) > (std::is_integral_v<T> ? 0.51 : 1e-5);
      });
    };
    return s;
  });
}

/// The shares that n old pixels along an axis have in one of m new ones.
std::vector<std::pair<std::int64_t, double>> shares_of(std::int64_t i, std::int64_t n, std::int64_t m) {
  const double step = double(n) / double(m);
  std::vector<std::pair<std::int64_t, double>> shares;
  if (m > n) {
    const double at = (double(i) + 0.5) * step - 0.5, left = std::floor(at);
    for (const int k : {0, 1})
      shares.push_back({std::clamp(static_cast<std::int64_t>(left) + k, std::int64_t(0), n - 1),
                        k == 1 ? at - left : 1 - (at - left)});
  } else {
    const double begin = double(i) * step, end = begin + step;
    for (double k = std::floor(begin); k < end; ++k)
      shares.push_back({static_cast<std::int64_t>(k), (std::min(k + 1, end) - std::max(k, begin)) / step});
  }
  return shares;
}

template <class T>
void add_scale(const std::string& name, const extent& size, const extent& new_size) {
  const std::int64_t n = size.rows * size.cols, m = new_size.rows * new_size.cols;
  bench::add(name + size.text() + " to" + new_size.text(), m, double(n + m) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * n);
    const auto out = bench::array<T>(m);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const T* p = in->data() + w * n;
                       pmpp::scale(bench::device(), size.at(p), new_size.at(out->data()));
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return first_fault<T>(out->data(), new_size, [&](std::int64_t y, std::int64_t x, T got) {
        double sum = 0;
        for (const auto& [row, of_row] : shares_of(y, size.rows, new_size.rows))
          for (const auto& [col, of_col] : shares_of(x, size.cols, new_size.cols))
            sum += of_row * of_col * double(bench::random_element<T>{}(row * size.cols + col));
        return std::abs(double(got) - sum) > (std::is_integral_v<T> ? 0.51 : 1e-5);
      });
    };
    return s;
  });
}

void add_cases() {
  add_gray<byte>("gray u8", {16384, 16384});
  add_gray<byte>("gray u8", {8192, 8192});
  add_gray<byte>("gray u8", {1080, 1920});
  add_gray<byte>("gray u8", {8191, 8191, 1, 1});
  add_gray<float>("gray f32", {8192, 8192});
  add_box<byte>("box u8", {16384, 16384}, 1);
  add_box<byte>("box u8", {8192, 8192}, 1);
  add_box<byte>("box u8", {1080, 1920}, 1);
  add_box<byte>("box u8", {8191, 8191}, 1);
  for (const int radius : {2, 3, 5, 7, 8}) add_box<byte>("box u8", {16384, 16384}, radius);
  add_box<float>("box f32", {8192, 8192}, 1);
  add_gaussian<byte>("gaussian u8, sigma 1.5,", {16384, 16384}, 1.5);
  add_scale<byte>("scale u8", {16384, 16384}, {8192, 8192});
  add_scale<byte>("scale u8", {8192, 8192}, {16384, 16384});
#if PMPP_BENCH_SWEEP
  add_gray<byte, pmpp::image_tuning{.gray_pieces = 1, .blur_rows = 4}>("sweep gray 1", {16384, 16384});
  add_gray<byte, pmpp::image_tuning{.gray_pieces = 2, .blur_rows = 4}>("sweep gray 2", {16384, 16384});
  add_gray<byte, pmpp::image_tuning{.gray_pieces = 4, .blur_rows = 4}>("sweep gray 4", {16384, 16384});
  add_box<byte, pmpp::image_tuning{.gray_pieces = 1, .blur_rows = 2}>("sweep box 2 rows", {16384, 16384}, 1);
  add_box<byte, pmpp::image_tuning{.gray_pieces = 1, .blur_rows = 4}>("sweep box 4 rows", {16384, 16384}, 1);
  add_box<byte, pmpp::image_tuning{.gray_pieces = 1, .blur_rows = 8}>("sweep box 8 rows", {16384, 16384}, 1);
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
