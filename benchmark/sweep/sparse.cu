// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices in a sweep: spmv beside cuSPARSE's two algorithms; transposed beside cuSPARSE's csr2csc; csr_from_triplets
// beside a sort of pairs by CUB, a sum of those in one place and a search for the beginnings of rows. Of the latter two each
// case draws who has the memory of the result: the caller (`into`), or the call, pmpp's as the peer's, which then also wait.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cusparse.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <pmpp/sparse.hpp>
#include <pmpp/spmv.hpp>

#include "segments.hpp"
#include "sweep.hpp"

namespace {

using namespace sweep;

void check_peer(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}
cusparseHandle_t handle() {
  static const cusparseHandle_t made = [] {
    cusparseHandle_t h = nullptr;
    check_peer(cusparseCreate(&h));
    check_peer(cusparseSetStream(h, stream()));
    return h;
  }();
  return made;
}

/// Random columns, or those next to the diagonal.
struct column_of {
  i64 cols, nonzeros;
  bool near;
  u64 seed;
  PMPP_HOST_DEVICE i64 operator()(i64 i) const {
    if (near) {
      const i64 diagonal = i64(double(i) / double(nonzeros) * double(cols - 1));
      return (diagonal + i % 27) % cols;
    }
    return i64(bits_of(seed + u64(i)) % u64(cols));
  }
};

/// Few columns are drawn only where they are enough for all nonzeros, as cuSPARSE asks.
i64 draw_columns(trial& t, i64 rows, i64 nonzeros, i64 most) {
  const i64 cols = t.draw.chance(0.7) ? rows : t.draw.log_uniform(1, most);
  return std::max({i64(1), cols, pmpp::ceil_div(nonzeros, rows)});
}

template <class T>
void multiply(trial& t) {
  t.draw_size(4 + sizeof(T), 200'000'000);
  const segments_of rows_of(t, 50'000'000);
  const i64 rows = rows_of.count, nonzeros = t.n, cols = draw_columns(t, rows, nonzeros, 10'000'000);
  const bool near = t.draw.chance(0.5);
  t.add(" " + std::to_string(cols) + " columns " + (near ? "near" : "random"));
  t.set_bytes(double(nonzeros) * (4 + sizeof(T)) + double(rows) * (4 + sizeof(T)) + double(cols) * sizeof(T));
  const int* const offsets = rows_of.offsets;
  const int* const columns = t.computed<int>(nonzeros, column_of{cols, nonzeros, near, t.draw.bits()});
  const auto values = t.input<T>(nonzeros, pattern::random);
  const auto x = t.array_at<T>(cols, 1, 0);
  fill_with_keys<<<1024, 256, 0, stream()>>>(x(0), cols, keys{pattern::random, cols, 1, 5});
  const auto [mine, theirs] = t.outputs<T>(rows);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             const pmpp::csr_view<const T, const int> A{rows, cols, offsets, columns, values(s)};
             pmpp::spmv(device(), T(1), A, static_cast<const T*>(x(0)), T(0), a);
           },
           {}};
  constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
  for (const auto algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
    cusparseSpMatDescr_t A = nullptr;
    cusparseDnVecDescr_t from = nullptr, to = nullptr;
    check_peer(cusparseCreateCsr(&A, rows, cols, nonzeros, const_cast<int*>(offsets), const_cast<int*>(columns),
                                 values(0), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    check_peer(cusparseCreateDnVec(&from, cols, x(0), type));
    check_peer(cusparseCreateDnVec(&to, rows, b, type));
    const T one = 1, zero = 0;
    std::size_t bytes = 0;
    check_peer(cusparseSpMV_bufferSize(handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, from, &zero, to, type,
                                       algorithm, &bytes));
    void* const buffer = here().memory.take(bytes + 1);
    t.peers.push_back(
        {algorithm == CUSPARSE_SPMV_CSR_ALG1 ? "cusparse 1" : "cusparse 2",
         [=](int s) {
           check_peer(cusparseCsrSetPointers(A, const_cast<int*>(offsets), const_cast<int*>(columns), values(s)));
           check_peer(cusparseSpMV(handle(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, from, &zero, to, type,
                                   algorithm, buffer));
         },
         {}});
  }
  t.fault = [=] { return difference_of(stream(), "y", a, b, rows, double(nonzeros) + 2); };
}

/// The arrays of a peer's matrix.
template <class T>
struct peer_matrix {
  pmpp::device_buffer<int> offsets, columns;
  pmpp::device_buffer<T> values;

  void allocate(i64 rows, i64 nonzeros) {
    offsets = pmpp::device_buffer<int>(rows + 1);
    columns = pmpp::device_buffer<int>(nonzeros);
    values = pmpp::device_buffer<T>(nonzeros);
  }
};

/// The peer has its buffer beforehand, as pmpp its workspace.
void turned(trial& t) {
  t.draw_size(60, 30'000'000);
  const segments_of rows_of(t, 10'000'000);
  const i64 rows = rows_of.count, nonzeros = t.n, cols = draw_columns(t, rows, nonzeros, 1'000'000);
  t.add(" " + std::to_string(cols) + " columns");
  t.back_to_back = false;
  t.set_bytes(double(nonzeros) * 16 + 4.0 * double(rows + cols));
  t.slot_count = 1;
  const int* const made = t.computed<int>(nonzeros, column_of{cols, nonzeros, false, t.draw.bits()});
  const float* const numbers = t.input<float>(nonzeros, pattern::random)(0);
  const bool into = t.draw.chance(0.5);
  t.add(into ? " into" : "");
  here().stream.synchronize();  // buffers copy in another stream
  const std::size_t entries = std::size_t(nonzeros);
  const auto matrix = std::make_shared<pmpp::device_csr_matrix<float, int>>(
      rows, cols, pmpp::device_buffer<int>(std::span(rows_of.offsets, std::size_t(rows + 1))),
      pmpp::device_buffer<int>(std::span(made, entries)), pmpp::device_buffer<float>(std::span(numbers, entries)));
  const auto mine = std::make_shared<peer_matrix<float>>(), theirs = std::make_shared<peer_matrix<float>>();
  const auto result = std::make_shared<pmpp::device_csr_matrix<float, int>>();
  mine->allocate(cols, nonzeros);
  theirs->allocate(cols, nonzeros);
  if (into)
    t.own = {"pmpp",
             [=](int) {
               pmpp::transposed_into(device(), matrix->view(), nonzeros,
                                     pmpp::csr_view<float, int>(cols, rows, mine->offsets.data(), mine->columns.data(),
                                                                mine->values.data()));
             },
             {}};
  else
    t.own = {"pmpp", [=](int) { *result = pmpp::transposed(device(), *matrix); }, {}};
  const auto view = matrix->view();
  std::size_t bytes = 0;
  check_peer(cusparseCsr2cscEx2_bufferSize(handle(), int(rows), int(cols), int(nonzeros), view.values, view.offsets,
                                           view.columns, theirs->values.data(), theirs->offsets.data(),
                                           theirs->columns.data(), CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                                           CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
  void* const buffer = here().memory.take(bytes + 1);
  t.peers.push_back({"cusparse",
                     [=](int) {
                       if (!into) theirs->allocate(cols, nonzeros);
                       const auto m = matrix->view();
                       check_peer(cusparseCsr2cscEx2(handle(), int(rows), int(cols), int(nonzeros), m.values, m.offsets,
                                                     m.columns, theirs->values.data(), theirs->offsets.data(),
                                                     theirs->columns.data(), CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                                                     CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer));
                       if (!into) here().stream.synchronize();
                     },
                     {}});
  t.fault = [=] {
    const auto own = result->view();
    const int* const offsets = into ? mine->offsets.data() : own.offsets;
    const int* const columns = into ? mine->columns.data() : own.columns;
    std::string text =
        difference_of(stream(), "offsets", offsets, static_cast<const int*>(theirs->offsets.data()), cols + 1);
    if (text.empty())
      text = difference_of(stream(), "columns", columns, static_cast<const int*>(theirs->columns.data()), nonzeros);
    return text;
  };
}

__global__ void make_places(const int* rows, const int* columns, int column_bits, u64* out, i64 n) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
    out[i] = u64(rows[i]) << column_bits | u64(columns[i]);
}
/// The columns of places in order, and where each row begins.
__global__ void split_places(const u64* places, const int* count, int column_bits, int* columns, int* offsets,
                             i64 rows) {
  const i64 threads = i64(gridDim.x) * blockDim.x, first = i64(blockIdx.x) * blockDim.x + threadIdx.x, n = *count;
  for (i64 i = first; i < n; i += threads) columns[i] = int(places[i] & ((u64(1) << column_bits) - 1));
  for (i64 row = first; row <= rows; row += threads) {
    i64 low = 0, high = n;
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (i64(places[middle] >> column_bits) < row)
        low = middle + 1;
      else
        high = middle;
    }
    offsets[row] = int(low);
  }
}
void from_triplets(trial& t) {
  t.draw_size(100, 30'000'000);
  const i64 n = t.n, rows = t.draw.log_uniform(1, 10'000'000),
            cols = t.draw.chance(0.6) ? rows : t.draw.log_uniform(1, 10'000'000);
  t.add(" " + std::to_string(rows) + " x " + std::to_string(cols));
  t.back_to_back = false;
  t.set_bytes(20.0 * double(n) + 4.0 * double(rows));
  t.slot_count = 1;
  const int* const row_of = t.computed<int>(n, column_of{rows, n, false, t.draw.bits()});
  const int* const column = t.computed<int>(n, column_of{cols, n, false, t.draw.bits()});
  const auto values = t.input<u32>(n, pattern::random);
  const bool into = t.draw.chance(0.5);
  t.add(into ? " into" : "");
  const auto mine = std::make_shared<peer_matrix<u32>>(), theirs = std::make_shared<peer_matrix<u32>>();
  const auto result = std::make_shared<pmpp::device_csr_matrix<u32, int>>();
  mine->allocate(rows, n);
  theirs->allocate(rows, n);
  int *const own_count = t.array_at<int>(1, 1, 0).first, *const found = t.array_at<int>(1, 1, 0).first;
  const std::span<const int> rows_of(row_of, std::size_t(n)), columns(column, std::size_t(n));
  if (into)
    t.own = {"pmpp",
             [=](int) {
               pmpp::csr_from_triplets_into(device(), rows_of, columns, std::span<const u32>(values(0), std::size_t(n)),
                                            pmpp::csr_view<u32, int>(rows, cols, mine->offsets.data(),
                                                                     mine->columns.data(), mine->values.data()),
                                            own_count);
             },
             {}};
  else
    t.own = {"pmpp",
             [=](int) {
               *result = pmpp::csr_from_triplets(device(), rows, cols, rows_of, columns,
                                                 std::span<const u32>(values(0), std::size_t(n)));
             },
             {}};
  u64 *const places = t.array_at<u64>(n, 1, 0).first, *const sorted = t.array_at<u64>(n, 1, 0).first;
  u32* const moved = t.array_at<u32>(n, 1, 0).first;
  const int column_bits = pmpp::detail::bits_below(cols), bits = column_bits + pmpp::detail::bits_below(rows);
  t.add_peer("cub sort and reduce", [=](void* storage, std::size_t& bytes, int) {
    std::size_t a = 0, b = 0;
    cub::DeviceRadixSort::SortPairs(nullptr, a, static_cast<const u64*>(places), sorted,
                                    static_cast<const u32*>(values(0)), moved, int(n), 0, bits, stream());
    cub::DeviceReduce::ReduceByKey(nullptr, b, sorted, places, moved, theirs->values.data(), found, cuda::std::plus<>{},
                                   int(n), stream());
    bytes = std::max(a, b);
    if (storage == nullptr) return cudaSuccess;
    if (!into) theirs->allocate(rows, n);
    make_places<<<1024, 256, 0, stream()>>>(row_of, column, column_bits, places, n);
    cub::DeviceRadixSort::SortPairs(storage, a, static_cast<const u64*>(places), sorted,
                                    static_cast<const u32*>(values(0)), moved, int(n), 0, bits, stream());
    cub::DeviceReduce::ReduceByKey(storage, b, sorted, places, moved, theirs->values.data(), found, cuda::std::plus<>{},
                                   int(n), stream());
    split_places<<<1024, 256, 0, stream()>>>(places, found, column_bits, theirs->columns.data(), theirs->offsets.data(),
                                             rows);
    if (into) return cudaGetLastError();
    int count = 0;
    cudaMemcpyAsync(&count, found, sizeof count, cudaMemcpyDeviceToHost, stream());
    return cudaStreamSynchronize(stream());
  });
  t.fault = [=]() -> std::string {
    const auto own = result->view();
    const auto one = [](const int* p) { return pmpp::to_host(stream(), std::span<const int>(p, 1))[0]; };
    const int count = one(found);
    const i64 made = into ? i64(one(own_count)) : result->nonzeros();
    if (made != count) return std::to_string(made) + " nonzeros, not " + std::to_string(count);
    std::string text =
        difference_of(stream(), "values", into ? static_cast<const u32*>(mine->values.data()) : own.values,
                      static_cast<const u32*>(theirs->values.data()), count);
    if (text.empty())
      text = difference_of(stream(), "columns", into ? static_cast<const int*>(mine->columns.data()) : own.columns,
                           static_cast<const int*>(theirs->columns.data()), count);
    if (text.empty())
      text = difference_of(stream(), "offsets", into ? static_cast<const int*>(mine->offsets.data()) : own.offsets,
                           static_cast<const int*>(theirs->offsets.data()), rows + 1);
    return text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("sparse", argc, argv,
                    {{"spmv f32", multiply<float>},
                     {"spmv f64", multiply<double>},
                     {"transposed f32", turned},
                     {"csr_from_triplets u32", from_triplets}});
}
