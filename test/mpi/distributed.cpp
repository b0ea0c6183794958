// SPDX-License-Identifier: Apache-2.0
//
// What this program proves of distributed/mpi_communicator.hpp, run by mpiexec with 1, 2 and 4 processes: the text of the algorithms
// gives the same where each rank is a process, emulated GPU or cores; sizes on which processes differ, other operators, sizes and calls, other
// numbers of bytes and a rank that has left are exceptions, and nothing hangs. Ends with status 1 where a process has seen a mistake.
#include <pmpp/distributed/mpi_communicator.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/distributed/bfs.hpp>
#include <pmpp/distributed/find.hpp>
#include <pmpp/distributed/gemm.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/summa.hpp>
#include <pmpp/distributed/top_k.hpp>
#include <pmpp/distributed/transpose.hpp>
#include <pmpp/memory/csr_graph.hpp>

#include "support/distributed_algorithms.hpp"
#include "support/slab_algorithms.hpp"

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

/// The same text for cores, for emulated GPUs and for GPUs.
template <class G>
void check_algorithms(const G& gpus) {
  const auto judge = [](bool right, const char* what) { expect(right, what, __LINE__); };
  test::check_algorithms(gpus, {0, 1, 3, 1000, 10007}, judge);
  test::check_more_algorithms(gpus, {0, 3, 1000, 4001}, judge);
  test::check_slabs(gpus, judge);

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

/// Matrices and graphs: element (i, j) is small, so that doubles are exact.
template <class G>
void check_algebra(const G& gpus) {
  const std::int64_t m = 13, k = 29, n = 6;
  const auto numbers = [](std::int64_t count, int step) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < count; ++i) v.push_back(double((i * step) % 7) - 3);
    return v;
  };
  const auto a = numbers(m * k, 5), b = numbers(k * n, 3), x = numbers(k, 4);
  const pmpp::distributed_matrix<double> A{gpus, pmpp::matrix_view<const double>(a.data(), m, k)},
      B{gpus, pmpp::matrix_view<const double>(b.data(), k, n)};
  pmpp::distributed_matrix<double> C{gpus, m, n}, T{gpus, k, m};
  pmpp::gemm(gpus, 1, A, B, 0, C);
  pmpp::transpose(gpus, A, T);
  std::vector<double> c, t;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      c.push_back(0);
      for (std::int64_t l = 0; l < k; ++l) c.back() += a[std::size_t(i * k + l)] * b[std::size_t(l * n + j)];
    }
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = 0; i < m; ++i) t.push_back(a[std::size_t(i * k + j)]);
  EXPECT(pmpp::to_host(gpus, C) == c);
  if (gpus.size() != 2) {  // in blocks of rows and columns
    const pmpp::block_matrix<double> a_blocks{gpus, pmpp::matrix_view<const double>(a.data(), m, k)},
        b_blocks{gpus, pmpp::matrix_view<const double>(b.data(), k, n)};
    pmpp::block_matrix<double> c_blocks{gpus, m, n};
    pmpp::gemm(gpus, 1, a_blocks, b_blocks, 0, c_blocks);
    EXPECT(pmpp::to_host(gpus, c_blocks) == c);
  }
  EXPECT(pmpp::to_host(gpus, T) == t);

  // The same matrix as a sparse one, times x; and a cycle with a way across.
  const auto sparse = pmpp::csr_matrix<double>::from_dense({a.data(), m, k});
  const pmpp::spread_csr<double> S{gpus, sparse};
  auto X = pmpp::distributed_buffer<double>::with_sizes(gpus, S.col_sizes()),
       Y = pmpp::distributed_buffer<double>::with_sizes(gpus, S.row_sizes()),
       Z = pmpp::distributed_buffer<double>{gpus, m};
  X.copy_from(x);
  pmpp::spmv(gpus, 1, S, X, 0, Y);
  pmpp::gemv(gpus, 1, A, X, 0, Z);
  std::vector<double> y;
  for (std::int64_t i = 0; i < m; ++i) {
    y.push_back(0);
    for (std::int64_t l = 0; l < k; ++l) y.back() += a[std::size_t(i * k + l)] * x[std::size_t(l)];
  }
  EXPECT(pmpp::to_host(gpus, Y) == y);
  EXPECT(pmpp::to_host(gpus, Z) == y);
  std::vector<pmpp::edge<int>> edges{{0, 50}};
  for (int v = 0; v < 100; ++v) edges.push_back({v, (v + 1) % 100});
  const auto cycle = pmpp::csr_graph<>::from_edges(100, edges, pmpp::edges::both_ways);
  const pmpp::spread_graph<> graph{gpus, pmpp::undirected(cycle)};
  auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, graph.sizes()),
       parent = pmpp::distributed_buffer<int>::with_sizes(gpus, graph.sizes());
  for (const int alpha : {0, 15, 1 << 20}) {
    EXPECT(pmpp::bfs(gpus, graph, 0, distance, parent, {.alpha = alpha, .beta = 1}).levels == 26);
    const auto found = pmpp::to_host(gpus, distance), from = pmpp::to_host(gpus, parent);
    for (int v = 0; v < 100; ++v) {
      const int around = std::min(v, 100 - v);
      EXPECT(found[std::size_t(v)] == std::min(around, 1 + std::abs(v - 50)));
      EXPECT(v == 0 || found[std::size_t(from[std::size_t(v)])] + 1 == found[std::size_t(v)]);
    }
  }
}

/// Processes that call different things, and one that has left.
template <class G>
void check_differing_calls(const G& gpus, const G& impatient) {
  if (gpus.size() == 1) return;
  std::vector<int> values{5, 3, 9, 1, 7, 2, 8};
  pmpp::distributed_buffer<int> x{gpus, values}, shorter{gpus, 6};
  const int self = gpus.rank(0);
  const auto says = [&](const char* wanted, auto call) {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      const std::string what = error.what();
      if (what.find("rank 0 ") != std::string::npos && what.find(wanted) != std::string::npos) return true;
      std::printf("%s\n", what.c_str());
    }
    return false;
  };
  EXPECT(says("; rank 1 reduce of 7, int, int, ", [&] {
    static_cast<void>(self == 0 ? pmpp::reduce(gpus, x, 0) : pmpp::reduce(gpus, x, 0, pmpp::minimum{}));
  }));
  EXPECT(says("reduce of 6, ", [&] { static_cast<void>(pmpp::reduce(gpus, self == 0 ? x : shorter, 0)); }));
  EXPECT(says("greater", [&] {
    if (self == 0)
      pmpp::sort(gpus, x);
    else
      pmpp::sort(gpus, x, pmpp::greater{});
  }));
  EXPECT(says("; rank 1 sort of 7, ", [&] {
    if (self == 0)
      static_cast<void>(pmpp::reduce(gpus, x, 0));
    else
      pmpp::sort(gpus, x);
  }));
  EXPECT(says("; rank 1 sort of 6, int, ", [&] { pmpp::sort(gpus, self == 0 ? x : shorter); }));
  const pmpp::distributed_matrix<double> A{gpus, 4, 5}, B{gpus, 5, 3}, wide{gpus, 5, 6};
  pmpp::distributed_matrix<double> C{gpus, 4, 3}, of_wide{gpus, 4, 6};
  EXPECT(says("; rank 1 gemm of 4 x 5 x 6, ", [&] {
    if (self == 0)
      pmpp::gemm(gpus, 1, A, B, 0, C);
    else
      pmpp::gemm(gpus, 1, A, wide, 0, of_wide);
  }));
  const auto is_odd = [](int v) { return v % 2 != 0; };
  EXPECT(says("; rank 1 unique_copy of 7 x ",
              [&] { static_cast<void>(self == 0 ? pmpp::copy_if(gpus, x, is_odd) : pmpp::unique_copy(gpus, x)); }));
  EXPECT(says("; rank 1 count of 7, int",
              [&] { static_cast<void>(self == 0 ? pmpp::count_if(gpus, x, is_odd) : pmpp::count(gpus, x, 3)); }));
  std::vector<int> counts(self == 0 ? 4 : 5);
  EXPECT(says("histogram_even of 7 x 5, int, int", [&] { pmpp::histogram_even(gpus, x, counts, 0, 20); }));
  EXPECT(says("; rank 1 top_k of 7 x 2, int, ", [&] {
    std::vector<int> best(self == 0 ? 3 : 2);
    std::vector<std::int64_t> places(best.size());
    pmpp::top_k(gpus, x, std::int64_t(best.size()), best, places);
  }));
  EXPECT(pmpp::to_host(gpus, x) == values);  // untouched, and the next call works

  pmpp::distributed_buffer<int> y{impatient, values};
  if (self != gpus.size() - 1) {  // the last rank has left
    try {
      static_cast<void>(pmpp::reduce(impatient, y, 0));
      EXPECT(false);
    } catch (const pmpp::communication_error& error) {
      const std::string what = error.what();
      EXPECT(what.find("pmpp::reduce: ") == 0);
      EXPECT(what.find("for rank " + std::to_string(gpus.size() - 1) + " to send") != std::string::npos);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
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
    check_algebra(pmpp::devices{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD}});
    check_differing_calls(pmpp::devices{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD}},
                          pmpp::devices{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD, 2}});
    check_mistakes();
  }
  int all = 0;
  MPI_Allreduce(&mistakes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
