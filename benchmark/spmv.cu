// SPDX-License-Identifier: Apache-2.0
//
// y <- A x beside cuSPARSE's two algorithms for CSR: pmpp enqueues with a workspace, cuSPARSE with descriptors and a
// buffer made beforehand and no preprocessing; device time. Without cuSPARSE pmpp is measured alone.
//
// The matrices are those of support/patterns.hpp and the ones in PMPP_TEST_DATA_DIR, by their names, where zlib can unpack
// them; their values are replaced.
//
// Indices are 32 bits; matrix and vectors are f32 or f64. Declared bytes: offsets, columns, values and x read once, y
// written once. Every row of the result is compared with the host's in double precision.
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <pmpp/io/matrix_market.hpp>
#include <pmpp/spmv.hpp>

#ifdef PMPP_BENCH_HAS_CUSPARSE
#include <cusparse.h>
#endif
#ifdef PMPP_BENCH_HAS_ZLIB
#include <zlib.h>
#endif

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/patterns.hpp"
#include "support/report.hpp"

namespace {

using bench::pattern;
using bench::pattern_named;
using bench::patterns;
using bench::subject;

/// Adds the matrices of more than 10^5 nonzeros in PMPP_TEST_DATA_DIR/matrices to the patterns, and returns their names.
std::vector<std::string> read_matrices() {
  std::vector<std::string> names;
#ifdef PMPP_BENCH_HAS_ZLIB
  const char* const folder = std::getenv("PMPP_TEST_DATA_DIR");
  if (folder == nullptr || !std::filesystem::is_directory(std::string(folder) + "/matrices")) return names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(folder) + "/matrices")) {
    const std::string path = entry.path().string();
    if (path.find(".mtx") == std::string::npos) continue;
    const gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) continue;
    std::string text;
    std::vector<char> piece(1 << 18);
    for (int got; (got = gzread(file, piece.data(), unsigned(piece.size()))) > 0;)
      text.append(piece.data(), std::size_t(got));
    gzclose(file);
    try {
      const auto A = pmpp::parse_matrix_market<float>(text, path);
      if (A.nonzeros() <= 100000) continue;
      names.push_back(entry.path().stem().stem().string());
      patterns[names.back()] = {A.rows(), A.cols(), A.offsets(), A.columns()};
    } catch (const std::runtime_error& e) {
      std::fprintf(stderr, "left out: %s\n", e.what());
    }
  }
  std::sort(names.begin(), names.end());
#endif
  return names;
}

/// What is wrong with y, compared row by row.
template <class T>
std::string fault_of(const pattern& p, const std::vector<T>& y, const std::vector<double>& wanted,
                     const std::vector<double>& magnitude) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double bound = double(p.offsets[i + 1] - p.offsets[i] + 1) * double(std::numeric_limits<T>::epsilon());
    const double error = std::abs(double(y[i]) - wanted[i]);
    if (!(error <= std::min(bound, 1e-4) * magnitude[i]))
      return "row " + std::to_string(i) + ": " + std::to_string(y[i]) + " instead of " + std::to_string(wanted[i]);
  }
  return "";
}

#ifdef PMPP_BENCH_HAS_CUSPARSE
void check_peer(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

/// cusparseSpMV, its descriptors made for each window.
template <class T>
std::function<void(int)> cusparse_call(cusparseSpMVAlg_t algorithm, const pattern& p, const int* offsets,
                                       const int* columns, const T* values, const T* x, T* y, int windows) {
  static const cusparseHandle_t handle = [] {
    cusparseHandle_t h;
    check_peer(cusparseCreate(&h));
    check_peer(cusparseSetStream(h, bench::here().stream));
    return h;
  }();
  constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
  std::vector<cusparseSpMatDescr_t> matrices(std::size_t(windows), nullptr);
  for (int w = 0; w < windows; ++w)
    check_peer(cusparseCreateCsr(&matrices[std::size_t(w)], p.rows, p.cols, p.nonzeros(), const_cast<int*>(offsets),
                                 const_cast<int*>(columns + w * p.nonzeros()),
                                 const_cast<T*>(values + w * p.nonzeros()), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, type));
  cusparseDnVecDescr_t from, to;
  check_peer(cusparseCreateDnVec(&from, p.cols, const_cast<T*>(x), type));
  check_peer(cusparseCreateDnVec(&to, p.rows, y, type));
  const T alpha = 1, beta = 0;
  std::size_t bytes = 0;
  check_peer(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrices[0], from, &beta, to,
                                     type, algorithm, &bytes));
  auto buffer = std::make_shared<pmpp::device_buffer<unsigned char>>(std::int64_t(bytes) + 1);
  return [=](int w) {
    check_peer(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrices[std::size_t(w)], from, &beta, to,
                            type, algorithm, buffer->data()));
  };
}
#endif

#ifdef PMPP_BENCH_SWEEP
constexpr pmpp::spmv_tuning tunings[] = {{256, 8, 4, 2, 16}, {256, 8, 4, 3, 16}, {256, 8, 4, 6, 16},
                                         {256, 8, 4, 8, 16}, {256, 8, 4, 4, 32}, {512, 8, 2, 4, 16},
                                         {128, 8, 8, 2, 16}, {256, 8, 3, 4, 16}};

/// Other tunings, as peers of the usual one.
template <int I = 0, class Multiply>
void add_tunings(subject& s, const Multiply& multiply) {
  if constexpr (I < int(std::size(tunings))) {
    constexpr pmpp::spmv_tuning t = tunings[I];
    s.contenders.push_back({std::to_string(t.threads) + " threads, " + std::to_string(t.items) + " items, " +
                                std::to_string(t.min_blocks) + " blocks, " + std::to_string(t.stretches) +
                                " stretches, " + std::to_string(t.serial) + " serial",
                            [=](int w) { multiply(w, std::integral_constant<int, I>()); }});
    add_tunings<I + 1>(s, multiply);
  }
}
#endif

template <class T>
void add_spmv(const std::string& shape) {
  const std::string type = std::is_same_v<T, float> ? "/f32/" : "/f64/";
  const pattern& p = pattern_named(shape);
  const std::int64_t nonzeros = p.nonzeros();
  const double bytes =
      double(nonzeros) * (4 + sizeof(T)) + double(p.rows) * (4 + sizeof(T)) + double(p.cols) * sizeof(T);
  bench::add("spmv" + type + shape, nonzeros, bytes, [=, &p](int windows) {
    auto columns = std::make_shared<pmpp::device_buffer<int>>(windows * nonzeros);
    auto offsets = std::make_shared<pmpp::device_buffer<int>>(p.offsets);
    auto values = bench::array<T>(windows * nonzeros);
    for (int w = 0; w < windows; ++w) {
      pmpp::copy(p.columns, std::span(columns->data() + w * nonzeros, std::size_t(nonzeros)));
      bench::fill(values->data() + w * nonzeros, nonzeros, 0);
    }
    auto x = bench::random_array<T>(p.cols, bench::second);
    auto y = bench::array<T>(p.rows);
    subject s;
    const auto window = [=, &p](int w) {
      return pmpp::csr_view<const T, const int>{p.rows, p.cols, offsets->data(), columns->data() + w * nonzeros,
                                                values->data() + w * nonzeros};
    };
    s.contenders = {{"pmpp", [=](int w) { pmpp::spmv(bench::device(), 1, window(w), *x, 0, *y); }}};
#ifdef PMPP_BENCH_HAS_CUSPARSE
    for (const auto& [peer, algorithm] :
         {std::pair("cusparse 1", CUSPARSE_SPMV_CSR_ALG1), std::pair("cusparse 2", CUSPARSE_SPMV_CSR_ALG2)})
      s.contenders.push_back({peer, cusparse_call<T>(algorithm, p, offsets->data(), columns->data(), values->data(),
                                                     x->data(), y->data(), windows)});
#endif
#ifdef PMPP_BENCH_SWEEP
    add_tunings(s, [=](int w, auto i) { pmpp::spmv<tunings[i]>(bench::device(), 1, window(w), *x, 0, *y); });
#endif
    s.spoil = [=] { bench::spoil(y); };
    auto wanted = std::make_shared<std::vector<double>>(p.rows);
    auto magnitude = std::make_shared<std::vector<double>>(p.rows);
    pmpp::host_loop::parallel_ranges(pmpp::host, p.rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (int i = p.offsets[std::size_t(row)]; i < p.offsets[std::size_t(row) + 1]; ++i) {
          const double product = double(bench::random_element<T>{}(i)) *
                                 double(bench::random_element<T>{}(bench::second + p.columns[std::size_t(i)]));
          (*wanted)[std::size_t(row)] += product;
          (*magnitude)[std::size_t(row)] += std::abs(product);
        }
    });
    s.fault = [=, &p] { return fault_of(p, pmpp::to_host(*y), *wanted, *magnitude); };
    return s;
  });
}

void add_cases() {
  for (const char* const shape : {"small", "band", "random", "short", "short scattered", "power law", "one long"}) {
    add_spmv<float>(shape);
    add_spmv<double>(shape);
  }
  for (const std::string& name : read_matrices()) {
    add_spmv<float>(name);
    add_spmv<double>(name);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
