// SPDX-License-Identifier: Apache-2.0
//
// What the tests of distributed/ have in common: groups of ranks, and ways to lay elements on them. A seed, not test::generator(),
// makes the data, so that all processes of an MPI program have the same.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>

#include "support/data.hpp"

namespace test {

/// `count` ranks in this process: emulated ones, or, in a CUDA program, on one GPU.
inline auto ranks(int count) {
#if PMPP_CUDA
  return pmpp::ranks_on_one_device(count);
#else
  return pmpp::emulated_devices(count);
#endif
}

enum class layout { even, on_one, every_other, random };
inline constexpr layout layouts[] = {layout::even, layout::on_one, layout::every_other, layout::random};

/// The sizes of the blocks of n elements on p ranks.
inline std::vector<std::int64_t> blocks(layout how, std::int64_t n, int p, std::mt19937_64& random) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p));
  for (std::int64_t left = n, r = 0; r < p; ++r) {
    std::int64_t size = n / p + (r < n % p);
    if (how == layout::on_one) size = r == p / 2 ? left : 0;
    if (how == layout::every_other) size = r % 2 != 0 ? std::min(left, 2 * n / p) : 0;
    if (how == layout::random) size = static_cast<std::int64_t>(random() % std::uint64_t(left + 1));
    if (r == p - 1) size = left;
    sizes[std::size_t(r)] = size;
    left -= size;
  }
  return sizes;
}

/// The values, laid on the ranks so.
template <class G, class T>
auto put(const G& gpus, const std::vector<T>& values, layout how, std::mt19937_64& random) {
  auto x = pmpp::distributed_buffer<T>::with_sizes(gpus, blocks(how, std::int64_t(values.size()), gpus.size(), random));
  x.copy_from(values);
  gpus.synchronize();  // the values may change
  return x;
}

/// Whether the blocks differ by one at most.
template <class T>
bool is_balanced(const pmpp::distributed_buffer<T>& x, int ranks) {
  for (int r = 0; r < ranks; ++r)
    if (x.size_of(r) != x.size() / ranks + (r < x.size() % ranks)) return false;
  return true;
}

}  // namespace test
