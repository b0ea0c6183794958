// SPDX-License-Identifier: Apache-2.0
//
// The pmpp side of the second table "Coming from Thrust and CUB" in docs/guide.md: scans, selections, runs, counts,
// sorts and merges. One call each, with scratch from a workspace; CUB takes two, the first to ask for bytes.
#include <cstdio>
#include <vector>

#include <pmpp/histogram.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>

using namespace pmpp;

struct is_odd {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 != 0; }
};

int main() {
  const std::vector<int> host_keys{5, 5, 2, 9, 9, 9, 4};
  const std::vector<float> host_values{1, 2, 3, 4, 5, 6, 7};
  const pmpp::stream s;
  workspace w;
  const auto on_s = device.on(s).with(w);
  device_buffer<int> x{host_keys}, keys{host_keys}, out{7}, both{14}, counts{10}, lengths{7}, count{1};
  device_buffer<float> values{host_values}, sums{7};

  inclusive_scan(on_s, x, out);
  const std::vector<int> running = to_host(s, out);
  exclusive_scan(on_s, x, out, 100);
  const std::vector<int> from_100 = to_host(s, out);
  const auto odd = copy_if(on_s, x, out, is_odd{}) - out.begin();
  copy_if_into(on_s, x, out, count, is_odd{});
  const auto different = unique_copy(on_s, x, out) - out.begin();
  const auto runs = run_length_encode(on_s, x, out, lengths).first - out.begin();
  reduce_by_key(on_s, keys, values, out, sums);
  const std::vector<float> sum_of_run = to_host(s, sums);
  histogram_even(on_s, x, counts, 0, 10);
  const std::vector<int> how_often = to_host(s, counts);
  sort_by_key(on_s, keys, values);
  sort(on_s, x, greater{});
  sort(on_s, x);
  merge(on_s, x, keys, both);
  const std::vector<int> merged = to_host(s, both), first_counted = to_host(s, count);

  const bool right = running[6] == 43 && from_100[6] == 139 && odd == 5 && first_counted[0] == 5 && different == 4 &&
                     runs == 4 && sum_of_run[0] == 3 && sum_of_run[2] == 15 && how_often[9] == 3 && merged[0] == 2 &&
                     merged[2] == 4 && merged[13] == 9 && to_host(s, values)[0] == 3;
  std::printf("%s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}
// Output:
//   right
