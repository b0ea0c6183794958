// SPDX-License-Identifier: Apache-2.0
//
// Chance: pi by throwing darts, a deck of cards that is shuffled, and five of 49 numbers, the same on every machine.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/random.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

// [functor]
struct dart_hits {
  pmpp::philox generator;
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const {
    const pmpp::uniform<float> place;  // in [0, 1)
    const float x = place(generator, 2 * i), y = place(generator, 2 * i + 1);
    return x * x + y * y < 1 ? 1 : 0;
  }
};
// [end]

int main() {
  pmpp::device_buffer<float> noise{1000};
  pmpp::device_buffer<int> deck{52}, numbers{49}, drawn{5};
  pmpp::iota(pmpp::device, deck, 0);
  pmpp::iota(pmpp::device, numbers, 1);
  // [calls]
  pmpp::fill_random(pmpp::device, noise, pmpp::normal{0.0f, 2.0f}, 7);  // 7: a seed
  pmpp::shuffle(pmpp::device, deck, 8);
  pmpp::sample(pmpp::device, numbers, drawn, 5, pmpp::philox{8, 1});  // another stream of the same seed
  // [end]
  const pmpp::counting_iterator<std::int64_t> dart(0);
  const int darts = 1 << 16;
  const int hits = pmpp::transform_reduce(pmpp::device, dart, dart + darts, 0, pmpp::plus{}, dart_hits{9});
  const float sum = pmpp::reduce(pmpp::device, noise);
  const std::vector<int> lots = pmpp::to_host(drawn);
  std::printf("pi is about %.3f; the mean of the noise is %.2f; drawn:", 4.0 * hits / darts, double(sum) / 1000);
  for (const int lot : lots) std::printf(" %d", lot);
  std::printf("\n");
  const int cards = pmpp::reduce(pmpp::device, deck);
  return std::abs(4.0 * hits / darts - 3.1416) < 0.03 && std::abs(sum) < 300 && cards == 51 * 26 ? 0 : 1;
}
