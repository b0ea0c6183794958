// SPDX-License-Identifier: Apache-2.0
//
// stencil over several ranks, on slabs: each rank makes its interior while halos are exchanged, then its edges (windows.hpp). Each
// result is made by the kernel of one device, from the same elements: it has the same bits on any number of ranks.
//
// In three dimensions a call makes the planes that are asked for, and no others. In two and in one, where halos are rows and elements,
// the few results at the edges are made with those beside them, and copied. (PMPP ch. 8 and 20.)
#pragma once

#include <cstdint>
#include <utility>

#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/slabs.hpp>
#include <pmpp/distributed/windows.hpp>
#include <pmpp/stencil.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Writes f(n) to each element of `out`, where n shows the elements of `in` around its place: stencil of one device, on slabs.
///
/// \param in       its halos get new values, and must be Radius planes or more. Its first axis is the one that is cut.
/// \param out      of the same extents, sizes and at least that halo, whose values are then unspecified; another array than `in`.
/// \param f        as stencil on one device wants it: n(dz, dy, dx), n(dy, dx) or n(dx), by the axes of the slabs.
/// \param outside  as there; it stands at the ends of the whole, not of slabs.
/// The same bits on any number of ranks. Enqueued; where the host waits for bytes (MPI) it does. Cost: input read once, output written
/// once, Radius planes to each neighbour, beside the interior; three launches a rank, in two dimensions and one two copies more. Scratch
/// there: 3 * Radius rows or elements. One rank: stencil alone.
/// \throws std::invalid_argument, before anything runs, for other devices, extents, sizes or narrow halos, the same array twice,
/// border::constant of elements that are no numbers; communication_error; out_of_memory, cuda_error. Source: PMPP ch. 8, 20.
/// Example: test/distributed_halo.cpp, stencil.
template <class P, class C, class In, class Out, int D, int Radius, class F>
void stencil(const devices<P, C>& gpus, slabs<In, D>& in, slabs<Out, D>& out, radius_tag<Radius>, const F& f,
             const border::rule& outside = border::zero) {
  static_assert(Radius >= 1 && Radius <= 8, "the radius of a stencil is 1 to 8");
  const In constant = detail::border_element<In>(outside);
  const auto whole = [&](const P& where, int i) {
    pmpp::stencil(where, std::as_const(in).part(i), out.part(i), radius<Radius>, f, outside);
  };
  detail::for_each_window(
      "stencil", gpus, in, out, Radius, outside, whole, [&](const P& where, const detail::plane_window& w) {
        if constexpr (D == 3) {
          const auto planes = w.end - w.begin;
          const auto from = detail::view_of_planes<const In>(in.at(w.i, w.begin), planes, in.extents());
          const auto to = detail::view_of_planes(out.at(w.i, w.begin), planes, out.extents());
          detail::make_stencil<D, Radius, tuned<stencil_tuning>>(
              where,
              detail::stencil_problem<In, Out>{detail::volume_of(from), detail::volume_of(to), outside, constant,
                                               w.first - w.begin, w.last - w.begin},
              f);
        } else {
          detail::make_by_call(gpus, where, in, out, w, Radius, [&](const P& on, const auto& from, const auto& to) {
            pmpp::stencil(on, from, to, radius<Radius>, f, outside);
          });
        }
      });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
