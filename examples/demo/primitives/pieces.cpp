// SPDX-License-Identifier: Apache-2.0
//
// reduce_columns, minmax_columns, three_way_partition_copy, segmented_reverse, unique, sort_copy.
#include <pmpp/reduce_columns.hpp>
#include <pmpp/remove.hpp>
#include <pmpp/segmented_copy.hpp>
#include <pmpp/sort_copy.hpp>
#include <pmpp/three_way_partition.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

namespace {
struct is_below {
  std::uint8_t limit;
  PMPP_HOST_DEVICE bool operator()(std::uint8_t x) const { return x < limit; }
};
}  // namespace

void show_pieces(const inputs& in, table& out) {
  out.begin("reduce_columns: of 3");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()) / 3, [&](auto at) {
      const std::int64_t rows = at.n;
      at.n *= 3;
      const auto x = at.put(p.samples);
      auto sums = at.template room<std::uint64_t>(3);
      auto range = at.template room<pmpp::pair<std::uint8_t, std::uint8_t>>(3);
      const pmpp::matrix_view m(x.data(), rows, 3);
      const double seconds = at.seconds([&] {
        pmpp::reduce_columns(at.where, m, sums, std::uint64_t(0));
        pmpp::minmax_columns(at.where, m, range);
      });
      const auto got = pmpp::to_host(sums);
      const auto ranges = pmpp::to_host(range);
      bool ok = true;
      for (std::size_t j = 0; j < 3; ++j) {
        std::uint64_t sum = 0;
        std::uint8_t least = 255, most = 0;
        for (std::size_t i = j; i < std::size_t(at.n); i += 3) {
          sum += p.samples[i];
          least = std::min(least, p.samples[i]);
          most = std::max(most, p.samples[i]);
        }
        ok = ok && got[j] == sum && ranges[j].first == least && ranges[j].second == most;
      }
      return outcome{seconds, 2.0 * double(at.n), ok};
    });

  out.begin("three_way_partition_copy");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto a = at.template room<std::uint8_t>(at.n), b = at.template room<std::uint8_t>(at.n),
           c = at.template room<std::uint8_t>(at.n);
      auto counts = at.template room<int>(2);
      const is_below controls{' '}, capitals{'a'};
      const double seconds =
          at.seconds([&] { pmpp::three_way_partition_copy_into(at.where, x, a, b, c, counts, controls, capitals); });
      const auto n = pmpp::to_host(counts);
      const auto first = pmpp::to_host(a), second = pmpp::to_host(b), third = pmpp::to_host(c);
      std::size_t i = 0, j = 0, k = 0;
      bool ok = true;
      for (const std::uint8_t byte : bytes)
        ok = ok && byte == (controls(byte) ? first[i++] : capitals(byte) ? second[j++] : third[k++]);
      return outcome{seconds, 2.0 * double(at.n), ok && std::size_t(n[0]) == i && std::size_t(n[1]) == j};
    });

  out.begin("segmented_reverse: blocks");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](auto at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      std::vector<int> offsets{0};
      while (offsets.back() < at.n) offsets.push_back(int(std::min<std::int64_t>(at.n, offsets.back() + 100)));
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        std::reverse(bytes.begin() + offsets[s], bytes.begin() + offsets[s + 1]);
      at.n = std::int64_t(offsets.size());
      const auto o = at.put(offsets);
      const double seconds = at.seconds([&] { pmpp::segmented_reverse(at.where, x, o, y); });
      const auto got = pmpp::to_host(y);
      return outcome{seconds, 2.0 * double(bytes.size()), std::equal(got.begin(), got.end(), bytes.begin())};
    });

  out.begin("sort_copy, unique: alphabet");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      std::int64_t kept = 0;
      const double seconds = at.seconds([&] {
        pmpp::sort_copy(at.where, x, y);
        kept = pmpp::unique(at.where, y) - y.begin();
      });
      std::sort(bytes.begin(), bytes.end());
      bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
      const auto got = pmpp::to_host(y);
      const bool ok = kept == std::int64_t(bytes.size()) && std::equal(bytes.begin(), bytes.end(), got.begin());
      return outcome{seconds, 4.0 * double(at.n), ok};
    });
}

}  // namespace demo
