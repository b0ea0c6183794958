// SPDX-License-Identifier: Apache-2.0
//
// Files as an enemy would write them, for the tests of readers: small changes of good ones, and what their messages must be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/data.hpp"

namespace test {

/// One to four changes of a text: bytes, words of the format, extreme numbers, pieces erased, repeated or very long.
inline std::string mutant(std::string text) {
  auto& g = generator();
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(g() % n); };
  const std::string_view letters = "0123456789 #%\n-+.,eExXP\0\x1b\xff";
  const std::string_view numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "127",
                                      "128",
                                      "2147483647",
                                      "2147483648",
                                      "-2147483648",
                                      "4294967296",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "18446744073709551616",
                                      "1e400",
                                      "nan",
                                      "-inf",
                                      "0x10"};
  for (std::size_t k = below(4) + 1; k > 0; --k) {
    if (text.empty()) text = "P";
    const std::size_t at = below(below(2) == 0 ? text.size() : std::min<std::size_t>(text.size(), 60));
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(g() >> 40);
        break;
      case 1:
        text[at] = letters[below(letters.size())];
        break;
      case 2:
        text.erase(at, below(5) + 1);
        break;
      case 3:
        text.insert(at, std::string(below(12), letters[below(letters.size())]));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 5:
        text.insert(at, std::string(below(2000), letters[below(letters.size())]));
        break;
      default: {                                                     // a number in the place of the word here
        const std::size_t begin = text.find_last_of(" \n", at) + 1;  // npos + 1 is 0
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        text.replace(begin, end - std::min(begin, end), numbers[below(std::size(numbers))]);
      }
    }
  }
  return text;
}

/// Whether a message is short and of printable characters, whatever the file holds.
inline bool fit_for_a_log(std::string_view message) {
  return message.size() <= 200 &&
         std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace test
