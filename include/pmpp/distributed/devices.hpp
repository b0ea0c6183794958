// SPDX-License-Identifier: Apache-2.0
//
// devices: the GPUs that work together, as the first argument of an algorithm.
//
//   pmpp::devices gpus;                              all GPUs that this process sees
//   pmpp::devices gpus{0, 1};                        these
//   pmpp::devices gpus{link};                        one rank here, the current GPU; the others are where `link` says: MPI, NCCL
//   pmpp::devices cores{pmpp::host, link};           one rank here, the cores of this machine
//   pmpp::emulated_devices gpus{8};                  eight GPUs on a laptop
//   auto gpus = pmpp::ranks_on_one_device(4);        four ranks that share the current GPU: to try a program out
//   gpus.same_bits()                                 these, for sums with the same bits for any number of ranks: reduce, scans
//
// One process with p GPUs and p processes with one GPU each run the same text. A process drives its ranks from one thread: an
// algorithm is a sequence of local phases (for each rank here: enqueue) and of exchanges (all ranks here at once, in one group of
// their communicators). So no call waits for another one of the same thread.
//
// Each rank has a stream, a workspace and blocks of memory (rank_memory.hpp) of its own, which stay: a call that is repeated allocates
// nothing. gpus.trim() gives back what is idle. Calls enqueue on these streams, and wait for them where they return values to
// the host; gpus.synchronize() waits for all. gpus.each lets a program enqueue work of its own, gpus.together exchange; gpus.beside
// does both at once, the exchange on a second stream of each rank. devices is a handle: copies name the same GPUs. One thread at a
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/local_communicator.hpp>
#include <pmpp/distributed/rank_memory.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/trim.hpp>
#include <pmpp/memory/workspace.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a buffer knows of its devices: which ranks there are, and where those of this process keep their memory.
class rank_group {
public:
  static constexpr int on_host = rank_memory::on_host;
  struct place {
    int rank;
    int device;  ///< on_host: memory of the host
    stream_handle stream;
    rank_memory* memory;  ///< lives as long as the group
  };

  virtual ~rank_group() = default;
  /// \throws communication_error if some of these bytes are being received
  virtual void check_finished(const void* first, std::size_t bytes) const = 0;

  int size = 0;               ///< ranks in all
  bool reads_all = false;     ///< all ranks are here, and each reads the memory of all others that pmpp has allocated
  std::vector<place> places;  ///< of the ranks of this process

protected:
  rank_group() = default;
};

/// The ranks of this process: what they run with, and how they reach the others.
template <class P, class C>
class driven_ranks final : public rank_group {
public:
  /// \param devices  the GPU of each link, where P runs on GPUs
  driven_ranks(const P& where, std::vector<C> ends, const std::vector<int>& devices)
      : scratch(ends.size()), links(std::move(ends)) {
    size = links.front().size();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const int device = gpu_execution<P> ? devices[i] : on_host;
      P mine = where;
      if constexpr (gpu_execution<P>) {
        [[maybe_unused]] const device_guard guard(device);
        streams.emplace_back();
        side_streams.emplace_back();
        points.emplace_back();
        mine = mine.on(streams.back());
      }
      if constexpr (kernel_execution<P>) {
        mine = mine.with(scratch[i]);
        memories.push_back(std::make_unique<rank_memory>(device, mine.stream));
        places.push_back({links[i].rank(), device, mine.stream, memories.back().get()});
      } else {
        memories.push_back(std::make_unique<rank_memory>(device, nullptr));
        places.push_back({links[i].rank(), device, nullptr, memories.back().get()});
      }
      policies.push_back(mine);
    }
  }

  void check_finished(const void* first, std::size_t bytes) const override {
    if constexpr (!gpu_execution<P> && requires(const C& link) { link.check_finished(first, bytes); })
      links.front().check_finished(first, bytes);
  }

  std::vector<workspace> scratch;
  std::vector<C> links;
  std::vector<stream> streams;       // none where nothing is enqueued
  std::vector<stream> side_streams;  // for exchanges beside work
  std::vector<event> points;         // where one of them waits for the other
  std::vector<std::unique_ptr<rank_memory>> memories;
  std::vector<P> policies;
};

/// A guard that makes the GPU of a rank the current one.
struct rank_guard {
#if PMPP_CUDA
  explicit rank_guard(int device) : guard(device == rank_group::on_host ? current_or_none() : device) {}
  static int current_or_none() {
    int id = 0;
    if (cudaGetDevice(&id) != cudaSuccess) cudaGetLastError();
    return id;
  }
  device_guard guard;
#else
  explicit rank_guard(int) {}
#endif
};

inline std::vector<int> visible_devices() {
  int count = 1;
#if PMPP_CUDA
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
#endif
  std::vector<int> ids;
  for (int id = 0; id < count; ++id) ids.push_back(id);
  return ids;
}

/// Each of them exists, and once only.
inline void check_devices(const std::vector<int>& ids) {
  const auto count = static_cast<int>(visible_devices().size());
  require(!ids.empty(), [] { return "pmpp::devices: the list of devices is empty"; });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require(ids[i] >= 0 && ids[i] < count,
            [&] { return "pmpp::devices: device " + text::of(ids[i]) + " is listed, there are " + text::of(count); });
    for (std::size_t j = 0; j < i; ++j)
      require(ids[i] != ids[j], [&] {
        return "pmpp::devices: device " + text::of(ids[i]) +
               " is listed twice; pmpp::ranks_on_one_device(count) is for ranks that share a GPU";
      });
  }
}

/// Lets GPUs that can read each other's memory do so: their own, and that of pmpp's pools. \return whether all can
inline bool connect_devices([[maybe_unused]] const std::vector<int>& ids) {
  bool all = true;
#if PMPP_CUDA
  for (const int here : ids)
    for (const int there : ids) {
      int can = 0;
      if (here != there) check(cudaDeviceCanAccessPeer(&can, here, there), "cudaDeviceCanAccessPeer");
      all = all && (can != 0 || here == there);
      if (can == 0) continue;
      const device_guard guard(here);
      const cudaError_t status = cudaDeviceEnablePeerAccess(there, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        check(status, "cudaDeviceEnablePeerAccess");
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = here;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      check(cudaMemPoolSetAccess(memory_pool(there), &access, 1), "cudaMemPoolSetAccess");
    }
#endif
  return all;
}

using current_communicator = local_communicator<PMPP_CUDA ? backend::gpu : backend::emulator>;

}  // namespace detail

template <execution_policy P = device_policy, communicator C = detail::current_communicator>
class devices;

/// The ranks of a devices, for calls that group elements by their index in the whole alone: the results are the same bits for any number
/// of ranks and any blocks. Calls that make no such promise do not take it. Made by devices::same_bits.
template <execution_policy P, communicator C>
struct same_bits_devices {
  devices<P, C> gpus;
};

/// GPUs, or what stands for them, that work together; see above.
///
/// \tparam P  the policy that each rank runs with
/// \tparam C  the communicator of each rank
template <execution_policy P, communicator C>
class devices {
public:
  /// All GPUs that this process sees; without CUDA one emulated. \throws cuda_error
  devices() : devices(detail::visible_devices()) {}
  /// These GPUs of this process. \throws std::invalid_argument if one is listed twice, or is none; cuda_error
  devices(std::initializer_list<int> ids) : devices(std::vector<int>(ids)) {}
  explicit devices(const std::vector<int>& ids) requires(std::is_same_v<C, detail::current_communicator>) {
    detail::check_devices(ids);
    const bool connected = detail::connect_devices(ids);
    ranks_ = std::make_shared<detail::driven_ranks<P, C>>(P{}, C::all(ids), ids);
    ranks_->reads_all = connected;
  }

  /// One rank in this process, on the current GPU, and those that `link` reaches.
  explicit devices(C link) : devices(P{}, std::move(link)) {}
  /// The same, that runs with `where`: pmpp::host is the cores of this machine.
  devices(const P& where, C link)
      : devices(where, std::vector<C>{std::move(link)},
                {gpu_execution<P> ? detail::current_device() : detail::rank_group::on_host}) {}
  /// Several ranks in this process: links[i] on GPU ids[i], which reach each other's memory where they can. Not checked for GPUs that are
  /// listed twice.
  devices(const P& where, std::vector<C> links, const std::vector<int>& ids) {
    require(!links.empty() && (links.size() == ids.size() || !gpu_execution<P>), [&] {
      return "pmpp::devices: " + detail::text::of(links.size()) + " communicators and " + detail::text::of(ids.size()) +
             " devices";
    });
    ranks_ = std::make_shared<detail::driven_ranks<P, C>>(where, std::move(links), ids);
    ranks_->reads_all = all_here() && (!gpu_execution<P> || detail::connect_devices(ids));
  }

  /// Ranks in all.
  int size() const { return ranks_->size; }
  /// Ranks that this process drives, numbered 0 to local_size() - 1 here.
  int local_size() const { return static_cast<int>(ranks_->places.size()); }
  /// The rank that has number i here.
  int rank(int i) const { return ranks_->places[std::size_t(i)].rank; }
  /// Whether this process drives every rank.
  bool all_here() const { return local_size() == size(); }

  /// f(i, where) for each rank of this process, with its GPU as the current one and `where` as its policy.
  template <class F>
  void each(F f) const {
    for (int i = 0; i < local_size(); ++i) {
      const detail::rank_guard guard(ranks_->places[std::size_t(i)].device);
      f(i, std::as_const(ranks_->policies[std::size_t(i)]));
    }
  }

  /// f(i, link, stream) for each rank of this process, in one group: sends and receives of all of them happen together, in the
  /// order of the streams. \throws communication_error
  template <class F>
  void together(F f) const {
    open_group group(ranks_->links);
    post(f, ranks_->streams);
    group.end();
  }

  /// An exchange beside work: exchange(i, link, stream) as in together, and work(i, where) as in each, neither of which waits for
  /// the other. Both come after what was enqueued before, and what is enqueued later comes after both.
  ///
  /// \pre work neither reads what is received nor writes what is sent, and does not exchange. In the emulator bytes move after the
  /// work: what it reads too early is 0xCD, and distributed_buffer::part throws. \throws communication_error
  template <class F, class W>
  void beside(F exchange, W work) const {
    wait_for(ranks_->side_streams, ranks_->streams);
    open_group group(ranks_->links);
    post(exchange, ranks_->side_streams);
    if constexpr (!ends_after_work()) group.end();
    try {
      each(work);
    } catch (...) {  // memory may be given back before bytes have arrived in it
      group.leave();
      wait_for(ranks_->streams, ranks_->side_streams);
      throw;
    }
    if constexpr (ends_after_work()) group.end();
    wait_for(ranks_->streams, ranks_->side_streams);
  }

  /// What each rank of this process enqueues from here on comes after what all of them have enqueued.
  void join() const {
    for (std::size_t i = 0; i < ranks_->streams.size(); ++i) {
      [[maybe_unused]] const detail::rank_guard guard(ranks_->places[i].device);
      ranks_->points[i].record(ranks_->streams[i]);
    }
    for (std::size_t i = 0; i < ranks_->streams.size(); ++i)
      for (std::size_t j = 0; j < ranks_->streams.size(); ++j)
        if (i != j) ranks_->streams[i].wait(ranks_->points[j]);
  }

  /// Waits for all work of rank number i here. A communicator that knows of failures (NCCL's) is asked meanwhile.
  /// \throws cuda_error; communication_error
  void synchronize(int i) const {
    if constexpr (gpu_execution<P>) {
#if PMPP_CUDA
      const stream_handle s = ranks_->places[std::size_t(i)].stream;
      C& link = ranks_->links[std::size_t(i)];
      if constexpr (requires { link.check_alive(0.0); }) {
        const auto start = std::chrono::steady_clock::now();
        for (;;) {
          const cudaError_t status = cudaStreamQuery(s);
          if (status == cudaSuccess) return;
          if (status != cudaErrorNotReady) check(status, "cudaStreamQuery");
          link.check_alive(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
      } else {
        pmpp::synchronize(s);
      }
#endif
    }
    static_cast<void>(i);
  }
  void synchronize() const {
    for (int i = 0; i < local_size(); ++i) synchronize(i);
  }

  /// What rank number i here has of memory: its buffers, and what is kept for the next call.
  rank_memory_use memory(int i) const {
    rank_memory_use use = ranks_->memories[std::size_t(i)]->use();
    use.scratch = ranks_->scratch[std::size_t(i)].capacity();
    return use;
  }
  /// Gives memory that is idle back to the system: blocks kept for the next call, workspaces, and what pmpp's pools of these GPUs have
  /// that no one uses. Waits. The next calls allocate again. For programs that share their GPUs. \throws cuda_error
  void trim() const {
    synchronize();
    for (int i = 0; i < local_size(); ++i) {
      const detail::rank_guard guard(ranks_->places[std::size_t(i)].device);
      ranks_->memories[std::size_t(i)]->trim();
      ranks_->scratch[std::size_t(i)] = workspace{};
    }
    synchronize();
    if constexpr (gpu_execution<P>) each([](int, const P&) { pmpp::trim_pool(); });
  }

  /// The same ranks, on which sums of floating-point numbers do not depend on how many there are: reduce, transform_reduce and scans take
  /// them (same_bits.hpp and same_bits_scan.hpp have the price).
  same_bits_devices<P, C> same_bits() const { return {*this}; }

  /// What a buffer remembers of its devices.
  std::shared_ptr<detail::rank_group> group() const { return ranks_; }

private:
  static constexpr bool ends_after_work() {
    if constexpr (requires { C::ends_after_work; })
      return C::ends_after_work;
    else
      return false;
  }

  /// A group of all communicators here. One that an exception leaves ends too: that exception says more than what its end throws.
  class open_group {
  public:
    explicit open_group(std::vector<C>& links) : links_(links) {
      for (C& link : links_) link.group_begin();
    }
    void end() {
      ended_ = true;
      for (C& link : links_) link.group_end();
    }
    open_group(const open_group&) = delete;
    open_group& operator=(const open_group&) = delete;
    ~open_group() { leave(); }
    void leave() {
      if (std::exchange(ended_, true)) return;
      for (C& link : links_) try {
          link.group_end();
        } catch (...) {
        }
    }

  private:
    std::vector<C>& links_;
    bool ended_ = false;
  };

  template <class F>
  void post(F& f, const std::vector<stream>& streams) const {
    for (int i = 0; i < local_size(); ++i) {
      const detail::rank_guard guard(ranks_->places[std::size_t(i)].device);
      f(i, ranks_->links[std::size_t(i)], streams.empty() ? nullptr : streams[std::size_t(i)].handle());
    }
  }
  /// What is enqueued on `later` from here on waits for what is on `earlier`, rank by rank.
  void wait_for(const std::vector<stream>& later, const std::vector<stream>& earlier) const {
    for (std::size_t i = 0; i < later.size(); ++i) {
      [[maybe_unused]] const detail::rank_guard guard(ranks_->places[i].device);
      ranks_->points[i].record(earlier[i]);
      later[i].wait(ranks_->points[i]);
    }
  }

  std::shared_ptr<detail::driven_ranks<P, C>> ranks_;
};

devices(const std::vector<int>&)->devices<>;
template <communicator C>
devices(C) -> devices<device_policy, C>;
template <execution_policy P, communicator C>
devices(P, C) -> devices<P, C>;
template <execution_policy P, communicator C>
devices(P, std::vector<C>, std::vector<int>) -> devices<P, C>;

/// `ranks` ranks that share the current GPU: for trying a program out. Their streams run side by side, nothing gets faster.
/// \throws std::invalid_argument if ranks < 1; cuda_error
inline devices<> ranks_on_one_device(int ranks) {
  require(ranks >= 1,
          [&] { return "pmpp::ranks_on_one_device: ranks is " + detail::text::of(ranks) + ", at least 1 is needed"; });
  const std::vector<int> ids(static_cast<std::size_t>(ranks), detail::current_device());
  return {device, detail::current_communicator::all(ids), ids};
}

#if PMPP_WITH_EMULATOR
/// `ranks` emulated GPUs in this process, on a machine with or without one; kernels run on the CPU, one fiber per CUDA thread.
/// \throws std::invalid_argument if ranks < 1
class emulated_devices : public devices<emulated_policy, emulated_communicator> {
public:
  explicit emulated_devices(int ranks)
      : devices(emulated, emulated_communicator::all(numbers(ranks)), numbers(ranks)) {}

private:
  static std::vector<int> numbers(int ranks) {
    require(ranks >= 1,
            [&] { return "pmpp::emulated_devices: ranks is " + detail::text::of(ranks) + ", at least 1 is needed"; });
    return std::vector<int>(static_cast<std::size_t>(ranks), 0);
  }
};
#endif

}  // namespace pmpp::inline PMPP_BACKEND
