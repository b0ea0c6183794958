// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <pmpp/scan.hpp>

#include "sweep.hpp"

namespace {

using namespace sweep;

/// CUB keeps sums in the type of its operator's results.
template <class T, class A, class Out, class Op, class PeerOp>
void inclusive(trial& t) {
  t.draw_size(sizeof(T) + 2 * sizeof(Out) + 1);
  t.set_bytes(double(t.n) * (sizeof(T) + sizeof(Out)));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<Out>(n);
  Out *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::inclusive_scan(device(), static_cast<const T*>(in(s)), static_cast<const T*>(in(s)) + n, a, Op{});
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, static_cast<const T*>(in(s)), b, PeerOp{}, n, stream());
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n, is_float<Out> ? double(n) : 1); };
}
template <class T, class A, class Out, class PeerOp>
void exclusive(trial& t) {
  t.draw_size(sizeof(T) + 2 * sizeof(Out) + 1);
  t.set_bytes(double(t.n) * (sizeof(T) + sizeof(Out)));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<Out>(n);
  Out *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::exclusive_scan(device(), static_cast<const T*>(in(s)), static_cast<const T*>(in(s)) + n, a, A(7));
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::ExclusiveScan(storage, bytes, static_cast<const T*>(in(s)), b, PeerOp{}, A(7), n, stream());
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n, is_float<Out> ? double(n) : 1); };
}
/// In place; sums go on growing, which costs nothing.
template <class T>
void in_place(trial& t) {
  t.draw_size(2 * sizeof(T));
  t.set_bytes(2.0 * double(t.n) * sizeof(T));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  const auto fresh = [=](T* to) {
    return [=](int s) {
      pmpp::check(cudaMemcpyAsync(to, in(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()), "a copy");
    };
  };
  t.own = {"pmpp", [=](int) { pmpp::inclusive_scan(device(), a, a + n, a); }, fresh(a)};
  t.add_peer(
      "cub",
      [=](void* storage, std::size_t& bytes, int) {
        return cub::DeviceScan::InclusiveSum(storage, bytes, b, b, n, stream());
      },
      fresh(b));
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n); };
}
struct is_blank {
  PMPP_HOST_DEVICE u32 operator()(u8 c) const { return c == ' '; }
};
/// The number of words in front of each letter.
void numbers_of_words(trial& t) {
  t.draw_size(9);
  t.set_bytes(5.0 * double(t.n));
  const i64 n = t.n;
  const auto in = t.input<u8>(n);
  const auto [mine, theirs] = t.outputs<u32>(n);
  u32 *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             const pmpp::transform_iterator it{static_cast<const u8*>(in(s)), is_blank{}};
             pmpp::inclusive_scan(device(), it, it + n, a);
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::InclusiveSum(
        storage, bytes, thrust::make_transform_iterator(static_cast<const u8*>(in(s)), is_blank{}), b, n, stream());
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("scan", argc, argv,
                    {{"f32", inclusive<float, float, float, pmpp::plus, cuda::std::plus<>>},
                     {"f64", inclusive<double, double, double, pmpp::plus, cuda::std::plus<>>},
                     {"u32", inclusive<u32, u32, u32, pmpp::plus, cuda::std::plus<>>},
                     {"u64", inclusive<u64, u64, u64, pmpp::plus, cuda::std::plus<>>},
                     {"i16 to i32", inclusive<i16, i32, i32, pmpp::plus, add_as<i32>>},
                     {"u8 to u32", inclusive<u8, u32, u32, pmpp::plus, add_as<u32>>},
                     {"f16 to f32", inclusive<__half, float, float, pmpp::plus, add_as<float>>},
                     {"max i32", inclusive<i32, i32, i32, pmpp::maximum, pmpp::maximum>},
                     {"add 16 bytes", inclusive<words<4>, words<4>, words<4>, add_words, add_words>},
                     {"compose, 16 bytes", inclusive<affine, affine, affine, compose, compose>},
                     {"exclusive i32", exclusive<i32, i32, i32, cuda::std::plus<>>},
                     {"exclusive u8 to u64", exclusive<u8, u64, u64, cuda::std::plus<>>},
                     {"in place u32", in_place<u32>},
                     {"words of a text", numbers_of_words}});
}
