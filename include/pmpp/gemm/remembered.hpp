// SPDX-License-Identifier: Apache-2.0
//
// Plans are remembered: to choose among dozens of tiles and splits takes a processor about as long as a launch, and programs multiply
// matrices of few shapes, many times.
//
//   remembered(shape_of(x, on), [&] { return plan; })    worked out only where it is not the last one at its place of a table
//
// A plan is a function of types, of the shape of a problem and of the machine, and of nothing else: values, and addresses beyond their
// alignment, are the same to it. Each lambda has a table. What another thread is using right now is worked out anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::detail {

/// All that a plan depends on. Zeros are the shape of no problem.
struct gemm_shape {
  std::int64_t numbers[19];
  machine on;

  std::uint64_t hash() const {
    std::uint64_t mixed = 0;
    for (const std::int64_t x : numbers) mixed = (mixed ^ std::uint64_t(x)) * 0x9e3779b97f4a7c15u;
    return mixed >> 32;  // the upper bits are those of all numbers
  }
  friend bool operator==(const gemm_shape&, const gemm_shape&) = default;
};

template <class Problem>
gemm_shape shape_of(const Problem& x, const machine& on) {
  // Nothing asks whether an address is a multiple of more: lines of the cache.
  const auto past = [](const void* p) { return std::int64_t(reinterpret_cast<std::uintptr_t>(p) % 128); };
  const auto& a = x.a;
  const auto& b = x.b;
  const auto& c = x.c;
  return {{a.extent, a.stride, a.k_stride, a.batch_stride, past(a.data), b.extent, b.stride, b.k_stride, b.batch_stride,
           past(b.data), c.rows, c.cols, c.row_stride, c.col_stride, c.batch_stride, past(c.data), x.k, x.batch,
           x.result.reads()},
          on};
}

/// What plan() says of a problem of this shape.
template <class F>
auto remembered(const gemm_shape& shape, const F& plan) {
  using result = decltype(plan());
  static_assert(std::is_trivially_copyable_v<result>);
  struct entry {
    gemm_shape shape;
    result is;
  };
  struct place {
    bool used;
    alignas(entry) std::byte bytes[sizeof(entry)];
  };
  constexpr int places = 128;
  static place table[places];  // zeros, which take no room in a program
  place& at = table[shape.hash() % places];
  if (__atomic_exchange_n(&at.used, true, __ATOMIC_ACQUIRE)) return plan();
  auto& known = *reinterpret_cast<entry*>(at.bytes);
  if (!(known.shape == shape)) known = {shape, plan()};
  const result found = known.is;
  __atomic_store_n(&at.used, false, __ATOMIC_RELEASE);
  return found;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
