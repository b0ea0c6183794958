// SPDX-License-Identifier: Apache-2.0
//
// How a value gets from a kernel to the host that waits for it: the kernel writes it to pinned host memory and raises a
// flag there, the host watches the flag. On an H100 that takes 6.1 us from launch to value, where a copy and a
// synchronisation take 11.9. After a millisecond the host stops watching and waits for the stream.
//
// Each waiting call borrows a channel (a page of pinned memory and a workspace for the kernels' scratch) from a list
// that the process keeps, so that nothing is allocated once as many channels exist as calls have waited at the same
// time. It is not told of cudaDeviceReset: after that, channels point to memory that is gone.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a kernel's last thread does when its results are written: tells the host, if it waits.
struct completion {
  unsigned* flag = nullptr;
  unsigned value = 0;

  PMPP_HOST_DEVICE void signal() const {
    if (flag == nullptr) return;
    simt::fence<simt::scope::system>();
    simt::store(flag, value);
  }
};

struct reply_channel {
  static constexpr std::size_t flag_bytes = 64, bytes = 4096;

  std::byte* memory;    ///< pinned: the flag, then the value
  unsigned serial = 0;  ///< the flag's value when the last call was answered
  int device;
  workspace scratch;
  reply_channel* next = nullptr;  ///< in the list of idle ones

  /// A channel of the current device that is not in use; the caller's until it is given back or deleted.
  static reply_channel* borrow() {
    const int id = current_device();
    if (reply_channel* idle = take_idle(id)) return idle;
    return new reply_channel(id);
  }
  static void give_back(reply_channel* channel) {
    idle_list& list = idle();
    const locked lock(list);
    channel->next = list.first;
    list.first = channel;
  }

private:
  explicit reply_channel(int id) : memory(static_cast<std::byte*>(allocate_pinned(bytes))), device(id) {
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = std::byte{0};
  }

  /// The channels that are not in use. Kept until the process ends: CUDA may be gone when destructors of static
  /// objects run. (pthread_mutex_t, because <mutex> and <memory> cost every user 0.5 s of compile time.)
  struct idle_list {
    pthread_mutex_t mutex;
    reply_channel* first;
  };
  static idle_list& idle() {
    static idle_list list = {PTHREAD_MUTEX_INITIALIZER, nullptr};
    return list;
  }
  struct locked {
    idle_list& list;
    explicit locked(idle_list& l) : list(l) { pthread_mutex_lock(&list.mutex); }
    ~locked() { pthread_mutex_unlock(&list.mutex); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
  };

  /// Takes the channel given back last of those of device `id`; nullptr if there is none.
  static reply_channel* take_idle(int id) {
    idle_list& list = idle();
    const locked lock(list);
    for (reply_channel** link = &list.first; *link != nullptr; link = &(*link)->next)
      if ((*link)->device == id) return std::exchange(*link, (*link)->next);
    return nullptr;
  }
};

/// One value of type T that kernels of `where` will send to the host.
template <class T, kernel_execution P>
class reply {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= reply_channel::bytes - reply_channel::flag_bytes,
                "pmpp: a value returned to the host must be trivially copyable and at most 4032 bytes large");

public:
  reply(const char* function, const P& where) : where_(where) {
    if (where.measuring) return;  // no kernel will answer
    refuse_in_recording("a call that returns a value waits for the device: use its twin that ends in _into");
    if constexpr (gpu_execution<P>) {
#if PMPP_CUDA
      require(!detail::is_captured(where.stream), [&] {
        return detail::text("pmpp::") + function +
               ": the call returns a value to the host and cannot be captured into a graph: use " + function + "_into";
      });
#endif
      channel_ = reply_channel::borrow();
      if (where_.scratch == nullptr) where_.scratch = &channel_->scratch;
    }
    static_cast<void>(function);
  }

  reply(const reply&) = delete;
  reply& operator=(const reply&) = delete;
  /// Without wait(): the launch has failed, no kernel knows the channel.
  ~reply() { delete channel_; }

  /// The policy to launch with: scratch never has to be allocated per call.
  const P& policy() const { return where_; }
  /// Where the kernels write the value.
  T* target() {
    if (channel_ != nullptr) return reinterpret_cast<T*>(channel_->memory + reply_channel::flag_bytes);
    return __builtin_addressof(value_);
  }
  /// What their last thread signals.
  completion done() {
    if (channel_ != nullptr) return {reinterpret_cast<unsigned*>(channel_->memory), channel_->serial + 1};
    return {};
  }

  /// Waits for the value. \throws cuda_error if work on the stream failed; the channel is then abandoned.
  T wait() {
    if constexpr (gpu_execution<P>) {
#if PMPP_CUDA
      if (channel_ == nullptr) return value_;
      watch();
      value_ = *target();
      ++channel_->serial;
      reply_channel::give_back(std::exchange(channel_, nullptr));
#endif
    }
    return value_;
  }

private:
#if PMPP_CUDA
  /// What std::chrono::steady_clock reads; <chrono> costs every user 0.3 s of compile time.
  static std::int64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }
  void watch() {
    const completion expected = done();
    const auto answered = [&] { return simt::load<simt::order::acquire>(expected.flag) == expected.value; };
    constexpr std::int64_t patience = 1'000'000;  // nanoseconds
    const std::int64_t start = nanoseconds();
    do {
      for (int i = 0; i < 512; ++i)
        if (answered()) return;
    } while (nanoseconds() - start < patience);
    const cudaError_t status = cudaStreamSynchronize(where_.stream);
    if (status == cudaSuccess && answered()) return;
    channel_ = nullptr;  // a kernel may still write to it
    check(status, "waiting for a value from the device");
    detail::throw_logic_error("pmpp: the kernels have finished without an answer");
  }
#endif

  P where_;
  reply_channel* channel_ = nullptr;
  T value_{};
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
