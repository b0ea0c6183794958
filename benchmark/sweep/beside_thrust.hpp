// SPDX-License-Identifier: Apache-2.0
//
// Cases of a sweep that look alike: what a call returns, what it writes and what it changes, beside a call of Thrust's.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include <pmpp/memory/copy.hpp>

#include "sweep.hpp"
#include "thrust_policy.hpp"

namespace sweep {

struct is_odd {
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x % 2 != 0; }
};
/// Rising numbers, in which one falls.
struct rising_but_one {
  i64 fall;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return i == fall ? 0 : u32(i) + 1; }
};
/// Small numbers, none of which is 1 but one.
template <class T>
struct all_but_one {
  i64 place;
  PMPP_HOST_DEVICE T operator()(i64 i) const { return T(i == place ? 1 : 2 + i % 50); }
};

/// What both return is compared: own(slot), peer(policy, slot). \return where both leave it, for further peers
template <class Own, class Peer>
std::shared_ptr<returned> ask(trial& t, Own own, Peer peer) {
  const auto found = std::make_shared<returned>();
  t.own = {"pmpp", [=](int s) { found->own = i64(own(s)); }, {}};
  const auto policy = thrust_policy(t, 2 * t.n);
  t.peers.push_back({"thrust", [=](int s) { found->peer = i64(peer(policy(), s)); }, {}});
  t.fault = [=] { return found->difference(); };
  return found;
}
/// A peer in CUB's manner that leaves an index at `place`, on the device: call(storage, bytes, slot, place). It is copied to the host, so
/// that this call waits as the others do, and `tell` makes the answer of it.
template <class F, class Tell>
void add_asking_peer(trial& t, const std::shared_ptr<returned>& found, F call, Tell tell) {
  i64* const place = t.array_at<i64>(1, 1, 0).first;
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    const cudaError_t status = call(storage, bytes, s, place);
    if (storage != nullptr && status == cudaSuccess) {
      i64 index = -1;
      pmpp::copy(stream(), std::span<const i64>(place, 1), std::span<i64>(&index, 1));
      pmpp::synchronize(stream());
      found->peer = i64(tell(index));
    }
    return status;
  });
}

/// What both write is compared: own(slot, output), peer(policy, slot, output).
template <class T, class Own, class Peer>
void write(trial& t, i64 n, Own own, Peer peer) {
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp", [=](int s) { own(s, a); }, {}};
  const auto policy = thrust_policy(t, 16 * t.n);
  t.peers.push_back({"thrust", [=](int s) { peer(policy(), s, b); }, {}});
  t.fault = [=] { return difference_of(stream(), "elements", a, b, n); };
}
/// The same in place: each call gets a copy of the slot's data. \return pmpp's array and Thrust's
template <class T, class Own, class Peer>
std::pair<T*, T*> change(trial& t, i64 n, const slots<T>& in, Own own, Peer peer) {
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  const auto copied_to = [=](T* to) {
    return [=](int s) {
      pmpp::check(cudaMemcpyAsync(to, in(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
                  "cudaMemcpyAsync");
    };
  };
  t.back_to_back = false;
  t.own = {"pmpp", [=](int) { own(a); }, copied_to(a)};
  const auto policy = thrust_policy(t, 16 * t.n);
  t.peers.push_back({"thrust", [=](int) { peer(policy(), b); }, copied_to(b)});
  t.fault = [=] { return difference_of(stream(), "elements", a, b, n); };
  return {a, b};
}

}  // namespace sweep
