// SPDX-License-Identifier: Apache-2.0
//
// The whole library.
#pragma once

#include <pmpp/convolution.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/core/version.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/image.hpp>
#include <pmpp/io/file.hpp>
#include <pmpp/io/image.hpp>
#include <pmpp/io/matrix_market.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/occupancy.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/sparse.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transform.hpp>
#include <pmpp/transpose.hpp>
