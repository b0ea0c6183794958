// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops on the cores of this machine: OpenMP where the compiler has it, plain loops where not.
//
// Work is cut into tasks by the caller, at fixed places that do not depend on the number of threads: that is what makes
// results of the host policy equal to the last bit for any number of threads. An exception in a task ends up at the
// caller; one of them if there are several. Inside another parallel region the loop runs on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

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

/// One result per task, value-initialised. Not a std::vector, whose bools share bytes, which tasks may not; nor a
/// std::unique_ptr: <memory> costs every user 0.5 s of compile time.
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

/// The threads that a loop of `where` may run on.
inline std::int64_t threads_of([[maybe_unused]] const host_policy& where) {
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
  const int threads = static_cast<int>(smaller(threads_of(where), count));
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

/// Calls body(begin, end) on the pieces of [0, n), `grain` elements each.
template <class Body>
void parallel_ranges(const host_policy& where, std::int64_t n, Body body) {
  parallel_for(where, ceil_div(n, grain), [&](std::int64_t i) { body(i * grain, smaller(n, (i + 1) * grain)); });
}

}  // namespace pmpp::inline PMPP_BACKEND::host_loop
