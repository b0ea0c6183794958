// SPDX-License-Identifier: Apache-2.0
//
// Run-length encoding of a text, and its lines summed up: run_length_encode finds runs of equal characters,
// segmented_reduce the widest character of each line, given where lines start.
// usage: 11_run_lengths [file]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/segmented.hpp>

const char* const our_text =
    "        ######        \n"
    "    ####......####    \n"
    "  ##..............##  \n"
    "##......oo..oo......##\n"
    "##..................##\n"
    "  ##....oooooo....##  \n"
    "    ####......####    \n"
    "        ######        \n";

int main(int argc, char** argv) {
  std::string text = our_text;
  if (argc > 1) {
    std::ifstream file(argv[1], std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      std::printf("cannot read %s\n", argv[1]);
      return 1;
    }
  }
  std::vector<std::int64_t> line_starts{0};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || i + 1 == text.size()) line_starts.push_back(static_cast<std::int64_t>(i) + 1);

  // [calls]
  const pmpp::device_buffer<char> data{text};
  const auto n = static_cast<std::int64_t>(text.size());
  pmpp::device_buffer<char> symbols{n};  // room for the most that there can be
  pmpp::device_buffer<std::int64_t> times{n};
  const auto [symbols_end, times_end] = pmpp::run_length_encode(pmpp::device, data, symbols, times);

  const pmpp::device_buffer<std::int64_t> offsets{line_starts};  // line s is [offsets[s], offsets[s + 1])
  pmpp::device_buffer<char> last{static_cast<std::int64_t>(line_starts.size()) - 1};
  pmpp::segmented_reduce(pmpp::device, data, offsets, last, '\0', pmpp::maximum{});
  // [end]

  const auto runs = static_cast<std::size_t>(symbols_end - symbols.begin());
  const std::vector<char> symbol = pmpp::to_host(symbols);
  const std::vector<std::int64_t> times_of = pmpp::to_host(times);
  std::string decoded;
  for (std::size_t i = 0; i < runs; ++i) decoded.append(static_cast<std::size_t>(times_of[i]), symbol[i]);
  const std::vector<char> greatest = pmpp::to_host(last);
  bool right = decoded == text && times_end - times.begin() == symbols_end - symbols.begin();
  for (std::size_t s = 0; s + 1 < line_starts.size(); ++s) {
    const auto line = text.begin();
    right = right && greatest[s] == std::max('\0', *std::max_element(line + line_starts[s], line + line_starts[s + 1]));
  }
  std::printf("%lld characters in %zu runs, %zu lines\n", static_cast<long long>(n), runs, greatest.size());
  return right ? 0 : 1;
}
// Output, without a file: 184 characters in 46 runs, 8 lines
