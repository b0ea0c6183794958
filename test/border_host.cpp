// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/border.hpp and of the walks of core/volume.hpp: a position outside is read where walking there
// step by step leads, however far away; a rim knows the same before the launch; sections cover all rows.
#include <pmpp/core/border.hpp>
#include <pmpp/core/volume.hpp>

#include <cstdint>

#include "support/borders.hpp"

#include <doctest/doctest.h>

TEST_CASE("positions outside are read where walking leads") {
  for (const pmpp::border::rule& outside : test::border_rules)
    for (const std::int64_t n : {1, 2, 3, 4, 7})
      for (std::int64_t i = -40; i < 40; ++i) {
        CAPTURE(static_cast<int>(outside.what));
        CAPTURE(n);
        CAPTURE(i);
        CHECK(pmpp::detail::position_in(i, n, outside.what) == test::walked(i, n, outside));
      }
}

TEST_CASE("a rim has the positions near an axis") {
  for (const pmpp::border::rule& outside : test::border_rules)
    for (const std::int64_t n : {1, 2, 5, 9}) {
      const pmpp::detail::border_rim<4> rim(n, outside.what);
      for (std::int64_t i = -4; i < n + 4; ++i) CHECK(rim.position(i, n) == test::walked(i, n, outside));
    }
}

TEST_CASE("sections are whole steps, and no more than a height needs") {
  for (const std::int64_t height : {1, 2, 31, 100, 8192})
    for (const std::int64_t step : {1, 8, 32})
      for (const std::int64_t strips : {1, 16, 1000}) {
        const std::int64_t rows = pmpp::detail::section_rows(height, step, 15, strips, 528);
        CHECK(rows > 0);
        CHECK(rows % step == 0);
        CHECK(rows - step < height);
      }
  // One strip for many blocks is cut; many strips are not.
  CHECK(pmpp::detail::section_rows(8192, 1, 15, 1, 528) < 8192);
  CHECK(pmpp::detail::section_rows(8192, 1, 15, 528, 528) == 8192);
}

TEST_CASE("rows that may be moved many bytes at once") {
  alignas(16) static const float data[64]{};
  const auto aligned = [&](std::int64_t pitch, std::int64_t step, const float* at) {
    return pmpp::detail::volume<const float>{at, 1, 2, 4, 0, pitch, step}.in_fours();
  };
  CHECK(aligned(8, 1, data));
  CHECK(!aligned(7, 1, data));
  CHECK(!aligned(8, 2, data));
  CHECK(!aligned(8, 1, data + 1));
  CHECK(pmpp::detail::volume<const float>{data, 1, 1, 4, 0, 7, 1}.in_fours());  // one row: its distance does not count
}
