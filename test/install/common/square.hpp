// SPDX-License-Identifier: Apache-2.0
//
// The consumers' little library: a function over device memory, called from C++ and defined in a file that is C++ or
// CUDA, as the program is.
#pragma once

#include <pmpp/memory/device_buffer.hpp>

double sum_of_squares(const pmpp::device_buffer<float>& x);
