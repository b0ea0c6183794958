// SPDX-License-Identifier: Apache-2.0
//
// What moves elements, in a sweep: gather and scatter, reverse_copy, adjacent_difference, scan_by_key, unique_by_key, stable_partition in
// place, three_way_partition_copy, remove in place and copy_batched, beside CUB's calls, or Thrust's where CUB has none.
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/gather.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/reverse.h>
#include <thrust/scatter.h>

#include <pmpp/by_key.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/random.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/remove.hpp>
#include <pmpp/segmented_copy.hpp>
#include <pmpp/three_way_partition.hpp>

#include "sweep.hpp"
#include "thrust_policy.hpp"

#include <memory>
#include <string>
#include <utility>

namespace {

using namespace sweep;

/// An output of n elements for each contender, which are compared.
template <class T>
std::pair<T*, T*> compared_outputs(trial& t, i64 n, const char* what, double terms = 1) {
  const std::pair<T*, T*> both = t.outputs<T>(n);
  t.fault = [=] { return difference_of(stream(), what, both.first, both.second, n, terms); };
  return both;
}

/// Places below m: in order, at random, or at random within a neighbourhood.
struct places {
  i64 n, m, near;
  u64 seed;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const {
    if (near == 0) return u32(bits_of(seed + u64(i)) % u64(m));
    const i64 at = i64(double(i) / double(n) * double(m)) + i64(bits_of(seed + u64(i)) % u64(near));
    return u32(at % m);
  }
};
template <class T>
void gathered(trial& t) {
  t.draw_size(3 * sizeof(T) + 4);
  const i64 n = t.n, m = t.draw.chance(0.5) ? n : t.draw.log_uniform(1, n),
            near = t.draw.one_of<i64>({0, 0, 1, t.draw.log_uniform(2, 100'000)});
  t.add(" of " + std::to_string(m) +
        (near == 0   ? " at random"
         : near == 1 ? " in order"
                     : " within " + std::to_string(near)));
  t.set_bytes(double(n) * (4 + sizeof(T)) + double(std::min(n, m)) * sizeof(T));
  const auto in = t.input<T>(m, pattern::random);
  const u32* const at = t.computed<u32>(n, places{n, m, near, t.draw.bits()});
  const auto [mine, theirs] = compared_outputs<T>(t, n, "elements");
  T *const a = mine, *const b = theirs;
  t.own = {
      "pmpp", [=](int s) { pmpp::gather(device(), at, at + n, std::span<const T>(in(s), std::size_t(m)), a); }, {}};
  const auto policy = thrust_policy(t, 0);
  t.peers.push_back({"thrust", [=](int s) { thrust::gather(policy(), at, at + n, in(s), b); }, {}});
}
template <class T>
void scattered(trial& t) {
  t.draw_size(3 * sizeof(T) + 4);
  const i64 n = t.n;
  const bool random = t.draw.chance(0.5);
  t.add(random ? " at random" : " in order");
  t.set_bytes(double(n) * (4 + 2 * sizeof(T)));
  const auto in = t.input<T>(n, pattern::random);
  u32* const at = t.array<u32>(n)(0);
  pmpp::iota(device(), at, at + n, u32(0));
  if (random) pmpp::shuffle(device(), at, at + n, t.draw.bits());
  const auto [mine, theirs] = compared_outputs<T>(t, n, "elements");
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::scatter(device(), in(s), in(s) + n, at, a); }, {}};
  const auto policy = thrust_policy(t, 0);
  t.peers.push_back({"thrust", [=](int s) { thrust::scatter(policy(), in(s), in(s) + n, at, b); }, {}});
}
template <class T>
void reversed(trial& t) {
  t.draw_size(3 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n, pattern::random);
  const auto [mine, theirs] = compared_outputs<T>(t, n, "elements");
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::reverse_copy(device(), in(s), in(s) + n, a); }, {}};
  const auto policy = thrust_policy(t, 0);
  t.peers.push_back({"thrust", [=](int s) { thrust::reverse_copy(policy(), in(s), in(s) + n, b); }, {}});
}
template <class T>
void differences(trial& t) {
  t.draw_size(3 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n, pattern::random);
  const auto [mine, theirs] = compared_outputs<T>(t, n, "differences");
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::adjacent_difference(device(), in(s), in(s) + n, a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(storage, bytes, in(s), b, n, cuda::std::minus<>{}, stream());
  });
}

template <class K, class V>
void scanned_by_key(trial& t) {
  t.draw_size(sizeof(K) + 3 * sizeof(V));
  const i64 n = t.n;
  t.set_bytes(double(n) * (sizeof(K) + 2 * sizeof(V)));
  const auto keys = t.input<K>(n, t.draw.one_of({pattern::runs, pattern::runs, pattern::sorted, pattern::few_values}));
  const auto values = t.input<V>(n, pattern::random);
  const auto [mine, theirs] = compared_outputs<V>(t, n, "sums", is_float<V> ? double(n) : 1);
  V *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::inclusive_scan_by_key(device(), keys(s), keys(s) + n, values(s), a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::InclusiveSumByKey(storage, bytes, keys(s), values(s), b, n, cuda::std::equal_to<>{},
                                              stream());
  });
}
template <class K, class V>
void first_of_keys(trial& t) {
  t.draw_size(3 * (sizeof(K) + sizeof(V)));
  const i64 n = t.n;
  t.set_bytes(1.5 * double(n) * (sizeof(K) + sizeof(V)));
  const auto keys = t.input<K>(n, t.draw.one_of({pattern::runs, pattern::sorted, pattern::few_values}));
  const auto values = t.input<V>(n, pattern::random);
  const auto [keys_a, keys_b] = t.outputs<K>(n);
  const auto [values_a, values_b] = t.outputs<V>(n);
  i64 *const count_a = t.array_at<i64>(1, 1, 0).first, *const count_b = t.array_at<i64>(1, 1, 0).first;
  K *const ka = keys_a, *const kb = keys_b;
  V *const va = values_a, *const vb = values_b;
  t.own = {
      "pmpp", [=](int s) { pmpp::unique_by_key_into(device(), keys(s), keys(s) + n, values(s), ka, va, count_a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSelect::UniqueByKey(storage, bytes, keys(s), values(s), kb, vb, count_b, n,
                                          cuda::std::equal_to<>{}, stream());
  });
  t.fault = [=] {
    i64 count = 0;
    std::string text = difference_of_counts(stream(), "counts", count_a, count_b, count);
    if (text.empty()) text = difference_of(stream(), "keys", ka, kb, count);
    return text.empty() ? difference_of(stream(), "values", va, vb, count) : text;
  };
}

/// Whether a number lies below a limit.
template <class T>
struct below {
  T limit;
  PMPP_HOST_DEVICE bool operator()(T x) const { return x < limit; }
};
template <class T>
below<T> draw_limit(trial& t, double least, double most) {
  const double share = t.draw.one_of({0.01, 0.5, 0.9, t.draw.unit()}) * (most - least) + least;
  t.add(" below " + std::to_string(int(100 * share)) + " %");
  return {static_cast<T>(share * double(T(~T(0))))};
}
template <class T>
void three_ways(trial& t) {
  t.draw_size(7 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n, pattern::random);
  const below<T> low = draw_limit<T>(t, 0, 0.7), middle = draw_limit<T>(t, 0.7, 1);
  const auto [first_a, first_b] = t.outputs<T>(n);
  const auto [second_a, second_b] = t.outputs<T>(n);
  const auto [rest_a, rest_b] = t.outputs<T>(n);
  u32 *const count_a = t.array_at<u32>(2, 1, 0).first, *const count_b = t.array_at<u32>(2, 1, 0).first;
  T *const fa = first_a, *const fb = first_b, *const sa = second_a, *const sb = second_b, *const ra = rest_a,
           *const rb = rest_b;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::three_way_partition_copy_into(device(), in(s), in(s) + n, fa, sa, ra, std::span<u32>(count_a, 2),
                                                 low, middle);
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DevicePartition::If(storage, bytes, in(s), fb, sb, rb, count_b, int(n), low, middle, stream());
  });
  t.fault = [=] {
    u32 counts[2] = {};
    pmpp::copy(stream(), std::span<const u32>(count_a, 2), std::span<u32>(counts));
    std::string text = difference_of(stream(), "counts", count_a, count_b, 2);
    if (text.empty()) text = difference_of(stream(), "the first", fa, fb, counts[0]);
    if (text.empty()) text = difference_of(stream(), "the second", sa, sb, counts[1]);
    return text.empty() ? difference_of(stream(), "the rest", ra, rb, n - counts[0] - counts[1]) : text;
  };
}

/// An array that each call finds as `in` was: pmpp's and the peer's.
template <class T>
struct in_place {
  slots<T> in, own, peer;
  in_place(trial& t, i64 n)
      : in(t.input<T>(n, pattern::random)), own(t.array<T>(n, t.slot_count)), peer(t.array<T>(n, t.slot_count)) {}
  static std::function<void(int)> refill(slots<T> to, slots<T> from, i64 n) {
    return [=](int s) {
      pmpp::check(cudaMemcpyAsync(to(s), from(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
                  "cudaMemcpyAsync");
    };
  }
};
template <class T>
void partitioned(trial& t) {
  t.draw_size(8 * sizeof(T), 200'000'000);
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T), true);
  const in_place<T> v(t, n);
  const below<T> low = draw_limit<T>(t, 0, 1);
  const auto found = std::make_shared<returned>();
  const auto own = v.own, peer = v.peer;
  t.own = {"pmpp", [=](int s) { found->own = pmpp::stable_partition(device(), own(s), own(s) + n, low) - own(s); },
           v.refill(own, v.in, n)};
  const auto policy = thrust_policy(t, n * i64(sizeof(T)) * 2 + (1 << 22));
  t.peers.push_back(
      {"thrust", [=](int s) { found->peer = thrust::stable_partition(policy(), peer(s), peer(s) + n, low) - peer(s); },
       v.refill(peer, v.in, n)});
  t.fault = [=] {
    const std::string text = found->difference();
    return text.empty() ? difference_of(stream(), "elements", own(0), peer(0), n) : text;
  };
}
template <class T>
void removed(trial& t) {
  t.draw_size(8 * sizeof(T), 200'000'000);
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T), true);
  const in_place<T> v(t, n);
  const below<T> low = draw_limit<T>(t, 0, 1);
  const auto found = std::make_shared<returned>();
  const auto own = v.own, peer = v.peer;
  t.own = {"pmpp", [=](int s) { found->own = pmpp::remove_if(device(), own(s), own(s) + n, own(s), low) - own(s); },
           v.refill(own, v.in, n)};
  const auto policy = thrust_policy(t, n * i64(sizeof(T)) * 2 + (1 << 22));
  t.peers.push_back({"thrust",
                     [=](int s) { found->peer = thrust::remove_if(policy(), peer(s), peer(s) + n, low) - peer(s); },
                     v.refill(peer, v.in, n)});
  t.fault = [=] {
    const std::string text = found->difference();
    return text.empty() ? difference_of(stream(), "elements", own(0), peer(0), found->own) : text;
  };
}

/// Piece i of a batch: pieces of about the same length, or of a few, which lie in reverse order in the output.
struct piece_bytes {
  i64 mean;
  u64 seed;
  bool equal;
  PMPP_HOST_DEVICE i32 operator()(i64 i) const {
    return equal ? i32(mean) : i32(bits_of(seed + u64(i)) % u64(2 * mean));
  }
};
struct piece_at {
  char* first;
  i64 pitch, last;
  PMPP_HOST_DEVICE char* operator()(i64 i) const { return first + (last < 0 ? i : last - i) * pitch; }
};
void batches(trial& t) {
  t.draw_size(8);
  const i64 mean = t.draw.log_uniform(1, 1'000'000), pieces = std::max<i64>(1, std::min<i64>(t.n / mean, 10'000'000)),
            pitch = 2 * mean;
  const bool equal = t.draw.chance(0.3);
  t.add(" bytes: " + std::to_string(pieces) + " pieces of " + (equal ? "" : "about ") + std::to_string(mean));
  t.set_bytes(2.0 * double(pieces) * double(mean));
  t.slot_count = 1;
  char* const from = t.input<char>(pieces * pitch, pattern::random)(0);
  const auto [mine, theirs] = t.outputs<char>(pieces * pitch);
  char *const a = mine, *const b = theirs;
  const i32* const sizes = t.computed<i32>(pieces, piece_bytes{mean, t.draw.bits(), equal});
  const char** const sources = const_cast<const char**>(t.computed<char*>(pieces, piece_at{from, pitch, -1}));
  char **const to_a = t.computed<char*>(pieces, piece_at{a, pitch, pieces - 1}),
               **const to_b = t.computed<char*>(pieces, piece_at{b, pitch, pieces - 1});
  const auto count = std::size_t(pieces);
  t.own = {"pmpp",
           [=](int) {
             pmpp::copy_batched(device(), std::span(sources, count), std::span(to_a, count), std::span(sizes, count));
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int) {
    return cub::DeviceMemcpy::Batched(storage, bytes, sources, to_b, sizes, u32(pieces), stream());
  });
  t.fault = [=] { return difference_of(stream(), "bytes", a, b, pieces * pitch); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("move", argc, argv,
                    {{"gather u32", gathered<u32>},
                     {"gather u64", gathered<u64>},
                     {"gather u8", gathered<u8>},
                     {"scatter u32", scattered<u32>},
                     {"reverse_copy u8", reversed<u8>},
                     {"reverse_copy u32", reversed<u32>},
                     {"adjacent_difference i32", differences<i32>},
                     {"scan_by_key u32, f32", scanned_by_key<u32, float>},
                     {"scan_by_key u64, u64", scanned_by_key<u64, u64>},
                     {"unique_by_key u32, u64", first_of_keys<u32, u64>},
                     {"three_way_partition u32", three_ways<u32>},
                     {"three_way_partition u8", three_ways<u8>},
                     {"stable_partition u32", partitioned<u32>},
                     {"remove_if u64", removed<u64>},
                     {"copy_batched", batches}});
}
