// SPDX-License-Identifier: Apache-2.0
//
// lower_bound.
#include <pmpp/search.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_search(const inputs& in, table& out) {
  out.begin("lower_bound: of each byte");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      auto sorted = bytes;
      std::sort(sorted.begin(), sorted.end());
      const auto x = at.put(sorted);
      const auto values = at.put(bytes);
      auto places = at.template room<int>(at.n);
      const double seconds = at.seconds([&] { pmpp::lower_bound(at.where, x, values, places); });
      const auto got = pmpp::to_host(places);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i)
        ok = ok && got[i] == std::lower_bound(sorted.begin(), sorted.end(), bytes[i]) - sorted.begin();
      return outcome{seconds, 6.0 * double(at.n), ok};
    });
}

}  // namespace demo
