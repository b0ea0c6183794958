// SPDX-License-Identifier: Apache-2.0
//
// What the tests of distributed/ have in common: groups of ranks, and ways to lay elements on them. A seed, not test::generator(),
// makes the data, so that all processes of an MPI program have the same.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>

#include "support/capture.hpp"
#include "support/data.hpp"

namespace test {

/// `count` ranks in this process: emulated ones, or, in a CUDA program, on the GPUs in turn, which they share where there are fewer.
inline auto ranks(int count) {
#if PMPP_CUDA
  const std::vector<int> visible = pmpp::detail::visible_devices();
  if (visible.size() == 1) return pmpp::ranks_on_one_device(count);
  pmpp::detail::connect_devices(visible);
  std::vector<int> ids;
  for (int r = 0; r < count; ++r) ids.push_back(visible[std::size_t(r) % visible.size()]);
  return pmpp::devices<>{pmpp::device, pmpp::detail::current_communicator::all(ids), ids};
#else
  return pmpp::emulated_devices(count);
#endif
}

/// Numbers of ranks that tests try.
inline constexpr int rank_counts[] = {1, 2, 3, 5, 7, 8};

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

/// The values, in blocks like those of x.
template <class G, class T, class U>
auto put_like(const G& gpus, const pmpp::distributed_buffer<U>& x, const std::vector<T>& values) {
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < gpus.size(); ++r) sizes.push_back(x.size_of(r));
  auto y = pmpp::distributed_buffer<T>::with_sizes(gpus, sizes);
  y.copy_from(values);
  gpus.synchronize();
  return y;
}

/// check(gpus, n, layout, random) for 1, 2, 3, 5, 7 and 8 ranks, each size and layout.
template <class Check>
void everywhere(std::span<const std::int64_t> sizes, Check check) {
  std::mt19937_64 random(test::seed());
  for (const int p : rank_counts) {
    const auto gpus = test::ranks(p);
    for (const std::int64_t n : sizes)
      for (const layout how : layouts) {
        CAPTURE(p);
        CAPTURE(n);
        CAPTURE(int(how));
        check(gpus, n, how, random);
      }
  }
}

/// Runs f twice, and says whether the second run allocated nothing on any rank: no block, no scratch.
template <class G, class F>
bool second_allocates_nothing(const G& gpus, F f) {
  const auto used = [&] {
    std::vector<std::pair<std::int64_t, std::size_t>> all;
    for (int i = 0; i < gpus.local_size(); ++i) all.emplace_back(gpus.memory(i).allocations, gpus.memory(i).scratch);
    return all;
  };
  f();
  const auto first = used();
  f();
  return used() == first;
}

/// Whether the blocks differ by one at most.
template <class T>
bool is_balanced(const pmpp::distributed_buffer<T>& x, int ranks) {
  for (int r = 0; r < ranks; ++r)
    if (x.size_of(r) != x.size() / ranks + (r < x.size() % ranks)) return false;
  return true;
}

}  // namespace test
