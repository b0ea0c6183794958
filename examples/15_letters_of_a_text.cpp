// SPDX-License-Identifier: Apache-2.0
//
// How often each letter occurs in a text. The bin is chosen by a function; what is no letter has none and is counted
// as rejected.
// usage: 15_letters_of_a_text [file]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <pmpp/histogram.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

const char* const our_text =
    "A warp went out to sort the sea,\n"
    "with thirty-two in step;\n"
    "\n"
    "one lane turned left,\tand all of them\n"
    "  stood waiting while it slept.\n";

// [letter]
struct letter {
  PMPP_HOST_DEVICE int operator()(char c) const {
    if (c >= 'a' && c <= 'z') return c - 'a';
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return -1;
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

  // [calls]
  const pmpp::device_buffer<char> data{text};
  pmpp::device_buffer<unsigned> letters(26);
  pmpp::device_buffer<std::uint64_t> others(1);
  pmpp::histogram(pmpp::device, data, letters, letter{}, {.rejected = others.data()});
  // [end]
  const std::vector<unsigned> counts = pmpp::to_host(letters);
  const std::uint64_t rest = pmpp::to_host(others)[0];

  std::vector<unsigned> wanted(26);
  std::uint64_t wanted_rest = 0;
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";
  for (const char c : text) {
    const auto at = alphabet.find(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    if (at == std::string::npos)
      ++wanted_rest;
    else
      ++wanted[at];
  }

  const unsigned most = *std::max_element(counts.begin(), counts.end());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      std::printf("%c %9u %s\n", alphabet[i], counts[i],
                  std::string(1 + std::size_t(50) * counts[i] / most, '#').c_str());
  std::printf("%zu bytes, %llu of them no letters\n", text.size(), static_cast<unsigned long long>(rest));
  return counts == wanted && rest == wanted_rest ? 0 : 1;
}
// Output ends, without a file: 129 bytes, 33 of them no letters
