// SPDX-License-Identifier: Apache-2.0
//
// rgb<T>: a pixel with colours, as cameras and PPM files store them. A picture is a matrix_view of pixels; one of its
// colours is a matrix_view of samples:
//
//   pmpp::matrix_view<pmpp::rgb<std::uint8_t>> picture{data, height, width};
//   pmpp::matrix_view<std::uint8_t> green = pmpp::channel(picture, 1);          // copies nothing
#pragma once

#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

namespace pmpp::inline PMPP_BACKEND {

template <class T>
struct rgb {
  T r, g, b;
  friend constexpr bool operator==(const rgb&, const rgb&) = default;
};

namespace detail {
template <class T>
inline constexpr bool is_rgb = false;
template <class T>
inline constexpr bool is_rgb<rgb<T>> = true;
}  // namespace detail

/// One colour of a picture: 0 red, 1 green, 2 blue. The same memory, three times the strides.
/// \pre 0 <= number < 3, checked in debug mode.
template <class Pixel>
requires detail::is_rgb<std::remove_const_t<Pixel>>
auto channel(const matrix_view<Pixel>& picture, int number) {
  using sample = decltype(Pixel::r);
  using T = std::conditional_t<std::is_const_v<Pixel>, const sample, sample>;
  static_assert(sizeof(Pixel) == 3 * sizeof(sample), "the samples of a pixel are adjacent");
  detail::check_index(number, 3, "channel");
  return matrix_view<T>(reinterpret_cast<T*>(picture.data()) + number, picture.rows(), picture.cols(),
                        3 * picture.row_stride(), 3 * picture.col_stride());
}

}  // namespace pmpp::inline PMPP_BACKEND
