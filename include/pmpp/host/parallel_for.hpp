// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops on the cores of this machine.
//
// Work is cut into tasks by the caller, at fixed places that do not depend on the number of threads: that is what makes
// results of the host policy equal to the last bit for any number of threads. Threads claim tasks one by one; the calling
// thread is one of them, begins at once, and does all of them if no other comes (host/pool.hpp). An exception in a task
// ends up at the caller, one of them if there are several; tasks that have not begun by then are left out.
//
// Where a task needs what the tasks before it have found (scan, select), it takes a turn:
//
//   host_loop::turns order;
//   parallel_for(where, tasks, [&](std::int64_t) {
//     host_loop::turn mine(order);           // its number says which piece of the data is this task's
//     ... read the piece ...                 // in parallel
//     mine.wait();
//     ... join what it gave to the rest ...  // one task after the other
//     mine.pass();
//     ... write the piece ...                // in parallel, while the caches still hold it
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <sched.h>
#include <unistd.h>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/pool.hpp>

namespace pmpp::inline PMPP_BACKEND::host_loop {

/// Elements of one task where the work per element is small: large enough to hide the cost of a task (0.1 us), small
/// enough that a megabyte feeds all cores.
inline constexpr std::int64_t grain = 16384;

/// The same where tasks take turns and read their piece twice: up to 128 KB, where there is enough for many cores. Two
/// cores at work on pieces of 32 KB next to each other slow each other down by a fifth (their prefetches overlap).
template <class T>
constexpr std::int64_t grain_of(std::int64_t n) {
  return max(grain, min(std::int64_t(131072 / sizeof(T)), n / 256));
}

/// One result per task, value-initialised. Not a std::vector, whose bools share bytes, which tasks may not; nor a
/// std::unique_ptr: `<memory>` costs every user 0.5 s of compile time.
template <class T>
class task_results {
public:
  explicit task_results(std::int64_t count)
      : data_(count == 1 ? __builtin_addressof(one_) : new T[static_cast<std::size_t>(count)]()) {}
  ~task_results() {
    if (data_ != __builtin_addressof(one_)) delete[] data_;
  }
  task_results(const task_results&) = delete;
  task_results& operator=(const task_results&) = delete;

  T* data() { return data_; }
  T& operator[](std::int64_t i) { return data_[i]; }

private:
  T one_{};  // small inputs are one task, and shall cost no allocation
  T* data_;
};

/// Cores that the process may use.
inline std::int64_t core_count() {
  static const std::int64_t count = [] {
    cpu_set_t cores;
    const bool known = sched_getaffinity(getpid(), sizeof cores, &cores) == 0;  // fails for more than 1024
    return max<std::int64_t>(1, known ? CPU_COUNT(&cores) : sysconf(_SC_NPROCESSORS_ONLN));
  }();
  return count;
}

/// How many threads a loop gets: what was asked for, within bounds; else OMP_NUM_THREADS or one a core, less those whose
/// cores others use.
inline std::int64_t thread_count(const host_policy& where) {
  const auto bounded = [](std::int64_t n) { return min(n, max<std::int64_t>(core_count(), 16)); };
  if (where.thread_count > 0) return bounded(where.thread_count);
  static const std::int64_t usual = [&] {
    const char* text = std::getenv("OMP_NUM_THREADS");
    const std::int64_t asked = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
    return asked > 0 ? bounded(asked) : core_count();
  }();
  return usual == 1 ? 1 : max<std::int64_t>(1, usual - pool::spared());
}

/// Parts of equal size for work that is best cut by the number of threads: some more, so that one on a core that others
/// use too does not have all wait for it.
inline std::int64_t part_count(const host_policy& where) {
  const std::int64_t threads = thread_count(where);
  return threads == 1 ? 1 : 4 * threads;
}

/// Calls task(0) ... task(count - 1), on as many threads as the policy says; returns when all have finished. Each call has a
/// copy of its own: the compiler then knows that what was captured by value stays as it is, whatever the task writes. For
/// tasks of some 100 us, or one a thread that takes what there is.
template <class Task>
void parallel_parts(const host_policy& where, std::int64_t count, Task task, std::int64_t first = 0) {
  if (const std::int64_t threads = thread_count(where); threads > 1 && count - first > 1)
    return pool::run([](void* f, std::int64_t i) { Task{*static_cast<Task*>(f)}(i); }, &task, first, count, threads);
  for (; first < count; ++first) Task{task}(first);
}

/// The same for tasks of any size, small ones too. The caller does some alone, for as long as others would have to take off
/// its work to be worth their call: that costs it 6 us where it must wake one, and gains nothing if that one comes late. So
/// one thread does, for floats on an EPYC: transform up to 300,000 elements (40 us), reduce up to 700,000, inclusive_scan
/// up to 100,000, gemm (by its own limit) up to 126 x 126 x 126. Two cores shared with 13 other busy threads, seq / host in us:
/// transform of 10^5 9.9 / 10.0, 10^6 100 / 99, reduce of 10^6 823 / 62, scan 831 / 471, sort 46200 / 52400, histogram of bytes
/// 622 / 344; with the barrier of OpenMP each took 24000 to 32000 from 30,000 elements on, the sort 240000.
template <class Task>
void parallel_for(const host_policy& where, std::int64_t count, Task task) {
  constexpr std::int64_t patience = 40'000;  // nanoseconds
  std::int64_t i = 0;
  if (count > 1 && thread_count(where) > 1)
    for (const std::int64_t start = nanoseconds(); i < count && nanoseconds() - start < patience; ++i) Task{task}(i);
  parallel_parts(where, count, std::move(task), i);
}

/// Whose turn it is.
struct turns {
  std::int64_t taken = 0, now = 0;
};

/// A task's turn. Numbers follow the order in which tasks start: no task waits for one that has not started.
class turn {
public:
  explicit turn(turns& order) : order_(order), number_(__atomic_fetch_add(&order.taken, 1, __ATOMIC_RELAXED)) {}
  /// Passes it on, whatever happened.
  ~turn() {
    if (!passed_) wait(), pass();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  std::int64_t number() const { return number_; }
  /// Returns when all turns before have passed, and sees what they wrote.
  void wait() const {
    for (int tries = 0; __atomic_load_n(&order_.now, __ATOMIC_ACQUIRE) != number_; ++tries)
      if (tries >= 1000) sched_yield();  // the one before may have lost its core
  }
  void pass() {
    passed_ = true;
    __atomic_store_n(&order_.now, number_ + 1, __ATOMIC_RELEASE);
  }

private:
  turns& order_;
  const std::int64_t number_;
  bool passed_ = false;
};

/// Calls body(begin, end) on the pieces of [0, n), `grain` elements each.
template <class Body>
void parallel_ranges(const host_policy& where, std::int64_t n, Body body) {
  parallel_for(where, ceil_div(n, grain), [&](std::int64_t i) { body(i * grain, min(n, (i + 1) * grain)); });
}

}  // namespace pmpp::inline PMPP_BACKEND::host_loop
