// SPDX-License-Identifier: Apache-2.0
//
// As distributed_algorithms.hpp, of slabs, and of elements that change ranks by a function of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <pmpp/core/border.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/partition_by.hpp>
#include <pmpp/distributed/slabs.hpp>
#include <pmpp/distributed/stencil.hpp>

namespace test {

struct rank_of {
  int ranks;
  PMPP_HOST_DEVICE int operator()(float x) const { return static_cast<int>(x) % ranks; }
};

/// \param expect  takes whether a result is right, and what of
template <class G, class Expect>
void check_slabs(const G& gpus, Expect expect) {
  for (const std::int64_t rows : {2, 40})  // fewer than a halo, and more
    for (const auto& outside : {pmpp::border::clamp, pmpp::border::wrap}) {
      std::vector<float> v(static_cast<std::size_t>(rows * 7)), expected(v.size());
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i * 37 % 101);
      pmpp::slabs<float, 2> a{gpus, {rows, 7}, 3}, b{gpus, {rows, 7}, 3};
      a.copy_from(v);
      gpus.synchronize();
      const pmpp::star<float, 3> f{{1, 2, 3, 5}};  // of integers: exact
      pmpp::stencil(gpus, a, b, pmpp::radius<3>, f, outside);
      pmpp::stencil(pmpp::seq, pmpp::matrix_view<const float>(v.data(), rows, 7),
                    pmpp::matrix_view<float>(expected.data(), rows, 7), pmpp::radius<3>, f, outside);
      expect(pmpp::to_host(gpus, b) == expected, "stencil");
      const int root = gpus.size() - 1;
      bool here = false;
      for (int i = 0; i < gpus.local_size(); ++i) here = here || gpus.rank(i) == root;
      expect(pmpp::gather(gpus, a.elements(), root) == (here ? v : std::vector<float>()), "gather");
      const rank_of by{gpus.size()};
      const auto y = pmpp::partition_by(gpus, a.elements(), by);
      std::stable_sort(v.begin(), v.end(), [&](float s, float t) { return by(s) < by(t); });
      expect(pmpp::to_host(gpus, y) == v, "partition_by");
    }
}

}  // namespace test
