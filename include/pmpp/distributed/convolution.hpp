// SPDX-License-Identifier: Apache-2.0
//
// convolve and convolve_separable over several ranks, on slabs: each rank makes its interior while halos are exchanged, then its edges
// (windows.hpp). All is made by the kernels of one device. (PMPP ch. 7 and 20.)
#pragma once

#include <cstdint>
#include <utility>

#include <pmpp/convolution.hpp>
#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/slabs.hpp>
#include <pmpp/distributed/windows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Planes, or rows, of a mask.
template <class T>
std::int64_t planes_of(const matrix_view<T>& mask) {
  return mask.rows();
}
template <class T>
std::int64_t planes_of(const volume_view<T>& mask) {
  return mask.depth();
}

template <class P, class C, class In, class Out, int D, class Call>
void convolve_slabs(const char* function, const devices<P, C>& gpus, slabs<In, D>& in, slabs<Out, D>& out,
                    std::int64_t planes, bool has_taps, const border::rule& outside, const Call& call) {
  require(has_taps, [&] { return text("pmpp::") + function + ": the mask has no taps"; });
  const std::int64_t reach = planes / 2;
  detail::for_each_window(
      function, gpus, in, out, reach, outside,
      [&](const P& where, int i) { call(where, std::as_const(in).part(i), out.part(i)); },
      [&](const P& where, const plane_window& w) { detail::make_by_call(gpus, where, in, out, w, reach, call); });
}

}  // namespace detail

/// Writes to each element of `out` the sum of the elements of `in` around it, times the taps of `mask`: convolve of one device, on
/// slabs of two or three axes.
///
/// \param in       its halos get new values, and must have half as many planes (rows) as the mask. The first axis is the one that is cut.
/// \param mask     a matrix_view or volume_view as convolve on one device takes it, which every rank can read: in the host's memory.
/// \param out      of the same extents, sizes and at least that halo, whose values are then unspecified; another array than `in`.
/// \param outside  as there; it stands at the ends of the whole, not of slabs.
/// The bits of one device where the same kernel does it, which for square masks of 11 to 15 taps a side depends on the number of rows.
/// Enqueued; where the host waits for bytes (MPI) it does. Cost: as convolve, and half a mask of planes to each neighbour, beside the
/// interior; at each edge three times as many are made and a third of them copied. Scratch: those.
/// \throws std::invalid_argument, before anything runs, for other devices, extents, sizes or narrow halos, a mask without taps, the same
/// array twice; communication_error; out_of_memory, cuda_error. Source: PMPP ch. 7, 20. Example: test/distributed_halo.cpp, convolve.
template <class P, class C, class In, class Mask, class Out, int D>
void convolve(const devices<P, C>& gpus, slabs<In, D>& in, const Mask& mask, slabs<Out, D>& out,
              const border::rule& outside = border::zero) {
  detail::convolve_slabs(
      "convolve", gpus, in, out, detail::planes_of(mask), !mask.empty(), outside,
      [&](const P& where, const auto& from, const auto& to) { pmpp::convolve(where, from, mask, to, outside); });
}

/// convolve with the mask whose tap (i, j) is mask_y[i] * mask_x[j]: convolve_separable of one device, on slabs of rows.
/// \param mask_y, mask_x  contiguous ranges in the host's memory. As convolve. Example: test/distributed_halo.cpp, convolve.
template <class P, class C, class In, contiguous_data TapsY, contiguous_data TapsX, class Out>
void convolve_separable(const devices<P, C>& gpus, slabs<In, 2>& in, const TapsY& mask_y, const TapsX& mask_x,
                        slabs<Out, 2>& out, const border::rule& outside = border::zero) {
  const auto rows = static_cast<std::int64_t>(detail::as_span(mask_y).size());
  detail::convolve_slabs("convolve_separable", gpus, in, out, rows, rows != 0 && !detail::as_span(mask_x).empty(),
                         outside, [&](const P& where, const auto& from, const auto& to) {
                           pmpp::convolve_separable(where, from, mask_y, mask_x, to, outside);
                         });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
