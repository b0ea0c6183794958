// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <pmpp/scan.hpp>

#include "sweep.hpp"

namespace {

using namespace sweep;

/// Elements of T to sums of type Out: own(in, n, out) and, as CUB is called, peer(storage, bytes, in, n, out). `room`: bytes of memory
/// an element.
template <class T, class Out, class Own, class Peer>
void beside_cub(trial& t, std::size_t room, Own own, Peer peer) {
  t.draw_size(room);
  t.set_bytes(double(t.n) * (sizeof(T) + sizeof(Out)));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<Out>(n);
  Out *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { own(static_cast<const T*>(in(s)), n, a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return peer(storage, bytes, static_cast<const T*>(in(s)), n, b);
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n, is_float<Out> ? double(n) : 1); };
}

/// CUB keeps sums in the type of its operator's results.
template <class T, class Out, class Op, class PeerOp>
void inclusive(trial& t) {
  beside_cub<T, Out>(
      t, sizeof(T) + 2 * sizeof(Out) + 1,
      [](const T* in, i64 n, Out* out) { pmpp::inclusive_scan(device(), in, in + n, out, Op{}); },
      [](void* storage, std::size_t& bytes, const T* in, i64 n, Out* out) {
        return cub::DeviceScan::InclusiveScan(storage, bytes, in, out, PeerOp{}, n, stream());
      });
}
template <class T, class A, class Out, class PeerOp>
void exclusive(trial& t) {
  beside_cub<T, Out>(
      t, sizeof(T) + 2 * sizeof(Out) + 1,
      [](const T* in, i64 n, Out* out) { pmpp::exclusive_scan(device(), in, in + n, out, A(7)); },
      [](void* storage, std::size_t& bytes, const T* in, i64 n, Out* out) {
        return cub::DeviceScan::ExclusiveScan(storage, bytes, in, out, PeerOp{}, A(7), n, stream());
      });
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
  beside_cub<u8, u32>(
      t, 9,
      [](const u8* in, i64 n, u32* out) {
        const pmpp::transform_iterator it{in, is_blank{}};
        pmpp::inclusive_scan(device(), it, it + n, out);
      },
      [](void* storage, std::size_t& bytes, const u8* in, i64 n, u32* out) {
        return cub::DeviceScan::InclusiveSum(storage, bytes, thrust::make_transform_iterator(in, is_blank{}), out, n,
                                             stream());
      });
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("scan", argc, argv,
                    {{"f32", inclusive<float, float, pmpp::plus, cuda::std::plus<>>},
                     {"f64", inclusive<double, double, pmpp::plus, cuda::std::plus<>>},
                     {"u32", inclusive<u32, u32, pmpp::plus, cuda::std::plus<>>},
                     {"u64", inclusive<u64, u64, pmpp::plus, cuda::std::plus<>>},
                     {"i16 to i32", inclusive<i16, i32, pmpp::plus, add_as<i32>>},
                     {"u8 to u32", inclusive<u8, u32, pmpp::plus, add_as<u32>>},
                     {"f16 to f32", inclusive<__half, float, pmpp::plus, add_as<float>>},
                     {"max i32", inclusive<i32, i32, pmpp::maximum, pmpp::maximum>},
                     {"add 16 bytes", inclusive<words<4>, words<4>, add_words, add_words>},
                     {"compose, 16 bytes", inclusive<affine, affine, compose, compose>},
                     {"exclusive i32", exclusive<i32, i32, i32, cuda::std::plus<>>},
                     {"exclusive u8 to u64", exclusive<u8, u64, u64, cuda::std::plus<>>},
                     {"in place u32", in_place<u32>},
                     {"words of a text", numbers_of_words}});
}
