// SPDX-License-Identifier: Apache-2.0
//
// The last digits of a float. A product and a sum in one instruction round once where two round twice; numbers below 2^-126 have
// fewer digits, down to one, unless a compiler was told to drop them; and a sum may not notice that 1 was added.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

// [digits]
struct findings {
  float as_written, fused, smallest, difference, stuck;
  int halvings;
};

struct last_digits {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, float a, float b, float least_normal, findings* found) const {
    if (block.thread() != 0) return;
    const float product = a * b;
    found->as_written = a * b - product;  // fused or not, as the compiler likes: nvcc's -fmad, g++'s -ffp-contract
    found->fused = fmaf(a, b, -product);  // what the product lost, exactly
    found->difference = 1.5f * least_normal - least_normal;  // a denormal: otherwise x != y, and yet x - y == 0
    found->halvings = 0;
    for (float x = 1; x > 0; x /= 2) found->smallest = x, ++found->halvings;
    found->stuck = 0x1p24f;
    for (int i = 0; i < 1000; ++i) found->stuck += 1;  // lies between two floats, and is rounded to the even one: 2^24
  }
};
// [end]

int main() {
  const float a = 1 + 0x1p-12f, b = 1 + 0x1p-13f, least_normal = 0x1p-126f;
  pmpp::device_buffer<findings> found(1);
  pmpp::launch(pmpp::device, 1, last_digits{}, a, b, least_normal, found.data());
  const findings f = pmpp::to_host(found)[0];

  const double lost = double(a) * double(b) - double(a * b);  // doubles hold the product of two floats
  std::printf("a * b loses %g; a fused multiply-add finds %g; a * b - product as written: %g, %s\n", lost,
              double(f.fused), double(f.as_written),
              f.as_written == 0 ? "rounded twice" : "rounded once: the compiler fused it");
  std::printf(
      "1 can be halved %d times before it is 0; the last but one is 2^%d; 1.5 x - x of the smallest normal x: %g\n",
      f.halvings, std::ilogb(f.smallest), double(f.difference));
  std::printf("2^24 and a thousand times 1: 2^24 + %g\n", double(f.stuck) - 0x1p24);
  const bool right = lost != 0 && double(f.fused) == lost && (f.as_written == 0 || double(f.as_written) == lost) &&
                     f.halvings == 150 && f.smallest == 0x1p-149f && f.difference == 0x1p-127f && f.stuck == 0x1p24f;
  return right ? 0 : 1;
}
