// SPDX-License-Identifier: Apache-2.0
//
// DLPack: a buffer is handed over as a tensor, as PyTorch, CuPy or JAX would receive it, comes back, and is used where it lies.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else  // the same structures, for machines without it
struct DLTensor {
  void* data;
  struct {
    int device_type;
    std::int32_t device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
#endif

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/dlpack.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

int main() {
  pmpp::device_buffer<float> x{12};
  pmpp::iota(pmpp::device, x, 0.0f);

  // [out]
  DLManagedTensor* tensor =
      pmpp::to_dlpack<DLManagedTensor>(std::move(x), {3, 4});  // what __dlpack__ wraps in a capsule
  // [end]

  // [in]
  const pmpp::dlpack_owner<DLManagedTensor> owner{tensor};  // calls the deleter in the end
  const auto elements = pmpp::dlpack_span<float>(pmpp::device, *owner);
  const auto matrix = pmpp::dlpack_matrix<const float>(pmpp::device, *owner);  // checked: device, type, rank, strides
  const float sum = pmpp::reduce(pmpp::device, elements);
  // [end]
  std::printf("%d x %d elements, sum %g\n", int(matrix.rows()), int(matrix.cols()), double(sum));
  return sum == 66 && matrix.rows() == 3 && matrix.contiguous() ? 0 : 1;
}
// Output: 3 x 4 elements, sum 66
