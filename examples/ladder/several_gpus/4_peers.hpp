// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: no halos. GPUs of one process that NVLink or PCIe connects can read each other's memory: the kernel takes planes that
// are not its own straight from the neighbour. Nothing is copied and there is one kernel a step. What is left of the exchange is its
// order: a rank must not begin before its neighbours have written what it reads, nor overwrite what they still read. A message of one
// byte to each neighbour says so, from stream to stream. Elements that two threads of different blocks read travel twice, unless
// the L1 cache has them.
#pragma once

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/slabs.hpp>

#include "star.hpp"

/// Planes of a rank and its neighbours, each where it lies. \pre each has at least `reach`
struct planes_of_peers {
  const float *front, *own, *behind;  // the first planes of three ranks; nullptr where there is none
  std::int64_t plane, in_front, n;    // elements of one; planes of the rank in front, of this one

  PMPP_HOST_DEVICE const float* at(std::int64_t z) const {
    if (z < 0) return front == nullptr ? nullptr : front + (in_front + z) * plane;
    if (z >= n) return behind == nullptr ? nullptr : behind + (z - n) * plane;
    return own + z * plane;
  }
};

/// \param tokens  two bytes for each rank and two for what it receives: 4 elements a rank. \pre all ranks are of this process
template <class Devices>
void peers(const Devices& gpus, pmpp::slabs<float>& in, pmpp::slabs<float>& out, pmpp::distributed_buffer<char>& tokens,
           const star_points& s) {
  gpus.together([&](int i, auto& link, pmpp::stream_handle stream) {
    char* const own = tokens.part(i).data();
    for (const int side : {0, 1}) {
      const int other = gpus.rank(i) + (side == 0 ? -1 : 1);
      if (other < 0 || other >= gpus.size()) continue;
      link.send(own + side, 1, other, stream);
      link.receive(own + 2 + side, 1, other, stream);
    }
  });
  gpus.each([&](int i, const auto& where) {  // rank i has number i
    const std::int64_t n = in.size_of(i);
    const planes_of_peers planes{i > 0 ? in.at(i - 1, 0) : nullptr,
                                 in.at(i, 0),
                                 i + 1 < gpus.size() ? in.at(i + 1, 0) : nullptr,
                                 in.plane_size(),
                                 i > 0 ? in.size_of(i - 1) : 0,
                                 n};
    make_planes(where, planes, out.at(i, 0), 0, n, s);
  });
}
