// SPDX-License-Identifier: Apache-2.0
//
// What a header of `make tune` does, in front of pmpp's other headers: calls that name no tuning take its values.
#include <pmpp/core/tuning.hpp>

namespace pmpp::inline PMPP_BACKEND {

struct scan_tuning;
template <>
struct tuning_values<scan_tuning> {
  template <class T>
  static constexpr T make() {
    return {.threads = 64, .vectors = 3};
  }
};

}  // namespace pmpp::inline PMPP_BACKEND

#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

#include <numeric>
#include <vector>

#include "support/policies.hpp"

TEST_ALL_PLACES("calls without a tuning take the values of a header") {
  static_assert(pmpp::tuned<pmpp::scan_tuning>.threads == 64 && pmpp::tuned<pmpp::scan_tuning>.vectors == 3);
  static_assert(pmpp::tuned<pmpp::transform_tuning>.threads == pmpp::transform_tuning{}.threads);
  std::vector<int> v(10000, 3), wanted(v.size());
  std::inclusive_scan(v.begin(), v.end(), wanted.begin());
  const auto in = where::input(v);
  auto out = where::put(wanted);
  pmpp::fill(typename where::policy{}, out, 0);
  pmpp::inclusive_scan(typename where::policy{}, in, out);
  CHECK(where::get(out) == wanted);
}
