// SPDX-License-Identifier: Apache-2.0
//
// What this program proves of distributed/mpi_communicator.hpp, run by mpiexec with 2 processes or more and told not to end all where one
// ends (Open MPI: --enable-recovery): where the last process is killed, the others get a communication_error that names
// their rank, the call and the rank that they wait for, once the time limit has passed. Each ends with status 0, without MPI_Finalize,
// which would wait for the dead one.
#include <pmpp/distributed/mpi_communicator.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/reduce.hpp>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const pmpp::devices gpus{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD, 2}};
  const int self = gpus.rank(0), last = gpus.size() - 1;
  pmpp::distributed_buffer<int> x{gpus, 1000};
  pmpp::fill(gpus, x, 1);
  bool right = pmpp::reduce(gpus, x, 0) == 1000;
  if (self == last) raise(SIGKILL);
  try {
    static_cast<void>(pmpp::reduce(gpus, x, 0));
    right = false;
  } catch (const pmpp::communication_error& error) {
    const std::string what = error.what();
    std::printf("%s\n", what.c_str());
    const std::string wanted =
        "pmpp::reduce: pmpp: rank " + std::to_string(self) + " has waited 2.000000 s for rank " + std::to_string(last);
    right = right && what.find(wanted) == 0;
  }
  std::printf("rank %d: %s\n", self, right ? "right" : "WRONG");
  std::fflush(stdout);
  _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}
