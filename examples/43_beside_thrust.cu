// SPDX-License-Identifier: Apache-2.0
//
// A program of Thrust and libcu++ that calls pmpp here and there: its vectors, iterators, spans, mdspans and streams are taken as
// they are. No header of pmpp includes any of theirs.
#include <cstdio>
#include <vector>

#include <cuda/std/mdspan>
#include <cuda/std/span>
#include <cuda/stream_ref>
#include <thrust/device_vector.h>
#include <thrust/sequence.h>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transpose.hpp>

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 77;  // skipped: no GPU
  // [thrust]
  thrust::device_vector<float> x(12), y(12);
  thrust::sequence(x.begin(), x.end());

  const pmpp::stream own;
  const cuda::stream_ref stream(own.handle());
  const auto where = pmpp::device.on(stream);
  cudaDeviceSynchronize();  // Thrust's work is on the default stream

  pmpp::sort(where, x, pmpp::greater{});                            // a vector as input and output
  const float sum = pmpp::reduce(where, x.begin(), x.begin() + 4);  // its iterators: pointers to a kernel
  const float rest = pmpp::reduce(where, cuda::std::span(x.data().get() + 4, 8));  // a span of libcu++
  const cuda::std::mdspan a(x.data().get(), 3, 4), b(y.data().get(), 4, 3);
  pmpp::transpose(where, pmpp::matrix_view(a), pmpp::matrix_view(b));
  // [end]
  const std::vector<float> turned = pmpp::to_host(where, y);
  std::printf("%g %g %g\n", sum, rest, turned[1]);
  return sum == 38 && rest == 28 && turned[1] == 7 ? 0 : 1;
}
