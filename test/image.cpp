// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of image.hpp, on every policy: grey pixels are the weighted sums of the colours, a box blur is the
// mean of the neighbours that exist (integers exactly, rounded as promised), for every radius, size, pitch, offset and
// orientation; a Gaussian blur keeps constant pictures and agrees with the sum of its definition; a scaled picture has
// the mean brightness and the pixels of its definition; colours are treated one by one; memory around the output stays
// as it was; bad input throws and touches nothing. In the emulator also under other orders of blocks and threads. On a
// GPU also: another stream, a graph replayed on changed data, more than 2^31 pixels.
#include <pmpp/image.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;
using pmpp::rgb;

namespace {

using byte = std::uint8_t;
using word = std::uint16_t;

struct extent {
  std::int64_t rows, cols;
};

/// How a picture lies in memory: pixels in front, after each row, by columns.
struct placing {
  std::int64_t before = 0, gap = 0;
  bool by_columns = false;
};

template <class T>
matrix_view<T> view_of(T* p, const extent& size, const placing& at) {
  if (at.by_columns) return transposed(matrix_view<T>(p + at.before, size.cols, size.rows, size.rows + at.gap));
  return {p + at.before, size.rows, size.cols, size.cols + at.gap};
}
std::size_t room_of(const extent& size, const placing& at) {
  const std::int64_t lines = at.by_columns ? size.cols : size.rows, length = at.by_columns ? size.rows : size.cols;
  return static_cast<std::size_t>(at.before + lines * (length + at.gap) + 5);
}

template <class T>
T random_sample() {
  const std::uint64_t bits = test::generator()();
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits >> 40);
  else
    return static_cast<T>(static_cast<double>(bits >> 40) * 0x1p-24);
}
template <class T>
void randomise(T& x) {
  x = random_sample<T>();
}
template <class T>
void randomise(rgb<T>& p) {
  randomise(p.r), randomise(p.g), randomise(p.b);
}
template <class T>
std::vector<T> random_pixels(std::size_t n) {
  std::vector<T> v(n);
  for (T& x : v) randomise(x);
  return v;
}

/// Runs call(in, out) and returns the pixels of the output, row by row; those around it must stay.
template <class where, class In, class Out, class Call>
std::vector<Out> outcome(const std::vector<In>& in, const extent& size, const placing& from, const extent& new_size,
                         const placing& to, Call call) {
  const Out guard = Out{73};
  const auto data = where::put(in);
  auto out = where::put(test::copies(room_of(new_size, to), guard));
  call(typename where::policy{}, view_of<const In>(data.data(), size, from), view_of<Out>(out.data(), new_size, to));
  auto got = where::get(out);
  const auto v = view_of<Out>(got.data(), new_size, to);
  std::vector<Out> pixels;
  for (std::int64_t y = 0; y < new_size.rows; ++y)
    for (std::int64_t x = 0; x < new_size.cols; ++x) {
      pixels.push_back(v(y, x));
      v(y, x) = guard;
    }
  CHECK(std::count(got.begin(), got.end(), guard) == static_cast<std::ptrdiff_t>(got.size()));
  return pixels;
}

/// Whether a pixel is `wanted`: an integer exactly, a fraction within some roundings.
template <class T>
bool is(T got, long double wanted) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<long double>(got) == std::floor(wanted + 0.5L);
  else
    return std::abs(static_cast<long double>(got) - wanted) <=
           64 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * (1 + std::abs(wanted));
}

template <class where, class T, class Out>
void check_gray(const extent& size, const placing& from = {}, const placing& to = {}) {
  const auto in = random_pixels<rgb<T>>(room_of(size, from));
  const auto got = outcome<where, rgb<T>, Out>(
      in, size, from, size, to, [](const auto& policy, auto a, auto b) { pmpp::rgb_to_gray(policy, a, b); });
  const auto v = view_of<const rgb<T>>(in.data(), size, from);
  std::int64_t wrong = 0, at = 0;
  for (const Out& g : got) {
    const rgb<T>& p = v(at / size.cols, at % size.cols);
    const auto exact =
        (21 * static_cast<long double>(p.r) + 71 * static_cast<long double>(p.g) + 7 * static_cast<long double>(p.b)) /
        100;
    wrong += std::is_integral_v<T> && std::is_floating_point_v<Out> ? std::abs(g - exact) > 1e-4L : !is(g, exact);
    ++at;
  }
  CAPTURE(size.rows);
  CAPTURE(size.cols);
  CAPTURE(from.before);
  CAPTURE(from.gap);
  CHECK(wrong == 0);
}

/// The mean of the pixels around (y, x) that exist, by a table of the sums of all rectangles from the corner.
template <class T>
std::vector<long double> means_of(const matrix_view<const T>& in, std::int64_t radius) {
  radius = std::min(radius, in.rows() + in.cols());
  const std::int64_t rows = in.rows(), cols = in.cols();
  std::vector<long double> sums(static_cast<std::size_t>((rows + 1) * (cols + 1)));
  const auto sum = [&](std::int64_t y, std::int64_t x) -> long double& {
    return sums[static_cast<std::size_t>(std::clamp(y, std::int64_t(0), rows) * (cols + 1) +
                                         std::clamp(x, std::int64_t(0), cols))];
  };
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < cols; ++x)
      sum(y + 1, x + 1) = static_cast<long double>(in(y, x)) + sum(y, x + 1) + sum(y + 1, x) - sum(y, x);
  std::vector<long double> means;
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < cols; ++x) {
      const std::int64_t high = std::min(rows, y + radius + 1) - std::max(std::int64_t(0), y - radius);
      const std::int64_t wide = std::min(cols, x + radius + 1) - std::max(std::int64_t(0), x - radius);
      means.push_back((sum(y + radius + 1, x + radius + 1) - sum(y - radius, x + radius + 1) -
                       sum(y + radius + 1, x - radius) + sum(y - radius, x - radius)) /
                      static_cast<long double>(high * wide));
    }
  return means;
}

template <class where, class T>
void check_box(const extent& size, std::int64_t radius, const placing& from = {}, const placing& to = {},
               bool bright = false) {
  auto in = random_pixels<T>(room_of(size, from));
  if (bright) std::fill(in.begin(), in.end(), std::is_integral_v<T> ? std::numeric_limits<T>::max() : T(1));
  const auto got = outcome<where, T, T>(
      in, size, from, size, to, [&](const auto& policy, auto a, auto b) { pmpp::box_blur(policy, a, b, radius); });
  const auto wanted = means_of<T>(view_of<const T>(in.data(), size, from), radius);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += !is(got[i], wanted[i]);
  CAPTURE(size.rows);
  CAPTURE(size.cols);
  CAPTURE(radius);
  CAPTURE(from.before);
  CAPTURE(from.gap);
  CAPTURE(from.by_columns);
  CHECK(wrong == 0);
}

/// A scaled picture by its definition: shares of pixels as areas, found in steps along the axis.
std::vector<std::vector<double>> shares(std::int64_t from, std::int64_t to) {
  std::vector<std::vector<double>> all;
  for (std::int64_t i = 0; i < to; ++i) {
    std::vector<double> share(static_cast<std::size_t>(from));
    if (to <= from) {
      const double begin = double(i) * double(from) / double(to), end = double(i + 1) * double(from) / double(to);
      for (std::int64_t k = 0; k < from; ++k)
        share[static_cast<std::size_t>(k)] =
            std::max(0.0, std::min(end, double(k + 1)) - std::max(begin, double(k))) / (end - begin);
    } else {
      const double centre = std::clamp((double(i) + 0.5) * double(from) / double(to) - 0.5, 0.0, double(from - 1));
      for (std::int64_t k = 0; k < from; ++k)
        share[static_cast<std::size_t>(k)] = std::max(0.0, 1 - std::abs(centre - double(k)));
    }
    all.push_back(share);
  }
  return all;
}

template <class where, class T>
void check_scale(const extent& size, const extent& new_size, const placing& from = {}, const placing& to = {}) {
  const auto in = random_pixels<T>(room_of(size, from));
  const auto got = outcome<where, T, T>(in, size, from, new_size, to,
                                        [](const auto& policy, auto a, auto b) { pmpp::scale(policy, a, b); });
  const auto v = view_of<const T>(in.data(), size, from);
  const auto down = shares(size.rows, new_size.rows), across = shares(size.cols, new_size.cols);
  std::int64_t wrong = 0;
  std::size_t at = 0;
  for (const auto& rows : down)
    for (const auto& cols : across) {
      double wanted = 0;
      for (std::int64_t i = 0; i < size.rows; ++i) {
        const double of_row = rows[static_cast<std::size_t>(i)];
        if (of_row == 0) continue;
        for (std::int64_t j = 0; j < size.cols; ++j)
          wanted += of_row * cols[static_cast<std::size_t>(j)] * static_cast<double>(v(i, j));
      }
      const double tolerance = std::is_integral_v<T> ? 0.5 + 1e-3 : 1e-5;
      wrong += std::abs(static_cast<double>(got[at++]) - wanted) > tolerance;
    }
  CAPTURE(size.rows);
  CAPTURE(size.cols);
  CAPTURE(new_size.rows);
  CAPTURE(new_size.cols);
  CHECK(wrong == 0);
}

}  // namespace

TEST_ALL_PLACES("grey pictures: sizes around the vectors, offsets, gaps, orientations, types") {
  for (const std::int64_t cols : test::some_of({1, 2, 15, 16, 17, 511, 512, 513, 1031}))
    for (const std::int64_t rows : {1, 3}) {
      check_gray<where, byte, byte>({rows, cols});
      check_gray<where, byte, byte>({rows, cols}, {3, 5}, {1, 2});
    }
  check_gray<where, byte, byte>({9, 1024}, {16, 16}, {32, 32});  // rows at 16-byte boundaries
  check_gray<where, byte, byte>({40, 700}, {0, 4}, {0, 4});
  check_gray<where, word, word>({7, 600});
  check_gray<where, word, word>({7, 600}, {1, 1}, {0, 3});
  check_gray<where, float, float>({7, 600});
  check_gray<where, byte, float>({7, 300});
  for (const bool a : {false, true})
    for (const bool b : {false, true}) check_gray<where, byte, byte>({30, 50}, {1, 2, a}, {3, 0, b});
}

TEST_ALL_PLACES("the grey of the corners of the colour cube, and of every shade") {
  const typename where::policy policy{};
  std::vector<rgb<byte>> in;
  for (const int r : {0, 255})
    for (const int g : {0, 255})
      for (const int b : {0, 255}) in.push_back({byte(r), byte(g), byte(b)});
  for (int shade = 0; shade < 256; ++shade) in.push_back({byte(shade), byte(shade), byte(shade)});
  const auto data = where::put(in);
  auto out = where::put(std::vector<byte>(in.size()));
  pmpp::rgb_to_gray(policy, matrix_view(data.data(), 1, in.size()), matrix_view<byte>(out.data(), 1, in.size()));
  const auto got = where::get(out);
  CHECK(std::vector<byte>(got.begin(), got.begin() + 8) == std::vector<byte>{0, 18, 181, 199, 54, 71, 235, 252});
  for (int shade = 0; shade < 256; ++shade) CHECK(got[std::size_t(8 + shade)] == (99 * shade + 50) / 100);
}

TEST_ALL_PLACES("box blur of bytes: every radius with a kernel of its own and beyond, tiles cut off anywhere") {
  for (const std::int64_t radius : test::some_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 13})) {
    check_box<where, byte>({70, 560}, radius);
    check_box<where, byte>({21, 64}, radius, {16, 32}, {32, 0});
    check_box<where, byte>({33, 77}, radius, {1, 2}, {3, 1});
    check_box<where, byte>({40, 50}, radius, {}, {}, true);
    for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 3}, {5, 16}, {4, 17}, {8, 31}})
      check_box<where, byte>({rows, cols}, radius);
  }
  for (const std::int64_t radius : {16, 31, 127, 128}) {  // windows that slide, and one that does not
    check_box<where, byte>({20, 1100}, radius);
    check_box<where, byte>({270, 33}, radius, {2, 1}, {1, 0});
  }
  for (const std::int64_t cols : test::some_of({16, 32, 528, 1024, 1043})) check_box<where, byte>({50, cols}, 1);
  for (int k = 0; k < 4; ++k)
    for (const std::int64_t gap : {0, 1, 3}) check_box<where, byte>({12, 60}, 1, {k, gap}, {3 - k, gap});
}

TEST_ALL_PLACES("box blur of other samples, wider than the picture, by columns") {
  for (const std::int64_t radius : test::some_of({0, 1, 3, 20, 1000})) {
    check_box<where, word>({20, 45}, radius, {1, 1}, {0, 2});
    check_box<where, float>({20, 45}, radius, {1, 1}, {0, 2});
    check_box<where, byte>({20, 45}, radius);
  }
  check_box<where, word>({30, 40}, 9, {}, {}, true);
  check_box<where, byte>({30, 40}, std::numeric_limits<std::int64_t>::max());
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      check_box<where, byte>({30, 50}, 2, {1, 2, a}, {3, 0, b});
      check_box<where, float>({30, 50}, 2, {1, 2, a}, {3, 0, b});
    }
}

TEST_ALL_PLACES("Gaussian blur: constant pictures stay, an impulse becomes the bell curve") {
  const typename where::policy policy{};
  const std::int64_t rows = 41, cols = 53;
  for (const double sigma : {0.0, 0.3, 1.0, 2.5}) {
    const auto flat = where::put(std::vector<byte>(static_cast<std::size_t>(rows * cols), byte(201)));
    auto same = where::put(std::vector<byte>(static_cast<std::size_t>(rows * cols)));
    pmpp::gaussian_blur(policy, matrix_view(flat.data(), rows, cols), matrix_view<byte>(same.data(), rows, cols),
                        sigma);
    CHECK(where::get(same) == where::get(flat));
    std::vector<float> impulse(static_cast<std::size_t>(rows * cols));
    impulse[static_cast<std::size_t>(20 * cols + 25)] = 1;
    const auto in = where::put(impulse);
    auto out = where::put(impulse);
    pmpp::gaussian_blur(policy, matrix_view(in.data(), rows, cols), matrix_view<float>(out.data(), rows, cols), sigma);
    const auto got = where::get(out);
    double sum = 0;
    for (const float x : got) sum += static_cast<double>(x);
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
    const auto at = [&](std::int64_t y, std::int64_t x) { return double(got[static_cast<std::size_t>(y * cols + x)]); };
    const double top = at(20, 25), far = std::ceil(3 * sigma);
    for (int dy = -9; dy <= 9; ++dy)
      for (int dx = -9; dx <= 9; ++dx) {
        const bool reached = std::abs(dy) <= far && std::abs(dx) <= far;
        const double wanted = dx == 0 && dy == 0 ? top
                              : reached          ? top * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma))
                                                 : 0;
        CHECK(std::abs(at(20 + dy, 25 + dx) - wanted) <= 1e-6);
      }
  }
}

TEST_ALL_PLACES("scaled pictures") {
  for (const auto& size : {extent{1, 1}, {7, 9}, {20, 33}})
    for (const auto& new_size : {extent{1, 1}, {3, 4}, {7, 9}, {13, 5}, {5, 40}, {41, 70}}) {
      check_scale<where, byte>(size, new_size, {1, 2}, {2, 1});
      check_scale<where, float>(size, new_size);
    }
  check_scale<where, byte>({30, 20}, {15, 10}, {0, 0, true}, {0, 1, false});
  check_scale<where, byte>({60, 90}, {150, 260});  // several tiles
  for (const auto& new_size : {extent{131, 140}, {75, 150}, {50, 100}, {149, 299}, {7, 300}, {310, 304}})
    check_scale<where, byte>({150, 300}, new_size, {4, 8}, {3, 1});  // rows of whole words
  check_scale<where, byte>({5, 4}, {300, 7});
}

TEST_ALL_PLACES("colours are blurred and scaled one by one") {
  const typename where::policy policy{};
  const extent size{20, 37}, small{9, 50};
  const auto in = random_pixels<rgb<byte>>(static_cast<std::size_t>(size.rows * size.cols));
  const auto data = where::put(in);
  const auto run = [&](const extent& out_size, auto call) {
    auto whole = where::put(std::vector<rgb<byte>>(static_cast<std::size_t>(out_size.rows * out_size.cols)));
    call(matrix_view(data.data(), size.rows, size.cols),
         matrix_view<rgb<byte>>(whole.data(), out_size.rows, out_size.cols));
    const auto got = where::get(whole);
    for (int c = 0; c < 3; ++c) {
      std::vector<byte> plane, wanted;
      for (const auto& p : in) plane.push_back(c == 0 ? p.r : c == 1 ? p.g : p.b);
      for (const auto& p : got) wanted.push_back(c == 0 ? p.r : c == 1 ? p.g : p.b);
      const auto one = where::put(plane);
      auto out = where::put(std::vector<byte>(wanted.size()));
      call(matrix_view(one.data(), size.rows, size.cols), matrix_view<byte>(out.data(), out_size.rows, out_size.cols));
      CHECK(where::get(out) == wanted);
    }
  };
  run(size, [&](const auto& a, const auto& b) { pmpp::box_blur(policy, a, b, 2); });
  run(size, [&](const auto& a, const auto& b) { pmpp::gaussian_blur(policy, a, b, 1.2, pmpp::border::clamp); });
  run(small, [&](const auto& a, const auto& b) { pmpp::scale(policy, a, b); });
}

TEST_ALL_PLACES("bad input throws before anything runs; empty pictures are fine") {
  const typename where::policy policy{};
  const std::vector<byte> before(100, 7);
  auto a = where::put(before), b = where::put(before);
  const auto colours = where::put(std::vector<rgb<byte>>(30));
  const matrix_view<byte> in(a.data(), 5, 6), out(b.data(), 5, 6), turned(b.data(), 6, 5);
  const matrix_view<byte> null(static_cast<byte*>(nullptr), 5, 6), none(static_cast<byte*>(nullptr), 0, 6);
  const matrix_view<const rgb<byte>> picture(colours.data(), 5, 6);
  CHECK_THROWS_WITH_AS(pmpp::rgb_to_gray(policy, picture, turned),
                       "pmpp::rgb_to_gray: the input is 5 x 6, so the output must be too, but is 6 x 5",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::rgb_to_gray(policy, picture, null), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::box_blur(policy, in, out, -1), "pmpp::box_blur: the radius is -1, below 0",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::box_blur(policy, in, turned, 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::box_blur(policy, in, in, 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::box_blur(policy, null, out, 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gaussian_blur(policy, in, out, -0.5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gaussian_blur(policy, in, out, std::nan("")), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gaussian_blur(policy, in, out, 1e9), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gaussian_blur(policy, in, in, 1), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::scale(policy, none, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::scale(policy, in, matrix_view<byte>(a.data() + 29, 3, 3)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::scale(policy, in, matrix_view<byte>(b.data(), std::int64_t(1) << 31, 1)),
                  std::invalid_argument);
  CHECK(where::get(a) == before);
  CHECK(where::get(b) == before);
  pmpp::box_blur(policy, none, none, 3);
  pmpp::gaussian_blur(policy, none, none, 3);
  pmpp::scale(policy, in, none);
  pmpp::rgb_to_gray(policy, matrix_view<const rgb<byte>>(colours.data(), 0, 6), none);
}

#if !PMPP_CUDA
TEST_CASE("under other orders of blocks and threads") {
  test::for_each_order(2, [](std::uint64_t) {
    check_gray<test::device_place, byte, byte>({5, 1100}, {16, 4}, {16, 4});
    check_box<test::device_place, byte>({70, 600}, 1);
    check_box<test::device_place, float>({20, 40}, 3);
    check_scale<test::device_place, byte>({9, 11}, {12, 5});
  });
}
#else
TEST_CASE("in another stream with a workspace, captured, and replayed on changed data") {
  const extent size{120, 528};
  const auto n = static_cast<std::size_t>(size.rows * size.cols);
  const pmpp::stream stream;
  pmpp::workspace scratch;
  const auto policy = pmpp::device.on(stream).with(scratch);
  pmpp::device_buffer<rgb<byte>> picture(n);
  pmpp::device_buffer<byte> gray(n), little(n), much(n), bell(n), half(n / 4);
  const auto view = [&](auto& x) { return matrix_view(x.data(), size.rows, size.cols); };
  const auto all = [&] {
    pmpp::rgb_to_gray(policy, view(picture), view(gray));
    pmpp::box_blur(policy, view(gray), view(little), 1);
    pmpp::box_blur(policy, view(gray), view(much), 11);
    pmpp::gaussian_blur(policy, view(gray), view(bell), 1.5);
    pmpp::scale(policy, view(gray), matrix_view<byte>(half.data(), size.rows / 2, size.cols / 2));
  };
  pmpp::copy(stream, random_pixels<rgb<byte>>(n), picture);
  all();  // the workspace grows
  const test::captured_graph replayed(stream, all);
  for (int round = 0; round < 3; ++round) {
    const auto in = random_pixels<rgb<byte>>(n);
    pmpp::copy(stream, in, picture);
    replayed.replay();
    stream.synchronize();
    std::vector<byte> wanted(n), blurred(n), halved(n / 4);
    const matrix_view<byte> g = view(wanted);
    pmpp::rgb_to_gray(pmpp::seq, view(in), g);
    CHECK(pmpp::to_host(gray) == wanted);
    pmpp::box_blur(pmpp::host, g, view(blurred), 1);
    CHECK(pmpp::to_host(little) == blurred);
    pmpp::box_blur(pmpp::host, g, view(blurred), 11);
    CHECK(pmpp::to_host(much) == blurred);
    const auto got = pmpp::to_host(half);
    pmpp::scale(pmpp::seq, g, matrix_view<byte>(halved.data(), size.rows / 2, size.cols / 2));
    CHECK(got == halved);
  }
}

TEST_CASE("past 2^31 pixels") {
  const std::int64_t rows = 65537, cols = 32768 + 16;
  const pmpp::device_buffer<rgb<byte>> colours(static_cast<std::size_t>(rows * cols), rgb<byte>{10, 20, 30});
  pmpp::device_buffer<byte> gray(colours.size()), blurred(colours.size());
  const matrix_view<byte> g(gray.data(), rows, cols);
  pmpp::rgb_to_gray(pmpp::device, matrix_view(colours.data(), rows, cols), g);
  pmpp::box_blur(pmpp::device, g, matrix_view<byte>(blurred.data(), rows, cols), 1);
  for (const auto& buffer : {&gray, &blurred}) {
    const auto last = pmpp::to_host(std::span<const byte>(buffer->data() + (rows - 2) * cols, 2 * cols));
    CHECK(std::count(last.begin(), last.end(), byte(18)) == 2 * cols);
  }
}
#endif
