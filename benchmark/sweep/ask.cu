// SPDX-License-Identifier: Apache-2.0
//
// Questions about a range in a sweep: find_if, find_if_not, find_first_of, contains, any_of, none_of, is_partitioned, is_sorted, includes,
// equal_range and the places of extremes, beside Thrust's, and CUB's where its CCCL has them (DeviceFind: 3.3; -DPMPP_CCCL_DIR=). Calls
// wait for their answer, those of CUB's for a copy of it; equal_range has none.
#include <cub/device/device_reduce.cuh>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/logical.h>
#include <thrust/partition.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#if __has_include(<cub/device/device_find.cuh>)
#include <cub/device/device_find.cuh>
#endif

#include <pmpp/find.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/search.hpp>
#include <pmpp/sort.hpp>

#include "beside_thrust.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

namespace {

using namespace sweep;

/// Draws a size, and where an answer lies; half of the times nowhere.
template <class T>
i64 draw_place(trial& t, double arrays = 1) {
  t.draw_size(arrays * sizeof(T) + 2);
  const i64 place = t.draw.chance(0.5) ? t.n : t.draw.below(t.n);
  t.add(" to " + std::to_string(place));
  t.set_bytes(double(place) * sizeof(T));
  return place;
}
template <class T, class F>
T* made(trial& t, i64 n, F f) {
  T* const a = t.array<T>(n)(0);
  fill_by_index<<<1024, 256, 0, stream()>>>(a, n, f);
  pmpp::check(cudaGetLastError(), "fill_by_index");
  return a;
}

/// CUB's search for the first element for which something is true; `tell` makes the answer of its place.
template <class T, class Pred, class Tell>
void add_cub_find([[maybe_unused]] trial& t, [[maybe_unused]] const std::shared_ptr<returned>& found,
                  [[maybe_unused]] const T* in, [[maybe_unused]] i64 n, [[maybe_unused]] Pred pred,
                  [[maybe_unused]] Tell tell) {
#if __has_include(<cub/device/device_find.cuh>)
  add_asking_peer(
      t, found,
      [=](void* storage, std::size_t& bytes, int, i64* place) {
        return cub::DeviceFind::FindIf(storage, bytes, in, place, pred, n, stream());
      },
      tell);
#endif
}
template <class T>
struct is_one {
  PMPP_HOST_DEVICE bool operator()(T x) const { return x == T(1); }
};
template <class T>
struct is_not_one {
  PMPP_HOST_DEVICE bool operator()(T x) const { return x != T(1); }
};

template <class T>
void first_one(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, all_but_one<T>{place});
  const auto found = ask(
      t, [=](int) { return pmpp::find_if(device(), in, in + n, is_one<T>{}) - in; },
      [=](const auto& on, int) { return thrust::find_if(on, in, in + n, is_one<T>{}) - in; });
  add_cub_find(t, found, in, n, is_one<T>{}, [](i64 place) { return place; });
}
template <class T>
void first_that_is_not(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, all_but_one<T>{place});
  const auto found = ask(
      t, [=](int) { return pmpp::find_if_not(device(), in, in + n, is_not_one<T>{}) - in; },
      [=](const auto& on, int) { return thrust::find_if_not(on, in, in + n, is_not_one<T>{}) - in; });
  add_cub_find(t, found, in, n, is_one<T>{}, [](i64 place) { return place; });
}
template <class T>
void contained(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, all_but_one<T>{place});
  const auto found = ask(
      t, [=](int) { return pmpp::contains(device(), in, in + n, T(1)); },
      [=](const auto& on, int) { return thrust::find(on, in, in + n, T(1)) != in + n; });
  add_cub_find(t, found, in, n, is_one<T>{}, [=](i64 place) { return place < n; });
}
template <class T>
void any(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, all_but_one<T>{place});
  const auto found = ask(
      t, [=](int) { return pmpp::any_of(device(), in, in + n, is_one<T>{}); },
      [=](const auto& on, int) { return thrust::any_of(on, in, in + n, is_one<T>{}); });
  add_cub_find(t, found, in, n, is_one<T>{}, [=](i64 place) { return place < n; });
}
template <class T>
void none(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, all_but_one<T>{place});
  const auto found = ask(
      t, [=](int) { return pmpp::none_of(device(), in, in + n, is_one<T>{}); },
      [=](const auto& on, int) { return thrust::none_of(on, in, in + n, is_one<T>{}); });
  add_cub_find(t, found, in, n, is_one<T>{}, [=](i64 place) { return place == n; });
}

/// Elements from 64 on, but for one, which is the last of 0 ... m - 1.
template <class T>
struct one_below_64 {
  i64 place, m;
  PMPP_HOST_DEVICE T operator()(i64 i) const { return T(i == place ? m - 1 : 64 + i % 190); }
};
template <class T>
struct is_one_of {
  const T* set;
  i64 m;
  PMPP_HOST_DEVICE bool operator()(T x) const {
    for (i64 j = 0; j < m; ++j)
      if (set[j] == x) return true;
    return false;
  }
};
/// Neither Thrust nor CUB has it: the first element for which a loop finds something.
template <class T>
void first_of_some(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n, m = t.draw.log_uniform(1, 64);
  t.add(", a set of " + std::to_string(m));
  const T* const in = made<T>(t, n, one_below_64<T>{place, m});
  const T* const set = t.computed<T>(m, pmpp::identity{});
  const is_one_of<T> hit{set, m};
  const auto found = ask(
      t, [=](int) { return pmpp::find_first_of(device(), in, in + n, std::span<const T>(set, std::size_t(m))) - in; },
      [=](const auto& on, int) { return thrust::find_if(on, in, in + n, hit) - in; });
  add_cub_find(t, found, in, n, hit, [](i64 place) { return place; });
}

/// Odd numbers in front of even ones, and one odd number further on.
struct parted_but_one {
  i64 front, place;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return i < front || i == place ? 1 : 2; }
};
void parted(trial& t) {
  const i64 place = draw_place<u32>(t), n = t.n, front = t.draw.below(place + 1);
  t.add(", odd to " + std::to_string(front));
  const u32* const in = made<u32>(t, n, parted_but_one{front, place});
  ask(
      t, [=](int) { return pmpp::is_partitioned(device(), in, in + n, is_odd{}); },
      [=](const auto& on, int) { return thrust::is_partitioned(on, in, in + n, is_odd{}); });
}
template <class T>
void sorted(trial& t) {
  const i64 place = draw_place<T>(t), n = t.n;
  const T* const in = made<T>(t, n, rising_but_one{place});
  ask(
      t, [=](int) { return pmpp::is_sorted(device(), in, in + n); },
      [=](const auto& on, int) { return thrust::is_sorted(on, in, in + n); });
}

/// 1, 4, 7, ...; m of n of them, but for one that is none of them.
struct every_third {
  i64 n, m, place;
  PMPP_HOST_DEVICE i64 operator()(i64 j) const { return 3 * (j * n / m) + 1 + (j == place); }
};
template <class T>
struct is_held_by {
  const T* first;
  i64 n;
  __host__ __device__ bool operator()(T x) const { return thrust::binary_search(thrust::seq, first, first + n, x); }
};
/// Thrust has it in two ways: all are found by a binary search, as no element comes twice, or nothing is left of a difference.
template <class T>
void included(trial& t) {
  t.draw_size(3 * sizeof(T) + 4);
  const i64 n = t.n, m = t.draw.chance(0.3) ? n : t.draw.log_uniform(1, n),
            place = t.draw.chance(0.5) ? m : t.draw.below(m);
  t.add(" and " + std::to_string(m) + " to " + std::to_string(place));
  t.set_bytes(2.0 * double(place) * sizeof(T));
  const T* const all = made<T>(t, n, every_third{n, n, n});
  const T* const some = made<T>(t, m, every_third{n, m, place});
  T* const rest = t.array_at<T>(m, 1, 0).first;
  const auto found = ask(
      t, [=](int) { return pmpp::includes(device(), all, all + n, some, some + m); },
      [=](const auto& on, int) {
        return thrust::all_of(on, some, some + m, is_held_by<T>{all, n});
      });
  const auto policy = thrust_policy(t, 2 * n + (i64(1) << 22));
  t.peers.push_back(
      {"thrust set_difference",
       [=](int) { found->peer = thrust::set_difference(policy(), some, some + m, all, all + n, rest) == rest ? 1 : 0; },
       {}});
}

template <class T>
void ranges(trial& t) {
  t.draw_size(sizeof(T) + 16, 100'000'000);
  const i64 n = t.n, m = t.draw.log_uniform(1, 200'000'000),
            same = t.draw.chance(0.5) ? t.draw.log_uniform(2, 1000) : 1;
  t.add(" values in " + std::to_string(m) + " elements");
  t.set_bytes(double(n) * (sizeof(T) + 8) + double(std::min(n, m)) * sizeof(T));
  const auto values = t.input<T>(n);
  const T* const in = t.computed<T>(m, rising<T>{m, same, 9});
  const auto [lower_mine, lower_theirs] = t.outputs<u32>(n);
  const auto [upper_mine, upper_theirs] = t.outputs<u32>(n);
  u32 *const la = lower_mine, *const lb = lower_theirs, *const ua = upper_mine, *const ub = upper_theirs;
  t.own = {"pmpp", [=](int s) { pmpp::equal_range(device(), in, in + m, values(s), values(s) + n, la, ua); }, {}};
  const auto policy = thrust_policy(t, 16 * n);
  t.peers.push_back({"thrust",
                     [=](int s) {
                       thrust::lower_bound(policy(), in, in + m, values(s), values(s) + n, lb);
                       thrust::upper_bound(policy(), in, in + m, values(s), values(s) + n, ub);
                     },
                     {}});
#if __has_include(<cub/device/device_find.cuh>)
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    std::size_t more = bytes;
    cudaError_t status =
        cub::DeviceFind::LowerBound(storage, bytes, in, m, values(s), n, lb, cuda::std::less<>{}, stream());
    if (status == cudaSuccess)
      status = cub::DeviceFind::UpperBound(storage, more, in, m, values(s), n, ub, cuda::std::less<>{}, stream());
    bytes = std::max(bytes, more);
    return status;
  });
#endif
  t.fault = [=] {
    const std::string text = difference_of(stream(), "beginnings", la, lb, n);
    return text.empty() ? difference_of(stream(), "ends", ua, ub, n) : text;
  };
}

template <class T, bool Greatest>
void extreme(trial& t) {
  t.draw_size(sizeof(T) + 2);
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(T));
  const auto in = t.input<T>(n);
  const auto found = ask(
      t,
      [=](int s) {
        if constexpr (Greatest)
          return pmpp::max_element(device(), in(s), in(s) + n) - in(s);
        else
          return pmpp::min_element(device(), in(s), in(s) + n) - in(s);
      },
      [=](const auto& on, int s) {
        if constexpr (Greatest)
          return thrust::max_element(on, in(s), in(s) + n) - in(s);
        else
          return thrust::min_element(on, in(s), in(s) + n) - in(s);
      });
  T* const value = t.array_at<T>(1, 1, 0).first;
  add_asking_peer(
      t, found,
      [=](void* storage, std::size_t& bytes, int s, i64* place) {
        if constexpr (Greatest)
          return cub::DeviceReduce::ArgMax(storage, bytes, in(s), value, place, n, stream());
        else
          return cub::DeviceReduce::ArgMin(storage, bytes, in(s), value, place, n, stream());
      },
      [](i64 place) { return place; });
}
/// Both places in one number. Of doubles that are all different, as which of equals is told need not be the same.
void extremes(trial& t) {
  t.draw_size(sizeof(double) + 2);
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(double));
  const auto in =
      t.input<double>(n, t.draw.one_of({pattern::random, pattern::random, pattern::sorted, pattern::reversed}));
  const auto both = [=](const auto& places, int s) { return (places.first - in(s)) << 32 | (places.second - in(s)); };
  ask(
      t, [=](int s) { return both(pmpp::minmax_element(device(), in(s), in(s) + n), s); },
      [=](const auto& on, int s) { return both(thrust::minmax_element(on, in(s), in(s) + n), s); });
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("ask", argc, argv,
                    {{"find_if u32", first_one<u32>},
                     {"find_if_not f32", first_that_is_not<float>},
                     {"contains u8", contained<u8>},
                     {"contains u64", contained<u64>},
                     {"any_of u32", any<u32>},
                     {"none_of u8", none<u8>},
                     {"find_first_of u8", first_of_some<u8>},
                     {"find_first_of u32", first_of_some<u32>},
                     {"is_partitioned u32", parted},
                     {"is_sorted u32", sorted<u32>},
                     {"is_sorted f32", sorted<float>},
                     {"includes u32", included<u32>},
                     {"includes u64", included<u64>},
                     {"equal_range u32", ranges<u32>},
                     {"equal_range f32", ranges<float>},
                     {"min_element f32", extreme<float, false>},
                     {"max_element i32", extreme<i32, true>},
                     {"minmax_element f64", extremes}});
}
