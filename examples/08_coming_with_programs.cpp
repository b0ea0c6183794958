// SPDX-License-Identifier: Apache-2.0
//
// The pmpp side of the table "What whole programs use" in docs/guide.md: elements one at a time, parts of arrays, iterators, and
// arguments that Thrust has in another order.
#include <cstdio>
#include <utility>
#include <vector>

#include <pmpp/pmpp.hpp>

using namespace pmpp;

struct area {
  PMPP_HOST_DEVICE float operator()(float width, float height) const { return width * height; }
};
struct starts_no_run {  // for keys that are flags: is this element of the run of the one in front of it?
  PMPP_HOST_DEVICE bool operator()(int, int flag) const { return flag == 0; }
};
struct is_large {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x > 3; }
};

int main() {
  const stream s;
  const auto on_s = device.on(s);
  const int numbers[] = {4, 2, 7, 1}, odd_places[] = {1, 3};
  device_buffer<int> x(numbers, numbers + 4), few{std::vector{1, 3, 4}}, index{odd_places}, out{8}, flags{4, 1};
  device_buffer<float> wide{4, 2.0f}, high{4, 3.0f}, areas{4};

  // One element, and a part.
  const int last = to_host(s, std::span{x.end() - 1, 1})[0];
  const int most = to_host(s, std::span{max_element(on_s, x), 1})[0];
  std::vector<int> two(2);
  copy(s, std::span{x.begin(), 2}, two);
  synchronize(s);

  // Iterators.
  const auto both = zip(wide.begin(), high.begin());
  transform(on_s, both, both + 4, areas, spread(area{}));
  const permutation_iterator chosen{x.begin(), index.begin()};
  const int of_chosen = reduce(on_s, chosen, chosen + 2);
  const strided_iterator every_second{x.begin(), 2};
  const int of_every_second = reduce(on_s, every_second, every_second + 2);
  gather(on_s, index, both, transform_output<pair<float, float>>(areas.begin(), spread(area{})));
  reduce_by_key(on_s, flags, constant_iterator{1}, discard_iterator{}, out);

  device_buffer<pair<float, float>> sizes{4};
  transform(on_s, both, both + 4, sizes, identity{});
  sort(on_s, sizes);  // by the first, then by the second
  auto before = x.clone();
  std::swap(x, before);

  // Other orders and shapes.
  sort(on_s, x);
  lower_bound(on_s, x, subrange{counting_iterator{0}, counting_iterator{8}}, out);
  merge_by_key(on_s, x, flags, few, few, out, discard_iterator{});
  inclusive_scan_by_key(on_s, flags, x, out, plus{}, starts_no_run{});
  const auto kept = copy_flagged(on_s, x, flags, out) - out.begin();
  x.truncate(remove_if(on_s, x, x, is_large{}) - x.begin());
  out.resize_discard(1000);

  const bool right = last == 1 && most == 7 && two[1] == 2 && of_chosen == 3 && of_every_second == 11 && kept == 4 &&
                     x.size() == 2 && to_host(s, sizes)[3].second == 3 && to_host(s, areas)[1] == 6;
  std::printf("%s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}
// Output:
//   right
