// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices made on the device, by sorting: csr_from_triplets, transposed, the latter of graphs too. Their twins that end
// in _into write to arrays of the caller: they neither allocate nor wait.
//
//   row, column, value       ->  keys (row, column) in one number of 32 bits or 64
//                            ->  sorted with their values
//                            ->  runs of equal keys, their values added
//                            ->  offsets: where the keys of each row begin
//
// To transpose, the columns are sorted, stably, with the row and the value of each.
// Work: one stable radix sort of the nonzeros and a few passes over them. What csr_matrix does on the host by counting.
// (PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/block/search.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// How many bits the numbers below n have.
inline int bits_below(std::int64_t n) {
  int bits = 0;
  while (bits < 63 && (std::int64_t(1) << bits) < n) ++bits;
  return bits;
}

/// Row and column in one number K that orders by rows. Checks: the flag becomes 1 if a place lies outside of the matrix.
template <class K, bool Checks>
struct place_keys {
  std::int64_t rows = 0, cols = 0;
  int column_bits = 0, bits = 0;
  unsigned* outside = nullptr;

  place_keys() = default;
  place_keys(std::int64_t matrix_rows, std::int64_t matrix_cols, unsigned* flag)
      : rows(matrix_rows),
        cols(matrix_cols),
        column_bits(bits_below(cols)),
        bits(column_bits + bits_below(rows)),
        outside(flag) {
    if (bits > 64)
      detail::throw_length_error("pmpp::sparse: places in a matrix of " + detail::text::of(rows) + " rows and " +
                                 detail::text::of(cols) + " columns do not fit 64 bits");
  }
  PMPP_HOST_DEVICE K operator()(std::int64_t row, std::int64_t column) const {
    if (Checks && (row < 0 || row >= rows || column < 0 || column >= cols)) simt::store(outside, 1u);
    return static_cast<K>(static_cast<std::uint64_t>(row) << column_bits | static_cast<std::uint64_t>(column));
  }
};

/// Where the number of nonzeros is not wanted.
struct no_count {
  PMPP_HOST_DEVICE void operator()(const selection&) const {}
};
/// Where each row begins among ascending keys, and the columns of the keys unless there is no array for them. A block has up to
/// 2048 neighbouring rows, fewer where all blocks together have few: two of its warps look for the keys that lie in them, between which
/// its threads look for theirs. So rows that are mostly empty cost no more than writing them.
template <class K, class I, class Sink>
struct finish_rows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, each = 8, tile = threads * each;

  struct shared {
    std::int64_t bound[2];
  };
  struct arguments {
    const K* keys;
    item_count count;
    int column_bits;
    std::int64_t rows, rows_of_block;
    I* offsets;  ///< rows + 1
    I* columns;
    Sink sink;  ///< takes the number of keys
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t n = a.count.get(), thread = block.index() * threads + block.thread();
    if (thread == 0) {
      a.sink(selection{n, a.count.bound});
      a.done.signal();
    }
    if (a.columns != nullptr)
      for (std::int64_t i = thread; i < n; i += block.count() * threads)
        a.columns[i] = static_cast<I>(a.keys[i] & ((K(1) << a.column_bits) - 1));
    for (std::int64_t first = block.index() * a.rows_of_block; first <= a.rows;
         first += block.count() * a.rows_of_block) {
      const std::int64_t last = min(a.rows, first + a.rows_of_block - 1);
      const auto before = [&](std::int64_t row) {
        return [&a, row](std::int64_t i) { return static_cast<std::int64_t>(a.keys[i] >> a.column_bits) < row; };
      };
      if (block.warp() < 2) {
        const std::int64_t bound = block::warp_search(block, 0, n, before(block.warp() == 0 ? first : last));
        if (block.lane() == 0) memory.bound[block.warp()] = bound;
      }
      block.sync();
      const std::int64_t low = memory.bound[0], high = memory.bound[1];
      for (std::int64_t row = first + block.thread(); row <= last; row += threads)
        a.offsets[row] = static_cast<I>(detail::partition_point(low, high, before(row)));
      block.sync();
    }
  }
};
template <class P, class K, class I, class Sink = no_count>
void finish_rows(const P& where, const K* keys, const item_count& count, int column_bits, std::int64_t rows, I* offsets,
                 I* columns, const Sink& sink = {}, const completion& done = {}) {
  using kernel = finish_rows_kernel<K, I, Sink>;
  const std::int64_t share = ceil_div(rows + 1, std::int64_t(2 * machine_of(where).multiprocessors));
  const std::int64_t rows_of_block = min(share, std::int64_t(kernel::tile));
  const std::int64_t blocks = max(ceil_div(columns != nullptr ? count.bound : 0, std::int64_t(kernel::tile)),
                                  ceil_div(rows + 1, rows_of_block));
  launch(where, min(blocks, std::int64_t(1) << 20), kernel{},
         typename kernel::arguments{keys, count, column_bits, rows, rows_of_block, offsets, columns, sink, done});
}
/// Writes the row of each of n nonzeros. A lane takes every 32nd of a stretch; from the row of one it looks for that of
/// the next in steps that double.
template <class I>
struct rows_of_nonzeros_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, items = 32;
  static constexpr std::int64_t tile = std::int64_t(threads) * items;

  struct arguments {
    const I* offsets;
    std::int64_t rows;
    item_count count;
    I* row_of;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    // Numbers of the matrix fit its index type; steps that double may be past a narrow one.
    using U = std::make_unsigned_t<std::conditional_t<(sizeof(I) < 4), int, I>>;
    const std::int64_t first = block.index() * tile + block.warp() * simt::warp_size * items + block.lane();
    const auto rows = static_cast<U>(a.rows);
    const std::int64_t n = a.count.get();
    U low = 0, high = rows;  // row `low` does not begin after the nonzero, row `high` does
    for (int k = 0; k < items; ++k) {
      if (first + k * simt::warp_size >= n) return;
      const auto i = static_cast<U>(first + k * simt::warp_size);
      for (U step = 1; k > 0; step *= 2) {
        high = min(step, rows - low) + low;
        if (high == rows || static_cast<U>(a.offsets[high]) > i) break;
        low = high;
      }
      while (high - low > 1) {
        const U row = low + (high - low) / 2;
        (static_cast<U>(a.offsets[row]) > i ? high : low) = row;
      }
      a.row_of[i] = static_cast<I>(low);
    }
  }
};

/// Sorts the nonzeros of A by column, stably. `target()` says where their rows go, each with its value unless A is a pattern,
/// `offsets()` where the rows of the result begin; they are called while the GPU is at work, which hides part of an
/// allocation.
template <class P, class T, class I, class Target, class Offsets>
void transpose_rows(const char* function, const P& where, const csr_view<T, const I>& A, const item_count& count,
                    const Target& target, const Offsets& offsets) {
  const std::int64_t n = count.bound;
  const std::size_t bytes = checked_bytes(n, sizeof(I), function);
  scratch memory(where, scratch_bytes({bytes, bytes}), 0);
  I* const rows = memory.take<I>(n);
  I* const sorted = memory.take<I>(n);
  using expand = rows_of_nonzeros_kernel<I>;
  if (n > 0)
    launch(where, ceil_div(n, expand::tile), expand{}, typename expand::arguments{A.offsets, A.rows, count, rows});
  const auto sort_with = [&](const auto& in) {
    using V = value_of<std::remove_cvref_t<decltype(in)>>;
    sort_elements<sort_tuning{}, pair<I, V>>(function, where, zip_iterator{A.columns, in},
                                             zip_iterator{sorted, target()}, count, by_first<less>{},
                                             key_bits{0, bits_below(A.cols)});
  };
  if constexpr (std::is_void_v<T>)
    sort_with(rows);
  else
    sort_with(zip_iterator{rows, A.values});
  detail::finish_rows<P, I, I>(where, sorted, count, 0, A.cols, offsets(), nullptr);
}

/// The same on the host, by counting.
template <class T, class I, class U>
void transpose_rows_on_host(const csr_view<T, const I>& A, const csr_view<U, I>& B) {
  std::vector<I> next(static_cast<std::size_t>(A.cols) + 1);
  const std::int64_t n = A.nonzeros();
  for (std::int64_t i = 0; i < n; ++i) ++next[static_cast<std::size_t>(A.columns[i]) + 1];
  for (std::size_t c = 1; c < next.size(); ++c) next[c] = static_cast<I>(next[c] + next[c - 1]);
  for (std::size_t c = 0; c < next.size(); ++c) B.offsets[c] = next[c];
  for (std::int64_t row = 0; row < A.rows; ++row)
    for (std::int64_t i = A.row_begin(row); i < A.row_end(row); ++i) {
      const auto to = next[static_cast<std::size_t>(A.columns[i])]++;
      B.columns[to] = static_cast<I>(row);
      if constexpr (!std::is_void_v<T>) B.values[to] = A.values[i];
    }
}

inline item_count nonzeros_of(std::int64_t n) { return {n}; }
template <class Integer>
item_count nonzeros_of(const device_count<Integer>& n) {
  return {n.upper_bound, n.pointer, sizeof(Integer) == 8};
}

/// Enqueues what csr_from_triplets_into does. `target()` gives the matrix; it is called while the GPU sorts, which hides part
/// of an allocation. `sink` takes the number of nonzeros.
template <class K, bool Checks, class P, class In, class Values, class Target, class Sink>
void triplets_to_rows(const char* function, const P& where, const place_keys<K, Checks>& place, const In& places,
                      const Values& values, std::int64_t n, const Target& target, const Sink& sink,
                      const completion& done) {
  using T = std::remove_pointer_t<decltype(target().values)>;
  const std::size_t key_bytes = checked_bytes(n, sizeof(K), function), bytes = checked_bytes(n, sizeof(T), function);
  scratch memory(where, scratch_bytes({key_bytes, key_bytes, bytes, sizeof(std::int64_t)}), 0);
  K *const keys = memory.take<K>(n), *const unique = memory.take<K>(n);
  T* const sorted = memory.take<T>(n);
  auto* const count = memory.take<std::int64_t>(1);
  detail::check_reachable(where, function, zip_iterator{places, values});
  // A sort that reads its input once makes the keys, which saves a launch, but not with a flag to set: no load passes such a store.
  // Passes read twice, and places take twice as many bytes as keys.
  const auto keys_in = mapped<K>(input<In>{places, {n}}, apply_to_pair<place_keys<K, Checks>>{place});
  const auto make_keys = [&](const auto& in) {
    detail::copy_elements<tuned<transform_tuning>>(where, keys_in, unique);
    return zip_iterator{static_cast<const K*>(unique), in.b};
  };
  const auto sort_from = [&](const auto& in, const auto& source) {
    sort_elements<sort_tuning{}, pair<K, T>>(function, where, in, zip_iterator{keys, sorted}, item_count{n},
                                             by_first<less>{}, key_bits{0, place.bits}, source);
  };
  const zip_iterator in{keys_in.first, values};
  if constexpr (Checks)
    sort_from(make_keys(in), identity{});
  else
    sort_from(in, make_keys);
  const auto B = target();
  reduce_by_key_into(where, static_cast<const K*>(keys), static_cast<const K*>(keys) + n, static_cast<const T*>(sorted),
                     unique, B.values, count);
  detail::finish_rows(where, static_cast<const K*>(unique), item_count{n, count, true}, place.column_bits, B.rows,
                      B.offsets, B.columns, sink, done);
}
/// The same with keys as narrow as the matrix allows; Checks: `outside` is the flag of place_keys.
template <bool Checks, class P, class In, class Values, class Target, class Sink>
void triplets_to_rows(const char* function, const P& where, std::int64_t rows, std::int64_t cols, const In& places,
                      const Values& values, std::int64_t n, const Target& target, const Sink& sink, unsigned* outside,
                      const completion& done) {
  const place_keys<std::uint64_t, Checks> place(rows, cols, outside);
  if (place.bits <= 32 && place.column_bits < 32)  // narrow keys are shifted by column_bits
    detail::triplets_to_rows(function, where, place_keys<std::uint32_t, Checks>(rows, cols, outside), places, values, n,
                             target, sink, done);
  else
    detail::triplets_to_rows(function, where, place, places, values, n, target, sink, done);
}

/// What csr_from_triplets waits for.
struct made_of_triplets {
  std::int64_t nonzeros;
  unsigned outside;
};
struct store_nonzeros {
  made_of_triplets* out;
  PMPP_HOST_DEVICE void operator()(const selection& s) const { out->nonzeros = s.kept; }
};

/// Keeps the first `count` nonzeros: in their memory, or where more than half of it and `most_idle` bytes would be idle in as much
/// as they need, which takes allocations and some 50 us each. The work that wrote them is done.
template <class T, class I>
void keep_nonzeros(device_csr_matrix<T, I>& matrix, std::int64_t count, std::int64_t most_idle = 64 << 20) {
  const std::int64_t idle = matrix.nonzeros() - count;
  if (idle <= matrix.nonzeros() / 2 || idle * std::int64_t(sizeof(I) + sizeof(T)) <= most_idle)
    return matrix.truncate(count);
  const csr_view<T, I> all = matrix.arrays();
  const auto some = [](auto* first, std::int64_t n) { return device_buffer(std::span(first, std::size_t(n))); };
  matrix = {all.rows, all.cols, some(all.offsets, all.rows + 1), some(all.columns, count), some(all.values, count)};
}

}  // namespace detail

/// The transpose of A, written to arrays of the caller: B's columns ascend in each row, equal ones stay apart, in their
/// order.
///
/// \param A         visible to `where`; the columns of its rows in any order.
/// \param nonzeros  of A: a number, or a device_count.
/// \param B         A.cols rows of A.rows columns; its offsets have A.cols + 1 elements, its columns and values at least
///                  `nonzeros`. None of A's arrays. Without values, where A has none: the graph with each edge turned round.
/// \pre A's offsets and columns are valid: csr_matrix::validate says how.
/// Asynchronous on a GPU; may be captured. Scratch: four indices and a value a nonzero, from the workspace or one allocation
/// in stream order. Cost: a search over the offsets for each nonzero and a radix sort by columns, of as many bits as their
/// numbers take, which moves rows and values along. On the host by counting.
/// \throws std::invalid_argument if B's extents are not A's, exchanged, or `nonzeros` is negative; std::length_error if the
/// index type cannot hold them; cuda_error. Example: test/sparse.cpp, into arrays of the caller.
template <execution_policy P, class T, class I, class N, class U>
requires(std::is_same_v<std::remove_const_t<T>, U>) void transposed_into(const P& where, const csr_view<T, I>& A,
                                                                         const N& nonzeros,
                                                                         const csr_view<U, std::remove_const_t<I>>& B) {
  using index = std::remove_const_t<I>;
  const detail::item_count count = detail::nonzeros_of(nonzeros);
  csr_matrix<int, index>::require_extents(A.cols, A.rows, count.bound);
  require(count.bound >= 0, [&] { return "pmpp::transposed_into: " + detail::text::of(count.bound) + " nonzeros"; });
  require(A.rows == B.cols && A.cols == B.rows, [&] {
    return "pmpp::transposed_into: A has " + detail::text::of(A.rows) + " rows and " + detail::text::of(A.cols) +
           " columns, B " + detail::text::of(B.rows) + " rows and " + detail::text::of(B.cols) + " columns";
  });
  const csr_view<std::conditional_t<std::is_void_v<T>, void, const T>, const index> from(A);
  if constexpr (kernel_execution<P>)
    detail::transpose_rows(
        "transposed_into", where, from, count,
        [&] {
          if constexpr (std::is_void_v<T>)
            return B.columns;
          else
            return zip_iterator{B.columns, B.values};
        },
        [&] { return B.offsets; });
  else
    detail::transpose_rows_on_host(from, B);
}

/// A matrix from nonzeros in any order, given as three arrays, written to arrays of the caller; those in one place are added,
/// in their order. The columns of each row ascend.
///
/// \param row_of, column_of  ranges of integers as long as `values`; visible to `where`, as `values`.
/// \param B          its extents say which rows and columns there are; B.rows + 1 offsets, and room for as many columns and
///                   values as there are nonzeros.
/// \param count_out  takes the number of nonzeros of the matrix, which is B.offsets[B.rows] too: an iterator, or a range with
///                   room for one, of any integer type; visible to `where`.
/// \pre no nonzero lies outside of the matrix: that is not checked, and they may then be anywhere in the result.
/// Asynchronous on a GPU; may be captured. Scratch: three keys of 4 or 8 bytes and two values a nonzero, from the
/// workspace or allocations in stream order. Cost: a radix sort of keys of as many bits as row and column numbers take
/// together, with values, and a pass over the sorted ones.
/// \throws std::length_error if the arrays differ in length or the matrix does not fit the index type,
/// std::invalid_argument for negative extents; cuda_error. Example: test/sparse.cpp, into arrays of the caller.
template <execution_policy P, range_for<P> Rows, range_for<P> Columns, range_for<P> Values, class T, class I,
          output_for<P> C>
void csr_from_triplets_into(const P& where, Rows&& row_of, Columns&& column_of, Values&& values,
                            const csr_view<T, I>& B, C&& count_out) {
  const char* const function = "csr_from_triplets_into";
  const auto n = static_cast<std::int64_t>(std::end(values) - std::begin(values));
  csr_matrix<T, I>::require_extents(B.rows, B.cols, n);
  detail::check_room(function, "row_of", row_of, n);
  detail::check_room(function, "column_of", column_of, n);
  const auto sink = detail::count_sink(function, where, count_out);
  const auto places = detail::zipped(function, row_of, column_of).first;
  const auto from = detail::input_of(function, values).first;
  if constexpr (kernel_execution<P>) {
    detail::triplets_to_rows<false>(function, where, B.rows, B.cols, places, from, n, [&] { return B; }, sink, nullptr,
                                    {});
  } else {
    std::vector<triplet<T, I>> list;
    for (std::int64_t i = 0; i < n; ++i)
      list.push_back({static_cast<I>(row_of[i]), static_cast<I>(column_of[i]), static_cast<T>(values[i])});
    const auto matrix = csr_matrix<T, I>::from_triplets(B.rows, B.cols, list);
    pmpp::copy(where, matrix.offsets(), std::span(B.offsets, matrix.offsets().size()));
    pmpp::copy(where, matrix.columns(), std::span(B.columns, matrix.columns().size()));
    pmpp::copy(where, matrix.values(), std::span(B.values, matrix.values().size()));
    sink(detail::selection{matrix.nonzeros(), n});
  }
}

/// A matrix on the device from nonzeros in any order, given as three arrays; those in one place are added, in their order.
///
/// \param row_of, column_of  ranges of integers as long as `values`; visible to `where`, as `values`. Their type is the
///                           index type of the matrix.
/// Allocates once: room for all nonzeros until they are added (which stays, up to 64 MiB, or half of it). Waits for the
/// policy's stream; csr_from_triplets_into does neither. Scratch and cost: as of csr_from_triplets_into.
/// \throws std::out_of_range for a nonzero outside of the matrix, std::length_error if the arrays differ in length or the
/// matrix does not fit the index type, std::invalid_argument for negative extents; cuda_error, out_of_memory
template <kernel_execution P, range_for<P> Rows, range_for<P> Columns, range_for<P> Values>
auto csr_from_triplets(const P& where, std::int64_t rows, std::int64_t cols, Rows&& row_of, Columns&& column_of,
                       Values&& values) {
  using I = element_value<Rows>;
  using T = element_value<Values>;
  const char* const function = "csr_from_triplets";
  const auto n = static_cast<std::int64_t>(std::end(values) - std::begin(values));
  csr_matrix<T, I>::require_extents(rows, cols, n);
  detail::check_room(function, "row_of", row_of, n);
  detail::check_room(function, "column_of", column_of, n);
  device_csr_matrix<T, I> matrix(rows, cols, {}, {}, {});
  detail::reply<detail::made_of_triplets, P> answer(function, where);
  *answer.target() = {};
  detail::triplets_to_rows<true>(
      function, answer.policy(), rows, cols, detail::zipped(function, row_of, column_of).first,
      detail::input_of(function, values).first, n,
      [&] { return (matrix = device_csr_matrix<T, I>(rows, cols, n)).arrays(); },
      detail::store_nonzeros{answer.target()}, &answer.target()->outside, answer.done());
  const detail::made_of_triplets made = answer.wait();
  synchronize(where);  // another stream may use it next
  if (made.outside != 0)
    detail::throw_out_of_range("pmpp::csr_from_triplets: nonzeros lie outside of " + detail::text::of(rows) +
                               " rows and " + detail::text::of(cols) + " columns");
  detail::keep_nonzeros(matrix, made.nonzeros);
  return matrix;
}

/// The matrix with rows and columns exchanged; its columns ascend in each row, equal ones stay apart, in their order. With
/// it spmv and spmm multiply by the transpose: made once, it costs such products nothing, and they give the same bits on
/// every run, which sums by atomics would not.
/// Waits for the policy's stream and allocates the result; transposed_into does neither. Scratch and cost: as of it.
/// \throws std::length_error if the index type cannot hold the extents; cuda_error, out_of_memory
template <kernel_execution P, class T, class I>
device_csr_matrix<T, I> transposed(const P& where, const device_csr_matrix<T, I>& matrix) {
  csr_matrix<T, I>::require_extents(matrix.cols(), matrix.rows(), matrix.nonzeros());
  device_csr_matrix<T, I> turned(matrix.cols(), matrix.rows(), {}, {}, {});
  detail::transpose_rows(
      "transposed", where, matrix.view(), {matrix.nonzeros()},
      [&] {
        turned = device_csr_matrix<T, I>(matrix.cols(), matrix.rows(), matrix.nonzeros());
        return zip_iterator{turned.arrays().columns, turned.arrays().values};
      },
      [&] { return turned.arrays().offsets; });
  synchronize(where);  // another stream may use it next
  return turned;
}

/// The same for a matrix on the host. \throws std::bad_alloc
template <execution_policy P, class T, class I>
requires(!kernel_execution<P>) csr_matrix<T, I> transposed(const P&, const csr_matrix<T, I>& matrix) {
  return matrix.transposed();
}

/// The graph with each edge turned round; edges of a vertex ascend, duplicates stay. What bfs wants of a directed graph.
/// Waits for the policy's stream; allocates the graph. Scratch: four vertices an edge. Cost: as of a matrix.
/// \throws cuda_error, out_of_memory
template <kernel_execution P, class I>
device_csr_graph<I> transposed(const P& where, const device_csr_graph<I>& graph) {
  device_buffer<I> offsets, columns;
  detail::transpose_rows(
      "transposed", where, graph.view(), {graph.edge_count()},
      [&] {
        columns = device_buffer<I>(graph.edge_count());
        return columns.data();
      },
      [&] {
        offsets = device_buffer<I>(graph.vertices() + 1);
        return offsets.data();
      });
  synchronize(where);
  return {std::move(offsets), std::move(columns)};
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
