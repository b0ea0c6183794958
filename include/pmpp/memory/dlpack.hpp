// SPDX-License-Identifier: Apache-2.0
//
// Tensors of other libraries by DLPack, and buffers as such tensors, without a copy.
//
//   #include <dlpack/dlpack.h>                                              // yours: any version, this header includes none
//   pmpp::dlpack_owner<DLManagedTensor> owner{received};                    // calls its deleter in the end
//   auto x = pmpp::dlpack_span<float>(pmpp::device, *received);             // std::span, any rank, without gaps
//   auto a = pmpp::dlpack_matrix<const float>(pmpp::device, *received);     // matrix_view, any strides
//   auto v = pmpp::dlpack_volume<float>(pmpp::device, *received);           // volume_view, rows without gaps
//   DLManagedTensor* given = pmpp::to_dlpack<DLManagedTensor>(std::move(buffer), {rows, cols});
//
// A tensor is taken where the policy can use it as the type that is asked for, and refused in a sentence else: memory of another
// kind or GPU, other elements, another rank, gaps, no alignment, read only. Who hands over a tensor and who receives it see to it
// that the work that writes it is ordered before the work that reads it: in Python that is the `stream` of __dlpack__.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What dlpack.h calls DLTensor.
template <class M>
concept dlpack_tensor = requires(const M& t) {
  t.data;
  t.device.device_type;
  t.device.device_id;
  t.ndim;
  t.dtype.code;
  t.dtype.bits;
  t.dtype.lanes;
  t.shape;
  t.strides;
  t.byte_offset;
};

/// What it calls DLManagedTensor, or DLManagedTensorVersioned.
template <class M>
concept dlpack_managed = requires(M& m, M* p) {
  requires dlpack_tensor<std::remove_cvref_t<decltype(m.dl_tensor)>>;
  m.manager_ctx;
  m.deleter(p);
};

namespace detail {

/// The numbers of dlpack.h.
struct dlpack_device {
  static constexpr int cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13;
};

/// The code of a type of elements: 0 int, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool; -1: none.
template <class T>
constexpr int dlpack_code() {
  if constexpr (std::is_same_v<T, bool>)
    return 6;
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? 0 : 1;
  else if constexpr (is_bfloat16<T>)
    return 4;
  else if constexpr (std::is_floating_point_v<T> || is_half<T>)
    return 2;
  else if constexpr (requires(const T& x) {
                       typename T::value_type;
                       x.real();
                       x.imag();
                     })
    return 5;
  else
    return -1;
}

template <class M>
const auto& tensor_in(const M& m) {
  if constexpr (dlpack_tensor<M>)
    return m;
  else
    return m.dl_tensor;
}

/// Whether kernels or threads of P use memory of that kind.
template <class P>
bool reaches_dlpack(int kind) {
  return kind == dlpack_device::cuda_host || kind == dlpack_device::cuda_managed ||
         kind == (gpu_execution<P> ? dlpack_device::cuda : dlpack_device::cpu);
}

/// The first element of a tensor that P may use as elements of type T.
template <class T, class P, class M>
T* dlpack_data(const char* function, const P&, const M& managed, int rank) {
  using element = std::remove_const_t<T>;
  static_assert(dlpack_code<element>() >= 0 && std::is_trivially_copyable_v<element>,
                "pmpp: DLPack has no name for elements of this type: they are numbers, complex numbers or bool");
  const auto& t = detail::tensor_in(managed);
  const auto refuse = [&](const char* what, std::int64_t is, const char* wanted, std::int64_t should) {
    detail::throw_invalid_argument(detail::text("pmpp::") + function + ": " + what + detail::text::of(is) + wanted +
                                   detail::text::of(should));
  };
  const int kind = static_cast<int>(t.device.device_type);
  if (!reaches_dlpack<P>(kind))
    refuse("the tensor is on a device of type ", kind, ", the policy uses type ",
           gpu_execution<P> ? dlpack_device::cuda : dlpack_device::cpu);
  if (kind == dlpack_device::cuda && t.device.device_id != current_device())
    refuse("the tensor is on GPU ", t.device.device_id, ", the current one is ", current_device());
  if (t.dtype.code != dlpack_code<element>())
    refuse("the elements have type code ", t.dtype.code, ", the code of those asked for is ", dlpack_code<element>());
  if (t.dtype.bits != 8 * sizeof(element))
    refuse("the bits of an element are ", t.dtype.bits, ", those asked for have ", 8 * sizeof(element));
  if (t.dtype.lanes != 1) refuse("the lanes of an element are ", t.dtype.lanes, ", it should be ", 1);
  if (rank >= 0 && t.ndim != rank) refuse("the tensor has rank ", t.ndim, ", it should be ", rank);
  for (int i = 0; i < t.ndim; ++i)
    if (t.shape[i] < 0) refuse("an extent of the tensor is ", t.shape[i], ", the least is ", 0);
  if constexpr (requires { managed.version.major; }) {
    if (managed.version.major != 1) refuse("the tensor is of DLPack version ", managed.version.major, ", known is ", 1);
    if (!std::is_const_v<T> && (managed.flags & 1) != 0)
      detail::throw_invalid_argument(detail::text("pmpp::") + function +
                                     ": the tensor is read only: ask for const elements");
  }
  auto* data = static_cast<std::byte*>(t.data);
  if (data != nullptr) data += t.byte_offset;
  if (const auto past = reinterpret_cast<std::uintptr_t>(data) % alignof(element); past != 0)
    refuse("the bytes of the first element past its alignment are ", std::int64_t(past), ", it should be ", 0);
  return reinterpret_cast<T*>(data);
}

/// The elements from one index to the next; a tensor without strides lies row by row.
template <class M>
std::int64_t dlpack_stride(const M& t, int dimension) {
  if (t.strides != nullptr) return t.strides[dimension];
  std::int64_t stride = 1;
  for (int i = dimension + 1; i < t.ndim; ++i) stride *= t.shape[i];
  return stride;
}

}  // namespace detail

/// The elements of a tensor of any rank that lies row by row without gaps; a tensor of rank 0 has one.
/// \param where   the policy that will use them; for `device` on a GPU the tensor is the current GPU's, pinned or managed
/// \param tensor  DLTensor, DLManagedTensor or DLManagedTensorVersioned. The elements stay its own.
/// \throws std::invalid_argument with what the tensor is and what it should be
/// Example: examples/42_tensors_by_dlpack.cpp
template <class T, execution_policy P, class M>
requires(dlpack_tensor<M> || dlpack_managed<M>) std::span<T> dlpack_span(const P& where, const M& tensor) {
  T* const data = detail::dlpack_data<T>("dlpack_span", where, tensor, -1);
  const auto& t = detail::tensor_in(tensor);
  std::int64_t count = 1;
  for (int i = 0; i < t.ndim; ++i) count *= t.shape[i];
  std::int64_t wanted = 1;
  for (int i = t.ndim - 1; i >= 0 && count > 0; --i) {
    if (const std::int64_t stride = detail::dlpack_stride(t, i); t.shape[i] > 1 && stride != wanted)
      detail::throw_invalid_argument(detail::text("pmpp::dlpack_span: the tensor has gaps, stride ") +
                                     detail::text::of(i) + " is " + detail::text::of(stride) +
                                     ", without them it would be " + detail::text::of(wanted));
    wanted *= t.shape[i];
  }
  return {data, static_cast<std::size_t>(count)};
}

/// A tensor of rank 2 with any strides. As dlpack_span else.
template <class T, execution_policy P, class M>
requires(dlpack_tensor<M> || dlpack_managed<M>) matrix_view<T> dlpack_matrix(const P& where, const M& tensor) {
  T* const data = detail::dlpack_data<T>("dlpack_matrix", where, tensor, 2);
  const auto& t = detail::tensor_in(tensor);
  return {data, std::int64_t(t.shape[0]), std::int64_t(t.shape[1]), detail::dlpack_stride(t, 0),
          detail::dlpack_stride(t, 1)};
}

/// A tensor of rank 3 whose last index is the fastest. As dlpack_span else.
template <class T, execution_policy P, class M>
requires(dlpack_tensor<M> || dlpack_managed<M>) volume_view<T> dlpack_volume(const P& where, const M& tensor) {
  T* const data = detail::dlpack_data<T>("dlpack_volume", where, tensor, 3);
  const auto& t = detail::tensor_in(tensor);
  if (const std::int64_t stride = detail::dlpack_stride(t, 2); stride != 1 && t.shape[2] > 1)
    detail::throw_invalid_argument(detail::text("pmpp::dlpack_volume: stride 2 is ") + detail::text::of(stride) +
                                   ", it should be 1");
  return {data,
          std::int64_t(t.shape[0]),
          std::int64_t(t.shape[1]),
          std::int64_t(t.shape[2]),
          detail::dlpack_stride(t, 1),
          detail::dlpack_stride(t, 0)};
}

/// Owns a tensor that was handed over: calls its deleter once, if it has one. Movable.
template <dlpack_managed Managed>
class dlpack_owner {
public:
  explicit dlpack_owner(Managed* received) noexcept : tensor_(received) {}
  dlpack_owner(dlpack_owner&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  dlpack_owner& operator=(dlpack_owner&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~dlpack_owner() {
    if (tensor_ != nullptr && tensor_->deleter != nullptr) tensor_->deleter(tensor_);
  }
  Managed& operator*() const noexcept { return *tensor_; }
  Managed* get() const noexcept { return tensor_; }

private:
  Managed* tensor_;
};

namespace detail {

template <class B>
inline constexpr int dlpack_kind = 0;
template <class T>
inline constexpr int dlpack_kind<device_buffer<T>> = PMPP_CUDA ? dlpack_device::cuda : dlpack_device::cpu;
template <class T>
inline constexpr int dlpack_kind<pinned_buffer<T>> = PMPP_CUDA ? dlpack_device::cuda_host : dlpack_device::cpu;
template <class T>
inline constexpr int dlpack_kind<managed_buffer<T>> = PMPP_CUDA ? dlpack_device::cuda_managed : dlpack_device::cpu;

/// A buffer with what points to it, until the receiver is done.
template <class Managed, class Buffer>
struct dlpack_export {
  Managed managed{};
  Buffer buffer;
  std::vector<std::int64_t> shape, strides;

  static void destroy(Managed* m) { delete static_cast<dlpack_export*>(m->manager_ctx); }
};

}  // namespace detail

/// Hands `buffer` over as a tensor of the given shape, row by row; its deleter frees the buffer. Nothing is copied or waited for.
/// \param buffer  a device_buffer, pinned_buffer or managed_buffer. One in the order of a stream is freed in that order.
/// \param shape   the extents, the last the fastest; empty: one dimension
/// \return a DLManagedTensor or DLManagedTensorVersioned, the caller's or the receiver's to delete by its deleter
/// \throws std::length_error unless the extents multiply to the buffer's size, std::bad_alloc; the buffer then stays as it is
/// Example: examples/42_tensors_by_dlpack.cpp
template <dlpack_managed Managed, class Buffer>
requires(detail::dlpack_kind<Buffer> != 0) Managed* to_dlpack(Buffer&& buffer,
                                                              std::initializer_list<std::int64_t> shape = {}) {
  using T = typename Buffer::value_type;
  static_assert(detail::dlpack_code<T>() >= 0,
                "pmpp: DLPack has no name for elements of this type: they are numbers, complex numbers or bool");
  using holder_type = detail::dlpack_export<Managed, Buffer>;
  std::vector<std::int64_t> extents(shape);
  if (extents.empty()) extents.push_back(static_cast<std::int64_t>(buffer.size()));
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t count = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    strides[i] = count;
    if (extents[i] < 0 || __builtin_mul_overflow(count, extents[i], &count)) count = -1;
    if (count < 0) break;
  }
  if (count != static_cast<std::int64_t>(buffer.size()))
    detail::throw_length_error(detail::text("pmpp::to_dlpack: the buffer has ") + detail::text::of(buffer.size()) +
                               " elements, the shape " + (count < 0 ? "is none" : detail::text::of(count)));
  int gpu = 0;
#if PMPP_CUDA
  if (!buffer.empty() && detail::dlpack_kind<Buffer> == detail::dlpack_device::cuda) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, buffer.data()), "cudaPointerGetAttributes");
    gpu = attributes.device;
  }
#endif
  auto* holder = new holder_type{{}, std::move(buffer), std::move(extents), std::move(strides)};
  Managed& m = holder->managed;
  auto& t = m.dl_tensor;
  t.data = holder->buffer.data();
  t.device.device_type =
      static_cast<std::remove_reference_t<decltype(t.device.device_type)>>(detail::dlpack_kind<Buffer>);
  t.device.device_id = gpu;
  t.ndim = static_cast<std::remove_reference_t<decltype(t.ndim)>>(holder->shape.size());
  t.dtype.code = static_cast<std::uint8_t>(detail::dlpack_code<T>());
  t.dtype.bits = static_cast<std::uint8_t>(8 * sizeof(T));
  t.dtype.lanes = 1;
  t.shape = holder->shape.data();
  t.strides = holder->strides.data();
  t.byte_offset = 0;
  m.manager_ctx = holder;
  m.deleter = holder_type::destroy;
  if constexpr (requires { m.version.major; }) m.version = {1, 0};
  return &m;
}

}  // namespace pmpp::inline PMPP_BACKEND
