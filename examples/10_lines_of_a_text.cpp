// SPDX-License-Identifier: Apache-2.0
//
// Where the lines of a text start, and how many words it has. A counting_iterator stands for the positions: copy_if
// keeps those at which a line starts, transform_reduce adds up those at which a word starts.
// usage: 10_lines_of_a_text [file]
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/select.hpp>

const char* const our_text =
    "A warp went out to sort the sea,\n"
    "with thirty-two in step;\n"
    "\n"
    "one lane turned left,\tand all of them\n"
    "  stood waiting while it slept.\n";

// [lines]
struct line_starts {
  const char* text;
  PMPP_HOST_DEVICE bool operator()(std::int64_t i) const { return i == 0 || text[i - 1] == '\n'; }
};
struct word_starts {
  const char* text;
  PMPP_HOST_DEVICE static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const {
    return !is_space(text[i]) && (i == 0 || is_space(text[i - 1])) ? 1 : 0;
  }
};
// [end]

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
  const auto n = static_cast<std::int64_t>(text.size());

  // [calls]
  const pmpp::device_buffer<char> data{text};
  pmpp::device_buffer<std::int64_t> starts{n};  // room for the most that there can be
  const pmpp::counting_iterator<std::int64_t> first{0}, last = first + n;
  const auto end = pmpp::copy_if(pmpp::device, first, last, starts, line_starts{data.data()});
  const auto words =
      pmpp::transform_reduce(pmpp::device, first, last, std::int64_t{0}, pmpp::plus{}, word_starts{data.data()});
  // [end]
  std::vector<std::int64_t> lines = pmpp::to_host(starts);
  lines.resize(static_cast<std::size_t>(end - starts.begin()));

  // The same by a plain loop.
  std::vector<std::int64_t> wanted_lines;
  std::int64_t wanted_words = 0;
  bool in_line = false, in_word = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (!in_line) wanted_lines.push_back(i);
    in_line = c != '\n';
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
    if (!space && !in_word) ++wanted_words;
    in_word = !space;
  }

  std::printf("%zu lines, %lld words\n", lines.size(), static_cast<long long>(words));
  return lines == wanted_lines && words == wanted_words ? 0 : 1;
}
// Output, without a file: 5 lines, 25 words
