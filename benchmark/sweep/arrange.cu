// SPDX-License-Identifier: Apache-2.0
//
// What changes the elements of one array, or their places, in a sweep: fill, for_each, for_each_index, replace and its kin, rotate,
// shift_left, shift_right, unique, remove, remove_copy and sample, beside Thrust's, and CUB's DeviceFor. Where Thrust has no such call,
// what is written with those that it has.
#include <cub/device/device_for.cuh>
#include <cuda/std/mdspan>
#include <thrust/copy.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/random.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#if __has_include(<thrust/iterator/shuffle_iterator.h>)
#include <thrust/iterator/shuffle_iterator.h>
#endif

#include <pmpp/elementwise.hpp>
#include <pmpp/random.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/remove.hpp>
#include <pmpp/transform.hpp>

#include "beside_thrust.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace {

using namespace sweep;

template <class T>
void filled(trial& t) {
  t.draw_size(2 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(T));
  write<T>(
      t, n, [=](int, T* out) { pmpp::fill(device(), out, out + n, T(7)); },
      [=](const auto& on, int, T* out) { thrust::fill(on, out, out + n, T(7)); });
}

struct stirred {
  PMPP_HOST_DEVICE void operator()(u32& x) const { x = 3 * x + 1; }
};
void visited(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(8.0 * double(n));
  const auto in = t.input<u32>(n, pattern::random);
  const auto [mine, theirs] = change(
      t, n, in, [=](u32* x) { pmpp::for_each(device(), x, x + n, stirred{}); },
      [=](const auto& on, u32* x) { thrust::for_each(on, x, x + n, stirred{}); });
  u32* const b = theirs;
  t.add_peer(
      "cub",
      [=](void* storage, std::size_t& bytes, int) {
        return cub::DeviceFor::ForEachN(storage, bytes, b, n, stirred{}, stream());
      },
      t.peers[0].prepare);
}

// A table whose elements say where they are. CUB gives the place in memory too.
struct write_place {
  u32* out;
  i64 rows, cols;
  PMPP_HOST_DEVICE void operator()(i64 y, i64 x) const { out[y * cols + x] = u32(31 * y + x); }
  PMPP_HOST_DEVICE void operator()(i64 z, i64 y, i64 x) const {
    out[(z * rows + y) * cols + x] = u32(961 * z + 31 * y + x);
  }
};
struct write_given_place {
  u32* out;
  __host__ __device__ void operator()(int at, int y, int x) const { out[at] = u32(31) * u32(y) + u32(x); }
  __host__ __device__ void operator()(int at, int z, int y, int x) const {
    out[at] = u32(961) * u32(z) + u32(31) * u32(y) + u32(x);
  }
};
struct write_divided_place {
  u32* out;
  int rows, cols;
  __host__ __device__ void operator()(int i) const {
    const int x = i % cols, y = i / cols % rows, z = i / cols / rows;
    out[i] = u32(961) * u32(z) + u32(31) * u32(y) + u32(x);
  }
};
template <int Dimensions>
void indexed(trial& t) {
  t.draw_size(8);
  const i64 cols = t.draw.log_uniform(1, t.n), lines = t.n / cols,
            rows = Dimensions == 2 ? lines : t.draw.log_uniform(1, lines), depth = lines / rows,
            n = depth * rows * cols;
  t.add(" " + std::to_string(depth) + " x " + std::to_string(rows) + " x " + std::to_string(cols));
  t.set_bytes(4.0 * double(n));
  write<u32>(
      t, n,
      [=](int, u32* out) {
        if constexpr (Dimensions == 2)
          pmpp::for_each_index(device(), rows, cols, write_place{out, rows, cols});
        else
          pmpp::for_each_index(device(), depth, rows, cols, write_place{out, rows, cols});
      },
      [=](const auto& on, int, u32* out) {
        const thrust::counting_iterator<int> first(0);
        thrust::for_each(on, first, first + n, write_divided_place{out, int(rows), int(cols)});
      });
  u32* const b = t.array_at<u32>(n, 1, 0).first;
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int) {
    if constexpr (Dimensions == 2)
      return cub::DeviceFor::ForEachInExtents(
          storage, bytes, cuda::std::extents<int, cuda::std::dynamic_extent, cuda::std::dynamic_extent>(rows, cols),
          write_given_place{b}, stream());
    else
      return cub::DeviceFor::ForEachInExtents(
          storage, bytes,
          cuda::std::extents<int, cuda::std::dynamic_extent, cuda::std::dynamic_extent, cuda::std::dynamic_extent>(
              depth, rows, cols),
          write_given_place{b}, stream());
  });
}

/// One of the elements of `pattern::few_values`.
template <class T>
T one_of_few() {
  return element_of<T>(u64(3) << 61 | 0x123456789abcdef, 0);
}
pattern few_or_random(trial& t) { return t.draw.one_of({pattern::few_values, pattern::few_values, pattern::random}); }

template <class T>
void replaced(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(double(n) * sizeof(T));
  const T old = one_of_few<T>();
  change(
      t, n, t.input<T>(n, few_or_random(t)), [=](T* x) { pmpp::replace(device(), x, x + n, old, T(7)); },
      [=](const auto& on, T* x) { thrust::replace(on, x, x + n, old, T(7)); });
}
template <class T>
void replaced_copy(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const T old = one_of_few<T>();
  const auto in = t.input<T>(n, few_or_random(t));
  write<T>(
      t, n, [=](int s, T* out) { pmpp::replace_copy(device(), in(s), in(s) + n, out, old, T(7)); },
      [=](const auto& on, int s, T* out) { thrust::replace_copy(on, in(s), in(s) + n, out, old, T(7)); });
}
void replaced_copy_if(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(8.0 * double(n));
  const auto in = t.input<u32>(n);
  write<u32>(
      t, n, [=](int s, u32* out) { pmpp::replace_copy_if(device(), in(s), in(s) + n, out, is_odd{}, 8u); },
      [=](const auto& on, int s, u32* out) { thrust::replace_copy_if(on, in(s), in(s) + n, out, is_odd{}, 8u); });
}

/// Thrust has neither rotate nor shifts: into an array, and back.
template <class T>
void rotated(trial& t) {
  t.draw_size(16 + 4 * sizeof(T));
  const i64 n = t.n, k = t.draw.below(n);
  t.add(" by " + std::to_string(k));
  t.set_bytes(2.0 * double(n) * sizeof(T));
  T* const room = t.array_at<T>(n, 1, 0).first;
  change(
      t, n, t.input<T>(n, pattern::random), [=](T* x) { pmpp::rotate(device(), x, x + k, x + n); },
      [=](const auto& on, T* x) {
        thrust::copy(on, x + k, x + n, room);
        thrust::copy(on, x, x + k, room + (n - k));
        thrust::copy(on, room, room + n, x);
      });
}
template <class T, bool Left>
void shifted(trial& t) {
  t.draw_size(16 + 4 * sizeof(T));
  const i64 n = t.n, k = t.draw.chance(0.5) ? t.draw.below(n) : t.draw.log_uniform(1, n) - 1, kept = n - k;
  t.add(" by " + std::to_string(k));
  t.set_bytes(2.0 * double(n) * sizeof(T));
  t.bytes = 2.0 * double(kept) * sizeof(T);
  T* const room = t.array_at<T>(n, 1, 0).first;
  const i64 from = Left ? k : 0, to = Left ? 0 : k;
  const auto [mine, theirs] = change(
      t, n, t.input<T>(n, pattern::random),
      [=](T* x) {
        if constexpr (Left)
          pmpp::shift_left(device(), x, x + n, k);
        else
          pmpp::shift_right(device(), x, x + n, k);
      },
      [=](const auto& on, T* x) {
        if (k >= kept) {  // the places apart
          thrust::copy(on, x + from, x + from + kept, x + to);
        } else {
          thrust::copy(on, x + from, x + from + kept, room);
          thrust::copy(on, room, room + kept, x + to);
        }
      });
  const T *const a = mine + to, *const b = theirs + to;  // the others keep some old value
  t.fault = [=] { return difference_of(stream(), "elements", a, b, kept); };
}

/// What both leave in front of where they say that it ends.
template <class T>
void compare_beginnings(trial& t, const std::shared_ptr<returned>& found, const T* a, const T* b) {
  t.fault = [=] {
    const std::string text = found->difference();
    return text.empty() ? difference_of(stream(), "elements", a, b, found->own) : text;
  };
}
/// In place, of which a beginning is left: own(elements) and peer(policy, elements) return its length.
template <class T, class Own, class Peer>
void shorten(trial& t, const slots<T>& in, Own own, Peer peer) {
  const auto found = std::make_shared<returned>();
  const auto [a, b] = change(
      t, t.n, in, [=](T* x) { found->own = own(x); }, [=](const auto& on, T* x) { found->peer = peer(on, x); });
  compare_beginnings<T>(t, found, a, b);
}
template <class T>
void made_unique(trial& t) {
  t.draw_size(16 + 2 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n, t.draw.one_of({pattern::runs, pattern::few_values, pattern::random, pattern::zipf}));
  shorten(
      t, in, [=](T* x) { return pmpp::unique(device(), x, x + n) - x; },
      [=](const auto& on, T* x) { return thrust::unique(on, x, x + n) - x; });
}
template <class T>
void removed(trial& t) {
  t.draw_size(16 + 2 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const T value = one_of_few<T>();
  const auto in = t.input<T>(n, few_or_random(t));
  shorten(
      t, in, [=](T* x) { return pmpp::remove(device(), x, x + n, value) - x; },
      [=](const auto& on, T* x) { return thrust::remove(on, x, x + n, value) - x; });
}
template <class T>
void removed_copy(trial& t) {
  t.draw_size(16 + 2 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const T value = one_of_few<T>();
  const auto in = t.input<T>(n, few_or_random(t));
  const auto found = std::make_shared<returned>();
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { found->own = pmpp::remove_copy(device(), in(s), in(s) + n, a, value) - a; }, {}};
  const auto policy = thrust_policy(t, 16 * n);
  t.peers.push_back(
      {"thrust", [=](int s) { found->peer = thrust::remove_copy(policy(), in(s), in(s) + n, b, value) - b; }, {}});
  compare_beginnings<T>(t, found, a, b);
}

/// k of n at different places. Thrust gathers by its permutation where its CCCL has one as an iterator (3.2), else it shuffles all. Each
/// sample is judged by itself: elements are their own places, so that all of it must be below n, and different.
void sampled(trial& t) {
  t.draw_size(28, 200'000'000);
  const i64 n = t.n, k = t.draw.chance(0.3) ? n : t.draw.log_uniform(1, n);
  t.add(" " + std::to_string(k) + " of them");
  t.set_bytes(8.0 * double(k));
  const u32* const in = t.computed<u32>(n, pmpp::identity{});
  const auto [mine, theirs] = t.outputs<u32>(n);
  u32 *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::sample(device(), in, in + n, a, k, u64(s) + 7); }, {}};
  const auto policy = thrust_policy(t, 16 * n + (i64(1) << 22));
  t.peers.push_back({"thrust",
                     [=](int s) {
                       thrust::default_random_engine seed(u32(s) + 7);
#if __has_include(<thrust/iterator/shuffle_iterator.h>)
                       const thrust::shuffle_iterator<i64> order(n, seed);
                       thrust::gather(policy(), order, order + k, in, b);
#else
                       thrust::shuffle_copy(policy(), in, in + n, b, seed);
#endif
                     },
                     {}});
  t.fault = [=]() -> std::string {
    for (u32* const x : {a, b}) {
      u32 greatest = 0;
      thrust::sort(policy(), x, x + k);
      const i64 different = thrust::unique_count(policy(), x, x + k);
      pmpp::copy(stream(), std::span<const u32>(x + (k - 1), 1), std::span<u32>(&greatest, 1));
      pmpp::synchronize(stream());
      if (different != k || greatest >= n)
        return std::string(x == a ? "" : "Thrust: ") + std::to_string(different) + " different ones instead of " +
               std::to_string(k) + ", the greatest " + std::to_string(greatest);
    }
    return "";
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("arrange", argc, argv,
                    {{"fill u8", filled<u8>},
                     {"fill u32", filled<u32>},
                     {"for_each u32", visited},
                     {"for_each_index, a table", indexed<2>},
                     {"for_each_index, a volume", indexed<3>},
                     {"replace u8", replaced<u8>},
                     {"replace f32", replaced<float>},
                     {"replace_copy u8", replaced_copy<u8>},
                     {"replace_copy u64", replaced_copy<u64>},
                     {"replace_copy_if u32", replaced_copy_if},
                     {"rotate u8", rotated<u8>},
                     {"rotate u32", rotated<u32>},
                     {"shift_left u32", shifted<u32, true>},
                     {"shift_left u8", shifted<u8, true>},
                     {"shift_right u64", shifted<u64, false>},
                     {"unique u32", made_unique<u32>},
                     {"remove u32", removed<u32>},
                     {"remove_copy u8", removed_copy<u8>},
                     {"sample u32", sampled}});
}
