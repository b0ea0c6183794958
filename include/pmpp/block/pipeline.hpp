// SPDX-License-Identifier: Apache-2.0
//
// Stages of shared memory in a ring: some are on their way while one is read.
//
// async_pipeline: all threads of the block fill a stage by simt::copy_async, and all read it. One barrier a stage.
//
//   block::async_pipeline<stages> ring;
//   ring.template begin<stages - 1>([&](int stage) { ... });  // simt::copy_async to it, a part by each thread
//   for (...) {
//     ring.template wait<stages - 2>(block);  // the oldest stage has arrived; what was released may be filled again
//     copy(ring.acquire());
//     ring.commit();
//     use(ring.front());
//     ring.release();
//   }
//   ring.drain();                            // before shared memory is used otherwise, or the block ends
//
// tensor_pipeline: one thread asks TMA to fill stages, and warps or warpgroups, which have other work, read them. No barrier of
// the block: each stage has two of its own (sm_90a; simt/tensor_copy.hpp).
//
//   the thread that asks                                     those that read
//   position at;                                             position at;
//   for (...; at.advance()) {                                for (...; at.advance()) {
//     copy_tile(stage, map, ring.acquire(at, bytes), ...);     ring.wait(at);
//   }                                                          use(stage);
//                                                              if (is_elected) ring.release(at.stage);
//
// On a GPU the first is two numbers in registers. The emulator also counts: a stage that is read before its bytes have arrived, or
// filled before all threads have released it, is a kernel_fault.
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/tensor_copy.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

namespace detail {

/// How many stages a thread has filled and used, in the emulator.
template <int Stages>
class stage_counts {
#if defined(__CUDA_ARCH__)
public:
  PMPP_HOST_DEVICE void acquire() const {}
  PMPP_HOST_DEVICE void commit() const {}
  PMPP_HOST_DEVICE void wait(int) const {}
  PMPP_HOST_DEVICE void read() const {}
  PMPP_HOST_DEVICE void release() const {}
#else
public:
  void acquire() const {
    if (committed_ - released_by_all_ >= Stages) fail(committed_, "is filled before all threads have released it");
  }
  void commit() {
    acquire();
    ++committed_;
  }
  void wait(int newer) {
    arrived_ = committed_ - newer;
    released_by_all_ = released_;
  }
  void read() const {
    if (released_ >= arrived_) fail(released_, "is read before its bytes have arrived");
  }
  void release() { ++released_; }

private:
  [[noreturn, gnu::cold]] static void fail(int stage, const char* what) {
    throw kernel_fault("async_pipeline: stage " + pmpp::detail::text::of(stage % Stages) + " of " +
                       pmpp::detail::text::of(Stages) + ", in round " + pmpp::detail::text::of(stage / Stages) + ", " +
                       what);
  }
  int committed_ = 0, arrived_ = 0, released_ = 0, released_by_all_ = 0;
#endif
};

}  // namespace detail

/// Stages number 0, Step, 2 Step ... (Stages - 1) Step: with Step the rows of a stage, places are rows of the whole ring.
template <int Stages, int Step = 1>
class async_pipeline {
  static_assert(Stages >= 2 && Step > 0);

public:
  /// Fills the first `Count` stages: copy(stage) starts the copies of the calling thread.
  template <int Count, class Copy>
  PMPP_HOST_DEVICE void begin(Copy copy) {
    static_assert(Count <= Stages);
    for (int s = 0; s < Count; ++s) {
      counts_.commit();
      copy(s * Step);
      simt::copy_async_commit();
    }
    filled_ =
        Count % Stages * Step;  // a constant: were it counted here, loops that fill more would begin with a variable
  }
  /// The stage to be filled next. \pre all threads have released what it held: there was a wait() since.
  PMPP_HOST_DEVICE int acquire() const {
    counts_.acquire();
    return filled_;
  }
  /// The calling thread has started all of its copies to it.
  PMPP_HOST_DEVICE void commit() {
    counts_.commit();
    simt::copy_async_commit();
    filled_ = next_of(filled_);
  }
  /// The first stage that is not released. \pre it has arrived: there was a wait() since its commit()
  PMPP_HOST_DEVICE int front() const {
    counts_.read();
    return read_;
  }
  /// The calling thread has read it. \return it: where all other stages are on their way, the next to be filled
  PMPP_HOST_DEVICE int release() {
    counts_.release();
    const int freed = read_;
    read_ = next_of(read_);
    return freed;
  }
  /// Waits until all committed stages but the newest `Newer` have arrived, and meets the other threads of the block: what
  /// they have copied can be read, and what all have released can be filled. All threads call.
  template <int Newer, class Block>
  PMPP_HOST_DEVICE void wait(Block& block) {
    simt::copy_async_wait<Newer>();
    block.sync();
    counts_.wait(Newer);
  }
  /// Waits for all copies of the calling thread.
  PMPP_HOST_DEVICE static void drain() { simt::copy_async_wait<0>(); }

private:
  PMPP_HOST_DEVICE static int next_of(int stage) { return stage + Step < Stages * Step ? stage + Step : 0; }

  int read_ = 0, filled_ = 0;
  [[no_unique_address]] detail::stage_counts<Stages> counts_;
};

#if PMPP_CUDA && defined(__CUDACC__)

/// Which of the stages is next, and 1 if its round is an odd one. (A word: of a bool ptxas keeps a byte, at five instructions a stage.)
template <int Stages>
struct stage_position {
  int stage = 0;
  std::uint32_t odd = 0;
  PMPP_HOST_DEVICE void advance() {
    if (++stage == Stages) stage = 0, odd ^= 1;
  }
};

/// Barriers of stages that TMA fills, in shared memory.
template <int Stages>
struct tensor_pipeline {
  using position = stage_position<Stages>;
  simt::transaction_barrier full[Stages], empty[Stages];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  /// Stages are filled by `writers` threads, one by acquire(), and released by `readers`. One thread calls, before the block meets.
  __device__ void init(int readers, int writers = 1) {
    for (int s = 0; s < Stages; ++s) {
      full[s].init(writers);
      empty[s].init(readers);
    }
    simt::barriers_visible();
  }
  /// Waits until all readers have released the stage. \return what copies of `bytes` bytes in all have to tell that they are
  /// there. One thread calls.
  __device__ simt::transaction_barrier& acquire(const position& at, int bytes) {
    empty[at.stage].wait(at.odd ^ 1);  // the first round has nothing to wait for
    full[at.stage].arrive_expecting(bytes);
    return full[at.stage];
  }
  /// Waits until all bytes of the stage have arrived.
  __device__ void wait(const position& at) { full[at.stage].wait(at.odd); }
  /// A reader has read the stage. One of its threads calls, after it has met the others.
  __device__ void release(int stage) { empty[stage].arrive(); }
#endif
};

#endif

}  // namespace pmpp::inline PMPP_BACKEND::block
