// SPDX-License-Identifier: Apache-2.0
//
// Threads that help with the loops of `host`.
//
// A parallel region of OpenMP ends in a barrier of all its threads: where another process holds a core, the caller waits 5
// to 30 ms for one that has not run at all. Here only threads that have begun something are waited for:
//
//   1. The caller enters its loop in a list, wakes two threads and claims tasks from an atomic counter.
//   2. A woken thread takes a loop from the list, wakes two more and claims tasks too. One that comes too late finds none.
//   3. When no task is left to claim, the caller waits for those that others have claimed, and returns.
//
// A loop lives on the heap and counts who knows it: a late thread may look at it after the caller has gone. Threads at work,
// callers among them, are at most as many as a loop allows; loops inside of tasks and of other callers share them. Threads
// are started when first of use, detached, and sleep until the process ends, which does not wait for them; after fork() the child
// begins with none. Where the system refuses a thread, there is one less. A thread that loses its core in the middle of a
// task does have the caller wait: loops that leave the number of threads open then do with one less for a while (spared).
// (pthread.h, because <thread>, <mutex> and <condition_variable> cost every user 0.5 s of compile time.)
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

#pragma GCC visibility push(hidden)  // each shared library has threads of its own, which run its own code

namespace pmpp::inline PMPP_BACKEND::host_loop {

inline std::int64_t nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// A loop whose tasks several threads claim.
struct shared_loop {
  void (*const run)(void* task, std::int64_t i);
  void* const task;  ///< the caller's: only who has claimed a task touches it
  const std::int64_t count, threads;
  std::int64_t next, done = next;        ///< tasks claimed and finished; atomic
  bool failed = false;                   ///< atomic; tasks are then claimed and not run
  std::exception_ptr failure = nullptr;  ///< who fails first writes it
  // Guarded by the pool's mutex:
  std::int64_t wanted = 0, known_to = 1;
  shared_loop* after = nullptr;

  bool finished() const { return __atomic_load_n(&done, __ATOMIC_ACQUIRE) == count; }
  /// Returns how many tasks it did.
  std::int64_t work() {
    std::int64_t mine = 0;
    for (std::int64_t i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < count; ++mine) {
      try {
        if (!__atomic_load_n(&failed, __ATOMIC_RELAXED)) run(task, i);
      } catch (...) {
        if (!__atomic_exchange_n(&failed, true, __ATOMIC_RELAXED)) failure = std::current_exception();
      }
      __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    }
    return mine;
  }
};

class pool {
public:
  /// Runs task(context, first) ... task(context, count - 1) on the calling thread and on those that come to its help.
  static void run(void (*task)(void*, std::int64_t), void* context, std::int64_t first, std::int64_t count,
                  std::int64_t threads) {
    pool& all = instance();
    auto* loop = new shared_loop{task, context, count, threads, first};
    pthread_mutex_lock(&all.mutex_);
    loop->after = std::exchange(all.loops_, loop);
    const bool calls = (loop->wanted = min(count - first, threads) - ++all.busy_) > 0;
    all.call_two_and_unlock(*loop);
    const std::int64_t before = nanoseconds(), mine = loop->work(), after = nanoseconds();
    while (!loop->finished() && nanoseconds() - after < 200'000) continue;  // who sleeps may have to wait for a core
    pthread_mutex_lock(&all.mutex_);
    shared_loop** link = &all.loops_;
    while (*link != loop) link = &(*link)->after;
    *link = loop->after;
    while (!loop->finished()) pthread_cond_wait(&all.finished_, &all.mutex_);
    --all.busy_;
    if (mine < count - first)
      all.unhelped_ = 0;
    else if (calls && after - before > 100'000 && (all.unhelped_ += after - before) > 400'000)
      all.spare_one();  // an idle machine wakes a thread in 50 us
    const std::exception_ptr failure = std::move(loop->failure);
    forget(loop);
    pthread_mutex_unlock(&all.mutex_);
    if (failure) std::rethrow_exception(failure);
  }

  /// How many threads are better left out, because others use their cores: one did not come, or lost its core.
  static std::int64_t spared() {
    const std::int64_t end = __atomic_load_n(&instance().spared_until_, __ATOMIC_RELAXED);
    return end != 0 && nanoseconds() < end ? __atomic_load_n(&instance().spared_, __ATOMIC_RELAXED) : 0;
  }

private:
  static pool& instance() {
    static pool all;  // without a destructor: its threads know it until the process ends
    return all;
  }
  static void forget(shared_loop* loop) {
    if (--loop->known_to == 0) delete loop;
  }

  /// Two, of which each calls two: many threads are soon at work, and no caller pays for waking them all.
  void call_two_and_unlock(const shared_loop& loop) {
    int woken = 0;
    for (int calls = 0; calls < 2 && loop.wanted > coming_; ++calls, ++coming_) {
      if (parked_ > 0) {
        --parked_, ++called_, ++woken;
        continue;
      }
      if (!forks_) forks_ = pthread_atfork(nullptr, nullptr, begin_in_child) == 0;
      pthread_t thread;
      if (pthread_create(&thread, nullptr, help, this) != 0) break;
      pthread_detach(thread);
    }
    pthread_mutex_unlock(&mutex_);
    for (; woken > 0; --woken) pthread_cond_signal(&call_);
  }

  /// What a thread of the pool does.
  static void* help(void* address) {
    pool& all = *static_cast<pool*>(address);
    cpu_set_t cores;  // the process's, not those that the calling thread may be bound to
    if (sched_getaffinity(getpid(), sizeof cores, &cores) == 0) sched_setaffinity(0, sizeof cores, &cores);
    const auto absent = [] { return nanoseconds() - nanoseconds(CLOCK_THREAD_CPUTIME_ID); };
    pthread_mutex_lock(&all.mutex_);
    for (--all.coming_;;) {
      shared_loop* loop = all.loops_;
      while (loop != nullptr &&
             (all.busy_ >= loop->threads || __atomic_load_n(&loop->next, __ATOMIC_RELAXED) >= loop->count))
        loop = loop->after;
      if (loop == nullptr) {
        for (++all.parked_; all.called_ == 0;) pthread_cond_wait(&all.call_, &all.mutex_);
        --all.called_, --all.coming_;
        continue;
      }
      ++loop->known_to, ++all.busy_, --loop->wanted;
      all.call_two_and_unlock(*loop);
      const std::int64_t before = absent();
      loop->work();
      const bool lost_its_core = absent() - before > 500'000;
      pthread_mutex_lock(&all.mutex_);
      --all.busy_;
      if (lost_its_core) all.spare_one();
      if (loop->finished()) pthread_cond_broadcast(&all.finished_);
      forget(loop);
    }
  }

  /// For 20 ms; twice as long each time that it happens again as soon as that is over, up to 1.3 s.
  void spare_one() {
    constexpr std::int64_t shortest = 20'000'000, longest = 64 * shortest;
    const std::int64_t now = nanoseconds();
    const bool again = now < spared_until_ + penalty_;
    penalty_ = again ? min(2 * penalty_, longest) : shortest;
    unhelped_ = 0;
    __atomic_store_n(&spared_, again ? spared_ + 1 : 1, __ATOMIC_RELAXED);
    __atomic_store_n(&spared_until_, now + penalty_, __ATOMIC_RELAXED);
  }
  /// After fork() there is one thread, and who held the mutex may be gone.
  static void begin_in_child() {
    new (&instance()) pool();
    instance().forks_ = true;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t call_ = PTHREAD_COND_INITIALIZER, finished_ = PTHREAD_COND_INITIALIZER;
  shared_loop* loops_ = nullptr;
  std::int64_t busy_ = 0, parked_ = 0;    ///< threads in a loop; asleep
  std::int64_t coming_ = 0, called_ = 0;  ///< started or woken, not here yet; woken, still asleep
  std::int64_t unhelped_ = 0, spared_ = 0, spared_until_ = 0, penalty_ = 0;
  bool forks_ = false;  ///< are provided for
};

}  // namespace pmpp::inline PMPP_BACKEND::host_loop

#pragma GCC visibility pop
