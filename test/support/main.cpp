// SPDX-License-Identifier: Apache-2.0
//
// The main function of every test. A CUDA test says on which device it ran; without a device it exits with 77, which
// CTest lists as skipped: compiling and linking was all that could be shown on that machine. With PMPP_TEST_DEVICE_ALONE set,
// cases of the policies `seq` and `host` are left out: they know nothing of the machine that the emulator plays.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include <pmpp/core/config.hpp>
#if PMPP_CUDA
#include <cuda_runtime_api.h>
#endif

int main(int argc, char** argv) {
#if PMPP_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device on this machine\n");
    return 77;
  }
  int current = 0;
  cudaDeviceProp properties;
  if (cudaGetDevice(&current) != cudaSuccess || cudaGetDeviceProperties(&properties, current) != cudaSuccess) {
    std::printf("a CUDA device is there but does not answer: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  std::printf("device %d: %s, compute capability %d.%d\n", current, properties.name, properties.major,
              properties.minor);
#endif
  doctest::Context context(argc, argv);
  if (std::getenv("PMPP_TEST_DEVICE_ALONE") != nullptr)
    context.addFilter("test-case-exclude", "*::seq_policy>*,*::host_policy>*,host:*");
  return context.run();
}
