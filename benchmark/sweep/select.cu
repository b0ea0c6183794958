// SPDX-License-Identifier: Apache-2.0
//
// Selections of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include <pmpp/select.hpp>

#include "sweep.hpp"

#include <string>

namespace {

using namespace sweep;

/// Keeps about `share` of the elements, whatever they are.
template <class T>
struct keeps {
  u32 share;  ///< of 2^16
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    u64 bits = 0;
    if constexpr (requires { x.word[0]; })
      bits = x.word[0];
    else if constexpr (std::is_same_v<T, __half>)
      bits = u64(i64(static_cast<float>(x) * 1024));
    else if constexpr (std::is_floating_point_v<T>)
      bits = u64(i64(x * 1048576));
    else
      bits = u64(x);
    return (u32(bits) * 2654435761u >> 16) < share;
  }
};
u32 draw_share(trial& t) {
  const double share = t.draw.one_of({0.0, 0.001, 0.1, 0.5, 0.5, 0.9, 1.0});
  t.add(" share " + std::to_string(share).substr(0, 5));
  return u32(share * 65536);
}

/// Arrays and counts of results, and what compares them.
template <class T>
struct results {
  T *a, *b;
  i64 *count_a, *count_b;
  results(trial& t, i64 n) {
    const auto [mine, theirs] = t.outputs<T>(n);
    a = mine;
    b = theirs;
    count_a = t.array_at<i64>(1, 1, 0).first;
    count_b = t.array_at<i64>(1, 1, 0).first;
  }
  std::function<std::string()> fault() const {
    return [*this]() -> std::string {
      if (const auto text = difference_of(stream(), "counts", count_a, count_b, 1); !text.empty()) return text;
      i64 kept = 0;
      pmpp::copy(stream(), std::span<const i64>(count_a, 1), std::span<i64>(&kept, 1));
      pmpp::synchronize(stream());
      return difference_of(stream(), "kept", a, b, kept);
    };
  }
};

template <class T>
void copy_if(trial& t) {
  t.draw_size(3 * sizeof(T));
  const i64 n = t.n;
  const keeps<T> pred{draw_share(t)};
  t.set_bytes(double(n) * sizeof(T) * (1 + pred.share / 65536.0));
  const auto in = t.input<T>(n);
  const results<T> r(t, n);
  t.own = {"pmpp", [=](int s) { pmpp::copy_if_into(device(), in(s), in(s) + n, r.a, r.count_a, pred); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSelect::If(storage, bytes, in(s), r.b, r.count_b, n, pred, stream());
  });
  t.fault = r.fault();
}
template <class T>
void copy_flagged(trial& t) {
  t.draw_size(3 * sizeof(T) + 1);
  const i64 n = t.n;
  const u32 share = draw_share(t);
  t.set_bytes(double(n) * (sizeof(T) * (1 + share / 65536.0) + 1));
  const auto in = t.input<T>(n);
  const auto flags = t.array<bool>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(flags(0), n,
                                            [=] __device__(i64 i) { return (bits_of(u64(i)) & 65535) < share; });
  const results<T> r(t, n);
  t.own = {"pmpp", [=](int s) { pmpp::copy_flagged_into(device(), in(s), in(s) + n, flags(0), r.a, r.count_a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSelect::Flagged(storage, bytes, in(s), flags(0), r.b, r.count_b, n, stream());
  });
  t.fault = r.fault();
}
template <class T>
void unique_copy(trial& t) {
  t.draw_size(3 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(1.5 * double(n) * sizeof(T));
  const auto in = t.input<T>(n);
  const results<T> r(t, n);
  t.own = {"pmpp", [=](int s) { pmpp::unique_copy_into(device(), in(s), in(s) + n, r.a, r.count_a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSelect::Unique(storage, bytes, in(s), r.b, r.count_b, n, stream());
  });
  t.fault = r.fault();
}
/// CUB writes what is not kept to the end of the same array, in reverse; pmpp to another one.
template <class T>
void partition(trial& t) {
  t.draw_size(4 * sizeof(T));
  const i64 n = t.n;
  const keeps<T> pred{draw_share(t)};
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n);
  const results<T> r(t, n);
  T* const rest = t.array<T>(n).first;
  t.own = {
      "pmpp", [=](int s) { pmpp::partition_copy_into(device(), in(s), in(s) + n, r.a, rest, r.count_a, pred); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DevicePartition::If(storage, bytes, in(s), r.b, r.count_b, n, pred, stream());
  });
  t.fault = r.fault();
}
struct byte_at {
  const u8* text;
  u8 wanted;
  PMPP_HOST_DEVICE bool operator()(i64 i) const { return text[i] == wanted; }
};
/// Where a text has a letter.
template <class I>
void positions(trial& t) {
  t.draw_size(1 + 2 * sizeof(I));
  const i64 n = t.n;
  t.set_bytes(double(n) * (1 + sizeof(I) / 10.0));
  const auto in = t.input<u8>(n, pattern::text);
  const results<I> r(t, n);
  const u8 wanted = t.draw.one_of<u8>({' ', '\n', 'e', 'z', 'x'});
  t.own = {"pmpp",
           [=](int s) {
             const pmpp::counting_iterator<I> first(0);
             pmpp::copy_if_into(device(), first, first + n, r.a, r.count_a, byte_at{in(s), wanted});
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSelect::If(storage, bytes, thrust::make_counting_iterator<I>(0), r.b, r.count_b, n,
                                 byte_at{in(s), wanted}, stream());
  });
  t.fault = r.fault();
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("select", argc, argv,
                    {{"copy_if f32", copy_if<float>},
                     {"copy_if i32", copy_if<i32>},
                     {"copy_if u8", copy_if<u8>},
                     {"copy_if u64", copy_if<u64>},
                     {"copy_if f16", copy_if<__half>},
                     {"copy_if 16 bytes", copy_if<words<4>>},
                     {"copy_flagged f64", copy_flagged<double>},
                     {"copy_flagged u32", copy_flagged<u32>},
                     {"unique u32", unique_copy<u32>},
                     {"unique u64", unique_copy<u64>},
                     {"partition i32", partition<i32>},
                     {"partition 16 bytes", partition<words<4>>},
                     {"positions of a letter, 32 bits", positions<i32>},
                     {"positions of a letter, 64 bits", positions<i64>}});
}
