// SPDX-License-Identifier: Apache-2.0
//
// exchange_halos: each rank's halo gets the planes that are next to its own in the whole.
//
//   pmpp::exchange_halos(gpus, a);
//   pmpp::exchange_halos(gpus, a, [&](int i, const auto& where) { ... });    beside work on what no neighbour has
//
// A halo that is wider than the neighbour's slab comes from several ranks, so that slabs may be of any heights. The bytes travel on
// a second stream of each rank (devices::beside): the ranks' own go on. In the emulator they move after the work, halos are 0xCD till
// then, and with_halo throws. Traffic: the planes of the halos, once. (PMPP ch. 20.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/slabs.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Adjacent planes that lie on one rank and are seen by another: `count` from plane `first` of `from`, at plane `place` of `to`, both
/// counted from their own first ones.
struct halo_piece {
  int from, to;
  std::int64_t first, place, count;
};

/// All pieces of halos of `reach` planes, the same list on every process.
template <class T, int D>
std::vector<halo_piece> halo_pieces(const slabs<T, D>& a, int ranks, std::int64_t reach, bool wraps) {
  std::vector<std::int64_t> offsets;
  for (int r = 0; r <= ranks; ++r) offsets.push_back(a.offset(r));
  const std::int64_t all = a.planes();
  std::vector<halo_piece> pieces;
  const auto add = [&](int to, std::int64_t place, std::int64_t end) {
    if (!wraps) {
      place = max(place, -a.offset(to));
      end = min(end, all - a.offset(to));
    }
    while (place < end) {
      const std::int64_t plane = ((a.offset(to) + place) % all + all) % all;
      const auto next =
          std::upper_bound(offsets.begin(), offsets.end(), plane);  // the first rank that begins behind it
      const auto from = static_cast<int>(next - offsets.begin()) - 1;
      const std::int64_t count = min(end - place, *next - plane);
      pieces.push_back({from, to, plane - a.offset(from), place, count});
      place += count;
    }
  };
  for (int to = 0; to < ranks && a.plane_size() != 0; ++to) {
    if (a.size_of(to) == 0) continue;
    add(to, -reach, 0);
    add(to, a.size_of(to), a.size_of(to) + reach);
  }
  return pieces;
}

/// Exchanges halos of `reach` planes, at most a.halo(), beside work(i, where).
template <class P, class C, class T, int D, class Work>
void exchange_planes(const devices<P, C>& gpus, slabs<T, D>& a, std::int64_t reach, bool wraps, Work work) {
  const auto pieces = detail::halo_pieces(a, gpus.size(), reach, wraps);
  if (pieces.empty()) return gpus.each(work);
  const auto bytes_of = [&](const halo_piece& piece) {
    return static_cast<std::size_t>(piece.count * a.plane_size()) * sizeof(T);
  };
  gpus.beside(
      [&](int i, C& link, stream_handle s) {
        for (const halo_piece& piece : pieces) {
          if (piece.from == gpus.rank(i)) link.send(a.at(i, piece.first), bytes_of(piece), piece.to, s);
          if (piece.to == gpus.rank(i)) link.receive(a.at(i, piece.place), bytes_of(piece), piece.from, s);
        }
      },
      work);
}

}  // namespace detail

/// Exchanges halos beside work(i, where), which is called for each rank of this process as devices::each does it.
///
/// \param work   \pre neither reads halos of a nor writes to its planes, and does not exchange. In the emulator what it reads too early
///               is 0xCD, and with_halo throws.
/// \param wraps  the first plane of the whole follows the last one; else halos beyond the ends stay as they are.
/// Enqueued: what comes later on the ranks' streams finds the halos filled. Where the host waits for bytes (MPI) it does, once the work is
/// enqueued. Cost: the planes of halos sent and received once.
/// \throws std::invalid_argument if a lies on other devices; communication_error; cuda_error; what work throws.
/// Example: test/distributed_halo.cpp, halos.
template <class P, class C, class T, int D, class Work>
requires requires(Work& work, const P& where) { work(0, where); }
void exchange_halos(const devices<P, C>& gpus, slabs<T, D>& a, Work work, bool wraps = false) {
  detail::require_on("exchange_halos", "a", gpus, a);
  detail::exchange_planes(gpus, a, a.halo(), wraps, work);
}
template <class P, class C, class T, int D>
void exchange_halos(const devices<P, C>& gpus, slabs<T, D>& a, bool wraps = false) {
  pmpp::exchange_halos(
      gpus, a, [](int, const P&) {}, wraps);
}

}  // namespace pmpp::inline PMPP_BACKEND
