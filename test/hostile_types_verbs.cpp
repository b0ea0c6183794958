// SPDX-License-Identifier: Apache-2.0
//
// As hostile_types.cpp, for questions, searches, moves, runs and sets.
#include <pmpp/by_key.hpp>
#include <pmpp/control_flow.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/find.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/random.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/search.hpp>
#include <pmpp/segmented_copy.hpp>
#include <pmpp/sets.hpp>
#include <pmpp/three_way_partition.hpp>
#include <pmpp/transform.hpp>

#include <cstddef>
#include <vector>

#include "support/hostile.hpp"
#include "support/policies.hpp"

using hostile::number;

namespace hostile {

/// The body of a loop or a branch: clears its flag.
template <class Flag>
struct clears {
  Flag flag;
  template <class P>
  void operator()(const P& on) const {
    pmpp::fill(on, flag, flag + 1, 0);
  }
};

}  // namespace hostile

namespace {

struct same {
  PMPP_HOST_DEVICE bool operator()(const number& a, const number& b) const { return a.value == b.value; }
};
struct numbered {
  PMPP_HOST_DEVICE number operator()(std::int64_t i) const { return {static_cast<int>(i)}; }
};

}  // namespace

TEST_ALL_PLACES("verbs: types, functors and iterators of a namespace with greedy functions") {
  const typename where::policy policy{};
  std::vector<number> start;
  for (int i = 0; i < 300; ++i) start.push_back({i});
  auto a = where::put(start), b = where::put(start);
  auto index = where::put(std::vector<int>(300));
  const hostile::iterator_to<number> in{a.data()}, out{b.data()};
  const auto got = [&](std::size_t i) { return where::get(b)[i].value; };

  CHECK(pmpp::find(policy, a, number{7}) - a.begin() == 7);
  CHECK(pmpp::find_if(policy, in, in + 300, hostile::is_odd{}) - in == 1);
  CHECK(pmpp::count(policy, a, number{7}) == 1);
  CHECK(pmpp::reduce(policy, a, number{0}, pmpp::same_bits{hostile::add{}}).value == 44850);
  CHECK(pmpp::count_if(policy, a, hostile::is_odd{}) == 150);
  CHECK(pmpp::is_sorted_until(policy, a, hostile::precedes{}) - a.begin() == 300);
  CHECK(pmpp::equal(policy, a, b));
  CHECK(!pmpp::lexicographical_compare(policy, a, b, hostile::precedes{}));
  CHECK(pmpp::includes(policy, a, b, hostile::precedes{}));
  pmpp::lower_bound(policy, a, b, index, hostile::precedes{});
  CHECK(where::get(index)[299] == 299);
  pmpp::gather(policy, index, a, b);
  pmpp::scatter(policy, a, index, b);
  CHECK(got(5) == 5);
  pmpp::tabulate(policy, out, out + 300, numbered{});
  pmpp::replace(policy, b, number{5}, number{6});
  CHECK(got(5) == 6);
  pmpp::reverse(policy, b);
  CHECK(got(0) == 299);
  CHECK(pmpp::stable_partition(policy, b, hostile::is_odd{}) - b.begin() == 149);
  pmpp::shuffle_copy(policy, a, b, 1);
  pmpp::shuffle(policy, b, 1);
  pmpp::sample(policy, a, b, 300, 2);
  CHECK(got(0) == static_cast<int>(pmpp::random_permutation(300, 2)(0)));
  pmpp::inclusive_scan_by_key(policy, a, a, b, hostile::add{}, same{});
  CHECK(got(9) == 9);
  pmpp::inclusive_scan_by_key(policy, where::input(std::vector<int>(300, 1)), a, b, hostile::add{});
  CHECK(got(9) == 45);
  CHECK(pmpp::set_difference(policy, a, where::input(std::vector<number>{{1}, {2}}), b, hostile::precedes{}) -
            b.begin() ==
        298);
  const auto offsets = where::input(std::vector<int>{0, 10, 300});
  pmpp::segmented_reverse(policy, in, in + 300, offsets, out);
  CHECK(got(0) == 9);
  pmpp::segmented_copy(policy, a, offsets, out, where::input(std::vector<int>{290, 0}));
  CHECK(got(0) == 10);
  const auto sources = where::input(std::vector<const number*>{a.data()});
  const auto targets = where::input(std::vector<number*>{b.data() + 7});
  pmpp::copy_batched(policy, sources, targets, where::input(std::vector<int>{8}));
  CHECK(got(8) == 1);
  auto c = where::put(start), d = where::put(start);
  CHECK(pmpp::three_way_partition_copy(policy, in, in + 300, b, c, d, hostile::is_odd{}, hostile::is_odd{}).rest -
            d.begin() ==
        150);
}

TEST_ALL_PLACES("control flow: flags and bodies of a namespace with greedy functions") {
  const typename where::policy policy{};
  auto counts = where::put(std::vector<int>{1, 1});
  const hostile::iterator_to<int> flag{counts.data()}, other{counts.data() + 1};
  pmpp::repeat_while(policy, flag, hostile::clears<hostile::iterator_to<int>>{flag});
  pmpp::if_then(policy, other, hostile::clears<hostile::iterator_to<int>>{other},
                hostile::clears<hostile::iterator_to<int>>{flag});
  pmpp::synchronize(policy);
  CHECK(where::get(counts) == std::vector<int>{0, 0});
}
