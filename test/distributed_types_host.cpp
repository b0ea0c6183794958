// SPDX-License-Identifier: Apache-2.0
//
// As hostile_types.cpp, for the algorithms of several ranks; and that ranks may be cores of the host, which run with pmpp::host. All
// headers together: no name is taken twice.
#include <pmpp/pmpp.hpp>

#include <pmpp/distributed/bfs.hpp>
#include <pmpp/distributed/by_key.hpp>
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/find.hpp>
#include <pmpp/distributed/gemm.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/halo.hpp>
#include <pmpp/distributed/merge.hpp>
#include <pmpp/distributed/partition_by.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>
#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/top_k.hpp>
#include <pmpp/distributed/transpose.hpp>

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
  CHECK(pmpp::unique_copy(gpus, x, hostile::same{}).size() == 3000);
  CHECK(pmpp::reduce_by_key(gpus, x, y, hostile::add{}, hostile::same{}).first.size() == 3000);
  CHECK(pmpp::count_if(gpus, x, hostile::is_odd{}) == 1500);
  CHECK(pmpp::find_if(gpus, x, hostile::is_odd{}) == 1);
  CHECK(!pmpp::is_sorted(gpus, x, hostile::precedes{}));
  std::vector<number> best(1);
  std::vector<std::int64_t> place(1);
  pmpp::top_k(gpus, x, 1, best, place, hostile::precedes{});
  CHECK(place[0] == 0);
  pmpp::sort_by_key(gpus, x, values, hostile::precedes{});
  CHECK(got(values, 8) == 8);
  pmpp::sort(gpus, x, hostile::precedes{});
  CHECK(got(x, 8) == 8);
  CHECK(got(pmpp::merge(gpus, x, x, hostile::precedes{}), 9) == 4);
  CHECK(pmpp::partition(gpus, x, hostile::is_odd{}) == 1500);
  pmpp::sort(gpus, x, hostile::precedes{});
  CHECK(pmpp::exchange(gpus, x, pmpp::splitters(gpus, x, hostile::precedes{})).size() == 3000);
  pmpp::rebalance(gpus, x);

  pmpp::distributed_matrix<number> a{gpus, pmpp::matrix_view<const number>(start.data(), 30, 100)}, b{gpus, 100, 30};
  pmpp::transpose(gpus, a, b);
  CHECK(pmpp::to_host(gpus, b)[1].value == start[100].value);
  CHECK(pmpp::partition_by(gpus, x, hostile::is_odd{}).size_of(1) == 1500);
  x.resize(gpus, {5, 0, 5});
  CHECK(pmpp::gather(gpus, x)[4].value == 4);
  pmpp::slabs<number, 2> slabs{gpus, {60, 50}, 2};
  slabs.copy_from(start);
  pmpp::exchange_halos(gpus, slabs);
  CHECK(slabs.with_halo(1)(0, 1).value == start[18 * 50 + 1].value);
}
