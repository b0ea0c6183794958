// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices times dense ones, and sparse matrices made on the device, beside cuSPARSE.
//
// spmm               C <- A B for 4, 8 and 32 columns, B and C row-major; peers: cusparseSpMM's two algorithms for CSR and
//                    row-major columns, with descriptors and a buffer made beforehand and no preprocessing
// transposed         rows become columns; the call allocates its result and waits. Peer: cusparseCsr2cscEx2 into memory that
//                    is there already
// csr_from_triplets  2^24 nonzeros at random in 2^20 rows; allocates and waits. Peer: cusparseXcoosortByRow, a gather of the
//                    values and cusparseXcoo2csr, which do not add up duplicates
//
// The matrices are those of support/patterns.hpp. Declared bytes: every array of the operands read once, every one of the
// result written once. Without cuSPARSE pmpp is measured alone.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <pmpp/sparse.hpp>
#include <pmpp/spmm.hpp>

#ifdef PMPP_BENCH_HAS_CUSPARSE
#include <cusparse.h>
#endif

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/patterns.hpp"
#include "support/report.hpp"

namespace {

using bench::pattern;
using bench::pattern_named;
using bench::subject;

#ifdef PMPP_BENCH_HAS_CUSPARSE
void check_peer(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

cusparseHandle_t handle() {
  static const cusparseHandle_t handle = [] {
    cusparseHandle_t h;
    check_peer(cusparseCreate(&h));
    check_peer(cusparseSetStream(h, bench::here().stream));
    return h;
  }();
  return handle;
}

template <class T>
std::function<void(int)> cusparse_spmm(cusparseSpMMAlg_t algorithm, const pattern& p, const int* offsets,
                                       const int* columns, const T* values, const T* b, T* c, int width) {
  constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
  constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  cusparseSpMatDescr_t matrix;
  cusparseDnMatDescr_t from, to;
  check_peer(cusparseCreateCsr(&matrix, p.rows, p.cols, p.nonzeros(), const_cast<int*>(offsets),
                               const_cast<int*>(columns), const_cast<T*>(values), CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
  check_peer(cusparseCreateDnMat(&from, p.cols, width, width, const_cast<T*>(b), type, CUSPARSE_ORDER_ROW));
  check_peer(cusparseCreateDnMat(&to, p.rows, width, width, c, type, CUSPARSE_ORDER_ROW));
  const T alpha = 1, beta = 0;
  std::size_t bytes = 0;
  check_peer(cusparseSpMM_bufferSize(handle(), plain, plain, &alpha, matrix, from, &beta, to, type, algorithm, &bytes));
  auto buffer = std::make_shared<pmpp::device_buffer<unsigned char>>(std::int64_t(bytes) + 1);
  return [=](int) {
    const T one = 1, zero = 0;
    check_peer(cusparseSpMM(handle(), plain, plain, &one, matrix, from, &zero, to, type, algorithm, buffer->data()));
  };
}
#endif

#ifdef PMPP_BENCH_SWEEP
constexpr pmpp::spmm_tuning tunings[] = {{256, 8, 4, 128, 4}, {256, 8, 4, 128, 8},     {256, 8, 3, 128},
                                         {256, 8, 4, 64},     {256, 8, 3, 128, 16, 8}, {256, 4, 4, 128}};

/// Other tunings, as peers of the usual one.
template <int I = 0, class Multiply>
void add_tunings(subject& s, const Multiply& multiply) {
  if constexpr (I < int(std::size(tunings))) {
    constexpr pmpp::spmm_tuning t = tunings[I];
    s.contenders.push_back({std::to_string(t.items) + " items, " + std::to_string(t.min_blocks) + " blocks, " +
                                std::to_string(t.pieces) + " pieces, " + std::to_string(t.vector) + " bytes, " +
                                std::to_string(t.batch) + " a batch",
                            [=](int w) { multiply(w, std::integral_constant<int, I>()); }});
    add_tunings<I + 1>(s, multiply);
  }
}
#endif

/// The data is larger than the caches several times over: one window.
template <class T>
void add_spmm(const std::string& shape, int width) {
  const std::string type = std::is_same_v<T, float> ? "/f32/" : "/f64/";
  const pattern& p = pattern_named(shape);
  const double bytes =
      double(p.nonzeros()) * (4 + sizeof(T)) + 4 * double(p.rows) + double(p.rows + p.cols) * width * sizeof(T);
  bench::add("spmm" + type + std::to_string(width) + "/" + shape, p.nonzeros() * width, bytes, [=, &p](int) {
    auto columns = std::make_shared<pmpp::device_buffer<int>>(p.columns);
    auto offsets = std::make_shared<pmpp::device_buffer<int>>(p.offsets);
    auto values = bench::random_array<T>(p.nonzeros(), 0);
    auto b = bench::random_array<T>(p.cols * width, bench::second);
    auto c = bench::array<T>(p.rows * width);
    const pmpp::csr_view<const T, const int> A{p.rows, p.cols, offsets->data(), columns->data(), values->data()};
    const pmpp::matrix_view<const T> B{b->data(), p.cols, width};
    const pmpp::matrix_view<T> C{c->data(), p.rows, width};
    subject s;
    s.contenders = {{"pmpp", [=](int) {
                       (void)columns, (void)offsets, (void)values, (void)b, (void)c;  // they live as long as the call
                       pmpp::spmm(bench::device(), 1, A, B, 0, C);
                     }}};
#ifdef PMPP_BENCH_HAS_CUSPARSE
    for (const auto& [peer, algorithm] :
         {std::pair("cusparse 2", CUSPARSE_SPMM_CSR_ALG2), std::pair("cusparse 3", CUSPARSE_SPMM_CSR_ALG3)})
      s.contenders.push_back({peer, cusparse_spmm<T>(algorithm, p, offsets->data(), columns->data(), values->data(),
                                                     b->data(), c->data(), width)});
#endif
#ifdef PMPP_BENCH_SWEEP
    if constexpr (std::is_same_v<T, float>)
      add_tunings(s, [=](int, auto i) { pmpp::spmm<tunings[i]>(bench::device(), 1, A, B, 0, C); });
#endif
    s.spoil = [=] { bench::spoil(c); };
    // One element of each row is compared, another one in each.
    auto wanted = std::make_shared<std::vector<double>>(p.rows);
    auto magnitude = std::make_shared<std::vector<double>>(p.rows);
    pmpp::host_loop::parallel_ranges(pmpp::host, p.rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (int i = p.offsets[std::size_t(row)]; i < p.offsets[std::size_t(row) + 1]; ++i) {
          const double product = double(bench::random_element<T>{}(i)) *
                                 double(bench::random_element<T>{}(
                                     bench::second + std::int64_t(p.columns[std::size_t(i)]) * width + row % width));
          (*wanted)[std::size_t(row)] += product;
          (*magnitude)[std::size_t(row)] += std::abs(product);
        }
    });
    s.fault = [=, &p]() -> std::string {
      const std::vector<T> got = pmpp::to_host(*c);
      for (std::size_t row = 0; row < wanted->size(); ++row) {
        const double bound =
            double(p.offsets[row + 1] - p.offsets[row] + 1) * double(std::numeric_limits<T>::epsilon());
        const double result = double(got[row * std::size_t(width) + row % std::size_t(width)]);
        if (!(std::abs(result - (*wanted)[row]) <= std::min(bound, 1e-4) * (*magnitude)[row]))
          return "row " + std::to_string(row) + ": " + std::to_string(result) + " instead of " +
                 std::to_string((*wanted)[row]);
      }
      return "";
    };
    return s;
  });
}

/// The result of one contender, and whether it is the host's.
struct made_matrix {
  pmpp::device_csr_matrix<float> own;         ///< pmpp's
  pmpp::device_buffer<int> offsets, columns;  ///< the peer's
  pmpp::device_buffer<float> values;
  bool is_own = false;

  std::vector<int> offsets_of() const {
    if (!is_own) return pmpp::to_host(offsets);
    return own.to_host().offsets();
  }
  /// Every nonzero says where it belongs: 1 + column of the source in 2^24.
  std::vector<int> columns_of() const { return is_own ? own.to_host().columns() : pmpp::to_host(columns); }
};

void add_transposed(const std::string& shape) {
  const pattern& p = pattern_named(shape);
  const double bytes = 2.0 * double(p.nonzeros()) * 8 + 4.0 * double(p.rows + p.cols);
  bench::add("transposed/f32/" + shape, p.nonzeros(), bytes, [=, &p](int) {
    auto source = std::make_shared<pmpp::device_csr_matrix<float>>(p.rows, p.cols, pmpp::device_buffer<int>(p.offsets),
                                                                   pmpp::device_buffer<int>(p.columns),
                                                                   pmpp::device_buffer<float>(p.nonzeros(), 1.0f));
    auto made = std::make_shared<made_matrix>();
    subject s;
    s.clock = bench::timer::host;
    s.contenders = {{"pmpp", [=](int) {
                       made->own = transposed(bench::device(), *source);
                       made->is_own = true;
                     }}};
#ifdef PMPP_BENCH_HAS_CUSPARSE
    made->offsets = pmpp::device_buffer<int>(p.cols + 1);
    made->columns = pmpp::device_buffer<int>(p.nonzeros());
    made->values = pmpp::device_buffer<float>(p.nonzeros());
    const auto A = source->view();
    const int rows = int(p.rows), cols = int(p.cols), count = int(p.nonzeros());
    std::size_t room = 0;
    check_peer(cusparseCsr2cscEx2_bufferSize(handle(), rows, cols, count, A.values, A.offsets, A.columns,
                                             made->values.data(), made->offsets.data(), made->columns.data(),
                                             CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                             CUSPARSE_CSR2CSC_ALG_DEFAULT, &room));
    auto buffer = std::make_shared<pmpp::device_buffer<unsigned char>>(std::int64_t(room) + 1);
    s.contenders.push_back({"cusparse", [=](int) {
                              check_peer(cusparseCsr2cscEx2(
                                  handle(), rows, cols, count, A.values, A.offsets, A.columns, made->values.data(),
                                  made->offsets.data(), made->columns.data(), CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
                                  CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer->data()));
                              bench::here().stream.synchronize();
                              made->is_own = false;
                            }});
#endif
    // As many nonzeros in each row of the result as in that column of the source, and the rows they came from ascend.
    s.fault = [=, &p]() -> std::string {
      std::vector<int> wanted(std::size_t(p.cols) + 1);
      for (const int column : p.columns) ++wanted[std::size_t(column) + 1];
      for (std::size_t i = 0; i < std::size_t(p.cols); ++i) wanted[i + 1] += wanted[i];
      const std::vector<int> offsets = made->offsets_of(), columns = made->columns_of();
      if (offsets != wanted) return "the offsets are wrong";
      for (std::size_t row = 0; row < std::size_t(p.cols); ++row)
        for (auto i = std::size_t(offsets[row]) + 1; i < std::size_t(offsets[row + 1]); ++i)
          if (columns[i - 1] > columns[i]) return "row " + std::to_string(row) + " is not in order";
      return "";
    };
    return s;
  });
}

void add_from_triplets() {
  constexpr std::int64_t count = std::int64_t(1) << 24, rows = std::int64_t(1) << 20;
  bench::add("csr_from_triplets/f32/random", count, double(count) * 20 + 4.0 * double(rows), [=](int) {
    std::vector<int> row_of(count), column_of(count);
    std::vector<int> wanted(rows + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      row_of[std::size_t(i)] = int(bench::random_below(2 * i, rows));
      column_of[std::size_t(i)] = int(bench::random_below(2 * i + 1, rows));
      ++wanted[std::size_t(row_of[std::size_t(i)]) + 1];
    }
    for (std::size_t i = 0; i < std::size_t(rows); ++i) wanted[i + 1] += wanted[i];
    auto from_rows = std::make_shared<pmpp::device_buffer<int>>(row_of);
    auto from_columns = std::make_shared<pmpp::device_buffer<int>>(column_of);
    auto values = bench::random_array<float>(count, 0);
    auto made = std::make_shared<made_matrix>();
    subject s;
    s.clock = bench::timer::host;
    s.contenders = {{"pmpp", [=](int) {
                       made->own =
                           pmpp::csr_from_triplets(bench::device(), rows, rows, *from_rows, *from_columns, *values);
                       made->is_own = true;
                     }}};
#ifdef PMPP_BENCH_HAS_CUSPARSE
    // It sorts in place: rows, columns and the permutation are copied first, as a caller who keeps his data would.
    made->offsets = pmpp::device_buffer<int>(rows + 1);
    made->columns = pmpp::device_buffer<int>(count);
    made->values = pmpp::device_buffer<float>(count);
    auto sorted_rows = bench::array<int>(count), order = bench::array<int>(count);
    std::vector<int> identity(count);
    for (std::int64_t i = 0; i < count; ++i) identity[std::size_t(i)] = int(i);
    auto in_order = std::make_shared<pmpp::device_buffer<int>>(identity);
    std::size_t room = 0;
    check_peer(cusparseXcoosort_bufferSizeExt(handle(), int(rows), int(rows), int(count), sorted_rows->data(),
                                              made->columns.data(), &room));
    auto buffer = std::make_shared<pmpp::device_buffer<unsigned char>>(std::int64_t(room) + 1);
    s.contenders.push_back({"cusparse", [=](int) {
                              const pmpp::stream& stream = bench::here().stream;
                              pmpp::copy(stream, *from_rows, *sorted_rows);
                              pmpp::copy(stream, *from_columns, made->columns);
                              pmpp::copy(stream, *in_order, *order);
                              check_peer(cusparseXcoosortByRow(handle(), int(rows), int(rows), int(count),
                                                               sorted_rows->data(), made->columns.data(), order->data(),
                                                               buffer->data()));
                              cusparseSpVecDescr_t target;
                              cusparseDnVecDescr_t source;
                              check_peer(cusparseCreateSpVec(&target, count, count, order->data(), made->values.data(),
                                                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
                              check_peer(cusparseCreateDnVec(&source, count, values->data(), CUDA_R_32F));
                              check_peer(cusparseGather(handle(), source, target));
                              check_peer(cusparseXcoo2csr(handle(), sorted_rows->data(), int(count), int(rows),
                                                          made->offsets.data(), CUSPARSE_INDEX_BASE_ZERO));
                              stream.synchronize();
                              check_peer(cusparseDestroySpVec(target));
                              check_peer(cusparseDestroyDnVec(source));
                              made->is_own = false;
                            }});
#endif
    s.fault = [=]() -> std::string {
      const std::vector<int> offsets = made->offsets_of();
      // pmpp adds up what is in one place: a few of the nonzeros.
      if (made->is_own ? offsets.back() > count || offsets.back() < count - 1000 : offsets != wanted)
        return "the offsets are wrong";
      return "";
    };
    return s;
  });
}

void add_cases() {
  for (const char* const shape : {"band", "random", "short", "power law", "one long", "small"}) {
    for (const int width : {4, 8, 32}) add_spmm<float>(shape, width);
    add_spmm<double>(shape, 8);
  }
  for (const char* const shape : {"random", "power law"}) add_transposed(shape);
  add_from_triplets();
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
