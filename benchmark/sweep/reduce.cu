// SPDX-License-Identifier: Apache-2.0
//
// Reductions of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/zip_function.h>

#include <pmpp/reduce.hpp>

#include "sweep.hpp"

namespace {

using namespace sweep;

/// Results are compared with this many terms in each.
template <class A, class Call, class Peer>
void finish(trial& t, Call own, Peer peer, double terms) {
  const auto [mine, theirs] = t.outputs<A>(1);
  A *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { own(s, a); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) { return peer(storage, bytes, s, b); });
  t.fault = [=] { return difference_of(stream(), "result", a, b, 1, terms); };
}

template <class T, class A, class Op, class PeerOp = Op>
void fold(trial& t) {
  t.draw_size(sizeof(T));
  t.set_bytes(double(t.n) * sizeof(T));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  const A init = element_of<A>(u64(1) << 63, 0);
  finish<A>(
      t, [=](int s, A* out) { pmpp::reduce_into(device(), std::as_const(in)(s), in(s) + n, out, init, Op{}); },
      [=](void* storage, std::size_t& bytes, int s, A* out) {
        return cub::DeviceReduce::Reduce(storage, bytes, in(s), out, n, PeerOp{}, init, stream());
      },
      is_float<A> ? double(n) : 1);
}
template <class T>
void least(trial& t) {
  t.draw_size(sizeof(T));
  t.set_bytes(double(t.n) * sizeof(T));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  finish<T>(
      t,
      [=](int s, T* out) {
        pmpp::reduce_into(device(), in(s), in(s) + n, out, pmpp::identity_of<pmpp::minimum, T>, pmpp::minimum{});
      },
      [=](void* storage, std::size_t& bytes, int s, T* out) {
        return cub::DeviceReduce::Min(storage, bytes, in(s), out, n, stream());
      },
      1);
}
template <class T>
void place_of_least(trial& t) {
  t.draw_size(sizeof(T));
  t.set_bytes(double(t.n) * sizeof(T));
  const i64 n = t.n;
  const auto in = t.input<T>(n);
  T* const value = t.array<T>(1).first;
  finish<i64>(
      t, [=](int s, i64* out) { pmpp::min_element_into(device(), in(s), in(s) + n, out); },
      [=](void* storage, std::size_t& bytes, int s, i64* out) {
        return cub::DeviceReduce::ArgMin(storage, bytes, in(s), value, out, n, stream());
      },
      1);
}
template <class T>
void dot(trial& t) {
  t.draw_size(2 * sizeof(T));
  t.set_bytes(2.0 * double(t.n) * sizeof(T));
  const i64 n = t.n;
  const auto x = t.input<T>(n), y = t.input<T>(n);
  finish<T>(
      t,
      [=](int s, T* out) {
        pmpp::transform_reduce_into(device(), std::span(x(s), std::size_t(n)), std::span(y(s), std::size_t(n)), out,
                                    T{}, pmpp::plus{}, pmpp::multiplies{});
      },
      [=](void* storage, std::size_t& bytes, int s, T* out) {
        return cub::DeviceReduce::TransformReduce(storage, bytes, thrust::make_zip_iterator(x(s), y(s)), out, n,
                                                  cuda::std::plus<>{},
                                                  thrust::make_zip_function(cuda::std::multiplies<>{}), T{}, stream());
      },
      double(n));
}
struct is_newline {
  PMPP_HOST_DEVICE u32 operator()(u8 c) const { return c == ' '; }
};
void count_blanks(trial& t) {
  t.draw_size(1);
  t.set_bytes(double(t.n));
  const i64 n = t.n;
  const auto in = t.input<u8>(n);
  finish<u32>(
      t,
      [=](int s, u32* out) {
        pmpp::transform_reduce_into(device(), std::span(in(s), std::size_t(n)), out, u32(0), pmpp::plus{},
                                    is_newline{});
      },
      [=](void* storage, std::size_t& bytes, int s, u32* out) {
        return cub::DeviceReduce::TransformReduce(storage, bytes, in(s), out, n, cuda::std::plus<>{}, is_newline{},
                                                  u32(0), stream());
      },
      1);
}
struct collatz {
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(bits_of(u64(i)) >> 40); }
};
void counted(trial& t) {
  t.draw_size(1);
  t.set_bytes(8);
  const i64 n = t.n;
  finish<u32>(
      t,
      [=](int, u32* out) {
        const pmpp::transform_iterator it{pmpp::counting_iterator<i64>(0), collatz{}};
        pmpp::reduce_into(device(), it, it + n, out, u32(0), pmpp::plus{});
      },
      [=](void* storage, std::size_t& bytes, int, u32* out) {
        return cub::DeviceReduce::Sum(
            storage, bytes, thrust::make_transform_iterator(thrust::make_counting_iterator<i64>(0), collatz{}), out, n,
            stream());
      },
      1);
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("reduce", argc, argv,
                    {{"sum f32", fold<float, float, pmpp::plus, cuda::std::plus<>>},
                     {"sum f64", fold<double, double, pmpp::plus, cuda::std::plus<>>},
                     {"sum f16 to f32", fold<__half, float, pmpp::plus, add_as<float>>},
                     {"sum u8 to u32", fold<u8, u32, pmpp::plus, cuda::std::plus<>>},
                     {"sum u16 to u64", fold<u16, u64, pmpp::plus, cuda::std::plus<>>},
                     {"sum u32", fold<u32, u32, pmpp::plus, cuda::std::plus<>>},
                     {"sum u64", fold<u64, u64, pmpp::plus, cuda::std::plus<>>},
                     {"min f32", least<float>},
                     {"min i16", least<i16>},
                     {"argmin f32", place_of_least<float>},
                     {"argmin i32", place_of_least<i32>},
                     {"add 12 bytes", fold<words<3>, words<3>, add_words>},
                     {"add 16 bytes", fold<words<4>, words<4>, add_words>},
                     {"join moments, 16 bytes", fold<moments, moments, join_moments>},
                     {"add 32 bytes", fold<words<8>, words<8>, add_words>},
                     {"own xor u32", fold<u32, u32, xor_bits>},
                     {"dot f32", dot<float>},
                     {"count blanks u8", count_blanks},
                     {"sum of a function of indices", counted}});
}
