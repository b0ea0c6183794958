// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory of algorithms on the host.
#pragma once

#include <cstdint>
#include <new>

#include <pmpp/core/config.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Room for n elements, which are not constructed.
template <class T>
class raw_array {
public:
  /// `function` is what an error names. \throws std::length_error, std::bad_alloc
  explicit raw_array(std::int64_t n, const char* function = "sort")
      : data_(static_cast<T*>(::operator new (checked_bytes(n, sizeof(T), function), std::align_val_t{alignof(T)}))) {}
  ~raw_array() { ::operator delete (data_, std::align_val_t{alignof(T)}); }
  raw_array(const raw_array&) = delete;
  raw_array& operator=(const raw_array&) = delete;
  T* data() { return data_; }

private:
  T* data_;
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
