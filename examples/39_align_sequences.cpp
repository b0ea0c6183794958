// SPDX-License-Identifier: Apache-2.0
//
// Two strands of DNA: how many changes lie between them, which parts are most alike, and the longest sequence of letters that
// both have in this order, by a function of this program's own. The second strand is made of a part of the first, with
// mutations.
#include <cstdio>
#include <string>
#include <vector>

#include <pmpp/alignment.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/wavefront.hpp>

// [function]
struct longest_common {
  const char *a, *b;
  PMPP_HOST_DEVICE char row(std::int64_t i) const { return a[i]; }
  PMPP_HOST_DEVICE char column(std::int64_t j) const { return b[j]; }
  PMPP_HOST_DEVICE int operator()(int left, int up, int diagonal, char x, char y) const {
    return x == y ? diagonal + 1 : left > up ? left : up;
  }
};
struct nothing_yet {
  PMPP_HOST_DEVICE int operator()(std::int64_t, std::int64_t) const { return 0; }
};
// [end]

std::string strand(int length) {
  std::string letters;
  unsigned random = 12345;
  for (int i = 0; i < length; ++i) {
    random = random * 1664525u + 1013904223u;
    letters.push_back("ACGT"[random >> 30]);
  }
  return letters;
}

int main() {
  const std::string first = strand(1200);
  std::string second = strand(60);  // 60 letters of something else, then letters 300 to 899
  for (std::size_t i = 300; i < 900; ++i)
    if (i % 50 != 7) second.push_back(i % 40 == 0 ? 'A' : first[i]);  // 12 are lost, some 11 have become an A

  const pmpp::device_buffer<char> a(first), b(second);
  // [calls]
  const std::int64_t changes = pmpp::edit_distance(pmpp::device, a, b);
  const pmpp::affine_gaps scoring{pmpp::match_scores{2, -3}, 5, 2};
  const pmpp::alignment_end alike = pmpp::smith_waterman(pmpp::device, a, b, scoring);
  const int common = pmpp::wavefront_last(pmpp::device, std::int64_t(first.size()), std::int64_t(second.size()),
                                          longest_common{a.data(), b.data()}, nothing_yet{});
  // [end]
  std::printf("%lld changes; most alike up to letters %lld and %lld, score %lld; %d letters in common\n",
              static_cast<long long>(changes), static_cast<long long>(alike.a), static_cast<long long>(alike.b),
              static_cast<long long>(alike.score), common);
  const bool ok = alike.a == 900 && alike.b == std::int64_t(second.size()) && alike.score > 800 && common > 570 &&
                  changes >= std::int64_t(first.size() - second.size()) && changes < 700;
  return ok ? 0 : 1;
}
