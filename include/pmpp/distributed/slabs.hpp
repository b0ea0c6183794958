// SPDX-License-Identifier: Apache-2.0
//
// slabs<T, D>: an array of D = 1, 2 or 3 axes that is cut along its first one. Each rank has a slab of adjacent planes, with room for
// some of its neighbours' in front and behind: its halo. A plane is what one index of the first axis has: a matrix of a volume, a row
// of a matrix, an element of a line.
//
//   pmpp::slabs<float, 3> a{gpus, {depth, height, width}, 4};    a halo of 4 planes at both sides
//   a.part(i)            the planes of rank number i of this process: a volume_view, matrix_view or span
//   a.with_halo(i)       those and the halo around them, filled by halo.hpp
//   a.elements()         all elements but the halos, as a distributed_buffer: for reduce, transform, fill, to_host ...
//
//        halo     planes of rank 1     halo
//      +------+----------------------+------+
//      |  h   |     size_of(1)       |  h   |      in one piece of memory; the rank's own planes begin at a multiple of 256 bytes
//      +------+----------------------+------+
//
// Slabs differ by one plane at most, or have the sizes that are asked for; a rank without planes has no halo. (PMPP ch. 20.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// `planes` planes from `data` on, as the calls of one device take them.
template <class T>
std::span<T> view_of_planes(T* data, std::int64_t planes, const std::array<std::int64_t, 1>&) {
  return {data, static_cast<std::size_t>(planes)};
}
template <class T>
matrix_view<T> view_of_planes(T* data, std::int64_t planes, const std::array<std::int64_t, 2>& extents) {
  return {data, planes, extents[1]};
}
template <class T>
volume_view<T> view_of_planes(T* data, std::int64_t planes, const std::array<std::int64_t, 3>& extents) {
  return {data, planes, extents[1], extents[2]};
}

}  // namespace detail

/// An array in slabs by rank, with halos; see above. Owns its elements. Movable.
template <class T, int Dimensions = 3>
class slabs {
  static_assert(Dimensions >= 1 && Dimensions <= 3, "pmpp::slabs: 1, 2 or 3 axes");

public:
  using value_type = T;
  using extents_type = std::array<std::int64_t, Dimensions>;

  /// No elements, on no devices.
  slabs() = default;

  /// Uninitialised; slabs differ by one plane at most, the larger ones in front. A collective call: every process asks for the same.
  /// \param extents  of the whole, the first is the axis that is cut
  /// \param halo     planes of neighbours that a slab has room for, in front and behind; 0 or more. It may be more than a slab is high.
  /// \throws std::length_error for extents or a halo that are negative or too large; std::invalid_argument if processes differ;
  /// out_of_memory
  template <class P, class C>
  slabs(const devices<P, C>& gpus, const extents_type& extents, std::int64_t halo) {
    detail::checked_bytes(extents[0], 1, "slabs");
    make(gpus, extents, halo, detail::even_sizes(extents[0], gpus.size()));
  }
  /// Slabs of these numbers of planes, by rank. \throws std::invalid_argument if there is not one for each rank, or their sum is another
  template <class P, class C>
  static slabs with_sizes(const devices<P, C>& gpus, const extents_type& extents, std::int64_t halo,
                          const std::vector<std::int64_t>& planes) {
    require(planes.size() == std::size_t(gpus.size()), [&] {
      return "pmpp::slabs: " + detail::text::of(planes.size()) + " sizes for " + detail::text::of(gpus.size()) +
             " ranks";
    });
    std::int64_t sum = 0;
    for (const std::int64_t n : planes) {
      detail::checked_bytes(n, 1, "slabs");
      sum += n;
    }
    require(sum == extents[0], [&] {
      return "pmpp::slabs: the slabs have " + detail::text::of(sum) + " planes in all, the whole has " +
             detail::text::of(extents[0]);
    });
    slabs a;
    a.make(gpus, extents, halo, planes);
    return a;
  }

  const extents_type& extents() const { return extents_; }
  /// Planes of the whole, and elements of one.
  std::int64_t planes() const { return extents_[0]; }
  std::int64_t plane_size() const { return plane_; }
  /// Planes of the halo at each side.
  std::int64_t halo() const { return halo_; }
  /// The first plane of `rank` in the whole; of size() ranks: planes(). And how many it has.
  std::int64_t offset(int rank) const { return offsets_[std::size_t(rank)]; }
  std::int64_t size_of(int rank) const { return offset(rank + 1) - offset(rank); }

  /// The planes of rank number i of this process, in its memory. What calls have enqueued is in them for work on that rank's stream.
  auto part(int i) { return detail::view_of_planes(at(i, 0), size_of(rank(i)), extents_); }
  auto part(int i) const { return detail::view_of_planes<const T>(at(i, 0), size_of(rank(i)), extents_); }

  /// The same with the halo: plane z of the rank is plane halo() + z of the view. Planes outside of the whole are unspecified.
  /// \throws communication_error, on emulated devices, while the halo is being received
  auto with_halo(int i) { return around<T>(i); }
  auto with_halo(int i) const { return around<const T>(i); }

  /// All elements but those of halos, in order: a buffer whose blocks are the slabs.
  distributed_buffer<T>& elements() { return elements_; }
  const distributed_buffer<T>& elements() const { return elements_; }
  /// Takes the values from `range` on the host, in order; enqueued. \throws std::length_error if it has another number of elements
  template <contiguous_data_of<T> R>
  void copy_from(const R& range) {
    elements_.copy_from(range);
  }

  /// Plane z of rank number i here; negative ones and those from size_of(rank) on are of its halo.
  T* at(int i, std::int64_t z) const { return first_[std::size_t(i)] + z * plane_; }

private:
  int rank(int i) const { return elements_.group()->places[std::size_t(i)].rank; }
  template <class U>
  auto around(int i) const {
    const std::int64_t n = size_of(rank(i)), width = n == 0 ? 0 : halo_;
    T* const data = at(i, -width);
    elements_.group()->check_finished(data, std::size_t((n + 2 * width) * plane_) * sizeof(T));
    return detail::view_of_planes<U>(data, n + 2 * width, extents_);
  }

  template <class P, class C>
  void make(const devices<P, C>& gpus, const extents_type& extents, std::int64_t halo,
            const std::vector<std::int64_t>& planes) {
    std::size_t bytes = sizeof(T);
    for (std::size_t axis = Dimensions; --axis > 0;)
      bytes = max(std::size_t(1), detail::checked_bytes(extents[axis], bytes, "slabs"));
    static_cast<void>(detail::checked_bytes(extents[0], bytes, "slabs"));
    static_cast<void>(detail::checked_bytes(halo, 4 * bytes, "slabs"));
    std::uint64_t code = 14695981039346656037u;  // FNV-1a of the words: what is equal has one
    const auto add = [&](std::int64_t word) { code = (code ^ std::uint64_t(word)) * 1099511628211u; };
    for (const std::int64_t n : extents) add(n);
    for (const std::int64_t n : planes) add(n);
    add(halo);
    detail::require_agreement(gpus, "slabs", "a number made of extents, halo and sizes", std::int64_t(code >> 1));

    extents_ = extents;
    halo_ = halo;
    plane_ = 1;
    for (std::size_t axis = 1; axis < Dimensions; ++axis) plane_ *= extents[axis];
    offsets_ = {0};
    for (const std::int64_t n : planes) offsets_.push_back(offsets_.back() + n);
    std::int64_t in_front = halo * plane_;  // so that a rank's own planes begin where an allocation could
    while (std::size_t(in_front) * sizeof(T) % detail::allocation_alignment != 0) ++in_front;
    const auto group = gpus.group();
    const auto count = [&](int i) { return planes[std::size_t(gpus.rank(i))]; };
    memory_ =
        detail::arrays_of<T>(*group, [&](int i) { return count(i) == 0 ? 0 : in_front + (count(i) + halo) * plane_; });
    std::vector<std::span<T>> parts;
    std::vector<std::int64_t> sizes;
    for (int i = 0; i < gpus.local_size(); ++i) {
      T* const data = memory_[std::size_t(i)].data();
      first_.push_back(data == nullptr ? nullptr : data + in_front);
      parts.emplace_back(first_.back(), static_cast<std::size_t>(count(i) * plane_));
    }
    for (const std::int64_t n : planes) sizes.push_back(n * plane_);
    elements_.refer(group, sizes, parts);
  }

  extents_type extents_{};
  std::int64_t halo_ = 0, plane_ = 0;
  std::vector<std::int64_t> offsets_{0};
  std::vector<detail::rank_array<T>> memory_;  // of the ranks here
  std::vector<T*> first_;                      // their own planes
  distributed_buffer<T> elements_;             // refers to memory_
};

namespace detail {

/// \throws std::invalid_argument if a lies on other devices
template <class P, class C, class T, int D>
void require_on(const char* function, const char* argument, const devices<P, C>& gpus, const slabs<T, D>& a) {
  detail::require_on(function, argument, gpus, a.elements());
}

}  // namespace detail

/// All elements of a, in order, on every process. As of a.elements().
template <class P, class C, class T, int D>
std::vector<T> to_host(const devices<P, C>& gpus, const slabs<T, D>& a) {
  return pmpp::to_host(gpus, a.elements());
}

}  // namespace pmpp::inline PMPP_BACKEND
