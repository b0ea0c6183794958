// SPDX-License-Identifier: Apache-2.0
//
// The calls of select.hpp on the CPU, by one thread or by all.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/selection.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Calls visit(i, element, kept) for the elements [begin, end) of in. The first element counts as the first of a run.
/// (Iterators by value: then stores of bytes, which may change anything, do not change them.)
template <class In, class Select, class Visit>
void judge(const In in, std::int64_t begin, std::int64_t end, const Select select, Visit visit) {
  if constexpr (Select::neighbours) {
    if (begin == end) return;
    const value_of<In> first = in[begin];
    visit(begin, first, true);
    auto before = Select::compared(first);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const value_of<In> x = in[i];
      visit(i, x, select.test(before, x));
      before = Select::compared(x);
    }
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      const value_of<In> x = in[i];
      visit(i, x, select.test(x));
    }
  }
}

template <class In, class Out, class OutFalse, class Select>
selection select_on_host(const seq_policy&, const input<In>& in, Out out, OutFalse out_false, const Select& select) {
  const std::int64_t n = in.count.get();
  std::int64_t kept = 0;
  detail::judge(in.first, 0, n, select, [&](std::int64_t i, const auto& x, bool keep) {
    if (keep)
      out[kept++] = static_cast<value_of<Out>>(Select::element(x));
    else if constexpr (!std::is_same_v<OutFalse, nowhere>)
      out_false[i - kept] = static_cast<value_of<OutFalse>>(Select::element(x));
    else
      static_cast<void>(i), static_cast<void>(out_false);
  });
  return {kept, n};
}

/// Gathers the elements of in[begin, end) that are kept from `front` on, the others from the last one of as many slots
/// back; returns how many are kept. Each element is written whether it counts or not, and overwritten by the next one
/// where it does not: there is no branch to mispredict.
template <bool Partitions, class T, class In, class Select>
std::int64_t gather_on_host(const In& in, std::int64_t begin, std::int64_t end, const Select& select, T* const front) {
  std::int64_t kept = 0;
  T* back = front + (end - begin);
  judge(in, begin, end, select, [&](std::int64_t, const auto& x, bool keep) {
    front[kept] = Select::element(x);
    if constexpr (Partitions) *(back - 1) = Select::element(x);
    kept += keep;
    back -= !keep;
  });
  return kept;
}

/// The same by all cores: tasks take turns (host/parallel_for.hpp). A task gathers what it keeps in a buffer, learns
/// when it is its turn how many the tasks before have kept, and copies the buffer to its place.
template <class In, class Out, class OutFalse, class Select>
selection select_on_host(const host_policy& where, const input<In>& in, Out out, OutFalse out_false,
                         const Select& select) {
  constexpr bool partitions = !std::is_same_v<OutFalse, nowhere>;
  using X = value_of<In>;
  using T = std::remove_cvref_t<decltype(Select::element(std::declval<const X&>()))>;
  const std::int64_t n = in.count.get(), grain = host_loop::grain_of<T>(n), tasks = ceil_div(n, grain);
  if (tasks <= 1) return select_on_host(seq, in, out, out_false, select);
  host_loop::turns order;
  std::int64_t kept = 0;
  X last{};  // element before the task whose turn it is
  host_loop::parallel_parts(where, min(tasks, host_loop::thread_count(where)), [&](std::int64_t) {
    if (__atomic_load_n(&order.taken, __ATOMIC_RELAXED) >= tasks) return;
    host_loop::task_results<T> gathered(grain);
    for (;;) {
      host_loop::turn mine(order);
      if (mine.number() >= tasks) return;
      const std::int64_t begin = mine.number() * grain, end = min(n, begin + grain);
      const T* kept_here = gathered.data();
      std::int64_t count = gather_on_host<partitions>(in.first, begin, end, select, gathered.data());
      if constexpr (Select::neighbours) {
        const X first_here = in.first[begin],
                last_here = in.first[end - 1];  // in place, others may overwrite them soon
        mine.wait();
        if (begin > 0 && !select.test(Select::compared(last), first_here)) ++kept_here, --count;
        last = last_here;
      }
      mine.wait();
      const std::int64_t kept_before = kept;
      kept += count;
      mine.pass();
      for (std::int64_t k = 0; k < count; ++k) out[kept_before + k] = static_cast<value_of<Out>>(kept_here[k]);
      if constexpr (partitions)
        for (std::int64_t k = 0; k < end - begin - count; ++k)
          out_false[begin - kept_before + k] = static_cast<value_of<OutFalse>>(gathered.data()[end - begin - 1 - k]);
    }
  });
  return {kept, n};
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
