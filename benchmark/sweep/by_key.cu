// SPDX-License-Identifier: Apache-2.0
//
// By key, in a sweep: exclusive_scan_by_key beside CUB's, the four set operations by key beside Thrust's. More by key: move.cu, runs.cu.
#include <cub/device/device_scan.cuh>
#include <thrust/set_operations.h>

#include <pmpp/by_key.hpp>
#include <pmpp/sets.hpp>

#include "sweep.hpp"
#include "thrust_policy.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace {

using namespace sweep;

template <class K, class V>
void scanned_by_key(trial& t) {
  t.draw_size(sizeof(K) + 3 * sizeof(V));
  const i64 n = t.n;
  t.set_bytes(double(n) * (sizeof(K) + 2 * sizeof(V)));
  const auto keys = t.input<K>(n, t.draw.one_of({pattern::runs, pattern::runs, pattern::sorted, pattern::few_values}));
  const auto values = t.input<V>(n, pattern::random);
  const auto [mine, theirs] = t.outputs<V>(n);
  V *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { pmpp::exclusive_scan_by_key(device(), keys(s), keys(s) + n, values(s), a, V(0)); }, {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::ExclusiveSumByKey(storage, bytes, keys(s), values(s), b, n, cuda::std::equal_to<>{},
                                              stream());
  });
  t.fault = [=] { return difference_of(stream(), "sums", a, b, n, is_float<V> ? double(n) : 1); };
}

enum class operation { unite, intersect, subtract, differ };

template <operation Of>
u32* by_pmpp(const u32* a, const u32* va, i64 n, const u32* b, const u32* vb, i64 m, u32* keys, u32* values) {
  const std::span<const u32> ka(a, std::size_t(n)), xa(va, std::size_t(n)), kb(b, std::size_t(m)),
      xb(vb, std::size_t(m));
  if constexpr (Of == operation::unite)
    return pmpp::set_union_by_key(device(), ka, xa, kb, xb, keys, values).first;
  else if constexpr (Of == operation::intersect)
    return pmpp::set_intersection_by_key(device(), ka, xa, kb, xb, keys, values).first;
  else if constexpr (Of == operation::subtract)
    return pmpp::set_difference_by_key(device(), ka, xa, kb, xb, keys, values).first;
  else
    return pmpp::set_symmetric_difference_by_key(device(), ka, xa, kb, xb, keys, values).first;
}
template <operation Of, class P>
u32* by_thrust(const P& on, const u32* a, const u32* va, i64 n, const u32* b, const u32* vb, i64 m, u32* keys,
               u32* values) {
  if constexpr (Of == operation::unite)
    return thrust::set_union_by_key(on, a, a + n, b, b + m, va, vb, keys, values).first;
  else if constexpr (Of == operation::intersect)
    return thrust::set_intersection_by_key(on, a, a + n, b, b + m, va, keys, values).first;
  else if constexpr (Of == operation::subtract)
    return thrust::set_difference_by_key(on, a, a + n, b, b + m, va, vb, keys, values).first;
  else
    return thrust::set_symmetric_difference_by_key(on, a, a + n, b, b + m, va, vb, keys, values).first;
}
template <operation Of>
void sets_by_key(trial& t) {
  t.draw_size(20, 100'000'000);
  const double share = t.draw.one_of({0.5, 0.5, t.draw.unit(), 1.0 / 64});
  const i64 n = std::max<i64>(1, i64(double(t.n) * share)), m = std::max<i64>(1, t.n - n);
  const i64 same = t.draw.chance(0.3) ? t.draw.log_uniform(2, 1000) : 1;
  // The same seed: what both have in common is much; another: little.
  const u64 seed = t.draw.chance(0.7) && n == m ? 9 : 11;
  t.add(" " + std::to_string(n) + " and " + std::to_string(m) + " repeats " + std::to_string(same) +
        (seed == 9 ? " alike" : ""));
  t.set_bytes(12.0 * double(n + m));
  const u32* const a = t.computed<u32>(n, rising<u32>{n, same, 9});
  const u32* const b = t.computed<u32>(m, rising<u32>{m, same, seed});
  const auto values_a = t.input<u32>(n, pattern::random), values_b = t.input<u32>(m, pattern::random);
  const auto [keys_mine, keys_theirs] = t.outputs<u32>(n + m);
  const auto [mine, theirs] = t.outputs<u32>(n + m);
  u32 *const ka = keys_mine, *const kb = keys_theirs, *const va = mine, *const vb = theirs;
  const auto found = std::make_shared<returned>();
  t.own = {"pmpp", [=](int s) { found->own = by_pmpp<Of>(a, values_a(s), n, b, values_b(s), m, ka, va) - ka; }, {}};
  const auto policy = thrust_policy(t, 16 * t.n + (i64(1) << 22));
  t.peers.push_back(
      {"thrust",
       [=](int s) { found->peer = by_thrust<Of>(policy(), a, values_a(s), n, b, values_b(s), m, kb, vb) - kb; },
       {}});
  t.fault = [=] {
    std::string text = found->difference();
    if (text.empty()) text = difference_of(stream(), "keys", ka, kb, found->own);
    return text.empty() ? difference_of(stream(), "values", va, vb, found->own) : text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("by_key", argc, argv,
                    {{"exclusive_scan_by_key u32, f32", scanned_by_key<u32, float>},
                     {"exclusive_scan_by_key u64, u32", scanned_by_key<u64, u32>},
                     {"set_union_by_key u32, u32", sets_by_key<operation::unite>},
                     {"set_intersection_by_key u32, u32", sets_by_key<operation::intersect>},
                     {"set_difference_by_key u32, u32", sets_by_key<operation::subtract>},
                     {"set_symmetric_difference_by_key u32, u32", sets_by_key<operation::differ>}});
}
