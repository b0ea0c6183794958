// SPDX-License-Identifier: Apache-2.0
//
// Stencils: each result is a function of the elements around it. The function sees them by their offsets:
//
//   struct mean_of_four {
//     template <class N>
//     PMPP_HOST_DEVICE float operator()(const N& n) const {
//       return 0.25f * (n(-1, 0) + n(1, 0) + n(0, -1) + n(0, 1));    // rows, columns
//     }
//   };
//   stencil(device, in, out, radius<1>, mean_of_four{});
//
//   1. A block makes a tile of a plane and walks from plane to plane. The next planes are on their way to shared memory
//      while results are made (stencil/kernel.hpp). A matrix is one plane, a span one row.
//   2. A thread makes 16 bytes of a few rows. What it sees of other planes stays in its registers.
//   3. Long walks are cut to sections, for as many blocks as there is room for.
//   4. What stands outside is put around the tile.
//
// Traffic: the input read once but for what meets between tiles and sections (caches have most of it), the output
// written once; no scratch, one launch. Same bits on every run. In place is not possible. Weighted sums over usual
// neighbourhoods: stencil/presets.hpp. (PMPP ch. 8: stencils, thread coarsening, register tiling.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/border.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/stencil/kernel.hpp>
#include <pmpp/stencil/presets.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How far a stencil reaches along each axis: radius<1> to radius<8>.
template <int Radius>
struct radius_tag {};
template <int Radius>
inline constexpr radius_tag<Radius> radius{};

namespace detail {

/// The elements around (z, y, x), any of which may stand outside.
template <class In, class Out>
struct elements_at {
  const stencil_problem<In, Out>& s;
  std::int64_t z, y, x;

  PMPP_HOST_DEVICE In at(int dz, int dy, int dx) const {
    const std::int64_t from_z = s.plane(z + dz);
    const std::int64_t from_y = position_in(y + dy, s.in.height, s.outside.what);
    const std::int64_t from_x = position_in(x + dx, s.in.width, s.outside.what);
    return from_z == no_plane || from_y < 0 || from_x < 0 ? s.constant : *s.in.at(from_z, from_y, from_x);
  }
};

/// The elements around one that has all of them.
template <class In>
struct elements_around {
  const In* centre;
  std::int64_t slice, pitch, step;

  PMPP_HOST_DEVICE In at(int dz, int dy, int dx) const { return centre[dz * slice + dy * pitch + dx * step]; }
};

/// Results first ... last - 1 of a row; those whose neighbours all exist in a loop that compilers turn into vector
/// instructions.
template <int Dimensions, int Radius, class In, class Out, class F>
void stencil_row(const stencil_problem<In, Out>& s, const F& f, std::int64_t z, std::int64_t y, std::int64_t first,
                 std::int64_t last) {
  const auto at_edge = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t x = from; x < to; ++x) {
      const elements_at<In, Out> here{s, z, y, x};
      *s.out.at(z, y, x) = static_cast<Out>(f(neighbourhood<Dimensions, Radius, elements_at<In, Out>>(here)));
    }
  };
  const auto has_all = [](std::int64_t i, std::int64_t least, std::int64_t most) {
    return i - least >= Radius && i < most - Radius;
  };
  const bool inside =
      (Dimensions < 3 || has_all(z, s.first_plane, s.end_plane)) && (Dimensions < 2 || has_all(y, 0, s.in.height));
  const std::int64_t begin = inside ? min(last, max(first, std::int64_t(Radius))) : last;
  const std::int64_t end = max(begin, min(last, s.in.width - Radius));
  at_edge(first, begin);
  const In* const from = s.in.at(z, y, 0);
  Out* const to = s.out.at(z, y, 0);
  const auto inner = [&](std::int64_t in_step, std::int64_t out_step) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
    for (std::int64_t x = begin; x < end; ++x) {
      const elements_around<In> here{from + x * in_step, s.in.slice, s.in.pitch, in_step};
      to[x * out_step] = static_cast<Out>(f(neighbourhood<Dimensions, Radius, elements_around<In>>(here)));
    }
  };
  if (s.in.step == 1 && s.out.step == 1)
    inner(1, 1);
  else
    inner(s.in.step, s.out.step);
  at_edge(end, last);
}

template <int Dimensions, int Radius, class In, class Out, class F>
void stencil_on_host(const host_policy& where, const stencil_problem<In, Out>& s, const F& f) {
  const std::int64_t piece = host_loop::grain, pieces = ceil_div(s.out.width, piece);
  const std::int64_t rows = max(std::int64_t(1), piece / s.out.width), all = s.out.depth * s.out.height;
  host_loop::parallel_for(where, ceil_div(all, rows) * pieces, [&](std::int64_t task) {
    const std::int64_t begin = task / pieces * rows, first = task % pieces * piece;
    for (std::int64_t row = begin; row < min(begin + rows, all); ++row)
      stencil_row<Dimensions, Radius>(s, f, row / s.out.height, row % s.out.height, first,
                                      min(first + piece, s.out.width));
  });
}

/// Elements past 16 bytes, and great radii on some machines, take more shared memory than there is: a thread makes one
/// result, straight from the input.
template <int Dimensions, int Radius, class In, class Out, class F>
struct large_element_kernel {
  static constexpr int threads = 128;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const stencil_problem<In, Out>& s, const F& f) const {
    const std::int64_t i = block.index() * threads + block.thread(), row = i / s.out.width;
    if (row >= s.out.depth * s.out.height) return;
    const elements_at<In, Out> here{s, row / s.out.height, row % s.out.height, i % s.out.width};
    *s.out.at(here.z, here.y, here.x) =
        static_cast<Out>(f(neighbourhood<Dimensions, Radius, elements_at<In, Out>>(here)));
  }
};

template <int Dimensions, int Radius, stencil_tuning Tuning, class P, class In, class Out, class F>
void stencil_on_device(const P& where, const stencil_problem<In, Out>& s, const F& f) {
  check_reachable(where, "stencil", s.in.data);
  check_reachable(where, "stencil", s.out.data);
  constexpr auto most_bytes = [] {
    if constexpr (sizeof(In) > 16) return ~std::size_t(0);
    return max(stencil_shape<In, pack_size<In>, Dimensions, Radius, F, Tuning>::most_bytes(),
               stencil_shape<In, 1, Dimensions, Radius, F, Tuning>::most_bytes());
  }();
  if constexpr (sizeof(In) <= 16)
    if (launch_planes<Dimensions, Radius, Tuning>(where, s, f)) return;
  if constexpr (most_bytes > least_shared_per_block<P>) {
    using kernel = large_element_kernel<Dimensions, Radius, In, Out, F>;
    pmpp::launch(where, ceil_div(s.out.depth * s.out.height * s.out.width, std::int64_t(kernel::threads)), kernel{}, s,
                 f);
  } else {  // compiled for large GPUs alone, and run on another
    detail::throw_invalid_argument(
        "pmpp::stencil: no kernel was compiled that fits this GPU: compile for its architecture too");
  }
}

/// The value of border::constant as an element: zero bytes where there is no other way.
template <class T>
T border_element(const border::rule& outside) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(outside.value);
  } else if constexpr (std::is_convertible_v<float, T>) {  // half, bfloat16
    return static_cast<float>(outside.value);
  } else {
    require(outside.what != border::kind::constant || outside.value == 0, [&] {
      return "pmpp::stencil: border::constant(" + detail::text::of(outside.value) +
             ") is not a value of the elements, which are no numbers";
    });
    return T{};
  }
}

/// Throws for bad input; returns whether there is a result to make.
template <class In, class Out>
bool check_stencil(const volume<const In>& in, const volume<Out>& out, int dimensions, bool overlap) {
  const auto shape_of = [&](const auto& v) {
    return dimensions == 3 ? shape_text(v) : detail::text::of(v.height) + " x " + detail::text::of(v.width);
  };
  require(in.depth >= 0 && in.height >= 0 && in.width >= 0 && in.depth == out.depth && in.height == out.height &&
              in.width == out.width,
          [&] {
            return "pmpp::stencil: the input is " + shape_of(in) + ", so the output must be too, but is " +
                   shape_of(out);
          });
  if (out.depth == 0 || out.height == 0 || out.width == 0) return false;
  require(in.data != nullptr && out.data != nullptr,
          [&] { return detail::text("pmpp::stencil: the ") + (in.data == nullptr ? "input" : "output") + " is null"; });
  require(!overlap, [&] {
    return "pmpp::stencil: input and output (both " + shape_of(in) + ") overlap; there is no stencil in place";
  });
  return true;
}

/// Makes the results of a problem that has some.
template <int Dimensions, int Radius, stencil_tuning Tuning, class P, class In, class Out, class F>
void make_stencil(const P& where, const stencil_problem<In, Out>& s, const F& f) {
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t z = 0; z < s.out.depth; ++z)
      for (std::int64_t y = 0; y < s.out.height; ++y) stencil_row<Dimensions, Radius>(s, f, z, y, 0, s.out.width);
  } else if constexpr (std::is_same_v<P, host_policy>) {
    stencil_on_host<Dimensions, Radius>(where, s, f);
  } else {
    stencil_on_device<Dimensions, Radius, Tuning>(where, s, f);
  }
}

template <int Dimensions, int Radius, stencil_tuning Tuning, class P, class In, class Out, class F>
void stencil_checked(const P& where, const volume<const In>& in, const volume<Out>& out, const F& f,
                     const border::rule& outside, bool overlap) {
  static_assert(Radius >= 1 && Radius <= 8, "the radius of a stencil is 1 to 8");
  static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Out>);
  if (!check_stencil(in, out, Dimensions, overlap)) return;
  detail::make_stencil<Dimensions, Radius, Tuning>(
      where, stencil_problem<In, Out>{in, out, outside, border_element<In>(outside)}, f);
}

}  // namespace detail

/// Writes f(n) to each element of `out`, where n shows the elements of `in` around its place.
///
/// `radius`: radius<R>, R from 1 to 8; f reaches R planes, rows and columns far.
///
/// \param in       depth x height x width, any strides; visible to `where`. Elements of any trivially copyable type.
/// \param out      as large as `in`; must not overlap it. f's results are converted to its elements.
/// \param f        a function object, called as f(n), host and device. n(dz, dy, dx) is the element this many planes, rows
///                 and columns away. The offsets should be constants, or counters of loops that the compiler unrolls:
///                 then elements are in registers, and what f does not ask for is not read. If it asks for elements of
///                 another plane and another row or column at once, it is faster for `static constexpr bool corners =
///                 true;` among its members.
/// \param outside  what stands outside of `in`, as for convolve: border::zero, clamp, reflect, mirror, wrap, constant(v).
/// \pre the offsets that f uses are at most R; checked in debug mode.
/// The same bits on every run. Asynchronous on a GPU; may be captured. No scratch. Cost: input read once, output written
/// once; one launch.
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap, border::constant of elements that
/// are no numbers; cuda_error.
/// Source: PMPP ch. 8. Example: test/stencil.cpp.
template <stencil_tuning Tuning = tuned<stencil_tuning>, execution_policy P, class In, class Out, int Radius, class F>
void stencil(const P& where, const volume_view<In>& in, const volume_view<Out>& out, radius_tag<Radius>, const F& f,
             const border::rule& outside = border::zero) {
  detail::stencil_checked<3, Radius, Tuning>(where, detail::volume_of(volume_view<const std::remove_const_t<In>>(in)),
                                             detail::volume_of(out), f, outside, detail::may_meet(in, out));
}

/// The same in two dimensions: n(dy, dx).
template <stencil_tuning Tuning = tuned<stencil_tuning>, execution_policy P, class In, class Out, int Radius, class F>
void stencil(const P& where, const matrix_view<In>& in, const matrix_view<Out>& out, radius_tag<Radius>, const F& f,
             const border::rule& outside = border::zero) {
  detail::stencil_checked<2, Radius, Tuning>(where, detail::volume_of(matrix_view<const std::remove_const_t<In>>(in)),
                                             detail::volume_of(out), f, outside, detail::may_meet(in, out));
}

/// The same in one dimension, for contiguous ranges: n(dx). `out` has room for as many elements as `in` has.
/// \throws std::length_error if it has not.
template <stencil_tuning Tuning = tuned<stencil_tuning>, execution_policy P, contiguous_for<P> In,
          contiguous_for<P> Out, int Radius, class F>
void stencil(const P& where, const In& in, Out&& out, radius_tag<Radius>, const F& f,
             const border::rule& outside = border::zero) {
  const auto from = detail::as_span(in);
  const auto to = detail::as_span(out);
  require_room("stencil", "out", static_cast<std::int64_t>(to.size()), static_cast<std::int64_t>(from.size()));
  const matrix_view<const std::remove_const_t<element_of<const In>>> a(from.data(), 1, from.size());
  const matrix_view<element_of<std::remove_reference_t<Out>>> b(to.data(), 1, from.size());
  detail::stencil_checked<1, Radius, Tuning>(where, detail::volume_of(a), detail::volume_of(b), f, outside,
                                             detail::may_meet(a, b));
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
