// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: hybrid (PMPP, 4th edition, section 14.4). ELL for as many nonzeros as a row has on average, COO for what long rows
// have beyond: little padding, few atomics. Two kernels; the order of the atomic sums again differs from run to run.
#pragma once

#include "1_coo.hpp"
#include "3_ell.hpp"

template <class Policy>
void multiply_hybrid(const Policy& where, const formats& A, const float* x, float* y) {
  write_ell(where, A.hybrid.ell, x, y);
  add_coo(where, A.hybrid.coo, x, y);
}
