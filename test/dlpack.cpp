// SPDX-License-Identifier: Apache-2.0
//
// Properties of DLPack in and out:
//   a tensor is taken as what it is, without a copy: any rank without gaps, matrices with any strides, volumes; strides of
//   extents of one do not matter, nor do null strides or a byte offset
//   what does not fit is refused with both values: device, type, bits, lanes, rank, gaps, alignment, read only, version
//   a buffer that is handed over is freed by the deleter alone, once; it comes back as the same elements
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/dlpack.hpp>
#include <pmpp/reduce.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
/// What pmpp has to find in dlpack.h, which is not on this machine.
struct DLDevice {
  int device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
#endif

namespace {

/// As DLManagedTensorVersioned of DLPack 1.
struct versioned_tensor {
  struct {
    std::uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(versioned_tensor*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
static_assert(pmpp::dlpack_tensor<DLTensor> && !pmpp::dlpack_tensor<DLManagedTensor>);
static_assert(pmpp::dlpack_managed<DLManagedTensor> && pmpp::dlpack_managed<versioned_tensor>);

using pmpp::detail::dlpack_code;
static_assert(dlpack_code<std::int8_t>() == 0 && dlpack_code<std::uint64_t>() == 1 && dlpack_code<double>() == 2);
static_assert(dlpack_code<std::complex<float>>() == 5 && dlpack_code<bool>() == 6 && dlpack_code<char*>() == -1);

constexpr bool is_gpu = PMPP_CUDA != 0;
constexpr int device_kind = is_gpu ? 2 : 1;

/// A float tensor over memory of the device's.
struct described {
  std::vector<std::int64_t> shape, strides;
  DLTensor t{};

  described(void* data, std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    t.data = data;
    t.device.device_type = static_cast<decltype(t.device.device_type)>(device_kind);
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = {2, 32, 1};
    t.shape = shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
  }
};

pmpp::device_buffer<float> counted(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0.0f);
  return pmpp::device_buffer<float>{v};
}

}  // namespace

TEST_CASE("tensors come in as spans, matrices and volumes") {
  const pmpp::device_buffer<float> x = counted(24);
  float* const p = const_cast<float*>(x.data());
  const auto span_of = [](const described& d) { return pmpp::dlpack_span<const float>(pmpp::device, d.t); };
  CHECK(pmpp::reduce(pmpp::device, span_of({p, {24}})) == 276);
  CHECK(span_of({p, {2, 3, 4}}).size() == 24);
  CHECK(span_of({p, {2, 3, 4}, {12, 4, 1}}).data() == p);
  CHECK(span_of({p, {1, 6, 1, 4}, {77, 4, -5, 1}}).size() == 24);
  CHECK(span_of({p, {}}).size() == 1);
  CHECK(span_of({p, {5, 0, 3}, {9, 9, 9}}).empty());
  CHECK(span_of({nullptr, {0}}).empty());
  described offset(p, {3});
  offset.t.byte_offset = 8;
  CHECK(span_of(offset).data() == p + 2);

  const described a(p, {4, 6}), turned(p, {6, 4}, {1, 6}), v(p, {2, 3, 2}, {12, 4, 1});
  const auto m = pmpp::dlpack_matrix<float>(pmpp::device, a.t);
  const auto t = pmpp::dlpack_matrix<const float>(pmpp::device, turned.t);
  CHECK((m.rows() == 4 && m.cols() == 6 && m.contiguous() && m.data() == p));
  CHECK((t.rows() == 6 && t.cols() == 4 && &t(5, 3) == &m(3, 5)));
  const auto volume = pmpp::dlpack_volume<const float>(pmpp::device, v.t);
  CHECK((volume.depth() == 2 && volume.width() == 2 && &volume(1, 2, 1) == p + 21));
}

TEST_CASE("what does not fit is refused with both values") {
  const pmpp::device_buffer<float> x = counted(24);
  float* const p = const_cast<float*>(x.data());
  const auto refused = [&](const std::string& why, const auto& change, auto... shape) {
    described d(p, {shape...});
    change(d);
    CAPTURE(why);
    CHECK_THROWS_WITH_AS(pmpp::dlpack_span<float>(pmpp::device, d.t), ("pmpp::dlpack_span: " + why).c_str(),
                         std::invalid_argument);
  };
  const auto set_device = [](int kind) {
    return [kind](described& d) { d.t.device.device_type = static_cast<decltype(d.t.device.device_type)>(kind); };
  };
  const std::string kind = std::to_string(device_kind);
  refused("the tensor is on a device of type 10, the policy uses type " + kind, set_device(10), 24);
  refused("the tensor is on a device of type " + std::to_string(3 - device_kind) + ", the policy uses type " + kind,
          set_device(3 - device_kind), 24);
  refused(
      "the elements have type code 0, the code of those asked for is 2", [](described& d) { d.t.dtype.code = 0; }, 24);
  refused(
      "the bits of an element are 16, those asked for have 32", [](described& d) { d.t.dtype.bits = 16; }, 24);
  refused(
      "the lanes of an element are 4, it should be 1", [](described& d) { d.t.dtype.lanes = 4; }, 24);
  refused(
      "an extent of the tensor is -1, the least is 0", [](described&) {}, 3, -1);
  refused(
      "the bytes of the first element past its alignment are 2, it should be 0",
      [](described& d) { d.t.byte_offset = 6; }, 5);
  refused(
      "the tensor has gaps, stride 0 is 8, without them it would be 6",
      [](described& d) {
        d.strides = {8, 1};
        d.t.strides = d.strides.data();
      },
      3, 6);
  CHECK_THROWS_WITH_AS(pmpp::dlpack_matrix<float>(pmpp::device, described(p, {24}).t),
                       "pmpp::dlpack_matrix: the tensor has rank 1, it should be 2", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::dlpack_volume<float>(pmpp::device, described(p, {2, 3, 2}, {12, 4, 2}).t),
                       "pmpp::dlpack_volume: stride 2 is 2, it should be 1", std::invalid_argument);
  if (is_gpu) {
    described other(p, {24});
    other.t.device.device_id = 7;
    CHECK_THROWS_WITH_AS(pmpp::dlpack_span<float>(pmpp::device, other.t),
                         "pmpp::dlpack_span: the tensor is on GPU 7, the current one is 0", std::invalid_argument);
  }
  versioned_tensor later{{2, 0}, nullptr, nullptr, 0, described(p, {}).t};
  CHECK_THROWS_WITH_AS(pmpp::dlpack_span<float>(pmpp::device, later),
                       "pmpp::dlpack_span: the tensor is of DLPack version 2, known is 1", std::invalid_argument);
  versioned_tensor constant{{1, 1}, nullptr, nullptr, 1, described(p, {}).t};
  CHECK_THROWS_WITH_AS(pmpp::dlpack_span<float>(pmpp::device, constant),
                       "pmpp::dlpack_span: the tensor is read only: ask for const elements", std::invalid_argument);
  CHECK(pmpp::dlpack_span<const float>(pmpp::device, constant).size() == 1);
}

TEST_CASE_TEMPLATE("a buffer goes out, comes back, and is freed by the deleter", Managed, DLManagedTensor,
                   versioned_tensor) {
  pmpp::device_buffer<float> x = counted(24);
  const float* const p = x.data();
  CHECK_THROWS_WITH_AS(pmpp::to_dlpack<Managed>(std::move(x), {5, 5}),
                       "pmpp::to_dlpack: the buffer has 24 elements, the shape 25", std::length_error);
  CHECK_THROWS_AS(pmpp::to_dlpack<Managed>(std::move(x), {-4, -6}), std::length_error);
  CHECK_THROWS_AS(pmpp::to_dlpack<Managed>(std::move(x), {INT64_MAX, 4}), std::length_error);
  CHECK(x.size() == 24);  // still there
  Managed* out = pmpp::to_dlpack<Managed>(std::move(x), {4, 6});
  CHECK(x.empty());
  const DLTensor& t = out->dl_tensor;
  CHECK((t.data == p && int(t.device.device_type) == device_kind && t.ndim == 2 && t.byte_offset == 0));
  CHECK((t.dtype.code == 2 && t.dtype.bits == 32 && t.dtype.lanes == 1));
  CHECK((t.shape[0] == 4 && t.shape[1] == 6 && t.strides[0] == 6 && t.strides[1] == 1));
  pmpp::dlpack_owner<Managed> owner(out);
  CHECK(pmpp::dlpack_matrix<float>(pmpp::device, *owner).rows() == 4);
  CHECK(pmpp::reduce(pmpp::device, pmpp::dlpack_span<const float>(pmpp::device, *owner)) == 276);
  pmpp::dlpack_owner<Managed> next = std::move(owner);
  CHECK((owner.get() == nullptr && next.get() == out));
  next = pmpp::dlpack_owner<Managed>(pmpp::to_dlpack<Managed>(pmpp::pinned_buffer<std::int8_t>{5, 3}));
  CHECK(pmpp::reduce(pmpp::seq, pmpp::dlpack_span<const std::int8_t>(pmpp::seq, *next)) == 15);
  next = pmpp::dlpack_owner<Managed>(pmpp::to_dlpack<Managed>(pmpp::managed_buffer<bool>{0}));
  CHECK(pmpp::dlpack_span<bool>(pmpp::host, *next).empty());
  pmpp::dlpack_owner<Managed>(nullptr);
}
