// SPDX-License-Identifier: Apache-2.0
//
// Properties of the loops of `host` (host/parallel_for.hpp, host/pool.hpp):
//   each task runs once, whatever the number of threads; others come to the caller's help
//   loops inside of tasks and of several callers at once end; an exception reaches its caller, the next loop is not harmed
//   a caller waits for no thread that has not begun: with all cores taken it is about as fast as alone
//   a child of fork() has loops of its own; no number of threads ends the process, negative ones are refused
#include <pmpp/host/parallel_for.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using pmpp::host;
using pmpp::host_loop::parallel_for;
using pmpp::host_loop::parallel_parts;

namespace {

using count = std::int64_t;
using clock_type = std::chrono::steady_clock;

double microseconds_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - start).count();
}
/// Keeps a core busy.
count work(double microseconds) {
  count rounds = 0;
  for (const auto start = clock_type::now(); microseconds_since(start) < microseconds;) ++rounds;
  return rounds;
}
/// Whether tasks 0 ... n - 1 run once each.
bool runs_each_once(const pmpp::host_policy& where, count n, double microseconds, bool parts) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
  const auto task = [&](count i) {
    work(microseconds);
    ++runs.at(static_cast<std::size_t>(i));
  };
  parts ? parallel_parts(where, n, task) : parallel_for(where, n, task);
  return std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; });
}

}  // namespace

TEST_CASE("each task runs once") {
  for (const int threads : {0, 1, 2, 3, 16, 1000000})
    for (const count n : {0, 1, 2, 3, 17, 1000})
      for (const double microseconds : {0.0, 5.0})
        for (const bool parts : {false, true}) {
          CAPTURE(threads);
          CAPTURE(n);
          CHECK(runs_each_once(host.threads(threads), n, microseconds, parts));
        }
  CHECK(runs_each_once(host.threads(4), 4, 2000, true));
}

TEST_CASE("numbers of threads") {
  CHECK_THROWS_WITH_AS(host.threads(-1), "pmpp::host.threads: the count is -1", std::invalid_argument);
  CHECK(host.threads(0).thread_count == 0);
  CHECK(pmpp::host_loop::thread_count(host.threads(7)) == 7);
  const count most = pmpp::host_loop::thread_count(host.threads(1000000));
  CHECK(most >= 16);
  CHECK(most == std::max<count>(16, pmpp::host_loop::core_count()));
  CHECK(pmpp::host_loop::thread_count(host) >= 1);
}

TEST_CASE("others come to the caller's help") {
  std::set<pthread_t> seen;
  for (int round = 0; round < 1000 && seen.size() < 3; ++round) {
    std::vector<pthread_t> by(64);
    parallel_parts(host.threads(3), 64, [&](count i) {
      work(100);
      by[static_cast<std::size_t>(i)] = pthread_self();
    });
    const std::set<pthread_t> these(by.begin(), by.end());
    CHECK(these.size() <= 3);
    seen.insert(by.begin(), by.end());
  }
  CHECK(seen.size() >= 3);
}

TEST_CASE("loops inside of tasks, and of several callers at once") {
  std::atomic<count> sum = 0;
  const auto nested = [&] {
    parallel_parts(host.threads(4), 20, [&](count i) {
      parallel_for(host.threads(3), 30, [&](count j) {
        work(2);
        sum += i * j;
      });
    });
  };
  nested();
  CHECK(sum == 190 * 435);
  sum = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 6; ++k) callers.emplace_back(nested);
  for (std::thread& t : callers) t.join();
  CHECK(sum == 6 * 190 * 435);
}

TEST_CASE("an exception reaches the caller of its loop") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun = 0;
    CHECK_THROWS_WITH_AS(parallel_parts(host.threads(4), 100,
                                        [&](count i) {
                                          ++begun;
                                          work(20);
                                          if (i == 3) throw std::runtime_error("task 3");
                                        }),
                         "task 3", std::runtime_error);
    CHECK(begun >= 1);
    CHECK(runs_each_once(host.threads(4), 50, 1, true));
  }
  CHECK_THROWS_AS(parallel_for(host.threads(4), 4, [](count) { throw 5; }), int);
}

TEST_CASE("turns come in order, on threads that lose their cores too") {
  pmpp::host_loop::turns order;
  std::vector<count> passed;
  parallel_parts(host.threads(5), 200, [&](count) {
    pmpp::host_loop::turn mine(order);
    work(10);
    mine.wait();
    passed.push_back(mine.number());
  });
  CHECK(passed.size() == 200);
  CHECK(std::is_sorted(passed.begin(), passed.end()));
}

TEST_CASE("a caller waits for no thread that has not begun") {
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (unsigned k = 0; k < 4 * std::thread::hardware_concurrency(); ++k)
    others.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) continue;
    });
  const auto median = [](const pmpp::host_policy& where) {
    std::vector<double> times;
    for (int k = 0; k < 101; ++k) {
      const auto start = clock_type::now();
      parallel_for(where, 20, [](count) { work(10); });
      times.push_back(microseconds_since(start));
    }
    std::sort(times.begin(), times.end());
    return times[50];
  };
  const double alone = median(host.threads(1)), together = median(host);
  stop = true;
  for (std::thread& t : others) t.join();
  CHECK_MESSAGE(together < 2 * alone + 1000, alone << " us alone, " << together << " us together");
}

#if !defined(__SANITIZE_THREAD__)  // which ends a child that starts threads
TEST_CASE("a child of fork has loops of its own") {
  CHECK(runs_each_once(host.threads(4), 100, 20, true));
  const pid_t child = fork();
  if (child == 0) _exit(runs_each_once(host.threads(4), 100, 20, true) ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(runs_each_once(host.threads(4), 100, 20, true));
}
#endif
