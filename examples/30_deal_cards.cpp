// SPDX-License-Identifier: Apache-2.0
//
// Moves: cards are put in a given order, dealt to four players, cut, and sorted into red and black.
#include <cstdio>
#include <vector>

#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/rearrange.hpp>

struct shuffled_place {
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const {
    return int(i * 5 % 52);
  }  // 5 and 52 have no factor in common
};
struct is_red {
  PMPP_HOST_DEVICE bool operator()(int card) const { return card / 13 < 2; }
};

int main() {
  pmpp::device_buffer<int> place{52}, deck{52}, pack{52}, hands{52};
  pmpp::iota(pmpp::device, deck, 0);
  // [moves]
  pmpp::tabulate(pmpp::device, place, shuffled_place{});
  pmpp::scatter(pmpp::device, deck, place, pack);       // card i goes to place[i]
  pmpp::rotate(pmpp::device, pack, pack.begin() + 20);  // a cut
  for (int player = 0; player < 4; ++player) {          // every fourth card
    const pmpp::strided_iterator every_fourth(pack.begin() + player, 4);
    pmpp::transform(pmpp::device, every_fourth, every_fourth + 13, hands.begin() + player * 13, pmpp::identity{});
  }
  const auto reds = pmpp::partition(pmpp::device, hands.begin(), hands.begin() + 13, is_red{}) - hands.begin();
  // [end]
  const std::vector<int> shown = pmpp::to_host(hands);
  std::printf("the first player has %ld red cards\n", long(reds));
  long sum = 0;
  for (const int card : shown) sum += card;
  return sum == 51 * 52 / 2 && reds >= 0 && reds <= 13 && is_red{}(shown[0]) == (reds > 0) ? 0 : 1;
}
