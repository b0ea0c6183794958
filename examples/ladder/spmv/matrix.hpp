// SPDX-License-Identifier: Apache-2.0
//
// The matrix of the ladder, in all the formats that its rungs read.
#pragma once

#include <cstdint>

#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/simt/counters.hpp>
#include <pmpp/sparse.hpp>
#include <pmpp/sparse_formats.hpp>

using indices = pmpp::device_buffer<int>;
using numbers = pmpp::device_buffer<float>;

struct formats {
  pmpp::device_csr_matrix<float> csr, columns;  ///< the second: CSC, which is the CSR of the transposed
  pmpp::coo_matrix<indices, numbers> coo;
  pmpp::ell_matrix<indices, numbers> ell;  ///< left empty where the longest row makes it too large
  pmpp::hybrid_matrix<indices, numbers> hybrid;
  pmpp::jds_matrix<indices, numbers> jds;

  /// ELL may have this many elements for each nonzero.
  static constexpr std::int64_t most_padding = 8;

  template <class Policy>
  formats(const Policy& where, const pmpp::csr_matrix<float>& matrix)
      : csr(matrix),
        columns(transposed(where, csr)),
        coo(to_coo(where, csr)),
        hybrid(to_hybrid(where, csr, matrix.nonzeros() / pmpp::max(std::int64_t(1), matrix.rows()) + 1)),
        jds(to_jds(where, csr)) {
    if (jds.width * matrix.rows() <= most_padding * matrix.nonzeros()) ell = to_ell(where, csr);
  }
  bool has_ell() const { return ell.rows == csr.rows(); }
};
