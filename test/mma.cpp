// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of simt/mma.hpp, in the emulator and on a GPU: a warp's product of small matrices is that of
// three loops, for every type, if each lane holds the parts that the header says; load_matrices hands out the parts
// that it says; round_to_tf32 rounds to nearest and keeps infinity and NaN.
#include <pmpp/simt/mma.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <pmpp/launch.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

namespace {

using pmpp::simt::mma_type;
using place = test::device_place;

/// One warp multiplies matrices whose words lie in memory as their lanes want them: word w of row i at (i, 4 w + t).
template <mma_type Type>
struct product_kernel {
  static constexpr int threads = 32;
  using mma = pmpp::simt::mma<Type>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const typename mma::word* a, const typename mma::word* b,
                                   typename mma::sum* c) const {
    constexpr int row = 4 * mma::words;
    const int g = block.lane() / 4, t = block.lane() % 4;
    typename mma::word part[2 * mma::words], factor[mma::words];
    for (int w = 0; w < mma::words; ++w) {
      part[2 * w] = a[g * row + 4 * w + t];
      part[2 * w + 1] = a[(g + 8) * row + 4 * w + t];
      factor[w] = b[g * row + 4 * w + t];
    }
    typename mma::sum sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    pmpp::simt::multiply_add<Type>(block, sum, part, factor);
    for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sum[i];
  }
};

/// The bytes of small integers, which every type holds exactly.
template <mma_type Type>
typename pmpp::simt::mma<Type>::word word_of(const int* values) {
  using mma = pmpp::simt::mma<Type>;
  if constexpr (mma::is_double) {
    return values[0];
  } else {
    std::uint32_t word = 0;
    for (int e = 0; e < mma::items; ++e) {
      std::uint32_t bits = 0;
      const auto number = static_cast<float>(values[e]);
      std::memcpy(&bits, &number, 4);
      if (Type == mma_type::int8 || Type == mma_type::uint8) bits = static_cast<std::uint8_t>(values[e]);
      if (Type == mma_type::bfloat16) bits >>= 16;
      if (Type == mma_type::float16)  // sign, exponent, and the upper bits of the fraction
        bits = (bits >> 16 & 0x8000) | (values[e] == 0 ? 0 : ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 0x3ff));
      word |= bits << (32 / mma::items * e % 32);
    }
    return word;
  }
}

template <mma_type Type>
void try_product() {
  CAPTURE(static_cast<int>(Type));
  using mma = pmpp::simt::mma<Type>;
  const int least = Type == mma_type::uint8 ? 0 : -100;
  const auto values = [&](int n) {
    auto v = test::random_values<int>(n);
    for (int& x : v) x = least + (x % 100 + 100) % 100 + (least < 0 ? x & 100 : 0);
    return v;
  };
  const auto a = values(16 * mma::k), b = values(8 * mma::k), c = values(16 * 8);
  std::vector<typename mma::word> a_words, b_words;
  for (std::size_t i = 0; i < a.size(); i += mma::items) a_words.push_back(word_of<Type>(&a[i]));
  for (std::size_t i = 0; i < b.size(); i += mma::items) b_words.push_back(word_of<Type>(&b[i]));
  const auto a_there = place::put(a_words), b_there = place::put(b_words);
  auto c_there = place::put(std::vector<typename mma::sum>(c.begin(), c.end()));
  pmpp::launch(pmpp::device, 1, product_kernel<Type>{}, a_there.data(), b_there.data(), c_there.data());
  const auto got = place::get(c_there);
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      int sum = c[i * 8 + j];
      for (std::size_t p = 0; p < mma::k; ++p) sum += a[i * mma::k + p] * b[j * mma::k + p];
      CHECK(got[i * 8 + j] == static_cast<typename mma::sum>(sum));
    }
}

struct transpose_kernel {
  static constexpr int threads = 32;
  struct shared {
    alignas(16) std::uint16_t row[32 * 8];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const std::uint16_t* in, std::uint32_t* out) const {
    for (int i = block.lane(); i < 32 * 8; i += 32) memory.row[i] = in[i];
    block.sync_warp();
    std::uint32_t words[4];
    pmpp::simt::load_matrices<true>(block, words, memory.row + block.lane() * 8);
    for (int j = 0; j < 4; ++j) out[j * 32 + block.lane()] = words[j];
  }
};

struct round_kernel {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* in, float* out) const {
    out[block.thread()] =
        __builtin_bit_cast(float, pmpp::simt::round_to_tf32(__builtin_bit_cast(std::uint32_t, in[block.thread()])));
  }
};

}  // namespace

TEST_CASE("mma: a warp's product is that of three loops") {
  for (int i = 0; i < 5; ++i) {
    try_product<mma_type::float64>();
    try_product<mma_type::tf32>();
    try_product<mma_type::float16>();
    try_product<mma_type::bfloat16>();
    try_product<mma_type::int8>();
    try_product<mma_type::uint8>();
  }
}

TEST_CASE("mma: four matrices, transposed on the way to registers") {
  std::vector<std::uint16_t> in(32 * 8);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
  const auto there = place::put(in);
  auto out = place::put(std::vector<std::uint32_t>(128));
  pmpp::launch(pmpp::device, 1, transpose_kernel{}, there.data(), out.data());
  const auto got = place::get(out);
  for (std::uint32_t j = 0; j < 4; ++j)
    for (std::uint32_t g = 0; g < 8; ++g)
      for (std::uint32_t t = 0; t < 4; ++t)
        CHECK(got[j * 32 + 4 * g + t] == ((8 * j + 2 * t) * 8 + g) + (((8 * j + 2 * t + 1) * 8 + g) << 16));
}

TEST_CASE("mma: floats are rounded to tf32, infinity and NaN are kept") {
  std::vector<float> in(32, 1.0f);
  in[1] = 1 + 0x1p-11f;  // halfway: away from zero
  in[2] = -1 - 0x1p-11f;
  in[3] = 1 + 0x1p-12f;
  in[4] = std::numeric_limits<float>::infinity();
  in[5] = -in[4];
  in[6] = std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t all_ones = 0x7fffffff;
  std::memcpy(&in[7], &all_ones, 4);
  in[8] = 3.14159274f;
  const auto there = place::put(in);
  auto out = place::put(std::vector<float>(32));
  pmpp::launch(pmpp::device, 1, round_kernel{}, there.data(), out.data());
  auto got = place::get(out);
  for (float& x : got) {  // the lower bits do not count
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    if (!std::isnan(x)) bits &= 0xffffe000;
    std::memcpy(&x, &bits, 4);
  }
  CHECK(got[0] == 1);
  CHECK(got[1] == 1 + 0x1p-10f);
  CHECK(got[2] == -1 - 0x1p-10f);
  CHECK(got[3] == 1);
  CHECK(got[4] == in[4]);
  CHECK(got[5] == in[5]);
  CHECK(std::isnan(got[6]));
  CHECK(std::isnan(got[7]));
  CHECK(got[8] == 3.140625f);
}
