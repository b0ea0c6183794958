// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of attention.hpp: results and log-sum-exp are those of the definition, worked out in double, within what the
// type of the elements can hold: for random shapes, causal or not, with heads that share keys, in both layouts and with gaps, with lengths
// of sequences, no keys, one query, and few queries of a long cache, whose parts are joined. What lies outside stays, and what lies past
// the lengths is not read. Bad arguments throw.
#include <pmpp/attention.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/attention.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using test::random_of;
using namespace test::heads;

TEST_ALL_PLACES("attention: floats, any shape") {
  try_shape<where, float, 64>({1, 2, 2, 70, 75, 64, true});
  try_shape<where, float, 64>({2, 4, 2, 9, 40, 36, true, true});
  try_shape<where, float, 64>({1, 1, 1, 20, 9, 20, true, false, true});  // the first queries see nothing
  try_shape<where, float, 64>({3, 2, 1, 5, 33, 10, false, true, true, 3}, 0.7f);
  try_shape<where, float, 64>({1, 2, 1, 3, 0, 8});
  try_shape<where, float, 64>({2, 1, 1, 1, 1, 1});
  try_shape<where, float, 64>({1, 1, 1, 0, 5, 8});
  for (int turn = 0; turn < 6; ++turn) {
    const auto key_heads = random_of<std::int64_t>({1, 2}), group = random_of<std::int64_t>({1, 2, 3});
    try_shape<where, float, 64>({random_of<std::int64_t>({1, 2}), key_heads * group, key_heads,
                                 random_of<std::int64_t>({1, 2, 15, 17, 33}), random_of<std::int64_t>({1, 7, 32, 65}),
                                 random_of<std::int64_t>({4, 7, 32, 64}), turn % 2 == 0, turn % 3 == 0, turn % 4 < 2,
                                 turn % 3});
  }
}

TEST_ALL_PLACES("attention: half, one query and few of a long cache, in parts") {
  try_shape<where, half, 128>({1, 4, 1, 1, 1500, 128});
  try_shape<where, half, 128>({2, 2, 2, 4, 700, 72, true, true, true});
  try_shape<where, half, 128>({1, 1, 1, 40, 600, 128, true});
}

TEST_CASE("attention: few rows of half and bfloat16") {
  using where = test::device_place;
  try_shape<where, bfloat16, 64>({2, 8, 1, 2, 1100, 64, true, true});
  try_shape<where, bfloat16, 64>({3, 2, 2, 1, 300, 56, true, false, true});
  try_shape<where, half, 128>({1, 5, 1, 3, 70, 88, true, false, true, 8});
  try_shape<where, half, 128>({70, 2, 2, 1, 130, 128, false, true});
  try_shape<where, half, 128>({1, 1, 1, 16, 9, 128, true});  // the first queries see nothing
}

TEST_CASE("attention: half and bfloat16, in tiles") {
  using where = test::device_place;
  try_shape<where, half, 128>({1, 3, 1, 50, 90, 128, true});
  try_shape<where, half, 128>({2, 1, 1, 35, 70, 100, false, true, false, 1});
  try_shape<where, bfloat16, 64>({1, 2, 1, 70, 130, 64, true});
  try_shape<where, bfloat16, 64>({2, 2, 2, 12, 50, 40, false, true, true, 8});
}

TEST_ALL_PLACES("attention: bad arguments throw, and nothing is written") {
  const typename where::policy policy{};
  auto some = where::put(std::vector<float>(4000, 5));
  float* p = some.data();
  using pmpp::bhsd;
  const auto run = [&](auto q, auto k, auto v, auto out, const pmpp::attention_options& o = {}) {
    pmpp::attention<pmpp::attention_tuning{.head_size = 64}>(policy, q, k, v, out, o);
  };
  const auto q = bhsd(p, 1, 4, 3, 8), k = bhsd(p + 500, 1, 2, 5, 8), v = bhsd(p + 1000, 1, 2, 5, 8);
  const auto out = bhsd(p + 2000, 1, 4, 3, 8);
  const auto fails = [&](auto... x) { CHECK_THROWS_AS(run(x...), std::invalid_argument); };
  fails(q, k, bhsd(p + 1000, 1, 2, 4, 8), out);                            // other values than keys
  fails(q, bhsd(p + 500, 1, 3, 5, 8), bhsd(p + 1000, 1, 3, 5, 8), out);    // 3 does not divide 4
  fails(q, bhsd(p + 500, 1, 0, 5, 8), bhsd(p + 1000, 1, 0, 5, 8), out);    // no heads
  fails(q, bhsd(p + 500, 1, 2, 5, 4), bhsd(p + 1000, 1, 2, 5, 4), out);    // size
  fails(q, k, v, bhsd(p + 2000, 1, 4, 2, 8));                              // fewer results
  fails(q, k, v, bhsd(p + 4, 1, 4, 3, 8));                                 // overlap
  fails(q, k, v, pmpp::heads_view<float>(p + 2000, 1, 4, 3, 8, 0, 0, 8));  // heads on top of each other
  fails(q, bhsd(static_cast<float*>(nullptr), 1, 2, 5, 8), v, out);
  fails(bhsd(p, 1, 1, 2, 65), bhsd(p + 500, 1, 1, 2, 65), bhsd(p + 1000, 1, 1, 2, 65), bhsd(p + 2000, 1, 1, 2, 65));
  fails(q, k, v, out, pmpp::attention_options{.scale = -1});
  fails(q, k, v, out, pmpp::attention_options{.scale = std::numeric_limits<float>::quiet_NaN()});
  fails(pmpp::heads_view<float>(p, 1, 4, -3, 8, 96, 24, 8), k, v, out);
  CHECK(where::get(some) == std::vector<float>(4000, 5));
}
