// SPDX-License-Identifier: Apache-2.0
//
// A user's namespace may have functions of the names that pmpp's have, templates that take anything, and a type may
// overload unary & and the comma (support/hostile.hpp): calls of the library's own functions must not be taken there by
// argument-dependent lookup, addresses must be those of the objects. Most of this is tested when it compiles. Sparse matrices
// and graphs: hostile_types_sparse.cpp; convolutions, stencils and pictures: hostile_types_images.cpp.
#include <pmpp/merge.hpp>
#include <pmpp/nth_element.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transform.hpp>

#include <cstddef>
#include <vector>

#include "support/hostile.hpp"
#include "support/policies.hpp"

using hostile::number;

TEST_ALL_PLACES("types, functors and iterators of a namespace with greedy functions") {
  const typename where::policy policy{};
  std::vector<number> start;
  for (int i = 0; i < 1000; ++i) start.push_back({(i * 7) % 1000});
  auto a = where::put(start), b = where::put(start);
  const auto keys = where::put(std::vector<int>(1000, 3));
  const auto at = where::put(std::vector<int>{0, 400, 1000});
  const hostile::iterator_to<number> in{a.data()}, out{b.data()};
  const auto got = [&](std::size_t i) { return where::get(b)[i].value; };

  CHECK(pmpp::reduce(policy, a, number{1}, hostile::add{}).value == 499501);
  CHECK(pmpp::reduce(policy, in, in + 1000, number{1}, hostile::add{}).value == 499501);
  CHECK(pmpp::min_element(policy, a, hostile::precedes{}) - a.begin() == 0);
  pmpp::inclusive_scan(policy, a, b, hostile::add{});
  CHECK(got(999) == 499500);
  pmpp::transform(policy, in, in + 1000, out, hostile::twice{});
  CHECK(got(1) == 14);
  CHECK(pmpp::copy_if(policy, a, b, hostile::is_odd{}) - b.begin() == 500);
  pmpp::segmented_reduce(policy, a, at, b, number{0}, hostile::add{});
  CHECK(got(0) + got(1) == 499500);
  auto key = where::put(std::vector<int>(1));
  pmpp::reduce_by_key(policy, keys, a, key, b, hostile::add{});
  CHECK(got(0) == 499500);
  pmpp::sort(policy, a, hostile::precedes{});
  CHECK(where::get(a)[999].value == 999);
  pmpp::sort(policy, a, pmpp::less{}, &number::value);
  pmpp::nth_element(policy, a, a.begin() + 7, hostile::precedes{});
  CHECK(where::get(a)[7].value == 7);
  auto both = where::put(std::vector<number>(2000));
  pmpp::merge(policy, a, a, both, hostile::precedes{});
  CHECK(where::get(both)[1999].value == 999);
  auto places = where::put(std::vector<int>(40)), most = where::put(std::vector<int>(40)),
       numbers = where::put(std::vector<int>{7, 9, 1, 9, 4, 5});
  pmpp::top_k(policy, a, 20, b, places, hostile::precedes{});
  pmpp::partial_sort_copy(policy, a, b, hostile::precedes{});
  CHECK(got(19) == 19);
  const hostile::iterator_to<int> ints{numbers.data()}, out_ints{most.data()};
  pmpp::top_k(policy, ints, ints + 6, 2, out_ints, places);
  CHECK(where::get(places)[1] == 3);
  pmpp::batched_top_k(policy, ints, ints + 6, 3, 1, out_ints, places);
  CHECK(where::get(places)[0] == 1);
  CHECK(where::get(most)[1] == 9);
  pmpp::segmented_top_k(policy, ints, ints + 6, where::put(std::vector<int>{0, 2, 6}), 2, out_ints, places);
  CHECK(where::get(places)[3] == 3);
}
