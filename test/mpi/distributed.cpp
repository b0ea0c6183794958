// SPDX-License-Identifier: Apache-2.0
//
// What this program proves of distributed/mpi_communicator.hpp, run by mpiexec with 1, 2 and 4 processes: the text of the algorithms
// gives the same where each rank is a process, emulated GPU or cores; sizes on which processes differ, other numbers of bytes and a
// rank that takes no part are exceptions, and nothing hangs. Ends with status 1 where a process has seen a mistake.
#include <pmpp/distributed/mpi_communicator.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>

namespace {

int mistakes = 0;
void expect(bool condition, const char* what, int line) {
  if (condition) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d, line %d: %s\n", rank, line, what);
  ++mistakes;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

template <class Exception, class F>
bool throws(F f) {
  try {
    f();
  } catch (const Exception&) {
    return true;
  }
  return false;
}

struct is_even {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 == 0; }
};

/// The same text for cores, for emulated GPUs and for GPUs.
template <class G>
void check_algorithms(const G& gpus) {
  std::mt19937 random(7);  // every process makes the same numbers
  for (const int n : {0, 1, 3, 1000, 10007})
    for (const int below : {1, 3, 1 << 20}) {
      std::vector<int> v(static_cast<std::size_t>(n));
      for (int& x : v) x = static_cast<int>(random() % unsigned(below));
      pmpp::distributed_buffer<int> x{gpus, v}, y{gpus, n};
      EXPECT(pmpp::to_host(gpus, x) == v);
      EXPECT(pmpp::reduce(gpus, x, std::int64_t(3)) == std::accumulate(v.begin(), v.end(), std::int64_t(3)));
      EXPECT(pmpp::min_element(gpus, x) == std::min_element(v.begin(), v.end()) - v.begin());
      std::vector<std::int64_t> counts(4), expected_counts(4);
      for (const int e : v) ++expected_counts[std::size_t(std::int64_t(e) * 4 / (below + 3))];
      if (below == 1) {
        pmpp::histogram_even(gpus, x, counts, 0, 4);
        EXPECT(counts == expected_counts);
      }
      auto expected = v;
      std::inclusive_scan(v.begin(), v.end(), expected.begin(), pmpp::bit_xor{});
      pmpp::inclusive_scan(gpus, x, y, pmpp::bit_xor{});
      EXPECT(pmpp::to_host(gpus, y) == expected);
      expected.clear();
      std::copy_if(v.begin(), v.end(), std::back_inserter(expected), is_even{});
      EXPECT(pmpp::to_host(gpus, pmpp::copy_if(gpus, x, is_even{})) == expected);
      pmpp::iota(gpus, y, 0);
      pmpp::sort_by_key(gpus, x, y);
      std::vector<int> places(v.size());
      std::iota(places.begin(), places.end(), 0);
      std::stable_sort(places.begin(), places.end(),
                       [&](int a, int b) { return v[std::size_t(a)] < v[std::size_t(b)]; });
      std::sort(v.begin(), v.end());
      EXPECT(pmpp::to_host(gpus, x) == v);
      EXPECT(pmpp::to_host(gpus, y) == places);
      EXPECT(pmpp::is_sorted(gpus, x));
      pmpp::iota(gpus, y, -n);
      pmpp::sort(gpus, y, pmpp::greater{});
      EXPECT(n < 2 || !pmpp::is_sorted(gpus, y));
    }

  // Every process throws, and the next call works.
  EXPECT(gpus.size() == 1 || throws<std::invalid_argument>([&] {
           pmpp::distributed_buffer<int> x{gpus, 10 + gpus.rank(0)};
         }));
  EXPECT(gpus.size() == 1 || throws<std::invalid_argument>([&] {
           std::vector<std::int64_t> sizes(std::size_t(gpus.size()), 5);
           sizes[0] += gpus.rank(0);
           static_cast<void>(pmpp::distributed_buffer<int>::with_sizes(gpus, sizes));
         }));
  pmpp::distributed_buffer<int> x{gpus, 10};
  pmpp::fill(gpus, x, 2);
  EXPECT(pmpp::reduce(gpus, x, 0) == 20);
}

void check_mistakes() {
  pmpp::mpi_communicator link(MPI_COMM_WORLD, 0.5);
  EXPECT(throws<std::invalid_argument>([&] { link.send(nullptr, 0, link.size(), nullptr); }));
  if (link.size() == 1) return;
  int data[4] = {};
  if (link.rank() == 0) {  // fewer bytes than expected, and then more
    link.send(data, 4, 1, nullptr);
    link.send(data, 16, 1, nullptr);
  } else if (link.rank() == 1) {
    EXPECT(throws<pmpp::communication_error>([&] { link.receive(data, 8, 0, nullptr); }));
    EXPECT(throws<pmpp::communication_error>([&] { link.receive(data, 8, 0, nullptr); }));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  pmpp::mpi_communicator other(MPI_COMM_WORLD, 0.5);
  if (other.rank() == 0) {  // no other rank takes part
    try {
      other.receive(data, 8, 1, nullptr);
      EXPECT(false);
    } catch (const pmpp::communication_error& error) {
      EXPECT(std::string(error.what()).find("for rank 1 to send 8 bytes") != std::string::npos);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  {
    static_assert(pmpp::communicator<pmpp::mpi_communicator>);
    check_algorithms(pmpp::devices{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD}});
    check_algorithms(pmpp::devices{pmpp::mpi_communicator{MPI_COMM_WORLD}});
    check_mistakes();
  }
  int all = 0;
  MPI_Allreduce(&mistakes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
