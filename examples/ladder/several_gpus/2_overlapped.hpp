// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: the exchange beside the interior (PMPP, 4th edition, section 20.5). Planes that are four or more away from the slab's ends
// need no neighbour: they are made while the halos travel on a second stream. The four planes at each end come afterwards. Nothing
// waits but streams for each other. As long as the interior takes longer than the exchange, the exchange costs nothing.
#pragma once

#include "1_blocking.hpp"

template <class Devices>
void overlapped(const Devices& gpus, pmpp::slabs<float>& in, pmpp::slabs<float>& out, const star_points& s) {
  const auto make = [&](int i, const auto& where, std::int64_t begin, std::int64_t count) {
    const planes_with_halo planes{in.at(i, 0), in.plane_size(), in.offset(gpus.rank(i)), s.depth};
    if (count > 0) make_planes(where, planes, out.at(i, 0), begin, count, s);
  };
  gpus.beside([&](int i, auto& link, pmpp::stream_handle stream) { post_halos(gpus, in, i, link, stream); },
              [&](int i, const auto& where) { make(i, where, reach, in.size_of(gpus.rank(i)) - 2 * reach); });
  gpus.each([&](int i, const auto& where) {
    const std::int64_t n = in.size_of(gpus.rank(i)), left = pmpp::min(n, std::int64_t(reach));
    make(i, where, 0, left);
    make(i, where, pmpp::max(left, n - reach), n - pmpp::max(left, n - reach));
  });
}
