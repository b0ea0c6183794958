// SPDX-License-Identifier: Apache-2.0
//
// A block's cluster on the CPU: what simt/cluster.hpp promises, and what the emulator reports of kernels that break its rule.
//
//   - sync() and arrive() that not all threads of the cluster reach, sync() at different places, arrive() without wait();
//   - map_shared() of a rank that the cluster does not have, of a pointer that is not to shared memory, before a first sync(),
//     and of a block that has ended; a block that ends before a sync() after it was mapped;
//   - with ThreadSanitizer, accesses that no barrier orders, also those that come after the end of the block they reach into;
//     with AddressSanitizer such as come later in fact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/emulator.hpp>

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

namespace detail {

/// Thread t arrives in the barrier of its cluster; `syncs`: it will wait at once.
inline void arrive_in_cluster(const thread_ref& t, bool syncs, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  cluster_record& c = *b.cluster;
  if (b.owner->stop_if_failed()) return;
  b.owner->check_shared(t, &at);
  thread_record& r = t.record();
  const auto call = [&] { return (syncs ? "calls cluster.sync at " : "calls cluster.arrive at ") + to_text(at); };
  if (r.has_arrived) [[unlikely]]
    report(t, call() + ", but has not waited since it arrived at " + to_text(r.arrived_at));
  if (c.left) [[unlikely]]
    report(t, call() + ", but not all threads of the cluster can come: " + who_waits_in_cluster(c));
  if (syncs && c.syncs && !same_place(c.synced_at, at)) [[unlikely]]
    report(t, call() + ", but others wait in another one: " + who_waits_in_cluster(c));
  if (syncs) c.synced_at = at;
  c.syncs = c.syncs || syncs;
  sanitizer::release(&c.barrier_clock[c.barriers & 1u]);
  r.has_arrived = true;
  r.arrived_at = at;
  r.arrived_in = c.barriers;
  if (++c.arrived < c.threads) return;
  for (std::size_t rank = 0; rank < c.blocks.size(); ++rank) {
    block_record& of_cluster = *c.blocks[rank];
    for (int w = 0; w < of_cluster.warps; ++w)
      if (const lane_mask waiting = std::exchange(of_cluster.warp[w].in_cluster, 0)) of_cluster.make_ready(w, waiting);
    c.mapped[rank] = {};
  }
  c.arrived = 0;
  c.syncs = false;
  ++c.barriers;
  b.owner->made_progress();
}

/// Thread t waits until all threads of its cluster have arrived.
inline void wait_for_cluster(const thread_ref& t, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  cluster_record& c = *b.cluster;
  if (b.owner->stop_if_failed()) return;
  thread_record& r = t.record();
  if (!r.has_arrived) [[unlikely]]
    report(t, "calls cluster.wait at " + to_text(at) + ", but has not arrived");
  r.waits_in = operation::cluster_sync;
  r.at = at;
  const int w = t.thread / warp_size;
  const lane_mask bit = lane_mask(1) << t.thread % warp_size;
  if (r.arrived_in == c.barriers)
    b.warp[w].in_cluster |= bit;
  else
    b.make_ready(w, bit);  // all have arrived: it only gives way to others
  b.owner->suspend(t);
  sanitizer::acquire(&c.barrier_clock[r.arrived_in & 1u]);
  r.has_arrived = false;
  r.waits_in = operation::nothing;
}

/// Where p, which points into the shared memory of t's block, lies in that of the block of this rank.
inline const void* map_shared(const thread_ref& t, const void* p, int rank, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  cluster_record& c = *b.cluster;
  if (b.owner->stop_if_failed()) return p;
  const auto call = [&] {
    return "calls cluster.map_shared for rank " + std::to_string(rank) + " at " + to_text(at) + ", but ";
  };
  if (rank < 0 || std::size_t(rank) >= c.blocks.size()) [[unlikely]]
    report(t, call() + "the cluster has " + std::to_string(c.blocks.size()) + " blocks");
  const shared_layout& l = b.launch->layout;
  const auto offset = static_cast<const std::byte*>(p) - b.memory;
  const auto end = std::ptrdiff_t(l.dynamic_offset + l.dynamic_bytes);
  if (offset < std::ptrdiff_t(l.static_offset) || offset > end) [[unlikely]]
    report(t, call() + "the pointer does not lead into the block's shared memory");
  if (rank == b.cluster_rank) return p;
  const block_record& there = *c.blocks[std::size_t(rank)];
  if (c.barriers == 0) [[unlikely]]
    report(t, call() + "before a first cluster.sync(): that block may not have begun");
  if (there.live == 0) [[unlikely]]
    report(t,
           call() + "that block has ended, and its shared memory with it: a cluster.sync() must lie between the two");
  c.mapped[std::size_t(rank)] = {&b, t.thread, at};
  return there.memory + offset;
}

}  // namespace detail

/// One thread's handle on its cluster, in the emulator. Meaning of each method: simt/cluster.hpp.
class emulated_cluster {
  using place = std::source_location;

public:
  PMPP_HOST_DEVICE explicit emulated_cluster(const detail::thread_ref& self) : self_(self) {}

  PMPP_HOST_DEVICE int rank() const { return self_.block->cluster_rank; }
  PMPP_HOST_DEVICE int size() const { return self_.block->cluster->threads / self_.block->threads; }
  PMPP_HOST_DEVICE std::int64_t index() const { return self_.block->cluster->index; }
  PMPP_HOST_DEVICE std::int64_t count() const { return self_.block->cluster->count; }

  PMPP_HOST_DEVICE void sync(place at = place::current()) const {
    arrive(true, at);
    wait(at);
  }
  PMPP_HOST_DEVICE void arrive(place at = place::current()) const { arrive(false, at); }
  PMPP_HOST_DEVICE void wait([[maybe_unused]] place at = place::current()) const {
#if !defined(__CUDA_ARCH__)
    detail::wait_for_cluster(self_, at);
#endif
  }
  template <class T>
  PMPP_HOST_DEVICE T* map_shared(T* p, [[maybe_unused]] int rank, [[maybe_unused]] place at = place::current()) const {
#if !defined(__CUDA_ARCH__)
    return static_cast<T*>(const_cast<void*>(detail::map_shared(self_, p, rank, at)));
#else
    return p;
#endif
  }

private:
  PMPP_HOST_DEVICE void arrive([[maybe_unused]] bool syncs, [[maybe_unused]] const place& at) const {
#if !defined(__CUDA_ARCH__)
    detail::arrive_in_cluster(self_, syncs, at);
#endif
  }

  detail::thread_ref self_;
};

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
