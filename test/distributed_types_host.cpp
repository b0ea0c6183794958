// SPDX-License-Identifier: Apache-2.0
//
// As hostile_types.cpp, for the algorithms of several ranks; and that ranks may be cores of the host, which run with pmpp::host.
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>

#include <vector>

#include <doctest/doctest.h>

#include "support/hostile.hpp"

using hostile::number;

TEST_CASE("several ranks: types and functors of a namespace with greedy functions") {
  const std::vector<int> ranks(3);
  const pmpp::devices gpus{pmpp::host, pmpp::emulated_communicator::all(ranks), ranks};
  std::vector<number> start;
  for (int i = 0; i < 3000; ++i) start.push_back({(i * 7) % 3000});
  pmpp::distributed_buffer<number> x{gpus, start}, y{gpus, 3000}, values{gpus, start};
  const auto got = [&](const auto& buffer, std::size_t i) { return pmpp::to_host(gpus, buffer)[i].value; };

  pmpp::transform(gpus, x, y, hostile::twice{});
  CHECK(got(y, 5) == 70);
  pmpp::fill(gpus, y, number{1});
  CHECK(pmpp::reduce(gpus, y, number{5}, hostile::add{}).value == 3005);
  CHECK(pmpp::min_element(gpus, x, hostile::precedes{}) == 0);
  pmpp::inclusive_scan(gpus, y, y, hostile::add{});
  CHECK(got(y, 2999) == 3000);
  pmpp::exclusive_scan(gpus, y, y, number{2}, hostile::add{});
  CHECK(got(y, 1) == 3);
  CHECK(pmpp::copy_if(gpus, x, hostile::is_odd{}).size() == 1500);
  CHECK(!pmpp::is_sorted(gpus, x, hostile::precedes{}));
  pmpp::sort_by_key(gpus, x, values, hostile::precedes{});
  CHECK(got(values, 8) == 8);
  pmpp::sort(gpus, x, hostile::precedes{});
  CHECK(got(x, 8) == 8);
  CHECK(pmpp::exchange(gpus, x, pmpp::splitters(gpus, x, hostile::precedes{})).size() == 3000);
  pmpp::rebalance(gpus, x);
}
