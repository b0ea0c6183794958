// SPDX-License-Identifier: Apache-2.0
//
// set_union, set_intersection.
#include <pmpp/sets.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_sets(const inputs& in, table& out) {
  out.begin("set_union: two halves");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto middle = bytes.begin() + at.n / 2;
      std::sort(bytes.begin(), middle);
      std::sort(middle, bytes.end());
      const auto x = at.put(bytes);
      const auto half = x.begin() + at.n / 2;
      auto both = at.template room<std::uint8_t>(at.n), all = at.template room<std::uint8_t>(at.n);
      std::int64_t common = 0, any = 0;
      const double seconds = at.seconds([&] {
        common = pmpp::set_intersection(at.where, x.begin(), half, half, x.end(), both) - both.begin();
        any = pmpp::set_union(at.where, x.begin(), half, half, x.end(), all) - all.begin();
      });
      std::vector<std::uint8_t> wanted;
      std::set_union(bytes.begin(), middle, middle, bytes.end(), std::back_inserter(wanted));
      const auto got = pmpp::to_host(all);
      const bool ok = any == std::int64_t(wanted.size()) && common + any == at.n &&
                      std::equal(wanted.begin(), wanted.end(), got.begin());
      return outcome{seconds, 4.0 * double(at.n), ok};
    });
}

}  // namespace demo
