// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: exchange, wait, compute (PMPP, 4th edition, section 20.3). Each rank sends its first and its last four planes to the
// neighbours and receives theirs into its halo; the host waits for all of it, then each rank makes its planes. While bytes travel no
// GPU computes, and while GPUs compute no byte travels.
#pragma once

#include <cstddef>

#include <pmpp/distributed/slabs.hpp>

#include "star.hpp"

/// Posts what rank number i of this process sends and receives. \pre slabs of at least `reach` planes
template <class Devices, class Link>
void post_halos(const Devices& gpus, pmpp::slabs<float>& in, int i, Link& link, pmpp::stream_handle stream) {
  const int rank = gpus.rank(i);
  const std::int64_t n = in.size_of(rank);
  const std::size_t bytes = std::size_t(reach * in.plane_size()) * sizeof(float);
  if (rank > 0) {
    link.send(in.at(i, 0), bytes, rank - 1, stream);
    link.receive(in.at(i, -reach), bytes, rank - 1, stream);
  }
  if (rank < gpus.size() - 1) {
    link.send(in.at(i, n - reach), bytes, rank + 1, stream);
    link.receive(in.at(i, n), bytes, rank + 1, stream);
  }
}

template <class Devices>
void blocking(const Devices& gpus, pmpp::slabs<float>& in, pmpp::slabs<float>& out, const star_points& s) {
  gpus.together([&](int i, auto& link, pmpp::stream_handle stream) { post_halos(gpus, in, i, link, stream); });
  gpus.synchronize();
  gpus.each([&](int i, const auto& where) {
    const planes_with_halo planes{in.at(i, 0), in.plane_size(), in.offset(gpus.rank(i)), s.depth};
    make_planes(where, planes, out.at(i, 0), 0, in.size_of(gpus.rank(i)), s);
  });
}
