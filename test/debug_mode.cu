// SPDX-License-Identifier: Apache-2.0
//
// What PMPP_DEBUG adds to the algorithms on a GPU: a pointer to host memory is named before anything is launched.
#define PMPP_DEBUG 1
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include <span>
#include <stdexcept>
#include <vector>

#include "support/policies.hpp"

TEST_CASE("host memory passed to the device") {
  int reads_host_memory = 0;
  cudaDeviceGetAttribute(&reads_host_memory, cudaDevAttrPageableMemoryAccess, 0);
  if (reads_host_memory != 0) {
    MESSAGE("skipped: this device reads ordinary host memory");
    return;
  }
  std::vector<int> memory(1000, 1);
  const std::span host(memory);  // whose memory that is its type does not tell
  pmpp::device_buffer<int> out(1000, 5);
  CHECK_THROWS_AS((void)pmpp::reduce(pmpp::device, host), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transform(pmpp::device, out, host, out, pmpp::plus{}), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::fill(pmpp::device, host, 3), std::invalid_argument);
  CHECK(pmpp::reduce(pmpp::device, out) == 5000);  // untouched, and the next call works
}
