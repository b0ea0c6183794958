// SPDX-License-Identifier: Apache-2.0
//
// Offsets of segments for a sweep: lengths of several kinds, by formula.
#pragma once

#include "sweep.hpp"

#include <string>

namespace sweep {

enum class lengths { equal, uniform, falling, one_huge, mostly_empty };
inline const char* name_of(lengths l) {
  const char* const names[] = {"equal", "uniform", "falling", "one huge", "mostly empty"};
  return names[static_cast<int>(l)];
}

/// Where each of `segments` segments begins, and the end of the last; elements after that belong to none.
struct offset_of {
  lengths kind;
  i64 n, segments, mean;
  PMPP_HOST_DEVICE i64 operator()(i64 s) const {
    if (s <= 0) return 0;
    switch (kind) {
      case lengths::equal:
        return s * mean;
      case lengths::uniform:
        return s == segments ? n : s * mean + i64(bits_of(u64(s)) % u64(mean + 1)) - mean / 2;
      case lengths::falling:
        return s == segments ? n : i64(double(n) * log(1.0 + double(s)) / log(1.0 + double(segments)));
      case lengths::one_huge:
        return s <= segments / 2 ? s * (mean / 2) : n - (segments - s) * (mean / 2);
      case lengths::mostly_empty:
        return s == segments ? n : s / 64 * 64 * mean;
    }
    return n;
  }
};

/// The number of the segment that element i lies in.
struct segment_of_element {
  const i32* offsets;
  i64 segments;
  PMPP_HOST_DEVICE i64 operator()(i64 i) const {
    i64 low = 0, high = segments;  // segment `low` does not begin after i, segment `high` does
    while (high - low > 1) {
      const i64 middle = (low + high) / 2;
      (offsets[middle] > i ? high : low) = middle;
    }
    return low;
  }
};

/// A case's segments: of about `mean` elements, `n` elements in all.
struct segments_of {
  i64 count = 0, mean = 1;
  lengths kind;
  const i32* offsets = nullptr;

  explicit segments_of(trial& t, i64 most_segments = 100'000'000) {
    kind = t.draw.one_of({lengths::equal, lengths::uniform, lengths::uniform, lengths::falling, lengths::one_huge,
                          lengths::mostly_empty});
    mean = t.draw.log_uniform(1, std::max<i64>(1, t.n));
    count = std::min(most_segments, std::max<i64>(1, t.n / mean));
    mean = std::max<i64>(1, t.n / count);
    if (kind == lengths::equal) t.n = count * mean;
    t.add(std::string(" ") + name_of(kind) + " segments: " + std::to_string(count) + " of about " +
          std::to_string(mean));
    offsets = t.computed<i32>(count + 1, offset_of{kind, t.n, count, mean});
  }
};

}  // namespace sweep
