// SPDX-License-Identifier: Apache-2.0
//
// Brings the lines of a log into the order of their times: sort_by_key moves the numbers of the lines along with the
// times. Lines of the same time keep their order, because the sort is stable. Then the slowest steps: argsort.
// usage: 13_log_by_time [file]     each line begins with a number; what has none belongs to the line before
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/sort.hpp>

const char* const our_log =
    "12.5 warp 3 waits\n"
    "10.0 start\n"
    "12.5 warp 0 waits\n"
    "11.25 tile 0 loaded\n"
    "19.75 end\n"
    "12.75 barrier\n";

int main(int argc, char** argv) {
  std::string text = our_log;
  if (argc > 1) {
    std::ifstream file(argv[1], std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      std::printf("cannot read %s\n", argv[1]);
      return 1;
    }
  }
  std::vector<std::string> lines;
  std::vector<double> times;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line); lines.push_back(line)) {
    char* end = nullptr;
    const double time = std::strtod(line.c_str(), &end);
    times.push_back(end != line.c_str() && time == time ? time : times.empty() ? 0.0 : times.back());
  }
  std::vector<std::int32_t> numbers(lines.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);

  // [sort]
  pmpp::device_buffer<double> keys{times};
  pmpp::device_buffer<std::int32_t> line_numbers{numbers};
  pmpp::sort_by_key(pmpp::device, keys, line_numbers);
  // [end]
  const std::vector<double> sorted = pmpp::to_host(keys);
  const std::vector<std::int32_t> order = pmpp::to_host(line_numbers);
  for (std::size_t i = 0; i < order.size() && i < 10; ++i)
    std::printf("%s\n", lines[static_cast<std::size_t>(order[i])].c_str());

  // The longest step first: how long each line lasted until the next.
  std::vector<double> steps;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) steps.push_back(sorted[i + 1] - sorted[i]);
  // [argsort]
  const pmpp::device_buffer<double> durations{steps};
  pmpp::device_buffer<std::int32_t> longest{steps.size()};
  pmpp::argsort(pmpp::device, durations, longest, pmpp::greater{});
  // [end]
  const std::vector<std::int32_t> by_duration = pmpp::to_host(longest);
  if (!by_duration.empty())
    std::printf("longest step: %g after line %d\n", steps[static_cast<std::size_t>(by_duration[0])],
                by_duration[0] + 1);

  bool ok = true;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ok = ok && times[static_cast<std::size_t>(order[i])] == sorted[i];
    if (i > 0) ok = ok && (sorted[i - 1] < sorted[i] || (sorted[i - 1] == sorted[i] && order[i - 1] < order[i]));
  }
  for (std::size_t i = 1; i < by_duration.size(); ++i)
    ok = ok && steps[static_cast<std::size_t>(by_duration[i - 1])] >= steps[static_cast<std::size_t>(by_duration[i])];
  return ok ? 0 : 1;
}
// Output, without a file: the lines from "10.0 start" to "19.75 end", warp 3 before warp 0, and "longest step: 7 after line 5"
