// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: all GPUs of this machine, connected by copies between them, and, where the test was built with it, by NCCL,
// give what loops over the whole give; blocks of other sizes, and numbers that are many, too. With one GPU it is one rank. What other
// files of distributed/ test with more ranks than GPUs goes across GPUs as well, where there are several: test::ranks. With NCCL and
// two GPUs, two processes too: where one is killed, the other gets a communication_error that names its rank and its last call.
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef TEST_HAS_NCCL
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmpp/distributed/nccl_communicator.hpp>
#endif

#include "support/distributed.hpp"
#include "support/distributed_algorithms.hpp"

namespace {

struct next {
  PMPP_HOST_DEVICE int operator()(int x) const { return x + 1; }
};

template <class G>
void check_all(const G& gpus) {
  const int large = static_cast<int>(test::up_to(1 << 22));
  test::check_algorithms(gpus, {0, 1, 3, 1000, 10007, large + 5}, [](bool right, const char* what) {
    CAPTURE(what);
    CHECK(right);
  });
  // All elements on one rank, then on all.
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(gpus.size()));
  sizes.back() = large;
  auto x = pmpp::distributed_buffer<int>::with_sizes(gpus, sizes);
  pmpp::iota(gpus, x, 0);
  pmpp::rebalance(gpus, x);
  CHECK(test::is_balanced(x, gpus.size()));
  std::vector<int> expected(static_cast<std::size_t>(large));
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(pmpp::to_host(gpus, x) == expected);
  // Many groups one after the other: what a rank sends is overwritten by work that comes later on its stream.
  pmpp::distributed_buffer<int> a{gpus, gpus.size()}, b{gpus, gpus.size()};
  pmpp::iota(gpus, a, 0);
  const int p = gpus.size(), rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    gpus.together([&](int i, auto& link, pmpp::stream_handle s) {
      link.send(a.part(i).data(), sizeof(int), (gpus.rank(i) + 1) % p, s);
      link.receive(b.part(i).data(), sizeof(int), (gpus.rank(i) + p - 1) % p, s);
    });
    pmpp::transform(gpus, b, a, next{});
  }
  std::vector<int> turned;
  for (int r = 0; r < p; ++r) turned.push_back(((r - rounds) % p + p) % p + rounds);
  CHECK(pmpp::to_host(gpus, a) == turned);
}

}  // namespace

TEST_CASE("copies between GPUs") { check_all(pmpp::devices<>{}); }

#ifdef TEST_HAS_NCCL
TEST_CASE("NCCL") {
  const auto ids = pmpp::detail::visible_devices();
  const pmpp::devices gpus{pmpp::device, pmpp::nccl_communicator::all(ids), ids};
  check_all(gpus);
  gpus.group()->reads_all = false;  // by messages alone, as between processes
  check_all(gpus);
}
TEST_CASE("NCCL: mistakes are exceptions") {
  const auto ids = pmpp::detail::visible_devices();
  CHECK_THROWS_AS(static_cast<void>(pmpp::nccl_communicator::all({12345})), pmpp::communication_error);
  auto links = pmpp::nccl_communicator::all(ids);
  const int none = static_cast<int>(ids.size());
  try {
    links[0].send(nullptr, 1, none, nullptr);
    CHECK(false);
  } catch (const pmpp::communication_error& error) {
    const std::string wanted =
        "rank 0 of " + std::to_string(none) + ", after ncclSend of 1 bytes to rank " + std::to_string(none);
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find(wanted) != std::string::npos);
  }
}

namespace {

constexpr const char* killed = "NCCL: a process is killed";

/// This program once more, for one rank of two, which gets NCCL's unique id as text. \return its process
pid_t start_rank(int rank, const ncclUniqueId& id) {
  std::string hex = "TEST_NCCL_ID=";
  for (const char c : id.internal)
    for (const int digit : {(c >> 4) & 15, c & 15}) hex += "0123456789abcdef"[digit];
  std::string number = "TEST_NCCL_RANK=" + std::to_string(rank);
  std::vector<char*> variables;
  for (char** v = environ; *v != nullptr; ++v) variables.push_back(*v);
  for (std::string* text : {&hex, &number}) variables.push_back(text->data());
  variables.push_back(nullptr);
  std::string self = "/proc/self/exe", filter = std::string("-tc=") + killed;
  char* arguments[] = {self.data(), filter.data(), nullptr};
  pid_t process = -1;
  REQUIRE(posix_spawn(&process, self.c_str(), nullptr, nullptr, arguments, variables.data()) == 0);
  return process;
}

/// What the process of a rank does: one sum together, and one that rank 1 does not live to see.
void run_rank(int rank) {
  const std::string hex = std::getenv("TEST_NCCL_ID");
  ncclUniqueId id{};
  REQUIRE(hex.size() == 2 * sizeof id.internal);
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  REQUIRE(cudaSetDevice(rank) == cudaSuccess);
  ncclComm_t comm = nullptr;
  REQUIRE(ncclCommInitRank(&comm, 2, id, rank) == ncclSuccess);
  for (const int seconds : {60, 5}) {  // on a busy machine the two processes begin some seconds apart
    const pmpp::devices gpus{pmpp::nccl_communicator{comm, double(seconds)}};
    pmpp::distributed_buffer<int> x{gpus, 1000};
    pmpp::fill(gpus, x, 1);
    CHECK(pmpp::reduce(gpus, x, 0) == 1000);
  }
  const pmpp::devices gpus{pmpp::nccl_communicator{comm, 5}};
  pmpp::distributed_buffer<int> x{gpus, 1000};
  if (rank == 1) raise(SIGKILL);
  try {
    static_cast<void>(pmpp::reduce(gpus, x, 0));
    CHECK(false);
  } catch (const pmpp::communication_error& error) {
    CAPTURE(error.what());
    CHECK(std::string(error.what()).find("rank 0 of 2, after nccl") != std::string::npos);
  }
  ncclCommAbort(comm);
}

}  // namespace

TEST_CASE("NCCL: a process is killed") {
  if (const char* const rank = std::getenv("TEST_NCCL_RANK")) return run_rank(std::atoi(rank));
  if (pmpp::detail::visible_devices().size() < 2 || test::only_small()) return;
  ncclUniqueId id{};
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  const pid_t survivor = start_rank(0, id), victim = start_rank(1, id);
  int status = 0;
  CHECK(waitpid(victim, &status, 0) == victim);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  for (int tenths = 0; waitpid(survivor, &status, WNOHANG) == 0; ++tenths) {
    if (tenths == 300) {  // half a minute
      kill(survivor, SIGKILL);
      waitpid(survivor, &status, 0);
      FAIL("the survivor hangs");
    }
    usleep(100000);
  }
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
#endif
