// SPDX-License-Identifier: Apache-2.0
//
// A user's namespace may have functions of the names that pmpp's have, templates that take anything, and a type may
// overload unary & and the comma: calls of the library's own functions must not be taken there by argument-dependent
// lookup, addresses must be those of the objects. All that is not pmpp's here is deleted, so that most of this is tested
// when it compiles.
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

#include "support/policies.hpp"

namespace hostile {

#define GREEDY(name)    \
  template <class... A> \
  void name(A&&...) = delete;
// clang-format off
GREEDY(as_span) GREEDY(assign) GREEDY(begin) GREEDY(begin_of) GREEDY(ceil_div) GREEDY(check) GREEDY(check_apart)
GREEDY(check_each) GREEDY(check_output) GREEDY(check_overlap) GREEDY(check_reachable) GREEDY(check_room)
GREEDY(check_sorted) GREEDY(co_rank) GREEDY(copy) GREEDY(copy_bytes) GREEDY(copy_element) GREEDY(count)
GREEDY(count_sink) GREEDY(data) GREEDY(each_pointer) GREEDY(element_as) GREEDY(emulate) GREEDY(end) GREEDY(fence)
GREEDY(fold_elements) GREEDY(free_ordered) GREEDY(heads_of) GREEDY(input_of) GREEDY(judge) GREEDY(larger)
GREEDY(launch) GREEDY(launch_kernel) GREEDY(launch_together) GREEDY(load) GREEDY(load_items) GREEDY(may_overlap)
GREEDY(merge) GREEDY(merge_elements) GREEDY(merge_inputs) GREEDY(merge_on_blocks) GREEDY(merge_sort)
GREEDY(merge_tile) GREEDY(one_of) GREEDY(pairs_of) GREEDY(parallel_for) GREEDY(parts_apart) GREEDY(radix_key_of)
GREEDY(raw_pointer) GREEDY(reduce) GREEDY(reduce_and_wait) GREEDY(reduce_on_blocks) GREEDY(repeat_bytes)
GREEDY(require) GREEDY(require_not_null) GREEDY(require_room) GREEDY(room_for) GREEDY(runs_on_blocks)
GREEDY(runs_output) GREEDY(scan_on_blocks) GREEDY(segmented_scan_elements) GREEDY(select_to) GREEDY(size)
GREEDY(smaller) GREEDY(sort) GREEDY(sort_elements) GREEDY(store) GREEDY(synchronize) GREEDY(to_host)
GREEDY(transform) GREEDY(transform_input) GREEDY(transform_reduce) GREEDY(unbounded_output) GREEDY(unwrap)
GREEDY(warp_co_rank) GREEDY(with_access) GREEDY(with_flags) GREEDY(with_index) GREEDY(zipped)
GREEDY(zipped_with_start)
// clang-format on
#undef GREEDY
                                                                                    template <class A, class B>
                                                                                    void operator,(A&&, B&&) = delete;
template <class A>
void operator&(A&&) = delete;

struct number {
  int value;
  friend bool operator==(const number&, const number&) = default;
};
struct add {
  PMPP_HOST_DEVICE number operator()(const number& a, const number& b) const { return {a.value + b.value}; }
};
struct twice {
  PMPP_HOST_DEVICE number operator()(const number& a) const { return {2 * a.value}; }
};
struct precedes {
  PMPP_HOST_DEVICE bool operator()(const number& a, const number& b) const { return a.value < b.value; }
};
struct is_odd {
  PMPP_HOST_DEVICE bool operator()(const number& a) const { return a.value % 2 != 0; }
};

struct iterator {
  using value_type = number;
  using difference_type = std::ptrdiff_t;
  using reference = number&;
  using pointer = number*;
  using iterator_category = std::random_access_iterator_tag;
  number* p = nullptr;

  PMPP_HOST_DEVICE number& operator*() const { return *p; }
  PMPP_HOST_DEVICE number& operator[](std::ptrdiff_t i) const { return p[i]; }
  PMPP_HOST_DEVICE friend iterator operator+(iterator a, std::ptrdiff_t n) { return {a.p + n}; }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(iterator a, iterator b) { return a.p - b.p; }
};

}  // namespace hostile

using hostile::number;

TEST_ALL_PLACES("types, functors and iterators of a namespace with greedy functions") {
  const typename where::policy policy{};
  std::vector<number> start;
  for (int i = 0; i < 1000; ++i) start.push_back({(i * 7) % 1000});
  auto a = where::put(start), b = where::put(start);
  const auto keys = where::put(std::vector<int>(1000, 3));
  const auto at = where::put(std::vector<int>{0, 400, 1000});
  const hostile::iterator in{a.data()}, out{b.data()};
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
  auto both = where::put(std::vector<number>(2000));
  pmpp::merge(policy, a, a, both, hostile::precedes{});
  CHECK(where::get(both)[1999].value == 999);
}
