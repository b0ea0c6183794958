// SPDX-License-Identifier: Apache-2.0
//
// Searches and sets in a sweep: lower_bound of many values, find, mismatch and the four set operations, beside Thrust's, and CUB's
// DeviceFind where its CCCL has it (3.3; -DPMPP_CCCL_DIR=). Thrust's scratch memory is there beforehand, as CUB's is.
#include <cub/version.cuh>
#include <thrust/binary_search.h>
#include <thrust/find.h>
#include <thrust/mismatch.h>
#include <thrust/set_operations.h>
#if __has_include(<cub/device/device_find.cuh>)
#include <cub/device/device_find.cuh>
#endif

#include <pmpp/find.hpp>
#include <pmpp/search.hpp>
#include <pmpp/sets.hpp>

#include "beside_thrust.hpp"
#include "sweep.hpp"

#include <memory>
#include <string>

namespace {

using namespace sweep;

template <class T>
void bounds(trial& t) {
  t.draw_size(sizeof(T) + 8, 100'000'000);
  const i64 n = t.n, m = t.draw.log_uniform(1, 200'000'000),
            same = t.draw.chance(0.3) ? t.draw.log_uniform(2, 1000) : 1;
  t.add(" values in " + std::to_string(m) + " elements");
  t.set_bytes(double(n) * (sizeof(T) + 4) + double(std::min(n, m)) * sizeof(T));
  const auto values = t.input<T>(n);
  const T* const in = t.computed<T>(m, rising<T>{m, same, 9});
  const auto [mine, theirs] = t.outputs<u32>(n);
  u32 *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::lower_bound(device(), in, in + m, values(s), values(s) + n, a); }, {}};
  const auto policy = thrust_policy(t, n * 16);
  t.peers.push_back(
      {"thrust", [=](int s) { thrust::lower_bound(policy(), in, in + m, values(s), values(s) + n, b); }, {}});
#if __has_include(<cub/device/device_find.cuh>)
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceFind::LowerBound(storage, bytes, in, m, values(s), n, b, cuda::std::less<>{}, stream());
  });
#endif
  t.fault = [=] { return difference_of(stream(), "places", a, b, n); };
}

template <class T>
void find_first(trial& t) {
  t.draw_size(sizeof(T));
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" at " + std::to_string(place));
  t.set_bytes(double(place) * sizeof(T));
  const auto in = t.array<T>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0), n, all_but_one<T>{place});
  const auto found = std::make_shared<returned>();
  t.own = {"pmpp", [=](int s) { found->own = pmpp::find(device(), in(s), in(s) + n, T(1)) - in(s); }, {}};
  const auto policy = thrust_policy(t, n / 2);
  t.peers.push_back(
      {"thrust", [=](int s) { found->peer = thrust::find(policy(), in(s), in(s) + n, T(1)) - in(s); }, {}});
  t.fault = [=] { return found->difference(); };
}

template <class T>
void first_difference(trial& t) {
  t.draw_size(2 * sizeof(T));
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" at " + std::to_string(place));
  t.set_bytes(2.0 * double(place) * sizeof(T));
  const auto x = t.array<T>(n), y = t.array<T>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(x(0), n, all_but_one<T>{place});
  fill_by_index<<<1024, 256, 0, stream()>>>(y(0), n, all_but_one<T>{n});
  const auto found = std::make_shared<returned>();
  t.own = {
      "pmpp", [=](int s) { found->own = pmpp::mismatch(device(), x(s), x(s) + n, y(s), y(s) + n).first - x(s); }, {}};
  const auto policy = thrust_policy(t, n / 2);
  t.peers.push_back(
      {"thrust", [=](int s) { found->peer = thrust::mismatch(policy(), x(s), x(s) + n, y(s)).first - x(s); }, {}});
  t.fault = [=] { return found->difference(); };
}

enum class operation { unite, intersect, subtract, differ };

template <operation Of, class T>
T* by_pmpp(const T* a, i64 n, const T* b, i64 m, T* out) {
  if constexpr (Of == operation::unite) return pmpp::set_union(device(), a, a + n, b, b + m, out);
  if constexpr (Of == operation::intersect) return pmpp::set_intersection(device(), a, a + n, b, b + m, out);
  if constexpr (Of == operation::subtract) return pmpp::set_difference(device(), a, a + n, b, b + m, out);
  if constexpr (Of == operation::differ) return pmpp::set_symmetric_difference(device(), a, a + n, b, b + m, out);
}
template <operation Of, class P, class T>
T* by_thrust(const P& policy, const T* a, i64 n, const T* b, i64 m, T* out) {
  if constexpr (Of == operation::unite) return thrust::set_union(policy, a, a + n, b, b + m, out);
  if constexpr (Of == operation::intersect) return thrust::set_intersection(policy, a, a + n, b, b + m, out);
  if constexpr (Of == operation::subtract) return thrust::set_difference(policy, a, a + n, b, b + m, out);
  if constexpr (Of == operation::differ) return thrust::set_symmetric_difference(policy, a, a + n, b, b + m, out);
}

template <operation Of, class T>
void sets(trial& t) {
  t.draw_size(4 * sizeof(T), 200'000'000);
  const double share = t.draw.one_of({0.5, 0.5, t.draw.unit(), 1.0 / 64});
  const i64 n = i64(double(t.n) * share), m = t.n - n;
  const i64 same = t.draw.chance(0.3) ? t.draw.log_uniform(2, 1000) : 1;
  // The same seed: what both have in common is much; another: nothing, for wide types.
  const u64 seed = t.draw.chance(0.7) && n == m ? 9 : 11;
  t.add(" " + std::to_string(n) + " and " + std::to_string(m) + " repeats " + std::to_string(same) +
        (seed == 9 ? " alike" : ""));
  t.set_bytes(double(t.n) * 1.5 * sizeof(T));
  const auto x = t.array<T>(n), y = t.array<T>(m);
  if (n > 0) fill_by_index<<<1024, 256, 0, stream()>>>(x(0), n, rising<T>{n, same, 9});
  if (m > 0) fill_by_index<<<1024, 256, 0, stream()>>>(y(0), m, rising<T>{m, same, seed});
  const auto [mine, theirs] = t.outputs<T>(t.n);
  T *const a = mine, *const b = theirs;
  const auto found = std::make_shared<returned>();
  t.own = {"pmpp", [=](int s) { found->own = by_pmpp<Of>(x(s), n, y(s), m, a) - a; }, {}};
  const auto policy = thrust_policy(t, t.n + (i64(1) << 22));
  t.peers.push_back({"thrust", [=](int s) { found->peer = by_thrust<Of>(policy(), x(s), n, y(s), m, b) - b; }, {}});
  t.fault = [=] {
    const std::string text = found->difference();
    return text.empty() ? difference_of(stream(), "elements", a, b, found->own) : text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("search", argc, argv,
                    {{"lower_bound u32", bounds<u32>},
                     {"lower_bound u64", bounds<u64>},
                     {"lower_bound f32", bounds<float>},
                     {"find u8", find_first<u8>},
                     {"find f32", find_first<float>},
                     {"mismatch u32", first_difference<u32>},
                     {"set_union u32", sets<operation::unite, u32>},
                     {"set_intersection u64", sets<operation::intersect, u64>},
                     {"set_difference u32", sets<operation::subtract, u32>},
                     {"set_symmetric_difference i32", sets<operation::differ, i32>}});
}
