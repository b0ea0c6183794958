// SPDX-License-Identifier: Apache-2.0
//
// The pmpp side of the table "Every algorithm of Thrust" in docs/guide.md: one call of each, some of them checked.
#include <cstdio>
#include <tuple>
#include <vector>

#include <pmpp/pmpp.hpp>

using namespace pmpp;

struct is_odd {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 != 0; }
};
struct halve {
  PMPP_HOST_DEVICE void operator()(int& x) const { x /= 2; }
};
struct squared {
  PMPP_HOST_DEVICE int operator()(int x) const { return x * x; }
};
struct always_five {
  PMPP_HOST_DEVICE int operator()() const { return 5; }
};

int main() {
  const std::vector<int> numbers{5, 7, 2, 9, 9, 4, 7, 1};
  const std::int64_t n = 8;
  const pmpp::stream s;
  workspace w;
  const auto where = device.on(s).with(w);
  device_buffer<int> x{numbers}, y{numbers}, out{8}, more{16}, both{16}, index{8}, flags{8};
  const device_buffer<int> keys{std::vector<int>{1, 1, 2, 2, 2, 3, 4, 4}};
  const device_buffer<int> sorted{std::vector<int>{1, 2, 4, 5, 7, 7, 9, 9}}, few{std::vector<int>{2, 7, 8}};
  const transform_iterator odd(x.begin(), squared{});
  iota(where, index, 0);

  adjacent_difference(where, x, out);
  std::ignore = all_of(where, x, is_odd{});
  std::ignore = any_of(where, x, is_odd{});
  binary_search(where, sorted, y, flags);
  transform(where, x, out, identity{});
  std::ignore = copy_if(where, x, out, is_odd{});
  transform(where, x.begin(), x.begin() + 5, out, identity{});
  std::ignore = count(where, x, 7);
  std::ignore = count_if(where, x, is_odd{});
  std::ignore = equal(where, x, y);
  equal_range(where, sorted, y, out, index);
  exclusive_scan(where, x, out, 100);
  exclusive_scan_by_key(where, keys, x, out, 100);
  fill(where, out, 7);
  fill(where, out.begin(), out.begin() + 5, 7);
  std::ignore = find(where, x, 7);
  std::ignore = find_if(where, x, is_odd{});
  std::ignore = find_if_not(where, x, is_odd{});
  for_each(where, out, halve{});
  for_each(where, out.begin(), out.begin() + 5, halve{});
  gather(where, index, x, out);
  gather_if(where, index, flags, x, out);
  generate(where, out, always_five{});
  generate(where, out.begin(), out.begin() + 5, always_five{});
  inclusive_scan(where, x, out);
  inclusive_scan_by_key(where, keys, x, out);
  std::ignore = transform_reduce(where, x, y, 0, plus{}, multiplies{});
  std::ignore = is_partitioned(where, x, is_odd{});
  std::ignore = is_sorted(where, x);
  std::ignore = is_sorted_until(where, x);
  lower_bound(where, sorted, y, out);
  std::ignore = max_element(where, x);
  merge(where, sorted, sorted, both);
  merge_by_key(where, sorted, x, sorted, y, both, more);
  std::ignore = min_element(where, x);
  std::ignore = minmax_element(where, x);
  std::ignore = mismatch(where, x, y);
  std::ignore = none_of(where, x, is_odd{});
  std::ignore = partition(where, y, is_odd{});
  std::ignore = partition_copy(where, x, out, more, is_odd{});
  std::ignore = find_if_not(where, y, is_odd{});
  std::ignore = reduce(where, x);
  reduce_by_key(where, keys, x, out, more);
  std::ignore = pmpp::remove(where, y, 7);
  std::ignore = remove_copy(where, x, out, 7);
  std::ignore = remove_if(where, x, out, is_odd{});
  std::ignore = remove_if(where, y, y, is_odd{});
  replace(where, y, 7, 8);
  replace_copy(where, x, out, 7, 8);
  replace_copy_if(where, x, out, is_odd{}, 8);
  replace_if(where, y, is_odd{}, 8);
  reverse(where, y);
  reverse_copy(where, x, out);
  scatter(where, x, index, out);
  scatter_if(where, x, index, flags, out);
  iota(where, index, 0);
  std::ignore = set_difference(where, sorted, few, out);
  std::ignore = set_difference_by_key(where, sorted, x, few, y, out, more);
  std::ignore = set_intersection(where, sorted, few, out);
  std::ignore = set_intersection_by_key(where, sorted, x, few, y, out, more);
  std::ignore = set_symmetric_difference(where, sorted, few, both);
  std::ignore = set_symmetric_difference_by_key(where, sorted, x, few, y, both, more);
  std::ignore = set_union(where, sorted, few, both);
  std::ignore = set_union_by_key(where, sorted, x, few, y, both, more);
  shuffle(where, y, 7);
  shuffle_copy(where, x, out, 7);
  sort(where, y);
  sort_by_key(where, y, out);
  std::ignore = stable_partition(where, y, is_odd{});
  stable_sort(where, y);
  stable_sort_by_key(where, y, out);
  swap_ranges(where, y, out);
  tabulate(where, out, squared{});
  transform(where, x, y, out, plus{});
  exclusive_scan(where, odd, odd + n, out, 0);
  transform_if(where, x, out, squared{}, is_odd{});
  inclusive_scan(where, odd, odd + n, out);
  std::ignore = transform_reduce(where, x, 0, plus{}, squared{});
  std::ignore = pmpp::unique(where, y);
  std::ignore = unique_by_key(where, keys, x, out, more);
  std::ignore = unique_copy(where, x, out);
  std::ignore = unique_count(where, x);
  upper_bound(where, sorted, y, out);

  set_union(where, sorted, few, both);
  const std::vector<int> joined = to_host(s, both);
  inclusive_scan_by_key(where, keys, sorted, out);
  const std::vector<int> sums = to_host(s, out);
  const bool right = count(where, x, 7) == 2 && find(where, x, 9) - x.begin() == 3 && joined[6] == 8 && sums[4] == 16 &&
                     unique_count(where, x) == 7;
  std::printf("%s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}
// Output:
//   right
