// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/packed.hpp: packed elements are adjacent, without anything between or after them; they lie
// where one access moves them, a single one as any other; unrolled calls with each number once, in order.
#include <pmpp/core/packed.hpp>

#include <cstddef>

#include <doctest/doctest.h>

namespace {

struct three_bytes {
  char c[3];
};
struct three_floats {
  float f[3];
};

template <class T, int N, std::size_t Alignment>
constexpr bool lies = sizeof(pmpp::packed<T, N>) == N * sizeof(T) && alignof(pmpp::packed<T, N>) == Alignment;

static_assert(lies<char, 1, 1> && lies<char, 2, 2> && lies<char, 3, 1> && lies<char, 16, 16>);
static_assert(lies<float, 1, 4> && lies<float, 2, 8> && lies<float, 3, 4> && lies<float, 4, 16> && lies<float, 8, 16>);
static_assert(lies<double, 1, alignof(double)> && lies<double, 2, 16> && lies<double, 4, 16>);
static_assert(lies<three_bytes, 4, 4> && lies<three_bytes, 16, 16>);
static_assert(lies<three_floats, 1, 4> && lies<three_floats, 2, 8> && lies<three_floats, 4, 16>);
static_assert(sizeof(pmpp::packed<float, 3, 4>) == 12 && alignof(pmpp::packed<float, 3, 4>) == 4);

/// Writes down with which numbers it is called.
struct note {
  int *seen, *calls;
  PMPP_HOST_DEVICE void operator()(int i) const { seen[(*calls)++] = i; }
};

}  // namespace

TEST_CASE("unrolled: every number once, in order") {
  int seen[6] = {-1, -1, -1, -1, -1, -1}, calls = 0;
  pmpp::unrolled<5>(note{seen, &calls});
  CHECK(calls == 5);
  for (int i = 0; i < 5; ++i) CHECK(seen[i] == i);
  CHECK(seen[5] == -1);
  pmpp::unrolled<0>(note{seen, &calls});
  CHECK(calls == 5);
}
