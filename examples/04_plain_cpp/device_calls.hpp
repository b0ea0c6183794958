// SPDX-License-Identifier: Apache-2.0
//
// The border between plain C++ and CUDA: ordinary functions on pmpp's own types.
#pragma once

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

/// Squares every element of `x`, in place. Only enqueues on `s`.
void square(const pmpp::stream& s, pmpp::device_buffer<float>& x);

/// The sum of all elements of `x`. Waits for `s`.
double sum(const pmpp::stream& s, const pmpp::device_buffer<float>& x);
