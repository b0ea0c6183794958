// SPDX-License-Identifier: Apache-2.0
//
// Where elements lie while they are sorted: the caller's arrays, and room for as many again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <pmpp/core/iterator.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether both are the same array.
template <class In, class Data>
bool same_place(const In& in, const Data& data) {
  if constexpr (std::is_same_v<In, Data>)
    return in - data == 0;
  else
    return false;
}

/// Where elements of type T that are sorted by way of `scratch` have their second home.
template <class T>
struct second_home {
  using iterator = T*;
  static constexpr std::size_t bytes(std::int64_t n) { return checked_bytes(n, sizeof(T), "sort"); }
  static iterator of(scratch& memory, std::int64_t n) { return memory.take<T>(n); }
};
template <class K, class V>
struct second_home<pair<K, V>> {
  using iterator = zip_iterator<K*, V*>;
  static constexpr std::size_t bytes(std::int64_t n) {
    return round_up(checked_bytes(n, sizeof(K), "sort"), allocation_alignment) + checked_bytes(n, sizeof(V), "sort");
  }
  static iterator of(scratch& memory, std::int64_t n) {
    K* const keys = memory.take<K>(n);
    return {keys, memory.take<V>(n)};
  }
};

/// Room for n elements that are not constructed.
template <class T>
class raw_array {
public:
  explicit raw_array(std::int64_t n)
      : data_(static_cast<T*>(::operator new (checked_bytes(n, sizeof(T), "sort"), std::align_val_t{alignof(T)}))) {}
  ~raw_array() { ::operator delete (data_, std::align_val_t{alignof(T)}); }
  raw_array(const raw_array&) = delete;
  raw_array& operator=(const raw_array&) = delete;
  T* data() { return data_; }

private:
  T* data_;
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
