// SPDX-License-Identifier: Apache-2.0
//
// Messages of different lengths, wherever they lie, are packed into one block for sending, and each is turned round.
#include <cstdio>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/segmented_copy.hpp>

int main() {
  const std::vector<std::string> messages = {"the quick", " brown", "", " fox"};
  std::vector<pmpp::device_buffer<char>> apart;
  for (const std::string& text : messages) apart.emplace_back(std::vector<char>(text.begin(), text.end()));
  pmpp::device_buffer<char> packed{19}, backwards{19};
  std::vector<const char*> from;
  std::vector<char*> to;
  std::vector<int> bytes, offsets{0};
  for (std::size_t i = 0; i < apart.size(); ++i) {
    from.push_back(apart[i].data());
    to.push_back(packed.data() + offsets.back());
    bytes.push_back(int(apart[i].size()));
    offsets.push_back(offsets.back() + bytes.back());
  }
  const pmpp::device_buffer<const char*> sources{from};
  const pmpp::device_buffer<char*> targets{to};
  const pmpp::device_buffer<int> sizes{bytes}, begins{offsets};
  // [pack]
  pmpp::copy_batched(pmpp::device, sources, targets, sizes);  // one call, however many and however long
  pmpp::segmented_reverse(pmpp::device, packed, begins, backwards);
  // [end]
  const auto text = [](const pmpp::device_buffer<char>& b) {
    const std::vector<char> all = pmpp::to_host(b);
    return std::string(all.begin(), all.end());
  };
  std::printf("%s|%s\n", text(packed).c_str(), text(backwards).c_str());
  return text(packed) == "the quick brown fox" && text(backwards) == "kciuq ehtnworb xof " ? 0 : 1;
}
// Output: the quick brown fox|kciuq ehtnworb xof
