// SPDX-License-Identifier: Apache-2.0
//
// What debug mode checks of whole inputs: check_each(policy, count, check) calls check(i) for each i below count, where the
// policy runs. A check throws on the host and traps on a GPU (core/check.hpp). Otherwise nothing happens, and no code is
// made.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/equal_segments.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class Check>
struct check_each_kernel {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const Check& check, const item_count& count) const {
    for (std::int64_t i = block.index() * threads + block.thread(); i < count.get(); i += block.count() * threads)
      check(i);
  }
};

template <class P, class Check>
void check_each([[maybe_unused]] const P& where, [[maybe_unused]] const item_count& count,
                [[maybe_unused]] const Check& check) {
  if constexpr (debug_mode && kernel_execution<P>)
    pmpp::launch(where, std::int64_t(4) * machine_of(where).multiprocessors, check_each_kernel<Check>{}, check, count);
  else if constexpr (debug_mode)
    for (std::int64_t i = 0; i < count.get(); ++i) check(i);
}

/// A place of a message, which kernels need as a value: a pointer to the host's text would mean nothing to them.
struct message_text {
  char text[48] = {};
  explicit message_text(const char* from) {
    for (int i = 0; i < 47 && from[i] != 0; ++i) text[i] = from[i];
  }
};
/// An input is sorted. (Not known where comp takes no two elements of it, or cannot be called by the host.)
template <class It, class Comp>
struct sorted_check {
  input<It> in;
  Comp comp;
  message_text what;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    if (i + 1 < in.count.get() && comp(in.first[i + 1], in.first[i])) bad_order(i, what.text);
  }
};
template <class P, class A, class Comp>
void check_sorted(const P& where, const input<A>& a, const Comp& comp, const char* what) {
  if constexpr (debug_mode && std::is_invocable_v<const Comp&, value_of<A>, value_of<A>>)
    detail::check_each(where, a.count, sorted_check<A, Comp>{a, comp, message_text(what)});
}
template <class P, class A, class B, class Comp>
void check_sorted(const P& where, const input<A>& a, const input<B>& b, const Comp& comp,
                  const char* what_a = "merge: the first input", const char* what_b = "merge: the second input") {
  detail::check_sorted(where, a, comp, what_a);
  detail::check_sorted(where, b, comp, what_b);
}

/// Offsets of segments; checked in any mode: there is one at least, and where they are computed the last one is at most the length
/// of the input.
template <class In, class It>
void require_offsets(const char* function, const input<In>& in, const input<It>& offsets) {
  static_assert(std::is_integral_v<value_of<It>>, "pmpp: offsets must be integers");
  require(offsets.count.bound >= 1, [&] {
    return detail::text("pmpp::") + function + ": offsets must have one entry more than there are segments, got " +
           detail::text::of(offsets.count.bound);
  });
  if constexpr (std::is_same_v<It, equal_offsets>)
    if (offsets.count.pointer == nullptr)
      require_room(function, "the input", in.count.bound, offsets.first[offsets.count.bound - 1]);
}

/// They never decrease and lie in [0, n].
template <class Offsets>
struct segment_check {
  input<Offsets> offsets;
  item_count count;
  PMPP_HOST_DEVICE void operator()(std::int64_t s) const {
    if (s + 1 >= offsets.count.get()) return;
    const auto begin = static_cast<std::int64_t>(offsets.first[s]);
    check_part(begin, static_cast<std::int64_t>(offsets.first[s + 1]) - begin, count.get(),
               "segment between two offsets");
  }
};
template <class P, class In, class Offsets>
void check_offsets(const P& where, const input<In>& in, const input<Offsets>& offsets) {
  check_each(where, offsets.count, segment_check<Offsets>{offsets, in.count});
}

/// Edge (u, v) of a graph has an edge (v, u) in its transpose. Looked for among up to 1024: what leads to vertices with
/// more is checked at its other end alone.
template <class I>
struct transpose_check {
  csr_view<void, const I> graph, transpose;
  PMPP_HOST_DEVICE void operator()(std::int64_t u) const {
    for (std::int64_t e = graph.row_begin(u); e < graph.row_end(u); ++e) {
      const auto v = static_cast<std::int64_t>(graph.columns[e]);
      check_index(v, graph.rows, "bfs: column");
      std::int64_t back = transpose.row_begin(v);
      const std::int64_t end = transpose.row_end(v);
      if (end - back > 1024) continue;
      while (back < end && static_cast<std::int64_t>(transpose.columns[back]) != u) ++back;
      if (back >= end) bad_edge(u, v);
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
