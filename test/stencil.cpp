// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of stencil.hpp, on every policy: each result is that of the function on the elements that its
// definition names, to the last bit of whole numbers, for every border, one, two and three dimensions, extents smaller
// and larger than the radius, pitches, offsets and orientations, several types; memory around the output stays as it
// was; what the function does not ask for does not matter; the presets have the points and weights that they say, and
// their Laplacians are exact on polynomials; bad input throws and touches nothing. In the emulator also with small
// blocks, under other orders of blocks and threads. On a GPU also: another stream, two steps in a graph replayed on
// changed data, and more than 2^31 elements.
#include <pmpp/stencil.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/borders.hpp"
#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;
using pmpp::volume_view;
namespace border = pmpp::border;

namespace {

constexpr pmpp::stencil_tuning standard{};
constexpr pmpp::stencil_tuning tiny{.threads = 32, .blocks = 1, .ahead = 0};

struct shape {
  std::int64_t depth, height, width;
  std::int64_t count() const { return depth * height * width; }
};

/// An element that a result needs, and its factor.
struct term {
  int dz, dy, dx;
  double weight;
};

/// All elements one away, each with a weight of its own.
struct every {
  PMPP_HOST_DEVICE static constexpr int weight(int dz, int dy, int dx) { return 9 * dz + 3 * dy + dx + 14; }

  template <class N>
  PMPP_HOST_DEVICE int operator()(const N& n) const {
    int sum = 0;
    for (int k = -1; k <= 1; ++k) {
      if constexpr (N::dimensions == 1) sum += weight(0, 0, k) * static_cast<int>(n(k));
      if constexpr (N::dimensions > 1)
        for (int j = -1; j <= 1; ++j) {
          if constexpr (N::dimensions == 2) sum += weight(0, j, k) * static_cast<int>(n(j, k));
          if constexpr (N::dimensions == 3)
            for (int i = -1; i <= 1; ++i) sum += weight(i, j, k) * static_cast<int>(n(i, j, k));
        }
    }
    return sum;
  }
  static std::vector<term> terms(int dimensions) {
    std::vector<term> all;
    for (int i = -(dimensions == 3); i <= (dimensions == 3); ++i)
      for (int j = -(dimensions > 1); j <= (dimensions > 1); ++j)
        for (int k = -1; k <= 1; ++k) all.push_back({i, j, k, double(weight(i, j, k))});
    return all;
  }
};

/// A few elements up to two away.
struct some {
  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    return 3 * n(-2, 1, 2) + 5 * n(2, -2, 0) + 7 * n(0, 2, -2) + 11 * n(1, 0, -1) - 13 * n(0, 0, 2) + 17 * n(0, 0, 0) -
           19 * n(0, -1, 0);
  }
  static std::vector<term> terms(int) {
    return {{-2, 1, 2, 3},  {2, -2, 0, 5}, {0, 2, -2, 7},  {1, 0, -1, 11},
            {0, 0, 2, -13}, {0, 0, 0, 17}, {0, -1, 0, -19}};
  }
};

/// The terms of a star with those weights, and of a box.
template <class Weights>
std::vector<term> star_terms(int dimensions, int radius, const Weights& weight) {
  std::vector<term> all = {{0, 0, 0, double(weight[0])}};
  for (int k = 1; k <= radius; ++k)
    for (const int d : {-k, k}) {
      if (dimensions == 3) all.push_back({d, 0, 0, double(weight[k])});
      if (dimensions > 1) all.push_back({0, d, 0, double(weight[k])});
      all.push_back({0, 0, d, double(weight[k])});
    }
  return all;
}
template <class Weights>
std::vector<term> box_terms(int dimensions, const Weights& weight) {
  std::vector<term> all = every::terms(dimensions);
  for (term& t : all) t.weight = double(weight[std::abs(t.dz) + std::abs(t.dy) + std::abs(t.dx)]);
  return all;
}

template <class In>
std::vector<double> reference(const std::vector<In>& in, const shape& size, const std::vector<term>& terms,
                              const border::rule& outside) {
  const int reach = 8;
  const auto axis = [&](std::int64_t n) {
    std::vector<std::int64_t> at;
    for (std::int64_t i = -reach; i < n + reach; ++i) at.push_back(i >= 0 && i < n ? i : test::walked(i, n, outside));
    return at;
  };
  const auto at_z = axis(size.depth), at_y = axis(size.height), at_x = axis(size.width);
  std::vector<double> all;
  for (std::int64_t z = 0; z < size.depth; ++z)
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        double sum = 0;
        for (const term& t : terms) {
          const std::int64_t i = at_z[static_cast<std::size_t>(z + t.dz + reach)];
          const std::int64_t j = at_y[static_cast<std::size_t>(y + t.dy + reach)];
          const std::int64_t k = at_x[static_cast<std::size_t>(x + t.dx + reach)];
          const bool none = i < 0 || j < 0 || k < 0;
          sum += t.weight * double(none ? static_cast<In>(outside.value)
                                        : in[static_cast<std::size_t>((i * size.height + j) * size.width + k)]);
        }
        all.push_back(sum);
      }
  return all;
}

/// How views lie in memory.
struct placing {
  std::int64_t before = 0, row_gap = 0, slice_gap = 0;
  bool by_columns = false;  ///< matrices
};

/// Calls stencil in the dimensions that are asked for.
template <int Dimensions, int Radius, pmpp::stencil_tuning Tuning, class P, class In, class Out, class F>
void call(const P& where, const In* in, Out* out, const shape& size, const placing& from, const placing& to, const F& f,
          const border::rule& outside) {
  if constexpr (Dimensions == 3) {
    const auto view = [&](auto* p, const placing& at) {
      const std::int64_t pitch = size.width + at.row_gap;
      return volume_view(p + at.before, size.depth, size.height, size.width, pitch, pitch * size.height + at.slice_gap);
    };
    pmpp::stencil<Tuning>(where, view(in, from), view(out, to), pmpp::radius<Radius>, f, outside);
  } else if constexpr (Dimensions == 2) {
    const auto view = [&](auto* p, const placing& at) {
      using T = std::remove_reference_t<decltype(*p)>;
      if (at.by_columns)
        return transposed(matrix_view<T>(p + at.before, size.width, size.height, size.height + at.row_gap));
      return matrix_view<T>(p + at.before, size.height, size.width, size.width + at.row_gap);
    };
    pmpp::stencil<Tuning>(where, view(in, from), view(out, to), pmpp::radius<Radius>, f, outside);
  } else {
    const auto n = static_cast<std::size_t>(size.width);
    pmpp::stencil<Tuning>(where, std::span<const In>(in + from.before, n), std::span<Out>(out + to.before, n),
                          pmpp::radius<Radius>, f, outside);
  }
}

/// Where an element lies.
std::int64_t place(const shape& size, const placing& at, std::int64_t z, std::int64_t y, std::int64_t x) {
  if (at.by_columns) return at.before + x * (size.height + at.row_gap) + y;
  const std::int64_t pitch = size.width + at.row_gap;
  return at.before + z * (pitch * size.height + at.slice_gap) + y * pitch + x;
}
template <class T>
std::vector<T> laid_out(const std::vector<T>& dense, const shape& size, const placing& at, T filler) {
  const std::int64_t rows =
      at.by_columns ? size.width * (size.height + at.row_gap) : size.height * (size.width + at.row_gap);
  std::vector<T> all(static_cast<std::size_t>(at.before + size.depth * (rows + at.slice_gap) + 9), filler);
  std::size_t i = 0;
  for (std::int64_t z = 0; z < size.depth; ++z)
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x)
        all[static_cast<std::size_t>(place(size, at, z, y, x))] = dense[i++];
  return all;
}

/// Small whole numbers, of which sums are exact.
template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> v;
  for (const int x : test::random_values<int>(n)) v.push_back(static_cast<T>(std::is_unsigned_v<T> ? x + 100 : x));
  return v;
}

template <int Dimensions, int Radius, pmpp::stencil_tuning Tuning, class where, class In, class Out, class F>
void check(const shape& size, const F& f, const std::vector<term>& terms, const border::rule& outside,
           const placing& from = {}, const placing& to = {}) {
  const auto in = numbers<In>(size.count());
  const auto data = where::put(laid_out(in, size, from, In(77)));
  const Out guard = Out(55);
  auto out = where::put(laid_out(std::vector<Out>(in.size(), Out(-1)), size, to, guard));
  call<Dimensions, Radius, Tuning>(typename where::policy{}, data.data(), out.data(), size, from, to, f, outside);
  auto got = where::get(out);
  const auto wanted = reference(in, size, terms, outside);
  std::int64_t wrong = 0, touched = 0;
  std::size_t i = 0;
  for (std::int64_t z = 0; z < size.depth; ++z)
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        Out& result = got[static_cast<std::size_t>(place(size, to, z, y, x))];
        wrong += double(result) != wanted[i++];
        result = guard;
      }
  for (const Out& x : got) touched += x != guard;
  CAPTURE(Dimensions);
  CAPTURE(Radius);
  CAPTURE(sizeof(In));
  CAPTURE(size.depth);
  CAPTURE(size.height);
  CAPTURE(size.width);
  CAPTURE(int(outside.what));
  CAPTURE(from.before);
  CAPTURE(from.row_gap);
  CHECK(wrong == 0);
  CHECK(touched == 0);
}

/// The rules, with a constant that all types have.
const std::vector<border::rule> rules =
    test::only_small() ? std::vector<border::rule>{border::mirror, border::constant(9)}
                       : std::vector<border::rule>{border::zero,   border::clamp, border::reflect,
                                                   border::mirror, border::wrap,  border::constant(9)};

}  // namespace

TEST_ALL_PLACES("every neighbour in its place: three dimensions, every border, small and cut off extents, pitches") {
  const auto terms = every::terms(3);
  for (const border::rule& outside : rules) {
    for (const shape& size : {shape{1, 1, 1}, {2, 1, 3}, {1, 2, 4}, {3, 2, 1}, {4, 9, 8}, {5, 3, 33}})
      check<3, 1, standard, where, float, float>(size, every{}, terms, outside);
    check<3, 1, standard, where, float, float>({6, 11, 130}, every{}, terms, outside, {1, 2, 3}, {3, 1, 5});
    check<3, 1, standard, where, float, float>({6, 5, 132}, every{}, terms, outside, {4, 4, 8}, {8, 0, 4});
    check<3, 1, standard, where, float, float>({4, 5, 20}, every{}, terms, outside, {1, 4, 8}, {8, 0, 4});
    if constexpr (where::on_device)
      for (const shape& size : {shape{7, 5, 12}, {9, 2, 136}, {30, 1, 4}, {3, 3, 7}})
        check<3, 1, tiny, where, float, float>(size, every{}, terms, outside);
  }
  check<3, 1, standard, where, float, float>({test::up_to(40, 6), 20, 260}, every{}, terms, border::clamp);
}

TEST_ALL_PLACES("two dimensions, matrices by columns, other types") {
  const auto terms = every::terms(2);
  for (const border::rule& outside : rules) {
    for (const shape& size : {shape{1, 1, 1}, {1, 1, 9}, {1, 9, 1}, {1, 2, 2}, {1, 70, 20}, {1, 33, 131}})
      check<2, 1, standard, where, std::uint8_t, int>(size, every{}, terms, outside);
    check<2, 1, standard, where, std::uint8_t, int>({1, 40, 280}, every{}, terms, outside, {4, 4}, {4, 8});
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        check<2, 1, standard, where, std::uint8_t, int>({1, 12, 36}, every{}, terms, outside, {2, 1, 0, a},
                                                        {1, 3, 0, b});
  }
  check<2, 1, standard, where, std::uint8_t, int>({1, 1500, 8}, every{}, terms, border::mirror);
  check<2, 1, standard, where, std::uint8_t, int>({1, 8, 3000}, every{}, terms, border::mirror);
}

TEST_ALL_PLACES("one dimension") {
  for (const border::rule& outside : rules)
    for (const std::int64_t n : test::some_of({1, 2, 3, 31, 128, 1000, 9001}))
      for (const std::int64_t before : {0, 1, 4})
        check<1, 1, standard, where, float, float>({1, 1, n}, every{}, every::terms(1), outside, {before},
                                                   {4 - before});
}

TEST_ALL_PLACES("a radius of two: elements of other planes, rows and columns at once") {
  for (const border::rule& outside : rules) {
    for (const shape& size : {shape{1, 1, 1}, {2, 3, 4}, {5, 6, 40}, {4, 4, 13}})
      check<3, 2, standard, where, float, float>(size, some{}, some::terms(3), outside);
    check<3, 2, standard, where, float, float>({5, 9, 64}, some{}, some::terms(3), outside, {1, 2, 1}, {0, 4, 4});
  }
}

TEST_ALL_PLACES("the presets have the points and the weights that they say") {
  const pmpp::stencil_25<double> far{{1, 2, -3, 5, 7}};
  const pmpp::stencil_13<float> near{{1, 2, -3}};
  const pmpp::stencil_27<float> box{{1, 2, -3, 5}};
  for (const border::rule& outside : {border::zero, border::wrap, border::mirror}) {
    for (const shape& size : {shape{3, 2, 5}, {10, 11, 16}, {12, 9, 35}})
      check<3, 4, standard, where, double, double>(size, far, star_terms(3, 4, far.weight), outside);
    for (const shape& size : {shape{1, 3, 5}, {1, 30, 64}, {1, 19, 35}})
      check<2, 2, standard, where, float, float>(size, near, star_terms(2, 2, near.weight), outside);
  }
  for (const border::rule& outside : rules)
    for (const shape& size : {shape{9, 7, 36}, {1, 2, 4}, {5, 9, 31}})
      check<3, 1, standard, where, float, float>(size, box, box_terms(3, box.weight), outside, {0, 4, 4});
}

TEST_ALL_PLACES("Laplacians of polynomials are exact") {
  const std::int64_t n = 300;
  std::vector<double> line;
  for (std::int64_t i = 0; i < n; ++i) line.push_back(std::pow(double(i) / 64, 4) - 3 * std::pow(double(i) / 64, 3));
  const auto in = where::put(line);
  auto out = where::put(std::vector<double>(line.size()));
  pmpp::stencil(typename where::policy{}, in, out, pmpp::radius<2>, pmpp::laplacian<double, 2>(1));
  const auto got = where::get(out);
  for (std::int64_t i = 2; i < n - 2; ++i) {  // of order 4: the fifth derivative is the first that is left out
    const double x = double(i) / 64;
    CHECK(got[static_cast<std::size_t>(i)] * 64 * 64 == doctest::Approx(12 * x * x - 18 * x).epsilon(1e-7).scale(10));
  }
  for (const int dimensions : {1, 2, 3}) {  // the weights sum to nothing, and to two when squares are summed
    const auto l = pmpp::laplacian<double, 4>(dimensions);
    double sum = l.weight[0], squares = 0;
    for (int k = 1; k <= 4; ++k) sum += 2 * dimensions * l.weight[k], squares += 2 * k * k * l.weight[k];
    CHECK(sum == doctest::Approx(0).scale(1));
    CHECK(squares == doctest::Approx(2));
  }
}

namespace {

/// Three words, that are no number.
struct rgb {
  float r, g, b;
};
struct neighbour_below {
  template <class N>
  PMPP_HOST_DEVICE rgb operator()(const N& n) const {
    const rgb a = n(1, 0), b = n(0, -1);
    return {a.r, b.g, a.b + b.b};
  }
};

}  // namespace

TEST_ALL_PLACES("elements of 12 bytes") {
  const typename where::policy policy{};
  const std::int64_t rows = 9, cols = 70;
  std::vector<rgb> in;
  for (std::int64_t i = 0; i < rows * cols; ++i) in.push_back({float(i), float(i + 1000), float(2 * i)});
  const auto data = where::put(in);
  auto out = where::put(std::vector<rgb>(in.size()));
  const matrix_view<const rgb> from(data.data(), rows, cols);
  const matrix_view<rgb> to(out.data(), rows, cols);
  pmpp::stencil(policy, from, to, pmpp::radius<1>, neighbour_below{});
  const auto got = where::get(out);
  std::int64_t wrong = 0;
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < cols; ++x) {
      const rgb a = y + 1 < rows ? in[static_cast<std::size_t>((y + 1) * cols + x)] : rgb{};
      const rgb b = x > 0 ? in[static_cast<std::size_t>(y * cols + x - 1)] : rgb{};
      const rgb& g = got[static_cast<std::size_t>(y * cols + x)];
      wrong += g.r != a.r || g.g != b.g || g.b != a.b + b.b;
    }
  CHECK(wrong == 0);
  CHECK_THROWS_WITH_AS(pmpp::stencil(policy, from, to, pmpp::radius<1>, neighbour_below{}, border::constant(2)),
                       "pmpp::stencil: border::constant(2.000000) is not a value of the elements, which are no numbers",
                       std::invalid_argument);
}

namespace {

template <int Words>
struct words {
  float word[Words];
};
struct first_and_last {
  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    return n(-1).word[0] + n(1).word[n.dimensions];
  }
};

template <class where, int Words>
void check_words() {
  const std::int64_t n = 700;
  std::vector<float> in;
  for (int i = 0; i < n * Words + 1; ++i) in.push_back(float(i % 1000));
  const auto data = where::put(in);
  auto out = where::put(std::vector<float>(std::size_t(n)));
  const auto* const first = reinterpret_cast<const words<Words>*>(data.data() + 1);  // no multiple of their size
  pmpp::stencil(typename where::policy{}, std::span<const words<Words>>(first, std::size_t(n)), out, pmpp::radius<1>,
                first_and_last{});
  const auto got = where::get(out);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += got[std::size_t(i)] != (i > 0 ? in[std::size_t(1 + (i - 1) * Words)] : 0) +
                                        (i + 1 < n ? in[std::size_t(1 + (i + 1) * Words + 1)] : 0);
  CHECK(wrong == 0);
}

}  // namespace

TEST_ALL_PLACES("elements of several words at any word") {
  check_words<where, 2>();
  check_words<where, 4>();
}

namespace {

/// Nine words.
struct many {
  float word[9];
};
struct cross_of_many {
  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    return n(0, 0, 0).word[0] + n(-1, 0, 1).word[8] - n(1, -1, 0).word[4];
  }
};

}  // namespace

TEST_ALL_PLACES("elements of 36 bytes") {
  const int size = 7;
  std::vector<many> in;
  for (int i = 0; i < size * size * size; ++i) in.push_back({{float(i), 0, 0, 0, float(3 * i), 0, 0, 0, float(7 * i)}});
  const auto data = where::put(in);
  auto out = where::put(std::vector<float>(in.size()));
  call<3, 1, standard>(typename where::policy{}, data.data(), out.data(), {size, size, size}, {}, {}, cross_of_many{},
                       border::wrap);
  const auto got = where::get(out);
  const auto at = [](int z, int y, int x) {
    return float(((z + size) % size * size + (y + size) % size) * size + (x + size) % size);
  };
  int wrong = 0;
  for (int i = 0; i < size * size * size; ++i) {
    const int z = i / (size * size), y = i / size % size, x = i % size;
    wrong += got[static_cast<std::size_t>(i)] != at(z, y, x) + 7 * at(z - 1, y, x + 1) - 3 * at(z + 1, y - 1, x);
  }
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("NaN goes where the function asks for it, and no further") {
  const typename where::policy policy{};
  const shape size{5, 6, 40};
  std::vector<float> in(static_cast<std::size_t>(size.count()), 1.0f);
  in[static_cast<std::size_t>((2 * 6 + 3) * 40 + 19)] = std::numeric_limits<float>::quiet_NaN();
  const auto data = where::put(in);
  auto out = where::put(in);
  const pmpp::stencil_13<float> f{{1, 2, 3}};
  call<3, 2, standard>(policy, data.data(), out.data(), size, {}, {}, f, border::zero);
  const auto got = where::get(out);
  int wrong = 0;
  for (int i = 0; i < int(size.count()); ++i) {
    const int z = std::abs(i / 240 - 2), y = std::abs(i / 40 % 6 - 3), x = std::abs(i % 40 - 19);
    const bool met = z + y + x <= 2 && (z == 0) + (y == 0) + (x == 0) >= 2;
    wrong += std::isnan(got[static_cast<std::size_t>(i)]) != met;
  }
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const std::vector<float> before(100, 7);
  auto a = where::put(before), b = where::put(before);
  float* null = nullptr;
  const every f{};
  const auto reach = pmpp::radius<1>;
  const matrix_view<float> in(a.data(), 5, 6), out(b.data(), 5, 6);
  CHECK_THROWS_WITH_AS(
      pmpp::stencil(policy, volume_view<float>(a.data(), 2, 3, 4), volume_view<float>(b.data(), 2, 4, 3), reach, f),
      "pmpp::stencil: the input is 2 x 3 x 4, so the output must be too, but is 2 x 4 x 3", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(policy, in, matrix_view<float>(b.data(), 6, 5), reach, f),
                       "pmpp::stencil: the input is 5 x 6, so the output must be too, but is 6 x 5",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(policy, in, matrix_view<float>(null, 5, 6), reach, f),
                       "pmpp::stencil: the output is null", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(policy, matrix_view<float>(null, 5, 6), out, reach, f),
                       "pmpp::stencil: the input is null", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::stencil(policy, in, in, reach, f), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::stencil(policy, in, matrix_view<float>(a.data() + 29, 5, 6), reach, f), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::stencil(policy, a, std::span<float>(b.data(), 99), reach, f), std::length_error);
  CHECK_THROWS_AS(pmpp::stencil(policy, a, a, reach, f), std::invalid_argument);
  CHECK(where::get(a) == before);
  CHECK(where::get(b) == before);
  pmpp::stencil(policy, matrix_view<float>(null, 0, 6), matrix_view<float>(null, 0, 6), reach, f);  // nothing: null too
  pmpp::stencil(policy, std::span<float>(), std::span<float>(), reach, f);
  const matrix_view<float> left(a.data(), 5, 4, 10), right(a.data() + 5, 5, 4, 10);  // side by side
  pmpp::stencil(policy, left, right, reach, f);
}

#if !PMPP_CUDA
TEST_CASE("under other orders of blocks and threads") {
  test::for_each_order(2, [](std::uint64_t) {
    check<3, 1, tiny, test::device_place, float, float>({7, 5, 136}, every{}, every::terms(3), border::wrap);
    check<3, 1, tiny, test::device_place, float, float>({40, 3, 7}, every{}, every::terms(3), border::mirror);
  });
}
#else
TEST_CASE("in another stream, two steps captured, and replayed on changed data") {
  const shape size{20, 30, 64};
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream);
  pmpp::device_buffer<float> a(size.count()), b(size.count());
  const pmpp::stencil_7<float> f{{1, 2}};
  const test::captured_graph replayed(stream, [&] {
    call<3, 1, standard>(policy, a.data(), b.data(), size, {}, {}, f, border::reflect);
    call<3, 1, standard>(policy, b.data(), a.data(), size, {}, {}, f, border::reflect);
  });
  for (int round = 0; round < 3; ++round) {
    const auto in = numbers<float>(size.count());
    pmpp::copy(stream, in, a);
    replayed.replay();
    const auto got = pmpp::to_host(stream, a);
    const auto terms = star_terms(3, 1, f.weight);
    const auto once = reference(in, size, terms, border::reflect);
    const auto wanted = reference(once, size, terms, border::reflect);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += double(got[i]) != wanted[i];
    CHECK(wrong == 0);
  }
}

namespace {
struct sum_of_cross {
  template <class N>
  PMPP_HOST_DEVICE std::uint8_t operator()(const N& n) const {
    return static_cast<std::uint8_t>(n(0, 0) + n(-1, 0) + n(1, 0) + n(0, -1) + n(0, 1));
  }
};
}  // namespace

TEST_CASE("past 2^31 and 2^32 elements") {
  const std::int64_t rows = 65537, cols = 65536 + 4;
  pmpp::device_buffer<std::uint8_t> in(static_cast<std::size_t>(rows * cols), std::uint8_t(3)), out(in.size());
  pmpp::stencil(pmpp::device, matrix_view<const std::uint8_t>(in.data(), rows, cols),
                matrix_view<std::uint8_t>(out.data(), rows, cols), pmpp::radius<1>, sum_of_cross{});
  const auto last = pmpp::to_host(std::span<const std::uint8_t>(out.data() + (rows - 1) * cols, cols));
  const auto other = pmpp::to_host(std::span<const std::uint8_t>(out.data() + (rows - 2) * cols, cols));
  std::vector<std::uint8_t> at_edge(static_cast<std::size_t>(cols), 12), within(static_cast<std::size_t>(cols), 15);
  at_edge.front() = at_edge.back() = 9;
  within.front() = within.back() = 12;
  CHECK(last == at_edge);
  CHECK(other == within);
}
#endif
