// SPDX-License-Identifier: Apache-2.0
//
// Merges the lines of two sorted files. A line is a place in the text and a length; the comparator looks there.
// usage: 12_merge_sorted_files [file file]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/merge.hpp>

// [comparator]
struct line {
  std::int64_t begin, length;
};
struct by_text {
  const char* text;
  PMPP_HOST_DEVICE bool operator()(const line& x, const line& y) const {
    for (std::int64_t i = 0; i < x.length && i < y.length; ++i) {
      const auto a = static_cast<unsigned char>(text[x.begin + i]), b = static_cast<unsigned char>(text[y.begin + i]);
      if (a != b) return a < b;
    }
    return x.length < y.length;
  }
};
// [end]

/// The lines of text from `begin` on.
std::vector<line> lines_of(const std::string& text, std::size_t begin) {
  std::vector<line> lines;
  for (std::size_t end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    lines.push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin)});
  }
  return lines;
}

int main(int argc, char** argv) {
  std::string text[2] = {"alder\nash\nbirch\noak\nwillow\n", "apple\nbirch\ncherry\npear\n"};
  for (int i = 0; argc == 3 && i < 2; ++i) {
    std::ifstream file(argv[i + 1], std::ios::binary);
    text[i].assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      std::printf("cannot read %s\n", argv[i + 1]);
      return 1;
    }
  }
  if (!text[0].empty() && text[0].back() != '\n') text[0] += '\n';
  const std::string all = text[0] + text[1];
  const auto first = lines_of(text[0], 0), second = lines_of(all, text[0].size());
  const by_text comp{all.data()};
  if (!std::is_sorted(first.begin(), first.end(), comp) || !std::is_sorted(second.begin(), second.end(), comp)) {
    std::printf("the files are not sorted by bytes (LC_ALL=C sort)\n");
    return 1;
  }

  // [merge]
  const pmpp::device_buffer<char> data{all};
  const pmpp::device_buffer<line> a{first}, b{second};
  pmpp::device_buffer<line> merged{a.size() + b.size()};
  pmpp::merge(pmpp::device, a, b, merged, by_text{data.data()});
  // [end]
  const std::vector<line> result = pmpp::to_host(merged);

  for (std::size_t i = 0; i < result.size() && i < 9; ++i)
    std::printf("%.*s\n", int(result[i].length), all.data() + result[i].begin);
  std::printf("%zu lines\n", result.size());

  std::vector<line> wanted(result.size());
  std::merge(first.begin(), first.end(), second.begin(), second.end(), wanted.begin(), comp);
  bool ok = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) ok = ok && result[i].begin == wanted[i].begin;
  return ok ? 0 : 1;
}
// Output, without files: alder apple ash birch birch cherry oak pear willow, each on its line, and 9 lines
