// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops on the cores of this machine: OpenMP where the compiler has it, plain loops where not.
//
// Work is cut into tasks by the caller, at fixed places that do not depend on the number of threads: that is what makes
// results of the host policy equal to the last bit for any number of threads. An exception in a task ends up at the
// caller; one of them if there are several. Inside another parallel region the loop runs on the calling thread.
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
#include <exception>

#include <sched.h>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace pmpp::inline PMPP_BACKEND::host_loop {

/// Elements of one task where the work per element is small: large enough to hide the cost of a task (0.1 us), small
/// enough that a megabyte feeds all cores.
inline constexpr std::int64_t grain = 16384;

/// The same where tasks take turns and read their piece twice: up to 128 KB, where there is enough for many cores. Two
/// cores at work on pieces of 32 KB next to each other slow each other down by a fifth (their prefetches overlap).
template <class T>
constexpr std::int64_t grain_of(std::int64_t n) {
  return larger(grain, smaller(std::int64_t(131072 / sizeof(T)), n / 256));
}

/// One result per task, value-initialised. Not a std::vector, whose bools share bytes, which tasks may not; nor a
/// std::unique_ptr: `<memory>` costs every user 0.5 s of compile time.
template <class T>
class task_results {
public:
  explicit task_results(std::int64_t count) : data_(new T[static_cast<std::size_t>(count)]()) {}
  ~task_results() { delete[] data_; }
  task_results(const task_results&) = delete;
  task_results& operator=(const task_results&) = delete;

  T* data() { return data_; }
  T& operator[](std::int64_t i) { return data_[i]; }

private:
  T* data_;
};

/// How many threads a loop gets.
inline std::int64_t thread_count([[maybe_unused]] const host_policy& where) {
#if defined(_OPENMP)
  return where.thread_count > 0 ? where.thread_count : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls task(0) ... task(count - 1), on several threads where that helps; returns when all have finished.
template <class Task>
void parallel_for([[maybe_unused]] const host_policy& where, std::int64_t count, Task task) {
#if defined(_OPENMP)
  const int threads = static_cast<int>(smaller(thread_count(where), count));
  if (threads > 1 && !omp_in_parallel()) {
    std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) {
      try {
        task(i);
      } catch (...) {
#pragma omp critical(pmpp_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    return;
  }
#endif
  for (std::int64_t i = 0; i < count; ++i) task(i);
}

/// Whose turn it is.
struct turns {
  std::int64_t taken = 0, now = 0;
};

/// A task's turn. Numbers follow the order in which tasks start: nobody waits for one that has not started.
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
  parallel_for(where, ceil_div(n, grain), [&](std::int64_t i) { body(i * grain, smaller(n, (i + 1) * grain)); });
}

}  // namespace pmpp::inline PMPP_BACKEND::host_loop
