// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of transpose.hpp, on every policy: every element arrives at its place and nothing between or
// around the rows is touched, for every shape, element size, pitch, offset and orientation of the two views; tiles cut
// off on either side; narrow and long matrices; copies where both views are adjacent along the same axis; in place for
// square views; parts of one matrix; negative and zero strides; bad input throws and touches nothing. In the emulator
// also with tiny tiles under other orders of blocks and threads. On a GPU also: another stream, a graph that is
// replayed on changed data, and matrices past 2^31 elements.
#include <pmpp/transpose.hpp>

#include <pmpp/reduce.hpp>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;

namespace {

constexpr pmpp::transpose_tuning standard{};
constexpr pmpp::transpose_tuning tiny{.threads = 32, .vectors = 4, .items = 2, .element_share = 1 << 30};

/// An element of this many bytes, aligned to one.
template <int Bytes>
struct bytes {
  unsigned char byte[Bytes];
};
struct alignas(16) quad {
  std::uint32_t word[4];
};
/// 1000 bytes.
struct large {
  std::uint64_t word[125];
};

/// An element of the matrix that has (i, j) in as many of its bytes as there are.
template <class T>
T element(std::int64_t i, std::int64_t j) {
  T x;
  auto* byte = reinterpret_cast<unsigned char*>(&x);
  for (std::size_t k = 0; k < sizeof(T); ++k) {
    const std::uint64_t hash = (static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u +
                                static_cast<std::uint64_t>(j) * 0xbf58476d1ce4e5b9u + k / 8 + 1) *
                               0x94d049bb133111ebu;
    byte[k] = static_cast<unsigned char>(hash >> 8 * (k % 8));
  }
  return x;
}
template <class T>
bool same(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T>
T guard() {
  T x;
  std::memset(static_cast<void*>(&x), 0x5a, sizeof x);
  return x;
}

/// How a view lies in memory: elements before it, and more than needed from row to row; transposed: by columns.
struct placing {
  std::int64_t before = 0, gap = 0;
  bool by_columns = false;

  std::int64_t room(std::int64_t rows, std::int64_t cols) const {
    if (by_columns) std::swap(rows, cols);
    return before + rows * (cols + gap) + 19;
  }
  template <class T>
  matrix_view<T> view(T* data, std::int64_t rows, std::int64_t cols) const {
    if (by_columns) return transposed(matrix_view<T>(data + before, cols, rows, rows + gap));
    return {data + before, rows, cols, cols + gap};
  }
};

/// Elements (i, j) in the view, guards around.
template <class T>
std::vector<T> filled(const placing& at, std::int64_t rows, std::int64_t cols) {
  std::vector<T> all(static_cast<std::size_t>(at.room(rows, cols)), guard<T>());
  const auto v = at.view(all.data(), rows, cols);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) v(i, j) = element<T>(i, j);
  return all;
}
/// What memory should hold after the transposition of such a view.
template <class T>
std::vector<T> wanted(const placing& at, std::int64_t rows, std::int64_t cols) {
  std::vector<T> all(static_cast<std::size_t>(at.room(cols, rows)), guard<T>());
  const auto v = at.view(all.data(), cols, rows);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) v(j, i) = element<T>(i, j);
  return all;
}
template <class T>
std::int64_t differences(const std::vector<T>& x, const std::vector<T>& y) {
  std::int64_t count = x.size() != y.size();
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) count += !same(x[i], y[i]);
  return count;
}

template <pmpp::transpose_tuning Tuning, class where, class T>
void check(std::int64_t rows, std::int64_t cols, const placing& from, const placing& to) {
  const auto in = filled<T>(from, rows, cols);
  const auto data = where::put(in);
  auto out = where::put(std::vector<T>(static_cast<std::size_t>(to.room(cols, rows)), guard<T>()));
  pmpp::transpose<test::tuned<where>(Tuning)>(typename where::policy{}, from.view(data.data(), rows, cols),
                                              to.view(out.data(), cols, rows));
  CAPTURE(sizeof(T));
  CAPTURE(rows);
  CAPTURE(cols);
  CAPTURE(from.before);
  CAPTURE(from.gap);
  CAPTURE(from.by_columns);
  CAPTURE(to.before);
  CAPTURE(to.gap);
  CAPTURE(to.by_columns);
  CHECK(differences(where::get(out), wanted<T>(to, rows, cols)) == 0);
  CHECK(differences(where::get(data), in) == 0);
}

template <pmpp::transpose_tuning Tuning, class where, class T>
void check_shapes() {
  for (const auto& [rows, cols] : std::vector<std::pair<int, int>>{{1, 1},
                                                                   {1, 70},
                                                                   {70, 1},
                                                                   {2, 3},
                                                                   {3, 200},
                                                                   {200, 3},
                                                                   {5, 77},
                                                                   {16, 16},
                                                                   {31, 33},
                                                                   {32, 64},
                                                                   {65, 127},
                                                                   {128, 48},
                                                                   {13, 97},
                                                                   {67, 101}}) {
    check<Tuning, where, T>(rows, cols, {}, {});
    check<Tuning, where, T>(rows, cols, {0, 16 - cols % 16}, {0, 16 - rows % 16});  // rows at 16-byte boundaries
    check<Tuning, where, T>(rows, cols, {3, 5}, {1, 2});
  }
}

/// With small tiles too: of those, one element of each kind is enough (smaller than four bytes, larger, of several words).
template <class where, class T>
void check_both_tunings() {
  check_shapes<standard, where, T>();
  if constexpr (where::on_device) check_shapes<tiny, where, T>();
}

}  // namespace

TEST_ALL_PLACES("all shapes: elements of 1, 2, 4, 8 and 16 bytes") {
  check_both_tunings<where, std::uint8_t>();
  check_both_tunings<where, std::uint16_t>();
  check_shapes<standard, where, float>();
  check_both_tunings<where, double>();
  check_shapes<standard, where, quad>();
}

TEST_ALL_PLACES("all shapes: elements of 3, 4, 12, 40 and 1000 bytes, aligned to less than their size") {
  check_shapes<standard, where, bytes<3>>();
  check_shapes<standard, where, bytes<4>>();
  check_both_tunings<where, test::affine>();
  check_shapes<standard, where, test::wide>();
  check<standard, where, large>(37, 41, {1, 1}, {2, 0});
}

TEST_ALL_PLACES("large: many tiles in each direction, whole and cut off") {
  using shapes = std::vector<std::pair<int, int>>;
  for (const auto& [rows, cols] : test::only_small() ? shapes{{130, 260}, {1, 9003}, {4000, 7}}
                                                     : shapes{{512, 640}, {509, 641}, {1, 100003}, {40000, 7}}) {
    check<standard, where, std::uint8_t>(rows, cols, {}, {});
    check<standard, where, std::uint8_t>(rows, cols, {0, 64 - cols % 64}, {16, 64 - rows % 64});
    check<standard, where, std::uint16_t>(rows, cols, {0, 64 - cols % 64}, {});
    check<standard, where, float>(rows, cols, {}, {});
    check<tiny, where, float>(rows, cols, {1, 2}, {});
    check<standard, where, float>(rows, cols, {4, 64 - cols % 64}, {8, 64 - rows % 64});
    check<standard, where, quad>(rows, cols, {}, {1, 1});
  }
}

TEST_ALL_PLACES("either view may be transposed: by columns to rows is a copy") {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const auto& [rows, cols] :
           std::vector<std::pair<int, int>>{{1, 300}, {300, 1}, {64, 64}, {37, 129}, {3, 500}})
        for (const std::int64_t gap : {0, 1, 16}) {
          check<standard, where, std::uint8_t>(rows, cols, {gap, gap, a}, {16, gap, b});
          check<standard, where, std::uint16_t>(rows, cols, {1, gap, a}, {3, gap, b});
          check<standard, where, float>(rows, cols, {0, gap, a}, {4, gap, b});
          check<standard, where, test::affine>(rows, cols, {0, gap, a}, {4, gap, b});
          check<standard, where, bytes<3>>(rows, cols, {0, gap, a}, {1, gap, b});
        }
}

TEST_ALL_PLACES("random shapes, pitches and offsets") {
  const auto random = [](std::int64_t most) { return static_cast<std::int64_t>(test::generator()() % (most + 1)); };
  for (int i = 0; i < test::turns(where::on_device ? 150 : 400); ++i) {
    const std::int64_t rows = random(3) == 0 ? random(300) : random(40),
                       cols = random(3) == 0 ? random(300) : random(40);
    const placing from{random(20), random(20), random(3) == 0}, to{random(20), random(20), random(3) == 0};
    check<standard, where, std::uint8_t>(rows, cols, from, to);
    check<tiny, where, std::uint16_t>(rows, cols, from, to);
    check<standard, where, int>(rows, cols, {from.before * 4, 4 * from.gap, from.by_columns},
                                {to.before * 4, 4 * to.gap, to.by_columns});
    check<tiny, where, double>(rows, cols, from, to);
  }
}

TEST_ALL_PLACES("strides of any kind: every second element, backwards, one row again and again") {
  const typename where::policy policy{};
  const std::int64_t rows = 45, cols = 70;
  std::vector<int> in(2 * 3 * rows * cols);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  const auto data = where::put(in);
  const auto views = [&](const int* p) {
    const int* last = p + in.size() - 1;
    return std::vector<matrix_view<const int>>{{p, rows, cols, 2 * cols, 2},    {p, rows, cols, 3, 3 * rows},
                                               {last, rows, cols, -cols, -1},   {last, rows, cols, -1, -rows},
                                               {p, rows, cols, 0, 1},           {p, rows, cols, 1, 0},
                                               {p + cols, rows, cols, cols, -1}};
  };
  for (std::size_t v = 0; v < 7; ++v)
    for (const bool by_columns : {false, true})
      for (const std::int64_t step : {1, 2}) {
        auto out = where::put(std::vector<int>(static_cast<std::size_t>(2 * rows * cols), -1));
        const auto target = [&](int* p) {
          if (by_columns) return matrix_view<int>(p, cols, rows, step, step * cols);
          return matrix_view<int>(p, cols, rows, step * rows, step);
        };
        pmpp::transpose(policy, views(data.data())[v], target(out.data()));
        std::vector<int> expected(static_cast<std::size_t>(2 * rows * cols), -1);
        const auto a = views(in.data())[v];
        const auto b = target(expected.data());
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < cols; ++j) b(j, i) = a(i, j);
        CAPTURE(v);
        CAPTURE(by_columns);
        CAPTURE(step);
        CHECK(where::get(out) == expected);
      }
}

namespace {

template <pmpp::transpose_tuning Tuning, class where, class T>
void check_in_place(std::int64_t n, const placing& at) {
  auto data = where::put(filled<T>(at, n, n));
  const auto view = at.view(data.data(), n, n);
  pmpp::transpose<test::tuned<where>(Tuning)>(typename where::policy{}, view, view);
  CAPTURE(sizeof(T));
  CAPTURE(n);
  CAPTURE(at.before);
  CAPTURE(at.gap);
  CHECK(differences(where::get(data), wanted<T>(at, n, n)) == 0);
}

}  // namespace

TEST_ALL_PLACES("in place") {
  for (const std::int64_t n : test::some_of({0, 1, 2, 7, 31, 32, 33, 64, 96, 128, 130, 257})) {
    for (const placing& at : {placing{}, placing{3, 5}, placing{16, 16 - n % 16}, placing{16, 32 - n % 16, true}}) {
      check_in_place<standard, where, std::uint8_t>(n, at);
      check_in_place<standard, where, std::uint16_t>(n, at);
      check_in_place<standard, where, float>(n, at);
      check_in_place<standard, where, double>(n, at);
      check_in_place<standard, where, quad>(n, at);
      check_in_place<standard, where, bytes<3>>(n, at);
      check_in_place<standard, where, test::wide>(n, at);
      if constexpr (where::on_device) {
        check_in_place<tiny, where, std::uint8_t>(n, at);
        check_in_place<tiny, where, test::affine>(n, at);
      }
    }
  }
  check_in_place<standard, where, large>(33, {});
}

TEST_ALL_PLACES("parts of one matrix side by side, above each other, across the diagonal") {
  const typename where::policy policy{};
  const std::int64_t n = 64;
  const auto all = filled<int>({}, n, n);
  for (int which = 0; which < 4; ++which) {
    auto data = where::put(all);
    const auto parts = [&](int* p) {
      const matrix_view<int> m(p, n, n);
      if (which == 0) return std::pair(m.subview(0, 0, n, 20), m.subview(0, 20, 20, n - 20).subview(0, 0, 20, 44));
      if (which == 1) return std::pair(m.subview(0, 0, 20, 44), m.subview(20, 3, 44, 20));
      if (which == 2) return std::pair(m.subview(5, 40, 24, 24), m.subview(40, 5, 24, 24));
      return std::pair(m.subview(0, 32, 32, 32), transposed(m.subview(16, 0, 32, 32)));
    };
    auto [a, b] = parts(data.data());
    if (which == 0) a = a.subview(0, 0, 44, 20);
    pmpp::transpose(policy, a, b);
    auto expected = all;
    auto [x, y] = parts(expected.data());
    if (which == 0) x = x.subview(0, 0, 44, 20);
    for (std::int64_t i = 0; i < x.rows(); ++i)
      for (std::int64_t j = 0; j < x.cols(); ++j) y(j, i) = x(i, j);
    CAPTURE(which);
    CHECK(where::get(data) == expected);
  }
}

TEST_ALL_PLACES("twice is once back; a view of itself transposed is there already") {
  const typename where::policy policy{};
  const auto in = filled<std::int64_t>({}, 77, 130);
  auto a = where::put(in);
  auto b = where::put(std::vector<std::int64_t>(in.size()));
  auto c = where::put(in);
  const matrix_view<std::int64_t> va(a.data(), 77, 130), vb(b.data(), 130, 77);
  pmpp::transpose(policy, va, vb);
  pmpp::transpose(policy, vb, matrix_view<std::int64_t>(c.data(), 77, 130));
  CHECK(where::get(c) == in);
  pmpp::transpose(policy, va, transposed(va));
  CHECK(where::get(a) == in);
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const std::vector<int> before(100, 7);
  auto a = where::put(before);
  auto b = where::put(before);
  const matrix_view<int> va(a.data(), 4, 6);
  int* null = nullptr;
  CHECK_THROWS_WITH_AS(pmpp::transpose(policy, va, matrix_view<int>(b.data(), 4, 6)),
                       "pmpp::transpose: A is 4 x 6, so B must be 6 x 4, but is 4 x 6", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, va, matrix_view<int>(b.data(), 6, 5)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, matrix_view<int>(a.data(), -4, 6), matrix_view<int>(b.data(), 6, -4)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, matrix_view<int>(null, 4, 6), matrix_view<int>(b.data(), 6, 4)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, va, matrix_view<int>(null, 6, 4)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, va, matrix_view<int>(b.data(), 6, 4, 0)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, va, matrix_view<int>(a.data(), 6, 4)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, va, matrix_view<int>(a.data() + 23, 6, 4)), std::invalid_argument);
  const matrix_view<int> square(a.data(), 5, 5, 8);
  CHECK_THROWS_AS(pmpp::transpose(policy, square, matrix_view<int>(a.data() + 1, 5, 5, 8)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(policy, square, matrix_view<int>(a.data(), 5, 5, 9)), std::invalid_argument);
  CHECK(where::get(a) == before);
  CHECK(where::get(b) == before);
  pmpp::transpose(policy, matrix_view<int>(null, 0, 6), matrix_view<int>(null, 6, 0));  // nothing may be null
  pmpp::transpose(policy, va, matrix_view<int>(a.data() + 24, 6, 4));                   // next to each other
}

#if !PMPP_CUDA
TEST_CASE("under other orders of blocks and threads") {
  for (const char* order : {"ascending", "descending", "shuffled"})
    for (const char* seed : {"1", "2", "3"}) {
      setenv("PMPP_EMULATOR_ORDER", order, 1);
      setenv("PMPP_EMULATOR_SEED", seed, 1);
      check<tiny, test::device_place, std::uint8_t>(100, 130, {0, 14}, {0, 12});
      check<tiny, test::device_place, float>(61, 83, {0, 1}, {0, 3});
      check<tiny, test::device_place, test::affine>(61, 83, {}, {});
      check_in_place<tiny, test::device_place, float>(70, {0, 2});
      check_in_place<tiny, test::device_place, std::uint16_t>(70, {1, 2});
    }
  unsetenv("PMPP_EMULATOR_ORDER");
  unsetenv("PMPP_EMULATOR_SEED");
}
#else
TEST_CASE("in another stream, captured, and replayed on changed data") {
  const std::int64_t rows = 500, cols = 812;
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream);
  pmpp::device_buffer<float> a(rows * cols), b(rows * cols), c(rows * cols);
  const matrix_view<float> va(a.data(), rows, cols), vb(b.data(), cols, rows), vc(c.data(), rows, cols);
  const test::captured_graph replayed(stream, [&] {
    pmpp::transpose(policy, va, vb);
    pmpp::transpose(policy, transposed(va), vc);
  });
  for (int round = 0; round < 3; ++round) {
    const auto in = test::random_values<float>(rows * cols);
    pmpp::copy(stream, in, a);
    replayed.replay();
    stream.synchronize();
    std::vector<float> expected(in.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        expected[static_cast<std::size_t>(j * rows + i)] = in[static_cast<std::size_t>(i * cols + j)];
    CHECK(pmpp::to_host(b) == expected);
    // c is a copy of transposed(a), transposed
    CHECK(pmpp::to_host(c) == in);
  }
}

namespace {
/// Counts elements of B that are not what they should be.
struct wrong_elements {
  matrix_view<const std::uint8_t> a, b;
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const { return b.data()[i] != a(i % b.cols(), i / b.cols()) ? 1 : 0; }
};
struct hash_byte {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u >> 56);
  }
};
}  // namespace

TEST_CASE("past 2^31 and 2^32 elements") {
  for (const auto& [rows, cols] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {65536 + 16, 65536}, {46337, 46351}, {3, (1ll << 31) + 5}, {(1ll << 31) + 5, 2}}) {
    pmpp::device_buffer<std::uint8_t> a(static_cast<std::size_t>(rows * cols)), b(a.size());
    const pmpp::counting_iterator<std::int64_t> zero(0);
    pmpp::transform(pmpp::device, zero, zero + rows * cols, a, hash_byte{});
    const matrix_view<std::uint8_t> va(a.data(), rows, cols), vb(b.data(), cols, rows);
    pmpp::transpose(pmpp::device, va, vb);
    const auto count = pmpp::transform_reduce(pmpp::device, zero, zero + rows * cols, std::int64_t(0), pmpp::plus{},
                                              wrong_elements{va, vb});
    CAPTURE(rows);
    CAPTURE(cols);
    CHECK(count == 0);
  }
}
#endif

TEST_CASE("transpose: more rows or columns than kernels count go in parts, which are all of them once") {
  // Of 3 x 2^31 + 5 elements, and the other way round; no element is touched.
  const std::int64_t tall = (std::int64_t(1) << 31) + 5;
  std::uint8_t some = 0;
  for (const bool down : {false, true}) {
    CAPTURE(down);
    const std::int64_t rows = down ? tall : 3, cols = down ? 3 : tall;
    const pmpp::matrix_view<const std::uint8_t> from(&some, rows, cols, 1, rows);
    const pmpp::matrix_view<std::uint8_t> to(&some, rows, cols, cols, 1);
    const pmpp::detail::transposition<std::uint8_t> all(from, to);
    std::int64_t elements = 0, wrong = 0;
    pmpp::detail::for_each_part(all, [&](const auto& part) {
      const std::int64_t of_a = part.a.data - all.a.data, of_b = part.b.data - all.b.data;
      const std::int64_t y = all.a.pitch > 1 ? of_a / all.a.pitch : of_a % all.a.step,
                         x = all.a.pitch > 1 ? of_a % all.a.pitch : of_a / all.a.step;
      wrong += of_b != y * all.b.pitch + x * all.b.step;
      wrong += y + part.height > all.height || x + part.width > all.width;
      wrong += part.height > std::int64_t(1) << 30 || part.width > std::int64_t(1) << 30;
      elements += part.height * part.width;
    });
    CHECK(elements == rows * cols);
    CHECK(wrong == 0);
  }
}
