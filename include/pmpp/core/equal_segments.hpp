// SPDX-License-Identifier: Apache-2.0
//
// Offsets of segments of one length, as of the rows of a matrix: they are computed, so that no array has to be filled or read.
//
//   segmented_reduce(device, values, equal_segments(4, rows), sums)    sums[s]: of values[4 s] ... values[4 s + 3]
//
// They can stand wherever offsets do. segmented_reduce knows them, and goes through such rows faster (segmented/equal.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/range.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// i * length: where rows of equal length begin.
struct times_length {
  std::int64_t length;
  PMPP_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t i) const { return i * length; }
};
using equal_offsets = transform_iterator<counting_iterator<std::int64_t>, times_length, std::int64_t>;

inline equal_offsets offsets_of_rows(std::int64_t length) {
  return {counting_iterator<std::int64_t>(0), times_length{length}};
}

}  // namespace detail

/// The offsets of `count` segments of `length` elements each: 0, length, 2 * length, ..., count * length. Of the range's count + 1
/// entries none lies in memory.
///
/// \throws std::invalid_argument for a length or a count below 0, std::length_error where count * length is 2^63 or more.
/// Example: test/segmented_equal.cpp, sums of rows.
inline auto equal_segments(std::int64_t length, std::int64_t count) {
  const auto check = [](const char* argument, std::int64_t value) {
    require(value >= 0, [&] {
      return detail::text("pmpp::equal_segments: ") + argument + " is " + detail::text::of(value) +
             ", but must not be negative";
    });
  };
  check("length", length);
  check("count", count);
  std::int64_t entries = 0, elements = 0;
  if (__builtin_add_overflow(count, 1, &entries) || __builtin_mul_overflow(count, length, &elements))
    detail::throw_length_error(detail::text("pmpp::equal_segments: ") + detail::text::of(count) + " segments of " +
                               detail::text::of(length) + " elements are more than 2^63");
  const detail::equal_offsets first = detail::offsets_of_rows(length);
  return subrange<detail::equal_offsets, detail::equal_offsets>{first, first + entries};
}

}  // namespace pmpp::inline PMPP_BACKEND
